/** How long a server, or a proxy before it, asks a page to wait. */

/** In seconds. Browsers' timers for more than 24 days fire at once. */
export const longestWait = 3_600;

/** The seconds of Retry-After (RFC 9110, 10.2.3), an hour at most; undefined where it asks for no wait. */
export function retryAfterOf(headers: Headers): number | undefined {
  const text = headers.get('retry-after')?.trim() ?? '';
  // Dates are by the clock of the sender; that of the device may be wrong.
  const now = Date.parse(headers.get('date') ?? '') || Date.now();
  const seconds = /^\d+$/.test(text) ? Number(text) : Math.ceil((Date.parse(text) - now) / 1_000);
  return seconds > 0 ? Math.min(seconds, longestWait) : undefined;
}
