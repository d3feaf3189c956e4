/** The bytes of request bodies: the one place where a client is waited for, and given up when it keeps us waiting. */
import type { IncomingMessage } from 'node:http';
import { RequestTimeout } from '../errors.ts';
import { type BodySender, mostOfImport, openMemory } from './body-memory.ts';

/** How slowly a body may come; settings, under `Limits`. */
export type Pace = {
  /** Seconds without a byte, and for the whole body beyond what its bytes are given. */
  BodySeconds: number;
  /** Bytes that give a body one more second. */
  BodyBytesPerSecond: number;
};

/** How slowly bodies may come, and how large those are that are kept in memory. */
export type BodyLimits = Pace & { BodyBytes: number; WebhookBodyBytes: number };

/** Bytes of the largest body that any route keeps in memory. */
export const largestOf = ({ BodyBytes, WebhookBodyBytes }: BodyLimits): number =>
  Math.max(BodyBytes, WebhookBodyBytes, mostOfImport);

/** RFC 9112, 6.3. */
export const hasBody = ({ headers }: IncomingMessage): boolean =>
  headers['transfer-encoding'] !== undefined || Number(headers['content-length'] ?? 0) > 0;

/** Measures only while a client is waited for: what we do meanwhile is not its fault. */
function openClock({ BodySeconds, BodyBytesPerSecond }: Pace, onSlow: (error: RequestTimeout) => void) {
  const patience = BodySeconds * 1_000;
  let bytes = 0;
  let waited = 0;
  let since = 0;
  let timer: NodeJS.Timeout | undefined;
  let last: NodeJS.Immediate | undefined;

  function timeLeft(): number {
    const silence = performance.now() - since;
    const earned = (bytes / BodyBytesPerSecond) * 1_000;
    return Math.min(patience, patience + earned - waited) - silence;
  }
  function look(): void {
    const left = timeLeft();
    if (left > 0) timer = setTimeout(look, left);
    // What came while this process was busy is still to be read.
    else
      last = setImmediate(() => {
        if (timeLeft() > 0) look();
        else
          onSlow(
            new RequestTimeout(
              `The body comes too slowly: after ${bytes} bytes it was given up. Send it without pauses of ${BodySeconds} seconds, at ${BodyBytesPerSecond} bytes a second or more; gzip makes it shorter.`,
            ),
          );
      });
  }

  return {
    start() {
      since = performance.now();
      look();
    },
    count(size: number) {
      const now = performance.now();
      waited += now - since;
      since = now;
      bytes += size;
    },
    stop() {
      clearTimeout(timer);
      clearImmediate(last);
    },
  };
}

/**
 * A whole body, as it was sent. What is too much of it is read past: the client must be able to hear so.
 * @param tooLarge the error for more than `most` bytes
 * @throws RequestTimeout for one that comes too slowly; LimitExceeded, Unavailable as `openMemory`
 */
export function readBytes(
  request: IncomingMessage,
  limits: BodyLimits,
  { most, sender, tooLarge }: { most: number; sender: BodySender; tooLarge: () => Error },
): Promise<Buffer> {
  if (Number(request.headers['content-length']) > most) throw tooLarge();
  const { promise, resolve, reject } = Promise.withResolvers<Buffer>();
  const clock = openClock(limits, fail);
  const memory = openMemory(sender, largestOf(limits));
  let size = 0;
  // Not as an async iterator, which costs as much as the rest of reading.
  function onData(chunk: Buffer): void {
    size += chunk.length;
    clock.count(chunk.length);
    try {
      if (size > most) throw tooLarge();
      memory.append(chunk);
    } catch (error) {
      fail(error as Error);
    }
  }
  function onEnd(): void {
    const body = memory.bytes();
    leave();
    resolve(body);
  }
  function fail(error: Error): void {
    leave();
    reject(error);
  }
  /** A stream keeps its request, which would keep the bytes. */
  function leave(): void {
    clock.stop();
    memory.clear();
    request.off('data', onData).off('end', onEnd).off('error', fail);
  }
  request.on('data', onData).on('end', onEnd).on('error', fail);
  clock.start();
  return promise;
}

/**
 * A body as it arrives, read no faster than it is taken. What is not taken is read past.
 * @throws RequestTimeout for one that comes too slowly
 */
export async function* streamBytes(request: IncomingMessage, pace: Pace): AsyncGenerator<Buffer> {
  const chunks: AsyncIterator<Buffer> = request.iterator({ destroyOnReturn: false });
  let onSlow: (error: Error) => void = () => {};
  const clock = openClock(pace, (error) => onSlow(error));
  try {
    for (;;) {
      const { promise, resolve, reject } = Promise.withResolvers<IteratorResult<Buffer>>();
      onSlow = reject;
      clock.start();
      chunks.next().then(resolve, reject);
      const next = await promise.finally(clock.stop);
      if (next.done) return;
      clock.count(next.value.length);
      yield next.value;
    }
  } finally {
    // Not awaited: of a client that is given up the next bytes may never come.
    chunks.return?.().then(
      () => request.resume(),
      () => {},
    );
  }
}
