/**
 * Series: expands a rule of RFC 5545 into the starts of its occurrences, and keeps bookings at their local time. Pure.
 *
 * Each occurrence begins at the local time of the first one in the zone of the location. If the clocks skip that time, the
 * occurrence begins as much later as they skip (02:30 becomes 03:30); if they show it twice, at the first of the two.
 */
import { InvalidInput, memberFault } from '../errors.ts';
import { civil, dateText, dayLength, dayOf, dayOfWall, readWall, timeOfWall, type Wall } from '../time/days.ts';
import { fitsStart, listDays, readRule } from '../time/rule.ts';
import type { Zone } from '../time/zone.ts';
import { localDateOf, zoneFor } from '../time/zones.ts';

const mostOccurrences = 366;
const mostYears = 10;

const positive = (most: string) => `(?:${most})`;
const signed = (most: string) => `[+-]?${positive(most)}`;
const listOf = (one: string) => `${one}(?:,${one})*`;
const weekday = '(?:MO|TU|WE|TH|FR|SA|SU)';
const upTo366 = '[1-9]|[1-9]\\d|[12]\\d\\d|3[0-5]\\d|36[0-6]';
const upTo53 = '[1-9]|[1-4]\\d|5[0-3]';
const upTo31 = '[1-9]|[12]\\d|3[01]';
const upTo12 = '[1-9]|1[0-2]';

/** The parts that a rule may have, and their values. */
const parts: ReadonlyMap<string, { form: RegExp; allowed: string }> = new Map(
  (
    [
      ['FREQ', 'DAILY|WEEKLY|MONTHLY|YEARLY', 'DAILY, WEEKLY, MONTHLY or YEARLY'],
      ['INTERVAL', upTo366, 'a whole number from 1 to 366'],
      ['COUNT', upTo366, `a whole number from 1 to ${mostOccurrences}`],
      ['UNTIL', '\\d{8}(?:T\\d{6}Z)?', 'a date such as 20261231 or an instant in UTC such as 20261231T170000Z'],
      ['BYDAY', listOf(`(?:${signed(upTo53)})?${weekday}`), 'a list of weekdays such as MO,TH or -1FR'],
      ['BYMONTHDAY', listOf(signed(upTo31)), 'a list of days from 1 to 31, or from -31 to -1'],
      ['BYYEARDAY', listOf(signed(upTo366)), 'a list of days from 1 to 366, or from -366 to -1'],
      ['BYWEEKNO', listOf(signed(upTo53)), 'a list of weeks from 1 to 53, or from -53 to -1'],
      ['BYMONTH', listOf(positive(upTo12)), 'a list of months from 1 to 12'],
      ['BYSETPOS', listOf(signed(upTo366)), 'a list of positions from 1 to 366, or from -366 to -1'],
      ['WKST', weekday, 'a weekday such as MO'],
    ] as const
  ).map(([name, form, allowed]) => [name, { form: new RegExp(`^(?:${form})$`), allowed }]),
);

const invalidRule = (text: string) => InvalidInput.of(memberFault('RecurrenceRule', 'InvalidValue', text));

/** The parts of a rule by name. @throws InvalidInput */
function readParts(rule: string): Map<string, string> {
  const found = new Map<string, string>();
  for (const text of rule.split(';')) {
    const [name = '', value = ''] = text.split('=', 2);
    const part = parts.get(name);
    if (!part)
      throw invalidRule(
        `${JSON.stringify(text.slice(0, 50))} is not supported; a rule has parts NAME=VALUE, separated by semicolons, with the names ${[...parts.keys()].join(', ')}`,
      );
    if (found.has(name)) throw invalidRule(`has ${name} twice`);
    if (text !== `${name}=${value}` || !part.form.test(value)) throw invalidRule(`${name} must be ${part.allowed}`);
    found.set(name, value);
  }
  const frequency = found.get('FREQ');
  if (!frequency) throw invalidRule('must have FREQ');
  if (found.has('COUNT') === found.has('UNTIL'))
    throw invalidRule('must have exactly one of COUNT and UNTIL, so that the series ends');
  checkCombination(found, frequency);
  return found;
}

/** @throws InvalidInput for parts that RFC 5545, 3.3.10 does not allow together */
function checkCombination(found: ReadonlyMap<string, string>, frequency: string): void {
  const only = (name: string, ...frequencies: string[]) => {
    if (found.has(name) && !frequencies.includes(frequency))
      throw invalidRule(`${name} is allowed only with FREQ=${frequencies.join(' or ')}`);
  };
  only('BYWEEKNO', 'YEARLY');
  only('BYYEARDAY', 'YEARLY');
  only('BYMONTHDAY', 'DAILY', 'MONTHLY', 'YEARLY');
  const weekdays = found.get('BYDAY')?.split(',') ?? [];
  const numbered = weekdays.some((each) => /\d/.test(each));
  if (numbered && !['MONTHLY', 'YEARLY'].includes(frequency))
    throw invalidRule('BYDAY with numbers is allowed only with FREQ=MONTHLY or YEARLY');
  if (numbered && found.has('BYWEEKNO')) throw invalidRule('BYDAY with numbers is not allowed with BYWEEKNO');
  if (found.has('BYSETPOS') && ![...found.keys()].some((name) => /^BY(?!SETPOS)/.test(name)))
    throw invalidRule('BYSETPOS requires another part that begins with BY');
}

/** Adds years to a local time; 29 February becomes the 28th if the target year has no 29th. */
function addYears(wall: Wall, years: number): Wall {
  const { year, month, date } = civil(dayOfWall(wall));
  const day = Math.min(dayOf(year + years, month, date), dayOf(year + years, month + 1, 1) - 1);
  return day * dayLength + timeOfWall(wall);
}

/** The last instant of UNTIL; a date lasts until its end. @throws InvalidInput for a date that does not exist */
function readUntil(until: string, zone: Zone): number {
  const wall = readWall(until.replace('Z', ''));
  if (wall === null) throw invalidRule(`UNTIL=${until} is not a valid date`);
  return until.includes('T') ? wall : zone.earliest(wall + dayLength) - 1;
}

/** Checks a rule that cannot be expanded yet, as the place or the times are wrong. @throws InvalidInput for an invalid rule */
export function checkRule(rule: string): void {
  readParts(rule);
}

/**
 * Lists the starts of a series, in order; the first is `start` itself.
 * @param rule the value of an RRULE (RFC 5545, 3.3.10) with COUNT or UNTIL, without `RRULE:`
 * @param timeZone the IANA zone of the location
 * @throws InvalidInput when the rule is invalid, `start` is not one of its occurrences, or the series has more than 366
 * occurrences or lasts longer than 10 years
 */
export function expandRule(rule: string, start: Date, timeZone: string): Date[] {
  const parts = readParts(rule);
  const days = readRule(rule);
  const zone = zoneFor(timeZone);
  const first = zone.wallOf(start.getTime());
  const date = dayOfWall(first);
  const horizon = zone.instantOf(addYears(first, mostYears));
  const last = parts.has('UNTIL') ? readUntil(parts.get('UNTIL')!, zone) : horizon;
  const tooFar = `must end within ${mostYears} years of Start`;
  if (last > horizon) throw invalidRule(tooFar);
  // This check comes before the expansion, which would search years for dates that may never come.
  if (last < start.getTime() || !fitsStart(days, date))
    throw invalidRule(
      `its first occurrence must be Start, but ${dateText(date)} is not one of its dates; change Start or the rule`,
    );
  const starts = listDays(days, date, date, dayOfWall(zone.wallOf(last)))
    .map((day) => (day === date ? start.getTime() : zone.instantOf(day * dayLength + timeOfWall(first))))
    .filter((instant) => instant <= last);
  if (starts.length > mostOccurrences)
    throw invalidRule(`must have at most ${mostOccurrences} occurrences; end it earlier and create another series`);
  if (starts.length < Number(parts.get('COUNT') ?? 0)) throw invalidRule(tooFar);
  return starts.map((instant) => new Date(instant));
}

export function areOnSameDate(one: Date, other: Date, timeZone: string): boolean {
  return localDateOf(one, timeZone) === localDateOf(other, timeZone);
}

/**
 * Moves [start, end) to the local date of `occurrence`, with the same local time and local duration. On the date of
 * `start`, the result is [start, end) itself.
 */
export function atSameClock(occurrence: Date, start: Date, end: Date, timeZone: string): { start: Date; end: Date } {
  if (areOnSameDate(occurrence, start, timeZone)) return { start, end };
  const zone = zoneFor(timeZone);
  const [from, to] = [zone.wallOf(start.getTime()), zone.wallOf(end.getTime())];
  const date = dayOfWall(zone.wallOf(occurrence.getTime()));
  const begins = zone.instantOf(date * dayLength + timeOfWall(from));
  // When the clocks are set back between the two, the local time of the end may be earlier than that of the start.
  const lasts = to > from ? to - from : end.getTime() - start.getTime();
  return { start: new Date(begins), end: new Date(zone.instantOf(zone.wallOf(begins) + lasts)) };
}
