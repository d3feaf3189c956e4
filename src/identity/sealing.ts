/** Keys derived from the Pepper, the only secret outside of the database; they seal secrets that the database stores. */
import { createCipheriv, createDecipheriv, hkdfSync, randomBytes } from 'node:crypto';

/** A key for one purpose. */
export function deriveKey(pepper: string, purpose: string): Buffer {
  return Buffer.from(hkdfSync('sha256', pepper, '', `roomgate ${purpose}`, 32));
}

/** AES-256-GCM, bound to the purpose and the name of what is sealed: nonce, tag, ciphertext. */
export function seal(pepper: string, purpose: string, name: string, plain: Buffer): Buffer {
  const nonce = randomBytes(12);
  const cipher = createCipheriv('aes-256-gcm', deriveKey(pepper, purpose), nonce).setAAD(Buffer.from(name));
  const sealed = Buffer.concat([cipher.update(plain), cipher.final()]);
  return Buffer.concat([nonce, cipher.getAuthTag(), sealed]);
}

/** @throws when it was sealed with another Pepper, for another purpose or under another name */
export function unseal(pepper: string, purpose: string, name: string, sealed: Buffer): Buffer {
  const decipher = createDecipheriv('aes-256-gcm', deriveKey(pepper, purpose), sealed.subarray(0, 12))
    .setAAD(Buffer.from(name))
    .setAuthTag(sealed.subarray(12, 28));
  return Buffer.concat([decipher.update(sealed.subarray(28)), decipher.final()]);
}
