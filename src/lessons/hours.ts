/** The opening hours for the lessons of a batch: a lesson outside of them gives a warning. */
import { type RawBuilder, sql } from 'kysely';
import type { Transaction } from '../db/database.ts';
import * as openingHours from '../opening-hours/service.ts';
import { dayLength } from '../time/days.ts';
import type { BatchKey } from './batch.ts';

/** Opening hours are read for this many days around today; lessons beyond give no warning. */
const horizonDays = 800;

/**
 * Stages the opening hours of the rooms: `open_interval` holds the lists of open times by UTC day, `open_room` which list
 * applies to a room.
 * @returns whether any are known
 */
export async function layOpeningHours(
  trx: Transaction,
  batch: BatchKey,
  { resourceIds, earliest, latest }: { resourceIds: number[]; earliest: Date | null; latest: Date | null },
): Promise<boolean> {
  if (!earliest || !latest) return false;
  const from = new Date(Math.max(earliest.getTime() - dayLength, Date.now() - horizonDays * dayLength));
  const to = new Date(Math.min(latest.getTime() + dayLength, Date.now() + horizonDays * dayLength));
  if (from >= to) return false;
  const open = await openingHours.listOpenIntervals(trx, batch.mandatorId, resourceIds, from, to);
  if (open.size === 0) return false;
  // Rooms with the same hours share one list.
  const lists = [...Map.groupBy(open.keys(), (id) => open.get(id) ?? [])];
  const rooms = lists.flatMap(([, ids], list) => ids.map((id) => ({ id, list })));
  const times = lists.flatMap(([intervals], list) => intervals.map(({ start, end }) => ({ list, start, end })));
  await sql`
    create temporary table open_room on commit drop as
    select id, list, ${from}::timestamptz as known_from, ${to}::timestamptz as known_to
    from unnest(${rooms.map(({ id }) => id)}::int[], ${rooms.map(({ list }) => list)}::int[]) as room (id, list)`.execute(
    trx,
  );
  await sql`
    create temporary table open_interval on commit drop as
    select list, day::date, opens, closes
    from unnest(${times.map(({ list }) => list)}::int[], ${times.map(({ start }) => start)}::timestamptz[],
      ${times.map(({ end }) => end)}::timestamptz[]) as time (list, opens, closes)
    cross join generate_series(opens::date, closes::date, interval '1 day') as day`.execute(trx);
  await sql`create index on open_interval (list, day)`.execute(trx);
  await sql`analyze open_room, open_interval`.execute(trx);
  return true;
}

/** A join that keeps the lessons whose room has known hours and is not open all the time. */
export function outsideOpeningHours(lesson: string): RawBuilder<unknown> {
  const of = (column: string) => sql.ref(`${lesson}.${column}`);
  return sql`join open_room on open_room.id = ${of('resource_id')}
    and ${of('beginn')} >= known_from and ${of('ende')} <= known_to
    and not exists (
      select from open_interval
      where open_interval.list = open_room.list and day = ${of('beginn')}::date
        and opens <= ${of('beginn')} and closes >= ${of('ende')})`;
}

/** Whether a lesson that this batch has staged, or else inserted, lies outside of the staged opening hours. */
export async function anyOutsideOpeningHours(
  trx: Transaction,
  { mandatorId }: BatchKey,
  staged: boolean,
): Promise<boolean> {
  const lessons = staged
    ? sql`staged_lesson as lesson`
    : sql`staged_job join lesson on lesson.mandator_id = ${mandatorId} and lesson.job = staged_job.job`;
  const { rows } = await sql<{ found: boolean }>`
    select exists (select from ${lessons} ${outsideOpeningHours('lesson')}) as found`.execute(trx);
  return rows[0]?.found === true;
}
