import type { Config } from '../config.ts';
import type { Database } from '../db/database.ts';
import { startIdsOf } from '../db/id-ranges.ts';
import { migrate } from '../db/migrate.ts';
import type { Log } from '../log.ts';
import { migrateQueue } from './queue.ts';

/** Brings a database up to date: its schema, that of the queue, and where its ids begin. @returns the migrations it applied */
export async function bringUp(db: Database, { Cell }: Config, log: Log, stop?: AbortSignal): Promise<string[]> {
  const applied = await migrate(db, log, stop);
  await migrateQueue(db);
  await startIdsOf(db, Cell);
  return applied;
}
