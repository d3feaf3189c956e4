/** Signs in to a mail server: with a password, or with a token of the token endpoint. */
import { importPKCS8, SignJWT } from 'jose';
import * as oidc from 'openid-client';
import type { MailServerSettings } from '../config.ts';
import { fetchSafely } from '../http/safe-fetch.ts';
import { minute } from '../time/durations.ts';
import { ServerFault } from './connector.ts';
import { AccountRefused, faultOf, networkFault, quote } from './faults.ts';

export type ServerCredentials = {
  /** The value of the header Authorization. */
  authorization(): Promise<string>;
  /** Forgets a token that the server has refused. @returns whether another one can be fetched */
  isRenewable(refused: string): boolean;
};

type Token = { authorization: string; until: number };

const timeoutSeconds = 15;
const fallbackLifeMs = 5 * minute;
const googleToken = 'https://oauth2.googleapis.com/token';
const googleScope = 'https://www.googleapis.com/auth/calendar.events';
const jwtGrant = 'urn:ietf:params:oauth:grant-type:jwt-bearer';
const graphScope = 'https://graph.microsoft.com/.default';

/** Sends no request before the first use. */
export function openCredentials(settings: MailServerSettings): ServerCredentials {
  const { ClientId, ServiceAccountKey: key, User = '', Password = '' } = settings;
  if (settings.Kind === 'Google' && key) return openTokens(() => fetchGoogleToken(settings, key));
  if (ClientId) return openTokens(() => fetchToken(settings, ClientId));
  const basic = `Basic ${Buffer.from(`${User}:${Password}`).toString('base64')}`;
  return { authorization: async () => basic, isRenewable: () => false };
}

/** Shares one token among all requests until shortly before it expires. */
function openTokens(fetchNew: () => Promise<Token>): ServerCredentials {
  let known: Token | undefined;
  let asking: Promise<Token> | undefined;

  async function ask(): Promise<Token> {
    try {
      return (known = await fetchNew());
    } finally {
      asking = undefined;
    }
  }

  return {
    async authorization() {
      if (known && performance.now() < known.until) return known.authorization;
      const { authorization } = await (asking ??= ask());
      return authorization;
    },
    isRenewable(refused) {
      // Another caller may have renewed it meanwhile.
      if (known?.authorization === refused) known = undefined;
      return true;
    },
  };
}

/** The client credentials grant (RFC 6749, 4.4). */
async function fetchToken(settings: MailServerSettings, clientId: string): Promise<Token> {
  const { Kind, Url, TokenUrl = '', ClientSecret = '', Scope } = settings;
  const endpoint = new URL(TokenUrl);
  const config = openEndpoint(endpoint, clientId, oidc.ClientSecretPost(ClientSecret));
  const scope = Scope ?? (Kind === 'Graph' ? graphScope : `${new URL(Url).origin}/.default`);
  const answer = await oidc.clientCredentialsGrant(config, { scope }).catch((error: unknown) => {
    throw tokenFault(error, endpoint.origin);
  });
  return takeToken(answer, endpoint);
}

type AccountKey = NonNullable<MailServerSettings['ServiceAccountKey']>;

/** The JWT bearer grant (RFC 7523, 2.1) of a service account, which acts as `User`. */
async function fetchGoogleToken({ TokenUrl, Scope, User }: MailServerSettings, key: AccountKey): Promise<Token> {
  const endpoint = new URL(TokenUrl ?? googleToken);
  // The assertion alone identifies the client.
  const config = openEndpoint(endpoint, key.client_email, () => {});
  const signing = await importPKCS8(key.private_key, 'RS256').catch(() => {
    throw new ServerFault('AccessLost', 'The private_key of ServiceAccountKey is not a valid key.');
  });
  const jwt = new SignJWT({ scope: Scope ?? googleScope }).setProtectedHeader({ alg: 'RS256', typ: 'JWT' });
  jwt.setIssuer(key.client_email).setAudience(endpoint.href).setIssuedAt().setExpirationTime('1h');
  if (User !== undefined) jwt.setSubject(User);
  const assertion = await jwt.sign(signing);
  const answer = await oidc.genericGrantRequest(config, jwtGrant, { assertion }).catch((error: unknown) => {
    throw tokenFault(error, endpoint.origin, 'are ServiceAccountKey and the clock of this machine right?');
  });
  return takeToken(answer, endpoint);
}

function openEndpoint(endpoint: URL, clientId: string, auth: oidc.ClientAuth): oidc.Configuration {
  const server = { issuer: endpoint.origin, token_endpoint: endpoint.href };
  const config = new oidc.Configuration(server, clientId, undefined, auth);
  config.timeout = timeoutSeconds;
  config[oidc.customFetch] = fetchSafely(endpoint.origin);
  if (endpoint.protocol === 'http:') oidc.allowInsecureRequests(config);
  return config;
}

function takeToken(answer: oidc.TokenEndpointResponse, endpoint: URL): Token {
  if (!/^[\x21-\x7e]+$/.test(answer.access_token))
    throw new ServerFault('Unreadable', `${endpoint.origin} returns a token that cannot be sent.`);
  const seconds = answer.expires_in;
  const life = seconds === undefined ? fallbackLifeMs : seconds * 1_000;
  return {
    authorization: `Bearer ${answer.access_token}`,
    until: performance.now() + Math.max(life - 5 * minute, life / 2),
  };
}

/** @param question what to ask where the grant itself is refused */
function tokenFault(error: unknown, origin: string, question?: string): ServerFault {
  if (error instanceof oidc.ResponseBodyError) {
    const { status, response, error: code, error_description: text = '' } = error;
    if (status === 429 || status >= 500) return faultOf(response, origin, code);
    const said = `${origin} returns no token: ${quote(`${code} ${text}`)}`;
    if (status === 401 || code === 'invalid_client') return new AccountRefused(said);
    const asked = code === 'invalid_grant' && question !== undefined ? `; ${question}` : '';
    return new ServerFault('AccessLost', `${said}${asked}`);
  }
  const { cause } = error as Error;
  if (cause instanceof Response) return faultOf(cause, origin, 'no token');
  if (!(error instanceof oidc.ClientError)) return networkFault(error, origin);
  // Without a code of its own, the error only wraps that of the request.
  if (error.code === undefined || error.code === 'OAUTH_TIMEOUT') return networkFault(cause, origin);
  return new ServerFault('Unreadable', `${origin} returns no token: ${quote(error.message)}`);
}
