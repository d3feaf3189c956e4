/** Values that often break parsers, and mutations that make a valid value invalid. */
import type { Dice } from '../_util/dice.ts';

export const texts: readonly string[] = [
  ...['', ' ', '\0', 'a\0b', '\ud800', 'a\udc00', '\ufeff', '\u202eabc', '\u2066\u2069', '\u2028', '\x7f'],
  ...['\x1b[2J', '\r\nX-Evil: 1', 'a'.repeat(129), 'ß'.repeat(201), '𝕏'.repeat(400), 'x'.repeat(3_000)],
  ...['ﷺ'.repeat(900), 'x'.repeat(70_000), 'é'.normalize('NFD'), 'İ', '٣', '%00', '%', '%zz', '%25', '../..'],
  ...['__proto__', 'constructor', 'toString', "' or 1=1; --", '{{7*7}}', '<script>', '$1', '\\', '"'],
  ...['NaN', 'null', 'undefined', 'true', '[]', '{}', '-', '*', 'W/"1"', '"1"', '"9999999999"', ',', ';', '='],
  ...['0', '-1', '1.5', '1e400', '1e2', '0x10', ' 1', '1 ', '+1', '2147483647', '2147483648', '4294967296'],
  ...['9007199254740991', '9007199254740993', '9223372036854775808', '1'.repeat(400), '-2147483649'],
  ...['00000000-0000-0000-0000-000000000000', 'ffffffff-ffff-ffff-ffff-ffffffffffff', 'now', 'infinity'],
  ...['cjE6', 'cjE6Y2hhbmdlczo5OTk5OTk5OTk5OTk5', 'cjE6Ym9va2luZ3M6WyI5OTk5OTk5OTk5OTk5OTk5OTkiLDFd'],
];

export const numbers: readonly number[] = [
  ...[0, -1, 1, 0.5, -0.5, 2, 60, 240, 1_440, 32_767, 32_768, 1_000_000, 999_999_999, 2 ** 31 - 1, 2 ** 31],
  ...[-(2 ** 31), -(2 ** 31) - 1, 2 ** 32, 2 ** 53 - 1, 2 ** 53, 2 ** 63, -(2 ** 63), 1e21, 1e300, 5e-324],
];

export const dates: readonly string[] = [
  ...['0000-01-01', '0001-01-01', '1582-10-10', '1899-12-31', '1970-01-01', '2026-02-30', '2027-03-28'],
  ...['2027-10-31', '9999-12-31', '10000-01-01', '-0001-01-01', '2026-13-01', '2026-W01', 'infinity', 'today'],
];

export const instants: readonly string[] = [
  ...['0000-01-01T00:00:00Z', '0000-01-01T00:00:00+23:59', '0001-01-01T00:00:00Z', '0001-01-01T00:00:00+14:00'],
  ...['1582-10-10T00:00:00Z', '1899-12-31T23:59:59.999Z', '1969-12-31T23:59:59Z', '1970-01-01T00:00:00Z'],
  ...['2027-03-28T01:30:00Z', '2027-03-28T02:30:00', '2026-06-30T23:59:60Z', '2026-11-22T24:00:00Z'],
  ...['2026-11-22T08:00:00.123456789Z', '2026-11-22T08:00:00.1234567890123456789Z', '2026-02-30T08:00:00Z'],
  ...['2262-04-11T23:47:16.854775808Z', '9999-12-31T00:00:00Z', '9999-12-31T23:59:59.999Z'],
  ...['9999-12-31T23:59:59-23:59', '+010000-01-01T00:00:00Z', '+275760-09-13T00:00:00Z', 'infinity', '-infinity'],
  ...['-271821-04-20T00:00:00Z', '294276-12-31T23:59:59Z', '2026-11-22', 'now', '2026-11-22T08:00:00+99:99'],
];

export const zones: readonly string[] = [
  ...['Europe/Berlin', 'UTC', 'America/Havana', 'Africa/Casablanca', 'Pacific/Apia', 'Antarctica/Troll'],
  ...['CET', 'CAT', 'PST', 'IST', 'US/Pacific-New', 'Etc/GMT+12', 'EST5EDT', 'Factory', 'europe/berlin', 'Z'],
  ...['+01:00', 'right/UTC', 'posix/UTC', 'localtime', 'XYZ-3', 'Europe/Nowhere'],
];

export const rules: readonly string[] = [
  ...['FREQ=DAILY;COUNT=3', 'FREQ=WEEKLY;BYDAY=MO,WE;COUNT=4', 'FREQ=DAILY;UNTIL=99991231T235959Z'],
  ...['FREQ=YEARLY;COUNT=366', 'FREQ=DAILY;COUNT=2147483648', 'FREQ=DAILY;INTERVAL=2147483647;COUNT=2'],
  ...['FREQ=MONTHLY;BYMONTHDAY=31;COUNT=3', 'FREQ=MONTHLY;BYDAY=5FR;COUNT=3', 'FREQ=SECONDLY;COUNT=9'],
  ...['FREQ=YEARLY;BYMONTH=2;BYMONTHDAY=30;COUNT=3', 'FREQ=DAILY;UNTIL=00000101', 'FREQ=DAILY', 'RRULE:', ''],
  ...['FREQ=WEEKLY;BYDAY=MO;UNTIL=20270201', 'FREQ=DAILY;BYHOUR=2;BYMINUTE=30;COUNT=3', 'FREQ=DAILY;COUNT=-1'],
  ...[`FREQ=WEEKLY;BYDAY=${'MO,'.repeat(300)}TU;COUNT=2`, 'FREQ=DAILY;COUNT=1;UNTIL=20270101', 'FREQ=x;COUNT=1'],
];

/** More than anything has, in bodies that are not too long. */
const heaps: readonly unknown[] = [
  Array.from({ length: 200_000 }, () => ({})),
  Array.from({ length: 300_000 }, () => 0),
  Object.fromEntries(Array.from({ length: 60_000 }, (_, at) => [`k${at}`, 1])),
];

/** Anything at all, as JSON can write it. */
export function anything({ roll, below, oneOf }: Dice): unknown {
  if (roll() < 0.003) return oneOf(heaps);
  const kind = below(9);
  if (kind < 4) return oneOf([texts, texts, dates, instants, zones][below(5)] as readonly string[]);
  if (kind === 4) return oneOf(numbers);
  if (kind === 5) return oneOf([null, true, false, [], {}, [[]], [null], { a: { b: 1 } }]);
  if (kind === 6) return nested(1 + below(60));
  if (kind === 7) return Array.from({ length: below(roll() < 0.1 ? 2_000 : 20) }, () => oneOf(numbers));
  return withMember({}, oneOf(texts), oneOf(texts));
}

const nested = (depth: number): unknown =>
  Array.from({ length: depth }).reduce<unknown>((inner, _, level) => (level % 2 ? [inner] : { A: inner }), 1);

type Tree = Record<string, unknown> | unknown[];
const isTree = (value: unknown): value is Tree => typeof value === 'object' && value !== null;

/** A value with one place of it wrong. */
export function spoil(value: unknown, dice: Dice): unknown {
  if (!isTree(value) || dice.roll() < 0.05) return anything(dice);
  const keys = Object.keys(value);
  if (keys.length === 0) return anything(dice);
  const key = dice.oneOf(keys);
  const inner = (value as Record<string, unknown>)[key];
  const copy = (Array.isArray(value) ? [...value] : { ...value }) as Record<string, unknown>;
  if (isTree(inner) && dice.roll() < 0.75) copy[key] = spoil(inner, dice);
  else spoilMember(copy, key, dice);
  return copy;
}

/** Defines it, also one called `__proto__`, as JSON can name it. */
const withMember = (tree: object, key: string, value: unknown) =>
  Object.defineProperty(tree, key, { value, enumerable: true, configurable: true, writable: true });

function spoilMember(copy: Record<string, unknown>, key: string, dice: Dice): void {
  const act = dice.below(12);
  if (act === 0) delete copy[key];
  else if (act === 1) copy[key] = null;
  else if (act === 2) copy[key] = [copy[key]];
  else if (act === 3) copy[key] = { [key]: copy[key] };
  else if (act === 4 && Array.isArray(copy[key])) copy[key] = Array.from({ length: 300 }, () => dice.below(3));
  else if (act === 5 && !Array.isArray(copy)) withMember(copy, dice.oneOf(texts), copy[key]);
  else if (act === 6 && !Array.isArray(copy)) copy[key.charAt(0).toLowerCase() + key.slice(1)] = copy[key];
  else withMember(copy, key, anything(dice));
}
