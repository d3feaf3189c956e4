import type { Request, Response } from 'express';
import type { Context } from '../context.ts';
import { LargeJson } from '../http/large-json.ts';
import { openChunks } from '../http/pieces.ts';
import type { AnswerPlace } from './answer-place.ts';
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

/** @returns whether it was written: not the answer of a read that is large while no place is free for it */
export async function writeAnswer(
  context: Context,
  { request, response }: { request: Request; response: Response },
  { status, headers = {}, body }: RestAnswer,
  type: string,
  place: AnswerPlace,
): Promise<boolean> {
  const isRead = request.method === 'GET' || request.method === 'HEAD';
  response.statusCode = status;
  response.setHeader('Cache-Control', isRead ? 'private, no-cache' : 'no-store');
  for (const name in headers) response.setHeader(name, headers[name] as string);
  let isWritten = true;
  if (body instanceof LargeJson)
    isWritten = await writeLarge(request, response, body, context.once(openChunks), place).finally(body.giveBack);
  else if (body === undefined) response.end();
  else if (isRead && status === 200) isWritten = writeTagged(request, response, body, type, place);
  else writeJson(request, response, body, undefined, place);
  // What comes in its place may be an error.
  if (!isWritten) for (const name of [...Object.keys(headers), 'Content-Type']) response.removeHeader(name);
  return isWritten;
}
