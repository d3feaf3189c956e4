/**
 * CalDAV (RFC 4791): sync-collection (RFC 6578) lists the changes of a calendar, calendar-multiget reads its objects. Series
 * are expanded here, as few servers do that. The operator of the server configures the push.
 */
import { setImmediate } from 'node:timers/promises';
import { z } from 'zod';
import type { MailServerSettings } from '../config.ts';
import type { Log } from '../log.ts';
import { openCalDavInvitations } from './caldav-declines.ts';
import { discoverCalendar, fillTemplate } from './caldav-discovery.ts';
import { openCalDavWrites } from './caldav-writes.ts';
import {
  type CalendarPage,
  type Connector,
  type ReadingStart,
  type ReadingWindow,
  type RemoteCalendar,
  type RemoteGroup,
  ServerFault,
} from './connector.ts';
import {
  askResources,
  calDavNamespace,
  canonicalPath,
  type DavResource,
  failedPreconditions,
  hrefs,
  propertyOf,
  readResources,
  rootElement,
  sendQuestion,
} from './dav.ts';
import { faultOf, quote, TimedOut } from './faults.ts';
import { type AskServer, openHttp, readDeadlineMs } from './http.ts';
import { type ObjectReader, readCalendarObject } from './ical.ts';
import { readPlace } from './places.ts';
import { boundId } from './values.ts';
import { escapeXml } from './xml.ts';

const [pageSize, mostLists, mostObjects, usualBatch] = [500, 1_000, 50_000, 50];
/** Lists get more time, as they cannot be read in parts: Radicale opens each object when it lists them for the first time. */
const listDeadlineMs = 120_000;
const longestTurnMs = 20;

export function openCalDav(settings: MailServerSettings, log: Log): Connector {
  const ask = openHttp(settings, log);
  return {
    kind: 'CalDav',
    subscriptions: null,
    writes: openCalDavWrites(ask, settings),
    invitation: openCalDavInvitations(ask, settings),
    pages: (calendar, from, window, signal) => read({ ask, settings, calendar, window, signal }, from),
  };
}

type Reading = {
  ask: AskServer;
  settings: MailServerSettings;
  calendar: RemoteCalendar;
  window: ReadingWindow;
  signal: AbortSignal;
};

async function* read(reading: Reading, from: ReadingStart): AsyncGenerator<CalendarPage, void> {
  const { ask, settings, calendar, signal } = reading;
  const known = fillTemplate(settings, calendar.mailbox) ?? calendar.address;
  const find = () => discoverCalendar(ask, settings, calendar.mailbox, signal);
  if (known === null || !isHere(settings, known)) return yield* readAt(reading, await find(), from);
  try {
    yield* readAt(reading, known, from);
  } catch (error) {
    if (!(error instanceof NotThere) || fillTemplate(settings, calendar.mailbox) !== null) throw error;
    yield* readAt(reading, await find(), from);
  }
}

/** False for an address that was found before the settings named another server. */
function isHere(settings: MailServerSettings, address: string): boolean {
  return URL.parse(address)?.origin === new URL(settings.Url).origin;
}

/** The calendar is not where it was. */
class NotThere extends ServerFault {}

/** The progress of a reading: it fetches a list of changes, then the listed objects in the order of their paths. */
const davPlace = z.strictObject({
  address: z.string(),
  whole: z.boolean(),
  /** The sync token of the list; '' for all objects. The same token may give another list the next time. */
  token: z.string(),
  /** From the first answer: the token of the next list, and whether the server has truncated this one. */
  next: z.strictObject({ token: z.string(), isCut: z.boolean() }).nullable(),
  /** The path up to which objects have been read, and the number of objects of one request. */
  after: z.string(),
  batchSize: z.int().positive(),
  /** The number of lists before this one, and of the objects in them. */
  lists: z.int(),
  objects: z.int(),
});
type DavPlace = z.infer<typeof davPlace>;

/** A cursor consists of the calendar's address and the server's token. */
function beginAt(address: string, cursor: string | null): DavPlace {
  const prefix = `${address} `;
  const token = cursor?.startsWith(prefix) ? cursor.slice(prefix.length) : '';
  return {
    address,
    whole: token === '',
    token,
    next: null,
    after: '',
    batchSize: usualBatch,
    lists: 0,
    objects: 0,
  };
}

async function* readAt(reading: Reading, address: string, from: ReadingStart): AsyncGenerator<CalendarPage, void> {
  const going = readPlace(davPlace, from.continuation);
  // A continuation of a calendar at another address is void.
  const restarts = going !== null && going.address !== address;
  let place = going && !restarts ? going : beginAt(address, from.cursor);
  const page = (groups: RemoteGroup[], removed: string[]): CalendarPage => ({
    groups,
    removed: removed.map(boundId),
    address,
    whole: place.whole,
    isLast: false,
    cursor: JSON.stringify(place),
  });
  if (restarts) yield { ...page([], []), restarts };
  for (;;) {
    const list = await readPage(reading, address, place.token);
    const { changed, removed } = sortMembers(list.resources);
    const objects = place.objects + changed.size + removed.length;
    if (objects > mostObjects) throw new ServerFault('TooLarge', `The calendar has more than ${mostObjects} objects.`);
    const next = place.next ?? { token: list.token, isCut: list.isCut };
    place = { ...place, next };
    const paths = [...changed].filter(([key]) => key > place.after).sort(([one], [other]) => (one < other ? -1 : 1));
    for (let at = 0; at < paths.length; ) {
      const batch = paths.slice(at, at + place.batchSize);
      const read = await readObjects(
        reading,
        address,
        batch.map(([, path]) => path),
      ).catch((error: unknown) => {
        if (error instanceof TimedOut && batch.length > 1) return error;
        throw error;
      });
      if (read instanceof TimedOut) {
        place = { ...place, batchSize: Math.ceil(batch.length / 2) };
        yield page([], []);
        throw read;
      }
      at += batch.length;
      place = { ...place, after: batch.at(-1)![0] };
      yield page(read.groups, read.gone);
    }
    if (!next.isCut) {
      yield { ...page([], removed), isLast: true, cursor: `${address} ${next.token}` };
      return;
    }
    if (next.token === place.token || place.lists === mostLists)
      throw new ServerFault('Unreadable', 'The list of changes never ends.');
    place = { ...place, token: next.token, next: null, after: '', lists: place.lists + 1, objects };
    yield page([], removed);
  }
}

/** Sorts members by canonical path; the values of `changed` are the paths as the server writes them. */
function sortMembers(resources: readonly DavResource[]): { changed: Map<string, string>; removed: string[] } {
  const changed = new Map<string, string>();
  const removed = new Set<string>();
  for (const { path, status } of resources) {
    const key = canonicalPath(path);
    changed.delete(key);
    removed.delete(key);
    if (status === 404 || status === 410) removed.add(key);
    else if (status === null) changed.set(key, path);
  }
  return { changed, removed: [...removed] };
}

type DavPage = { resources: DavResource[]; token: string; isCut: boolean };

async function readPage(reading: Reading, address: string, token: string): Promise<DavPage> {
  const answer = await askForPage(reading, address, token);
  const { resources, syncToken } = readResources(answer);
  const { origin, pathname } = new URL(answer.address);
  if (syncToken === null || syncToken === '')
    throw new ServerFault('Unreadable', `${origin} sends no sync-token, so it cannot be asked for changes.`);
  const own = canonicalPath(pathname).replace(/\/$/, '');
  const isOwn = ({ path }: DavResource) => canonicalPath(path).replace(/\/$/, '') === own;
  return {
    // Some servers list collections inside the calendar, which are not objects.
    resources: resources.filter((each) => !isOwn(each) && !each.path.endsWith('/')),
    token: syncToken,
    isCut: resources.some((each) => isOwn(each) && each.status === 507),
  };
}

const list = { method: 'REPORT', depth: 0, what: 'REPORT sync-collection', deadlineMs: listDeadlineMs } as const;
const objects = {
  method: 'REPORT',
  depth: 1,
  what: 'REPORT calendar-multiget',
  deadlineMs: readDeadlineMs,
} as const;

/** Statuses of servers that refuse a token or a limit; the body says which. */
const readStatuses = [400, 403, 404, 409, 410, 412, 507];

async function askForPage({ ask, signal }: Reading, address: string, token: string) {
  for (const limit of [`<D:limit><D:nresults>${pageSize}</D:nresults></D:limit>`, '']) {
    const inner = `<D:sync-token>${escapeXml(token)}</D:sync-token><D:sync-level>1</D:sync-level>${limit}<D:prop><D:getetag/></D:prop>`;
    const body = rootElement('D:sync-collection', inner);
    const question = { ...list, address, body } as const;
    const answer = await sendQuestion(ask, question, signal, readStatuses);
    const { status } = answer;
    if (status === 207) return answer;
    const preconditions = status < 300 ? [] : failedPreconditions(answer);
    if (token !== '' && (status === 410 || preconditions.includes('valid-sync-token')))
      throw new ServerFault('StateLost', `${new URL(address).origin} no longer knows our sync token.`);
    const isLimit = status === 507 || preconditions.includes('number-of-matches-within-limits');
    if (isLimit && limit !== '') continue;
    const { origin, pathname } = new URL(address);
    if (status === 404)
      throw new NotThere(
        'Unreachable',
        `${origin} answers 404 for ${quote(pathname)}; is there a calendar, and is the Url of the settings right?`,
        null,
        status,
      );
    throw faultOf(answer, origin);
  }
  throw new ServerFault('TooLarge', `${new URL(address).origin} does not list a calendar of this size.`);
}

type Objects = { groups: RemoteGroup[]; gone: string[] };

async function readObjects(reading: Reading, address: string, paths: string[]): Promise<Objects> {
  const { calendar, window } = reading;
  const reader: ObjectReader = { window, mailbox: calendar.mailbox, timeZone: calendar.timeZone ?? null };
  const found: Objects = { groups: [], gone: [] };
  let turn = performance.now();
  for await (const { path, text, isGone } of fetchObjects(reading, address, paths)) {
    const key = canonicalPath(path);
    if (isGone) found.gone.push(key);
    else if (text === null) found.groups.push(unreadable(key));
    else found.groups.push(readCalendarObject(boundId(key), text, reader));
    if (performance.now() - turn > longestTurnMs) {
      await setImmediate();
      turn = performance.now();
    }
  }
  return found;
}

function unreadable(key: string): RemoteGroup {
  return {
    id: boundId(key),
    items: [],
    unreadable: 'It cannot be read: the server does not send it as iCalendar.',
  };
}

type Fetched = { path: string; text: string | null; isGone: boolean };

/** Fetches objects. One that is too large, or breaks the XML of the others, is found by halving the batch. */
async function* fetchObjects(reading: Reading, address: string, paths: string[]): AsyncIterable<Fetched> {
  try {
    yield* await fetchBatch(reading, address, paths);
  } catch (error) {
    const isOfOne = error instanceof ServerFault && (error.fault === 'TooLarge' || error.fault === 'Unreadable');
    if (!isOfOne) throw error;
    if (paths.length === 1) yield { path: paths[0]!, text: null, isGone: false };
    else {
      const half = Math.ceil(paths.length / 2);
      yield* fetchObjects(reading, address, paths.slice(0, half));
      yield* fetchObjects(reading, address, paths.slice(half));
    }
  }
}

async function fetchBatch({ ask, signal }: Reading, address: string, paths: string[]): Promise<Fetched[]> {
  const inner = `<D:prop><D:getetag/><C:calendar-data/></D:prop>${hrefs(paths)}`;
  const body = rootElement('C:calendar-multiget', inner);
  const { resources } = await askResources(ask, { ...objects, address, body }, signal);
  const answered = new Map(resources.map((resource) => [canonicalPath(resource.path), resource]));
  return paths.map((path) => {
    const resource = answered.get(canonicalPath(path));
    const data = resource && propertyOf(resource, calDavNamespace, 'calendar-data');
    return {
      path,
      text: data?.text ?? null,
      isGone: resource?.status === 404 || resource?.status === 410,
    };
  });
}
