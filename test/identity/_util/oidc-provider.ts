/**
 * An outside OpenID provider in a process of its own: oidc-provider with the client_credentials grant, whose clients
 * stand for persons. Their claims go into every token; the resource that is asked for says which audience and format. The
 * same persons sign in with the authorization code flow: `login_hint` says who, else a page asks; `nobody at all` says no.
 */
import { type ChildProcess, fork } from 'node:child_process';
import { once } from 'node:events';
import http from 'node:http';
import { flushCompileCache } from 'node:module';
import type { AddressInfo } from 'node:net';
import { exportJWK, generateKeyPair, type JWK } from 'jose';
import { longestIdleMs } from '../../_util/scripted-server.ts';

export const audience = 'roomgate';
const secret = 'a secret of the provider';
/** The client that asks the provider about opaque tokens. */
export const resourceClient = { ClientId: 'roomgate', ClientSecret: secret };
/** The root of the service as browsers see it; a proxy takes the prefix away. */
export const publicRoot = 'https://rooms.example/gate';
/** The person who refuses at the provider. */
export const refuser = 'nobody at all';

type Claims = Record<string, unknown>;
type Settings = { clients: Record<string, Claims>; keys: JWK[]; port: number; root: string };

/** By resource: the audience of its tokens, and their format. */
const resources: Record<string, [audience: string, format: 'jwt' | 'opaque']> = {
  'urn:jwt': [audience, 'jwt'],
  'urn:opaque': [audience, 'opaque'],
  'urn:other': ['other', 'jwt'],
  'urn:other-opaque': ['other', 'opaque'],
};

async function runProvider({ clients, keys, port, root }: Settings): Promise<void> {
  const { Provider } = await import('oidc-provider');
  const server = http.createServer({ keepAliveTimeout: longestIdleMs });
  await once(server.listen(port, '127.0.0.1'), 'listening');
  const issuer = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
  const personClient = (client_id: string) => ({
    client_id,
    client_secret: secret,
    redirect_uris: [],
    response_types: [],
    grant_types: ['client_credentials'],
  });
  const ourClient = {
    client_id: resourceClient.ClientId,
    client_secret: secret,
    response_types: ['code' as const],
    redirect_uris: ['school', 'stranger'].map((tenant) => `${root}/${tenant}/session/return`),
    grant_types: ['authorization_code'],
  };
  function serve(jwks: JWK[]): void {
    const provider = new Provider(issuer, {
      clients: [ourClient, ...Object.keys(clients).map(personClient)],
      jwks: { keys: jwks as never },
      scopes: ['openid', 'service_api', 'other_api'],
      claims: { openid: ['sub'], email: ['email', 'email_verified', 'tenant'] },
      findAccount: (_ctx, accountId) => ({ accountId, claims: () => ({ sub: accountId, ...clients[accountId] }) }),
      interactions: { url: (_ctx, { uid }) => `/interaction/${uid}` },
      async loadExistingGrant({ oidc }) {
        const grant = new oidc.provider.Grant({
          clientId: oidc.client!.clientId,
          accountId: oidc.session!.accountId!,
        });
        grant.addOIDCScope('openid email');
        await grant.save();
        return grant;
      },
      features: {
        devInteractions: { enabled: false },
        clientCredentials: { enabled: true },
        introspection: { enabled: true, allowedPolicy: () => true },
        revocation: { enabled: true, allowedPolicy: () => true },
        resourceIndicators: {
          enabled: true,
          getResourceServerInfo(_ctx, resource) {
            const [aud, accessTokenFormat] = resources[resource]!;
            return { scope: 'service_api other_api', audience: aud, accessTokenFormat, accessTokenTTL: 600 };
          },
        },
      },
      extraTokenClaims: (_ctx, token) => clients[token.clientId ?? ''] as never,
    });
    const callback = provider.callback();
    server.removeAllListeners('request').on('request', async (request, response) => {
      if (!request.url?.startsWith('/interaction/')) return callback(request, response);
      const { params } = await provider.interactionDetails(request, response);
      const accountId = params['login_hint'] ?? new URL(request.url, issuer).searchParams.get('who');
      if (typeof accountId !== 'string') {
        const links = [...Object.keys(clients), refuser].map(
          (who) => `<li><a href="?${new URLSearchParams({ who })}">${who}</a>`,
        );
        response.setHeader('Content-Type', 'text/html').end(`<title>Who are you?</title><ul>${links.join('')}</ul>`);
        return;
      }
      const result = accountId === refuser ? { error: 'access_denied' } : { login: { accountId } };
      await provider.interactionFinished(request, response, result);
    });
  }
  serve(keys);
  process.on('message', (jwks: JWK[]) => {
    serve(jwks);
    process.send?.('rotated');
  });
  process.send?.(issuer);
  // For the next one: this one will be killed.
  flushCompileCache();
}

if (process.argv[2] === 'run the provider') await runProvider(JSON.parse(process.argv[3] ?? ''));

/** A signing key with its private part, as the provider holds it. */
export async function makeKey(kid: string): Promise<JWK> {
  const { privateKey } = await generateKeyPair('RS256', { extractable: true });
  return { ...(await exportJWK(privateKey)), kid, alg: 'RS256', use: 'sig' };
}

/** @param clients by ClientId, the claims of the tokens that it gets; `root`: that of the service, as browsers see it */
export async function startProvider(clients: Record<string, Claims>, root = publicRoot) {
  let keys = [await makeKey('first')];
  let child: ChildProcess | undefined;
  let issuer = '';

  async function start(): Promise<void> {
    const port = issuer ? Number(new URL(issuer).port) : 0;
    const settings: Settings = { clients, keys, port, root };
    child = fork(import.meta.filename, ['run the provider', JSON.stringify(settings)], { silent: true });
    [issuer] = (await once(child, 'message')) as [string];
  }
  async function stop(): Promise<void> {
    const exited = child && once(child, 'exit');
    child?.kill('SIGKILL');
    await exited;
    child = undefined;
  }
  const authorization = (clientId: string) =>
    `Basic ${Buffer.from(`${clientId}:${encodeURIComponent(secret)}`).toString('base64')}`;
  const post = (path: string, clientId: string, form: Record<string, string>) =>
    fetch(issuer + path, {
      method: 'POST',
      headers: { authorization: authorization(clientId) },
      body: new URLSearchParams(form),
    });

  await start();
  return {
    get issuer() {
      return issuer;
    },
    get key(): JWK {
      return keys[0]!;
    },
    start,
    stop,
    async token(clientId: string, resource = 'urn:jwt', scope = 'service_api'): Promise<string> {
      const response = await post('/token', clientId, { grant_type: 'client_credentials', resource, scope });
      const { access_token, ...rest } = (await response.json()) as { access_token?: string };
      if (!access_token) throw new Error(`no token: ${JSON.stringify(rest)}`);
      return access_token;
    },
    async revoke(clientId: string, token: string): Promise<void> {
      const response = await post('/token/revocation', clientId, { token });
      if (response.status !== 200) throw new Error(`not revoked: ${response.status}`);
    },
    /** Signs with another key from now on; the old one is no longer published. */
    async rotate(): Promise<void> {
      keys = [await makeKey(`key ${Date.now()}`)];
      child?.send(keys);
      await once(child!, 'message');
    },
  };
}
