/**
 * Whether a process has the Pepper of its database. With a wrong one no PIN, token, display, calendar feed or callback of a
 * mail server would work, for example after a backup was restored to another installation.
 */
import { createHmac } from 'node:crypto';
import { sql } from 'kysely';
import type { Context } from '../context.ts';
import type { Database } from '../db/database.ts';
import { type Finding, findingsOf } from '../finding.ts';
import { pepperOf } from './pins.ts';
import { deriveKey } from './sealing.ts';
import { isSealedWith } from './tokens.ts';

/** Undecided: nothing that depends on a Pepper is stored. */
type PepperVerdict = 'right' | 'wrong' | 'undecided';

/** Without a check value the newest signing key decides. */
async function judgeByKeys(db: Database, pepper: string): Promise<PepperVerdict> {
  const newest = await db
    .selectFrom('signing_key')
    .select(['kid', 'private_key as sealed'])
    .orderBy('created_at', 'desc')
    .limit(1)
    .executeTakeFirst();
  if (newest === undefined) return 'undecided';
  return isSealedWith(pepper, newest.kid, newest.sealed) ? 'right' : 'wrong';
}

type PepperContext = Pick<Context, 'db' | 'config'>;

const hashOf = (pepper: string) => createHmac('sha256', deriveKey(pepper, 'check')).update('roomgate').digest();

const readHash = async (db: Database): Promise<Buffer | undefined> =>
  (await db.selectFrom('pepper').select('hash').executeTakeFirst())?.hash;

async function judge({ db, config }: PepperContext): Promise<PepperVerdict> {
  const pepper = pepperOf(config);
  const known = await readHash(db);
  if (!known) return await judgeByKeys(db, pepper);
  return known.equals(hashOf(pepper)) ? 'right' : 'wrong';
}

/** Only reads: a health check must not claim a Pepper. */
export async function hasRightPepper(held: PepperContext): Promise<boolean> {
  return (await judge(held)) !== 'wrong';
}

/**
 * As `hasRightPepper`, before secrets are made: the first process stores the check value. Where one is stored, it only reads, so that
 * a process can start while the database takes no writes.
 */
export async function claimPepper(held: PepperContext): Promise<boolean> {
  const { db, config } = held;
  if (!(await hasRightPepper(held))) return false;
  if (!(await readHash(db)))
    await db
      .insertInto('pepper')
      .values({ hash: hashOf(pepperOf(config)) })
      .onConflict((conflict) => conflict.doNothing())
      .execute();
  // Another start may have been first.
  return await hasRightPepper(held);
}

/**
 * Accepts another Pepper from the next start on: the old one is lost, and with it all secrets. Its PINs are revoked, so that no
 * list shows them as live.
 */
export async function forgetPepper({ db }: Pick<PepperContext, 'db'>): Promise<void> {
  await db.transaction().execute(async (trx) => {
    await trx.deleteFrom('pepper').execute();
    await trx.deleteFrom('signing_key').execute();
    await trx.updateTable('pin').set({ revoked_at: sql`now()` }).where('revoked_at', 'is', null).execute();
  });
}

const check = 'Secrets';

const findings: Record<PepperVerdict, Finding> = {
  right: { check, level: 'ok', text: 'the Pepper is the one of this database' },
  undecided: {
    check,
    level: 'ok',
    text: 'this database has no Pepper yet: the next start will set it',
  },
  wrong: {
    check,
    level: 'fault',
    text: 'the Pepper does not match the secrets of this database: no PIN, token, display, calendar feed or callback of a mail server is valid',
    remedy:
      'Set Pepper to that of the installation from which the database comes; if it is lost, see docs/recovery.md#when-the-pepper-is-lost.',
  },
};

/** For doctor. */
export const examinePepper = (context: PepperContext): Promise<Finding[]> =>
  findingsOf(check, async () => findings[await judge(context)]);
