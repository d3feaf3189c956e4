import { hash } from 'node:crypto';
import type { Request, Response } from 'express';
import { lowerFirst } from '../fields.ts';

function lowerKeys(value: unknown): unknown {
  if (Array.isArray(value)) return value.map(lowerKeys);
  if (value === null || typeof value !== 'object' || value instanceof Date) return value;
  return Object.fromEntries(Object.entries(value).map(([key, member]) => [lowerFirst(key), lowerKeys(member)]));
}

/** Whether the caller asked for camel-case property names (specification 4.1). */
function wantsCamel(request: Request): boolean {
  const wanted = request.headers['x-jsonpropertyformat'];
  return typeof wanted === 'string' && wanted.trim().toLowerCase() === 'camel';
}

function toText(request: Request, body: unknown): string {
  return JSON.stringify(wantsCamel(request) ? lowerKeys(body) : body);
}

/** The length is said here because Node says none to a HEAD. A text leaves in one write with its headers, bytes do not. */
function writeText(response: Response, text: string, type: string): void {
  const length = Buffer.byteLength(text);
  response.setHeader('Content-Type', `${type}; charset=utf-8`);
  response.setHeader('Content-Length', length);
  // Of ASCII alone both are the same bytes, and Node copies latin1 faster.
  response.end(text, length === text.length ? 'latin1' : 'utf8');
}

/** What the door has said it varies by, with the casing; nearly always that is all there is. */
function varyByFormat(response: Response): void {
  if (response.getHeader('Vary') === 'Authorization') response.setHeader('Vary', 'Authorization, X-JsonPropertyFormat');
  else response.vary('Authorization, X-JsonPropertyFormat');
}

/** Writes a body whose keys are in Pascal case, in the casing that the caller asked for. */
export function writeJson(request: Request, response: Response, body: unknown, type = 'application/json'): void {
  varyByFormat(response);
  writeText(response, toText(request, body), type);
}

/** Whether the caller has this already. Not `request.fresh`: that heeds `Cache-Control: no-cache`, which fetch adds by itself. */
export function isKnown(request: Request, etag: string): boolean {
  const known = request.headers['if-none-match'];
  if (known === undefined) return false;
  const opaque = (tag: string) => tag.trim().replace(/^W\//, '');
  return known.trim() === '*' || known.split(',').some((tag) => opaque(tag) === opaque(etag));
}

/**
 * Writes the 200 of a GET or HEAD as `writeJson` does, or a text of another type, with the ETag of its text unless it has
 * one already; or 304 and no body where the caller has them (`If-None-Match`, contract 2).
 */
export function writeTagged(request: Request, response: Response, body: unknown, type = 'application/json'): void {
  varyByFormat(response);
  const text = type === 'application/json' ? toText(request, body) : String(body);
  const etag = response.get('ETag') ?? `"${hash('sha1', text, 'base64url')}"`;
  response.setHeader('ETag', etag);
  if (isKnown(request, etag)) response.status(304).end();
  else writeText(response, text, type);
}
