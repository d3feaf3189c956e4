/**
 * Limits wrong tokens by the address that sends them. Past the limit only wrong ones are refused with 429: those who share the
 * address with their sender go on calling. A token that was valid once does not count, as its holder is to hear 401 and get another,
 * unless the key that signed it is no longer known: then it cannot be told from a forged one.
 */
import { errors } from 'jose';
import { LRUCache } from 'lru-cache';
import type { Context } from '../context.ts';
import { LimitExceeded, NotAuthenticated } from '../errors.ts';
import { atMost } from '../flow/caches.ts';
import { networkOf, normalizeAddress } from '../http/networks.ts';
import { minute } from '../time/durations.ts';

/** The most wrong tokens from an IPv4 address, or a /64 of IPv6. */
const wrongPerMinute = 300;

const kinds = {
  displays: { key: 'wrong-displays', of: 'wrong tokens of displays', said: 'wrong display tokens' },
  tokens: { key: 'wrong-bearers', of: 'wrong tokens', said: 'wrong tokens' },
};

/** Those that the log has named in the last minute. */
const openLogged = () => new LRUCache<string, true>({ ...atMost(10_000), ttl: minute });

/** @throws LimitExceeded after too many wrong tokens from this address */
export function countWrongToken(context: Context, ip: string, kind: keyof typeof kinds): void {
  const key = `${kinds[kind].key} ${networkOf(ip)}`;
  const { used, resetsAt } = context.rates.count(key);
  if (used <= wrongPerMinute) return;
  const logged = context.once(openLogged);
  if (!logged.has(key)) {
    context.log.warn({ address: normalizeAddress(ip) }, kinds[kind].said);
    logged.set(key, true);
  }
  throw LimitExceeded.until(resetsAt, wrongPerMinute, `${kinds[kind].of} in a minute for one address`);
}

/** The token was signed by nobody who vouches for callers here. */
class TokenForged extends NotAuthenticated {}

/** A signature is checked before claims, such as the end of a token. */
const ofSignature = [
  errors.JOSEAlgNotAllowed,
  errors.JOSENotSupported,
  // It names no key although there are several.
  errors.JWKSMultipleMatchingKeys,
  errors.JWKSNoMatchingKey,
  errors.JWSInvalid,
  errors.JWSSignatureVerificationFailed,
  errors.JWTInvalid,
];

/** What a caller hears whose token was refused with this error. */
export const refusedToken = (error: unknown, message: string): NotAuthenticated =>
  ofSignature.some((kind) => error instanceof kind) ? new TokenForged(message) : new NotAuthenticated(message);

/** Waits for the check of a token. @throws LimitExceeded after too many forged ones from this address */
export async function countingForged<T>(context: Context, ip: string, check: Promise<T>): Promise<T> {
  try {
    return await check;
  } catch (error) {
    if (error instanceof TokenForged) countWrongToken(context, ip, 'tokens');
    throw error;
  }
}
