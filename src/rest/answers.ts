import type { Request, Response } from 'express';
import type { Context } from '../context.ts';
import { LargeJson } from '../http/large-json.ts';
import { openChunks } from '../http/pieces.ts';
import { writeJson, writeLarge, writeTagged } from './json.ts';

export type RestAnswer = {
  status: number;
  /**
   * Written as JSON in the casing that the caller wants; a text if the route has a `type`. `LargeJson` is the 200 of a GET with an
   * ETag, by a route that says which of its answers are large (`isLarge`).
   */
  body?: unknown;
  headers?: Record<string, string>;
};

export async function writeAnswer(
  context: Context,
  { request, response }: { request: Request; response: Response },
  { status, headers = {}, body }: RestAnswer,
  type: string,
): Promise<void> {
  const isRead = request.method === 'GET' || request.method === 'HEAD';
  response.statusCode = status;
  response.setHeader('Cache-Control', isRead ? 'private, no-cache' : 'no-store');
  for (const name in headers) response.setHeader(name, headers[name] as string);
  if (body instanceof LargeJson)
    return writeLarge(request, response, body, context.once(openChunks)).finally(body.giveBack);
  if (body === undefined) response.end();
  else if (isRead && status === 200) writeTagged(request, response, body, type);
  else writeJson(request, response, body);
}
