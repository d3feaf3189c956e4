/** Batches through the REST API (contract 4), as the command line sends and follows them. */
import { randomUUID } from 'node:crypto';

export type ImportStatus =
  | 'AwaitingLessonCreation'
  | 'AwaitingLessonProcessing'
  | 'LessonsCreated'
  | 'LessonsImportFailed';

/** The batch record of contract 4.4, as far as it is used here. */
export type BatchRecord = {
  BatchId: string;
  Operation: string;
  ImportStatus: ImportStatus;
  JobCount: number;
  LessonCount?: number | null;
  ProcessedCount: number;
  CreatedCount: number;
  ErrorCount: number;
  WarningCount: number;
  FailureKind: string | null;
  ValidateOnly: boolean;
  CreatedAt: string;
  FinishedAt: string | null;
  QueuePosition?: number | null;
  /** Counted, but not kept; absent where the server is of an earlier release. */
  OmittedErrors?: { Severity: ErrorRecord['Severity']; Code: string; Count: number }[];
};

export type ErrorRecord = {
  Severity: 'Error' | 'Warning';
  Index: number | null;
  JobID: string | null;
  LektionIndex: number | null;
  LektionId: string | null;
  Field: string | null;
  Code: string;
  Message: string;
  Pointer: string | null;
};

/** Where jobs are sent, below `/jobs/`. */
export type JobsPath = 'create' | 'update' | 'delete';

export type PostOptions = {
  idempotencyKey?: string;
  /** Query parameters by name, as contract 4.2 has them. */
  query?: Record<string, string>;
  onProgress?: (sent: number, total: number) => void;
};

export type BatchClient = {
  /** Sends a JSON array of jobs; repeats after a transient error cannot make a second batch. */
  postJobs(
    operation: JobsPath,
    body: Blob,
    options?: PostOptions,
  ): Promise<{ BatchId: string; ImportStatus: ImportStatus }>;
  getBatch(batchId: string): Promise<BatchRecord>;
  /** Reports the present state, then each change, and is fulfilled with the ended batch. Survives a restart of the server. */
  followBatch(batchId: string, onChange?: (batch: BatchRecord) => void): Promise<BatchRecord>;
  listErrors(batchId: string): AsyncGenerator<ErrorRecord>;
  /** Newest first: the running ones, or all. */
  listBatches(options: { all: boolean }): AsyncGenerator<BatchRecord>;
};

/** A tenant's REST API: see cli/client. */
type Api = {
  call<T>(
    path: string,
    request?: () => { method: string; body: AsyncIterable<Uint8Array>; headers: Record<string, string> },
    options?: { timeout: number; repeatOn: number },
  ): Promise<{ body: T; retryAfterMs: number | undefined }>;
  pages<T>(path: string, query?: Record<string, string>): AsyncGenerator<T>;
  wait(ms: number): Promise<void>;
};

const longPollSeconds = 25;
const uploadTimeout = 600_000;

export const hasEnded = ({ ImportStatus }: Pick<BatchRecord, 'ImportStatus'>): boolean =>
  ImportStatus === 'LessonsCreated' || ImportStatus === 'LessonsImportFailed';

export const openBatchClient = (api: Api): BatchClient => ({
  async postJobs(operation, body, { idempotencyKey = randomUUID(), query = {}, onProgress } = {}) {
    async function* upload() {
      let sent = 0;
      for await (const chunk of body.stream()) {
        onProgress?.((sent += chunk.byteLength), body.size);
        yield chunk;
      }
    }
    const request = () => ({
      method: 'POST',
      body: upload(),
      headers: { 'Content-Type': 'application/json', 'Idempotency-Key': idempotencyKey },
    });
    // 409: an earlier attempt of ours is still being stored under this key.
    const options = { timeout: uploadTimeout, repeatOn: 409 };
    const asked = new URLSearchParams(query).toString();
    const path = `/jobs/${operation}${asked && `?${asked}`}`;
    return (await api.call<{ BatchId: string; ImportStatus: ImportStatus }>(path, request, options)).body;
  },

  async getBatch(batchId) {
    return (await api.call<BatchRecord>(`/jobs/batches/${batchId}`)).body;
  },

  async followBatch(batchId, onChange) {
    let seen = '';
    for (;;) {
      const wait = seen ? `?WaitSeconds=${longPollSeconds}` : '';
      const asked = performance.now();
      const { body: batch, retryAfterMs = 2_000 } = await api.call<BatchRecord>(`/jobs/batches/${batchId}${wait}`);
      const state = JSON.stringify(batch);
      const changed = state !== seen;
      seen = state;
      if (changed) onChange?.(batch);
      if (hasEnded(batch)) return batch;
      // Answered early and with nothing new: something on the way does not hold the poll.
      if (!changed && performance.now() - asked < (longPollSeconds - 5) * 1_000) await api.wait(retryAfterMs);
    }
  },

  listErrors: (batchId) => api.pages<ErrorRecord>(`/jobs/batches/${batchId}/errors`),

  listBatches: ({ all }) => api.pages<BatchRecord>('/jobs/batches', all ? { ImportStatus: 'All' } : {}),
});
