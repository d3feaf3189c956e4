import type { Response } from 'express';

/** The legacy ways in: since when they are deprecated, and when they end (contract 10). */
const deprecatedSince = Date.UTC(2026, 10, 20);
const sunset = Date.UTC(2028, 0, 1);

/**
 * Says on an answer that what was called will end: Deprecation (RFC 9745), Sunset (RFC 8594) and the links to
 * @param links.documentation what changes, where a page here says so
 * @param links.successor what to use instead, where there is such a thing here
 */
export function markDeprecated(
  response: Response,
  { documentation, successor }: { documentation: string | undefined; successor: string | undefined },
): void {
  response.set({ Deprecation: `@${deprecatedSince / 1_000}`, Sunset: new Date(sunset).toUTCString() });
  if (documentation) response.append('Link', `<${documentation}>; rel="deprecation"; type="text/html"`);
  if (successor) response.append('Link', `<${successor}>; rel="successor-version"`);
}
