/** Reads the bytes of request bodies. Only this module waits for a client's bytes, and gives up clients that send too slowly. */
import type { IncomingMessage, ServerResponse } from 'node:http';
import { Malformed, RequestTimeout, UnsupportedMediaType } from '../errors.ts';
import { type BodySender, mostOfImport, openMemory } from './body-memory.ts';

/** How slowly a body may arrive: settings under `Limits`. */
export type Pace = {
  /** Seconds that may pass without a byte; also the total, to which received bytes add. */
  BodySeconds: number;
  /** The number of received bytes that add one second to the total. */
  BodyBytesPerSecond: number;
};

/** How slowly bodies may arrive, and how large those kept in memory may be. */
export type BodyLimits = Pace & { BodyBytes: number; WebhookBodyBytes: number };

/** Bytes of the largest body that any route keeps in memory. */
export const largestOf = ({ BodyBytes, WebhookBodyBytes }: BodyLimits): number =>
  Math.max(BodyBytes, WebhookBodyBytes, mostOfImport);

/** Whether the request has a body (RFC 9112, 6.3). */
export const hasBody = ({ headers }: IncomingMessage): boolean =>
  headers['transfer-encoding'] !== undefined || Number(headers['content-length'] ?? 0) > 0;

/**
 * Whether a body is JSON in UTF-8, by its Content-Type; JSON has no parameter but the charset that many send. A body without a
 * type counts as JSON when the request carries a credential in a header, which a cross-site form cannot set.
 */
export function isJson({ headers }: IncomingMessage): boolean {
  const { 'content-type': type, authorization, apikey } = headers;
  if (!type) return authorization !== undefined || apikey !== undefined;
  const [media, ...parameters] = type.toLowerCase().split(';');
  const charset = parameters.map((parameter) => parameter.trim()).find((parameter) => parameter.startsWith('charset='));
  return media?.trim() === 'application/json' && (charset === undefined || /^charset="?utf-?8"?$/.test(charset));
}

/**
 * The Content-Encoding of a body, in lower case; `identity` without one.
 * @param taken the names of those that the route decodes, the usual one first
 * @throws UnsupportedMediaType for another one
 */
export function codingOf({ headers }: IncomingMessage, taken: readonly string[] = []): string {
  const coding = (headers['content-encoding'] || 'identity').toLowerCase();
  if (coding === 'identity' || taken.includes(coding)) return coding;
  const possible = [...taken.slice(0, 1), 'none'].join(' or ');
  throw new UnsupportedMediaType(`Content-Encoding ${coding.slice(0, 40)} is not supported here; use ${possible}.`, [
    ...taken,
    'identity',
  ]);
}

const awaiting = new WeakMap<IncomingMessage, ServerResponse>();

/** For a request with `Expect: 100-continue`: its client is told to send the body only when something reads it. */
export function askLater(request: IncomingMessage, response: ServerResponse): void {
  awaiting.set(request, response);
}

function askForBody(request: IncomingMessage): void {
  const response = awaiting.get(request);
  if (!awaiting.delete(request) || response?.headersSent) return;
  response?.writeContinue();
}

/** Measures the time that we wait for the client, not the time that we need to process its bytes. */
function openClock({ BodySeconds, BodyBytesPerSecond }: Pace, onSlow: (error: RequestTimeout) => void) {
  const waitMs = BodySeconds * 1_000;
  let bytes = 0;
  let waited = 0;
  let since = 0;
  let timer: NodeJS.Timeout | undefined;
  let last: NodeJS.Immediate | undefined;

  function timeLeft(): number {
    const silence = performance.now() - since;
    const earned = (bytes / BodyBytesPerSecond) * 1_000;
    return Math.min(waitMs, waitMs + earned - waited) - silence;
  }
  function look(): void {
    const left = timeLeft();
    // It keeps no process alive: while somebody can send, the connection does.
    if (left > 0) timer = setTimeout(look, left).unref();
    // Bytes that arrived while this process was busy are read first.
    else
      last = setImmediate(() => {
        if (timeLeft() > 0) look();
        else
          onSlow(
            new RequestTimeout(
              `The body arrives too slowly and was given up after ${bytes} bytes. Send it without pauses of ${BodySeconds} seconds, at ${BodyBytesPerSecond} bytes a second or more; gzip makes it smaller.`,
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
 * Reads a whole body. If it is too large, the rest is left for server.ts to discard, so that the client gets its answer.
 * @param tooLarge the error for more than `most` bytes
 * @throws RequestTimeout for a body that comes too slowly; LimitExceeded, Unavailable as `openMemory`
 */
export function readBytes(
  request: IncomingMessage,
  limits: BodyLimits,
  { most, sender, tooLarge }: { most: number; sender: BodySender; tooLarge: () => Error },
): Promise<Buffer> {
  if (Number(request.headers['content-length']) > most) throw tooLarge();
  askForBody(request);
  const { promise, resolve, reject } = Promise.withResolvers<Buffer>();
  const clock = openClock(limits, fail);
  const memory = openMemory(sender, largestOf(limits));
  let size = 0;
  // An async iterator would double the cost of reading.
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
  /** Frees the bytes: a streaming response keeps its request alive, and the listeners would keep the bytes. */
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
 * Yields a body as it arrives, no faster than the caller consumes it. When the caller stops, the rest is discarded.
 * @throws RequestTimeout for a body that comes too slowly
 */
export async function* streamBytes(request: IncomingMessage, pace: Pace): AsyncGenerator<Buffer> {
  askForBody(request);
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
    // Not awaited: the next bytes may never come from a client that was given up.
    chunks.return?.().then(
      () => request.resume(),
      () => {},
    );
  }
}

/** @throws Malformed */
export function parseJson(bytes: Buffer): unknown {
  if (bytes.length === 0) throw new Malformed('The body is empty: send JSON.');
  let text: string;
  try {
    text = new TextDecoder('utf-8', { fatal: true }).decode(bytes);
  } catch {
    throw new Malformed('The body is not UTF-8; encode it as UTF-8.');
  }
  try {
    return JSON.parse(text);
  } catch (error) {
    throw new Malformed(`The body is not JSON: ${(error as Error).message}.`);
  }
}
