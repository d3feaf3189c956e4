/**
 * The two secrets of a subscription: `k` in its callback URL, and Graph's clientState. Each names its subscription and proves
 * it, with a key derived from the pepper: nothing of them is stored, and they are checked without the database.
 */
import { createHmac, createSecretKey, type KeyObject, timingSafeEqual } from 'node:crypto';
import type { Context } from '../context.ts';
import { deriveKey, pepperOf } from '../identity/service.ts';

type Purpose = 'callback' | 'client state';

/** Deriving one costs more than all the rest. */
const keys = new WeakMap<Context['config'], Map<Purpose, KeyObject>>();

function keyOf(config: Context['config'], purpose: Purpose): KeyObject {
  let derived = keys.get(config);
  if (!derived) keys.set(config, (derived = new Map()));
  let key = derived.get(purpose);
  if (!key) derived.set(purpose, (key = createSecretKey(deriveKey(pepperOf(config), `mail ${purpose}`))));
  return key;
}

/** `<id>.<43 characters>`, fit for a query string. */
export function makeSecret(config: Context['config'], purpose: Purpose, subscriptionId: number): string {
  const mac = createHmac('sha256', keyOf(config, purpose)).update(`${subscriptionId}`);
  return `${subscriptionId}.${mac.digest('base64url')}`;
}

/** The subscription that a secret proves; undefined for every other text. */
export function subscriptionOf(config: Context['config'], purpose: Purpose, secret: string): number | undefined {
  const id = /^([1-9]\d{0,9})\.[\w-]{43}$/.exec(secret)?.[1];
  if (id === undefined) return undefined;
  const wanted = Buffer.from(makeSecret(config, purpose, Number(id)));
  const given = Buffer.from(secret);
  return wanted.length === given.length && timingSafeEqual(wanted, given) ? Number(id) : undefined;
}
