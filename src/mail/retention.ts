/** How long the inbox keeps what came (contract 7). */
import { sql } from 'kysely';
import type { Database } from '../db/database.ts';

const keptDays = 30;
/** Of what proves nothing, which anybody may send: the newest. */
const keptRefused = 100_000;
/** Rows that are deleted at a time. */
const forgottenAtOnce = 5_000;

/** Deletes a portion of what is older than 30 days, the oldest first. */
export async function forgetOldNotifications(db: Database): Promise<void> {
  await sql`
    delete from mail_notification where ctid = any (array(
      select ctid from mail_notification where received_at < now() - make_interval(days => ${keptDays})
      order by received_at limit ${forgottenAtOnce} for update skip locked))`.execute(db);
}

/** Deletes a portion of what is not among the newest that were refused. */
export async function forgetRefusedNotifications(db: Database, kept = keptRefused): Promise<void> {
  await sql`
    delete from mail_notification where ctid = any (array(
      select ctid from mail_notification
      where verdict in ('Rejected', 'Unrecognised', 'Handshake') and received_at < (
        select received_at from mail_notification
        where verdict in ('Rejected', 'Unrecognised', 'Handshake')
        order by received_at desc offset ${kept - 1} limit 1)
      order by received_at limit ${forgottenAtOnce} for update skip locked))`.execute(db);
}
