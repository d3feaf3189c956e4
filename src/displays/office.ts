/** Helps the operator's commands, which act as the tenant's first Admin and refer to rooms and locations by name. */
import { sql } from 'kysely';
import type { Act } from '../context.ts';
import type { Database } from '../db/database.ts';
import { InvalidInput, NotFound } from '../errors.ts';
import { actOfOperator } from '../identity/service.ts';

/** @throws as `actOfOperator` */
export const openOffice = (db: Database, mandator: string): Promise<Act> => actOfOperator(db, mandator);

/**
 * An active room by its name or by `location/name`, in any case.
 * @throws NotFound; InvalidInput with the locations when several rooms have the name
 */
export async function getRoomNamed(db: Database, mandatorId: number, name: string): Promise<number> {
  const found = await db
    .selectFrom('resource')
    .innerJoin('location', (join) =>
      join.onRef('location.mandator_id', '=', 'resource.mandator_id').onRef('location.id', '=', 'resource.location_id'),
    )
    .where('resource.mandator_id', '=', mandatorId)
    .where(sql<boolean>`name_key(${name}) in (resource.name_key, name_key(location.name || '/' || resource.name))`)
    .where('resource.active', '=', true)
    .select(['resource.id', 'resource.name', 'location.name as location'])
    .orderBy('location.name')
    .execute();
  const [first, ...others] = found;
  if (!first) throw new NotFound(`--room: there is no active resource ${JSON.stringify(name)}.`);
  if (others.length > 0) {
    const choices = found.map((one) => JSON.stringify(`${one.location}/${one.name}`)).join(' or ');
    throw new InvalidInput(`--room: there are several rooms ${JSON.stringify(name)}; write ${choices}.`);
  }
  return first.id;
}

/** An active location by its name, in any case. @throws NotFound */
export async function getLocationNamed(db: Database, mandatorId: number, name: string): Promise<number> {
  const found = await db
    .selectFrom('location')
    .where('mandator_id', '=', mandatorId)
    .where('name_key', '=', sql<string>`name_key(${name})`)
    .where('active', '=', true)
    .select('id')
    .executeTakeFirst();
  if (!found) throw new NotFound(`--location: there is no active location ${JSON.stringify(name)}.`);
  return found.id;
}
