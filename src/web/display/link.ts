/**
 * The connection to the server: a stream that is reopened whenever it breaks, and polling where streams do not come through.
 * The caller interprets the frames.
 */
import { type Judgement, judge } from './answers.ts';
import { makeEventParser } from './event-stream.ts';
import {
  parseInstants,
  type ReceivedFrame,
  readFrame,
  readSnapshot,
  type SentFrame,
  type SentSnapshot,
} from './frames.ts';

/** The functions of the browser that a link uses. */
export type Ports = {
  fetch(address: string, init: RequestInit): Promise<Response>;
  /** Milliseconds that only go forward. */
  ticks(): number;
  /** From 0 to 1. */
  random(): number;
  /** @returns cancels it */
  after(milliseconds: number, run: () => void): () => void;
};

/** Refused and missing as in `Judgement`. */
export type LinkState = 'connecting' | 'live' | 'polling' | 'offline' | 'refused' | 'missing';

export type LinkFeed = {
  /** The address of GraphQL. */
  address: string;
  token: string;
  documents: { stream: string; poll: string };
  variables(): Record<string, unknown>;
  /**
   * @param slack milliseconds within which the frame's serverTime was read; unknown for those that a stream sends later: a network
   * or a proxy may have held them back
   * @param first whether it is the first frame of its connection
   * @returns false if the frame does not fit the known state, and all must be sent again
   */
  take(frame: ReceivedFrame, slack: number | undefined, first: boolean): boolean;
  /** Called when the state has changed; on e-paper after each call. */
  setState(state: LinkState): void;
  /** Whether the room or location, which was missing, still is; asked in place of a stream, which would be refused. */
  isMissing(signal: AbortSignal): Promise<boolean>;
};

export type ServerLink = {
  /** Makes the next attempt at once. */
  hurry(): void;
  /** Reconnects after a change of the network. @param isOffline as the device reports */
  drop(isOffline?: boolean): void;
  close(): void;
  /** How often a connection was lost. */
  losses(): number;
};

const firstFrameWithinMs = 15_000;
const silenceUntilDroppedMs = 45_000;
const pollEveryMs = 30_000;
/** How long it polls before it tries a stream again. */
const pollForMs = 300_000;
/** The time after which a connection that has received something counts as good, and the back-off starts over. */
const settledMs = 10_000;

/** The attempt from which on `backOff` waits longest. */
const slowest = 5;

/** Full jitter: soon at first, then from 1 s up to 30 s. */
export function backOff(attempt: number, random: number): number {
  if (attempt === 0) return random * 1_000;
  return 1_000 + random * (Math.min(30, 2 ** attempt) - 1) * 1_000;
}

type Outcome = Judgement | { kind: 'silent' };

export function openLink(ports: Ports, feed: LinkFeed): ServerLink {
  let closed = false;
  let losses = 0;
  let abort = new AbortController();
  let wake = () => {};
  let isUrgent = false;
  let attempt = 0;
  /** When the server was last heard from. */
  let heardAt = Number.NEGATIVE_INFINITY;
  /** When streams, which have not come through, are tried again. */
  let streamsFrom = Number.NEGATIVE_INFINITY;
  /** Whether the latest stream brought nothing, and a poll after it did. */
  let isStreamSilent = false;
  let state: LinkState | undefined;

  const setState = (next: LinkState) => {
    if (state !== next && !closed) feed.setState((state = next));
  };
  const pause = async (milliseconds: number) => {
    if (!isUrgent) {
      await new Promise<void>((resolve) => {
        const cancel = ports.after(milliseconds, resolve);
        wake = () => {
          cancel();
          resolve();
        };
      });
    }
    isUrgent = false;
  };
  const hurry = () => {
    isUrgent = true;
    wake();
  };
  const ask = (query: string, accept: string, signal: AbortSignal) =>
    ports.fetch(feed.address, {
      method: 'POST',
      headers: { accept, authorization: `Bearer ${feed.token}`, 'content-type': 'application/json' },
      body: JSON.stringify({ query, variables: feed.variables() }),
      cache: 'no-store',
      signal,
    });

  async function follow(): Promise<Outcome> {
    const mine = (abort = new AbortController());
    const asked = ports.ticks();
    /** How many frames it has brought. */
    let heard = 0;
    let isSilent = false;
    let cancel = ports.after(firstFrameWithinMs, () => {
      isSilent = true;
      mine.abort();
    });
    const take = (sent: SentFrame): Outcome | undefined => {
      const frame = readFrame(sent);
      const fits = feed.take(frame, heard ? undefined : ports.ticks() - asked, !heard);
      heard++;
      heardAt = ports.ticks();
      isStreamSilent = false;
      cancel();
      cancel = ports.after(silenceUntilDroppedMs, () => mine.abort());
      setState('live');
      if (!fits) return { kind: 'later', seconds: 0 };
      if (frame.kind !== 'ended') return undefined;
      const seconds = frame.retryAfterSeconds;
      // Rights have changed, perhaps not for the last time. A stream that ends with its first frame is no reason to hurry.
      if (seconds === 0 && heard > 1) attempt = 0;
      return seconds === null ? { kind: 'refused' } : { kind: 'later', seconds };
    };
    try {
      const response = await ask(feed.documents.stream, 'text/event-stream', mine.signal);
      if (!response.ok || !/event-stream/.test(response.headers.get('content-type') ?? ''))
        return judge(response, await response.text());
      if (!response.body) return { kind: 'silent' };
      const reader = response.body.getReader();
      const parse = makeEventParser();
      for (;;) {
        const { done, value } = await reader.read();
        if (done) break;
        for (const { event, data } of parse(value)) {
          if (event !== 'next') continue;
          const answer = parseInstants(data) as { data?: { frame?: SentFrame } };
          const sent = answer.data?.frame;
          const outcome = sent ? take(sent) : judge(response, data);
          if (outcome) return outcome;
        }
      }
      return { kind: 'lost' };
    } catch {
      return { kind: isSilent ? 'silent' : 'lost' };
    } finally {
      cancel();
      mine.abort();
    }
  }

  async function poll(): Promise<Outcome | undefined> {
    const mine = (abort = new AbortController());
    const asked = ports.ticks();
    const cancel = ports.after(firstFrameWithinMs, () => mine.abort());
    try {
      const response = await ask(feed.documents.poll, 'application/json', mine.signal);
      const text = await response.text();
      const answer = response.ok
        ? (parseInstants(text) as { data?: { now?: SentSnapshot | SentSnapshot[] } | null })
        : {};
      const now = answer.data?.now;
      if (!now) return judge(response, text);
      const sent = Array.isArray(now) ? now : [now];
      const slack = ports.ticks() - asked;
      for (const one of sent) feed.take({ kind: 'snapshot', snapshot: readSnapshot(one) }, slack, one === sent[0]);
      const last = sent.at(-1);
      // As on a stream: a room that was not sent by now is no longer on the board.
      if (Array.isArray(now) && last) feed.take({ ...last, kind: 'heartbeat' }, slack, false);
      heardAt = ports.ticks();
      setState('polling');
      return undefined;
    } catch {
      return { kind: 'lost' };
    } finally {
      cancel();
    }
  }

  async function pollOn(): Promise<Outcome> {
    for (;;) {
      await pause(pollEveryMs);
      if (closed || ports.ticks() >= streamsFrom) return { kind: 'later', seconds: 0 };
      const outcome = await poll();
      if (outcome) return outcome;
    }
  }

  async function isStillMissing(): Promise<boolean> {
    const mine = (abort = new AbortController());
    const cancel = ports.after(firstFrameWithinMs, () => mine.abort());
    try {
      return await feed.isMissing(mine.signal);
    } catch {
      // What a proxy answers in place of the server may be anything: the stream will tell.
      return false;
    } finally {
      cancel();
    }
  }

  async function run(): Promise<void> {
    setState('connecting');
    for (;;) {
      const started = ports.ticks();
      const isMissing = state === 'missing' && (await isStillMissing());
      if (closed) return;
      let outcome: Outcome = { kind: isMissing ? 'missing' : 'silent' };
      if (!isMissing && started >= streamsFrom) outcome = await follow();
      if (outcome.kind === 'silent' && !closed) {
        outcome = (await poll()) ?? outcome;
        // Polling works where streams do not. After the first silent stream the network may only just have come back.
        if (outcome.kind === 'silent' && isStreamSilent) {
          streamsFrom = Math.max(streamsFrom, started + pollForMs);
          outcome = await pollOn();
        } else if (outcome.kind === 'silent') {
          isStreamSilent = true;
          outcome = { kind: 'later', seconds: 0 };
        }
      }
      if (closed) return;
      if (outcome.kind === 'refused') return setState('refused');
      if (heardAt >= started && ports.ticks() - started > settledMs) attempt = 0;
      if (outcome.kind === 'lost') losses++;
      if (outcome.kind === 'missing') setState('missing');
      // The first retry comes within a second, and is not shown.
      else if (attempt > 0 || (state !== 'live' && state !== 'polling')) setState('offline');
      // Thousands may have lost their rooms at once.
      if (outcome.kind === 'missing' && attempt > 0) attempt = slowest;
      const least = outcome.kind === 'later' ? outcome.seconds * 1_000 * ports.random() : 0;
      await pause(Math.max(least, backOff(attempt++, ports.random())));
      if (closed) return;
    }
  }

  void run();
  return {
    hurry,
    drop(isOffline = false) {
      attempt = 0;
      streamsFrom = Number.NEGATIVE_INFINITY;
      // Shown at once: a call without network may hang for long.
      if (isOffline) setState('offline');
      abort.abort();
      hurry();
    },
    close() {
      closed = true;
      abort.abort();
      hurry();
    },
    losses: () => losses,
  };
}
