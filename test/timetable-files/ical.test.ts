import { afterAll, beforeAll, describe, expect, test } from '@jest/globals';
import type { EventEntry } from '../../src/timetable-files/entries.ts';
import { openReport } from '../../src/timetable-files/faults.ts';
import { planJob } from '../../src/timetable-files/lessons.ts';
import { openTerm } from '../../src/timetable-files/term.ts';
import { type Service, startService } from '../_util/service.ts';
import { enterSchool, type School } from './_util/school.ts';

let service: Service;
beforeAll(async () => {
  service = await startService();
});
afterAll(() => service.stop());

test('an iCalendar: rules without holidays, what was moved or cancelled, at local times', async () => {
  const school = await enterSchool(service, ['R101']);
  const ics = [
    ...[
      'BEGIN:VCALENDAR',
      'VERSION:2.0',
      'BEGIN:VEVENT',
      'UID:lesson-1@school',
      'SUMMARY:Chor',
      'CATEGORIES:Mu',
      'LOCATION:R101',
    ],
    ...['DTSTART;TZID=Europe/Berlin:20270319T080000', 'DTEND;TZID=Europe/Berlin:20270319T084500'],
    ...['RRULE:FREQ=WEEKLY', 'END:VEVENT', 'BEGIN:VEVENT', 'UID:lesson-1@school', 'SUMMARY:Chor', 'LOCATION:R101'],
    ...['RECURRENCE-ID;TZID=Europe/Berlin:20270402T080000', 'DTSTART;TZID=Europe/Berlin:20270402T100000'],
    ...['DURATION:PT1H', 'STATUS:CANCELLED', 'END:VEVENT', 'END:VCALENDAR', ''],
  ].join('\r\n');
  await school.imports({ 'choir.ics': ics });
  // Good Friday is a holiday; summer time begins between the two.
  expect(await school.jobs()).toMatchObject([
    {
      JobID: 'ics-lesson-1@school-2627-2',
      LektionList: [
        {
          LektionId: '20270319T080000',
          Beginn: '2027-03-19T07:00:00Z',
          Ende: '2027-03-19T07:45:00Z',
          Fach: 'Mu',
          Status: 'Geplant',
        },
        {
          LektionId: '20270402T080000',
          Beginn: '2027-04-02T08:00:00Z',
          Ende: '2027-04-02T09:00:00Z',
          Status: 'Entfaellt',
        },
      ],
    },
  ]);
});

const spring = { term: { Id: 'T', From: '2027-03-15', To: '2027-04-30', TimeZone: 'Europe/Berlin' } };
const calendar = (...events: string[][]): string =>
  [
    ...['BEGIN:VCALENDAR', 'VERSION:2.0'],
    ...events.flatMap((lines) => ['BEGIN:VEVENT', 'UID:club@school', 'LOCATION:R101', ...lines, 'END:VEVENT']),
    ...['END:VCALENDAR', ''],
  ].join('\r\n');
const weekly = ['DTSTART;TZID=Europe/Berlin:20270401T080000', 'DURATION:PT45M', 'RRULE:FREQ=WEEKLY;COUNT=3'];
const dates = (lines: string[]) => calendar([...weekly, ...lines]);

describe('times that are written in another zone than the start', () => {
  async function startsOf(text: string): Promise<string[]> {
    const school = await enterSchool(service, ['R101']);
    await school.imports({ 'club.ics': text }, spring);
    const [job] = await school.jobs();
    return ((job?.LektionList ?? []) as { LektionId: string; Beginn: string }[]).map(
      ({ LektionId, Beginn }) => `${LektionId} ${Beginn}`,
    );
  }
  const first = '20270401T080000 2027-04-01T06:00:00Z';
  const second = '20270408T080000 2027-04-08T06:00:00Z';
  const third = '20270415T080000 2027-04-15T06:00:00Z';

  test.each([
    'EXDATE:20270408T060000Z',
    'EXDATE;TZID=America/New_York:20270408T020000',
    'EXDATE;TZID=Europe/Berlin:20270408T080000',
    'EXDATE:20270408T080000',
    'EXDATE;VALUE=DATE:20270408',
  ])('%s leaves out the occurrence that it names', async (line) => {
    expect(await startsOf(dates([line]))).toEqual([first, third]);
  });

  test('RDATE adds one at the instant that it names, or on the day at the time of the others', async () => {
    expect(await startsOf(dates(['RDATE:20270409T090000Z', 'RDATE;VALUE=DATE:20270410']))).toEqual([
      ...[first, second, '20270409T110000 2027-04-09T09:00:00Z', '20270410T080000 2027-04-10T06:00:00Z', third],
    ]);
  });

  test.each([
    ['RECURRENCE-ID:20270408T060000Z', 'DTSTART;TZID=Europe/Berlin:20270409T100000'],
    ['RECURRENCE-ID:20270408T060000Z', 'DTSTART:20270409T080000Z'],
    ['RECURRENCE-ID;TZID=Europe/Berlin:20270408T080000', 'DTSTART:20270409T080000Z'],
    ['RECURRENCE-ID;TZID=America/New_York:20270408T020000', 'DTSTART;TZID=Europe/London:20270409T090000'],
  ])('%s moves the occurrence that it names, which keeps its id: %s', async (...lines) => {
    expect(await startsOf(calendar(weekly, [...lines, 'DURATION:PT45M']))).toEqual([
      ...[first, '20270408T080000 2027-04-09T08:00:00Z', third],
    ]);
  });
});

describe.each([
  ['Australia/Sydney', '2027-03-14T22:00:00Z', '2027-03-14T12:00:00Z'],
  ['America/Los_Angeles', '2027-03-16T01:00:00Z', '2027-03-15T02:00:00Z'],
])('times in UTC of a school in %s', (TimeZone, onTheDay, before) => {
  const term = { Id: 'T', From: '2027-03-08', To: '2027-03-28', TimeZone };
  const compact = (instant: string) => instant.replace(/[-:]/g, '');
  const event = (uid: string, start: string, ...lines: string[]) => [
    ...['BEGIN:VEVENT', `UID:${uid}@school`, 'LOCATION:R101', `DTSTART:${compact(start)}`, 'DURATION:PT45M'],
    ...[...lines, 'END:VEVENT'],
  ];
  const file = (...events: string[][]) => ({
    'utc.ics': ['BEGIN:VCALENDAR', ...events.flat(), 'END:VCALENDAR'].join('\r\n'),
  });
  const startsOf = async (school: School) =>
    (await school.jobs()).flatMap(({ LektionList }) =>
      (LektionList as { Beginn: string }[]).map(({ Beginn }) => Beginn),
    );

  test('Since is a local date: what begins on it is written, and what began before it stays', async () => {
    const school = await enterSchool(service, ['R101']);
    const all = [event('first', before), event('second', onTheDay), event('third', '2027-03-17T12:00:00Z')];
    await school.imports(file(...all), { term });
    const stored = await school.stored();
    await school.imports(file(...all), { term, since: '2027-03-15' });
    expect(await school.stored()).toEqual(stored);
    const longer = file(...all.map((lines) => lines.map((line) => line.replace('PT45M', 'PT1H'))));
    const { accepted } = await school.imports(longer, { term, since: '2027-03-15' });
    expect(accepted.LessonCount).toBe(2);
    expect(await startsOf(school)).toEqual([before, onTheDay, '2027-03-17T12:00:00Z']);
  });

  test('a series has the holidays and the ends of the term by local dates', async () => {
    const school = await enterSchool(service, ['R101']);
    const holiday = { Name: 'Frei', From: '2027-03-15', To: '2027-03-15' };
    const day = (at: number) => new Date(Date.parse(onTheDay) + at * 86_400_000).toISOString().replace('.000', '');
    const daily = event('daily', day(-30), 'RRULE:FREQ=DAILY;COUNT=100');
    await school.imports(file(daily), { term: { ...term, From: '2027-03-13', To: '2027-03-17', Holidays: [holiday] } });
    expect(await startsOf(school)).toEqual([-2, -1, 1, 2].map(day));
  });
});

test('the Windows name of a zone, as Outlook writes it, is understood', async () => {
  const school = await enterSchool(service, ['R101']);
  const zone = 'TZID="W. Europe Standard Time"';
  await school.imports(
    { 'club.ics': calendar([`DTSTART;${zone}:20270401T080000`, `DTEND;${zone}:20270401T084500`]) },
    spring,
  );
  expect(await school.jobs()).toMatchObject([
    { LektionList: [{ LektionId: '20270401T080000', Beginn: '2027-04-01T06:00:00Z' }] },
  ]);
});

describe('a series', () => {
  async function idsOf(text: string, options: object = spring): Promise<string[]> {
    const school = await enterSchool(service, ['R101']);
    await school.imports({ 'club.ics': text }, options);
    const [job] = await school.jobs();
    return ((job?.LektionList ?? []) as { LektionId: string }[]).map(({ LektionId }) => LektionId);
  }

  test.each([
    ['that has lost its room', ['DTSTART;TZID=Europe/Berlin:20270409T100000', 'DURATION:PT45M']],
    ['that lasts whole days now', ['DTSTART;VALUE=DATE:20270409', 'LOCATION:R101']],
  ])('has an occurrence %s: it does not stay where it was', async (_, lines) => {
    const named = ['UID:club@school', 'RECURRENCE-ID;TZID=Europe/Berlin:20270408T080000'];
    const exception = ['BEGIN:VEVENT', ...named, ...lines, 'END:VEVENT', 'END:VCALENDAR'].join('\r\n');
    const text = calendar(weekly).replace('END:VCALENDAR', exception);
    expect(await idsOf(text)).toEqual(['20270401T080000', '20270415T080000']);
  });

  test('takes place within the term only, and so do its exceptions', async () => {
    const text = calendar(
      ['DTSTART;TZID=Europe/Berlin:20270301T080000', 'DURATION:PT45M', 'RRULE:FREQ=WEEKLY'],
      [
        'RECURRENCE-ID;TZID=Europe/Berlin:20270308T080000',
        'DTSTART;TZID=Europe/Berlin:20270319T080000',
        'DURATION:PT45M',
      ],
    );
    const term = { Id: 'T', From: '2027-03-15', To: '2027-03-28', TimeZone: 'Europe/Berlin' };
    expect(await idsOf(text, { term })).toEqual(['20270315T080000', '20270322T080000']);
  });

  test.each([
    ['DTEND;TZID=Europe/Berlin:20270321T030000', '2027-03-28T02:00:00Z'],
    ['DURATION:PT1H', '2027-03-28T02:30:00Z'],
  ])('begins later on a day whose clocks skip its start, and is no shorter there: %s', async (length, Ende) => {
    const school = await enterSchool(service, ['R101']);
    const text = calendar(['DTSTART;TZID=Europe/Berlin:20270321T023000', length, 'RRULE:FREQ=WEEKLY;COUNT=2']);
    await school.imports({ 'club.ics': text }, spring);
    const [, skipped] = (await school.jobs())[0]?.LektionList ?? [];
    expect(skipped).toMatchObject({ LektionId: '20270328T023000', Beginn: '2027-03-28T01:30:00Z', Ende });
  });

  test('of too many rules is refused, and one of too many lessons is not planned to its end', async () => {
    const school = await enterSchool(service, ['R101']);
    const rules = Array.from({ length: 201 }, () => weekly);
    const [fault] = await school.faults({ 'club.ics': calendar(...rules) }, spring);
    expect(fault).toMatchObject({ Line: 3 + 200 * 7, Code: 'TooManyLines' });
    const term = openTerm({ Term: null, Periods: [], Since: null }, 'UTC');
    let slices = 0;
    const daily = (at: number): EventEntry => ({
      kind: 'event',
      file: 0,
      line: at,
      rooms: ['R101'],
      title: '',
      subject: '',
      classes: [],
      teachers: [],
      zone: 'UTC',
      start: at * 1_000,
      length: 1_000,
      rule: 'FREQ=DAILY;COUNT=1000',
      excluded: [],
      added: [],
      replaces: null,
    });
    const lessons = await planJob(
      'J1',
      Array.from({ length: 200 }, (_, at) => daily(at)),
      {
        term,
        source: 'ics',
        report: openReport([]),
        roomOf: (name) => name,
        isShared: () => false,
        mostLessons: 2_500,
        search: { left: 1_000_000 },
        nextSlice: () => {
          slices++;
          return undefined;
        },
      },
    );
    expect(lessons).toHaveLength(2_501);
    // Other work has its turn between the occurrences.
    expect(slices).toBeGreaterThan(2_500);
  });

  /** Each is searched for 50 years, and has no lesson in the term. */
  const longAgo = (uid: string, location: string) => [
    ...['BEGIN:VEVENT', `UID:${uid}`, `LOCATION:${location}`, 'DTSTART;TZID=Europe/Berlin:19780101T080000'],
    ...['DURATION:PT45M', 'RRULE:FREQ=YEARLY;BYMONTH=2;BYMONTHDAY=29;COUNT=1000', 'END:VEVENT'],
  ];

  test('is searched for only together with all others, however long ago they began', async () => {
    const school = await enterSchool(service, ['R101']);
    const events = Array.from({ length: 600 }, (_, at) => longAgo(`series-${at}`, 'R101'));
    const text = ['BEGIN:VCALENDAR', ...events.flat(), 'END:VCALENDAR'].join('\r\n');
    expect(await school.faults({ 'club.ics': text }, spring)).toMatchObject([
      {
        Code: 'InvalidRule',
        Field: 'RRULE',
        Message: expect.stringContaining('more than 10000000 days were searched'),
      },
    ]);
  });

  test('is searched once for all of its rooms', async () => {
    const school = await enterSchool(service, ['R101', 'R102']);
    const rooms = Array.from({ length: 200 }, (_, at) => `Raum ${at}`);
    const events = Array.from({ length: 5 }, (_, at) => longAgo(`series-${at}`, rooms.join('~')));
    const club = ['BEGIN:VEVENT', 'UID:club@school', 'LOCATION:Raum 1~Raum 2~Raum 3', ...weekly, 'END:VEVENT'];
    const text = ['BEGIN:VCALENDAR', ...events.flat(), ...club, 'END:VCALENDAR'].join('\r\n');
    const named = Object.fromEntries(rooms.map((room) => [room, room === 'Raum 3' ? 'R102' : 'R101']));
    await school.imports({ 'club.ics': text }, { ...spring, rooms: named });
    const [{ LektionList } = { LektionList: [] }] = await school.jobs();
    expect(LektionList).toMatchObject(
      ['01', '08', '15'].flatMap((date) => [
        { LektionId: `202704${date}T080000-R101`, RessourceName: 'R101' },
        { LektionId: `202704${date}T080000-R102`, RessourceName: 'R102' },
      ]),
    );
  });
});

test.each([
  ['RRULE:FREQ=DAILY;COUNT=2', 'it has more than one rule'],
  ['EXRULE:FREQ=MONTHLY;COUNT=1', 'it has an EXRULE'],
])('%s is refused where it would make other lessons than it says', async (line, message) => {
  const school = await enterSchool(service, ['R101']);
  expect(await school.faults({ 'club.ics': dates([line]) }, spring)).toMatchObject([
    { Code: 'InvalidRule', Message: expect.stringContaining(message) },
  ]);
});

test('a rule at other times of the day, and an exception for all later occurrences, are refused', async () => {
  const school = await enterSchool(service, ['R101']);
  const [start = '', length = ''] = weekly;
  const text = calendar(
    [start, length, 'RRULE:FREQ=WEEKLY;BYHOUR=8,10;COUNT=3'],
    [start, length, 'RRULE:FREQ=WEEKLY;BYHOUR=9;COUNT=3'],
    ['RECURRENCE-ID;RANGE=THISANDFUTURE;TZID=Europe/Berlin:20270408T080000', start, length],
    ['RECURRENCE-ID;VALUE=DATE:20270408', start, length],
  );
  const found = await school.faults({ 'club.ics': text }, spring);
  expect(found.map(({ Line, Code }) => [Line, Code])).toEqual([
    ...[
      [8, 'InvalidRule'],
      [15, 'InvalidRule'],
      [20, 'InvalidRule'],
      [27, 'InvalidDate'],
    ],
  ]);
});

test('a rule that began so long ago that its lessons would be missing is refused, and is read from Since or the term on', async () => {
  const school = await enterSchool(service, ['R101']);
  const text = calendar([
    ...['DTSTART;TZID=Europe/Berlin:19990401T080000', 'DURATION:PT45M', 'RRULE:FREQ=WEEKLY;UNTIL=20270430'],
  ]);
  expect(await school.faults({ 'club.ics': text }, {})).toMatchObject([
    { Code: 'InvalidRule', Message: expect.stringContaining('send a term, or Since') },
  ]);
  const { accepted } = await school.imports({ 'club.ics': text }, { since: '2027-04-01' });
  expect(accepted.LessonCount).toBe(5);
  const other = await enterSchool(service, ['R101']);
  expect((await other.imports({ 'club.ics': text }, spring)).accepted.LessonCount).toBe(7);
});

test.each([
  ['WithoutRoom', ['SUMMARY:Chor', 'DTSTART:20270401T080000', 'DURATION:PT45M'], 'Event "Chor" has no LOCATION'],
  ['WholeDay', ['LOCATION:R101', 'DTSTART;VALUE=DATE:20270401'], 'The event lasts whole days'],
])('a calendar of which nothing is left says where that was left out, and why: %s', async (Code, event, why) => {
  const school = await enterSchool(service, ['R101']);
  const lines = [...event, 'END:VEVENT', 'END:VCALENDAR', ''];
  const text = ['BEGIN:VCALENDAR', 'BEGIN:VEVENT', 'UID:club@school', ...lines].join('\r\n');
  const answer = await school.post({ 'club.ics': text }, spring);
  const Message = expect.stringMatching(new RegExp(`^club\\.ics line 2: ${why} .*; a lesson `));
  expect([answer.status, await answer.json()]).toEqual([
    422,
    expect.objectContaining({
      detail: expect.stringContaining(
        `The files have no lesson in the term: an empty timetable would delete the stored one. club.ics line 2: ${why}`,
      ),
      Errors: [expect.objectContaining({ Line: 2, Code, Message })],
    }),
  ]);
});
