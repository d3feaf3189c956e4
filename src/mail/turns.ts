/** How many calendars a process reads at a time: mail servers of two tenants that do not answer must leave room for others. */
import type { Database } from '../db/database.ts';

/** In all, and of one tenant. */
const mostAtOnce = 5;
const mostOfTenant = 2;

/** The tenants whose calendars are being read, each as often as that. */
const reading = new WeakMap<Database, number[]>();

/** Runs `work` if it is its turn. It does not wait for that: its job's place is for others. @returns whether it was */
export async function inTurn(db: Database, mandatorId: number, work: () => Promise<void>): Promise<boolean> {
  const others = reading.get(db) ?? [];
  reading.set(db, others);
  const own = others.filter((other) => other === mandatorId).length;
  if (others.length >= mostAtOnce || own >= mostOfTenant) return false;
  others.push(mandatorId);
  try {
    await work();
  } finally {
    others.splice(others.indexOf(mandatorId), 1);
  }
  return true;
}
