/** The records of opening hours as clients see them: REST in Pascal case, GraphQL in camel case. */
import { z } from 'zod';
import type { OwnHours } from './change.ts';
import type { OpenInterval, Period } from './local-hours.ts';
import type { LocationHours } from './service.ts';
import type { StoredException, StoredRule } from './stored.ts';

const mostPeriods = 24;

const id = (description: string) => z.int().min(1).meta({ description });
const text = (most: number, description: string) => z.string().max(most).meta({ description });
const date = (description: string) => z.iso.date('must be a date such as 2026-12-24').meta({ description });

const clocks = {
  Opens: z
    .string()
    .regex(/^([01]\d|2[0-3]):[0-5]\d$/, 'must be a time from 00:00 to 23:59')
    .meta({ maxLength: 5, description: 'Local clock time.' }),
  Closes: z
    .string()
    .regex(/^(([01]\d|2[0-3]):[0-5]\d|24:00)$/, 'must be a time from 00:00 to 24:00')
    .meta({
      maxLength: 5,
      description: 'Local clock time; at or before Opens it is that of the next day.',
    }),
};
export const openingPeriod = z
  .strictObject(clocks)
  .meta({ id: 'OpeningPeriod', description: 'From one local clock time to another.' });

export const owner = {
  Id: id('Names it until its list is replaced.'),
  LocationId: id('The location that it belongs to.'),
  ResourceId: id('The resource that it belongs to; null: to its location.').nullable(),
};
export const ruleFields = {
  Weekdays: z
    .array(z.int().min(1, 'must be 1 (Monday) or more').max(7, 'must be 7 (Sunday) or less'))
    .min(1, 'must name a weekday')
    .max(7)
    .refine((days) => new Set(days).size === days.length, 'must name each weekday once')
    .meta({ description: 'The days on which it opens: 1 is Monday, 7 is Sunday.' }),
  ...clocks,
  ValidFrom: date('The first date on which it counts; null: there is none.').nullable(),
  ValidTo: date('The last date on which it counts; null: there is none.').nullable(),
};
export const exceptionFields = {
  FromDate: date('The first date that it is about.'),
  ToDate: date('The last date that it is about.'),
  Closed: z.boolean().meta({ description: 'Closed on its dates; the night before ends at 00:00 of the first.' }),
  Periods: z
    .array(openingPeriod)
    .max(mostPeriods)
    .meta({ description: 'When it is open on each of its dates, whatever the rules say; none when Closed.' }),
  Reason: text(500, 'Why, for people.').nullable(),
};

export const openingRule = z
  .object({ ...owner, ...ruleFields })
  .meta({ id: 'OpeningRule', description: 'Open on these weekdays, in local clock times.' });
export const openingException = z
  .object({ ...owner, ...exceptionFields })
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
    ResourceId: id('The id of the resource.'),
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
    LocationId: id('The id of the location.'),
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
      ResourceId: id('The id of the resource.'),
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
  description: 'The rules that a resource has itself.',
});
export const ownExceptions = ownList(openingException, 10_000, {
  id: 'OpeningExceptionList',
  description: 'The exceptions that a resource has itself.',
});

const toPeriodRecord = ({ opens, closes }: Period) => ({ Opens: opens, Closes: closes });

const toOwner = ({ id, locationId, resourceId }: StoredRule | StoredException) => ({
  Id: id,
  LocationId: locationId,
  ResourceId: resourceId,
});

function toRuleRecord(rule: StoredRule) {
  return {
    ...toOwner(rule),
    Weekdays: rule.weekdays,
    ...toPeriodRecord(rule),
    ValidFrom: rule.validFrom,
    ValidTo: rule.validTo,
  };
}

function toExceptionRecord(exception: StoredException) {
  return {
    ...toOwner(exception),
    FromDate: exception.fromDate,
    ToDate: exception.toDate,
    Closed: exception.closed,
    Periods: exception.periods.map(toPeriodRecord),
    Reason: exception.reason,
  };
}

function toIntervalRecord(interval: OpenInterval) {
  return {
    LocalDate: interval.localDate,
    ...toPeriodRecord(interval),
    Start: interval.start,
    End: interval.end,
    Source: interval.source,
    ClockChange: interval.clockChange,
  };
}

/** The record of contract 5.1. */
export function toOpeningHours(hours: LocationHours) {
  return {
    LocationId: hours.locationId,
    LocationName: hours.locationName,
    TimeZone: hours.timeZone,
    TimeZoneSource: hours.timeZoneSource,
    From: hours.from,
    To: hours.to,
    Resources: hours.resources.map(({ resourceId, resourceName, weekly, exceptions, intervals }) => ({
      ResourceId: resourceId,
      ResourceName: resourceName,
      Weekly: weekly.map(toRuleRecord),
      Exceptions: exceptions.map(toExceptionRecord),
      Intervals: intervals.map(toIntervalRecord),
    })),
  };
}

const toOwnList = <Item>({ resourceId, version, items }: OwnHours<Item>, toRecord: (item: Item) => object) => ({
  ResourceId: resourceId,
  Version: version,
  Items: items.map(toRecord),
});

export const toOwnRules = (own: OwnHours<StoredRule>) => toOwnList(own, toRuleRecord);
export const toOwnExceptions = (own: OwnHours<StoredException>) => toOwnList(own, toExceptionRecord);
