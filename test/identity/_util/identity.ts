import http from 'node:http';
import type { AddressInfo } from 'node:net';
import path from 'node:path';
import express from 'express';
import { type Client, type Config, listeningOn, readConfig } from '../../../src/config.ts';
import { openContext } from '../../../src/context.ts';
import { authenticate, openIdentity } from '../../../src/identity/authenticate.ts';
import { identityRoutes } from '../../../src/identity/rest.ts';
import { openLog } from '../../../src/log.ts';
import { handleErrors } from '../../../src/rest/errors.ts';
import { pepper } from '../../_util/pepper.ts';
import { longestIdleMs } from '../../_util/scripted-server.ts';

/** A client that may do everything and needs no secret. */
export const openClient: Client = {
  Enabled: true,
  ClientId: 'timetable-import',
  ClientName: '',
  ClientSecrets: [],
  AllowedGrantTypes: ['apikey'],
  AllowedScopes: ['service_api'],
  RequireConsent: false,
  RequirePkce: true,
  RequireClientSecret: false,
};

export type IdentityServer = Awaited<ReturnType<typeof startIdentity>>;

/** A process with the identity room alone, and a route behind its door that answers the viewer. */
export async function startIdentity(
  databaseUrl: string,
  {
    IdentityProvider,
    ...changes
  }: Partial<Omit<Config, 'IdentityProvider'>> & { IdentityProvider?: Partial<Config['IdentityProvider']> } = {},
) {
  const lines: string[] = [];
  const log = openLog('trace', { write: (line) => void lines.push(line) });
  const app = express();
  app.set('trust proxy', 1);
  const server = http.createServer({ keepAliveTimeout: longestIdleMs }, app);
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  const settings = readConfig(
    {
      DatabaseUrl: databaseUrl,
      Pepper: pepper,
      Host: '127.0.0.1',
      Port: '0',
      Limits__TokenRequestsPerMinute: '10000',
    },
    path.join(import.meta.dirname, '..', '..', '..'),
  );
  const { port } = server.address() as AddressInfo;
  const config = listeningOn(
    {
      ...settings,
      Clients: [openClient],
      ...changes,
      IdentityProvider: { ...settings.IdentityProvider, ...IdentityProvider },
    },
    port,
  );
  const url = `http://127.0.0.1:${port}`;
  const { close, ...context } = await openContext(config, log);
  const identity = openIdentity(context);
  app.use(identityRoutes(identity));
  app.use('/:mandator/api', authenticate(identity), (_request, response) => {
    response.json(response.locals['viewer']);
  });
  app.use(handleErrors(log));

  return {
    url,
    context,
    identity,
    lines,
    /** POSTs a form to the token endpoint; `pin` and the parameters of a right request are added. */
    requestToken(pin: string, parameters: Record<string, string> = {}, headers: Record<string, string> = {}) {
      const form = {
        grant_type: 'apikey',
        scope: 'service_api',
        client_id: 'timetable-import',
        apikey: pin,
        ...parameters,
      };
      return fetch(`${url}/connect/token`, {
        method: 'POST',
        body: new URLSearchParams(form),
        headers,
      });
    },
    async token(pin: string): Promise<string> {
      const response = await this.requestToken(pin);
      const body = (await response.json()) as { access_token?: string };
      if (!body.access_token) throw new Error(`no token: ${response.status} ${JSON.stringify(body)}`);
      return body.access_token;
    },
    /** Calls the route behind the door. */
    call(authorization: string | undefined, mandator = 'school') {
      return fetch(`${url}/${mandator}/api/whoami`, {
        headers: authorization === undefined ? {} : { authorization },
      });
    },
    async stop() {
      server.closeAllConnections();
      await new Promise((resolve) => server.close(resolve));
      await close();
    },
  };
}
