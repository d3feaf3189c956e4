/** The bounds of what PostgreSQL can store, which every reader of input checks. */
import { z } from 'zod';

/** The greatest id of most tables, and the greatest version: integer. */
export const mostId = 2 ** 31 - 1;
/** The greatest id of bookings, their series and other tables with bigint keys: the greatest exact number of JSON. */
export const mostLongId = Number.MAX_SAFE_INTEGER;

/** Reads an id that is written in digits; 0, which no record has, for any other text, such as `007` and `0x10`. */
export function readId(text: string, most = mostId): number {
  const id = /^[1-9]\d{0,15}$/.test(text) ? Number(text) : 0;
  return id <= most ? id : 0;
}

/** PostgreSQL stores neither U+0000 nor half of a surrogate pair. */
export const isStorable = (text: string): boolean => text.isWellFormed() && !text.includes('\0');

export const notStorable = 'must not hold U+0000 or half of a surrogate pair';

export const storableText = z.string().refine(isStorable, notStorable);
