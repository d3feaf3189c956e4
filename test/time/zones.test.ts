/** The clocks of zones, against Temporal: all the instants and clock times that opening hours, series and mail ask for. */
import { describe, expect, jest, test } from '@jest/globals';
import fc from 'fast-check';
import { Temporal } from 'temporal-polyfill';
import { addDays, dayLength, dayOf, readDate, readWall, weekOf } from '../../src/time/days.ts';
import { clockTimeOf, findZone, isTimeZone, localDateOf, startOfDate, zoneFor } from '../../src/time/zones.ts';
import { localTimes } from '../_util/local-times.ts';

const names = Intl.supportedValuesOf('timeZone');
const dateOf = (at: Temporal.ZonedDateTime) => at.toPlainDate().toString();
const zoned = (instant: number, name: string) =>
  Temporal.Instant.fromEpochMilliseconds(instant).toZonedDateTimeISO(name);
const wallIn = (at: Temporal.ZonedDateTime) => at.epochMilliseconds + at.offsetNanoseconds / 1e6;

/** The changes of a zone's clocks in [from, to). */
function* changesOf(name: string, from: number, to: number): Iterable<Temporal.ZonedDateTime> {
  for (let at = zoned(from, name).getTimeZoneTransition('next'); at; at = at.getTimeZoneTransition('next')) {
    if (at.epochMilliseconds >= to) return;
    yield at;
  }
}

test('any zone shows at any time what Temporal does, and comes back from it', () => {
  const instants = fc.integer({ min: Date.UTC(1901, 0), max: Date.UTC(2999, 0) });
  fc.assert(
    fc.property(fc.constantFrom(...names), instants, (name, instant) => {
      const zone = findZone(name)!;
      const at = zoned(instant, name);
      expect([name, zone.offsetAt(instant)]).toEqual([name, at.offsetNanoseconds / 1e6]);
      const wall = instant + at.offsetNanoseconds / 1e6;
      expect(zone.wallOf(instant)).toBe(wall);
      expect(zone.instantOf(wall)).toBe(at.toPlainDateTime().toZonedDateTime(name).epochMilliseconds);
      expect(localDateOf(new Date(instant), name)).toBe(dateOf(at));
      expect(startOfDate(dateOf(at), name).getTime()).toBe(at.startOfDay().epochMilliseconds);
    }),
    { numRuns: 300 },
  );
});

test('around a clock change a zone finds times that are shown first, last, twice and not at all', () => {
  const from = fc.integer({ min: Date.UTC(1920, 0), max: Date.UTC(2080, 0) });
  const aside = fc.integer({ min: -26 * 3600, max: 26 * 3600 });
  fc.assert(
    fc.property(fc.constantFrom(...names), from, aside, (name, after, seconds) => {
      const [change] = changesOf(name, after, after + 400 * dayLength);
      fc.pre(change !== undefined);
      const zone = findZone(name)!;
      const at = change.epochMilliseconds;
      const wall = wallIn(change) + seconds * 1000;
      const local = Temporal.Instant.fromEpochMilliseconds(wall).toZonedDateTimeISO('UTC').toPlainDateTime();
      const [earlier, later] = (['earlier', 'later'] as const).map(
        (disambiguation) => local.toZonedDateTime(name, { disambiguation }).epochMilliseconds,
      ) as [number, number];
      // What is skipped has an earlier instant after the change, and a later one before it.
      const isSkipped = zone.wallOf(earlier) !== wall;
      expect([name, at, seconds, zone.instantOf(wall)]).toEqual([...[name, at, seconds, isSkipped ? later : earlier]]);
      expect(zone.earliest(wall)).toBe(isSkipped ? at : earlier);
      expect(zone.latest(wall)).toBe(isSkipped ? at : later);
    }),
    { numRuns: 300 },
  );
});

test.each(localTimes)('in %s the time %s, which the clocks skip or show twice, is %s', (name, local, instant) => {
  expect(new Date(findZone(name)!.instantOf(Date.parse(`${local}Z`))).toISOString()).toBe(instant);
});

describe('every change of the clocks is found', () => {
  test.each([
    ['Europe/Berlin', 1970, 2060],
    ['Africa/Casablanca', 1970, 2060],
    // Within a week of 2040 and of 2072, about Ramadan.
    ['Asia/Gaza', 2030, 2075],
    ['America/Recife', 1985, 2005],
    ['Pacific/Apia', 2005, 2015],
    ['Australia/Lord_Howe', 2000, 2040],
  ])('of %s from %d to %d', (name, first, last) => {
    const [from, to] = [Date.UTC(first, 0), Date.UTC(last, 0)];
    expect(findZone(name)!.offsetsIn(from, to)).toEqual([
      { from, offset: zoned(from, name).offsetNanoseconds / 1e6 },
      ...[...changesOf(name, from, to)].map((at) => ({
        from: at.epochMilliseconds,
        offset: at.offsetNanoseconds / 1e6,
      })),
    ]);
  });
});

describe('the name of a zone', () => {
  test.each([...['Europe/Zurich', 'europe/ZURICH', 'UTC', 'utc', 'Etc/GMT+5', 'US/Pacific-New', 'CET', 'EST']])(
    '%s is one',
    (name) => expect(isTimeZone(name)).toBe(true),
  );

  test.each(['', 'Europe/Nowhere', '+01:00', '-08', 'CAT', 'pst', 'a'.repeat(101)])('%j is none', (name) => {
    expect(isTimeZone(name)).toBe(false);
    expect(zoneFor(name).offsetAt(0)).toBe(0);
  });
});

test.each([
  ['+01:23', 83],
  ['-08', -480],
  ['+0545', 345],
])('the clocks of %s never change, and are asked once', (name, minutes) => {
  const asked = jest.spyOn(Intl.DateTimeFormat.prototype as { format: unknown }, 'format', 'get');
  const from = Date.UTC(1800, 0);
  expect(findZone(name)!.offsetsIn(from, Date.UTC(2600, 0))).toEqual([{ from, offset: minutes * 60_000 }]);
  expect(asked).toHaveBeenCalledTimes(1);
  asked.mockRestore();
});

test('what is no date of the calendar is refused', () => {
  for (const text of ['2026-02-30', '2026-13-01', '2026-1-1', '20260101', '', '2026-01-01T00:00'])
    expect(() => readDate(text)).toThrow(RangeError);
  for (const text of ['20260230', '20261301T000000', '20260101T240000', '20260101T006000', '2026'])
    expect(readWall(text)).toBeNull();
  expect(readWall('20261201T093000')).toBe(Date.UTC(2026, 11, 1, 9, 30));
  expect(addDays('2028-02-28', 2)).toBe('2028-03-01');
});

test('weeks from Monday are those of ISO 8601', () => {
  fc.assert(
    fc.property(fc.integer({ min: dayOf(1900, 1, 1), max: dayOf(2200, 1, 1) }), (day) => {
      const date = Temporal.Instant.fromEpochMilliseconds(day * dayLength).toZonedDateTimeISO('UTC');
      expect(weekOf(day, 1)).toMatchObject({ year: date.yearOfWeek, week: date.weekOfYear });
    }),
  );
});

test.each([
  'Europe/Berlin',
  'Australia/Lord_Howe',
  'Asia/Beirut',
  'America/Havana',
  'Africa/Casablanca',
  'America/St_Johns',
])('in %s a clock time says how far it is from UTC if the clocks show it twice, and only then', (name) => {
  let twice = 0;
  for (const change of changesOf(name, Date.UTC(2024, 0), Date.UTC(2030, 0)))
    for (const minutes of [-61, -60, -31, -30, -1, 0, 29, 30, 59, 60]) {
      const at = zoned(change.epochMilliseconds + minutes * 60_000, name);
      const [one, other] = (['earlier', 'later'] as const).map((disambiguation) =>
        at.toPlainDateTime().toZonedDateTime(name, { disambiguation }),
      );
      const time = at.toPlainTime().toString().slice(0, 5);
      const said = clockTimeOf(new Date(at.epochMilliseconds), name);
      if (one!.equals(other!)) expect(said).toBe(time);
      else {
        twice++;
        const [, sign, hours, rest] = /^([+-])(\d\d):(\d\d)/.exec(at.offset) ?? [];
        const distance = `UTC${sign === '-' ? '−' : '+'}${Number(hours)}${rest === '00' ? '' : `:${rest}`}`;
        expect(said).toBe(`${time} (${distance})`);
      }
    }
  expect(twice).toBeGreaterThan(10);
});
