/** Reads what is stored of a tenant, in the members of a tenant file. */
import { sql } from 'kysely';
import type { Database } from '../db/database.ts';
import { readWrittenHours } from '../opening-hours/service.ts';
import { columnOf, locationNoun, type Noun, personNoun, type RecordMembers, resourceNoun } from './nouns.ts';

/** `key` is equal for all spellings of its name. */
export type StoredRecord = { id: number; key: string; members: RecordMembers };
export type StoredResource = StoredRecord & { locationId: number };

export type StoredTenant = {
  name: string;
  /** As stored: one that is not set is not there. */
  parameters: RecordMembers;
  /** In order of their keys. */
  locations: StoredRecord[];
  resources: StoredResource[];
  persons: StoredRecord[];
};

async function readRecords<Row extends StoredRecord>(
  db: Database,
  mandatorId: number,
  noun: Noun,
  { extra = sql``, which = sql`true` } = {},
): Promise<Row[]> {
  const members = noun.members.map((member) => sql`${sql.lit(member)}, ${sql.ref(columnOf(member))}`);
  const { rows } = await sql<Row>`
    select id, ${sql.raw(noun.keyFunction)}(${sql.ref(columnOf(noun.name))}) as key${extra},
      jsonb_build_object(${sql.join(members)}) as members
    from ${sql.table(noun.table)} where mandator_id = ${mandatorId} and ${which}`.execute(db);
  // jsonb has an order of its own.
  for (const row of rows) row.members = Object.fromEntries(noun.members.map((member) => [member, row.members[member]]));
  return rows.sort((one, other) => (one.key < other.key ? -1 : 1));
}

/** @param mandatorId the id of a tenant that there is */
export async function readStoredTenant(db: Database, mandatorId: number): Promise<StoredTenant> {
  const tenant = await db
    .selectFrom('mandator')
    .where('id', '=', mandatorId)
    .select(['name', 'parameters'])
    .executeTakeFirstOrThrow();
  const hoursOf = await readWrittenHours(db, mandatorId);
  const locations = await readRecords(db, mandatorId, locationNoun);
  const resources = await readRecords<StoredResource>(db, mandatorId, resourceNoun, {
    extra: sql`, location_id as "locationId"`,
  });
  const persons = await readRecords(db, mandatorId, personNoun, { which: sql`erased_at is null` });
  return {
    name: tenant.name,
    parameters: tenant.parameters as RecordMembers,
    locations: locations.map((location) => ({
      ...location,
      members: { ...location.members, ...hoursOf({ locationId: location.id, resourceId: null }) },
    })),
    resources: resources.map((resource) => ({
      ...resource,
      members: { ...resource.members, ...hoursOf({ locationId: resource.locationId, resourceId: resource.id }) },
    })),
    persons,
  };
}

/** The keys of names, in their order. */
export async function readKeys(db: Database, { keyFunction }: Noun, names: readonly string[]): Promise<string[]> {
  const { rows } = await sql<{ key: string }>`
    select ${sql.raw(keyFunction)}(name) as key
    from unnest(${names}::text[]) with ordinality as named(name, position) order by position`.execute(db);
  return rows.map(({ key }) => key);
}
