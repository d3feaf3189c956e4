/** Opening hours in words. */
import type { Refusal } from '../client.ts';
import { dayText } from '../clock.ts';
import type { OpeningExceptionInput, OpeningRuleInput } from '../generated/graphql.ts';
import { t } from '../texts/hours.ts';

type ClockTimes = { opens: string; closes: string };

export const clockTimesText = ({ opens, closes }: ClockTimes): string => `${opens}–${closes}`;

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

/** A refusal that names hours which overlap by their days and times: the API names their places in what was sent. */
export const withHours = (
  refusal: Refusal | undefined,
  sent: readonly (OpeningRuleInput | OpeningExceptionInput)[],
): Refusal | undefined =>
  refusal && {
    ...refusal,
    faults: refusal.faults.map((fault) => {
      const [at, within] = fault.pointer?.match(/\d+/g)?.map(Number) ?? [];
      const earlier = Number(/overlaps \w+\[(\d+)\]/.exec(fault.message)?.[1]);
      const [item, other] = [sent[at ?? -1], sent[earlier]];
      if (fault.code !== 'OverlappingPeriods' || !item) return fault;
      if ('weekdays' in item)
        return other && 'weekdays' in other
          ? { ...fault, field: null, message: t().overlap(ruleText(other), ruleText(item)) }
          : fault;
      const [one, later] = [item.periods?.[earlier], item.periods?.[within ?? -1]];
      if (!one || !later) return fault;
      const message = `${datesText(item)}: ${t().overlap(clockTimesText(one), clockTimesText(later))}`;
      return { ...fault, field: null, message };
    }),
  };
