import { hash } from 'node:crypto';
import type { Request, Response } from 'express';
import { lowerFirst } from '../fields.ts';
import { openSlices } from '../flow/slices.ts';
import { isKnown, sendText } from '../http/answers.ts';
import { jsonPieces, type LargeJson } from '../http/large-json.ts';
import { type Chunks, sendPieces } from '../http/pieces.ts';

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

/** Writes a body whose keys are in Pascal case, in the casing that the caller asked for. */
export function writeJson(request: Request, response: Response, body: unknown, type = 'application/json'): void {
  varyByFormat(response);
  sendText(response, toText(request, body), type);
}

/**
 * Writes the 200 of a GET or HEAD, as JSON like `writeJson` or as text of another type. Without an ETag it gets the hash of
 * its text. If the caller has that version (`If-None-Match`, contract 2), the answer is 304 without a body.
 */
export function writeTagged(request: Request, response: Response, body: unknown, type = 'application/json'): void {
  varyByFormat(response);
  const text = type === 'application/json' ? toText(request, body) : String(body);
  const etag = response.get('ETag') ?? `"${hash('sha1', text, 'base64url')}"`;
  response.setHeader('ETag', etag);
  if (isKnown(request.headers, etag)) response.status(304).end();
  else sendText(response, text, type);
}

/**
 * The same as `writeTagged` for an answer of megabytes, which has its ETag already. The hash of a text differs by its casing; this
 * one gets the casing as a part of it.
 */
export async function writeLarge(request: Request, response: Response, body: LargeJson, chunks: Chunks): Promise<void> {
  varyByFormat(response);
  const isCamel = wantsCamel(request);
  const etag = (response.get('ETag') ?? '').replace(/"$/, isCamel ? '-camel"' : '"');
  response.setHeader('ETag', etag);
  if (isKnown(request.headers, etag)) response.status(304).end();
  else {
    const pieces = jsonPieces(body, isCamel ? lowerFirst : undefined);
    response.setHeader('Content-Type', 'application/json; charset=utf-8');
    await sendPieces(response, pieces, chunks, openSlices());
  }
}
