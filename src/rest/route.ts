import type { IncomingHttpHeaders } from 'node:http';
import { type Request, type RequestHandler, type Response, Router } from 'express';
import { z } from 'zod';
import { type Context, reading as readingIn, type Viewer, type Waiter } from '../context.ts';
import { Malformed, MethodNotAllowed, NotAcceptable, NotAuthenticated, NotFound } from '../errors.ts';
import { idempotencyKey } from '../fields.ts';
import { workFor } from '../flow/working.ts';
import { personSends } from '../http/body-memory.ts';
import { readInput, respell } from '../input.ts';
import { isStorable } from '../storable.ts';
import { acceptedType } from './accept.ts';
import { openAnswerPlace } from './answer-place.ts';
import { type RestAnswer, writeAnswer } from './answers.ts';
import { readJson } from './body.ts';
import type { LaneStop } from './lane.ts';
import { anonymousSender } from './limits.ts';
import { readQuery } from './query.ts';
import { signalOf } from './request.ts';
import { readSentBack } from './sent-back.ts';
import { readIfMatch } from './versions.ts';

/** A call of a route with checked input. */
export type RestCall<Params = unknown, Query = unknown, Body = unknown> = Waiter & {
  params: Params;
  query: Query;
  /** Undefined if the route has no `body`, or a streamed one. */
  body: Body;
  headers: IncomingHttpHeaders;
  requestId: string;
  /** For routes whose body is streamed. */
  request: Request;
  /** Waits for a place for a large answer, which the call then has until it is sent. @throws LimitExceeded */
  takePlace(): Promise<void>;
};

/** Descriptions of 403 that routes of several rooms share. */
export const forDisplays = 'A display may read only the status of its own resources.';
export const forAdmins = 'Only an Admin may manage master data.';

/** An answer as the OpenAPI document describes it. */
export type DescribedAnswer = {
  description: string;
  /** In Pascal case; absent for an empty body. */
  body?: z.core.$ZodType;
  example?: unknown;
  /** Headers besides those of every answer. */
  headers?: readonly ('Location' | 'Retry-After' | 'ETag')[];
};

/**
 * One operation of the REST API with its documentation. Before `handle` runs, the caller is authenticated and belongs to the
 * tenant of the path.
 */
export type Route<
  Params extends z.core.$ZodType = z.core.$ZodType,
  Query extends z.core.$ZodType = z.core.$ZodType,
  Body extends z.core.$ZodType = z.core.$ZodType,
> = {
  method: 'GET' | 'POST' | 'PUT' | 'PATCH' | 'DELETE';
  /** Relative to `/{mandator}/api`, in Express's notation: `/v2.0/jobs/batches/:batchId`. */
  path: string;
  params?: Params;
  /** Names in Pascal case; a request may write their first letter in either case. */
  query?: Query;
  /** One line: what a call does. */
  summary: string;
  /** The rules for callers, in CommonMark. */
  description?: string;
  /** Request headers that it reads besides those of every route. */
  headers?: readonly ('Idempotency-Key' | 'If-Match' | 'X-timezone-locationId')[];
  /**
   * The JSON body, in Pascal case with strict objects; a request may write the first letter of a name in either case. It is
   * checked before `handle` runs, but a streamed one is read and checked by `handle`. With `mayBeEmpty`, none counts as `{}`.
   */
  body?: { schema: Body; example: unknown; streamed?: true; mayBeEmpty?: true };
  /** Called without a credential, and mounted before authentication. */
  anonymous?: true;
  /** Whether an answer is large, so that its call takes a place for it first; one that turns out to be large is made again with it. */
  isLarge?(query: z.output<Query>): boolean;
  /** The media type of a 200 that is not JSON. */
  type?: 'text/calendar';
  /** Answers other than problems, by status. */
  answers: Record<number, DescribedAnswer>;
  /** Problems besides those that every route may answer, by status. */
  problems?: Record<number, string>;
  handle(context: Context, call: RestCall<z.output<Params>, z.output<Query>, z.output<Body>>): Promise<RestAnswer>;
};

/** Gives a route literal the types of its own schemas. */
export function route<Params extends z.core.$ZodType, Query extends z.core.$ZodType, Body extends z.core.$ZodType>(
  definition: Route<Params, Query, Body>,
): Route {
  return definition as unknown as Route;
}

/** The same for a route without a credential, whose calls have no viewer. */
export function anonymousRoute<
  Params extends z.core.$ZodType,
  Query extends z.core.$ZodType,
  Body extends z.core.$ZodType,
>(
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

/** Reads the path parameters. @throws NotFound for invalid ones, as for unknown ids */
function readParams<T extends z.core.$ZodType>(schema: T, request: Request): z.output<T> {
  const result = z.safeParse(schema, request.params);
  if (!result.success || !Object.values(request.params).every((text) => isStorable(String(text))))
    throw new NotFound(`There is nothing at ${request.path}.`);
  return result.data;
}

/** @throws Malformed for an unusable header (contract 4.2: 1 to 255 characters) */
export function readIdempotencyKey(request: Request): string | undefined {
  const read = idempotencyKey.optional().safeParse(request.get('idempotency-key'));
  if (!read.success) throw new Malformed(`Idempotency-Key ${read.error.issues[0]?.message}.`);
  return read.data;
}

/** The viewer that `authenticate` has set. */
function viewerOf(response: Response): Viewer {
  const viewer: Viewer | undefined = response.locals['viewer'];
  if (!viewer) throw new NotAuthenticated('This route needs a bearer token.');
  return viewer;
}

/** The viewer of an anonymous call; the type of `anonymousRoute` prevents its handler from reading it. */
const noViewer = undefined as unknown as Viewer;

/** Checks Accept. The most frequent values need no negotiation. */
function checkAccept(request: Request, type: string): void {
  const { accept } = request.headers;
  if (accept === undefined || accept === '*/*' || accept === type) return;
  if (acceptedType(request, [type])) return;
  request.res?.vary('Accept');
  throw new NotAcceptable(`This answers only with ${type}; allow it in Accept.`);
}

/** Whether a route changes the record that the GET of its path answers. */
export const isChange = ({ method, body }: Route) => (method === 'PATCH' || method === 'PUT') && body !== undefined;

/**
 * Reads the body of a change, which may contain unchanged members of the record. The change then applies to the version with
 * which they were compared.
 * @throws PreconditionRequired; InvalidInput; the errors of the reading route
 */
async function readChange(
  context: Context,
  { body }: Route,
  reading: Route,
  call: RestCall,
  sent: unknown,
): Promise<Pick<RestCall, 'body' | 'headers'>> {
  const record = {
    schema: reading.answers[200]?.body,
    read: async () => (await reading.handle(context, { ...call, query: {} })).body,
  };
  const isPast = ({ Version }: { [name: string]: unknown }) =>
    readIfMatch(call.headers)?.includes(Version as number) === false;
  const read = await readSentBack((body as { schema: z.core.$ZodType }).schema, sent, record, isPast);
  if (!read.record || isPast(read.record)) return { body: read.body, headers: call.headers };
  return { body: read.body, headers: { ...call.headers, 'if-match': `"${read.record['Version']}"` } };
}

/** Answers the other methods of a path: OPTIONS with those that are allowed, the rest with 405. */
export const allowOnly =
  (allow: string[]): RequestHandler =>
  (request, response) => {
    if (request.method !== 'OPTIONS') throw new MethodNotAllowed(request.method, allow);
    response.status(204).set('Allow', allow.join(', ')).end();
  };

/** The whole path, which Express then gives to logs and metrics. */
const patternOf = ({ path }: Route) => `/:mandator/api${path}`;

/** Whether a read waits for a change, which only the primary announces. */
const waits = (query: unknown) => ((query as { WaitSeconds?: number }).WaitSeconds ?? 0) > 0;

/** The Express handler of a route. @param reading the GET of its path */
function handlerOf(context: Context, definition: Route, reading: Route | undefined): RequestHandler {
  const { params = nothing, query = noQuery, body, headers = [], type = json } = definition;
  const pattern = patternOf(definition);
  const varies = headers.filter((name) => name.startsWith('X-'));
  return async (request, response) => {
    for (const name of varies) response.vary(name);
    checkAccept(request, type);
    const values = readQuery(context, query, request, response, pattern);
    const viewer = definition.anonymous ? noViewer : viewerOf(response);
    const place = openAnswerPlace(context, response, viewer);
    const call = {
      viewer,
      params: readParams(params, request),
      query: values,
      body: undefined as unknown,
      headers: request.headers,
      requestId: response.locals['requestId'],
      request,
      viewerNow: response.locals['viewerNow'],
      // Made on demand, because most handlers do not use it.
      signal: () => signalOf(response),
      takePlace: place.take,
    };
    const forTenant = <T>(work: () => T): T => (definition.anonymous ? work() : workFor(call.viewer.mandatorId, work));
    let sent: unknown;
    if (body && !body.streamed) {
      const sender = definition.anonymous ? anonymousSender(request.ip) : personSends(call.viewer);
      sent = await readJson(request, body, sender, context.config.Limits);
      if (isChange(definition) && reading)
        Object.assign(call, await forTenant(() => readChange(context, definition, reading, call, sent)));
      else call.body = readInput(body.schema, sent);
    }
    try {
      const handle = () =>
        waits(values) || definition.method !== 'GET'
          ? definition.handle(context, call)
          : readingIn(context, (at) => definition.handle(at, call));
      const answerCall = async () => {
        // The client may have gone while the call waited for its place.
        if (response.destroyed) return true;
        return await forTenant(async () => writeAnswer(context, { request, response }, await handle(), type, place));
      };
      // While a call waits for its place, it holds no answer, which would take memory.
      if (definition.isLarge?.(values as z.output<z.core.$ZodType>) || !(await answerCall())) {
        await place.take();
        await answerCall();
      }
    } catch (error) {
      respell(error, sent);
      throw error;
    }
  };
}

/**
 * A router of the routes. Mount it after authentication unless they are anonymous. Another method on a known path is answered
 * 405 with the allowed methods, which OPTIONS gets too.
 */
export function mountRoutes(context: Context, routes: readonly Route[]): Router {
  const router = Router();
  // Grouped by path, so that a literal path with all of its methods comes before a pattern that also matches it.
  for (const [pattern, siblings] of Map.groupBy(routes, patternOf)) {
    const mounted = router.route(pattern);
    const reading = siblings.find(({ method }) => method === 'GET');
    for (const definition of siblings)
      mounted[definition.method.toLowerCase() as 'get'](handlerOf(context, definition, reading));
    mounted.all(allowOnly(siblings.flatMap(({ method }) => (method === 'GET' ? ['GET', 'HEAD'] : [method]))));
  }
  return router;
}

/** The last segment, if it is a parameter. */
const lastParameter = /(?<=\/):(\w+)$/;

/**
 * The stops of a lane for GET of JSON routes: those with literal paths, and those with one parameter at the end.
 * @param before routes that are mounted before them, whose paths stay theirs
 */
export function laneStops(
  context: Context,
  door: RequestHandler,
  routes: readonly Route[],
  before: readonly Route[],
): Map<string, LaneStop | undefined> {
  const stops = new Map<string, LaneStop | undefined>();
  for (const [path, [first, ...others]] of Map.groupBy([...before, ...routes], ({ path }) => path)) {
    const key = `/api${path.replace(lastParameter, ':')}`;
    if (key.slice(0, -1).includes(':') || stops.has(key)) continue;
    const siblings = [first as Route, ...others];
    const reading = siblings.find(({ method }) => method === 'GET');
    if (!reading || before.includes(reading) || reading.type) stops.set(key, undefined);
    else
      stops.set(key, {
        method: 'GET',
        pattern: patternOf(reading),
        parameter: lastParameter.exec(path)?.[1],
        door,
        handler: handlerOf(context, reading, reading),
      });
  }
  return stops;
}
