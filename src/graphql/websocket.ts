/** GraphQL over WebSocket: the `graphql-transport-ws` protocol at the same path and through the same pipeline as HTTP. */
import { randomUUID } from 'node:crypto';
import type { IncomingMessage } from 'node:http';
import type { Duplex } from 'node:stream';
import {
  type ExecutionArgs,
  type ExecutionResult,
  type FormattedExecutionResult,
  type GraphQLError,
  getOperationAST,
} from 'graphql';
import type { SubscribePayload } from 'graphql-ws';
import { useServer } from 'graphql-ws/use/ws';
import { WebSocket, WebSocketServer } from 'ws';
import type { Context, Credentials, Viewer } from '../context.ts';
import { Forbidden, NotAuthenticated, NotFound } from '../errors.ts';
import { asDomainError } from '../flow/database-errors.ts';
import { type Latest, nextOf } from '../flow/latest.ts';
import { openSlices } from '../flow/slices.ts';
import { workFor } from '../flow/working.ts';
import { jsonPieces } from '../http/large-json.ts';
import { enclosed, openChunks } from '../http/pieces.ts';
import { inTrace } from '../tracing.ts';
import type { GraphqlCall } from './builder.ts';
import { notNamed, presentCause, withoutHttp } from './errors.ts';
import { type Result, resultOf } from './execution.ts';
import { graphqlCodeOf } from './failures.ts';
import type { Frames } from './frames.ts';
import type { Authenticate } from './holders.ts';
import { clientOf, headerOf, type Link, type LinkParams } from './links.ts';
import { Outbox } from './outbox.ts';
import { namedOperation, type Pipeline, type PlainCall } from './pipeline.ts';
import { goodbyeTimeoutMs, openSocketGuard } from './socket-guard.ts';
import type { Streams } from './streams.ts';
import { mandatorOf } from './upgrades.ts';

/** Milliseconds between two pings, and to wait for the answer to one. */
const pingEveryMs = 12_000;

/** Passed through graphql-ws as the root value, to find the operation that the client has sent. */
type Sent = { link: Link; id: string; params: PlainCall };

const unauthorized: [code: number, reason: string] = [4401, 'Unauthorized'];

/** The close code and reason of a refused connection. */
function closeCodeOf(error: unknown): [code: number, reason: string] {
  if (error instanceof NotAuthenticated) return unauthorized;
  if (error instanceof Forbidden || error instanceof NotFound) return [4403, 'Forbidden'];
  return [1013, 'Try again later'];
}

/** A result without the HTTP status of its errors. */
const plain = ({ errors, ...result }: { errors?: readonly GraphQLError[] | undefined }) => ({
  ...result,
  ...(errors && { errors: errors.map(withoutHttp) }),
});

/** The results of a subscription, as graphql-ws takes them: those that are there one behind the other in slices. */
function resultsOf(frames: Frames): AsyncIterableIterator<ExecutionResult> {
  const over = { value: undefined, done: true } as const;
  let pause: ReturnType<typeof openSlices> | undefined;
  const results: AsyncIterableIterator<ExecutionResult> = {
    async next() {
      const here = frames.take();
      if (here && pause) await workFor(frames.mandatorId, pause);
      pause = here && (pause ?? openSlices());
      const frame = here ?? (await nextOf(frames));
      return frame ? { value: (await resultOf(frame)) as ExecutionResult } : over;
    },
    // Not a generator, which would notice its return only after the frame that it waits for.
    async return() {
      frames.close();
      return over;
    },
    [Symbol.asyncIterator]: () => results,
  };
  return results;
}

export type WebSockets = {
  /** Handles the `upgrade` event of a request for a WebSocket. */
  open(request: IncomingMessage, socket: Duplex, head: Buffer): void;
  /** How many were cut because they do not read: they left too much unread, or did not answer a ping. */
  cutCount(): number;
  close(): Promise<void>;
};

export function createWebSockets(
  context: Context,
  pipeline: Pipeline,
  streams: Streams,
  options: {
    authenticate: Authenticate;
    addressOf(request: IncomingMessage): string;
    sessionOf(request: IncomingMessage): Credentials['session'];
    countRequest(viewer: Viewer): void;
  },
): WebSockets {
  const { log, config } = context;
  const guard = openSocketGuard(config);
  const outboxes = new WeakMap<WebSocket, Outbox>();
  let cuts = 0;
  const sockets = new WebSocketServer({
    noServer: true,
    maxPayload: config.Limits.BodyBytes,
    perMessageDeflate: false,
    // Otherwise all messages that have arrived would be read in one turn of the event loop, and pings would be free.
    allowSynchronousEvents: false,
  });

  function credentialsOf(link: Link): Credentials {
    const { request } = link.extra;
    return {
      authorization: headerOf(link, 'authorization'),
      apiKey: headerOf(link, 'apikey'),
      session: options.sessionOf(request),
      address: options.addressOf(request),
    };
  }

  const refusals = new WeakMap<WebSocket, NotAuthenticated>();

  /** A credential that was refused once is not checked again: its socket would cost a check for each message. */
  async function authenticate(link: Link): Promise<Viewer> {
    const { request, socket } = link.extra;
    const refusal = refusals.get(socket);
    if (refusal) throw refusal;
    try {
      return await options.authenticate(mandatorOf(request) ?? '', credentialsOf(link));
    } catch (error) {
      if (error instanceof NotAuthenticated) refusals.set(socket, error);
      throw error;
    }
  }

  /** Closes a socket when the session of its cookie ends or has other rights: the socket is checked as streams are. */
  async function endWithSession(link: Link, viewer: Viewer): Promise<void> {
    const { socket } = link.extra;
    const caller = { viewer, credentials: credentialsOf(link), client: clientOf(link) };
    const silent: Latest<never> = {
      isOver: false,
      onNews: undefined,
      take: () => undefined,
      close() {
        Object.assign(silent, { isOver: true });
        silent.onNews?.();
      },
    };
    const held = await streams.follow(
      caller,
      async () => silent,
      (error) => error,
    );
    void held.next().then(({ value }) => {
      if (value) socket.close(...closeCodeOf(value));
      return held.return?.();
    });
  }

  /** Closes a socket whose credential was refused, unless it has other operations: it would be refused every time. */
  function leave({ extra, subscriptions }: Link, refusedId: string): void {
    if (Object.keys(subscriptions).some((id) => id !== refusedId)) return;
    extra.socket.close(...unauthorized);
  }

  /** Prepares one operation. It checks the credential again, which may have been revoked since the socket was opened. */
  async function prepare(link: Link, id: string, payload: SubscribePayload, requestId: string) {
    const viewer = await authenticate(link);
    options.countRequest(viewer);
    const call: GraphqlCall = {
      context,
      streams,
      viewer,
      requestId,
      credentials: credentialsOf(link),
      client: clientOf(link),
    };
    const { parse, validate, schema } = pipeline.yoga.getEnveloped({ ...call, params: payload });
    const document = parse(payload.query);
    const errors = validate(schema, document);
    if (errors.length > 0) return errors as GraphQLError[];
    const { query, variables } = payload;
    const operationName = namedOperation(payload.operationName);
    if (!getOperationAST(document, operationName)) return [notNamed()];
    const rootValue: Sent = { link, id, params: { query, operationName, variables } as PlainCall };
    return { schema, document, operationName, variableValues: variables, contextValue: call, rootValue };
  }

  async function subscribe({ rootValue: _, ...args }: ExecutionArgs) {
    const opened = await pipeline.open(args);
    return 'take' in opened ? resultsOf(opened) : opened;
  }

  /** Runs a query or a mutation. A generator, as graphql-ws takes the next result of one only once this one has been sent. */
  async function* answer({ rootValue, contextValue }: ExecutionArgs): AsyncGenerator<ExecutionResult, void> {
    const { link, id, params } = rootValue as Sent;
    let call = contextValue as GraphqlCall;
    const outbox = outboxes.get(link.extra.socket) as Outbox;
    // Cancelled by the client, or its socket has closed.
    const isOver = () => !(id in link.subscriptions);
    let end = () => {};
    try {
      const waits = outbox.isFull;
      end = await outbox.beginAnswer();
      if (isOver()) return;
      // The client decides how long that took: its credential may have been revoked meanwhile.
      if (waits) call = { ...call, viewer: await authenticate(link) };
      const attributes = { 'roomgate.request_id': call.requestId, 'roomgate.mandator': call.viewer.mandator };
      /** @returns a short result, which graphql-ws sends */
      const send = async (result: Result, isLarge: boolean) => {
        if (!isLarge) return result;
        const before = `{"id":${JSON.stringify(id)},"type":"next","payload":`;
        const message = enclosed(before, jsonPieces(plain(result)), '}');
        await outbox.sendPieces(message, context.once(openChunks), isOver);
        return undefined;
      };
      const run = () => pipeline.answer(params, call, send, isOver);
      const short = await inTrace(context.traces, 'graphql', { kind: 'SERVER', attributes }, run);
      if (short && !isOver()) yield short as ExecutionResult;
    } catch (cause) {
      const error = presentCause(cause, call.requestId, log);
      if (!isOver()) yield { errors: [error] };
    } finally {
      end();
    }
  }

  const server = useServer<NonNullable<LinkParams>>(
    {
      isProd: true,
      // The socket guard limits this time.
      connectionInitWaitTimeout: 0,
      execute: answer,
      subscribe,
      async onConnect(link) {
        try {
          const viewer = await authenticate(link);
          if (viewer.sessionId !== undefined) await endWithSession(link, viewer);
          guard.letIn(link.extra.socket, viewer);
          return true;
        } catch (error) {
          if (!asDomainError(error)) log.error({ err: String(error) }, 'unexpected error');
          link.extra.socket.close(...closeCodeOf(error));
          return false;
        }
      },
      async onSubscribe(link, id, payload) {
        const requestId = randomUUID();
        try {
          return await prepare(link, id, payload, requestId);
        } catch (cause) {
          return [presentCause(cause, requestId, log)];
        }
      },
      onError(link, id, _payload, errors) {
        const codes = errors.map(({ extensions }) => extensions['code']);
        if (codes.includes(graphqlCodeOf.NotAuthenticated)) setImmediate(leave, link, id);
        return errors.map((error) => withoutHttp(error as GraphQLError));
      },
      onNext: (_link, _id, _payload, _args, result) => result.errors && (plain(result) as FormattedExecutionResult),
    },
    sockets,
    Math.min(pingEveryMs, (config.Limits.StalledReaderSeconds * 1_000) / 2),
  );

  function open(request: IncomingMessage, socket: Duplex, head: Buffer): void {
    // ws does not accept a list of protocols; those beside WebSocket are ignored.
    request.headers.upgrade = 'websocket';
    sockets.handleUpgrade(request, socket, head, (opened) => {
      // Each stream of the socket adds a listener.
      opened.setMaxListeners(0);
      // graphql-ws terminates a socket that does not answer a ping.
      opened.terminate = () => {
        cuts++;
        WebSocket.prototype.terminate.call(opened);
      };
      const outbox = new Outbox(opened);
      outboxes.set(opened, outbox);
      opened.send = ((text: string, sent: () => void) => outbox.send(text, sent)) as typeof opened.send;
      guard.keepOutside(opened, socket, head);
      sockets.emit('connection', opened, request);
      // graphql-ws would print errors on the console; ws itself closes the socket.
      opened.removeAllListeners('error').on('error', (error) => {
        log.info({ err: error.message }, 'WebSocket failed');
      });
    });
  }

  return {
    open,
    cutCount: () => cuts,
    async close() {
      const late = setTimeout(() => {
        for (const socket of sockets.clients) socket.terminate();
      }, goodbyeTimeoutMs);
      await server.dispose();
      clearTimeout(late);
    },
  };
}
