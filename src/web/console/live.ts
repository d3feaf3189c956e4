/** Subscriptions over one WebSocket. Each resumes after the last frame that it has received, so that nothing is missed. */
import { effect } from '@preact/signals';
import { createClient } from 'graphql-ws/client';
import { addressOf, asRefusal, call, hear, isSessionLost, lose, lostSince } from './client.ts';
import type { TypedDocumentString } from './generated/graphql.ts';

const wakers = new Set<() => void>();
/** Retries everything that is lost at once. */
export function tryNow(): void {
  for (const wake of wakers) wake();
}

const pauseMs = (failures: number) => Math.min(10_000, 250 * 2 ** failures) * (0.5 + Math.random());
let isProbing = false;

function pause(milliseconds: number, signal: AbortSignal): Promise<void> {
  return new Promise((resolve) => {
    const end = () => {
      clearTimeout(timer);
      wakers.delete(end);
      signal.removeEventListener('abort', end);
      resolve();
    };
    const timer = setTimeout(end, milliseconds);
    wakers.add(end);
    signal.addEventListener('abort', end);
  });
}

let following = 0;
let isConnected = false;
/** The server answers but is not ready, so an open connection does not show that all is well. */
let isUnwell = false;

let unanswered: ReturnType<typeof setTimeout> | undefined;
const client = createClient({
  url: String(addressOf('graphql')).replace(/^http/, 'ws'),
  // `follow` resumes subscriptions by their cursors; graphql-ws would restart them.
  retryAttempts: 0,
  keepAlive: 10_000,
  on: {
    message: hear,
    connected: () => {
      isConnected = true;
      hear();
      if (!isUnwell) lostSince.value = undefined;
      tryNow();
    },
    ping: (received) => {
      if (!received) unanswered = setTimeout(() => client.terminate(), 5_000);
    },
    pong: () => clearTimeout(unanswered),
    closed: (event) => {
      isConnected = false;
      clearTimeout(unanswered);
      if ((event as CloseEvent).code !== 1000) lose();
    },
  },
});

addEventListener('offline', () => {
  lose();
  client.terminate();
});
addEventListener('online', tryNow);

/** Asks until the server answers, then retries subscriptions at once. Without subscriptions nothing else would notice. */
async function probe(): Promise<void> {
  const { signal } = new AbortController();
  for (let failures = 0; lostSince.value !== undefined; failures++) {
    await pause(pauseMs(failures), signal);
    const wasLost = isSessionLost.value;
    const answer = await call('GET', 'session').catch(() => undefined);
    // A 401 also shows that the server answers.
    if (!answer || (!answer.ok && answer.status !== 401)) continue;
    // Somebody has signed in meanwhile.
    if (wasLost && !isSessionLost.value) continue;
    if (answer.status === 401) isSessionLost.value = true;
    isUnwell = false;
    if (isConnected || following === 0) lostSince.value = undefined;
    else tryNow();
  }
}
effect(() => {
  if (lostSince.value !== undefined && !isProbing) {
    isProbing = true;
    void probe().finally(() => {
      isProbing = false;
    });
  }
});
isSessionLost.subscribe((lost) => {
  if (!lost) tryNow();
});

export type Followed<Result> = {
  next: (result: Result) => void;
  /** The cursor of a frame, after which to resume. */
  cursor?: (result: Result) => string | null | undefined;
  /** Called when missed changes can no longer be read one by one: reads everything again. */
  restart?: () => void;
};

/** Follows a subscription until the function that it returns is called. */
export function follow<Result, Variables extends Record<string, unknown>>(
  document: TypedDocumentString<Result, Variables>,
  variables: Variables,
  { next, cursor, restart }: Followed<Result>,
): () => void {
  const stop = new AbortController();
  let after: string | null | undefined;
  let failures = 0;

  async function listen(): Promise<void> {
    const stream = client.iterate<Result>({
      query: document.toString(),
      variables: { ...variables, ...(after && { after }) },
    });
    const end = () => void stream.return?.();
    stop.signal.addEventListener('abort', end);
    try {
      for await (const { data, errors } of stream) {
        if (stop.signal.aborted) return;
        const [error] = errors ?? [];
        if (error) {
          const { code } = asRefusal(error as { message: string });
          if (code === 'Unavailable') isUnwell = true;
          // A socket of a session that has ended may be closed after somebody has signed in again: `probe` asks.
          if (code === 'Unavailable' || code === 'NotAuthenticated') lose();
          else forget();
          return;
        }
        failures = 0;
        isUnwell = false;
        lostSince.value = undefined;
        if (!data) continue;
        after = cursor?.(data) ?? after;
        next(data);
      }
    } finally {
      stop.signal.removeEventListener('abort', end);
    }
  }
  function forget(): void {
    if (!after) return;
    after = undefined;
    restart?.();
  }

  async function keep(): Promise<void> {
    following += 1;
    while (!stop.signal.aborted) {
      await listen().catch((error: unknown) => {
        // An array holds GraphQL's errors for a refused subscription; anything else is a failure of the network.
        if (Array.isArray(error)) forget();
        else lose();
      });
      if (stop.signal.aborted) break;
      failures += 1;
      await pause(pauseMs(failures), stop.signal);
    }
    following -= 1;
  }
  void keep();
  return () => stop.abort();
}
