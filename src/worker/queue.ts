import { runMigrations } from 'graphile-worker';
import { sql } from 'kysely';
import type { Transaction } from '../db/database.ts';

/** Brings the queue's own schema up to date; safe for many processes at once. */
export async function migrateQueue(databaseUrl: string): Promise<void> {
  await runMigrations({ preset: { worker: { connectionString: databaseUrl, schema: 'graphile_worker' } } });
}

/**
 * Queues a task inside the caller's transaction: it runs if, and only if, the transaction commits. A waiting job with
 * the same key keeps its place and takes this payload; one that is running is followed by another run.
 */
export async function addJob(trx: Transaction, task: string, payload: object, key: string): Promise<void> {
  await sql`select graphile_worker.add_job(${task}, ${JSON.stringify(payload)}::json, job_key => ${key}, job_key_mode => 'preserve_run_at')`.execute(
    trx,
  );
}
