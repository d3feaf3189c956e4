/** Tenants that rest: triggers refuse all writes for them (sql/000078). */
import { sql } from 'kysely';
import { type Database, isPooled, type Transaction } from '../db/database.ts';
import { Conflict, NotFound } from '../errors.ts';
import { lockClasses } from '../flow/locks.ts';
import { liftGuards, outlastWriters, underGuard, unguarded } from './guards.ts';
import type { TenantRow } from './tables.ts';

export type TenantRest = {
  mandatorId: number;
  code: string;
  state: 'Coming' | 'Frozen' | 'Away';
  /** Where a tenant that is Away is served; null: nowhere, it is being removed. */
  destination: string | null;
};

/** Finds the row of a resting tenant by its code, or by its code or Id. */
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

/** Finds a tenant by its code, even if it is away. @throws NotFound */
export async function getTenant(db: Database | Transaction, code: string): Promise<TenantRow> {
  const rest = await findRest(db, code);
  if (rest?.state === 'Away') return { id: rest.mandatorId, code };
  const found = await db.selectFrom('mandator').where('code', '=', code).select(['id', 'code']).executeTakeFirst();
  if (!found) throw new NotFound(`There is no tenant ${code} here; "roomgate tenants list" lists the tenants.`);
  return found;
}

/** Finds a tenant that is served here, and so is complete. @throws NotFound; Conflict when it has left or is being removed */
export async function getServed(db: Database | Transaction, code: string): Promise<TenantRow> {
  const rest = await findRest(db, code);
  if (rest && rest.state !== 'Frozen')
    throw new Conflict(
      `The tenant ${code} is being moved or removed, and is incomplete here; find out where it is served.`,
    );
  return await getTenant(db, code);
}

const lockOf = ({ id }: TenantRow) => sql`${lockClasses.rest}::integer, ${id}::integer`;

const busy = ({ code }: TenantRow) =>
  new Conflict(`The tenant ${code} is being moved, frozen or removed by another command; wait until it ends.`);

/**
 * Runs `work` under the lock of a tenant, so that no other command of this installation works on it at the same time.
 * @throws Conflict when another one does
 */
export async function alone<T>(db: Database, tenant: TenantRow, work: () => Promise<T>): Promise<T> {
  if (isPooled(db)) throw new Error('Session locks do not work through a pooler: this needs a direct connection.');
  return await db.connection().execute(async (session) => {
    const lock = lockOf(tenant);
    const { rows } = await sql<{ free: boolean }>`select pg_try_advisory_lock(${lock}) as free`.execute(session);
    if (!rows[0]?.free) throw busy(tenant);
    // The session is idle while `work` uses others. Without this, PostgreSQL would end it, and with it the lock.
    const { rows: before } = await sql<{ idle: string }>`
      select current_setting('idle_session_timeout') as idle, set_config('idle_session_timeout', '0', false)`.execute(
      session,
    );
    try {
      return await work();
    } finally {
      await sql`
        select pg_advisory_unlock(${lock}), set_config('idle_session_timeout', ${before[0]!.idle}, false)`
        .execute(session)
        .catch(() => {});
    }
  });
}

/** As `alone`, until the end of the transaction. @throws Conflict when another command works on the tenant */
export async function aloneIn(trx: Transaction, tenant: TenantRow): Promise<void> {
  const { rows } = await sql<{ free: boolean }>`
    select pg_try_advisory_xact_lock(${lockOf(tenant)}) as free`.execute(trx);
  if (!rows[0]?.free) throw busy(tenant);
}

/**
 * Refuses all writes for a tenant for `seconds`, or until `thaw`; it can still be read. When this returns, all transactions that
 * began to write before are over.
 * @returns the end of the freeze as text, which identifies the freeze
 * @throws Conflict when the tenant rests already, or writers do not end
 */
export async function freeze(db: Database, { id, code }: TenantRow, seconds: number): Promise<string> {
  const until = await underGuard(db, async () => {
    const { rows } = await sql<{ until: string }>`
      insert into resting_tenant (mandator_id, code, state, until)
      values (${id}, ${code}, 'Frozen', clock_timestamp() + make_interval(secs => ${seconds}))
      on conflict (mandator_id) do update set until = excluded.until where resting_tenant.state = 'Frozen'
      returning until::text`.execute(db);
    if (!rows[0])
      throw new Conflict(`The tenant ${code} is being moved or removed; run that command again, or undo the move.`);
    return rows[0].until;
  });
  try {
    await outlastWriters(db, (seconds * 1_000) / 2);
  } catch (error) {
    await thaw(db, code);
    throw error;
  }
  return until;
}

/**
 * Marks a tenant as coming, so that its rows can be copied here. It must not be served here.
 * @throws Conflict when it rests here already in another state
 */
export async function receive(db: Database, { id, code }: TenantRow): Promise<void> {
  await underGuard(db, async () => {
    await sql`
      insert into resting_tenant (mandator_id, code, state)
      select ${id}, ${code}, 'Coming' where not exists (select from mandator where id = ${id} or code = ${code})
      on conflict do nothing`.execute(db);
  });
  const rest = await findRest(db, code);
  if (rest?.mandatorId === id && rest.state === 'Away')
    throw new Conflict(
      `What was copied of the tenant ${code} is not removed there yet: run this command with --undo, then without it.`,
    );
  await insistOnRest(db, id, 'Coming');
  if ((await findRest(db, code))?.mandatorId !== id)
    throw new Conflict(
      `Another tenant with the Id ${id} of ${code} is being moved there; finish or undo that move first.`,
    );
}

/** Checks the state of a resting tenant, and keeps it until the end of the transaction. @throws Conflict for another state */
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
        ? `The tenant ${code} has left: run its move again, or abandon it with "roomgate tenant move --undo", which checks where the tenant is served.`
        : `The tenant ${code} is being moved here from another installation: run its move there again, or abandon it there.`,
    );
  await sql`delete from resting_tenant where code = ${code} and state = 'Frozen'`.execute(db);
  await liftGuards(db);
}

/**
 * Ends the service of a frozen tenant here: from now on it is served elsewhere, or nowhere. Its code is freed, so that no credential
 * leads to it; clients that use it are told to try again.
 * @param leave.until the result of `freeze`
 * @param leave.destination where it is served from now on; null: nowhere
 * @returns whether that freeze still held; otherwise the tenant may have been written again, and nothing was done
 */
export async function sendAway(
  db: Database,
  { id }: Pick<TenantRow, 'id'>,
  { until, destination }: { until: string; destination: string | null },
): Promise<boolean> {
  return await db.transaction().execute(async (trx) => {
    // A writer that finds the freeze over locks its row until it commits. So the clock is read only once this has the lock.
    await sql`select from resting_tenant where mandator_id = ${id} for update`.execute(trx);
    const { rows } = await sql`
      update resting_tenant set state = 'Away', until = null, destination = ${destination}
      where mandator_id = ${id} and state = 'Frozen' and until = ${until}::timestamptz and until > clock_timestamp()
      returning 1`.execute(trx);
    if (rows.length === 0) return false;
    await sql`update mandator set code = ${awayCode(id)} where id = ${id}`.execute(await unguarded(trx));
    await sql`select pg_notify('roomgate', 'mandator:' || ${id}::text)`.execute(trx);
    return true;
  });
}

/** Serves a tenant again that had left. It must not be served by the other installation. */
export async function takeBack(db: Database, { id, code }: TenantRow): Promise<void> {
  await db.transaction().execute(async (trx) => {
    await insistOnRest(trx, id, 'Away');
    await serve(await unguarded(trx), { id, code });
  });
  await liftGuards(db);
}

/** Ends the rest of a tenant, which is served here from the commit on. */
export async function serve(trx: Transaction, { id, code }: TenantRow): Promise<void> {
  await sql`update mandator set code = ${code} where id = ${id}`.execute(trx);
  await sql`delete from resting_tenant where mandator_id = ${id}`.execute(trx);
  await sql`select pg_notify('roomgate', 'mandator:' || ${id}::text)`.execute(trx);
}

/** Makes the departure of a tenant final, before its remaining rows are removed here. */
export async function endForGood(db: Database, { id }: TenantRow): Promise<void> {
  await sql`update resting_tenant set destination = null where mandator_id = ${id} and state = 'Away'`.execute(db);
}

/** Makes sure that a tenant that is coming is never served here, before its copy is removed. @returns whether that holds now */
export async function refuse(db: Database, { id, code }: TenantRow): Promise<boolean> {
  await sql`
    update resting_tenant set state = 'Away' where mandator_id = ${id} and code = ${code} and state = 'Coming'`.execute(
    db,
  );
  const rest = await findRest(db, code);
  return rest?.mandatorId === id && rest.state === 'Away' && rest.destination === null;
}

export const awayCode = (id: number) => `moved-${id}`;
