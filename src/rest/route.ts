import type { IncomingHttpHeaders } from 'node:http';
import { type Request, type Response, Router } from 'express';
import { z } from 'zod';
import type { Context, Viewer } from '../context.ts';
import { Malformed, MethodNotAllowed, NotAuthenticated } from '../errors.ts';
import { writeJson } from './json.ts';

/** One call of a route, with its input already checked. */
export type Call<Params = unknown, Query = unknown> = {
  viewer: Viewer;
  params: Params;
  query: Query;
  headers: IncomingHttpHeaders;
  requestId: string;
  /** For routes that read the body themselves. */
  request: Request;
  /** Ends when the client has gone. */
  signal: AbortSignal;
};

export type Answer = {
  status: number;
  /** Written as JSON in the casing that the caller asked for. */
  body?: unknown;
  headers?: Record<string, string>;
};

/**
 * One row of the HTTP surface. Paths are below `/{mandator}/api`; who calls is known and belongs to that tenant before
 * `handle` runs.
 */
export type Route<Params extends z.ZodType = z.ZodType, Query extends z.ZodType = z.ZodType> = {
  method: 'GET' | 'POST' | 'PUT' | 'PATCH' | 'DELETE';
  /** Relative to `/{mandator}/api`, in Express's notation: `/v2.0/jobs/batches/:batchId`. */
  path: string;
  params?: Params;
  /** Keys in the contract's Pascal case; a request may spell their first letter either way. */
  query?: Query;
  handle(context: Context, call: Call<z.output<Params>, z.output<Query>>): Promise<Answer>;
};

/** Gives a route literal the types of its own schemas. */
export function route<Params extends z.ZodType, Query extends z.ZodType>(
  definition: Route<Params, Query>,
): Route {
  return definition as unknown as Route;
}

const nothing = z.object({});

function check<T extends z.ZodType>(schema: T, input: Record<string, unknown>, where: string): z.output<T> {
  for (const [name, value] of Object.entries(input))
    if ([value].flat().some((text) => /\0|\p{Surrogate}/u.test(String(text))))
      throw new Malformed(
        `${name}: the ${where} holds U+0000 or half of a surrogate pair; remove the character.`,
      );
  const result = schema.safeParse(input);
  if (result.success) return result.data;
  const errors = result.error.issues.flatMap((issue) => {
    const unknown = issue.code === 'unrecognized_keys' ? issue.keys : [];
    if (unknown.length > 0)
      return unknown.map((key) => ({
        field: key,
        pointer: null,
        code: 'UnknownField',
        message: `${key} is not a ${where} of this route.`,
      }));
    const field = issue.path.join('.');
    return [{ field, pointer: null, code: 'InvalidType', message: `${field}: ${issue.message}.` }];
  });
  throw new Malformed(errors.map(({ message }) => message).join(' '), errors);
}

/** Query names in the schema's spelling; a name given twice keeps its values as a list and so fails the schema. */
function readQuery(request: Request): Record<string, unknown> {
  const query: Record<string, unknown> = {};
  for (const [name, value] of new URL(request.url, 'http://localhost').searchParams) {
    const key = name.charAt(0).toUpperCase() + name.slice(1);
    query[key] = key in query ? [query[key], value].flat() : value;
  }
  return query;
}

/** @throws Malformed when the header is there but unusable (contract 4.2: 1 to 255 characters) */
export function readIdempotencyKey(request: Request): string | undefined {
  const key = request.get('idempotency-key');
  if (key !== undefined && !/^[\x21-\x7e]{1,255}$/.test(key))
    throw new Malformed('Idempotency-Key must have 1 to 255 printable ASCII characters without spaces.');
  return key;
}

/** Express answers on this; `authenticate` has put the viewer there. */
function viewerOf(response: Response): Viewer {
  const viewer: Viewer | undefined = response.locals['viewer'];
  if (!viewer) throw new NotAuthenticated('This route needs a bearer token.');
  return viewer;
}

/** A router of these routes; a known path with another method answers 405 and says which are allowed. */
export function mountRoutes(context: Context, routes: readonly Route[]): Router {
  const router = Router({ mergeParams: true });
  for (const definition of routes) {
    router[definition.method.toLowerCase() as 'get'](definition.path, async (request, response) => {
      const gone = new AbortController();
      response.once('close', () => gone.abort());
      const answer = await definition.handle(context, {
        viewer: viewerOf(response),
        params: check(definition.params ?? nothing, request.params, 'path parameter'),
        query: check(definition.query ?? z.strictObject({}), readQuery(request), 'query parameter'),
        headers: request.headers,
        requestId: response.locals['requestId'],
        request,
        signal: gone.signal,
      });
      response.status(answer.status).set(answer.headers ?? {});
      if (answer.body === undefined) response.end();
      else writeJson(request, response, answer.body);
    });
  }
  const methods = Map.groupBy(routes, ({ path }) => path);
  for (const [path, siblings] of methods)
    router.all(path, (request) => {
      const allow = siblings.flatMap(({ method }) => (method === 'GET' ? ['GET', 'HEAD'] : [method]));
      throw new MethodNotAllowed(`${request.method} is not possible here; use ${allow.join(' or ')}.`, allow);
    });
  return router;
}
