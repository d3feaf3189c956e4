/**
 * Operations on whole tenants, for operators: export to a file and import, moves between installations, and removal. A **cell** is
 * one of several installations that exchange tenants; each has its own range of ids (setting Cell). A tenant **rests** while it is
 * moved: it is **frozen** where it leaves (readable, not writable), **coming** where its copy arrives, and **away** once it is
 * served elsewhere.
 *
 * Invariants: a tenant is never written in two cells. A freeze expires, so if the command dies, writes do not stop for longer.
 */

import type { Config } from '../config.ts';
import type { Database } from '../db/database.ts';
import { openDatabase } from '../db/database.ts';
import { findPrimary, insistOnDirect } from '../db/direct.ts';
import { Conflict } from '../errors.ts';
import type { Log } from '../log.ts';
import { readArchive, writeArchive } from './archive.ts';
import { examineRests } from './diagnosis.ts';
import { forgetEndedFreezes, liftGuards, unguarded } from './guards.ts';
import { moveTenant, type TenantMove, undoMove } from './move.ts';
import { dropCopy, removeAway } from './removal.ts';
import { unpublish, unsubscribe } from './replication.ts';
import { alone, findRest, freeze, getTenant, sendAway, takeBack, thaw } from './resting.ts';

export { examineRests, forgetEndedFreezes, readArchive, writeArchive };

const deleteSeconds = 30;

/** Refuses all writes for the tenant for some seconds. @throws NotFound, Conflict */
export async function freezeTenant(db: Database, code: string, seconds: number): Promise<void> {
  const tenant = await getTenant(db, code);
  await alone(db, tenant, () => freeze(db, tenant, seconds));
}

/**
 * Ends a freeze.
 * @param options.isLost the installation that the tenant has left for, or come from, no longer exists: it is served here
 * @throws NotFound, Conflict
 */
export async function thawTenant(db: Database, code: string, { isLost = false } = {}): Promise<void> {
  const tenant = await getTenant(db, code);
  await alone(db, tenant, async () => {
    const rest = await findRest(db, code);
    // Wherever it was moving: nobody reads what PostgreSQL keeps for the copy.
    if (isLost && !rest) {
      await unsubscribe(db, tenant.id);
      await unpublish(db, tenant.id);
    }
    if (!(isLost && rest?.state === 'Away' && rest.destination !== null)) return await thaw(db, code);
    await unpublish(db, tenant.id);
    await takeBack(db, tenant);
  });
}

/** Removes all rows of a tenant, or the copy of one that is coming. @throws NotFound, Conflict */
export async function deleteTenant(db: Database, code: string): Promise<{ rows: number }> {
  const known = await findRest(db, code);
  const tenant = known ? { id: known.mandatorId, code } : await getTenant(db, code);
  return await alone(db, tenant, async () => {
    const rest = await findRest(db, code);
    if (rest?.state === 'Coming') return { rows: await dropCopy(db, tenant) };
    if (rest?.state !== 'Away') {
      // Refused before the tenant rests, where the role may not do what follows.
      await db.transaction().execute(unguarded);
      const until = await freeze(db, tenant, deleteSeconds);
      if (!(await sendAway(db, tenant, { until, destination: null })))
        throw new Conflict(`The tenant ${code} is still being written; try again.`);
    } else if (rest.destination !== null)
      throw new Conflict(
        `The tenant ${code} has left for another installation: first finish that move, or abandon it with "roomgate tenant move --undo".`,
      );
    // What an interrupted move may have left, in either direction.
    await unsubscribe(db, tenant.id);
    await unpublish(db, tenant.id);
    const rows = await removeAway(db, tenant.id);
    await liftGuards(db);
    return { rows };
  });
}

type Between = Omit<TenantMove, 'from' | 'to'> & { fromDatabase: string; toDatabase: string; log: Log };

/**
 * Opens a database for a command: one connection holds the tenant's lock, another that of the guards. There is no statement
 * time-out, as comparing a large tenant takes longer than a request may. Commits are synchronous: the other side acts on them.
 */
function open(url: string, log: Log): Database {
  // For synchronous_commit, 1 is `on`.
  const settings = { idle_in_transaction_session_timeout: 0, synchronous_commit: 1 };
  return openDatabase(url, { max: 4, log, statementTimeout: 0, settings });
}

/**
 * Works over direct connections: through a pooler, no session would keep the tenant's lock or release it.
 * @throws ConfigError when DatabaseUrl leads through one
 */
export async function directly<T>(
  { config, log }: { config: Pick<Config, 'DatabaseUrl'>; log: Log },
  work: (db: Database) => Promise<T>,
): Promise<T> {
  await insistOnDirect(config.DatabaseUrl);
  const db = open(config.DatabaseUrl, log);
  try {
    return await work(db);
  } finally {
    await db.destroy();
  }
}

async function between<T>(
  { fromDatabase, toDatabase, log }: Between,
  work: (ends: Pick<TenantMove, 'from' | 'to'>) => Promise<T>,
) {
  await insistOnDirect(fromDatabase);
  await findPrimary(toDatabase);
  const [from, to] = [open(fromDatabase, log), open(toDatabase, log)];
  try {
    return await work({ from, to });
  } finally {
    await Promise.all([from.destroy(), to.destroy()]);
  }
}

/** As `moveTenant`, between two addresses. */
export const moveBetween = (move: Between) => between(move, (ends) => moveTenant({ ...move, ...ends }));
/** As `undoMove`, between two addresses. */
export const undoBetween = (move: Between) => between(move, (ends) => undoMove({ ...move, ...ends }));
