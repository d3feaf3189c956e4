/**
 * CalDav: one subscription for all calendars of a tenant, which the operator of its mail server configures there. Also the mail
 * servers of the settings as a subquery.
 */
import { type RawBuilder, sql } from 'kysely';
import type { Config } from '../config.ts';
import type { Database } from '../db/database.ts';
import { callbackUrl, withSecret } from './callback-url.ts';
import { openSecrets } from './secrets.ts';
import { isLive } from './states.ts';

/** The mail servers of the settings as a subquery with (mandator_id, code, kind, server_url, callback_url). */
export function serversOf(config: Config): RawBuilder<unknown> {
  const servers = Object.entries(config.MailServer).map(([mandator, { Kind, Url }]) => ({
    mandator,
    kind: Kind,
    url: Url,
    callback: callbackUrl(config, mandator),
  }));
  return sql`
    select mandator.id as mandator_id, mandator.code, setting.kind, setting.url as server_url,
      setting.callback as callback_url
    from jsonb_to_recordset(${JSON.stringify(servers)}::jsonb)
      as setting (mandator text, kind text, url text, callback text)
    join mandator on mandator.code = setting.mandator`;
}

/** Creates the subscription of each tenant that has CalDav calendars, and updates existing ones from the settings. */
export async function alignTenantWide(db: Database, config: Config): Promise<void> {
  const servers = serversOf(config);
  await sql`
    insert into mail_subscription (mandator_id, kind, server_url, callback_url, state, due_at)
    select mandator_id, kind, server_url, callback_url, 'AwaitingFirstPush', now() + interval '1 day'
    from (${servers}) as server
    where kind = 'CalDav' and exists (
        select from mail_calendar as calendar
        where calendar.mandator_id = server.mandator_id and calendar.kind = 'CalDav' and calendar.retired_at is null)
      and not exists (
        select from mail_subscription as present
        where present.mandator_id = server.mandator_id and present.calendar_id is null and ${isLive('present')})
    on conflict do nothing`.execute(db);
  await sql`
    with present as materialized (
      select present.mandator_id, present.id, server.server_url, server.callback_url
      from (${servers}) as server join mail_subscription as present using (mandator_id)
      where present.calendar_id is null and ${isLive('present')}
        and (present.server_url, present.callback_url) <> (server.server_url, server.callback_url)
      order by present.id for no key update of present skip locked
    )
    update mail_subscription as aligned set server_url = present.server_url, callback_url = present.callback_url
    from present where aligned.mandator_id = present.mandator_id and aligned.id = present.id`.execute(db);
}

/** The callback URL of a tenant's tenant-wide subscription, with its secret; undefined if it has none. */
export async function findTenantWideCallback(
  db: Database,
  config: Config,
  { mandatorId, mandator }: { mandatorId: number; mandator: string },
): Promise<string | undefined> {
  const { rows } = await sql<{ id: number }>`
    select id from mail_subscription as present
    where mandator_id = ${mandatorId} and calendar_id is null and kind = 'CalDav' and ${isLive('present')}
    order by id desc limit 1`.execute(db);
  const [found] = rows;
  return found && withSecret(callbackUrl(config, mandator), openSecrets(config).make('callback', found.id));
}
