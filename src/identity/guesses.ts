/**
 * The exchange of a PIN for its holder, with a limit on guesses (contract 3). Wrong PINs of a source are counted across all
 * processes; past the limit no PIN is checked. While the database takes no writes, each process counts alone. A revoked or
 * expired PIN does not count as a guess, so that a program that keeps sending it does not lock out its neighbours. A
 * **source** is a client and an IPv4 address or a /64 of IPv6.
 */
import { sql } from 'kysely';
import { LRUCache } from 'lru-cache';
import type { Context } from '../context.ts';
import type { Transaction } from '../db/database.ts';
import { atMost } from '../flow/caches.ts';
import { isUnwritable } from '../flow/database-errors.ts';
import { networkOf } from '../http/networks.ts';
import { minute } from '../time/durations.ts';
import { hashPin, isGuessable, pepperOf, usablePins } from './pins.ts';
import { isNewUse, recordPinUse } from './uses.ts';

export type PinHolder = { mandator: string; personId: number; pinId: number };

const countedMs = 15 * minute;

/** The holder of a valid PIN; or the seconds to wait when the PIN was not checked. */
type Exchanged = { holder?: PinHolder | undefined; throttledFor?: number | undefined };

type GuessSource = { clientId: string; network: string };

/**
 * Requests of a source are handled one after another, so that parallel requests give no more guesses: in this process by a
 * queue, which also keeps them to one connection, and among processes by a lock.
 */
export function openExchange(context: Context) {
  const { db, config, log } = context;
  const turns = new Map<string, Promise<unknown>>();
  /** When the database has not taken a failure, by source: this process counts it for 15 minutes. */
  const unstored = new LRUCache<string, readonly number[]>(atMost(10_000));

  async function inTurn<T>(source: string, work: () => Promise<T>): Promise<T> {
    const turn = turns.get(source)?.then(work, work) ?? work();
    turns.set(source, turn);
    try {
      return await turn;
    } finally {
      if (turns.get(source) === turn) turns.delete(source);
    }
  }

  async function exchange(pin: string, { clientId, network }: GuessSource): Promise<Exchanged> {
    const hash = hashPin(pepperOf(config), pin);
    const source = `${clientId} ${network}`;
    const now = performance.now();
    const missed = (unstored.get(source) ?? []).filter((at) => at > now - countedMs);
    let wrong: { counts: boolean } | undefined;
    const exchanging = db.transaction().execute(async (trx) => {
      await sql`select pg_advisory_xact_lock(hashtextextended(${source}, 0))`.execute(trx);
      const failures = await recentFailures(trx, { clientId, network });
      if (failures.count + missed.length >= config.Limits.WrongPins) {
        const [oldest] = missed;
        const missedWait = oldest === undefined ? Number.POSITIVE_INFINITY : (oldest + countedMs - now) / 1_000;
        return { throttledFor: Math.min(failures.waitSeconds ?? Number.POSITIVE_INFINITY, missedWait) };
      }
      const holder = await findHolder(trx, hash);
      if (holder) return { found: holder };
      wrong = { counts: isGuessable(pin) || !(await isStored(trx, hash)) };
      await recordFailure(trx, { clientId, network }, wrong);
      return {};
    });
    const { found, throttledFor } = await exchanging.catch((error: unknown): Awaited<typeof exchanging> => {
      if (wrong?.counts) unstored.set(source, [...missed, now]);
      if (wrong && isUnwritable(error)) return {};
      throw error;
    });
    if (!found) return { throttledFor };
    if (found.isNew) await recordPinUse(context, { mandatorId: found.mandatorId, pinId: found.holder.pinId });
    return { holder: found.holder };
  }

  /** `clientId` and the normalized `address` are where the PIN comes from. */
  return async (pin: string, clientId: string, address: string): Promise<Exchanged> => {
    const network = networkOf(address);
    const result = await inTurn(`${clientId} ${network}`, () => exchange(pin, { clientId, network }));
    if (!result.holder) log.warn({ clientId, address, throttled: result.throttledFor !== undefined }, 'wrong PIN');
    return result;
  };
}

/** The failures of the last 15 minutes, and the seconds until the oldest no longer counts; null without any. */
async function recentFailures(
  trx: Transaction,
  { clientId, network }: GuessSource,
): Promise<{ count: number; waitSeconds: number | null }> {
  return await trx
    .selectFrom('pin_failure')
    .where('client_id', '=', clientId)
    .where('address', '=', sql<string>`${network}::inet`)
    .where('at', '>', sql<Date>`now() - interval '15 minutes'`)
    .select((select) => select.fn.countAll<number>().as('count'))
    .select(sql<number | null>`extract(epoch from min(at) + interval '15 minutes' - now())::float8`.as('waitSeconds'))
    .executeTakeFirstOrThrow();
}

/** Whether there is such a PIN, usable or not. */
async function isStored(trx: Transaction, hash: Buffer): Promise<boolean> {
  return (await trx.selectFrom('pin').where('hash', '=', hash).select('id').executeTakeFirst()) !== undefined;
}

/** @param failure.counts if not, the failure is dated too far back to count, at the same cost */
async function recordFailure(
  trx: Transaction,
  { clientId, network }: GuessSource,
  { counts }: { counts: boolean },
): Promise<void> {
  const at = sql<Date>`case when ${counts}::boolean then now() else now() - interval '15 minutes' end`;
  await trx.insertInto('pin_failure').values({ client_id: clientId, address: network, at }).execute();
  // Each failure deletes some old ones, so that the table stays small.
  await sql`
    delete from pin_failure where ctid = any (array(
      select ctid from pin_failure where at < now() - interval '15 minutes' order by at limit 100
      for update skip locked))`.execute(trx);
}

/** The holder of a usable PIN; `isNew`: the use is to be recorded. */
async function findHolder(
  trx: Transaction,
  hash: Buffer,
): Promise<{ holder: PinHolder; mandatorId: number; isNew: boolean } | undefined> {
  const found = await usablePins(trx)
    .where('pin.hash', '=', hash)
    .select(['mandator.id as mandatorId', 'mandator.code as mandator'])
    .select(['person.id as personId', 'pin.id as pinId', isNewUse(sql.ref('pin.last_used_at')).as('isNew')])
    .executeTakeFirst();
  if (!found) return undefined;
  const { mandatorId, isNew, ...holder } = found;
  return { holder, mandatorId, isNew };
}
