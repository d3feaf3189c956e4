import { randomUUID } from 'node:crypto';
import type { IncomingMessage, RequestListener, ServerResponse } from 'node:http';
import type { Request, RequestHandler, Response } from 'express';
import type { Context, Viewer } from '../context.ts';
import type { Log } from '../log.ts';
import { endSpan, enterTrace, readTraceparent, traceFields, traceIdNow } from '../tracing.ts';

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

const traceOf = ({ headers }: IncomingMessage) => traceIdNow() ?? readTraceparent(headers['traceparent'])?.traceId;

/** Records each request as a span, from its first byte here to the end of its answer; probes are left out. */
export function traceRequests({ traces }: Pick<Context, 'traces'>, handler: RequestListener): RequestListener {
  if (!traces) return handler;
  return (message, answer) => {
    const { method = '', headers, url = '' } = message;
    if (probes.has(url)) return handler(message, answer);
    const how = { kind: 'SERVER', parent: headers['traceparent'] as string | undefined } as const;
    enterTrace(traces, method, how, (span) => {
      answer.on('close', () => {
        // By now Express has made them its own requests and responses.
        const [request, response] = [message as Request, answer as ServerResponse as Response];
        const { requestId, viewer } = (response.locals ?? {}) as { requestId?: string; viewer?: Viewer };
        const route = routeOf(request);
        const status = statusOf(response);
        span.updateName(`${method} ${route}`);
        span.setAttributes({
          'http.request.method': method,
          'http.route': route,
          'http.response.status_code': status,
          ...(requestId !== undefined && { 'roomgate.request_id': requestId }),
          ...(viewer && { 'roomgate.mandator': viewer.mandator }),
        });
        endSpan(span, status >= 500 ? { code: status } : undefined);
      });
      handler(message, answer);
    });
  };
}

/**
 * Gives each request its id: a usable `X-Request-Id`, or else its trace, or else a new UUID (contract 2). The id is set on the answer and in
 * `response.locals.requestId`. Writes one log line when the request has ended.
 */
export function identifyRequests(log: Log): RequestHandler {
  return (request, response, next) => {
    const given = String(request.headers['x-request-id'] ?? '').trim();
    const requestId = printableAscii.test(given) ? given : (traceOf(request) ?? randomUUID());
    const traced = traceFields();
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
        ...traced,
      };
      log[probes.has(route) ? 'debug' : 'info'](line, 'request');
    });
    next();
  };
}
