/**
 * CalDAV (RFC 4791): what has changed in a calendar is asked by sync-collection (RFC 6578), what is there by
 * calendar-multiget. Series are expanded here, as the fewest servers do it. The server's operator sets up the push.
 */
import { setImmediate } from 'node:timers/promises';
import type { MailServerSettings } from '../../config.ts';
import type { Log } from '../../log.ts';
import { escapeXml } from '../xml.ts';
import { fillTemplate, findCalendar } from './caldav-discovery.ts';
import {
  type CalendarChanges,
  type Connector,
  type RemoteCalendar,
  type RemoteGroup,
  ServerFault,
  type Window,
} from './connector.ts';
import {
  askResources,
  calDavNamespace,
  canonicalPath,
  failedPreconditions,
  hrefs,
  propertyOf,
  type Resource,
  readResources,
  rootElement,
  sendQuestion,
} from './dav.ts';
import { faultOf, quote } from './faults.ts';
import { type Ask, openHttp } from './http.ts';
import { type Reader, readCalendarObject } from './ical.ts';
import { boundId } from './values.ts';

const pageSize = 500;
const mostPages = 1_000;
const mostObjects = 50_000;
const batchSize = 50;
/** Milliseconds for which others may have to wait. */
const longestTurn = 20;

export function openCalDav(settings: MailServerSettings, log: Log): Connector {
  const ask = openHttp(settings, log);
  return {
    kind: 'CalDav',
    subscriptions: null,
    read: (calendar, cursor, window, signal) => read({ ask, settings, calendar, window, signal }, cursor),
  };
}

type Reading = {
  ask: Ask;
  settings: MailServerSettings;
  calendar: RemoteCalendar;
  window: Window;
  signal: AbortSignal;
};

async function read(reading: Reading, cursor: string | null): Promise<CalendarChanges> {
  const { ask, settings, calendar, signal } = reading;
  const known = fillTemplate(settings, calendar.mailbox) ?? calendar.address;
  if (known === null || !isHere(settings, known))
    return readAt(reading, await findCalendar(ask, settings, calendar.mailbox, signal), cursor);
  try {
    return await readAt(reading, known, cursor);
  } catch (error) {
    if (!(error instanceof NotThere) || fillTemplate(settings, calendar.mailbox) !== null) throw error;
    return readAt(reading, await findCalendar(ask, settings, calendar.mailbox, signal), cursor);
  }
}

/** It was found before the settings named another server. */
function isHere(settings: MailServerSettings, address: string): boolean {
  return URL.parse(address)?.origin === new URL(settings.Url).origin;
}

/** The calendar is not where it was. */
class NotThere extends ServerFault {}

/** Reads the changes since a cursor, which is the address of the calendar and the server's token. */
async function readAt(reading: Reading, address: string, cursor: string | null): Promise<CalendarChanges> {
  const place = `${address} `;
  const token = cursor?.startsWith(place) ? cursor.slice(place.length) : null;
  const members = await listChanges(reading, address, token);
  const changed = [...members.changed.values()];
  const { groups, gone } = await readObjects(reading, address, changed);
  return {
    whole: token === null,
    groups,
    removed: [...members.removed, ...gone].map(boundId),
    cursor: `${place}${members.token}`,
    address,
  };
}

type Members = {
  /** As the server writes them, by their canonical paths. */
  changed: Map<string, string>;
  /** By their canonical paths. */
  removed: Set<string>;
  token: string;
};

async function listChanges(reading: Reading, address: string, since: string | null): Promise<Members> {
  const members: Members = { changed: new Map(), removed: new Set(), token: since ?? '' };
  for (let page = 0; page < mostPages; page++) {
    const { resources, token, isCut } = await readPage(reading, address, members.token);
    for (const resource of resources) addMember(members, resource);
    if (members.changed.size + members.removed.size > mostObjects)
      throw new ServerFault('TooLarge', `The calendar has more than ${mostObjects} objects.`);
    const isStuck = isCut && token === members.token;
    members.token = token;
    if (!isCut) return members;
    if (isStuck) break;
  }
  throw new ServerFault('Unreadable', 'The pages of the changes have no end.');
}

function addMember({ changed, removed }: Members, { path, status }: Resource): void {
  const key = canonicalPath(path);
  // A page later may say otherwise.
  changed.delete(key);
  removed.delete(key);
  if (status === 404 || status === 410) removed.add(key);
  else if (status === null) changed.set(key, path);
}

type Page = { resources: Resource[]; token: string; isCut: boolean };

async function readPage(reading: Reading, address: string, token: string): Promise<Page> {
  const answer = await askForPage(reading, address, token);
  const { resources, syncToken } = readResources(answer);
  const { origin, pathname } = new URL(answer.address);
  if (syncToken === null || syncToken === '')
    throw new ServerFault('Unreadable', `${origin} does not tell by what it can be asked for changes.`);
  const own = canonicalPath(pathname).replace(/\/$/, '');
  const isOwn = ({ path }: Resource) => canonicalPath(path).replace(/\/$/, '') === own;
  return {
    // Collections within it, as some servers have them, are none of its objects.
    resources: resources.filter((each) => !isOwn(each) && !each.path.endsWith('/')),
    token: syncToken,
    isCut: resources.some((each) => isOwn(each) && each.status === 507),
  };
}

/** Statuses by which servers refuse a token or a limit; the body says which it was. */
const refusals = [400, 403, 404, 409, 410, 412, 507];

async function askForPage({ ask, signal }: Reading, address: string, token: string) {
  for (const limit of [`<D:limit><D:nresults>${pageSize}</D:nresults></D:limit>`, '']) {
    const inner = `<D:sync-token>${escapeXml(token)}</D:sync-token><D:sync-level>1</D:sync-level>${limit}<D:prop><D:getetag/></D:prop>`;
    const body = rootElement('D:sync-collection', inner);
    const answer = await sendQuestion(ask, { method: 'REPORT', address, depth: 0, body }, signal, refusals);
    const { status, headers } = answer;
    if (status === 207) return answer;
    const preconditions = status < 300 ? [] : failedPreconditions(answer);
    if (token !== '' && (status === 410 || preconditions.includes('valid-sync-token')))
      throw new ServerFault(
        'StateLost',
        `${new URL(address).origin} does not know any more what we have read.`,
      );
    const isLimit = status === 507 || preconditions.includes('number-of-matches-within-limits');
    if (isLimit && limit !== '') continue;
    const { origin, pathname } = new URL(address);
    if (status === 404)
      throw new NotThere(
        'Unreachable',
        `${origin} answers 404 for ${quote(pathname)}; is there a calendar, and is the Url of the settings right?`,
      );
    throw faultOf(status, headers, origin);
  }
  throw new ServerFault('TooLarge', `${new URL(address).origin} does not list a calendar of this size.`);
}

type Objects = { groups: RemoteGroup[]; gone: string[] };

async function readObjects(reading: Reading, address: string, paths: string[]): Promise<Objects> {
  const { calendar, window } = reading;
  const reader: Reader = { window, mailbox: calendar.mailbox, timeZone: calendar.timeZone ?? null };
  const objects: Objects = { groups: [], gone: [] };
  let turn = performance.now();
  for (let at = 0; at < paths.length; at += batchSize) {
    const batch = paths.slice(at, at + batchSize);
    for await (const { path, text, isGone } of fetchObjects(reading, address, batch)) {
      const key = canonicalPath(path);
      if (isGone) objects.gone.push(key);
      else if (text === null) objects.groups.push(unreadable(key));
      else objects.groups.push(readCalendarObject(boundId(key), text, reader));
      if (performance.now() - turn > longestTurn) {
        await setImmediate();
        turn = performance.now();
      }
    }
  }
  return objects;
}

function unreadable(key: string): RemoteGroup {
  return {
    id: boundId(key),
    items: [],
    unreadable: 'It cannot be read: the server does not give it in a form that is taken.',
  };
}

type Fetched = { path: string; text: string | null; isGone: boolean };

/** One of them may be too large, or break the XML of the others: it is sought by halves. */
async function* fetchObjects(reading: Reading, address: string, paths: string[]): AsyncIterable<Fetched> {
  try {
    yield* await fetchBatch(reading, address, paths);
  } catch (error) {
    const isOfOne =
      error instanceof ServerFault && (error.fault === 'TooLarge' || error.fault === 'Unreadable');
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
  const { resources } = await askResources(ask, { method: 'REPORT', address, depth: 1, body }, signal);
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
