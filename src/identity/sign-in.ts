/**
 * Signing in to the console at an outside OpenID provider: authorization code flow with PKCE (RFC 7636). A **flow** connects
 * the answer of the provider with the browser that asked for it. Only that browser keeps it, in a cookie that it cannot read:
 * this server holds nothing for people who do not come back.
 */
import { EncryptJWT, errors, jwtDecrypt } from 'jose';
import * as oidc from 'openid-client';
import { z } from 'zod';
import type { Context } from '../context.ts';
import { Unavailable } from '../errors.ts';
import { emailVerified, namesIn, type OutsideProvider } from './external.ts';
import { pepperOf } from './pins.ts';
import { deriveKey } from './sealing.ts';

/** How long a person may take at the provider. */
export const flowSeconds = 600;

/** The reasons for a failed sign-in that the page of the console shows. */
type SignInFault = 'SignInDenied' | 'SignInExpired' | 'PersonUnknown' | 'ProviderUnavailable' | 'ProviderRefused';

/** The message is for the log. */
export class SignInFailed extends Error {
  readonly fault: SignInFault;
  constructor(fault: SignInFault, message: string) {
    super(message);
    this.fault = fault;
  }
}

const flowSchema = z.object({
  state: z.string(),
  nonce: z.string(),
  verifier: z.string(),
  /** The ids of the sessions that the sign-in ends: browsers do not send their cookies along with the provider's answer. */
  before: z.array(z.string()),
});
type Flow = z.output<typeof flowSchema>;

/** Errors instead of a code, by the person and by the provider (RFC 6749, 4.1.2.1; OpenID Connect Core, 3.1.2.6). */
const denied = /^(access_denied|(login|consent|interaction|account_selection)_(required|denied))$/;
const busy = /^(server_error|temporarily_unavailable)$/;

/** What a failure at the provider means for the person. */
function asSignInFailed(error: unknown): SignInFailed {
  if (error instanceof SignInFailed) return error;
  if (error instanceof Unavailable) return new SignInFailed('ProviderUnavailable', error.message);
  const { message, cause, code } = error as Error & { code?: string };
  const failed = (fault: SignInFault, reason: unknown = '') =>
    new SignInFailed(fault, `${message}${reason && `: ${reason}`}`);
  if (error instanceof oidc.AuthorizationResponseError)
    return failed(
      denied.test(error.error) ? 'SignInDenied' : busy.test(error.error) ? 'ProviderUnavailable' : 'ProviderRefused',
      error.error,
    );
  if (error instanceof oidc.ResponseBodyError) {
    if (error.status >= 500 || error.status === 429) return failed('ProviderUnavailable', error.error);
    // The code has been used, or is too old.
    return failed(error.error === 'invalid_grant' ? 'SignInExpired' : 'ProviderRefused', error.error);
  }
  const isBroken = cause instanceof Response && (cause.status >= 500 || cause.status === 429);
  // An error without a code is a failure of the connection.
  const isSilent = error instanceof oidc.ClientError && (code === undefined || code === 'OAUTH_TIMEOUT');
  const answer = cause instanceof Response ? `${cause.status}, ${cause.headers.get('content-type')}` : cause;
  return failed(isBroken || isSilent ? 'ProviderUnavailable' : 'ProviderRefused', answer && String(answer));
}

/** Opens signing in at the provider. @throws SignInFailed */
export function openSignIns({ config: settings }: Context, provider: OutsideProvider) {
  const { Authority = '', SignInScopes, TenantClaim, EmailClaim } = settings.IdentityProvider;
  const key = deriveKey(pepperOf(settings), 'sign-in');
  const encryption = { alg: 'dir', enc: 'A256GCM' } as const;

  /** Fixed: it depends on nothing in a request but the tenant. */
  const returnAddress = (mandator: string) => `${settings.BaseUrl}/${mandator}/session/return`;

  const seal = (flow: Flow, mandator: string): Promise<string> =>
    new EncryptJWT(flow)
      .setProtectedHeader(encryption)
      .setAudience(mandator)
      .setExpirationTime(`${flowSeconds} seconds`)
      .encrypt(key);

  async function unseal(sealed: string, mandator: string): Promise<Flow> {
    try {
      const { payload } = await jwtDecrypt(sealed, key, {
        keyManagementAlgorithms: [encryption.alg],
        contentEncryptionAlgorithms: [encryption.enc],
        audience: mandator,
        requiredClaims: ['exp'],
      });
      return flowSchema.parse(payload);
    } catch (error) {
      if (!(error instanceof errors.JOSEError)) throw error;
      throw new SignInFailed('SignInExpired', `no flow of this browser: ${error.message}`);
    }
  }

  async function begin(mandator: string, before: string[]): Promise<{ address: string; flow: string }> {
    const { config } = await provider.metadata();
    const [state, nonce, verifier] = [oidc.randomState(), oidc.randomNonce(), oidc.randomPKCECodeVerifier()];
    const address = oidc.buildAuthorizationUrl(config, {
      redirect_uri: returnAddress(mandator),
      scope: SignInScopes,
      state,
      nonce,
      code_challenge: await oidc.calculatePKCECodeChallenge(verifier),
      code_challenge_method: 'S256',
    });
    if (address.protocol !== 'https:' && address.origin !== new URL(Authority).origin)
      throw new SignInFailed('ProviderRefused', `${address.origin} is no https address`);
    return { address: address.href, flow: await seal({ state, nonce, verifier, before }, mandator) };
  }

  /** The claims of the ID token, and those that the provider gives only at its userinfo endpoint. */
  async function claimsBy(config: oidc.Configuration, address: URL, { state, nonce, verifier }: Flow): Promise<object> {
    const tokens = await oidc.authorizationCodeGrant(config, address, {
      expectedState: state,
      expectedNonce: nonce,
      pkceCodeVerifier: verifier,
      idTokenExpected: true,
    });
    const claims = tokens.claims() as oidc.IDToken;
    if (namesIn(claims, settings) || !config.serverMetadata().userinfo_endpoint) return claims;
    return { ...(await oidc.fetchUserInfo(config, tokens.access_token, claims.sub)), ...claims };
  }

  async function finish(mandator: string, { query, flow: sealed }: ProviderAnswer) {
    const address = new URL(returnAddress(mandator));
    address.search = query;
    const flow = await unseal(sealed, mandator);
    if (address.searchParams.get('state') !== flow.state)
      throw new SignInFailed('SignInExpired', 'the answer is for another flow');
    const { config } = await provider.metadata();
    const claims = await claimsBy(config, address, flow);
    const names = namesIn(claims, settings);
    if (!names)
      throw new SignInFailed(
        'ProviderRefused',
        `neither the ID token nor userinfo names the mandator in ${TenantClaim} and an e-mail address in ${EmailClaim}, each as one text`,
      );
    if (!emailVerified.safeParse((claims as oidc.IDToken)['email_verified']).success)
      throw new SignInFailed('PersonUnknown', 'the e-mail address is not verified');
    return { names, before: flow.before };
  }

  const failing =
    <Given extends unknown[], Result>(work: (...given: Given) => Promise<Result>) =>
    (...given: Given): Promise<Result> =>
      work(...given).catch((error: unknown) => {
        throw asSignInFailed(error);
      });
  return { begin: failing(begin), finish: failing(finish) };
}

/** A browser's return from the provider: the query of the URL, and the cookie of the flow. */
export type ProviderAnswer = { query: string; flow: string };
