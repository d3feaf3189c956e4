import { randomBytes, randomUUID } from 'node:crypto';
import { sql } from 'kysely';
import type { Viewer } from '../../src/context.ts';
import type { Database } from '../../src/db/database.ts';

/** Inserts a tenant with rooms and persons directly into the tables, for tests that only need them to exist. Its Users may import. */
export async function makeTenant(db: Database, options: { code?: string; rooms?: string[]; timeZone?: string } = {}) {
  const { code = 'school', rooms = ['R001', 'R002'], timeZone = 'Europe/Berlin' } = options;
  const mandator = await db
    .insertInto('mandator')
    .values({ code, name: code, parameters: JSON.stringify({ PinAuthenticationAllowed: true, UsersMayImport: true }) })
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
      (['Admin', 'User', 'Display', 'Importer'] as const).map((role) => ({
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

/** Removes all tenants, as on the first start, beside a worker that runs. */
export async function removeTenants(db: Database): Promise<void> {
  await db.transaction().execute(async (trx) => {
    // Sweeps take the locks of tables in another order. In a deadlock it is they who give way, and run again.
    await sql`set local deadlock_timeout = '1min'`.execute(trx);
    await sql`truncate mandator cascade`.execute(trx);
  });
}

type Tenant = Pick<Awaited<ReturnType<typeof makeTenant>>, 'mandatorId' | 'code' | 'resources' | 'person'>;

/** Inserts a paired door sign directly into the tables. By default it shows all of all rooms, and books. */
export async function makeDisplay(
  db: Database,
  tenant: Tenant,
  options: {
    name?: string;
    resourceIds?: number[];
    mayBook?: boolean;
    privacy?: 'Title' | 'Organizer' | 'BusyOnly';
    tokenHash?: Buffer;
  } = {},
): Promise<{ displayId: number; personId: number; viewer: Viewer }> {
  const { mandatorId, code } = tenant;
  const { name = 'Sign', mayBook = true, privacy = 'Title', tokenHash = randomBytes(32) } = options;
  const resourceIds = options.resourceIds ?? tenant.resources.map(({ id }) => id);
  const email = `${randomUUID()}@${code}.example`;
  const { id: personId } = await db
    .insertInto('person')
    .values({ mandator_id: mandatorId, name, email, time_zone: 'Europe/Berlin', role: 'Display' })
    .returning('id')
    .executeTakeFirstOrThrow();
  const expiresAt = new Date(Date.now() + 90 * 24 * 3_600_000);
  const { id: displayId } = await db
    .insertInto('display')
    .values({
      mandator_id: mandatorId,
      person_id: personId,
      may_book: mayBook,
      privacy,
      token_hash: tokenHash,
      created_by: tenant.person('Admin').id,
      expires_at: expiresAt,
    })
    .returning('id')
    .executeTakeFirstOrThrow();
  if (resourceIds.length > 0)
    await db
      .insertInto('display_resource')
      .values(resourceIds.map((id) => ({ mandator_id: mandatorId, display_id: displayId, resource_id: id })))
      .execute();
  const viewer: Viewer = {
    mandatorId,
    mandator: code,
    personId,
    displayName: name,
    email,
    timeZone: 'Europe/Berlin',
    role: 'Display',
    groupIds: [],
    hiddenRooms: [],
    pinId: null,
    display: { displayId, mayBook, privacy, resourceIds },
    credential: `display ${displayId}`,
    expiresAt,
  };
  return { displayId, personId, viewer };
}
