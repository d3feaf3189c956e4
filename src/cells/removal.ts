/** Removes all rows of a tenant in small steps, which hardly slow down others. */
import { sql } from 'kysely';
import type { Database } from '../db/database.ts';
import { liftGuards, unguarded } from './guards.ts';
import { unsubscribe } from './replication.ts';
import { insistOnRest, refuse, type TenantRest } from './resting.ts';
import { listTenantTables, type TenantRow } from './tables.ts';

const rowsAtOnce = 20_000;

/**
 * Removes the rows of a tenant, that of `mandator` last. It may be called again after a failure.
 * @param state the state that the tenant must have, so that one that is served is never removed
 * @returns the number of rows
 * @throws Conflict when it has another state
 */
export async function removeRows(
  db: Database,
  mandatorId: number,
  state: Exclude<TenantRest['state'], 'Frozen'>,
): Promise<number> {
  const tables = (await listTenantTables(db)).map(({ name }) => ({ name, key: 'mandator_id' }));
  let removed = 0;
  for (const { name, key } of [...tables, { name: 'mandator', key: 'id' }]) {
    for (let left = true; left; ) {
      const deleted = await db.transaction().execute(async (trx) => {
        await insistOnRest(trx, mandatorId, state);
        const table = sql.table(name);
        const { numAffectedRows = 0n } = await sql`
          delete from ${table} where ctid = any (array(
            select ctid from ${table} where ${sql.ref(key)} = ${mandatorId} limit ${rowsAtOnce}))`.execute(
          await unguarded(trx),
        );
        return Number(numAffectedRows);
      });
      removed += deleted;
      left = deleted === rowsAtOnce;
    }
  }
  return removed;
}

/** Removes what is left of a tenant that is away. @returns the number of rows */
export async function removeAway(db: Database, id: number): Promise<number> {
  const rows = await removeRows(db, id, 'Away');
  await sql`delete from resting_tenant where mandator_id = ${id} and state = 'Away'`.execute(db);
  return rows;
}

/** Removes the copy of a tenant that is not served here and never will be. @returns the number of rows */
export async function dropCopy(db: Database, tenant: TenantRow): Promise<number> {
  const { id } = tenant;
  const isRefused = await refuse(db, tenant);
  await unsubscribe(db, id);
  const rows = isRefused ? await removeAway(db, id) : 0;
  await sql`delete from move_mark where mandator_id = ${id}`.execute(db);
  await liftGuards(db);
  return rows;
}
