/** The clients that may ask for tokens, out of the settings (specification 2.6), and the checks of their requests. */
import { createHash, timingSafeEqual } from 'node:crypto';
import type { Client } from '../config.ts';
import { apiScope } from './tokens.ts';

export const grantType = 'apikey';

/** An error of the token endpoint (RFC 6749, section 5.2). */
export class OAuthError extends Error {
  readonly code: string;
  readonly status: number;
  /** Seconds after which the same request may succeed. */
  readonly retryAfter: number | undefined;
  constructor(code: string, message: string, status = 400, retryAfter?: number) {
    super(message);
    this.code = code;
    this.status = status;
    this.retryAfter = retryAfter;
  }
}

/** The parameters of the token endpoint, and the address of the caller. */
export type TokenRequest = {
  grantType: string | undefined;
  scope: string | undefined;
  clientId: string | undefined;
  clientSecret: string | undefined;
  apiKey: string | undefined;
  /** IPv4 or IPv6 address of the caller. */
  address: string;
  /** The tenant in the path, if any. */
  mandator?: string | undefined;
};

/** Checks everything but the PIN. @throws OAuthError */
export function checkRequest(clients: readonly Client[], request: TokenRequest): { clientId: string; apiKey: string } {
  const { clientId, apiKey, scope = apiScope } = request;
  if (!request.grantType) throw new OAuthError('invalid_request', 'grant_type is missing; it must be apikey.');
  if (request.grantType !== grantType)
    throw new OAuthError('unsupported_grant_type', 'The only supported grant_type is apikey.');
  if (!clientId) throw new OAuthError('invalid_request', 'client_id is missing.');
  const client = clients.find(({ ClientId }) => ClientId === clientId);
  if (!client?.Enabled || !isSecretRight(client, request.clientSecret))
    throw new OAuthError('invalid_client', 'The client could not be authenticated.', 401);
  if (!client.AllowedGrantTypes.includes(grantType))
    throw new OAuthError('unauthorized_client', 'This client may not use the grant_type apikey.');
  const asked = scope.split(' ').filter(Boolean);
  if (!client.AllowedScopes.includes(apiScope) || asked.length === 0 || asked.some((name) => name !== apiScope))
    throw new OAuthError(
      'invalid_scope',
      'The only supported scope is service_api, and the client must be allowed to use it.',
    );
  if (!apiKey) throw new OAuthError('invalid_request', 'apikey is missing; it must be the PIN of the person.');
  return { clientId, apiKey };
}

/** Without RequireClientSecret a secret is ignored, right or wrong (contract 3). */
function isSecretRight({ RequireClientSecret, ClientSecrets }: Client, clientSecret = ''): boolean {
  if (!RequireClientSecret) return true;
  const digest = (text: string) => createHash('sha256').update(text).digest();
  const given = digest(clientSecret);
  // All are compared, so that the time does not reveal which one is right.
  const right = ClientSecrets.filter(({ Value }) => {
    const hash = /^sha256:(.*)$/.exec(Value)?.[1];
    const expected = hash === undefined ? digest(Value) : Buffer.from(hash, 'base64');
    return expected.length === given.length && timingSafeEqual(expected, given);
  });
  return clientSecret !== '' && right.length > 0;
}
