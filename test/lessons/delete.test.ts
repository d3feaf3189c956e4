import { afterAll, beforeAll, describe, expect, test } from '@jest/globals';
import { type Service, startService } from '../_util/service.ts';
import { enterTenant, lesson, told } from '../_util/timetable.ts';

let service: Service;
beforeAll(async () => {
  service = await startService();
});
afterAll(() => service.stop());

const full = { Titel: 'T', Klassen: ['1a'], Privat: true, KopplungId: 'K', RessourceId: 7 };
const first = { JobID: 'J', Bezeichnung: 'B', LektionList: [lesson('1', 'A', 8), lesson('2', 'A', 9)] };
const second = { JobID: 'K', LektionList: [lesson('3', 'B', 8), lesson('4', 'B', 9)] };

/** A tenant with the two jobs. */
async function withJobs() {
  const timetable = await enterTenant(service);
  await timetable.done('create', [first, second]);
  const jobs = async () =>
    (await timetable.client.get<{ Items: Record<string, unknown>[] }>('')).Items.map(
      ({ JobID, LessonCount }) => `${JobID}: ${LessonCount}`,
    );
  return { ...timetable, jobs };
}

describe('LessonsCreated', () => {
  test.each([
    ['without LektionList', {}],
    ['with null', { LektionList: null }],
  ])('a job %s goes with all its lessons, and their bookings are cancelled', async (_name, more) => {
    const { done, lessons, bookings, jobs } = await withJobs();
    const before = await lessons();
    const batch = await done('delete', [{ JobID: 'J', ...more }]);
    expect(batch).toMatchObject({
      Operation: 'Delete',
      JobCount: 1,
      LessonCount: 2,
      ProcessedCount: 2,
      CreatedCount: 0,
      ErrorCount: 0,
      WarningCount: 0,
    });
    expect([await jobs(), await lessons()]).toEqual([['K: 2'], { 3: before['3'], 4: before['4'] }]);
    expect(Object.values(await bookings())).toMatchObject([
      { at: 'A 8-9', status: 'Cancelled', version: 2 },
      { at: 'A 9-10', status: 'Cancelled', version: 2 },
      { at: 'B 8-9', status: 'Confirmed', version: 1 },
      { at: 'B 9-10', status: 'Confirmed', version: 1 },
    ]);
  });

  test('listed lessons go, of several jobs; the jobs stay, with the others', async () => {
    const { done, places, jobs } = await withJobs();
    const batch = await done('delete', [
      { JobID: 'J', LektionList: [{ LektionId: '2' }] },
      { JobID: 'K', LektionList: [{ LektionId: '3' }, { LektionId: '4' }] },
    ]);
    expect(batch).toMatchObject({ JobCount: 2, LessonCount: 3, ProcessedCount: 3 });
    expect([await places(), await jobs()]).toEqual([{ 1: 'A 8' }, ['K: 0', 'J: 1']]);
  });

  test('whole jobs and single lessons in one batch', async () => {
    const { done, places, jobs } = await withJobs();
    const batch = await done('delete', [{ jobId: 'K' }, { JobID: 'J', lektionList: [{ lektionId: '1' }] }]);
    expect(batch).toMatchObject({ LessonCount: 3, ProcessedCount: 3 });
    expect([await places(), await jobs()]).toEqual([{ 2: 'A 9' }, ['J: 1']]);
  });

  test('the room is free for others, and the JobID for a new job', async () => {
    const { done, places, lessons } = await withJobs();
    const before = await lessons();
    await done('delete', [{ JobID: 'J' }]);
    await done('create', [first]);
    const after = await lessons();
    expect(await places()).toEqual({ 1: 'A 8', 2: 'A 9', 3: 'B 8', 4: 'B 9' });
    expect(after['1']?.BookingId).not.toBe(before['1']?.BookingId);
    expect({ ...after['1'], BookingId: 0 }).toEqual({ ...before['1'], BookingId: 0 });
  });

  test('lessons as they were created: ignored members are accepted, unknown ones are not', async () => {
    const { done } = await withJobs();
    const list = first.LektionList.map((each) => ({ ...each, ...full, Beginn: 'whatever' }));
    expect(await done('delete', [{ ...first, LektionList: list }])).toMatchObject({ WarningCount: 0 });
    const batch = await done('delete', [{ JobID: 'K', Farbe: 1, LektionList: [{ LektionId: '3', Ort: 1 }] }]);
    expect(told(batch)).toEqual(['/0/Farbe UnknownField', '/0/LektionList/0/Ort UnknownField']);
  });

  test('a cancelled lesson; a lesson whose booking others share', async () => {
    const { done, bookings, bookingOf, places } = await enterTenant(service);
    const coupled = { KopplungId: 'K' };
    const list = [
      lesson('1', 'A', 8, coupled),
      lesson('2', 'A', 8, coupled),
      lesson('3', 'B', 8, { Status: 'Entfaellt' }),
    ];
    await done('create', [{ JobID: 'J', LektionList: list }]);
    const { id, ...shared } = await bookingOf('1');
    const ofCancelled = await bookingOf('3');
    await done('delete', [{ JobID: 'J', LektionList: [{ LektionId: '1' }, { LektionId: '3' }] }]);
    expect(await places()).toEqual({ 2: 'A 8' });
    // What they tell of their lessons has changed, and nothing else.
    expect((await bookings())[id]).toEqual({ ...shared, version: 2 });
    expect({ id: ofCancelled.id, ...(await bookings())[ofCancelled.id] }).toEqual({
      ...ofCancelled,
      version: 2,
    });
    await done('delete', [{ JobID: 'J' }]);
    expect((await bookings())[id]).toMatchObject({ status: 'Cancelled', version: 3 });
  });

  test('a job without lessons', async () => {
    const { done, jobs } = await withJobs();
    await done('delete', [{ JobID: 'J', LektionList: first.LektionList }]);
    expect(await done('delete', [{ JobID: 'J' }])).toMatchObject({ LessonCount: 0, ProcessedCount: 0 });
    expect(await jobs()).toEqual(['K: 2']);
  });
});

describe('LessonsImportFailed', () => {
  test('every fault at its place, and nothing is deleted', async () => {
    const other = await enterTenant(service);
    await other.done('create', [{ ...first, JobID: 'theirs' }]);
    const { fails } = await withJobs();
    const batch = await fails('delete', [
      { JobID: 'J', LektionList: [{ LektionId: '1' }, { LektionId: '3' }, { LektionId: '1' }, {}, 7] },
      { JobID: 'unknown' },
      { JobID: 'theirs', LektionList: [{ LektionId: '1' }] },
      { JobID: 'K', LektionList: [] },
      { JobID: 'K', LektionList: 'all' },
      { LektionList: [{ LektionId: 5 }] },
    ]);
    expect(told(batch)).toEqual([
      '/0/LektionList/1/LektionId UnknownLektionId',
      '/0/LektionList/2/LektionId DuplicateLektionId',
      '/0/LektionList/3/LektionId MissingField',
      '/0/LektionList/4 InvalidType',
      '/1/JobID UnknownJobId',
      '/2/JobID UnknownJobId',
      '/3/LektionList MissingField',
      '/4/JobID DuplicateJobId',
      '/4/LektionList InvalidType',
      '/5/JobID MissingField',
      '/5/LektionList/0/LektionId InvalidType',
    ]);
    expect(batch.ErrorMessages?.split('\n').slice(4, 7)).toEqual([
      'Unknown JobId: unknown (job 1 "unknown")',
      'Unknown JobId: theirs (job 2 "theirs")',
      'LektionList is empty; leave it out to delete the whole job (job 3 "K")',
    ]);
  });

  test('a job that was deleted is unknown', async () => {
    const { done, fails } = await withJobs();
    await done('delete', [{ JobID: 'J' }]);
    expect(told(await fails('delete', [{ JobID: 'J' }]))).toEqual(['/0/JobID UnknownJobId']);
    expect(told(await fails('update', [{ JobID: 'J', Quelle: 'x' }]))).toEqual(['/0/JobID UnknownJobId']);
  });
});
