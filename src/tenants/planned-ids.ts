/** The ids of the records of a plan and of those that they name; new records get ids when they are written. */
import type { Planned } from './differences.ts';
import { groupNoun, locationNoun, type Noun, personNoun, policyNoun } from './nouns.ts';
import type { StoredTenant } from './stored-tenant.ts';

export type PlannedIds = ReturnType<typeof openIds>;

export function openIds(stored: StoredTenant | undefined) {
  const made = new Map<Planned, number>();
  const byName = new Map<Noun, Map<string, number>>();
  const name = (noun: Noun, to: string, id: number) =>
    byName.set(noun, (byName.get(noun) ?? new Map<string, number>()).set(to, id));
  for (const [noun, records] of [
    [locationNoun, stored?.locations ?? []],
    [personNoun, stored?.persons ?? []],
    [groupNoun, stored?.groups ?? []],
    [policyNoun, stored?.policies ?? []],
  ] as const)
    for (const { id, members } of records) name(noun, members[noun.name] as string, id);

  return {
    of: (record: Planned): number => made.get(record) ?? record.stored!.id,
    add(record: Planned, id: number): void {
      made.set(record, id);
      name(record.noun, record.members[record.noun.name] as string, id);
    },
    /** The stored value of a member: for one that names records, their ids in order. */
    ofNames(noun: Noun, member: string, value: unknown): unknown {
      const ids = byName.get(noun.references[member]!);
      if (Array.isArray(value) && ids) return value.map((one) => ids.get(one)!).sort((one, other) => one - other);
      return typeof value === 'string' && ids ? ids.get(value) : value;
    },
  };
}

/** The ids of the persons who join and leave a group. */
export function movesIn({ changes }: Planned, ids: PlannedIds): { addMembers: number[]; removeMembers: number[] } {
  const { old = [], new: wanted = [] } = changes.find(({ member }) => member === 'Members') ?? {};
  const before = ids.ofNames(groupNoun, 'Members', old) as number[];
  const after = ids.ofNames(groupNoun, 'Members', wanted) as number[];
  const without = (some: readonly number[], others: readonly number[]) => {
    const out = new Set(others);
    return some.filter((id) => !out.has(id));
  };
  return { addMembers: without(after, before), removeMembers: without(before, after) };
}
