/** PINs, the API keys of persons (specification 5.1): made, stored and revoked here, and which of them are valid. */
import { createHmac } from 'node:crypto';
import { sql } from 'kysely';
import type { Config } from '../config.ts';
import type { Database, Transaction } from '../db/database.ts';
import { readById } from '../db/read-by-id.ts';
import { Conflict, InvalidInput, NotFound } from '../errors.ts';
import { isDuplicate, isReferred } from '../flow/database-errors.ts';
import { deriveKey } from './sealing.ts';
import { makeTyped, normalizeTyped } from './typed.ts';

export type Pin = {
  pinId: number;
  personId: number;
  label: string | null;
  createdAt: Date;
  expiresAt: Date | null;
  revokedAt: Date | null;
  lastUsedAt: Date | null;
};

const madeLength = 20;
const leastFixedPin = 8;

export function pepperOf(config: Config): string {
  if (!config.Pepper) throw new Error('Pepper: is missing; set it to a secret of at least 32 characters');
  return config.Pepper;
}

/** 100 bits, in groups of five characters. */
const makePin = (): string => makeTyped(madeLength).replace(/.{5}(?=.)/g, '$&-');

/** Whether a PIN is shorter than generated ones, and so could be a guess. */
export function isGuessable(pin: string): boolean {
  return normalizeTyped(pin).length < madeLength;
}

/** The hash of a PIN: nothing else of it is stored. */
export function hashPin(pepper: string, pin: string): Buffer {
  return createHmac('sha256', deriveKey(pepper, 'PIN')).update(normalizeTyped(pin)).digest();
}

/**
 * Makes a PIN for a person and returns it; it cannot be read again.
 * @param options.pin fixes it, for the demo tenant: at least 8 characters besides spaces and dashes
 * @throws InvalidInput (fixed PIN too short), Conflict (fixed PIN in use), NotFound (no such person in the tenant)
 */
export async function createPin(
  db: Database,
  pepper: string,
  options: {
    mandatorId: number;
    personId: number;
    label?: string | undefined;
    expiresAt?: Date | undefined;
    pin?: string | undefined;
  },
): Promise<{ pin: string; pinId: number; personId: number }> {
  const { mandatorId, personId, label = null, expiresAt = null, pin = makePin() } = options;
  if (normalizeTyped(pin).length < leastFixedPin)
    throw new InvalidInput(`A fixed PIN must have at least ${leastFixedPin} characters besides spaces and dashes.`);
  const row = await db
    .insertInto('pin')
    .values({
      mandator_id: mandatorId,
      person_id: personId,
      hash: hashPin(pepper, pin),
      label,
      expires_at: expiresAt,
    })
    .returning('id')
    .executeTakeFirstOrThrow()
    .catch((error: unknown) => {
      if (isReferred(error)) throw new NotFound(`There is no person ${personId} in this tenant.`);
      if (isDuplicate(error)) throw new Conflict('This PIN is already in use; choose another one.');
      throw error;
    });
  return { pin, pinId: row.id, personId };
}

/** All PINs of a tenant or of one person, including revoked ones, oldest first. */
export async function listPins(db: Database, mandatorId: number, personId?: number): Promise<Pin[]> {
  return await selectPins(db, mandatorId)
    .$if(personId !== undefined, (query) => query.where('person_id', '=', personId as number))
    .orderBy('id')
    .execute();
}

const columns = [
  'id as pinId',
  'person_id as personId',
  'label',
  'created_at as createdAt',
  'expires_at as expiresAt',
  'revoked_at as revokedAt',
  'last_used_at as lastUsedAt',
] as const;

export const selectPins = (db: Database, mandatorId: number) =>
  db.selectFrom('pin').where('mandator_id', '=', mandatorId).select(columns);

export const pinById = readById<Pin>('PIN by id', (from) => from('pin').select(columns));

/**
 * Ends a PIN, its tokens and its streams, on every process; repeating it is no error.
 * @param personId the PIN must be this person's, where given
 * @throws NotFound
 */
export async function revokePin(db: Database, mandatorId: number, pinId: number, personId?: number): Promise<void> {
  const { numUpdatedRows } = await db
    .updateTable('pin')
    .set({ revoked_at: sql`coalesce(revoked_at, now())` })
    .where('mandator_id', '=', mandatorId)
    .where('id', '=', pinId)
    .$if(personId !== undefined, (query) => query.where('person_id', '=', personId as number))
    .executeTakeFirstOrThrow();
  if (numUpdatedRows === 0n) throw new NotFound(`There is no PIN ${pinId}.`);
}

/** Deletes a PIN, and with it its tokens and streams. */
export async function deletePin(db: Database, mandatorId: number, pinId: number): Promise<void> {
  await db.deleteFrom('pin').where('mandator_id', '=', mandatorId).where('id', '=', pinId).execute();
}

/** Deletes all PINs of a person, and with them their tokens and streams. @returns how many */
export async function deletePinsOf(trx: Transaction, mandatorId: number, personId: number): Promise<number> {
  const { numDeletedRows } = await trx
    .deleteFrom('pin')
    .where('mandator_id', '=', mandatorId)
    .where('person_id', '=', personId)
    .executeTakeFirstOrThrow();
  return Number(numDeletedRows);
}

/** Whether people of the tenant in the row `mandator` may sign in by PIN. */
export const pinsCount = sql<boolean>`mandator.parameters @> '{"PinAuthenticationAllowed": true}'`;

/** Tells operators why people of a tenant cannot sign in by PIN, and the remedy; undefined if they can. */
export async function whyPinsDoNotCount(db: Database, mandatorId: number): Promise<string | undefined> {
  const { code, doCount } = await db
    .selectFrom('mandator')
    .where('id', '=', mandatorId)
    .select(['code', pinsCount.as('doCount')])
    .executeTakeFirstOrThrow();
  return doCount
    ? undefined
    : `PINs are not accepted for the tenant ${code}; "roomgate parameter set --mandator ${code} PinAuthenticationAllowed true" allows them.`;
}

/** All valid PINs, with their person and tenant. */
export const usablePins = (db: Database) =>
  db
    .selectFrom('pin')
    .innerJoin('mandator', 'mandator.id', 'pin.mandator_id')
    .innerJoin('person', (join) =>
      join.onRef('person.mandator_id', '=', 'pin.mandator_id').onRef('person.id', '=', 'pin.person_id'),
    )
    .where('pin.revoked_at', 'is', null)
    .where((where) => where.or([where('pin.expires_at', 'is', null), where('pin.expires_at', '>', sql<Date>`now()`)]))
    .where('person.active', '=', true)
    .where(pinsCount);
