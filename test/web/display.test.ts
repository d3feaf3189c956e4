import { afterEach, describe, expect, jest, test } from '@jest/globals';
import type { RoomStatus } from '../../src/displays/state.ts';
import { problemKinds } from '../../src/problems/stored.ts';
import { findZone } from '../../src/time/zones.ts';
import { mutationOf, perform } from '../../src/web/display/acts.ts';
import {
  clockTime,
  instantOf,
  isNight,
  localDay,
  makeClock,
  withNames,
  type ZoneOffsets,
} from '../../src/web/display/clock.ts';
import { dayBar } from '../../src/web/display/day-bar.ts';
import { findFree } from '../../src/web/display/elsewhere.ts';
import { english } from '../../src/web/display/english.ts';
import { makeEventParser } from '../../src/web/display/event-stream.ts';
import {
  documents,
  parseInstants,
  readSnapshot,
  type ShownRoom,
  type ShownSlot,
} from '../../src/web/display/frames.ts';
import { german } from '../../src/web/display/german.ts';
import { leastType, pageOf, spread } from '../../src/web/display/grid.ts';
import { icons } from '../../src/web/display/icons.ts';
import { chooseLanguage, type Language, loadText } from '../../src/web/display/language.ts';
import { changeParts, endOf, instantLine, noMoreLine, timesLine, untilLine } from '../../src/web/display/lines.ts';
import { backOff, type LinkFeed, type LinkState, openLink } from '../../src/web/display/link.ts';
import { offersAt } from '../../src/web/display/offers.ts';
import { openPaperLink } from '../../src/web/display/paper.ts';
import { mostKept, openReports } from '../../src/web/display/reports.ts';
import type { Session } from '../../src/web/display/session.ts';
import { lookAt } from '../../src/web/display/sight.ts';
import { inkOn } from '../../src/web/ink.ts';
import { localTimes } from '../_util/local-times.ts';

const minute = 60_000;
const noon = Date.parse('2026-11-20T11:00:00Z');
/** Berlin, over the end of its summer time. */
const offsets = [
  { from: Date.parse('2026-10-01T00:00:00Z'), offsetMinutes: 120 },
  { from: Date.parse('2026-10-25T01:00:00Z'), offsetMinutes: 60 },
];
const texts = { de: german, en: english };
const languages = Object.keys(texts) as Language[];

function slotOf(start: number, end: number, more: Partial<ShownSlot> = {}): ShownSlot {
  return {
    bookingId: '1',
    version: 1,
    kind: 'Booking',
    occupies: true,
    isBlock: false,
    isTentative: false,
    isRequested: false,
    from: start,
    to: end,
    start,
    end,
    subject: 'Jour fixe',
    organizer: 'Mia Falk',
    classes: null,
    teachers: null,
    checkIn: null,
    change: null,
    ...more,
  };
}

function roomOf(slots: ShownSlot[], more: Partial<ShownRoom> = {}): ShownRoom {
  return {
    cursor: 'c1',
    serverTime: noon,
    asOf: noon,
    staleAfterSeconds: 90,
    trustUntil: noon + 15 * minute,
    timeZone: 'Europe/Berlin',
    zoneOffsets: offsets,
    isActive: true,
    slots,
    end: noon + 2_880 * minute,
    resource: {
      id: '7',
      name: 'HS 101',
      locationId: 'location_1',
      locationName: 'Campus',
      capacity: 12,
      equipment: [],
      active: true,
    },
    open: [{ start: noon - 240 * minute, end: noon + 360 * minute }],
    ...more,
  };
}

describe('the texts', () => {
  const shapeOf = (value: unknown): unknown =>
    typeof value === 'function'
      ? `of ${value.length}`
      : Array.isArray(value)
        ? value.length
        : typeof value === 'object'
          ? Object.fromEntries(Object.entries(value as object).map(([key, one]) => [key, shapeOf(one)]))
          : typeof value;

  test('are there in both languages, none empty', async () => {
    expect(await Promise.all(languages.map(loadText))).toEqual([german, english]);
    expect(shapeOf(texts.en)).toEqual(shapeOf(texts.de));
    for (const language of languages)
      expect(Object.values(texts[language].states).every((word) => word.length > 0)).toBe(true);
  });

  test('the kinds of problems that can be reported are those that the server takes', () => {
    for (const { problems } of [german, english]) expect(Object.keys(problems)).toEqual([...problemKinds]);
  });

  test('name each state by a word and an icon of its own', () => {
    const states = [
      ...(['FREE', 'STARTING_SOON', 'BUSY', 'CHECK_IN_DUE', 'ENDING_SOON', 'CLOSED', 'OUT_OF_SERVICE'] as const),
    ] satisfies RoomStatus[];
    for (const language of languages) {
      const words = [...states, 'UNKNOWN' as const].map((state) => texts[language].states[state]);
      expect(new Set(words).size).toBe(8);
    }
    expect(new Set([...states, 'UNKNOWN' as const].map((state) => icons[state])).size).toBe(8);
  });

  test('are of the language that is wished, or else of the browser', () => {
    expect(chooseLanguage('de', ['en-GB'])).toBe('de');
    expect(chooseLanguage('xx', ['fr-FR', 'de-AT', 'en'])).toBe('de');
    expect(chooseLanguage(null, ['fr'])).toBe('en');
  });
});

describe('the clock', () => {
  test('follows the server, however the device is set, and takes half of a round trip', () => {
    let ticks = 5_000;
    const clock = makeClock(() => ticks);
    expect(clock.now()).toBeUndefined();
    clock.hear(noon, 200);
    expect(clock.now()).toBe(noon + 100);
    ticks += 60_000;
    expect(clock.now()).toBe(noon + 60_100);
  });

  test('has continued while the device slept, until the server says how long', () => {
    const clock = makeClock(() => 5_000);
    clock.skip(3_600_000);
    expect(clock.now()).toBeUndefined();
    clock.hear(noon, 0);
    clock.skip(8 * 3_600_000);
    expect(clock.now()).toBe(noon + 8 * 3_600_000);
    clock.hear(noon + 3_600_000, 200);
    expect(clock.now()).toBe(noon + 3_600_200);
  });

  test('moves only as far as the server’s time requires', () => {
    let ticks = 0;
    const clock = makeClock(() => ticks);
    clock.hear(noon, 0);
    ticks = 30_000;
    clock.hear(noon + 29_000, 4_000);
    expect(clock.now()).toBe(noon + 30_000);
    clock.hear(noon + 31_000, 4_000);
    expect(clock.now()).toBe(noon + 31_000);
    clock.hear(noon + 20_000, 4_000);
    expect(clock.now()).toBe(noon + 24_000);
  });

  test('reads the offsets of the server, also where the clocks go back', () => {
    expect(clockTime(offsets, Date.parse('2026-10-24T23:59:00Z'))).toBe('01:59');
    expect(clockTime(offsets, Date.parse('2026-10-25T02:00:00Z'))).toBe('03:00');
    const sunday = localDay(offsets, Date.parse('2026-10-25T12:00:00Z'));
    expect(new Date(instantOf(offsets, sunday, 0)).toISOString()).toBe('2026-10-24T22:00:00.000Z');
    expect(new Date(instantOf(offsets, sunday + 1, 0)).toISOString()).toBe('2026-10-25T23:00:00.000Z');
  });

  test.each(localTimes)('takes in %s the time %s as the server does: %s', (zone, local, instant) => {
    const wall = Date.parse(`${local}Z`);
    const days = 2 * 1_440 * minute;
    const parts = findZone(zone)!
      .offsetsIn(wall - days, wall + days)
      .map(({ from, offset }) => ({ from, offsetMinutes: offset / minute }));
    const day = Math.floor(wall / (1_440 * minute));
    expect(new Date(instantOf(parts, day, wall / minute - day * 1_440)).toISOString()).toBe(instant);
  });

  /** The clock times at instants of a UTC day, with an ordinary space. */
  const times = (parts: ZoneOffsets, day: string, ...at: string[]) =>
    at.map((time) => clockTime(parts, Date.parse(`${day}T${time}:00Z`)).replace('\u00a0', ' '));

  test('names the zone where its clocks show a time twice, and nowhere else', () => {
    const shown = (language: Language, zone = 'Europe/Berlin') =>
      times(withNames(language, zone, offsets), '2026-10-25', '23:59', '00:00', '00:59', '01:00', '01:59', '02:00');
    expect(shown('de')).toEqual(['00:59', '02:00 MESZ', '02:59 MESZ', '02:00 MEZ', '02:59 MEZ', '03:00']);
    expect(shown('en')).toEqual(['00:59', '02:00 CEST', '02:59 CEST', '02:00 CET', '02:59 CET', '03:00']);
    const night = { start: Date.parse('2026-10-25T00:00:00Z'), end: Date.parse('2026-10-25T01:00:00Z') };
    expect(timesLine(texts.de, withNames('de', 'Europe/Berlin', offsets), night, night.start)).toBe(
      '02:00\u00a0MESZ–02:00\u00a0MEZ',
    );
  });

  test('shows no time twice where the clocks go forward, nor in a zone without summer time', () => {
    const forward = [
      { from: Date.parse('2027-03-27T23:00:00Z'), offsetMinutes: 60 },
      { from: Date.parse('2027-03-28T01:00:00Z'), offsetMinutes: 120 },
    ];
    const named = withNames('de', 'Europe/Berlin', forward);
    expect(times(named, '2027-03-28', '00:59', '01:00', '02:00')).toEqual(['01:59', '03:00', '04:00']);
    const tokyo = [{ from: Date.parse('2026-10-01T00:00:00Z'), offsetMinutes: 540 }];
    expect(withNames('de', 'Asia/Tokyo', tokyo)).toBe(tokyo);
  });

  test('says how far the zone is from UTC where the device knows of no change', () => {
    // Lord Howe goes back by half an hour.
    const lordHowe = [
      { from: Date.parse('2027-04-02T13:00:00Z'), offsetMinutes: 660 },
      { from: Date.parse('2027-04-03T15:00:00Z'), offsetMinutes: 630 },
    ];
    const shown = ['01:29', '01:30 UTC+11', '01:30 UTC+10:30', '02:00'];
    for (const zone of ['Asia/Tokyo', 'Nowhere/Land'])
      expect(times(withNames('en', zone, lordHowe), '2027-04-03', '14:29', '14:30', '15:00', '15:30')).toEqual(shown);
    const west = [
      { from: Date.parse('2026-10-31T00:00:00Z'), offsetMinutes: -150 },
      { from: Date.parse('2026-11-01T02:30:00Z'), offsetMinutes: -210 },
    ];
    expect(times(west, '2026-11-01', '02:00', '03:00')).toEqual(['23:30 UTC−2:30', '23:30 UTC−3:30']);
  });

  test('is at night from 20:00 until 06:30 of the room', () => {
    const night = (time: string) => isNight(offsets, Date.parse(`2026-11-20T${time}:00Z`));
    expect([night('18:59'), night('19:00'), night('05:29'), night('05:30')]).toEqual([false, true, true, false]);
  });
});

describe('what is said of a room', () => {
  test('turns at the minute', () => {
    const room = roomOf([slotOf(noon + 5 * minute, noon + 65 * minute)]);
    expect(lookAt(room, noon - 10 * minute - 1).status).toBe('FREE');
    expect(lookAt(room, noon + 5 * minute - 1).status).toBe('STARTING_SOON');
    expect(lookAt(room, noon + 5 * minute)).toMatchObject({ status: 'BUSY', until: noon + 65 * minute });
  });

  test('is stale after 90 s and never free from trustUntil on', () => {
    const room = roomOf([slotOf(noon + 60 * minute, noon + 120 * minute)]);
    expect(lookAt(room, noon + 90_000)).toMatchObject({ status: 'FREE', age: 'fresh' });
    expect(lookAt(room, noon + 90_001)).toMatchObject({ status: 'FREE', age: 'stale' });
    expect(lookAt(room, noon + 15 * minute - 1)).toMatchObject({ status: 'FREE', age: 'stale' });
    for (let past = 15; past < 300; past++) {
      const sight = lookAt(room, noon + past * minute);
      expect(sight.age).toBe('lost');
      expect(sight.status).toBe(past < 60 || past >= 120 ? 'UNKNOWN' : 'BUSY');
      for (const language of languages) {
        const said = `${texts[language].states[sight.status]} ${untilLine(texts[language], room, sight, noon)}`;
        expect(said).not.toMatch(/\bfree\b|\bfrei\b/i);
      }
    }
  });

  test('is no promise of a check-in, nor of an early end, once it is lost', () => {
    const checkIn = { from: noon + 45 * minute, until: noon + 70 * minute, isDone: false };
    const room = roomOf([slotOf(noon + 60 * minute, noon + 120 * minute, { checkIn })]);
    expect(lookAt(room, noon + 50 * minute).status).toBe('UNKNOWN');
    expect(lookAt(room, noon + 61 * minute).status).toBe('BUSY');
    expect(lookAt(room, noon + 115 * minute).status).toBe('BUSY');
  });

  test('says when a closed room opens, and of a booking before that only how long it is still closed', () => {
    const said = (slots: ShownSlot[]) => {
      const room = roomOf(slots, { open: [{ start: noon + 120 * minute, end: noon + 360 * minute }] });
      return languages.map((language) => untilLine(texts[language], room, lookAt(room, noon), noon));
    };
    expect(said([])).toEqual(['öffnet 14:00', 'opens 14:00']);
    expect(said([slotOf(noon + 180 * minute, noon + 240 * minute)])).toEqual(['öffnet 14:00', 'opens 14:00']);
    expect(said([slotOf(noon + 120 * minute, noon + 180 * minute)])).toEqual(['öffnet 14:00', 'opens 14:00']);
    expect(said([slotOf(noon + 60 * minute, noon + 90 * minute)])).toEqual(['bis 13:00', 'until 13:00']);
  });

  test('ends where the schedule ends', () => {
    expect(lookAt(roomOf([], { end: noon, trustUntil: noon + minute }), noon).status).toBe('UNKNOWN');
    const night = { end: noon, trustUntil: noon - 60 * minute, open: [] };
    const pastEnd = (slots: ShownSlot[], more = {}) =>
      [-1, 0, 3_000 * minute].map((after) => lookAt(roomOf(slots, { ...night, ...more }), noon + after).status);
    expect(pastEnd([])).toEqual(['CLOSED', 'UNKNOWN', 'UNKNOWN']);
    expect(pastEnd([slotOf(noon - minute, noon + 60 * minute)])).toEqual(['BUSY', 'BUSY', 'UNKNOWN']);
    expect(pastEnd([], { isActive: false })).toEqual(Array(3).fill('OUT_OF_SERVICE'));
  });

  test('is that nothing else is planned only as far as the plan goes, and beyond it that the plan is not known', () => {
    const room = roomOf([], { end: Date.parse('2026-11-22T23:00:00Z') });
    const said = (days: number, hasLater = false) =>
      languages.map((language) => noMoreLine(texts[language], room, hasLater, noon + days * 1_440 * minute));
    expect(said(0)).toEqual(['Nichts weiter geplant', 'Nothing else planned']);
    expect(said(0, true)).toEqual(['Heute nichts weiter', 'Nothing else today']);
    expect(said(2)).toEqual(['Heute nichts weiter', 'Nothing else today']);
    expect(said(3)).toEqual(['Der Plan von heute ist nicht bekannt', 'Today’s plan is not known']);
  });

  test('names the day of an instant that is not today', () => {
    const line = (days: number) => instantLine(texts.de, offsets, noon + days * 1_440 * minute, noon);
    expect([line(0), line(1), line(3), line(9), line(-1)]).toEqual([
      '12:00',
      'morgen 12:00',
      'Mo. 12:00',
      '29.11. 12:00',
      '19.11. 12:00',
    ]);
  });

  test('names the days of times, but those that go without saying', () => {
    const day = 1_440 * minute;
    const line = (from: number, to: number, said?: number) =>
      timesLine(texts.de, offsets, { start: noon + from * minute, end: noon + to * minute }, noon, said);
    expect([line(0, 45), line(1_440, 1_485), line(1_440, 1_485, noon + day), line(0, 45, noon + day)]).toEqual([
      ...['12:00–12:45', 'morgen 12:00–12:45', '12:00–12:45', 'heute 12:00–12:45'],
    ]);
    expect([line(600, 720), line(600, 780), line(-780, 60)]).toEqual([
      ...['22:00–00:00', '22:00–morgen 01:00', '19.11. 23:00–heute 13:00'],
    ]);
  });

  test('shows old and new rooms, times and teachers of changed lessons', () => {
    const none = {
      roomBefore: null,
      roomNow: null,
      startBefore: null,
      endBefore: null,
      startNow: null,
      endNow: null,
      teachersBefore: null,
    };
    const lesson = (change: ShownSlot['change'], more = {}) =>
      changeParts(texts.de, offsets, slotOf(noon, noon + 45 * minute, { kind: 'Lesson', change, ...more }), noon)
        .map(({ says, was }) => [says, was && `~${was}~`].filter(Boolean).join(' '))
        .join(' · ');
    const away = { ...none, kind: 'MovedAway', roomNow: 'HS 102' } as const;
    expect(lesson(away)).toBe('verlegt nach HS 102, 12:00–12:45');
    const [startNow, endNow] = [noon + 120 * minute, noon + 165 * minute];
    expect(lesson({ ...away, startNow, endNow })).toBe('verlegt nach HS 102, 14:00–14:45');
    expect(endOf(slotOf(noon, noon + 45 * minute, { change: { ...away, startNow, endNow } }))).toBe(endNow);
    const next = { startNow: startNow + 1_440 * minute, endNow: endNow + 1_440 * minute };
    expect(lesson({ ...away, ...next })).toBe('verlegt nach HS 102, morgen 14:00–14:45');
    expect(lesson({ ...none, kind: 'MovedHere', roomBefore: 'HS 101' })).toBe('hierher verlegt aus ~HS 101~');
    expect(lesson({ ...none, kind: 'Cancelled' })).toBe('entfällt');
    expect(
      lesson({
        ...none,
        kind: 'Rescheduled',
        startBefore: noon - 60 * minute,
        endBefore: noon - 15 * minute,
      }),
    ).toBe('verschoben, statt ~11:00–11:45~');
    expect(lesson({ ...none, kind: 'Substituted', teachersBefore: ['Reiß'] }, { teachers: ['Lund'] })).toBe(
      'Vertretung: Lund, statt ~Reiß~',
    );
    expect(lesson({ ...none, kind: 'Substituted' })).toBe('');
  });
});

describe('the bar of the day', () => {
  test('reaches from opening to closing and holds bookings and the present minute', () => {
    const bar = dayBar(roomOf([slotOf(noon + 60 * minute, noon + 120 * minute)]), noon);
    expect(bar).toMatchObject({ start: noon - 240 * minute, end: noon + 360 * minute, now: 40 });
    expect(bar.open).toEqual([{ left: 0, width: 100 }]);
    expect(bar.slots).toMatchObject([{ left: 50, width: 10 }]);
    expect(bar.hours.map(({ label }) => label)).toEqual(['8', '9', '10', '11', '12', '13', '14', '15', '16', '17']);
  });

  test('is there on a day without opening hours, and stays within its day', () => {
    expect(dayBar(roomOf([], { open: [] }), noon)).toMatchObject({ open: [], slots: [] });
    const whole = dayBar(roomOf([slotOf(noon - 2_000 * minute, noon + 2_000 * minute)], { open: [] }), noon);
    expect(whole.end - whole.start).toBe(1_440 * minute);
  });
});

describe('the board', () => {
  test('shows 60 rooms on pages whose type can be read from 4 m, and each room on exactly one page', () => {
    expect(spread(60, 1_870, 980, leastType(1_920, 1_080))).toEqual({ columns: 4, rows: 3, pages: 5, type: 28 });
    expect([leastType(320, 600), leastType(800, 480), leastType(3_840, 2_160)]).toEqual([14, 14, 56]);
    const rooms = Array.from({ length: 61 }, (_, index) => index);
    for (const [width, height] of [
      [480, 700],
      [1_250, 700],
      [1_870, 980],
    ] as const) {
      const grid = spread(rooms.length, width, height);
      const pages = Array.from({ length: grid.pages }, (_, page) => pageOf(rooms, grid, page));
      expect(pages.flat()).toEqual(rooms);
    }
  });
});

test('on every colour black or white is readable', () => {
  const linear = (value: number) => (value <= 10 ? value / 3_294.6 : ((value / 255 + 0.055) / 1.055) ** 2.4);
  for (let n = 0; n < 4_096; n++) {
    const parts = [n >> 8, (n >> 4) & 15, n & 15].map((part) => part * 17);
    const [red = 0, green = 0, blue = 0] = parts.map(linear);
    const light = 0.2126 * red + 0.7152 * green + 0.0722 * blue;
    const ink = inkOn(`#${parts.map((part) => part.toString(16).padStart(2, '0')).join('')}`);
    const contrast = ink === 'black' ? (light + 0.05) / 0.05 : 1.05 / (light + 0.05);
    if (contrast < 4.5) throw new Error(`${ink} on ${parts}: ${contrast}`);
  }
});

describe('another room', () => {
  const other = (id: string, capacity: number | null, equipment: string[], slots: ShownSlot[] = []) =>
    roomOf(slots, { resource: { ...roomOf([]).resource, id, name: `R${id}`, capacity, equipment } });

  test('is free for 15 minutes at least; what has the seats and the equipment comes first, and of it the smallest', () => {
    const own = other('7', 20, ['Beamer']);
    const rooms = [
      other('1', 10, ['Beamer']),
      other('2', 200, ['Beamer']),
      other('3', 30, ['Beamer'], [slotOf(noon + 20 * minute, noon + 80 * minute)]),
      other('4', 30, ['Beamer'], [slotOf(noon + 10 * minute, noon + 80 * minute)]),
      other('5', 30, [], [slotOf(noon - 10 * minute, noon + 80 * minute)]),
      own,
    ];
    expect(findFree(rooms, own, noon)).toEqual([
      { id: '3', name: 'R3', until: noon + 20 * minute },
      { id: '2', name: 'R2', until: noon + 360 * minute },
      { id: '1', name: 'R1', until: noon + 360 * minute },
    ]);
  });

  test('is not known to be free once what is known of it is old', () => {
    const own = other('7', null, []);
    expect(findFree([other('1', 10, [])], own, noon + 16 * minute)).toEqual([]);
  });
});

describe('server-sent events', () => {
  const sent =
    ':\n\nevent: next\r\ndata: {"a":"Käthe"}\r\n\r\nevent: next\ndata: one\ndata:two\n\nevent: complete\ndata:\n\n';
  const expected = [
    { event: 'next', data: '{"a":"Käthe"}' },
    { event: 'next', data: 'one\ntwo' },
    { event: 'complete', data: '' },
  ];

  test('are the same wherever the bytes are cut', () => {
    const bytes = new TextEncoder().encode(sent);
    for (let cut = 0; cut <= bytes.length; cut++) {
      const parse = makeEventParser();
      expect([...parse(bytes.slice(0, cut)), ...parse(bytes.slice(cut))]).toEqual(expected);
    }
    const parse = makeEventParser();
    expect([...bytes].flatMap((byte) => parse(Uint8Array.of(byte)))).toEqual(expected);
  });

  test('have instants as numbers', () => {
    expect(parseInstants('{"from":"1970-01-01T00:00:01Z","subject":"2026-01-01","until":null}')).toEqual({
      from: 1_000,
      subject: '2026-01-01',
      until: null,
    });
  });
});

describe('what can be tapped', () => {
  const acts = (room: ShownRoom, now = noon) =>
    offersAt(room, lookAt(room, now), now).map((offer) => ('minutes' in offer ? offer.act + offer.minutes : offer.act));

  test('is to book for as long as it fits, at most four hours', () => {
    expect(acts(roomOf([]))).toEqual(['book15', 'book30', 'book60']);
    expect(acts(roomOf([slotOf(noon + 40 * minute, noon + 80 * minute)]))).toEqual(['book15', 'book30', 'bookUntil']);
    expect(acts(roomOf([slotOf(noon + 30 * minute, noon + 80 * minute)]))).toEqual(['book15', 'book30']);
    expect(acts(roomOf([slotOf(noon + 4 * minute, noon + 80 * minute)]))).toEqual([]);
    expect(acts(roomOf([], { open: [{ start: noon, end: noon + 9_000 * minute }] }))).toEqual([
      'book15',
      'book30',
      'book60',
    ]);
    expect(acts(roomOf([], { open: [] }))).toEqual([]);
  });

  test('is to extend and to end what was booked, as far as it fits', () => {
    const mine = slotOf(noon - 30 * minute, noon + 30 * minute);
    expect(acts(roomOf([mine]))).toEqual(['extend15', 'extend30', 'end']);
    expect(acts(roomOf([mine, slotOf(noon + 50 * minute, noon + 80 * minute)]))).toEqual(['extend15', 'end']);
    expect(acts(roomOf([{ ...mine, kind: 'Lesson' }]))).toEqual([]);
    expect(acts(roomOf([{ ...mine, kind: 'Block', isBlock: true }]))).toEqual([]);
  });

  test('is to check in when it is due', () => {
    const checkIn = { from: noon - 15 * minute, until: noon + 10 * minute, isDone: false };
    expect(acts(roomOf([slotOf(noon + 5 * minute, noon + 60 * minute, { checkIn })]))).toEqual(['checkIn']);
    expect(acts(roomOf([slotOf(noon - 5 * minute, noon + 60 * minute, { checkIn })]))).toEqual(['checkIn', 'end']);
  });

  test('is sent once more with the same key when the network fails, and no third time', async () => {
    const call = mutationOf({ act: 'book', minutes: 15, end: noon + 15 * minute }, '7', noon, 'key', texts.en);
    const sent: unknown[] = [];
    const post = async (one: unknown) => {
      sent.push(one);
      if (sent.length === 1) throw new TypeError('Failed to fetch');
      return new Response('{"data":{"act":{"booking":{"id":"5","version":1}}}}');
    };
    expect(await perform(post, async () => {}, call)).toEqual({
      kind: 'done',
      booking: { id: '5', version: 1 },
    });
    expect(sent).toEqual([call, call]);
    let tries = 0;
    const never = async () => new Response('', { status: 500 + ++tries });
    expect(await perform(never, async () => {}, call)).toEqual({ kind: 'noAnswer' });
    expect(tries).toBe(2);
    const taken = async () => new Response('{"data":{"act":{"code":"Conflict"}}}');
    expect(await perform(taken, async () => {}, call)).toEqual({ kind: 'conflict' });
  });
});

/** A world whose time the test advances, and a server whose answers the test scripts. */
function makeWorld(
  answer: (query: string, signal: AbortSignal) => Promise<Response>,
  { isMissing = async (_signal: AbortSignal): Promise<boolean> => true, random = (): number => 0.5 } = {},
) {
  let ticks = 0;
  const timers = new Map<() => void, number>();
  const calls: { query: string; at: number; after: unknown }[] = [];
  const states: LinkState[] = [];
  const taken: string[] = [];
  const clock = makeClock(() => ticks);
  const settle = async () => {
    for (let turn = 0; turn < 40; turn++) await new Promise((resolve) => setImmediate(resolve));
  };
  let cursor: string | null = null;
  let fits = true;
  const feed: LinkFeed = {
    address: '../graphql',
    token: 'rgd_x',
    documents: documents.sign,
    variables: () => ({ id: '7', after: cursor }),
    take(frame, slack) {
      taken.push(frame.kind);
      if (frame.kind === 'snapshot') ({ cursor } = frame.snapshot);
      clock.hear((frame.kind === 'snapshot' ? frame.snapshot : frame).serverTime, slack);
      return fits;
    },
    setState: (state) => void states.push(state),
    async isMissing(signal) {
      calls.push({ query: 'self', at: ticks, after: undefined });
      return await isMissing(signal);
    },
  };
  const ports = {
    async fetch(_address: string, init: RequestInit) {
      const { query, variables } = JSON.parse(String(init.body));
      calls.push({ query: query.split(/[\s(]/)[0], at: ticks, after: variables.after });
      return await answer(query, init.signal as AbortSignal);
    },
    ticks: () => ticks,
    random,
    after(milliseconds: number, run: () => void) {
      const timer = () => run();
      timers.set(timer, ticks + milliseconds);
      return () => void timers.delete(timer);
    },
  };
  return {
    calls,
    states,
    taken,
    now: clock.now,
    settle,
    open: () => openLink(ports, feed),
    openPaper: (ask: () => Promise<Response>) =>
      openPaperLink(ports, feed, (etag) => {
        calls.push({ query: 'snapshot', at: ticks, after: etag });
        return ask();
      }),
    refuseFrames: () => void (fits = false),
    /** Lets the time pass, timer by timer. */
    async pass(milliseconds: number) {
      const until = ticks + milliseconds;
      await settle();
      for (;;) {
        const [next] = [...timers].filter(([, at]) => at <= until).sort(([, one], [, other]) => one - other);
        if (!next) break;
        ticks = Math.max(ticks, next[1]);
        timers.delete(next[0]);
        next[0]();
        await settle();
      }
      ticks = until;
    },
  };
}

const sentSnapshot = JSON.stringify({
  __typename: 'DisplaySnapshot',
  cursor: 'c1',
  serverTime: '2026-11-20T11:00:00Z',
  asOf: '2026-11-20T11:00:00Z',
  staleAfterSeconds: 90,
  trustUntil: '2026-11-20T11:15:00Z',
  timeZone: 'Europe/Berlin',
  zoneOffsets: [],
  schedule: [],
  open: [],
  resource: { id: '7', name: 'HS 101', active: true },
  end: '2026-11-22T23:00:00Z',
});
const eventOf = (frame: string) => `event: next\ndata: {"data":{"frame":${frame}}}\n\n`;

/** A stream that says this and then stays open until it is aborted. */
function streamOf(signal: AbortSignal, ...frames: string[]): Response {
  const body = new ReadableStream<Uint8Array>({
    start(controller) {
      for (const frame of frames) controller.enqueue(new TextEncoder().encode(eventOf(frame)));
      signal.addEventListener('abort', () => controller.error(new Error('aborted')));
    },
  });
  return new Response(body, { headers: { 'content-type': 'text/event-stream' } });
}

const withStatus = (status: number, body: string) => async () => new Response(body, { status });

describe('the link', () => {
  test('waits up to a second, then between 1 and 30 s, more with each failure', () => {
    for (let attempt = 0; attempt < 40; attempt++) {
      expect(backOff(attempt, 0)).toBe(attempt === 0 ? 0 : 1_000);
      expect(backOff(attempt, 1)).toBe(attempt === 0 ? 1_000 : Math.min(30, 2 ** attempt) * 1_000);
    }
  });

  test('is live with its first frame, and drops a stream that says nothing for 45 s', async () => {
    const world = makeWorld(async (_query, signal) => streamOf(signal, sentSnapshot));
    const link = world.open();
    await world.pass(44_000);
    expect(world.states).toEqual(['connecting', 'live']);
    expect(world.calls).toEqual([{ query: 'subscription', at: 0, after: null }]);
    await world.pass(2_000);
    expect(world.calls.slice(1)).toEqual([{ query: 'subscription', at: 45_500, after: 'c1' }]);
    expect(link.losses()).toBe(1);
    expect(world.states).toEqual(['connecting', 'live']);
    link.close();
  });

  test('says that it is offline when a second try fails, and tries on', async () => {
    const world = makeWorld(async () => {
      throw new TypeError('Failed to fetch');
    });
    const link = world.open();
    await world.pass(120_000);
    expect(world.states).toEqual(['connecting', 'offline']);
    const pauses = world.calls.map(({ at }, index) => at - (world.calls[index - 1]?.at ?? 0));
    expect(pauses.slice(0, 7)).toEqual([0, 500, 1_500, 2_500, 4_500, 8_500, 15_500]);
    link.close();
  });

  test('tries at once when asked to', async () => {
    const world = makeWorld(async () => {
      throw new TypeError('Failed to fetch');
    });
    const link = world.open();
    await world.pass(60_000);
    const before = world.calls.length;
    link.drop();
    await world.settle();
    expect(world.calls.length).toBe(before + 1);
    link.close();
  });

  test('polls every 30 s where streams do not come through, and tries one again after five minutes', async () => {
    const world = makeWorld(async (query, signal) =>
      query.startsWith('subscription') ? streamOf(signal) : new Response(`{"data":{"now":${sentSnapshot}}}`),
    );
    const link = world.open();
    await world.pass(14_000);
    expect(world.calls.map(({ query }) => query)).toEqual(['subscription']);
    await world.pass(77_000);
    expect(world.calls.slice(1).map(({ query, at }) => [query, at])).toEqual([
      ['query', 15_000],
      ['subscription', 15_500],
      ['query', 30_500],
      ['query', 60_500],
      ['query', 90_500],
    ]);
    expect(world.states).toEqual(['connecting', 'polling']);
    await world.pass(260_000);
    expect(world.calls.filter(({ query }) => query === 'subscription')).toHaveLength(3);
    expect(world.states).toEqual(['connecting', 'polling']);
    link.close();
  });

  test('streams again at once over a network that comes back after a stream that brought nothing', async () => {
    let isCut = true;
    const world = makeWorld(async (query, signal) => {
      if (isCut) return await new Promise((_resolve, reject) => signal.addEventListener('abort', reject));
      return query.startsWith('subscription')
        ? streamOf(signal, sentSnapshot)
        : new Response(`{"data":{"now":${sentSnapshot}}}`);
    });
    const link = world.open();
    await world.pass(14_000);
    isCut = false;
    await world.pass(2_000);
    expect(world.states).toEqual(['connecting', 'polling', 'live']);
    link.close();
  });

  test('does not take a network on which nothing comes through for one without streams', async () => {
    let isCut = true;
    const world = makeWorld(async (_query, signal) => {
      if (!isCut) return streamOf(signal, sentSnapshot);
      return await new Promise((_resolve, reject) => signal.addEventListener('abort', reject));
    });
    const link = world.open();
    await world.pass(31_000);
    expect(world.calls.map(({ query, at }) => [query, at])).toEqual([
      ['subscription', 0],
      ['query', 15_000],
      ['subscription', 30_500],
    ]);
    expect(world.states).toEqual(['connecting', 'offline']);
    isCut = false;
    link.drop();
    await world.pass(0);
    expect(world.states).toEqual(['connecting', 'offline', 'live']);
    link.close();
  });

  test('says that it is offline when a network that it was on lets nothing through and reports no fault', async () => {
    let isCut = false;
    const world = makeWorld(async (_query, signal) => {
      if (!isCut) return streamOf(signal, sentSnapshot);
      return await new Promise((_resolve, reject) => signal.addEventListener('abort', reject));
    });
    const link = world.open();
    await world.pass(1_000);
    isCut = true;
    // The stream is given up after 45 s, and a stream and a poll that bring nothing after 15 s each.
    await world.pass(75_000);
    expect(world.states).toEqual(['connecting', 'live', 'offline']);
    isCut = false;
    link.drop();
    await world.pass(0);
    expect(world.states.at(-1)).toBe('live');
    link.close();
  });

  test('says that it is offline when the device does, though calls lead nowhere and do not fail; a frame takes it back', async () => {
    let isCut = false;
    const world = makeWorld(async (_query, signal) => {
      if (!isCut) return streamOf(signal, sentSnapshot);
      return await new Promise((_resolve, reject) => signal.addEventListener('abort', reject));
    });
    const link = world.open();
    await world.pass(1_000);
    isCut = true;
    link.drop(true);
    await world.pass(1_000);
    expect(world.states).toEqual(['connecting', 'live', 'offline']);
    isCut = false;
    link.drop();
    await world.pass(0);
    expect(world.states.at(-1)).toBe('live');
    link.close();
  });

  test('when the network is back it tries often again, streams too', async () => {
    let isUp = false;
    const world = makeWorld(async (query, signal) => {
      if (!isUp) throw new TypeError('Failed to fetch');
      return query.startsWith('subscription') ? streamOf(signal) : new Response(`{"data":{"now":${sentSnapshot}}}`);
    });
    const link = world.open();
    await world.pass(300_000);
    const before = world.calls.length;
    link.drop();
    await world.pass(3_000);
    // What says that it is back says so a little too soon.
    expect(world.calls.length - before).toBe(3);
    isUp = true;
    await world.pass(30_000);
    expect(world.states.at(-1)).toBe('polling');
    const asked = world.calls.filter(({ query }) => query === 'subscription').length;
    link.drop();
    await world.pass(1_000);
    expect(world.calls.filter(({ query }) => query === 'subscription')).toHaveLength(asked + 1);
    link.close();
  });

  test('ends when the token is not valid, but not for a page of a proxy', async () => {
    const refused = makeWorld(withStatus(401, '{"errors":[{"extensions":{"code":"NOT_AUTHENTICATED"}}]}'));
    refused.open();
    await refused.pass(60_000);
    expect(refused.states).toEqual(['connecting', 'refused']);
    expect(refused.calls).toHaveLength(1);
    const between = makeWorld(withStatus(401, '<html>Please sign in to the guest network</html>'));
    const link = between.open();
    await between.pass(10_000);
    expect(between.states).toEqual(['connecting', 'offline']);
    link.close();
  });

  const missing = withStatus(200, '{"errors":[{"message":"x","extensions":{"code":"NOT_FOUND"}}]}');

  test('asks soon, and then every 1 to 30 s, whether it may show the room now, and opens a stream only when it may', async () => {
    let isMissing = true;
    const world = makeWorld(missing, { isMissing: async () => isMissing });
    const link = world.open();
    await world.pass(40_000);
    expect(world.states).toEqual(['connecting', 'missing']);
    expect(world.calls.map(({ query, at }) => [query, at])).toEqual([
      ['subscription', 0],
      ['self', 500],
      ['self', 16_000],
      ['self', 31_500],
    ]);
    isMissing = false;
    await world.pass(10_000);
    expect(world.calls.slice(4).map(({ query, at }) => [query, at])).toEqual([
      ['self', 47_000],
      ['subscription', 47_000],
    ]);
    link.close();
  });

  test('that is closed while it asks whether it may show the room opens no stream', async () => {
    const asked = Promise.withResolvers<boolean>();
    const world = makeWorld(missing, { isMissing: () => asked.promise });
    const link = world.open();
    await world.pass(500);
    link.close();
    asked.resolve(false);
    await world.settle();
    expect(world.calls.map(({ query }) => query)).toEqual(['subscription', 'self']);
  });

  test('opens a stream when it cannot tell whether the room is missing, and does not end', async () => {
    const isMissing = async (): Promise<boolean> => {
      throw new TypeError('null is no answer');
    };
    const world = makeWorld(missing, { isMissing });
    const link = world.open();
    await world.pass(16_500);
    expect(world.calls.map(({ query, at }) => [query, at])).toEqual([
      ['subscription', 0],
      ['self', 500],
      ['subscription', 500],
      ['self', 16_000],
      ['subscription', 16_000],
    ]);
    link.close();
  });

  test('asks anew at once after a change of the network, and otherwise waits 15 s for whether the room is missing', async () => {
    const isMissing = (signal: AbortSignal) =>
      new Promise<boolean>((_, reject) => signal.addEventListener('abort', () => reject(signal.reason)));
    const world = makeWorld(missing, { isMissing });
    const link = world.open();
    await world.pass(1_000);
    link.drop();
    await world.settle();
    expect(world.calls.map(({ query, at }) => [query, at])).toEqual([
      ['subscription', 0],
      ['self', 500],
      ['subscription', 1_000],
      ['self', 1_000],
    ]);
    await world.pass(15_000);
    expect(world.calls.slice(4).map(({ query, at }) => [query, at])).toEqual([['subscription', 16_000]]);
    link.close();
  });

  const ended = (reason: string, seconds: number | null) =>
    JSON.stringify({
      __typename: 'DisplayEnded',
      reason,
      serverTime: '2026-11-20T11:00:00Z',
      retryAfterSeconds: seconds,
    });

  test('comes back within a second each time that its rights have changed, and is never offline meanwhile', async () => {
    const world = makeWorld(async (_query, signal) => streamOf(signal, sentSnapshot, ended('Restarting', 0)));
    const link = world.open();
    await world.pass(2_100);
    expect(world.calls.map(({ at }) => at)).toEqual([0, 500, 1_000, 1_500, 2_000]);
    expect(world.states).toEqual(['connecting', 'live']);
    link.close();
  });

  test('of a sign that loses its room with many others asks two or three times in ten seconds, and then twice in thirty', async () => {
    const signs = 100;
    const requests: number[] = [];
    for (let sign = 0; sign < signs; sign++) {
      // The golden ratio spreads them evenly.
      let draws = 0;
      const random = () => ((sign + signs * draws++) * 0.618_033_988_75) % 1;
      let isFirst = true;
      const world = makeWorld(
        async (_query, signal) => {
          if (!isFirst) return await missing();
          isFirst = false;
          return streamOf(signal, sentSnapshot, ended('Restarting', 0));
        },
        { random },
      );
      const link = world.open();
      await world.pass(100_000);
      link.close();
      // When a room is missing, the page asks at once which others there are.
      const asked = world.calls.slice(1).map(({ at }) => at);
      requests.push(...asked, asked[0] as number);
    }
    const within = (from: number, until: number) => requests.filter((at) => at >= from && at < until).length / signs;
    expect(within(0, 10_000)).toBeLessThan(2.5);
    for (let from = 10_000; from < 100_000; from += 10_000) expect(within(from, from + 10_000)).toBeLessThan(0.8);
  });

  test('waits longer each time for a server that ends every stream with its first frame', async () => {
    const world = makeWorld(async (_query, signal) => streamOf(signal, ended('Restarting', 0)));
    const link = world.open();
    await world.pass(10_000);
    expect(world.calls.map(({ at }) => at)).toEqual([0, 500, 2_000, 4_500, 9_000]);
    link.close();
  });

  test('comes back when the server was restarted, and not when the device was revoked', async () => {
    const restarted = makeWorld(async (_query, signal) => streamOf(signal, sentSnapshot, ended('Restarting', 8)));
    const link = restarted.open();
    await restarted.pass(4_100);
    expect(restarted.calls.map(({ at }) => at)).toEqual([0, 4_000]);
    link.close();
    const revoked = makeWorld(async (_query, signal) => streamOf(signal, sentSnapshot, ended('Revoked', null)));
    revoked.open();
    await revoked.pass(1_000);
    expect(revoked.states).toEqual(['connecting', 'live', 'refused']);
  });

  test('asks for all anew when a heartbeat is about something that it does not have', async () => {
    const world = makeWorld(async (_query, signal) => streamOf(signal, sentSnapshot));
    world.refuseFrames();
    const link = world.open();
    await world.pass(600);
    expect(world.calls.map(({ at }) => at)).toEqual([0, 500]);
    link.close();
  });

  test('a frame that comes late does not set the clock back, and one that is ahead sets it forward', async () => {
    let push: (frame: string) => void = () => {};
    const world = makeWorld(async () => {
      const body = new ReadableStream<Uint8Array>({
        start(controller) {
          push = (frame) => controller.enqueue(new TextEncoder().encode(eventOf(frame)));
          push(sentSnapshot);
        },
      });
      return new Response(body, { headers: { 'content-type': 'text/event-stream' } });
    });
    const heartbeat = (seconds: number) => {
      const serverTime = new Date(noon + seconds * 1_000).toISOString();
      const { asOf, trustUntil, cursor } = JSON.parse(sentSnapshot);
      push(JSON.stringify({ __typename: 'DisplayHeartbeat', cursor, serverTime, asOf, trustUntil }));
    };
    const link = world.open();
    await world.pass(40_000);
    heartbeat(10);
    await world.settle();
    expect([world.taken, world.now()]).toEqual([['snapshot', 'heartbeat'], noon + 40_000]);
    heartbeat(45);
    await world.settle();
    expect([world.taken.length, world.now()]).toEqual([3, noon + 45_000]);
    link.close();
  });

  test('of e-paper asks when the latest answer says, also if that is a 304', async () => {
    const answers = [
      new Response(sentSnapshot, { headers: { etag: '"c1"', 'retry-after': '300' } }),
      new Response(null, { status: 304, headers: { 'retry-after': '120' } }),
      new Response(null, { status: 304, headers: { 'retry-after': '10' } }),
    ];
    const world = makeWorld(withStatus(500, ''));
    const link = world.openPaper(async () => answers.shift() ?? new Response(null, { status: 304 }));
    await world.pass(430_000);
    expect(world.calls.map(({ at, after }) => [at, after])).toEqual([
      [0, null],
      [300_000, '"c1"'],
      [420_000, '"c1"'],
      [430_000, '"c1"'],
    ]);
    expect(world.states).toEqual(['polling', 'polling', 'polling', 'polling']);
    link.close();
  });

  test('of e-paper tries on for a page of a proxy, whatever its status, and heeds how long it asks to wait', async () => {
    const portal = (status: number, headers = {}) =>
      new Response('<html>Please sign in to the guest network</html>', { status, headers });
    const answers = [portal(401), portal(403), portal(404), portal(200), portal(503, { 'retry-after': '50' })];
    const world = makeWorld(withStatus(500, ''));
    const link = world.openPaper(async () => answers.shift() ?? new Response(sentSnapshot));
    await world.pass(80_000);
    expect(world.calls.map(({ at }) => at)).toEqual([0, 500, 2_000, 4_500, 9_000, 59_000]);
    expect(world.states).toEqual([...Array(5).fill('offline'), 'polling']);
    expect(link.losses()).toBe(4);
    link.close();
  });

  test('of e-paper ends when the token is not valid, and asks on while it may not show the room', async () => {
    const problem = (status: number, code: string) => new Response(JSON.stringify({ Code: code }), { status });
    const answers = [problem(403, 'Forbidden'), problem(404, 'NotFound'), problem(401, 'NotAuthenticated')];
    const world = makeWorld(withStatus(500, ''));
    world.openPaper(async () => answers.shift() ?? new Response(sentSnapshot));
    await world.pass(600_000);
    expect(world.calls.map(({ at }) => at)).toEqual([0, 60_000, 120_000]);
    expect(world.states).toEqual(['missing', 'missing', 'refused']);
  });

  test('of e-paper waits an hour at most', async () => {
    const world = makeWorld(withStatus(500, ''));
    const forever = { headers: { 'retry-after': '99999999' } };
    const link = world.openPaper(async () => new Response(sentSnapshot, forever));
    await world.pass(3_600_000);
    expect(world.calls.map(({ at }) => at)).toEqual([0, 3_600_000]);
    link.close();
  });

  test('gives snapshots as the state of a room is computed from', () => {
    const snapshot = readSnapshot(parseInstants(sentSnapshot) as Parameters<typeof readSnapshot>[0]);
    expect(snapshot).toMatchObject({ isActive: true, slots: [], end: Date.parse('2026-11-22T23:00:00Z') });
  });
});

describe('reports of problems', () => {
  afterEach(() => {
    jest.restoreAllMocks();
    jest.useRealTimers();
  });

  test('are sent when the server has asked for them again, and not before; too many are not kept, and it is said', async () => {
    jest.useFakeTimers();
    const limit = (retryAfterSeconds: number) =>
      Response.json({ data: { report: { __typename: 'LimitProblem', code: 'LimitExceeded', retryAfterSeconds } } });
    const sent = () => Response.json({ data: { report: { __typename: 'RoomProblem' } } });
    const busy = () => new Response('{}', { status: 503, headers: { 'Retry-After': '40' } });
    const answers = [limit(90), busy(), sent(), sent()];
    const calls: string[] = [];
    jest.spyOn(globalThis, 'fetch').mockImplementation(async (_address, init) => {
      calls.push(JSON.parse(String(init?.body)).variables.input.kind);
      return answers.shift() ?? limit(60);
    });
    const session = { id: '7', tenant: 'school', token: 'x', text: english } as Session;
    const reports = openReports(session);
    const pass = async (seconds: number) => {
      reports.retry();
      await jest.advanceTimersByTimeAsync(seconds * 1_000);
      reports.retry();
      await jest.advanceTimersByTimeAsync(0);
      return calls.length;
    };
    expect(await reports.send('Light', noon)).toBe('kept');
    expect(await reports.send('Heating', noon)).toBe('kept');
    expect([await pass(89), await pass(1), await pass(39), await pass(1)]).toEqual([1, 2, 2, 4]);
    expect(calls).toEqual(['Light', 'Light', 'Light', 'Heating']);
    for (let count = 0; count < mostKept; count += 1) expect(await reports.send('Other', noon)).toBe('kept');
    expect(await reports.send('Other', noon)).toBe('full');
    expect(calls).toHaveLength(5);
    expect([english, german].map(({ reported }) => reported.full(mostKept))).toEqual([
      'Full: 20 reports wait to be sent. This one is not kept.',
      expect.stringContaining('20'),
    ]);
  });
});
