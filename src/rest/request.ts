import { randomUUID } from 'node:crypto';
import type { Request, RequestHandler, Response } from 'express';
import type { Viewer } from '../context.ts';
import type { Log } from '../log.ts';

const printableAscii = /^[\x20-\x7e]{1,128}$/;
const probes = new Set(['/healthz', '/readyz', '/metrics']);

/** The pattern of the route that answered. Unlike the URL it has no ids or secrets, and is fit for a metric's label. */
export function routeOf({ route, originalUrl }: Request): string {
  if (route) return String(route.path);
  // GraphQL, or a refusal before any route: Express no longer knows where the handler was mounted.
  const [, door] = /^\/[^/?]+\/(api|graphql)(?=[/?]|$)/i.exec(originalUrl) ?? [];
  return door ? `/:mandator/${door.toLowerCase()}` : 'none';
}

/** Aborts when the client disconnects before its whole answer; not after it, as aborting a signal is costly. */
export function signalOf(response: Response): AbortSignal {
  const gone = new AbortController();
  const onClose = () => {
    if (!response.writableFinished) gone.abort();
  };
  if (response.closed) onClose();
  else response.on('close', onClose);
  return gone.signal;
}

/** The status that was sent; 499 if the client disconnected before. */
export function statusOf(response: Response): number {
  return response.headersSent ? response.statusCode : 499;
}

/**
 * Gives each request its id: a usable `X-Request-Id`, or else a new UUID (contract 2). The id is set on the answer and in
 * `response.locals.requestId`. Writes one log line when the request has ended.
 */
export function identifyRequests(log: Log): RequestHandler {
  return (request, response, next) => {
    const given = String(request.headers['x-request-id'] ?? '').trim();
    const requestId = printableAscii.test(given) ? given : randomUUID();
    response.locals['requestId'] = requestId;
    response.setHeader('X-Request-Id', requestId);
    const started = performance.now();
    response.on('close', () => {
      const viewer: Viewer | undefined = response.locals['viewer'];
      const route = routeOf(request);
      const line = {
        requestId,
        method: request.method,
        route,
        status: statusOf(response),
        ms: Math.round(performance.now() - started),
        mandator: viewer?.mandator,
        personId: viewer?.personId,
        ...(response.writableFinished ? {} : { aborted: true }),
      };
      log[probes.has(route) ? 'debug' : 'info'](line, 'request');
    });
    next();
  };
}
