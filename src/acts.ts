/** Writes the audit: what Admins do over the API, and the operator with tenant files. */
import { sql } from 'kysely';
import type { Act } from './context.ts';
import type { Database, Transaction } from './db/database.ts';
import { rests } from './db/resting.ts';

/** What acts of Admins and decisions are about. */
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

/** What an act was about; what is about a person has the name of that person, who may be forgotten. */
export type Subject = { noun: (typeof auditSubjects)[number]; id: number } & ({ name: string } | { personId: number });

export type MemberChange = { member: string; from: string | null; to: string | null };

/** Whose values the audit does not keep: a person who is forgotten would live on in them. */
const personal = new Set(['Name', 'Email', 'TimeZone', 'TeacherCode', 'Label']);
const unchanging = new Set(['Id', 'Version']);
const longestValue = 1_000;

/** A value as people read it; cut where it is very long, perhaps within a surrogate pair, of which jsonb takes no half. */
function valueText(value: unknown): string | null {
  if (value === null || value === undefined) return null;
  const isPlain = Array.isArray(value) && value.every((one) => typeof one !== 'object');
  const text = typeof value === 'string' ? value : isPlain ? value.join(', ') : JSON.stringify(value);
  return text.length > longestValue ? `${text.slice(0, longestValue - 1).toWellFormed()}…` : text;
}

/** The members that differ; all of a new record that have a value. @param before null for a new record */
function changesOf(subject: Subject, before: object | null, after: object): MemberChange[] {
  return Object.entries(after).flatMap(([name, value]) => {
    const member = name.charAt(0).toUpperCase() + name.slice(1);
    const from = valueText(before && (before as Record<string, unknown>)[name]);
    const to = valueText(value);
    if (from === to || unchanging.has(member)) return [];
    const isHidden = 'personId' in subject && personal.has(member);
    return [isHidden ? { member, from: null, to: null } : { member, from, to }];
  });
}

/** What is recorded of an act. */
export type AuditedAct = {
  /** A verb and a noun: `change location`. */
  action: string;
  subject: Subject;
  /** What it was before (null: it is new) and after, in camel or Pascal case; left out, nothing is told of its members. */
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

/** Records an act of an Admin in the audit, in the same transaction. Never hand it a secret. */
export async function recordAct(
  trx: Transaction,
  { viewer, requestId }: Act,
  action: string,
  subject: Subject,
  record?: AuditedAct['record'],
): Promise<void> {
  const done = { mandator_id: viewer.mandatorId, person_id: viewer.personId, request_id: requestId };
  await trx
    .insertInto('audit')
    .values({ ...done, ...toRow({ action, subject, record }) })
    .execute();
}

/** Few enough for the parameters of one statement. */
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

/** Acts that one statement forgets. */
const forgottenAtOnce = 5_000;

/** Deletes acts before an instant from the audit, some thousands at most. */
export async function forgetActs(db: Database, before: Date): Promise<void> {
  await db
    .deleteFrom('audit')
    .where(({ eb, refTuple, selectFrom }) =>
      eb(
        refTuple('mandator_id', 'id'),
        'in',
        selectFrom('audit')
          .select(['mandator_id', 'id'])
          .where('at', '<', before)
          .where(sql<boolean>`not ${rests(sql`audit.mandator_id`)}`)
          .limit(forgottenAtOnce)
          .$asTuple('mandator_id', 'id'),
      ),
    )
    .execute();
}
