/** Opening hours in words. */
import type { Refusal } from '../client.ts';
import { dayMinutes, dayText } from '../clock.ts';
import type { OpeningExceptionInput, OpeningRuleInput } from '../generated/graphql.ts';
import { t } from '../texts/hours.ts';
import { closesText } from './week.ts';

type ClockTimes = { opens: string; closes: string };
type Hours = OpeningRuleInput | OpeningExceptionInput;

export const clockTimesText = ({ opens, closes }: ClockTimes): string => `${opens}–${closes}`;

/** Says it if hours end on the next day; equal times are 24 hours. */
export function lateHint(from: number, to: number): string | undefined {
  if (to - from === dayMinutes) return t().wholeDay(closesText(to));
  return to >= dayMinutes ? t().overnight(closesText(to)) : undefined;
}

export const ruleText = ({ weekdays, validFrom, validTo, ...times }: OpeningRuleInput): string =>
  [
    weekdays.map((day) => t().days[day]).join(', '),
    clockTimesText(times),
    (validFrom || validTo) && `(${t().season(validFrom ?? null, validTo ?? null)})`,
  ]
    .filter(Boolean)
    .join(' ');

export const datesText = ({ fromDate, toDate }: Pick<OpeningExceptionInput, 'fromDate' | 'toDate'>): string =>
  [...new Set([fromDate, toDate])].map((day) => dayText(day, 'medium')).join(' – ');

/** The hours that a JSON pointer leads to, in words: `/items/3`, or `/items/3/periods/1`. */
function hoursAt(items: readonly Hours[], pointer: string): { dates: string; times: string } | undefined {
  const [, , at, , within] = pointer.split('/');
  const item = items[Number(at)];
  if (!item || 'weekdays' in item) return item && { dates: '', times: ruleText(item) };
  const period = item.periods?.[Number(within)];
  return period && { dates: `${datesText(item)}: `, times: clockTimesText(period) };
}

/**
 * A refusal that names overlapping hours by their days and times.
 * @param items what was sent
 */
export const sayOverlaps = (refusal: Refusal | undefined, items: readonly Hours[]): Refusal | undefined =>
  refusal && {
    ...refusal,
    faults: refusal.faults.map((fault) => {
      const [one, other] = [fault.otherPointer, fault.pointer].map((pointer) => hoursAt(items, pointer ?? ''));
      if (!fault.otherPointer || !one || !other) return fault;
      return { ...fault, field: null, message: `${other.dates}${t().overlap(one.times, other.times)}` };
    }),
  };
