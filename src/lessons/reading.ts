/** Reads the jobs and rooms of a body before its lessons; replaces the staging tables in the fast path of a Create. */
import { type RawBuilder, sql } from 'kysely';
import type { Transaction } from '../db/database.ts';
import * as openingHours from '../opening-hours/service.ts';
import type { BatchKey, Running } from './batch.ts';
import { member, textOf } from './fields.ts';
import { jobRows, type LessonSlice, partedJobs, roomRows, stageJobs } from './staging.ts';

/**
 * Makes the session ready for a batch. It sorts and hashes in memory, and compiles no plan, which costs more than it gains. Nor does it
 * cache lists of lessons: each is read once.
 *
 * The session caches the plans that check foreign keys. A plan made while the tables were small would scan, for each
 * lesson, all that this batch has written.
 */
export async function beginReading(trx: Transaction, { operation }: Running): Promise<void> {
  const isByHash = operation === 'Create' ? '; set local enable_nestloop = off' : '';
  const settings = `set local work_mem = '64MB'; set local jit = off; set local enable_memoize = off${isByHash}`;
  await sql.raw(`discard plans; ${settings}`).execute(trx);
}

/**
 * Begins the savepoint `unwritten`, in which rows are found by their indexes: the plans that check foreign keys are made now.
 * Where few jobs are stored, they would scan all of them for each lesson, and without statistics make a bitmap for one booking.
 */
export async function beginWriting(trx: Transaction): Promise<void> {
  await sql.raw('savepoint unwritten; set local enable_seqscan = off; set local enable_bitmapscan = off').execute(trx);
}

/** Lets statements scan again, once the foreign keys have their plans. */
export async function endWriting(trx: Transaction): Promise<void> {
  await sql.raw('set local enable_seqscan = default; set local enable_bitmapscan = default').execute(trx);
}

/**
 * What is known of a body before its lessons are read. `rooms` has each name of a room once, with its location and id.
 * For a Create, `firstDay` and `lastDay` are the least and greatest dates of the lessons' times, as sent.
 */
export type ReadJobs = {
  faulty: boolean;
  unknown: boolean;
  rooms: SentRooms;
  firstDay: string | null;
  lastDay: string | null;
  /** Whether the tenant has opening hours. */
  knowsHours: boolean;
};
export type SentRooms = { names: string[]; standorts: string[]; ids: number[] };

/** Reads the jobs and the names of their rooms. For a Create, nothing is staged. */
export async function readJobs(trx: Transaction, batch: Running): Promise<ReadJobs> {
  const isCreate = batch.operation === 'Create';
  if (!isCreate) await stageJobs(trx, batch);
  const parts = isCreate
    ? sql`with staged_job as materialized (${jobRows(batch)}), staged_room as materialized (${roomRows(batch)})`
    : sql``;
  const { rows } = await sql<Omit<ReadJobs, 'rooms'> & SentRooms>`${parts}
    select job.faulty or room.faulty as faulty, unknown, names, standorts, ids, first_day as "firstDay", last_day as "lastDay",
      ${openingHours.hasRules(batch.mandatorId)} as "knowsHours"
    from (
      select coalesce(bool_or(faulty), false) or ${!isCreate} and count(job) > count(distinct job) as faulty,
        coalesce(bool_or(has_unknown), false) as unknown
      from staged_job
    ) as job, (
      select coalesce(bool_or(matches <> 1), false) as faulty, min(first_day) as first_day, max(last_day) as last_day,
        coalesce(array_agg(name), '{}') as names, coalesce(array_agg(standort), '{}') as standorts,
        coalesce(array_agg(id), '{}') as ids
      from staged_room
    ) as room`.execute(trx);
  const { names, standorts, ids, ...read } = rows[0]!;
  return { ...read, rooms: { names, standorts, ids } };
}

/** `staged_job` and `staged_room` as parts of a statement about a slice, once the jobs of the batch are stored. */
export const stagedFor = (
  batch: BatchKey,
  slice: LessonSlice,
  { names, standorts, ids }: SentRooms,
): RawBuilder<unknown> => sql`
  staged_job as materialized (
    select index, standort,
      (select id from lesson_job where lesson_job.mandator_id = ${batch.mandatorId} and lesson_job.job_id = sent.job_id) as job
    from (
      select index, ${textOf(member(sql`head`, 'JobID'))} as job_id, ${textOf(member(sql`head`, 'Standort'))} as standort
      from (${partedJobs(batch, slice)}) as job
    ) as sent
  ), staged_room as materialized (
    select name, standort, id, 1 as matches
    from unnest(${names}::text[], ${standorts}::text[], ${ids}::integer[]) as room (name, standort, id)
  )`;
