/** What a list over time is asked for. */
import { type FieldError, Malformed, parameterFault } from '../errors.ts';
import { dayLength, readDate } from './days.ts';

type Bounds<Bound> = { from?: Bound | undefined; to?: Bound | undefined };

const invalid = (field: string, text: string) => parameterFault(field, 'InvalidValue', text);

/** @throws Malformed for a period that ends before or when it begins, or that lasts longer than `mostDays` */
export function checkPeriod({ from, to }: Bounds<Date>, mostDays = Number.POSITIVE_INFINITY): void {
  if (!from || !to) return;
  if (to <= from) throw Malformed.of(invalid('To', `must be after From, which is ${from.toISOString()}`));
  if (to.getTime() - from.getTime() > mostDays * dayLength)
    throw Malformed.of(invalid('To', `must be at most ${mostDays} days after From; ask in parts`));
}

const notBefore = (from: string) => invalid('To', `must not be before From, which is ${from}`);

/** @param dates local, inclusive @throws Malformed for dates of which the last is before the first */
export function checkDates({ from, to }: Bounds<string>): void {
  if (from && to && to < from) throw Malformed.of(notBefore(from));
}

/** Whether a date is in a year whose local times are converted. */
export const isUsual = (date: string): boolean => '1900' < date && date < '3000';

/**
 * @param dates local, inclusive, whose times are converted
 * @throws Malformed with every fault: unusual years, a last date before the first, more than `mostDays` dates
 */
export function checkDays({ from, to }: Bounds<string>, mostDays: number): void {
  const faults: FieldError[] = [];
  for (const [field, date] of Object.entries({ From: from, To: to }))
    if (date && !isUsual(date)) faults.push(invalid(field, 'must be in a year from 1900 to 2999'));
  if (from && to && to < from) faults.push(notBefore(from));
  else if (from && to && readDate(to) - readDate(from) >= mostDays)
    faults.push(invalid('To', `must be at most ${mostDays} days from From, both included; ask in parts`));
  if (faults.length > 0) throw Malformed.of(...faults);
}
