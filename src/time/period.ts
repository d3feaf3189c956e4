/** What a list over time is asked for. */
import { Malformed, parameterFault } from '../errors.ts';

const refuse = (text: string) => Malformed.of(parameterFault('To', 'InvalidValue', text));

type Bounds<Bound> = { from?: Bound | undefined; to?: Bound | undefined };

/** @throws Malformed for a period that ends before or when it begins */
export function checkPeriod({ from, to }: Bounds<Date>): void {
  if (from && to && to <= from) throw refuse('must be after From');
}

/** @param dates local, inclusive @throws Malformed for dates of which the last is before the first */
export function checkDates({ from, to }: Bounds<string>): void {
  if (from && to && to < from) throw refuse('must not be before From');
}
