import path from 'node:path';
import { readConfig } from '../../src/config.ts';
import { createPin } from '../../src/identity/service.ts';
import { type Log, openLog } from '../../src/log.ts';
import { startServer } from '../../src/server.ts';
import { makeTenant } from './factories.ts';
import { freePort } from './free-port.ts';
import { pepper } from './pepper.ts';
import { cloneDatabase } from './postgres.ts';
import { type ProxyName, startProxy } from './proxies.ts';
import { tokenFor } from './token.ts';

const project = path.join(import.meta.dirname, '..', '..');

/** The window of limits per minute: so long that no test crosses from one into the next. */
export const longWindow = 86_400_000;

/** In `npm run test:pooled`: the way of requests to a database. */
function throughPooler(databaseUrl: string): Record<string, string> {
  const pooler = process.env['ROOMGATE_TEST_POOLER'];
  if (!pooler) return {};
  const url = new URL(databaseUrl);
  url.host = new URL(pooler).host;
  return { PooledDatabaseUrl: url.href };
}

/** In `npm run test:proxied`: the proxy that stands before each service, and where. */
async function proxyInFront() {
  const { proxy: name } = globalThis as { proxy?: ProxyName };
  if (!name) return undefined;
  const port = await freePort();
  const url = `http://127.0.0.1:${port}`;
  return {
    settings: { BaseUrl: url, IdpUrl: url, TrustProxy: 'loopback' },
    start: (service: string) => startProxy(name, { port, a: service, b: service }),
  };
}

/** Settings as a test needs them: a free port, quiet, and no local PostgreSQL. `settings` is written like the environment. */
export function testConfig(databaseUrl: string, settings: Record<string, string> = {}) {
  return readConfig(
    {
      Port: '0',
      LogLevel: 'silent',
      DatabaseUrl: databaseUrl,
      Pepper: pepper,
      // All tests call from one address.
      Limits__TokenRequestsPerMinute: '10000',
      Limits__RequestsPerMinute: '100000',
      // A test that names a database of its own cuts the way to it.
      ...(settings['DatabaseUrl'] ? {} : throughPooler(databaseUrl)),
      ...settings,
    },
    project,
  );
}

/** The whole service in this process, on a database of its own, with one tenant and a PIN for each of its persons. */
export async function startService(settings: Record<string, string> = {}, rooms?: string[], log?: Log) {
  const database = await cloneDatabase();
  const front = await proxyInFront();
  const config = testConfig(database.url, { ...front?.settings, ...settings });
  const server = await startServer(config, log ?? openLog(config.LogLevel), { rateWindow: longWindow });
  await server.ready;
  const { context } = server;
  const proxy = await front?.start(`127.0.0.1:${context.config.Port}`);
  const url = proxy?.url ?? context.config.BaseUrl;
  const tenant = await makeTenant(context.db, rooms ? { rooms } : {});

  /** A bearer token of a person by role, through the token endpoint. */
  async function signIn(who = tenant, role: 'Admin' | 'Importer' | 'User' | 'Display' = 'User'): Promise<string> {
    const { pin } = await createPin(service.context.db, pepper, {
      mandatorId: who.mandatorId,
      personId: who.person(role).id,
    });
    return await tokenFor(url, pin);
  }

  let { stop } = server;
  const service = {
    url,
    databaseUrl: database.url,
    context,
    tenant,
    signIn,
    async stop() {
      await proxy?.stop();
      await stop();
      await database.drop();
      // The modules of test files stay loaded, and with them what their variables hold: let that be no whole service.
      stop = async () => {};
      Object.assign(service, { context: undefined });
    },
  };
  return service;
}

export type Service = Awaited<ReturnType<typeof startService>>;
