/**
 * Opening hours: **rules** that repeat weekly and **exceptions** for dates, both in local clock times of the location
 * (specification 2.5, contract 5.1). Rules of a resource beat those of its location; for a date that exceptions of both
 * cover, the resource's counts, and of several the one of the fewest days.
 */
import { sql } from 'kysely';
import { jsonArrayFrom } from 'kysely/helpers/postgres';
import type { Database } from '../db/database.ts';
import { localDateOf, openIntervals, type Period } from './local-hours.ts';

/** An unbroken time of being open. */
export type OpenStretch = { start: Date; end: Date };

const day = 24 * 60 * 60_000;

/**
 * When resources are open around [from, to]: whole stretches, also beyond its edges, in order, with nothing between two
 * that touch. Resources with the same hours share one array.
 *
 * A resource that is closed throughout has an empty array; one for which no hours are known, because neither it nor its
 * location has a rule, is absent.
 */
export async function listOpenIntervals(
  db: Database,
  mandatorId: number,
  resourceIds: readonly number[],
  from: Date,
  to: Date,
): Promise<Map<number, OpenStretch[]>> {
  const open = new Map<number, OpenStretch[]>();
  for (const { timeZone, ids, rules, exceptions } of await readHours(db, mandatorId, resourceIds)) {
    const firstDate = localDateOf(new Date(from.getTime() - day), timeZone);
    const lastDate = localDateOf(to, timeZone);
    const rulesOf = Map.groupBy(rules, ({ resourceId }) => resourceId);
    const exceptionsOf = Map.groupBy(exceptions, ({ resourceId }) => resourceId);
    const known = new Map<string, OpenStretch[]>();
    for (const id of ids) {
      const hours = {
        rules: rulesOf.get(id) ?? rulesOf.get(null) ?? [],
        exceptions: [...(exceptionsOf.get(id) ?? []), ...(exceptionsOf.get(null) ?? [])],
      };
      if (hours.rules.length === 0) continue;
      const key = JSON.stringify(hours, (name, value) => (name === 'resourceId' ? undefined : value));
      const stretches =
        known.get(key) ?? merge(openIntervals(hours, timeZone, firstDate, lastDate), from, to);
      known.set(key, stretches);
      open.set(id, stretches);
    }
  }
  return open;
}

/** Per location of these resources: which of them it has, and the hours of it and of them. */
async function readHours(db: Database, mandatorId: number, resourceIds: readonly number[]) {
  const chosen = (id: 'resource.id' | 'opening_rule.resource_id' | 'opening_exception.resource_id') =>
    sql<boolean>`${sql.ref(id)} = any(${resourceIds})`;
  const rows = await db
    .selectFrom('location')
    .where('location.mandator_id', '=', mandatorId)
    .where(({ exists, selectFrom }) =>
      exists(
        selectFrom('resource')
          .whereRef('resource.location_id', '=', 'location.id')
          .where('resource.mandator_id', '=', mandatorId)
          .where(chosen('resource.id')),
      ),
    )
    .select('location.time_zone as timeZone')
    .select(({ selectFrom }) => [
      jsonArrayFrom(
        selectFrom('resource')
          .whereRef('resource.location_id', '=', 'location.id')
          .where('resource.mandator_id', '=', mandatorId)
          .where(chosen('resource.id'))
          .select('resource.id'),
      ).as('resources'),
      jsonArrayFrom(
        selectFrom('opening_rule')
          .whereRef('opening_rule.location_id', '=', 'location.id')
          .where('opening_rule.mandator_id', '=', mandatorId)
          .where(({ eb, or }) =>
            or([eb('opening_rule.resource_id', 'is', null), chosen('opening_rule.resource_id')]),
          )
          .select([
            'opening_rule.resource_id as resourceId',
            'opening_rule.weekdays',
            sql<string>`left(opening_rule.opens::text, 5)`.as('opens'),
            sql<string>`left(opening_rule.closes::text, 5)`.as('closes'),
            'opening_rule.valid_from as validFrom',
            'opening_rule.valid_to as validTo',
          ])
          .orderBy('opening_rule.id'),
      ).as('rules'),
      jsonArrayFrom(
        selectFrom('opening_exception')
          .whereRef('opening_exception.location_id', '=', 'location.id')
          .where('opening_exception.mandator_id', '=', mandatorId)
          .where(({ eb, or }) =>
            or([eb('opening_exception.resource_id', 'is', null), chosen('opening_exception.resource_id')]),
          )
          .select([
            'opening_exception.resource_id as resourceId',
            'opening_exception.from_date as fromDate',
            'opening_exception.to_date as toDate',
            'opening_exception.closed',
            sql<Period[]>`opening_exception.periods`.as('periods'),
          ])
          .orderBy(sql`opening_exception.to_date - opening_exception.from_date`)
          .orderBy('opening_exception.id', 'desc'),
      ).as('exceptions'),
    ])
    .execute();
  return rows.map(({ resources, ...hours }) => ({ ...hours, ids: resources.map(({ id }) => id) }));
}

/** Joins those of `intervals`, in order of their start, that overlap or touch, and keeps what reaches into [from, to]. */
function merge(intervals: readonly OpenStretch[], from: Date, to: Date): OpenStretch[] {
  const stretches: OpenStretch[] = [];
  for (const { start, end } of intervals) {
    const last = stretches.at(-1);
    if (last && start <= last.end) last.end = end > last.end ? end : last.end;
    else stretches.push({ start, end });
  }
  return stretches.filter(({ start, end }) => start <= to && end >= from);
}
