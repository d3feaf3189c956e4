import type { Context } from '../context.ts';
import { NotFound } from '../errors.ts';
import { createPin, deletePin, pepperOf } from './service.ts';

const lifetime = 3_600_000;

/**
 * A PIN of the tenant's first active Admin, for a command that the operator runs without one: ends after an hour at the
 * latest, and once removed has left no trace in the list of PINs.
 * @throws NotFound when there is no such tenant, or nobody in it who could hold the PIN
 */
export async function createTemporaryPin(
  { db, config }: Context,
  mandator: string,
  label: string,
): Promise<{ pin: string; remove(): Promise<void> }> {
  const admin = await db
    .selectFrom('person')
    .innerJoin('mandator', 'mandator.id', 'person.mandator_id')
    .where('mandator.code', '=', mandator.toLowerCase())
    .where('person.role', '=', 'Admin')
    .where('person.active', '=', true)
    .select(['person.mandator_id as mandatorId', 'person.id as personId'])
    .orderBy('person.id')
    .executeTakeFirst();
  if (!admin)
    throw new NotFound(
      `There is no tenant ${mandator} with an active Admin; give a PIN, or make them with "roomgate apply FILE".`,
    );
  const expiresAt = new Date(Date.now() + lifetime);
  const { pin, pinId } = await createPin(db, pepperOf(config), { ...admin, label, expiresAt });
  return { pin, remove: () => deletePin(db, admin.mandatorId, pinId) };
}
