/**
 * Reads the body of a request as it arrives, and waits for a place to read it in. The files, which it contains as Base64, are written
 * to a temporary file; the rest is small and is parsed as JSON.
 */
import type { Context, Viewer } from '../context.ts';
import { Malformed, TooLarge } from '../errors.ts';
import { openPlaces } from '../flow/places.ts';
import { personSends, readBeginning } from '../http/body-memory.ts';
import { largestOf, parseJson } from '../http/request-body.ts';
import { openSpool, type Spool } from '../lessons/service.ts';
import type { ReadBytes } from './text.ts';
import { mostFiles } from './wire.ts';

/** The error for a body of more than `most` bytes. */
export const filesTooLarge = (most: number) =>
  new TooLarge(`The body is larger than ${most} bytes; send fewer files, or a shorter term.`);

const mostRest = 1_048_576;
const piece = 65_536;
const [quote, backslash] = [0x22, 0x5c];
const contentNext = /"[Cc]ontent"\s*:\s*$/;
const base64 = /^[A-Za-z0-9+/]*={0,2}$/;
/** Some JSON serializers escape slashes, those of .NET every plus sign. */
const escapes = /\\(?:\/|u00(2[bf]|3d))/gi;
/** A tail that cannot be decoded yet: padding, which only the end of a file may have, or a partial escape. */
const unfinished = /={0,2}(?:\\(?:u[0-9a-f]{0,3})?)?$/i;

export type Intake = {
  /** The parsed body, in which each `Content` is the number of its file. */
  sent: unknown;
  read: (file: number) => ReadBytes;
};

const limits = { perPerson: 2, mostWaiting: 4, waitMs: 10_000 };

/**
 * Places of this process for timetables. A large body holds a file while it arrives, and gets a place for its reading only then,
 * so that slow clients do not delay the reading of others. A reading holds one or two files until its batch is stored: if that is
 * large, it also waits for the places of large imports.
 */
const openTimetables = () => ({
  arriving: openPlaces({ ...limits, of: 'large timetables', all: 32, perTenant: 4 }),
  reading: openPlaces({ ...limits, of: 'timetables', all: 16, perTenant: 3 }),
});

/**
 * Runs `work` with the files of a request, once they have arrived and there is a place for the reading.
 * @throws Malformed, TooLarge; Unavailable as `openSpool`, and LimitExceeded and Unavailable as `openPlaces` and `openMemory`;
 * what `body` and `work` throw
 */
export async function withIntake<T>(
  context: Context,
  viewer: Viewer,
  body: AsyncIterable<Uint8Array>,
  work: (intake: Intake) => Promise<T>,
): Promise<T> {
  const { arriving, reading } = context.once(openTimetables);
  const { Limits } = context.config;
  const chunks = body[Symbol.asyncIterator]();
  const { memory, isWhole } = await readBeginning(chunks, personSends(viewer), largestOf(Limits));
  async function* whole() {
    yield memory.bytes();
    if (!isWhole) yield* { [Symbol.asyncIterator]: () => chunks };
  }
  async function take(use: (intake: Intake) => Promise<T>): Promise<T> {
    const spool = await openSpool(context.log);
    try {
      return await use(await takeIn(whole(), spool, Limits.JobBodyBytes));
    } finally {
      await spool.close();
    }
  }
  try {
    if (isWhole) return await reading.hold(viewer, () => take(work));
    return await arriving.hold(viewer, () => take((intake) => reading.hold(viewer, () => work(intake))));
  } finally {
    memory.clear();
    chunks.return?.().catch(() => {});
  }
}

async function takeIn(body: AsyncIterable<Uint8Array>, spool: Spool, mostBytes: number): Promise<Intake> {
  const files: { at: number; length: number }[] = [];
  const rest: Buffer[] = [];
  let [size, restSize, written] = [0, 0, 0];
  let state: 'outside' | 'text' | 'content' = 'outside';
  let escaped = false;
  let tail = '';
  let encoded = '';

  function keep(bytes: Buffer): void {
    if (bytes.length === 0) return;
    restSize += bytes.length;
    if (restSize > mostRest)
      throw new TooLarge(`The body has more than ${mostRest} bytes besides the files; are these in Content?`);
    rest.push(bytes);
    tail = (tail + bytes.toString('latin1')).slice(-40);
  }
  async function store(isLast: boolean): Promise<void> {
    encoded = encoded.replace(escapes, (_, code?: string) =>
      code === undefined ? '/' : String.fromCharCode(Number.parseInt(code, 16)),
    );
    const most = encoded.search(unfinished);
    const whole = isLast ? encoded.length : most - (most % 4);
    const ready = encoded.slice(0, whole);
    encoded = encoded.slice(whole);
    if (!base64.test(ready) || (!isLast && ready.includes('=')))
      throw new Malformed(`Files[${files.length - 1}].Content: not Base64; encode the bytes of the file.`);
    const bytes = Buffer.from(ready, 'base64');
    (files.at(-1) as { length: number }).length += bytes.length;
    written += bytes.length;
    if (bytes.length > 0) await spool.append(bytes);
  }
  for await (const chunk of body) {
    size += chunk.length;
    if (size > mostBytes) throw filesTooLarge(mostBytes);
    const bytes = Buffer.from(chunk.buffer, chunk.byteOffset, chunk.length);
    let from = 0;
    for (let at = 0; at < bytes.length; ) {
      if (state === 'content') {
        const next = bytes.indexOf(quote, at);
        const end = next < 0 ? bytes.length : next;
        encoded += bytes.toString('latin1', at, end);
        if (encoded.length >= piece || next >= 0) await store(next >= 0);
        at = end;
        from = end;
        if (next >= 0) {
          keep(Buffer.from(String(files.length - 1)));
          state = 'text';
        }
        continue;
      }
      const byte = bytes[at++];
      if (state === 'text') {
        if (escaped) escaped = false;
        else if (byte === backslash) escaped = true;
        else if (byte === quote) state = 'outside';
      } else if (byte === quote) {
        keep(bytes.subarray(from, at - 1));
        from = at - 1;
        if (contentNext.test(tail)) {
          if (files.length === mostFiles) throw new Malformed(`Files: at most ${mostFiles} files.`);
          keep(bytes.subarray(from, at));
          files.push({ at: written, length: 0 });
          state = 'content';
          from = at;
        } else state = 'text';
      }
    }
    keep(Buffer.from(bytes.subarray(from)));
  }
  return {
    sent: parseJson(Buffer.concat(rest)),
    read: (file) => {
      const { at, length } = files[file] ?? { at: 0, length: 0 };
      return async function* () {
        for (let done = 0; done < length; done += piece) {
          const bytes = Buffer.allocUnsafe(Math.min(piece, length - done));
          await spool.read(bytes, at + done);
          yield bytes;
        }
      };
    },
  };
}
