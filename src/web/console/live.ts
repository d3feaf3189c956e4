/**
 * Subscriptions over one WebSocket. Each goes on behind the last frame that it has received, so that nothing is missed; `link`
 * says whether what is shown is fresh, and since when not.
 */
import { signal } from '@preact/signals';
import { createClient } from 'graphql-ws/client';
import { addressOf, asRefusal, isSessionLost } from './client.ts';
import type { TypedDocumentString } from './generated/graphql.ts';

/** Undefined: nothing was lost. Else: since when nothing is heard. */
export const lostSince = signal<number | undefined>(undefined);
let heardAt = Date.now();
const lose = () => {
  lostSince.value ??= heardAt;
};
const hear = () => {
  heardAt = Date.now();
};

const wakers = new Set<() => void>();
/** Tries all that is lost again, at once. */
export function tryNow(): void {
  for (const wake of wakers) wake();
}

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

let unanswered: ReturnType<typeof setTimeout> | undefined;
const client = createClient({
  url: String(addressOf('graphql')).replace(/^http/, 'ws'),
  // Who subscribes goes on behind what it has received; a retry of the socket would begin anew.
  retryAttempts: 0,
  keepAlive: 10_000,
  on: {
    opened: hear,
    message: hear,
    ping: (received) => {
      if (!received) unanswered = setTimeout(() => client.terminate(), 5_000);
    },
    pong: () => clearTimeout(unanswered),
    closed: (event) => {
      clearTimeout(unanswered);
      const { code } = event as CloseEvent;
      if (code === 4401) isSessionLost.value = true;
      if (code !== 1000) lose();
    },
  },
});

addEventListener('offline', () => {
  lose();
  client.terminate();
});
addEventListener('online', tryNow);
isSessionLost.subscribe((lost) => {
  if (!lost) tryNow();
});

export type Followed<Result> = {
  next: (result: Result) => void;
  /** The cursor of a frame, from which to go on. */
  cursor?: (result: Result) => string | null | undefined;
  /** What was missed cannot be told any more: read all again. */
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
          if (code === 'NotAuthenticated') isSessionLost.value = true;
          else if (code !== 'Unavailable') forget();
          return;
        }
        failures = 0;
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
    while (!stop.signal.aborted) {
      await listen().catch((error: unknown) => {
        // An array is what GraphQL refuses to begin; anything else is the network.
        if (Array.isArray(error)) forget();
        else lose();
      });
      if (stop.signal.aborted) return;
      failures += 1;
      await pause(Math.min(10_000, 250 * 2 ** failures) * (0.5 + Math.random()), stop.signal);
    }
  }
  void keep();
  return () => stop.abort();
}
