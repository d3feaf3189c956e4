import { sql } from 'kysely';
import type { Database } from './database.ts';

type Figure = { help: string; read(): Promise<number> };

async function one(db: Database, query: ReturnType<typeof sql<{ figure: number }>>): Promise<number> {
  const { rows } = await query.execute(db);
  return rows[0]?.figure ?? 0;
}

const open = sql`import_status in ('AwaitingLessonCreation', 'AwaitingLessonProcessing')`;

/** What operators watch of the whole installation, by Prometheus name. */
export function openFigures(db: Database): Record<string, Figure> {
  return {
    roomgate_batches_open: {
      help: 'Batches that wait or run',
      read: () => one(db, sql`select count(*)::int as figure from batch where ${open}`),
    },
    roomgate_oldest_open_batch_seconds: {
      help: 'Age of the oldest batch that has not ended',
      read: () =>
        one(
          db,
          sql`select coalesce(extract(epoch from now() - min(created_at)), 0)::float8 as figure from batch where ${open}`,
        ),
    },
    roomgate_queue_jobs_waiting: {
      help: 'Jobs that are due and not taken',
      read: () =>
        one(
          db,
          sql`select count(*)::int as figure from graphile_worker._private_jobs
              where locked_at is null and run_at <= now() and is_available`,
        ),
    },
    roomgate_queue_jobs_given_up: {
      help: 'Jobs that have used all their attempts',
      read: () =>
        one(
          db,
          sql`select count(*)::int as figure from graphile_worker._private_jobs where attempts >= max_attempts`,
        ),
    },
  };
}
