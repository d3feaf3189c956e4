/** Reads Retry-After (RFC 9110, 10.2.3), in seconds or as a date, as milliseconds from now; undefined if there is none. */
export function readRetryAfter(headers: Headers): number | undefined {
  const text = headers.get('retry-after')?.trim() ?? '';
  if (/^\d+(\.\d+)?$/.test(text)) return Number(text) * 1_000;
  // Without a colon, the parser would take "-5" for a month.
  const date = text.includes(':') ? Date.parse(text) : Number.NaN;
  return Number.isNaN(date) ? undefined : Math.max(0, date - Date.now());
}
