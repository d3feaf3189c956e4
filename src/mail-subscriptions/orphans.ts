/** Orphans: subscriptions that exist on a mail server but not here. They send useless notifications until they expire. */
import { sql } from 'kysely';
import type { Config } from '../config.ts';
import type { Database } from '../db/database.ts';
import { callbackUrl, readCallbackQuery, withSecret } from './callback-url.ts';
import { openSecrets, type Secrets } from './secrets.ts';
import { isEnded, isLive } from './states.ts';
import type { MailTenant } from './work.ts';

/** The most rows that are taken at a time. */
const mostTaken = 16;

type Listed = { externalId: string; callback: string };

/**
 * Whether the subscriptions of the tenant `server.mandator_id` are to be listed: once an hour, and when one has ended since the
 * last listing; at most once a minute, and every five minutes after a failure. Only Graph can list its subscriptions.
 */
export const listingIsDue = sql<boolean>`(server.kind = 'Graph' and not exists (
  select from mail_server as last
  where last.mandator_id = server.mandator_id and not (
    last.tried_at < now() - case when last.listed_at = last.tried_at then interval '1 minute' else interval '5 minutes' end
    and (last.listed_at is null or last.listed_at < now() - interval '1 hour' or exists (
      select from mail_subscription as gone
      where gone.mandator_id = last.mandator_id and gone.kind = 'Graph' and ${isEnded('gone')}
        and gone.state_since >= last.listed_at)))))`;

/** @returns when this listing began; undefined when none is due, or another worker has just begun one */
export async function beginListing(db: Database, mandatorId: number): Promise<Date | undefined> {
  const { rows } = await sql<{ triedAt: Date }>`
    insert into mail_server (mandator_id, tried_at)
    select mandator_id, date_trunc('milliseconds', now())
    from (values (${mandatorId}::integer, 'Graph')) as server (mandator_id, kind) where ${listingIsDue}
    on conflict (mandator_id) do update set tried_at = excluded.tried_at
    returning tried_at as "triedAt"`.execute(db);
  return rows[0]?.triedAt;
}

export async function endListing(db: Database, mandatorId: number, triedAt: Date): Promise<void> {
  await sql`
    update mail_server set listed_at = tried_at
    where mandator_id = ${mandatorId} and tried_at = ${triedAt}`.execute(db);
}

/**
 * Whether a subscription of Google has ended here, but still pushes until it expires. Google cannot list its subscriptions, so each
 * is ended by its row; `due_at` says when this is tried.
 */
export const isLeftOver = (row: string) => sql<boolean>`(${sql.ref(`${row}.kind`)} = 'Google' and ${isEnded(row)}
  and ${sql.ref(`${row}.external_id`)} is not null and ${sql.ref(`${row}.expires_at`)} > now()
  and ${sql.ref(`${row}.due_at`)} <= now())`;

export type LeftOver = { id: number; externalId: string };

/** Takes some subscriptions that are left over. One that is not ended is due again after five minutes, and then twice as long each time. */
export async function takeLeftOver(db: Database, mandatorId: number): Promise<LeftOver[]> {
  const { rows } = await sql<LeftOver>`
    update mail_subscription set due_at = now() + greatest(interval '5 minutes', now() - state_since)
    where mandator_id = ${mandatorId} and id in (
      select id from mail_subscription as one where mandator_id = ${mandatorId} and ${isLeftOver('one')}
      order by due_at limit ${mostTaken} for no key update skip locked)
    returning id, external_id as "externalId"`.execute(db);
  return rows;
}

/** Stores that the mail server has ended a subscription that was left over. */
export async function storeEnded(db: Database, mandatorId: number, id: number): Promise<void> {
  await sql`update mail_subscription set expires_at = now() where mandator_id = ${mandatorId} and id = ${id}`.execute(
    db,
  );
}

type KnownSubscription = { id: number; mandatorId: number; externalId: string | null; isLive: boolean };

/**
 * Finds the orphans among the subscriptions that a mail server lists. One with our present callback URL is ours, and an orphan
 * unless a live row claims it (the row of an attempt under way has no external id yet). One with another callback URL may
 * belong to another installation, so it is an orphan only if an ended row has its external id.
 */
export async function findOrphans(
  db: Database,
  config: Config,
  tenant: MailTenant,
  listed: readonly Listed[],
): Promise<string[]> {
  const callback = callbackUrl(config, tenant.mandator);
  const secrets = openSecrets(config);
  const seen = listed.map((one) => ({ ...one, ...claimOf(secrets, callback, one.callback) }));
  const { rows } = await sql<KnownSubscription>`
    select id, mandator_id as "mandatorId", external_id as "externalId", ${isLive('one')} as "isLive" from mail_subscription as one
    where id = any (${seen.flatMap(({ id }) => id ?? [])}::integer[])
      or (mandator_id = ${tenant.mandatorId} and external_id = any (${listed.map(({ externalId }) => externalId)}::text[]))`.execute(
    db,
  );
  return seen.flatMap(({ externalId, id, isOurs }) => {
    const row = rows.find((known) => known.id === id);
    const isClaimed = row?.isLive && (row.externalId === null || row.externalId === externalId);
    const isEnded = rows.some(
      (known) => known.mandatorId === tenant.mandatorId && known.externalId === externalId && !known.isLive,
    );
    return (isOurs && !isClaimed) || isEnded ? [externalId] : [];
  });
}

/** The subscription for which a callback URL was made, and whether the present settings would make the same URL. */
function claimOf({ read }: Secrets, callback: string, url: string): { id: number | undefined; isOurs: boolean } {
  let secrets: readonly string[] = [];
  try {
    ({ secrets } = readCallbackQuery(url));
  } catch {
    // We do not make such URLs.
  }
  const [secret = ''] = secrets;
  return { id: read('callback', secret), isOurs: url === withSecret(callback, secret) };
}
