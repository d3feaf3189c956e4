import { isUtf8 } from 'node:buffer';
import { DialectFault } from './notification.ts';

export type SentObject = { readonly [name: string]: unknown };

const deepest = 32;
const [quote, backslash] = Buffer.from('"\\');
const opening = new Set(Buffer.from('[{'));
const closing = new Set(Buffer.from(']}'));

/** Checks the depth before the JSON is parsed: `JSON.stringify` cannot serialize very deep values again. */
function checkDepth(bytes: Buffer): void {
  let depth = 0;
  let isText = false;
  for (let at = 0; at < bytes.length; at++) {
    const byte = bytes[at] as number;
    if (isText) {
      if (byte === backslash) at += 1;
      else if (byte === quote) isText = false;
    } else if (byte === quote) isText = true;
    else if (opening.has(byte)) {
      depth += 1;
      if (depth > deepest) throw new DialectFault(`The JSON is nested deeper than ${deepest} levels.`);
    } else if (closing.has(byte)) depth -= 1;
  }
}

export const isObject = (value: unknown): value is SentObject =>
  typeof value === 'object' && value !== null && !Array.isArray(value);

/** @throws DialectFault when it is not a JSON object in UTF-8, or deeper than 32 levels */
export function readJsonObject(bytes: Buffer): SentObject {
  if (!isUtf8(bytes)) throw new DialectFault('The JSON is not in UTF-8.');
  checkDepth(bytes);
  let read: unknown;
  try {
    read = JSON.parse(bytes.toString('utf8').replace(/^\uFEFF/, ''));
  } catch {
    throw new DialectFault('The JSON is not well-formed.');
  }
  if (!isObject(read)) throw new DialectFault('The JSON is not an object.');
  return read;
}
