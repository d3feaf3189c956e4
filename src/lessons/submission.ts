/** Taking a request body in: its jobs go to the database while they arrive. */
import { createHash } from 'node:crypto';
import { sql } from 'kysely';
import type { Transaction } from '../db/database.ts';
import type { BatchKey } from './batch.ts';
import { listOrEmpty, member } from './fields.ts';
import { explainRefusal, type JobGroup, splitJobs } from './split-jobs.ts';

/** `weight` foretells the work: the jobs and the lessons that they list, or KiB of body where that is more. */
export type Size = { jobCount: number; weight: number };

export type OpenBody = {
  /** Whether the whole body is here already, so that storing it will not wait for the client. */
  complete: boolean;
  /** Stores what has arrived while reading on. @param store false: only reads */
  store(trx: Transaction, batch: BatchKey, options: { store: boolean; mostJobs: number }): Promise<Size>;
  /** Of `purpose` and every byte; once all is read. */
  fingerprint(): Buffer;
};

/**
 * Reads the first jobs of a body, and nothing more until they are stored.
 * @throws Malformed, TooLarge as `splitJobs`
 */
export async function openBody(
  bytes: AsyncIterable<Uint8Array>,
  purpose: string,
  mostBytes: number,
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
  return {
    complete: first.last,
    async store(trx, batch, { store, mostJobs }) {
      let group: JobGroup | undefined = first;
      let [jobCount, lessons, bytes] = [0, 0, 0];
      try {
        while (group) {
          jobCount += group.count;
          bytes += group.json.length;
          // Jobs past the limit are counted, not kept: the batch fails anyway.
          const kept: boolean = store && group.first <= mostJobs;
          const reading: Promise<IteratorResult<JobGroup>> = groups.next();
          const [listed] = await Promise.all([kept ? storeGroup(trx, batch, group) : 0, reading]);
          lessons += listed;
          const next = await reading;
          group = next.done ? undefined : next.value;
        }
        return { jobCount, weight: Math.max(jobCount + lessons, Math.ceil(bytes / 1_024)) };
      } finally {
        // Not awaited: what is still to come is read past while the client hears what was wrong.
        groups.return(undefined).catch(() => {});
      }
    },
    fingerprint: () => hash.digest(),
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
