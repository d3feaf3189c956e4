/** How a series repeats: translates between rules of RFC 5545 and what people choose and read. */
import { addDays } from '../../../time/days.ts';
import { daysBetween, dayText, mondayOf, weekdayOf } from '../clock.ts';
import { locale } from '../look.ts';
import { t } from '../texts/rooms.ts';

export const repeats = ['none', 'daily', 'weekly', 'biweekly', 'monthly'] as const;
export type Repeat = (typeof repeats)[number];

const codes = ['MO', 'TU', 'WE', 'TH', 'FR', 'SA', 'SU'] as const;
/** From 1, Monday, to 7, Sunday. */
export const weekdays = codes.map((_, index) => index + 1);
const codeOf = (weekday: number) => codes[weekday - 1];
const aMonday = '2026-01-05';
export const weekdayName = (weekday: number): string =>
  new Intl.DateTimeFormat(locale.value, { weekday: 'long', timeZone: 'UTC' }).format(
    Date.parse(addDays(aMonday, weekday - 1)),
  );

/** Which of the weekdays of its name in the month a day is: 3 for the third Monday. */
const placeInMonth = (day: string): number => Math.ceil(Number(day.slice(8)) / 7);

/** @param on the weekdays of a weekly series; that of the first day is always one */
export type Choice = { repeat: Repeat; on: readonly number[]; day: string; until: string };

const chosenDays = ({ on, day }: Choice): number[] =>
  weekdays.filter((each) => on.includes(each) || each === weekdayOf(day));

/** The rule for the API; nothing for a single booking. */
export function ruleOf(choice: Choice): string | undefined {
  const { repeat, day, until } = choice;
  const byDay = `BYDAY=${chosenDays(choice).map(codeOf).join(',')}`;
  const place = placeInMonth(day);
  const ways: Record<Repeat, string> = {
    none: '',
    daily: 'FREQ=DAILY',
    weekly: `FREQ=WEEKLY;${byDay}`,
    biweekly: `FREQ=WEEKLY;INTERVAL=2;${byDay}`,
    // Not every month has a fifth one: it stands for the last.
    monthly: `FREQ=MONTHLY;BYDAY=${place === 5 ? -1 : place}${codeOf(weekdayOf(day))}`,
  };
  return ways[repeat] ? `${ways[repeat]};UNTIL=${until.replaceAll('-', '')}` : undefined;
}

/** A rule in words; one that cannot be chosen here is only called a series. */
export function sayRule(rule: string): string {
  const parts = new Map(rule.split(';').map((part) => part.split('=', 2) as [string, string]));
  const {
    FREQ: often = '',
    INTERVAL: every = '1',
    BYDAY: on = '',
    UNTIL: until,
    COUNT: count,
  } = Object.fromEntries(parts);
  const isKnown = [...parts.keys()].every((name) => /^(?:FREQ|INTERVAL|BYDAY|UNTIL|COUNT|WKST)$/.test(name));
  const days = on ? on.split(',').map((code) => codes.indexOf(code.slice(-2) as (typeof codes)[number]) + 1) : [];
  const list = new Intl.ListFormat(locale.value).format(days.map((day) => weekdayName(day)));
  const place = Number(/^-?\d/.exec(on)?.[0]);
  const texts = t().rules;
  const way =
    !isKnown || (often === 'MONTHLY' && (days.length !== 1 || every !== '1' || !place))
      ? undefined
      : { DAILY: texts.daily, WEEKLY: texts.weekly, MONTHLY: (_every: number, on: string) => texts.monthly(place, on) }[
          often
        ];
  const end = until
    ? texts.until(dayText(`${until.slice(0, 4)}-${until.slice(4, 6)}-${until.slice(6, 8)}`, 'medium'))
    : count && texts.count(Number(count));
  return [way?.(Number(every), list) ?? t().series, end].filter(Boolean).join(', ');
}

/** The days of the bookings of a series, as far as the rule tells; of a single booking its own. */
export function daysOf(choice: Choice): string[] {
  const { repeat, day, until } = choice;
  const length = Math.min(3660, daysBetween(day, until));
  const chosen = chosenDays(choice);
  const monday = mondayOf(day);
  const last = (date: string) => addDays(date, 7).slice(0, 7) !== date.slice(0, 7);
  const fits: Record<Repeat, (date: string) => boolean> = {
    none: (date) => date === day,
    daily: () => true,
    weekly: (date) => chosen.includes(weekdayOf(date)),
    biweekly: (date) => chosen.includes(weekdayOf(date)) && Math.floor(daysBetween(monday, date) / 7) % 2 === 0,
    monthly: (date) =>
      weekdayOf(date) === weekdayOf(day) &&
      (placeInMonth(day) === 5 ? last(date) : placeInMonth(date) === placeInMonth(day)),
  };
  const found: string[] = [];
  for (let ahead = 0; ahead <= length; ahead++) {
    const date = addDays(day, ahead);
    if (fits[repeat](date)) found.push(date);
  }
  return found;
}
