/** Files for browsers: read once, kept in memory with ETag and gzip, and sent under a strict content policy. */
import { createHash } from 'node:crypto';
import fs from 'node:fs/promises';
import path from 'node:path';
import { promisify } from 'node:util';
import { gzip } from 'node:zlib';
import type { Request, RequestHandler, Response, Router } from 'express';
import { MethodNotAllowed } from '../errors.ts';
import { isKnown } from '../http/answers.ts';

const compress = promisify(gzip);

const directives = {
  'default-src': "'none'",
  'script-src': "'self'",
  'style-src': "'self'",
  'img-src': "'self' data:",
  'connect-src': "'self'",
  'base-uri': "'none'",
  'form-action': "'none'",
  'frame-ancestors': "'none'",
};

/** Only our own scripts, styles and calls; images may be data URLs. @param others further directives, and those that differ */
export const contentPolicy = (others: Readonly<Record<string, string>> = {}): string =>
  Object.entries({ ...directives, ...others })
    .map((directive) => directive.join(' '))
    .join('; ');

export const deniedPermissions = 'camera=(), microphone=(), geolocation=(), payment=(), usb=()';

export type WebFile = {
  /** A media type or a file extension, as `response.type` of Express takes it. */
  type: string;
  bytes: Buffer;
  /** Undefined: the file is sent uncompressed. */
  gzipped: Buffer | undefined;
  /** Hash of the bytes. */
  hash: string;
};

/**
 * A small file that is made for one answer. It is not compressed: each compression takes 256 KB while it waits for its turn, and
 * anybody may ask for thousands.
 */
export function makeAnswerFile(type: string, content: string | Buffer): WebFile {
  const bytes = Buffer.from(content);
  const hash = createHash('sha256').update(bytes).digest('base64url').slice(0, 22);
  return { type, bytes, gzipped: undefined, hash };
}

/** A file that is kept for all answers. */
export async function makeWebFile(type: string, content: string | Buffer): Promise<WebFile> {
  const file = makeAnswerFile(type, content);
  return { ...file, gzipped: await compress(file.bytes, { level: 9 }) };
}

/** Answers a GET or HEAD with 200, compressed where that is accepted, or 304. @param caching `no-cache`: revalidated each time */
export function sendWebFile(request: Request, response: Response, file: WebFile, caching = 'no-cache'): void {
  const { bytes, gzipped } = file;
  const isSmaller = gzipped !== undefined && gzipped.length < bytes.length;
  const small = isSmaller && request.acceptsEncodings('gzip') === 'gzip' ? gzipped : undefined;
  const body = small ?? bytes;
  const etag = `"${file.hash}${small ? '-gzip' : ''}"`;
  response.set('Cache-Control', caching).set('ETag', etag).vary('Accept-Encoding').type(file.type);
  if (isKnown(request.headers, etag)) {
    response.status(304).end();
    return;
  }
  if (small) response.set('Content-Encoding', 'gzip');
  response.set('Content-Length', String(body.length)).end(body);
}

/** Reads at the first call and keeps the result; reads again after a failure. */
export function readOnce<T>(read: () => Promise<T>): () => Promise<T> {
  let reading: Promise<T> | undefined;
  return () =>
    (reading ??= read().catch((error: unknown) => {
      reading = undefined;
      throw error;
    }));
}

type LoadFile = () => Promise<string | Buffer>;

/** The script of the sign-in form, for Swagger and GraphiQL. */
export const signInScript: Record<string, LoadFile> = {
  'sign-in.js': () => fs.readFile(path.join(import.meta.dirname, 'sign-in.js')),
};

/** Serves files below `/assets/`, each loaded on its first request. @param assets loaders by path */
export function serveAssets(router: Router, assets: Readonly<Record<string, LoadFile>>): void {
  for (const [name, load] of Object.entries(assets)) {
    const read = readOnce(async () => makeWebFile(path.extname(name), await load()));
    router.get(`/assets/${name}`, async (request, response) => sendWebFile(request, response, await read()));
  }
}

export const refuseMethod: RequestHandler = (request) => {
  throw new MethodNotAllowed(request.method, ['GET', 'HEAD']);
};
