/** Whole answers over HTTP: their text, and whether the client has it already. */
import type { IncomingHttpHeaders, ServerResponse } from 'node:http';

/**
 * Whether `If-None-Match` has the ETag, by the weak comparison of RFC 9110, 13.1.2: a proxy that compresses makes ETags
 * weak. Express's `request.fresh` would obey `Cache-Control: no-cache`, which fetch adds.
 */
export function isKnown({ 'if-none-match': known }: IncomingHttpHeaders, etag: string): boolean {
  if (known === undefined) return false;
  const opaque = (tag: string) => tag.trim().replace(/^W\//, '');
  return known.trim() === '*' || known.split(',').some((tag) => opaque(tag) === opaque(etag));
}

/** Sets Content-Length, which Node omits for HEAD. Unlike a buffer, a string is sent in one write with the headers. */
export function sendText(response: ServerResponse, text: string, type: string): void {
  const length = Buffer.byteLength(text);
  response.setHeader('Content-Type', `${type}; charset=utf-8`);
  response.setHeader('Content-Length', length);
  // For ASCII both encodings give the same bytes, and Node copies latin1 faster.
  response.end(text, length === text.length ? 'latin1' : 'utf8');
}
