/**
 * The two secrets of a subscription: `k` in its callback URL, and Graph's clientState. Each holds the subscription's id and an
 * HMAC with a key derived from the pepper, so neither is stored, and both are checked without the database.
 */
import { createHmac, createSecretKey, type KeyObject, timingSafeEqual } from 'node:crypto';
import type { Config } from '../config.ts';
import { deriveKey, pepperOf } from '../identity/service.ts';

type Purpose = 'callback' | 'client state';

export type Secrets = {
  /** `<id>.<43 characters>`, fit for a query string. */
  make(purpose: Purpose, subscriptionId: number): string;
  /** The id of the subscription that the secret belongs to; undefined for every other text. */
  read(purpose: Purpose, secret: string): number | undefined;
};

/** Keep the result if many secrets are checked: to derive a key costs more than a check. */
export function openSecrets(config: Config): Secrets {
  const keys: Partial<Record<Purpose, KeyObject>> = {};
  const keyOf = (purpose: Purpose) =>
    (keys[purpose] ??= createSecretKey(deriveKey(pepperOf(config), `mail ${purpose}`)));

  function make(purpose: Purpose, subscriptionId: number): string {
    return `${subscriptionId}.${createHmac('sha256', keyOf(purpose)).update(`${subscriptionId}`).digest('base64url')}`;
  }

  return {
    make,
    read(purpose, secret) {
      const id = /^([1-9]\d{0,9})\.[\w-]{43}$/.exec(secret)?.[1];
      if (id === undefined) return undefined;
      const [wanted, given] = [Buffer.from(make(purpose, Number(id))), Buffer.from(secret)];
      return wanted.length === given.length && timingSafeEqual(wanted, given) ? Number(id) : undefined;
    },
  };
}
