/** What is kept for a time is deleted in portions, so that no statement takes long. */
import { type RawBuilder, sql } from 'kysely';
import type { Database } from './database.ts';
import { rests } from './resting.ts';

/** The most rows of a portion. */
const mostForgotten = 5_000;

/**
 * SQL: whether a row of the table is in the next portion of the chosen rows. Rows of resting tenants, and rows that
 * others have locked, are left for a later one.
 */
export const isForgotten = (table: string, chosen: RawBuilder<unknown>, order: RawBuilder<unknown> = sql``) =>
  sql<boolean>`ctid = any (array(
    select ctid from ${sql.table(table)} where ${chosen} and not ${rests(sql.ref(`${table}.mandator_id`))}
    ${order} limit ${mostForgotten} for update skip locked))`;

/** Deletes one portion after the other, until no further rows are chosen or the process must stop. @param portion by `isForgotten` */
export async function deletePortions(db: Database, portion: RawBuilder<unknown>, signal?: AbortSignal): Promise<void> {
  while (!signal?.aborted) {
    const { numAffectedRows = 0n } = await portion.execute(db);
    if (numAffectedRows < mostForgotten) return;
  }
}
