import type { Context } from '../context.ts';
import { createPin, deletePin, getFirstAdmin, pepperOf } from './service.ts';

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
  const { mandatorId, personId } = await getFirstAdmin(db, mandator);
  const expiresAt = new Date(Date.now() + lifetime);
  const { pin, pinId } = await createPin(db, pepperOf(config), {
    mandatorId,
    personId,
    label,
    expiresAt,
  });
  return { pin, remove: () => deletePin(db, mandatorId, pinId) };
}
