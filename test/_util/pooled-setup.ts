import setUp from './global-setup.ts';
import { hasPgBouncer, startPooler } from './pooler.ts';

/** As for every test run, with PgBouncer in transaction mode between the requests of each service and its database. */
export default async function setup(): Promise<void> {
  if (!hasPgBouncer) throw new Error('pgbouncer is not installed');
  await setUp();
  const pooler = await startPooler(process.env['ROOMGATE_TEST_TEMPLATE'] ?? '', 20);
  process.env['ROOMGATE_TEST_POOLER'] = pooler.through('postgres://pooler');
  const run = globalThis as { stopTestPostgres?: () => Promise<void> };
  const stopPostgres = run.stopTestPostgres;
  run.stopTestPostgres = async () => {
    await pooler.stop();
    await stopPostgres?.();
  };
}
