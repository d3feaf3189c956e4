import type { Database } from '../../src/db/database.ts';

/** A tenant with rooms and persons, straight into the tables: for tests of rooms that only need them to be there. */
export async function makeTenant(
  db: Database,
  options: { code?: string; rooms?: string[]; timeZone?: string } = {},
) {
  const { code = 'school', rooms = ['R001', 'R002'], timeZone = 'Europe/Berlin' } = options;
  const mandator = await db
    .insertInto('mandator')
    .values({ code, name: code, parameters: JSON.stringify({ PinAuthenticationAllowed: true }) })
    .returning('id')
    .executeTakeFirstOrThrow();
  const location = await db
    .insertInto('location')
    .values({ mandator_id: mandator.id, name: 'Campus', time_zone: timeZone })
    .returning('id')
    .executeTakeFirstOrThrow();
  const resources = await db
    .insertInto('resource')
    .values(rooms.map((name) => ({ mandator_id: mandator.id, location_id: location.id, name })))
    .returning(['id', 'name'])
    .execute();
  const persons = await db
    .insertInto('person')
    .values(
      (['Admin', 'User', 'Display'] as const).map((role) => ({
        mandator_id: mandator.id,
        name: `${role} of ${code}`,
        email: `${role.toLowerCase()}@${code}.example`,
        time_zone: timeZone,
        role,
      })),
    )
    .returning(['id', 'email', 'role', 'name'])
    .execute();
  const person = (role: string) => persons.find((candidate) => candidate.role === role)!;
  return { mandatorId: mandator.id, code, locationId: location.id, resources, person };
}
