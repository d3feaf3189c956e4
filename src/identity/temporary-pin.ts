import { commandLine } from '../acts.ts';
import type { Context } from '../context.ts';
import { Conflict } from '../errors.ts';
import { hour } from '../time/durations.ts';
import { getFirstAdmin } from './callers.ts';
import { createPin, deletePin, pepperOf, whyPinsDoNotCount } from './pins.ts';

/**
 * A PIN of the tenant's first active Admin, for a command that is run without one. It expires after an hour; once removed, it
 * leaves no trace in the list of PINs.
 * @throws NotFound as `getFirstAdmin`, Conflict if people of the tenant cannot sign in by PIN
 */
export async function createTemporaryPin(
  { db, config }: Context,
  mandator: string,
  label: string = commandLine,
): Promise<{ pin: string; remove(): Promise<void> }> {
  const { mandatorId, personId } = await getFirstAdmin(db, mandator);
  const why = await whyPinsDoNotCount(db, mandatorId);
  if (why) throw new Conflict(why);
  const expiresAt = new Date(Date.now() + hour);
  const { pin, pinId } = await createPin(db, pepperOf(config), { mandatorId, personId, label, expiresAt });
  return { pin, remove: () => deletePin(db, mandatorId, pinId) };
}
