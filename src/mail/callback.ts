/** The callback URL of a tenant, for the operator. */
import type { Context } from '../context.ts';
import { Conflict, NotFound } from '../errors.ts';
import type { ServerKind } from '../mail-servers/service.ts';
import { alignTenantWide, callbackUrl, findTenantWideCallback } from '../mail-subscriptions/service.ts';
import { getMandator } from '../tenants/service.ts';
import { alignCalendars } from './calendars.ts';

/**
 * The URL to which the mail server of a tenant sends notifications. The operator of a CalDAV server configures it there, so it
 * contains its secret and never changes. The other kinds get a URL from the service, with a separate secret for each calendar.
 * @throws NotFound for an unknown tenant, or one without a mail server; Conflict when the tenant has no calendar yet, or its
 * calendars are only published
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
  if (server.Kind === 'ICalendar')
    throw new Conflict(
      `The calendars of ${code} are published at addresses (ICalendar): they are read every few minutes, and no notifications are sent.`,
    );
  if (server.Kind !== 'CalDav') return { kind: server.Kind, url: callbackUrl(config, code) };
  const find = () => findTenantWideCallback(db, config, { mandatorId, mandator: code });
  let url = await find();
  if (url === undefined) {
    // Only if the URL is missing: the settings of a shell may lack tenants that the service knows.
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
