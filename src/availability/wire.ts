/** Availability on the wire: REST in Pascal case, GraphQL in camel case. */
import { createHash } from 'node:crypto';
import { endianness } from 'node:os';
import { z } from 'zod';
import { defaultLimit, mostPerPage } from '../db/paging.ts';
import { id, instant, recordOf, text } from '../fields.ts';
import { openSlices } from '../flow/slices.ts';
import { TextList, type WrittenMember } from '../http/large-json.ts';
import * as parameters from '../query-parameters.ts';
import { dayLength } from '../time/days.ts';
import { minute } from '../time/durations.ts';
import { type FreeResource, mostDays, mostResources, type ResourceAvailability } from './service.ts';
import type { Spans } from './spans.ts';

/** As many as a window has minutes, since no booking is shorter. */
const mostSpans = mostDays * 24 * 60;

export const timeSpan = z
  .object({
    Start: instant('Its beginning.'),
    End: instant('The end, which is not included.'),
  })
  .meta({ id: 'TimeSpan', description: 'A continuous time.' });

const capacity = z
  .int()
  .min(0)
  .max(1_000_000)
  .nullable()
  .meta({ description: 'For how many persons; null if unknown.' });

export const resourceAvailability = z
  .object({
    ResourceId: id('resource', 'The id of the resource.'),
    ResourceName: text(200, 'Its name.'),
    LocationId: id('location', 'The location of the resource.'),
    TimeZone: text(64, 'The IANA time zone of the location.'),
    Capacity: capacity,
    Free: z.array(timeSpan).max(mostSpans).meta({
      description:
        'When it is open and not booked, for at least `DurationMinutes`. Without known opening hours it is always open.',
    }),
    Busy: z.array(timeSpan).max(mostSpans).meta({
      description: 'When bookings occupy it, setup and teardown included; adjacent times are joined.',
    }),
  })
  .meta({ id: 'ResourceAvailability', description: 'When a resource can be booked.' });

type TimeSpan = z.output<typeof timeSpan>;

const spanMembers = Object.keys(timeSpan.shape).map((name) => ({ name, of: name }));

/** The bytes of an instant: `2027-03-01T06:00:00.000Z`. All instants in a window are in the years 0 to 9999. */
const instantLength = 24;

/** Offsets of its parts of 8 bytes, which overlap: `2027-03-`, `7-03-01T`, `06:00:00`, `:00.000Z`. */
const [monthAt, dateAt, timeAt, restAt] = [0, 3, 11, 16];

const isLittleEndian = endianness() === 'LE';

/**
 * Writes lists of spans in a window. Most instants are whole minutes: their dates and times of day are formatted once, into
 * tables that fit into the processor's cache.
 */
function openSpanLists({ from, to }: { from: Date; to: Date }, giveBack: () => void): (spans: Spans) => TextList {
  const first = Math.floor(from.getTime() / dayLength) * dayLength;
  const days = Math.floor((to.getTime() - first) / dayLength) + 1;
  // Copied in words of 8 bytes, three times as fast as calls or single bytes. ASCII never looks like NaN.
  const dates = new Float64Array(2 * days);
  const times = new Float64Array(dayLength / minute);
  const wordsOf = new DataView(new ArrayBuffer(instantLength));
  let rest = 0;

  function format(day: number, time: number): void {
    writeText(new Date(first + day * dayLength + time * minute).toISOString(), wordsOf, 0);
    dates[2 * day] = wordsOf.getFloat64(monthAt, isLittleEndian);
    dates[2 * day + 1] = wordsOf.getFloat64(dateAt, isLittleEndian);
    times[time] = wordsOf.getFloat64(timeAt, isLittleEndian);
    rest = wordsOf.getFloat64(restAt, isLittleEndian);
  }

  function copyInstant(instant: number, target: DataView, at: number): void {
    const passed = instant - first;
    const day = Math.floor(passed / dayLength);
    const time = (passed - day * dayLength) / minute;
    if (!Number.isInteger(time)) {
      writeText(new Date(instant).toISOString(), target, at);
      return;
    }
    if (dates[2 * day] === 0 || times[time] === 0) format(day, time);
    target.setFloat64(at + monthAt, dates[2 * day] as number, isLittleEndian);
    target.setFloat64(at + dateAt, dates[2 * day + 1] as number, isLittleEndian);
    target.setFloat64(at + timeAt, times[time] as number, isLittleEndian);
    target.setFloat64(at + restAt, rest, isLittleEndian);
  }

  /** The lists of an answer share their members. */
  const layouts = new Map<readonly WrittenMember[], Layout>();
  function layoutOf(members: readonly WrittenMember[]): Layout {
    const layout = layouts.get(members) ?? layOut(members);
    layouts.set(members, layout);
    return layout;
  }

  /** Fills the text with spans, of which there are enough. */
  function writeSpans(spans: Spans, { items, length, places }: Layout, text: Buffer): void {
    for (let at = 0; at < text.length; at += items.length) items.copy(text, at);
    const view = new DataView(text.buffer, text.byteOffset, text.length);
    const [[start, ...moreStarts], [end, ...moreEnds]] = places;
    for (let at = 0, place = 0; place < text.length; at += 2, place += length) {
      if (start !== undefined) copyInstant(spans[at] as number, view, place + start);
      if (end !== undefined) copyInstant(spans[at + 1] as number, view, place + end);
    }
    for (const [side, more] of [moreStarts, moreEnds].entries())
      for (const one of more)
        for (let at = side, place = 0; place < text.length; at += 2, place += length)
          copyInstant(spans[at] as number, view, place + one);
  }
  return (spans) =>
    new TextList(spanMembers, () => toTimeSpans(spans), {
      count: spans.length / 2,
      itemLength: (members) => layoutOf(members).length,
      write: (members, first, text) => writeSpans(spans.subarray(2 * first), layoutOf(members), text),
      giveBack,
    });
}

function writeText(text: string, target: DataView, at: number): void {
  for (let index = 0; index < text.length; index++) target.setUint8(at + index, text.charCodeAt(index));
}

/**
 * `items` are written items, each with its comma; `length` is that of one; `places` are the offsets of starts and ends, nearly
 * always one of each.
 */
type Layout = { items: Buffer; length: number; places: readonly [starts: readonly number[], ends: readonly number[]] };

/** The bytes of items that are copied together, before their instants are filled in. */
const bytesAtOnce = 16_384;

function layOut(members: readonly WrittenMember[]): Layout {
  const [starts, ends]: [number[], number[]] = [[], []];
  let item = '{';
  for (const member of members) {
    item += `${item === '{' ? '' : ','}${JSON.stringify(member.name)}:`;
    if ('of' in member) {
      (member.of === 'Start' ? starts : ends).push(item.length + 1);
      item += `"${' '.repeat(instantLength)}"`;
    } else item += JSON.stringify(member.text);
  }
  item += '},';
  const items = Buffer.from(item.repeat(Math.ceil(bytesAtOnce / item.length)));
  return { items, length: item.length, places: [starts, ends] };
}

function toTimeSpans(spans: Spans): TimeSpan[] {
  const records: TimeSpan[] = [];
  for (let at = 0; at < spans.length; at += 2)
    records.push({ Start: new Date(spans[at] as number), End: new Date(spans[at + 1] as number) });
  return records;
}

/** A hash of the records, for the ETag. It is computed from the spans, which have a quarter of the length of the text. */
export async function versionOf(found: readonly ResourceAvailability[]): Promise<string> {
  const sum = createHash('sha1');
  const pause = openSlices();
  let heads = '';
  for (const { free, busy, ...resource } of found) {
    heads += JSON.stringify([resource, free.length, busy.length]);
    sum.update(free).update(busy);
    const paused = pause();
    if (paused !== undefined) await paused;
  }
  return sum.update(heads).digest('base64url');
}

/**
 * The records of contract 5.2.
 * @param memory that of the spans, if nobody else reads them: it is returned once the answer was sent
 */
export function toAvailabilityRecords(
  window: { from: Date; to: Date },
  found: readonly ResourceAvailability[],
  memory?: { giveBack(): void },
) {
  const listOf = openSpanLists(window, () => memory?.giveBack());
  return found.map(({ free, busy, ...resource }) => ({
    ResourceId: resource.resourceId,
    ResourceName: resource.resourceName,
    LocationId: resource.locationId,
    TimeZone: resource.timeZone,
    Capacity: resource.capacity,
    Free: listOf(free),
    Busy: listOf(busy),
  }));
}

export const example = {
  Items: [
    {
      ResourceId: 2,
      ResourceName: 'HS 101',
      LocationId: 1,
      TimeZone: 'Europe/Zurich',
      Capacity: 120,
      Free: [
        { Start: '2027-03-01T06:00:00.000Z', End: '2027-03-01T09:00:00.000Z' },
        { Start: '2027-03-01T10:30:00.000Z', End: '2027-03-01T19:00:00.000Z' },
      ],
      Busy: [{ Start: '2027-03-01T09:00:00.000Z', End: '2027-03-01T10:30:00.000Z' }],
    },
  ],
  NextCursor: null,
};

export const availabilityQuery = z.strictObject({
  From: parameters.instant('The beginning of the window.').meta({ example: '2027-03-01T00:00:00Z' }),
  To: parameters
    .instant(`The end of the window, at most ${mostDays} days later.`)
    .meta({ example: '2027-03-08T00:00:00Z' }),
  LocationId: parameters.id('location', 'Only resources of this location.').optional(),
  ResourceIds: parameters.ids('resource', mostResources, 'Only these; each must be a resource of the tenant.'),
  ...parameters.resourceFilter,
  DurationMinutes: parameters
    .whole(1, mostDays * 24 * 60)
    .optional()
    .meta({ description: 'Leaves shorter times out of `Free`.' }),
});

export const freeResource = z
  .object({
    ResourceId: id('resource', 'The id of the resource.'),
    ResourceName: text(200, 'Its name.'),
    LocationId: id('location', 'The location of the resource.'),
    LocationName: text(200, 'The name of the location.'),
    TimeZone: text(64, 'The IANA time zone of the location.'),
    Kind: text(50, 'The kind: Room, Hall, Laboratory, …'),
    Capacity: capacity,
    Equipment: z.array(z.string().max(100)).max(100).meta({ description: 'The equipment.' }),
    FreeUntil: instant(
      'The latest end of a booking that begins at once: the next booking or closing, and at most a day ahead.',
    ),
  })
  .meta({ id: 'FreeResource', description: 'A resource that is free.' });

const toFree = recordOf(freeResource);
export const toFreeRecord = ({ id: resourceId, name: resourceName, ...others }: FreeResource) =>
  toFree({ resourceId, resourceName, ...others });

export const freeExample = {
  Items: [
    {
      ResourceId: 2,
      ResourceName: 'HS 101',
      LocationId: 1,
      LocationName: 'Campus Zürich',
      TimeZone: 'Europe/Zurich',
      Kind: 'LectureHall',
      Capacity: 120,
      Equipment: ['Beamer', 'Mikrofonanlage', 'Wandtafel'],
      FreeUntil: '2027-03-01T09:00:00.000Z',
    },
  ],
  NextCursor: null,
};

const mostMinutes = 24 * 60;

export const freeQuery = z.strictObject({
  From: parameters.instant('The start; now if left out.').optional(),
  Minutes: parameters
    .whole(1, mostMinutes)
    .optional()
    .meta({ description: 'The least number of free minutes; 30 if left out.' }),
  SetupMinutes: parameters
    .whole(0, mostMinutes)
    .optional()
    .meta({ description: 'Minutes before the start that must be free too; 0 if left out.' }),
  TeardownMinutes: parameters
    .whole(0, mostMinutes)
    .optional()
    .meta({ description: 'Minutes after the end that must be free too; 0 if left out.' }),
  LocationId: parameters.id('location', 'Only resources of this location.').optional(),
  ...parameters.resourceFilter,
  Limit: parameters
    .whole(1, mostPerPage)
    .optional()
    .meta({ description: `The most resources in the answer; ${defaultLimit} if left out.` }),
});

export const toFreeQuery = <Query extends object>(query: Query) => ({
  minutes: 30,
  setupMinutes: 0,
  teardownMinutes: 0,
  limit: defaultLimit,
  ...query,
});
