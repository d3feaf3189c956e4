/**
 * Calendars that are published as iCalendar at an address. Every reading is complete, but an unchanged calendar is not sent or
 * processed again. The address is a secret: messages contain only its origin.
 */
import { createHash } from 'node:crypto';
import { z } from 'zod';
import type { MailServerSettings } from '../config.ts';
import { openSlices } from '../flow/slices.ts';
import { fetchPublic, NotPublic } from '../http/public-fetch.ts';
import type { FetchedAnswer } from '../http/safe-fetch.ts';
import type { Log } from '../log.ts';
import { readComponents, Unreadable } from '../time/ical-lines.ts';
import { type DaySearch, mostSearched } from '../time/rule.ts';
import { fillTemplate } from './caldav-discovery.ts';
import { type CalendarPage, type Connector, type RemoteCalendar, type RemoteGroup, ServerFault } from './connector.ts';
import { faultOf, networkFault, quote } from './faults.ts';
import { type ObjectReader, readCalendarObject } from './ical.ts';
import { fingerprintOf, splitFeed } from './ical-feed.ts';
import { readZones } from './ical-zones.ts';
import { checkItemCount } from './pages.ts';
import { readPlace } from './places.ts';
import { boundId } from './values.ts';

const mostBytes = 10 * 1_048_576;
const deadlineMs = 15_000;
const mostRedirects = 5;
const mostZones = 200;
const longestTag = 1_000;
const [usualMinutes, longestMinutes] = [15, 24 * 60];

/** The last reading: the hash of the address, the validators of its answer, and the hash of the content. */
const publishedPlace = z.strictObject({
  of: z.string(),
  etag: z.string().nullable(),
  modified: z.string().nullable(),
  content: z.string(),
  minutes: z.int(),
});
type PublishedPlace = z.infer<typeof publishedPlace>;

export function openPublished(settings: MailServerSettings, log: Log): Connector {
  const { TrustedOrigins: trusted = [], PollMinutes = usualMinutes } = settings;
  return {
    kind: 'ICalendar',
    subscriptions: null,
    writes: null,
    invitation: null,
    async *pages(calendar, { cursor }, window, signal) {
      const address = addressOf(settings, calendar);
      const of = createHash('sha256').update(address.href).digest('base64url');
      const kept = readPlace(publishedPlace, cursor);
      const known = kept?.of === of ? kept : null;
      const since = performance.now();
      const { status, headers, bytes } = await fetchFeed(address, known, trusted, signal);
      const ms = Math.round(performance.now() - since);
      log.debug({ server: address.origin, status, bytes: bytes.length, ms }, 'published calendar answered');
      const page = (place: PublishedPlace, groups: RemoteGroup[] | null): CalendarPage => ({
        groups: groups ?? [],
        removed: [],
        address: null,
        whole: groups !== null,
        isPublished: true,
        pollMinutes: place.minutes,
        isLast: true,
        cursor: JSON.stringify(place),
      });
      if (status === 304 && known) return yield page(known, null);
      const text = bytes.toString('utf8').replace(/^\uFEFF/, '');
      const content = fingerprintOf(text);
      const validators = { etag: tagOf(headers, 'etag'), modified: tagOf(headers, 'last-modified') };
      if (known?.content === content) return yield page({ ...known, ...validators }, null);
      const reader = { window, mailbox: calendar.mailbox, timeZone: calendar.timeZone ?? null };
      const feed = await readFeed(text, reader, address, signal);
      const minutes = Math.min(longestMinutes, Math.max(PollMinutes, feed.minutes ?? 0));
      yield page({ of, ...validators, content, minutes }, feed.groups);
    },
  };
}

/** @throws ServerFault for a mailbox whose address the settings do not name */
function addressOf(settings: MailServerSettings, { mailbox }: RemoteCalendar): URL {
  const isMeant = ({ Mailbox }: { Mailbox: string }) => Mailbox.trim().toLowerCase() === mailbox.toLowerCase();
  const address = settings.Calendars?.find(isMeant)?.Url ?? fillTemplate(settings, mailbox);
  if (!address) throw new ServerFault('AccessLost', 'MailServer does not say where this calendar is published.');
  return new URL(address);
}

/** A validator to send back; null if there is none, or it cannot be sent. */
function tagOf(headers: Headers, name: string): string | null {
  const tag = headers.get(name);
  return tag !== null && tag.length <= longestTag && /^[\x20-\x7e]+$/.test(tag) ? tag : null;
}

async function fetchFeed(
  address: URL,
  known: PublishedPlace | null,
  trusted: readonly string[],
  signal: AbortSignal,
): Promise<FetchedAnswer> {
  const { origin } = address;
  // A redirect may lead anywhere: the settings trust this address only.
  let own = trusted.filter((one) => one === origin);
  const headers = {
    accept: 'text/calendar',
    'user-agent': 'roomgate',
    ...(known?.etag && { 'if-none-match': known.etag }),
    ...(known?.modified && { 'if-modified-since': known.modified }),
  };
  const patience = AbortSignal.any([signal, AbortSignal.timeout(deadlineMs)]);
  let url = address;
  try {
    for (let redirects = 0; ; redirects += 1) {
      const answer = await fetchPublic(url, { headers, signal: patience, most: mostBytes, trusted: own });
      const { status } = answer;
      if (status === 200 || (status === 304 && known)) return answer;
      const location = status >= 300 && status < 400 && answer.headers.get('location');
      if (!location) throw faultOf(answer, origin);
      const next = URL.parse(location, url);
      if (!next || redirects === mostRedirects)
        throw new ServerFault('Unreachable', `${origin} redirects too many times.`);
      if (next.origin !== origin) own = [];
      url = next;
    }
  } catch (error) {
    if (error instanceof NotPublic)
      throw new ServerFault(
        'Unreachable',
        url.origin === origin
          ? `${quote(error.message)}; name ${origin} in TrustedOrigins if it is yours.`
          : `${quote(error.message)}, and ${origin} redirects there; give the address that it redirects to.`,
      );
    throw networkFault(error, origin);
  }
}

/** Splits a feed, and reads its zones once for all of its objects. */
async function readFeed(text: string, reader: ObjectReader, { origin }: URL, signal: AbortSignal) {
  try {
    const { objects, minutes, ...feed } = await splitFeed(text, signal);
    const zones = readZones(readComponents(feed.zones), reader.window, reader.timeZone, mostZones);
    return { minutes, groups: await readGroups(objects, { ...reader, zones }, signal) };
  } catch (error) {
    if (error === signal.reason)
      throw new ServerFault(
        'TooLarge',
        `The calendar that ${origin} publishes was not read in time: it is large, or others were read meanwhile.`,
      );
    if (!(error instanceof Unreadable)) throw error;
    throw new ServerFault('Unreadable', `The calendar that ${origin} publishes cannot be read: ${error.message}.`);
  }
}

/**
 * Reads the appointments and series of a feed that have occurrences in the window, and those that cannot be read.
 * @throws ServerFault for too many items; the reason of the signal
 */
async function readGroups(
  objects: ReadonlyMap<string, string>,
  reader: ObjectReader,
  signal: AbortSignal,
): Promise<RemoteGroup[]> {
  const groups: RemoteGroup[] = [];
  const nextSlice = openSlices();
  const search: DaySearch = { left: mostSearched };
  let items = 0;
  for (const [uid, text] of objects) {
    await nextSlice();
    signal.throwIfAborted();
    const group = readCalendarObject(boundId(uid), text, { ...reader, search });
    if (search.left < 0)
      throw new ServerFault(
        'TooLarge',
        `The calendar has too many series that began long ago: more than ${mostSearched} days were searched for them.`,
      );
    items += group.items.length;
    checkItemCount(items);
    if (group.items.length > 0 || group.unreadable !== undefined) groups.push(group);
  }
  return groups;
}
