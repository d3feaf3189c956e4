import { sql } from 'kysely';
import { LRUCache } from 'lru-cache';
import { atMost } from '../flow/caches.ts';
import { workFor } from '../flow/working.ts';
import type { Log } from '../log.ts';
import { minute } from '../time/durations.ts';
import type { Database } from './database.ts';

/** How often a key was used in the present window, and when the next window begins by this machine's clock. */
export type Rate = { used: number; resetsAt: Date };

/** Counts uses per window, over all processes. */
export type Rates = {
  /** Counts `uses` of `key`, one by default. It does not wait for the database. */
  count(key: string, uses?: number): Rate;
  close(): Promise<void>;
};

/** `shared`: the sum over all processes at the last exchange. `own`: counted here since then. */
type Count = { shared: number; own: number };

const mostKeys = 50_000;
const shareEvery = 1_000;

/**
 * Each process counts in memory. About once a second, while it has new counts, one statement adds them to the table and reads
 * the sums of all processes. So a limit may be exceeded by what the processes admit within a second, and in an outage of the
 * database each process counts alone. Windows follow the database's clock.
 */
export function openRates(db: Database, log: Log, windowLength = minute): Rates {
  const counts = new LRUCache<string, Count>(atMost(mostKeys));
  let windowStart = 0;
  /** Milliseconds by which the database's clock is ahead of ours. */
  let ahead = 0;
  let sharedAt = Number.NEGATIVE_INFINITY;
  let timer: NodeJS.Timeout | undefined;
  let sharing: Promise<void> | undefined;
  let failing = false;
  let closed = false;

  function enterWindow(): void {
    const now = Date.now() + ahead;
    const start = now - (now % windowLength);
    if (start === windowStart) return;
    windowStart = start;
    // Counts of a past window that were not shared are dropped.
    counts.clear();
  }

  function shareSoon(): void {
    if (timer || sharing || closed) return;
    const waitMs = Math.max(0, sharedAt + shareEvery - performance.now());
    timer = workFor(undefined, () => setTimeout(shareNow, waitMs).unref());
  }

  function shareNow(): void {
    timer = undefined;
    sharing = share().finally(() => {
      sharing = undefined;
      sharedAt = performance.now();
      if (counts.values().some(({ own }) => own > 0)) shareSoon();
    });
  }

  async function share(): Promise<void> {
    enterWindow();
    const sent = counts
      .entries()
      .filter(([, { own }]) => own > 0)
      .map(([key, count]) => ({ key, count, own: count.own }))
      .toArray();
    if (sent.length === 0) return;
    const window = windowStart;
    try {
      const sums = await addToTable(window, sent);
      for (const { key, count, own } of sent) {
        count.own -= own;
        count.shared = sums.get(key) ?? count.shared + own;
      }
      failing = false;
    } catch (error) {
      if (!failing) log.warn({ err: (error as Error).message }, 'limits are counted by this process alone');
      failing = true;
    }
  }

  async function addToTable(
    window: number,
    sent: readonly { key: string; own: number }[],
  ): Promise<Map<string, number>> {
    // Ordered by key, so that two processes do not deadlock; the sweep skips locked rows.
    const { rows } = await sql<{ key: string; used: number; now: number }>`
      with swept as (
        delete from rate_count where ctid = any (array(
          select ctid from rate_count
          where window_start < clock_timestamp() - make_interval(secs => ${(2 * windowLength) / 1_000})
          limit 10000 for update skip locked)))
      insert into rate_count as total (window_start, key, used)
      select ${new Date(window)}, key, used
      from unnest(${sent.map(({ key }) => key)}::text[], ${sent.map(({ own }) => own)}::integer[]) as sent (key, used)
      order by key
      on conflict (window_start, key) do update set used = total.used + excluded.used
      returning key, used, extract(epoch from clock_timestamp())::float8 * 1000 as now`.execute(db);
    const [first] = rows;
    if (first) ahead = first.now - Date.now();
    return new Map(rows.map(({ key, used }) => [key, used]));
  }

  return {
    count(key, uses = 1) {
      enterWindow();
      let count = counts.get(key);
      if (!count) counts.set(key, (count = { shared: 0, own: 0 }));
      count.own += uses;
      shareSoon();
      return {
        used: count.shared + count.own,
        resetsAt: new Date(windowStart + windowLength - ahead),
      };
    },
    async close() {
      closed = true;
      clearTimeout(timer);
      await sharing;
    },
  };
}
