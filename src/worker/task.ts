import type { z } from 'zod';
import type { Config } from '../config.ts';
import type { Context } from '../context.ts';
import type { Database } from '../db/database.ts';
import type { Turns } from '../flow/turns.ts';

/** What background work is given. */
export type SweepContext = Context & {
  /** Connections without a statement timeout, for work that takes minutes. */
  work: Database;
  /** Aborted when the process is asked to stop: leave at the next safe point by throwing. */
  signal: AbortSignal;
};

/** What a run of a task may use besides its payload. */
export type TaskContext = SweepContext & {
  /** Who runs it, for sessions that are to end with it: see leases. */
  runner: string;
  /** For whoever asks servers outside: of this process, see turns. */
  turns: Turns;
};

/** What operators watch, of the whole installation: a number, or with a label one for each of its values. */
export type Figure = {
  help: string;
  label?: string;
  read(db: Database): Promise<number | Readonly<Record<string, number>>>;
};

/**
 * What a task mostly waits for: seconds or minutes of the database's work, or servers outside. Each lane has places of its
 * own in every worker, so that none fills those of another.
 */
export type Lane = 'short' | 'long' | 'outside';

/**
 * A kind of background work. Jobs may run twice or be lost, so `run` starts from what is in the database, and a sweep
 * queues again whatever is unfinished and has nobody working on it.
 */
export type Task = {
  name: string;
  lane: Lane;
  run(context: TaskContext, payload: unknown): Promise<void>;
  /** What /metrics tells of this work, by Prometheus name. */
  figures?: Record<string, Figure>;
};

/**
 * Work that nobody asks for: it comes round every two seconds in every worker, finds by itself what there is to do, and
 * may meet itself in another process, never in its own.
 */
export type Sweep = {
  name: string;
  /** Milliseconds between two rounds, where two seconds would be too often. */
  every?: number;
  /**
   * The settings that the database is brought in line with, without secrets: it rests while living workers differ in them,
   * or else they would undo each other's work.
   */
  follows?(config: Config): unknown;
  run(context: SweepContext): Promise<void>;
  figures?: Record<string, Figure>;
};

export function defineTask<Payload extends z.ZodType>(definition: {
  name: string;
  lane: Lane;
  payload: Payload;
  run(context: TaskContext, payload: z.output<Payload>): Promise<void>;
  figures?: Record<string, Figure>;
}): Task {
  return {
    ...definition,
    run: (context, payload) => definition.run(context, definition.payload.parse(payload)),
  };
}
