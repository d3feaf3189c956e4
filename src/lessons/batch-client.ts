/** Batches through the REST API (contract 4), as the command line sends and follows them. */
import { randomUUID } from 'node:crypto';
import type { z } from 'zod';
import { isTerminal } from './batch.ts';
import type { acceptedBatch, batchRecord, lessonError } from './wire.ts';

/** A record as JSON has it: instants are texts. */
type Json<Fields> = {
  [Name in keyof Fields]: Date extends Fields[Name] ? string | Exclude<Fields[Name], Date> : Fields[Name];
};

export type BatchRecord = Json<z.output<typeof batchRecord>>;
export type ErrorRecord = z.output<typeof lessonError>;
type AcceptedRecord = z.output<typeof acceptedBatch>;
export type TimetableAnswer = AcceptedRecord & {
  Files: { Name: string; Format: string; Encoding: string; Separator: string | null; Lines: number }[];
  NoticeCount: number;
  Notices: { File: string; Line: number; Message: string }[];
};

/** Where jobs are sent, below `/v2.0/jobs/`. */
export type JobsPath = 'create' | 'update' | 'delete';

export type PostOptions = {
  idempotencyKey?: string;
  /** Query parameters by name, as contract 4.2 has them. */
  query?: Record<string, string>;
  onProgress?: (sent: number, total: number) => void;
};

export type BatchClient = {
  /** Sends a JSON array of jobs; repeats after a transient error cannot make a second batch. */
  postJobs(operation: JobsPath, body: Blob, options?: PostOptions): Promise<AcceptedRecord>;
  /** Sends the files of a timetable program; `write` makes the body of each attempt. */
  postTimetable(write: () => AsyncGenerator<Uint8Array>, options?: PostOptions): Promise<TimetableAnswer>;
  /** Stores how files are read in the profile of this name: a new one, or these members of an existing one. */
  saveProfile(name: string, reading: object): Promise<void>;
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
    request?: () => { method: string; body: AsyncIterable<Uint8Array> | string; headers: Record<string, string> },
    options?: { timeout: number; repeatOn: number },
  ): Promise<{ body: T; retryAfterMs: number | undefined }>;
  pages<T>(path: string, query?: Record<string, string>): AsyncGenerator<T>;
  wait(ms: number): Promise<void>;
};

const longPollSeconds = 25;
const uploadTimeoutMs = 600_000;

export const hasEnded = ({ ImportStatus }: Pick<BatchRecord, 'ImportStatus'>): boolean => isTerminal(ImportStatus);

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
    const options = { timeout: uploadTimeoutMs, repeatOn: 409 };
    const asked = new URLSearchParams(query).toString();
    const path = `/v2.0/jobs/${operation}${asked && `?${asked}`}`;
    return (await api.call<AcceptedRecord>(path, request, options)).body;
  },

  async postTimetable(write, { idempotencyKey = randomUUID(), query = {} } = {}) {
    const request = () => ({
      method: 'POST',
      body: write(),
      headers: { 'Content-Type': 'application/json', 'Idempotency-Key': idempotencyKey },
    });
    const asked = new URLSearchParams(query).toString();
    const options = { timeout: uploadTimeoutMs, repeatOn: 409 };
    return (await api.call<TimetableAnswer>(`/v2.0/timetables${asked && `?${asked}`}`, request, options)).body;
  },

  async saveProfile(name, reading) {
    const path = '/v1.0/timetable-profiles';
    const write = (method: string, body: object, version?: number) => () => ({
      method,
      body: JSON.stringify(body),
      headers: { 'Content-Type': 'application/json', ...(version && { 'If-Match': `"${version}"` }) },
    });
    for await (const { Id, Version } of api.pages<{ Id: number; Version: number }>(path, { Name: name })) {
      await api.call(`${path}/${Id}`, write('PATCH', reading, Version));
      return;
    }
    await api.call(path, write('POST', { Name: name, ...reading }));
  },

  async getBatch(batchId) {
    return (await api.call<BatchRecord>(`/v2.0/jobs/batches/${batchId}`)).body;
  },

  async followBatch(batchId, onChange) {
    let seen = '';
    for (;;) {
      const wait = seen ? `?WaitSeconds=${longPollSeconds}` : '';
      const asked = performance.now();
      const { body: batch, retryAfterMs = 2_000 } = await api.call<BatchRecord>(`/v2.0/jobs/batches/${batchId}${wait}`);
      const state = JSON.stringify(batch);
      const changed = state !== seen;
      seen = state;
      if (changed) onChange?.(batch);
      if (hasEnded(batch)) return batch;
      // Answered early and unchanged: a proxy does not let the request wait.
      if (!changed && performance.now() - asked < (longPollSeconds - 5) * 1_000) await api.wait(retryAfterMs);
    }
  },

  listErrors: (batchId) => api.pages<ErrorRecord>(`/v2.0/jobs/batches/${batchId}/errors`),

  listBatches: ({ all }) => api.pages<BatchRecord>('/v2.0/jobs/batches', all ? { ImportStatus: 'All' } : {}),
});
