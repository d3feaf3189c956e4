import { sql } from 'kysely';
import { LRUCache } from 'lru-cache';
import type { Log } from '../log.ts';
import type { Database } from './database.ts';

/** How often a key was used in the present window, and when the next one begins, by this machine's clock. */
export type Rate = { used: number; resetsAt: Date };

/** Counts uses per window, over all processes together. */
export type Rates = {
  /** Counts one more use of `key`, or more of them, without waiting for anything. */
  count(key: string, uses?: number): Rate;
  close(): Promise<void>;
};

/** Milliseconds in which limits per minute are counted. */
export const minute = 60_000;

/** `shared`: known of all processes. `own`: counted here and not shared yet. */
type Count = { shared: number; own: number };

const mostKeys = 50_000;
const shareEvery = 1_000;

/**
 * Each process counts in memory, and about once a second, while there is something to tell, one statement adds what is
 * new to the table and brings back the sums of all. So a limit may be passed by what the processes admit within a second,
 * and an outage of the database leaves each with its own count. Windows are of the database's clock.
 */
export function openRates(db: Database, log: Log, windowLength: number): Rates {
  const counts = new LRUCache<string, Count>({ max: mostKeys });
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
    // What was not shared of a past window is of no use to anyone.
    counts.clear();
  }

  function shareSoon(): void {
    if (timer || sharing || closed) return;
    timer = setTimeout(
      () => {
        timer = undefined;
        sharing = share().finally(() => {
          sharing = undefined;
          sharedAt = performance.now();
          if (counts.values().some(({ own }) => own > 0)) shareSoon();
        });
      },
      Math.max(0, sharedAt + shareEvery - performance.now()),
    ).unref();
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
    // In the order of the keys, so that two processes do not wait for each other; the sweep waits for nobody.
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
