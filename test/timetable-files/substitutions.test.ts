/** What GPU014 makes of the lessons of GPU001. */
import { afterAll, beforeAll, describe, expect, test } from '@jest/globals';
import { ahead } from '../_util/ahead.ts';
import { type Service, startService } from '../_util/service.ts';
import { enterSchool, small } from './_util/school.ts';

let service: Service;
beforeAll(async () => {
  service = await startService();
});
afterAll(() => service.stop());

/** On Mondays one room; on Tuesdays two, each with a teacher of its own. */
const timetable = ['1,"5a","A","M","R101",1,1,,', '2,"5a","C","Sp","R101",2,1,,', '2,"5b","D","Sp","R102",2,1,,'].join(
  '\n',
);
const options = { ...small, rooms: { Hof: null } };
/** Where a batch would tell that lessons are over: the term and a day of it lie ahead. */
const optionsAhead: typeof options = JSON.parse(ahead(JSON.stringify(options)));
const dayAhead = (date: string) => ahead(date).replaceAll('-', '');

type Told = { date: string; lesson: number; period?: number; bits?: number } & Partial<
  Record<'absent' | 'teacher' | 'old' | 'room' | 'classes', string>
>;
const row = (
  id: number,
  { date, lesson, period = 1, bits = 0, absent = '', teacher = '', old = '', room = '', classes = '' }: Told,
) =>
  `${id};"${date}";${period};;${lesson};"${absent}";"${teacher}";"";;"";;"${old}";"${room}";;"${classes}";"";"";${bits};"";"";202703150700`;

/** The lessons of a number that are substituted, by id and room, and the codes of the notices. */
async function substitute(lesson: number, ...changes: Told[]) {
  const school = await enterSchool(service);
  const rows = changes.map((change, at) => row(at + 1, change)).join('\n');
  const { accepted } = await school.imports({ 'GPU001.TXT': timetable, 'GPU014.TXT': rows }, options);
  const jobs = new Map((await school.jobs()).map(({ JobID, LektionList }) => [JobID, LektionList]));
  const lessons = (jobs.get(`untis-${lesson}-2627-2`) ?? []) as Record<string, unknown>[];
  return {
    all: lessons.map(({ LektionId, RessourceName }) => `${LektionId} ${RessourceName}`),
    changed: lessons.flatMap(({ LektionId, RessourceName, Status, Lehrpersonen, Klassen }) =>
      Status === 'Vertretung' ? [[LektionId, RessourceName, Lehrpersonen, Klassen]] : [],
    ),
    notices: accepted.Notices.map(({ Code }) => Code),
  };
}

test('a lesson that moves to several rooms is in each of them, and keeps its id in the first', async () => {
  const moves = { date: '20270315', lesson: 1, absent: 'A', teacher: 'A', old: 'R101' };
  expect((await substitute(1, { ...moves, room: 'R102~R101' })).changed).toEqual([
    ['20270315-1', 'R101', ['A'], ['5a']],
    ['20270315-1-R102', 'R102', ['A'], ['5a']],
  ]);
  expect((await substitute(1, { ...moves, room: 'Physiksaal~R102' })).changed).toEqual([
    ['20270315-1', 'Physiksaal', ['A'], ['5a']],
    ['20270315-1-R102', 'R102', ['A'], ['5a']],
  ]);
});

test('of a lesson in several rooms a substitution that names them all changes its own part alone', async () => {
  const rooms = { old: 'R101~R102', room: 'R101~R102' };
  const { changed } = await substitute(2, { ...rooms, date: '20270316', lesson: 2, absent: 'D', teacher: 'E' });
  expect(changed).toEqual([['20270316-1-D', 'R102', ['E'], ['5b']]]);
});

test('of a lesson in several rooms with one teacher a substitution changes the part in the room that it names, or all', async () => {
  const both = ['3,"5a","A","M","R101",4,1,,', '3,"5b","A","M","R102",4,1,,'].join('\n');
  const away = { date: '20270318', lesson: 3, absent: 'A' };
  const statesAfter = async (...changes: Told[]) => {
    const school = await enterSchool(service);
    const rows = changes.map((change, at) => row(at + 1, change)).join('\n');
    await school.imports({ 'GPU001.TXT': both, 'GPU014.TXT': rows }, options);
    const lessons = ((await school.jobs())[0]?.LektionList ?? []) as Record<string, unknown>[];
    return lessons
      .filter(({ LektionId }) => String(LektionId).startsWith('20270318'))
      .map(({ RessourceName, Status, Lehrpersonen }) => [RessourceName, Status, Lehrpersonen]);
  };
  expect(await statesAfter({ ...away, old: 'R102', bits: 1 })).toEqual([
    ['R101', 'Geplant', ['A']],
    ['R102', 'Entfaellt', ['A']],
  ]);
  expect(
    await statesAfter(
      { ...away, old: 'R102', room: 'Physiksaal', teacher: 'E' },
      { ...away, old: 'R101', teacher: 'F' },
    ),
  ).toEqual([
    ['R101', 'Vertretung', ['F']],
    ['Physiksaal', 'Vertretung', ['E']],
  ]);
  expect(await statesAfter({ ...away, bits: 1 })).toEqual([
    ['R101', 'Entfaellt', ['A']],
    ['R102', 'Entfaellt', ['A']],
  ]);
});

describe('of a lesson in several rooms with one teacher', () => {
  const lines = ['R101', 'R102', 'Hof'].map((room) => `3,"5a","A","M","${room}",4,1,,`).join('\n');
  const move = { date: '20270318', lesson: 3, absent: 'A', teacher: 'A' };
  async function changedBy(change: Partial<Told>) {
    const school = await enterSchool(service);
    const files = { 'GPU001.TXT': lines, 'GPU014.TXT': row(1, { ...move, ...change }) };
    const { accepted } = await school.imports(files, options);
    const lessons = ((await school.jobs())[0]?.LektionList ?? []) as Record<string, unknown>[];
    const bookings = await service.context.db
      .selectFrom('booking')
      .where('mandator_id', '=', school.tenant.mandatorId)
      .where('status', '=', 'Confirmed')
      .select('id')
      .execute();
    return {
      lessons: lessons.flatMap(({ LektionId, RessourceName, Status }) =>
        String(LektionId).startsWith('20270318') ? `${LektionId} ${RessourceName} ${Status}` : [],
      ),
      bookings: bookings.length - lessons.length,
      notices: accepted.Notices.map(({ Code }) => Code),
    };
  }

  test.each([
    ['R101~Werkraum, UG', ['R101 R101', 'R102 Werkraum, UG'], 0],
    ['Küche~Physiksaal', ['R101 Küche', 'R102 Physiksaal'], 0],
    ['Küche~Physiksaal~R101', ['R101 R101', 'R101-Physiksaal Physiksaal', 'R102 Küche'], 0],
    ['Physiksaal', ['R101 Physiksaal', 'R102 Physiksaal'], -1],
  ])('a move to %s gives each part a room of its own, as far as there are so many', async (room, parts, bookings) => {
    const { lessons, ...rest } = await changedBy({ old: 'R101~R102', room });
    expect(lessons).toEqual(parts.map((part) => `20270318-1-A-${part} Vertretung`));
    expect(rest).toEqual({ bookings, notices: [] });
  });

  test('a change of the part in a room that is left out changes no other part', async () => {
    const { lessons, notices } = await changedBy({ old: 'Hof', bits: 1 });
    expect(lessons).toEqual(['20270318-1-A-R101 R101 Geplant', '20270318-1-A-R102 R102 Geplant']);
    expect(notices).toEqual(['NoSuchLesson']);
  });
});

test('a conflict of a lesson that a substitution moves is told with the line of the substitution', async () => {
  const school = await enterSchool(service);
  const moves = row(1, {
    date: dayAhead('2027-03-22'),
    lesson: 4,
    absent: 'B',
    teacher: 'B',
    old: 'R102',
    room: 'R101',
  });
  const planned = { 'GPU001.TXT': `${timetable}\n4,"5b","B","D","R102",1,1,,` };
  await school.imports(planned, optionsAhead);
  const { BatchId } = await school.accept({ ...planned, 'GPU014.TXT': `\n${moves}` }, optionsAhead);
  expect((await school.client.end(BatchId)).Errors).toMatchObject([
    { Code: 'ResourceConflict', Pointer: '/Files/1', Line: 2, Message: expect.stringContaining('R101 is occupied') },
  ]);
});

test('extra lessons of no number in one room at one time share their booking', async () => {
  const school = await enterSchool(service);
  const exam = { date: '20270317', lesson: 0, period: 3, room: 'Physiksaal' };
  const rows = [row(1, { ...exam, teacher: 'A', classes: '5a' }), row(2, { ...exam, teacher: 'B', classes: '5a~5b' })];
  await school.imports({ 'GPU001.TXT': timetable, 'GPU014.TXT': rows.join('\n') }, options);
  const from = 'From=2027-03-17T00:00:00Z&To=2027-03-18T00:00:00Z';
  const answer = await fetch(`${service.url}/${school.tenant.code}/api/v1.0/bookings?${from}`, {
    headers: { Authorization: `Bearer ${school.token}` },
  });
  expect((await answer.json()).Items).toMatchObject([
    { ResourceName: 'Physiksaal', Lektion: { Klassen: ['5a', '5b'], Lehrpersonen: ['A', 'B'] } },
  ]);
});

test('an extra lesson shares no booking with one of another timetable', async () => {
  const school = await enterSchool(service);
  const exam = row(1, {
    date: dayAhead('2027-03-17'),
    lesson: 0,
    period: 3,
    room: 'Physiksaal',
    teacher: 'A',
    classes: '5a',
  });
  const files = { 'GPU001.TXT': timetable, 'GPU014.TXT': exam };
  await school.imports(files, { ...optionsAhead, source: 'lower' });
  const other = { 'GPU001.TXT': '9,"9a","Z","M","Küche",1,1,,', 'GPU014.TXT': exam };
  const { BatchId } = await school.accept(other, { ...optionsAhead, source: 'upper' });
  expect((await school.client.end(BatchId)).Errors).toMatchObject([
    { Code: 'ResourceConflict', Message: expect.stringContaining('Physiksaal is occupied') },
  ]);
});

test('a lesson that moves to a room that is left out is left out itself, and its room is free', async () => {
  const { all, notices } = await substitute(1, { date: '20270315', lesson: 1, absent: 'A', teacher: 'A', room: 'Hof' });
  expect([all, notices]).toEqual([['20270322-1 R101'], ['WithoutRoom']]);
});

test('what takes place besides, in one room at one time, is one lesson, with all teachers and classes', async () => {
  const besides = { date: '20270317', lesson: 1, period: 2, bits: 128, room: 'R102' };
  const { changed } = await substitute(
    1,
    { ...besides, teacher: 'A', classes: '5a' },
    { ...besides, teacher: 'B', classes: '5b' },
    { ...besides, teacher: 'C', room: 'R101' },
  );
  expect(changed).toEqual([
    ['20270317-2', 'R102', ['A', 'B'], ['5a', '5b']],
    ['20270317-2-v3', 'R101', ['C'], undefined],
  ]);
});
