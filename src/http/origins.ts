import type { IncomingHttpHeaders } from 'node:http';
import type { Config } from '../config.ts';

/** Whether an Origin is our own: that of the host that the request was sent to, or of BaseUrl, which a proxy stands for. */
export function isOwnOrigin(
  origin: string,
  { host }: IncomingHttpHeaders,
  { BaseUrl }: Pick<Config, 'BaseUrl'>,
): boolean {
  const url = URL.parse(origin);
  return url !== null && (url.host === host || url.origin === new URL(BaseUrl).origin);
}
