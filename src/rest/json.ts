import { hash } from 'node:crypto';
import type { Request, Response } from 'express';
import { lowerFirst } from '../fields.ts';
import { openSlices } from '../flow/slices.ts';
import { isKnown, sendText } from '../http/answers.ts';
import { jsonPieces, type LargeJson, mostAtOnce } from '../http/large-json.ts';
import { type Chunks, sendPieces } from '../http/pieces.ts';
import type { AnswerPlace } from './answer-place.ts';

function lowerKeys(value: unknown): unknown {
  if (Array.isArray(value)) return value.map(lowerKeys);
  if (value === null || typeof value !== 'object' || value instanceof Date) return value;
  return Object.fromEntries(Object.entries(value).map(([key, member]) => [lowerFirst(key), lowerKeys(member)]));
}

/** Whether the caller wants property names in camel case (specification 4.1). */
function wantsCamel(request: Request): boolean {
  const wanted = request.headers['x-jsonpropertyformat'];
  return typeof wanted === 'string' && wanted.trim().toLowerCase() === 'camel';
}

function toText(request: Request, body: unknown): string {
  return JSON.stringify(wantsCamel(request) ? lowerKeys(body) : body);
}

/** Adds to `Vary`. The first line is a fast path: nearly always only authentication has set the header. */
function varyByFormat(response: Response): void {
  if (response.getHeader('Vary') === 'Authorization') response.setHeader('Vary', 'Authorization, X-JsonPropertyFormat');
  else response.vary('Authorization, X-JsonPropertyFormat');
}

/**
 * Writes a body whose keys are in Pascal case, in the casing that the caller asked for.
 * @param place of the call, if the body may be large
 */
export function writeJson(
  request: Request,
  response: Response,
  body: unknown,
  type = 'application/json',
  place?: AnswerPlace,
): void {
  varyByFormat(response);
  const text = toText(request, body);
  if (text.length > mostAtOnce) place?.takeAtOnce();
  sendText(response, text, type);
}

/**
 * Writes the 200 of a GET or HEAD, as JSON like `writeJson` or as text of another type. Without an ETag it gets the hash of
 * its text. If the caller has that version (`If-None-Match`, contract 2), the answer is 304 without a body.
 * @param place of the call, if the body may be large
 * @returns whether it was written: not if it is large and no place is free
 */
export function writeTagged(
  request: Request,
  response: Response,
  body: unknown,
  type = 'application/json',
  place?: AnswerPlace,
): boolean {
  varyByFormat(response);
  const text = type === 'application/json' ? toText(request, body) : String(body);
  const etag = response.get('ETag') ?? `"${hash('sha1', text, 'base64url')}"`;
  const known = isKnown(request.headers, etag);
  if (!known && text.length > mostAtOnce && place?.takeIfFree() === false) return false;
  response.setHeader('ETag', etag);
  if (known) response.status(304).end();
  else sendText(response, text, type);
  return true;
}

/**
 * The same as `writeTagged` for an answer of megabytes, which has its ETag already. The hash of a text differs by its casing; this
 * one gets the casing as a part of it. @returns as `writeTagged`
 */
export async function writeLarge(
  request: Request,
  response: Response,
  body: LargeJson,
  chunks: Chunks,
  place?: AnswerPlace,
): Promise<boolean> {
  varyByFormat(response);
  const isCamel = wantsCamel(request);
  const etag = (response.get('ETag') ?? '').replace(/"$/, isCamel ? '-camel"' : '"');
  response.setHeader('ETag', etag);
  if (isKnown(request.headers, etag)) {
    response.status(304).end();
    return true;
  }
  const pieces = jsonPieces(body, isCamel ? lowerFirst : undefined);
  response.setHeader('Content-Type', 'application/json; charset=utf-8');
  const maySend = (length: number) => length <= mostAtOnce || place?.takeIfFree() !== false;
  return await sendPieces(response, pieces, chunks, openSlices(), maySend);
}
