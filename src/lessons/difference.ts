/** What a dry run would change in the timetable: the number of lessons by kind of change, and the first of them. */
import { type RawBuilder, sql } from 'kysely';
import { type Database, stateIn, type Transaction } from '../db/database.ts';
import { openGathering } from '../flow/gather.ts';
import type { BatchKey } from './batch.ts';
import { lessonFields } from './fields.ts';
import { live } from './plan.ts';

/** In the order in which they are reported: removed lessons first. */
export const differenceKinds = ['Removed', 'Moved', 'Changed', 'Added'] as const;
type Place = { ressourceName: string; beginn: Date; ende: Date };

export type LessonDifference = {
  kind: (typeof differenceKinds)[number];
  index: number;
  jobID: string;
  lektionIndex: number | null;
  lektionId: string;
  fields: string[];
  before: Place | null;
  after: Place | null;
};
export type Difference = {
  added: number;
  changed: number;
  moved: number;
  removed: number;
  unchanged: number;
  lessons: LessonDifference[];
};

export const mostDifferences = 200;

const kind = sql`case action when 'insert' then 'Added' when 'delete' then 'Removed' when 'keep' then 'Unchanged'
  else case when moved then 'Moved' else 'Changed' end end`;
/** Columns whose null means a default, or that are compared by another column. */
const compared: Record<string, (table: string) => RawBuilder<unknown>> = {
  RessourceName: (table) => sql.ref(`${table}.resource_id`),
  Status: (table) => sql`coalesce(${sql.ref(`${table}.status`)}, 'Geplant')`,
  Privat: (table) => sql`coalesce(${sql.ref(`${table}.privat`)}, false)`,
};
const contentFields = lessonFields.filter(({ name }) => name !== 'LektionId' && name !== 'RessourceId');
const changedFields = sql`array_remove(array[${sql.join(
  contentFields.map(({ name, column }) => {
    const valueIn = compared[name] ?? ((table: string) => sql.ref(`${table}.${column}`));
    return sql`case when ${valueIn('staged')} is distinct from ${valueIn('stored')} then ${sql.lit(name)} end`;
  }),
)}], null)`;

const placeIn = (room: string, beginn: string, ende: string) => sql`jsonb_build_object(
  'ressourceName', ${sql.id(room)}.name, 'beginn', ${sql.ref(beginn)}, 'ende', ${sql.ref(ende)})`;
const order = sql`array_position(${sql.lit(`{${differenceKinds.join(',')}}`)}::text[], what), row`;

/** Compares the staged lessons with the stored ones, so it must run before the batch writes anything. */
export async function recordDifference(trx: Transaction, { mandatorId, id }: BatchKey): Promise<void> {
  await sql`
    with lesson_difference as materialized (
      select staged.row, staged.index, staged.lektion_index, staged.lektion_id, staged.action, ${kind} as what,
        staged.resource_id, staged.beginn, staged.ende, stored.resource_id as stored_resource,
        stored.beginn as stored_beginn, stored.ende as stored_ende,
        case when action = 'update' then ${changedFields} else '{}' end as fields
      from staged_lesson as staged
      left join lesson as stored on stored.mandator_id = ${mandatorId} and stored.job = staged.job
        and stored.lektion_id = staged.lektion_id
      where ${live}
    ), first as (
      select * from lesson_difference where what <> 'Unchanged'
      order by ${order} limit ${sql.lit(mostDifferences)}
    )
    update batch set difference = jsonb_build_object(
        'added', (select count(*) from lesson_difference where what = 'Added'),
        'changed', (select count(*) from lesson_difference where what = 'Changed'),
        'moved', (select count(*) from lesson_difference where what = 'Moved'),
        'removed', (select count(*) from lesson_difference where what = 'Removed'),
        'unchanged', (select count(*) from lesson_difference where what = 'Unchanged'),
        'lessons', coalesce((
          select jsonb_agg(jsonb_build_object('kind', what, 'index', first.index, 'jobID', job.job_id,
              'lektionIndex', lektion_index, 'lektionId', lektion_id, 'fields', fields,
              'before', case when what <> 'Added' then ${placeIn('old_room', 'stored_beginn', 'stored_ende')} end,
              'after', case when what <> 'Removed' then ${placeIn('new_room', 'first.beginn', 'first.ende')} end)
            order by ${order})
          from first join staged_job as job using (index)
          left join resource as old_room on old_room.mandator_id = ${mandatorId} and old_room.id = stored_resource
          left join resource as new_room on new_room.mandator_id = ${mandatorId} and new_room.id = first.resource_id), '[]'))
    where mandator_id = ${mandatorId} and id = ${id}`.execute(trx);
}

type Stored = Omit<Difference, 'lessons'> & {
  lessons: (Omit<LessonDifference, 'before' | 'after'> &
    Record<'before' | 'after', Record<keyof Place, string> | null>)[];
};

const toPlace = (place: Record<keyof Place, string> | null): Place | null =>
  place && { ressourceName: place.ressourceName, beginn: new Date(place.beginn), ende: new Date(place.ende) };

const gather = (db: Database) =>
  openGathering<BatchKey, Difference | null>(async (keys) => {
    const { rows } = await sql<{ position: number; difference: Stored }>`
      select position::int, difference
      from rows from (unnest(${keys.map(({ mandatorId }) => mandatorId)}::integer[]), unnest(${keys.map(({ id }) => id)}::uuid[]))
        with ordinality as asked (mandator_id, id, position)
      join batch using (mandator_id, id) where difference is not null`.execute(db);
    const found = new Array<Difference | null>(keys.length).fill(null);
    for (const { position, difference } of rows) {
      const lessons = difference.lessons.map((lesson) => ({
        ...lesson,
        before: toPlace(lesson.before),
        after: toPlace(lesson.after),
      }));
      found[position - 1] = { ...difference, lessons };
    }
    return found;
  });

/** Null unless the batch is a dry run without errors. The caller has checked that the viewer may read it. */
export const readDifference = (db: Database, key: BatchKey): Promise<Difference | null> =>
  stateIn(db, gather)(`${key.mandatorId} ${key.id}`, key);
