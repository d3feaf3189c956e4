/**
 * The credentials behind open streams. A **holder** is a credential with its streams. It is authenticated again when its PIN,
 * person, tenant or display changes, and periodically. If it is no longer valid or has other rights, its streams end. From the
 * notification of a change to the result of that check the holder is in **doubt**, and none of its streams gives a frame.
 */
import { setImmediate } from 'node:timers/promises';
import { isDeepStrictEqual } from 'node:util';
import pLimit from 'p-limit';
import type { Context, Credentials, Viewer } from '../context.ts';
import { LimitExceeded, NotAuthenticated, TenantAway, Unavailable } from '../errors.ts';
import { asDomainError } from '../flow/database-errors.ts';

/** Checks credentials for a tenant, as REST does. @throws NotAuthenticated, Forbidden, NotFound */
export type Authenticate = (mandator: string, credentials: Credentials) => Promise<Viewer>;

export type Caller = {
  viewer: Viewer;
  /** The credentials as sent, to be checked again. */
  credentials: Credentials;
  client: StreamClient;
};

/** The receiver of a stream: an HTTP response or a WebSocket. */
export type StreamClient = {
  /** The client has disconnected, or has its whole answer. */
  readonly closed: boolean;
  on(event: 'close', react: () => void): unknown;
  off(event: 'close', react: () => void): unknown;
};

/** What a stream shows. `narrow` leaves the rights of a viewer that matter to it; without it, all do. */
export type Source = { close(): void; narrow?(viewer: Viewer): Viewer };

/** A stream from its registration until its client disconnects or has the last frame. A class, because there may be thousands. */
export class Stream {
  readonly viewer: Viewer;
  /** Closed with the stream. */
  source: Source | undefined = undefined;
  isEnded = false;
  /** Why the stream ends early. */
  error: Error | undefined = undefined;
  readonly #client: StreamClient;
  readonly #holder: Holder;
  readonly #leave: (holder: Holder, stream: Stream) => void;

  /** @param leave unregisters it; called at each release */
  constructor({ viewer, client }: Caller, holder: Holder, leave: (holder: Holder, stream: Stream) => void) {
    this.viewer = viewer;
    this.#client = client;
    this.#holder = holder;
    this.#leave = leave;
    client.on('close', this.release);
  }

  /** Settled once the viewer's rights have been checked again; undefined without doubt. */
  get doubt(): Promise<void> | undefined {
    return this.#holder.doubt?.promise;
  }

  /** Whether another state of the viewer has the same rights, as far as they matter to what the stream shows. */
  isSameFor(found: Viewer): boolean {
    const seen = (viewer: Viewer) => this.source?.narrow?.(viewer) ?? viewer;
    return hasSameRights(seen(this.viewer), seen(found));
  }

  /** Ends and unregisters the stream: its client has disconnected or has the last frame. */
  readonly release = (): void => {
    endStream(this);
    this.#client.off('close', this.release);
    this.#leave(this.#holder, this);
  };
}

type Holder = {
  /** The viewer by the last check. */
  viewer: Viewer;
  /** The end of the credential by the last check, in milliseconds. */
  expiresAt: number;
  readonly credentials: Credentials;
  readonly streams: Set<Stream>;
  /** When to check the credential again. */
  checkAt: number;
  expiry: NodeJS.Timeout | undefined;
  /** Counts the notifications that may concern it. */
  changes: number;
  doubt: PromiseWithResolvers<void> | undefined;
};

/** Milliseconds between two checks of a credential with open streams. */
const checkEveryMs = 30_000;
const lookEveryMs = 1_000;
/** Credentials that are checked at a time, when a change concerns thousands. */
const mostAtOnce = 20;

/** The members of a viewer that decide what it may see and do. */
function rightsOf(viewer: Viewer): Partial<Viewer> {
  const { displayName: _name, email: _email, timeZone: _zone, expiresAt: _end, ...rights } = viewer;
  return rights;
}

/** Whether two states of a viewer have the same rights. */
const hasSameRights = (one: Viewer, other: Viewer) =>
  one === other || isDeepStrictEqual(rightsOf(one), rightsOf(other));

/** Nothing is down: a stream that is opened at once has the new rights. */
class ChangedRights extends Unavailable {
  override readonly retryAfter = 0;
}

export const changedRights = () => new ChangedRights('What you may see or do has changed; subscribe again.');
const expired = () => new NotAuthenticated('The token or PIN has expired; get a new one.');

const isCurrent = ({ expiresAt }: Holder) => expiresAt > Date.now();

/** Ends a stream and closes its source; `error` becomes the last frame. */
export function endStream(stream: Stream, error?: Error): void {
  if (stream.isEnded) return;
  stream.isEnded = true;
  stream.error = error;
  stream.source?.close();
}

/** A person may have as many streams open as so many of its tokens. */
const tokensOfPerson = 4;

export type Holders = {
  /** @throws LimitExceeded beyond StreamsPerToken or StreamsPerTenant */
  register(caller: Caller): Stream;
  streams(): Stream[];
  /** Fulfilled once no stream is open. */
  empty(): Promise<void>;
  close(): Promise<void>;
};

export function openHolders({ config, notifications }: Context, authenticate: Authenticate): Holders {
  const { StreamsPerToken, StreamsPerTenant = 400 * StreamsPerToken } = config.Limits;
  const holders = new Map<string, Holder>();
  /** How many streams are open, by person and by tenant. */
  const open = new Map<string, number>();
  let onEmpty = () => {};

  function endAll({ streams }: Holder, error: Error): void {
    for (const stream of streams) endStream(stream, error);
  }

  /** Sets a timer in the last minute only, because the end of a display's token moves on with each of its calls. */
  function awaitExpiry(holder: Holder): void {
    const left = holder.expiresAt - Date.now();
    clearTimeout(holder.expiry);
    if (left < 2 * checkEveryMs) holder.expiry = setTimeout(() => void expire(holder), Math.max(0, left)).unref();
  }

  async function expire(holder: Holder): Promise<void> {
    await check(holder);
    if (!isCurrent(holder)) endAll(holder, expired());
  }

  async function check(holder: Holder): Promise<void> {
    const { viewer, credentials, streams, changes } = holder;
    holder.checkAt = Date.now() + checkEveryMs;
    try {
      const found = await authenticate(viewer.mandator, credentials);
      holder.viewer = found;
      holder.expiresAt = found.expiresAt.getTime();
      if (streams.size > 0 && isCurrent(holder)) awaitExpiry(holder);
      for (const stream of streams) if (!stream.isSameFor(found)) endStream(stream, changedRights());
    } catch (error) {
      const known = asDomainError(error);
      if (known instanceof Unavailable && !(known instanceof TenantAway)) {
        // The database cannot be asked now: a holder in doubt is checked again soon.
        if (holder.doubt) holder.checkAt = 0;
        return;
      }
      endAll(holder, error as Error);
    }
    // A later notification has a check of its own.
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

  const changes = notifications.subscribe('pin', 'person', 'mandator', 'display', 'session');
  // An outside provider ends tokens without a notification, and one of ours may have been lost.
  const looking = setInterval(() => {
    const now = Date.now();
    void checkAll([...holders.values()].filter(({ checkAt }) => checkAt <= now));
  }, lookEveryMs).unref();
  let checking: Promise<unknown> = Promise.resolve();
  const watchingChanges = (async () => {
    const subscription = await changes;
    for (let change = await subscription.next(); change; change = await subscription.next()) {
      const { keys, all } = change;
      const isMeant = ({ viewer: { pinId, personId, mandatorId, display, sessionId } }: Holder) =>
        // A key does not tell its topic; a needless check does no harm.
        [pinId, personId, mandatorId, display?.displayId, sessionId].some((id) => all || keys.has(String(id)));
      const some = [...holders.values()].filter(isMeant);
      some.forEach(raiseDoubt);
      // After the cache of checked credentials, which is cleared by the same notification.
      const asked = setImmediate().then(() => checkAll(some));
      // Not awaited here, so that the next change is noticed at once.
      checking = Promise.all([checking, asked]);
    }
    await checking;
  })();

  const keyOf = ({ mandatorId, credential }: Viewer) => `${mandatorId} ${credential}`;
  const personOf = ({ mandatorId, personId }: Viewer) => `${mandatorId} ${personId}`;
  const tenantOf = ({ mandatorId }: Viewer) => `${mandatorId}`;
  const openOf = (key: string) => open.get(key) ?? 0;

  function count(viewer: Viewer, change: 1 | -1): void {
    for (const key of [personOf(viewer), tenantOf(viewer)]) {
      const now = openOf(key) + change;
      if (now > 0) open.set(key, now);
      else open.delete(key);
    }
  }

  function checkPlace(viewer: Viewer): void {
    const limits: [whose: string, now: number, most: number][] = [
      ['credential', holders.get(keyOf(viewer))?.streams.size ?? 0, StreamsPerToken],
      ['person', openOf(personOf(viewer)), tokensOfPerson * StreamsPerToken],
      ['tenant', openOf(tenantOf(viewer)), StreamsPerTenant],
    ];
    for (const [whose, now, most] of limits)
      if (now >= most) throw new LimitExceeded(`This ${whose} has ${now} streams open already; end one of them first.`);
  }

  function holderOf({ viewer, credentials }: Caller): Holder {
    const known = holders.get(keyOf(viewer));
    if (known) return known;
    // Random, because thousands of streams open within seconds after a restart.
    const checkAt = Date.now() + checkEveryMs * (0.5 + Math.random() / 2);
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
    if (!streams.delete(stream)) return;
    count(stream.viewer, -1);
    if (streams.size > 0) return;
    clearTimeout(expiry);
    holders.delete(keyOf(stream.viewer));
    if (holders.size === 0) onEmpty();
  }

  return {
    register(caller) {
      if (caller.client.closed) throw new Unavailable('The client has gone.');
      checkPlace(caller.viewer);
      const holder = holderOf(caller);
      const stream = new Stream(caller, holder, leave);
      holder.streams.add(stream);
      count(caller.viewer, 1);
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
