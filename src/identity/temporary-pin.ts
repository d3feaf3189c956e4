import type { Context } from '../context.ts';
import { getFirstAdmin } from './callers.ts';
import { createPin, deletePin, pepperOf } from './pins.ts';

const lifetimeMs = 3_600_000;

/**
 * A PIN of the tenant's first active Admin, for a command that is run without one. It expires after an hour; removed, it
 * leaves no trace in the list of PINs.
 * @throws NotFound as `getFirstAdmin`
 */
export async function createTemporaryPin(
  { db, config }: Context,
  mandator: string,
  label: string,
): Promise<{ pin: string; remove(): Promise<void> }> {
  const { mandatorId, personId } = await getFirstAdmin(db, mandator);
  const expiresAt = new Date(Date.now() + lifetimeMs);
  const { pin, pinId } = await createPin(db, pepperOf(config), { mandatorId, personId, label, expiresAt });
  return { pin, remove: () => deletePin(db, mandatorId, pinId) };
}
