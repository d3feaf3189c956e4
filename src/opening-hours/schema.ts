/**
 * Schemas of rules and exceptions, which a PUT and a tenant file share: the limits of each member and the faults of a
 * whole list, such as overlaps.
 */
import { z } from 'zod';
import { clockTime, date, id, recordOf, toFields } from '../fields.ts';
import { longest } from '../names.ts';
import { storableText } from '../storable.ts';
import type { OpeningException, OpeningRule, Period } from './local-hours.ts';
import { findOverlaps } from './overlaps.ts';

const mostPeriods = 24;
const mostRules = 200;
const mostExceptions = 1_000;
const week = 7;

export const clocks = {
  Opens: clockTime.meta({ maxLength: 5, description: 'Local clock time.' }),
  Closes: z
    .string()
    .regex(/^(([01]\d|2[0-3]):[0-5]\d|24:00)$/, 'must be a time from 00:00 to 24:00')
    .meta({
      maxLength: 5,
      description: 'Local clock time; at or before Opens, it is on the next day.',
    }),
};
export const openingPeriod = z
  .strictObject(clocks)
  .meta({ id: 'OpeningPeriod', description: 'From one local clock time to another.' });

const ownerOf = (noun: 'openingRule' | 'openingException') => ({
  Id: id(noun, 'The id; valid until its list is replaced.'),
  LocationId: id('location', 'The location of the hours.'),
  ResourceId: id('resource', 'The resource of the hours; null: they belong to the location.').nullable(),
});
export const owner = { rule: ownerOf('openingRule'), exception: ownerOf('openingException') };
export const ruleFields = {
  Weekdays: z
    .array(z.int().min(1, 'must be 1 (Monday) or more').max(7, 'must be 7 (Sunday) or less'))
    .min(1, 'must name a weekday')
    .max(7)
    .refine((days) => new Set(days).size === days.length, 'must name each weekday once')
    .meta({ description: 'The days on which it opens: 1 is Monday, 7 is Sunday.' }),
  ...clocks,
  ValidFrom: date('The first date on which it applies; null: there is none.').nullable(),
  ValidTo: date('The last date on which it applies; null: there is none.').nullable(),
};
export const exceptionFields = {
  FromDate: date('The first date.'),
  ToDate: date('The last date.'),
  Closed: z
    .boolean()
    .meta({ description: 'Whether it closes its dates; the previous night then ends at 00:00 of the first.' }),
  Periods: z
    .array(openingPeriod)
    .max(mostPeriods)
    .meta({ description: 'When it is open on each of the dates, whatever the rules say; empty if Closed.' }),
  Reason: storableText.max(longest.reason).meta({ description: 'The reason, for people.' }).nullable(),
};

/** A date that PostgreSQL and the clients' calendars can represent. */
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

type ReportFault = (path: (string | number)[], message: string, more?: { code: string; earlier: number }) => void;

/** Adds a check that concerns several members of a value. */
const checked = <T extends z.ZodType>(schema: T, check: (value: z.output<T>, fault: ReportFault) => void) =>
  schema.superRefine((value, context) =>
    check(value, (path, message, params) =>
      context.addIssue({ code: 'custom', path, message, ...(params && { params }) }),
    ),
  );

/**
 * The list of all rules of one owner, of which no two may overlap.
 * @param name the list's member name, for messages
 */
export const listOfRules = (name: string) =>
  checked(
    z
      .array(
        checked(z.strictObject(newRule.shape), ({ ValidFrom, ValidTo }, fault) => {
          if (ValidFrom && ValidTo && ValidTo < ValidFrom) fault(['ValidTo'], 'must not be before ValidFrom');
        }),
      )
      .max(mostRules),
    (items, fault) => {
      const repeated = items.map(toNewRule).map((rule) => ({ ...rule, days: rule.weekdays }));
      for (const [index, earlier] of findOverlaps(repeated, week))
        fault([index], `overlaps ${name}[${earlier}]`, { code: 'OverlappingPeriods', earlier });
    },
  );

/** The list of all exceptions of one owner; for a date with several, the one of the fewest days applies. */
export const listOfExceptions = () =>
  z
    .array(
      checked(z.strictObject(newException.shape), ({ FromDate, ToDate, Closed, Periods }, fault) => {
        if (ToDate < FromDate) fault(['ToDate'], 'must not be before FromDate');
        if (Closed !== (Periods.length === 0))
          fault(['Periods'], 'must contain at least one period, or none if Closed is true');
        const always = { days: [0], validFrom: null, validTo: null };
        const repeated = Periods.map(toPeriod).map((period) => ({ ...period, ...always }));
        for (const [index, earlier] of findOverlaps(repeated, FromDate < ToDate ? 1 : week))
          fault(['Periods', index], `overlaps Periods[${earlier}]`, { code: 'OverlappingPeriods', earlier });
      }),
    )
    .max(mostExceptions);

const hoursLists = { OpeningRules: listOfRules('OpeningRules'), OpeningExceptions: listOfExceptions() };
/** The own hours of a location or a resource, in the form of a tenant file. */
export type WrittenHours = z.output<z.ZodObject<typeof hoursLists>>;
/** The same as members of a tenant file: each is a whole list, and null empties it. */
export const hoursMembers = {
  OpeningRules: hoursLists.OpeningRules.nullable()
    .transform((rules) => rules ?? [])
    .optional(),
  OpeningExceptions: hoursLists.OpeningExceptions.nullable()
    .transform((exceptions) => exceptions ?? [])
    .optional(),
};

const toPeriod: (period: z.output<typeof openingPeriod>) => Period = toFields;

export const toNewRule: (rule: z.output<typeof newRule>) => OpeningRule = toFields;

/** An exception with its reason, a text for people. */
export type NewException = OpeningException & { reason: string | null };

export const toNewException = (exception: z.output<typeof newException>): NewException => ({
  ...toFields(exception),
  periods: exception.Periods.map(toPeriod),
});

const writePeriod = recordOf(openingPeriod);
export const toWrittenRule: (rule: OpeningRule) => z.output<typeof newRule> = recordOf(newRule);
const writeException = recordOf(newException);
export const toWrittenException = (exception: NewException): z.output<typeof newException> => ({
  ...writeException(exception),
  Periods: exception.periods.map(writePeriod),
});
