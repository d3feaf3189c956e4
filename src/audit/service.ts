/**
 * The audit of what Admins do over the API, persons who decide on bookings or keep timetable profiles, the operator at the command
 * line, and roomgate itself. An **act** is an entry: who did what to which **subject**, and which members changed. `recordAct` in
 * acts.ts writes it, in the transaction of the change.
 *
 * Invariants: an act holds no secrets, and no name, address, zone or label of a person: these are read from the person's record.
 * Acts are kept for `Limits.AuditDays`.
 */
import { sql } from 'kysely';
import { checkAuditor } from '../access.ts';
import { type auditSubjects, forgetActs, type MemberChange } from '../acts.ts';
import type { Viewer } from '../context.ts';
import type { Database } from '../db/database.ts';
import { pageById } from '../db/page-query.ts';
import { type List, longIdKey, type Page, type PageRequest, toPage } from '../db/paging.ts';
import { answerPerParent } from '../db/per-parent.ts';
import { dayLength } from '../time/days.ts';
import { checkPeriod } from '../time/period.ts';

export type RecordedAct = {
  id: number;
  at: Date;
  /** Null for an act of the operator, and of roomgate itself. */
  person: { personId: number; displayName: string } | null;
  action: string;
  /** Null for an act of an earlier release, which did not record it. */
  subject: (typeof auditSubjects)[number] | null;
  subjectId: number;
  subjectName: string | null;
  changes: MemberChange[];
  requestId: string;
};

export type ActFilter = {
  personId?: number | undefined;
  /** Compared regardless of case. */
  action?: string | undefined;
  subject?: (typeof auditSubjects)[number] | undefined;
  subjectId?: number | undefined;
  from?: Date | undefined;
  to?: Date | undefined;
};

export const actList: List<RecordedAct> = { name: 'audit', key: longIdKey, keyOf: ({ id }) => id };

/** Deletes acts that are older than `days`. */
export const forgetOldActs = (db: Database, days: number, signal?: AbortSignal): Promise<void> =>
  forgetActs(db, new Date(Date.now() - days * dayLength), signal);

const selectActs = (db: Database, { mandatorId }: Viewer) =>
  db
    .selectFrom('audit')
    .leftJoin('person', (join) =>
      join.onRef('person.mandator_id', '=', 'audit.mandator_id').onRef('person.id', '=', 'audit.person_id'),
    )
    .leftJoin('person as about', (join) =>
      join.onRef('about.mandator_id', '=', 'audit.mandator_id').onRef('about.id', '=', 'audit.about_person_id'),
    )
    .where('audit.mandator_id', '=', mandatorId)
    .select(['audit.id', 'audit.at', 'audit.action', 'audit.subject', 'audit.subject_id as subjectId'])
    .select(['audit.person_id as personId', 'person.name as displayName', 'audit.request_id as requestId'])
    .select([
      sql<string | null>`coalesce(audit.subject_name, about.name)`.as('subjectName'),
      sql<MemberChange[]>`audit.changes`.as('changes'),
    ])
    .$narrowType<Pick<RecordedAct, 'subject'>>();

type Row = Awaited<ReturnType<ReturnType<typeof selectActs>['execute']>>[number];
const toAct = ({ personId, displayName, ...act }: Row): RecordedAct => ({
  ...act,
  person: personId === null ? null : { personId, displayName: displayName ?? '' },
});

/** Lists acts, the latest first. @throws Forbidden; Malformed for a period that ends before it begins */
export async function listActs(
  db: Database,
  viewer: Viewer,
  filter: ActFilter,
  page: PageRequest,
): Promise<Page<RecordedAct>> {
  checkAuditor(viewer);
  const { personId, action, subject, subjectId, from, to } = filter;
  checkPeriod({ from, to });
  const rows = await selectActs(db, viewer)
    .$if(personId !== undefined, (query) => query.where('audit.person_id', '=', personId as number))
    .$if(action !== undefined, (query) => query.where(sql`lower(audit.action)`, '=', sql`lower(${action})`))
    .$if(subject !== undefined, (query) => query.where('audit.subject', '=', subject as string))
    .$if(subjectId !== undefined, (query) => query.where('audit.subject_id', '=', subjectId as number))
    .$if(from !== undefined, (query) => query.where('audit.at', '>=', from as Date))
    .$if(to !== undefined, (query) => query.where('audit.at', '<', to as Date))
    .$call(pageById('audit.id', page, 'desc'))
    .execute();
  return toPage(actList, rows.map(toAct), page);
}

const actsById = answerPerParent<Viewer, null, number, RecordedAct>(async (db, ids, { viewer }) => {
  const rows = await selectActs(db, viewer).where('audit.id', '=', sql<number>`any (${ids}::bigint[])`).execute();
  return new Map(rows.map((row) => [row.id, toAct(row)]));
});

/** Reads an act; calls of the same turn share one query. @throws Forbidden */
export async function findAct(db: Database, viewer: Viewer, id: number): Promise<RecordedAct | undefined> {
  checkAuditor(viewer);
  return await actsById(db, { viewer, parent: id, asked: null });
}
