import type { IncomingMessage } from 'node:http';
import type { Context } from '../context.ts';
import { Forbidden } from '../errors.ts';
import { isOwnOrigin } from '../http/origins.ts';

/**
 * Whether a WebSocket handshake is allowed by its Origin: the host that the request was sent to, that of BaseUrl, or one
 * listed in Cors.Origins. Programs other than browsers send no Origin.
 */
export function isWelcome({ headers }: IncomingMessage, config: Context['config']): boolean {
  const { origin } = headers;
  if (origin === undefined || config.Cors.Origins.includes(origin)) return true;
  return isOwnOrigin(origin, headers, config);
}

/** @throws Forbidden for any other Origin */
export function checkOrigin(request: IncomingMessage, config: Context['config']): void {
  if (!isWelcome(request, config))
    throw new Forbidden(
      'Pages of this origin may open no WebSocket here; whoever runs this server lists it in the setting Cors.Origins.',
    );
}
