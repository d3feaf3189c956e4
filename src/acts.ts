/** Writes the audit: what persons have done over the API, the operator at the command line, and roomgate itself. */
import { sql } from 'kysely';
import type { Act } from './context.ts';
import type { Database, Transaction } from './db/database.ts';
import { deletePortions, isForgotten } from './db/portions.ts';
import { upperFirst } from './fields.ts';

/** The kinds of records that acts are about, in the order of the contract. */
export const auditSubjects = [
  'Tenant',
  'Location',
  'Resource',
  'Person',
  'Pin',
  'Display',
  'Group',
  'Policy',
  'Booking',
  'HolidayCalendar',
  'MailSubscription',
  'RoomProblem',
  'Webhook',
  'TimetableProfile',
] as const;

const hours = ['replace opening rules', 'replace opening exceptions'] as const;

/** All acts, a verb and a noun each, by the kind of record. */
export const auditActions = {
  Tenant: ['create tenant', 'change tenant'],
  Location: ['create location', 'change location', ...hours],
  Resource: ['create resource', 'change resource', 'retire resource', ...hours],
  Person: ['create person', 'change person', 'erase person'],
  Pin: ['create PIN', 'revoke PIN'],
  Display: ['pair display', 'change display', 'revoke display'],
  Group: ['create group', 'change group', 'delete group'],
  Policy: ['create policy', 'change policy', 'delete policy'],
  Booking: ['approve booking', 'decline booking'],
  HolidayCalendar: ['create holiday calendar', 'change holiday calendar', 'delete holiday calendar'],
  MailSubscription: ['read mail calendar'],
  RoomProblem: ['change room problem'],
  Webhook: [
    'create webhook',
    'change webhook',
    'delete webhook',
    'disable webhook',
    'test webhook',
    'rotate secret of webhook',
    'replay webhook',
  ],
  TimetableProfile: ['create timetable profile', 'change timetable profile', 'delete timetable profile'],
} as const satisfies Record<(typeof auditSubjects)[number], readonly string[]>;
type AuditNoun = keyof typeof auditActions;
export type AuditAction<N extends AuditNoun = AuditNoun> = (typeof auditActions)[N][number];

/**
 * The record that an act was about. Acts about a person, or its PINs, refer to the person instead of storing a name: the person
 * may be erased.
 */
export type Subject = { noun: (typeof auditSubjects)[number]; id: number } & ({ name: string } | { personId: number });

export type MemberChange = { member: string; from: string | null; to: string | null };

/** Members whose values the audit does not store, so that an erased person does not live on in it. */
const personal = new Set(['Name', 'Email', 'TimeZone', 'TeacherCode', 'Label']);
/** Of an address, the audit has only the server: the rest may be a secret. */
const shown = (value: unknown) => (value instanceof URL ? value.origin : value);
const unchanging = new Set(['Id', 'Version']);
const longestValue = 1_000;

const isPlain = (value: unknown) => Array.isArray(value) && value.every((one) => typeof one !== 'object');

/** A value as text for people. */
function textOf(value: unknown): string | null {
  if (value === null || value === undefined) return null;
  return typeof value === 'string' ? value : isPlain(value) ? (value as unknown[]).join(', ') : JSON.stringify(value);
}

const isLong = (text: string | null) => text !== null && text.length > longestValue;

/** Cuts a very long text. `toWellFormed` repairs a surrogate pair that was cut in half, which jsonb refuses. */
const cut = (text: string | null) =>
  text !== null && isLong(text) ? `${text.slice(0, longestValue - 1).toWellFormed()}…` : text;

/** The entries of a list that another one lacks, as many as there is room for; `…` after it says that it has more. */
function listText(list: readonly object[], other: readonly object[]): string {
  if (list.length === 0) return '';
  const known = new Set(other.map((entry) => JSON.stringify(entry)));
  const told: string[] = [];
  let length = '[]…'.length;
  for (const entry of list.map((one) => JSON.stringify(one)).filter((text) => !known.has(text))) {
    length += entry.length + ','.length;
    if (length > longestValue) break;
    told.push(entry);
  }
  return `[${told.join(',')}]${told.length < list.length ? '…' : ''}`;
}

/** The texts of two different values. Of long lists the same entries are left out: a cut could hide those that differ. */
function textsOf(before: unknown, after: unknown): Pick<MemberChange, 'from' | 'to'> {
  const [from, to] = [textOf(before), textOf(after)];
  const lists = [before, after].filter((value) => value !== null && value !== undefined);
  const areLists = lists.every(Array.isArray) && !lists.every(isPlain);
  if (!areLists || !(isLong(from) || isLong(to))) return { from: cut(from), to: cut(to) };
  const [old, now] = [before ?? [], after ?? []] as [object[], object[]];
  return { from: from === null ? null : listText(old, now), to: to === null ? null : listText(now, old) };
}

/** The members that differ; for a new record, all that have a value. @param before null for a new record */
function changesOf(subject: Subject, before: object | null, after: object): MemberChange[] {
  return Object.entries(after).flatMap(([name, value]) => {
    const member = upperFirst(name);
    const old = before && (before as Record<string, unknown>)[name];
    if (textOf(old) === textOf(value) || unchanging.has(member)) return [];
    const texts = textsOf(shown(old), shown(value));
    // Another address on the same server is a change, too.
    const isHidden = ('personId' in subject && personal.has(member)) || texts.from === texts.to;
    return [{ member, ...(isHidden ? { from: null, to: null } : texts) }];
  });
}

/** An act to record. */
export type AuditedAct = {
  action: AuditAction;
  subject: Subject;
  /** The record before (null: it is new) and after, in camel or Pascal case. Without it, no members are recorded. */
  record?: { before: object | null; after: object } | undefined;
};

const toRow = ({ action, subject, record }: AuditedAct) => ({
  action,
  subject: subject.noun,
  subject_id: subject.id,
  subject_name: 'name' in subject ? subject.name : null,
  about_person_id: 'personId' in subject ? subject.personId : null,
  changes: JSON.stringify(record ? changesOf(subject, record.before, record.after) : []),
});

/** Records an act of a person, or of the operator, in the audit, in the same transaction. Never hand it a secret. */
export async function recordAct<N extends AuditNoun>(
  trx: Transaction,
  { viewer: { mandatorId, personId }, requestId, isOfOperator }: Act,
  action: AuditAction<N>,
  subject: Subject & { noun: N },
  record?: AuditedAct['record'],
): Promise<void> {
  const done = { mandator_id: mandatorId, person_id: isOfOperator ? null : personId, request_id: requestId };
  await trx
    .insertInto('audit')
    .values({ ...done, ...toRow({ action, subject, record }) })
    .execute();
}

/** The operator at the command line: the request id of its acts, and the label of its temporary PINs. */
export const commandLine = 'roomgate command line';

/** Keeps a statement below PostgreSQL's limit of parameters. */
const recordedAtOnce = 5_000;

/** Records acts of the operator, who is no person of the tenant, in the same transaction. */
export async function recordOperatorActs(
  trx: Transaction,
  mandatorId: number,
  requestId: string,
  acts: readonly AuditedAct[],
): Promise<void> {
  const done = { mandator_id: mandatorId, request_id: requestId };
  for (let from = 0; from < acts.length; from += recordedAtOnce)
    await trx
      .insertInto('audit')
      .values(acts.slice(from, from + recordedAtOnce).map((act) => ({ ...done, ...toRow(act) })))
      .execute();
}

/**
 * Deletes acts from before an instant, tenant by tenant: the index of their age begins with the tenant. Without it, each portion
 * would read all that the portions before it have deleted.
 */
export async function forgetActs(db: Database, before: Date, signal?: AbortSignal): Promise<void> {
  for (const { id } of await db.selectFrom('mandator').select('id').execute()) {
    const old = isForgotten('audit', sql`mandator_id = ${id} and at < ${before}`, sql`order by at`);
    await deletePortions(db, sql`delete from audit where ${old}`, signal);
  }
}
