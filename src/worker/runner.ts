/**
 * Runs the queue's jobs and the sweeps. The queue library ends for good at an outage of the database, so it is started again.
 * The jobs and sessions of dead workers are released here (see leases.ts).
 */
import { EventEmitter } from 'node:events';
import { setTimeout as sleep } from 'node:timers/promises';
import { Logger, type LogLevel, type Runner, run, type WorkerEvents } from 'graphile-worker';
import type { Kysely } from 'kysely';
import * as audit from '../audit/tasks.ts';
import * as bookings from '../bookings/tasks.ts';
import * as cells from '../cells/tasks.ts';
import * as changes from '../changes/tasks.ts';
import { contain } from '../containment.ts';
import type { Context } from '../context.ts';
import { connections } from '../db/connections.ts';
import type { Database } from '../db/database.ts';
import type { DB } from '../db/tables.ts';
import * as displays from '../displays/tasks.ts';
import { keepDoing, pause } from '../flow/retry.ts';
import { openShares } from '../flow/shares.ts';
import { openTurns } from '../flow/turns.ts';
import * as holidays from '../holidays/tasks.ts';
import * as identity from '../identity/tasks.ts';
import * as lessons from '../lessons/tasks.ts';
import type { Log } from '../log.ts';
import * as mail from '../mail/tasks.ts';
import * as mailInbox from '../mail-inbox/tasks.ts';
import * as mailSubscriptions from '../mail-subscriptions/tasks.ts';
import * as problems from '../problems/tasks.ts';
import * as webhooks from '../webhooks/tasks.ts';
import { fingerprintOf, holdFingerprint } from './agreement.ts';
import { openAlarm } from './alarm.ts';
import { areHeld, beginStart, endStart, holdRunner, releaseTheDead, unlockAll } from './leases.ts';
import { watchPulse } from './pulse.ts';
import { openQueuePool, sweeps as queueSweeps } from './queue.ts';
import { keepSweeping } from './sweeping.ts';
import type { Figure, Lane, Sweep, SweepContext, Task, TaskContext } from './task.ts';

export type WorkerHandle = {
  /** Whether jobs are being taken, and the database holds the locks of the runners. */
  isTaking(): Promise<boolean>;
  /** Takes no more jobs, and returns running ones to the queue at their next safe point. */
  stop(): Promise<void>;
};

const allTasks: readonly Task[] = [...lessons.tasks, ...mail.tasks, ...mailSubscriptions.tasks, ...webhooks.tasks];
export const allSweeps: readonly Sweep[] = [
  ...queueSweeps,
  ...lessons.sweeps,
  ...bookings.sweeps,
  ...changes.sweeps,
  ...displays.sweeps,
  ...mail.sweeps,
  ...mailSubscriptions.sweeps,
  ...mailInbox.sweeps,
  ...audit.sweeps,
  ...identity.sweeps,
  ...holidays.sweeps,
  ...problems.sweeps,
  ...webhooks.sweeps,
  ...cells.sweeps,
];
/** How many jobs of a lane run at a time in one process. A short or long job uses a connection of `work`. */
const lanes: Record<Lane, number> = { short: 5, long: 3, outside: 8, events: 8 };
/** Milliseconds after which each place looks for jobs by itself; rarely, because the alarm announces them. */
const pollInterval = 120_000;
const [tidyEvery, tidySoon] = [5_000, 500];
/** Milliseconds for tasks to return their jobs, and for sweeps to end. */
const stopTimeout = 5_000;
/** Milliseconds within which the queue library must start, and look for jobs again; otherwise it is restarted. */
const mostIdle = 30_000;

/** The metrics of the installation, by Prometheus name. */
export function openFigures(
  db: Database,
): Record<string, Pick<Figure, 'help' | 'label'> & { ofDatabase: true; read(): ReturnType<Figure['read']> }> {
  const figures = Object.assign({}, ...[...allTasks, ...allSweeps].map(({ figures }) => figures)) as Record<
    string,
    Figure
  >;
  return Object.fromEntries(
    Object.entries(figures).map(([name, { read, ...told }]) => [
      name,
      { ...told, ofDatabase: true, read: () => read(db) },
    ]),
  );
}

/** `isTaking` is set while the queue library runs; the turns outlive its restarts. */
type State = Pick<TaskContext, 'turns' | 'shares'> & { isTaking?: (() => Promise<boolean>) | undefined };

/** @param work connections for work that takes minutes: for tasks, and for the runner's own lock */
export function startWorker(context: Context, work: Database): WorkerHandle {
  const stopping = new AbortController();
  const state: State = { turns: openTurns(lanes.outside), shares: openShares(lanes.events) };
  // Sweeps run beside the queue, and go on when it fails.
  const sweeping = keepSweeping(allSweeps, { ...context, work, signal: stopping.signal });
  const supervised = keepDoing(stopping.signal, () => serve(context, work, stopping.signal, state), {
    onError: (error) => context.log.warn({ err: error.message }, 'the worker stopped; it is restarted'),
    wellAfterMs: 60_000,
  });
  return {
    async isTaking() {
      return (await state.isTaking?.()) === true;
    },
    async stop() {
      stopping.abort();
      await Promise.all([supervised, Promise.race([sweeping, sleep(stopTimeout, undefined, { ref: false })])]);
    },
  };
}

async function serve(context: Context, work: Database, signal: AbortSignal, state: State): Promise<void> {
  // Tasks stop when the process stops, and when this runner ends for another reason.
  const ending = new AbortController();
  const end = () => ending.abort();
  const sweepContext: SweepContext = { ...context, work, signal: AbortSignal.any([signal, ending.signal]) };
  // No job begins before the runner holds its lock.
  const held = Promise.withResolvers<TaskContext>();
  held.promise.catch(() => {});
  await work.connection().execute(async (session) => {
    const events: WorkerEvents = new EventEmitter();
    const pools: string[] = [];
    events.on('pool:create', ({ workerPool }) => pools.push(workerPool.id));
    const isBeating = watchPulse(events);
    const alarm = openAlarm(events, {
      tasks: allTasks.map(({ name }) => name),
      most: Math.max(...Object.values(lanes)),
    });
    // The queue library shuts down by itself when it cannot record the end of a job.
    events.on('pool:gracefulShutdown', end);
    const pgPool = openQueuePool(context.config.DatabaseUrl, {
      max: connections.queue,
      log: context.log,
      refusals: context.refusals,
      statementTimeout: 60_000,
      // The library listens over an idle connection.
      settings: { idle_session_timeout: 0 },
    });
    const runners: Runner[] = [];
    try {
      await beginStart(session);
      for (const [lane, places] of Object.entries(lanes)) {
        const tasks = allTasks.filter((task) => task.lane === lane);
        const starting = run({
          pgPool,
          preset: {
            worker: {
              schema: 'graphile_worker',
              concurrentJobs: places,
              pollInterval,
              // Without these a job's end is not awaited at shutdown, and the job would stay locked for hours.
              completeJobBatchDelay: 0,
              failJobBatchDelay: 0,
              logger: queueLogger(context.log),
              events,
            },
          },
          noHandleSignals: true,
          taskList: Object.fromEntries(
            tasks.map((task) => [task.name, (payload) => contain(async () => task.run(await held.promise, payload))]),
          ),
        });
        const runner = await startInTime(starting);
        runners.push(runner);
        runner.promise.then(end, end);
      }
      for (const pool of pools) await holdRunner(session, pool);
      await endStart(session);
      await holdFingerprint(session, fingerprintOf(context.config, allSweeps));
      held.resolve({ ...sweepContext, runner: pools[0]!, turns: state.turns, shares: state.shares });
      state.isTaking = async () => isBeating() && (await areHeld(context.db, pools));
      await Promise.all([
        alarm.keepWaking(context.db, sweepContext.signal),
        tidyUntilEnd(sweepContext, session, pools, isBeating).finally(end),
      ]);
    } finally {
      state.isTaking = undefined;
      held.reject(new Error('the runner has ended'));
      end();
      // With a time-out: the library miscounts when it could not record the ends of two jobs, and then never stops.
      await Promise.race([Promise.all(runners.map(stopRunner)), sleep(stopTimeout, undefined, { ref: false })]);
      pgPool.end().catch(() => {});
      // The session returns to its pool, where its lock would still show the runner to be alive.
      await unlockAll(session).catch(() => {});
    }
  });
}

/** Waits for the library, which may never finish its start after an outage. A runner that starts too late is stopped. */
async function startInTime(starting: Promise<Runner>): Promise<Runner> {
  let isLate = false;
  starting.then((runner) => (isLate ? stopRunner(runner) : undefined)).catch(() => {});
  const late = sleep(mostIdle, undefined, { ref: false }).then(() => {
    isLate = true;
    throw new Error('the queue library has not started');
  });
  return await Promise.race([starting, late]);
}

async function stopRunner(runner: Runner): Promise<void> {
  // It rejects if the runner has stopped by itself.
  await runner.stop().catch(() => {});
  await runner.promise.catch(() => {});
}

/** Releases the work of dead runners until the runner ends or the process stops. */
async function tidyUntilEnd(
  context: SweepContext,
  session: Kysely<DB>,
  own: string[],
  isBeating: () => boolean,
): Promise<void> {
  for (let beatAt = performance.now(); !context.signal.aborted; ) {
    if (isBeating()) beatAt = performance.now();
    if (performance.now() - beatAt > mostIdle) throw new Error('the queue library no longer looks for jobs');
    const isLeft = await releaseTheDead(session, own, context.log);
    await pause(isLeft ? tidySoon : tidyEvery, context.signal);
  }
}

function queueLogger(log: Log): Logger {
  return new Logger(() => (level: LogLevel, message: string) => {
    const severity = level === 'warning' ? 'warn' : level;
    log[severity === 'info' ? 'debug' : severity]({ queue: true }, message);
  });
}
