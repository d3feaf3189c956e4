/** The imported jobs, without their lessons (contract 4). */
import { sql } from 'kysely';
import { checkBatchUser, inReach } from '../access.ts';
import type { Viewer } from '../context.ts';
import type { Database } from '../db/database.ts';
import { pageById } from '../db/page-query.ts';
import { type List, longIdKey, type Page, type PageRequest, toPage } from '../db/paging.ts';
import type { IdOfParent } from '../db/per-parent.ts';
import { seesJob } from './sight.ts';

export type LessonJob = {
  id: number;
  jobID: string;
  bezeichnung: string | null;
  quelle: string | null;
  standort: string | null;
  bemerkung: string | null;
  lessonCount: number;
  /** The batch that created it. */
  batchId: string;
  createdAt: Date;
  changedAt: Date;
  createdBy: { personId: number; displayName: string };
};

export const jobList: List<LessonJob> = { name: 'jobs', key: longIdKey, keyOf: ({ id }) => id };

/** The jobs of the tenant that the viewer sees, newest first; an unknown JobID gives an empty page. @throws Forbidden for a display */
export async function listJobs(
  db: Database,
  viewer: Viewer,
  filter: { jobID?: string | undefined },
  page: PageRequest,
): Promise<Page<LessonJob>> {
  checkBatchUser(viewer);
  return toPage(jobList, toJobs(await selectJobs(db, viewer, filter, page).execute()), page);
}

export type JobRow = Omit<LessonJob, 'createdBy'> & LessonJob['createdBy'];
export const toJobs = (rows: readonly JobRow[]): LessonJob[] =>
  rows.map(({ personId, displayName, ...job }) => ({ ...job, createdBy: { personId, displayName } }));

export function selectJobs(
  db: Database,
  viewer: Viewer,
  { ids, jobID, batchOf }: { ids?: readonly number[]; jobID?: string | undefined; batchOf?: IdOfParent<string> },
  page: PageRequest,
) {
  const { mandatorId } = viewer;
  return db
    .selectFrom('lesson_job as job')
    .innerJoin('person', (join) =>
      join.onRef('person.mandator_id', '=', 'job.mandator_id').onRef('person.id', '=', 'job.created_by'),
    )
    .select(['job.id', 'job.job_id as jobID', 'bezeichnung', 'quelle', 'standort', 'bemerkung'])
    .select(['batch_id as batchId', 'job.created_at as createdAt', 'job.changed_at as changedAt'])
    .select(['job.created_by as personId', 'person.name as displayName'])
    .select((eb) =>
      eb
        .selectFrom('lesson')
        .whereRef('lesson.mandator_id', '=', 'job.mandator_id')
        .whereRef('lesson.job', '=', 'job.id')
        .where(sql<boolean>`true ${inReach(viewer, 'lesson.resource_id')}`)
        .select(({ fn }) => fn.countAll<number>().as('count'))
        .$asScalar()
        .$notNull()
        .as('lessonCount'),
    )
    .where('job.mandator_id', '=', mandatorId)
    .$if(ids !== undefined, (query) => query.where('job.id', '=', sql<number>`any (${ids}::bigint[])`))
    .where(seesJob(viewer))
    .$if(jobID !== undefined, (query) => query.where('job.job_id', '=', jobID as string))
    .$if(batchOf !== undefined, (query) => query.where('job.batch_id', '=', batchOf as IdOfParent<string>))
    .$call(pageById('job.id', page, 'desc'));
}

/** @throws Forbidden for a display */
export const findJob = async (db: Database, viewer: Viewer, jobID: string): Promise<LessonJob | undefined> =>
  (await listJobs(db, viewer, { jobID }, { limit: 1, after: undefined })).items[0];
