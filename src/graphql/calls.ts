/** GraphQL calls over HTTP, with streams over SSE; those over WebSocket are in `websocket.ts`. */
import type { IncomingMessage, ServerResponse } from 'node:http';
import { GraphQLError } from 'graphql';
import type { Context, Credentials, Viewer } from '../context.ts';
import { Malformed, MethodNotAllowed, NotAcceptable, TooLarge, UnsupportedMediaType } from '../errors.ts';
import { openSlices } from '../flow/slices.ts';
import { sendText } from '../http/answers.ts';
import { personSends } from '../http/body-memory.ts';
import { jsonPieces } from '../http/large-json.ts';
import { enclosed, openChunks, sendPieces } from '../http/pieces.ts';
import { codingOf, isJson, readBytes } from '../http/request-body.ts';
import { isJsonObject } from '../json-text.ts';
import type { GraphqlCall } from './builder.ts';
import { refusal } from './errors.ts';
import { completeText, eventStream, nextText, type Result } from './execution.ts';
import type { Authenticate } from './holders.ts';
import { type FindDocument, openPersisted } from './persisted.ts';
import { completeErrors, createPipeline, namedOperation, type PlainCall } from './pipeline.ts';
import { createEventStreams } from './sse.ts';
import { createStreams } from './streams.ts';
import { createWebSockets, type WebSockets } from './websocket.ts';

/** The media types that the client takes in UTF-8, as Yoga reads them: an empty Accept allows all. */
const acceptedTypes = ({ headers: { accept } }: IncomingMessage): string[] =>
  (accept || '*/*')
    .toLowerCase()
    .replaceAll(/\s/g, '')
    .split(',')
    .flatMap((entry) => {
      const [type = '', ...parameters] = entry.split(';');
      const isOther = (parameter: string) => parameter.startsWith('charset=') && parameter !== 'charset=utf-8';
      return parameters.some(isOther) ? [] : [type];
    });

/** The media type of a result, as Yoga would negotiate it; undefined if the client takes only streams. */
function plainType(accepted: readonly string[]): string | undefined {
  for (const type of accepted) {
    if (type === 'application/graphql-response+json') return type;
    if (['application/json', 'application/*', '*/*'].includes(type)) return 'application/json';
  }
  return undefined;
}

const takesStreams = (accepted: readonly string[]): boolean =>
  ['text/event-stream', 'text/*', '*/*'].some((type) => accepted.includes(type));

/** Refuses other requests before their bodies are read. A browser cannot send JSON for another site without a preflight. */
function checkRequest(request: IncomingMessage, accepted: readonly string[]): void {
  const { method } = request;
  if (method !== 'POST') throw new MethodNotAllowed(method, ['POST']);
  if (!isJson(request)) throw new UnsupportedMediaType('Send the GraphQL call as application/json in UTF-8.');
  codingOf(request);
  if (!plainType(accepted) && !takesStreams(accepted))
    throw new NotAcceptable(
      'GraphQL answers with application/graphql-response+json, application/json or text/event-stream.',
    );
}

type ConfiguredLimits = Context['config']['Limits'];

const utf8 = new TextDecoder('utf-8', { fatal: true });

async function readText(request: IncomingMessage, viewer: Viewer, limits: ConfiguredLimits): Promise<string> {
  const most = limits.BodyBytes;
  const tooLarge = () => new TooLarge(`A GraphQL call may have ${most} bytes; send larger imports through REST.`);
  const bytes = await readBytes(request, limits, { most, sender: personSends(viewer), tooLarge });
  try {
    return utf8.decode(bytes);
  } catch {
    throw new Malformed('The body is not UTF-8.');
  }
}

const isText = (value: unknown) => typeof value === 'string';

const refuseBody = (message: string) => refusal(message, 'BAD_REQUEST', 400);

const members = new Set(['query', 'variables', 'operationName', 'extensions']);

/** Reads the call, or its fault. Does not inspect values, which may have a million characters or members. */
function readCall(body: string, findDocument: FindDocument): PlainCall | GraphQLError {
  let sent: unknown;
  try {
    sent = JSON.parse(body);
  } catch {
    return refuseBody('The body is not JSON.');
  }
  if (!isJsonObject(sent)) return refuseBody('The body must be an object: one call, not a list of calls.');
  const { variables, operationName, extensions } = sent;
  let query: unknown;
  try {
    query = findDocument(sent['query'], extensions);
  } catch (error) {
    return error as GraphQLError;
  }
  if (!isText(query)) return refuseBody('query: must be a text, the document.');
  if (!isJsonObject(variables ?? {})) return refuseBody('variables: must be an object.');
  if (!isText(operationName ?? '')) return refuseBody('operationName: must be a text.');
  if (!isJsonObject(extensions ?? {})) return refuseBody('extensions: must be an object.');
  for (const name in sent)
    if (!members.has(name) && sent[name] !== null)
      return refuseBody('The body may hold query, variables, operationName and extensions, and nothing else.');
  return { query, variables, operationName: namedOperation(operationName) } as PlainCall;
}

/** Shared by all streams. */
const noHeaders = Object.freeze({});
const noRawHeaders = Object.freeze([]);

/** The members of Express's requests and responses that are used here. */
type Request = IncomingMessage & { body?: PlainCall };
type Response = ServerResponse & { locals: Record<string, unknown> };

export type CallsOptions = {
  /** Checks the credentials of WebSockets, and those of open streams again. */
  authenticate: Authenticate;
  /** The client's IP address of a WebSocket's upgrade request, according to TrustProxy. */
  addressOf(request: IncomingMessage): string;
  /** The session in the cookie of a WebSocket's upgrade request. */
  sessionOf(request: IncomingMessage): Credentials['session'];
  /**
   * Counts an operation of a WebSocket, and further mutations of one call, as requests of the viewer.
   * @throws LimitExceeded
   */
  countRequest(viewer: Viewer, uses?: number): void;
};

/** What answers the calls. */
export type Calls = Pick<WebSockets, 'open'> & {
  /** For `/:mandator/graphql`, after authentication, which sets `response.locals.viewer` and `credentials`. */
  handler(request: Request, response: Response): Promise<void>;
  /** How many streams are open now. */
  streamCount(): number;
  /** How many streams over SSE have readers that take nothing at the moment. */
  stalledCount(): number;
  /** How many streams were cut because their clients did not read them. */
  cutCount(): number;
  /** Ends every stream and WebSocket. */
  close(): Promise<void>;
};

export function openCalls(context: Context, options: CallsOptions): Calls {
  const findDocument = openPersisted();
  const pipeline = createPipeline(context.log, options.countRequest);
  const streams = createStreams(context, options.authenticate);
  const events = createEventStreams(context.log, context.config.Limits.StalledReaderSeconds * 1_000);
  const sockets = createWebSockets(context, pipeline, streams, options);

  /**
   * Sends a result in pieces.
   * @param type undefined to send it as the only event of a stream
   */
  async function sendLarge(
    response: ServerResponse,
    { data, errors }: Result,
    { requestId }: GraphqlCall,
    type: string | undefined,
  ): Promise<void> {
    // Beside data, no error has a status of its own.
    const pieces = jsonPieces({ ...(errors && { errors: completeErrors(errors, requestId) }), data });
    const [before, behind] = nextText;
    response.setHeader('Content-Type', type ? `${type}; charset=utf-8` : eventStream);
    const text = type ? pieces : enclosed(before, pieces, behind + completeText);
    await sendPieces(response, text, context.once(openChunks), openSlices());
  }

  return {
    async handler(request, response) {
      const accepted = acceptedTypes(request);
      checkRequest(request, accepted);
      const viewer = response.locals['viewer'] as Viewer;
      const body = await readText(request, viewer, context.config.Limits);
      const call: GraphqlCall = {
        context,
        streams,
        viewer,
        requestId: String(response.locals['requestId']),
        credentials: response.locals['credentials'] as Credentials,
        client: response,
      };
      response.setHeader('Cache-Control', 'no-store');
      const read = readCall(body, findDocument);
      const params = read instanceof GraphQLError ? undefined : read;
      const mayStream = takesStreams(accepted);
      const mayBeStream = params?.query.includes('subscription') ?? false;
      const opened = params && mayBeStream ? await pipeline.subscribe(params, call, { mayStream }) : undefined;
      if (opened && 'take' in opened) {
        // Frees what is no longer used and would live as long as the stream.
        Object.assign(request, { next: undefined, headers: noHeaders, rawHeaders: noRawHeaders });
        response.locals = { requestId: call.requestId, viewer, isStream: true };
        return events.serve(response, opened);
      }
      // Most calls do not need Yoga's HTTP handling, which costs more than all the rest.
      const type = plainType(accepted);
      /** @returns the result if it is left to Yoga */
      const send = async (result: Result, isLarge: boolean) => {
        if (isLarge) await sendLarge(response, result, call, type);
        else if (type && !result.errors) sendText(response, JSON.stringify(result), type);
        else return result;
        return undefined;
      };
      const isPlain = params && !opened;
      const result = isPlain ? await pipeline.answer(params, call, send) : undefined;
      if (isPlain && !result) return;
      const known = read instanceof GraphQLError ? { errors: [read] } : result;
      // An object, because Yoga would enumerate the characters of a string.
      request.body = params ?? { query: '{ __typename }' };
      request.headers['content-type'] = 'application/json';
      await pipeline.yoga(request, response, {
        ...call,
        ...(known && { result: known }),
        ...(opened && { refusal: opened }),
      });
    },
    open: sockets.open,
    streamCount: streams.count,
    stalledCount: events.stalledCount,
    cutCount: () => events.cutCount() + sockets.cutCount(),
    async close() {
      await streams.close();
      await sockets.close();
      events.close();
    },
  };
}
