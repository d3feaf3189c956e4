/** Compares a tenant file with the stored tenant, and lists the changes that applying the file makes. Pure. */
import { isDeepStrictEqual } from 'node:util';
import { type FieldError, InvalidInput } from '../errors.ts';
import { mostCalendars } from '../holidays/service.ts';
import { devicesOnly } from './display-persons.ts';
import { nameOfLogo } from './look.ts';
import {
  calendarNoun,
  groupNoun,
  locationNoun,
  type Noun,
  personNoun,
  policyNoun,
  type RecordMembers,
  resourceNoun,
} from './nouns.ts';
import { resolverOf } from './references.ts';
import type { KeyOf, StoredRecord, StoredTenant } from './stored-tenant.ts';
import { fault, type TenantFile } from './tenant-file.ts';

/** `old` is undefined where the record is new. */
export type FileDifference = { member: string; old: unknown; new: unknown };
export type Fate = 'created' | 'changed' | 'unchanged';

export type RecordChange = {
  kind: Noun['kind'] | 'Tenant';
  /** For people to read: a resource is named with its location. */
  name: string;
  fate: Fate;
  /** For a new record, the members that the file names; for a stored one, those that change. */
  changes: FileDifference[];
};

/** A record of the file, beside its stored version. */
export type Planned = RecordChange & {
  noun: Noun;
  key: string;
  stored: StoredRecord | undefined;
  /** All members, as they will be. */
  members: RecordMembers;
};
export type PlannedResource = Planned & { location: Planned };

export type FilePlan = {
  tenant: RecordChange;
  locations: Planned[];
  resources: PlannedResource[];
  persons: Planned[];
  /** The ids of the persons whose TeacherCode the file gives to another person. */
  codesMove: number[];
  groups: Planned[];
  policies: Planned[];
  calendars: Planned[];
};

type Path = readonly PropertyKey[];

/** The members that the file names and whose values differ from the stored ones. */
const differences = (named: RecordMembers, stored: RecordMembers | undefined): FileDifference[] =>
  Object.entries(named)
    .filter(([member, value]) => value !== undefined && !(stored && isDeepStrictEqual(stored[member], value)))
    .map(([member, value]) => ({ member, old: stored?.[member], new: value }));

const fateOf = (stored: unknown, changes: readonly FileDifference[]): Fate => {
  if (!stored) return 'created';
  return changes.length > 0 ? 'changed' : 'unchanged';
};

/** Collects faults, so that all are reported at once. */
type Report = (path: Path, code: string, text: string) => void;

/** A record of the file, in which references have the stored spelling. */
type Named = { named: RecordMembers; name: string; key: string; path: Path };

function planRecord(
  noun: Noun,
  { named, name, key, path }: Named,
  stored: StoredRecord | undefined,
  report: Report,
): Planned {
  const given = Object.fromEntries(Object.entries(named).filter(([, value]) => value !== undefined));
  const members = { ...(stored?.members ?? noun.defaults), ...given };
  for (const member of noun.members)
    if (members[member] === undefined)
      report([...path, member], 'MissingField', `is missing; a new ${noun.kind.toLowerCase()} must have it`);
  const changes = differences(named, stored?.members);
  return { kind: noun.kind, name, fate: fateOf(stored, changes), changes, noun, key, stored, members };
}

/** Each parameter is a member of its own; null if it is not set or the file clears it. */
function planTenant(file: TenantFile, stored: StoredTenant | undefined, report: Report): RecordChange {
  if (!stored && file.Name === undefined) report(['Name'], 'MissingField', 'is missing; a new tenant must have it');
  const names = Object.keys(file.Parameters);
  const valuesOf = (parameters: RecordMembers) =>
    Object.fromEntries(names.map((name) => [`Parameters.${name}`, parameters[name] ?? null]));
  // A picture as text tells the readers of a change nothing.
  const nameOf = (logo: string | null | undefined) => (logo === undefined ? undefined : nameOfLogo(logo));
  const changes = differences(
    { Name: file.Name, Colour: file.Colour, Logo: nameOf(file.Logo), ...valuesOf(file.Parameters) },
    stored && {
      Name: stored.name,
      Colour: stored.colour,
      Logo: nameOf(stored.logo),
      ...valuesOf(stored.parameters),
    },
  );
  return { kind: 'Tenant', name: file.Mandator, fate: fateOf(stored, changes), changes };
}

/** Refuses a retired location with active resources, as REST does. */
function checkDeserted(
  locations: readonly Planned[],
  resources: readonly PlannedResource[],
  stored: StoredTenant | undefined,
  report: Report,
) {
  const planned = new Map(resources.flatMap((one) => (one.stored ? [[one.stored.id, one] as const] : [])));
  for (const [index, location] of locations.entries()) {
    if (location.members['Active']) continue;
    const ofFile = resources.filter((one) => one.location === location && one.members['Active']);
    const others = (stored?.resources ?? []).filter(
      ({ id, locationId, members }) => locationId === location.stored?.id && members['Active'] && !planned.has(id),
    );
    const count = ofFile.length + others.length;
    if (count > 0)
      report(
        ['Locations', index, 'Active'],
        'Conflict',
        `is false, but the location has ${count} active resources; set these to inactive too`,
      );
  }
}

/** Each holiday calendar has a source, and a tenant has no more calendars than REST allows. */
function checkCalendars(calendars: readonly Planned[], stored: StoredTenant | undefined, report: Report) {
  const fresh = calendars.filter(({ fate }) => fate === 'created');
  for (const [index, { fate, members }] of calendars.entries())
    if (fate === 'created' && members['Url'] === undefined && members['Holidays'] === undefined)
      report(
        ['HolidayCalendars', index, 'Holidays'],
        'MissingField',
        'is missing; a new holiday calendar must have it, or a Url',
      );
  if (fresh.length > 0 && fresh.length + (stored?.calendars.length ?? 0) > mostCalendars)
    report(['HolidayCalendars'], 'Conflict', `a tenant has at most ${mostCalendars} holiday calendars; delete one`);
}

/** A tenant that has an active Admin keeps one. */
function checkAdmin(persons: readonly Planned[], stored: StoredTenant | undefined, report: Report) {
  const isAdmin = (members: RecordMembers) => members['Role'] === 'Admin' && members['Active'] === true;
  const planned = new Set(persons.map(({ key }) => key));
  const before = (stored?.persons ?? []).filter(({ members }) => isAdmin(members));
  const stays = before.some(({ key }) => !planned.has(key)) || persons.some(({ members }) => isAdmin(members));
  if (before.length > 0 && !stays)
    report(['Persons'], 'Conflict', 'the tenant would have no active Admin left; name another one');
}

/**
 * Refuses a TeacherCode that another person keeps.
 * @returns the ids of the persons whose TeacherCode another one gets
 */
function checkTeacherCodes(
  persons: readonly Planned[],
  keyOf: KeyOf,
  stored: StoredTenant | undefined,
  report: Report,
): number[] {
  const owners = new Map((stored?.persons ?? []).map((person) => [person.codeKey, person]));
  const changesCode = ({ changes }: Planned) => changes.some(({ member }) => member === 'TeacherCode');
  const leaving = new Set(persons.filter(changesCode).map(({ key }) => key));
  return persons.flatMap((person, index) => {
    const code = person.members['TeacherCode'];
    const owner =
      changesCode(person) && typeof code === 'string' && owners.get(keyOf({ keyFunction: 'name_key' }, code));
    if (!owner || owner.key === person.key) return [];
    if (leaving.has(owner.key)) return [owner.id];
    const text = `is ${JSON.stringify(code)}, the code of ${owner.members['Email']}; give that person another one in the file, or null`;
    report(['Persons', index, 'TeacherCode'], 'Conflict', text);
    return [];
  });
}

/**
 * @param stored undefined for a tenant that is new
 * @throws InvalidInput with every fault: a new record without a required member, an unknown name, and whatever REST refuses
 * with Conflict
 */
export function planFile(file: TenantFile, keyOf: KeyOf, stored: StoredTenant | undefined): FilePlan {
  const faults: FieldError[] = [];
  const report: Report = (path, code, text) => void faults.push(fault(path, code, text));
  const resolve = resolverOf(file, keyOf, stored, report);
  const byKey = (records: readonly StoredRecord[] = []) => new Map(records.map((one) => [one.key, one]));
  const read = (noun: Noun, record: RecordMembers, path: Path): Named => {
    const name = record[noun.name] as string;
    return { named: resolve(noun, record, path), name, key: keyOf(noun, name), path };
  };
  function plan(
    noun: Noun,
    list: 'Persons' | 'Groups' | 'Policies' | 'HolidayCalendars',
    own: readonly StoredRecord[] = [],
  ): Planned[] {
    const known = byKey(own);
    return file[list].map((record, index) => {
      const named = read(noun, record, [list, index]);
      return planRecord(noun, named, known.get(named.key), report);
    });
  }

  const storedLocations = byKey(stored?.locations);
  const ofLocation = new Map(
    [...Map.groupBy(stored?.resources ?? [], ({ locationId }) => locationId)].map(([id, own]) => [id, byKey(own)]),
  );
  const locations = file.Locations.map(({ Resources: _, ...record }, index) => {
    const named = read(locationNoun, record, ['Locations', index]);
    return planRecord(locationNoun, named, storedLocations.get(named.key), report);
  });
  const resources = file.Locations.flatMap(({ Resources }, index) =>
    Resources.map((record, own): PlannedResource => {
      const location = locations[index]!;
      const named = read(resourceNoun, record, ['Locations', index, 'Resources', own]);
      const found = location.stored && ofLocation.get(location.stored.id)?.get(named.key);
      const name = `${location.name} / ${named.name}`;
      return { ...planRecord(resourceNoun, { ...named, name }, found, report), location };
    }),
  );
  const persons = plan(personNoun, 'Persons', stored?.persons);
  for (const [index, { members, stored: found }] of persons.entries())
    if (members['Role'] === 'Display' && found?.members['Role'] !== 'Display')
      report(['Persons', index, 'Role'], devicesOnly.code, `is "Display"; that ${devicesOnly.text}`);
  const groups = plan(groupNoun, 'Groups', stored?.groups);
  const policies = plan(policyNoun, 'Policies', stored?.policies);
  const calendars = plan(calendarNoun, 'HolidayCalendars', stored?.calendars);
  const tenant = planTenant(file, stored, report);
  checkCalendars(calendars, stored, report);
  checkDeserted(locations, resources, stored, report);
  checkAdmin(persons, stored, report);
  const codesMove = checkTeacherCodes(persons, keyOf, stored, report);
  if (faults.length > 0) throw new InvalidInput(faults.map(({ message }) => message).join('\n'), faults);
  return { tenant, locations, resources, persons, codesMove, groups, policies, calendars };
}

/** All records of a plan, in the order of the file. */
export const recordsOf = ({
  tenant,
  locations,
  resources,
  persons,
  groups,
  policies,
  calendars,
}: FilePlan): RecordChange[] => [
  tenant,
  ...locations.flatMap((location) => [location, ...resources.filter((one) => one.location === location)]),
  ...persons,
  ...groups,
  ...policies,
  ...calendars,
];
