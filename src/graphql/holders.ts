/**
 * Whose streams are open. A **holder** is a credential with its streams. Whether it still counts, and may see what it
 * could, is asked again when its PIN, person, tenant or display has changed, and from time to time; when not, its streams
 * end. From the moment at which the change is heard of until that is known the holder is in **doubt**, and none of its
 * streams gives a frame.
 */
import { setImmediate } from 'node:timers/promises';
import { isDeepStrictEqual } from 'node:util';
import pLimit from 'p-limit';
import type { Context, Credentials, Viewer } from '../context.ts';
import { LimitExceeded, NotAuthenticated, Unavailable } from '../errors.ts';
import { asDomainError } from '../flow/database-errors.ts';

/** Checks credentials for a tenant, as the door of REST does. @throws NotAuthenticated, Forbidden, NotFound */
export type Authenticate = (mandator: string, credentials: Credentials) => Promise<Viewer>;

export type Caller = {
  viewer: Viewer;
  /** As they came, to be checked again. */
  credentials: Credentials;
  client: StreamClient;
};

/** Whom the answer is for: the answer of HTTP itself, or a WebSocket. */
export type StreamClient = {
  /** It has gone, or has its answer. */
  readonly closed: boolean;
  on(event: 'close', react: () => void): unknown;
  off(event: 'close', react: () => void): unknown;
};

/** One stream from its registration until its client has gone or has had the last frame. */
export type Stream = {
  readonly viewer: Viewer;
  /** Closed with the stream. */
  source: { close(): void } | undefined;
  isEnded: boolean;
  /** Why it ends before its time. */
  error: Error | undefined;
  /** Settled once it is known whether the viewer may still see what it could; undefined while that is in no doubt. */
  readonly doubt: Promise<void> | undefined;
  /** Its client has gone, or has had the last frame. */
  release(): void;
};

type Holder = {
  /** As it was last found to be. */
  viewer: Viewer;
  /** As it was last let in, in milliseconds. */
  expiresAt: number;
  readonly credentials: Credentials;
  readonly streams: Set<Stream>;
  /** When to look again whether it counts. */
  checkAt: number;
  expiry: NodeJS.Timeout | undefined;
  /** Counts what was heard of that may concern it. */
  changes: number;
  doubt: PromiseWithResolvers<void> | undefined;
};

/** Milliseconds between two looks whether a credential with open streams still counts. */
const checkEvery = 30_000;
const lookEvery = 1_000;
/** Credentials that are looked at together, when a change concerns thousands. */
const mostAtOnce = 20;

/** What decides who sees what: all of a viewer but how it is called and when its credential ends. */
function rightsOf(viewer: Viewer): Partial<Viewer> {
  const { displayName: _name, email: _email, timeZone: _zone, expiresAt: _end, ...rights } = viewer;
  return rights;
}

/** Whether somebody may see and do what it could when the stream was let in. */
export const hasSameRights = (one: Viewer, other: Viewer) =>
  one === other || isDeepStrictEqual(rightsOf(one), rightsOf(other));
export const changedRights = () => new Unavailable('What you may see or do has changed; subscribe again.');
const expired = () => new NotAuthenticated('The token or PIN has expired; get a new one.');

const isCurrent = ({ expiresAt }: Holder) => expiresAt > Date.now();

/** Nothing more of its source; `error` becomes the last frame. */
export function endStream(stream: Stream, error?: Error): void {
  if (stream.isEnded) return;
  stream.isEnded = true;
  stream.error = error;
  stream.source?.close();
}

export type Holders = {
  /** @throws LimitExceeded at StreamsPerToken */
  register(caller: Caller): Stream;
  streams(): Stream[];
  /** Fulfilled once no stream is open. */
  empty(): Promise<void>;
  close(): Promise<void>;
};

export function openHolders({ config, notifications }: Context, authenticate: Authenticate): Holders {
  const most = config.Limits.StreamsPerToken;
  const holders = new Map<string, Holder>();
  let onEmpty = () => {};

  function endAll({ streams }: Holder, error: Error): void {
    for (const stream of streams) endStream(stream, error);
  }

  /** A display moves its end on whenever it is heard of: only the last minute is waited for. */
  function awaitExpiry(holder: Holder): void {
    const left = holder.expiresAt - Date.now();
    clearTimeout(holder.expiry);
    if (left < 2 * checkEvery) holder.expiry = setTimeout(() => void expire(holder), Math.max(0, left)).unref();
  }

  async function expire(holder: Holder): Promise<void> {
    await check(holder);
    if (!isCurrent(holder)) endAll(holder, expired());
  }

  async function check(holder: Holder): Promise<void> {
    const { viewer, credentials, streams, changes } = holder;
    holder.checkAt = Date.now() + checkEvery;
    try {
      const found = await authenticate(viewer.mandator, credentials);
      holder.viewer = found;
      holder.expiresAt = found.expiresAt.getTime();
      if (streams.size > 0 && isCurrent(holder)) awaitExpiry(holder);
      for (const stream of streams) if (!hasSameRights(stream.viewer, found)) endStream(stream, changedRights());
    } catch (error) {
      if (asDomainError(error) instanceof Unavailable) {
        // Nobody can be asked now.
        if (holder.doubt) holder.checkAt = 0;
        return;
      }
      endAll(holder, error as Error);
    }
    // What was heard of meanwhile has a check of its own.
    if (holder.changes === changes) settle(holder);
  }

  function raiseDoubt(holder: Holder): void {
    holder.changes++;
    holder.doubt ??= Promise.withResolvers();
  }

  function settle(holder: Holder): void {
    holder.doubt?.resolve();
    holder.doubt = undefined;
  }

  const checks = pLimit(mostAtOnce);
  const checkAll = (some: Iterable<Holder>) => checks.map(some, check);

  const changes = notifications.subscribe('pin', 'person', 'mandator', 'display');
  // An outside provider ends its tokens without a notification, and one of ours may have gone unheard.
  const looking = setInterval(() => {
    const now = Date.now();
    void checkAll([...holders.values()].filter(({ checkAt }) => checkAt <= now));
  }, lookEvery).unref();
  let checking: Promise<unknown> = Promise.resolve();
  const watchingChanges = (async () => {
    const subscription = await changes;
    for (let change = await subscription.next(); change; change = await subscription.next()) {
      const { keys, all } = change;
      const isMeant = ({ viewer: { pinId, personId, mandatorId, display } }: Holder) =>
        // The keys do not say of what they are; who is checked once too often loses nothing.
        [pinId, personId, mandatorId, display?.displayId].some((id) => all || keys.has(String(id)));
      const some = [...holders.values()].filter(isMeant);
      some.forEach(raiseDoubt);
      // The cache of checked credentials hears of the same change and forgets what it believed first.
      const asked = setImmediate().then(() => checkAll(some));
      // Not awaited here: what changes meanwhile is heard of at once.
      checking = Promise.all([checking, asked]);
    }
    await checking;
  })();

  const keyOf = ({ mandatorId, credential }: Viewer) => `${mandatorId} ${credential}`;

  function holderOf({ viewer, credentials }: Caller): Holder {
    const known = holders.get(keyOf(viewer));
    if (known) return known;
    // Spread, because after a restart thousands come within seconds.
    const checkAt = Date.now() + checkEvery * (0.5 + Math.random() / 2);
    const expiresAt = viewer.expiresAt.getTime();
    const holder: Holder = {
      viewer,
      expiresAt,
      credentials,
      streams: new Set(),
      checkAt,
      expiry: undefined,
      changes: 0,
      doubt: undefined,
    };
    holders.set(keyOf(viewer), holder);
    awaitExpiry(holder);
    return holder;
  }

  function leave(holder: Holder, stream: Stream): void {
    const { streams, expiry } = holder;
    if (!streams.delete(stream) || streams.size > 0) return;
    clearTimeout(expiry);
    holders.delete(keyOf(stream.viewer));
    if (holders.size === 0) onEmpty();
  }

  return {
    register(caller) {
      const { client } = caller;
      if (client.closed) throw new Unavailable('The client has gone.');
      const { size } = holders.get(keyOf(caller.viewer))?.streams ?? new Set();
      if (size >= most)
        throw new LimitExceeded(`This credential has ${size} streams open already; end one of them first.`);
      const holder = holderOf(caller);
      const stream: Stream = {
        viewer: caller.viewer,
        source: undefined,
        isEnded: false,
        error: undefined,
        get doubt() {
          return holder.doubt?.promise;
        },
        release() {
          endStream(stream);
          client.off('close', stream.release);
          leave(holder, stream);
        },
      };
      client.on('close', stream.release);
      holder.streams.add(stream);
      return stream;
    },
    streams: () => [...holders.values()].flatMap(({ streams }) => [...streams]),
    empty: () => (holders.size === 0 ? Promise.resolve() : new Promise<void>((resolve) => (onEmpty = resolve))),
    async close() {
      clearInterval(looking);
      (await changes).close();
      await watchingChanges;
    },
  };
}
