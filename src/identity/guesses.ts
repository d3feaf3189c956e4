/**
 * The exchange of a PIN for its holder, with a limit on guesses (contract 3). Wrong PINs of a source are counted across all
 * processes; past the limit no PIN is checked. A revoked or expired PIN does not count as a guess, so that a program that
 * keeps sending it does not lock out its neighbours. A **source** is a client and an IPv4 address or a /64 of IPv6.
 */
import { sql } from 'kysely';
import type { Context } from '../context.ts';
import type { Transaction } from '../db/database.ts';
import { networkOf } from '../http/networks.ts';
import { hashPin, isGuessable, pepperOf, usablePins } from './pins.ts';

export type PinHolder = { mandator: string; personId: number; pinId: number };

/** The holder of a valid PIN; or the seconds to wait when the PIN was not checked. */
type Exchanged = { holder?: PinHolder | undefined; throttledFor?: number };

type GuessSource = { clientId: string; network: string };

/**
 * Requests of a source are handled one after another, so that parallel requests give no more guesses: in this process by a
 * queue, which also keeps them to one connection, and among processes by a lock.
 */
export function openExchange({ db, config, log }: Context) {
  const turns = new Map<string, Promise<unknown>>();

  async function inTurn<T>(source: string, work: () => Promise<T>): Promise<T> {
    const turn = turns.get(source)?.then(work, work) ?? work();
    turns.set(source, turn);
    try {
      return await turn;
    } finally {
      if (turns.get(source) === turn) turns.delete(source);
    }
  }

  function exchange(pin: string, { clientId, network }: GuessSource): Promise<Exchanged> {
    const hash = hashPin(pepperOf(config), pin);
    const source = `${clientId} ${network}`;
    return db.transaction().execute(async (trx) => {
      await sql`select pg_advisory_xact_lock(hashtextextended(${source}, 0))`.execute(trx);
      const { wrong, waitSeconds } = await recentFailures(trx, { clientId, network });
      if (wrong >= config.Limits.WrongPins) return { throttledFor: waitSeconds };
      const holder = await useOf(trx, hash);
      if (!holder) await recordFailure(trx, { clientId, network }, isGuessable(pin) ? undefined : hash);
      return { holder };
    });
  }

  /** `clientId` and the normalized `address` are where the PIN comes from. */
  return async (pin: string, clientId: string, address: string): Promise<Exchanged> => {
    const network = networkOf(address);
    const result = await inTurn(`${clientId} ${network}`, () => exchange(pin, { clientId, network }));
    if (!result.holder) log.warn({ clientId, address, throttled: result.throttledFor !== undefined }, 'wrong PIN');
    return result;
  };
}

/** The failures of the last 15 minutes, and the seconds until the oldest no longer counts. */
async function recentFailures(
  trx: Transaction,
  { clientId, network }: GuessSource,
): Promise<{ wrong: number; waitSeconds: number }> {
  return await trx
    .selectFrom('pin_failure')
    .where('client_id', '=', clientId)
    .where('address', '=', sql<string>`${network}::inet`)
    .where('at', '>', sql<Date>`now() - interval '15 minutes'`)
    .select((select) => select.fn.countAll<number>().as('wrong'))
    .select(
      sql<number>`coalesce(extract(epoch from min(at) + interval '15 minutes' - now()), 0)::float8`.as('waitSeconds'),
    )
    .executeTakeFirstOrThrow();
}

/** @param hash of a PIN too long to guess: if such a PIN is stored, the failure is dated too far back to count, at the same cost */
async function recordFailure(
  trx: Transaction,
  { clientId, network }: GuessSource,
  hash: Buffer | undefined,
): Promise<void> {
  const isStored = sql`exists (select from pin where hash = ${hash ?? null})`;
  const at = sql<Date>`case when ${isStored} then now() - interval '15 minutes' else now() end`;
  await trx.insertInto('pin_failure').values({ client_id: clientId, address: network, at }).execute();
  // Each failure deletes some old ones, so that the table stays small.
  await sql`
    delete from pin_failure where ctid = any (array(
      select ctid from pin_failure where at < now() - interval '15 minutes' order by at limit 100
      for update skip locked))`.execute(trx);
}

/** The holder of a usable PIN; the use is recorded at most once a minute. */
async function useOf(trx: Transaction, hash: Buffer): Promise<PinHolder | undefined> {
  const found = await usablePins(trx)
    .where('pin.hash', '=', hash)
    .select(['mandator.id as mandatorId', 'mandator.code as mandator'])
    .select(['person.id as personId', 'pin.id as pinId'])
    .executeTakeFirst();
  if (!found) return undefined;
  const { mandatorId, ...holder } = found;
  await trx
    .updateTable('pin')
    .set({ last_used_at: sql`now()` })
    .where('mandator_id', '=', mandatorId)
    .where('id', '=', holder.pinId)
    .where(sql<boolean>`last_used_at is null or last_used_at < now() - interval '1 minute'`)
    .execute();
  return holder;
}
