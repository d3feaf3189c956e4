import { randomUUID } from 'node:crypto';
import type { Request, RequestHandler, Response } from 'express';
import type { Viewer } from '../context.ts';
import type { Log } from '../log.ts';

const printableAscii = /^[\x20-\x7e]{1,128}$/;
const probes = new Set(['/healthz', '/readyz', '/metrics']);

/** The pattern of the route that answered, never the URL: no ids, no secrets, and few enough to be a metric's label. */
export function routeOf({ route, originalUrl }: Request): string {
  if (route) return String(route.path);
  // Refused at a tenant's door, or GraphQL: Express has forgotten by now where it was mounted.
  const [, door] = /^\/[^/?]+\/(api|graphql)(?=[/?]|$)/i.exec(originalUrl) ?? [];
  return door ? `/:mandator/${door.toLowerCase()}` : 'none';
}

/** Ends when the client has gone without its whole answer; afterwards nobody asks, and ending a signal is costly. */
export function signalOf(response: Response): AbortSignal {
  const gone = new AbortController();
  const onClose = () => {
    if (!response.writableFinished) gone.abort();
  };
  if (response.closed) onClose();
  else response.on('close', onClose);
  return gone.signal;
}

/** The status that was sent; 499 for a client that left before there was one. */
export function statusOf(response: Response): number {
  return response.headersSent ? response.statusCode : 499;
}

/**
 * Gives every request its id (contract 2: `X-Request-Id` as it came if it is usable, else a new UUID), which stands on the
 * answer and in `response.locals.requestId`, and writes one log line when the request has ended.
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
