/** Jobs and lessons as edges of their parents, read for all parents of a query together. */
import { checkBatchUser, seesOwnBatches } from '../access.ts';
import type { Viewer } from '../context.ts';
import type { Database } from '../db/database.ts';
import { type Page, type PageRequest, toPage, wholeList } from '../db/paging.ts';
import { answerPerParent, readPerParent } from '../db/per-parent.ts';
import { findResource, type Resource } from '../tenants/service.ts';
import { type Batch, selectBatches, toBatch } from './batch.ts';
import { type JobRow, jobList, type LessonJob, selectJobs, toJobs } from './jobs.ts';
import { type Lesson, type LessonKey, type LessonRow, lessonList, selectLessons, toLessons } from './timetable.ts';

const lessonsOf = {
  job: readPerParent<Viewer, null, LessonKey, LessonRow>((_db, parent, { viewer, page }) =>
    selectLessons(viewer, { jobOf: parent }, page),
  ),
  booking: readPerParent<Viewer, null, LessonKey, LessonRow>((_db, parent, { viewer, page }) =>
    selectLessons(viewer, { bookingOf: parent }, page),
  ),
};
const ofBatch = {
  lessons: readPerParent<Viewer, null, LessonKey, LessonRow, string>(
    (_db, parent, { viewer, page }) => selectLessons(viewer, { batchOf: parent }, page),
    'uuid',
  ),
  jobs: readPerParent<Viewer, null, number, JobRow, string>(
    (db, parent, { viewer, page }) => selectJobs(db, viewer, { batchOf: parent }, page),
    'uuid',
  ),
};

type Parent = { of: keyof typeof lessonsOf; id: number } | { of: 'batch'; id: string };

/** The lessons of a job, of a booking, or of the jobs that a batch created. @throws Forbidden for a display */
export async function listLessonsOf(
  db: Database,
  viewer: Viewer,
  parent: Parent,
  page: PageRequest<LessonKey>,
): Promise<Page<Lesson>> {
  checkBatchUser(viewer);
  const asked = { filter: null, page };
  const rows =
    parent.of === 'batch'
      ? await ofBatch.lessons(db, { viewer, parent: parent.id, asked })
      : await lessonsOf[parent.of](db, { viewer, parent: parent.id, asked });
  return toPage(lessonList, toLessons(viewer, rows), page);
}

/** The jobs that a batch created and that still exist, newest first. @throws Forbidden for a display */
export async function listJobsOf(
  db: Database,
  viewer: Viewer,
  batchId: string,
  page: PageRequest,
): Promise<Page<LessonJob>> {
  checkBatchUser(viewer);
  return toPage(
    jobList,
    toJobs(await ofBatch.jobs(db, { viewer, parent: batchId, asked: { filter: null, page } })),
    page,
  );
}

const jobsById = answerPerParent<Viewer, null, number, LessonJob>(async (db, ids, { viewer }) => {
  const rows = await selectJobs(db, viewer, { ids }, wholeList).execute();
  return new Map(toJobs(rows).map((job) => [job.id, job]));
});

/** The job of a lesson; undefined if it no longer exists. @throws Forbidden for a display */
export async function findJobOf(db: Database, viewer: Viewer, { key }: Lesson): Promise<LessonJob | undefined> {
  checkBatchUser(viewer);
  return await jobsById(db, { viewer, parent: key[1], asked: null });
}

/** The resource of a lesson; undefined for one that is hidden from the caller. @throws Forbidden for a display */
export const findRoomOf = (db: Database, viewer: Viewer, { ressourceId }: Lesson): Promise<Resource | undefined> =>
  findResource(db, viewer, ressourceId);

const batchesById = answerPerParent<Viewer, null, string, Batch>(async (db, ids, { viewer }) => {
  const rows = await selectBatches(db)
    .where('batch.mandator_id', '=', viewer.mandatorId)
    .where('batch.id', 'in', ids)
    .$if(seesOwnBatches(viewer), (query) => query.where('batch.created_by', '=', viewer.personId))
    .execute();
  return new Map(rows.map(toBatch).map((batch) => [batch.id, batch]));
});

/** The batch that created a job; undefined when it is forgotten, or hidden from the caller. @throws Forbidden for a display */
export async function findBatchOf(db: Database, viewer: Viewer, { batchId }: LessonJob): Promise<Batch | undefined> {
  checkBatchUser(viewer);
  return await batchesById(db, { viewer, parent: batchId, asked: null });
}
