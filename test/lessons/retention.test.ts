import { afterAll, beforeAll, expect, test } from '@jest/globals';
import { sql } from 'kysely';
import { findEnd } from '../../src/changes/service.ts';
import type { Config } from '../../src/config.ts';
import { heldLocks } from '../../src/db/advisory-locks.ts';
import { openDatabase } from '../../src/db/database.ts';
import { lockClasses } from '../../src/flow/locks.ts';
import { forgetOldLessons } from '../../src/lessons/retention.ts';
import { forgetOldBatches } from '../../src/lessons/service.ts';
import { openLog } from '../../src/log.ts';
import { makeTenant } from '../_util/factories.ts';
import { cloneDatabase } from '../_util/postgres.ts';
import { until } from '../_util/process.ts';
import { type Service, startService } from '../_util/service.ts';
import { enterTenant, lesson } from '../_util/timetable.ts';

let service: Service;
beforeAll(async () => {
  service = await startService();
});
afterAll(() => service.stop());

const first = { JobID: 'J', LektionList: [lesson('1', 'A', 8), lesson('2', 'A', 9)] };
const second = { JobID: 'K', LektionList: [lesson('3', 'B', 8), lesson('4', 'B', 9)] };

/** A tenant with jobs, and what is left of them. */
async function withJobs(jobs: object[] = [first, second]) {
  const { db } = service.context;
  const timetable = await enterTenant(service);
  await timetable.done('create', jobs);
  const { mandatorId } = timetable.tenant;
  // The import lets go of the tenant a moment after its end is told.
  await until('no batches of the tenant are run', async () => {
    const { rows } = await sql`
      select from ${heldLocks(lockClasses.batches)} as held where number = ${mandatorId}`.execute(db);
    return rows.length === 0;
  });
  const all = async (table: string) => {
    const { rows } = await sql`select from ${sql.table(table)} where mandator_id = ${mandatorId}`.execute(db);
    return rows.length;
  };
  const ofJob = (job: string) => sql`(
    select id from lesson_job where mandator_id = ${mandatorId} and job_id = ${job})`;
  return {
    ...timetable,
    mandatorId,
    left: async () => [await all('lesson_job'), await all('lesson'), await all('booking')],
    /** Puts lessons of a job, or one of them, as many days into the past, and when the job and they were changed as well. */
    async age(job: string, days: number, lektion: string | null = null) {
      await sql`
        with moved as (
          update lesson set beginn = beginn - by, ende = ende - by
          from (select date_trunc('hour', max(ende) - now()) + make_interval(days => ${days}) as by from lesson
            where mandator_id = ${mandatorId}) as far
          where mandator_id = ${mandatorId} and job = ${ofJob(job)} and lektion_id = coalesce(${lektion}::text, lektion_id)
          returning booking_id, beginn, ende
        ), booked as (
          update booking set occupied = tstzrange(beginn, ende), changed_at = now() - make_interval(days => ${days})
          from moved where mandator_id = ${mandatorId} and id = booking_id
        )
        update lesson_job set changed_at = now() - make_interval(days => ${days})
        where mandator_id = ${mandatorId} and id = ${ofJob(job)}`.execute(db);
    },
    async forget(limits: Partial<Config['Limits']> = { LessonDays: 100 }) {
      const config = { Limits: { ...service.context.config.Limits, ...limits } };
      await forgetOldLessons({ work: db, config });
    },
  };
}

test('a job goes with its lessons and their bookings once all of them ended longer ago', async () => {
  const { age, forget, left, client } = await withJobs();
  await age('J', 110);
  await age('K', 110, '3');
  await forget();
  expect(await left()).toEqual([1, 2, 2]);
  const { Items } = await client.get<{ Items: { JobID: string }[] }>('');
  expect(Items.map(({ JobID }) => JobID)).toEqual(['K']);
});

test('all stay where LessonDays is 0, as it is by default', async () => {
  const { age, forget, left } = await withJobs();
  await age('J', 10_000);
  await forget({});
  expect(await left()).toEqual([2, 4, 4]);
});

test('a job stays while it was sent lately, or the feed contains one of its bookings', async () => {
  const { age, forget, left, mandatorId } = await withJobs();
  const { db } = service.context;
  await age('J', 110);
  await age('K', 120);
  await sql`update lesson_job set changed_at = now() where mandator_id = ${mandatorId} and job_id = 'J'`.execute(db);
  await sql`
    update booking set changed_at = now() - interval '29 days' where mandator_id = ${mandatorId}
      and id = (select booking_id from lesson where mandator_id = ${mandatorId} and lektion_id = '4')`.execute(db);
  await forget();
  expect(await left()).toEqual([2, 4, 4]);
});

test('a booking that a lesson of another job shares goes with the last of them', async () => {
  const coupled = (JobID: string, LektionId: string, more: object[] = []) => ({
    JobID,
    LektionList: [{ ...lesson(LektionId, 'A', 8), KopplungId: 'K1' }, ...more],
  });
  const { age, forget, left } = await withJobs([coupled('J', '1'), coupled('K', '2', [lesson('3', 'B', 9)])]);
  expect(await left()).toEqual([2, 3, 2]);
  await age('J', 110);
  await age('K', 110, '2');
  await forget();
  expect(await left()).toEqual([1, 2, 2]);
  await age('K', 110);
  await forget();
  expect(await left()).toEqual([0, 0, 0]);
});

test('nothing goes while a batch of the tenant is open, or is imported', async () => {
  const { age, forget, left, mandatorId, tenant } = await withJobs();
  const { db } = service.context;
  await age('J', 110);
  await age('K', 110);
  await db.transaction().execute(async (trx) => {
    await sql`select pg_advisory_xact_lock(${lockClasses.batches}, ${mandatorId})`.execute(trx);
    await forget();
    expect(await left()).toEqual([2, 4, 4]);
  });
  await sql`
    insert into batch (mandator_id, id, operation, job_count, request_id, created_by, not_before)
    values (${mandatorId}, gen_random_uuid(), 'Update', 1, 'r', ${tenant.person('User').id}, now() + interval '1 day')`.execute(
    db,
  );
  await forget();
  expect(await left()).toEqual([2, 4, 4]);
  await sql`delete from batch where mandator_id = ${mandatorId} and request_id = 'r'`.execute(db);
  await forget();
  expect(await left()).toEqual([0, 0, 0]);
});

test('hundreds of jobs are deleted in portions, without a change in the feed', async () => {
  const jobs = Array.from({ length: 120 }, (_, n) => ({ JobID: `J${n}`, LektionList: [lesson(`${n}`, 'A', 8 + n)] }));
  const { forget, left, mandatorId } = await withJobs(jobs);
  const { db } = service.context;
  await sql`update lesson set beginn = beginn - interval '20 years', ende = ende - interval '20 years' where mandator_id = ${mandatorId}`.execute(
    db,
  );
  await sql`
    update booking set changed_at = '2000-01-01', occupied = tstzrange(lower(occupied) - interval '20 years', upper(occupied) - interval '20 years')
    where mandator_id = ${mandatorId}`.execute(db);
  await sql`update lesson_job set changed_at = '2000-01-01' where mandator_id = ${mandatorId}`.execute(db);
  const end = await findEnd(db, mandatorId);
  await forget();
  expect(await left()).toEqual([0, 0, 0]);
  expect(await findEnd(db, mandatorId)).toEqual(end);
});

test('all batches that ended longer ago go in one round, unless the process stops meanwhile', async () => {
  // No worker forgets anything there.
  const clone = await cloneDatabase();
  const log = openLog('silent');
  const db = openDatabase(clone.url, { max: 2, log, statementTimeout: 0 });
  try {
    const tenant = await makeTenant(db);
    await sql`
      insert into batch (mandator_id, id, operation, import_status, job_count, request_id, created_by, finished_at)
      select ${tenant.mandatorId}, gen_random_uuid(), 'Create', 'LessonsCreated', 1, 'r', ${tenant.person('Importer').id},
        now() - make_interval(days => 91) from generate_series(1, 50)`.execute(db);
    const forget = async (signal: AbortSignal) => {
      await forgetOldBatches({ work: db, config: service.context.config, signal });
      const { rows } = await sql`select from batch`.execute(db);
      return rows.length;
    };
    expect(await forget(AbortSignal.abort())).toBe(50);
    expect(await forget(new AbortController().signal)).toBe(0);
  } finally {
    await db.destroy();
    await clone.drop();
  }
});
