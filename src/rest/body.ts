import { createGunzip } from 'node:zlib';
import type { Request } from 'express';
import { Malformed, UnsupportedMediaType } from '../errors.ts';

/** Milliseconds without a byte after which a client is taken for gone. */
const mostSilence = 15_000;

/**
 * The bytes of a JSON request body as they arrive, inflated when they came with `Content-Encoding: gzip`.
 * @throws UnsupportedMediaType for another type, charset or encoding; Malformed for broken gzip or a body cut short
 */
export function requestBody(request: Request): AsyncIterable<Uint8Array> {
  const type = request.get('content-type') ?? '';
  if (!/^application\/json\s*(;\s*charset="?utf-8"?\s*)?$/i.test(type))
    throw new UnsupportedMediaType(
      `Content-Type is ${type === '' ? 'missing' : JSON.stringify(type.slice(0, 100))}; send application/json in UTF-8.`,
    );
  // Whoever stops sending must not keep what is waiting for the rest.
  request.setTimeout(mostSilence, () => request.destroy(new Error('the client has stopped sending')));
  const encoding = (request.get('content-encoding') ?? 'identity').toLowerCase();
  if (encoding === 'identity') return readToEnd(request);
  if (encoding !== 'gzip')
    throw new UnsupportedMediaType(
      `Content-Encoding ${encoding.slice(0, 40)} is not supported; use gzip or none.`,
    );
  return inflate(request);
}

/** A body that is given up is read past, not cut off: the client must be able to hear why. */
async function* readToEnd(request: Request): AsyncGenerator<Uint8Array> {
  try {
    yield* request.iterator({ destroyOnReturn: false });
  } finally {
    request.resume();
  }
}

async function* inflate(request: Request): AsyncGenerator<Uint8Array> {
  const gunzip = createGunzip();
  request.once('error', (error) => gunzip.destroy(error));
  request.once('aborted', () => gunzip.destroy(new Error('the client has gone')));
  try {
    for await (const chunk of request.pipe(gunzip)) yield chunk;
  } catch (error) {
    if ((error as { code?: string }).code?.startsWith('Z_'))
      throw new Malformed('The body is not valid gzip data.');
    throw error;
  } finally {
    request.unpipe(gunzip);
    request.resume();
    gunzip.destroy();
  }
}
