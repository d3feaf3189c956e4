/** Time zones by name. Local times are computed by Node.js alone, with the rules of its ICU (docs/time-zones.md). */
import { LRUCache } from 'lru-cache';
import { distanceText, isShownTwice } from './clock-changes.ts';
import { dateText, dayLength, dayOf, dayOfWall, readDate, type Wall } from './days.ts';
import { fixedZone, makeZone, type Stretch, utc, type Zone } from './zone.ts';

/** Offsets are found for blocks of this many milliseconds. */
const blockLength = 366 * dayLength;
/** Blocks kept for each zone: a caller may need an instant of any year. */
const keptBlocks = 20;
/** Shorter than the time between any two changes of a zone's clocks: Gaza's around a Ramadan are nearly seven days apart. */
const step = 6 * dayLength;

// No clocks were changed before `first`; after `last` the rules repeat every 400 years, as the calendar does.
const first = dayOf(1800, 1, 1) * dayLength;
const last = dayOf(2500, 1, 1) * dayLength;
const cycle = 146_097 * dayLength;

function askOffset(clock: Intl.DateTimeFormat, instant: number): number {
  const found = /GMT([+-])(\d\d):(\d\d)(?::(\d\d))?$/.exec(clock.format(instant));
  if (!found) return 0;
  const [, sign, hours, minutes, seconds = '0'] = found;
  return Number(`${sign}1`) * ((Number(hours) * 60 + Number(minutes)) * 60 + Number(seconds)) * 1000;
}

/** The stretches of a block, found by sampling offsets and a binary search for each change. */
function askBlock(offsetAt: (instant: number) => number, block: number): Stretch[] {
  const end = (block + 1) * blockLength;
  const stretches: Stretch[] = [];
  let from = block * blockLength;
  let offset = offsetAt(from);
  for (let at = from + step; at <= end; at += step) {
    const next = offsetAt(at);
    if (next === offset) continue;
    let [before, after] = [at - step, at];
    while (after - before > 1000) {
      const middle = before + Math.floor((after - before) / 2000) * 1000;
      if (offsetAt(middle) === offset) before = middle;
      else after = middle;
    }
    stretches.push({ from, to: after, offset });
    [from, offset] = [after, next];
  }
  if (from < end) stretches.push({ from, to: end, offset });
  return stretches;
}

function makeClock(clock: Intl.DateTimeFormat): Zone {
  const blocks = new LRUCache<number, Stretch[]>({ max: keptBlocks });
  function known(instant: number): Stretch {
    const block = Math.floor(instant / blockLength);
    let stretches = blocks.get(block);
    if (!stretches) blocks.set(block, (stretches = askBlock((at) => askOffset(clock, at), block)));
    return stretches.find(({ to }) => instant < to)!;
  }
  const ancient = { from: Number.NEGATIVE_INFINITY, to: first, offset: askOffset(clock, first) };
  function stretchAt(instant: number): Stretch {
    if (instant < first) return ancient;
    if (instant < last) return known(instant);
    const later = Math.floor((instant - last) / cycle + 1) * cycle;
    const { from, to, offset } = known(instant - later);
    return { from: from + later, to: to + later, offset };
  }
  // Most calls are for the same stretch as the call before.
  let recent: Stretch = ancient;
  return makeZone((instant) => {
    if (!(recent.from <= instant && instant < recent.to)) recent = stretchAt(instant);
    return recent;
  });
}

const longestName = 100;
/** A cache, because an Intl.DateTimeFormat is expensive to make. */
const found = new LRUCache<string, { zone: Zone | undefined }>({ max: 200 });

/** Names that ICU knows only for compatibility with Java, where BST is Dhaka's time. */
const ofJava = /^(AC|AE|AG|AR|AS|BE|BS|CA|CN|CS|CT|EA|EC|IE|IS|JS|MI|NE|NS|PL|PN|PR|PS|SS|VS)T$/i;

function look(name: string): Zone | undefined {
  if (ofJava.test(name)) return undefined;
  try {
    const clock = new Intl.DateTimeFormat('en-US', {
      timeZone: name,
      timeZoneName: 'longOffset',
      hour: 'numeric',
    });
    return /^[+-]/.test(name) ? fixedZone(askOffset(clock, 0)) : makeClock(clock);
  } catch {
    return undefined;
  }
}

/** The zone that Node.js knows by this name, in any case, or by an offset such as `+01:00`. */
export function findZone(name: string): Zone | undefined {
  if (name.length > longestName) return undefined;
  let known = found.get(name);
  if (!known) found.set(name, (known = { zone: look(name) }));
  return known.zone;
}

/** Whether Node.js knows a zone of this name, in any case. An offset is refused, as it has no summer time. */
export const isTimeZone = (name: string): boolean => /^[a-z]/i.test(name) && findZone(name) !== undefined;

/** The zone of a stored name. It is UTC where Node.js no longer knows the name, which `doctor` reports. */
export const zoneFor = (stored: string): Zone => (isTimeZone(stored) ? findZone(stored)! : utc);

/** The local time in one stored zone when the clocks of another one show `wall`. */
export const wallBetween = (from: string, to: string, wall: Wall): Wall =>
  from === to ? wall : zoneFor(to).wallOf(zoneFor(from).instantOf(wall));

/** The present IANA name of a zone, which may be given by an older one. */
export const currentNameOf = (name: string): string =>
  new Intl.DateTimeFormat('en', { timeZone: name }).resolvedOptions().timeZone;

/** The local date at an instant in a stored zone. */
export const localDateOf = (instant: Date, stored: string): string =>
  dateText(dayOfWall(zoneFor(stored).wallOf(instant.getTime())));

/** The clock time at an instant in a stored zone: 02:30. Where the clocks show it twice it says which of both: 02:30 (UTC+2). */
export function clockTimeOf(instant: Date, stored: string): string {
  const { offsetAt } = zoneFor(stored);
  const [at, offset] = [instant.getTime(), offsetAt(instant.getTime())];
  const time = new Date(at + offset).toISOString().slice(11, 16);
  return isShownTwice(offsetAt, at) ? `${time} (${distanceText(offset)})` : time;
}

/** The first instant of a local date, also where the clocks skip its midnight. @throws RangeError for text that is no date */
export const startOfDate = (date: string, stored: string): Date =>
  new Date(zoneFor(stored).earliest(readDate(date) * dayLength));
