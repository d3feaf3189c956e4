import http from 'node:http';
import type { AddressInfo } from 'node:net';
import path from 'node:path';
import express from 'express';
import { createClient as createSseClient } from 'graphql-sse';
import { type ClientOptions, createClient as createWsClient } from 'graphql-ws';
import { sql } from 'kysely';
import WebSocket from 'ws';
import { type Config, readConfig } from '../../src/config.ts';
import { type Context, type Credentials, openContext, type Viewer } from '../../src/context.ts';
import { NotAuthenticated, NotFound } from '../../src/errors.ts';
import { createGraphqlServer } from '../../src/graphql/server.ts';
import { openLog } from '../../src/log.ts';
import { handleErrors } from '../../src/rest/errors.ts';
import { countRequest } from '../../src/rest/limits.ts';
import { identifyRequests } from '../../src/rest/request.ts';
import type { makeTenant } from './factories.ts';
import type { TypedDocumentString } from './operations/generated/graphql.ts';
import { plainId, readPlain, withPlainIds } from './plain-ids.ts';
import { longestIdleMs } from './scripted-server.ts';

type Tenant = Awaited<ReturnType<typeof makeTenant>>;
export type Answer<Data> = {
  status: number;
  headers: Headers;
  data?: Data | null;
  errors?: { message: string; extensions: Record<string, unknown> }[];
};
export type GraphqlService = Awaited<ReturnType<typeof startGraphql>>;

/** A process with GraphQL alone. Tokens are names in `viewers`, so that a test decides who they are and when they end. */
export async function startGraphql(databaseUrl: string, limits: Partial<Config['Limits']> = {}) {
  const settings = readConfig({ DatabaseUrl: databaseUrl }, path.join(import.meta.dirname, '..', '..'));
  const config = { ...settings, Limits: { ...settings.Limits, ...limits } };
  const lines: string[] = [];
  const log = openLog('info', { write: (line) => void lines.push(line) });
  const { close, ...context } = await openContext(config, log);
  const viewers = new Map<string, Viewer>();
  const authenticate = async (mandator: string, { authorization = '' }: Credentials) => {
    const viewer = viewers.get(String(authorization).replace(/^Bearer /, ''));
    if (!viewer) throw new NotAuthenticated('This needs a bearer token.');
    if (viewer.mandator !== mandator.toLowerCase()) throw new NotFound('There is no such tenant.');
    return viewer;
  };
  const graphql = createGraphqlServer(context, {
    authenticate,
    sessionOf: () => undefined,
    addressOf: () => '127.0.0.1',
    countRequest: (viewer, uses) => countRequest(context, viewer, uses),
  });
  const app = express().use(
    '/:mandator/graphql',
    identifyRequests(log),
    async (request, response, next) => {
      const credentials = { authorization: request.get('authorization'), address: '127.0.0.1' };
      response.locals['credentials'] = credentials;
      response.locals['viewer'] = await authenticate(String(request.params['mandator']), credentials);
      next();
    },
    graphql.handler,
  );
  app.use(handleErrors(log));
  const { accepts: shouldUpgradeCallback, open } = graphql.upgrades;
  const server = http.createServer({ shouldUpgradeCallback, keepAliveTimeout: longestIdleMs }, app).on('upgrade', open);
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  const { port } = server.address() as AddressInfo;
  const url = `http://127.0.0.1:${port}/school/graphql`;
  // Listening has begun: no test is the first to wait for it.
  (await context.notifications.subscribe('ready')).close();

  return {
    url,
    port,
    context,
    server,
    graphql,
    viewers,
    lines,
    /** Makes `token` a credential of a person of the tenant. */
    admit(token: string, tenant: Tenant, changes: Partial<Viewer> = {}): Viewer {
      const { id, name, email, role } = tenant.person(changes.role ?? 'User');
      const viewer: Viewer = {
        mandatorId: tenant.mandatorId,
        mandator: 'school',
        personId: id,
        displayName: name,
        email,
        timeZone: 'Europe/Berlin',
        role: role as Viewer['role'],
        usersMayImport: true,
        groupIds: [],
        hiddenRooms: [],
        pinId: 1,
        display: null,
        credential: token,
        expiresAt: new Date(Date.now() + 3_600_000),
        ...changes,
      };
      viewers.set(token, viewer);
      return viewer;
    },
    post(body: unknown, headers: Record<string, string> = {}, signal?: AbortSignal): Promise<Response> {
      return fetch(url, {
        method: 'POST',
        headers: { authorization: 'Bearer user', 'content-type': 'application/json', ...headers },
        body: typeof body === 'string' ? body : JSON.stringify(body),
        signal: signal ?? null,
      });
    },
    async run<Data, Variables>(
      document: TypedDocumentString<Data, Variables>,
      variables: Variables,
      token = 'user',
    ): Promise<Answer<Data>> {
      const headers = { authorization: `Bearer ${token}` };
      const response = await this.post({ query: document.toString(), variables }, headers);
      const body = readPlain<Pick<Answer<Data>, 'data' | 'errors'>>(await response.text());
      return { status: response.status, headers: response.headers, ...body };
    },
    sse(token = 'user') {
      return withPlainIds(createSseClient({ url, headers: { authorization: `Bearer ${token}` }, retryAttempts: 0 }));
    },
    ws(token = 'user', more: Partial<ClientOptions> = {}) {
      return createWsClient({
        url: url.replace('http', 'ws'),
        webSocketImpl: WebSocket,
        jsonMessageReviver: plainId,
        connectionParams: { Authorization: `Bearer ${token}` },
        retryAttempts: 0,
        ...more,
      });
    },
    async stop() {
      context.notifications.stop();
      await graphql.close();
      server.closeAllConnections();
      await new Promise((resolve) => server.close(resolve));
      await close();
    },
  };
}

/** Fulfilled when what was committed until now has been heard of. */
export async function heardOfAll({ db, notifications }: Context): Promise<void> {
  const heard = await notifications.subscribe('heard');
  await sql`select pg_notify('roomgate', 'heard:all')`.execute(db);
  await heard.next();
  heard.close();
}
