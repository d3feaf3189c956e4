/** Forgets jobs whose lessons all ended more than `LessonDays` ago, with their lessons and the bookings of these. */
import { sql } from 'kysely';
import { forgetBookings, type RetentionWork } from '../bookings/service.ts';
import type { Config } from '../config.ts';
import type { Transaction } from '../db/database.ts';
import { daysAgo } from '../db/days-ago.ts';
import { rests } from '../db/resting.ts';
import { lockClasses } from '../flow/locks.ts';
import { isOpen } from './next.ts';

type Kept = Config['Limits'];

/** Jobs that one transaction deletes; imports of their tenant wait for it. */
const forgottenAtOnce = 50;

/**
 * A job is forgotten as a whole, so that a sender who sends it again finds all of its lessons or none. Job and bookings must
 * not have changed for `ChangeDays`, as the feed refers to them; and no batch may be open, as it could name the job.
 */
const oldJobs = (mandatorId: number, { LessonDays, ChangeDays }: Kept) => sql`
  select id from lesson_job as job
  where mandator_id = ${mandatorId} and changed_at < ${daysAgo(Math.max(LessonDays, ChangeDays))}
    and not exists (
      select from lesson join booking on booking.mandator_id = lesson.mandator_id and booking.id = lesson.booking_id
      where lesson.mandator_id = job.mandator_id and lesson.job = job.id and (lesson.ende >= ${daysAgo(LessonDays)}
        or upper(booking.occupied) >= ${daysAgo(LessonDays)} or booking.changed_at >= ${daysAgo(ChangeDays)}))
    and not exists (select from batch where batch.mandator_id = job.mandator_id and ${isOpen})
    and not ${rests(sql`job.mandator_id`)}
  order by id limit ${forgottenAtOnce}`;

/** @returns how many jobs; 0 while a worker imports for the tenant */
async function forgetSome(trx: Transaction, mandatorId: number, limits: Kept): Promise<number> {
  // The lock of imports: no import that has read these jobs runs meanwhile.
  const { rows: locks } = await sql<{ isFree: boolean }>`
    select pg_try_advisory_xact_lock(${lockClasses.batches}, ${mandatorId}) as "isFree"`.execute(trx);
  if (!locks[0]?.isFree) return 0;
  const { rows } = await sql<{ id: number }>`${oldJobs(mandatorId, limits)}`.execute(trx);
  if (rows.length === 0) return 0;
  const ids = rows.map(({ id }) => id);
  const { rows: lessons } = await sql<{ bookingId: number }>`
    delete from lesson where mandator_id = ${mandatorId} and job = any(${ids}::bigint[])
    returning booking_id as "bookingId"`.execute(trx);
  await sql`delete from lesson_job where mandator_id = ${mandatorId} and id = any(${ids}::bigint[])`.execute(trx);
  const bookingIds = [...new Set(lessons.map(({ bookingId }) => bookingId))];
  // Bookings that coupled lessons of other jobs share stay.
  await forgetBookings(trx, mandatorId, bookingIds, limits);
  return rows.length;
}

/** Does nothing where `LessonDays` is 0. */
export async function forgetOldLessons({ work, config, signal }: RetentionWork): Promise<void> {
  const { Limits } = config;
  if (Limits.LessonDays === 0) return;
  const { rows } = await sql<{ mandatorId: number }>`
    select mandator.id as "mandatorId" from mandator where exists (
      select from lesson_job
      where mandator_id = mandator.id and changed_at < ${daysAgo(Limits.LessonDays)})`.execute(work);
  for (const { mandatorId } of rows)
    for (let some = forgottenAtOnce; some === forgottenAtOnce && !signal?.aborted; )
      some = await work.transaction().execute((trx) => forgetSome(trx, mandatorId, Limits));
}
