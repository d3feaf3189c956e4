/** Reads the stored master data of a tenant as the members of a tenant file. */
import { sql } from 'kysely';
import type { Database } from '../db/database.ts';
import { readSources } from '../holidays/service.ts';
import { readWrittenHours } from '../opening-hours/service.ts';
import { displayDomain } from './display-persons.ts';
import {
  calendarNoun,
  columnOf,
  groupNoun,
  locationNoun,
  type Noun,
  personNoun,
  policyNoun,
  type RecordMembers,
  resourceNoun,
} from './nouns.ts';

/** `key` is equal for all spellings of its name. */
export type StoredRecord = { id: number; key: string; members: RecordMembers };
export type StoredResource = StoredRecord & { locationId: number };
/** `codeKey` is equal for all spellings of the TeacherCode. */
export type StoredPerson = StoredRecord & { codeKey: string | null };

export type StoredTenant = {
  name: string;
  colour: string | null;
  /** A data URL. */
  logo: string | null;
  /** As stored: parameters that are not set are absent. */
  parameters: RecordMembers;
  /** In order of their keys, as are the lists of names that they have. */
  locations: StoredRecord[];
  resources: StoredResource[];
  persons: StoredPerson[];
  groups: StoredRecord[];
  policies: StoredRecord[];
  calendars: StoredRecord[];
};

/** Pairing makes the persons of displays: tenant files contain neither them nor their membership in groups. */
export const isDisplay = ({ key }: StoredRecord): boolean => key.endsWith(displayDomain);

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

/** Returns a function that replaces ids of records by their names, in order. */
function namesFor(noun: Noun, records: readonly StoredRecord[]): (ids: unknown) => unknown {
  const places = new Map(records.map(({ id }, place) => [id, place]));
  const nameAt = (place: number) => records[place]!.members[noun.name];
  return (ids) => {
    if (!Array.isArray(ids)) return ids === null ? null : nameAt(places.get(ids as number)!);
    const known = ids.flatMap((id: number) => places.get(id) ?? []);
    return known.sort((one, other) => one - other).map(nameAt);
  };
}

/** The ids of the persons of each group. */
async function readMembers(db: Database, mandatorId: number): Promise<ReadonlyMap<number, readonly number[]>> {
  const { rows } = await sql<{ id: number; members: number[] }>`
    select group_id as id, array_agg(person_id) as members from person_group_member
    where mandator_id = ${mandatorId} group by group_id`.execute(db);
  return new Map(rows.map(({ id, members }) => [id, members]));
}

/** @param mandatorId the id of an existing tenant */
export async function readStoredTenant(db: Database, mandatorId: number): Promise<StoredTenant> {
  const tenant = await db
    .selectFrom('mandator')
    .where('id', '=', mandatorId)
    .select(['name', 'parameters', 'colour', 'logo'])
    .executeTakeFirstOrThrow();
  const hoursOf = await readWrittenHours(db, mandatorId);
  const locations = await readRecords(db, mandatorId, locationNoun);
  const resources = await readRecords<StoredResource>(db, mandatorId, resourceNoun, {
    extra: sql`, location_id as "locationId"`,
  });
  const persons = await readRecords<StoredPerson>(db, mandatorId, personNoun, {
    extra: sql`, name_key(teacher_code) as "codeKey"`,
    which: sql`erased_at is null`,
  });
  const groups = await readRecords(db, mandatorId, groupNoun);
  const policies = await readRecords(db, mandatorId, policyNoun);
  const calendars = await readRecords(db, mandatorId, calendarNoun);
  const sourceOf = await readSources(db, mandatorId);
  const membersOf = await readMembers(db, mandatorId);
  const addresses = namesFor(
    personNoun,
    persons.filter((person) => !isDisplay(person)),
  );
  const locationNames = namesFor(locationNoun, locations);
  const groupNames = namesFor(groupNoun, groups);
  const policyNames = namesFor(policyNoun, policies);
  return {
    name: tenant.name,
    colour: tenant.colour,
    logo: tenant.logo,
    parameters: tenant.parameters as RecordMembers,
    locations: locations.map((location) => ({
      ...location,
      members: { ...location.members, ...hoursOf({ locationId: location.id, resourceId: null }) },
    })),
    resources: resources.map((resource) => ({
      ...resource,
      members: {
        ...resource.members,
        Policy: policyNames(resource.members['Policy']),
        ...hoursOf({ locationId: resource.locationId, resourceId: resource.id }),
      },
    })),
    persons,
    groups: groups.map((group) => ({
      ...group,
      members: { ...group.members, Members: addresses(membersOf.get(group.id) ?? []) },
    })),
    policies: policies.map((policy) => ({
      ...policy,
      members: {
        ...policy.members,
        ...Object.fromEntries(
          Object.keys(policyNoun.references).map((list) => [list, groupNames(policy.members[list])]),
        ),
      },
    })),
    calendars: calendars.map((calendar) => ({
      ...calendar,
      members: { ...calendar.members, Location: locationNames(calendar.members['Location']), ...sourceOf(calendar.id) },
    })),
  };
}

/** The key that all spellings of a name share. */
export type KeyOf = (noun: Pick<Noun, 'keyFunction'>, name: string) => string;

/** Reads the keys of names. */
export async function readKeys(db: Database, names: readonly string[]): Promise<KeyOf> {
  const { rows } = await sql<{ name: string } & Record<Noun['keyFunction'], string>>`
    select name, name_key(name), lower(name) from unnest(${[...new Set(names)]}::text[]) as name`.execute(db);
  const keys = new Map(rows.map((row) => [row.name, row]));
  return ({ keyFunction }, name) => keys.get(name)![keyFunction];
}
