/**
 * Google Calendar with a service account. Series are listed as their occurrences, each a group of its own: a sync token returns
 * those that have changed or were cancelled. Of a series that ends or moves it returns only the cancelled ones of some months, so
 * the whole window is read then.
 */
import { z } from 'zod';
import type { MailServerSettings } from '../config.ts';
import type { Log } from '../log.ts';
import { dayLength } from '../time/days.ts';
import { type Connector, type ReadingWindow, ServerFault } from './connector.ts';
import { type GoogleApi, openGoogleApis, pathOf } from './google-api.ts';
import { openChannels } from './google-channels.ts';
import { openGoogleInvitations } from './google-declines.ts';
import { members, readEvent, seriesOf } from './google-events.ts';
import { openGoogleWrites } from './google-writes.ts';
import { groupItems, type ReadOfGroup, withoutId } from './groups.ts';
import { openHttp } from './http.ts';
import { checkNextPage } from './pages.ts';
import { readPlace } from './places.ts';

const pageSize = 500;

/** The progress of a reading: its sync token (null: it reads the window), and the next page. */
const googlePlace = z.strictObject({ token: z.string().nullable(), page: z.string().nullable(), pages: z.int() });
type GooglePlace = z.infer<typeof googlePlace>;
const beginAt = (token: string | null): GooglePlace => ({ token, page: null, pages: 0 });
const googleCursor = z.strictObject({ token: z.string() });

const listSchema = z.object({
  items: z.array(z.unknown()).default([]),
  nextPageToken: z.string().min(1).optional(),
  nextSyncToken: z.string().min(1).optional(),
});

export function openGoogle(settings: MailServerSettings, log: Log): Connector {
  const { eager: api, patient } = openGoogleApis(settings, openHttp(settings, log));
  return {
    kind: 'Google',
    subscriptions: openChannels(api),
    writes: openGoogleWrites(patient),
    invitation: openGoogleInvitations(patient),
    async *pages({ mailbox, address }, { cursor, continuation }, window, signal) {
      let place = readPlace(googlePlace, continuation) ?? beginAt(readPlace(googleCursor, cursor)?.token ?? null);
      let restarts = false;
      for (;;) {
        const list = await listEvents(api, mailbox, place, window, signal);
        const { groups, removed, cancelled } = sortEvents(list.items, mailbox, window);
        if (place.token !== null && mayLackMore(cancelled)) {
          place = beginAt(null);
          restarts = true;
          continue;
        }
        const told = { groups, removed, address, whole: place.token === null, restarts };
        restarts = false;
        if (list.nextPageToken === undefined) {
          if (list.nextSyncToken === undefined)
            throw new ServerFault('Unreadable', `${api.origin} sends neither a next page nor a sync token.`);
          yield { ...told, isLast: true, cursor: JSON.stringify({ token: list.nextSyncToken }) };
          return;
        }
        const pages = place.pages + 1;
        checkNextPage(api.origin, pages, list.nextPageToken === place.page);
        place = { ...place, page: list.nextPageToken, pages };
        yield { ...told, isLast: false, cursor: JSON.stringify(place) };
      }
    },
  };
}

async function listEvents(
  { call, origin }: GoogleApi,
  mailbox: string,
  { token, page }: GooglePlace,
  { start, end }: ReadingWindow,
  signal: AbortSignal,
): Promise<z.output<typeof listSchema>> {
  const query = {
    singleEvents: 'true',
    maxResults: `${pageSize}`,
    fields: `nextPageToken,nextSyncToken,items(${members})`,
    // Google refuses a window beside a token.
    ...(token === null ? { timeMin: start.toISOString(), timeMax: end.toISOString() } : { syncToken: token }),
    ...(page !== null && { pageToken: page }),
  };
  const { status, body, fault } = await call({ path: `${pathOf(mailbox)}/events`, query, what: 'GET events' }, signal);
  if (status === 410 || (status === 400 && (token ?? page) !== null))
    throw new ServerFault('StateLost', `${origin} no longer knows our sync token.`);
  if (status === 404)
    throw new ServerFault('AccessLost', `${origin} knows no such calendar; is it shared with the service account?`);
  if (fault) throw fault;
  const { data } = listSchema.safeParse(body);
  if (data) return data;
  throw new ServerFault('Unreadable', `${origin} answers with something that is not a list.`);
}

/** The events of a page. Those outside of the window count as gone, as a sync token returns changes at any time. */
function sortEvents(events: readonly unknown[], mailbox: string, window: ReadingWindow) {
  const reads = new Map<string, ReadOfGroup>();
  const removed = new Set<string>();
  const cancelled: string[] = [];
  for (const event of events) {
    const { id, read } = readEvent(event, mailbox) ?? { id: withoutId.id, read: withoutId };
    reads.delete(id);
    removed.delete(id);
    if (read && !isOutside(read, window)) reads.set(id, read);
    else removed.add(id);
    if (!read) cancelled.push(id);
  }
  return { groups: groupItems([...reads.values()]), removed: [...removed], cancelled };
}

/** Whether several of these are occurrences of one series, which may then have lost further ones that Google does not return. */
function mayLackMore(cancelled: readonly string[]): boolean {
  const series = cancelled.flatMap((id) => seriesOf(id) ?? []);
  return new Set(series).size < series.length;
}

/** Whether an item is outside of the window, with a margin of a day, as whole days begin at midnight in the zone of the room. */
const isOutside = (read: ReadOfGroup, { start, end }: ReadingWindow): boolean =>
  'item' in read &&
  (read.item.start.getTime() > end.getTime() + dayLength || read.item.end.getTime() < start.getTime() - dayLength);
