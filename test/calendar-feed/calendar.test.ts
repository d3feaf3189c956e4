/** How much of a calendar is written, and for whom. */
import { describe, expect, jest, test } from '@jest/globals';
import type { Booking } from '../../src/bookings/service.ts';
import { mostOctets, writeCalendar } from '../../src/calendar-feed/calendar.ts';

let bookings = 0;
/** With so many names of classes and of teachers. */
function makeBooking(names = 0, description: string | null = null): Booking {
  const id = ++bookings;
  const list = Array.from({ length: names }, () => 'x'.repeat(200));
  const lektion = { fach: null, status: 'Geplant', ursprung: null, klassen: list, lehrpersonen: list, lessons: [] };
  const at = new Date('2027-03-01T08:00Z');
  const times = { start: at, end: at, createdAt: at, changedAt: at, setupMinutes: 0, teardownMinutes: 0 };
  const shown = {
    uid: `booking-${id}`,
    resourceName: 'R1',
    subject: 'S',
    description,
    timeZone: 'UTC',
    status: 'Confirmed',
  };
  return { id, ...times, ...shown, isPrivate: false, organizer: null, version: 1, lektion } as unknown as Booking;
}
const range = (count: number) => Array.from({ length: count }, (_, index) => index);

/** Pieces of 500 bookings. */
async function* pieces(count: number, make: () => Booking, seen = { read: 0, isOver: false }) {
  try {
    for (; seen.read < count; seen.read++) yield range(500).map(make);
  } finally {
    seen.isOver = true;
  }
}
const stays = new AbortController().signal;
const countOf = (text: string, line: string) => text.split(`${line}\r\n`).length - 1;

describe('a calendar', () => {
  test('ends before 10 MB, behind a whole event, and what follows is not read', async () => {
    const seen = { read: 0, isOver: false };
    const text = await writeCalendar(
      'C',
      pieces(20, () => makeBooking(0, 'ä'.repeat(4_000)), seen),
      stays,
    );
    const octets = Buffer.byteLength(text);
    expect([octets <= mostOctets, octets > mostOctets - 250_000]).toEqual([true, true]);
    expect(text.endsWith('END:VEVENT\r\nEND:VCALENDAR\r\n')).toBe(true);
    const events = countOf(text, 'BEGIN:VEVENT');
    expect([events > 1_000, countOf(text, 'END:VEVENT'), seen.isOver]).toEqual([true, events, true]);
    expect(seen.read).toBeLessThan(5);
  });

  test('is not written any further for a reader that has gone', async () => {
    const [gone, seen] = [new AbortController(), { read: 0, isOver: false }];
    const make = () => {
      if (seen.read === 1) gone.abort();
      return makeBooking();
    };
    await writeCalendar('C', pieces(20, make, seen), gone.signal);
    expect(seen).toEqual({ read: 1, isOver: true });
  });

  test('is written with pauses, in which other work is done', async () => {
    let turns = 0;
    let isOver = false;
    const count = () => {
      turns++;
      if (!isOver) setImmediate(count);
    };
    setImmediate(count);
    // A slice lasts five milliseconds, and each look at the clock takes two here: of 25 steps there are three in a slice at most.
    let looks = 0;
    jest.spyOn(performance, 'now').mockImplementation(() => 2 * ++looks);
    await writeCalendar(
      'C',
      pieces(1, () => makeBooking()),
      stays,
    );
    jest.restoreAllMocks();
    isOver = true;
    expect(turns).toBeGreaterThanOrEqual(8);
  });

  test('has the first names of long lists', async () => {
    const text = await writeCalendar(
      'C',
      pieces(1, () => makeBooking(200)),
      stays,
    );
    const unfolded = text.replaceAll('\r\n ', '');
    const four = Array(4).fill('x'.repeat(200)).join('\\, ');
    expect(countOf(unfolded, `DESCRIPTION:Klassen: ${four}\\, …\\nLehrpersonen: ${four}\\, …`)).toBe(500);
    const short = await writeCalendar(
      'C',
      pieces(1, () => makeBooking(2)),
      stays,
    );
    expect(short).not.toContain('…');
  });
});
