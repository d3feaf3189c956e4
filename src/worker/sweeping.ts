/** Runs the sweeps. One statement asks which of them may have work, so that an idle worker asks little. */
import { type RawBuilder, sql } from 'kysely';
import { contain } from '../containment.ts';
import { isOutage } from '../flow/database-errors.ts';
import { pause } from '../flow/retry.ts';
import { fingerprintOf, isDisputed } from './agreement.ts';
import type { Sweep, SweepContext } from './task.ts';

const disagreement =
  'another worker has other settings of mail servers: neither follows them until one of the two is stopped';

type Swept = { sweep: Sweep; at: number; isRunning: boolean; rests: boolean };
type Round = { due: readonly Swept[]; disputed: boolean };

/**
 * Repeats the sweeps until the signal aborts, and waits for those that run then.
 * @param roundEvery milliseconds between two rounds
 */
export async function keepSweeping(sweeps: readonly Sweep[], context: SweepContext, roundEvery = 2_000): Promise<void> {
  const { signal } = context;
  const fingerprint = fingerprintOf(context.config, sweeps);
  const all = sweeps.map((sweep): Swept => ({ sweep, at: 0, isRunning: false, rests: false }));
  const running = new Set<Promise<void>>();
  while (!signal.aborted) {
    const now = performance.now();
    // A timer may fire a moment early.
    const up = all.filter(({ at, isRunning }) => !isRunning && at <= now + roundEvery / 2);
    for (const one of up) one.at = now + (one.sweep.every ?? 0);
    const { due, disputed } = await findDue(context, up, fingerprint);
    for (const one of due) {
      const run = runSweep(one, context, disputed).finally(() => running.delete(run));
      running.add(run);
    }
    await pause(roundEvery, signal);
  }
  await Promise.all(running);
}

/** Where the question itself fails, each sweep that may run shows by itself whether it can work. */
async function findDue(context: SweepContext, up: readonly Swept[], fingerprint: number): Promise<Round> {
  try {
    const conditions = up.map(({ sweep }): RawBuilder<unknown> => sweep.isDue?.(context) ?? sql`true`);
    const { rows } = await sql<{ due: boolean[]; disputed: boolean }>`
      select array[${sql.join(conditions)}]::boolean[] as due, ${isDisputed(fingerprint)} as disputed`.execute(
      context.db,
    );
    const { due, disputed } = rows[0]!;
    return { due: up.filter((_, at) => due[at]), disputed };
  } catch (error) {
    const isOut = isOutage(error);
    context.log[isOut ? 'warn' : 'error']({ err: (error as Error).stack }, 'asking which sweeps are due failed');
    return { due: isOut ? [] : up.filter(({ sweep }) => !sweep.follows), disputed: false };
  }
}

/** Work that failed is found again by the next round. */
async function runSweep(one: Swept, context: SweepContext, disputed: boolean): Promise<void> {
  const { sweep, rests: rested } = one;
  one.rests = sweep.follows !== undefined && disputed;
  if (one.rests && !rested) context.log.error({ sweep: sweep.name }, disagreement);
  if (one.rests) return;
  one.isRunning = true;
  try {
    await contain(() => sweep.run(context));
  } catch (error) {
    const level = isOutage(error) ? 'warn' : 'error';
    context.log[level]({ sweep: sweep.name, err: (error as Error).stack }, 'sweep failed');
  } finally {
    one.isRunning = false;
  }
}
