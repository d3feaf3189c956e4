/** Resolves references of a tenant file to stored records, and to records of the file itself. Pure. */
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
import { isDisplay, type KeyOf, type StoredTenant } from './stored-tenant.ts';
import type { TenantFile } from './tenant-file.ts';

/** The records of a file. */
const recordsIn = ({
  Locations,
  Persons,
  Groups,
  Policies,
  HolidayCalendars,
}: TenantFile): [Noun, readonly RecordMembers[]][] => [
  [locationNoun, Locations],
  [resourceNoun, Locations.flatMap(({ Resources }) => Resources)],
  [personNoun, Persons],
  [groupNoun, Groups],
  [policyNoun, Policies],
  [calendarNoun, HolidayCalendars],
];

/** The names of all records that a file has or refers to, as they are written. */
export const namesIn = (file: TenantFile): [Noun, string][] =>
  recordsIn(file).flatMap(([noun, records]) =>
    records.flatMap((record) => [
      [noun, record[noun.name] as string] as [Noun, string],
      ...Object.entries(noun.references).flatMap(([member, other]) =>
        [record[member] ?? []].flat().map((name) => [other, name as string] as [Noun, string]),
      ),
    ]),
  );

type Report = (path: readonly PropertyKey[], code: string, text: string) => void;
type Found = { key: string; name: string };

/**
 * Returns a function that gives the names in a record their stored spelling, or the file's for new records, and sorts lists of
 * names without repetitions, so that equal references compare equal. It reports unknown names.
 */
export function resolverOf(file: TenantFile, keyOf: KeyOf, stored: StoredTenant | undefined, report: Report) {
  const known = new Map<Noun, Map<string, string>>();
  const nameOf = (noun: Noun, record: RecordMembers) => record[noun.name] as string;
  for (const [noun, records] of recordsIn(file))
    known.set(noun, new Map(records.map((record) => [keyOf(noun, nameOf(noun, record)), nameOf(noun, record)])));
  for (const [noun, records] of [
    [locationNoun, stored?.locations ?? []],
    [personNoun, stored?.persons.filter((person) => !isDisplay(person)) ?? []],
    [groupNoun, stored?.groups ?? []],
    [policyNoun, stored?.policies ?? []],
  ] as const)
    for (const { key, members } of records) known.get(noun)!.set(key, nameOf(noun, members));

  function find(noun: Noun, written: string, path: readonly PropertyKey[]): Found[] {
    const key = keyOf(noun, written);
    const name = known.get(noun)!.get(key);
    if (name !== undefined) return [{ key, name }];
    const kind = noun.kind.toLowerCase();
    const which = noun.name === 'Email' ? 'address' : 'name';
    report(
      path,
      `Unknown${noun.kind}`,
      `is ${JSON.stringify(written)}; there is no ${kind} with this ${which}, neither in the tenant nor in the file`,
    );
    return [];
  }

  return (noun: Noun, record: RecordMembers, path: readonly PropertyKey[]): RecordMembers => {
    const resolved = Object.entries(noun.references).map(([member, other]) => {
      const written = record[member] as string | string[] | null | undefined;
      if (!Array.isArray(written)) {
        const one = written == null ? [] : find(other, written, [...path, member]);
        return [member, one[0]?.name ?? written];
      }
      const found = written.flatMap((name, at) => find(other, name, [...path, member, at]));
      const byKey = new Map(found.map(({ key, name }) => [key, name]));
      return [member, [...byKey].sort(([one], [two]) => (one < two ? -1 : 1)).map(([, name]) => name)];
    });
    return { ...record, ...Object.fromEntries(resolved) };
  };
}
