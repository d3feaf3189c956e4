/** How long the inbox keeps what came (contract 7). */
import { type RawBuilder, sql } from 'kysely';
import type { Database } from '../db/database.ts';

const keptDays = 30;
/** Of what proves nothing, which anybody may send: the newest. */
const keptRefused = 100_000;
/** Rows that are deleted at a time. */
const forgottenAtOnce = 5_000;

async function deletePortions(db: Database, chosen: RawBuilder<unknown>): Promise<void> {
  for (let deleted = forgottenAtOnce; deleted === forgottenAtOnce; ) {
    const { numAffectedRows } = await sql`
      delete from mail_notification where ctid = any (array(
        select ctid from mail_notification where ${chosen}
        order by received_at limit ${forgottenAtOnce} for update skip locked))`.execute(db);
    deleted = Number(numAffectedRows);
  }
}

/** Deletes what is older than 30 days. */
export async function forgetOldNotifications(db: Database): Promise<void> {
  await deletePortions(db, sql`received_at < now() - make_interval(days => ${keptDays})`);
}

const isRefused = sql`verdict in ('Rejected', 'Unrecognised', 'Handshake')`;

/** Deletes what is not among the newest that were refused. */
export async function forgetRefusedNotifications(db: Database, kept = keptRefused): Promise<void> {
  const { rows } = await sql<{ since: Date }>`
    select received_at as since from mail_notification where ${isRefused}
    order by received_at desc offset ${kept - 1} limit 1`.execute(db);
  for (const { since } of rows) await deletePortions(db, sql`${isRefused} and received_at < ${since}`);
}
