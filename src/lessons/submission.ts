/** Taking a request body in: its jobs go to the database while they arrive. */
import { createHash } from 'node:crypto';
import { sql } from 'kysely';
import type { Transaction } from '../db/database.ts';
import type { BatchKey } from './batch.ts';
import { member } from './fields.ts';
import { explainRefusal, type JobGroup, splitJobs } from './split-jobs.ts';

export type OpenBody = {
  /** Whether the whole body is here already, so that storing it will not wait for the client. */
  complete: boolean;
  /** Stores what has arrived while reading on. @returns the number of jobs. @param store false: only reads */
  store(trx: Transaction, batch: BatchKey, options: { store: boolean; mostJobs: number }): Promise<number>;
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
      let count = 0;
      try {
        while (group) {
          count += group.count;
          // Jobs past the limit are counted, not kept: the batch fails anyway.
          const kept: boolean = store && group.first <= mostJobs;
          const reading: Promise<IteratorResult<JobGroup>> = groups.next();
          await Promise.all([reading, kept && storeGroup(trx, batch, group)]);
          const next = await reading;
          group = next.done ? undefined : next.value;
        }
        return count;
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

async function storeGroup(trx: Transaction, batch: BatchKey, group: JobGroup): Promise<void> {
  const jobs = sql`jsonb_array_elements(convert_from(${group.json}::bytea, 'UTF8')::jsonb)`;
  try {
    await sql`
      insert into batch_job (mandator_id, batch_id, index, job_id, body)
      select ${batch.mandatorId}::int, ${batch.id}::uuid, ${group.first}::int + number - 1,
        left(${member(sql`body`, 'JobID')} #>> '{}', 128), body
      from ${jobs} with ordinality as jobs (body, number)`.execute(trx);
  } catch (error) {
    if (!refusals.has(String((error as { code?: string }).code))) throw error;
    throw await explainRefusal(group, (error as Error).message);
  }
}
