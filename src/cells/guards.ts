/** The triggers that refuse all writes for a resting tenant (sql/000078). They exist only while some tenant rests. */
import { sql } from 'kysely';
import type { Database } from '../db/database.ts';
import { transactWithin } from '../db/lock-timeout.ts';
import { Conflict } from '../errors.ts';
import { isDeadlock, isLockTimeout } from '../flow/database-errors.ts';
import { guardsLock } from '../flow/locks.ts';
import { backOff, pause } from '../flow/retry.ts';
import { listTenantTables } from './tables.ts';

const guard = 'guard_resting_tenant';
/** How often to try for a table's lock, and for how many milliseconds each: its requests queue behind each try. */
type LockTries = { tries: number; waitMs: number };
const ofCommands: LockTries = { tries: 40, waitMs: 300 };
/** The sweep tries once, because it is repeated anyway. */
const ofSweep: LockTries = { tries: 1, waitMs: 50 };
const lookEvery = 20;

const isInTheWay = (error: unknown) => isLockTimeout(error) || isDeadlock(error);
const unlessInTheWay = (error: unknown): void => {
  if (!isInTheWay(error)) throw error;
};

/** Changes the triggers of a table as soon as its lock is free, and gives way to requests until then. */
async function onTable(db: Database, statement: string, { tries, waitMs } = ofCommands): Promise<void> {
  for (let failed = 0; ; ) {
    try {
      await transactWithin(db, waitMs, (trx) => sql.raw(statement).execute(trx));
      return;
    } catch (error) {
      failed += 1;
      if (!isInTheWay(error) || failed >= tries) throw error;
      await pause(backOff(failed - 1, { firstMs: 50, longestMs: 500 }));
    }
  }
}

async function listGuarded(db: Database): Promise<Set<string>> {
  const { rows } = await sql<{ name: string }>`
    select relname as name from pg_trigger join pg_class on pg_class.oid = tgrelid where tgname = ${guard}`.execute(db);
  return new Set(rows.map(({ name }) => name));
}

/** Runs `work` alone, so that the guards are not dropped for one tenant while another one begins to rest. */
async function guarding<T>(db: Database, work: () => Promise<T>): Promise<T> {
  return await db.transaction().execute(async (trx) => {
    // The session is idle while `work` uses others. Without this, PostgreSQL would end it, and with it the lock.
    await sql`set local idle_in_transaction_session_timeout = 0`.execute(trx);
    await sql`select pg_advisory_xact_lock(hashtextextended(${guardsLock}, 0))`.execute(trx);
    return await work();
  });
}

/** Creates the guards on all tables of tenants, then lets a tenant rest. @param insert inserts its row in resting_tenant */
export async function underGuard<T>(db: Database, insert: () => Promise<T>): Promise<T> {
  return await guarding(db, async () => {
    const guarded = await listGuarded(db);
    const tables = [{ name: 'mandator', key: 'id' }].concat(
      (await listTenantTables(db)).map(({ name }) => ({ name, key: 'mandator_id' })),
    );
    for (const { name, key } of tables)
      if (!guarded.has(name))
        await onTable(
          db,
          `create trigger ${guard} before insert or update or delete on ${name}
           for each row execute function ${guard}('${key}')`,
        );
    return await insert();
  });
}

/**
 * Forgets freezes that have expired, and drops the guards once no tenant rests. If a writer or a locked table is in the
 * way, they stay until the next call. It waits long for the first locked table only.
 */
export async function liftGuards(db: Database, lockTries = ofCommands, signal?: AbortSignal): Promise<void> {
  await guarding(db, async () => {
    await sql`
      delete from resting_tenant where mandator_id = any (array(
        select mandator_id from resting_tenant where until <= clock_timestamp() for update skip locked))`.execute(db);
    const { rows } = await sql`select from resting_tenant limit 1`.execute(db);
    if (rows.length > 0) return;
    let tries = lockTries;
    for (const name of await listGuarded(db)) {
      if (signal?.aborted) return;
      await onTable(db, `drop trigger if exists ${guard} on ${name}`, tries).catch((error) => {
        unlessInTheWay(error);
        // What holds one table, as a backup does, holds others too: the sweep comes back for them.
        tries = ofSweep;
      });
    }
  }).catch(unlessInTheWay);
}

/** `liftGuards`, hardly noticed by requests: one try for each table. */
export const forgetEndedFreezes = (db: Database, signal: AbortSignal): Promise<void> => liftGuards(db, ofSweep, signal);

/**
 * Waits for all transactions that may have written for a tenant before they could see that it rests: those that hold
 * the lock of a guarded table. In a transaction that takes such a lock later, the triggers see that the tenant rests,
 * because each statement of a writer has a new snapshot.
 * @throws Conflict after `mostMs`
 */
export async function outlastWriters(db: Database, mostMs: number): Promise<void> {
  const { rows: writers } = await sql<{ transaction: string }>`
    select distinct virtualtransaction as transaction from pg_locks
    join pg_trigger on tgrelid = relation and tgname = ${guard}
    where locktype = 'relation' and pid is distinct from pg_backend_pid()
      and database = (select oid from pg_database where datname = current_database())
      and mode in ('RowExclusiveLock', 'ShareRowExclusiveLock', 'ExclusiveLock', 'AccessExclusiveLock')`.execute(db);
  const transactions = writers.map(({ transaction }) => transaction);
  for (const end = Date.now() + mostMs; ; await pause(lookEvery)) {
    const { rows } = await sql<{ pid: number }>`
      select distinct pid from pg_locks where virtualtransaction = any (${transactions})`.execute(db);
    if (rows.length === 0) return;
    if (Date.now() > end)
      throw new Conflict(
        `Transactions that began earlier are still writing (${rows.map(({ pid }) => pid ?? 'prepared').join(', ')} in pg_stat_activity); try again when they have ended.`,
      );
  }
}

/**
 * Lets the remaining statements of a transaction write without triggers, as replication does: neither the guards nor the feed of
 * changes see them.
 * @throws Conflict when the role of the database may not do that
 */
export async function unguarded<Trx extends Parameters<ReturnType<typeof sql>['execute']>[0]>(trx: Trx): Promise<Trx> {
  await sql`set local session_replication_role = replica`.execute(trx).catch((error: Error) => {
    throw new Conflict(
      `${error.message}. A superuser can allow it: grant set on parameter session_replication_role to the role of DatabaseUrl.`,
    );
  });
  return trx;
}
