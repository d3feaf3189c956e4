/**
 * Streams of subscriptions. A stream first listens for changes and then reads the present state, so it misses nothing. It reads
 * again after a change, but only when its reader asks for more: a slow reader gets the latest state, and nothing queues.
 */
import { setImmediate, setTimeout as sleep } from 'node:timers/promises';
import type { Context, Viewer } from '../context.ts';
import { Unavailable } from '../errors.ts';
import { type Latest, nextOf } from '../flow/latest.ts';
import { workFor } from '../flow/working.ts';
import {
  type Authenticate,
  type Caller,
  changedRights,
  endStream,
  openHolders,
  type Source,
  type Stream,
} from './holders.ts';

type Heard = Awaited<ReturnType<Context['notifications']['subscribe']>>;
type HeardChange = NonNullable<Awaited<ReturnType<Heard['next']>>>;

/** The output of a stream: an iterator, and the interface of `Latest`. */
export type Following<T> = AsyncIterableIterator<T, undefined> & Latest<T>;

export type Streams = {
  /**
   * Opens a stream. Once it listens to the topics, `frames` gets a change of `all`, and then their changes; what it yields goes
   * to the client. If the stream ends early, the last frame is an error: the credential has expired, is no longer valid or has
   * other rights, the process stops, or reading failed.
   * @throws LimitExceeded beyond StreamsPerToken or StreamsPerTenant
   */
  open<T>(
    caller: Caller,
    topics: string[],
    frames: (changes: AsyncIterable<HeardChange>, signal: AbortSignal) => AsyncIterable<T>,
  ): Promise<AsyncIterableIterator<T | Error>>;
  /**
   * Opens a stream of the states of a source, which is closed with it. If the stream ends early, for the reasons of `open`
   * or because the source fails, its last frame is `last(error, viewer)`.
   * @throws LimitExceeded beyond StreamsPerToken or StreamsPerTenant; the errors of `source`
   */
  follow<T, L>(
    caller: Caller,
    source: () => Promise<Latest<T> & Source>,
    last: (error: Error, viewer: Viewer) => L,
  ): Promise<Following<T | L>>;
  /** How many streams are open, over SSE and WebSocket together. */
  count(): number;
  /** Ends all streams, and waits up to a second for their last frames to be sent. */
  close(): Promise<void>;
};

const lastFramesTimeoutMs = 1_000;

const stoppingError = () => new Unavailable('The service is being restarted; subscribe again in a few seconds.');

/** The resolver of every subscription field: returns the frame, or throws it if it is an error. */
export function resolveFrame<T>(frame: T | Error): T {
  if (frame instanceof Error) throw frame;
  return frame;
}

/** A stream of the states of a source. A class, because there may be thousands. */
class Follower<T, L> implements Following<T | L> {
  isOver = false;
  readonly #stream: Stream;
  readonly #source: Latest<T>;
  readonly #last: (error: Error, viewer: Viewer) => L;
  #isDoubted = false;

  constructor(stream: Stream, source: Latest<T>, last: (error: Error, viewer: Viewer) => L) {
    this.#stream = stream;
    this.#source = source;
    this.#last = last;
  }

  get onNews(): (() => void) | undefined {
    return this.#source.onNews;
  }
  set onNews(call: (() => void) | undefined) {
    this.#source.onNews = call;
  }

  take(): T | L | undefined {
    const stream = this.#stream;
    if (this.isOver) stream.release();
    else if (stream.doubt !== undefined) this.#waitOut(stream.doubt);
    else
      try {
        const frame = stream.isEnded ? undefined : this.#source.take();
        // Taking it may have ended the stream.
        if (frame !== undefined && !stream.isEnded) return frame;
        if (stream.isEnded || this.#source.isOver) return this.#finish(stream.error);
      } catch (error) {
        return this.#finish(stream.error ?? (error as Error));
      }
    return undefined;
  }

  #waitOut(doubt: Promise<void>): void {
    if (this.#isDoubted) return;
    this.#isDoubted = true;
    void doubt.then(() => {
      this.#isDoubted = false;
      this.onNews?.();
    });
  }

  /** The stream is released when the reader comes for more, and so has the last frame. */
  #finish(error: Error | undefined): L | undefined {
    this.isOver = true;
    if (!error) this.#stream.release();
    return error && this.#last(error, this.#stream.viewer);
  }

  close(): void {
    this.isOver = true;
    this.#stream.release();
  }

  async next(): Promise<IteratorResult<T | L, undefined>> {
    const value = (await nextOf(this)) as T | L | undefined;
    return value === undefined ? { value: undefined, done: true } : { value, done: false };
  }
  async return(): Promise<IteratorReturnResult<undefined>> {
    this.close();
    return { value: undefined, done: true };
  }
  [Symbol.asyncIterator](): this {
    return this;
  }
}

export function createStreams(context: Context, authenticate: Authenticate): Streams {
  const { notifications } = context;
  const holders = openHolders(context, authenticate);
  const endAll = () => {
    for (const stream of holders.streams()) endStream(stream, stoppingError());
  };
  notifications.stopping.addEventListener('abort', endAll);

  function register(caller: Caller): Stream {
    if (notifications.stopping.aborted) throw stoppingError();
    return holders.register(caller);
  }

  async function listen<S extends Source>(stream: Stream, { credentials }: Caller, open: () => Promise<S>): Promise<S> {
    try {
      const source = await open();
      stream.source = source;
      if (stream.isEnded) source.close();
      // The credential may have been revoked or changed after its check and before the stream was registered.
      const found = await authenticate(stream.viewer.mandator, credentials);
      if (!stream.isSameFor(found)) endStream(stream, changedRights());
      return source;
    } catch (error) {
      stream.release();
      throw error;
    }
  }

  return {
    async open<T>(
      caller: Caller,
      topics: string[],
      frames: (changes: AsyncIterable<HeardChange>, signal: AbortSignal) => AsyncIterable<T>,
    ) {
      const stream = register(caller);
      const over = new AbortController();
      const subscription = await listen(stream, caller, async () => {
        const { next, close } = await notifications.subscribe(...topics);
        return {
          next,
          close() {
            close();
            over.abort();
          },
        };
      });
      async function* changes(): AsyncGenerator<HeardChange> {
        if (!stream.isEnded) yield { keys: new Set(), all: true };
        for (let change = await subscription.next(); change; change = await subscription.next()) yield change;
      }
      async function* run(): AsyncGenerator<T | Error> {
        try {
          for await (const frame of frames(changes(), over.signal)) {
            await stream.doubt;
            if (stream.isEnded) break;
            yield frame;
          }
          if (stream.error) yield stream.error;
        } catch (error) {
          yield stream.error ?? (error as Error);
        } finally {
          stream.release();
        }
      }
      const running = run();
      const iterator: AsyncIterableIterator<T | Error> = {
        next: () => workFor(caller.viewer.mandatorId, () => running.next()),
        // Released here, because a generator that waits for a change notices its return only after the change.
        return: () => {
          stream.release();
          return running.return(undefined);
        },
        [Symbol.asyncIterator]: () => iterator,
      };
      return iterator;
    },
    async follow<T, L>(
      caller: Caller,
      open: () => Promise<Latest<T> & Source>,
      last: (error: Error, viewer: Viewer) => L,
    ) {
      const stream = register(caller);
      return new Follower(stream, await listen(stream, caller, open), last);
    },
    count: () => holders.streams().length,
    async close() {
      notifications.stopping.removeEventListener('abort', endAll);
      endAll();
      const timeout = new AbortController();
      await Promise.race([
        holders.empty(),
        sleep(lastFramesTimeoutMs, undefined, { signal: timeout.signal }).catch(() => {}),
      ]);
      timeout.abort();
      // The transports report the end of a stream one turn of the event loop later.
      await setImmediate();
      await holders.close();
    },
  };
}
