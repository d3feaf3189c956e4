/**
 * Runs the queue's jobs, and comes back by itself: after an outage of the database the queue library ends for good, so
 * it is started anew. What the dead have left is released here: see leases.
 */
import { EventEmitter } from 'node:events';
import { setTimeout as sleep } from 'node:timers/promises';
import { Logger, type LogLevel, type Runner, run, type WorkerEvents } from 'graphile-worker';
import { type Kysely, sql } from 'kysely';
import * as bookings from '../bookings/tasks.ts';
import * as changes from '../changes/tasks.ts';
import { contain } from '../containment.ts';
import type { Context } from '../context.ts';
import type { Database } from '../db/database.ts';
import type { DB } from '../db/tables.ts';
import * as displays from '../displays/tasks.ts';
import { isOutage } from '../flow/database-errors.ts';
import { keepDoing, pause } from '../flow/retry.ts';
import { openTurns, type Turns } from '../flow/turns.ts';
import * as lessons from '../lessons/tasks.ts';
import type { Log } from '../log.ts';
import * as mail from '../mail/tasks.ts';
import * as mailInbox from '../mail-inbox/tasks.ts';
import * as mailSubscriptions from '../mail-subscriptions/tasks.ts';
import { fingerprintOf, holdFingerprint, isDisputed } from './agreement.ts';
import { areHeld, holdRunner, mostCounted, releaseTheDead, unlockAll } from './leases.ts';
import { watchPulse } from './pulse.ts';
import { openQueuePool, queueFigures } from './queue.ts';
import type { Figure, Lane, Sweep, SweepContext, Task, TaskContext } from './task.ts';

export type WorkerHandle = {
  /** Whether jobs are being taken right now, as the database sees it too. */
  isTaking(): Promise<boolean>;
  /** Gives back what is running at its next safe point, and takes no more. */
  stop(): Promise<void>;
};

const allTasks: readonly Task[] = [...lessons.tasks, ...mail.tasks, ...mailSubscriptions.tasks];
const allSweeps: readonly Sweep[] = [
  ...lessons.sweeps,
  ...bookings.sweeps,
  ...changes.sweeps,
  ...displays.sweeps,
  ...mail.sweeps,
  ...mailSubscriptions.sweeps,
  ...mailInbox.sweeps,
];
/**
 * Jobs of a lane at a time in one process, and milliseconds after which it looks for one that nobody has announced. What is
 * short or long takes a connection of `work` for itself.
 */
const lanes: Record<Lane, { places: number; pollInterval: number }> = {
  short: { places: 5, pollInterval: 1_000 },
  long: { places: 3, pollInterval: 1_000 },
  // A reading that a notification asks for is queued 300 ms ahead: it waits no longer than this for its turn.
  outside: { places: 8, pollInterval: 250 },
};
/** For the queue's own statements; besides, each lane listens on one. */
const queueConnections = 5;
const sweepEvery = 2_000;
const tidyEvery = 5_000;
const disagreement =
  'another worker has other settings of mail servers: neither follows them until one of the two is stopped';
/** Time for the tasks to give back what they are doing, and for the sweeps to end. */
const stopTimeout = 5_000;
/** Time in which the queue library has to have started, or to look for jobs again; past it a runner ends and another begins. */
const mostIdle = 30_000;

/** What /metrics tells besides the process itself, by Prometheus name. */
export function openFigures(
  db: Database,
): Record<string, Pick<Figure, 'help' | 'label'> & { read(): ReturnType<Figure['read']> }> {
  const figures = Object.assign(
    {},
    queueFigures,
    ...[...allTasks, ...allSweeps].map(({ figures }) => figures),
  ) as Record<string, Figure>;
  return Object.fromEntries(
    Object.entries(figures).map(([name, { read, ...told }]) => [name, { ...told, read: () => read(db) }]),
  );
}

/** `isTaking` is there while a runner is at work; `turns` are of the process, as runners come and go. */
type State = { isTaking?: (() => Promise<boolean>) | undefined; turns: Turns };

/** @param work connections for what takes minutes: for the tasks, and for this runner's own lock */
export function startWorker(context: Context, work: Database): WorkerHandle {
  const stopping = new AbortController();
  const state: State = { turns: openTurns(lanes.outside.places) };
  // Beside the queue, whose outages they outlive.
  const sweeping = allSweeps.map((sweep) => repeat(sweep, { ...context, work, signal: stopping.signal }));
  const supervised = keepDoing(stopping.signal, () => serve(context, work, stopping.signal, state), {
    onError: (error) => context.log.warn({ err: error.message }, 'worker stopped; it starts again'),
    wellAfterMs: 60_000,
  });
  return {
    async isTaking() {
      return (await state.isTaking?.()) === true;
    },
    async stop() {
      stopping.abort();
      await Promise.all([
        supervised,
        Promise.race([Promise.all(sweeping), sleep(stopTimeout, undefined, { ref: false })]),
      ]);
    },
  };
}

async function serve(context: Context, work: Database, signal: AbortSignal, state: State): Promise<void> {
  // Tasks stop when the process stops, and when this runner ends for another reason.
  const ending = new AbortController();
  const end = () => ending.abort();
  const sweepContext: SweepContext = { ...context, work, signal: AbortSignal.any([signal, ending.signal]) };
  // No job begins before others can see that its runner lives.
  const held = Promise.withResolvers<TaskContext>();
  held.promise.catch(() => {});
  await work.connection().execute(async (session) => {
    const events: WorkerEvents = new EventEmitter();
    const pools: string[] = [];
    events.on('pool:create', ({ workerPool }) => pools.push(workerPool.id));
    const isBeating = watchPulse(events);
    // The queue library gives up by itself when it cannot write down the end of a job.
    events.on('pool:gracefulShutdown', end);
    const pgPool = openQueuePool(context.config.DatabaseUrl, {
      max: queueConnections + Object.keys(lanes).length,
      log: context.log,
      statementTimeout: 60_000,
      // The library listens over one of them.
      settings: { idle_session_timeout: 0 },
    });
    const runners: Runner[] = [];
    try {
      for (const [lane, { places, pollInterval }] of Object.entries(lanes)) {
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
      await holdFingerprint(session, fingerprintOf(context.config, allSweeps));
      held.resolve({ ...sweepContext, runner: pools[0]!, turns: state.turns });
      state.isTaking = async () => isBeating() && (await areHeld(context.db, pools));
      await tidyUntilEnd(sweepContext, session, pools, isBeating);
    } finally {
      state.isTaking = undefined;
      held.reject(new Error('the runner has ended'));
      end();
      // The library miscounts when the ends of two jobs could not be written, and would then stop for ever.
      await Promise.race([Promise.all(runners.map(stopRunner)), sleep(stopTimeout, undefined, { ref: false })]);
      pgPool.end().catch(() => {});
      // The session goes back to its pool, and would go on vouching for a runner that has ended.
      await unlockAll(session).catch(() => {});
    }
  });
}

/** Of an outage in the middle of its start the library may never speak again. One that starts too late is stopped. */
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
  // It may have stopped by itself.
  await runner.stop().catch(() => {});
  await runner.promise.catch(() => {});
}

/** Runs a sweep again and again until the process stops; what it fails at it finds again the next time. */
async function repeat(sweep: Sweep, context: SweepContext): Promise<void> {
  const { name, every = sweepEvery, follows } = sweep;
  const fingerprint = fingerprintOf(context.config, allSweeps);
  let rests = false;
  while (!context.signal.aborted) {
    try {
      const rested = rests;
      rests = follows !== undefined && (await isDisputed(context.work, fingerprint));
      if (rests && !rested) context.log.error({ sweep: name }, disagreement);
      if (!rests) await contain(() => sweep.run(context));
    } catch (error) {
      const level = isOutage(error) ? 'warn' : 'error';
      context.log[level]({ sweep: name, err: (error as Error).stack }, 'sweep failed');
    }
    await pause(every, context.signal);
  }
}

/** Looks after the queue's dead and forgotten until the runner ends or the process stops. */
async function tidyUntilEnd(
  context: SweepContext,
  session: Kysely<DB>,
  own: string[],
  isBeating: () => boolean,
): Promise<void> {
  for (let beatAt = performance.now(); !context.signal.aborted; ) {
    if (isBeating()) beatAt = performance.now();
    if (performance.now() - beatAt > mostIdle) throw new Error('the queue library looks for no jobs any more');
    await releaseTheDead(session, own, context.log);
    await removeReplacedJobs(session);
    await forgetAttempts(session);
    await pause(tidyEvery, context.signal);
  }
}

/** A job gives up its key when it is queued again while it is locked; unless it then ends well, it would stay for ever. */
async function removeReplacedJobs(session: Kysely<DB>): Promise<void> {
  await sql`
    select graphile_worker.complete_jobs(array(
      select id from graphile_worker._private_jobs where key is null and locked_at is null))`.execute(session);
}

/** What has to be done has to be done: no job is given up, and none waits longer for its next turn than seven minutes. */
async function forgetAttempts(session: Kysely<DB>): Promise<void> {
  await sql`
    update graphile_worker._private_jobs set attempts = ${mostCounted}
    where attempts > ${mostCounted} and key is not null and locked_at is null`.execute(session);
}

function queueLogger(log: Log): Logger {
  return new Logger(() => (level: LogLevel, message: string) => {
    const severity = level === 'warning' ? 'warn' : level;
    log[severity === 'info' ? 'debug' : severity]({ queue: true }, message);
  });
}
