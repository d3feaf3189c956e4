/** The program under test, as a process of its own, with wide limits, which have tests of their own. */
import { openContext } from '../../src/context.ts';
import { openLog } from '../../src/log.ts';
import { pepper } from '../_util/pepper.ts';
import { killPrograms, startProgram } from '../_util/process.ts';
import { testConfig } from '../_util/service.ts';
import type { Window } from './loop.ts';
import type { Finding } from './run.ts';
import { openWorld } from './world.ts';

export async function openFuzz(databaseUrl: string) {
  const program = startProgram(databaseUrl, {
    NODE_OPTIONS: `--import ${new URL('./loop.ts', import.meta.url).href}`,
    LogLevel: 'warn',
    Limits__RequestsPerMinute: '1000000',
    Limits__TokenRequestsPerMinute: '1000000',
    Limits__UnknownNotificationsPerMinute: '10000000',
    Limits__OpenBatches: '10000',
    Limits__StreamsPerToken: '10000',
    Limits__WrongPins: '1000',
  });
  const url = await program.ready;
  const { close, ...context } = await openContext(testConfig(databaseUrl), openLog('silent'));
  return {
    world: await openWorld(url, context, pepper),
    /** Failures that no answer shows: in jobs, and in the log. */
    async findings(): Promise<Finding[]> {
      const failed = await context.db
        .selectFrom('batch')
        .where('failure_kind', '=', 'Technical')
        .select(['id', 'error_messages'])
        .execute();
      const errors = program.lines.filter(({ level }) => level === 'error' || level === 'fatal');
      return [
        ...failed.map((batch) => ({
          place: 'batch',
          fault: 'it failed for a technical reason',
          told: batch,
        })),
        ...errors.map((line) => ({ place: 'log', fault: line.msg, told: line })),
        ...(program.noise.length > 0 ? [{ place: 'standard error', fault: program.noise.join('\n'), told: null }] : []),
      ].map(({ place, fault, told }) => ({
        place,
        caller: 'worker',
        fault: { text: fault, isPromised: false },
        request: JSON.stringify(told),
      }));
    },
    /** How late the server's event loop was, in the windows that have begun since then. */
    loop: (since: number): Window[] =>
      program.lines.flatMap(({ window }) => (window ? [window as Window] : [])).filter((one) => one.since >= since),
    async close(): Promise<void> {
      await close();
      await killPrograms();
    },
  };
}
