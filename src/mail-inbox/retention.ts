/** The retention of notifications (contract 7). */
import { type RawBuilder, sql } from 'kysely';
import type { Database } from '../db/database.ts';
import { daysAgo } from '../db/days-ago.ts';
import { deletePortions, isForgotten } from '../db/portions.ts';

/** How many of the newest refused notifications are kept; limited, as anyone can send them. */
const keptRefused = 100_000;

const portionOf = (chosen: RawBuilder<unknown>) =>
  sql`delete from mail_notification where ${isForgotten('mail_notification', chosen, sql`order by received_at`)}`;

export async function forgetOldNotifications(db: Database, days: number, signal?: AbortSignal): Promise<void> {
  await deletePortions(db, portionOf(sql`received_at < ${daysAgo(days)}`), signal);
}

const isRefused = sql`verdict in ('Rejected', 'Unrecognised', 'Handshake')`;

/** Deletes all refused notifications except the newest. */
export async function forgetRefusedNotifications(
  db: Database,
  kept = keptRefused,
  signal?: AbortSignal,
): Promise<void> {
  const { rows } = await sql<{ since: Date }>`
    select received_at as since from mail_notification where ${isRefused}
    order by received_at desc offset ${kept - 1} limit 1`.execute(db);
  for (const { since } of rows)
    await deletePortions(db, portionOf(sql`${isRefused} and received_at < ${since}`), signal);
}
