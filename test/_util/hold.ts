import { type ControlledTransaction, sql } from 'kysely';
import type { Database } from '../../src/db/database.ts';
import type { DB } from '../../src/db/tables.ts';

type Held = ControlledTransaction<DB>;
const open = new Set<Held>();

/** Keeps a transaction open after `work`, so that whoever needs what it has locked waits; the result commits it. */
export async function hold(
  db: Database,
  work: (trx: Held) => Promise<unknown>,
): Promise<() => Promise<void>> {
  const trx = await db.startTransaction().execute();
  open.add(trx);
  // However long the machine takes for what is to be seen meanwhile.
  await sql`set local idle_in_transaction_session_timeout = 0`.execute(trx);
  await work(trx);
  return async () => {
    open.delete(trx);
    await trx.commit().execute();
  };
}

/** For afterAll, before the database is closed: what a failed test has left open. */
export async function releaseAll(): Promise<void> {
  for (const trx of open) await trx.rollback().execute();
  open.clear();
}
