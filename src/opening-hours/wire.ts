/** The records of opening hours as clients see them, and send them: REST in Pascal case, GraphQL in camel case. */
import { z } from 'zod';
import type { NewException, OwnHours } from './change.ts';
import type { OpenInterval, OpeningRule, Period } from './local-hours.ts';
import { findOverlaps } from './overlaps.ts';
import type { LocationHours } from './service.ts';
import type { StoredException, StoredRule } from './stored.ts';

const mostRules = 200;
const mostExceptions = 1_000;
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

const owner = {
  Id: id('Names it until its list is replaced.'),
  LocationId: id('The location that it belongs to.'),
  ResourceId: id('The resource that it belongs to; null: to its location.').nullable(),
};
const ruleFields = {
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
const exceptionFields = {
  FromDate: date('The first date that it is about.'),
  ToDate: date('The last date that it is about.'),
  Closed: z
    .boolean()
    .meta({ description: 'Closed on its dates; the night before ends at 00:00 of the first.' }),
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

const ownList = <Item extends z.ZodType>(
  items: Item,
  most: number,
  texts: { id: string; description: string },
) =>
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

/** A date that PostgreSQL and every calendar knows. */
const plainDate = (schema: z.ZodISODate) =>
  schema.refine((value) => value >= '1900', 'must be a date of 1900 or later');
const plainOrNull = (schema: z.ZodNullable<z.ZodISODate>) =>
  plainDate(schema.unwrap())
    .nullable()
    .default(null)
    .meta({ description: schema.unwrap().description ?? '' });

export const newRule = z
  .strictObject({
    ...ruleFields,
    ValidFrom: plainOrNull(ruleFields.ValidFrom),
    ValidTo: plainOrNull(ruleFields.ValidTo),
  })
  .meta({ description: 'Open on these weekdays, in local clock times.' });
export const newException = z
  .strictObject({
    FromDate: plainDate(exceptionFields.FromDate),
    ToDate: plainDate(exceptionFields.ToDate),
    Closed: exceptionFields.Closed.default(false),
    Periods: exceptionFields.Periods.default([]),
    Reason: exceptionFields.Reason.default(null),
  })
  .meta({ description: 'Other hours, or none, on these dates.' });

type Fault = (path: (string | number)[], message: string, code?: string) => void;

/** Reports what is wrong between the members of a value. */
const checked = <T extends z.ZodType>(schema: T, check: (value: z.output<T>, fault: Fault) => void) =>
  schema.superRefine((value, context) =>
    check(value, (path, message, code = 'InvalidValue') =>
      context.addIssue({ code: 'custom', path, message, params: { code } }),
    ),
  );

/** Members that an answer has and that may come back with it; they are not looked at. */
const answered = {
  Id: owner.Id.optional(),
  LocationId: owner.LocationId.optional(),
  ResourceId: owner.ResourceId.optional(),
};
const bodyOf = <Item extends z.ZodType>(items: Item, description: string) =>
  z.strictObject({
    ResourceId: answered.ResourceId,
    Version: z.int().optional().meta({ description: 'Not looked at: `If-Match` is.' }),
    Items: items.meta({ description }),
  });

const week = 7;

/** The whole list of rules: no two of them may cover the same time. */
export const rulesBody = bodyOf(
  checked(
    z
      .array(
        checked(z.strictObject({ ...answered, ...newRule.shape }), ({ ValidFrom, ValidTo }, fault) => {
          if (ValidFrom && ValidTo && ValidTo < ValidFrom) fault(['ValidTo'], 'must not be before ValidFrom');
        }),
      )
      .max(mostRules),
    (items, fault) => {
      const repeated = items.map(toNewRule).map((rule) => ({ ...rule, days: rule.weekdays }));
      for (const [index, earlier] of findOverlaps(repeated, week))
        fault([index], `overlaps Items[${earlier}]`, 'OverlappingPeriods');
    },
  ),
  'All rules of the resource itself; with none those of its location count.',
);

/** The whole list of exceptions; of several for a date the one of the fewest days counts. */
export const exceptionsBody = bodyOf(
  z
    .array(
      checked(
        z.strictObject({ ...answered, ...newException.shape }),
        ({ FromDate, ToDate, Closed, Periods }, fault) => {
          if (ToDate < FromDate) fault(['ToDate'], 'must not be before FromDate');
          if (Closed !== (Periods.length === 0))
            fault(['Periods'], 'must hold at least one period, or none when Closed is true');
          const always = { days: [0], validFrom: null, validTo: null };
          const repeated = Periods.map(toPeriod).map((period) => ({ ...period, ...always }));
          for (const [index, earlier] of findOverlaps(repeated, FromDate < ToDate ? 1 : week))
            fault(['Periods', index], `overlaps Periods[${earlier}]`, 'OverlappingPeriods');
        },
      ),
    )
    .max(mostExceptions),
  'All exceptions of the resource itself; those of its location go on to count.',
);

const toPeriod = ({ Opens, Closes }: z.output<typeof openingPeriod>): Period => ({
  opens: Opens,
  closes: Closes,
});

export function toNewRule(rule: z.output<typeof newRule>): OpeningRule {
  return {
    ...{ weekdays: rule.Weekdays, opens: rule.Opens, closes: rule.Closes },
    ...{ validFrom: rule.ValidFrom, validTo: rule.ValidTo },
  };
}

export function toNewException(exception: z.output<typeof newException>): NewException {
  return {
    ...{ fromDate: exception.FromDate, toDate: exception.ToDate, closed: exception.Closed },
    ...{ periods: exception.Periods.map(toPeriod), reason: exception.Reason },
  };
}

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

const toOwnList = <Item>(
  { resourceId, version, items }: OwnHours<Item>,
  toRecord: (item: Item) => object,
) => ({
  ResourceId: resourceId,
  Version: version,
  Items: items.map(toRecord),
});

export const toOwnRules = (own: OwnHours<StoredRule>) => toOwnList(own, toRuleRecord);
export const toOwnExceptions = (own: OwnHours<StoredException>) => toOwnList(own, toExceptionRecord);
