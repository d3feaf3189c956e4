/** Bounds values from mail servers, which any sender of an invitation may have written. */
import { createHash } from 'node:crypto';

/** As long as a subject of a booking may be. */
const longestText = 200;
const longestAddress = 254;
const longestId = 512;
const [earliest, latest] = [Date.UTC(1900), Date.UTC(2200)];

/** @returns undefined if the bytes are not JSON */
export function readJson(bytes: Buffer): unknown {
  try {
    return JSON.parse(bytes.toString('utf8'));
  } catch {
    return undefined;
  }
}

/** Puts a text on one line of at most `most` characters; null when nothing is left. */
export function cutText(text: string | null | undefined, most = longestText): string | null {
  // Cut first, as the text may have megabytes.
  const words = (text ?? '').slice(0, 8 * most).replace(/[\p{Cc}\u2028\u2029\s]+/gu, ' ');
  const cut = words.trim().slice(0, most);
  return (
    cut
      .replace(/[\ud800-\udbff]$/, '')
      .toWellFormed()
      .trim() || null
  );
}

/** @returns null if the text is not an e-mail address, such as an X.500 name of Exchange */
export function readAddress(text: string | null | undefined): string | null {
  const address = (text ?? '').slice(0, longestAddress + 1).trim();
  return address.length <= longestAddress && /^[^\s@\p{Cc}]+@[^\s@\p{Cc}]+$/u.test(address)
    ? address.toWellFormed()
    : null;
}

/** An organizer by name and address; null where neither is known. */
export const organizerOf = (name: string | null, email: string | null) =>
  name === null && email === null ? null : { name, email };

/** An id as it is stored: itself, or its hash if it is too long or unfit for the database. */
export function boundId(id: string): string {
  if (id.length <= longestId && /^[\x20-\x7e]*$/.test(id)) return id;
  return `sha256:${createHash('sha256').update(id).digest('hex')}`;
}

/** Whether a stored id is the hash of the server's own, which is then unknown. */
export const isHash = (id: string): boolean => /^sha256:[0-9a-f]{64}$/.test(id);

/** Reads `2026-11-20T09:00:00.0000000Z`, with an offset or without (UTC); undefined if it is not a date of the years 1900 to 2199. */
export function readInstant(text: string | null | undefined): Date | undefined {
  const parts = /^(\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d)(\.\d{1,3})?\d{0,9}(Z|[+-]\d\d:\d\d)?$/.exec(text ?? '');
  if (!parts) return undefined;
  const [, time = '', fraction = '', zone = 'Z'] = parts;
  const milliseconds = Date.parse(`${time}${fraction}${zone}`);
  // NaN meets neither condition.
  return milliseconds >= earliest && milliseconds < latest ? new Date(milliseconds) : undefined;
}

const globalObjectId = /^040000008200E00074C5B7101A82E008[0-9A-F]{48,}$/i;
const vCalUid = '7643616C2D55696401000000';
const [dateAt, dataAt] = [32, 80];

/**
 * Reads the UID (RFC 5545) that all occurrences of a series share. Exchange's global object ids carry the day of an occurrence,
 * and wrap the UID of an invitation from elsewhere (MS-OXCICAL 2.1.3.1.1.20.26).
 */
export function readUid(text: string | null | undefined): string | null {
  const uid = (text ?? '').trim();
  if (uid === '') return null;
  if (!globalObjectId.test(uid)) return boundId(uid);
  const data = uid.slice(dataAt).toUpperCase();
  if (!data.startsWith(vCalUid))
    return boundId(`${uid.slice(0, dateAt)}00000000${uid.slice(dateAt + 8)}`.toUpperCase());
  const wrapped = Buffer.from(data.slice(vCalUid.length), 'hex').toString('utf8').replace(/\0.*$/s, '');
  return wrapped === '' ? null : boundId(wrapped);
}
