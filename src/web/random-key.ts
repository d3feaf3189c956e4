/** A key that makes repeated attempts count once. `crypto.randomUUID` is missing on pages that came over http. */
export const randomKey = (): string =>
  [...crypto.getRandomValues(new Uint8Array(16))].map((byte) => byte.toString(16).padStart(2, '0')).join('');
