/** The rules of RFC 5545, 3.3.10, as dates: against another engine. What bookings and mail make of them is tested with these. */
import { expect, test } from '@jest/globals';
import fc from 'fast-check';
import { RRuleTemporal } from 'rrule-temporal';
import { Temporal } from 'temporal-polyfill';
import { dateText, dayLength, dayOf } from '../../src/time/days.ts';
import { fitsStart, listDays, readRule } from '../../src/time/rule.ts';

const weekdays = ['SU', 'MO', 'TU', 'WE', 'TH', 'FR', 'SA'];
const some = <T>(values: readonly T[], maxLength = 3) =>
  fc.option(fc.uniqueArray(fc.constantFrom(...values), { minLength: 1, maxLength }), { nil: [] as T[] });
const list = (name: string, values: readonly (string | number)[]) =>
  values.length > 0 ? [`${name}=${values.join(',')}`] : [];
/** Those of which ical.js, which judges mail's, is not sure: rrule-temporal 2.2.7 reads them as RFC 5545 does. */
const otherRules = fc
  .record({
    freq: fc.constantFrom('DAILY', 'WEEKLY', 'MONTHLY', 'YEARLY'),
    interval: fc.integer({ min: 1, max: 3 }),
    months: fc.uniqueArray(fc.constantFrom(1, 2, 3, 6, 12), { minLength: 1, maxLength: 4 }),
    monthDays: some([1, 2, 13, 15, 28, 30, 31, -1, -31]),
    weekdays: some(weekdays),
    yearDays: some([1, 59, 60, 61, 100, 365, 366, -1, -366]),
    weeks: some([1, 2, 20, 52, 53, -1]),
    chosen: fc.constantFrom('months', 'years', 'weeks'),
    positions: some([1, 2, -1], 2),
    weekStart: fc.constantFrom(...weekdays),
  })
  .map(({ freq, interval, chosen, ...drawn }) => {
    const own = [`FREQ=${freq}`, `INTERVAL=${interval}`, `WKST=${drawn.weekStart}`];
    if (freq === 'YEARLY' && chosen === 'years' && drawn.yearDays.length > 0)
      return [...own, ...list('BYYEARDAY', drawn.yearDays)].join(';');
    if (freq === 'YEARLY' && chosen === 'weeks' && drawn.weeks.length > 0 && drawn.weekdays.length > 0)
      return [`FREQ=${freq}`, 'INTERVAL=1', ...list('BYWEEKNO', drawn.weeks), ...list('BYDAY', drawn.weekdays)].join(
        ';',
      );
    const monthDays = freq === 'WEEKLY' ? [] : list('BYMONTHDAY', drawn.monthDays);
    const positions = freq === 'WEEKLY' ? [] : list('BYSETPOS', drawn.positions);
    const days = list('BYDAY', drawn.weekdays);
    return [...own, ...days, ...monthDays, ...list('BYMONTH', drawn.months), ...positions].join(';');
  });

test('rules are those of rrule-temporal', () => {
  const first = dayOf(2024, 1, 1);
  const drawn = fc.record({ rule: otherRules, start: fc.integer({ min: first, max: first + 1_000 }) });
  const [from, to] = [dayOf(2026, 11, 20), dayOf(2027, 11, 20)];
  fc.assert(
    fc.property(drawn, ({ rule, start }) => {
      const dtstart = Temporal.Instant.fromEpochMilliseconds(start * dayLength).toZonedDateTimeISO('UTC');
      const until = Temporal.Instant.fromEpochMilliseconds(to * dayLength).toZonedDateTimeISO('UTC');
      const all = new RRuleTemporal({ rruleString: rule, dtstart, until, temporal: Temporal })
        .all(() => true)
        .map(({ epochMilliseconds }) => epochMilliseconds / dayLength);
      const others = all.filter((each) => each > start && each >= from);
      const own = listDays(readRule(rule), start, from, to).filter((each) => each !== start);
      expect([rule, own.map(dateText)]).toEqual([rule, others.map(dateText)]);
      expect([rule, fitsStart(readRule(rule), start)]).toEqual([rule, all[0] === start]);
    }),
    { numRuns: 200 },
  );
});
