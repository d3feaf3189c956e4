/**
 * The exchange of a PIN for its holder, where guessing is made hopeless (contract 3): wrong PINs of a source are counted
 * on all processes together, and past the limit even a right one is not looked at. A PIN that was made here and no longer
 * counts is no guess: a program that keeps sending it must not lock out its neighbours. A **source** is a client and an
 * address, of IPv6 the /64.
 */
import net from 'node:net';
import { ipKeyGenerator } from 'express-rate-limit';
import { sql } from 'kysely';
import type { Context } from '../context.ts';
import type { Transaction } from '../db/database.ts';
import { hashPin, isGuessable, pepperOf, usablePins } from './pins.ts';

export type PinHolder = { mandator: string; personId: number; pinId: number };

/** Whose PIN it is; or nobody's, with the seconds to wait where it was not looked at. */
type Exchanged = { holder?: PinHolder | undefined; throttledFor?: number };

type GuessSource = { clientId: string; network: string };

/** An IPv4 caller on a socket for both families is an IPv4 caller. */
export function normalizeAddress(ip = ''): string {
  const [address = ''] = ip.replace(/^::ffff:(?=\d+\.)/i, '').split('%', 1);
  return net.isIP(address) ? address : '0.0.0.0';
}

/**
 * A process's way to exchange PINs. The requests of a source wait for each other, so that many at once are not more
 * guesses: here in turn, so that they hold one connection and not all of them, and in the database with other processes.
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
    const network = ipKeyGenerator(address, 64);
    const result = await inTurn(`${clientId} ${network}`, () => exchange(pin, { clientId, network }));
    if (!result.holder) log.warn({ clientId, address, throttled: result.throttledFor !== undefined }, 'wrong PIN');
    return result;
  };
}

/** Those of the last 15 minutes, and in how many seconds the oldest will no longer count. */
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

/** @param hash of a PIN that nobody guesses: if it is stored, the failure is written for the same work, too old to count */
async function recordFailure(
  trx: Transaction,
  { clientId, network }: GuessSource,
  hash: Buffer | undefined,
): Promise<void> {
  const isStored = sql`exists (select from pin where hash = ${hash ?? null})`;
  const at = sql<Date>`case when ${isStored} then now() - interval '15 minutes' else now() end`;
  await trx.insertInto('pin_failure').values({ client_id: clientId, address: network, at }).execute();
  // Each failure removes more old ones than it adds, and none that another process is removing.
  await sql`
    delete from pin_failure where ctid = any (array(
      select ctid from pin_failure where at < now() - interval '15 minutes' order by at limit 100
      for update skip locked))`.execute(trx);
}

/** Whose usable PIN this is, with the use written down at most once a minute. */
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
