import { afterAll, beforeAll, describe, expect, test } from '@jest/globals';
import { sql } from 'kysely';
import { type Lesson, makeJobs } from '../_util/lessons.ts';
import { type Service, startService } from '../_util/service.ts';
import { at, enterTenant, type LessonRecord, lesson, type Timetable, told } from '../_util/timetable.ts';

let service: Service;
beforeAll(async () => {
  service = await startService();
});
afterAll(() => service.stop());

/** A tenant with one job J of these lessons. */
async function withLessons(...LektionList: unknown[]): Promise<Timetable> {
  const timetable = await enterTenant(service);
  await timetable.done('create', [{ JobID: 'J', LektionList }]);
  return timetable;
}

/** Beginn and Ende of a lesson of one hour as the API writes them. */
const asAnswered = (from: number) =>
  Object.fromEntries(Object.entries(at(from)).map(([name, time]) => [name, new Date(time).toISOString()]));

const change = (...LektionList: unknown[]) => [{ JobID: 'J', LektionList }];

describe('the members of a lesson', () => {
  const full = {
    Titel: 'Algebra',
    Fach: 'Math',
    Bemerkung: 'B',
    Klassen: ['1a', '1b'],
    Lehrpersonen: ['E. Noether'],
    KopplungId: 'K',
    Privat: true,
    Status: 'Vertretung',
  };

  test('absent: unchanged; lessons that are not listed: unchanged', async () => {
    const { done, lessons } = await withLessons(lesson('1', 'A', 8, full), lesson('2', 'B', 8, full));
    const before = await lessons();
    const batch = await done('update', change({ LektionId: '1', Titel: 'Geometry' }));
    expect(batch).toMatchObject({ Operation: 'Update', LessonCount: 1, ProcessedCount: 1, CreatedCount: 0 });
    expect(await lessons()).toEqual({ ...before, 1: { ...before['1'], Titel: 'Geometry' } });
  });

  test('null: cleared', async () => {
    const { done, lessons } = await withLessons(lesson('1', 'A', 8, full));
    const before = await lessons();
    const empty = {
      Titel: null,
      Fach: null,
      Bemerkung: null,
      Klassen: null,
      Lehrpersonen: null,
      KopplungId: null,
      Privat: null,
      Status: null,
    };
    await done('update', change({ LektionId: '1', ...empty, RessourceId: null }));
    const { Fach, Lehrpersonen } = full;
    expect(await lessons()).toEqual({
      1: {
        ...before['1'],
        ...empty,
        Privat: false,
        Status: 'Geplant',
        Ursprung: { RessourceName: 'A', Lehrpersonen, Fach, ...asAnswered(8) },
      },
    });
  });

  test('null of what a lesson must have: MissingField; wrong values as in a create', async () => {
    const { fails } = await withLessons(lesson('1', 'A', 8), lesson('2', 'A', 9));
    const none = { Beginn: null, Ende: null, RessourceName: null };
    const wrong = {
      Beginn: 'now',
      Ende: 7,
      RessourceName: '',
      RessourceId: 0,
      Titel: 1,
      Klassen: 'all',
      Status: 'gone',
      KopplungId: '',
      Privat: 'yes',
    };
    const faults = (members: object, code: (name: string) => string) =>
      Object.keys(members).map((name) => `${name} ${code(name)}`);
    const batch = await fails('update', change({ LektionId: '1', ...none }, { LektionId: '2', ...wrong }, {}));
    expect(told(batch)).toEqual([
      ...faults(none, () => 'MissingField').map((fault) => `/0/LektionList/0/${fault}`),
      ...['Beginn InvalidTime', 'Ende InvalidType', 'RessourceName InvalidType', 'RessourceId InvalidType'].map(
        (fault) => `/0/LektionList/1/${fault}`,
      ),
      ...['Titel', 'Klassen', 'Status', 'KopplungId', 'Privat'].map((name) => `/0/LektionList/1/${name} InvalidType`),
      '/0/LektionList/2/LektionId MissingField',
    ]);
  });

  test('either spelling, and warnings as in a create', async () => {
    const { done, places } = await withLessons(lesson('1', 'A', 8));
    const body = [
      {
        jobId: 'J',
        lektionList: [{ lektionId: '1', beginn: '2031-01-06T10:00:00', ende: at(10).Ende, farbe: 1 }],
      },
    ];
    const batch = await done('update', body);
    expect(told(batch)).toEqual(['/0/lektionList/0/beginn AssumedUtc', '/0/lektionList/0/farbe UnknownField']);
    expect(await places()).toEqual({ 1: 'A 10' });
  });

  test('Ende before Beginn, or more than 24 hours after it, by what is merged: InvalidTime', async () => {
    const { fails } = await withLessons(lesson('1', 'A', 8), lesson('2', 'B', 8), lesson('3', 'C', 8));
    const batch = await fails(
      'update',
      change(
        { LektionId: '1', Ende: at(8).Beginn },
        { LektionId: '2', Beginn: at(9).Beginn },
        { LektionId: '3', Ende: at(33).Beginn },
      ),
    );
    expect(told(batch)).toEqual([0, 1, 2].map((index) => `/0/LektionList/${index}/Ende InvalidTime`));
    expect(batch.ErrorMessages?.split('\n')[2]).toBe('a lesson may last 24 hours at most (job 0 "J", lesson 2 "3")');
  });
});

describe('the members of a job', () => {
  const job = { Bezeichnung: 'Math', Quelle: 'Plan', Standort: 'Campus', Bemerkung: 'B' };
  const jobOf = async ({ client }: Timetable) =>
    (await client.get<{ Items: [Record<string, string>] }>('?JobID=J')).Items[0];

  test('without LektionList: absent stays, null clears, and ChangedAt moves', async () => {
    const timetable = await enterTenant(service);
    await timetable.done('create', [{ JobID: 'J', ...job, LektionList: [lesson('1', 'A', 8)] }]);
    const before = await jobOf(timetable);
    const batch = await timetable.done('update', [{ JobID: 'J', Bezeichnung: 'Geometry', Quelle: null }]);
    expect(batch).toMatchObject({ JobCount: 1, LessonCount: 0, ProcessedCount: 0, CreatedCount: 0 });
    const after = await jobOf(timetable);
    expect(after).toEqual({
      ...before,
      Bezeichnung: 'Geometry',
      Quelle: null,
      ChangedAt: expect.any(String),
    });
    expect(Date.parse(String(after['ChangedAt']))).toBeGreaterThan(Date.parse(String(before['ChangedAt'])));
  });

  test('a change of its lessons is a change of the job, too', async () => {
    const timetable = await withLessons(lesson('1', 'A', 8), lesson('2', 'A', 9));
    const seen = [(await jobOf(timetable))['ChangedAt']];
    for (const [operation, jobs] of [
      ['update', change({ LektionId: '1', Titel: 'new' })],
      ['delete', change({ LektionId: '2' })],
      ['update', [{ JobID: 'J', ReplaceLektionList: true, LektionList: [lesson('3', 'A', 9)] }]],
    ] as const) {
      await timetable.done(operation, jobs);
      seen.push((await jobOf(timetable))['ChangedAt']);
    }
    expect(new Set(seen).size).toBe(4);
  });

  test('wrong values; LektionList empty, null or no list', async () => {
    const { fails } = await withLessons(lesson('1', 'A', 8));
    const batch = await fails('update', [
      { JobID: 'J', Bezeichnung: 1, ReplaceLektionList: 'yes' },
      { LektionList: [lesson('1', 'A', 8)] },
      ...[[], null, 'x', [7]].map((LektionList) => ({ JobID: 'K', LektionList })),
    ]);
    expect(told(batch)).toEqual([
      '/0/Bezeichnung InvalidType',
      '/0/ReplaceLektionList InvalidType',
      '/1/JobID MissingField',
      ...['/2/JobID UnknownJobId', '/2/LektionList MissingField'],
      ...['/3/JobID DuplicateJobId', '/3/LektionList MissingField'],
      ...['/4/JobID DuplicateJobId', '/4/LektionList InvalidType'],
      ...['/5/JobID DuplicateJobId', '/5/LektionList/0 InvalidType'],
    ]);
  });
});

describe('identifiers', () => {
  test('UnknownJobId, also of another tenant; UnknownLektionId, also of another job', async () => {
    const other = await enterTenant(service);
    await other.done('create', [{ JobID: 'theirs', LektionList: [lesson('1', 'A', 8)] }]);
    const { done, fails } = await withLessons(lesson('1', 'A', 8));
    await done('create', [{ JobID: 'K', LektionList: [lesson('k', 'B', 8)] }]);
    const titled = (LektionId: string) => ({ LektionId, Titel: 'new' });
    const batch = await fails('update', [
      { JobID: 'nowhere', LektionList: [titled('1')] },
      { JobID: 'theirs', LektionList: [titled('1')] },
      { JobID: 'J', LektionList: [titled('1'), titled('k'), titled('2')] },
    ]);
    expect(told(batch)).toEqual([
      '/0/JobID UnknownJobId',
      '/1/JobID UnknownJobId',
      '/2/LektionList/1/LektionId UnknownLektionId',
      '/2/LektionList/2/LektionId UnknownLektionId',
    ]);
    expect(batch.ErrorMessages?.split('\n').slice(1, 3)).toEqual([
      'Unknown JobId: theirs (job 1 "theirs")',
      'Unknown LektionId: k is not in job J (job 2 "J", lesson 1 "k")',
    ]);
  });

  test('DuplicateJobId and DuplicateLektionId inside the body', async () => {
    const { done, fails } = await withLessons(lesson('1', 'A', 8), lesson('2', 'A', 9));
    await done('create', [{ JobID: 'K', LektionList: [lesson('1', 'B', 8)] }]);
    const batch = await fails('update', [
      { JobID: 'J', LektionList: [{ LektionId: '1' }, { LektionId: '2' }, { LektionId: '1' }] },
      { JobID: 'K', LektionList: [{ LektionId: '1' }] },
      { JobID: 'J', LektionList: [{ LektionId: '2', Titel: 'again' }] },
    ]);
    expect(told(batch)).toEqual(['/0/LektionList/2/LektionId DuplicateLektionId', '/2/JobID DuplicateJobId']);
    expect(batch.ErrorMessages).toBe('Duplicate LektionId: 1 (job 0 "J", lesson 2 "1")\nDuplicate JobId: J');
  });

  test('RessourceId agrees with RessourceName, sent or stored, or InconsistentIdentifiers', async () => {
    const { done, fails, roomId, places } = await withLessons(lesson('1', 'A', 8), lesson('2', 'B', 8));
    await done(
      'update',
      change(
        { LektionId: '1', RessourceId: roomId('A'), Titel: 'same' },
        { LektionId: '2', RessourceName: 'c', RessourceId: roomId('C') },
      ),
    );
    expect(await places()).toEqual({ 1: 'A 8', 2: 'C 8' });
    const batch = await fails(
      'update',
      change(
        { LektionId: '1', RessourceId: roomId('B') },
        { LektionId: '2', RessourceName: 'D', RessourceId: roomId('C') },
      ),
    );
    expect(told(batch)).toEqual([0, 1].map((n) => `/0/LektionList/${n}/RessourceId InconsistentIdentifiers`));
    expect(batch.Errors[0]?.Message).toBe(`RessourceId ${roomId('B')} is not A, which is ${roomId('A')}`);
  });

  test('RessourceName is meant at the Standort of the job, stored or sent', async () => {
    const timetable = await withLessons(lesson('1', 'B', 8), lesson('2', 'B', 9));
    const { tenant, done, fails, lessons } = timetable;
    const { db } = service.context;
    const annexe = await db
      .insertInto('location')
      .values({ mandator_id: tenant.mandatorId, name: 'Annexe', time_zone: 'Europe/Lisbon' })
      .returning('id')
      .executeTakeFirstOrThrow();
    const { id } = await db
      .insertInto('resource')
      .values({ mandator_id: tenant.mandatorId, location_id: annexe.id, name: 'A' })
      .returning('id')
      .executeTakeFirstOrThrow();
    const toA = (more: object, LektionId = '1') => [
      { JobID: 'J', ...more, LektionList: [{ LektionId, RessourceName: 'A' }] },
    ];
    expect(told(await fails('update', toA({})))).toEqual(['/0/LektionList/0/RessourceName AmbiguousResource']);
    expect(told(await fails('update', toA({ Standort: 'Moon' })))).toEqual(['/0/Standort UnknownResource']);
    await done('update', toA({ Standort: 'annexe' }));
    await done('update', toA({}, '2'));
    expect(Object.values(await lessons()).map(({ RessourceId }) => RessourceId)).toEqual([id, id]);
    expect(told(await fails('update', toA({ Standort: null })))).toEqual([
      '/0/LektionList/0/RessourceName AmbiguousResource',
    ]);
  });
});

describe('ReplaceLektionList', () => {
  const replace = (...LektionList: unknown[]) => [{ JobID: 'J', ReplaceLektionList: true, LektionList }];

  test('the list is the whole truth: adds, changes, keeps and removes', async () => {
    const timetable = await withLessons(...[1, 2, 3, 4].map((n) => lesson(`${n}`, 'A', n)));
    const { done, lessons, bookings, places } = timetable;
    const before = await lessons();
    // The new one takes the place of one that goes, and what is changed takes the place of another.
    const batch = await done(
      'update',
      replace({ LektionId: '1' }, { LektionId: '2', ...at(3) }, lesson('5', 'a', 4), lesson('6', 'B', 4)),
    );
    expect(batch).toMatchObject({ LessonCount: 4, ProcessedCount: 4, CreatedCount: 2, WarningCount: 0 });
    expect(batch).toMatchObject({ ChangedCount: 0, MovedCount: 1, RemovedCount: 2, Quelle: null });
    expect(await places()).toEqual({ 1: 'A 1', 2: 'A 3', 5: 'A 4', 6: 'B 4' });
    const after = await lessons();
    expect([after['1'], after['5']?.Ursprung]).toEqual([before['1'], null]);
    const states = await bookings();
    expect(Object.values(before).map(({ BookingId }) => states[BookingId])).toMatchObject([
      { status: 'Confirmed', version: 1, at: 'A 1-2' },
      { status: 'Confirmed', version: 2, at: 'A 3-4' },
      { status: 'Cancelled', version: 2, at: 'A 3-4' },
      { status: 'Cancelled', version: 2, at: 'A 4-5' },
    ]);
  });

  test('a new lesson needs what a lesson must have; the list must be there', async () => {
    const { fails } = await withLessons(lesson('1', 'A', 8));
    const batch = await fails('update', replace({ LektionId: '1', Titel: 'x' }, { LektionId: '2', Titel: 'y' }));
    expect(told(batch)).toEqual(
      ['Beginn', 'Ende', 'RessourceName'].map((name) => `/0/LektionList/1/${name} MissingField`),
    );
    for (const LektionList of [[], null, undefined])
      expect(told(await fails('update', [{ JobID: 'J', ReplaceLektionList: true, LektionList }]))).toEqual([
        '/0/LektionList MissingField',
      ]);
  });

  test('false and null: only what is listed', async () => {
    const { done, places } = await withLessons(lesson('1', 'A', 8), lesson('2', 'A', 9));
    for (const ReplaceLektionList of [false, null])
      await done('update', [{ JobID: 'J', ReplaceLektionList, LektionList: [{ LektionId: '1', Titel: 'x' }] }]);
    expect(await places()).toEqual({ 1: 'A 8', 2: 'A 9' });
  });
});

describe('Status', () => {
  test('Entfaellt frees the room and cancels the booking; back to Geplant takes it again', async () => {
    const { done, bookingOf, places } = await withLessons(lesson('1', 'A', 8));
    const { id } = await bookingOf('1');
    await done('update', change({ LektionId: '1', Status: 'Entfaellt' }));
    expect(await bookingOf('1')).toMatchObject({ id, status: 'Cancelled', version: 2 });
    await done('update', change({ LektionId: '1', Status: null }));
    expect(await bookingOf('1')).toMatchObject({ id, status: 'Confirmed', version: 3 });
    expect(await places()).toEqual({ 1: 'A 8' });
  });

  test('the room that it has left is free for others; its way back is then a ResourceConflict', async () => {
    const { done, fails, bookingOf, places } = await withLessons(lesson('1', 'A', 8));
    await done('update', change({ LektionId: '1', Status: 'Entfaellt' }));
    await done('create', [{ JobID: 'K', LektionList: [lesson('k', 'A', 8)] }]);
    const { id } = await bookingOf('k');
    const batch = await fails('update', change({ LektionId: '1', Status: 'Geplant' }));
    expect(batch.ErrorMessages).toBe(
      `A is occupied 2031-01-06 08:00-09:00 UTC by booking ${id} (lesson k of job K) (job 0 "J", lesson 0 "1")`,
    );
    await done('update', change({ LektionId: '1', Status: 'Vertretung', RessourceName: 'B' }));
    expect(await places()).toEqual({ 1: 'B 8', k: 'A 8' });
  });

  test('a cancelled lesson may lie where others are', async () => {
    const { done, places } = await withLessons(lesson('1', 'A', 8), lesson('2', 'A', 9));
    await done('update', change({ LektionId: '2', Status: 'Entfaellt', ...at(8) }));
    expect(await places()).toEqual({ 1: 'A 8', 2: '(A 8)' });
  });
});

describe('Ursprung', () => {
  const origin = {
    RessourceName: 'A',
    Lehrpersonen: ['N'],
    Fach: 'Math',
    ...asAnswered(8),
  };
  const content = { Fach: 'Math', Lehrpersonen: ['N'] };

  test.each([
    ['the room', { RessourceName: 'B' }],
    ['Beginn', { Beginn: at(7).Beginn }],
    ['Ende', { Ende: at(9).Ende }],
    ['Lehrpersonen', { Lehrpersonen: ['N', 'T'] }],
    ['Fach', { Fach: null }],
  ])('a change of %s keeps what was before', async (_name, changed) => {
    const { done, lessons } = await withLessons(lesson('1', 'A', 8, content));
    await done('update', change({ LektionId: '1', ...changed }));
    expect((await lessons())['1']?.Ursprung).toEqual(origin);
  });

  test('no other change does, and neither does what stays the same', async () => {
    const { done, lessons } = await withLessons(lesson('1', 'A', 8, content));
    await done(
      'update',
      change({
        LektionId: '1',
        Titel: 'T',
        Bemerkung: 'B',
        Klassen: ['1a'],
        Status: 'Vertretung',
        Privat: true,
        KopplungId: 'K',
        RessourceName: ' a',
        Beginn: '2031-01-06T09:00:00+01:00',
        ...content,
      }),
    );
    expect((await lessons())['1']).toMatchObject({ Titel: 'T', KopplungId: 'K', Ursprung: null });
  });

  test('it remains that of before the first change', async () => {
    const { done, lessons } = await withLessons(lesson('1', 'A', 8, content));
    for (const changed of [{ RessourceName: 'B' }, { Fach: 'Art' }, { RessourceName: 'A', Fach: 'Math' }]) {
      await done('update', change({ LektionId: '1', ...changed }));
      expect((await lessons())['1']?.Ursprung).toEqual(origin);
    }
  });
});

describe('Version of the booking', () => {
  test('grows by one with any change, and other bookings stay as they are', async () => {
    const changes: object[] = [
      ...[{ Titel: 'x' }, { Fach: 'x' }, { Bemerkung: 'x' }, { Klassen: ['x'] }, { Lehrpersonen: ['x'] }],
      ...[{ Status: 'Vertretung' }, { KopplungId: 'x' }, { Privat: true }, { RessourceName: 'B' }],
      ...[{ Beginn: at(18.5).Beginn }, { Ende: at(21.5).Beginn }],
    ];
    const ids = changes.map((_changed, index) => `${index}`);
    const { done, bookings } = await withLessons(
      ...ids.map((id, index) => lesson(id, 'A', 2 * index)),
      lesson('other', 'C', 8),
    );
    const before = await bookings();
    await done('update', change(...changes.map((changed, index) => ({ LektionId: ids[index], ...changed }))));
    const after = Object.values(await bookings());
    expect(after.map(({ version }) => version)).toEqual([...changes.map(() => 2), 1]);
    expect(after.at(-1)).toEqual(Object.values(before).at(-1));
  });

  test('an update that changes nothing changes no row', async () => {
    const full = { Titel: 'T', Klassen: ['1a'], KopplungId: 'K', Privat: true, Status: 'Vertretung' };
    const { done, rows } = await withLessons(
      lesson('1', 'A', 8, full),
      lesson('2', 'A', 8, full),
      lesson('3', 'A', 9),
      lesson('4', 'A', 9, { Status: 'Entfaellt' }),
    );
    const before = await rows();
    await done('update', [
      {
        JobID: 'J',
        Bezeichnung: null,
        ReplaceLektionList: true,
        LektionList: [
          lesson('1', 'a', 8, full),
          { LektionId: '2' },
          { LektionId: '3', Status: null, Privat: false, Titel: null },
          { LektionId: '4', ...at(9) },
        ],
      },
    ]);
    expect(await rows()).toEqual(before);
  });
});

describe('only the end state must be free of conflicts', () => {
  const moved = (from: Record<string, LessonRecord>, to: Record<string, LessonRecord>) =>
    Object.keys(from).filter((id) => from[id]?.BookingId !== to[id]?.BookingId);

  test.each<[string, [string, number][], Record<string, object>, Record<string, string>]>([
    [
      'two swap rooms',
      [
        ['A', 8],
        ['B', 8],
      ],
      { 1: { RessourceName: 'B' }, 2: { RessourceName: 'A' } },
      { 1: 'B 8', 2: 'A 8' },
    ],
    [
      'three go round in a circle',
      [
        ['A', 8],
        ['B', 8],
        ['C', 8],
      ],
      { 1: { RessourceName: 'B' }, 2: { RessourceName: 'C' }, 3: { RessourceName: 'A' } },
      { 1: 'B 8', 2: 'C 8', 3: 'A 8' },
    ],
    [
      'two swap times',
      [
        ['A', 8],
        ['A', 9],
      ],
      { 1: at(9), 2: at(8) },
      { 1: 'A 9', 2: 'A 8' },
    ],
    [
      'each moves into the place that the next one leaves',
      [
        ['A', 8],
        ['A', 9],
        ['A', 10],
        ['A', 11],
      ],
      { 1: at(9), 2: at(10), 3: at(11), 4: at(11.5, 12.5) },
      { 1: 'A 9', 2: 'A 10', 3: 'A 11', 4: 'A 11.5' },
    ],
  ])('%s, in one job and in several', async (_name, start, changes, end) => {
    const { Beginn, Ende } = at(12);
    if (end['4']) Object.assign(changes['4'] ?? {}, { Beginn, Ende });
    const places = end['4'] ? { ...end, 4: 'A 12' } : end;
    const list = start.map(([room, from], index) => lesson(`${index + 1}`, room, from));
    const changed = Object.entries(changes).map(([LektionId, members]) => ({ LektionId, ...members }));
    const alone = (lessons: { LektionId: string }[]) =>
      lessons.map((each) => ({ JobID: `J${each.LektionId}`, LektionList: [each] }));
    for (const [created, updates] of [
      [change(...list), change(...changed)],
      [alone(list), alone(changed)],
    ]) {
      const timetable = await enterTenant(service);
      await timetable.done('create', created);
      const before = await timetable.lessons();
      await timetable.done('update', updates);
      expect(await timetable.places()).toEqual(places);
      expect(moved(before, await timetable.lessons())).toEqual([]);
    }
  });

  test('the first and the last of so many lessons that they are written in parts', async () => {
    const { done, client } = await enterTenant(service);
    const jobs = makeJobs(5_100, { rooms: ['A', 'B', 'C', 'D', 'E'] });
    await done('create', jobs);
    const [first, last] = [jobs[0]?.LektionList[0], jobs.at(-1)?.LektionList.at(-1)] as [Lesson, Lesson];
    const exchanged = new Map([
      [first, { ...last, LektionId: first.LektionId }],
      [last, { ...first, LektionId: last.LektionId }],
    ]);
    const update = jobs.map((job) => ({
      ...job,
      LektionList: job.LektionList.map((each) => exchanged.get(each) ?? each),
    }));
    expect(await done('update', update)).toMatchObject({ LessonCount: 5_100, ProcessedCount: 5_100 });
    const { Items } = await client.lessons(`JobID=${jobs[0]?.JobID}`);
    expect(Items.find(({ LektionId }) => LektionId === first.LektionId)).toMatchObject({
      RessourceName: last.RessourceName,
      Beginn: new Date(last.Beginn).toISOString(),
    });
  });

  test('ResourceConflict with a booking that stays, and with another lesson of the batch', async () => {
    const { book, fails, lessons } = await withLessons(
      lesson('1', 'A', 8),
      lesson('2', 'B', 8),
      lesson('3', 'C', 8),
      lesson('4', 'D', 8),
    );
    const booking = await book('A', 9, 10);
    const stays = (await lessons())['4']?.BookingId;
    const batch = await fails(
      'update',
      change(
        { LektionId: '1', ...at(8.5, 9.5) },
        { LektionId: '2', RessourceName: 'E' },
        { LektionId: '3', RessourceName: 'E', ...at(8.5, 9.5) },
      ),
    );
    expect(batch.Errors.map(({ Pointer, Message }) => [Pointer, Message])).toEqual([
      ['/0/LektionList/0/RessourceName', `A is occupied 2031-01-06 09:00-10:00 UTC by booking ${booking}`],
      ['/0/LektionList/2/RessourceName', 'E is needed twice: with lesson 2 of job J, 2031-01-06 08:00-09:00 UTC'],
    ]);
    const blocked = await fails('update', change({ LektionId: '3', RessourceName: 'D' }));
    expect(blocked.Errors[0]?.Message).toBe(
      `D is occupied 2031-01-06 08:00-09:00 UTC by booking ${stays} (lesson 4 of job J)`,
    );
  });

  test('all errors at once, each at its place, in the order of the body', async () => {
    const { fails, book } = await withLessons(...[1, 2, 3, 4, 5].map((n) => lesson(`${n}`, 'A', n)));
    await book('B', 1, 2);
    const batch = await fails('update', [
      { JobID: 'unknown', LektionList: [{ LektionId: '1' }] },
      {
        JobID: 'J',
        Quelle: 5,
        LektionList: [
          { LektionId: '1', RessourceName: 'B' },
          { LektionId: '2', RessourceName: 'Nowhere' },
          { LektionId: '3', Beginn: null },
          { LektionId: '4', Ende: '2031-01-06T00:00:00Z' },
          { LektionId: '5', RessourceId: 999_999 },
          { LektionId: '6', Titel: 'x' },
          { LektionId: '1' },
        ],
      },
    ]);
    expect(batch).toMatchObject({ ErrorCount: 9, LessonCount: 8 });
    expect(told(batch)).toEqual([
      '/0/JobID UnknownJobId',
      '/1/Quelle InvalidType',
      '/1/LektionList/0/RessourceName ResourceConflict',
      '/1/LektionList/1/RessourceName UnknownResource',
      '/1/LektionList/2/Beginn MissingField',
      '/1/LektionList/3/Ende InvalidTime',
      '/1/LektionList/4/RessourceId InconsistentIdentifiers',
      '/1/LektionList/5/LektionId UnknownLektionId',
      '/1/LektionList/6/LektionId DuplicateLektionId',
    ]);
    expect(batch.Errors.map(({ Index, LektionIndex }) => [Index, LektionIndex])).toEqual([
      [0, null],
      [1, null],
      ...[0, 1, 2, 3, 4, 5, 6].map((index) => [1, index]),
    ]);
  });
});

describe('KopplungId', () => {
  const K = { KopplungId: 'K' };
  const coupled = () => withLessons(...['1', '2', '3'].map((id) => lesson(id, 'A', 8, K)));
  const ids = async ({ lessons }: Timetable) =>
    Object.fromEntries(Object.values(await lessons()).map(({ LektionId, BookingId }) => [LektionId, BookingId]));

  test.each<[string, string, object, string | undefined]>([
    ['moves', 'update', { RessourceName: 'B' }, 'Confirmed'],
    ['is cancelled', 'update', { Status: 'Entfaellt' }, 'Cancelled'],
    ['leaves it for another room', 'update', { KopplungId: null, RessourceName: 'B' }, 'Confirmed'],
    ['is deleted', 'delete', {}, undefined],
  ])(
    'one of the group %s: the others keep the booking, which tells of them alone now and so is another version',
    async (_name, operation, changed, status) => {
      const timetable = await coupled();
      const { done, bookings } = timetable;
      const { id, ...booking } = await timetable.bookingOf('1');
      await done(operation, change({ LektionId: '1', ...changed }));
      const after = await ids(timetable);
      expect([after['2'], after['3'], (await bookings())[id]]).toEqual([id, id, { ...booking, version: 2 }]);
      expect(after['1']).not.toBe(id);
      expect((await bookings())[after['1'] ?? 0]?.status).toBe(status);
      await done('delete', change({ LektionId: '2' }, { LektionId: '3' }));
      expect((await bookings())[id]).toMatchObject({ status: 'Cancelled', version: 3 });
    },
  );

  test('KopplungId cleared in place: ResourceConflict with those who stay', async () => {
    const timetable = await coupled();
    const { id } = await timetable.bookingOf('1');
    const { Errors } = await timetable.fails('update', change({ LektionId: '2', KopplungId: null }));
    expect(Errors.map(({ Code, Message }) => [Code, Message])).toEqual([
      ['ResourceConflict', `A is occupied 2031-01-06 08:00-09:00 UTC by booking ${id} (lesson 1 of job J)`],
    ]);
  });

  test('all move together: the same booking moves', async () => {
    const timetable = await coupled();
    const { id } = await timetable.bookingOf('1');
    await timetable.done(
      'update',
      change(...['3', '1', '2'].map((LektionId) => ({ LektionId, RessourceName: 'B', ...at(9) }))),
    );
    expect(await ids(timetable)).toEqual({ 1: id, 2: id, 3: id });
    expect(await timetable.bookings()).toMatchObject({ [id]: { at: 'B 9-10', version: 2 } });
    expect(Object.keys(await timetable.bookings())).toHaveLength(1);
  });

  test('one joins a group that is there, from a place of its own or from another group', async () => {
    const timetable = await withLessons(
      lesson('1', 'A', 8, K),
      lesson('2', 'B', 8),
      lesson('3', 'B', 9, { KopplungId: 'L' }),
      lesson('4', 'B', 9, { KopplungId: 'L' }),
    );
    const before = await ids(timetable);
    const place = { ...K, RessourceName: 'A', ...at(8) };
    await timetable.done('update', change({ LektionId: '2', ...place }, { LektionId: '3', ...place }));
    const one = before['1'] as number;
    expect(await ids(timetable)).toEqual({ 1: one, 2: one, 3: one, 4: before['4'] });
    expect(await timetable.bookings()).toMatchObject({
      [one]: { status: 'Confirmed', at: 'A 8-9' },
      [before['2'] as number]: { status: 'Cancelled' },
      [before['4'] as number]: { status: 'Confirmed', at: 'B 9-10' },
    });
  });

  test('two that stand alone become a group at a new place', async () => {
    const timetable = await withLessons(lesson('1', 'A', 8), lesson('2', 'B', 8));
    const before = await ids(timetable);
    await timetable.done(
      'update',
      change({ LektionId: '1', ...K, RessourceName: 'C' }, { LektionId: '2', ...K, RessourceName: 'C' }),
    );
    const after = await ids(timetable);
    expect(after['1']).toBe(after['2']);
    expect(Object.values(before)).toContain(after['1']);
    expect(
      Object.values(await timetable.bookings())
        .map(({ status }) => status)
        .sort(),
    ).toEqual(['Cancelled', 'Confirmed']);
  });

  test.each([
    ['of two names', 'L'],
    ['of one name', 'K'],
  ])('two groups %s swap places, each with its booking', async (_name, KopplungId) => {
    const timetable = await withLessons(
      ...['1', '2'].map((id) => lesson(id, 'A', 8, K)),
      ...['3', '4'].map((id) => lesson(id, 'B', 8, { KopplungId })),
    );
    const before = await ids(timetable);
    const to = (RessourceName: string, ...group: string[]) => group.map((LektionId) => ({ LektionId, RessourceName }));
    await timetable.done('update', change(...to('B', '1', '2'), ...to('A', '3', '4')));
    expect(await ids(timetable)).toEqual(before);
    expect(await timetable.places()).toEqual({ 1: 'B 8', 2: 'B 8', 3: 'A 8', 4: 'A 8' });
  });

  test('one member each swaps: each joins the booking of the other group', async () => {
    const timetable = await withLessons(
      ...['1', '2'].map((id) => lesson(id, 'A', 8, K)),
      ...['3', '4'].map((id) => lesson(id, 'B', 8, K)),
    );
    const { 1: a, 3: b } = await ids(timetable);
    const to = (LektionId: string, RessourceName: string) => ({ LektionId, RessourceName });
    await timetable.done('update', change(to('1', 'B'), to('3', 'A')));
    expect(await ids(timetable)).toEqual({ 1: b, 2: a, 3: a, 4: b });
  });

  test('the whole group is cancelled and comes back', async () => {
    const timetable = await coupled();
    const all = (Status: string) => change(...['1', '2', '3'].map((LektionId) => ({ LektionId, Status })));
    await timetable.done('update', all('Entfaellt'));
    expect(Object.values(await timetable.bookings()).map(({ status }) => status)).not.toContain('Confirmed');
    await timetable.done('update', all('Geplant'));
    expect(new Set(Object.values(await ids(timetable))).size).toBe(1);
    expect(await timetable.bookingOf('1')).toMatchObject({ status: 'Confirmed', at: 'A 8-9' });
  });
});

test('only a new booking takes an id', async () => {
  const LektionList = [lesson('1', 'A', 8), lesson('2', 'B', 8, { KopplungId: 'K' })];
  const { done } = await withLessons(...LektionList);
  const lastId = async () =>
    (await sql<{ id: number }>`select last_value as id from ${sql.table('booking_id_seq')}`.execute(service.context.db))
      .rows[0]?.id as number;
  const before = await lastId();
  await done('update?OnConflict=Displace', change({ ...LektionList[0], Titel: 'New' }, LektionList[1]));
  await done('update', change({ LektionId: '2', ...at(10) }));
  expect(await lastId()).toBe(before);
  await done('create', [{ JobID: 'J-2', LektionList: [lesson('3', 'C', 8)] }]);
  expect(await lastId()).toBe(before + 1);
});
