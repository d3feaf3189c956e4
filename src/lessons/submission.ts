/** Taking a request body in: a small one in memory, a large one in a file until all of it is here, then into the database. */
import { createHash } from 'node:crypto';
import { sql } from 'kysely';
import type { Transaction } from '../db/database.ts';
import type { Log } from '../log.ts';
import type { BatchKey } from './batch.ts';
import { listOrEmpty, member } from './fields.ts';
import { explainRefusal, type JobGroup, splitJobs } from './split-jobs.ts';
import { openSpool, type Spool, type Spooled } from './spool.ts';

/** `weight` foretells the work: the jobs and the lessons that they list, or KiB of body where that is more. */
export type Size = { jobCount: number; weight: number };

export type OpenBody = {
  /** Whether the whole body is here already; else `receive` brings the rest. */
  complete: boolean;
  /** Waits for the client until the body has ended, holding nothing but a file. @throws as `openBody` */
  receive(): Promise<void>;
  /** @returns its size. @throws Malformed for what PostgreSQL refuses. @param store false: only counts */
  store(trx: Transaction, batch: BatchKey, options: { store: boolean }): Promise<Size>;
  /** Of `purpose` and every byte; once all is here. */
  fingerprint(): Buffer;
  /** What has not been read by now is read past. */
  close(): Promise<void>;
};

type Kept = Omit<JobGroup, 'json'> & { json(): Promise<Buffer> };

/**
 * Reads the first jobs of a body, and nothing more until it is told to.
 * @param limits.mostJobs past them jobs are counted, not kept: the batch fails anyway
 * @throws Malformed, TooLarge as `splitJobs`; what `bytes` throws
 */
export async function openBody(
  bytes: AsyncIterable<Uint8Array>,
  purpose: string,
  { mostBytes, mostJobs, log }: { mostBytes: number; mostJobs: number; log: Log },
): Promise<OpenBody> {
  const hash = createHash('sha256').update(`${purpose}\n`);
  async function* hashed() {
    for await (const chunk of bytes) {
      hash.update(chunk);
      yield chunk;
    }
  }
  const groups = splitJobs(hashed(), mostBytes);
  const first = (await groups.next()).value as JobGroup;
  const kept: Kept[] = [];
  let spool: Spool | undefined;
  let [jobCount, size] = [0, 0];

  function keep(group: JobGroup, json: () => Promise<Buffer>): void {
    jobCount += group.count;
    size += group.json.length;
    if (group.first <= mostJobs) kept.push({ ...group, json });
  }
  if (first.last) keep(first, async () => first.json);

  return {
    complete: first.last,
    async receive() {
      const file = await openSpool(log);
      spool = file;
      for (let group: JobGroup | undefined = first; group; ) {
        const part: Spooled = await file.append(group.json);
        keep(group, () => file.read(part));
        const next: IteratorResult<JobGroup> = await groups.next();
        group = next.done ? undefined : next.value;
      }
    },
    async store(trx, batch, { store }) {
      let lessons = 0;
      if (store)
        for (const group of kept)
          lessons += await storeGroup(trx, batch, { ...group, json: await group.json() });
      return { jobCount, weight: Math.max(jobCount + lessons, Math.ceil(size / 1_024)) };
    },
    fingerprint: () => hash.digest(),
    async close() {
      // Not awaited: what is still to come is read past while the client hears what was wrong.
      groups.return(undefined).catch(() => {});
      await spool?.close();
    },
  };
}

/** SQLSTATEs of a text that is not JSON, or holds what jsonb cannot keep. */
const refusals = new Set(['22P02', '22P05', '22021', '22003', '54000', '54001']);

/** @returns how many lessons its jobs list */
async function storeGroup(trx: Transaction, batch: BatchKey, group: JobGroup): Promise<number> {
  const jobs = sql`jsonb_array_elements(convert_from(${group.json}::bytea, 'UTF8')::jsonb)`;
  try {
    const { rows } = await sql<{ lessons: number }>`
      with stored as (
        insert into batch_job (mandator_id, batch_id, index, job_id, body)
        select ${batch.mandatorId}::int, ${batch.id}::uuid, ${group.first}::int + number - 1,
          left(${member(sql`body`, 'JobID')} #>> '{}', 128), body
        from ${jobs} with ordinality as jobs (body, number)
        returning jsonb_array_length(${listOrEmpty}) as lessons
      )
      select coalesce(sum(lessons), 0)::int as lessons from stored`.execute(trx);
    return rows[0]?.lessons ?? 0;
  } catch (error) {
    if (!refusals.has(String((error as { code?: string }).code))) throw error;
    throw await explainRefusal(group, (error as Error).message);
  }
}
