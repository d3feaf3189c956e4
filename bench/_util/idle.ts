/** What idle processes do. */
import { setTimeout as sleep } from 'node:timers/promises';
import type { Bench } from './harness.ts';

export type Idle = {
  /** Transactions a second, as PostgreSQL counts them. */
  transactions: number;
  /** Microseconds of CPU a second, of the processes and of PostgreSQL. */
  cpu: number;
};

/** Watches the processes of a bench for so many seconds. */
export async function watchIdle(bench: Bench, { idle, smoke }: { idle: number; smoke: boolean }): Promise<Idle> {
  const count = async () => {
    const { rows } = await bench.client.query<{ n: number }>(
      'select (xact_commit + xact_rollback)::float8 as n from pg_stat_database where datname = current_database()',
    );
    return rows[0]?.n ?? 0;
  };
  // A process that has just started compiles and collects for a minute; connections report their statistics with a delay of some seconds.
  if (!smoke) await sleep(60_000);
  const [before, cpu] = [await count(), await bench.cpu()];
  await sleep(idle * 1_000);
  return { transactions: ((await count()) - before) / idle, cpu: ((await bench.cpu()) - cpu) / idle };
}
