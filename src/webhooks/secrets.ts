/** The secrets that sign messages: 32 random bytes, `whsec_` and Base64 for people. They are stored sealed, as signing needs them. */
import { randomBytes } from 'node:crypto';
import type { Config } from '../config.ts';
import { pepperOf, seal, unseal } from '../identity/service.ts';

const secretPrefix = 'whsec_';
const purpose = 'webhook secret';

export const makeSecret = (): string => `${secretPrefix}${randomBytes(32).toString('base64')}`;

/** @param mandatorId binds the secret to the tenant: if its row is moved to another tenant, it cannot be opened */
export const sealSecret = (config: Config, mandatorId: number, secret: string): Buffer =>
  seal(pepperOf(config), purpose, `${mandatorId}`, Buffer.from(secret));

/** A secret that was sealed with another Pepper. */
export class SecretLost extends Error {}

/** @throws SecretLost */
export function openSecret(config: Config, mandatorId: number, sealed: Buffer): string {
  try {
    return unseal(pepperOf(config), purpose, `${mandatorId}`, sealed).toString();
  } catch {
    throw new SecretLost('its secret was encrypted with another Pepper: rotate it, or set that Pepper again');
  }
}
