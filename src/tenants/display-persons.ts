/** Each paired display acts as a person of role Display, whose e-mail address is in the reserved domain `.invalid`. */
import { randomUUID } from 'node:crypto';
import type { Transaction } from '../db/database.ts';
import { longest } from '../names.ts';

/** Why no person is given this role by hand: the person would sign in with a PIN, and see nothing. */
export const devicesOnly = {
  code: 'DevicesOnly',
  text: 'is only for paired displays; choose another role, and pair the device: roomgate display pair CODE',
};
/** Reserved by RFC 2606: nobody else has an address there. */
export const displayDomain = '@displays.invalid';

/** @returns the id of the person */
export async function createDisplayPerson(
  trx: Transaction,
  mandatorId: number,
  { name, timeZone }: { name: string; timeZone: string },
): Promise<number> {
  const { id } = await trx
    .insertInto('person')
    .values({
      mandator_id: mandatorId,
      name: name.slice(0, longest.name),
      role: 'Display',
      email: `display-${randomUUID()}${displayDomain}`,
      time_zone: timeZone,
    })
    .returning('id')
    .executeTakeFirstOrThrow();
  return id;
}

/** Renames the person of a display, or retires it with its display. */
export async function changeDisplayPerson(
  trx: Transaction,
  mandatorId: number,
  id: number,
  changes: { name: string } | { active: false },
): Promise<void> {
  await trx.updateTable('person').set(changes).where('mandator_id', '=', mandatorId).where('id', '=', id).execute();
}
