/**
 * A lane beside Express's stack, for the most frequent requests. Express would try the patterns of all routes one by
 * one; a stop is found by its whole path. It has the handlers of the stack, in their order. Requests without a stop go to
 * Express, and so does every path in another spelling: in upper case, with a slash at the end, or with a percent sign.
 */
import type { IncomingMessage, RequestListener, ServerResponse } from 'node:http';
import type { ErrorRequestHandler, Express, NextFunction, Request, RequestHandler, Response } from 'express';
import { normalizePath } from '../http/paths.ts';

export type LaneStop = {
  method: 'GET' | 'POST';
  /** The pattern of the Express route, for logs and metrics. */
  pattern: string;
  /** The name of the last segment, if it is a parameter. */
  parameter?: string | undefined;
  /** Authenticates the caller, then calls `next`. */
  door: RequestHandler;
  handler: RequestHandler;
};

type Handlers = {
  /** The handlers that run first; each calls `next` at once. */
  first: readonly RequestHandler[];
  /** The handlers that then run for the stops of tenants, in the same way. */
  ofTenants: readonly RequestHandler[];
  onError: ErrorRequestHandler;
};

const addressed = /^\/([\w-]+)(\/[\w./-]*[\w.-])(?:\?|$)/;
const nothing = () => {};

export type LaneStops = {
  /** By whole paths. */
  atRoot: ReadonlyMap<string, LaneStop>;
  /** By paths below the tenant, where a last segment that is a parameter is `:`; undefined: Express serves the path. */
  ofTenants: ReadonlyMap<string, LaneStop | undefined>;
};

export function openLane(
  app: Express,
  { atRoot, ofTenants }: LaneStops,
  { first, onError, ...handlers }: Handlers,
): RequestListener {
  const firstOfTenants = [...first, ...handlers.ofTenants];

  type Found = { stop: LaneStop | undefined; parameters: Record<string, string>; before: readonly RequestHandler[] };
  function find(url: string): Found {
    const [, mandator = '', path = ''] = addressed.exec(url) ?? [];
    const root = atRoot.get(`/${mandator}${path}`);
    if (root) return { stop: root, parameters: {}, before: first };
    const cut = path.lastIndexOf('/') + 1;
    const stop = ofTenants.has(path) ? ofTenants.get(path) : ofTenants.get(`${path.slice(0, cut)}:`);
    const parameters: Record<string, string> = { mandator };
    if (stop?.parameter !== undefined) parameters[stop.parameter] = path.slice(cut);
    return { stop, parameters, before: firstOfTenants };
  }

  /** Prepares request and response as Express does before its first handler. */
  function adopt(message: IncomingMessage, answer: ServerResponse): { request: Request; response: Response } {
    const request: Request = Object.setPrototypeOf(message, app.request);
    const response: Response = Object.setPrototypeOf(answer, app.response);
    request.res = response;
    request.originalUrl = request.url;
    request.baseUrl = '';
    response.req = request;
    response.locals = Object.create(null);
    return { request, response };
  }

  return (message, answer) => {
    message.url = normalizePath(message.url ?? '');
    const { stop, parameters, before } = find(message.url);
    if (stop === undefined || stop.method !== message.method) return void app(message, answer);
    const { request, response } = adopt(message, answer);
    const fail = (error: unknown) => void onError(error, request, response, nothing);
    /** Answers errors that a handler throws or rejects with, as Express does. */
    const call = async (handler: RequestHandler, next: NextFunction) => handler(request, response, next);
    for (const handler of before) handler(request, response, nothing);
    request.params = parameters;
    const enter = (error?: unknown) => {
      if (error !== undefined) return fail(error);
      request.route = { path: stop.pattern };
      call(stop.handler, nothing).catch(fail);
    };
    call(stop.door, enter).catch(fail);
  };
}
