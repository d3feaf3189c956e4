import { jest } from '@jest/globals';
import { type ControlledTransaction, sql } from 'kysely';
import pg from 'pg';
import type { Database } from '../../src/db/database.ts';
import type { DB } from '../../src/db/tables.ts';
import { until } from './process.ts';

type Held = ControlledTransaction<DB>;
const open = new Set<Held>();

/** Keeps a transaction open after `work`, so that others wait for its locks. @returns a function that commits it */
export async function hold(db: Database, work: (trx: Held) => Promise<unknown>): Promise<() => Promise<void>> {
  const trx = await db.startTransaction().execute();
  open.add(trx);
  // No time-out, however slow the machine is meanwhile.
  await sql`set local idle_in_transaction_session_timeout = 0`.execute(trx);
  await work(trx);
  return async () => {
    open.delete(trx);
    await trx.commit().execute();
  };
}

/** For afterAll, before the database is closed: ends transactions that a failed test has left open. */
export async function releaseAll(): Promise<void> {
  for (const trx of open) await trx.rollback().execute();
  open.clear();
}

/**
 * Lets requests wait for locks that give up after a second: a slow machine may need longer until `work` has seen them wait.
 */
export async function patiently<T>(work: () => Promise<T>): Promise<T> {
  const { query } = pg.Client.prototype as { query: (...args: unknown[]) => unknown };
  const statements = jest.spyOn(pg.Client.prototype as { query: typeof query }, 'query');
  statements.mockImplementation(function (this: pg.Client, text, ...more) {
    const isLimit = typeof text === 'string' && text.startsWith('set local lock_timeout');
    return query.call(this, isLimit ? 'set local lock_timeout = 0' : text, ...more);
  });
  try {
    return await work();
  } finally {
    statements.mockRestore();
  }
}

/** How many statements wait for a lock. */
export async function countWaiting(db: Database): Promise<number> {
  const { rows } = await sql<{ count: number }>`
    select count(*)::int as count from pg_stat_activity
    where datname = current_database() and wait_event_type = 'Lock'`.execute(db);
  return rows[0]!.count;
}

/** Cancels statements that wait for a lock, until there were `statements` of them; their senders see an outage. */
export async function cancelWaiting(db: Database, statements: number): Promise<void> {
  const cancelled = new Set<string>();
  await until(`${statements} statements have waited`, async () => {
    const { rows } = await sql<{ statement: string }>`
      with waiting as materialized (
        select pid, pid || ' ' || query_start as statement from pg_stat_activity
        where datname = current_database() and wait_event_type = 'Lock'
      )
      select statement from waiting where pg_cancel_backend(pid)`.execute(db);
    for (const { statement } of rows) cancelled.add(statement);
    return cancelled.size >= statements;
  });
}

/** The tables in which `work` locks rows by their quoted names, in order; it must be all that locks such rows meanwhile. */
export async function lockedBy(work: () => Promise<unknown>): Promise<string[]> {
  const statements = jest.spyOn(pg.Client.prototype, 'query');
  try {
    await work();
    const texts = statements.mock.calls.map(([statement]) => String(statement));
    return texts.flatMap((text) => /from "(\w+)".* for (?:no key update|share)\b/s.exec(text)?.[1] ?? []);
  } finally {
    statements.mockRestore();
  }
}
