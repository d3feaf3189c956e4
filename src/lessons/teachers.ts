/** Names of teachers in stored lessons, both in the present values and in Ursprung. */
import { type RawBuilder, sql } from 'kysely';
import type { Transaction } from '../db/database.ts';
import { keysOf } from '../db/name-keys.ts';
import { lockClasses } from '../flow/locks.ts';

const before = sql`case when jsonb_typeof(ursprung -> 'Lehrpersonen') = 'array' then ursprung -> 'Lehrpersonen' end`;

/** Whether a lesson names one of the teachers. */
const namesOne = (mandatorId: number, keys: RawBuilder<unknown>) => sql`mandator_id = ${mandatorId} and (
  exists (select from unnest(lehrpersonen) as name where name_key(name) = any (${keys}))
  or exists (select from jsonb_array_elements_text(${before}) as name where name_key(name) = any (${keys})))`;

/** The bookings of the lessons that name one of the teachers, in any case. */
export async function findLessonsNaming(
  trx: Transaction,
  mandatorId: number,
  names: readonly string[],
): Promise<number[]> {
  const { rows } = await sql<{ bookingId: number }>`
    select distinct booking_id as "bookingId" from lesson where ${namesOne(mandatorId, keysOf(names))}`.execute(trx);
  return rows.map(({ bookingId }) => bookingId);
}

/**
 * Blocks imports of the tenant until the transaction ends: one that has read the lessons would write their teachers
 * back. Waits for a running one.
 */
export async function holdImports(trx: Transaction, mandatorId: number): Promise<void> {
  await sql`select pg_advisory_xact_lock(${lockClasses.batches}, ${mandatorId})`.execute(trx);
}

/** Removes the names from the teachers of all lessons. */
export async function removeTeachers(trx: Transaction, mandatorId: number, names: readonly string[]): Promise<void> {
  const keys = keysOf(names);
  await sql`
    update lesson set
      lehrpersonen = case when lehrpersonen is not null then array(
        select name from unnest(lehrpersonen) with ordinality as list(name, place)
        where name_key(name) <> all (${keys}) order by place) end,
      ursprung = case when ${before} is null then ursprung else jsonb_set(ursprung, '{Lehrpersonen}', coalesce((
        select jsonb_agg(name order by place) from jsonb_array_elements_text(${before}) with ordinality as list(name, place)
        where name_key(name) <> all (${keys})), '[]')) end
    where ${namesOne(mandatorId, keys)}`.execute(trx);
}
