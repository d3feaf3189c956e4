"""An independent CalDAV client (python3-caldav): lists, adds, moves and removes appointments, a command for each line of JSON."""

import json
import re
import sys
import time
from datetime import datetime, timezone

import caldav

told = json.loads(sys.argv[1])


def open_calendar(room):
    client = caldav.DAVClient(url=told["url"] + "/dav/", username=room, password=told["password"])
    return caldav.Calendar(client=client, url=f"{told['url']}/dav/calendars/user/{room}/Default/")


calendars = {room: open_calendar(room) for room in told["rooms"]}


def stamp(text):
    return text.replace("-", "").replace(":", "")


def read(event):
    vevent = event.vobject_instance.vevent
    instants = [part.value.astimezone(timezone.utc) for part in (vevent.dtstart, vevent.dtend)]
    start, end = [instant.strftime("%Y-%m-%dT%H:%M:%SZ") for instant in instants]
    return {"uid": vevent.uid.value, "start": start, "end": end, "summary": vevent.summary.value}


def listed(room):
    return sorted((read(event) for event in calendars[room].events()), key=lambda one: (one["start"], one["uid"]))


def text_of(uid, start, end, summary):
    now = datetime.now(timezone.utc).strftime("%Y%m%dT%H%M%SZ")
    lines = ["BEGIN:VCALENDAR", "VERSION:2.0", "PRODID:-//test//test//EN", "BEGIN:VEVENT", f"UID:{uid}"]
    lines += [f"DTSTAMP:{now}", f"DTSTART:{stamp(start)}", f"DTEND:{stamp(end)}", f"SUMMARY:{summary}"]
    return "\r\n".join([*lines, "END:VEVENT", "END:VCALENDAR", ""])


def run(command):
    room, do = command["room"], command["do"]
    calendar = calendars[room]
    if do == "list":
        return listed(room)
    if do == "see":
        wanted = command["one"]
        deadline = time.monotonic() + command["seconds"]
        while True:
            found = [one for one in listed(room) if all(one[key] == wanted[key] for key in wanted)]
            if len(found) == (0 if command["gone"] else 1):
                return found
            if time.monotonic() > deadline:
                raise TimeoutError(f"not seen: {wanted} in {listed(room)}")
            time.sleep(0.01)
    if do == "add":
        calendar.save_event(text_of(**command["one"]))
        return None
    event = calendar.event_by_uid(command["one"]["uid"])
    if do == "remove":
        event.delete()
        return None
    text = event.data
    for name in ("start", "end"):
        text = re.sub(rf"(?m)^DT{name.upper()}[^\r\n]*", f"DT{name.upper()}:{stamp(command['one'][name])}", text)
    event.data = text
    event.save()
    return None


for line in sys.stdin:
    try:
        answer = {"is": run(json.loads(line))}
    except Exception as error:
        answer = {"error": f"{type(error).__name__}: {error}"}
    print(json.dumps(answer), flush=True)
