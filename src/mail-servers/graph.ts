/** Microsoft Graph: the calendars of Microsoft 365, with an application permission. */
import pLimit from 'p-limit';
import { z } from 'zod';
import type { MailServerSettings } from '../config.ts';
import type { Log } from '../log.ts';
import { type Connector, type ReadingWindow, type RemoteGroup, ServerFault } from './connector.ts';
import { TimedOut } from './faults.ts';
import { type GraphApi, openGraphApi } from './graph-api.ts';
import { openGraphInvitations } from './graph-declines.ts';
import { groupOf, inUtc, isOfSeries, readEvent, readStub, selected } from './graph-events.ts';
import { openGraphSubscriptions, pathOf } from './graph-subscriptions.ts';
import { openGraphWrites } from './graph-writes.ts';
import { groupItems, mostOccurrences, type ReadOfGroup, withoutId } from './groups.ts';
import { openHttp } from './http.ts';
import { checkNextPage } from './pages.ts';
import { readPlace } from './places.ts';
import { firstSlice, readSlices, type SlicePlace, slicePlace, type TimeSlice } from './slices.ts';
import { boundId } from './values.ts';

/** Page sizes. A delta returns whole events with their bodies, a view only the selected members. */
const [deltaPage, viewPage] = [100, 500];
/** The longest id that fits into a URL. */
const longestId = 1_000;
/** The most series that are read one by one; if more have changed, the whole window is read instead. */
const mostSeries = 8;
/** Graph allows four concurrent requests for a mailbox. */
const seriesAtOnce = 3;
/** The most views of the whole window. A view is repeated if changes come meanwhile, as it may miss an event that moves. */
const mostViews = 3;

/** The progress of a reading: it asks for changes; if many series have changed, it views all events and asks again. */
const graphPlace = z.strictObject({
  /** The next page of changes; null when all are read: later changes begin at `told`. */
  link: z.string().nullable(),
  told: z.string().nullable(),
  /** The number of pages since the last view, and the size of the next. */
  pages: z.int(),
  pageSize: z.int().positive(),
  /** Whether something has changed since the last view. */
  hasChanged: z.boolean(),
  /** Graph's ids of changed series and of removed events, of each at most one more than are read one by one. */
  series: z.array(z.string()),
  removed: z.array(z.string()),
  /** The deltaLink before the last view, which may have missed later changes. */
  viewed: z.string().nullable(),
  views: z.int(),
  /** Where the view under way continues; null without one. */
  slice: slicePlace.nullable(),
});
type GraphPlace = z.infer<typeof graphPlace>;

export function openGraph(settings: MailServerSettings, log: Log): Connector {
  const api = openGraphApi(settings, openHttp(settings, log));

  return {
    kind: 'Graph',
    writes: openGraphWrites(api),
    invitation: openGraphInvitations(api),
    subscriptions: openGraphSubscriptions(api),
    async *pages({ mailbox, address }, { cursor, continuation }, window, signal) {
      const room = `/${pathOf(mailbox)}`;
      const none = { groups: [], removed: [], address };
      const isCursor = cursor !== null || continuation !== null;
      const whole = `${room}/calendarView/delta?${during(window)}`;
      let place =
        checkLinks(readPlace(graphPlace, continuation), api.origin) ??
        beginAt(checkLinks(readPlace(graphCursor, cursor), api.origin)?.deltaLink ?? whole);
      const goesOn = () => ({ whole: true, isLast: false, cursor: JSON.stringify(place) });
      for (;;) {
        if (place.slice)
          for await (const { items, next } of viewSlices(api, room, window, place.slice, signal)) {
            place = { ...place, slice: next };
            yield { ...none, ...goesOn(), groups: groupItems(items), isSlice: true };
          }
        for await (const changes of readChanges(api, place, isCursor, signal)) {
          place = changes.place;
          yield {
            ...none,
            ...goesOn(),
            groups: groupItems(changes.singles),
            removed: changes.removed.map(boundId),
          };
        }
        const told = place.told as string;
        // Graph also reports the master of a series as removed when only its own start is outside of the window.
        const known = new Set(place.series);
        const doubtful = place.removed.filter((id) => !known.has(id));
        const isMuch = known.size + doubtful.length > mostSeries;
        if (place.views === 0 && !isMuch) {
          const last = await readAllSeries(api, { room, window, series: [...known], doubtful }, signal);
          yield { ...none, ...last, whole: cursor === null, isLast: true, cursor: writeCursor(told) };
          return;
        }
        if (place.views > 0 && (!place.hasChanged || place.views === mostViews)) {
          // The next reading finds what has changed since the last view began.
          const reached = place.hasChanged ? (place.viewed as string) : told;
          yield { ...none, whole: true, isLast: true, cursor: writeCursor(reached) };
          return;
        }
        place = { ...beginAt(told), viewed: told, views: place.views + 1, slice: firstSlice(window) };
        yield { ...none, ...goesOn(), restarts: true };
      }
    },
  };
}

const beginAt = (link: string): GraphPlace => ({
  link,
  told: null,
  pages: 0,
  pageSize: deltaPage,
  hasChanged: false,
  series: [],
  removed: [],
  viewed: null,
  views: 0,
  slice: null,
});

/** @throws ServerFault StateLost for stored links of another server */
function checkLinks<Kept extends { link?: string | null; told?: string | null; deltaLink?: string }>(
  kept: Kept | null,
  origin: string,
): Kept | null {
  for (const link of [kept?.link, kept?.told, kept?.deltaLink])
    if (link && !link.startsWith('/') && URL.parse(link)?.origin !== origin)
      throw new ServerFault('StateLost', 'The stored links of the last reading belong to another server.');
  return kept;
}

function during({ start, end }: ReadingWindow): string {
  return `startDateTime=${start.toISOString()}&endDateTime=${end.toISOString()}`;
}

type Changes = { place: GraphPlace; singles: ReadOfGroup[]; removed: string[] };

/** Reads the changes page by page, up to the deltaLink. */
async function* readChanges(
  { readPage, origin }: GraphApi,
  from: GraphPlace,
  isCursor: boolean,
  signal: AbortSignal,
): AsyncGenerator<Changes, void> {
  const seen = new Set<string>();
  let place = from;
  while (place.link !== null) {
    const { link: address, pageSize } = place;
    seen.add(address);
    const answer = await readPage({ address, prefer: inUtc, pageSize, isCursor }, signal).catch((error: unknown) => {
      if (error instanceof TimedOut && pageSize > 1) return error;
      throw error;
    });
    if (answer instanceof TimedOut) {
      yield { place: { ...place, pageSize: Math.ceil(pageSize / 2) }, singles: [], removed: [] };
      throw answer;
    }
    const { page } = answer;
    if (!page) throw noPage(origin, isCursor, place.pages > 0);
    const { series, singles, removed } = sortChanges(page.value);
    const next = page['@odata.nextLink'] ?? null;
    const told = next === null ? (page['@odata.deltaLink'] ?? null) : null;
    if (next === null && told === null)
      throw new ServerFault('Unreadable', `${origin} sends neither a nextLink nor a deltaLink.`);
    if (next !== null) checkNextPage(origin, place.pages + 1, seen.has(next));
    const some = (ids: string[]) => [...new Set(ids)].slice(0, mostSeries + 1);
    place = {
      ...place,
      link: next,
      told,
      pages: place.pages + 1,
      pageSize: answer.pageSize,
      hasChanged: place.hasChanged || page.value.length > 0,
      series: some([...place.series, ...series]),
      removed: some([...place.removed, ...removed]),
    };
    yield { place, singles, removed };
  }
}

function noPage(origin: string, isCursor: boolean, isLater: boolean): ServerFault {
  if (isCursor) return new ServerFault('StateLost', `${origin} no longer knows the cursor.`);
  if (isLater) return new ServerFault('Unreadable', `${origin} refers to a page that does not exist.`);
  return new ServerFault('AccessLost', `${origin} knows no such mailbox or calendar.`);
}

/** Sorts the events of a page; the last entry of each event wins. */
function sortChanges(events: readonly unknown[]): Omit<Changes, 'place'> & { series: string[] } {
  const singles = new Map<string, ReadOfGroup>();
  const series = new Set<string>();
  const removed = new Set<string>();
  for (const event of events) {
    const stub = readStub(event);
    if (!stub) {
      singles.set(withoutId.id, withoutId);
      continue;
    }
    const { id } = stub;
    singles.delete(id);
    removed.delete(id);
    if (stub['@removed']) removed.add(id);
    else if (isOfSeries(stub)) series.add(groupOf(stub));
    else singles.set(id, readEvent(event, stub));
  }
  return { singles: [...singles.values()], series: [...series], removed: [...removed] };
}

/** Reads the changed series, and the removed ids that may belong to series. */
async function readAllSeries(
  api: GraphApi,
  { room, window, series, doubtful }: { room: string; window: ReadingWindow; series: string[]; doubtful: string[] },
  signal: AbortSignal,
): Promise<{ groups: RemoteGroup[]; removed: string[] }> {
  const ids = [...series, ...doubtful];
  const read = await pLimit(seriesAtOnce).map(ids, (id, index) =>
    readSeries(api, { room, window, id, isGuess: index >= series.length }, signal),
  );
  const gone = series.filter((_, index) => !read[index]);
  return { groups: read.flatMap((one) => one ?? []), removed: gone.map(boundId) };
}

/**
 * Reads all occurrences of a series in the window, as a delta has neither all of them nor all their members.
 * @param isGuess whether the id may not belong to a series, or to one that is gone
 * @returns undefined when the series is missing
 */
async function readSeries(
  api: GraphApi,
  { room, window, id, isGuess }: { room: string; window: ReadingWindow; id: string; isGuess: boolean },
  signal: AbortSignal,
): Promise<RemoteGroup[] | undefined> {
  if (id.length > longestId)
    return isGuess ? undefined : [{ id: boundId(id), items: [], unreadable: 'The id of a series is too long.' }];
  const reads: ReadOfGroup[] = [];
  const take = (values: unknown[]) => {
    reads.push(...readEvents(values, id));
    return reads.length <= mostOccurrences;
  };
  const path = `${room}/events/${encodeURIComponent(id)}/instances`;
  const address = `${path}?${during(window)}&${selected}&$top=${viewPage}`;
  const question = { address, prefer: inUtc, pageSize: viewPage, isGuess };
  const page = await api.readPages(question, take, signal);
  if (!page || (isGuess && reads.length === 0)) return undefined;
  return reads.length === 0 ? [{ id: boundId(id), items: [] }] : groupItems(reads);
}

/** Reads a list of events with all selected members, without the masters of series. */
function readEvents(values: readonly unknown[], seriesMasterId?: string): ReadOfGroup[] {
  return values.flatMap((event) => {
    const stub = readStub(event);
    if (!stub) return seriesMasterId === undefined ? withoutId : { ...withoutId, group: boundId(seriesMasterId) };
    if (stub.type === 'seriesMaster') return [];
    return readEvent(event, seriesMasterId === undefined ? stub : { ...stub, seriesMasterId });
  });
}

/** Reads the items of the window from `place` on, slice by slice. */
function viewSlices(
  api: GraphApi,
  room: string,
  window: ReadingWindow,
  place: SlicePlace,
  signal: AbortSignal,
): AsyncIterable<TimeSlice<ReadOfGroup>> {
  return readSlices(window, place, viewPage, async (slice) => {
    const view = `${room}/calendarView?${during(slice)}&${selected}&$top=${viewPage}`;
    const { page } = await api.readPage({ address: view, prefer: inUtc, pageSize: viewPage }, signal);
    if (!page) throw new ServerFault('AccessLost', `${api.origin} knows no such mailbox or calendar.`);
    // Later pages skip by count in a list that may change meanwhile, so they could miss events: the slice is halved.
    return page['@odata.nextLink'] ? undefined : readEvents(page.value);
  });
}

const graphCursor = z.object({ deltaLink: z.string() });
const writeCursor = (deltaLink: string) => JSON.stringify({ deltaLink });
