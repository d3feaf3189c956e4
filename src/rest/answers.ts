import type { Request, Response } from 'express';
import type { Context, Viewer } from '../context.ts';
import { openLargeAnswers } from '../flow/large-answers.ts';
import { LargeJson } from '../http/large-json.ts';
import { openChunks } from '../http/pieces.ts';
import { writeJson, writeLarge, writeTagged } from './json.ts';

export type RestAnswer = {
  status: number;
  /**
   * Written as JSON in the casing that the caller wants; a text if the route has a `type`. `LargeJson` is the 200 of a GET with an
   * ETag, by a route that is not anonymous.
   */
  body?: unknown;
  headers?: Record<string, string>;
};

/** @throws LimitExceeded for a large answer, while too many others of the viewer or its tenant are under way */
export async function writeAnswer(
  context: Context,
  { request, response, viewer }: { request: Request; response: Response; viewer: Viewer },
  { status, headers = {}, body }: RestAnswer,
  type: string,
): Promise<void> {
  const isRead = request.method === 'GET' || request.method === 'HEAD';
  function setHeaders(): void {
    response.statusCode = status;
    response.setHeader('Cache-Control', isRead ? 'private, no-cache' : 'no-store');
    for (const name in headers) response.setHeader(name, headers[name] as string);
  }
  if (body instanceof LargeJson) {
    const write = async () => {
      setHeaders();
      await writeLarge(request, response, body, context.once(openChunks));
    };
    return context.once(openLargeAnswers).hold(viewer, write).finally(body.giveBack);
  }
  setHeaders();
  if (body === undefined) response.end();
  else if (isRead && status === 200) writeTagged(request, response, body, type);
  else writeJson(request, response, body);
}
