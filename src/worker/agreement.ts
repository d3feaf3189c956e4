/**
 * Tells whether living workers have the same settings. Each worker holds a lock whose number is the fingerprint of the
 * settings that its sweeps follow. The lock ends with the worker's connection.
 */
import { hash } from 'node:crypto';
import { sql } from 'kysely';
import type { Config } from '../config.ts';
import { heldLocks } from '../db/advisory-locks.ts';
import type { Database } from '../db/database.ts';
import { lockClasses } from '../flow/locks.ts';
import type { Sweep } from './task.ts';

/** Another release may have other sweeps: those that follow no settings do not count. @returns a PostgreSQL integer */
export function fingerprintOf(config: Config, sweeps: readonly Sweep[]): number {
  const followed = sweeps.flatMap(({ name, follows }) => (follows ? [[name, follows(config)]] : []));
  return hash('sha256', JSON.stringify(followed), 'buffer').readInt32BE();
}

/** @param session a session that lives as long as the worker */
export async function holdFingerprint(session: Database, fingerprint: number): Promise<void> {
  await sql`select pg_advisory_lock_shared(${lockClasses.settings}, ${fingerprint})`.execute(session);
}

/** SQL: whether a living worker has another fingerprint. */
export const isDisputed = (fingerprint: number) =>
  sql<boolean>`exists (select from ${heldLocks(lockClasses.settings)} as followed where number <> ${fingerprint}::integer)`;
