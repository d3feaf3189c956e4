/** Files for browsers: read once, kept in memory with ETag and gzip, and sent under a strict content policy. */
import { createHash } from 'node:crypto';
import { promisify } from 'node:util';
import { gzip } from 'node:zlib';
import type { Request, RequestHandler, Response } from 'express';
import { MethodNotAllowed } from '../errors.ts';

const compress = promisify(gzip);

/** Only our own scripts, styles and calls; images may be data URLs. */
export const contentPolicy = [
  `default-src 'none'`,
  `script-src 'self'`,
  `style-src 'self'`,
  `img-src 'self' data:`,
  `connect-src 'self'`,
  `base-uri 'none'`,
  `form-action 'none'`,
  `frame-ancestors 'none'`,
].join('; ');

export type WebFile = {
  /** As in Express's `response.type`. */
  type: string;
  bytes: Buffer;
  gzipped: Buffer;
  /** Hash of the bytes. */
  hash: string;
};

export async function makeWebFile(type: string, content: string | Buffer): Promise<WebFile> {
  const bytes = Buffer.from(content);
  const hash = createHash('sha256').update(bytes).digest('base64url').slice(0, 22);
  return { type, bytes, gzipped: await compress(bytes, { level: 9 }), hash };
}

/** Unlike Express's `request.fresh`, ignores `Cache-Control: no-cache`, which fetch adds by itself. */
function isFresh(request: Request, response: Response): boolean {
  const known = request.get('If-None-Match')?.split(',') ?? [];
  return known.some((tag) => tag.trim().replace(/^W\//, '') === response.get('ETag'));
}

/** Answers a GET or HEAD with 200, compressed where that is accepted, or 304; browsers revalidate each time. */
export function sendWebFile(request: Request, response: Response, file: WebFile): void {
  const small = request.acceptsEncodings('gzip') === 'gzip' && file.gzipped.length < file.bytes.length;
  const body = small ? file.gzipped : file.bytes;
  response
    .set('Cache-Control', 'no-cache')
    .set('ETag', `"${file.hash}${small ? '-gzip' : ''}"`)
    .vary('Accept-Encoding')
    .type(file.type);
  if (isFresh(request, response)) {
    response.status(304).end();
    return;
  }
  if (small) response.set('Content-Encoding', 'gzip');
  response.set('Content-Length', String(body.length)).end(body);
}

export const refuseMethod: RequestHandler = (request) => {
  throw new MethodNotAllowed(`${request.method} is not possible here; use GET.`, ['GET', 'HEAD']);
};
