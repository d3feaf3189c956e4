/** A week of opening hours: the rules of the API as periods of single days, and back. Pure. */

import { minutesOf } from '../../../time/days.ts';
import { clockText, dayMinutes } from '../clock.ts';
import type { OpeningRuleInput, RulesFragment } from '../generated/graphql.ts';
import { step } from '../rooms/geometry.ts';

export type Season = { validFrom: string | null; validTo: string | null };
/** `day` is from 1, Monday, to 7. `from` and `to` are minutes since its midnight; `to` may lie on the next day. */
export type Period = Season & { day: number; from: number; to: number };

export const weekdays = [1, 2, 3, 4, 5, 6, 7] as const;

/** The closing in minutes: a time at or before the opening is on the next day. */
export const closingOf = (from: number, closes: string): number =>
  minutesOf(closes) <= from ? minutesOf(closes) + dayMinutes : minutesOf(closes);
export const closesText = (to: number): string => (to === dayMinutes ? '24:00' : clockText(to));
export const periodText = ({ from, to }: Pick<Period, 'from' | 'to'>): string => `${clockText(from)}–${closesText(to)}`;

export const seasonOf = ({ validFrom, validTo }: Season): Season => ({ validFrom, validTo });
export const seasonKey = ({ validFrom, validTo }: Season): string => `${validFrom ?? ''}/${validTo ?? ''}`;

export const periodsOf = (rules: RulesFragment['items']): Period[] =>
  rules
    .flatMap(({ weekdays: days, opens, closes, validFrom, validTo }) => {
      const from = minutesOf(opens);
      return days.map((day) => ({ day, from, to: closingOf(from, closes), validFrom, validTo }));
    })
    .toSorted((one, other) => one.day - other.day || one.from - other.from);

/** The fewest rules for the periods: one for all days with the same hours. */
export function rulesOf(periods: readonly Period[]): OpeningRuleInput[] {
  const rules = new Map<string, OpeningRuleInput & { weekdays: number[] }>();
  for (const { day, from, to, validFrom, validTo } of periods) {
    const [opens, closes] = [clockText(from), closesText(to)];
    const key = `${opens} ${closes} ${seasonKey({ validFrom, validTo })}`;
    const rule = rules.get(key) ?? { weekdays: [], opens, closes, validFrom, validTo };
    rules.set(key, rule);
    if (!rule.weekdays.includes(day)) rule.weekdays.push(day);
  }
  return [...rules.values()];
}

/** A period that lasts at least a step and at most a day, and begins on its day. */
export function within({ from, to, ...rest }: Period): Period {
  const opens = Math.min(dayMinutes - step, Math.max(0, from));
  return { ...rest, from: opens, to: Math.min(opens + dayMinutes, Math.max(opens + step, to)) };
}

/** The first day, from today on, on which two weeks may differ. Without any period a week is always open. */
export function sinceDay(one: readonly Period[], other: readonly Period[], today: string): string {
  if (one.length === 0 || other.length === 0) return today;
  const keyOf = (period: Period) => `${period.day} ${periodText(period)} ${seasonKey(period)}`;
  const alone = (some: readonly Period[], others: ReadonlySet<string>) =>
    some.filter((period) => !others.has(keyOf(period)));
  const differing = [...alone(one, new Set(other.map(keyOf))), ...alone(other, new Set(one.map(keyOf)))].map(
    ({ validFrom }) => validFrom || today,
  );
  const first = differing.sort()[0] ?? today;
  return first > today ? first : today;
}
