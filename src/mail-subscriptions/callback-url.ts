/** Where a mail server sends its notifications (specification 6), and what it is told there. */
import type { Config } from '../config.ts';

/** `legacyPath` is that of the former product. */
export const callbackPaths = {
  path: '/api/webhooks/mailserver',
  legacyPath: '/WebServices/SyncNotification.svc',
} as const;

export type CallbackSettings = Pick<
  Config,
  'IdpUrl' | 'RoomsHost' | 'MailServerPushNotificationEndpointUrl' | 'MailServerPushNotificationUseLegacyEndpoint'
>;

/** By the specification's precedence; without the secret of a subscription. */
export function callbackUrl(settings: CallbackSettings, mandator: string): string {
  const { IdpUrl, RoomsHost, MailServerPushNotificationEndpointUrl: own } = settings;
  if (own !== undefined) return own;
  if (settings.MailServerPushNotificationUseLegacyEndpoint)
    return `${RoomsHost}${callbackPaths.legacyPath}?${mandator}`;
  return `${IdpUrl}${callbackPaths.path}`;
}

/**
 * The callback URL of one subscription. A fragment is left out: nobody would send it.
 * @param secret of `makeSecret`, which needs no encoding
 */
export function withSecret(callback: string, secret: string): string {
  const [url = ''] = callback.split('#', 1);
  const separator = !url.includes('?') ? '?' : /[?&]$/.test(url) ? '' : '&';
  return `${url}${separator}k=${secret}`;
}

/** What a notification's address says besides its path. */
export type CallbackQuery = {
  /** Each `k`, decoded. */
  secrets: readonly string[];
  /** Each `validationToken`, decoded. */
  tokens: readonly string[];
};

const decodeForm = (text: string) => decodeURIComponent(text.replaceAll('+', ' '));

/**
 * Reads a query as it came. What has no `=` is the tenant of the legacy path, which decides nothing: the secret does. The
 * rest is encoded as forms are, so that Graph's token may write spaces as `+`.
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
