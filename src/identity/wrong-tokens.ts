/**
 * Limits wrong tokens by the address that sends them. Past the limit only wrong ones are refused with 429: those who share the
 * address with their sender go on calling. A token that was valid once does not count, as its holder is to hear 401 and get another,
 * unless the key that signed it is no longer known: then it cannot be told from a forged one.
 */
import { errors } from 'jose';
import type { Context } from '../context.ts';
import { LimitExceeded, NotAuthenticated } from '../errors.ts';
import { networkOf, normalizeAddress } from '../http/networks.ts';

/** The most wrong tokens from an IPv4 address, or a /64 of IPv6. */
const wrongPerMinute = 300;

const kinds = {
  displays: { key: 'wrong-displays', of: 'wrong tokens of displays', said: 'wrong display tokens' },
  tokens: { key: 'wrong-bearers', of: 'wrong tokens', said: 'wrong tokens' },
};

/** @throws LimitExceeded after too many wrong tokens from this address */
export function countWrongToken({ rates, log }: Context, ip: string, kind: keyof typeof kinds): void {
  const { used, resetsAt } = rates.count(`${kinds[kind].key} ${networkOf(ip)}`);
  if (used <= wrongPerMinute) return;
  log.warn({ address: normalizeAddress(ip) }, kinds[kind].said);
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
