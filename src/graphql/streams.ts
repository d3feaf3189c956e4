/**
 * Subscriptions. A stream listens first and then reads the present state, so it misses nothing; it reads again whenever
 * something has changed, and only when its reader asks for more, so a slow reader gets the latest state and nothing queues.
 */
import { setImmediate, setTimeout as sleep } from 'node:timers/promises';
import type { Context } from '../context.ts';
import { Unavailable } from '../errors.ts';
import {
  type Authenticate,
  type Caller,
  changedRights,
  endStream,
  hasSameRights,
  openHolders,
  type Stream,
} from './holders.ts';

type Heard = Awaited<ReturnType<Context['notifications']['subscribe']>>;
type HeardChange = NonNullable<Awaited<ReturnType<Heard['next']>>>;
/** What stands below streams: the next state, and undefined once closed. */
type HeardSource<T> = Omit<Heard, 'next'> & { next(): Promise<T | undefined> };

export type Streams = {
  /**
   * Opens a stream. `frames` gets `all` at once, when everything that happens from now on is heard, and then the changes
   * of the topics; what it yields goes to the client. The last frame is an error when the stream ends before its time:
   * the credential has expired, counts no longer or has other rights, the process stops, or reading failed.
   * @throws LimitExceeded at StreamsPerToken
   */
  open<T>(
    caller: Caller,
    topics: string[],
    frames: (changes: AsyncIterable<HeardChange>, signal: AbortSignal) => AsyncIterable<T>,
  ): Promise<AsyncIterableIterator<T | Error>>;
  /**
   * Opens a stream of what a source gives, which is closed with it. A stream that ends before its time, for what `open`
   * names and when the source fails, has `last` of the error as its last frame.
   * @throws LimitExceeded at StreamsPerToken; what `source` throws
   */
  follow<T, L>(
    caller: Caller,
    source: () => Promise<HeardSource<T>>,
    last: (error: Error) => L,
  ): Promise<AsyncIterableIterator<T | L>>;
  /** How many are open now, over SSE and WebSocket together. */
  count(): number;
  /** Ends them all, and gives their last frames a moment to be sent. */
  close(): Promise<void>;
};

const lastFramesTimeout = 1_000;

const stoppingError = () => new Unavailable('The service is being restarted; subscribe again in a few seconds.');

/** The value of a frame, or its error: what every subscription field resolves with. */
export function resolveFrame<T>(frame: T | Error): T {
  if (frame instanceof Error) throw frame;
  return frame;
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

  async function listen<T>(
    stream: Stream,
    { credentials }: Caller,
    open: () => Promise<HeardSource<T>>,
  ): Promise<HeardSource<T>> {
    try {
      const source = await open();
      stream.source = source;
      if (stream.isEnded) source.close();
      // It may have been revoked or changed after the door had let it in and before this stream was there to be ended.
      const found = await authenticate(stream.viewer.mandator, credentials);
      if (!hasSameRights(stream.viewer, found)) endStream(stream, changedRights());
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
        next: () => running.next(),
        // A generator that waits for a change would hear of this only after it.
        return: () => {
          stream.release();
          return running.return(undefined);
        },
        [Symbol.asyncIterator]: () => iterator,
      };
      return iterator;
    },
    async follow<T, L>(caller: Caller, open: () => Promise<HeardSource<T>>, last: (error: Error) => L) {
      const stream = register(caller);
      const source = await listen(stream, caller, open);
      let isOver = false;
      function leave(): IteratorReturnResult<undefined> {
        stream.release();
        return { value: undefined, done: true };
      }
      function finish(error = stream.error): IteratorResult<T | L, undefined> {
        isOver = true;
        if (!error) return leave();
        try {
          return { value: last(error), done: false };
        } catch (failure) {
          leave();
          throw failure;
        }
      }
      const give = (frame: T | undefined) =>
        frame === undefined || stream.isEnded ? finish() : ({ value: frame, done: false } as const);
      const onFrame = (frame: T | undefined) => {
        const { doubt } = stream;
        return doubt === undefined ? give(frame) : doubt.then(() => give(frame));
      };
      const iterator: AsyncIterableIterator<T | L> = {
        // No async function, which would keep much of each stream that waits.
        next: () => (isOver ? Promise.resolve(leave()) : source.next().then(onFrame, finish)),
        return: async () => leave(),
        [Symbol.asyncIterator]: () => iterator,
      };
      return iterator;
    },
    count: () => holders.streams().length,
    async close() {
      notifications.stopping.removeEventListener('abort', endAll);
      endAll();
      const timeout = new AbortController();
      await Promise.race([
        holders.empty(),
        sleep(lastFramesTimeout, undefined, { signal: timeout.signal }).catch(() => {}),
      ]);
      timeout.abort();
      // The transports say that a stream is complete one step after it is.
      await setImmediate();
      await holders.close();
    },
  };
}
