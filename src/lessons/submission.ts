/** Receives a request body: a small one in memory, a large one in a file. Once complete, it goes into the database. */
import { createHash } from 'node:crypto';
import { sql } from 'kysely';
import type { Transaction } from '../db/database.ts';
import { type BodySender, readBeginning } from '../http/body-memory.ts';
import type { Log } from '../log.ts';
import { lessonLimits } from '../names.ts';
import type { BatchKey } from './batch.ts';
import { listOrEmpty, member, textOf } from './fields.ts';
import { checkEncoding, explainRefusal, type JobSpan, openSplitter } from './split-jobs.ts';
import { openSpool, type Spool } from './spool.ts';

/** `weight` estimates the work: the number of jobs and lessons, or the KiB of the body, whichever is greater. */
export type BodySize = { jobCount: number; weight: number };

export type OpenBody = {
  /** Whether the whole body has arrived; if not, `receive` waits for the rest. */
  complete: boolean;
  /** Waits for the end of the body, holding only a file. @throws as `openBody` */
  receive(): Promise<void>;
  /** @param store false: only counts @throws Malformed for JSON that PostgreSQL refuses */
  store(trx: Transaction, batch: BatchKey, options: { store: boolean }): Promise<BodySize>;
  /** A hash of `purpose` and all bytes of a complete body. */
  fingerprint(): Buffer;
  /** Discards the unread rest. */
  close(): Promise<void>;
};

type IntakeLimits = {
  mostBytes: number;
  /** Further jobs are counted and not stored: the batch fails anyway. */
  mostJobs: number;
  sender: BodySender;
  /** As in `openMemory`. */
  largest: number;
  log: Log;
};

/**
 * Reads the beginning of a body.
 * @throws Malformed, TooLarge as `openSplitter`; LimitExceeded, Unavailable as `openMemory`; what `bytes` throws
 */
export async function openBody(
  bytes: AsyncIterable<Uint8Array>,
  purpose: string,
  { mostBytes, mostJobs, sender, largest, log }: IntakeLimits,
): Promise<OpenBody> {
  const hash = createHash('sha256').update(`${purpose}\n`);
  const splitter = openSplitter(mostBytes);
  const kept: JobSpan[] = [];
  let [jobCount, size] = [0, 0];
  let spool: Spool | undefined;

  function keep(spans: JobSpan[]): void {
    for (const span of spans) {
      jobCount += span.count;
      size += span.length;
      if (span.first <= mostJobs) kept.push(span);
    }
  }
  async function* checked() {
    for await (const chunk of bytes) {
      hash.update(chunk);
      keep(splitter.take(chunk));
      yield chunk;
    }
    keep(splitter.end());
  }
  const chunks = checked();
  const { memory: beginning, isWhole: complete } = await readBeginning(chunks, sender, largest);

  /** As a JSON array. */
  async function read(span: JobSpan): Promise<Buffer> {
    const json = Buffer.allocUnsafe(span.length + 2);
    const jobs = json.subarray(1, -1);
    if (spool) await spool.read(jobs, span.at);
    else beginning.bytes().copy(jobs, 0, span.at, span.at + span.length);
    json.write('[');
    json.write(']', json.length - 1);
    checkEncoding(json, span);
    return json;
  }

  return {
    complete,
    async receive() {
      spool = await openSpool(log);
      await spool.append(beginning.bytes());
      beginning.clear();
      for await (const chunk of chunks) await spool.append(chunk);
    },
    async store(trx, batch, { store }) {
      let lessons = 0;
      if (store) for (const span of kept) lessons += await storeGroup(trx, batch, span, await read(span));
      return { jobCount, weight: Math.max(jobCount + lessons, Math.ceil(size / 1_024)) };
    },
    fingerprint: () => hash.digest(),
    async close() {
      beginning.clear();
      // Not awaited: the rest is discarded while the client is answered.
      chunks.return(undefined).catch(() => {});
      await spool?.close();
    },
  };
}

/** SQLSTATEs of a text that is not JSON, or that jsonb cannot hold. */
const refusals = new Set(['22P02', '22P05', '22021', '22003', '54000', '54001']);

/** @returns how many lessons its jobs list */
async function storeGroup(trx: Transaction, batch: BatchKey, span: JobSpan, json: Buffer): Promise<number> {
  const jobs = sql`jsonb_array_elements(convert_from(${json}::bytea, 'UTF8')::jsonb)`;
  try {
    const { rows } = await sql<{ lessons: number }>`
      with stored as (
        insert into batch_job (mandator_id, batch_id, index, job_id, body)
        select ${batch.mandatorId}::int, ${batch.id}::uuid, ${span.first}::int + number - 1,
          left(${textOf(member(sql`body`, 'JobID'))}, ${sql.lit(lessonLimits.key)}), body
        from ${jobs} with ordinality as jobs (body, number)
        returning jsonb_array_length(${listOrEmpty}) as lessons
      )
      select coalesce(sum(lessons), 0)::int as lessons from stored`.execute(trx);
    return rows[0]?.lessons ?? 0;
  } catch (error) {
    if (!refusals.has(String((error as { code?: string }).code))) throw error;
    throw explainRefusal(json, span, (error as Error).message);
  }
}
