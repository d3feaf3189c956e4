/**
 * Splits the bytes of a JSON array of objects into groups of whole objects as they arrive, without keeping them. PostgreSQL
 * parses the JSON; this module checks only what PostgreSQL cannot: the outer array, depth, size, UTF-8.
 */
import { isUtf8 } from 'node:buffer';
import { Malformed, pathOf, pointerTo, TooLarge } from '../errors.ts';
import { isStorable, notStorable } from '../storable.ts';

/** `count` jobs from index `first` on: their bytes, with the commas between them, begin at byte `at` of the body. */
export type JobSpan = { first: number; count: number; at: number; length: number };

const deepest = 32;

const quote = 0x22;
const comma = 0x2c;
const backslash = 0x5c;
const openBracket = 0x5b;
const closeBracket = 0x5d;
const openBrace = 0x7b;
const closeBrace = 0x7d;
const byteOrderMark = [0xef, 0xbb, 0xbf];

const isSpace = (byte: number) => byte === 0x20 || byte === 0x0a || byte === 0x0d || byte === 0x09;

/** Bytes of UTF-16 that are no text in UTF-8: its byte order mark, and the half of an ASCII character. */
const isOfUtf16 = (byte: number) => byte === 0 || byte >= 0xfe;
const notUtf8 = 'not UTF-8; encode the body as UTF-8';

type Expected = 'array' | 'first job' | 'job' | 'comma' | 'end';

const remedies: Record<Expected, string> = {
  array: 'the body must be a JSON array of job objects, starting with "["',
  'first job': 'expected a job object "{…}"; every element of the array must be one',
  job: 'expected a job object "{…}" after the comma',
  comma: 'expected "," or "]" after a job',
  end: 'nothing may follow the array',
};

/** The error for a body of more than `most` bytes. */
export const jobsTooLarge = (most: number) =>
  new TooLarge(`The body is larger than ${most} bytes; send fewer jobs per batch.`);

/**
 * `take` reads the next bytes of a body, decompressed, and returns the groups that they complete; `end` returns the last
 * group. Both throw Malformed, naming the byte, when the body is not a JSON array of objects or is nested too deeply.
 * @param mostBytes a longer body is TooLarge
 * @param groupSize the least bytes of a group
 */
export function openSplitter(mostBytes: number, groupSize = 512 * 1024) {
  let expected: Expected = 'array';
  let depth = 0;
  let inString = false;
  let escaped = false;
  /** Bytes of the body before the current chunk. */
  let before = 0;
  /** Where the group starts, and where its last whole job ends. */
  let start = 0;
  let end = 0;
  let first = 0;
  let count = 0;

  const fault = (at: number, byte: number) =>
    new Malformed(
      `Byte ${before + at} of the body: ${isOfUtf16(byte) && expected !== 'end' ? notUtf8 : remedies[expected]}.`,
    );

  function endGroup(): JobSpan {
    const span = { first, count, at: start, length: end - start };
    first += count;
    count = 0;
    return span;
  }

  return {
    take(chunk: Uint8Array): JobSpan[] {
      if (before + chunk.length > mostBytes) throw jobsTooLarge(mostBytes);
      const spans: JobSpan[] = [];
      for (let at = 0; at < chunk.length; at++) {
        const byte = chunk[at] as number;
        if (depth > 0) {
          if (inString) {
            if (escaped) escaped = false;
            else if (byte === backslash) escaped = true;
            else if (byte === quote) inString = false;
          } else if (byte === quote) inString = true;
          else if (byte === openBrace || byte === openBracket) {
            if (++depth > deepest)
              throw new Malformed(`Byte ${before + at} of the body: nested deeper than ${deepest} levels.`);
          } else if ((byte === closeBrace || byte === closeBracket) && --depth === 0) {
            count++;
            end = before + at + 1;
            expected = 'comma';
            if (end - start >= groupSize) spans.push(endGroup());
          }
        } else if (isSpace(byte)) continue;
        else if (expected === 'array') {
          if (byte === byteOrderMark[before + at]) continue;
          if (byte !== openBracket) throw fault(at, byte);
          expected = 'first job';
        } else if (expected === 'comma' && byte === comma) expected = 'job';
        else if ((expected === 'comma' || expected === 'first job') && byte === closeBracket) expected = 'end';
        else if ((expected === 'job' || expected === 'first job') && byte === openBrace) {
          if (count === 0) start = before + at;
          depth = 1;
        } else throw fault(at, byte);
      }
      before += chunk.length;
      return spans;
    },
    end(): JobSpan[] {
      if (expected !== 'end')
        throw new Malformed(
          expected === 'array'
            ? 'The body is empty: send a JSON array of job objects.'
            : `The body ends after ${before} bytes, inside the array: was it cut off?`,
        );
      if (first + count === 0) throw new Malformed('The array is empty: send at least one job object.');
      return count > 0 ? [endGroup()] : [];
    },
  };
}

/** @param json an array of the jobs. @throws Malformed naming the byte, when it is not UTF-8 */
export function checkEncoding(json: Buffer, { at }: JobSpan): void {
  if (isUtf8(json)) return;
  // The bracket was added to the bytes of the body.
  throw new Malformed(`Byte ${at + firstInvalid(json) - 1} of the body: ${notUtf8}.`);
}

/** Index of the first byte that is not UTF-8, by halving. */
function firstInvalid(json: Buffer): number {
  let good = 0;
  let bad = json.length;
  while (bad - good > 1) {
    const middle = (good + bad) >> 1;
    // A cut inside a character is no fault: try up to three bytes less.
    const valid = [0, 1, 2, 3].some((back) => middle - back > good && isUtf8(json.subarray(0, middle - back)));
    if (valid) good = middle;
    else bad = middle;
  }
  return good;
}

/** Bytes that may be parsed without delaying other requests; only a group of one huge job is larger. */
const mostExplained = 2 * 1024 * 1024;

/** The way to the first text that PostgreSQL cannot store; for a name, to the object that has it. */
function findUnstorable(value: unknown): (string | number)[] | undefined {
  if (typeof value === 'string') return isStorable(value) ? undefined : [];
  if (typeof value !== 'object' || value === null) return undefined;
  for (const [name, item] of Object.entries(value)) {
    if (!isStorable(name)) return [];
    const way = findUnstorable(item);
    if (way) return [Array.isArray(value) ? Number(name) : name, ...way];
  }
  return undefined;
}

/**
 * Why PostgreSQL refused a group as JSON, with the job: broken syntax, or what only PostgreSQL minds (U+0000, half a
 * surrogate pair, a number out of range).
 */
export function explainRefusal(json: Buffer, { first, count, at }: JobSpan, reason: string): Malformed {
  const asWhole = new Malformed(`Jobs ${first} to ${first + count - 1}: ${reason}.`);
  if (json.length > mostExplained) return asWhole;
  for (const job of openSplitter(Number.POSITIVE_INFINITY, 1).take(json)) {
    const index = first + job.first;
    const errorAt = (way: readonly (string | number)[], message: string) => {
      const pointer = pointerTo([index, ...way]);
      return new Malformed(`Job ${index}, from byte ${at + job.at - 1} of the body: ${message}`, [
        { field: null, pointer, code: 'Malformed', message },
      ]);
    };
    try {
      const way = findUnstorable(JSON.parse(json.toString('utf8', job.at, job.at + job.length)));
      if (way) return errorAt(way, `${pathOf(way) || 'a name'} ${notStorable}.`);
    } catch (error) {
      return errorAt([], `${(error as Error).message}.`);
    }
  }
  return asWhole;
}
