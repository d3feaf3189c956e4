/** The callback URL of a tenant, as its operators need it. */
import type { Context } from '../context.ts';
import { Conflict, NotFound } from '../errors.ts';
import type { ServerKind } from '../mail-servers/service.ts';
import { alignTenantWide, callbackUrl, findTenantWideCallback } from '../mail-subscriptions/service.ts';
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
  if (server.Kind !== 'CalDav') return { kind: server.Kind, url: callbackUrl(config, code) };
  const find = () => findTenantWideCallback(db, config, { mandatorId, mandator: code });
  let url = await find();
  if (url === undefined) {
    // Only now, as a shell may lack settings of other tenants that the service has.
    await alignCalendars(db, config);
    await alignTenantWide(db, config);
    url = await find();
  }
  if (url === undefined)
    throw new Conflict(
      `Tenant ${code} has no calendar yet; give its resources a Mailbox, or name them in MailServer.${code}.Calendars.`,
    );
  return { kind: server.Kind, url };
}
