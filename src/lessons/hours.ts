/** The opening hours for the lessons of a batch: a lesson outside of them gives a warning. */
import { type RawBuilder, sql } from 'kysely';
import type { Database, Transaction } from '../db/database.ts';
import * as openingHours from '../opening-hours/service.ts';
import { dayLength } from '../time/days.ts';
import type { BatchKey } from './batch.ts';
import type { ReadJobs } from './reading.ts';
import { joinByHash } from './staging.ts';

/** The greatest distance of a Date from 1970, in milliseconds. */
const farthest = 8.64e15;
/** Opening hours are read for this many days around today; lessons beyond give no warning. */
const horizonDays = 800;

/** `open` has the times of each list as a multirange; `lists` has, for each of `rooms`, which list applies to it. */
export type KnownHours = { rooms: number[]; lists: number[]; open: string[] };

/** The warning of a batch whose lessons are not compared with opening hours, because these are too many. */
export const hoursNotCompared = `The opening hours of the rooms on the dates of the lessons have more than ${openingHours.mostListed} exceptions, periods and times, so lessons outside of them are not reported; send fewer rooms or dates in a batch.`;

/** @returns undefined when none are known. @throws Malformed when there are too many */
export async function readOpeningHours(
  db: Database,
  batch: BatchKey,
  { resourceIds, earliest, latest }: { resourceIds: number[]; earliest: Date | null; latest: Date | null },
): Promise<KnownHours | undefined> {
  if (!earliest || !latest) return undefined;
  const from = new Date(Math.max(earliest.getTime() - dayLength, Date.now() - horizonDays * dayLength));
  const to = new Date(Math.min(latest.getTime() + dayLength, Date.now() + horizonDays * dayLength));
  if (from >= to) return undefined;
  const open = await openingHours.listOpenIntervals(
    db,
    batch.mandatorId,
    resourceIds,
    from,
    to,
    openingHours.mostListed,
  );
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
 * @param times a range, or a multirange of several lessons that may be checked together
 */
export const outsideOpeningHours = ({ rooms, lists, open }: KnownHours, times: RawBuilder<unknown>) => sql`
  join unnest(${rooms}::int[], ${lists}::int[]) as open_room (resource_id, list) using (resource_id)
  where not ${times} <@ (${open}::tstzmultirange[])[list]`;

/** The time of a staged lesson; nothing if it has none. */
export const timeOfStaged = sql`case when beginn < ende then tstzrange(beginn, ende) end`;

/** A range around all lessons of a body, whatever their offsets; unbounded on a side whose day is not a valid date. */
export function timeOfSent({ firstDay, lastDay }: Pick<ReadJobs, 'firstDay' | 'lastDay'>) {
  if (firstDay === null || lastDay === null) return { earliest: null, latest: null };
  const [first, last] = [Date.parse(firstDay), Date.parse(lastDay)];
  return {
    earliest: new Date(Number.isNaN(first) ? -farthest : first - dayLength),
    latest: new Date(Number.isNaN(last) ? farthest : last + 2 * dayLength),
  };
}

/** Whether a staged lesson lies outside of these opening hours. */
export async function anyOutsideOpeningHours(trx: Transaction, hours: KnownHours): Promise<boolean> {
  await joinByHash(trx, true);
  const { rows } = await sql<{ found: boolean }>`
    select exists (select from staged_lesson ${outsideOpeningHours(hours, timeOfStaged)}) as found`.execute(trx);
  await joinByHash(trx, false);
  return rows[0]?.found === true;
}
