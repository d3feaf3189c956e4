import { afterAll, beforeAll, describe, expect, test } from '@jest/globals';
import { sql } from 'kysely';
import { countWaiting, hold, releaseAll } from '../_util/hold.ts';
import { masterData } from '../_util/master-data.ts';
import { until } from '../_util/process.ts';
import { type Service, startService } from '../_util/service.ts';
import { enterTenant } from '../_util/timetable.ts';

let service: Service;
beforeAll(async () => {
  service = await startService();
});
afterAll(async () => {
  await releaseAll();
  await service.stop();
});

/** By the hours of one day, which people may book: within the next three years. */
const day = Math.ceil(Date.now() / 86_400_000 + 30) * 86_400_000;
const instant = (hours: number) => `${new Date(day + hours * 3_600_000).toISOString().slice(0, 19)}Z`;
const at = (from: number, to = from + 1) => ({ Beginn: instant(from), Ende: instant(to) });
const lesson = (LektionId: string, RessourceName: string, from: number, more: object = {}) => ({
  LektionId,
  RessourceName,
  ...at(from),
  ...more,
});

type Role = 'Admin' | 'Importer' | 'User';
type Made = { Id: number; Uid: string; Version: number; Series: { BookingIds: number[] } | null };

/** A tenant whose people book over REST, and whose Importer sends lessons. */
async function enter() {
  const school = await enterTenant(service);
  const { tenant, roomId } = school;
  const rest = async (role: Role) => masterData(service, await service.signIn(tenant, role), tenant.code);
  async function reserve(room: string, from: number, more: object = {}, role: Role = 'Importer', to = from + 1) {
    const { Beginn: Start, Ende: End } = at(from, to);
    const answer = await (await rest(role)).post('/bookings', {
      ResourceId: roomId(room),
      Subject: 'Mine',
      Start,
      End,
      ...more,
    });
    expect([answer.status, answer.body]).toMatchObject([201, {}]);
    return answer.body as Made;
  }
  const read = async (id: number) => (await (await rest('Admin')).get(`/bookings/${id}`)).body;
  return { ...school, reserve, read, rest };
}

const jobs = (...LektionList: object[]) => [{ JobID: 'J', LektionList }];
const create = 'create?TakeOverBookings=true';
const told = ({ Errors }: { Errors: { Pointer: string; Code: string; Message: string }[] }) =>
  Errors.map(({ Pointer, Code, Message }) => `${Pointer} ${Code} ${Message}`);

describe('TakeOverBookings=true', () => {
  test('a lesson of the same room and time takes the booking of its sender over, with its Id and Uid', async () => {
    const { reserve, read, done, bookingOf, bookings } = await enter();
    const own = await reserve('A', 8, { Description: 'private notes', IsPrivate: true });
    const batch = await done(create, jobs(lesson('1', 'A', 8, { Titel: 'Algebra' }), lesson('2', 'B', 8)));
    expect(batch).toMatchObject({ CreatedCount: 2, WarningCount: 1 });
    expect(told(batch)).toEqual([
      `/0/LektionList/0/RessourceName ResourceConflict A was booked by the sender; the lesson has taken over booking ${own.Id}`,
    ]);
    expect((await bookingOf('1')).id).toBe(own.Id);
    expect(Object.keys(await bookings())).toHaveLength(2);
    expect(await read(own.Id)).toMatchObject({
      Id: own.Id,
      Uid: own.Uid,
      Kind: 'Lesson',
      Status: 'Confirmed',
      Subject: 'Algebra',
      Description: null,
      IsPrivate: false,
      Origin: { System: 'Import', JobID: 'J', LektionId: '1' },
      Version: own.Version + 1,
    });
  });

  test('what was laid around the booking goes, and a series lives on without it', async () => {
    const { reserve, read, done, rest } = await enter();
    const padded = await reserve('A', 8, { SetupMinutes: 15, TeardownMinutes: 30 });
    const { Series } = await reserve('B', 8, { RecurrenceRule: 'FREQ=DAILY;COUNT=3' });
    const [first = 0, second = 0] = Series?.BookingIds ?? [];
    await done(create, jobs(lesson('1', 'A', 8), lesson('2', 'B', 8)));
    expect(await read(padded.Id)).toMatchObject({ Kind: 'Lesson', SetupMinutes: 0, TeardownMinutes: 0 });
    expect(await read(first)).toMatchObject({ Kind: 'Lesson', SeriesId: null });
    expect(await read(second)).toMatchObject({ Kind: 'Booking', Status: 'Confirmed' });
    const cancelled = await (await rest('Importer')).send('DELETE', `/bookings/${second}?Scope=All`);
    expect(cancelled.status).toBe(200);
    expect(await read(first)).toMatchObject({ Status: 'Confirmed' });
  });

  test('a booking that is cancelled meanwhile stays cancelled, and the lesson gets one of its own', async () => {
    const { reserve, read, run, bookingOf, bookings } = await enter();
    // The first is in the way of the fast path, so that the import plans while the second is being cancelled.
    const [kept, given] = [await reserve('A', 8), await reserve('B', 8)];
    const { db } = service.context;
    const release = await hold(db, (trx) =>
      sql`update booking set status = 'Cancelled', version = version + 1 where id = ${given.Id}`.execute(trx),
    );
    const running = run(create, jobs(lesson('1', 'A', 8), lesson('2', 'B', 8)));
    await until('the import waits for the cancellation', async () => (await countWaiting(db)) > 0);
    await release();
    const batch = await running;
    expect(await read(given.Id)).toMatchObject({ Kind: 'Booking', Status: 'Cancelled', Version: given.Version + 1 });
    expect(batch).toMatchObject({ ImportStatus: 'LessonsCreated', CreatedCount: 2, WarningCount: 1 });
    expect((await bookingOf('1')).id).toBe(kept.Id);
    expect(await bookingOf('2')).toMatchObject({ status: 'Confirmed', kind: 'Lesson' });
    expect(Object.keys(await bookings())).toHaveLength(3);
  });

  test('with ValidateOnly it is reported, and nothing is written', async () => {
    const { reserve, done, rows } = await enter();
    await reserve('A', 8);
    const before = await rows();
    const batch = await done(`${create}&ValidateOnly=true`, jobs(lesson('1', 'A', 8)));
    expect([batch.WarningCount, await rows()]).toEqual([1, before]);
  });

  test.each<[string, (school: Awaited<ReturnType<typeof enter>>) => Promise<unknown>]>([
    ['of somebody else', ({ reserve }) => reserve('A', 8, {}, 'User')],
    ['of another time', ({ reserve }) => reserve('A', 8, {}, 'Importer', 9.5)],
    [
      'made for somebody else',
      ({ reserve, tenant }) => reserve('A', 8, { OrganizerId: tenant.person('User').id }, 'Admin'),
    ],
    ['that is a Block', ({ reserve }) => reserve('A', 8, { Kind: 'Block' }, 'Admin')],
  ])('a booking %s stays in the way', async (_name, reserve) => {
    const school = await enter();
    await reserve(school);
    const batch = await school.fails(create, jobs(lesson('1', 'A', 8)));
    expect(told(batch)).toEqual([
      expect.stringMatching(/^\/0\/LektionList\/0\/RessourceName ResourceConflict A is occupied/),
    ]);
  });

  test('a booking that is made for the sender is its own', async () => {
    const { reserve, done, bookingOf, tenant } = await enter();
    const own = await reserve('A', 8, { OrganizerId: tenant.person('Importer').id }, 'Admin');
    await done(create, jobs(lesson('1', 'A', 8)));
    expect((await bookingOf('1')).id).toBe(own.Id);
  });

  test('goes with OnConflict: what is not the own booking is left out or displaced', async () => {
    const { reserve, done, places, read } = await enter();
    const [own, theirs] = [await reserve('A', 8), await reserve('B', 8, {}, 'User')];
    const skipped = await done(`${create}&OnConflict=Skip`, jobs(lesson('1', 'A', 8), lesson('2', 'B', 8)));
    expect([skipped.CreatedCount, skipped.WarningCount, await places()]).toEqual([
      1,
      2,
      { 1: expect.stringMatching(/^A/) },
    ]);
    const other = await reserve('C', 8);
    await done(`${create}&OnConflict=Displace`, [
      { JobID: 'K', LektionList: [lesson('3', 'C', 8), lesson('4', 'B', 8)] },
    ]);
    expect(await read(own.Id)).toMatchObject({ Kind: 'Lesson' });
    expect(await read(other.Id)).toMatchObject({ Kind: 'Lesson' });
    expect(await read(theirs.Id)).toMatchObject({ Kind: 'Booking', Status: 'Cancelled' });
  });

  test('of two lessons that want the place one gets it; coupled ones share it; a cancelled one needs none', async () => {
    const { reserve, fails, done, bookingOf, read } = await enter();
    const own = await reserve('A', 8);
    const twice = await fails(create, jobs(lesson('1', 'A', 8), lesson('2', 'A', 8)));
    expect(told(twice)).toEqual([expect.stringMatching(/^\/0\/LektionList\/1\/RessourceName ResourceConflict/)]);
    const gone = await reserve('B', 8);
    const KopplungId = 'both';
    await done(
      create,
      jobs(
        lesson('1', 'A', 8, { KopplungId }),
        lesson('2', 'A', 8, { KopplungId }),
        lesson('3', 'B', 8, { Status: 'Entfaellt' }),
      ),
    );
    expect([(await bookingOf('1')).id, (await bookingOf('2')).id]).toEqual([own.Id, own.Id]);
    expect(await read(gone.Id)).toMatchObject({ Kind: 'Booking', Status: 'Confirmed' });
  });

  test('without it, and for a change, the own booking is in the way as any other', async () => {
    const { reserve, fails, done } = await enter();
    await reserve('A', 8);
    await fails('create', jobs(lesson('1', 'A', 8)));
    await fails('create?TakeOverBookings=false', jobs(lesson('1', 'A', 8)));
    await done('create', jobs(lesson('1', 'B', 8)));
    await fails('update?TakeOverBookings=true', jobs({ LektionId: '1', RessourceName: 'A' }));
  });

  test('is another request for an Idempotency-Key', async () => {
    const { client, reserve } = await enter();
    await reserve('A', 8);
    const send = (query: string) =>
      client.send(`create${query}`, jobs(lesson('1', 'A', 8)), { 'Idempotency-Key': 'key' });
    expect([(await send('')).status, (await send('?TakeOverBookings=true')).status]).toEqual([202, 422]);
  });

  test('over GraphQL: for a creation alone', async () => {
    const { client, reserve, bookingOf, rest } = await enter();
    const own = await reserve('A', 8);
    const { ask } = await rest('Importer');
    const options = { takeOverBookings: true };
    const made = await ask(
      'mutation ($jobs: [LessonJobInput!]!, $options: BatchOptions) { createLessonJobs(jobs: $jobs, options: $options) { ... on BatchAccepted { batch { id } } } }',
      {
        jobs: [{ jobKey: 'J', lessons: [{ lessonKey: '1', resourceName: 'A', start: at(8).Beginn, end: at(8).Ende }] }],
        options,
      },
    );
    expect(made.errors).toBeUndefined();
    const { batch } = made.data!['createLessonJobs'] as { batch: { id: string } };
    expect(await client.end(batch.id)).toMatchObject({ ImportStatus: 'LessonsCreated' });
    expect((await bookingOf('1')).id).toBe(own.Id);
    for (const [name, type] of [
      ['updateLessonJobs', 'LessonJobChangeInput'],
      ['deleteLessonJobs', 'LessonJobDeletionInput'],
    ]) {
      const { data } = await ask(
        `mutation ($jobs: [${type}!]!, $options: BatchOptions) { ${name}(jobs: $jobs, options: $options) { __typename } }`,
        { jobs: [{ jobKey: 'J' }], options },
      );
      expect(data![name!]).toEqual({ __typename: 'ValidationProblem' });
    }
  });
});

describe('a Standort that does not exist', () => {
  const inMoon = (...LektionList: object[]) => [{ JobID: 'J', Standort: 'Moon', LektionList }];

  test('is reported once for its job, at the Standort', async () => {
    const { fails } = await enter();
    const batch = await fails('create', [
      ...inMoon(lesson('1', 'A', 8), lesson('2', 'Nowhere', 8)),
      { JobID: 'K', LektionList: [lesson('1', 'Nowhere', 8)] },
      { JobID: 'L', Standort: 'campus', LektionList: [lesson('1', 'Nowhere', 9)] },
    ]);
    expect(told(batch)).toEqual([
      '/0/Standort UnknownResource Unknown location: Moon',
      '/1/LektionList/0/RessourceName UnknownResource Unknown resource: Nowhere',
      '/2/LektionList/0/RessourceName UnknownResource Unknown resource: Nowhere in campus',
    ]);
    expect(batch.Errors[0]).toMatchObject({ Field: 'Standort', LektionIndex: null, JobID: 'J', Index: 0 });
    expect(batch['ErrorMessages']).toContain('Unknown location: Moon (job 0 "J")');
  });

  test('is pointed to in the spelling that was sent, of a change too', async () => {
    const { fails, done } = await enter();
    await done('create', jobs(lesson('1', 'A', 8)));
    const change = { LektionId: '1', RessourceName: 'B' };
    const camel = await fails('update', [{ jobID: 'J', standort: 'Moon', lektionList: [change] }]);
    expect(told(camel)).toEqual(['/0/standort UnknownResource Unknown location: Moon']);
  });
});
