/**
 * An outside OpenID provider (contract 3, `IdentityProvider.Mode=External`). Its metadata is discovered on the first token
 * and refreshed. Its JWTs are verified here with its public keys, its opaque tokens by introspection.
 */
import { createRemoteJWKSet, customFetch, decodeProtectedHeader, errors, type JWTPayload, jwtVerify } from 'jose';
import { LRUCache } from 'lru-cache';
import * as oidc from 'openid-client';
import { z } from 'zod';
import type { Config } from '../config.ts';
import type { Context } from '../context.ts';
import { NotAuthenticated, Unavailable } from '../errors.ts';
import { networkOf } from '../http/networks.ts';
import { fetchSafely } from '../http/safe-fetch.ts';
import { isMandator } from '../names.ts';
import { hour, minute } from '../time/durations.ts';
import { howToSignIn } from './modes.ts';
import { apiScope } from './tokens.ts';
import { refusedToken } from './wrong-tokens.ts';

/** The person that an outside token names: by mandator and e-mail address, both in any case. */
export type Assertion = { tenant: string; email: string; expiresAt: Date };

/** Where a token comes from, and whether its last check succeeded. */
type TokenSender = { address: string; isProven: boolean };

type Metadata = {
  config: oidc.Configuration;
  keys: ReturnType<typeof createRemoteJWKSet>;
  algorithms: string[];
};

const timeoutMs = 5_000;
const clockToleranceSeconds = 5;
/** When metadata is refreshed, and how long it is used while the provider does not answer. */
const [freshForMs, usableForMs] = [10 * minute, hour];
const [firstPauseMs, longestPauseMs] = [250, 5_000];
/** Unknown key ids cause at most one read of the keys in this time. */
const readKeysEveryMs = 1_000;
/** Limits on introspections of tokens that have not been valid before: for all addresses, and for each. */
const [introspectionsPerSecond, introspectionsPerAddress] = [100, 20];
const refusedForMs = 4_000;

/** Algorithms that are verified with a public key. */
const asymmetric = /^(RS|PS|ES|Ed|ML-DSA)/;
/** The types of RFC 9068 and of older providers. An ID token is refused by its audience and scope. */
const types = /^((application\/)?at\+jwt|jwt)$/i;

const list = z.union([z.string().transform((text) => text.split(' ')), z.array(z.string())]);

/** Some providers write it as a text. A missing claim counts as verified. */
export const emailVerified = z
  .literal(true)
  .or(z.string().regex(/^true$/i))
  .optional();

/** Lower case turns İ and the Kelvin sign into ASCII letters, and so into the name of somebody else. */
const tenantClaim = z.string().refine(isMandator);
const emailClaim = z.email();

/** The tenant and the e-mail address that claims name; undefined unless they name both. */
export function namesIn(
  claims: object,
  { IdentityProvider: { TenantClaim, EmailClaim } }: Pick<Config, 'IdentityProvider'>,
): Pick<Assertion, 'tenant' | 'email'> | undefined {
  const { data: tenant } = tenantClaim.safeParse((claims as JWTPayload)[TenantClaim]);
  const { data: email } = emailClaim.safeParse((claims as JWTPayload)[EmailClaim]);
  return tenant === undefined || email === undefined ? undefined : { tenant, email };
}

/** The claims of a JWT and of an introspection (RFC 7662) alike. */
const claimsSchema = z.object({
  aud: z.union([z.string().transform((one) => [one]), z.array(z.string())]),
  /** Seconds since 1970, within the range of a Date. */
  exp: z.number().max(8.64e12),
  iss: z.string().optional(),
  scope: list.optional(),
  /** Some providers' name for the scope. */
  scp: list.optional(),
  token_type: z
    .string()
    .regex(/^bearer$/i)
    .optional(),
  /** A token that is bound to a key of its holder is not a bearer token. */
  cnf: z.undefined().optional(),
  email_verified: emailVerified,
});

/** The token is not valid; the message says why. */
class TokenRefused extends Error {}

const wrongClaim = (claim: string) => `its claim ${claim} is missing or not accepted`;
const unknownThere = 'the provider does not know it, or has ended it';

/**
 * Opens the provider: `verify` checks its tokens, `metadata` leads to its other endpoints.
 * @throws NotAuthenticated; Unavailable while the provider cannot be asked
 */
export function openProvider({ config: settings, log }: Context) {
  const { Authority = '', Audience, TenantClaim, EmailClaim } = settings.IdentityProvider;
  const refused = new LRUCache<string, true>({ max: 1_000, ttl: refusedForMs });
  let known: { metadata: Metadata; at: number } | undefined;
  let asking: Promise<Metadata> | undefined;
  let [pause, notBefore] = [firstPauseMs, 0];
  const budget = openBudget();

  function unavailable(error: unknown): Unavailable {
    const { message, cause } = error as Error;
    log.warn({ err: message, cause: cause && String(cause), provider: Authority }, 'identity provider failed');
    return new Unavailable('The identity provider does not answer correctly; send the same request again.');
  }

  async function ask(): Promise<Metadata> {
    if (performance.now() < notBefore)
      throw new Unavailable('The identity provider does not answer at the moment; send the same request again.');
    try {
      const metadata = await discover(settings.IdentityProvider);
      pause = firstPauseMs;
      known = { metadata, at: performance.now() };
      return metadata;
    } catch (error) {
      notBefore = performance.now() + pause;
      pause = Math.min(longestPauseMs, 2 * pause);
      throw unavailable(error);
    }
  }

  function provider(): Promise<Metadata> {
    const age = known ? performance.now() - known.at : Number.POSITIVE_INFINITY;
    if (known && age < freshForMs) return Promise.resolve(known.metadata);
    asking ??= ask().finally(() => {
      asking = undefined;
    });
    if (!known || age > usableForMs) return asking;
    asking.catch(() => {});
    return Promise.resolve(known.metadata);
  }

  async function verifyJwt(token: string): Promise<JWTPayload> {
    const { config, keys, algorithms } = await provider();
    const { payload, protectedHeader } = await jwtVerify(
      token,
      (header, jws) =>
        keys(header, jws).catch((error: unknown) => {
          throw faultOf(error) === undefined ? unavailable(error) : error;
        }),
      {
        algorithms,
        clockTolerance: clockToleranceSeconds,
        audience: Audience,
        issuer: config.serverMetadata().issuer,
        requiredClaims: ['exp'],
      },
    );
    if (!types.test(protectedHeader.typ ?? 'JWT')) throw new TokenRefused('it is no access token by its header typ');
    return payload;
  }

  /**
   * Refusals are cached for a moment and introspections are limited, so that invalid tokens neither load the provider nor
   * delay valid ones.
   */
  async function introspect(token: string, { address, isProven }: TokenSender): Promise<object> {
    if (refused.has(token)) throw new TokenRefused(unknownThere);
    const { config } = await provider();
    if (!settings.IdentityProvider.ClientId || !config.serverMetadata().introspection_endpoint)
      throw new errors.JWSInvalid('it is no JWT, and only those are accepted here');
    if (!isProven && !budget.take(networkOf(address)))
      throw new Unavailable('Too many tokens are being checked at the moment; send the same request again.');
    const { active, ...claims } = await oidc
      .tokenIntrospection(config, token, { token_type_hint: 'access_token' })
      .catch((error: unknown) => {
        throw unavailable(error);
      });
    if (active) return claims;
    refused.set(token, true);
    throw new TokenRefused(unknownThere);
  }

  async function read(token: string, sender: TokenSender): Promise<Assertion> {
    const claims = isJwt(token) ? await verifyJwt(token) : await introspect(token, sender);
    const { aud, exp, iss, scope, scp } = claimsSchema.parse(claims);
    const { issuer } = (await provider()).config.serverMetadata();
    const faults = {
      aud: !aud.includes(Audience),
      scope: ![...(scope ?? []), ...(scp ?? [])].includes(apiScope),
      iss: (iss ?? issuer) !== issuer,
      exp: (exp + clockToleranceSeconds) * 1_000 < Date.now(),
    };
    for (const [claim, isWrong] of Object.entries(faults)) if (isWrong) throw new TokenRefused(wrongClaim(claim));
    const names = namesIn(claims, settings);
    if (!names)
      throw new NotAuthenticated(
        `The token does not name the caller: the provider must put the mandator into its claim ${TenantClaim} and the person's e-mail address into ${EmailClaim}.`,
      );
    return { ...names, expiresAt: new Date(exp * 1_000) };
  }

  return {
    metadata: provider,
    verify: (token: string, sender: TokenSender): Promise<Assertion> =>
      read(token, sender).catch((error: unknown) => {
        const fault = faultOf(error);
        if (fault === undefined) throw error;
        throw refusedToken(error, `The token is not valid or has expired (${fault}); ${howToSignIn(settings)}`);
      }),
  };
}

export type OutsideProvider = ReturnType<typeof openProvider>;

/** How many introspections are left in this second. */
function openBudget() {
  const asked = new Map<string, number>();
  let [second, total] = [0, 0];
  return {
    take(network: string): boolean {
      const now = Math.floor(performance.now() / 1_000);
      if (now !== second) {
        [second, total] = [now, 0];
        asked.clear();
      }
      const own = asked.get(network) ?? 0;
      if (own >= introspectionsPerAddress || total >= introspectionsPerSecond) return false;
      asked.set(network, own + 1);
      total += 1;
      return true;
    },
  };
}

async function discover(settings: Config['IdentityProvider']): Promise<Metadata> {
  const { Authority = '', Audience, ClientId = Audience, ClientSecret } = settings;
  const authority = new URL(Authority);
  const guarded = fetchSafely(authority.origin);
  // Every provider must support it (RFC 6749, 2.3.1).
  const clientAuth = ClientSecret ? oidc.ClientSecretBasic(ClientSecret) : oidc.None();
  const config = await oidc.discovery(authority, ClientId, undefined, clientAuth, {
    timeout: timeoutMs / 1_000,
    execute: authority.protocol === 'http:' ? [oidc.allowInsecureRequests] : [],
    [oidc.customFetch]: guarded,
  });
  // ID tokens come from the provider itself, over TLS; their signatures are checked all the same.
  oidc.enableNonRepudiationChecks(config);
  const { jwks_uri, id_token_signing_alg_values_supported: named } = config.serverMetadata();
  if (!jwks_uri) throw new Error('the provider names no jwks_uri');
  const keys = createRemoteJWKSet(new URL(jwks_uri), {
    timeoutDuration: timeoutMs,
    cooldownDuration: readKeysEveryMs,
    // The keys are replaced with the metadata.
    cacheMaxAge: Number.POSITIVE_INFINITY,
    [customFetch]: guarded,
  });
  await keys.reload();
  const algorithms = ((named as string[] | undefined) ?? ['RS256']).filter((name) => asymmetric.test(name));
  return { config, keys, algorithms };
}

/** What is wrong with the token, for those who set up the provider; undefined for an error that is about the provider. */
function faultOf(error: unknown): string | undefined {
  if (error instanceof TokenRefused) return error.message;
  if (error instanceof z.ZodError) return wrongClaim(error.issues[0]!.path.join('.'));
  const ofProvider = ['ERR_JOSE_GENERIC', 'ERR_JWKS_TIMEOUT', 'ERR_JWKS_INVALID'];
  return error instanceof errors.JOSEError && !ofProvider.includes(error.code) ? error.message : undefined;
}

function isJwt(token: string): boolean {
  try {
    return token.split('.').length === 3 && decodeProtectedHeader(token).alg !== undefined;
  } catch {
    return false;
  }
}
