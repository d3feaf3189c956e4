/** One running process: by its role the HTTP and WebSocket server, the worker, or both. */
import { once } from 'node:events';
import type { IncomingMessage } from 'node:http';
import type { AddressInfo } from 'node:net';
import { setTimeout as sleep } from 'node:timers/promises';
import { type Config, ConfigError, listeningOn, wrongPepper } from './config.ts';
import { type Context, openContext } from './context.ts';
import { connections as places } from './db/connections.ts';
import { type Database, openDatabase, withDatabase } from './db/database.ts';
import { insistOnDirect, warnOfConnections } from './db/direct.ts';
import { pendingMigrations } from './db/migrate.ts';
import { insistOnSameData } from './db/standbys.ts';
import { isRefusal, refusalOf } from './flow/database-errors.ts';
import { outlast } from './flow/retry.ts';
import { createHealthApp } from './health-app.ts';
import { answerClientErrors } from './http/client-errors.ts';
import { answerHalfClosed } from './http/half-closed.ts';
import { nodeHttp } from './http/node-http.ts';
import { askLater, hasBody } from './http/request-body.ts';
import { type AnsweringSocket, cutStalled } from './http/stalled.ts';
import { claimPepper, hasRightPepper } from './identity/authenticate.ts';
import type { Log } from './log.ts';
import type { Siblings } from './siblings.ts';
import { openFigures, startWorker, type WorkerHandle } from './worker/runner.ts';
import { bringUp } from './worker/schema.ts';

export type Server = {
  context: Context;
  /** Fulfilled once the schema is current and the worker, if there is one, has been started. */
  ready: Promise<void>;
  /** Serves for `DrainSeconds` more, then ends what is under way. */
  stop(): Promise<void>;
};

/** Milliseconds that requests in flight have to finish at a stop. */
const drainTimeout = 7_000;
/** Milliseconds within which the first request of a new connection arrives. */
const firstRequestWithin = 500;
/** The most unanswered requests of a connection. Each takes memory, and Node.js reads a thousand in one turn. */
const mostUnanswered = 32;

/** Loads the application that a process of this role serves. */
export const loadApp = async (role: Config['Role']) =>
  role === 'Worker' ? createHealthApp : (await import('./app.ts')).createApp;

/**
 * Listens at once; /readyz answers 503 until the database answers and is migrated.
 * @param siblings the processes of which this is one; with Role=All the first works on the queue for all of them
 */
export async function startServer(
  settings: Config,
  log: Log,
  { rateWindow, siblings }: { rateWindow?: number; siblings?: Siblings | undefined } = {},
): Promise<Server> {
  // Loaded before listening, so that the first request finds its handler.
  const createApp = await loadApp(settings.Role);
  // Without a collector, none of OpenTelemetry is loaded.
  const tracing = settings.Tracing.Endpoint ? await import('./tracing-export.ts') : undefined;
  // The headers may take 10 s; the reader of a body limits its time (http/request-body.ts).
  const server = nodeHttp.createServer({
    headersTimeout: 10_000,
    requestTimeout: 0,
    connectionsCheckingInterval: 2_000,
    // Ends the streams of a device that has lost its network.
    keepAlive: true,
    keepAliveInitialDelay: 30_000,
    // Java and curl offer an upgrade to HTTP/2 with each request; the offer is ignored unless it is accepted (RFC 9110, 7.8).
    shouldUpgradeCallback: (request) => hasOneHost(request) && app.upgrades?.accepts(request) === true,
  });
  server.keepAliveTimeout = 65_000;
  // Thousands of door signs reconnect at once after a restart.
  server.listen({ port: settings.Port, host: settings.Host, backlog: 4_096 });
  await once(server, 'listening').catch((error: NodeJS.ErrnoException) => {
    const setting = /^(EADDRNOTAVAIL|ENOTFOUND|EAI_AGAIN)$/.test(error.code ?? '') ? 'Host' : 'Port';
    throw new ConfigError(
      `${setting}: cannot listen on ${settings.Host}:${settings.Port} (${error.code}); set another ${setting}`,
    );
  });
  const config = listeningOn(settings, (server.address() as AddressInfo).port);
  const traces = tracing?.openTraces(config, log);
  const opened = await openContext(config, log, rateWindow);
  const context = traces ? { ...opened, traces } : opened;
  const { refusals } = context;
  for (const line of config.warnings) log.warn({ setting: line }, 'the settings files have an unknown member');
  /** Aborted when clients should send no new requests; those that come are still answered. */
  const leaving = new AbortController();
  const stopping = new AbortController();
  const works = config.Role === 'Worker' || (config.Role === 'All' && siblings?.isFirst !== false);
  let worker: WorkerHandle | undefined;
  // It also waits, ready, while PostgreSQL refuses to record that a job is taken.
  const isTaking = async () => (await worker?.isTaking()) === true || refusals.isRecent();
  siblings?.answer('worker', isTaking);

  const health = {
    pendingMigrations: () => pendingMigrations(context.db),
    pepper: () => hasRightPepper(context),
    stopping: () => leaving.signal.aborted,
    gauges: {
      ...openFigures(context.db),
      ...context.standbys?.figures,
      roomgate_writes_refused_total: {
        help: 'Statements that PostgreSQL has refused because its disk is full or it is read-only',
        label: 'cause',
        read: () => refusals.counts,
      },
    },
    ...(works && { worker: isTaking }),
    ...(siblings && config.Role === 'All' && { worker: async () => (await siblings.ask('worker')).includes(true) }),
    siblings,
  };
  const app = createApp(context, health);
  const connections = new Set<AnsweringSocket>();
  server.on('connection', (connection: AnsweringSocket) => {
    connections.add(connection);
    connection.on('close', () => connections.delete(connection));
  });
  answerClientErrors(server);
  answerHalfClosed(server);
  const stopLooking = cutStalled(server, connections, config.Limits.StalledReaderSeconds * 1_000);
  server.on('request', (request, response) => {
    const connection: AnsweringSocket = request.socket;
    // Node.js drops requests that are pipelined after an upgrade offer; `Connection: close` tells the client that they were not
    // read.
    if (leaving.signal.aborted || request.headers.upgrade !== undefined) response.shouldKeepAlive = false;
    connection.answering = response;
    connection.unanswered = (connection.unanswered ?? 0) + 1;
    response.on('close', () => {
      connection.unanswered = (connection.unanswered ?? 0) - 1;
      if (connection.answering === response) connection.answering = undefined;
      if (!request.complete && !connection.destroyed) leaveAfterRest(request, config.Limits.BodySeconds);
    });
  });
  server.on('request', (request, response) => {
    const connection: AnsweringSocket = request.socket;
    if ((connection.unanswered ?? 0) > mostUnanswered) return void connection.destroy();
    const isCoded = !/^(chunked)?$/i.test(request.headers['transfer-encoding'] ?? '');
    if (hasOneHost(request) && !isCoded) return app.handler(request, response);
    // For two Hosts the same answer as Node.js gives to a request without one (RFC 9112, 3.2 and 6.1).
    response.shouldKeepAlive = false;
    response.writeHead(isCoded ? 501 : 400).end();
  });
  // Without a listener, Node.js would have the client send a body that may be refused unread.
  server.on('checkContinue', (request, response) => {
    if (hasBody(request)) askLater(request, response);
    // Node.js closes the connection after an answer that no 100 precedes.
    else response.writeContinue();
    server.emit('request', request, response);
  });
  if (app.upgrades) server.on('upgrade', app.upgrades.open);

  const background = { 'roomgate.background': 1 };
  const forWork = { max: places.work, log, refusals, statementTimeout: 600_000, settings: background };
  const work = works ? openDatabase(config.DatabaseUrl, forWork) : undefined;
  const ready = (async () => {
    await migrateWhenPossible(context, stopping.signal);
    if (work && !stopping.signal.aborted) worker = startWorker(context, work);
  })();
  let isReady = false;
  ready.then(() => (isReady = true)).catch(() => {});

  return {
    context,
    ready,
    async stop() {
      leaving.abort();
      // A load balancer that has never seen this process ready sends it nothing.
      if (isReady && config.Role !== 'Worker') await sleep(config.DrainSeconds * 1_000);
      stopping.abort();
      const closed = new Promise((resolve) => server.close(resolve));
      // Responses that end from now on close their connection, so that the client opens another. Streams end by `stopping`.
      for (const { answering } of connections) if (answering) answering.shouldKeepAlive = false;
      context.notifications.stop();
      // A connection whose response had already begun stays open, idle, after it.
      const closing = setInterval(() => server.closeIdleConnections(), 50);
      // To Node.js a connection that a client has opened ahead is not idle.
      const leavingUnused = setTimeout(() => {
        for (const connection of connections) if (connection.bytesRead === 0) connection.destroy();
      }, firstRequestWithin);
      await Promise.all([
        Promise.race([closed, sleep(drainTimeout, undefined, { ref: false })]),
        app.close(),
        ready.then(() => worker?.stop()).catch(() => {}),
      ]);
      clearInterval(closing);
      clearTimeout(leavingUnused);
      stopLooking();
      server.closeAllConnections();
      await closed;
      await work?.destroy();
      await context.close();
      await context.traces?.close();
    },
  };
}

/** Whether a request has at most one `Host`. Node.js takes the first of several, and a proxy may take the last. */
function hasOneHost({ rawHeaders }: IncomingMessage): boolean {
  let count = 0;
  for (let at = 0; at < rawHeaders.length; at += 2)
    if (rawHeaders[at]?.length === 4 && rawHeaders[at]?.toLowerCase() === 'host') count++;
  return count <= 1;
}

/** Closes a connection whose request was answered before its body ended, unless the rest arrives within `seconds`. */
function leaveAfterRest(request: IncomingMessage, seconds: number): void {
  const leaving = setTimeout(() => request.socket.destroy(), seconds * 1_000).unref();
  request.once('close', () => clearTimeout(leaving));
}

async function migrateWhenPossible(context: Context, signal: AbortSignal): Promise<void> {
  const { config, log } = context;
  async function migrate(db: Database): Promise<void> {
    await insistOnDirect(config.DatabaseUrl);
    await insistOnSameData(config);
    await warnOfConnections(db, context);
    const applied = await bringUp(db, config, log, signal);
    if (applied.length > 0) log.info({ applied }, 'migrations applied');
    if (!(await claimPepper({ db, config }))) throw new ConfigError(wrongPepper);
  }
  function endIfRefused(error: Error): never {
    const cause = error.cause ?? error;
    throw isRefusal(cause) ? new ConfigError(refusalOf(cause)) : error;
  }
  await withDatabase(config.DatabaseUrl, log, (db) => outlast(signal, () => migrate(db).catch(endIfRefused), log));
}
