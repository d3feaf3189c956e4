/**
 * Lesson jobs (API 2.0). A **job** is a named group of lessons; a **batch** is one import request of many jobs and is
 * atomic: it ends once, in LessonsCreated with everything or in LessonsImportFailed with nothing.
 *
 * Invariants: `move` is the only writer of ImportStatus, and the database refuses what is not a transition of contract
 * 4.3. A tenant's batches run one at a time in order of arrival. The batch row is the truth; the queue's job is a nudge.
 */
import type { Context, Viewer } from '../context.ts';
import type { Database } from '../db/database.ts';
import type { Page, PageRequest } from '../db/paging.ts';

export const importStatuses = [
  'AwaitingLessonCreation',
  'AwaitingLessonProcessing',
  'LessonsCreated',
  'LessonsImportFailed',
] as const;
export type ImportStatus = (typeof importStatuses)[number];
export const operations = ['Create', 'Update', 'Delete'] as const;
export type Operation = (typeof operations)[number];
export const failureKinds = ['Data', 'Technical', 'Cancelled'] as const;
export type FailureKind = (typeof failureKinds)[number];

export type Batch = {
  id: string;
  operation: Operation;
  importStatus: ImportStatus;
  jobCount: number;
  /** Known from AwaitingLessonProcessing on. */
  lessonCount: number | null;
  processedCount: number;
  createdCount: number;
  errorCount: number;
  warningCount: number;
  failureKind: FailureKind | null;
  validateOnly: boolean;
  errorMessages: string | null;
  createdAt: Date;
  startedAt: Date | null;
  finishedAt: Date | null;
  createdBy: { personId: number; displayName: string };
  /** 1 for the batch that runs or is next; null once it has ended. */
  queuePosition: number | null;
  arrival: number;
};

/** One error or warning; `index` and `lektionIndex` count from 0, `pointer` is a JSON pointer into the sent body. */
export type LessonError = {
  number: number;
  severity: 'Error' | 'Warning';
  index: number | null;
  jobId: string | null;
  lektionIndex: number | null;
  lektionId: string | null;
  field: string | null;
  code: string;
  message: string;
  pointer: string | null;
};

export type BatchFilter = {
  /** Absent: the two running states; 'All': every state. */
  importStatus?: ImportStatus[] | 'All' | undefined;
  operation?: Operation | undefined;
  jobId?: string | undefined;
  createdAfter?: Date | undefined;
  createdBefore?: Date | undefined;
  /** Only those of the viewer. */
  mine?: boolean | undefined;
};

export type Submission = {
  operation: Operation;
  /** The bytes of a JSON array of jobs. */
  body: AsyncIterable<Uint8Array>;
  idempotencyKey?: string | undefined;
  requestId: string;
};

export type Accepted = { batchId: string; importStatus: 'AwaitingLessonCreation' };

export declare function createBatch(
  context: Context,
  viewer: Viewer,
  submission: Submission,
): Promise<Accepted>;
export declare function getBatch(db: Database, viewer: Viewer, batchId: string): Promise<Batch>;
export declare function listBatches(
  db: Database,
  viewer: Viewer,
  filter: BatchFilter,
  page: PageRequest,
): Promise<Page<Batch>>;
export declare function listErrors(
  db: Database,
  viewer: Viewer,
  batchId: string,
  page: PageRequest,
): Promise<Page<LessonError>>;
export declare function cancelBatch(db: Database, viewer: Viewer, batchId: string): Promise<Batch>;
