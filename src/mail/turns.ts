/** How many calendars a process reads at a time: a mail server that does not answer must leave room for others. */
import { setTimeout as sleep } from 'node:timers/promises';
import type { Database } from '../db/database.ts';

/** In all, and of one tenant. */
const mostAtOnce = 5;
const mostOfTenant = 3;
/** Milliseconds for which a job waits for its turn. */
const turnWithin = 500;

/** The tenants whose calendars are being read, each as often as that. */
const reading = new WeakMap<Database, number[]>();

/** Runs `work` when it is its turn. @returns whether it was */
export async function inTurn(db: Database, mandatorId: number, work: () => Promise<void>): Promise<boolean> {
  const others = reading.get(db) ?? [];
  reading.set(db, others);
  for (const until = Date.now() + turnWithin; ; await sleep(20)) {
    const own = others.filter((other) => other === mandatorId).length;
    if (others.length < mostAtOnce && own < mostOfTenant) break;
    if (Date.now() >= until) return false;
  }
  others.push(mandatorId);
  try {
    await work();
  } finally {
    others.splice(others.indexOf(mandatorId), 1);
  }
  return true;
}
