/**
 * Where what mail servers send is recorded before it is answered: what arrives while a statement runs goes into the next one,
 * and nobody waits for company. So a storm costs few commits, and each notification is in the database when its sender hears so.
 */
import { setTimeout as sleep } from 'node:timers/promises';
import type { Context } from '../context.ts';
import { isOutage, isSchemaMissing, Unavailable } from '../errors.ts';
import { markAllCalendars } from './calendars.ts';
import type { Verdict } from './mail.ts';
import { type Recorded, type Row, recordNotifications } from './recording.ts';

export type Inbox = {
  /**
   * Resolves when all notifications of one request are recorded, in their order.
   * @throws Unavailable when that is not so within 2.5 s, or too many wait; they may be recorded all the same
   */
  record(rows: readonly Row[]): Promise<Recorded[]>;
  figures(): InboxFigures;
  /** Resolves when all that waits is recorded. */
  close(): Promise<void>;
};

export type InboxFigures = {
  recorded: Readonly<Record<Verdict, number>>;
  statements: number;
  failed: number;
  /** Requests, not notifications. */
  waiting: number;
};

type Post = {
  rows: readonly Row[];
  bytes: number;
  deadline: number;
  answer: PromiseWithResolvers<Recorded[]>;
};

/** Statements of this process: while one is committed, the next one is at work. */
const mostAtOnce = 2;
const patience = 2_500;
const checkEvery = 100;
const mostWaiting = { posts: 2_000, bytes: 32 * 1024 * 1024 };
const mostTogether = { rows: 256, bytes: 4 * 1024 * 1024 };
/** After a failure all calendars are marked as soon as that is possible, but not again and again. */
const recovery = { first: 1_000, next: 30_000 };

/** Not now, rather than never. */
const isPassing = (error: unknown) => isOutage(error) || isSchemaMissing(error);
const busy = () => new Unavailable('The notification could not be recorded; send it again.');

/** @param db connections of its own, so that it does not wait for those of readers */
export function openInbox(db: Context['inbox'], log: Context['log']): Inbox {
  let waiting: Post[] = [];
  let waitingBytes = 0;
  const running = new Set<readonly Post[]>();
  let runners: Promise<void>[] = [];
  let scheduled = false;
  let timer: NodeJS.Timeout | undefined;
  let recovering: Promise<void> | undefined;
  let markedAt = Number.NEGATIVE_INFINITY;
  const closing = new AbortController();
  const verdicts: Record<Verdict, number> = {
    ...{ Accepted: 0, Duplicate: 0, Rejected: 0, Unrecognised: 0, Handshake: 0 },
  };
  const counts = { recorded: verdicts, statements: 0, failed: 0 };

  function refuse(post: Post, error: Error): void {
    counts.failed += 1;
    post.answer.reject(error);
    recoverSoon();
  }

  /** What is still waiting is not recorded any more; what is under way may be, and its sender sends it twice. */
  function expire(): void {
    const now = performance.now();
    const late = (post: Post) => post.deadline <= now;
    for (const group of running) for (const post of group) if (late(post)) post.answer.reject(busy());
    const [expired = [], rest = []] = [waiting.filter(late), waiting.filter((post) => !late(post))];
    waiting = rest;
    for (const post of expired) {
      waitingBytes -= post.bytes;
      refuse(post, busy());
    }
    if (running.size === 0 && waiting.length === 0) {
      clearInterval(timer);
      timer = undefined;
    }
  }

  function takeGroup(): Post[] {
    let [count, rows, bytes] = [0, 0, 0];
    for (const post of waiting) {
      rows += post.rows.length;
      bytes += post.bytes;
      if (count > 0 && (rows > mostTogether.rows || bytes > mostTogether.bytes)) break;
      waitingBytes -= post.bytes;
      count += 1;
    }
    const group = waiting.slice(0, count);
    waiting = waiting.slice(count);
    return group;
  }

  async function recordTogether(group: readonly Post[]): Promise<void> {
    try {
      counts.statements += 1;
      const recorded = await recordNotifications(
        db,
        group.flatMap(({ rows }) => rows),
      );
      for (const { verdict } of recorded) verdicts[verdict] += 1;
      let at = 0;
      for (const { rows, answer } of group) answer.resolve(recorded.slice(at, (at += rows.length)));
    } catch (error) {
      const passes = isPassing(error);
      if (group.length > 1 && !passes) {
        // One of them cannot be stored; the others can.
        for (const post of group) await recordTogether([post]);
        return;
      }
      log[passes ? 'warn' : 'error'](
        { err: (error as Error).message, posts: group.length },
        'mail notifications could not be recorded',
      );
      for (const post of group) refuse(post, passes ? busy() : (error as Error));
    }
  }

  async function run(): Promise<void> {
    while (waiting.length > 0) {
      const group = takeGroup();
      running.add(group);
      await recordTogether(group);
      running.delete(group);
    }
  }

  /** In the next turn of the event loop, which those that arrive in this one share. */
  function runSoon(): void {
    if (scheduled || running.size >= mostAtOnce) return;
    scheduled = true;
    setImmediate(() => {
      scheduled = false;
      const runner = run().finally(() => {
        runners = runners.filter((other) => other !== runner);
      });
      runners.push(runner);
    });
  }

  /** What was missed is not known: so all calendars are read, once the database takes that. */
  function recoverSoon(): void {
    recovering ??= recover().finally(() => {
      recovering = undefined;
    });
  }

  async function recover(): Promise<void> {
    const options = { signal: closing.signal, ref: false };
    const wait = Math.max(recovery.first, markedAt + recovery.next - performance.now());
    for (let pause = wait; !closing.signal.aborted; pause = recovery.first) {
      await sleep(pause, undefined, options).catch(() => {});
      if (closing.signal.aborted) return;
      try {
        await markAllCalendars(db);
        markedAt = performance.now();
        log.info('mail notifications can be recorded again; all calendars are read');
        return;
      } catch {
        // Why is told by what cannot be recorded.
      }
    }
  }

  return {
    async record(rows) {
      const bytes = rows.reduce((sum, { body }) => sum + body.length, 0);
      const answer = Promise.withResolvers<Recorded[]>();
      const post: Post = { rows, bytes, deadline: performance.now() + patience, answer };
      if (waiting.length >= mostWaiting.posts || waitingBytes + bytes > mostWaiting.bytes) {
        refuse(post, busy());
        return await answer.promise;
      }
      waiting.push(post);
      waitingBytes += bytes;
      timer ??= setInterval(expire, checkEvery).unref();
      runSoon();
      return await answer.promise;
    },
    figures: () => ({ ...counts, waiting: waiting.length }),
    async close() {
      closing.abort();
      while (scheduled || runners.length > 0) {
        await new Promise(setImmediate);
        await Promise.all(runners);
      }
      clearInterval(timer);
      await recovering;
    },
  };
}
