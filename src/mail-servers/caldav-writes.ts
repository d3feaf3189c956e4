/** Writes calendar objects to a CalDAV server (RFC 4791, 5.3.2), with one request each, and never overwrites changes by others. */

import type { MailServerSettings } from '../config.ts';
import { discoverCalendar, fillTemplate } from './caldav-discovery.ts';
import {
  type Connector,
  type RemoteCalendar,
  ServerFault,
  type Write,
  type WriteOutcome,
  type WrittenItem,
  type WrittenPlace,
} from './connector.ts';
import {
  calDavNamespace,
  canonicalPath,
  davNamespace,
  failedPreconditions,
  hrefs,
  propertyOf,
  readResources,
  rootElement,
  sendQuestion,
  writeStatuses,
} from './dav.ts';
import { mayConcernOneItem, unlessAllFailed } from './failed-writes.ts';
import { faultOf } from './faults.ts';
import type { AskServer, ServerAnswer } from './http.ts';
import { readCalendarObject } from './ical.ts';
import { foldLine } from './ical-fold.ts';
import { always, standingAs } from './standing.ts';
import { escapeXml } from './xml.ts';

/** The writes of one call, and the concurrent requests, besides those of a reading. */
const [atOnce, sideBySide] = [12, 4];

const stamp = (at: Date) => `${at.toISOString().slice(0, 19).replace(/[-:]/g, '')}Z`;
const escapeText = (text: string) => text.replace(/[\\;,]/g, '\\$&').replaceAll('\n', '\\n');

/** An appointment of the room itself, without attendees and reminders. */
function writeCalendarObject({ origin, start, end, subject, isPrivate }: WrittenItem, now: Date): string {
  const lines = [
    'BEGIN:VCALENDAR',
    'VERSION:2.0',
    'PRODID:-//roomgate//roomgate//EN',
    'BEGIN:VEVENT',
    `UID:${origin}`,
    `DTSTAMP:${stamp(now)}`,
    `DTSTART:${stamp(start)}`,
    `DTEND:${stamp(end)}`,
    foldLine(`SUMMARY:${escapeText(subject)}`),
    'TRANSP:OPAQUE',
    `CLASS:${isPrivate ? 'PRIVATE' : 'PUBLIC'}`,
    'END:VEVENT',
    'END:VCALENDAR',
    '',
  ];
  return lines.join('\r\n');
}

const objectProperties = '<D:prop><D:getetag/><C:calendar-data/></D:prop>';
/** The filter of a calendar-query. */
const withUid = (uid: string) =>
  `<C:filter><C:comp-filter name="VCALENDAR"><C:comp-filter name="VEVENT"><C:prop-filter name="UID"><C:text-match collation="i;octet">${escapeXml(uid)}</C:text-match></C:prop-filter></C:comp-filter></C:comp-filter></C:filter>`;

/** Cyrus redirects an account that writes into the calendar of another to the path at which it sees that calendar. */
const isFollowed = true;
/** Statuses that refuse the object, not the account. */
const ofObject = [400, 413, 415, 422];
/** Preconditions of the object (RFC 4791, 5.3.2.1; RFC 6638, 3.2.4): any other refusal of 403 is one of the account. */
const preconditionOfObject =
  /^(supported-calendar-(data|component)|valid-calendar-(data|object-resource)|max-resource-size|(min|max)-date-time|max-instances|max-attendees-per-instance|valid-timezone|unique-scheduling-object-resource|same-organizer-in-all-components|allowed-(organizer|attendee)-scheduling-object-change)$/;

export function openCalDavWrites(ask: AskServer, settings: MailServerSettings): NonNullable<Connector['writes']> {
  async function collection({ mailbox, address }: RemoteCalendar, signal: AbortSignal): Promise<string> {
    const known = fillTemplate(settings, mailbox) ?? address;
    const isHere = known !== null && URL.parse(known)?.origin === new URL(settings.Url).origin;
    const found = isHere ? known : await discoverCalendar(ask, settings, mailbox, signal);
    return found.endsWith('/') ? found : `${found}/`;
  }

  const placeOf = (at: string, origin: string) => `${at}${encodeURIComponent(origin)}.ics`;

  /** The ETag of the written object. If the answer lacks it, the server has modified the object (RFC 4791, 5.3.4), so it is read. */
  async function keyOf({ headers, address }: ServerAnswer, signal: AbortSignal): Promise<string | null> {
    const told = headers.get('etag');
    if (told !== null) return told;
    const { status, headers: later } = await ask({ address, reads: [404] }, signal);
    return status === 200 ? later.get('etag') : null;
  }

  async function put(address: string, item: WrittenItem, at: WrittenPlace | null, signal: AbortSignal) {
    const condition: Record<string, string> = at === null ? { 'if-none-match': '*' } : {};
    if (at?.changeKey) condition['if-match'] = at.changeKey;
    const headers = { 'content-type': 'text/calendar; charset=utf-8', ...condition };
    return await ask(
      {
        method: 'PUT',
        address,
        headers,
        body: writeCalendarObject(item, new Date()),
        reads: writeStatuses,
        isFollowed,
      },
      signal,
    );
  }

  /** @throws ServerFault for a refusal that concerns the calendar, not the object */
  function refusal(answer: ServerAnswer): WriteOutcome {
    const { status, address, request } = answer;
    const preconditions = failedPreconditions(answer);
    const ofThis = preconditions.find((name) => preconditionOfObject.test(name));
    if (ofThis !== undefined) return { is: 'Refused', reason: `The mail server answers ${status}: ${ofThis}.` };
    if ([207, 409, 412].includes(status) || preconditions.includes('no-uid-conflict')) return { is: 'Changed' };
    if (ofObject.includes(status)) return { is: 'Refused', reason: `The mail server answers ${status}.` };
    const { origin } = new URL(address);
    if (status === 403)
      throw new ServerFault(
        'AccessLost',
        `${origin} answers 403 to ${request}; may the account write into this calendar?`,
      );
    throw faultOf(answer, origin);
  }

  async function writeOne(at: string, write: Write, signal: AbortSignal): Promise<WriteOutcome> {
    if (write.do === 'Remove') {
      const address = new URL(write.at.id, at).href;
      const headers: Record<string, string> = write.at.changeKey ? { 'if-match': write.at.changeKey } : {};
      const answer = await ask({ method: 'DELETE', address, headers, reads: writeStatuses, isFollowed }, signal);
      const isGone = (answer.status < 300 && answer.status !== 207) || [404, 410].includes(answer.status);
      return isGone ? { is: 'Done', at: null } : refusal(answer);
    }
    const address = write.do === 'Create' ? placeOf(at, write.item.origin) : new URL(write.at.id, at).href;
    const answer = await put(address, write.item, write.do === 'Change' ? write.at : null, signal);
    if (answer.status >= 300 || answer.status === 207) return refusal(answer);
    return {
      is: 'Done',
      at: { id: canonicalPath(new URL(answer.address).pathname), changeKey: await keyOf(answer, signal) },
    };
  }

  function readObjects(answer: ServerAnswer, { mailbox, timeZone }: RemoteCalendar) {
    const reader = { window: always, mailbox, timeZone: timeZone ?? null };
    return readResources(answer).resources.flatMap((resource) => {
      const id = canonicalPath(resource.path);
      const data = propertyOf(resource, calDavNamespace, 'calendar-data');
      if (data === undefined) return [];
      const { items } = readCalendarObject(id, data.text, reader);
      return [{ id, changeKey: propertyOf(resource, davNamespace, 'getetag')?.text ?? null, items }];
    });
  }

  /** Finds an object by its UID, as another program may have moved it to another path. */
  async function findElsewhere(at: string, calendar: RemoteCalendar, origin: string, signal: AbortSignal) {
    const body = rootElement('C:calendar-query', `${objectProperties}${withUid(origin)}`);
    const answer = await sendQuestion(ask, { method: 'REPORT', address: at, depth: 1, body }, signal, [403]);
    // This server cannot search by UID (RFC 4791, 7.8).
    if (answer.status === 403 && failedPreconditions(answer).includes('supported-filter')) return [];
    return readObjects(answer, calendar).flatMap(({ items, ...place }) =>
      // The server matches parts of UIDs and ignores case.
      items.some(({ uid }) => uid === origin) ? [{ ...place, item: standingAs(origin, items) }] : [],
    );
  }

  return {
    atOnce,
    mayDouble: false,
    async write(calendar, writes, signal) {
      const at = await collection(calendar, signal);
      const outcomes: WriteOutcome[] = [];
      for (let next = 0; next < writes.length; next = outcomes.length) {
        const some = writes.slice(next, next + sideBySide);
        const answers = await Promise.allSettled(some.map((write) => writeOne(at, write, signal)));
        for (const answer of answers) {
          if (answer.status === 'fulfilled') outcomes.push(answer.value);
          else if (mayConcernOneItem(answer.reason)) outcomes.push({ is: 'Failed', error: answer.reason });
          else if (outcomes.length > 0) return unlessAllFailed(outcomes);
          else throw answer.reason;
        }
        // The server is not asked on when it fails at everything.
        if (outcomes.slice(next).every(({ is }) => is === 'Failed')) break;
      }
      return unlessAllFailed(outcomes);
    },
    async find(calendar, origins, signal) {
      let at = await collection(calendar, signal);
      let paths: string[] = [];
      let answer: ServerAnswer;
      for (;;) {
        paths = origins.map((origin) => new URL(placeOf(at, origin)).pathname);
        const inner = `${objectProperties}${hrefs(paths)}`;
        const body = rootElement('C:calendar-multiget', inner);
        answer = await sendQuestion(ask, { method: 'REPORT', address: at, depth: 1, body }, signal);
        // After a redirect, the objects have other paths too.
        if (new URL(answer.address).pathname === new URL(at).pathname) break;
        at = answer.address;
      }
      const named = new Map(paths.map((path, index) => [canonicalPath(path), origins[index] as string]));
      const found = readObjects(answer, calendar).flatMap(({ items, ...place }) => {
        const origin = named.get(place.id);
        return origin === undefined ? [] : [{ ...place, item: standingAs(origin, items) }];
      });
      const there = new Set(found.map(({ item }) => item.origin));
      const missing = origins.filter((origin) => !there.has(origin));
      for (let next = 0; next < missing.length; next += sideBySide) {
        const some = missing.slice(next, next + sideBySide);
        found.push(...(await Promise.all(some.map((origin) => findElsewhere(at, calendar, origin, signal)))).flat());
      }
      return found;
    },
  };
}
