/** A CalDAV server for one test, in memory: as strict about ETags and UIDs as real ones, with faults that the test scripts. */
import { createHash } from 'node:crypto';
import { once } from 'node:events';
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';

type Stored = { text: string; etag: string; at: number };
/** What becomes of a request: refused with a status, done without an answer, or neither done nor answered. */
export type Trouble = { status: number; headers?: Record<string, string> } | 'NoAnswer' | 'NotDone';

export type Appointment = {
  uid: string;
  start: Date;
  end: Date;
  summary: string;
  isPrivate: boolean;
  isFree?: boolean;
};

const stamp = (at: Date) => `${at.toISOString().slice(0, 19).replace(/[-:]/g, '')}Z`;

/** The text of an appointment, as a person's program writes it. */
const textOf = ({ uid, start, end, summary, isPrivate }: Appointment, ...more: string[]): string =>
  [
    ...['BEGIN:VCALENDAR', 'VERSION:2.0', 'PRODID:-//test//test//EN', 'BEGIN:VEVENT', `UID:${uid}`],
    ...[`DTSTAMP:${stamp(new Date())}`, `DTSTART:${stamp(start)}`, `DTEND:${stamp(end)}`, `SUMMARY:${summary}`],
    ...[`CLASS:${isPrivate ? 'PRIVATE' : 'PUBLIC'}`, ...more, 'END:VEVENT', 'END:VCALENDAR', ''],
  ].join('\r\n');

function readAppointment(text: string): Appointment {
  const unfolded = text.replaceAll('\r\n ', '');
  const member = (name: string) => new RegExp(`^${name}[^:\r\n]*:(.*)\r$`, 'm').exec(unfolded)?.[1] ?? '';
  const at = (name: string) =>
    new Date(member(name).replace(/^(\d{4})(\d\d)(\d\d)T(\d\d)(\d\d)(\d\d)Z$/, '$1-$2-$3T$4:$5:$6Z'));
  const summary = member('SUMMARY').replace(/\\(.)/g, '$1');
  return {
    uid: member('UID'),
    start: at('DTSTART'),
    end: at('DTEND'),
    summary,
    isPrivate: member('CLASS') === 'PRIVATE',
    isFree: member('TRANSP') === 'TRANSPARENT',
  };
}

/** An answer that the server has sent for a calendar, as RFC 6638 has it. */
export type SentReply = { from: string; to: string; occurrence: string | null };

/** What each VEVENT says, by its RECURRENCE-ID: all its lines, and those of who is invited. */
function partsOf(text: string) {
  const events = text.replace(/\r?\n[ \t]/g, '').match(/BEGIN:VEVENT\r\n.*?END:VEVENT\r\n/gs) ?? [];
  return new Map(
    events.map((event) => {
      const lines = event.split('\r\n');
      const attendees = lines.filter((line) => line.startsWith('ATTENDEE'));
      const others = lines.filter((line) => !/^(ATTENDEE|DTSTAMP|RECURRENCE-ID|RRULE|EXDATE|DTSTART|DTEND)/.test(line));
      return [/^RECURRENCE-ID[^:]*:(.*)$/m.exec(event)?.[1]?.trim() ?? null, { event, attendees, others }] as const;
    }),
  );
}
const mailOf = (line: string) => /mailto:(\S+)$/i.exec(line)?.[1]?.toLowerCase() ?? '';

/** The answers that follow from what an invited one has written; null where it has changed what only the organizer may. */
function repliesOf(before: string, after: string, own: string): SentReply[] | null {
  const [was, is] = [partsOf(before), partsOf(after)];
  const replies: SentReply[] = [];
  for (const [occurrence, { event, attendees, others }] of is) {
    const old = was.get(occurrence) ?? was.get(null);
    const strangers = (lines: string[]) => lines.filter((line) => mailOf(line) !== own).join('\n');
    if (!old || others.join() !== old.others.join() || strangers(attendees) !== strangers(old.attendees)) return null;
    const isDeclined = (lines: string[]) =>
      lines.some((line) => mailOf(line) === own && /;PARTSTAT=DECLINED/.test(line));
    const to = mailOf(/^ORGANIZER.*$/m.exec(event)?.[0]?.trim() ?? '');
    if (isDeclined(attendees) && !isDeclined(old.attendees)) replies.push({ from: own, to, occurrence });
  }
  return was.size <= is.size ? replies : null;
}

export async function startCalDavServer() {
  let isScheduling = true;
  const replies: SentReply[] = [];
  let clock = 1;
  /** Tokens of an earlier time are unknown. */
  let knownSince = 0;
  /** By path; null: deleted at that time. */
  const objects = new Map<string, Stored | { text: null; at: number }>();
  let trouble: (method: string, path: string) => Trouble | undefined = () => undefined;
  let isRedirecting = false;
  const counts: Record<string, number> = {};

  const live = (path: string) => {
    const found = objects.get(path);
    return found && found.text !== null ? (found as Stored) : undefined;
  };
  function put(path: string, text: string): Stored {
    clock += 1;
    const stored = { text, at: clock, etag: `"${createHash('sha256').update(text).digest('hex').slice(0, 16)}"` };
    objects.set(path, stored);
    return stored;
  }
  function remove(path: string): void {
    clock += 1;
    objects.set(path, { text: null, at: clock });
  }

  type Reply = { status: number; headers?: Record<string, string>; body?: string };
  const escaped = (text: string) => text.replaceAll('&', '&amp;').replaceAll('<', '&lt;');
  const found = (path: string, { etag, text }: Stored, withText: boolean) =>
    `<D:response><D:href>${path}</D:href><D:propstat><D:prop><D:getetag>${escaped(etag)}</D:getetag>${
      withText ? `<C:calendar-data>${escaped(text)}</C:calendar-data>` : ''
    }</D:prop><D:status>HTTP/1.1 200 OK</D:status></D:propstat></D:response>`;
  const missing = (path: string) =>
    `<D:response><D:href>${path}</D:href><D:status>HTTP/1.1 404 Not Found</D:status></D:response>`;
  const multistatus = (inner: string): Reply => ({
    status: 207,
    body: `<?xml version="1.0"?><D:multistatus xmlns:D="DAV:" xmlns:C="urn:ietf:params:xml:ns:caldav">${inner}</D:multistatus>`,
  });

  function report(path: string, body: string): Reply {
    if (body.includes('calendar-multiget')) {
      const asked = [...body.matchAll(/<D:href>([^<]*)</g)].map(([, href]) => href!);
      const answers = asked.map((one) => (live(one) ? found(one, live(one)!, true) : missing(one)));
      return multistatus(answers.join(''));
    }
    if (body.includes('calendar-query')) {
      const wanted = /name="UID"><C:text-match[^>]*>([^<]*)</.exec(body)![1]!;
      const all = [...objects].filter(([one, { text }]) => one.startsWith(path) && text?.includes(`UID:${wanted}`));
      return multistatus(all.map(([one, stored]) => found(one, stored as Stored, true)).join(''));
    }
    const since = Number(/<D:sync-token>([^<]*)</.exec(body)?.[1] || 0);
    if (since > 0 && since < knownSince)
      return { status: 403, body: '<?xml version="1.0"?><D:error xmlns:D="DAV:"><D:valid-sync-token/></D:error>' };
    const changed = [...objects].filter(([one, { at }]) => one.startsWith(path) && at > since);
    const members = changed.flatMap(([one, stored]) => {
      if (stored.text !== null) return found(one, stored as Stored, false);
      return since > 0 ? missing(one) : [];
    });
    return multistatus(`${members.join('')}<D:sync-token>${clock}</D:sync-token>`);
  }

  /** As Cyrus sends who writes into the calendar of another account to where that account sees it. */
  const elsewhere = (path: string) => path.replace(/^\/cal\//, '/shared/');

  function answer(method: string, path: string, headers: IncomingMessage['headers'], body: string): Reply {
    const there = live(path);
    const isStale = headers['if-match'] !== undefined && headers['if-match'] !== there?.etag;
    if (method === 'REPORT') return report(path, body);
    if (method === 'GET')
      return there ? { status: 200, headers: { etag: there.etag }, body: there.text } : { status: 404 };
    if (method === 'DELETE') {
      if (!there) return { status: 404 };
      if (isStale) return { status: 412 };
      remove(path);
      return { status: 204 };
    }
    if (method === 'OPTIONS')
      return {
        status: 200,
        headers: { dav: `1, 3, calendar-access${isScheduling ? ', calendar-auto-schedule' : ''}` },
      };
    if (method !== 'PUT') return { status: 405 };
    if (isStale || (headers['if-none-match'] === '*' && there)) return { status: 412 };
    const { uid } = readAppointment(body);
    const isTaken = [...objects].some(
      ([one, { text }]) => one !== path && text !== null && readAppointment(text).uid === uid,
    );
    if (isTaken) return { status: 409 };
    const own = `${path.split('/')[2]}@rooms.test`;
    const sent = there && /^ORGANIZER/m.test(there.text) ? repliesOf(there.text, body, own) : [];
    if (sent === null)
      return {
        status: 403,
        body: '<?xml version="1.0"?><D:error xmlns:D="DAV:"><C:allowed-attendee-scheduling-object-change xmlns:C="urn:ietf:params:xml:ns:caldav"/></D:error>',
      };
    if (isScheduling) replies.push(...sent);
    const { etag } = put(path, body);
    return { status: there ? 204 : 201, headers: { etag } };
  }

  async function serve(request: IncomingMessage, response: ServerResponse): Promise<void> {
    const { method = 'GET', url = '/' } = request;
    const path = isRedirecting && method !== 'PUT' && method !== 'DELETE' ? url.replace(/^\/shared\//, '/cal/') : url;
    let body = '';
    for await (const chunk of request.setEncoding('utf8')) body += chunk;
    if (isRedirecting && path.startsWith('/cal/') && (method === 'PUT' || method === 'DELETE'))
      return void response.writeHead(301, { location: elsewhere(path) }).end();
    const wrong = trouble(method, path);
    if (wrong === 'NotDone') return void response.destroy();
    if (typeof wrong === 'object') return void response.writeHead(wrong.status, wrong.headers).end();
    const { status, headers, body: text } = answer(method, path.replace(/^\/shared\//, '/cal/'), request.headers, body);
    if (status < 300) counts[method] = (counts[method] ?? 0) + 1;
    if (wrong === 'NoAnswer') return void response.destroy();
    response.writeHead(status, headers).end(text);
  }

  const server = createServer((request, response) => void serve(request, response));
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
  const folder = (user: string) => `/cal/${user}/`;

  return {
    url,
    settingsOf: (mandator: string): Record<string, string> => ({
      [`MailServer__${mandator}__Kind`]: 'CalDav',
      [`MailServer__${mandator}__Url`]: `${url}/cal/{user}/`,
      [`MailServer__${mandator}__User`]: 'roomgate',
      [`MailServer__${mandator}__Password`]: 'secret',
    }),
    /** What it has sent to organizers, oldest first. */
    replies,
    /** Whether it sends answers. */
    schedule: (is: boolean) => void (isScheduling = is),
    /** Requests that were done, by method. */
    counts,
    setTrouble: (next: typeof trouble = () => undefined) => (trouble = next),
    redirect: (is: boolean) => void (isRedirecting = is),
    /** The content of a calendar, by start. */
    list: (user: string): (Appointment & { path: string })[] =>
      [...objects]
        .flatMap(([path, { text }]) =>
          path.startsWith(folder(user)) && text !== null ? { path, ...readAppointment(text) } : [],
        )
        .sort((one, other) => Number(one.start) - Number(other.start)),
    /** Somebody writes an appointment, over any other of its path. */
    write: (path: string, appointment: Appointment, ...more: string[]) => void put(path, textOf(appointment, ...more)),
    /** Somebody writes a calendar object as it is. */
    writeText: (path: string, text: string) => void put(path, text),
    textOf: (path: string) => live(path)?.text ?? '',
    pathOf: (user: string, name: string) => `${folder(user)}${name}.ics`,
    remove,
    /** Somebody moves an object within its calendar. */
    move(from: string, to: string): void {
      const { text } = live(from)!;
      remove(from);
      put(to, text);
    },
    /** Sync tokens are unknown from now on. */
    loseState: () => void (knownSince = ++clock),
    async stop() {
      server.closeAllConnections();
      server.close();
      await once(server, 'close');
    },
  };
}

export type CalDavServer = Awaited<ReturnType<typeof startCalDavServer>>;
