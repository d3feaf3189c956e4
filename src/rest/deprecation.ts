import type { Response } from 'express';

/** When the legacy addresses and credentials became deprecated, and when they end (contract 10). */
const deprecatedSince = Date.UTC(2026, 10, 20);
const sunset = Date.UTC(2028, 0, 1);

/**
 * Sets the headers that announce the end of the called address: Deprecation (RFC 9745), Sunset (RFC 8594) and Link.
 * @param links.documentation URL of a page that describes the change
 * @param links.successor URL of the replacement
 */
export function markDeprecated(
  response: Response,
  { documentation, successor }: { documentation: string | undefined; successor: string | undefined },
): void {
  response.set({ Deprecation: `@${deprecatedSince / 1_000}`, Sunset: new Date(sunset).toUTCString() });
  if (documentation) response.append('Link', `<${documentation}>; rel="deprecation"; type="text/html"`);
  if (successor) response.append('Link', `<${successor}>; rel="successor-version"`);
}
