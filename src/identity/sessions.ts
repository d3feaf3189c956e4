/**
 * Sessions of browsers: a **session** begins when a person signs in to the console. Its random id is kept in a cookie that no
 * script can read, and in the database as a keyed hash. It expires when it is idle for too long or too old, and ends at once
 * with its PIN or its person.
 */
import { createHmac, randomBytes } from 'node:crypto';
import { sql } from 'kysely';
import { LRUCache } from 'lru-cache';
import type { Context, Viewer } from '../context.ts';
import type { Database, Transaction } from '../db/database.ts';
import { transactOrGiveUp } from '../db/lock-timeout.ts';
import { rests } from '../db/resting.ts';
import { lockRow, unlessLocked } from '../db/row-lock.ts';
import { NotAuthenticated } from '../errors.ts';
import { atMost } from '../flow/caches.ts';
import { isReferred } from '../flow/database-errors.ts';
import { minute } from '../time/durations.ts';
import { viewerColumns } from './callers.ts';
import { pepperOf, pinsCount } from './pins.ts';
import { deriveKey } from './sealing.ts';
import { recordUse } from './uses.ts';

/** Who signs in: a person, by a PIN or (null) at an outside provider. */
type Owner = { mandatorId: number; personId: number; pinId: number | null };

const ended = () => new NotAuthenticated('The session has ended; sign in to the console again.');

/** The hash of a session's id, as stored. */
export function hashSession(config: Context['config'], id: string): Buffer {
  return createHmac('sha256', deriveKey(pepperOf(config), 'session'))
    .update(id)
    .digest();
}

/**
 * Begins a session and returns its id. Beyond `Sessions.PerPerson` the oldest of the person end.
 * @param address by which an outside provider named the person
 * @throws NotAuthenticated if the person has another address meanwhile, or the PIN is gone
 */
export async function beginSession(
  { db, config }: Context,
  { mandatorId, personId, pinId }: Owner,
  address?: string,
): Promise<string> {
  const id = randomBytes(32).toString('base64url');
  const { PerPerson, LongestHours } = config.Sessions;
  await transactOrGiveUp(db, 'The person', async (trx) => {
    // Sign-ins of a person take turns, so that the limit holds.
    await lockRow(trx, 'person', mandatorId, personId);
    if (address !== undefined) await insistOnAddress(trx, { mandatorId, personId }, address);
    await sql`
      delete from session where mandator_id = ${mandatorId} and id in (
        select id from session where mandator_id = ${mandatorId} and person_id = ${personId}
        order by id desc offset ${PerPerson - 1})`.execute(trx);
    await trx
      .insertInto('session')
      .values({
        mandator_id: mandatorId,
        person_id: personId,
        pin_id: pinId,
        hash: hashSession(config, id),
        expires_at: sql<Date>`now() + make_interval(hours => ${LongestHours})`,
      })
      .execute()
      .catch((error: unknown) => {
        // The PIN was deleted while the lock was waited for.
        throw isReferred(error) ? ended() : error;
      });
  });
  return id;
}

/** A change of an address ends the sessions that exist, not those that begin after it. */
async function insistOnAddress(
  trx: Transaction,
  { mandatorId, personId }: Pick<Owner, 'mandatorId' | 'personId'>,
  address: string,
): Promise<void> {
  const found = await trx
    .selectFrom('person')
    .where('mandator_id', '=', mandatorId)
    .where('id', '=', personId)
    .where(sql`lower(email)`, '=', sql`lower(${address})`)
    .select('id')
    .executeTakeFirst();
  if (!found) throw new NotAuthenticated('The person has another address now.');
}

/** Ends a session; repeating it is no error. */
export async function deleteSession(db: Database, hash: Buffer): Promise<void> {
  await db.deleteFrom('session').where('hash', '=', hash).execute();
}

/** Ends all sessions of a person. @returns their hashes */
export async function deleteSessionsOf(
  db: Database,
  { mandatorId, personId }: Pick<Owner, 'mandatorId' | 'personId'>,
): Promise<Buffer[]> {
  const rows = await db
    .deleteFrom('session')
    .where('mandator_id', '=', mandatorId)
    .where('person_id', '=', personId)
    .returning('hash')
    .execute();
  return rows.map(({ hash }) => hash);
}

const idleEnd = (config: Context['config']) =>
  sql<Date>`session.used_at + make_interval(mins => ${config.Sessions.IdleMinutes})`;

/** The viewer of a valid session. @throws NotAuthenticated */
export async function readSession({ db, config }: Context, hash: Buffer): Promise<Viewer> {
  const ends = sql<Date>`least(session.expires_at, pin.expires_at, ${idleEnd(config)})`;
  const row = await db
    .selectFrom('session')
    .innerJoin('mandator', 'mandator.id', 'session.mandator_id')
    .innerJoin('person', (join) =>
      join.onRef('person.mandator_id', '=', 'session.mandator_id').onRef('person.id', '=', 'session.person_id'),
    )
    .leftJoin('pin', (join) =>
      join.onRef('pin.mandator_id', '=', 'session.mandator_id').onRef('pin.id', '=', 'session.pin_id'),
    )
    .where('session.hash', '=', hash)
    .where(ends, '>', sql<Date>`now()`)
    .where('person.active', '=', true)
    .where(sql<boolean>`(pin.id is null or pin.revoked_at is null and ${pinsCount})`)
    .select([...viewerColumns, 'session.id as sessionId', 'session.pin_id as pinId', ends.as('expiresAt')])
    .$narrowType<Pick<Viewer, 'role'>>()
    .executeTakeFirst();
  if (!row) throw ended();
  return { ...row, display: null, credential: `session:${row.sessionId}` };
}

/** Opens the record of uses: that a session has been used, at most once a minute, and several times before it would end. */
export function openUses(context: Context): (viewer: Viewer) => Promise<void> {
  const { db, config } = context;
  const everyMs = Math.min(1, config.Sessions.IdleMinutes / 4) * minute;
  const noted = new LRUCache<number, true>({ ...atMost(10_000), ttl: everyMs });
  return async ({ mandatorId, sessionId }) => {
    if (sessionId === undefined || noted.has(sessionId)) return;
    noted.set(sessionId, true);
    await recordUse(
      context,
      db
        .updateTable('session')
        .set({ used_at: sql`now()` })
        .where('mandator_id', '=', mandatorId)
        .where('id', '=', unlessLocked('session', mandatorId, sessionId))
        .where('used_at', '<', sql<Date>`now() - make_interval(secs => ${everyMs / 2_000})`)
        .where(idleEnd(config), '>', sql<Date>`now()`)
        .execute(),
    );
  };
}

/** A session as the console shows it: the name of its tenant, and when it ends, even if it is in use. */
export type SessionTerms = { tenantName: string; endsAt: Date };

/** @throws NotAuthenticated once the session has ended */
export async function readTerms(db: Database, { mandatorId, sessionId = 0 }: Viewer): Promise<SessionTerms> {
  const row = await db
    .selectFrom('session')
    .innerJoin('mandator', 'mandator.id', 'session.mandator_id')
    .where('session.mandator_id', '=', mandatorId)
    .where('session.id', '=', sessionId)
    .select(['mandator.name as tenantName', 'session.expires_at as endsAt'])
    .executeTakeFirst();
  if (!row) throw ended();
  return row;
}

/** Deletes expired sessions. */
export async function sweepSessions(db: Database, config: Context['config']): Promise<void> {
  await db
    .deleteFrom('session')
    .where((where) =>
      where.or([where('expires_at', '<', sql<Date>`now()`), where(idleEnd(config), '<', sql<Date>`now()`)]),
    )
    .where(sql<boolean>`not ${rests(sql`session.mandator_id`)}`)
    .execute();
}
