/**
 * Subscriptions. A stream listens first and then reads the present state, so it misses nothing; it reads again whenever
 * something has changed, and only when its reader asks for more, so a slow reader gets the latest state and nothing queues.
 */
import { setImmediate, setTimeout as sleep } from 'node:timers/promises';
import { isDeepStrictEqual } from 'node:util';
import type { Context, Credentials, Viewer } from '../context.ts';
import { asDomainError, LimitExceeded, NotAuthenticated, Unavailable } from '../errors.ts';

type Subscription = Awaited<ReturnType<Context['notifications']['subscribe']>>;
/** What stands below streams: the next state, and undefined once closed. */
type Source<T> = Omit<Subscription, 'next'> & { next(): Promise<T | undefined> };
export type Change = NonNullable<Awaited<ReturnType<Subscription['next']>>>;

/** Checks credentials for a tenant, as the door of REST does. @throws NotAuthenticated, Forbidden, NotFound */
export type Authenticate = (mandator: string, credentials: Credentials) => Promise<Viewer>;

export type Caller = {
  viewer: Viewer;
  /** As they came, to be checked again. */
  credentials: Credentials;
  /** Aborted when the client has gone; made when it is asked for, because most calls never ask. */
  signal(): AbortSignal;
};

export type Streams = {
  /**
   * Opens a stream. `frames` gets `all` at once, when everything that happens from now on is heard, and then the changes
   * of the topics; what it yields goes to the client. The last frame is an error when the stream ends before its time:
   * the credential has expired or counts no longer, the process stops, or reading failed.
   * @throws LimitExceeded at StreamsPerToken
   */
  open<T>(
    caller: Caller,
    topics: string[],
    frames: (changes: AsyncIterable<Change>) => AsyncIterable<T>,
  ): Promise<AsyncIterableIterator<T | Error>>;
  /**
   * Opens a stream of what a source gives, which is closed with it. A stream that ends before its time, for what `open`
   * names and when the source fails, has `last` of the error as its last frame.
   * @throws LimitExceeded at StreamsPerToken; what `source` throws
   */
  follow<T, L>(
    caller: Caller,
    source: () => Promise<Source<T>>,
    last: (error: Error) => L,
  ): Promise<AsyncIterableIterator<T | L>>;
  /** How many are open now, over SSE and WebSocket together. */
  count(): number;
  /** Ends them all, and gives their last frames a moment to be sent. */
  close(): Promise<void>;
};

/** Node fires at once when a delay does not fit into 31 bits. */
const longestDelay = 2 ** 31 - 1;

const lastFramesTimeout = 1_000;

const stoppingError = () =>
  new Unavailable('The service is being restarted; subscribe again in a few seconds.');

const changedGrantError = () =>
  new Unavailable('What this display may see or do has changed; subscribe again.');

/** The value of a frame, or its error: what every subscription field resolves with. */
export function resolveFrame<T>(frame: T | Error): T {
  if (frame instanceof Error) throw frame;
  return frame;
}

/** One stream from its registration until its client has gone or has had the last frame. */
type Stream = Caller & {
  readonly ended: boolean;
  /** Why it ends before its time. */
  readonly error: Error | undefined;
  /** From here on the source is closed with the stream. */
  attach(source: { close(): void }): void;
  /** Nothing more of the source; `error` becomes the last frame. */
  end(error?: Error): void;
  release(): void;
  readonly released: Promise<void>;
};

function makeStream(caller: Caller, onRelease: () => void): Stream {
  const { promise: released, resolve } = Promise.withResolvers<void>();
  const { viewer } = caller;
  const signal = caller.signal();
  let source: { close(): void } | undefined;
  let ended = false;
  let ending: Error | undefined;
  function end(error?: Error): void {
    if (ended) return;
    ended = true;
    ending = error;
    clearTimeout(expiry);
    source?.close();
  }
  function release(): void {
    end();
    signal.removeEventListener('abort', release);
    onRelease();
    resolve();
  }
  const expiry = setTimeout(
    () => end(new NotAuthenticated('The token or PIN has expired; get a new one.')),
    Math.min(viewer.expiresAt.getTime() - Date.now(), longestDelay),
  );
  signal.addEventListener('abort', release);
  return {
    ...caller,
    get ended() {
      return ended;
    },
    get error() {
      return ending;
    },
    attach(opened) {
      source = opened;
      if (ended) source.close();
    },
    end,
    release,
    released,
  };
}

/** Milliseconds between two looks whether the credentials of open streams still count. */
const checkEvery = 30_000;

export function createStreams(context: Context, authenticate: Authenticate): Streams {
  const { notifications } = context;
  const most = context.config.Limits.StreamsPerToken;
  const byCredential = new Map<string, Set<Stream>>();
  const everyStream = () => [...byCredential.values()].flatMap((streams) => [...streams]);
  const endAll = () => {
    for (const stream of everyStream()) stream.end(stoppingError());
  };
  notifications.stopping.addEventListener('abort', endAll);

  const changes = notifications.subscribe('pin', 'person', 'mandator', 'display');
  // An outside provider ends its tokens without a notification, and one of ours may have gone unheard.
  const checking = setInterval(() => void checkCredentials(), checkEvery).unref();
  const watchingChanges = (async () => {
    const subscription = await changes;
    for (let change = await subscription.next(); change; change = await subscription.next()) {
      const { keys, all } = change;
      await checkCredentials(({ pinId, personId, mandatorId, display }) =>
        // The keys do not say of what they are; who is checked once too often loses nothing.
        [pinId, personId, mandatorId, display?.displayId].some((id) => all || keys.has(String(id))),
      );
    }
  })();

  async function checkCredentials(ofWhom: (viewer: Viewer) => boolean = () => true): Promise<void> {
    // The cache of checked credentials hears of the same change and forgets what it believed first.
    await setImmediate();
    await Promise.all(
      [...byCredential.values()].map(async ([...streams]) => {
        const [stream] = streams;
        if (!stream || !ofWhom(stream.viewer)) return;
        try {
          const { display } = await authenticate(stream.viewer.mandator, stream.credentials);
          for (const sibling of streams)
            if (!isDeepStrictEqual(sibling.viewer.display, display)) sibling.end(changedGrantError());
        } catch (error) {
          // Nobody can be asked now; who listens again after the outage is asked then.
          if (asDomainError(error) instanceof Unavailable) return;
          for (const sibling of streams) sibling.end(error as Error);
        }
      }),
    );
  }

  function register(caller: Caller): Stream {
    const { viewer } = caller;
    const siblings = byCredential.get(viewer.credential) ?? new Set();
    if (siblings.size >= most)
      throw new LimitExceeded(
        `This credential has ${siblings.size} streams open already; end one of them first.`,
      );
    if (notifications.stopping.aborted) throw stoppingError();
    caller.signal().throwIfAborted();
    const stream = makeStream(caller, () => {
      siblings.delete(stream);
      if (siblings.size === 0) byCredential.delete(viewer.credential);
    });
    byCredential.set(viewer.credential, siblings.add(stream));
    return stream;
  }

  async function listen<T>(stream: Stream, open: () => Promise<Source<T>>): Promise<Source<T>> {
    try {
      const source = await open();
      stream.attach(source);
      // It may have been revoked after the door had let it in and before this stream was there to be ended.
      await authenticate(stream.viewer.mandator, stream.credentials);
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
      frames: (changes: AsyncIterable<Change>) => AsyncIterable<T>,
    ) {
      const stream = register(caller);
      const subscription = await listen(stream, () => notifications.subscribe(...topics));
      async function* changes(): AsyncGenerator<Change> {
        if (!stream.ended) yield { keys: new Set(), all: true };
        for (let change = await subscription.next(); change; change = await subscription.next()) yield change;
      }
      async function* run(): AsyncGenerator<T | Error> {
        try {
          yield* frames(changes());
          if (stream.error) yield stream.error;
        } catch (error) {
          yield error as Error;
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
    async follow<T, L>(caller: Caller, open: () => Promise<Source<T>>, last: (error: Error) => L) {
      const stream = register(caller);
      const source = await listen(stream, open);
      let isOver = false;
      function leave(): IteratorReturnResult<undefined> {
        stream.release();
        return { value: undefined, done: true };
      }
      async function next(): Promise<IteratorResult<T | L, undefined>> {
        if (isOver) return leave();
        let error: Error | undefined;
        try {
          const frame = await source.next();
          if (frame !== undefined) return { value: frame, done: false };
          error = stream.error;
        } catch (failure) {
          error = failure as Error;
        }
        isOver = true;
        if (!error) return leave();
        try {
          return { value: last(error), done: false };
        } catch (failure) {
          leave();
          throw failure;
        }
      }
      const iterator: AsyncIterableIterator<T | L> = {
        next,
        return: async () => leave(),
        [Symbol.asyncIterator]: () => iterator,
      };
      return iterator;
    },
    count: () => everyStream().length,
    async close() {
      notifications.stopping.removeEventListener('abort', endAll);
      const last = everyStream();
      endAll();
      const timeout = new AbortController();
      await Promise.race([
        Promise.all(last.map(({ released }) => released)),
        sleep(lastFramesTimeout, undefined, { signal: timeout.signal }).catch(() => {}),
      ]);
      timeout.abort();
      // The transports say that a stream is complete one step after it is.
      await setImmediate();
      clearInterval(checking);
      (await changes).close();
      await watchingChanges;
    },
  };
}
