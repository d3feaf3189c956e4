/**
 * Writes that PostgreSQL refuses because its disk is full or it is read-only. It still answers reads, so the process
 * stays ready (docs/decisions/0023-ready-on-a-full-disk.md); the log, a counter, /readyz and the doctor tell operators.
 */
import type pg from 'pg';
import { isReadOnly, isUnwritable } from '../flow/database-errors.ts';
import type { Log } from '../log.ts';
import { minute } from '../time/durations.ts';

export type Cause = 'DiskFull' | 'ReadOnly';

/** For operators: each cause, and its remedy. */
export const causes: Record<Cause, { text: string; remedy: string }> = {
  DiskFull: {
    text: 'its disk is full',
    remedy: 'Make room on the disk of PostgreSQL; everything continues by itself.',
  },
  ReadOnly: {
    text: 'it is read-only',
    remedy: 'Name the primary in DatabaseUrl if this is a standby; otherwise look at default_transaction_read_only.',
  },
};

export const causeOf = (error: unknown): Cause => (isReadOnly(error) ? 'ReadOnly' : 'DiskFull');

export type Refusals = {
  /** Watches the server's errors on a connection. */
  hear(client: pg.Client): void;
  /** How many statements were refused. */
  counts: Readonly<Record<Cause, number>>;
  /** Whether one was refused within the last minute. */
  isRecent(): boolean;
};

/** @param ticks milliseconds that only go forward */
export function openRefusals(log: Log, ticks = () => performance.now()): Refusals {
  const counts: Record<Cause, number> = { DiskFull: 0, ReadOnly: 0 };
  let refusedAt = Number.NEGATIVE_INFINITY;
  let toldAt = Number.NEGATIVE_INFINITY;
  function note(error: Error): void {
    const cause = causeOf(error);
    counts[cause] += 1;
    refusedAt = ticks();
    // Each request would be refused.
    if (refusedAt - toldAt < minute) return;
    toldAt = refusedAt;
    const { text, remedy } = causes[cause];
    log.warn({ err: error.message, counts, remedy }, `PostgreSQL refuses writes: ${text}`);
  }
  return {
    counts,
    hear: ({ connection }) => {
      connection.on('errorMessage', (error: Error) => isUnwritable(error) && note(error));
    },
    isRecent: () => ticks() - refusedAt < minute,
  };
}
