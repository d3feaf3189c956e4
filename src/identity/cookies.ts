/**
 * The cookie of a session, and the proof that a call which brings it comes from the console's own page. Browsers also add
 * cookies to calls from pages of other ports and subdomains, so the cookie alone is no credential.
 */
import type { IncomingMessage } from 'node:http';
import type { Context, SessionCredential } from '../context.ts';
import { Forbidden } from '../errors.ts';
import { isOwnOrigin } from '../http/origins.ts';
import { hasBody } from '../http/request-body.ts';

type Settings = Pick<Context['config'], 'BaseUrl'>;

/** A header that a page of another origin can send only if CORS allows it. */
const consoleHeader = 'x-roomgate-console';
/** 256 bits in base64url, as a session's id is made. */
const sessionIdForm = /^[\w-]{43}$/;

const isSecure = ({ BaseUrl }: Settings) => BaseUrl.startsWith('https:');
const nameOf = (config: Settings, name: string) => `${isSecure(config) ? '__Secure-' : ''}roomgate_${name}`;

/** All values of one of our cookies; Node.js has bounded the length of the header. */
export function cookiesOf(request: IncomingMessage, config: Settings, name: 'session' | 'sign_in'): string[] {
  const start = `${nameOf(config, name)}=`;
  const parts = (request.headers.cookie ?? '').split(';').map((part) => part.trim());
  return parts.filter((part) => part.startsWith(start)).map((part) => part.slice(start.length));
}

/**
 * `Set-Cookie` for the paths of one tenant.
 * @param mandator the tenant's code
 * @param seconds 0 deletes it; undefined keeps it until the browser is closed
 */
export function writeCookie(
  config: Settings,
  mandator: string,
  cookie: { name: 'session' | 'sign_in'; value: string; sameSite: 'Strict' | 'Lax'; seconds?: number },
): string {
  const { name, value, sameSite, seconds } = cookie;
  const root = new URL(config.BaseUrl).pathname.replace(/\/$/, '');
  return [
    `${nameOf(config, name)}=${value}`,
    `Path=${root}/${mandator.toLowerCase()}/`,
    'HttpOnly',
    `SameSite=${sameSite}`,
    ...(isSecure(config) ? ['Secure'] : []),
    ...(seconds === undefined ? [] : [`Max-Age=${seconds}`]),
  ].join('; ');
}

/** Why a request does not come from the console's own page; undefined if it does. */
function findStranger(request: IncomingMessage, config: Settings, isUpgrade: boolean): string | undefined {
  const { headers } = request;
  const { origin, 'sec-fetch-site': site } = headers;
  if (site === undefined ? origin !== undefined && !isOwnOrigin(origin, headers, config) : site !== 'same-origin')
    return 'the call comes from a page of another site; open the console of this server itself';
  // Pages cannot set headers of a WebSocket handshake, but every browser sends their origin there.
  if (isUpgrade)
    return origin === undefined || !isOwnOrigin(origin, headers, config)
      ? 'a WebSocket needs the Origin of this server'
      : undefined;
  if (headers[consoleHeader] !== '1') return 'the call needs the header X-Roomgate-Console: 1';
  const type = headers['content-type'];
  if (hasBody(request) && !/^application\/json\s*(;|$)/i.test(type ?? ''))
    return 'a body must be of the type application/json';
  return undefined;
}

/** @throws Forbidden for a request from any page but the console */
export function checkOwnPage(request: IncomingMessage, config: Settings): void {
  const fault = findStranger(request, config, false);
  if (fault !== undefined) throw new Forbidden(`This is only for the console's own page: ${fault}.`);
}

/** The session that a request brings, valid or not; undefined without a cookie of ours. */
export function sessionOf(
  request: IncomingMessage,
  config: Settings,
  isUpgrade = false,
): SessionCredential | undefined {
  const ids = cookiesOf(request, config, 'session');
  if (ids.length === 0) return undefined;
  const fault = findStranger(request, config, isUpgrade);
  if (fault !== undefined)
    return { fault: `The cookie of a session is accepted only from the console's own page: ${fault}.` };
  // Of two, one may have been planted by another site of the domain.
  const [id = ''] = new Set(ids).size === 1 ? ids : [];
  return { id: sessionIdForm.test(id) ? id : '' };
}
