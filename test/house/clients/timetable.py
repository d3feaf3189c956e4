"""What a timetable program does, with urllib for the token and one connection of http.client for the rest."""
import http.client
import json
import sys
import urllib.parse
import urllib.request

root, mandator, pin, jobs = sys.argv[1:]
form = {"grant_type": "apikey", "scope": "service_api", "client_id": "timetable-import", "apikey": pin}
with urllib.request.urlopen(f"{root}/connect/token", urllib.parse.urlencode(form).encode()) as answer:
    token = json.load(answer)["access_token"]

connection = http.client.HTTPConnection(urllib.parse.urlsplit(root).netloc)
headers = {"Authorization": f"Bearer {token}", "Content-Type": "application/json"}


def send(method, path, body=None):
    # Of an iterable it does not know the length: it is sent in chunks.
    connection.request(method, f"/{mandator}/api/v2.0/jobs{path}", body and iter([body.encode()]), headers)
    answer = connection.getresponse()
    text = answer.read()
    if answer.status >= 300:
        sys.exit(f"{method} {path}: {answer.status} {text}")
    return json.loads(text)


batch = send("POST", "/create", jobs)
while batch["ImportStatus"] not in ("LessonsCreated", "LessonsImportFailed"):
    batch = send("GET", f"/batches/{batch['BatchId']}?WaitSeconds=5")
print(batch["ImportStatus"])
