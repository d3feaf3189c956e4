import { afterAll, beforeAll, describe, expect, test } from '@jest/globals';
import { type Service, startService } from '../_util/service.ts';
import { enterSchool } from './_util/school.ts';

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

test('a rule that began so long ago that its lessons would be missing is refused, and is read from Since on', async () => {
  const school = await enterSchool(service, ['R101']);
  const text = calendar(['DTSTART;TZID=Europe/Berlin:19990401T080000', 'DURATION:PT45M', 'RRULE:FREQ=WEEKLY']);
  expect(await school.faults({ 'club.ics': text }, spring)).toMatchObject([
    { Code: 'InvalidRule', Message: expect.stringContaining('send a term, and Since') },
  ]);
  const { accepted } = await school.imports({ 'club.ics': text }, { ...spring, since: '2027-04-01' });
  expect(accepted.LessonCount).toBe(5);
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
