/** Splits a published calendar into its appointments and series, each a calendar of its own, and the zones that they name. */
import { createHash } from 'node:crypto';
import { openSlices } from '../flow/slices.ts';
import { dayLength } from '../time/days.ts';
import { minute } from '../time/durations.ts';
import { readDuration, Unreadable, unfolded } from '../time/ical-lines.ts';

export type IcalFeed = {
  /** The text of each appointment or series, by UID or else by a hash of its content. */
  objects: ReadonlyMap<string, string>;
  /** The text of a calendar with its definitions of zones, which all of them share. */
  zones: string;
  /** How long the publisher asks to wait between two readings (RFC 7986, 5.7; MS-OXCICAL 2.1.3.1.1.15); null: it does not say. */
  minutes: number | null;
};

const [mostLines, mostEvents, deepest] = [600_000, 50_000, 6];

function minutesOf(value: string): number | null {
  const length = readDuration(value);
  return length ? Math.ceil((length.days * dayLength + length.exact) / minute) : null;
}

/** The time at which a copy of the calendar was made, which differs even if nothing has changed. */
const stamps = /^DTSTAMP[;:][^\r\n]*/gim;
export const fingerprintOf = (text: string): string =>
  createHash('sha256').update(text.replace(stamps, '')).digest('base64url');

type Part = { lines: string[]; uid: string | null };

const contentOf = (line: string) => line.slice(line.indexOf(':') + 1).trim();
const wrap = (parts: readonly string[]) => ['BEGIN:VCALENDAR', ...parts, 'END:VCALENDAR'].join('\r\n');

/** @throws Unreadable for text that is not iCalendar, or is incomplete; the reason of the signal */
export async function splitFeed(text: string, signal: AbortSignal): Promise<IcalFeed> {
  const events = new Map<string, string[]>();
  const zones: string[] = [];
  const open: string[] = [];
  let part: Part | undefined;
  let [count, lines, calendars] = [0, 0, 0];
  let minutes: number | null = null;

  function begin(name: string): void {
    if (open.length === 0 && name !== 'VCALENDAR') throw new Unreadable('it is not iCalendar');
    if (open.length === deepest) throw new Unreadable(`its components are nested deeper than ${deepest} levels`);
    open.push(name);
    if (open.length === 2 && (name === 'VEVENT' || name === 'VTIMEZONE')) part = { lines: [], uid: null };
  }
  function end(name: string): void {
    if (open.pop() !== name)
      throw new Unreadable('its components are not closed in the order in which they were opened');
    if (open.length === 0) calendars += 1;
    if (open.length !== 1 || !part) return;
    if (name === 'VTIMEZONE') zones.push(part.lines.join('\r\n'));
    else keepEvent(part);
    part = undefined;
  }
  function keepEvent({ lines: own, uid }: Part): void {
    if ((count += 1) > mostEvents) throw new Unreadable(`it has more than ${mostEvents} appointments`);
    const whole = own.join('\r\n');
    const id = uid || `sha256:${fingerprintOf(whole)}`;
    const known = events.get(id);
    if (known) known.push(whole);
    else events.set(id, [whole]);
  }

  const nextSlice = openSlices();
  for (const [line] of unfolded(text).matchAll(/[^\r\n]+/g)) {
    if ((lines += 1) > mostLines) throw new Unreadable(`it has more than ${mostLines} lines`);
    if (lines % 500 === 0) {
      await nextSlice();
      signal.throwIfAborted();
    }
    const [, verb, name = ''] = /^(BEGIN|END):\s*([\w-]{1,64})\s*$/i.exec(line) ?? [];
    if (verb?.toUpperCase() === 'BEGIN') begin(name.toUpperCase());
    else if (open.length === 0 && line.trim() !== '') throw new Unreadable('it is not iCalendar');
    part?.lines.push(line);
    if (verb?.toUpperCase() === 'END') {
      end(name.toUpperCase());
      continue;
    }
    if (part && open.length === 2) {
      if (/^UID[;:]/i.test(line)) part.uid ??= contentOf(line);
    } else if (open.length === 1 && /^(REFRESH-INTERVAL|X-PUBLISHED-TTL)[;:]/i.test(line)) {
      const asked = minutesOf(contentOf(line));
      if (asked !== null) minutes = Math.max(minutes ?? 0, asked);
    }
  }
  if (open.length > 0) throw new Unreadable('it ends inside a component');
  if (calendars === 0) throw new Unreadable('it is empty');
  const objects = new Map<string, string>();
  for (const [uid, own] of events) objects.set(uid, wrap(own));
  return { objects, zones: wrap(zones), minutes };
}
