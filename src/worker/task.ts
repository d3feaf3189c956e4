import type { RawBuilder } from 'kysely';
import { z } from 'zod';
import type { Config } from '../config.ts';
import type { Context } from '../context.ts';
import type { Database } from '../db/database.ts';
import { isResting } from '../db/resting.ts';
import type { Shares } from '../flow/shares.ts';
import type { Turns } from '../flow/turns.ts';
import { inTrace } from '../tracing.ts';

/** What sweeps and tasks may use. */
export type SweepContext = Context & {
  /** Connections without a statement timeout, for work that takes minutes. */
  work: Database;
  /** Aborts when the process must stop. The work then throws at its next safe point. */
  signal: AbortSignal;
};

export type TaskContext = SweepContext & {
  /** The name of the runner, for sessions that must end with it (see leases.ts). */
  runner: string;
  /** The turns of this process at mail servers (see flow/turns.ts). */
  turns: Turns;
  /** The turns of this process at receivers of events (see flow/shares.ts). */
  shares: Shares;
};

/** A metric of the whole installation: a number or, with a label, a number for each value of the label. */
export type Figure = {
  help: string;
  label?: string;
  read(db: Database): Promise<number | Readonly<Record<string, number>>>;
};

/**
 * What a task mostly waits for: the database for seconds (short) or minutes (long), mail servers (outside), or receivers of
 * events (events). Each lane has places of its own in every worker, so that none takes those of another.
 */
export type Lane = 'short' | 'long' | 'outside' | 'events';

/**
 * A kind of background work. Jobs may run twice or be lost, so `run` starts from the state in the database, and a sweep
 * queues unfinished work again that no job is working on.
 */
export type Task = {
  name: string;
  lane: Lane;
  run(context: TaskContext, payload: unknown): Promise<void>;
  /** Metrics of this work, by Prometheus name. */
  figures?: Record<string, Figure>;
};

/**
 * Periodic work, by default every two seconds in every worker. A sweep finds its work in the database. It may run in several
 * processes at once, but only once in each.
 */
export type Sweep = {
  name: string;
  /** Milliseconds between two rounds; 2,000 if absent. */
  every?: number;
  /** Only one of all workers runs it in each interval, without a condition: for deleting old rows. */
  isAlone?: true;
  /** Also asked as soon as the database notifies of a change: the condition must be cheap, and true for only one worker. */
  isPrompt?: true;
  /** SQL: whether there may be work. All sweeps are asked in one statement; one without a condition runs in each round. */
  isDue?(context: SweepContext): RawBuilder<unknown>;
  /**
   * The settings, without secrets, that the sweep applies to the database. It pauses while living workers differ in them,
   * because they would undo each other's work.
   */
  follows?(config: Config): unknown;
  run(context: SweepContext): Promise<void>;
  figures?: Record<string, Figure>;
};

/** The trace of the request that queued the job; of the last one if several requests queued the same job. */
const traceparentIn = (payload: unknown) => (payload as { traceparent?: string } | null)?.traceparent;

/** A job of a tenant that is being moved does nothing; the sweeps queue it again where the tenant is served. */
export function defineTask<Payload extends z.core.$ZodType>(definition: {
  name: string;
  lane: Lane;
  payload: Payload;
  run(context: TaskContext, payload: z.output<Payload>): Promise<void>;
  figures?: Record<string, Figure>;
}): Task {
  return {
    ...definition,
    async run(context, payload) {
      const parsed = z.parse(definition.payload, payload);
      const { mandatorId } = parsed as { mandatorId?: number };
      if (mandatorId !== undefined && (await isResting(context.work, mandatorId))) return;
      const how = { kind: 'CONSUMER', parent: traceparentIn(payload) } as const;
      await inTrace(context.traces, definition.name, how, () => definition.run(context, parsed));
    },
  };
}
