import net from 'node:net';
import { afterAll, beforeAll, describe, expect, test } from '@jest/globals';
import { nextYear } from '../_util/ahead.ts';
import { masterData } from '../_util/master-data.ts';
import { type Service, startService } from '../_util/service.ts';
import { enterSchool, fixture, fixtureJson, small } from './_util/school.ts';

let service: Service;
beforeAll(async () => {
  service = await startService();
});
afterAll(() => service.stop());

const gpu001 = { 'GPU001.TXT': fixture('gpu001-small.txt'), 'GPU002.TXT': fixture('gpu002-small.txt') };
const withChanges = { ...gpu001, 'GPU014.TXT': fixture('gpu014-small.txt') };

type Lesson = { LektionId: string; Klassen: string[]; Lehrpersonen: string[] };
type Jobs = { JobID: string; LektionList: Lesson[] }[];
/** Klassen and Lehrpersonen are sets. */
const asSets = (jobs: Jobs): Jobs =>
  jobs.map(({ JobID, LektionList }) => ({
    JobID,
    LektionList: LektionList.map((lesson) => ({
      ...lesson,
      Klassen: lesson.Klassen.toSorted(),
      Lehrpersonen: lesson.Lehrpersonen.toSorted(),
    })).sort((one, other) => (one.LektionId < other.LektionId ? -1 : 1)),
  }));

describe('the published example', () => {
  test('GPU001 with GPU002: its lessons over the term, without holidays, at the local times of summer and winter', async () => {
    const school = await enterSchool(service);
    const { accepted } = await school.imports(gpu001);
    const expected = fixtureJson('gpu001-small.expected.json');
    expect(await school.jobs()).toEqual(asSets(expected.Jobs));
    expect(accepted).toMatchObject({
      LessonCount: expected.LessonCount,
      JobCount: expected.Jobs.length,
      NoticeCount: 1,
      Notices: [{ File: 'GPU001.TXT', Line: 12, Code: 'WithoutRoom' }],
      Files: [
        { Name: 'GPU001.TXT', Format: 'GPU001', Encoding: 'windows-1252', Separator: ',', Lines: 17 },
        { Name: 'GPU002.TXT', Format: 'GPU002' },
      ],
    });
  });

  test('GPU014 on top: exactly what it changes is written; without it again, all is as it was', async () => {
    const school = await enterSchool(service);
    await school.imports(gpu001);
    const before = await school.jobs();
    const rows = await school.stored();
    const expected = fixtureJson('gpu014-small.expected.json');
    const { accepted } = await school.imports(withChanges);
    expect(accepted.Notices.map(({ Code, File }) => [File, Code])).toEqual([
      ['GPU001.TXT', 'WithoutRoom'],
      ['GPU014.TXT', 'BreakDuty'],
      ['GPU014.TXT', 'NoSuchLesson'],
    ]);
    const after = new Map(
      ((await school.jobs()) as Jobs).flatMap(({ JobID, LektionList }) =>
        LektionList.map((lesson) => [`lesson ${JobID} ${lesson.LektionId}`, { JobID, ...lesson }] as const),
      ),
    );
    for (const added of expected.LessonsAdded)
      expect(after.get(`lesson ${added.JobID} ${added.LektionId}`)).toMatchObject(added);
    for (const { JobID, LektionId, Set: set } of expected.LessonsChanged)
      expect(after.get(`lesson ${JobID} ${LektionId}`)).toMatchObject(set);
    const now = await school.stored();
    const untouched = [...now].filter(([key, row]) => rows.get(key) === row);
    expect(untouched).toHaveLength(expected.LessonsUnchanged);
    expect(now.size - untouched.length).toBe(expected.LessonsAdded.length + expected.LessonsChanged.length);

    await school.imports(gpu001);
    expect(await school.jobs()).toEqual(before);
  });

  test.each([
    ['of no bytes', ''],
    ['with a byte order mark and the end of a line', '\ufeff\r\n'],
  ])('GPU014 without lines, %s: there are no substitutions any more', async (_, nothing) => {
    const school = await enterSchool(service);
    await school.imports(gpu001);
    const before = await school.jobs();
    await school.imports(withChanges);
    const { accepted } = await school.imports({ ...gpu001, 'GPU014.TXT': nothing });
    expect(accepted.Files).toContainEqual(expect.objectContaining({ Name: 'GPU014.TXT', Format: 'GPU014', Lines: 0 }));
    expect(await school.jobs()).toEqual(before);
  });

  test('a CSV by hand: its fault by line and column; without it, its lessons', async () => {
    const school = await enterSchool(service, ['Küche', 'Aula – Nord', 'R101']);
    const csv = fixture('excel-de.csv');
    const expected = fixtureJson('excel-de.expected.json');
    const options = { source: 'csv-ag', mapping: { Key: 'Nr', Teachers: 'Lehrkraft' } };
    const [fault, ...others] = await school.faults({ 'AG.csv': csv }, options);
    expect(others).toEqual([]);
    expect(fault).toMatchObject({ Line: 9, Column: 2, Code: 'InvalidDate', Field: 'Datum' });
    expect(fault?.Message).toContain('AG.csv line 9, column 2 (Datum): "31.02.2027"');
    const right = csv
      .toString()
      .split('\n')
      .filter((line) => !line.startsWith('X-1'))
      .join('\n');
    await school.imports({ 'AG.csv': right }, options);
    expect(await school.jobs()).toEqual(asSets(expected.Jobs));
  });

  test('what is wrong with a lesson is told with the line of its file by the batch, too', async () => {
    const school = await enterSchool(service, ['R101', 'Küche']);
    const row = (begin: string, room: string, subject: string) =>
      `14.06.${nextYear};${begin};9:30;${room};${subject};Titel ${subject}`;
    const head = 'Datum;Von;Bis;Raum;Fach;Titel';
    const rows = [row('8:00', 'R101', 'M'), '', row('8:00', 'Küche', 'D')];
    const files = { 'a.csv': head, 'b.csv': [head, ...rows, row('9:00', 'R101', 'E')].join('\n') };
    const { Errors } = await school.client.end((await school.accept(files, {})).BatchId);
    expect(Errors).toMatchObject([{ Code: 'ResourceConflict', JobID: 'csv-E', Line: 5, Pointer: '/Files/1' }]);
    await school.imports({ 'b.csv': [head, ...rows].join('\n') }, {});
    expect((await school.client.lessons('JobID=csv-M')).Items).toMatchObject([{ Fach: 'M', Titel: 'Titel M' }]);
  });

  test('usual headings, however they are written, are the same that the console finds', async () => {
    const school = await enterSchool(service, ['R101']);
    const csv = 'Datum;Startzeit;End-Time;SAAL;Kurs;Dozentin\n14.06.2027;8:00;8:45;R101;M;Noether';
    await school.imports({ 'a.csv': csv }, {});
    expect((await school.client.lessons('JobID=csv-M')).Items).toMatchObject([
      { RessourceName: 'R101', Fach: 'M', Lehrpersonen: ['Noether'] },
    ]);
  });

  test('a CSV with weekdays and periods, one line for each hour', async () => {
    const school = await enterSchool(service);
    const { accepted } = await school.imports(
      { 'fet.csv': fixture('fet-activities.csv') },
      { ...small, source: 'fet' },
    );
    expect(await school.jobs()).toEqual(asSets(fixtureJson('fet-activities.expected.json').Jobs));
    expect(accepted.Notices).toMatchObject([{ Line: 5, Code: 'WithoutRoom' }]);
  });
});

test('a lesson whose weeks are none of the term is left out, and that is told', async () => {
  const school = await enterSchool(service);
  const files = {
    'GPU001.TXT': '1,"5a","M","M","R101",1,1,,\n2,"5b","M","D","R102",2,1,,',
    'GPU002.TXT': `1${','.repeat(11)}"WA",,,,`,
  };
  const term = { ...(small.term as object), Weeks: [{ Monday: '2026-03-16', Name: 'A' }] };
  const { accepted } = await school.imports(files, { ...small, term });
  expect(accepted).toMatchObject({ JobCount: 1, Notices: [{ File: 'GPU001.TXT', Line: 1, Code: 'NoDay' }] });
  // From a later day on its lessons may all be over.
  const since = await school.accept(files, { ...small, since: '2027-03-30' });
  expect(since.Notices).toEqual([]);
});

test('substitutions before and after the term make no lessons: a file may have those of a whole year', async () => {
  const school = await enterSchool(service);
  const extra = (id: number, day: string) =>
    `${id};"${day}";4;;0;"";"Kor";"";;"Ku";;"";"Küche";;"";"";"Projekt";4;"6c";"A";202703290900`;
  const days = ['20261110', '20270330', '20270910'];
  const { accepted } = await school.imports({
    'GPU001.TXT': '2,"5b","M","D","R102",2,1,,',
    'GPU014.TXT': days.map((day, at) => extra(at + 1, day)).join('\n'),
  });
  expect(accepted.Notices.map(({ Line, Code }) => [Line, Code])).toEqual([
    [1, 'OutsideTerm'],
    [3, 'OutsideTerm'],
  ]);
  expect((await school.jobs()).map(({ JobID, LektionList }) => [JobID, LektionList.length])).toEqual([
    ['untis-2-2627-2', 3],
    ['untis-v2-2627-2', 1],
  ]);
});

describe('a profile', () => {
  const csv = 'Tag;Anfang;Ende;Saal;Kurs\n14.06.2027;8:00;8:45;101;M';
  const kept = {
    Name: 'AGs',
    Source: 'ag',
    Rooms: [{ Name: '101', RessourceName: 'R101' }],
    Mapping: { Date: 'Tag', Begin: 'Anfang', Room: 'Saal', Subject: 'Kurs' },
  };

  test('says how files are read, until the request says it', async () => {
    const school = await enterSchool(service, ['R101', 'R102']);
    const profiles = masterData(service, school.token, school.tenant.code);
    expect((await profiles.post('/timetable-profiles', kept)).status).toBe(201);
    await school.imports({ 'a.csv': csv }, { profile: 'ags ' });
    expect((await school.client.lessons('JobID=ag-M')).Items).toMatchObject([{ RessourceName: 'R101', Fach: 'M' }]);
    // Each member counts as a whole: of these rooms none is called R101.
    const other = await school.compare({ 'a.csv': csv }, { profile: 'AGs', rooms: { 101: 'R102' } });
    expect(other).toMatchObject({ Added: 0, Moved: 1, Lessons: [{ JobID: 'ag-M' }] });
  });

  test('that there is not is told with its place; that of another tenant is none', async () => {
    const school = await enterSchool(service, ['R101']);
    const neighbour = await enterSchool(service, ['R101']);
    const profiles = masterData(service, neighbour.token, neighbour.tenant.code);
    expect((await profiles.post('/timetable-profiles', kept)).status).toBe(201);
    const [fault] = await school.faults({ 'a.csv': csv }, { profile: 'AGs' });
    expect(fault).toMatchObject({ Field: 'Profile', Pointer: '/Profile', Code: 'UnknownProfile' });
    expect(await school.jobs()).toEqual([]);
  });

  test('says the format, unless the request does', async () => {
    const school = await enterSchool(service, ['R101']);
    const profiles = masterData(service, school.token, school.tenant.code);
    await profiles.post('/timetable-profiles', { ...kept, Format: 'ICalendar' });
    expect(await school.faults({ 'a.csv': csv }, { profile: 'AGs' })).toMatchObject([{ Code: 'WrongFormat' }]);
    await school.imports({ 'a.csv': csv }, { profile: 'AGs' }, '?Format=Csv');
  });

  test('has a Source of letters, digits, dots, hyphens and underscores, as the refusal of another one says', async () => {
    const school = await enterSchool(service, ['R101']);
    const profiles = masterData(service, school.token, school.tenant.code);
    const { status, body } = await profiles.post('/timetable-profiles', { ...kept, Source: 'ag 2027' });
    expect([status, body['detail']]).toEqual([422, expect.stringContaining('40 letters, digits, ., - and _')]);
    expect((await profiles.post('/timetable-profiles', { ...kept, Source: 'Ag.2-7_' })).status).toBe(201);
  });

  test('says no more than a list of all can hold', async () => {
    const school = await enterSchool(service, ['R101']);
    const profiles = masterData(service, school.token, school.tenant.code);
    const Rooms = Array.from({ length: 5_000 }, (_, at) => ({ Name: `Room ${at}`, RessourceName: 'R101' }));
    const { status, body } = await profiles.post('/timetable-profiles', { Name: 'AGs', Rooms });
    expect([status, body['detail']]).toEqual([422, expect.stringContaining('at most 131072 bytes')]);
    const made = await profiles.post('/timetable-profiles', { Name: 'AGs', Rooms: Rooms.slice(0, 2_000) });
    expect(made.status).toBe(201);
    expect((await profiles.patch(`/timetable-profiles/${made.body['Id']}`, { Rooms })).status).toBe(422);
  });

  test('of a tenant there are no more than 50', async () => {
    const school = await enterSchool(service, ['R101']);
    const profiles = masterData(service, school.token, school.tenant.code);
    for (let nth = 0; nth < 50; nth++) await profiles.post('/timetable-profiles', { Name: `P${nth}` });
    const { status, body } = await profiles.post('/timetable-profiles', { Name: 'One more' });
    expect([status, body['detail']]).toEqual([409, expect.stringContaining('at most 50 timetable profiles')]);
  });
});

test('a room that a file spells in several ways is one room, as the tenant spells it', async () => {
  const school = await enterSchool(service, ['TH1', 'R101']);
  const lines = ['1,"5a","A","Sp","TH1",1,1,,', '2,"5b","B","Sp","th1 ",1,1,,', '3,"5c","C","Sp","Th1",1,2,,'];
  const options = { ...small, rooms: undefined, sharedRooms: ['tH1'] };
  await school.imports({ 'GPU001.TXT': [...lines, '3,"5c","D","Sp","TH1",1,2,,'].join('\n') }, options);
  const lessons = (await school.jobs()).map(
    ({ LektionList }) => LektionList as { KopplungId: string; LektionId: string }[],
  );
  expect(lessons[0]![0]!.KopplungId).toMatch(/^raum-TH1-/);
  expect(lessons[1]![0]!.KopplungId).toBe(lessons[0]![0]!.KopplungId);
  for (const { LektionId } of lessons[2]!) expect(LektionId).toMatch(/^\d{8}-2$/);
});

test('of a room that is retired it is told that it is', async () => {
  const school = await enterSchool(service, ['R101', 'R102']);
  const { tenant } = school;
  const admin = masterData(service, await service.signIn(tenant, 'Admin'), tenant.code);
  const file = { 'GPU001.TXT': '1,"5a","A","M","R101",1,1,,\n1,"5a","A","M","R101",1,2,,' };
  await school.imports(file);
  const { Items } = (await admin.get('/resources')).body as { Items: { Id: number; Name: string }[] };
  const retired = Items.find(({ Name }) => Name === 'R101');
  expect((await admin.patch(`/resources/${retired?.Id}`, { Active: false })).status).toBe(200);
  const [fault, ...others] = await school.faults(file);
  expect([fault?.Code, fault?.Message, others]).toEqual([
    'UnknownRoom',
    expect.stringContaining('"R101" is a retired room (in 2 lines); correct it'),
    [],
  ]);
});

test('bodies that arrive slowly keep no other of the same person from being read', async () => {
  const school = await enterSchool(service);
  const { hostname, port } = new URL(service.url);
  /** Sends a body but for its end, once the server has seen the request. */
  const begin = (length: number) =>
    new Promise<net.Socket>((resolve) => {
      const socket = net.connect(Number(port), hostname);
      socket.write(
        `POST /${school.tenant.code}/api/v2.0/timetables HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer ${school.token}\r\n` +
          `Content-Type: application/json\r\nContent-Length: ${length + 3}\r\nExpect: 100-continue\r\n\r\n`,
      );
      socket.once('data', () => {
        socket.write(`{"Files":[{"Content":"${'A'.repeat(length - 22)}`);
        resolve(socket);
      });
    });
  const [short, long] = [100, 2_000_000];
  const sockets = await Promise.all([...Array(7).fill(short), ...Array(5).fill(long)].map(begin));
  await school.imports(gpu001);
  for (const socket of sockets) socket.destroy();
});

test('a location that there is not is told as such, whatever the zone of the term; a room of another location with that location', async () => {
  const school = await enterSchool(service, ['R101']);
  const { db } = service.context;
  const { mandatorId } = school.tenant;
  const annex = { mandator_id: mandatorId, name: 'Annex', time_zone: 'Europe/Berlin' };
  const { id } = await db.insertInto('location').values(annex).returning('id').executeTakeFirstOrThrow();
  const inAnnex = ['R101', 'N201'].map((name) => ({ mandator_id: mandatorId, location_id: id, name }));
  await db.insertInto('resource').values(inAnnex).execute();
  const files = { 'GPU001.TXT': '1,"5a","A","M","R101",1,1,,\n1,"5a","A","M","N201",1,2,,' };
  const messagesAt = async (location?: string) =>
    (await school.faults(files, { ...small, ...(location && { location }) })).map(({ Message }) => Message);
  const unknown = await school.post(files, { ...small, location: 'Capmus' });
  expect((await unknown.json()).detail).toBe('Standort: there is no location Capmus.');
  expect(await messagesAt('Campus')).toEqual([
    'GPU001.TXT line 2, column 5 (Raum): "N201" is a room of "Annex", not of "Campus"; map it in Rooms to a room of that location, or send no Standort.',
  ]);
  expect(await messagesAt()).toEqual([
    'GPU001.TXT line 1, column 5 (Raum): more than one location has a room "R101"; name the location in Standort, or rename a room if the files have rooms of several locations.',
  ]);
});
