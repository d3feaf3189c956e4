/** PINs at the command line: as over the API, but as acts of the operator, who is no person of the tenant. */
import { commandLine, recordOperatorActs } from '../acts.ts';
import type { Context, Viewer } from '../context.ts';
import type { Database } from '../db/database.ts';
import { lockIfActive } from '../db/row-lock.ts';
import { NotFound } from '../errors.ts';
import { getPin, subjectOf } from './pin-admin.ts';
import { createPin, pepperOf, revokePin } from './pins.ts';

type Holder = Pick<Viewer, 'mandatorId' | 'personId'>;

/** @throws NotFound */
export async function createPinByOperator(
  { db, config }: Context,
  { mandatorId, personId }: Holder,
  label: string | undefined,
): Promise<{ pin: string; pinId: number }> {
  return await db.transaction().execute(async (trx) => {
    if (!(await lockIfActive(trx, mandatorId, personId))) throw new NotFound('The person is no longer active.');
    const { pin, pinId } = await createPin(trx, pepperOf(config), { mandatorId, personId, label });
    const after = await getPin(trx, mandatorId, pinId);
    const act = { action: 'create PIN' as const, subject: subjectOf(after), record: { before: null, after } };
    await recordOperatorActs(trx, mandatorId, commandLine, [act]);
    return { pin, pinId };
  });
}

/** Ends a PIN, its tokens and its streams; repeating it is no error. @throws NotFound */
export async function revokePinByOperator(
  db: Database,
  { mandatorId, personId }: Holder,
  pinId: number,
): Promise<void> {
  await db.transaction().execute(async (trx) => {
    await revokePin(trx, mandatorId, pinId, personId);
    const subject = subjectOf({ pinId, personId });
    await recordOperatorActs(trx, mandatorId, commandLine, [{ action: 'revoke PIN', subject }]);
  });
}
