/** The hours of a resource as an Admin sends them: what a list may hold, each fault with its place. */
import { z } from 'zod';
import type { NewException } from './change.ts';
import type { OpeningRule, Period } from './local-hours.ts';
import { findOverlaps } from './overlaps.ts';
import { exceptionFields, type openingPeriod, owner, ruleFields } from './wire.ts';

const mostRules = 200;
const mostExceptions = 1_000;

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
    weekdays: rule.Weekdays,
    opens: rule.Opens,
    closes: rule.Closes,
    validFrom: rule.ValidFrom,
    validTo: rule.ValidTo,
  };
}

export function toNewException(exception: z.output<typeof newException>): NewException {
  return {
    fromDate: exception.FromDate,
    toDate: exception.ToDate,
    closed: exception.Closed,
    periods: exception.Periods.map(toPeriod),
    reason: exception.Reason,
  };
}
