import { randomUUID } from 'node:crypto';
import { setTimeout as sleep } from 'node:timers/promises';
import type pg from 'pg';
import { ConfigError } from '../config.ts';
import { keepDoing } from '../flow/retry.ts';
import type { Log } from '../log.ts';
import { connecting, setUpSession } from './database.ts';
import { hearsOthers, notDirect } from './direct.ts';
import { PrimaryClient } from './hosts.ts';

/**
 * What has changed since the reader's last call: the keys under the topic, or `all` when notifications may have been lost
 * (the LISTEN connection was down, or too many keys gathered) and everything must be read again.
 */
export type TopicChange = { keys: ReadonlySet<string>; all: boolean };

/** Changes gathered for one reader, at its own pace. A slow reader gets all of them together, never a queue. */
export type Subscription = {
  /** Waits for the next; undefined once closed. */
  next(): Promise<TopicChange | undefined>;
  close(): void;
};

export type Notifications = {
  /**
   * Listens to topics: a notification `batch:7:abc` is key `abc` of topic `batch:7`. Once the promise is fulfilled, the
   * reader misses no change: listening has begun or, in an outage, will report a change of `all` when it begins. The
   * topic `everyTopic` has the keys of all topics.
   */
  subscribe(...topics: string[]): Promise<Subscription>;
  /** Aborted when the process is stopping: streams tell their clients and end. */
  readonly stopping: AbortSignal;
  /** False while the LISTEN connection is down; true before the first subscription opens it. */
  readonly listening: boolean;
  /** Tests by a notification of its own whether notifications arrive; false when none does within a few seconds. */
  hears(): Promise<boolean>;
  stop(): void;
  close(): Promise<void>;
};

export const everyTopic = '*';
const channel = 'roomgate';
const pings = 'ping';
const mostKeys = 1_000;
/** Milliseconds for which `subscribe` waits for the LISTEN connection. */
const listenTimeout = 1_000;
const pingEvery = 5_000;
const pingTimeout = 4_000;
/** Milliseconds for which a successful ping is valid. */
const pingHolds = 1_000;

/** A promise that rejects when the signal aborts, and is never fulfilled. */
function cutBy(signal: AbortSignal): Promise<never> {
  return new Promise((_resolve, reject) => {
    signal.addEventListener('abort', () => reject(new Error('the connection was lost')), { once: true });
  });
}

/** Sends a notification over a connection and waits until it arrives there. @throws when it does not */
async function ping(connection: pg.Client): Promise<void> {
  const sent = `${pings}:${randomUUID()}`;
  const heard = Promise.withResolvers<void>();
  const hear = ({ payload }: pg.Notification) => payload === sent && heard.resolve();
  const timer = setTimeout(() => heard.reject(new Error('LISTEN receives nothing')), pingTimeout);
  connection.on('notification', hear);
  try {
    await Promise.all([heard.promise, connection.query('select pg_notify($1, $2)', [channel, sent])]);
  } finally {
    clearTimeout(timer);
    connection.off('notification', hear);
  }
}

/** Opens one LISTEN connection for the whole process. After a loss it is reopened, and every reader told to read again. */
export function openNotifications(url: string, log: Log): Notifications {
  const readers = new Map<string, Set<(key: string | undefined) => void>>();
  const stopping = new AbortController();
  const closed = new AbortController();
  let listening = false;
  let isLost = false;
  /** Pings over the present connection; concurrent calls share one ping. */
  let prove: (() => Promise<void>) | undefined;
  let announceListening = () => {};
  let ready = new Promise<void>((resolve) => {
    announceListening = resolve;
  });

  const deliver = (payload: string) => {
    const cut = payload.lastIndexOf(':');
    const topic = payload.slice(0, cut);
    if (topic === pings) return;
    for (const heard of [topic, everyTopic]) for (const tell of readers.get(heard) ?? []) tell(payload.slice(cut + 1));
  };

  async function listen(): Promise<void> {
    const connection = new PrimaryClient({
      ...connecting(url),
      application_name: 'roomgate listen',
      query_timeout: pingTimeout,
    });
    const lost = new AbortController();
    const lose = () => lost.abort();
    connection.on('error', lose).on('end', lose);
    closed.signal.addEventListener('abort', lose, { once: true });
    connection.on('notification', ({ channel: heardOn, payload = '' }) => {
      if (heardOn === channel) deliver(payload);
    });
    try {
      await Promise.race([connection.connect(), cutBy(lost.signal)]);
      await setUpSession(connection);
      await connection.query(`listen ${channel}`);
      let heardAt = Number.NEGATIVE_INFINITY;
      let pinging: Promise<void> | undefined;
      prove = async () => {
        if (performance.now() - heardAt < pingHolds) return;
        pinging ??= ping(connection)
          .then(() => void (heardAt = performance.now()))
          .finally(() => (pinging = undefined));
        await pinging;
      };
      // A ping of the same connection is heard through a pooler, too.
      if (!(await hearsOthers(connection, url))) throw new Error(notDirect);
      await prove();
      listening = true;
      announceListening();
      if (isLost) log.info('LISTEN connection is back');
      isLost = false;
      for (const tellers of readers.values()) for (const tell of tellers) tell(undefined);
      // No ping arrives over a connection that has silently died, or through a pooler in transaction mode.
      while (!lost.signal.aborted) {
        // Not Promise.race with a promise of the loss: it would retain every race for as long as the connection lives.
        await sleep(pingEvery, undefined, { signal: lost.signal, ref: false }).catch(() => {});
        if (!lost.signal.aborted) await prove();
      }
    } finally {
      if (listening)
        ready = new Promise((resolve) => {
          announceListening = resolve;
        });
      listening = false;
      prove = undefined;
      closed.signal.removeEventListener('abort', lose);
      // Not awaited: over a dead connection it would never end.
      connection.end().catch(() => {});
    }
  }

  let running: Promise<void> | undefined;
  async function keepListening(): Promise<void> {
    await keepDoing(closed.signal, listen, {
      onError(error) {
        // The start of the process reports a database that cannot be used at all.
        if (closed.signal.aborted || error instanceof ConfigError) return;
        isLost = true;
        log.warn({ err: error.message }, 'LISTEN connection failed');
      },
      wellAfterMs: pingEvery,
      firstMs: 50,
      longestMs: 3_000,
    });
  }

  const untilListening = () =>
    Promise.race([ready, sleep(listenTimeout, undefined, { signal: stopping.signal, ref: false }).catch(() => {})]);

  return {
    stopping: stopping.signal,
    get listening() {
      return listening || !running;
    },
    async hears() {
      running ??= keepListening();
      if (!listening) await untilListening();
      try {
        await prove?.();
      } catch {
        return false;
      }
      return listening;
    },
    async subscribe(...topics) {
      running ??= keepListening();
      let keys = new Set<string>();
      let all = false;
      let open = true;
      let wake = () => {};
      const tell = (key: string | undefined) => {
        if (key === undefined || keys.size >= mostKeys) all = true;
        else keys.add(key);
        wake();
      };
      for (const topic of topics) {
        const tellers = readers.get(topic) ?? new Set();
        readers.set(topic, tellers.add(tell));
      }
      if (!listening) await untilListening();
      return {
        async next() {
          if (open && keys.size === 0 && !all) await new Promise<void>((resolve) => (wake = resolve));
          if (!open) return undefined;
          const change = { keys, all };
          keys = new Set();
          all = false;
          return change;
        },
        close() {
          open = false;
          for (const topic of topics) {
            const tellers = readers.get(topic);
            tellers?.delete(tell);
            if (tellers?.size === 0) readers.delete(topic);
          }
          wake();
        },
      };
    },
    stop: () => stopping.abort(),
    async close() {
      stopping.abort();
      closed.abort();
      announceListening();
      await running;
    },
  };
}
