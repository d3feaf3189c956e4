import { createGunzip } from 'node:zlib';
import type { Request } from 'express';
import type { z } from 'zod';
import { Malformed, TooLarge, UnsupportedMediaType } from '../errors.ts';
import { readInput } from '../input.ts';

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

/** RFC 9112, 6.3. */
const hasBody = ({ headers }: Request) =>
  headers['transfer-encoding'] !== undefined || Number(headers['content-length'] ?? 0) > 0;

/**
 * A JSON body as it was sent and as its schema gives it, read whole: names in both spellings, faults as `readInput` tells
 * them.
 * @param mayBeEmpty without a body it is an object without members
 * @param mostBytes after inflating; past them: TooLarge
 * @throws UnsupportedMediaType; Malformed when it is not JSON in UTF-8; InvalidInput with every fault
 */
export async function readJson<T extends z.ZodType>(
  request: Request,
  { schema, mayBeEmpty = false }: { schema: T; mayBeEmpty?: boolean },
  mostBytes: number,
): Promise<{ sent: unknown; body: z.output<T> }> {
  if (mayBeEmpty && !hasBody(request)) return { sent: {}, body: readInput(schema, {}) };
  const chunks: Uint8Array[] = [];
  let size = 0;
  for await (const chunk of requestBody(request)) {
    size += chunk.length;
    if (size > mostBytes) throw new TooLarge(`The body is larger than ${mostBytes} bytes.`);
    chunks.push(chunk);
  }
  const sent = parseJson(Buffer.concat(chunks));
  return { sent, body: readInput(schema, sent) };
}

function parseJson(bytes: Buffer): unknown {
  if (bytes.length === 0) throw new Malformed('The body is empty: send JSON.');
  let text: string;
  try {
    text = new TextDecoder('utf-8', { fatal: true }).decode(bytes);
  } catch {
    throw new Malformed('The body is not UTF-8; encode it as UTF-8.');
  }
  try {
    return JSON.parse(text);
  } catch (error) {
    throw new Malformed(`The body is not JSON: ${(error as Error).message}.`);
  }
}
