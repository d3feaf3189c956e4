import { createHash } from 'node:crypto';
import { sql } from 'kysely';
import { Conflict, InvalidInput, StillRunning, stateFault } from '../errors.ts';
import type { Database, Transaction } from './database.ts';
import { rests } from './resting.ts';

const keyUsed =
  'This Idempotency-Key was used for another request before, with another body or other options; use a new key for a new request.';

/** A request's claim to its Idempotency-Key, until the transaction ends. */
export type IdempotencyClaim<Answer> = {
  /** Whether an earlier request with the key was answered: then this one must write nothing. */
  answered: boolean;
  /**
   * Stores the answer unless there is an earlier one. @returns the earlier answer, or undefined when it stored this one
   * @throws InvalidInput when the key came with another request before
   */
  settle(fingerprint: Buffer, answer: Answer): Promise<Answer | undefined>;
};

/**
 * Idempotency-Key (contract 4.2), per person, for 24 hours.
 * @throws StillRunning while another request with the same key is being answered
 */
export async function claimIdempotencyKey<Answer extends object>(
  trx: Transaction,
  viewer: { mandatorId: number; personId: number },
  key: string,
): Promise<IdempotencyClaim<Answer>> {
  const name = `idempotency:${viewer.mandatorId}:${viewer.personId}:${key}`;
  const lock = await sql<{ free: boolean }>`
    select pg_try_advisory_xact_lock(hashtextextended(${name}, 0)) as free`.execute(trx);
  if (!lock.rows[0]?.free) throw new StillRunning();
  const earlier = await trx
    .selectFrom('idempotent_request')
    .select(['fingerprint', 'response'])
    .where('mandator_id', '=', viewer.mandatorId)
    .where('person_id', '=', viewer.personId)
    .where('key', '=', key)
    .where('created_at', '>', sql<Date>`now() - interval '24 hours'`)
    .executeTakeFirst();
  return {
    answered: earlier !== undefined,
    async settle(fingerprint, answer) {
      if (earlier && !earlier.fingerprint.equals(fingerprint)) throw InvalidInput.of(stateFault('KeyUsed', keyUsed));
      if (earlier) return earlier.response as Answer;
      await trx
        .insertInto('idempotent_request')
        .values({
          mandator_id: viewer.mandatorId,
          person_id: viewer.personId,
          key,
          fingerprint,
          response: JSON.stringify(answer),
        })
        .onConflict((conflict) =>
          conflict.columns(['mandator_id', 'person_id', 'key']).doUpdateSet((eb) => ({
            fingerprint: eb.ref('excluded.fingerprint'),
            response: eb.ref('excluded.response'),
            created_at: sql<Date>`now()`,
          })),
        )
        .execute();
      return undefined;
    },
  };
}

/**
 * Idempotency for secrets, which are shown only once because only their hashes are stored.
 * @param request the request, to compare with that of an earlier use of the key
 * @param conflict the message about the id that an earlier request with the key has made
 * @returns a function that stores the id of the new record
 * @throws Conflict for a key that has made one before; InvalidInput for a key that came with another request
 */
export async function claimSecretOnce(
  trx: Transaction,
  viewer: { mandatorId: number; personId: number },
  key: string | undefined,
  request: readonly unknown[],
  conflict: (id: number | undefined) => string,
): Promise<(id: number) => Promise<void>> {
  if (key === undefined) return async () => {};
  const claim = await claimIdempotencyKey<{ id: number }>(trx, viewer, key);
  const fingerprint = createHash('sha256').update(JSON.stringify(request)).digest();
  if (claim.answered) throw Conflict.because('KeyUsed', conflict((await claim.settle(fingerprint, { id: 0 }))?.id));
  return async (id) => void (await claim.settle(fingerprint, { id }));
}

/** Deletes all answers to a person. */
export async function forgetKeysOf(trx: Transaction, mandatorId: number, personId: number): Promise<void> {
  await trx
    .deleteFrom('idempotent_request')
    .where('mandator_id', '=', mandatorId)
    .where('person_id', '=', personId)
    .execute();
}

/** Deletes answers that are older than 24 hours. */
export async function dropExpiredKeys(db: Database): Promise<void> {
  await db
    .deleteFrom('idempotent_request')
    .where('created_at', '<', sql<Date>`now() - interval '24 hours'`)
    .where(sql<boolean>`not ${rests(sql`idempotent_request.mandator_id`)}`)
    .execute();
}
