/** The callback URL, to which a mail server sends its notifications (specification 6), and its query. */
import type { Config } from '../config.ts';

/** `legacyPath` is the path of the former product. */
export const callbackPaths = {
  path: '/api/webhooks/mailserver',
  legacyPath: '/WebServices/SyncNotification.svc',
} as const;

export type CallbackSettings = Pick<
  Config,
  'IdpUrl' | 'RoomsHost' | 'MailServerPushNotificationEndpointUrl' | 'MailServerPushNotificationUseLegacyEndpoint'
>;

/** The callback URL of a tenant, chosen by the specification's precedence, without the secret of a subscription. */
export function callbackUrl(settings: CallbackSettings, mandator: string): string {
  const { IdpUrl, RoomsHost, MailServerPushNotificationEndpointUrl: own } = settings;
  if (own !== undefined) return own;
  if (settings.MailServerPushNotificationUseLegacyEndpoint)
    return `${RoomsHost}${callbackPaths.legacyPath}?${mandator}`;
  return `${IdpUrl}${callbackPaths.path}`;
}

/**
 * The callback URL of one subscription. A fragment is left out, as HTTP clients do not send it.
 * @param secret a secret of `openSecrets`, which needs no encoding
 */
export function withSecret(callback: string, secret: string): string {
  const [url = ''] = callback.split('#', 1);
  const separator = !url.includes('?') ? '?' : /[?&]$/.test(url) ? '' : '&';
  return `${url}${separator}k=${secret}`;
}

/** The query of a notification's URL. */
export type CallbackQuery = {
  /** All values of `k`, decoded. */
  secrets: readonly string[];
  /** All values of `validationToken`, decoded. */
  tokens: readonly string[];
};

const decodeForm = (text: string) => decodeURIComponent(text.replaceAll('+', ' '));

/**
 * Reads the query of a raw URL. A part without `=` is the tenant of the legacy path and is skipped: the secret alone decides.
 * Values are form-encoded, as Graph may write the spaces of its token as `+`.
 * @throws URIError when `k` or `validationToken` is not percent-encoded UTF-8
 */
export function readCallbackQuery(url: string): CallbackQuery {
  const secrets: string[] = [];
  const tokens: string[] = [];
  const cut = url.indexOf('?');
  for (const part of cut < 0 ? [] : url.slice(cut + 1).split('&')) {
    const end = part.indexOf('=');
    if (end < 0) continue;
    const name = part.slice(0, end);
    if (name === 'k') secrets.push(decodeForm(part.slice(end + 1)));
    else if (name === 'validationToken') tokens.push(decodeForm(part.slice(end + 1)));
  }
  return { secrets, tokens };
}
