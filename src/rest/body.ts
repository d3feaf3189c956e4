import { pipeline } from 'node:stream/promises';
import { createGunzip } from 'node:zlib';
import type { Request } from 'express';
import { Malformed, TooLarge, UnsupportedMediaType } from '../errors.ts';
import { type BodySender, openMemory } from '../http/body-memory.ts';
import {
  type BodyLimits,
  codingOf,
  hasBody,
  isJson,
  largestOf,
  type Pace,
  parseJson,
  streamBytes,
} from '../http/request-body.ts';

const tooLarge = (most: number) => new TooLarge(`The body is larger than ${most} bytes; send less at a time.`);

/** x-gzip is an older name of gzip: RFC 9110, section 8.4.1.3. */
const gzipNames = ['gzip', 'x-gzip'];

/**
 * Yields the bytes of a JSON request body as they arrive, decompressed if its Content-Encoding is gzip.
 * @param most the caller refuses more bytes; a body that is announced to have more is not read
 * @param refusal the error for that
 * @throws UnsupportedMediaType for another type, charset or encoding; TooLarge; Malformed for broken gzip; RequestTimeout
 */
export function requestBody(
  request: Request,
  pace: Pace,
  most: number,
  refusal: (most: number) => TooLarge = tooLarge,
): AsyncIterable<Uint8Array> {
  const type = request.get('content-type') ?? '';
  if (!isJson(request))
    throw new UnsupportedMediaType(
      `Content-Type is ${type === '' ? 'missing' : JSON.stringify(type.slice(0, 100))}; send application/json in UTF-8.`,
    );
  const coding = codingOf(request, gzipNames);
  const sent = streamBytes(request, pace);
  if (coding === 'identity') {
    if (Number(request.get('content-length')) > most) throw refusal(most);
    return sent;
  }
  return inflate(sent);
}

async function* inflate(sent: AsyncIterable<Uint8Array>): AsyncGenerator<Uint8Array> {
  const gunzip = createGunzip();
  // An error of the input reaches the reader through gunzip.
  pipeline(sent, gunzip).catch(() => {});
  try {
    yield* gunzip;
  } catch (error) {
    if ((error as { code?: string }).code?.startsWith('Z_')) throw new Malformed('The body is not valid gzip data.');
    throw error;
  } finally {
    gunzip.destroy();
  }
}

/**
 * Reads a whole JSON body. With `mayBeEmpty`, a missing body is read as `{}`.
 * @returns the body as sent
 * @throws TooLarge for more than BodyBytes after decompression; UnsupportedMediaType; Malformed unless it is JSON in UTF-8;
 * LimitExceeded, Unavailable as `openMemory`
 */
export async function readJson(
  request: Request,
  { mayBeEmpty = false }: { mayBeEmpty?: boolean },
  sender: BodySender,
  limits: BodyLimits,
): Promise<unknown> {
  if (mayBeEmpty && !hasBody(request)) return {};
  const memory = openMemory(sender, largestOf(limits));
  try {
    let size = 0;
    for await (const chunk of requestBody(request, limits, limits.BodyBytes)) {
      size += chunk.length;
      if (size > limits.BodyBytes) throw tooLarge(limits.BodyBytes);
      memory.append(chunk);
    }
    return parseJson(memory.bytes());
  } finally {
    memory.clear();
  }
}
