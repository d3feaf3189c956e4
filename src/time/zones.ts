/** Time zones by name. Local times are computed by Node.js alone, with the rules of its ICU (docs/time-zones.md). */
import { LRUCache } from 'lru-cache';
import { dateText, dayLength, dayOf, dayOfWall, readDate } from './days.ts';
import { fixedZone, makeZone, type Stretch, utc, type Zone } from './zone.ts';

/** How much is asked of a clock at once. */
const blockLength = 366 * dayLength;
/** Of each zone: an instant of any year may be asked for. */
const keptBlocks = 20;
/** Shorter than the time between any two changes of a zone's clocks: Gaza's around a Ramadan are nearly seven days apart. */
const step = 6 * dayLength;

// Before these years no clocks were changed; after them the rules repeat as the calendar does, every 400 years.
const first = dayOf(1800, 1, 1) * dayLength;
const last = dayOf(2500, 1, 1) * dayLength;
const cycle = 146_097 * dayLength;

function askOffset(clock: Intl.DateTimeFormat, instant: number): number {
  const found = /GMT([+-])(\d\d):(\d\d)(?::(\d\d))?$/.exec(clock.format(instant));
  if (!found) return 0;
  const [, sign, hours, minutes, seconds = '0'] = found;
  return Number(`${sign}1`) * ((Number(hours) * 60 + Number(minutes)) * 60 + Number(seconds)) * 1000;
}

/** The stretches of a block, found by asking the clock. */
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
  // Most questions are about the stretch of the one before.
  let recent: Stretch = ancient;
  return makeZone((instant) => {
    if (!(recent.from <= instant && instant < recent.to)) recent = stretchAt(instant);
    return recent;
  });
}

const longestName = 100;
/** A zone that is used is asked often, and a clock is dear to make. */
const found = new LRUCache<string, { zone: Zone | undefined }>({ max: 200 });

/** Those that ICU has for the sake of Java alone: its BST is in Dhaka. */
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

/** Whether Node.js knows a zone of this name, in any case. An offset is none: it would ignore summer time. */
export const isTimeZone = (name: string): boolean => /^[a-z]/i.test(name) && findZone(name) !== undefined;

/** By which to compute the local times of a stored name: UTC where Node.js knows it no longer, which `doctor` tells. */
export const zoneFor = (stored: string): Zone => (isTimeZone(stored) ? findZone(stored)! : utc);

/** The name that IANA gives a zone today, of which this one is another. */
export const currentNameOf = (name: string): string =>
  new Intl.DateTimeFormat('en', { timeZone: name }).resolvedOptions().timeZone;

/** The local date that the clocks of a stored zone show at an instant. */
export const localDateOf = (instant: Date, stored: string): string =>
  dateText(dayOfWall(zoneFor(stored).wallOf(instant.getTime())));

/** The first instant of a local date, also where the clocks skip its midnight. @throws RangeError for what is no date */
export const startOfDate = (date: string, stored: string): Date =>
  new Date(zoneFor(stored).earliest(readDate(date) * dayLength));
