/**
 * Lesson jobs (API 2.0). A **job** is a named group of lessons; a **batch** is one import request of many jobs and is
 * atomic: it ends once, in LessonsCreated with everything or in LessonsImportFailed with nothing.
 *
 * Invariants: `move` is the only writer of ImportStatus, and the database refuses what is not a transition of contract
 * 4.3. A tenant's batches run one at a time in order of arrival. The batch row is the truth; the queue's job is a nudge.
 */

export { createBatch } from './acceptance.ts';
export type { LessonError } from './batch.ts';
export {
  type Batch,
  batchFigures,
  batchList,
  type ConflictRule,
  errorList,
  type JobOperation,
} from './batch.ts';
export {
  type BatchClient,
  type BatchRecord,
  type ErrorRecord,
  hasEnded,
  type JobsPath,
  openBatchClient,
  type TimetableAnswer,
} from './batch-client.ts';
export { cancelBatch, findBatch, firstErrors, getBatch, listBatches, listErrors } from './batches.ts';
export { examineBatches } from './diagnosis.ts';
export { readDifference } from './difference.ts';
export { findJob, jobList, type LessonJob, listJobs } from './jobs.ts';
export { batchTasks } from './lifecycle.ts';
export { hasOpen } from './next.ts';
export { forgetOldLessons } from './retention.ts';
export { forgetOldBatches, recoverBatches, runNextBatch } from './runs.ts';
export { jobsTooLarge } from './split-jobs.ts';
export { examineSpool, openSpool, type Spool } from './spool.ts';
export { findLessonsNaming, holdImports, removeTeachers } from './teachers.ts';
export {
  findLesson,
  findLessonById,
  getBookingOf,
  type Lesson,
  lessonList,
  listLessons,
} from './timetable.ts';
export { findBatchOf, findJobOf, findRoomOf, listJobsOf, listLessonsOf } from './timetable-edges.ts';
export { describeReading, type TimetableOptions, writeTimetable } from './timetable-request.ts';
export { batchTopic, secondsToWait, waitForBatch, watchBatch, watchBatches } from './watch.ts';
export { acceptedBatch, conflictRule, toBatchEntry } from './wire.ts';
