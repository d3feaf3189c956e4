/** Deliveries to listeners, and their ledger. */
import { createHash, randomUUID } from 'node:crypto';
import http from 'node:http';
import https from 'node:https';
import type { Clock } from './clock.ts';
import type { Face, Faults } from './faults.ts';

export type Attempt = {
  at: string;
  /** Null: no answer came in time. */
  status: number | null;
  ms: number;
  outcome: string;
};
export type Delivery = {
  id: string;
  face: Face;
  kind: 'change' | 'status' | 'error' | 'lifecycle' | 'handshake';
  subscriptionIds: string[];
  url: string;
  body: string;
  /** SHA-256 of the body, in hex. */
  bodyHash: string;
  madeAt: string;
  attempts: Attempt[];
  state: 'Pending' | 'Acknowledged' | 'Failed' | 'Dropped';
};

export type Answered = { status: number; type: string; text: string; ms: number };
/** Why none came. */
export type Unanswered = { failure: string; ms: number };

const agents = {
  'http:': new http.Agent({ keepAlive: true, maxSockets: 64 }),
  'https:': new https.Agent({ keepAlive: true, maxSockets: 64, rejectUnauthorized: false }),
};

/** One POST and its answer of at most 64 KiB. */
function post(
  url: string,
  headers: Record<string, string>,
  body: string,
  timeoutMs: number,
): Promise<Answered | Unanswered> {
  const begun = performance.now();
  const ms = () => Math.round(performance.now() - begun);
  return new Promise((resolve) => {
    const { protocol } = new URL(url);
    const send = protocol === 'https:' ? https.request : http.request;
    const request = send(url, {
      method: 'POST',
      headers: { ...headers, 'content-length': Buffer.byteLength(body) },
      agent: agents[protocol as keyof typeof agents],
      signal: AbortSignal.timeout(timeoutMs),
    });
    request.on('error', (error) =>
      resolve({
        failure: error.name === 'AbortError' || error.name === 'TimeoutError' ? 'timeout' : error.message,
        ms: ms(),
      }),
    );
    request.on('response', (response) => {
      let text = '';
      response.setEncoding('utf8');
      response.on('data', (chunk: string) => {
        text += chunk;
        if (text.length > 65_536) request.destroy(new Error('its answer is too long'));
      });
      response.on('error', (error) => resolve({ failure: error.message, ms: ms() }));
      response.on('end', () =>
        resolve({
          status: response.statusCode ?? 0,
          type: response.headers['content-type'] ?? '',
          text,
          ms: ms(),
        }),
      );
    });
    request.end(body);
  });
}

export function openDeliveries(clock: Clock, faults: Faults, timeoutMs: () => number) {
  const all: Delivery[] = [];
  const running = new Set<Promise<unknown>>();
  const slowness: { at: number; isSlow: boolean }[] = [];

  async function attempt(
    delivery: Delivery,
    headers: Record<string, string>,
    judge: (answer: Answered) => string,
  ): Promise<string> {
    const at = new Date(clock.now()).toISOString();
    const answer = await post(delivery.url, headers, delivery.body, timeoutMs());
    const isLost = !('failure' in answer) && faults.ofNotification('lostAnswer', delivery.face, delivery.kind);
    const outcome = isLost ? 'its answer was lost' : 'failure' in answer ? answer.failure : judge(answer);
    delivery.attempts.push({
      at,
      status: 'failure' in answer || isLost ? null : answer.status,
      ms: answer.ms,
      outcome,
    });
    const isSlow = 'failure' in answer ? answer.failure === 'timeout' : answer.ms >= timeoutMs();
    if (delivery.face === 'Graph') slowness.push({ at: clock.now(), isSlow });
    if (outcome === 'ok' || outcome === 'unsubscribe') delivery.state = 'Acknowledged';
    return outcome;
  }

  return {
    all,
    make(part: Pick<Delivery, 'face' | 'kind' | 'subscriptionIds' | 'url' | 'body'>): Delivery {
      const delivery: Delivery = {
        id: randomUUID(),
        ...part,
        bodyHash: createHash('sha256').update(part.body).digest('hex'),
        madeAt: new Date(clock.now()).toISOString(),
        attempts: [],
        state: 'Pending',
      };
      all.push(delivery);
      return delivery;
    },
    /** Sends it once. @param judge `ok`, `unsubscribe`, or what is wrong with an answer; @returns that, or why none came */
    send(delivery: Delivery, headers: Record<string, string>, judge: (answer: Answered) => string): Promise<string> {
      const sent = attempt(delivery, headers, judge);
      running.add(sent);
      void sent.finally(() => running.delete(sent));
      return sent;
    },
    /** Graph: the part of the answers within ten minutes that took too long. */
    slowPart(): number {
      const since = clock.now() - 600_000;
      while (slowness[0] && slowness[0].at < since) slowness.shift();
      return slowness.length === 0 ? 0 : slowness.filter(({ isSlow }) => isSlow).length / slowness.length;
    },
    /** Resolves when no answer is awaited any more. */
    async settle(): Promise<void> {
      while (running.size > 0) {
        await Promise.allSettled([...running]);
        // What follows from an answer may send again.
        await new Promise((resolve) => setImmediate(resolve));
      }
    },
    pending: () => all.filter(({ state }) => state === 'Pending').length,
    forget: () => void all.splice(0),
  };
}
