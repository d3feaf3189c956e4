import type { IncomingHttpHeaders } from 'node:http';
import { type Request, type Response, Router } from 'express';
import { z } from 'zod';
import type { Context, Viewer, Waiter } from '../context.ts';
import { type FieldError, Malformed, MethodNotAllowed, NotAcceptable, NotAuthenticated, NotFound } from '../errors.ts';
import { upperFirst } from '../fields.ts';
import { personSends } from '../http/body-memory.ts';
import { idempotencyKey, respell } from '../input.ts';
import { isStorable } from '../storable.ts';
import { readJson } from './body.ts';
import { writeJson, writeTagged } from './json.ts';
import { anonymousSender } from './limits.ts';
import { signalOf } from './request.ts';

/** One call of a route, with its input already checked. */
export type RestCall<Params = unknown, Query = unknown, Body = unknown> = Waiter & {
  params: Params;
  query: Query;
  /** Undefined without a `body` of the route, and where it is streamed. */
  body: Body;
  headers: IncomingHttpHeaders;
  requestId: string;
  /** For routes whose body is streamed. */
  request: Request;
};

export type RestAnswer = {
  status: number;
  /** Written as JSON in the casing that the caller asked for; a text where the route has a `type` of its own. */
  body?: unknown;
  headers?: Record<string, string>;
};

/** An answer as the OpenAPI document tells it. */
export type DescribedAnswer = {
  description: string;
  /** In Pascal case; absent for an empty body. */
  body?: z.ZodType;
  example?: unknown;
  /** Headers besides those that every answer carries. */
  headers?: readonly ('Location' | 'Retry-After' | 'ETag')[];
};

/**
 * One row of the HTTP surface, and all that its documentation says. Paths are below `/{mandator}/api`; who calls is known and belongs to that tenant before
 * `handle` runs.
 */
export type Route<
  Params extends z.ZodType = z.ZodType,
  Query extends z.ZodType = z.ZodType,
  Body extends z.ZodType = z.ZodType,
> = {
  method: 'GET' | 'POST' | 'PUT' | 'PATCH' | 'DELETE';
  /** Relative to `/{mandator}/api`, in Express's notation: `/v2.0/jobs/batches/:batchId`. */
  path: string;
  params?: Params;
  /** Keys in the contract's Pascal case; a request may spell their first letter either way. */
  query?: Query;
  /** One line: what a call does. */
  summary: string;
  /** Rules that a caller must know, in CommonMark. */
  description?: string;
  /** Request headers that it reads besides those that every route does. */
  headers?: readonly ('Idempotency-Key' | 'If-Match' | 'X-timezone-locationId')[];
  /**
   * The JSON body: in Pascal case, its objects strict; a request may spell the first letter of every name either way.
   * It is checked before `handle` runs, but for a streamed one: `handle` reads and judges that itself. What `mayBeEmpty` stands for an object without members then.
   */
  body?: { schema: Body; example: unknown; streamed?: true; mayBeEmpty?: true };
  /** Called without a credential, and mounted before the door. */
  anonymous?: true;
  /** What a 200 is where it is no JSON. */
  type?: 'text/calendar';
  /** By status. */
  answers: Record<number, DescribedAnswer>;
  /** Problems besides those that every route may answer, by status. */
  problems?: Record<number, string>;
  handle(context: Context, call: RestCall<z.output<Params>, z.output<Query>, z.output<Body>>): Promise<RestAnswer>;
};

/** Gives a route literal the types of its own schemas. */
export function route<Params extends z.ZodType, Query extends z.ZodType, Body extends z.ZodType>(
  definition: Route<Params, Query, Body>,
): Route {
  return definition as unknown as Route;
}

/** The same for what anybody may call: nobody is the viewer of such a call. */
export function anonymousRoute<Params extends z.ZodType, Query extends z.ZodType, Body extends z.ZodType>(
  definition: Omit<Route<Params, Query, Body>, 'handle'> & {
    handle(
      context: Context,
      call: Omit<RestCall<z.output<Params>, z.output<Query>, z.output<Body>>, 'viewer'>,
    ): Promise<RestAnswer>;
  },
): Route {
  return route<Params, Query, Body>({ ...definition, anonymous: true });
}

const json = 'application/json';
const nothing = z.object({});
const noQuery = z.strictObject({});

/** Path parameters that cannot be anything's are as good as unknown. @throws NotFound */
function readParams<T extends z.ZodType>(schema: T, request: Request): z.output<T> {
  const result = schema.safeParse(request.params);
  if (!result.success || !Object.values(request.params).every((text) => isStorable(String(text))))
    throw new NotFound(`There is nothing at ${request.path}.`);
  return result.data;
}

/** Names in the schema's spelling; a name given twice keeps its values as a list, which fails a schema of one value. */
function splitQuery({ url }: Request): Record<string, unknown> {
  const query: Record<string, string | string[]> = Object.create(null);
  const cut = url.indexOf('?');
  if (cut < 0) return query;
  const text = url.slice(cut + 1);
  try {
    decodeURIComponent(text);
  } catch {
    throw new Malformed('The query is not percent-encoded UTF-8.');
  }
  for (const [name, value] of new URLSearchParams(text)) {
    const key = upperFirst(name);
    const before = query[key];
    if (Array.isArray(before)) before.push(value);
    else query[key] = before === undefined ? value : [before, value];
  }
  return query;
}

function faultsOf(issue: z.core.$ZodIssue): FieldError[] {
  if (issue.code === 'unrecognized_keys')
    return issue.keys.map((key) => ({
      field: key,
      pointer: null,
      code: 'UnknownField',
      message: `${key} is not a query parameter of this route.`,
    }));
  const field = issue.path.join('.');
  return [{ field, pointer: null, code: 'InvalidType', message: `${field}: ${issue.message}.` }];
}

/** @throws Malformed with every fault of the query */
function readQuery<T extends z.ZodType>(schema: T, request: Request): z.output<T> {
  const query = splitQuery(request);
  const result = schema.safeParse(query);
  const unusable = Object.keys(query).filter((key) => !isStorable(String(query[key])));
  if (result.success && unusable.length === 0) return result.data;
  const faults = [
    ...unusable.map((field) => ({
      field,
      pointer: null,
      code: 'InvalidType',
      message: `${field}: must not hold U+0000 or half of a surrogate pair.`,
    })),
    ...(result.error?.issues ?? []).flatMap(faultsOf),
  ];
  throw new Malformed(faults.map(({ message }) => message).join(' '), faults);
}

/** @throws Malformed when the header is there but unusable (contract 4.2: 1 to 255 characters) */
export function readIdempotencyKey(request: Request): string | undefined {
  const read = idempotencyKey.optional().safeParse(request.get('idempotency-key'));
  if (!read.success) throw new Malformed(`Idempotency-Key ${read.error.issues[0]?.message}.`);
  return read.data;
}

/** Express answers on this; `authenticate` has put the viewer there. */
function viewerOf(response: Response): Viewer {
  const viewer: Viewer | undefined = response.locals['viewer'];
  if (!viewer) throw new NotAuthenticated('This route needs a bearer token.');
  return viewer;
}

/** Of an anonymous call, whose route does not look at it. */
const nobody = undefined as unknown as Viewer;

/** What an Accept may ask for; many clients name the charset. What nearly all say needs no negotiation. */
function checkAccept(request: Request, type: string): void {
  const { accept } = request.headers;
  if (accept === undefined || accept === '*/*' || accept === type) return;
  if (!request.accepts([type, `${type}; charset=utf-8`]))
    throw new NotAcceptable(`This answers with ${type} only; allow it in Accept.`);
}

function writeAnswer(
  request: Request,
  response: Response,
  { status, headers = {}, body }: RestAnswer,
  type: string,
): void {
  const isRead = request.method === 'GET' || request.method === 'HEAD';
  response.statusCode = status;
  response.setHeader('Cache-Control', isRead ? 'private, no-cache' : 'no-store');
  for (const name in headers) response.setHeader(name, headers[name] as string);
  if (body === undefined) response.end();
  else if (isRead && status === 200) writeTagged(request, response, body, type);
  else writeJson(request, response, body);
}

/**
 * A router of these routes, behind the door of `/:mandator/api` unless they are anonymous. A known path with another method answers 405 and says which
 * are allowed, as OPTIONS does.
 */
export function mountRoutes(context: Context, routes: readonly Route[]): Router {
  const router = Router();
  // The whole path, so that logs and metrics have it from Express.
  const patternOf = ({ path }: Route) => `/:mandator/api${path}`;
  // An address that is spelled out comes before a pattern that would take it too, with all of its methods.
  for (const [pattern, siblings] of Map.groupBy(routes, patternOf)) {
    const mounted = router.route(pattern);
    for (const definition of siblings) {
      const { params = nothing, query = noQuery, body, headers = [], type = json } = definition;
      const varies = headers.filter((name) => name.startsWith('X-'));
      mounted[definition.method.toLowerCase() as 'get'](async (request, response) => {
        for (const name of varies) response.vary(name);
        checkAccept(request, type);
        const read = {
          viewer: definition.anonymous ? nobody : viewerOf(response),
          params: readParams(params, request),
          query: readQuery(query, request),
        };
        const { sent, ...said } =
          body && !body.streamed
            ? await readJson(
                request,
                body,
                definition.anonymous ? anonymousSender(request.ip) : personSends(read.viewer),
                context.config.Limits,
              )
            : { sent: undefined, body: undefined };
        try {
          const answer = await definition.handle(context, {
            ...read,
            ...said,
            headers: request.headers,
            requestId: response.locals['requestId'],
            request,
            viewerNow: response.locals['viewerNow'],
            // Made when it is asked for, because most never ask.
            signal: () => signalOf(response),
          });
          writeAnswer(request, response, answer, type);
        } catch (error) {
          respell(error, sent);
          throw error;
        }
      });
    }
    mounted.all((request, response) => {
      const allow = siblings.flatMap(({ method }) => (method === 'GET' ? ['GET', 'HEAD'] : [method]));
      if (request.method === 'OPTIONS') response.status(204).set('Allow', allow.join(', ')).end();
      else throw new MethodNotAllowed(`${request.method} is not possible here; use ${allow.join(' or ')}.`, allow);
    });
  }
  return router;
}
