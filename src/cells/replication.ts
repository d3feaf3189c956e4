/**
 * Keeps a copy of a tenant up to date by PostgreSQL's logical replication: a publication of its rows in the database that it
 * leaves, a subscription in the one that it moves to. The worker of the subscription writes without triggers.
 */
import { sql } from 'kysely';
import type { Database, Transaction } from '../db/database.ts';
import { Conflict } from '../errors.ts';
import { atPrimary } from '../flow/database-urls.ts';
import { pause } from '../flow/retry.ts';
import type { TenantTable } from './tables.ts';

/** The Id of the tenant follows in the names of its publication, subscription and slot. */
export const moveName = 'roomgate_move_';
const nameOf = (mandatorId: number) => `${moveName}${mandatorId}`;
const newRowsOf = (mandatorId: number) => `${nameOf(mandatorId)}_new_rows`;
const lookEvery = 20;
const mostSlotLooks = 250;

/** A condition that is needed because the catalogue of subscriptions is that of the whole server. */
const ofThisDatabase = sql`subdbid = (select oid from pg_database where datname = current_database())`;

/** @throws Conflict naming the setting of PostgreSQL that is missing */
export async function checkPublisher(db: Database): Promise<void> {
  const { rows } = await sql<{ level: string }>`select current_setting('wal_level') as level`.execute(db);
  if (rows[0]?.level !== 'logical')
    throw new Conflict(
      `The PostgreSQL that the tenant leaves has wal_level = ${rows[0]?.level}; set wal_level = logical in postgresql.conf, and restart it.`,
    );
}

async function dropPublications(db: Database | Transaction, mandatorId: number): Promise<void> {
  for (const name of [nameOf(mandatorId), newRowsOf(mandatorId)])
    await sql`drop publication if exists ${sql.id(name)}`.execute(db);
}

/** Publishes the rows of a tenant: all changes of most tables, and only the inserts of the others. */
export async function publish(db: Database, mandatorId: number, tables: readonly TenantTable[]): Promise<void> {
  await db.transaction().execute(async (trx) => {
    await dropPublications(trx, mandatorId);
    const listed = (some: readonly { name: string }[]) =>
      sql.join(some.map(({ name }) => sql`${sql.table(name)} where (mandator_id = ${sql.lit(mandatorId)})`));
    const changing = tables.filter(({ sendsChanges }) => sendsChanges);
    const growing = tables.filter(({ sendsChanges }) => !sendsChanges);
    await sql`
      create publication ${sql.id(nameOf(mandatorId))} for table ${listed([...changing, { name: 'move_mark' }])}
      with (publish = 'insert, update, delete')`.execute(trx);
    await sql`
      create publication ${sql.id(newRowsOf(mandatorId))} for table ${listed(growing)} with (publish = 'insert')`.execute(
      trx,
    );
  });
}

/** Ends the publication. Its slot, which would retain WAL for ever, is dropped even if the copy still uses it. */
export async function unpublish(db: Database, mandatorId: number): Promise<void> {
  await dropPublications(db, mandatorId);
  for (let looks = 0; looks < mostSlotLooks; looks++) {
    const { rows } = await sql<{ active: boolean }>`
      select active, case when active then pg_terminate_backend(active_pid)::text
        else pg_drop_replication_slot(slot_name)::text end
      from pg_replication_slots where slot_name = ${nameOf(mandatorId)} and database = current_database()`.execute(db);
    if (!rows[0]?.active) break;
    await pause(lookEvery);
  }
  await sql`delete from move_mark where mandator_id = ${mandatorId}`.execute(db);
}

export async function isSubscribed(db: Database, mandatorId: number): Promise<boolean> {
  const { rows } = await sql`
    select from pg_subscription where subname = ${nameOf(mandatorId)} and ${ofThisDatabase}`.execute(db);
  return rows.length > 0;
}

/** Whether PostgreSQL still has the WAL that the copy has not read. It may not after a failover, or if the WAL that it keeps is limited. */
export async function hasSlot(db: Database, mandatorId: number): Promise<boolean> {
  const { rows } = await sql`
    select from pg_replication_slots
    where slot_name = ${nameOf(mandatorId)} and database = current_database() and wal_status is distinct from 'lost'`.execute(
    db,
  );
  return rows.length > 0;
}

/**
 * Starts the copy. Rows count as copied only once they are on disk, and at a synchronous standby; otherwise a server could lose
 * them after they were compared.
 * @param from the URL at which the other PostgreSQL reaches the one that the tenant leaves
 * @throws Conflict when it cannot reach it, or may not subscribe
 */
export async function subscribe(db: Database, mandatorId: number, from: string): Promise<void> {
  await sql`
    create subscription ${sql.id(nameOf(mandatorId))} connection ${sql.lit(atPrimary(from))}
    publication ${sql.id(nameOf(mandatorId))}, ${sql.id(newRowsOf(mandatorId))} with (synchronous_commit = 'on')`
    .execute(db)
    .catch(({ message, detail = '' }: Error & { detail?: string }) => {
      const why = `${message}. ${detail}`.trim();
      throw new Conflict(
        `The PostgreSQL of --to cannot replicate from that of --from (DatabaseUrl, if left out): ${why} When that is fixed, run the same command again, or abandon the move with --undo.`,
      );
    });
}

/** Ends the copy. The PostgreSQL of the original need not answer. */
export async function unsubscribe(db: Database, mandatorId: number): Promise<void> {
  if (!(await isSubscribed(db, mandatorId))) return;
  const subscription = sql.id(nameOf(mandatorId));
  await sql`alter subscription ${subscription} disable`.execute(db);
  await sql`drop subscription ${subscription}`.execute(db).catch(async () => {
    // The slot stays in the database of the original until `unpublish` drops it.
    await sql`alter subscription ${subscription} set (slot_name = none)`.execute(db);
    await sql`drop subscription ${subscription}`.execute(db);
  });
}

/** How many tables have been copied, of how many. @throws Conflict when PostgreSQL cannot copy */
export async function readProgress(db: Database, mandatorId: number): Promise<{ ready: number; all: number }> {
  const { rows } = await sql<{ ready: number; all: number; failures: number }>`
    select count(*) filter (where srsubstate = 'r')::int as ready, count(*)::int as all,
      (select (apply_error_count + sync_error_count)::int from pg_stat_subscription_stats as stats
       where stats.subid = subscription.oid) as failures
    from pg_subscription as subscription join pg_subscription_rel on srsubid = subscription.oid
    where subname = ${nameOf(mandatorId)} and ${ofThisDatabase} group by subscription.oid`.execute(db);
  const [found] = rows;
  if (!found) throw new Conflict('The copy no longer has a subscription; start the move again.');
  // A lost connection counts as a failure too, but PostgreSQL reconnects.
  if (found.failures > 20)
    throw new Conflict(
      'PostgreSQL cannot copy the tenant; the log of the receiving PostgreSQL says why, in the lines of its logical replication worker.',
    );
  return found;
}

/** Writes a mark after everything written so far, and waits until the copy has it. @returns whether it arrived in time */
export async function catchUp(from: Database, to: Database, mandatorId: number, mostMs: number): Promise<boolean> {
  const { rows } = await sql<{ mark: string }>`
    insert into move_mark (mandator_id, mark) values (${mandatorId}, gen_random_uuid())
    on conflict (mandator_id) do update set mark = excluded.mark returning mark`.execute(from);
  for (const end = Date.now() + mostMs; ; await pause(lookEvery)) {
    const { rows: read } = await sql`
      select from move_mark where mandator_id = ${mandatorId} and mark = ${rows[0]?.mark}`.execute(to);
    if (read.length > 0) return true;
    if (Date.now() > end) return false;
  }
}
