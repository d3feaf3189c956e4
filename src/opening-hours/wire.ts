/** Opening hours on the wire: REST in Pascal case, GraphQL in camel case. */
import { createHash } from 'node:crypto';
import { z } from 'zod';
import { date, id, maybeId, noted, recordOf, text } from '../fields.ts';
import { openSlices } from '../flow/slices.ts';
import type { OpenInterval, Period } from './local-hours.ts';
import { clocks, exceptionFields, listOfExceptions, listOfRules, owner, ruleFields } from './schema.ts';
import {
  type HoursOfResource,
  type LocationHours,
  mostEntries,
  mostRoomDays,
  type OwnHours,
  type StoredException,
  type StoredRule,
} from './service.ts';

export { newException, newRule, openingPeriod } from './schema.ts';

export const openingRule = z
  .object({ ...owner.rule, ...ruleFields })
  .meta({ id: 'OpeningRule', description: 'Open on these weekdays, in local clock times.' });
export const openingException = z
  .object({ ...owner.exception, ...exceptionFields })
  .meta({ id: 'OpeningException', description: 'Other hours, or none, on these dates.' });

export const intervalSource = z
  .enum(['Weekly', 'Exception'])
  .meta({ id: 'IntervalSource', description: 'The origin of an interval: a rule or an exception.' });
export const openInterval = z
  .object({
    LocalDate: date('The local date on which it starts, in the zone used.'),
    Opens: clocks.Opens,
    Closes: clocks.Closes,
    Start: z.date().meta({ description: 'When it opens.' }),
    End: z.date().meta({ description: 'When it closes.' }),
    Source: intervalSource.meta({ description: 'Its origin.' }),
    ClockChange: z.boolean().meta({
      description:
        'Whether the clocks change on its date or during it: opening is then the earlier instant, closing the later, and a skipped time becomes the instant of the change.',
    }),
  })
  .meta({ id: 'OpenInterval', description: 'A continuous open time of one rule or exception.' });

export const resourceHours = z
  .object({
    ResourceId: id('resource', 'The id of the resource.'),
    ResourceName: text(200, 'Its name.'),
    Weekly: z
      .array(openingRule)
      .max(10_000)
      .meta({ description: 'The rules that apply to it: its own, or else those of its location.' }),
    Exceptions: z.array(openingException).max(10_000).meta({
      description:
        'Its exceptions and those of its location that include one of the dates, or the day after, which may end the last night. The first one for a date applies.',
    }),
    Intervals: z
      .array(openInterval)
      .max(mostEntries)
      .meta({ description: 'The intervals that start on these dates, in order.' }),
  })
  .meta({ id: 'ResourceHours', description: 'When a resource is open.' });

export const timeZoneSource = z
  .enum(['Person', 'Location'])
  .meta({ id: 'TimeZoneSource', description: 'Whose time zone was used.' });
export const openingHours = z
  .object({
    LocationId: id('location', 'The id of the location.'),
    LocationName: text(200, 'Its name.'),
    TimeZone: text(64, 'The IANA time zone that was used.'),
    TimeZoneSource: timeZoneSource.meta({ description: "Whether it is the caller's time zone." }),
    From: date('The first date.'),
    To: date('The last date.'),
    Resources: z
      .array(resourceHours)
      .max(mostRoomDays)
      .meta({ description: 'The bookable resources of the location, by name.' }),
  })
  .meta({ id: 'OpeningHours', description: 'When the resources of a location are open.' });

const ownList = <Item extends z.core.$ZodType>(items: Item, most: number, texts: { id: string; description: string }) =>
  z
    .object({
      LocationId: id('location', 'The id of the location, or of the location of the resource.'),
      ResourceId: maybeId('resource', 'The id of the resource; null: the list belongs to the location.'),
      Version: z
        .int()
        .min(0)
        .max(2 ** 31 - 1)
        .meta({ description: 'Changes with each change of the list.' }),
      Items: z.array(items).max(most).meta({ description: 'In the order in which they were written.' }),
    })
    .meta(texts);
export const ownRules = ownList(openingRule, 10_000, {
  id: 'OpeningRuleList',
  description: 'The own rules of a resource or a location.',
});
export const ownExceptions = ownList(openingException, 10_000, {
  id: 'OpeningExceptionList',
  description: 'The own exceptions of a resource or a location.',
});

const bodyOf = <Item extends z.core.$ZodType>(items: Item, description: string) =>
  z.strictObject({ Items: noted(items, { description }) });
export const rulesBody = bodyOf(
  listOfRules('Items'),
  'All rules of the list; a resource without rules uses those of its location.',
);
export const exceptionsBody = bodyOf(
  listOfExceptions(),
  'All exceptions of the list; those of the location apply to its resources too.',
);

const toPeriodRecord = ({ opens, closes }: Period) => ({ Opens: opens, Closes: closes });

const toRuleRecord: (rule: StoredRule) => object = recordOf(openingRule);
const toException = recordOf(openingException);
const toExceptionRecord = (exception: StoredException) => ({
  ...toException(exception),
  Periods: exception.periods.map(toPeriodRecord),
});
/** Copies member by member for speed: a year of many rooms has tens of thousands of intervals. */
const toIntervalRecord = (interval: OpenInterval) => ({
  LocalDate: interval.localDate,
  ...toPeriodRecord(interval),
  Start: interval.start,
  End: interval.end,
  Source: interval.source,
  ClockChange: interval.clockChange,
});

type Pause = ReturnType<typeof openSlices>;

/** Items that are handled at once. */
const mostAtOnce = 100;

async function eachInSlices<Item>(items: readonly Item[], pause: Pause, take: (item: Item) => void): Promise<void> {
  for (const [index, item] of items.entries()) {
    const paused = index > 0 && index % mostAtOnce === 0 ? pause() : undefined;
    if (paused !== undefined) await paused;
    take(item);
  }
}

/** Calls `make` once for each list, as resources with the same hours share lists. */
function oncePerList<Item, Made>(make: (items: readonly Item[]) => Promise<Made>) {
  const known = new Map<readonly Item[], Promise<Made>>();
  return (items: readonly Item[]): Promise<Made> => {
    const made = known.get(items) ?? make(items);
    known.set(items, made);
    return made;
  };
}

function openRecords(pause: Pause) {
  const listOf = <Item, Written>(toRecord: (item: Item) => Written) =>
    oncePerList(async (items: readonly Item[]) => {
      const records: Written[] = [];
      await eachInSlices(items, pause, (item) => records.push(toRecord(item)));
      return records;
    });
  const [weekly, exceptions, intervals] = [listOf(toRuleRecord), listOf(toExceptionRecord), listOf(toIntervalRecord)];
  return async (hours: HoursOfResource) => ({
    ResourceId: hours.resourceId,
    ResourceName: hours.resourceName,
    Weekly: await weekly(hours.weekly),
    Exceptions: await exceptions(hours.exceptions),
    Intervals: await intervals(hours.intervals),
  });
}

export const toResourceHours = (hours: HoursOfResource) => openRecords(openSlices())(hours);

/** The record of contract 5.1. */
export async function toOpeningHours(hours: LocationHours) {
  const pause = openSlices();
  const toRecord = openRecords(pause);
  const Resources: Awaited<ReturnType<typeof toRecord>>[] = [];
  for (const resource of hours.resources) {
    Resources.push(await toRecord(resource));
    const paused = pause();
    if (paused !== undefined) await paused;
  }
  return {
    LocationId: hours.locationId,
    LocationName: hours.locationName,
    TimeZone: hours.timeZone,
    TimeZoneSource: hours.timeZoneSource,
    From: hours.from,
    To: hours.to,
    Resources,
  };
}

/** A hash of the record, for the ETag. */
export async function versionOf({ resources, ...location }: LocationHours): Promise<string> {
  const pause = openSlices();
  const hashOf = oncePerList(async (items: readonly object[]) => {
    const sum = createHash('sha1');
    await eachInSlices(items, pause, (item) => sum.update(JSON.stringify(item)));
    return sum.digest('base64url');
  });
  const sum = createHash('sha1').update(JSON.stringify(location));
  for (const { resourceId, resourceName, ...lists } of resources) {
    const hashes = [await hashOf(lists.weekly), await hashOf(lists.exceptions), await hashOf(lists.intervals)];
    sum.update(JSON.stringify([resourceId, resourceName, hashes]));
    const paused = pause();
    if (paused !== undefined) await paused;
  }
  return sum.digest('base64url');
}

const toOwnList = <Item>(
  { locationId, resourceId, version, items }: OwnHours<Item>,
  toRecord: (item: Item) => object,
) => ({
  LocationId: locationId,
  ResourceId: resourceId,
  Version: version,
  Items: items.map(toRecord),
});

export const toOwnRules = (own: OwnHours<StoredRule>) => toOwnList(own, toRuleRecord);
export const toOwnExceptions = (own: OwnHours<StoredException>) => toOwnList(own, toExceptionRecord);
