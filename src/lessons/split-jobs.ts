/**
 * Cuts the bytes of a JSON array of objects into groups of whole elements while they arrive, without building objects:
 * PostgreSQL parses the JSON. Only what PostgreSQL cannot see is checked here: the outer array, depth, size, UTF-8.
 */
import { isUtf8 } from 'node:buffer';
import { Malformed, TooLarge } from '../errors.ts';

/**
 * `json` is a JSON array of the jobs from index `first` on, which start at byte `offset` of the body. Its bytes are used
 * again for the next group but one.
 */
export type JobGroup = { first: number; count: number; offset: number; json: Buffer; last: boolean };

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

type Expected = 'array' | 'first job' | 'job' | 'comma' | 'end';

const remedies: Record<Expected, string> = {
  array: 'the body must be a JSON array of job objects, starting with "["',
  'first job': 'expected a job object "{…}"; every element of the array must be one',
  job: 'expected a job object "{…}" after the comma',
  comma: 'expected "," or "]" after a job',
  end: 'nothing may follow the array',
};

/**
 * @param body the request's bytes, inflated
 * @param mostBytes past them: TooLarge
 * @param groupSize bytes that a group gathers before it is handed on
 * @throws Malformed naming the byte, when the body is not a JSON array of objects, not UTF-8 or nested too deeply
 */
export async function* splitJobs(
  body: AsyncIterable<Uint8Array>,
  mostBytes: number,
  groupSize = 512 * 1024,
): AsyncGenerator<JobGroup> {
  let expected: Expected = 'array';
  let depth = 0;
  let inString = false;
  let escaped = false;
  /** Bytes of the body before the current chunk. */
  let before = 0;
  /** Parts of the group that came with earlier chunks. */
  let parts: Buffer[] = [];
  let gathered = 0;
  let groupOffset = 0;
  let first = 0;
  let count = 0;
  let held: JobGroup | undefined;
  const toGroup = openBuffers();

  const fault = (at: number) => new Malformed(`Byte ${before + at} of the body: ${remedies[expected]}.`);

  for await (const bytes of body) {
    const chunk = Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength);
    if (before + chunk.length > mostBytes)
      throw new TooLarge(`The body is larger than ${mostBytes} bytes; send fewer jobs per batch.`);
    /** Where the group continues in this chunk; -1 between groups. */
    let start = count > 0 || depth > 0 ? 0 : -1;
    /** Just behind the last whole job. */
    let end = 0;
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
          end = at + 1;
          expected = 'comma';
          if (gathered + end - start >= groupSize) {
            if (held) yield held;
            held = toGroup([...parts, chunk.subarray(start, end)], first, count, groupOffset);
            first += count;
            count = 0;
            parts = [];
            gathered = 0;
            start = -1;
          }
        }
      } else if (isSpace(byte)) continue;
      else if (expected === 'array') {
        if (byte === byteOrderMark[before + at]) continue;
        if (byte !== openBracket) throw fault(at);
        expected = 'first job';
      } else if (expected === 'comma' && byte === comma) expected = 'job';
      else if ((expected === 'comma' || expected === 'first job') && byte === closeBracket) expected = 'end';
      else if ((expected === 'job' || expected === 'first job') && byte === openBrace) {
        if (start < 0) {
          start = at;
          groupOffset = before + at;
        }
        depth = 1;
      } else throw fault(at);
    }
    if (start >= 0) {
      // A comma behind the last job belongs to the next one, if there is one in this group.
      const part = chunk.subarray(start, expected === 'end' ? Math.max(end, start) : chunk.length);
      parts.push(part);
      gathered += part.length;
    }
    before += chunk.length;
  }
  if (expected !== 'end')
    throw new Malformed(
      before === 0
        ? 'The body is empty: send a JSON array of job objects.'
        : `The body ends after ${before} bytes, inside the array: was it cut off?`,
    );
  if (first + count === 0) throw new Malformed('The array is empty: send at least one job object.');
  if (held) yield { ...held, last: count === 0 };
  if (count > 0) yield { ...toGroup(parts, first, count, groupOffset), last: true };
}

const opening = Buffer.from('[');
const closing = Buffer.from(']');

/** Two buffers in turns, so that a long body costs no more memory than a short one: while one is stored, the other fills. */
function openBuffers() {
  const buffers: Buffer[] = [Buffer.alloc(0), Buffer.alloc(0)];
  let turn = 0;
  return (parts: Buffer[], first: number, count: number, offset: number): JobGroup => {
    const all = [opening, ...parts, closing];
    const size = all.reduce((sum, part) => sum + part.length, 0);
    turn = 1 - turn;
    const buffer =
      (buffers[turn] as Buffer).length < size
        ? Buffer.allocUnsafe(size + size / 8)
        : (buffers[turn] as Buffer);
    buffers[turn] = buffer;
    let end = 0;
    for (const part of all) end += part.copy(buffer, end);
    const json = buffer.subarray(0, size);
    if (!isUtf8(json))
      throw new Malformed(
        `Byte ${offset + firstInvalid(json) - 1} of the body: not UTF-8; encode the body as UTF-8.`,
      );
    return { first, count, offset, json, last: false };
  };
}

/** Index of the first byte that is not UTF-8, by halving. */
function firstInvalid(json: Buffer): number {
  let good = 0;
  let bad = json.length;
  while (bad - good > 1) {
    const middle = (good + bad) >> 1;
    // A cut inside a character is no fault: look up to three bytes further back.
    const valid = [0, 1, 2, 3].some(
      (back) => middle - back > good && isUtf8(json.subarray(0, middle - back)),
    );
    if (valid) good = middle;
    else bad = middle;
  }
  return good;
}

/** Bytes that may be parsed without holding up other requests; only a group of one huge job is larger. */
const mostExplained = 2 * 1024 * 1024;

/**
 * Why PostgreSQL refused a group as JSON, with the job: broken syntax, or what only PostgreSQL minds (U+0000, half a
 * surrogate pair, a number out of range).
 */
export async function explainRefusal(group: JobGroup, reason: string): Promise<Malformed> {
  const jobs = `Jobs ${group.first} to ${group.first + group.count - 1}`;
  if (group.json.length > mostExplained) return new Malformed(`${jobs}: ${reason}.`);
  for await (const job of splitJobs(oneChunk(group.json), Number.POSITIVE_INFINITY, 1)) {
    const index = group.first + job.first;
    const place = `Job ${index}, from byte ${group.offset + job.offset - 1} of the body`;
    const errorWith = (message: string) =>
      new Malformed(`${place}: ${message}`, [
        { field: null, pointer: `/${index}`, code: 'Malformed', message },
      ]);
    try {
      const parsed = JSON.stringify(JSON.parse(job.json.toString('utf8')));
      if (/\\u0000|\\ud[89a-f]/i.test(parsed))
        return errorWith('a text holds U+0000 or half of a surrogate pair; remove the character.');
    } catch (error) {
      return errorWith(`${(error as Error).message}.`);
    }
  }
  return new Malformed(`${jobs}: ${reason}.`);
}

async function* oneChunk(bytes: Uint8Array): AsyncGenerator<Uint8Array> {
  yield bytes;
}
