/** The callback URL of a tenant, as its operators need it. */
import { sql } from 'kysely';
import type { Context } from '../context.ts';
import type { Database } from '../db/database.ts';
import { Conflict, NotFound } from '../errors.ts';
import type { ServerKind } from '../mail-servers/service.ts';
import { alignTenantWide, callbackUrl, makeSecret, withSecret } from '../mail-subscriptions/service.ts';
import { getMandator } from '../tenants/service.ts';
import { alignCalendars } from './calendars.ts';

/**
 * Where the mail server of a tenant sends its changes. With CalDav its operator sets that up: the URL has its secret and
 * stays the same. Each calendar of the other kinds has a secret of its own, which nobody needs to know.
 * @throws NotFound for a tenant that there is not, or without a mail server; Conflict when it has no calendar yet
 */
export async function openCallback(
  { config, db }: Pick<Context, 'config' | 'db'>,
  mandator: string,
): Promise<{ kind: ServerKind; url: string }> {
  const { mandatorId, code } = await getMandator(db, mandator);
  const server = config.MailServer[code];
  if (!server)
    throw new NotFound(
      `Tenant ${code} has no mail server; set MailServer.${code} (Kind, Url, User, Password) in appsettings.json or by variables (MailServer__${code}__Url=...), restart roomgate, and run this again.`,
    );
  const url = callbackUrl(config, code);
  if (server.Kind !== 'CalDav') return { kind: server.Kind, url };
  let id = await findTenantWide(db, mandatorId);
  if (id === undefined) {
    // Only now, as a shell may lack settings of other tenants that the service has.
    await alignCalendars(db, config);
    await alignTenantWide(db, config);
    id = await findTenantWide(db, mandatorId);
  }
  if (id === undefined)
    throw new Conflict(
      `Tenant ${code} has no calendar yet; give its resources a Mailbox, or name them in MailServer.${code}.Calendars.`,
    );
  return { kind: server.Kind, url: withSecret(url, makeSecret(config, 'callback', id)) };
}

async function findTenantWide(db: Database, mandatorId: number): Promise<number | undefined> {
  const { rows } = await sql<{ id: number }>`
    select id from mail_subscription
    where mandator_id = ${mandatorId} and calendar_id is null and kind = 'CalDav'
      and state in ('AwaitingFirstPush', 'Active', 'Suspect')
    order by id desc limit 1`.execute(db);
  return rows[0]?.id;
}
