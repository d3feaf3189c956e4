/**
 * Whose streams are open. A **holder** is a credential with its streams. Whether it still counts is asked again when its
 * PIN, person, tenant or display has changed, and from time to time; when it no longer does, its streams end.
 */
import { setImmediate } from 'node:timers/promises';
import { isDeepStrictEqual } from 'node:util';
import pLimit from 'p-limit';
import type { Context, Credentials, Viewer } from '../context.ts';
import { asDomainError, LimitExceeded, NotAuthenticated, Unavailable } from '../errors.ts';

/** Checks credentials for a tenant, as the door of REST does. @throws NotAuthenticated, Forbidden, NotFound */
export type Authenticate = (mandator: string, credentials: Credentials) => Promise<Viewer>;

export type Caller = {
  viewer: Viewer;
  /** As they came, to be checked again. */
  credentials: Credentials;
  client: Client;
};

/** Whom the answer is for: the answer of HTTP itself, or a WebSocket. */
export type Client = {
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
  /** Its client has gone, or has had the last frame. */
  release(): void;
};

type Holder = {
  readonly viewer: Viewer;
  /** As it was last let in, in milliseconds. */
  expiresAt: number;
  readonly credentials: Credentials;
  readonly streams: Set<Stream>;
  /** When to look again whether it counts. */
  checkAt: number;
  expiry: NodeJS.Timeout | undefined;
};

/** Milliseconds between two looks whether a credential with open streams still counts. */
const checkEvery = 30_000;
const lookEvery = 1_000;
/** Credentials that are looked at together, when a change concerns thousands. */
const mostAtOnce = 20;

/** Whether what a display may see or do is as it was when the stream was let in. */
export const hasSameGrant = (one: Viewer, other: Viewer) => isDeepStrictEqual(one.display, other.display);
export const changedGrant = () =>
  new Unavailable('What this display may see or do has changed; subscribe again.');
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
    if (left < 2 * checkEvery)
      holder.expiry = setTimeout(() => void expire(holder), Math.max(0, left)).unref();
  }

  async function expire(holder: Holder): Promise<void> {
    await check(holder);
    if (!isCurrent(holder)) endAll(holder, expired());
  }

  async function check(holder: Holder): Promise<void> {
    const { viewer, credentials, streams } = holder;
    holder.checkAt = Date.now() + checkEvery;
    let found: Viewer;
    try {
      found = await authenticate(viewer.mandator, credentials);
    } catch (error) {
      // Nobody can be asked now; who listens again after the outage is asked then.
      if (!(asDomainError(error) instanceof Unavailable)) endAll(holder, error as Error);
      return;
    }
    holder.expiresAt = found.expiresAt.getTime();
    if (streams.size > 0 && isCurrent(holder)) awaitExpiry(holder);
    for (const stream of streams) if (!hasSameGrant(stream.viewer, found)) endStream(stream, changedGrant());
  }

  async function checkAll(some: Iterable<Holder>): Promise<void> {
    await pLimit(mostAtOnce).map(some, check);
  }

  const changes = notifications.subscribe('pin', 'person', 'mandator', 'display');
  // An outside provider ends its tokens without a notification, and one of ours may have gone unheard.
  const looking = setInterval(() => {
    const now = Date.now();
    void checkAll([...holders.values()].filter(({ checkAt }) => checkAt <= now));
  }, lookEvery).unref();
  const watchingChanges = (async () => {
    const subscription = await changes;
    for (let change = await subscription.next(); change; change = await subscription.next()) {
      const { keys, all } = change;
      // The cache of checked credentials hears of the same change and forgets what it believed first.
      await setImmediate();
      const isMeant = ({ viewer: { pinId, personId, mandatorId, display } }: Holder) =>
        // The keys do not say of what they are; who is checked once too often loses nothing.
        [pinId, personId, mandatorId, display?.displayId].some((id) => all || keys.has(String(id)));
      await checkAll([...holders.values()].filter(isMeant));
    }
  })();

  function holderOf({ viewer, credentials }: Caller): Holder {
    const known = holders.get(viewer.credential);
    if (known) return known;
    // Spread, because after a restart thousands come within seconds.
    const checkAt = Date.now() + checkEvery * (0.5 + Math.random() / 2);
    const expiresAt = viewer.expiresAt.getTime();
    const holder: Holder = { viewer, expiresAt, credentials, streams: new Set(), checkAt, expiry: undefined };
    holders.set(viewer.credential, holder);
    awaitExpiry(holder);
    return holder;
  }

  function leave(holder: Holder, stream: Stream): void {
    const { viewer, streams, expiry } = holder;
    if (!streams.delete(stream) || streams.size > 0) return;
    clearTimeout(expiry);
    holders.delete(viewer.credential);
    if (holders.size === 0) onEmpty();
  }

  return {
    register(caller) {
      const { client } = caller;
      if (client.closed) throw new Unavailable('The client has gone.');
      const { size } = holders.get(caller.viewer.credential)?.streams ?? new Set();
      if (size >= most)
        throw new LimitExceeded(`This credential has ${size} streams open already; end one of them first.`);
      const holder = holderOf(caller);
      const stream: Stream = {
        ...{ viewer: caller.viewer, source: undefined, isEnded: false, error: undefined },
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
    empty: () =>
      holders.size === 0 ? Promise.resolve() : new Promise<void>((resolve) => (onEmpty = resolve)),
    async close() {
      clearInterval(looking);
      (await changes).close();
      await watchingChanges;
    },
  };
}
