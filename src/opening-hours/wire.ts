/** Opening hours on the wire: REST in Pascal case, GraphQL in camel case. */
import { z } from 'zod';
import { id, maybeId, recordOf, text } from '../fields.ts';
import type { OpenInterval, Period } from './local-hours.ts';
import { clocks, date, exceptionFields, listOfExceptions, listOfRules, owner, ruleFields } from './schema.ts';
import type { HoursOfResource, LocationHours, OwnHours, StoredException, StoredRule } from './service.ts';

export { newException, newRule, openingPeriod } from './schema.ts';

export const openingRule = z
  .object({ ...owner.rule, ...ruleFields })
  .meta({ id: 'OpeningRule', description: 'Open on these weekdays, in local clock times.' });
export const openingException = z
  .object({ ...owner.exception, ...exceptionFields })
  .meta({ id: 'OpeningException', description: 'Other hours, or none, on these dates.' });

export const intervalSource = z
  .enum(['Weekly', 'Exception'])
  .meta({ id: 'IntervalSource', description: 'What an interval comes from: a rule or an exception.' });
export const openInterval = z
  .object({
    LocalDate: date('The date of the zone used on which it starts.'),
    Opens: clocks.Opens,
    Closes: clocks.Closes,
    Start: z.date().meta({ description: 'When it opens.' }),
    End: z.date().meta({ description: 'When it closes.' }),
    Source: intervalSource.meta({ description: 'What it comes from.' }),
    ClockChange: z.boolean().meta({
      description:
        'The clocks change on its date or while it lasts: opening takes the earlier instant and closing the later, and a time that is skipped is the instant of the change.',
    }),
  })
  .meta({ id: 'OpenInterval', description: 'An unbroken time of being open, of one rule or exception.' });

export const resourceHours = z
  .object({
    ResourceId: id('resource', 'The id of the resource.'),
    ResourceName: text(200, 'Its name.'),
    Weekly: z
      .array(openingRule)
      .max(10_000)
      .meta({ description: 'The rules that count for it: its own, or else those of its location.' }),
    Exceptions: z.array(openingException).max(10_000).meta({
      description:
        'Its exceptions and those of its location that touch the dates asked for or the day after, which may cut the last night. The first for a date counts.',
    }),
    Intervals: z
      .array(openInterval)
      .max(100_000)
      .meta({ description: 'Those that start on the dates asked for, in order of their start.' }),
  })
  .meta({ id: 'ResourceHours', description: 'When a resource is open.' });

export const timeZoneSource = z
  .enum(['Person', 'Location'])
  .meta({ id: 'TimeZoneSource', description: 'Whose time zone was used.' });
export const openingHours = z
  .object({
    LocationId: id('location', 'The id of the location.'),
    LocationName: text(200, 'Its name.'),
    TimeZone: text(64, 'IANA name of the zone whose clocks were used.'),
    TimeZoneSource: timeZoneSource.meta({ description: 'Whether it is that of the person who asks.' }),
    From: date('The first date.'),
    To: date('The last date.'),
    Resources: z
      .array(resourceHours)
      .max(100_000)
      .meta({ description: 'The bookable resources of the location in order of their names.' }),
  })
  .meta({ id: 'OpeningHours', description: 'When the resources of a location are open.' });

const ownList = <Item extends z.ZodType>(items: Item, most: number, texts: { id: string; description: string }) =>
  z
    .object({
      LocationId: id('location', 'The id of the location, or that of the resource.'),
      ResourceId: maybeId('resource', 'The id of the resource; null: the list is that of the location itself.'),
      Version: z
        .int()
        .min(0)
        .max(2 ** 31 - 1)
        .meta({ description: 'Changes whenever the list is written.' }),
      Items: z.array(items).max(most).meta({ description: 'In the order in which they were written.' }),
    })
    .meta(texts);
export const ownRules = ownList(openingRule, 10_000, {
  id: 'OpeningRuleList',
  description: 'The rules that a resource or a location has itself.',
});
export const ownExceptions = ownList(openingException, 10_000, {
  id: 'OpeningExceptionList',
  description: 'The exceptions that a resource or a location has itself.',
});

const bodyOf = <Item extends z.ZodType>(items: Item, description: string) =>
  z.strictObject({ Items: items.meta({ description }) });
export const rulesBody = bodyOf(
  listOfRules('Items'),
  'All rules of it; for a resource with none those of its location count.',
);
export const exceptionsBody = bodyOf(
  listOfExceptions(),
  'All exceptions of it; for a resource those of its location go on to count.',
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

export const toResourceHours = ({ resourceId, resourceName, weekly, exceptions, intervals }: HoursOfResource) => ({
  ResourceId: resourceId,
  ResourceName: resourceName,
  Weekly: weekly.map(toRuleRecord),
  Exceptions: exceptions.map(toExceptionRecord),
  Intervals: intervals.map(toIntervalRecord),
});

/** The record of contract 5.1. */
export function toOpeningHours(hours: LocationHours) {
  return {
    LocationId: hours.locationId,
    LocationName: hours.locationName,
    TimeZone: hours.timeZone,
    TimeZoneSource: hours.timeZoneSource,
    From: hours.from,
    To: hours.to,
    Resources: hours.resources.map(toResourceHours),
  };
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
