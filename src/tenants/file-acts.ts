/** Records the application of a tenant file in the audit, as the same changes over REST would be recorded. */
import type { AuditAction, AuditedAct, Subject } from '../acts.ts';
import type { FileDifference, Planned, RecordChange } from './differences.ts';
import { idMemberOf, isHours } from './nouns.ts';
import { movesIn, type PlannedIds } from './planned-ids.ts';

const hoursActions: Record<string, AuditAction> = {
  OpeningRules: 'replace opening rules',
  OpeningExceptions: 'replace opening exceptions',
};

/** The members before and after, in the form of the audit. */
const changedIn = ({ fate, changes }: Pick<RecordChange, 'fate' | 'changes'>) => ({
  before: fate === 'created' ? null : Object.fromEntries(changes.map(({ member, old }) => [member, old])),
  after: Object.fromEntries(changes.map(({ member, new: value }) => [member, value])),
});

export function tenantActs(tenant: RecordChange, mandatorId: number): AuditedAct[] {
  if (tenant.fate === 'unchanged') return [];
  const action = tenant.fate === 'created' ? 'create tenant' : 'change tenant';
  return [{ action, subject: { noun: 'Tenant', id: mandatorId, name: tenant.name }, record: changedIn(tenant) }];
}

/** The members as REST has them: references as ids, and for a group the persons who join and leave. */
function auditedChanges(record: Planned, changes: readonly FileDifference[], ids: PlannedIds): FileDifference[] {
  const { noun } = record;
  return changes.flatMap(({ member, old, new: value }) => {
    if (member === 'Members') {
      const { addMembers, removeMembers } = movesIn(record, ids);
      return [
        { member: 'AddMembers', old: null, new: addMembers },
        { member: 'RemoveMembers', old: null, new: removeMembers },
      ].filter(({ new: moved }) => moved.length > 0);
    }
    return [{ member: idMemberOf(member), old: ids.ofNames(noun, member, old), new: ids.ofNames(noun, member, value) }];
  });
}

/** Changes of hours are acts of their own. */
export function actsOn(record: Planned, ids: PlannedIds): AuditedAct[] {
  const { noun, fate, changes, members } = record;
  const id = ids.of(record);
  const subject: Subject =
    noun.kind === 'Person'
      ? { noun: 'Person', id, personId: id }
      : { noun: noun.kind, id, name: String(members['Name']) };
  const isNews = ({ member, new: value }: FileDifference) =>
    isHours(member) && !(fate === 'created' && (value as unknown[]).length === 0);
  const lists = changes.filter(isNews).map((change) => ({
    action: hoursActions[change.member]!,
    subject,
    record: changedIn({ fate: 'changed', changes: [change] }),
  }));
  // For a new record also its defaults.
  const all =
    fate === 'created'
      ? Object.entries(members).map(([member, value]) => ({ member, old: undefined, new: value }))
      : changes;
  const others = all.filter(({ member }) => !isHours(member));
  if (fate !== 'created' && others.length === 0) return lists;
  const what = noun.kind.toLowerCase() as 'location' | 'resource' | 'person' | 'group' | 'policy';
  const action = `${fate === 'created' ? 'create' : 'change'} ${what}` as const;
  return [{ action, subject, record: changedIn({ fate, changes: auditedChanges(record, others, ids) }) }, ...lists];
}
