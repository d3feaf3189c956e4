import type { IncomingHttpHeaders } from 'node:http';
import type { Config } from '../config.ts';

/** Whether an Origin is our own: that of the host to which the request was sent, or of BaseUrl behind a proxy. */
export function isOwnOrigin(
  origin: string,
  { host }: IncomingHttpHeaders,
  { BaseUrl }: Pick<Config, 'BaseUrl'>,
): boolean {
  const url = URL.parse(origin);
  return url !== null && (url.host === host || url.origin === new URL(BaseUrl).origin);
}
