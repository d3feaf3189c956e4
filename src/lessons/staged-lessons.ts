/**
 * `staged_lesson`: every lesson of a batch as it will be, beside its stored version. The fast path of a Create does
 * without it.
 */
import { type RawBuilder, sql } from 'kysely';
import type { Transaction } from '../db/database.ts';
import type { BatchKey, Running } from './batch.ts';
import { anyFault, isCancelled, lessonFields, mergedColumns } from './fields.ts';
import { discloses } from './sight.ts';
import { everything, isUnfit, isWithoutOffset, joinByHash, newLessons, roomOf, typedLessons } from './staging.ts';

const storedLesson = ({ mandatorId }: BatchKey) =>
  sql`left join lesson as stored on stored.mandator_id = ${mandatorId} and stored.job = job.job and stored.lektion_id = typed.lektion_id_value`;

const ownFields = lessonFields.filter(({ name }) => !name.startsWith('Ressource'));
/** The columns that Ursprung keeps. */
const place = ['resource_id', 'lehrpersonen', 'fach', 'beginn', 'ende'];
const content = [...place, 'titel', 'klassen', 'bemerkung', 'kopplung_id'];
const utc = (instant: RawBuilder<unknown>) =>
  sql`to_char(${instant} at time zone 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS.MS"Z"')`;

/** A lesson has moved if one of these has changed. */
const roomAndTime = ['resource_id', 'beginn', 'ende'];
/** Whether these columns of a lesson differ from what is stored. */
const differs = (columns: readonly string[], ...more: RawBuilder<unknown>[][]) => sql`
  (${sql.join([...columns.map((column) => sql.ref(`lesson.${column}`)), ...more.map(([own]) => own)])}) is distinct from
  (${sql.join([...columns.map((column) => sql`(stored).${sql.id(column)}`), ...more.map(([, stored]) => stored)])})`;

/** The listed lessons merged with what is stored: a member that was not sent stays as it is. */
function changedLessons(batch: Running): RawBuilder<unknown> {
  return sql`
    select *, faulty or ${isUnfit} or job is null or ((stored).job is null and not whole)
        or discloses as refused,
      case when (stored).job is null then 'insert'
           when ${differs(
             content,
             [sql`coalesce(status, 'Geplant')`, sql`(stored).status`],
             [sql`coalesce(privat, false)`, sql`(stored).privat`],
           )} then 'update' else 'keep' end as action,
      (stored).job is not null and ${differs(roomAndTime)} as moved,
      coalesce((stored).ursprung, case when (stored).job is not null and ${differs(place)} then jsonb_build_object(
        'RessourceName', stored_room, 'Lehrpersonen', (stored).lehrpersonen, 'Fach', (stored).fach,
        'Beginn', ${utc(sql`(stored).beginn`)}, 'Ende', ${utc(sql`(stored).ende`)}) end) as ursprung
    from (
      select typed.index, lektion_index, typed.has_unknown, job.job, job.whole, stored, stored_room.name as stored_room,
        not is_object or ${anyFault(lessonFields, 'typed', sql`stored.job is null`)} as faulty,
        ${mergedColumns(ownFields, 'typed', 'stored')}, ${isWithoutOffset('beginn')}, ${isWithoutOffset('ende')},
        ressource_id_value as ressource_id,
        case when typed.ressource_name is null then stored_room.name else ressource_name_value end as ressource_name,
        case when typed.ressource_name is null then stored.resource_id else room.id end as resource_id,
        case when typed.ressource_name is null then (stored.job is not null)::int else room.matches end as matches
      from (${typedLessons(batch, everything)}) as typed
      join staged_job as job using (index)
      ${storedLesson(batch)}
      left join resource as stored_room on stored_room.mandator_id = stored.mandator_id and stored_room.id = stored.resource_id
      ${roomOf(sql`typed.ressource_name_value`)}
      offset 0
    ) as lesson, lateral (select ${discloses(batch)} as discloses offset 0) as disclosure`;
}

/** Up to this number, looking stored lessons up by key costs less than reading all of them. */
const fewLessons = 2_000;

const isShared = (stored: RawBuilder<unknown>) =>
  sql`coalesce(${stored}.kopplung_id is not null and not ${isCancelled(stored)}, false)`;

/**
 * Fills `staged_lesson` with the lessons of the body, and with those that are deleted because the body does not list them.
 * `action` is insert, update, keep (nothing differs) or delete; `moved` is an update of room or time.
 * @param listed how many lessons the body lists
 */
export async function stageLessons(trx: Transaction, batch: Running, listed: number): Promise<void> {
  await sql`
    create temporary table staged_lesson (
      row integer generated always as identity primary key, index integer, lektion_index integer, job bigint, action text not null,
      moved boolean not null default false, refused boolean not null, discloses boolean,
      skipped boolean not null default false, has_unknown boolean, beginn_assumed_utc boolean, ende_assumed_utc boolean,
      lektion_id text, ressource_name text, ressource_id integer, matches integer, resource_id integer,
      beginn timestamptz, ende timestamptz, status text, titel text, fach text, klassen text[], lehrpersonen text[],
      bemerkung text, kopplung_id text, privat boolean, ursprung jsonb,
      stored_booking bigint, stored_shared boolean, stored_resource integer
    ) on commit drop`.execute(trx);
  await joinByHash(trx, listed > fewLessons);
  if (batch.operation === 'Delete') await stageDeletions(trx, batch);
  else {
    const columns = sql.join(
      [
        'index',
        'lektion_index',
        'job',
        'refused',
        'has_unknown',
        'beginn_assumed_utc',
        'ende_assumed_utc',
        ...lessonFields.map(({ column }) => column),
        'matches',
        'resource_id',
      ].map((column) => sql.id(column)),
    );
    if (batch.operation === 'Create')
      await sql`insert into staged_lesson (${columns}, action)
        select ${columns}, 'insert' from (${newLessons(batch, everything)}) as lesson order by index, lektion_index`.execute(
        trx,
      );
    else
      await sql`insert into staged_lesson (${columns}, discloses, action, moved, ursprung, stored_booking, stored_shared,
          stored_resource)
        select ${columns}, discloses, action, moved, ursprung, (stored).booking_id, ${isShared(sql`(stored)`)}, (stored).resource_id
        from (${changedLessons(batch)}) as lesson order by index, lektion_index`.execute(trx);
  }
  await joinByHash(trx, false);
  await analyzeStaged(trx);
  await sql`
    update staged_lesson set refused = true
    from (
      select job, lektion_id, min(row) as first from staged_lesson where lektion_id is not null
      group by 1, 2 having count(*) > 1
    ) as repeated
    where staged_lesson.job = repeated.job and staged_lesson.lektion_id = repeated.lektion_id and row > first`.execute(
    trx,
  );
  if (batch.operation !== 'Create') await stageUnlisted(trx, batch);
}

/** Analyzes only the columns that select or join lessons: sorting samples of the others would double the time. */
async function analyzeStaged(trx: Transaction): Promise<void> {
  await sql`
    analyze staged_lesson (row, index, lektion_index, job, action, refused, skipped, lektion_id, resource_id, beginn, ende, status,
      kopplung_id, stored_booking, stored_shared, stored_resource)`.execute(trx);
}

export async function anyRefused(trx: Transaction): Promise<boolean> {
  const { rows } = await sql<{ found: boolean }>`
    select exists (select from staged_lesson where refused) as found`.execute(trx);
  return rows[0]?.found === true;
}

/** Whether a lesson is new in one of these rooms. */
export async function anyEntering(trx: Transaction, rooms: readonly number[]): Promise<boolean> {
  if (rooms.length === 0) return false;
  const { rows } = await sql<{ found: boolean }>`
    select exists (
      select from staged_lesson
      where resource_id = any (${rooms}::integer[]) and resource_id is distinct from stored_resource) as found`.execute(
    trx,
  );
  return rows[0]?.found === true;
}

async function stageDeletions(trx: Transaction, batch: Running): Promise<void> {
  await sql`
    insert into staged_lesson (index, lektion_index, job, action, refused, has_unknown, lektion_id, beginn, ende, resource_id,
      stored_booking, stored_shared, stored_resource)
    select typed.index, lektion_index, job.job, 'delete', stored.job is null or not is_object, typed.has_unknown, lektion_id_value,
      beginn, ende, resource_id, booking_id, ${isShared(sql`stored`)}, resource_id
    from (${typedLessons(batch, everything)}) as typed
    join staged_job as job using (index)
    ${storedLesson(batch)}
    order by index, lektion_index`.execute(trx);
}

async function stageUnlisted(trx: Transaction, batch: Running): Promise<void> {
  const { numAffectedRows } = await sql`
    insert into staged_lesson (index, job, action, refused, lektion_id, beginn, ende, resource_id, stored_booking, stored_shared,
      stored_resource)
    select job.index, job.job, 'delete', false, stored.lektion_id, beginn, ende, resource_id, booking_id,
      ${isShared(sql`stored`)}, resource_id
    from staged_job as job
    join lesson as stored on stored.mandator_id = ${batch.mandatorId} and stored.job = job.job
    where job.whole and (${batch.replacesSince}::timestamptz is null or stored.beginn >= ${batch.replacesSince})
      and not exists (
      select from staged_lesson as listed where listed.job = job.job and listed.lektion_id = stored.lektion_id)
    order by index, lektion_id`.execute(trx);
  if (numAffectedRows) await analyzeStaged(trx);
}
