/** Random texts that people read and type, in Crockford's base 32: characters that are hard to confuse. */
import { randomBytes } from 'node:crypto';

const characters = '0123456789ABCDEFGHJKMNPQRSTVWXYZ';

/** A text with 5 random bits in each character. */
export const makeTyped = (length: number): string =>
  Array.from(randomBytes(length), (byte) => characters[byte & 31]).join('');

/** The same text in any spelling. */
export const normalizeTyped = (text: string): string =>
  text.toUpperCase().replace(/[\s-]/g, '').replaceAll('O', '0').replace(/[IL]/g, '1');
