/**
 * Records the notifications of mail servers before their requests are answered, so an acknowledged notification is in the
 * database. Requests that arrive while a statement runs are recorded together by the next one, so a storm costs few commits. A
 * request waits for others to arrive only in a storm, and then for a few milliseconds.
 */
import { setImmediate, setTimeout as sleep } from 'node:timers/promises';
import { LRUCache } from 'lru-cache';
import type { Context } from '../context.ts';
import { Unavailable } from '../errors.ts';
import { atMost } from '../flow/caches.ts';
import { isOutage, isSchemaMissing } from '../flow/database-errors.ts';
import { markAllCalendars } from '../mail-subscriptions/service.ts';
import type { Verdict } from './dialects/notification.ts';
import { openLanes, type WaitingPost } from './lanes.ts';
import { type InboxRow, type RecordedNotification, recordNotifications } from './recording.ts';

export type Inbox = {
  /**
   * Resolves when all notifications of one request are recorded, in their order.
   * @throws Unavailable when that takes longer than 2.5 s, or too many wait; they may be recorded nevertheless
   */
  record(rows: readonly InboxRow[]): Promise<RecordedNotification[]>;
  figures(): InboxFigures;
  /** Resolves when every waiting request is recorded. */
  close(): Promise<void>;
};

export type InboxFigures = {
  recorded: Readonly<Record<Verdict, number>>;
  statements: number;
  failed: number;
  /** Requests, not notifications. */
  waiting: number;
};

type QueuedPost = WaitingPost & {
  notifications: readonly InboxRow[];
  deadline: number;
  answer: PromiseWithResolvers<RecordedNotification[]>;
};

/** The concurrent statements of this process: while one is committed, the next one runs. */
const mostAtOnce = 2;
/** How long after a statement for several requests the next one begins, so that it records more of them. */
const apartMs = 10;
const recordWithinMs = 2_500;
const checkEveryMs = 100;
const mostWaiting = 32 * 1024 * 1024;
const mostTogether = { rows: 256, bytes: 4 * 1024 * 1024 };
/** The most subscriptions whose tenant is cached. */
const mostTenants = 50_000;
/** Milliseconds from a failure until all calendars are marked, and until that is tried again. */
const recoveryMs = { first: 1_000, next: 30_000 };

/** Whether recording the same notification may succeed later. */
const isPassing = (error: unknown) => isOutage(error) || isSchemaMissing(error);
const busy = () => new Unavailable('The notification could not be recorded; send it again.');

/** @param db a pool of its own, so that recording does not wait for connections that readers hold */
export function openInbox(db: Context['inbox'], log: Context['log']): Inbox {
  const lanes = openLanes<QueuedPost>(mostWaiting);
  /** Tenants by subscription, as the recording statements return them. */
  const tenants = new LRUCache<number, number>(atMost(mostTenants));
  const running = new Set<readonly QueuedPost[]>();
  let runners: Promise<void>[] = [];
  let scheduled = false;
  /** The earliest time of the next statement. */
  let nextAt = Number.NEGATIVE_INFINITY;
  let timer: NodeJS.Timeout | undefined;
  let recovering: Promise<void> | undefined;
  let markedAt = Number.NEGATIVE_INFINITY;
  const closing = new AbortController();
  const verdicts: Record<Verdict, number> = {
    Accepted: 0,
    Duplicate: 0,
    Rejected: 0,
    Unrecognised: 0,
    Handshake: 0,
  };
  const counts = { recorded: verdicts, statements: 0, failed: 0 };

  function refuse(post: QueuedPost, error: Error): void {
    counts.failed += 1;
    post.answer.reject(error);
    if (post.isProven) recoverSoon();
  }

  /** Refuses requests past their deadline. One that is being recorded may be stored nevertheless; its repetition is a duplicate. */
  function expire(): void {
    const now = performance.now();
    const late = (post: QueuedPost) => post.deadline <= now;
    for (const group of running) for (const post of group) if (late(post)) post.answer.reject(busy());
    for (const post of lanes.expire(late)) refuse(post, busy());
    if (running.size === 0 && lanes.count === 0) {
      clearInterval(timer);
      timer = undefined;
    }
  }

  async function recordTogether(group: readonly QueuedPost[]): Promise<void> {
    try {
      counts.statements += 1;
      const recorded = await recordNotifications(
        db,
        group.flatMap(({ notifications }) => notifications),
      );
      let at = 0;
      for (const { notifications, answer } of group) {
        const own = recorded.slice(at, (at += notifications.length));
        for (const [index, { verdict, mandatorId }] of own.entries()) {
          const { count, subscriptionId } = notifications[index] as InboxRow;
          verdicts[verdict] += count;
          if (subscriptionId !== null && mandatorId !== null) tenants.set(subscriptionId, mandatorId);
        }
        answer.resolve(own);
      }
    } catch (error) {
      const passes = isPassing(error);
      if (group.length > 1 && !passes) {
        // One of the requests cannot be stored. Recorded one by one, the others can.
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
    const waitMs = nextAt - performance.now();
    if (waitMs > 0) await sleep(waitMs, undefined, { signal: closing.signal }).catch(() => {});
    else await setImmediate();
    scheduled = false;
    const group = lanes.take(mostTogether);
    if (group.length === 0) return;
    if (group.length > 1) nextAt = performance.now() + apartMs;
    running.add(group);
    runSoon();
    await recordTogether(group);
    running.delete(group);
    runSoon();
  }

  /** Starts in the next turn of the event loop at the soonest, so that requests of the same turn share a statement. */
  function runSoon(): void {
    if (scheduled || lanes.count === 0 || running.size >= mostAtOnce) return;
    scheduled = true;
    const runner = run().finally(() => {
      runners = runners.filter((other) => other !== runner);
    });
    runners.push(runner);
  }

  /** It is unknown which notifications were lost, so all calendars are marked to be read once the database accepts writes. */
  function recoverSoon(): void {
    recovering ??= recover().finally(() => {
      recovering = undefined;
    });
  }

  async function recover(): Promise<void> {
    const options = { signal: closing.signal, ref: false };
    const wait = Math.max(recoveryMs.first, markedAt + recoveryMs.next - performance.now());
    for (let pause = wait; !closing.signal.aborted; pause = recoveryMs.first) {
      await sleep(pause, undefined, options).catch(() => {});
      if (closing.signal.aborted) return;
      try {
        await markAllCalendars(db);
        markedAt = performance.now();
        log.info('mail notifications can be recorded again; all calendars will be read');
        return;
      } catch {
        // The reason is logged where the recording itself fails.
      }
    }
  }

  /** A proven request waits in the lane of its tenant, any other in the lane of its sender's address. */
  function laneOf(rows: readonly InboxRow[]): Pick<QueuedPost, 'lane' | 'isProven'> {
    const id = rows.find(({ claim }) => claim === 'Proven')?.subscriptionId ?? undefined;
    if (id === undefined) return { lane: `address ${rows[0]?.address}`, isProven: false };
    const mandatorId = tenants.get(id);
    return { lane: mandatorId === undefined ? `subscription ${id}` : `tenant ${mandatorId}`, isProven: true };
  }

  return {
    async record(rows) {
      const post: QueuedPost = {
        ...laneOf(rows),
        notifications: rows,
        rows: rows.length,
        bytes: rows.reduce((sum, { body }) => sum + body.length, 0),
        deadline: performance.now() + recordWithinMs,
        answer: Promise.withResolvers<RecordedNotification[]>(),
      };
      for (const lost of lanes.add(post)) refuse(lost, busy());
      timer ??= setInterval(expire, checkEveryMs).unref();
      runSoon();
      return await post.answer.promise;
    },
    figures: () => ({ ...counts, waiting: lanes.count }),
    async close() {
      closing.abort();
      while (runners.length > 0) await Promise.all(runners);
      clearInterval(timer);
      await recovering;
    },
  };
}
