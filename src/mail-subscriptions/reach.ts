/** Checks whether mail servers can reach the callback URL, as far as that can be checked from here. */
import { BlockList, isIP } from 'node:net';
import type { Config, MailServerSettings } from '../config.ts';
import type { Finding, Judgment } from '../finding.ts';
import { isLocalName, isPublic } from '../http/public-fetch.ts';
import { AnswerTooLarge, fetchBounded } from '../http/safe-fetch.ts';
import type { ServerKind } from '../mail-servers/service.ts';
import { type CallbackSettings, callbackUrl } from './callback-url.ts';

const answerWithinMs = 5_000;
const mostBytes = 65_536;
const loopback = new BlockList();
loopback.addSubnet('127.0.0.0', 8);
loopback.addAddress('::1', 'ipv6');

type Reach = 'this machine' | 'a private network' | 'anywhere';

/** Mail servers that send from the internet, and only to https URLs. */
const clouds: Partial<Record<ServerKind, string>> = { Graph: 'Microsoft 365', Google: 'Google' };

/** The reach of a host by its name alone, as other machines may resolve the name to another address. */
function reachOf({ hostname }: URL): Reach {
  const host = hostname.replace(/^\[|\]$/g, '');
  const family = isIP(host) === 6 ? 'ipv6' : 'ipv4';
  if (isLocalName(host) || loopback.check(host, family)) return 'this machine';
  return isIP(host) && !isPublic(host) ? 'a private network' : 'anywhere';
}

/** The setting that has decided on the callback URL (specification 6). */
function settingOf(settings: CallbackSettings): string {
  if (settings.MailServerPushNotificationEndpointUrl !== undefined) return 'MailServerPushNotificationEndpointUrl';
  return settings.MailServerPushNotificationUseLegacyEndpoint ? 'RoomsHost' : 'IdpUrl';
}

/** What is wrong with a callback URL, judged by its text alone; undefined for nothing. */
function judge(
  callback: URL,
  setting: string,
  { Kind, Url }: Pick<MailServerSettings, 'Kind' | 'Url'>,
): Judgment | undefined {
  if (reachOf(new URL(Url)) === 'this machine') return undefined;
  const place = reachOf(callback);
  const cloud = clouds[Kind];
  const remedy = `Set ${setting} to an https URL that the mail server can reach.`;
  if (place === 'this machine')
    return {
      level: 'fault',
      text: 'means this machine on every machine, so no mail server reaches it',
      remedy,
    };
  if (place === 'a private network' && cloud)
    return { level: 'fault', text: `is in a private network, which ${cloud} cannot reach`, remedy };
  if (callback.protocol !== 'https:')
    return {
      level: cloud ? 'fault' : 'warning',
      text: `is not an https URL: notifications could be read in transit, and ${cloud ?? 'Microsoft 365'} does not accept it`,
      remedy,
    };
  return undefined;
}

const certificateFault = /CERT|SELF_SIGNED|UNABLE_TO_(GET|VERIFY)|ERR_TLS/;

/** Probes the callback URL with a GET, which a correct set-up answers 405. */
async function probe(callback: URL, kind: ServerKind): Promise<Judgment> {
  const remedy = `Publish the path ${callback.pathname} on the proxy, and check there what happens to a GET.`;
  try {
    const answer = await fetchBounded(callback, { signal: AbortSignal.timeout(answerWithinMs) }, mostBytes);
    const isOurs = answer.status === 405 && answer.headers.get('content-type')?.startsWith('application/problem+json');
    if (isOurs) return { level: 'ok', text: 'answers' };
    return { level: 'fault', text: `does not lead here: a GET is answered ${answer.status}`, remedy };
  } catch (error) {
    if (error instanceof AnswerTooLarge)
      return { level: 'fault', text: 'does not lead here: a GET is answered with a long page', remedy };
    const { name } = error as Error;
    const code = name === 'TimeoutError' ? name : ((error as NodeJS.ErrnoException).code ?? name);
    if (certificateFault.test(code))
      return {
        level: clouds[kind] ? 'fault' : 'warning',
        text: `has a certificate that is not trusted here (${code})`,
        remedy:
          'Give the proxy a certificate of an authority that the mail server trusts; if it is your own authority, make it known to this machine with NODE_EXTRA_CA_CERTS.',
      };
    return {
      level: 'warning',
      text: `does not answer from here (${code}); mail servers may still reach it`,
      remedy,
    };
  }
}

/** Examines the callback URL of one tenant. */
export async function examineCallback(config: Config, mandator: string): Promise<Finding> {
  const server = config.MailServer[mandator] as MailServerSettings;
  const address = callbackUrl(config, mandator);
  const callback = new URL(address);
  const setting = settingOf(config);
  const judged = judge(callback, setting, server) ?? (await probe(callback, server.Kind));
  const text = `${mandator}: ${callback.origin}${callback.pathname}, by ${setting}, ${judged.text}`;
  return { ...judged, check: 'Mail callback', text };
}
