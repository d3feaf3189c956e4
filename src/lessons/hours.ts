/** The opening hours for the lessons of a batch: a lesson outside of them gives a warning. */
import { type RawBuilder, sql } from 'kysely';
import type { Transaction } from '../db/database.ts';
import * as openingHours from '../opening-hours/service.ts';
import { dayLength } from '../time/days.ts';
import type { BatchKey } from './batch.ts';
import { joinByHash } from './staging.ts';

/** Opening hours are read for this many days around today; lessons beyond give no warning. */
const horizonDays = 800;

/** `open` holds the times of each list, as a multirange, and `lists` which of them applies to the room at the same place. */
export type KnownHours = { rooms: number[]; lists: number[]; open: string[] };

/** @returns undefined when none are known */
export async function readOpeningHours(
  trx: Transaction,
  batch: BatchKey,
  { resourceIds, earliest, latest }: { resourceIds: number[]; earliest: Date | null; latest: Date | null },
): Promise<KnownHours | undefined> {
  if (!earliest || !latest) return undefined;
  const from = new Date(Math.max(earliest.getTime() - dayLength, Date.now() - horizonDays * dayLength));
  const to = new Date(Math.min(latest.getTime() + dayLength, Date.now() + horizonDays * dayLength));
  if (from >= to) return undefined;
  const open = await openingHours.listOpenIntervals(trx, batch.mandatorId, resourceIds, from, to);
  if (open.size === 0) return undefined;
  // Rooms with the same hours share one list.
  const lists = [...Map.groupBy(open.keys(), (id) => open.get(id) ?? [])];
  const unknown = [`(,${from.toISOString()})`, `(${to.toISOString()},)`];
  return {
    rooms: lists.flatMap(([, ids]) => ids),
    lists: lists.flatMap(([, ids], list) => ids.map(() => list + 1)),
    open: lists.map(([stretches]) => {
      const known = stretches.map(({ start, end }) => `[${start.toISOString()},${end.toISOString()})`);
      return `{${[...unknown, ...known].join(',')}}`;
    }),
  };
}

/**
 * A join that keeps rows of rooms with known hours that are not always open.
 * @param times a range, or ranges that may be looked at together
 */
export const outsideOpeningHours = ({ rooms, lists, open }: KnownHours, times: RawBuilder<unknown>) => sql`
  join unnest(${rooms}::int[], ${lists}::int[]) as open_room (resource_id, list) using (resource_id)
  where not ${times} <@ (${open}::tstzmultirange[])[list]`;

/** The time of a staged lesson; nothing if it has none. */
export const timeOfStaged = sql`case when beginn < ende then tstzrange(beginn, ende) end`;

/** What `insertLessons` writes to: when the lessons of a slice are in a room. Far fewer rows than lessons. */
export async function openLessonTimes(trx: Transaction): Promise<void> {
  await sql`create temporary table lesson_times (resource_id integer, times tstzmultirange) on commit drop`.execute(
    trx,
  );
}

/** Whether a lesson that this batch has staged, or else inserted, lies outside of these opening hours. */
export async function anyOutsideOpeningHours(trx: Transaction, hours: KnownHours, staged: boolean): Promise<boolean> {
  const outside = staged
    ? sql`staged_lesson ${outsideOpeningHours(hours, timeOfStaged)}`
    : sql`lesson_times ${outsideOpeningHours(hours, sql`times`)}`;
  await joinByHash(trx, true);
  const { rows } = await sql<{ found: boolean }>`select exists (select from ${outside}) as found`.execute(trx);
  await joinByHash(trx, false);
  return rows[0]?.found === true;
}
