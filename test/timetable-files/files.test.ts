import { setFlagsFromString } from 'node:v8';
import { runInNewContext } from 'node:vm';
import { afterAll, beforeAll, describe, expect, test } from '@jest/globals';
import fc from 'fast-check';
import type { Viewer } from '../../src/context.ts';
import { openLog } from '../../src/log.ts';
import { openBins } from '../../src/timetable-files/bins.ts';
import { findSeparator } from '../../src/timetable-files/cells.ts';
import type { TimetableEntry } from '../../src/timetable-files/entries.ts';
import { openReport } from '../../src/timetable-files/faults.ts';
import { withIntake } from '../../src/timetable-files/intake.ts';
import { planJob } from '../../src/timetable-files/lessons.ts';
import { readFile } from '../../src/timetable-files/reading.ts';
import { openTerm } from '../../src/timetable-files/term.ts';
import { nextYear } from '../_util/ahead.ts';
import { times } from '../_util/long.ts';
import { type Service, startService } from '../_util/service.ts';
import { enterSchool, fixture, small } from './_util/school.ts';

let service: Service;
beforeAll(async () => {
  service = await startService();
});
afterAll(() => service.stop());

const rooms = Array.from({ length: 60 }, (_, at) => `R${at + 1}`);
const clock = (minutes: number) =>
  `${String(Math.floor(minutes / 60)).padStart(2, '0')}:${String(minutes % 60).padStart(2, '0')}`;
const schoolOptions = {
  // Three weeks around the change of the clocks, with two holidays.
  term: {
    Id: 'T',
    From: '2031-03-17',
    To: '2031-04-04',
    TimeZone: 'Europe/Berlin',
    Holidays: [{ Name: 'Free', From: '2031-03-27', To: '2031-03-28' }],
  },
  timeGrid: {
    Default: Array.from({ length: 8 }, (_, at) => ({
      Period: at + 1,
      Begin: clock(480 + at * 50),
      End: clock(525 + at * 50),
    })),
  },
};

/** The lessons of a week, and how many of them come where a file was cut off. */
const [lessons, beginning] = [times(900, 1_500), times(300, 600)];

/** A lesson number of each room for each five of its periods. */
function makeSchool(): string[] {
  return Array.from({ length: lessons }, (_, at) => {
    const [room, slot] = [at % rooms.length, Math.floor(at / rooms.length)];
    const number = 1 + room + rooms.length * Math.floor(slot / 5);
    return `${number},"${room}a","T${number}","M","${rooms[room]}",${(slot % 5) + 1},${Math.floor(slot / 5) + 1},,`;
  });
}

describe(`a school of ${lessons} lessons a week`, () => {
  test('the same file changes nothing; of another one exactly the differences are written', async () => {
    const school = await enterSchool(service, rooms);
    const lines = makeSchool();
    const first = await school.imports({ 'GPU001.TXT': lines.join('\r\n') }, schoolOptions);
    // 15 weekdays less two holidays.
    const perDay = lessons / 5;
    expect(first.accepted.LessonCount).toBe(perDay * 13);
    const before = await school.stored();
    expect(before.size).toBe(perDay * 13);

    const again = await school.imports({ 'GPU001.TXT': lines.toReversed().join('\n') }, schoolOptions);
    expect(again.batch).toMatchObject({ CreatedCount: 0, ChangedCount: 0, MovedCount: 0, RemovedCount: 0 });
    expect(await school.stored()).toEqual(before);

    // A teacher for one lesson number, a lesson less on a Monday, a new one on a Tuesday, and a day's substitution and cancellation.
    const changed = lines
      .map((line) => line.replace('"T7"', '"Neu"'))
      .filter((line) => !line.startsWith('9,"8a","T9","M","R9",1,'))
      .concat('999,"8a","T9","M","R9",2,8,,');
    const substitutions = [
      '1;"20310318";1;;1;"T1";"Ver";"M";;"M";;"R1";"R1";;"0a";"";"";0;"0a";"";203103170700',
      '2;"20310319";1;;2;"T2";"";"M";;"";;"R2";"";;"1a";"";"";1;"";"C";203103170700',
    ];
    const files = { 'GPU001.TXT': changed.join('\n'), 'GPU014.TXT': substitutions.join('\n') };
    const difference = await school.compare(files, schoolOptions);
    // Lesson 7 has one line a weekday: 13 days. Mondays: 17, 24, 31. Tuesdays: 18, 25, 1.
    const counts = { Changed: 13 + 2, Removed: 3, Added: 3, Moved: 0, Unchanged: perDay * 13 - 18 };
    expect(difference).toMatchObject(counts);
    expect(await school.stored()).toEqual(before);
    const { batch } = await school.imports(files, schoolOptions);
    expect(batch).toMatchObject({
      CreatedCount: 3,
      ChangedCount: 15,
      MovedCount: 0,
      RemovedCount: 3,
      Quelle: 'untis T',
    });
    const after = await school.stored();
    expect([...after].filter(([key, row]) => before.get(key) === row)).toHaveLength(counts.Unchanged);
    expect(after.size).toBe(before.size);
    expect([...before.keys()].filter((key) => !after.has(key))).toEqual(
      ['20310317-1', '20310324-1', '20310331-1'].map((id) => `lesson untis-9-T ${id}`),
    );

    // What was cut off would delete most of it: a check says so first.
    const cutOff = { 'GPU001.TXT': lines.slice(0, beginning).join('\n') };
    const checked = await school.imports(cutOff, schoolOptions, '?ValidateOnly=true');
    expect(checked.batch.Errors?.[0]).toMatchObject({
      Severity: 'Warning',
      Code: 'LimitExceeded',
      Message: expect.stringContaining('was the file cut off?'),
    });
    const cut = await school.accept(cutOff, schoolOptions);
    const refused = await school.client.end(cut.BatchId);
    expect([refused.ImportStatus, refused.ErrorMessages]).toEqual([
      'LessonsImportFailed',
      expect.stringContaining('was the file cut off?'),
    ]);
    expect(await school.stored()).toEqual(after);
    // What begins before a day stays.
    const later = await school.imports(cutOff, { ...schoolOptions, since: '2031-04-04', allowRemoval: true });
    expect(later.accepted.LessonCount).toBe(beginning / 5);
    expect((await school.stored()).size).toBe(perDay * 12 + beginning / 5);
  });

  const count = times(30_000, 100_000);
  test(`${count} lines are read and grouped without being kept in memory`, async () => {
    setFlagsFromString('--expose-gc');
    const collect = runInNewContext('gc') as () => void;
    const line = (at: number) => {
      const slot = Math.floor(at / rooms.length);
      const begin = 480 + (slot % 8) * 50;
      const date = new Date(Date.UTC(2032, 0, 5 + Math.floor(slot / 8))).toISOString().slice(0, 10);
      return `${at};${date};${clock(begin)};${clock(begin + 45)};${rooms[at % rooms.length]};${at} ${'x'.repeat(60)};${at % 40}a\n`;
    };
    const read = async function* () {
      yield Buffer.from('Nr;Datum;Beginn;Ende;Raum;Bemerkung;Klasse\n');
      for (let at = 0; at < count; at += 500)
        yield Buffer.from(Array.from({ length: 500 }, (_, more) => line(at + more)).join(''));
      yield Buffer.from('last;31.02.2032;08:00;08:45;R1;;');
    };
    const report = openReport(['all.csv']);
    const bins = openBins(openLog('silent'), 100_000_000);
    const live: number[] = [];
    let entries = 0;
    const look = () => {
      // At the first, and at each half of the reading and of the grouping.
      if (++entries !== 1 && entries % (count / 2) !== 0) return;
      collect();
      live.push(process.memoryUsage().heapUsed);
    };
    const take = async (key: string, entry: TimetableEntry) => {
      await bins.put(key, entry);
      look();
    };
    const term = openTerm({ Term: null, Periods: [], Since: null }, 'Europe/Berlin');
    const found = await readFile({ at: 0, name: 'all.csv', read }, undefined, { term, mapping: null, report, take });
    expect(found).toMatchObject({ format: 'CSV', lines: count + 2 });
    expect(() => report.check()).toThrow(`all.csv line ${count + 2}, column 2 (Datum): "31.02.2032"`);
    for await (const [, grouped] of bins.jobs()) grouped.forEach(look);
    await bins.close();
    expect(entries).toBe(2 * count);
    // Kept, the lines alone would take three times as much.
    expect(Math.max(...live) - Math.min(...live)).toBeLessThan(8_000_000);
  });
});

describe('faults', () => {
  const gpu001 = (line: string, encoding: BufferEncoding = 'utf8') => ({
    'GPU001.TXT': Buffer.from(`1,"5a","Mül","M","R101",1,1,,\n${line}`, encoding),
  });
  const csv = (line: string, head = 'Nr;Datum;Beginn;Ende;Raum;Fach;Klasse') => ({ 'a.csv': `${head}\n${line}` });
  const event = (...lines: string[]) =>
    ['BEGIN:VCALENDAR', 'VERSION:2.0', 'BEGIN:VEVENT', 'UID:event-1', ...lines, 'END:VEVENT', 'END:VCALENDAR'].join(
      '\r\n',
    );
  const { timeGrid } = small as { timeGrid: object };
  type Case = [
    what: string,
    files: Record<string, string | Buffer>,
    line: number,
    column: number | null,
    code: string,
    options?: object,
  ];
  const cases: Case[] = [
    ['a day that is none', gpu001('2,"5a","Mül","M","R101",0,1,,'), 2, 6, 'InvalidNumber'],
    ['a period that the grid does not have', gpu001('2,"5a","Mül","M","R101",5,6,,'), 2, 7, 'UnknownPeriod'],
    ['a room that there is not', gpu001('2,"5a","Mül","M","R 101",1,2,,'), 2, 5, 'UnknownRoom'],
    ['two rooms in one field', gpu001('2,"5a","Mül","M","R101, R102",1,2,,'), 2, 5, 'UnknownRoom'],
    ['a room of a CSV that there is not', csv('1;01.03.2027;8:00;8:45;R 101;M;5a'), 2, 5, 'UnknownRoom'],
    [
      'a room of a substitution that there is not',
      { ...gpu001(''), 'GPU014.TXT': '1;"20270315";1;;1;"";"";"M";;"";;"";"R 101";;"";"";"";0' },
      1,
      13,
      'UnknownRoom',
    ],
    ['a line that was cut off', gpu001('2,"5a","Mü'), 2, 3, 'CutOff'],
    ['a line with too few fields', gpu001('2,5a,M'), 2, 3, 'TooFewFields'],
    ['text after a quote', gpu001('2,"5a"b,"M","M","R101",1,1,,'), 2, 2, 'TextAfterQuote'],
    ['a NUL byte', gpu001('2,"5a","M\0","M","R101",1,1,,'), 2, null, 'NoText'],
    [
      'UTF-8 that ends inside a character',
      { 'GPU001.TXT': Buffer.from('1,"5ä","Mül","M","R101",1,1,ü').subarray(0, -1) },
      1,
      null,
      'CutOff',
    ],
    ['a line without an end', gpu001('x'.repeat(100_000)), 2, 1, 'LineTooLong'],
    [
      'a group that names no weeks',
      { ...gpu001(''), 'GPU002.TXT': `1${','.repeat(11)}"WX",,,,` },
      1,
      12,
      'UnknownWeeks',
    ],
    ['a zipped file', { 'GPU001.TXT': Buffer.from([0x50, 0x4b, 3, 4, 0, 0]) }, 1, null, 'NoText'],
    [
      'a lesson of more lines than a week has',
      gpu001(Array.from({ length: 2_001 }, (_, at) => `7,${at},"M","M","R101",1,1,,`).join('\n')),
      2_002,
      null,
      'TooManyLines',
    ],
    ['an empty file', { 'GPU001.TXT': '' }, 1, null, 'EmptyFile'],
    ['an ü of MS-DOS', gpu001('2,"5a","M\x81l","M","R101",1,1,,', 'latin1'), 2, null, 'NoText'],
    ['an ä of MS-DOS', gpu001('2,"5a","M\x84rz","M","R101",1,1,,', 'latin1'), 2, null, 'NoText'],
    ['an ö of MS-DOS', gpu001('2,"5a","Sch\x94n","M","R101",1,1,,', 'latin1'), 2, null, 'NoText'],
    ['an ü of an old Mac', gpu001('2,"5a","M\x9fller","M","R101",1,1,,', 'latin1'), 2, null, 'NoText'],
    ['UTF-32', { 'GPU001.TXT': Buffer.from([0xff, 0xfe, 0, 0, 0x31, 0, 0, 0]) }, 1, null, 'NoText'],
    ['UTF-32 in the other order', { 'GPU001.TXT': Buffer.from([0, 0, 0xfe, 0xff, 0, 0, 0, 0x31]) }, 1, null, 'NoText'],
    [
      'one letter of Windows in UTF-8',
      {
        'GPU001.TXT': Buffer.concat([
          Buffer.from('1,"5a","Mül","Ö","R101",1,1,,\n2,"5a","M'),
          Buffer.from('ül","M","R101",1,2,,', 'latin1'),
        ]),
      },
      2,
      null,
      'NoText',
    ],
    ['a year of four digits that is none', csv('1;01.03.0027;8:00;8:45;R101;M;5a'), 2, 2, 'InvalidDate'],
    ['a page of a website', { 'GPU001.TXT': '<!DOCTYPE html><html></html>' }, 1, null, 'WrongFormat'],
    ['XML', { 'asc.xml': '<?xml version="1.0"?>\n<timetable/>' }, 1, null, 'WrongFormat'],
    ['a date that is none', csv('1;31.02.2027;8:00;8:45;R101;M;5a'), 2, 2, 'InvalidDate'],
    ['a time that is none', csv('1;01.03.2027;24:10;8:45;R101;M;5a'), 2, 3, 'InvalidTime'],
    ['a time that the clocks skip', csv('1;28.03.2027;2:30;3:15;R101;M;5a'), 2, 3, 'InvalidTime'],
    ['an end before the beginning', csv('1;01.03.2027;9:00;8:45;R101;M;5a'), 2, 4, 'InvalidTime'],
    [
      'one id twice',
      csv('1;01.03.2027;8:00;8:45;R101;M;5a\n1;02.03.2027;8:00;8:45;R101;M;5a'),
      3,
      1,
      'DuplicateLesson',
    ],
    [
      'one time with two ends, where no column has ids',
      csv('01.03.2027;8:00;8:45;R101\n01.03.2027;8:00;9:30;R101', 'Datum;Von;Bis;Raum'),
      3,
      null,
      'DuplicateLesson',
    ],
    ['a text with a separator and no quotes', csv('1;01.03.2027;8:00;8:45;R101;M;5a;5b'), 2, null, 'TooManyFields'],
    ['a CSV without rooms', csv('1;2', 'Nr;Datum'), 1, null, 'UnknownColumn'],
    ['two columns of one name', csv('1;2;3', 'Raum;Datum;raum'), 1, 3, 'RepeatedColumn'],
    ['a weekday that is none', csv('Mond;1;R101', 'Tag;Stunde;Raum'), 2, 1, 'InvalidDay'],
    ['a status that is none', csv('Mo;1;R101;constructor', 'Tag;Stunde;Raum;Status'), 2, 4, 'InvalidStatus'],
    [
      'a calendar that was cut off',
      { 'a.ics': event('DTSTART:20270315T080000', 'LOCATION:R101').slice(0, -20) },
      7,
      null,
      'CutOff',
    ],
    [
      'a time zone that nobody knows',
      { 'a.ics': event('DTSTART;TZID=Mars:20270315T080000', 'LOCATION:R101') },
      5,
      9,
      'UnknownTimeZone',
    ],
    [
      'a rule that is none',
      { 'a.ics': event('DTSTART:20270315T080000', 'DURATION:PT45M', 'RRULE:FREQ=SOMETIMES', 'LOCATION:R101') },
      7,
      7,
      'InvalidRule',
    ],
    [
      'an event of no length, beside an alarm',
      {
        'a.ics': event(
          ...['BEGIN:VALARM', 'DURATION:PT5M', 'END:VALARM', 'DTSTART:20270315T080000'],
          ...['DESCRIPTION:One', ' more line', 'DURATION:PT0S', 'LOCATION:R101'],
        ),
      },
      11,
      10,
      'InvalidTime',
    ],
  ];

  test.each(cases)('%s', async (_what, files, Line, Column, Code, options = small) => {
    const school = await enterSchool(service);
    const found = await school.faults(files, options);
    expect(found.map((fault) => [fault.Line, fault.Column, fault.Code])).toContainEqual([Line, Column, Code]);
    for (const { Message } of found) expect(Message).toMatch(/^\S+ line \d+/);
    expect((await school.stored()).size).toBe(0);
  });

  test('all of them at once; a nearest room is told, and a room may be named or left out', async () => {
    const school = await enterSchool(service);
    const lines = [
      '1,"5a","M","M","Turnhale 1",1,1,,',
      '2,"5a","M","M","Hof",1,9,,',
      '2,"5a","M","M","Hof",8,1,,',
    ].join('\n');
    const found = await school.faults({ 'GPU001.TXT': lines }, { ...small, rooms: { Hof: null } });
    expect(found.map(({ Line, Code }) => [Line, Code])).toEqual([
      [1, 'UnknownRoom'],
      [2, 'UnknownPeriod'],
      [3, 'InvalidNumber'],
    ]);
    expect(found[0]?.Message).toContain('(Turnhalle 1?)');
    const unlike = ['Turnhalle 1 Nord', 'Bad'].map((room, at) => `${at + 1},"5a","M","M","${room}",${at + 1},1,,`);
    expect((await school.faults({ 'GPU001.TXT': unlike.join('\n') })).map(({ Message }) => Message)).toEqual([
      expect.stringContaining('"Turnhalle 1 Nord" is not a room (Turnhalle 1?); correct it'),
      expect.stringContaining('"Bad" is not a room; correct it'),
    ]);
    const [renamed] = await school.faults(
      { 'GPU001.TXT': '1,"5a","M","M","TH",1,1,,' },
      { ...small, rooms: { TH: 'Turnhalle 9' } },
    );
    expect(renamed?.Message).toContain('"Turnhalle 9", as Rooms calls "TH", is not a room (Turnhalle 1?)');
    const fields = Array.from({ length: 201 }, () => 'x').join(',');
    const [wide] = await school.faults({ 'GPU001.TXT': `1,"5a","M","M","R101",1,1,,\n${fields}` });
    expect(wide?.Message).toMatch(/right file\?$/);
  });

  test('a fault of a CSV names the heading of its column, also of a room; a header without a separator tells which there are, and a title that it is none', async () => {
    const school = await enterSchool(service);
    const told = async (text: string, options = {}) =>
      (await school.faults({ 'a.csv': text }, options)).map(({ Field, Message }) => [Field, Message]);
    const mapping = { Date: 'tag', Begin: 'von', End: 'bis', Room: 'saal' };
    expect(await told('Tag;Von;Bis;Saal\n31.02.2027;8:00;8:45;R101\n01.03.2027;25:00;8:45;R101', { mapping })).toEqual([
      ['Tag', expect.stringMatching(/^a\.csv line 2, column 1 \(Tag\): "31\.02\.2027" is not a date/)],
      ['Von', expect.stringMatching(/^a\.csv line 3, column 2 \(Von\): "25:00" is not a time/)],
    ]);
    expect(await told('Tag;Von;Bis;Saal\n01.03.2027;8:00;8:45;R 101', { mapping })).toEqual([
      ['Saal', expect.stringMatching(/^a\.csv line 2, column 4 \(Saal\): "R 101" is not a room/)],
    ]);
    for (const options of [{}, { mapping }])
      expect(await told('Tag|Von|Bis|Saal\n01.03.2027|8:00|8:45|R101', options)).toEqual([
        [null, expect.stringContaining('fields must be separated by semicolon, comma or tab')],
      ]);
    expect(await told('Stundenplan;;;\nTag;Von;Bis;Saal\n01.03.2027;8:00;8:45;R101')).toEqual([
      [null, expect.stringContaining('the first line must name the columns: delete lines above it')],
    ]);
  });

  test('a CSV of weekdays with clock times is told that these need dates or periods, beside other columns that it lacks', async () => {
    const school = await enterSchool(service);
    const told = async (text: string) =>
      (await school.faults({ 'a.csv': text }, {})).map(({ Code, Message }) => `${Code} ${Message}`);
    const why =
      'clock times need dates, and weekdays need periods of the time grid: add a column of dates or of periods';
    expect(await told('Tag;Von;Bis;Saal\nMontag;8:00;8:45;R101')).toEqual([
      `ClocksWithoutDates a.csv line 1: ${why}, or name it in Mapping. The columns are "Tag, Von, Bis, Saal".`,
    ]);
    expect(await told('Tag;Von;Bis\nMontag;8:00;8:45')).toEqual([
      expect.stringContaining(`ClocksWithoutDates a.csv line 1: ${why}`),
      expect.stringContaining('UnknownColumn a.csv line 1: no column was recognised as Room; the first line'),
    ]);
    expect(await told('Tag;Saal\nMontag;R101')).toEqual([
      expect.stringContaining('UnknownColumn a.csv line 1: no column was recognised as Period; the first line'),
    ]);
  });

  test.each([
    'Mo, 15.03.2027',
    'Mo,  15.03.2027',
    'Mo,15.03.2027',
    'Montag 15. 3. 27',
    'mo. 2027-03-15',
    '15.03.2027 00:00:00',
    '15.03.2027 0:00',
    '2027-03-15T00:00:00',
    '2027-03-15 00:00:00.000',
  ])('a date of a CSV may have its weekday, or midnight: %s', async (date) => {
    const school = await enterSchool(service);
    await school.imports({ 'a.csv': `Datum;Von;Bis;Raum;Fach\n"${date}";8:00;8:45;R101;A` }, {});
    const { Items } = await school.client.lessons('RessourceName=R101');
    expect(Items.map(({ Beginn }) => Beginn)).toEqual(['2027-03-15T07:00:00.000Z']);
  });

  test('a date of a CSV that is not on the weekday before it is refused with the right one', async () => {
    const school = await enterSchool(service);
    const told = async (date: string) =>
      (await school.faults({ 'a.csv': `Datum;Von;Bis;Raum\n${date};8:00;8:45;R101` }, {})).map(
        ({ Code, Message }) => `${Code} ${Message}`,
      );
    const place = 'OtherWeekday a.csv line 2, column 1 (Datum)';
    expect(await told('Di, 15.03.2027')).toEqual([
      `${place}: "15.03.2027" is a Monday, not "Di"; correct one of them.`,
    ]);
    expect(await told('Montag 2027-03-21 00:00:00')).toEqual([
      `${place}: "2027-03-21" is a Sunday, not "Montag"; correct one of them.`,
    ]);
  });

  test.each(['Tag 15.03.2027', 'Mo, 31.02.2027', '15.03.2027 08:00:00', '2027-03-15T00:00:00.000Z', 'Mo,'])(
    'a date of a CSV with another word, or another time, is none: %s',
    async (date) => {
      const school = await enterSchool(service);
      const text = `Datum;Von;Bis;Raum;Fach\n"${date}";8:00;8:45;R101;A`;
      expect((await school.faults({ 'a.csv': text }, {})).map(({ Code }) => Code)).toEqual(['InvalidDate']);
    },
  );

  test('a lesson of a CSV may last until 24:00, also where the clocks change on that day', async () => {
    const school = await enterSchool(service);
    const text = 'Datum;Von;Bis;Raum;Fach\n27.03.2027;22:00;24:00;R101;A\n28.03.2027;22:00;24:00;R101;A';
    await school.imports({ 'a.csv': text }, {});
    const { Items } = await school.client.lessons('RessourceName=R101');
    expect(Items.map(({ Ende }) => Ende)).toEqual(['2027-03-27T23:00:00.000Z', '2027-03-28T22:00:00.000Z']);
  });

  test('of a lesson of a CSV across midnight it is told how to write it', async () => {
    const school = await enterSchool(service);
    const [fault, ...others] = await school.faults({ 'a.csv': 'Datum;Von;Bis;Raum\n27.03.2027;22:00;1:00;R101' }, {});
    expect([fault?.Code, others]).toEqual(['InvalidTime', []]);
    expect(fault?.Message).toContain(
      '"1:00" is not after the beginning; divide a lesson across midnight into two lines',
    );
  });

  test('a CSV with a beginning and periods takes its times from the grid', async () => {
    const school = await enterSchool(service);
    await school.imports({ 'a.csv': 'Datum;Beginn;Stunde;Raum;Fach\n15.03.2027;;1;R101;M' }, small);
    const [job] = await school.jobs();
    expect(job).toMatchObject({ JobID: expect.stringContaining('csv-M') });
  });

  test('lessons of a CSV meet in a shared room at one time, and nowhere else', async () => {
    const school = await enterSchool(service);
    const text = `Datum;Von;Bis;Raum;Fach\n15.03.${nextYear};8:00;8:45;R101;M\n15.03.${nextYear};8:00;8:45;R101;D`;
    const refused = await school.client.end((await school.accept({ 'a.csv': text }, {})).BatchId);
    expect(refused.Errors).toMatchObject([{ Code: 'ResourceConflict' }]);
    await school.imports({ 'a.csv': text }, { sharedRooms: ['r101'] });
    const [one, other, ...more] = (await school.client.lessons('RessourceName=R101')).Items;
    expect([one?.BookingId, more]).toEqual([other?.BookingId, []]);
  });

  test.each([['Ku\u0308che'], ['Kitchen']])('a shared room may be called %s', async (name) => {
    const school = await enterSchool(service);
    const text = 'Datum;Von;Bis;Raum;Fach\n15.03.2027;8:00;8:45;Kitchen;M\n15.03.2027;8:00;8:45;Kitchen;D';
    await school.imports({ 'a.csv': text }, { rooms: { Kitchen: 'Küche' }, sharedRooms: [name] });
  });

  test('lines that name many rooms are refused before they fill the disk; and what is too large as jobs, as such', async () => {
    const own = await startService({ Limits__JobBodyBytes: '200000' });
    try {
      const name = 'turnhalle groß';
      const school = await enterSchool(own, [name]);
      const spelled = (at: number) => [...name].map((one, bit) => ((at >> bit) & 1 ? one.toUpperCase() : one)).join('');
      const rooms = Array.from({ length: 2_000 }, (_, at) => spelled(at)).join('~');
      const text = `Datum;Von;Bis;Raum;Bemerkung\n15.03.2027;8:00;8:45;${rooms};${'x'.repeat(4_000)}`;
      const many = Array.from({ length: 1_000 }, (_, at) => `15.03.2027;8:00;8:45;${name};${at}`).join('\n');
      for (const [file, message] of [
        [text, 'describe lessons in more than'],
        [`Datum;Von;Bis;Raum;Fach\n${many}`, 'As jobs, the lessons'],
      ]) {
        const answer = await school.post({ 'a.csv': file as string }, {});
        expect([answer.status, await answer.json()]).toEqual([
          413,
          expect.objectContaining({ detail: expect.stringContaining(message as string) }),
        ]);
      }
    } finally {
      await own.stop();
    }
  });

  const names = (letter: string) => Array.from({ length: 150 }, (_, at) => `${letter}${at}`).join('~');
  const both = (line: (names: string) => string) => ['a', 'b'].map((letter) => line(names(letter))).join('\n');
  const extras = both((classes) => `1;"20270316";1;;9;"";"A";"M";;"";;"";"R101";;"${classes}";"";"";0`);
  const dated = csv(
    both((teachers) => `14.06.2027;8:00;8:45;R101;${teachers}`),
    'Datum;Beginn;Ende;Raum;Lehrer',
  );
  test.each([
    ['GPU001', gpu001(both((classes) => `2,"${classes}","M","M","R101",5,1,,`)), 3, 'classes'],
    ['GPU014', { ...gpu001(''), 'GPU014.TXT': extras }, 2, 'classes'],
    ['CSV', dated, 3, 'teachers'],
  ])('lines of %s that together have more names than a lesson may have', async (_, files, Line, what) => {
    const school = await enterSchool(service);
    expect(await school.faults(files)).toMatchObject([
      { Line, Code: 'TooLong', Message: expect.stringContaining(`the lesson has more than 200 ${what}`) },
    ]);
  });

  test('lines of one weekday are merged with turns for other work in between', async () => {
    const days = { Name: 'T', From: '2027-03-15', To: '2027-07-23', Holidays: [], Weeks: [], Groups: [] };
    const Periods = [{ Day: null, Period: 1, Begin: '08:00', End: '08:45' }];
    const slot = {
      kind: 'slot',
      file: 0,
      day: 1,
      period: 1,
      room: 'R1',
      subject: '',
      classes: [],
      teachers: [],
    } as const;
    let slices = 0;
    const lessons = await planJob(
      'J1',
      Array.from({ length: 100 }, (_, line) => ({ ...slot, line })),
      {
        term: openTerm({ Term: days, Periods, Since: null }, 'UTC'),
        source: 'untis',
        report: openReport([]),
        roomOf: (name) => name,
        isShared: () => false,
        mostLessons: 1_000,
        search: { left: 0 },
        nextSlice: () => {
          slices++;
          return undefined;
        },
      },
    );
    expect(lessons).toHaveLength(19);
    expect(slices).toBeGreaterThan(19 * 100);
  });

  test('a missing time grid is told once, however many lines the file has', async () => {
    const school = await enterSchool(service);
    const { term } = small as { term: object };
    const found = await school.faults({ 'GPU001.TXT': fixture('gpu001-small.txt') }, { term });
    expect(found.map(({ Line, Code }) => [Line, Code])).toEqual([[1, 'MissingPeriods']]);
    expect(await school.faults({ 'a.csv': 'Tag;Stunde;Raum\nMo;1;R101\nDi;2;R101' }, { term })).toHaveLength(1);
  });

  test('files that say nothing together, and bodies that are none', async () => {
    const school = await enterSchool(service);
    const said = async (files: Record<string, string | Buffer>, options: object = small, query = '') =>
      ((await (await school.post(files, options, query)).json()) as { detail: string }).detail;
    expect(await said({ 'GPU014.TXT': fixture('gpu014-small.txt') })).toContain('the timetable GPU001 is missing');
    expect(await said(gpu001(''), { timeGrid })).toContain('send a term');
    expect(await said(gpu001(''), small, '?Format=ICalendar')).toContain('not iCalendar');
    expect(await said(gpu001(''), { ...small, term: { Id: 'T', From: '2027-03-16', To: '2027-03-16' } })).toContain(
      'no lesson in the term',
    );
    const term = (days: object) => ({ ...small, term: { Id: 'T', From: '2027-03-15', To: '2027-07-23', ...days } });
    expect(await said(gpu001(''), term({ To: '2026-07-23' }))).toBe(
      'Term: it ends on 2026-07-23, before it begins on 2027-03-15.',
    );
    expect(await said(gpu001(''), term({ To: '2028-07-23' }))).toContain('longer than 400 days; is one of the years');
    const backwards = { Name: 'Ostern', From: '2027-03-29', To: '2027-03-26' };
    expect(await said(gpu001(''), term({ Holidays: [backwards] }))).toBe(
      'Term.Holidays[0] Ostern: it ends on 2027-03-26, before it begins on 2027-03-29.',
    );
    expect(await said({})).toContain('Files');
    const send = (body: string) =>
      fetch(`${service.url}/${school.tenant.code}/api/v2.0/timetables`, {
        method: 'POST',
        headers: { Authorization: `Bearer ${school.token}`, 'Content-Type': 'application/json' },
        body,
      });
    for (const body of ['', '[', '{"Files":[{"Name":"a","Content":"***"}]}', '{"Files":[{"Name":"a","Content":"YQ'])
      expect([body, (await send(body)).status]).toEqual([body, 400]);
    expect((await send(JSON.stringify({ Files: [], More: 'x'.repeat(2_000_000) }))).status).toBe(413);
  });
});

test.each(['\n', '\r\n', '\r'])('the separator of a large file is found, whatever ends its lines: %j', (end) => {
  expect(findSeparator(`1;2;3,4${end}`.repeat(10_000)).separator).toBe(';');
});

test('Base64 may be written with escapes, as serializers of .NET and others do', async () => {
  const school = await enterSchool(service, ['R101']);
  const line = `14.06.2027;8:00;8:45;R101;${'>?'.repeat(300)}`;
  const text = `Datum;Von;Bis;Raum;Bemerkung\n${Array.from({ length: 200 }, () => line).join('\n')}`;
  const content = Buffer.from(text).toString('base64');
  const escapes: Record<string, string> = { '+': '\\u002B', '/': '\\/', '=': '\\u003d' };
  const written = content.replace(/[+/=]/g, (character) => escapes[character] as string);
  expect(written.length).toBeGreaterThan(content.length + 1_000);
  const answer = await fetch(`${service.url}/${school.tenant.code}/api/v2.0/timetables?ValidateOnly=true`, {
    method: 'POST',
    headers: { Authorization: `Bearer ${school.token}`, 'Content-Type': 'application/json' },
    body: `{"Files":[{"Name":"a.csv","Content":"${written}"}]}`,
  });
  expect([answer.status, await answer.json()]).toEqual([
    202,
    expect.objectContaining({ Files: [expect.objectContaining({ Lines: 201 })] }),
  ]);
});

describe('Base64 of a large body whose padding arrives before its closing quote', () => {
  const bytes = Buffer.alloc(1_300_000, 'text of a file');
  const content = bytes.toString('base64');
  /** The file of a body whose parts arrive as they are here; over HTTP, parts may arrive joined. */
  async function receive(padding: string, end: string): Promise<Buffer> {
    async function* parts() {
      yield Buffer.from(`{"Files":[{"Name":"a.csv","Content":"${content.slice(0, 1_600_000)}`);
      yield Buffer.from(`${content.slice(1_600_000, -2)}${padding}`);
      yield Buffer.from(end);
    }
    const viewer = { mandatorId: 1, personId: 1 } as Viewer;
    return await withIntake(service.context, viewer, parts(), async ({ sent, read }) => {
      expect(sent).toEqual({ Files: [{ Name: 'a.csv', Content: '0' }] });
      const pieces: Uint8Array[] = [];
      for await (const piece of read(0)()) pieces.push(piece);
      return Buffer.concat(pieces);
    });
  }

  test.each([
    ['==', '"}]}'],
    ['=', '="}]}'],
    ['\\u003d\\u003d', '"}]}'],
    ['=\\u00', '3d"}]}'],
  ])('is read: %s, then %s', async (padding, end) => {
    expect((await receive(padding, end)).equals(bytes)).toBe(true);
  });

  test.each([
    ['==', 'QQ=="}]}'],
    ['===', '"}]}'],
  ])('is refused where it does not end the file: %s, then %s', async (padding, end) => {
    await expect(receive(padding, end)).rejects.toThrow('Files[0].Content: not Base64');
  });
});

test('neither the order of lines nor encoding, separator and line ends matter', async () => {
  const school = await enterSchool(service);
  const lines = new TextDecoder('windows-1252').decode(fixture('gpu001-small.txt')).trim().split(/\r?\n/);
  const weeks = fixture('gpu002-small.txt');
  await school.imports({ 'GPU001.TXT': fixture('gpu001-small.txt'), 'GPU002.TXT': weeks });
  const none = { Added: 0, Changed: 0, Moved: 0, Removed: 0, Unchanged: 31 };
  const encodings: Record<string, (text: string) => Buffer> = {
    utf8: (text) => Buffer.from(text),
    mark: (text) => Buffer.from(`\uFEFF${text}`),
    utf16: (text) => Buffer.from(`\uFEFF${text}`, 'utf16le'),
    utf16be: (text) => Buffer.from(`\uFEFF${text}`, 'utf16le').swap16(),
    windows: (text) => Buffer.from(text.replaceAll('–', '\x96'), 'latin1'),
  };
  await fc.assert(
    fc.asyncProperty(
      fc.shuffledSubarray(lines, { minLength: lines.length }),
      fc.constantFrom(...Object.keys(encodings)),
      fc.constantFrom(',', ';', '\t'),
      fc.constantFrom('\n', '\r\n', '\r'),
      async (order, encoding, separator, end) => {
        const written = order.map((line) =>
          [...line.matchAll(/("(?:[^"]|"")*"|[^,]*)(?:,|$)/g)]
            .map(([, cell]) => cell)
            .slice(0, 9)
            .join(separator),
        );
        const file = (encodings[encoding] as (text: string) => Buffer)(written.join(end));
        expect(await school.compare({ 'plan.txt': file, 'GPU002.TXT': weeks })).toMatchObject(none);
      },
    ),
    { numRuns: times(6, 60) },
  );
});
