/** A batch: its states, its record and the queries that read it. */
import { type RawBuilder, sql } from 'kysely';
import { seesOwnBatches } from '../access.ts';
import type { Viewer } from '../context.ts';
import type { Database } from '../db/database.ts';
import { pageById } from '../db/page-query.ts';
import { type List, longIdKey, type PageRequest } from '../db/paging.ts';

export const importStatuses = [
  'AwaitingLessonCreation',
  'AwaitingLessonProcessing',
  'LessonsCreated',
  'LessonsImportFailed',
] as const;
export type ImportStatus = (typeof importStatuses)[number];
export const operations = ['Create', 'Update', 'Delete'] as const;
export type JobOperation = (typeof operations)[number];
/** How lessons whose room is occupied are handled (contract 4.2). */
export const conflictRules = ['Fail', 'Skip', 'Displace'] as const;
export type ConflictRule = (typeof conflictRules)[number];
export const failureKinds = ['Data', 'Technical', 'Cancelled'] as const;
export type FailureKind = (typeof failureKinds)[number];

export type Batch = {
  id: string;
  operation: JobOperation;
  importStatus: ImportStatus;
  jobCount: number;
  /** Known from AwaitingLessonProcessing on. */
  lessonCount: number | null;
  processedCount: number;
  createdCount: number;
  /** Null until the batch has written, and for batches of releases that did not count; so are the next two. */
  changedCount: number | null;
  movedCount: number | null;
  removedCount: number | null;
  errorCount: number;
  warningCount: number;
  failureKind: FailureKind | null;
  validateOnly: boolean;
  onConflict: ConflictRule;
  /** What the files of a timetable replace; null: it came as jobs. */
  quelle: string | null;
  errorMessages: string | null;
  omitted: readonly Omission[];
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
  jobID: string | null;
  lektionIndex: number | null;
  lektionId: string | null;
  field: string | null;
  code: string;
  message: string;
  pointer: string | null;
  /** The line of the timetable file that `pointer` refers to. */
  line: number | null;
};

/** How many errors or warnings of one code are not kept. */
export type Omission = { severity: LessonError['severity']; code: string; count: number };

export const batchList: List<Batch> = { name: 'batches', key: longIdKey, keyOf: ({ arrival }) => arrival };
export const errorList: List<LessonError> = { name: 'errors', key: longIdKey, keyOf: ({ number }) => number };

export type BatchFilter = {
  /** Absent: the two running states; 'All': every state. */
  importStatus?: ImportStatus[] | 'All' | undefined;
  operation?: JobOperation | undefined;
  jobID?: string | undefined;
  createdAfter?: Date | undefined;
  createdBefore?: Date | undefined;
  /** Only batches that the viewer has sent. */
  mine?: boolean | undefined;
};

export const openStatuses: ImportStatus[] = ['AwaitingLessonCreation', 'AwaitingLessonProcessing'];

export const isTerminal = (status: ImportStatus) => !openStatuses.includes(status);

export type BatchKey = { mandatorId: number; id: string };

/** A batch that a worker has started. */
export type Running = BatchKey & {
  operation: JobOperation;
  validateOnly: boolean;
  onConflict: ConflictRule;
  /** Whether a new lesson takes over a booking of the sender with the same room, start and end. */
  takeOver: boolean;
  /** Whether an update creates jobs that do not exist yet. */
  createMissing: boolean;
  /** The batch deletes the jobs of this Quelle that it does not list; null: none. */
  replacesQuelle: string | null;
  /** Lessons that begin before this instant stay. */
  replacesSince: Date | null;
  allowRemoval: boolean;
  createdBy: number;
  attempts: number;
  /** Counts the starts: writes outside of the batch's session have no effect once a later start has begun. */
  fence: number;
  jobCount: number;
  requestId: string;
  /** The W3C trace context of the request that sent the batch. */
  traceParent: string | null;
  cancelRequested: boolean;
  /** The id of the PostgreSQL backend that works on it. */
  pid: number;
};

export function selectBatches(db: Database) {
  return db
    .selectFrom('batch')
    .innerJoin('person', (join) =>
      join.onRef('person.mandator_id', '=', 'batch.mandator_id').onRef('person.id', '=', 'batch.created_by'),
    )
    .select(['batch.id', 'operation', 'import_status as importStatus', 'job_count as jobCount', 'arrival'])
    .select(['lesson_count as lessonCount', 'processed_count as processedCount', 'created_count as createdCount'])
    .select(['changed_count as changedCount', 'moved_count as movedCount', 'removed_count as removedCount'])
    .select('replaces_quelle as quelle')
    .select(['error_count as errorCount', 'warning_count as warningCount', 'failure_kind as failureKind'])
    .select([
      'validate_only as validateOnly',
      'on_conflict as onConflict',
      'error_messages as errorMessages',
      'omitted',
    ])
    .select(['batch.created_at as createdAt', 'started_at as startedAt', 'finished_at as finishedAt'])
    .select(['created_by as personId', 'person.name as displayName'])
    .select((eb) =>
      eb
        .case()
        .when('batch.import_status', 'in', openStatuses)
        .then(
          eb
            .selectFrom('batch as other')
            .whereRef('other.mandator_id', '=', 'batch.mandator_id')
            .where('other.import_status', 'in', openStatuses)
            .whereRef('other.arrival', '<=', 'batch.arrival')
            .select(({ fn }) => fn.countAll<number>().as('count')),
        )
        .end()
        .as('queuePosition'),
    )
    .$castTo<Omit<Batch, 'createdBy'> & Batch['createdBy']>();
}

export function selectBatchPage(db: Database, viewer: Viewer, filter: BatchFilter, page: PageRequest) {
  const { importStatus = openStatuses, operation, createdAfter, createdBefore, mine, jobID } = filter;
  return selectBatches(db)
    .where('batch.mandator_id', '=', viewer.mandatorId)
    .$if(importStatus !== 'All', (query) => query.where('batch.import_status', 'in', importStatus as ImportStatus[]))
    .$if(operation !== undefined, (query) => query.where('batch.operation', '=', operation as string))
    .$if(createdAfter !== undefined, (query) => query.where('batch.created_at', '>', createdAfter as Date))
    .$if(createdBefore !== undefined, (query) => query.where('batch.created_at', '<', createdBefore as Date))
    .$if(mine === true || seesOwnBatches(viewer), (query) => query.where('batch.created_by', '=', viewer.personId))
    .$if(jobID !== undefined, (query) =>
      query.where('batch.id', 'in', ({ selectFrom }) =>
        selectFrom('batch_job')
          .select('batch_id')
          .where('mandator_id', '=', viewer.mandatorId)
          .where('job_id', '=', jobID as string),
      ),
    )
    .$call(pageById('batch.arrival', page, 'desc'));
}

export const toBatch = ({ personId, displayName, ...batch }: Omit<Batch, 'createdBy'> & Batch['createdBy']): Batch => ({
  ...batch,
  createdBy: { personId, displayName },
});

/** Metrics of the open batches of all tenants. */
const figure = (help: string, value: RawBuilder<number>) => ({
  help,
  async read(db: Database) {
    const open = db.selectFrom('batch').where('import_status', 'in', openStatuses);
    return (await open.select(value.as('value')).executeTakeFirstOrThrow()).value;
  },
});

export const batchFigures = {
  roomgate_batches_open: figure('Batches that wait or run', sql`count(*)`),
  roomgate_batches_held_back: figure(
    'Batches whose last start came to nothing, and that wait for the next',
    sql`count(*) filter (where not_before > now() and troubled_since is not null)`,
  ),
  roomgate_oldest_open_batch_seconds: figure(
    'Age of the oldest batch that has not ended',
    sql`coalesce(extract(epoch from now() - min(created_at)), 0)::float8`,
  ),
};
