/** The rest of a tenant: nobody writes for it, by triggers that exist while some tenant rests (sql/000078). */
import { sql } from 'kysely';
import type { Database } from '../db/database.ts';
import { Conflict, NotFound } from '../errors.ts';
import { isDeadlock, isLockTimeout } from '../flow/database-errors.ts';
import { backOff, pause } from '../flow/retry.ts';
import { listTenantTables, type TenantRow } from './tables.ts';

export type TenantRest = { mandatorId: number; code: string; state: 'Coming' | 'Frozen' | 'Away'; isOver: boolean };

const guard = 'guard_resting_tenant';
/** Milliseconds for which a table is waited for, and with it those who write it. */
const lockWait = 300;
const mostLockTries = 40;
const lookEvery = 20;

export async function findRest(db: Database, code: string): Promise<TenantRest | undefined> {
  const { rows } = await sql<TenantRest>`
    select mandator_id as "mandatorId", code, state, coalesce(until <= clock_timestamp(), false) as "isOver"
    from resting_tenant where code = ${code}`.execute(db);
  return rows[0];
}

/** The tenant of a code, also where it is away. @throws NotFound */
export async function getTenant(db: Database, code: string): Promise<TenantRow> {
  const rest = await findRest(db, code);
  if (rest?.state === 'Away') return { id: rest.mandatorId, code };
  const found = await db.selectFrom('mandator').where('code', '=', code).select(['id', 'code']).executeTakeFirst();
  if (!found) throw new NotFound(`There is no tenant ${code} here; "roomgate tenants list" tells which there are.`);
  return found;
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

/** Has all tables of tenants watched. It must be done before the first tenant rests. */
export async function setGuards(db: Database): Promise<void> {
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
}

/** Takes the guards away once no tenant rests. */
export async function liftGuards(db: Database): Promise<void> {
  const { rows } = await sql`select from resting_tenant limit 1`.execute(db);
  if (rows.length > 0) return;
  for (const name of await listGuarded(db)) await onTable(db, `drop trigger if exists ${guard} on ${name}`);
}

/** Waits until every transaction that may have written before `since` is over. @throws Conflict after `mostMs` */
async function outlastWriters(db: Database, since: Date, mostMs: number): Promise<void> {
  for (const end = Date.now() + mostMs; ; await pause(lookEvery)) {
    const { rows } = await sql<{ pid: number }>`
      select pid from pg_stat_activity
      where datname = current_database() and backend_xid is not null and xact_start <= ${since} and pid <> pg_backend_pid()`.execute(
      db,
    );
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
  await setGuards(db);
  const { rows } = await sql<{ now: Date }>`
    insert into resting_tenant (mandator_id, code, state, until)
    values (${id}, ${code}, 'Frozen', clock_timestamp() + make_interval(secs => ${seconds}))
    on conflict (mandator_id) do update set until = excluded.until where resting_tenant.state = 'Frozen'
    returning clock_timestamp() as now`.execute(db);
  const [done] = rows;
  if (!done) throw new Conflict(`The tenant ${code} is being moved; see "roomgate tenant state --mandator ${code}".`);
  await outlastWriters(db, done.now, (seconds * 1_000) / 2);
}

/** Serves a tenant again that was frozen, or whose move was given up after it had left. */
export async function thaw(db: Database, code: string): Promise<void> {
  await db.transaction().execute(async (trx) => {
    await sql`
      update mandator set code = rest.code from resting_tenant as rest
      where rest.code = ${code} and rest.state = 'Away' and mandator.id = rest.mandator_id`.execute(
      await unguarded(trx),
    );
    await sql`delete from resting_tenant where code = ${code} and state <> 'Coming'`.execute(trx);
  });
  await liftGuards(db);
}

/**
 * Ends the service of a frozen tenant here: from now on it is served elsewhere, or nowhere. Its code is free from then on, so that
 * no credential leads to it; those who knew it are told to come again.
 * @returns whether it was still frozen; otherwise it has been written again, and nothing was done
 */
export async function sendAway(db: Database, { id }: Pick<TenantRow, 'id'>): Promise<boolean> {
  return await db.transaction().execute(async (trx) => {
    const { rows } = await sql`
      update resting_tenant set state = 'Away', until = null
      where mandator_id = ${id} and state = 'Frozen' and until > clock_timestamp() returning 1`.execute(trx);
    if (rows.length === 0) return false;
    await sql`update mandator set code = ${awayCode(id)} where id = ${id}`.execute(await unguarded(trx));
    await sql`select pg_notify('roomgate', 'mandator:' || ${id}::text)`.execute(trx);
    return true;
  });
}

const awayCode = (id: number) => `moved-${id}`;

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
