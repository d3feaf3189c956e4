/** Writes the tenant file that applies to the state of a tenant. */
import type { Database } from '../db/database.ts';
import { readSnapshot } from '../db/snapshot.ts';
import { getMandator } from './mandators.ts';
import { parameterTypes } from './parameters.ts';
import { isDisplay, readStoredTenant, type StoredRecord } from './stored-tenant.ts';

const membersOf = ({ members }: StoredRecord) => members;

/**
 * All master data of a tenant that a tenant file can hold, without ids and in the order of names. The persons of displays are
 * left out: pairing makes them.
 * @param code of the tenant, in any case
 * @throws NotFound
 */
export function exportTenant(db: Database, code: string): Promise<object> {
  return readSnapshot(db, async (trx) => {
    const { mandatorId, code: Mandator } = await getMandator(trx, code);
    const stored = await readStoredTenant(trx, mandatorId);
    const known = Object.keys(parameterTypes).filter((name) => name in stored.parameters);
    const ofLocation = Map.groupBy(stored.resources, ({ locationId }) => locationId);
    return {
      Mandator,
      Name: stored.name,
      Parameters: Object.fromEntries(known.map((name) => [name, stored.parameters[name]])),
      Colour: stored.colour,
      Logo: stored.logo,
      Locations: stored.locations.map((location) => ({
        ...location.members,
        Resources: (ofLocation.get(location.id) ?? []).map(membersOf),
      })),
      Persons: stored.persons.filter((person) => !isDisplay(person)).map(membersOf),
      Groups: stored.groups.map(membersOf),
      Policies: stored.policies.map(membersOf),
      HolidayCalendars: stored.calendars.map(membersOf),
    };
  });
}
