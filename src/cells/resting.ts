/** The rest of a tenant: nobody writes for it, by triggers that exist while some tenant rests (sql/000078). */
import { sql } from 'kysely';
import type { Database, Transaction } from '../db/database.ts';
import { Conflict, NotFound } from '../errors.ts';
import { isDeadlock, isLockTimeout } from '../flow/database-errors.ts';
import { guardsLock, lockClasses } from '../flow/locks.ts';
import { backOff, pause } from '../flow/retry.ts';
import { listTenantTables, type TenantRow } from './tables.ts';

export type TenantRest = {
  mandatorId: number;
  code: string;
  state: 'Coming' | 'Frozen' | 'Away';
  /** Where a tenant that is Away is served; null: nowhere, it is being removed. */
  destination: string | null;
};

const guard = 'guard_resting_tenant';
/** Milliseconds for which a table is waited for, and with it those who write it. */
const lockWait = 300;
const mostLockTries = 40;
const lookEvery = 20;

/** The rest of the tenant of a code, or of a code or an Id. */
export async function findRest(
  db: Database | Transaction,
  tenant: string | TenantRow,
): Promise<TenantRest | undefined> {
  const which =
    typeof tenant === 'string' ? sql`code = ${tenant}` : sql`code = ${tenant.code} or mandator_id = ${tenant.id}`;
  const { rows } = await sql<TenantRest>`
    select mandator_id as "mandatorId", code, state, destination from resting_tenant where ${which}`.execute(db);
  return rows[0];
}

/** The tenant of a code, also where it is away. @throws NotFound */
export async function getTenant(db: Database | Transaction, code: string): Promise<TenantRow> {
  const rest = await findRest(db, code);
  if (rest?.state === 'Away') return { id: rest.mandatorId, code };
  const found = await db.selectFrom('mandator').where('code', '=', code).select(['id', 'code']).executeTakeFirst();
  if (!found) throw new NotFound(`There is no tenant ${code} here; "roomgate tenants list" tells which there are.`);
  return found;
}

/** The tenant of a code that is served here, and so is whole. @throws NotFound; Conflict when it has left or is being removed */
export async function getServed(db: Database | Transaction, code: string): Promise<TenantRow> {
  const rest = await findRest(db, code);
  if (rest && rest.state !== 'Frozen')
    throw new Conflict(`The tenant ${code} is being moved or removed, and not whole here; see where it is served.`);
  return await getTenant(db, code);
}

/** Changes a table's triggers as soon as nobody holds the table, and gives way to requests while it waits. */
async function onTable(db: Database, statement: string): Promise<void> {
  for (let tries = 0; ; tries++) {
    try {
      await db.transaction().execute(async (trx) => {
        await sql`set local lock_timeout = ${sql.lit(lockWait)}`.execute(trx);
        await sql.raw(statement).execute(trx);
      });
      return;
    } catch (error) {
      if (!(isLockTimeout(error) || isDeadlock(error)) || tries >= mostLockTries) throw error;
      await pause(backOff(tries, { firstMs: 50, longestMs: 500 }));
    }
  }
}

async function listGuarded(db: Database): Promise<Set<string>> {
  const { rows } = await sql<{ name: string }>`
    select relname as name from pg_trigger join pg_class on pg_class.oid = tgrelid where tgname = ${guard}`.execute(db);
  return new Set(rows.map(({ name }) => name));
}

/** One at a time: the guards of one tenant's rest are not taken away while another's begins. */
async function guarding(db: Database, work: () => Promise<void>): Promise<void> {
  await db.transaction().execute(async (trx) => {
    await sql`select pg_advisory_xact_lock(hashtextextended(${guardsLock}, 0))`.execute(trx);
    await work();
  });
}

/** Has all tables of tenants watched, and then a tenant rest. @param insert of its row */
async function begin(db: Database, insert: () => Promise<void>): Promise<void> {
  await guarding(db, async () => {
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
    await insert();
  });
}

/** Takes the guards away once no tenant rests. */
export async function liftGuards(db: Database): Promise<void> {
  await guarding(db, async () => {
    const { rows } = await sql`select from resting_tenant limit 1`.execute(db);
    if (rows.length > 0) return;
    for (const name of await listGuarded(db)) await onTable(db, `drop trigger if exists ${guard} on ${name}`);
  });
}

const lockOf = ({ id }: TenantRow) => sql`${lockClasses.rest}::integer, ${id}::integer`;

const busy = ({ code }: TenantRow) =>
  new Conflict(`The tenant ${code} is being moved, frozen or removed by another command; wait until it ends.`);

/**
 * Does what nobody else may do for the tenant at the same time, from here.
 * @throws Conflict when somebody does
 */
export async function alone<T>(db: Database, tenant: TenantRow, work: () => Promise<T>): Promise<T> {
  return await db.connection().execute(async (session) => {
    const lock = lockOf(tenant);
    const { rows } = await sql<{ free: boolean }>`select pg_try_advisory_lock(${lock}) as free`.execute(session);
    if (!rows[0]?.free) throw busy(tenant);
    try {
      return await work();
    } finally {
      await sql`select pg_advisory_unlock(${lock})`.execute(session).catch(() => {});
    }
  });
}

/** As `alone`, until the transaction ends. @throws Conflict when somebody does something for the tenant */
export async function aloneIn(trx: Transaction, tenant: TenantRow): Promise<void> {
  const { rows } = await sql<{ free: boolean }>`
    select pg_try_advisory_xact_lock(${lockOf(tenant)}) as free`.execute(trx);
  if (!rows[0]?.free) throw busy(tenant);
}

/**
 * Waits until every transaction is over that may have written for a tenant before its rest could be seen: it holds the lock of a
 * table that it writes. One that takes such a lock later reads the rest in its triggers, since no writer has a snapshot for more
 * than a statement.
 * @throws Conflict after `mostMs`
 */
async function outlastWriters(db: Database, mostMs: number): Promise<void> {
  const { rows: writers } = await sql<{ transaction: string }>`
    select distinct virtualtransaction as transaction from pg_locks
    join pg_trigger on tgrelid = relation and tgname = ${guard}
    where locktype = 'relation' and pid <> pg_backend_pid()
      and database = (select oid from pg_database where datname = current_database())
      and mode in ('RowExclusiveLock', 'ShareRowExclusiveLock', 'ExclusiveLock', 'AccessExclusiveLock')`.execute(db);
  const transactions = writers.map(({ transaction }) => transaction);
  for (const end = Date.now() + mostMs; ; await pause(lookEvery)) {
    const { rows } = await sql<{ pid: number }>`
      select distinct pid from pg_locks where virtualtransaction = any (${transactions})`.execute(db);
    if (rows.length === 0) return;
    if (Date.now() > end)
      throw new Conflict(
        `Transactions that began before are still writing (${rows.map(({ pid }) => pid).join(', ')} in pg_stat_activity); try again when they are over.`,
      );
  }
}

/**
 * Lets nobody write for a tenant for `seconds`, or until `thaw`; it is still read. Once this has returned, nothing that was begun
 * before can be written either.
 * @throws Conflict when it rests already, or when writers do not end
 */
export async function freeze(db: Database, { id, code }: TenantRow, seconds: number): Promise<void> {
  await begin(db, async () => {
    const { rows } = await sql`
      insert into resting_tenant (mandator_id, code, state, until)
      values (${id}, ${code}, 'Frozen', clock_timestamp() + make_interval(secs => ${seconds}))
      on conflict (mandator_id) do update set until = excluded.until where resting_tenant.state = 'Frozen'
      returning 1`.execute(db);
    if (rows.length === 0)
      throw new Conflict(`The tenant ${code} is being moved or removed; start that command again, or undo the move.`);
  });
  await outlastWriters(db, (seconds * 1_000) / 2);
}

/**
 * Lets the rows of a tenant come, where none are that are served.
 * @throws Conflict when it rests here already in another way
 */
export async function receive(db: Database, { id, code }: TenantRow): Promise<void> {
  await begin(db, async () => {
    await sql`
      insert into resting_tenant (mandator_id, code, state)
      select ${id}, ${code}, 'Coming' where not exists (select from mandator where id = ${id} or code = ${code})
      on conflict do nothing`.execute(db);
  });
  await insistOnRest(db, id, 'Coming');
}

/** Until the transaction ends it stays in this state. @throws Conflict when it is not */
export async function insistOnRest(
  db: Database | Transaction,
  mandatorId: number,
  state: TenantRest['state'],
): Promise<void> {
  const { rows } = await sql`
    select from resting_tenant where mandator_id = ${mandatorId} and state = ${state} for share`.execute(db);
  if (rows.length === 0)
    throw new Conflict(
      `The tenant with the Id ${mandatorId} ${state === 'Away' ? 'has not left where it would be removed' : 'is not one that is coming where it would be written'}; nothing was done.`,
    );
}

/** Ends a freeze. @throws Conflict when the tenant is not merely frozen */
export async function thaw(db: Database, code: string): Promise<void> {
  const rest = await findRest(db, code);
  if (rest && rest.state !== 'Frozen')
    throw new Conflict(
      rest.state === 'Away'
        ? `The tenant ${code} has left: start its move again, or give it up by "roomgate tenant move --undo", which looks where it is served.`
        : `The tenant ${code} is coming from another installation: start its move there again, or give it up there.`,
    );
  await sql`delete from resting_tenant where code = ${code} and state = 'Frozen'`.execute(db);
  await liftGuards(db);
}

/**
 * Ends the service of a frozen tenant here: from now on it is served elsewhere, or nowhere. Its code is free from then on, so that
 * no credential leads to it; those who knew it are told to come again.
 * @param destination where it is served from then on; null: nowhere
 * @returns whether it was still frozen; otherwise it has been written again, and nothing was done
 */
export async function sendAway(
  db: Database,
  { id }: Pick<TenantRow, 'id'>,
  destination: string | null,
): Promise<boolean> {
  return await db.transaction().execute(async (trx) => {
    const { rows } = await sql`
      update resting_tenant set state = 'Away', until = null, destination = ${destination}
      where mandator_id = ${id} and state = 'Frozen' and until > clock_timestamp() returning 1`.execute(trx);
    if (rows.length === 0) return false;
    await sql`update mandator set code = ${awayCode(id)} where id = ${id}`.execute(await unguarded(trx));
    await sql`select pg_notify('roomgate', 'mandator:' || ${id}::text)`.execute(trx);
    return true;
  });
}

/** Serves a tenant again that had left. It must not be served where it went. */
export async function takeBack(db: Database, { id, code }: TenantRow): Promise<void> {
  await db.transaction().execute(async (trx) => {
    await insistOnRest(trx, id, 'Away');
    await sql`update mandator set code = ${code} where id = ${id}`.execute(await unguarded(trx));
    await sql`delete from resting_tenant where mandator_id = ${id}`.execute(trx);
    await sql`select pg_notify('roomgate', 'mandator:' || ${id}::text)`.execute(trx);
  });
  await liftGuards(db);
}

export const awayCode = (id: number) => `moved-${id}`;

/**
 * Makes the rest of a transaction write without triggers, as replication does: neither the guard nor the records of what has
 * changed see it.
 * @throws Conflict when the role of the database may not
 */
export async function unguarded<Trx extends Parameters<ReturnType<typeof sql>['execute']>[0]>(trx: Trx): Promise<Trx> {
  await sql`set local session_replication_role = replica`.execute(trx).catch((error: Error) => {
    throw new Conflict(
      `${error.message}. A superuser allows it: grant set on parameter session_replication_role to the role of DatabaseUrl.`,
    );
  });
  return trx;
}
