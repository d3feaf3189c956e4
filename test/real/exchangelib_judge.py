"""exchangelib as a client of the mail server of the tests: it must understand all that is answered and sent.

Run with the addresses of a running mail server and of one of its rooms as JSON; prints what it has seen as JSON.
"""
import http.server
import json
import sys
import threading

from exchangelib import DELEGATE, IMPERSONATION, UTC, Account, CalendarItem, Configuration, Credentials, EWSDateTime
from exchangelib import ExtendedProperty, Version
from exchangelib.errors import ErrorInvalidSubscription, ResponseMessageError
from exchangelib.services import SendNotification, Unsubscribe
from exchangelib.version import EXCHANGE_2016

told = json.loads(sys.argv[1])
heard = []
arrived = threading.Condition()


class Listener(http.server.BaseHTTPRequestHandler):
    def do_POST(self):
        body = self.rfile.read(int(self.headers["content-length"]))
        events = list(SendNotification(protocol=None).parse(body))
        ok = SendNotification(protocol=None).ok_payload()
        self.send_response(200)
        self.send_header("Content-Type", "text/xml; charset=utf-8")
        self.send_header("Content-Length", str(len(ok)))
        self.end_headers()
        self.wfile.write(ok)
        with arrived:
            heard.extend(type(event).__name__ for note in events for event in note.events)
            arrived.notify_all()

    def log_message(self, *_):
        pass


def wait_for(count):
    with arrived:
        if not arrived.wait_for(lambda: len(heard) >= count, timeout=10):
            raise AssertionError(f"only {heard} came")


def account(access_type, address=told["room"]):
    credentials = Credentials(told["user"], told["password"])
    config = Configuration(
        service_endpoint=told["ews"], credentials=credentials, auth_type="basic", version=Version(build=EXCHANGE_2016)
    )
    return Account(address, config=config, autodiscover=False, access_type=access_type, default_timezone=UTC)


def at(day, hour):
    return EWSDateTime(2026, 12, day, hour, tzinfo=UTC)


listener = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Listener)
threading.Thread(target=listener.serve_forever, daemon=True).start()
url = f"http://127.0.0.1:{listener.server_address[1]}/"

room = account(IMPERSONATION)
subscription_id, watermark = room.calendar.subscribe_to_push(url, status_frequency=1)
assert subscription_id and watermark
wait_for(1)
assert heard == ["StatusEvent"], heard

item = CalendarItem(account=room, folder=room.calendar, subject="Lecture <1> & co", start=at(1, 9), end=at(1, 10))
item.save()
wait_for(3)
changes = list(room.calendar.sync_items())
assert [change for change, _ in changes] == ["create", "create"] and changes[1][1].id == item.id, changes
seen = list(room.calendar.view(start=at(1, 0), end=at(2, 0)))
assert [(one.subject, one.start, one.end) for one in seen] == [("Lecture <1> & co", at(1, 9), at(1, 10))], seen
item.subject = "Lecture 2"
item.sensitivity = "Private"
item.save(update_fields=["subject", "sensitivity"])
fetched = room.calendar.get(id=item.id, changekey=item.changekey)
assert (fetched.subject, fetched.sensitivity, fetched.uid is not None) == ("Lecture 2", "Private", True), fetched
state = room.calendar.item_sync_state
item.delete()
changes = list(room.calendar.sync_items(sync_state=state))
assert [change for change, _ in changes] == ["delete"], changes
wait_for(7)

# What another has made: a series in its zone, with an exception and one that is gone.
series = list(room.calendar.view(start=at(5, 0), end=at(31, 0)))
starts = [one.start.astimezone(UTC).strftime("%d %H:%M") for one in series]
assert starts == told["starts"], starts
assert {one.type for one in series} <= {"Occurrence", "Exception"}, series
assert series[0].organizer.name == "Erika Mustermann"
assert room.calendar.total_count is not None and room.calendar.name == "Calendar"



# What the service has written, by the property that marks it.
class Mark(ExtendedProperty):
    property_set_id = told["mark"].split(" ")[0]
    property_name = told["mark"].split(" ")[1]
    property_type = "String"


CalendarItem.register("mark", Mark)
marked = list(account(IMPERSONATION, told["writtenRoom"]).calendar.filter(mark__in=[one["origin"] for one in told["written"]]))
seen = sorted(
    ([one.mark, one.subject, one.start.isoformat(), one.end.isoformat(), one.sensitivity, one.legacy_free_busy_status] for one in marked)
)
wanted = sorted(
    ([one["origin"], one["subject"], one["start"], one["end"], one["sensitivity"], "Busy"] for one in told["written"])
)
assert seen == wanted, (seen, wanted)

# What the service has declined it does not see any more; it declines the other one alike.
[invitation] = account(IMPERSONATION, told["invitedRoom"]).calendar.view(start=EWSDateTime(2027, 2, 1, tzinfo=UTC), end=EWSDateTime(2027, 2, 2, tzinfo=UTC))
assert invitation.my_response_type != "Decline", invitation
invitation.decline(message_disposition="SendOnly", body=told["comment"])

try:
    list(Unsubscribe(account=room).call(subscription_id=subscription_id))
    raise AssertionError("a push subscription was ended")
except ErrorInvalidSubscription:
    pass
try:
    account(DELEGATE).calendar.subscribe_to_push(url)
    raise AssertionError("a delegate has subscribed")
except ResponseMessageError:
    pass
print(json.dumps({"heard": heard}))
