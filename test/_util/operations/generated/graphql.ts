/* eslint-disable */
/** Internal type. DO NOT USE DIRECTLY. */
type Exact<T extends { [key: string]: unknown }> = { [K in keyof T]: T[K] };
/** Internal type. DO NOT USE DIRECTLY. */
export type Incremental<T> = T | { [P in keyof T]?: P extends ' $fragmentName' | '__typename' ? T[P] : never };
import type { DocumentTypeDecoration } from '@graphql-typed-document-node/core';
/** Which batches; members that are left out do not count. */
export type BatchFilter = {
  /** Accepted after this instant. */
  createdAfter?: string | null | undefined;
  /** Accepted before this instant. */
  createdBefore?: string | null | undefined;
  /** In one of these states; the two running ones when left out. */
  importStatus?: Array<ImportStatus> | null | undefined;
  /** That name this JobID. */
  jobID?: string | null | undefined;
  /** Only those of the person who asks. */
  mine?: boolean | null | undefined;
  /** Of this operation. */
  operation?: JobOperation | null | undefined;
};

/** How a batch is taken. */
export type BatchOptions = {
  /** The same key and jobs within 24 hours give the same batch again. */
  idempotencyKey?: string | null | undefined;
};

/** Why a batch failed: its data, something technical, or it was cancelled. */
export type FailureKind =
  | 'Cancelled'
  | 'Data'
  | 'Technical';

/** The state of a batch; the last two are final. */
export type ImportStatus =
  | 'AwaitingLessonCreation'
  | 'AwaitingLessonProcessing'
  | 'LessonsCreated'
  | 'LessonsImportFailed';

/** What a batch does with its jobs. */
export type JobOperation =
  | 'Create'
  | 'Delete'
  | 'Update';

/** A lesson; its fields are those of REST (contract 4.1). */
export type LessonInput = {
  /** Required; ISO 8601, UTC. */
  beginn?: string | null | undefined;
  /** Remark. */
  bemerkung?: string | null | undefined;
  /** Required; ISO 8601, UTC, after beginn. */
  ende?: string | null | undefined;
  /** Subject. */
  fach?: string | null | undefined;
  /** Classes. */
  klassen?: Array<string> | null | undefined;
  /** Lessons that share it, their room and their time share one booking. */
  kopplungId?: string | null | undefined;
  /** Teachers. */
  lehrpersonen?: Array<string> | null | undefined;
  /** Required; unique inside its job. */
  lektionId?: string | null | undefined;
  /** Whether its content is hidden from others. */
  privat?: boolean | null | undefined;
  /** The id of the room; must agree with its name. */
  ressourceId?: number | null | undefined;
  /** Required; the name of the room. */
  ressourceName?: string | null | undefined;
  /** Geplant (default), Vertretung or Entfaellt. */
  status?: string | null | undefined;
  /** Title. */
  titel?: string | null | undefined;
};

/** A named group of lessons; its fields are those of REST (contract 4.1). */
export type LessonJobInput = {
  /** Remark. */
  bemerkung?: string | null | undefined;
  /** Designation. */
  bezeichnung?: string | null | undefined;
  /** Required; never used before in this tenant. */
  jobID?: string | null | undefined;
  /** Required; at least one lesson. */
  lektionList?: Array<LessonInput> | null | undefined;
  /** Where the job comes from. */
  quelle?: string | null | undefined;
  /** The location of its rooms, where two share a name. */
  standort?: string | null | undefined;
};

/** What a person may do (contract 3). */
export type Role =
  | 'Admin'
  | 'Display'
  | 'User';

/** An error fails the batch, a warning does not. */
export type Severity =
  | 'Error'
  | 'Warning';

export type BatchStateFragment = { id: string, importStatus: ImportStatus, jobCount: number, lessonCount: number | null, processedCount: number, progress: number | null, queuePosition: number | null, failureKind: FailureKind | null, errorMessages: string | null };

export type NowQueryVariables = Exact<{ [key: string]: never; }>;


export type NowQuery = { serverTime: string, me: { id: string, name: string, email: string, timeZone: string, role: Role } };

export type GetBatchQueryVariables = Exact<{
  id: string | number;
  first?: number | null | undefined;
  after?: string | null | undefined;
}>;


export type GetBatchQuery = { batch: { operation: JobOperation, createdCount: number, errorCount: number, warningCount: number, validateOnly: boolean, createdAt: string, startedAt: string | null, finishedAt: string | null, id: string, importStatus: ImportStatus, jobCount: number, lessonCount: number | null, processedCount: number, progress: number | null, queuePosition: number | null, failureKind: FailureKind | null, errorMessages: string | null, createdBy: { personId: string, displayName: string }, errors: { nodes: Array<{ severity: Severity, index: number | null, jobID: string | null, lektionIndex: number | null, lektionId: string | null, field: string | null, code: string, message: string, pointer: string | null }>, pageInfo: { hasNextPage: boolean, endCursor: string | null } } } | null };

export type ListBatchesQueryVariables = Exact<{
  filter?: BatchFilter | null | undefined;
  first?: number | null | undefined;
  after?: string | null | undefined;
}>;


export type ListBatchesQuery = { batches: { nodes: Array<{ id: string, importStatus: ImportStatus }>, edges: Array<{ cursor: string, node: { id: string } }>, pageInfo: { hasNextPage: boolean, endCursor: string | null } } };

export type CreateLessonJobsMutationVariables = Exact<{
  jobs: Array<LessonJobInput> | LessonJobInput;
  options?: BatchOptions | null | undefined;
}>;


export type CreateLessonJobsMutation = { createLessonJobs:
    | { __typename: 'BatchAccepted', batch: { id: string, importStatus: ImportStatus, jobCount: number } }
    | { __typename: 'LimitProblem', code: string, message: string, retryAfterSeconds: number | null }
    | { __typename: 'ValidationProblem', code: string, message: string, errors: Array<{ field: string | null, pointer: string | null, code: string, message: string }> }
   };

export type CancelBatchMutationVariables = Exact<{
  id: string | number;
}>;


export type CancelBatchMutation = { cancelBatch:
    | { __typename: 'BatchCancelled', batch: { id: string, importStatus: ImportStatus, failureKind: FailureKind | null } }
    | { __typename: 'ConflictProblem', code: string, message: string }
    | { __typename: 'NotFoundProblem', code: string, message: string }
   };

export type BatchStatusSubscriptionVariables = Exact<{
  batchId: string | number;
}>;


export type BatchStatusSubscription = { batchStatus: { id: string, importStatus: ImportStatus, jobCount: number, lessonCount: number | null, processedCount: number, progress: number | null, queuePosition: number | null, failureKind: FailureKind | null, errorMessages: string | null } };

export type WatchBatchesSubscriptionVariables = Exact<{
  states?: Array<ImportStatus> | ImportStatus | null | undefined;
}>;


export type WatchBatchesSubscription = { batches: { id: string, importStatus: ImportStatus, queuePosition: number | null } };

export class TypedDocumentString<TResult, TVariables>
  extends String
  implements DocumentTypeDecoration<TResult, TVariables>
{
  __apiType?: NonNullable<DocumentTypeDecoration<TResult, TVariables>['__apiType']>;
  private value: string;
  public __meta__?: Record<string, any> | undefined;

  constructor(value: string, __meta__?: Record<string, any> | undefined) {
    super(value);
    this.value = value;
    this.__meta__ = __meta__;
  }

  override toString(): string & DocumentTypeDecoration<TResult, TVariables> {
    return this.value;
  }
}
export const BatchStateFragmentDoc = new TypedDocumentString(`
    fragment BatchState on Batch {
  id
  importStatus
  jobCount
  lessonCount
  processedCount
  progress
  queuePosition
  failureKind
  errorMessages
}
    `, {"fragmentName":"BatchState"}) as unknown as TypedDocumentString<BatchStateFragment, unknown>;
export const NowDocument = new TypedDocumentString(`
    query Now {
  serverTime
  me {
    id
    name
    email
    timeZone
    role
  }
}
    `) as unknown as TypedDocumentString<NowQuery, NowQueryVariables>;
export const GetBatchDocument = new TypedDocumentString(`
    query GetBatch($id: ID!, $first: Int, $after: String) {
  batch(id: $id) {
    ...BatchState
    operation
    createdCount
    errorCount
    warningCount
    validateOnly
    createdAt
    startedAt
    finishedAt
    createdBy {
      personId
      displayName
    }
    errors(first: $first, after: $after) {
      nodes {
        severity
        index
        jobID
        lektionIndex
        lektionId
        field
        code
        message
        pointer
      }
      pageInfo {
        hasNextPage
        endCursor
      }
    }
  }
}
    fragment BatchState on Batch {
  id
  importStatus
  jobCount
  lessonCount
  processedCount
  progress
  queuePosition
  failureKind
  errorMessages
}`) as unknown as TypedDocumentString<GetBatchQuery, GetBatchQueryVariables>;
export const ListBatchesDocument = new TypedDocumentString(`
    query ListBatches($filter: BatchFilter, $first: Int, $after: String) {
  batches(filter: $filter, first: $first, after: $after) {
    nodes {
      id
      importStatus
    }
    edges {
      cursor
      node {
        id
      }
    }
    pageInfo {
      hasNextPage
      endCursor
    }
  }
}
    `) as unknown as TypedDocumentString<ListBatchesQuery, ListBatchesQueryVariables>;
export const CreateLessonJobsDocument = new TypedDocumentString(`
    mutation CreateLessonJobs($jobs: [LessonJobInput!]!, $options: BatchOptions) {
  createLessonJobs(jobs: $jobs, options: $options) {
    __typename
    ... on BatchAccepted {
      batch {
        id
        importStatus
        jobCount
      }
    }
    ... on Problem {
      code
      message
    }
    ... on ValidationProblem {
      errors {
        field
        pointer
        code
        message
      }
    }
    ... on LimitProblem {
      retryAfterSeconds
    }
  }
}
    `) as unknown as TypedDocumentString<CreateLessonJobsMutation, CreateLessonJobsMutationVariables>;
export const CancelBatchDocument = new TypedDocumentString(`
    mutation CancelBatch($id: ID!) {
  cancelBatch(id: $id) {
    __typename
    ... on BatchCancelled {
      batch {
        id
        importStatus
        failureKind
      }
    }
    ... on Problem {
      code
      message
    }
  }
}
    `) as unknown as TypedDocumentString<CancelBatchMutation, CancelBatchMutationVariables>;
export const BatchStatusDocument = new TypedDocumentString(`
    subscription BatchStatus($batchId: ID!) {
  batchStatus(batchId: $batchId) {
    ...BatchState
  }
}
    fragment BatchState on Batch {
  id
  importStatus
  jobCount
  lessonCount
  processedCount
  progress
  queuePosition
  failureKind
  errorMessages
}`) as unknown as TypedDocumentString<BatchStatusSubscription, BatchStatusSubscriptionVariables>;
export const WatchBatchesDocument = new TypedDocumentString(`
    subscription WatchBatches($states: [ImportStatus!]) {
  batches(states: $states) {
    id
    importStatus
    queuePosition
  }
}
    `) as unknown as TypedDocumentString<WatchBatchesSubscription, WatchBatchesSubscriptionVariables>;