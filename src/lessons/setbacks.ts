/**
 * Failed starts of a batch. The batch waits longer after each one; its row says until when, so a restart changes
 * nothing. A failure of the database or the network is a **setback** and does not count as an attempt. Either way, a
 * batch is given up only after hours.
 */
import { type RawBuilder, sql } from 'kysely';
import type { Database, Transaction } from '../db/database.ts';
import { pauseAfter } from '../db/pauses.ts';
import { codeOf, isCancelled, isOutage } from '../flow/database-errors.ts';
import { type BatchKey, openStatuses, type Running } from './batch.ts';
import { fail } from './lifecycle.ts';
import { Outdated } from './progress.ts';

/** Attempts of one batch: with their pauses, more than two hours. */
export const mostAttempts = 25;
/** Attempts that may end in a statement timeout: the next one would most likely take as long. */
const mostTimeouts = 3;
/** A batch is given up once its setbacks have lasted this long and reached this number. */
const longestTrouble = sql`interval '12 hours'`;
const mostSetbacks = 25;

/** The pause after a failed start that follows `starts` others. */
export const pauseOfStart = (starts: RawBuilder<unknown>) => pauseAfter(starts, '0.5 seconds', '10 minutes');

/** The reason that counts until a start has recorded its outcome. */
export const unheard = 'the process that worked on it ended';

type Trouble = { states: RegExp; words: string; remedy: string };

const inTheWay = {
  states: /^40/,
  words: 'other changes were in its way',
  remedy: "The worker's log says which changes were in its way; see what keeps making them.",
};
/** The reasons of failed starts; the first match counts. */
const troubles: readonly Trouble[] = [
  {
    states: /^53100$/,
    words: 'the disk of the database was full',
    remedy: 'Make room on the disk of PostgreSQL.',
  },
  {
    states: /^53/,
    words: 'the database was short of memory or connections',
    remedy: 'Raise max_connections, or give PostgreSQL more memory: its log says which is short.',
  },
  {
    states: /^58/,
    words: 'the database could not read or write its files',
    remedy: 'See the log of PostgreSQL: its disk or file system fails.',
  },
  {
    states: /^25006$/,
    words: 'the database took no changes',
    remedy: 'Point DatabaseUrl at a PostgreSQL that accepts changes; a standby does not.',
  },
  {
    states: /^55P03$/,
    words: 'others held what it needed for too long',
    remedy: 'Find in pg_stat_activity and pg_locks who holds rows for so long, and end that session.',
  },
  {
    states: /^57014$/,
    words: 'a statement took longer than it may',
    remedy: 'Check that PostgreSQL is not overloaded, or split the batch.',
  },
  inTheWay,
  {
    states: /^(28|3D)/,
    words: 'the database refused the user, the password or its name',
    remedy: 'Correct DatabaseUrl, and restart the workers.',
  },
  {
    states: /^/,
    words: 'the database was out of reach or restarted',
    remedy: 'Check that PostgreSQL runs and can be reached; its log says why it restarted.',
  },
];

/** SQLSTATE crash_shutdown: a statement of this batch may have crashed PostgreSQL. */
const isCrash = (error: unknown) => codeOf(error) === '57P02';

/** Whether the cause is outside of the batch and may be gone at the next start. */
export const isSetback = (error: unknown) =>
  error instanceof Outdated || (isOutage(error) && !isCancelled(error) && !isCrash(error));

function describe(error: unknown): string {
  if (error instanceof Outdated) return inTheWay.words;
  if (!isOutage(error)) return 'an error of the service, which its log names';
  return troubles.find(({ states }) => states.test(codeOf(error)))!.words;
}

export const remedyFor = (trouble?: string): string =>
  troubles.find(({ words }) => words === trouble)?.remedy ?? 'Look for its BatchId in the logs of the workers.';

/** Records why a start failed and when the next one is due, or gives the batch up. */
export async function recordTrouble(db: Database, batch: Running, error: unknown): Promise<void> {
  const setback = isSetback(error) ? 1 : 0;
  await db.transaction().execute(async (trx) => {
    const { rows } = await sql<{ hopeless: boolean }>`
      update batch set attempts = attempts - ${setback}::int, setbacks = setbacks + ${setback}::int,
        trouble = ${describe(error)}, troubled_since = coalesce(troubled_since, now()),
        not_before = now() + ${pauseOfStart(sql`(attempts + setbacks - 1)`)}
      where mandator_id = ${batch.mandatorId} and id = ${batch.id} and fence = ${batch.fence} and import_status = any (${openStatuses}::text[])
      returning attempts >= ${isCancelled(error) ? mostTimeouts : mostAttempts}::int
        or (setbacks >= ${mostSetbacks} and troubled_since < now() - ${longestTrouble}) as hopeless`.execute(trx);
    if (rows[0]?.hopeless) await giveUp(trx, batch);
  });
}

/** Fails the batch with the reason of its last start. */
export async function giveUp(trx: Transaction, batch: BatchKey): Promise<void> {
  const { starts, hours, trouble } = await trx
    .selectFrom('batch')
    .where('mandator_id', '=', batch.mandatorId)
    .where('id', '=', batch.id)
    .select([
      'trouble',
      sql<number>`attempts + setbacks`.as('starts'),
      sql<number>`ceil(extract(epoch from now() - started_at) / 3600)::int`.as('hours'),
    ])
    .executeTakeFirstOrThrow();
  await fail(
    trx,
    batch,
    'Technical',
    `The import was started ${starts} times within ${hours} hour${hours === 1 ? '' : 's'} and came to nothing, the last time because ${trouble}. It was given up; nothing of it was stored. Send it again later, and quote BatchId ${batch.id} when you report it.`,
  );
}
