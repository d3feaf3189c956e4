/** Queries for stored opening hours, and the choice of those that apply to a resource. */
import { expressionBuilder, type RawBuilder, sql } from 'kysely';
import { jsonArrayFrom } from 'kysely/helpers/postgres';
import type { Database } from '../db/database.ts';
import { executePrepared } from '../db/prepared.ts';
import type { DB } from '../db/tables.ts';
import type { Hours, OpeningException, OpeningRule, Period } from './local-hours.ts';

/** `resourceId` is null for hours of the location itself. */
type Owner = { id: number; locationId: number; resourceId: number | null };
export type StoredRule = OpeningRule & Owner;
export type StoredException = OpeningException & Owner & { reason: string | null };
export type StoredHours = { rules: StoredRule[]; exceptions: StoredException[] };

const { selectFrom } = expressionBuilder<DB, never>();

/** A subquery for the rules of a tenant. */
export function storedRules(mandatorId: number) {
  return selectFrom('opening_rule')
    .where('opening_rule.mandator_id', '=', mandatorId)
    .select([
      'opening_rule.id',
      'opening_rule.location_id as locationId',
      'opening_rule.resource_id as resourceId',
      'opening_rule.weekdays',
      sql<string>`left(opening_rule.opens::text, 5)`.as('opens'),
      sql<string>`left(opening_rule.closes::text, 5)`.as('closes'),
      'opening_rule.valid_from as validFrom',
      'opening_rule.valid_to as validTo',
    ]);
}

/** SQL: whether the tenant has any rules: without them no hours are known. */
export const hasRules = (mandatorId: number) =>
  sql<boolean>`exists (select from opening_rule where opening_rule.mandator_id = ${mandatorId})`;

export function storedExceptions(mandatorId: number) {
  return selectFrom('opening_exception')
    .where('opening_exception.mandator_id', '=', mandatorId)
    .select([
      'opening_exception.id',
      'opening_exception.location_id as locationId',
      'opening_exception.resource_id as resourceId',
      'opening_exception.from_date as fromDate',
      'opening_exception.to_date as toDate',
      'opening_exception.closed',
      sql<Period[]>`opening_exception.periods`.as('periods'),
      'opening_exception.reason',
    ]);
}

/** Local dates, inclusive. */
export type Dates = { from: string; to: string };

/** The dates on which holidays close the location, as one range for all that overlap or touch: no list of holidays is too long. */
function storedHolidays(mandatorId: number, locationId: RawBuilder<number>, { from, to }: Dates) {
  const ranges = selectFrom('holiday')
    .innerJoin('holiday_calendar as calendar', (join) =>
      join.onRef('calendar.mandator_id', '=', 'holiday.mandator_id').onRef('calendar.id', '=', 'holiday.calendar_id'),
    )
    .where('holiday.mandator_id', '=', mandatorId)
    .where('calendar.closes', '=', true)
    .where('holiday.to_date', '>=', from)
    .where('holiday.from_date', '<=', to)
    // No holiday is longer, so that the index skips past ones.
    .where('holiday.from_date', '>=', sql<string>`${from}::date - 366`)
    .where(({ eb, or }) => or([eb('calendar.location_id', 'is', null), eb('calendar.location_id', '=', locationId)]))
    .select(sql`unnest(range_agg(daterange(holiday.from_date, holiday.to_date, '[]')))`.as('dates'));
  return selectFrom(ranges.as('closing')).select([
    sql<string>`lower(closing.dates)`.as('fromDate'),
    sql<string>`upper(closing.dates) - 1`.as('toDate'),
  ]);
}

/** Selects resources by id, or all active ones of a location. */
export type ChosenRooms = { resourceIds: readonly number[] } | { locationId: number };

/** The most that one statement reads for several resources: a few megabytes of rules, and 15 of exceptions. */
const [mostRules, mostExceptions] = [20_000, 5_000];

function selectHours(db: Database, mandatorId: number, which: ChosenRooms, dates: Dates) {
  const own = 'locationId' in which;
  // One text: the client of PostgreSQL would make a list into one at each of its places, item by item.
  const ids = own ? '' : `{${which.resourceIds.join()}}`;
  const chosen = (id: 'resource.id' | 'opening_rule.resource_id' | 'opening_exception.resource_id') =>
    own ? sql<boolean>`true` : sql<boolean>`${sql.ref(id)} = any(${ids}::integer[])`;
  const location = sql.ref<number>('location.id');
  const resources = selectFrom('resource')
    .where('resource.mandator_id', '=', mandatorId)
    .where('resource.location_id', '=', location)
    .where(own ? sql.ref<boolean>('resource.active') : chosen('resource.id'))
    .select(['resource.id', 'resource.name'])
    .orderBy('resource.name_key');
  const rules = storedRules(mandatorId).where(({ eb, or }) =>
    or([eb('opening_rule.resource_id', 'is', null), chosen('opening_rule.resource_id')]),
  );
  const exceptions = storedExceptions(mandatorId)
    .where(({ eb, or }) =>
      or([eb('opening_exception.resource_id', 'is', null), chosen('opening_exception.resource_id')]),
    )
    .where('opening_exception.to_date', '>=', dates.from)
    .where('opening_exception.from_date', '<=', dates.to);
  const somewhere = own
    ? sql<number>`${which.locationId}`
    : sql<number>`any(array(
        select location_id from resource where mandator_id = ${mandatorId} and id = any(${ids}::integer[])))`;
  const isMore = sql<boolean>`
    exists (${rules.where('opening_rule.location_id', '=', somewhere).offset(mostRules)}) or
    exists (${exceptions.where('opening_exception.location_id', '=', somewhere).offset(mostExceptions)})`;
  // The lists of one resource and of its location are never too long: the limits of lists see to that.
  const isOne = !own && which.resourceIds.length === 1;
  // Without the offset, the condition would be evaluated at each of its places.
  const size = sql<{ isMuch: boolean }>`(select ${isOne ? sql`false` : isMore} as "isMuch" offset 0)`.as<'size'>(
    'size',
  );
  const isBounded = sql<boolean>`not size."isMuch"`;
  return db
    .selectFrom(['location', size])
    .where('location.mandator_id', '=', mandatorId)
    .where(({ exists }) => (own ? sql<boolean>`${location} = ${which.locationId}` : exists(resources)))
    .select(['location.id', 'location.name', 'location.time_zone as timeZone', 'size.isMuch'])
    .select([
      jsonArrayFrom(resources).as('resources'),
      jsonArrayFrom(
        rules.where('opening_rule.location_id', '=', location).where(isBounded).orderBy('opening_rule.id'),
      ).as('rules'),
      jsonArrayFrom(
        exceptions
          .where('opening_exception.location_id', '=', location)
          .where(isBounded)
          .orderBy(sql`opening_exception.to_date - opening_exception.from_date`)
          .orderBy('opening_exception.id', 'desc'),
      ).as('exceptions'),
      jsonArrayFrom(storedHolidays(mandatorId, location, dates)).as('holidays'),
    ]);
}

/**
 * Reads the locations of the resources: each with its selected resources by name, all their rules, and the exceptions and holidays
 * on the dates. A location comes several times, each time with some of its resources, if there is more than fits into memory.
 */
export async function* readHours(
  db: Database,
  mandatorId: number,
  which: ChosenRooms,
  dates: Dates,
): AsyncGenerator<LocationOfHours> {
  const query = selectHours(db, mandatorId, which, dates);
  const locations = await executePrepared(db, 'opening hours', query.compile());
  const ids = locations.flatMap(({ resources }) => resources.map(({ id }) => id));
  if (!locations[0]?.isMuch || ids.length === 0) return yield* locations;
  const half = Math.ceil(ids.length / 2);
  for (const some of [ids.slice(0, half), ids.slice(half)])
    if (some.length > 0) yield* readHours(db, mandatorId, { resourceIds: some }, dates);
}

export type LocationOfHours = Awaited<ReturnType<ReturnType<typeof selectHours>['execute']>>[number];

/**
 * The hours that apply to a resource; in `all`, the holidays that close its location come after its exceptions. `own` is the part
 * that does not come from its location.
 */
export type CountingHours = StoredHours & { all: Hours; own: Hours };

/** The hours of each resource of a location: its own rules, else those of the location; its own exceptions go first. */
export function hoursByResource({
  rules,
  exceptions,
  holidays,
}: StoredHours & { holidays: readonly { fromDate: string; toDate: string }[] }): (resourceId: number) => CountingHours {
  const rulesOf = Map.groupBy(rules, ({ resourceId }) => resourceId);
  const exceptionsOf = Map.groupBy(exceptions, ({ resourceId }) => resourceId);
  const closings = holidays.map((dates): OpeningException => ({ ...dates, closed: true, periods: [] }));
  const ofLocation = { rules: rulesOf.get(null) ?? [], exceptions: exceptionsOf.get(null) ?? [] };
  function hoursOf(own: StoredHours): CountingHours {
    const counting = own.rules.length > 0 ? own.rules : ofLocation.rules;
    const before = [...own.exceptions, ...ofLocation.exceptions];
    return { rules: counting, exceptions: before, all: { rules: counting, exceptions: [...before, ...closings] }, own };
  }
  // All resources without own hours share one object, which callers recognise.
  const common = hoursOf({ rules: [], exceptions: [] });
  return (id) => {
    const own = { rules: rulesOf.get(id) ?? [], exceptions: exceptionsOf.get(id) ?? [] };
    return own.rules.length + own.exceptions.length > 0 ? hoursOf(own) : common;
  };
}

const members = [
  'rules',
  'weekdays',
  'opens',
  'closes',
  'validFrom',
  'validTo',
  'exceptions',
  'fromDate',
  'toDate',
  'closed',
  'periods',
];

/** A text that is equal for resources of one location with equal hours, whatever the ids and reasons of these. */
export const keyOf = ({ own }: CountingHours) => JSON.stringify(own, members);
