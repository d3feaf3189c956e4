import { afterAll, beforeAll, describe, expect, test } from '@jest/globals';
import { sql } from 'kysely';
import type { Transaction } from '../../src/db/database.ts';
import { countWaiting, hold, releaseAll } from '../_util/hold.ts';
import type { BatchRecord } from '../_util/lessons.ts';
import { until } from '../_util/process.ts';
import { type Service, startService } from '../_util/service.ts';
import { at, enterTenant, lesson, type Timetable, told } from '../_util/timetable.ts';

let service: Service;
beforeAll(async () => {
  service = await startService();
});
afterAll(async () => {
  await releaseAll();
  await service.stop();
});

const jobs = (...LektionList: unknown[]) => [{ JobID: 'J', LektionList }];
const messages = ({ Errors }: BatchRecord) => Errors.map(({ LektionId, Message }) => `${LektionId}: ${Message}`);
const conflictAt = (...lessons: number[]) =>
  lessons.map((each) => `/0/LektionList/${each}/RessourceName ResourceConflict`);

describe('OnConflict=Skip, create', () => {
  test.each(['Booking', 'MailItem', 'Block'])('a lesson in the way of a %s is left out', async (kind) => {
    const { book, done, places, bookings } = await enterTenant(service);
    const id = await book('A', 8.5, 9, kind, 'Tentative');
    const before = await bookings();
    const batch = await done('create?OnConflict=Skip', jobs(lesson('1', 'A', 8), lesson('2', 'A', 9)));
    expect(batch).toMatchObject({ LessonCount: 2, ProcessedCount: 2, CreatedCount: 1, WarningCount: 1 });
    expect([told(batch), messages(batch)]).toEqual([
      conflictAt(0),
      [`1: A is occupied 2031-01-06 08:30-09:00 UTC by booking ${id}; the lesson was left out`],
    ]);
    expect(await places()).toEqual({ 2: 'A 9' });
    expect(await bookings()).toMatchObject(before);
  });

  test('a lesson in the way of a lesson is left out; cancelled and released bookings are in no way', async () => {
    const { book, done, places, bookingOf } = await enterTenant(service);
    await done('create', [
      { JobID: 'K', LektionList: [lesson('k', 'A', 8), lesson('l', 'A', 9, { Status: 'Entfaellt' })] },
    ]);
    await book('A', 10, 11, 'Booking', 'Cancelled');
    await book('A', 11, 12, 'Booking', 'Released');
    const { id } = await bookingOf('k');
    const list = [8, 9, 10, 11].map((from) => lesson(`${from}`, 'A', from));
    const batch = await done('create?OnConflict=Skip', jobs(...list));
    expect(messages(batch)).toEqual([
      `8: A is occupied 2031-01-06 08:00-09:00 UTC by booking ${id} (lesson k of job K); the lesson was left out`,
    ]);
    expect(await places()).toEqual({ k: 'A 8', l: '(A 9)', 9: 'A 9', 10: 'A 10', 11: 'A 11' });
  });

  test('inside the batch the earlier lesson wins; of A-B-C where B overlaps both, A and C', async () => {
    const { done, places } = await enterTenant(service);
    const list = [
      ...[lesson('A', 'A', 8), lesson('B', 'A', 8, at(8.5, 9.5)), lesson('C', 'A', 9)],
      ...[lesson('late', 'B', 9), lesson('early', 'B', 8, at(8, 9.5))],
    ];
    const batch = await done('create?OnConflict=Skip', jobs(...list));
    expect(batch).toMatchObject({ CreatedCount: 3, WarningCount: 2 });
    expect(await places()).toEqual({ A: 'A 8', C: 'A 9', late: 'B 9' });
    expect(messages(batch)).toEqual([
      'B: A is needed by another lesson of the batch; the lesson was left out',
      'early: B is needed by another lesson of the batch; the lesson was left out',
    ]);
  });

  test('coupled lessons are left out together; one that joins an existing booking has no conflict', async () => {
    const { book, done, lessons } = await enterTenant(service);
    const K = { KopplungId: 'K' };
    await book('A', 8, 9);
    await done('create', [{ JobID: 'K', LektionList: [lesson('k', 'B', 8, K)] }]);
    const list = [...['1', '2'].map((id) => lesson(id, 'A', 8, K)), lesson('3', 'B', 8, K)];
    expect(await done('create?OnConflict=Skip', jobs(...list))).toMatchObject({
      CreatedCount: 1,
      WarningCount: 2,
    });
    const stored = await lessons();
    expect(Object.keys(stored).sort()).toEqual(['3', 'k']);
    expect(stored['3']?.BookingId).toBe(stored['k']?.BookingId);
  });

  test('a job is created even when all its lessons are left out', async () => {
    const { book, done, client } = await enterTenant(service);
    await book('A', 8, 9);
    await done('create?OnConflict=Skip', jobs(lesson('1', 'A', 8)));
    expect(await client.get('?JobID=J')).toMatchObject({ Items: [{ JobID: 'J', LessonCount: 0 }] });
  });

  test('other errors still fail it: those of Fail without the conflicts', async () => {
    const { book, fails } = await enterTenant(service);
    await book('A', 8, 9);
    const body = [
      ...jobs(lesson('1', 'A', 8), lesson('2', 'Nowhere', 8), lesson('3', 'B', 9), lesson('3', 'B', 9)),
      { JobID: 'J', LektionList: [lesson('1', 'B', 9)] },
    ];
    const errorsOf = async (operation: string) =>
      (await fails(operation, body)).Errors.filter(({ Severity }) => Severity === 'Error');
    const all = await errorsOf('create');
    const left = await errorsOf('create?OnConflict=Skip');
    expect(left).toEqual(all.filter(({ Code }) => Code !== 'ResourceConflict'));
    expect([left.length, all.length]).toEqual([3, 4]);
  });
});

describe('OnConflict=Skip, update', () => {
  const move = (LektionId: string, RessourceName: string, more = {}) => ({
    LektionId,
    RessourceName,
    ...more,
  });

  test('a blocked lesson keeps its place, and so does the lesson that was to move there, and so on', async () => {
    const { book, done, bookingOf, rows } = await enterTenant(service);
    await done('create', jobs(...['A', 'B', 'C', 'D'].map((room) => lesson(room, room, 8))));
    const block = await book('E', 8, 9, 'Block');
    const before = await rows();
    const domino = [move('A', 'B'), move('B', 'C'), move('C', 'D'), move('D', 'E'), move('new', 'A', at(8))];
    const replace = [{ JobID: 'J', ReplaceLektionList: true, LektionList: domino }];
    const batch = await done('update?OnConflict=Skip', replace);
    expect(batch).toMatchObject({ LessonCount: 5, ProcessedCount: 5, CreatedCount: 0, WarningCount: 5 });
    expect(await rows()).toEqual(before);
    const ids = await Promise.all(['B', 'C', 'D', 'A'].map(async (each) => (await bookingOf(each)).id));
    const by = (room: string, cause: string) => `${room} is occupied 2031-01-06 08:00-09:00 UTC by booking ${cause}`;
    expect(messages(batch)).toEqual([
      `A: ${by('B', `${ids[0]} (lesson B of job J)`)}; the lesson was left as it was`,
      `B: ${by('C', `${ids[1]} (lesson C of job J)`)}; the lesson was left as it was`,
      `C: ${by('D', `${ids[2]} (lesson D of job J)`)}; the lesson was left as it was`,
      `D: ${by('E', `${block}`)}; the lesson was left as it was`,
      `new: ${by('A', `${ids[3]} (lesson A of job J)`)}; the lesson was left out`,
    ]);
  });

  test('however long that chain is; others move meanwhile', async () => {
    const rooms = Array.from({ length: 20 }, (_, number) => `R${number}`);
    const { book, done, places } = await enterTenant(service, rooms);
    const row = rooms.slice(0, 17);
    await done('create', jobs(...row.map((room) => lesson(room, room, 8)), lesson('free', 'R18', 8)));
    await book('R17', 8, 9);
    const onwards = row.map((room, index) => move(room, rooms[index + 1] as string));
    const batch = await done('update?OnConflict=Skip', jobs(...onwards, move('free', 'R19')));
    expect(batch).toMatchObject({ LessonCount: 18, WarningCount: 17 });
    expect(await places()).toEqual({
      ...Object.fromEntries(row.map((room) => [room, `${room} 8`])),
      free: 'R19 8',
    });
  });

  test('a cycle stays where it is if one of its lessons is blocked; another cycle moves', async () => {
    const { book, done, places } = await enterTenant(service);
    await done('create', jobs(...['A', 'B', 'C', 'D', 'E'].map((room) => lesson(room, room, 8))));
    await book('B', 9, 10);
    const circle = [move('A', 'B', at(8, 9.5)), move('B', 'C'), move('C', 'A'), move('D', 'E'), move('E', 'D')];
    expect(await done('update?OnConflict=Skip', jobs(...circle))).toMatchObject({ WarningCount: 3 });
    expect(await places()).toEqual({ A: 'A 8', B: 'B 8', C: 'C 8', D: 'E 8', E: 'D 8' });
  });

  test('a lesson that loses a place to one that then cannot have it gets it after all', async () => {
    const { done, places } = await enterTenant(service);
    const stored = [
      lesson('X', 'A', 8),
      lesson('Y', 'B', 8),
      lesson('Z', 'C', 8, at(8, 10)),
      lesson('W', 'D', 9, at(9, 11)),
    ];
    await done('create', [{ JobID: 'J', LektionList: stored }]);
    // Y loses to X and stays in B; so Z cannot come to B, and W, whom Z was in the way of, can.
    const wanted = [
      lesson('X', 'E', 8),
      lesson('Y', 'E', 8),
      lesson('Z', 'B', 8, at(8, 10)),
      lesson('W', 'B', 9, at(9, 11)),
    ];
    const batch = await done('update?OnConflict=Skip', [{ JobID: 'J', LektionList: wanted }]);
    expect(await places()).toEqual({ X: 'E 8', Y: 'B 8', Z: 'C 8', W: 'B 9' });
    expect(batch.Errors.map(({ LektionId }) => LektionId)).toEqual(['Y', 'Z']);
  });

  test('a lesson that stays takes precedence over one that comes, and its other changes are made', async () => {
    const { done, places, lessons } = await enterTenant(service);
    await done('create', jobs(lesson('1', 'A', 8), lesson('2', 'B', 8)));
    const batch = await done('update?OnConflict=Skip', jobs(move('1', 'B'), { LektionId: '2', Titel: 'new' }));
    expect(told(batch)).toEqual(conflictAt(0));
    expect(await places()).toEqual({ 1: 'A 8', 2: 'B 8' });
    expect((await lessons())['2']?.Titel).toBe('new');
  });

  test('nothing else of a lesson that is left as it was is changed; the cause is never itself', async () => {
    const { book, done, lessons } = await enterTenant(service);
    await done('create', jobs(lesson('1', 'A', 8), lesson('2', 'B', 8)));
    const id = await book('A', 9, 10);
    const before = await lessons();
    const changes = jobs({ LektionId: '1', ...at(8.5, 9.5), Titel: 'x' }, { LektionId: '2', Titel: 'y' });
    const batch = await done('update?OnConflict=Skip', changes);
    expect(messages(batch)).toEqual([
      `1: A is occupied 2031-01-06 09:00-10:00 UTC by booking ${id}; the lesson was left as it was`,
    ]);
    expect(await lessons()).toEqual({ ...before, 2: { ...before['2'], Titel: 'y' } });
  });

  test('one of a coupled group is blocked: it stays in the group', async () => {
    const { book, done, rows } = await enterTenant(service);
    const K = { KopplungId: 'K' };
    await done('create', jobs(lesson('1', 'A', 8, K), lesson('2', 'A', 8, K)));
    await book('B', 8, 9);
    const before = await rows();
    expect(await done('update?OnConflict=Skip', jobs(move('1', 'B')))).toMatchObject({ WarningCount: 1 });
    expect(await rows()).toEqual(before);
  });

  test('one of a coupled group goes alone when the other is blocked', async () => {
    const { book, done, lessons, places } = await enterTenant(service);
    const K = { KopplungId: 'K' };
    await done('create', jobs(lesson('1', 'A', 8, K), lesson('2', 'A', 8, K)));
    await book('C', 8, 9);
    const before = await lessons();
    await done('update?OnConflict=Skip', jobs(move('1', 'B'), move('2', 'C')));
    expect(await places()).toEqual({ 1: 'B 8', 2: 'A 8' });
    expect((await lessons())['2']).toEqual(before['2']);
  });

  test('a lesson that is cancelled needs no room, and one that comes back does', async () => {
    const { book, done, places } = await enterTenant(service);
    await done('create', jobs(lesson('1', 'A', 8), lesson('2', 'B', 8, { Status: 'Entfaellt' })));
    await book('B', 8, 9);
    const changes = jobs(move('1', 'B', { Status: 'Entfaellt' }), { LektionId: '2', Status: 'Geplant' });
    expect(await done('update?OnConflict=Skip', changes)).toMatchObject({ WarningCount: 1 });
    expect(await places()).toEqual({ 1: '(B 8)', 2: '(B 8)' });
  });
});

describe('OnConflict=Displace', () => {
  test.each(['create', 'update'])('%s: bookings in the way are cancelled, and named', async (operation) => {
    const { book, done, places, bookings } = await enterTenant(service);
    await done('create', [{ JobID: operation === 'update' ? 'J' : 'K', LektionList: [lesson('1', 'B', 8)] }]);
    const away = [await book('A', 8, 8.5), await book('A', 8.5, 9.5, 'Booking', 'Tentative')];
    const stays = [await book('A', 10, 11), await book('A', 7, 8)];
    const batch = await done(`${operation}?OnConflict=Displace`, jobs(lesson('1', 'A', 8)));
    expect([told(batch), messages(batch)]).toEqual([
      conflictAt(0, 0),
      away.map((id) => `1: A was occupied by booking ${id}, which was cancelled`),
    ]);
    const after = await bookings();
    for (const id of away) expect(after[id]).toMatchObject({ status: 'Cancelled', version: 2 });
    for (const id of stays) expect(after[id]).toMatchObject({ status: 'Confirmed', version: 1 });
    expect(Object.values(await places())).toContain('A 8');
  });

  test('a booking that two lessons need is cancelled once', async () => {
    const { book, done, bookings } = await enterTenant(service);
    const id = await book('A', 8, 12);
    const batch = await done('create?OnConflict=Displace', jobs(lesson('1', 'A', 8), lesson('2', 'A', 11)));
    expect(told(batch)).toEqual(conflictAt(0));
    expect((await bookings())[id]).toMatchObject({ status: 'Cancelled', version: 2 });
  });

  test.each(['MailItem', 'Block', 'Lesson'])('a %s in the way: nothing is displaced', async (kind) => {
    const { book, fails, done } = await enterTenant(service);
    if (kind === 'Lesson') await done('create', [{ JobID: 'K', LektionList: [lesson('k', 'A', 8)] }]);
    else await book('A', 8, 9, kind);
    await book('A', 9, 10);
    const body = jobs(lesson('1', 'A', 8, at(8, 10)), lesson('2', 'A', 10));
    const batch = await fails('create?OnConflict=Displace', body);
    expect(told(batch)).toEqual(conflictAt(0));
    expect(batch).toMatchObject({ ErrorCount: 1, WarningCount: 0 });
  });

  test('lessons of the batch that need one place, or any other error: nothing is displaced', async () => {
    const { book, fails } = await enterTenant(service);
    await book('A', 8, 9);
    const twice = await fails('create?OnConflict=Displace', jobs(lesson('1', 'A', 8), lesson('2', 'A', 8)));
    expect(told(twice)).toEqual(conflictAt(1));
    const other = await fails('create?OnConflict=Displace', jobs(lesson('1', 'A', 8), lesson('2', 'X', 8)));
    expect(told(other)).toEqual(['/0/LektionList/1/RessourceName UnknownResource']);
  });
});

describe('with ValidateOnly', () => {
  test.each(['Skip', 'Displace'])('%s: the warnings of the real run, and nothing is written', async (rule) => {
    const { book, done, rows } = await enterTenant(service);
    await done('create', [{ JobID: 'K', LektionList: [lesson('1', 'B', 8), lesson('2', 'C', 8)] }]);
    for (const [operation, JobID, room] of [
      ['update', 'K', 'A'],
      ['create', 'J', 'E'],
    ] as const) {
      await book(room, 8, 9);
      const list = [lesson('1', room, 8), lesson('2', room, 9, { Beginn: '2031-01-06T09:00' })];
      const before = await rows();
      const options = `${operation}?OnConflict=${rule}`;
      const validated = await done(`${options}&ValidateOnly=true`, [{ JobID, LektionList: list }]);
      expect(validated).toMatchObject({ ValidateOnly: true, LessonCount: 2, CreatedCount: 0 });
      expect(await rows()).toEqual(before);
      const real = await done(options, [{ JobID, LektionList: list }]);
      expect(validated.Errors).toEqual(real.Errors);
      expect(told(real)).toEqual([...conflictAt(0), '/0/LektionList/1/Beginn AssumedUtc']);
    }
  });
});

describe('what happens while a batch is at work', () => {
  /** Writes while it holds the rooms, as any writer of bookings does, and the batch waits for them. */
  async function during(
    { tenant, run }: Timetable,
    operation: string,
    write: (holder: Transaction) => Promise<unknown>,
  ) {
    const { db } = service.context;
    let holder!: Transaction;
    const release = await hold(db, (trx) => {
      holder = trx;
      return sql`select from resource where mandator_id = ${tenant.mandatorId} for no key update`.execute(trx);
    });
    const running = run(operation, jobs(lesson('1', 'A', 8)));
    await until('the batch waits for the rooms', async () => (await countWaiting(db)) > 0);
    await write(holder);
    await release();
    return await running;
  }

  test.each([
    ['create', 'Skip'],
    ['update', 'Skip'],
    ['create', 'Displace'],
    ['update', 'Displace'],
  ])('%s with %s: new bookings are seen', async (operation, rule) => {
    const timetable = await enterTenant(service);
    const JobID = operation === 'update' ? 'J' : 'K';
    await timetable.done('create', [{ JobID, LektionList: [lesson('1', 'B', 8)] }]);
    const batch = await during(timetable, `${operation}?OnConflict=${rule}`, () => timetable.book('A', 8, 9));
    expect([batch.ImportStatus, told(batch)]).toEqual(['LessonsCreated', conflictAt(0)]);
    const [inA] = (await timetable.client.lessons('RessourceName=A')).Items;
    expect(inA?.['LektionId']).toBe(rule === 'Skip' ? undefined : '1');
  });

  test.each<[string, string, string, string | undefined]>([
    ['create', 'K', 'B', 'UnknownResource'],
    ['update', 'J', 'B', 'UnknownResource'],
    ['update', 'J', 'A', undefined],
  ])(
    'a retired room takes no new lesson: %s of job %s, whose lesson is in %s: %s',
    async (operation, JobID, room, code) => {
      const timetable = await enterTenant(service);
      await timetable.done('create', [{ JobID, LektionList: [lesson('1', room, 8)] }]);
      const batch = await during(timetable, operation, (holder) =>
        sql`update resource set active = false where id = ${timetable.roomId('A')}`.execute(holder),
      );
      expect([batch.FailureKind, batch.Errors.map(({ Code }) => Code)]).toEqual(code ? ['Data', [code]] : [null, []]);
      expect(await timetable.places()).toEqual({ 1: `${room} 8` });
    },
  );
});
