/** Which requests become WebSockets. */
import type { IncomingMessage } from 'node:http';
import type { Context } from '../context.ts';
import { Forbidden } from '../errors.ts';
import { isOwnOrigin } from '../http/origins.ts';
import { normalizePath } from '../http/paths.ts';
import { hasBody } from '../http/request-body.ts';

const path = /^\/([a-z0-9_-]{1,64})\/graphql\/?(?:\?|$)/i;

/** The tenant of an upgrade request; undefined on other paths. */
export const mandatorOf = (request: IncomingMessage) => path.exec(normalizePath(request.url ?? ''))?.[1]?.toLowerCase();

/** Whether `Upgrade` lists WebSocket among its protocols (RFC 9110, 7.8). */
const offersWebSocket = ({ headers }: IncomingMessage) => /(?:^|,)\s*websocket\s*(?:,|$)/i.test(headers.upgrade ?? '');

/**
 * Whether a WebSocket handshake is allowed by its Origin: the host that the request was sent to, that of BaseUrl, or one
 * listed in Cors.Origins. Programs other than browsers send no Origin.
 */
function isWelcome({ headers }: IncomingMessage, config: Context['config']): boolean {
  const { origin } = headers;
  if (origin === undefined || config.Cors.Origins.includes(origin)) return true;
  return isOwnOrigin(origin, headers, config);
}

/** @throws Forbidden for a request for a WebSocket with any other Origin */
export function checkUpgrade(request: IncomingMessage, config: Context['config']): void {
  if (offersWebSocket(request) && !isWelcome(request, config))
    throw new Forbidden(
      'Pages of this origin may open no WebSocket here; whoever runs this server lists it in the setting Cors.Origins.',
    );
}

/** Whether a request becomes a WebSocket. */
export const acceptsUpgrade = (request: IncomingMessage, config: Context['config']): boolean =>
  request.method === 'GET' &&
  request.httpVersion === '1.1' &&
  !hasBody(request) &&
  offersWebSocket(request) &&
  mandatorOf(request) !== undefined &&
  isWelcome(request, config);
