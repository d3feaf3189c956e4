/** Checks the period or the dates of a query. */
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

/** The faults of the bounds that `isRight` refuses. */
const faultsOf = ({ from, to }: Bounds<string>, isRight: (date: string) => boolean, text: string): FieldError[] =>
  Object.entries({ From: from, To: to }).flatMap(([field, date]) =>
    date !== undefined && !isRight(date) ? [invalid(field, text)] : [],
  );

function refuse(faults: readonly FieldError[]): void {
  if (faults.length > 0) throw Malformed.of(...faults);
}

/** @param dates local, inclusive @throws Malformed for dates of the year 0, and for a last date before the first */
export function checkDates(dates: Bounds<string>): void {
  // PostgreSQL knows no year 0.
  const faults = faultsOf(dates, (date) => date > '0001', 'must be 0001-01-01 or later');
  const { from, to } = dates;
  refuse(from && to && to < from ? [...faults, notBefore(from)] : faults);
}

/** Whether a date is in a year whose local times are converted. */
export const isUsual = (date: string): boolean => '1900' < date && date < '3000';
const unusualOf = (dates: Bounds<string>) => faultsOf(dates, isUsual, 'must be in a year from 1900 to 2999');

/** @throws Malformed for a window of unusual years */
export const checkYears = ({ from, to }: { from: Date; to: Date }): void =>
  refuse(unusualOf({ from: from.toISOString(), to: to.toISOString() }));

/**
 * @param dates local, inclusive, whose times are converted
 * @throws Malformed with every fault: unusual years, a last date before the first, more than `mostDays` dates
 */
export function checkDays({ from, to }: Bounds<string>, mostDays: number): void {
  const faults = unusualOf({ from, to });
  if (from && to && to < from) faults.push(notBefore(from));
  else if (from && to && readDate(to) - readDate(from) >= mostDays)
    faults.push(invalid('To', `must be at most ${mostDays} days from From, both included; ask in parts`));
  refuse(faults);
}
