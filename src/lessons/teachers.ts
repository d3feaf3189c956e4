/** Names of teachers in stored lessons, both in the present values and in Ursprung. */
import { type RawBuilder, sql } from 'kysely';
import { namesTeacher } from '../bookings/service.ts';
import type { Transaction } from '../db/database.ts';
import { keysOf } from '../db/name-keys.ts';
import { lockClasses } from '../flow/locks.ts';

const before = sql`case when jsonb_typeof(ursprung -> 'Lehrpersonen') = 'array' then ursprung -> 'Lehrpersonen' end`;

/** How much of the lessons' time a search asks for at once: a query of more terms could become too long for PostgreSQL. */
const spanStep = sql`interval '3000 days'`;

/** It parts search terms, also within a name: an index has what comes before it. `removeTeachers` compares whole names. */
const termMark = '\u001f';

/** A lesson that names a teacher: its key, and its booking, which a cancelled one does not have. */
export type NamingLesson = { job: number; lektionId: string; bookingId: number | null };

/**
 * The lessons that name one of the teachers, in any case. A tenant may have millions, so names are compared only in those that have
 * been changed, as no index has their former teachers. In the few of them whose former room is unknown, no index has that either.
 */
export async function findLessonsNaming(
  trx: Transaction,
  mandatorId: number,
  names: readonly string[],
): Promise<NamingLesson[]> {
  const edge = (which: 'min' | 'max') => sql`(
    select ${sql.raw(which)}(beginn) from lesson where mandator_id = resource.mandator_id and resource_id = resource.id)`;
  const columns = sql`lesson.job, lesson.lektion_id as "lektionId", lesson.booking_id as "bookingId"`;
  const changed = (origin: RawBuilder<unknown>) => sql`
    select ${columns} from lesson
    where mandator_id = ${mandatorId} and origin_resource_id is ${origin} and ursprung is not null and exists (
      select from jsonb_array_elements_text(${before}) as name where name_key(name) = any (${keysOf(names)}))`;
  const { rows } = await sql<NamingLesson>`
    select ${columns} from (
      select min(${edge('min')}) as first, max(${edge('max')}) as last from resource where mandator_id = ${mandatorId}
    ) as span
    cross join generate_series(span.first, span.last, ${spanStep}) as begins
    cross join unnest(${names}::text[]) as name
    join lesson on lesson.mandator_id = ${mandatorId}
      and ${namesTeacher(mandatorId, sql`begins`, sql`begins + ${spanStep}`, sql`split_part(name, ${termMark}, 1)`)}
    union ${changed(sql`not null`)}
    union ${changed(sql`null`)}`.execute(trx);
  return rows;
}

/**
 * Blocks imports of the tenant until the transaction ends: one that has read the lessons would write their teachers
 * back. Waits for a running one.
 */
export async function holdImports(trx: Transaction, mandatorId: number): Promise<void> {
  await sql`select pg_advisory_xact_lock(${lockClasses.batches}, ${mandatorId})`.execute(trx);
}

/** Removes the names from the teachers of these lessons. */
export async function removeTeachers(
  trx: Transaction,
  mandatorId: number,
  names: readonly string[],
  lessons: readonly NamingLesson[],
): Promise<void> {
  const keys = keysOf(names);
  await sql`
    update lesson set
      lehrpersonen = case when lehrpersonen is not null then array(
        select name from unnest(lehrpersonen) with ordinality as list(name, place)
        where name_key(name) <> all (${keys}) order by place) end,
      ursprung = case when ${before} is null then ursprung else jsonb_set(ursprung, '{Lehrpersonen}', coalesce((
        select jsonb_agg(name order by place) from jsonb_array_elements_text(${before}) with ordinality as list(name, place)
        where name_key(name) <> all (${keys})), '[]')) end
    from unnest(${lessons.map(({ job }) => job)}::bigint[], ${lessons.map(({ lektionId }) => lektionId)}::text[])
      as found(job, lektion_id)
    where lesson.mandator_id = ${mandatorId} and lesson.job = found.job and lesson.lektion_id = found.lektion_id`.execute(
    trx,
  );
}
