/** Microsoft Graph: the calendars of Microsoft 365, asked with the permission of an application. */
import pLimit from 'p-limit';
import type { MailServerSettings } from '../../config.ts';
import type { Log } from '../../log.ts';
import {
  type CalendarChanges,
  type Connector,
  type RemoteGroup,
  ServerFault,
  type Window,
} from './connector.ts';
import { type GraphApi, openGraphApi } from './graph-api.ts';
import { groupOf, isOfSeries, readEvent, readStub, selected } from './graph-events.ts';
import { openGraphSubscriptions, pathOf } from './graph-subscriptions.ts';
import { groupItems, mostOccurrences, type ReadOfGroup } from './groups.ts';
import { openHttp } from './http.ts';
import { readInSlices } from './slices.ts';
import { boundId } from './values.ts';

const inUtc = 'outlook.timezone="UTC", outlook.body-content-type="text"';
/** Of a delta, which tells whole events with their bodies; and of what tells only what we take over. */
const [deltaPage, viewPage] = [100, 500];
const mostChanges = 100_000;
/** That fits into an address. */
const longestId = 1_000;
/** Series that are read one by one; when more have changed the whole window is read at once. */
const mostSeries = 8;
/** Of the four that Graph lets one mailbox have. */
const seriesAtOnce = 3;
/** Readings of the whole window until nothing changes meanwhile: what is moved during one may be missed by it. */
const mostViews = 3;

/** What a delta tells: the last word on each event. */
type Delta = {
  singles: ReadOfGroup[];
  /** The ids of series of which something has changed, as Graph calls them. */
  series: string[];
  removed: string[];
  link: string;
};

export function openGraph(settings: MailServerSettings, log: Log): Connector {
  const api = openGraphApi(settings, openHttp(settings, log));

  return {
    kind: 'Graph',
    subscriptions: openGraphSubscriptions(api),
    async read({ mailbox, address }, cursor, window, signal): Promise<CalendarChanges> {
      const room = `/${pathOf(mailbox)}`;
      const link = readCursor(cursor, api.origin) ?? `${room}/calendarView/delta?${during(window)}`;
      const delta = await readDelta(api, link, cursor !== null, signal);
      // The master of a series is told to be removed also when only its own start is outside of the window.
      const known = new Set(delta.series);
      const doubtful = delta.removed.filter((id) => !known.has(id));
      if (known.size + doubtful.length > mostSeries)
        return readView(api, { room, address, window, delta }, signal);
      const read = await pLimit(seriesAtOnce).map([...delta.series, ...doubtful], (id) =>
        readSeries(api, { room, window, id, isGuess: !known.has(id) }, signal),
      );
      const groups = [...read.flatMap((one) => one ?? []), ...groupItems(delta.singles)];
      const there = new Set(groups.flatMap(({ id, items }) => [id, ...items.map((item) => item.id)]));
      const gone = delta.series.filter((_, index) => !read[index]);
      return {
        whole: cursor === null,
        groups,
        removed: [...delta.removed, ...gone].map(boundId).filter((id) => !there.has(id)),
        cursor: writeCursor(delta.link),
        address,
      };
    },
  };
}

function during({ start, end }: Window): string {
  return `startDateTime=${start.toISOString()}&endDateTime=${end.toISOString()}`;
}

async function readDelta(
  { readPages, origin }: GraphApi,
  address: string,
  isCursor: boolean,
  signal: AbortSignal,
): Promise<Delta> {
  const singles = new Map<string, ReadOfGroup>();
  const series = new Set<string>();
  const removed = new Set<string>();

  function take(event: unknown): void {
    const stub = readStub(event);
    if (!stub) throw new ServerFault('Unreadable', `${origin} tells an event without an id.`);
    const { id } = stub;
    singles.delete(id);
    removed.delete(id);
    if (stub['@removed']) removed.add(id);
    else if (isOfSeries(stub)) series.add(groupOf(stub));
    else singles.set(id, readEvent(event, stub));
  }

  function takeAll(values: unknown[]): boolean {
    values.forEach(take);
    if (singles.size + series.size + removed.size > mostChanges)
      throw new ServerFault('TooLarge', `The calendar has more than ${mostChanges} changes.`);
    return true;
  }

  const question = { address, prefer: inUtc, pageSize: deltaPage, isCursor };
  const last = await readPages(question, takeAll, signal);
  if (!last && isCursor) throw new ServerFault('StateLost', `${origin} does not know the cursor any more.`);
  if (!last) throw new ServerFault('AccessLost', `${origin} knows no such mailbox or calendar.`);
  const link = last['@odata.deltaLink'];
  if (!link) throw new ServerFault('Unreadable', `${origin} does not say where its changes go on.`);
  return { singles: [...singles.values()], series: [...series], removed: [...removed], link };
}

/**
 * All occurrences of a series within the window; a delta tells neither all of them nor all of each.
 * @param isGuess it may be no series, or not there any more
 * @returns undefined when it is not there
 */
async function readSeries(
  api: GraphApi,
  { room, window, id, isGuess }: { room: string; window: Window; id: string; isGuess: boolean },
  signal: AbortSignal,
): Promise<RemoteGroup[] | undefined> {
  if (id.length > longestId)
    return isGuess
      ? undefined
      : [{ id: boundId(id), items: [], unreadable: 'The id of a series is too long.' }];
  const reads: ReadOfGroup[] = [];
  const take = (values: unknown[]) => {
    reads.push(...readEvents(values, api.origin, id));
    return reads.length <= mostOccurrences;
  };
  const path = `${room}/events/${encodeURIComponent(id)}/instances`;
  const address = `${path}?${during(window)}&${selected}&$top=${viewPage}`;
  const question = { address, prefer: inUtc, pageSize: viewPage, isGuess };
  const page = await api.readPages(question, take, signal);
  if (!page || (isGuess && reads.length === 0)) return undefined;
  return reads.length === 0 ? [{ id: boundId(id), items: [] }] : groupItems(reads);
}

/** Of a list that tells whole events, without the masters of series. */
function readEvents(values: readonly unknown[], origin: string, seriesMasterId?: string): ReadOfGroup[] {
  return values.flatMap((event) => {
    const stub = readStub(event);
    if (!stub) throw new ServerFault('Unreadable', `${origin} tells an event without an id.`);
    if (stub.type === 'seriesMaster') return [];
    return readEvent(event, seriesMasterId === undefined ? stub : { ...stub, seriesMasterId });
  });
}

/** Everything there is, with what the delta of before promises to tell from then on. */
async function readView(
  api: GraphApi,
  { room, address, window, delta }: { room: string; address: string | null; window: Window; delta: Delta },
  signal: AbortSignal,
): Promise<CalendarChanges> {
  async function readSlice(slice: Window): Promise<ReadOfGroup[] | undefined> {
    const values: unknown[] = [];
    const take = (some: unknown[]) => {
      values.push(...some);
      return false;
    };
    const view = `${room}/calendarView?${during(slice)}&${selected}&$top=${viewPage}`;
    const page = await api.readPages({ address: view, prefer: inUtc, pageSize: viewPage }, take, signal);
    if (!page) throw new ServerFault('AccessLost', `${api.origin} knows no such mailbox or calendar.`);
    // Later pages count from the beginning of a list that changes: none of it may be missed.
    if (page['@odata.nextLink']) return undefined;
    return readEvents(values, api.origin);
  }

  let { link } = delta;
  for (let views = 1; ; views += 1) {
    const found = await readInSlices(window, readSlice);
    const next = await readDelta(api, link, true, signal);
    const hasChanged = next.singles.length + next.series.length + next.removed.length > 0;
    if (hasChanged && views < mostViews) {
      link = next.link;
      continue;
    }
    // What has changed once more is found by the next reading.
    const cursor = writeCursor(hasChanged ? link : next.link);
    return { whole: true, groups: groupItems(found), removed: [], cursor, address };
  }
}

const writeCursor = (deltaLink: string) => JSON.stringify({ deltaLink });

/** @throws ServerFault StateLost for what is no cursor of this server */
function readCursor(cursor: string | null, origin: string): string | undefined {
  if (cursor === null) return undefined;
  try {
    const { deltaLink } = JSON.parse(cursor) as { deltaLink?: unknown };
    if (typeof deltaLink === 'string' && new URL(deltaLink).origin === origin) return deltaLink;
  } catch {
    // It is none.
  }
  throw new ServerFault('StateLost', 'The cursor is not one of this server.');
}
