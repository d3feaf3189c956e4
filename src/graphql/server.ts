/** GraphQL at `/{mandator}/graphql` (contract 8): HTTP, with streams over SSE, here; WebSocket in `websocket.ts`. */
import type { IncomingMessage, ServerResponse } from 'node:http';
import type { Duplex } from 'node:stream';
import type { Context, Credentials, Viewer } from '../context.ts';
import { Malformed, MethodNotAllowed, NotAcceptable, TooLarge, UnsupportedMediaType } from '../errors.ts';
import type { Call } from './builder.ts';
import { openExplorer } from './explorer.ts';
import { createPipeline } from './pipeline.ts';
import { type Authenticate, createStreams } from './streams.ts';
import { createWebSockets } from './websocket.ts';

const json = /^application\/json\s*(;\s*charset="?utf-8"?\s*)?$/i;
const answerable = /(\*|application)\/\*|application\/(json|graphql-response\+json)|text\/(\*|event-stream)/i;

/** Refuses what is no GraphQL call, before anything of it is read: a browser cannot send another site's JSON unasked. */
function checkRequest({ method, headers }: IncomingMessage): void {
  if (method !== 'POST')
    throw new MethodNotAllowed('GraphQL takes POST only, for subscriptions too.', ['POST']);
  if (!json.test(headers['content-type'] ?? ''))
    throw new UnsupportedMediaType('Send the GraphQL call as application/json in UTF-8.');
  if (headers['content-encoding'] && headers['content-encoding'] !== 'identity')
    throw new UnsupportedMediaType('Send the GraphQL call without Content-Encoding.');
  if (headers.accept && !answerable.test(headers.accept))
    throw new NotAcceptable(
      'GraphQL answers with application/graphql-response+json, application/json or text/event-stream.',
    );
}

async function readText(request: IncomingMessage, most: number): Promise<string> {
  const tooLarge = new TooLarge(`A GraphQL call may have ${most} bytes; send larger imports through REST.`);
  if (Number(request.headers['content-length']) > most) throw tooLarge;
  const chunks: Buffer[] = [];
  let size = 0;
  // Not destroyed on the way out: the connection has yet to carry the answer.
  for await (const chunk of request.iterator({ destroyOnReturn: false })) {
    chunks.push(chunk);
    size += chunk.length;
    if (size > most) throw tooLarge;
  }
  try {
    return new TextDecoder('utf-8', { fatal: true }).decode(Buffer.concat(chunks));
  } catch {
    throw new Malformed('The body is not UTF-8.');
  }
}

/** What Express adds, as far as it is used here. */
type Request = IncomingMessage & { body?: string };
type Response = ServerResponse & { locals: Record<string, unknown> };

export type GraphqlServer = {
  /** For `/:mandator/graphql`, behind the door that sets `response.locals.viewer` and its `credentials`. */
  handler(request: Request, response: Response): Promise<void>;
  /** The page for people, before the door; whether it has answered. */
  explorer(request: IncomingMessage, response: ServerResponse): Promise<boolean>;
  /** Takes the `upgrade` events of an HTTP server; other paths than ours are refused. */
  upgrade(request: IncomingMessage, socket: Duplex, head: Buffer): void;
  /** How many streams are open now. */
  streamCount(): number;
  /** Ends every stream and WebSocket. */
  close(): Promise<void>;
};

/**
 * @param options.authenticate checks the credential of a WebSocket, and those of open streams again when it must
 * @param options.addressOf whom the upgrade request of a WebSocket comes from, behind what proxies there are
 * @param options.countRequest counts an operation of a WebSocket as a request of the viewer; throws LimitExceeded
 */
export function createGraphqlServer(
  context: Context,
  options: {
    authenticate: Authenticate;
    addressOf(request: IncomingMessage): string;
    countRequest(viewer: Viewer): void;
  },
): GraphqlServer {
  const yoga = createPipeline(context.log);
  const streams = createStreams(context, options.authenticate);
  const sockets = createWebSockets(context, yoga, streams, options);
  return {
    async handler(request, response) {
      checkRequest(request);
      const body = await readText(request, context.config.Limits.BodyBytes);
      const gone = new AbortController();
      response.once('close', () => gone.abort());
      const call: Call = {
        context,
        streams,

        viewer: response.locals['viewer'] as Viewer,
        requestId: String(response.locals['requestId']),
        credentials: response.locals['credentials'] as Credentials,
        signal: gone.signal,
      };
      request.body = body;
      request.headers['content-type'] = 'application/json';
      response.setHeader('Cache-Control', 'no-store');
      await yoga(request, response, call);
    },
    explorer: openExplorer(context),
    upgrade: sockets.upgrade,
    streamCount: streams.count,
    async close() {
      await streams.close();
      await sockets.close();
    },
  };
}
