/** What the audit keeps of an application of a tenant file: what it would keep of the same changes over REST. */
import type { AuditedAct, Subject } from '../acts.ts';
import type { FileDifference, Planned, RecordChange } from './differences.ts';
import { isHours, type RecordMembers } from './nouns.ts';

const hoursActions: Record<string, string> = {
  OpeningRules: 'replace opening rules',
  OpeningExceptions: 'replace opening exceptions',
};

/** The members before and after, as the audit takes them. */
const changedIn = ({ fate, changes }: Pick<RecordChange, 'fate' | 'changes'>) => ({
  before: fate === 'created' ? null : Object.fromEntries(changes.map(({ member, old }) => [member, old])),
  after: Object.fromEntries(changes.map(({ member, new: value }) => [member, value])),
});

export function tenantActs(tenant: RecordChange, mandatorId: number): AuditedAct[] {
  if (tenant.fate === 'unchanged') return [];
  const action = tenant.fate === 'created' ? 'create tenant' : 'change tenant';
  return [{ action, subject: { noun: 'Tenant', id: mandatorId, name: tenant.name }, record: changedIn(tenant) }];
}

/** Changes of hours are acts of their own. */
export function actsOn({ noun, fate, changes, members }: Planned, id: number): AuditedAct[] {
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
  const columns = changes.filter(({ member }) => !isHours(member));
  if (fate !== 'created' && columns.length === 0) return lists;
  return [
    {
      action: `${fate === 'created' ? 'create' : 'change'} ${noun.table}`,
      subject,
      record: fate === 'created' ? { before: null, after: columnsIn(members) } : changedIn({ fate, changes: columns }),
    },
    ...lists,
  ];
}
const columnsIn = (members: RecordMembers) =>
  Object.fromEntries(Object.entries(members).filter(([member]) => !isHours(member)));
