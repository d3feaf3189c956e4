/**
 * GraphQL at `/{mandator}/graphql` (contract 8). The modules that answer calls are loaded at the first one: they are a third
 * of what a process loads, and many processes never need them.
 */
import { hash } from 'node:crypto';
import fs from 'node:fs/promises';
import type { IncomingMessage, ServerResponse } from 'node:http';
import path from 'node:path';
import type { Context } from '../context.ts';
import { isKnown } from '../http/answers.ts';
import type { Calls, CallsOptions } from './calls.ts';
import { loadCalls } from './loading.ts';
import { acceptsUpgrade, checkUpgrade } from './upgrades.ts';

export { graphqlFailure } from './failures.ts';

export type GraphqlServer = Omit<Calls, 'open'> & {
  /** For `/:mandator/graphql/schema.graphql`, after authentication: the schema as text. */
  schema(request: IncomingMessage, response: ServerResponse): Promise<void>;
  /** How the HTTP server opens WebSockets. */
  upgrades: {
    /** @throws Forbidden for a request for a WebSocket by a page of a site that may not call */
    checkOrigin(request: IncomingMessage): void;
    /** Whether a request becomes a WebSocket; any other is answered as if it asked for no upgrade. */
    accepts(request: IncomingMessage): boolean;
    /** Handles the `upgrade` events of requests that `accepts` accepts. */
    open: Calls['open'];
  };
  /** Loads the modules that answer calls, for a page that is about to call. */
  prepare(): void;
};

/** `npm run check` compares the file with the schema that is built. */
async function readSchema(): Promise<{ text: string; etag: string }> {
  const text = await fs.readFile(path.join(import.meta.dirname, 'schema.graphql'), 'utf8');
  return { text, etag: `"${hash('sha256', text).slice(0, 32)}"` };
}

export function createGraphqlServer(context: Context, options: CallsOptions): GraphqlServer {
  let calls: Calls | undefined;
  let loading: Promise<Calls> | undefined;
  let isClosed = false;
  async function load(): Promise<Calls> {
    const { openCalls } = await loadCalls();
    calls = openCalls(context, options);
    if (isClosed) await calls.close();
    return calls;
  }
  const loaded = () =>
    (loading ??= load().catch((error: Error) => {
      loading = undefined;
      context.log.error({ err: error.stack }, 'GraphQL cannot be loaded');
      throw error;
    }));
  let schema: ReturnType<typeof readSchema> | undefined;

  return {
    handler: (request, response) =>
      calls ? calls.handler(request, response) : loaded().then(({ handler }) => handler(request, response)),
    async schema(request, response) {
      const { text, etag } = await (schema ??= readSchema());
      response.setHeader('ETag', etag);
      response.setHeader('Cache-Control', 'no-cache');
      if (isKnown(request.headers, etag)) {
        response.statusCode = 304;
        response.end();
        return;
      }
      response.setHeader('Content-Type', 'text/plain; charset=utf-8');
      response.end(text);
    },
    upgrades: {
      checkOrigin: (request) => checkUpgrade(request, context.config),
      accepts: (request) => acceptsUpgrade(request, context.config),
      open(request, socket, head) {
        if (calls) return calls.open(request, socket, head);
        // The client may disconnect meanwhile, and nobody else listens to its socket yet.
        const leave = () => socket.destroy();
        socket.on('error', leave);
        loaded().then(({ open }) => {
          open(request, socket, head);
          socket.off('error', leave);
        }, leave);
      },
    },
    prepare: () => void loaded().catch(() => {}),
    streamCount: () => calls?.streamCount() ?? 0,
    stalledCount: () => calls?.stalledCount() ?? 0,
    cutCount: () => calls?.cutCount() ?? 0,
    async close() {
      isClosed = true;
      await calls?.close();
    },
  };
}
