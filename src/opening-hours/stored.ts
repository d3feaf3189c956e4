/** Queries for stored opening hours, and the choice of those that apply to a resource. */
import { expressionBuilder, sql } from 'kysely';
import { jsonArrayFrom } from 'kysely/helpers/postgres';
import type { Database } from '../db/database.ts';
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

/** Selects resources by id, or all active ones of a location. */
type Which = { resourceIds: readonly number[] } | { locationId: number };

/** Reads the locations of the resources: each with its selected resources, by name, and the hours of all of these. */
export async function readHours(db: Database, mandatorId: number, which: Which) {
  const own = 'locationId' in which;
  const chosen = (id: 'resource.id' | 'opening_rule.resource_id' | 'opening_exception.resource_id') =>
    own ? sql<boolean>`true` : sql<boolean>`${sql.ref(id)} = any(${which.resourceIds})`;
  const location = sql.ref<number>('location.id');
  const resources = selectFrom('resource')
    .where('resource.mandator_id', '=', mandatorId)
    .where('resource.location_id', '=', location)
    .where(own ? sql.ref<boolean>('resource.active') : chosen('resource.id'))
    .select(['resource.id', 'resource.name'])
    .orderBy('resource.name_key');
  return await db
    .selectFrom('location')
    .where('location.mandator_id', '=', mandatorId)
    .where(({ exists }) => (own ? sql<boolean>`${location} = ${which.locationId}` : exists(resources)))
    .select(['location.id', 'location.name', 'location.time_zone as timeZone'])
    .select([
      jsonArrayFrom(resources).as('resources'),
      jsonArrayFrom(
        storedRules(mandatorId)
          .where('opening_rule.location_id', '=', location)
          .where(({ eb, or }) => or([eb('opening_rule.resource_id', 'is', null), chosen('opening_rule.resource_id')]))
          .orderBy('opening_rule.id'),
      ).as('rules'),
      jsonArrayFrom(
        storedExceptions(mandatorId)
          .where('opening_exception.location_id', '=', location)
          .where(({ eb, or }) =>
            or([eb('opening_exception.resource_id', 'is', null), chosen('opening_exception.resource_id')]),
          )
          .orderBy(sql`opening_exception.to_date - opening_exception.from_date`)
          .orderBy('opening_exception.id', 'desc'),
      ).as('exceptions'),
    ])
    .execute();
}

/** The hours of each resource of a location: its own rules, else those of the location; its own exceptions go first. */
export function hoursByResource({ rules, exceptions }: StoredHours): (resourceId: number) => StoredHours {
  const rulesOf = Map.groupBy(rules, ({ resourceId }) => resourceId);
  const exceptionsOf = Map.groupBy(exceptions, ({ resourceId }) => resourceId);
  return (id) => ({
    rules: rulesOf.get(id) ?? rulesOf.get(null) ?? [],
    exceptions: [...(exceptionsOf.get(id) ?? []), ...(exceptionsOf.get(null) ?? [])],
  });
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
  'reason',
];

/** A text that is equal for equal hours, whatever their ids and owners. */
export const keyOf = (hours: Hours) => JSON.stringify(hours, members);
