import { sql } from 'kysely';
import type { Transaction } from './database.ts';

/** Locks a tenant until the transaction ends. Others wait for the lock; their next statements see our writes. */
export const lockTenant = (trx: Transaction, mandatorId: number) =>
  sql`select from mandator where id = ${mandatorId} for no key update`.execute(trx);

/** Locks a row of a tenant, as `lockTenant` does the tenant. @returns whether there is such a row */
export async function lockRow(
  trx: Transaction,
  table: 'display' | 'person' | 'room_problem',
  mandatorId: number,
  id: number,
): Promise<boolean> {
  const { rows } = await sql`
    select from ${sql.table(table)} where mandator_id = ${mandatorId} and id = ${id}::bigint for no key update`.execute(
    trx,
  );
  return rows.length > 0;
}

/**
 * Locks a person as `lockRow` does, so that an erasure finds what is stored for it meanwhile.
 * @returns whether the person is active, after a change that the lock has waited for
 */
export async function lockIfActive(trx: Transaction, mandatorId: number, personId: number): Promise<boolean> {
  const { rows } = await sql`
    select from person where mandator_id = ${mandatorId} and id = ${personId} and active for no key update`.execute(
    trx,
  );
  return rows.length > 0;
}

/** Keeps a row of a tenant from being deleted until the transaction ends. @returns whether there is such a row */
export async function keepRow(
  trx: Transaction,
  table: 'location' | 'policy',
  mandatorId: number,
  id: number,
): Promise<boolean> {
  const { rows } = await sql`
    select from ${sql.table(table)} where mandator_id = ${mandatorId} and id = ${id}::bigint for key share`.execute(
    trx,
  );
  return rows.length > 0;
}

/** SQL: the id of a row of a tenant, now locked, or null while another transaction holds it: for changes that nobody should wait for. */
export const unlessLocked = (
  table: 'calendar_token' | 'pin' | 'session',
  mandatorId: number,
  id: number,
) => sql<number>`(
  select id from ${sql.table(table)} where mandator_id = ${mandatorId} and id = ${id}::integer
  for no key update skip locked)`;
