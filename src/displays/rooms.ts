/** Checks of the rooms that a display is given. */
import { sql } from 'kysely';
import type { Transaction } from '../db/database.ts';
import { Conflict, InvalidInput, memberFault } from '../errors.ts';

type NamedPlace = { name: string; timeZone: string };

/** The most rooms given one by one; a location gives all of its rooms. */
export const mostResources = 100;

/** @throws InvalidInput */
export function checkSomeRoom(resourceIds: readonly number[], locationId: number | null): void {
  if (resourceIds.length > 0 || locationId !== null) return;
  const text = 'a display must show at least one room; name rooms, or a location for all of its rooms';
  throw InvalidInput.of(memberFault('ResourceIds', 'MissingField', text));
}

/**
 * The rooms in order of their ids, locked until the transaction ends.
 * @throws InvalidInput naming unknown ones; Conflict for retired ones
 */
export async function checkResources(
  trx: Transaction,
  mandatorId: number,
  ids: readonly number[],
): Promise<NamedPlace[]> {
  if (ids.length === 0) return [];
  const found = await trx
    .selectFrom('resource')
    .innerJoin('location', (join) =>
      join.onRef('location.mandator_id', '=', 'resource.mandator_id').onRef('location.id', '=', 'resource.location_id'),
    )
    .where('resource.mandator_id', '=', mandatorId)
    .where('resource.id', '=', sql<number>`any (${ids}::bigint[])`)
    .select(['resource.id', 'resource.name', 'resource.active', 'location.time_zone as timeZone'])
    .orderBy('resource.id')
    .forShare('resource')
    .execute();
  const known = new Set(found.map(({ id }) => id));
  const faults = ids.flatMap((id, index) => {
    const message = `ResourceIds[${index}]: there is no resource of this id.`;
    const pointer = `/ResourceIds/${index}`;
    return known.has(id) ? [] : [{ field: 'ResourceIds', pointer, code: 'UnknownResource', message }];
  });
  if (faults.length > 0) throw InvalidInput.of(...faults);
  const retired = found.find(({ active }) => !active);
  if (retired)
    throw Conflict.because(
      'InactiveResource',
      `The resource ${retired.name} is not active; set it to active first, or leave it out.`,
      'ResourceIds',
    );
  return found;
}
