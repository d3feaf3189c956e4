/**
 * PINs over the API, for Admins (contract 5.2). A PIN is shown once: a repeated Idempotency-Key makes no second one, and
 * cannot show the first again, because only its hash is stored.
 */
import { checkAdmin } from '../access.ts';
import { recordAct } from '../acts.ts';
import type { Act, Context, Viewer } from '../context.ts';
import type { Database, Transaction } from '../db/database.ts';
import { claimSecretOnce } from '../db/idempotency.ts';
import { transactOrGiveUp } from '../db/lock-timeout.ts';
import { pageById } from '../db/page-query.ts';
import { idKey, type List, type Page, type PageRequest, toPage } from '../db/paging.ts';
import { readPerParent } from '../db/per-parent.ts';
import { lockIfActive } from '../db/row-lock.ts';
import { Conflict, NotFound } from '../errors.ts';
import { finderOf, noRecord } from '../records.ts';
import { getPersonById, personErased } from '../tenants/service.ts';
import { createPin, type Pin, pepperOf, pinById, revokePin, selectPins } from './pins.ts';

export const pinList: List<Pin> = { name: 'pins', key: idKey, keyOf: ({ pinId }) => pinId };

/** The PINs of a person, including revoked ones, oldest first. @throws Forbidden, NotFound */
export async function listPinsOf(
  db: Database,
  viewer: Viewer,
  personId: number,
  page: PageRequest,
): Promise<Page<Pin>> {
  await getPersonById(db, viewer, personId);
  return await listPinsTogether(db, viewer, personId, page);
}

const pinsOf = readPerParent<Viewer, null, number, Pin>((db, parent, { viewer, page }) =>
  selectPins(db, viewer.mandatorId).where('person_id', '=', parent).$call(pageById('id', page)),
);

/** The same for all persons that are asked about together, who are known to exist. @throws Forbidden */
export async function listPinsTogether(
  db: Database,
  viewer: Viewer,
  personId: number,
  page: PageRequest,
): Promise<Page<Pin>> {
  checkAdmin(viewer);
  return toPage(pinList, await pinsOf(db, { viewer, parent: personId, asked: { filter: null, page } }), page);
}

/** @throws Forbidden */
export const findPin = finderOf(pinById, checkAdmin);

export const subjectOf = ({ pinId, personId }: Pick<Pin, 'pinId' | 'personId'>) =>
  ({ noun: 'Pin', id: pinId, personId }) as const;

/**
 * Makes a PIN for an active person.
 * @throws Forbidden, NotFound; Conflict for an inactive person, and for a key that has made a PIN before; InvalidInput
 * for a key that came with another request
 */
export async function createPinFor(
  { db, config }: Context,
  act: Act,
  personId: number,
  wanted: { label: string | null; expiresAt: Date | null; idempotencyKey: string | undefined },
): Promise<{ pin: string; record: Pin }> {
  const { viewer } = act;
  const { mandatorId } = viewer;
  const { label, expiresAt, idempotencyKey } = wanted;
  checkAdmin(viewer);
  return await transactOrGiveUp(db, 'The person', async (trx) => {
    const settle = await claimSecretOnce(
      trx,
      viewer,
      idempotencyKey,
      ['create PIN', personId, label, expiresAt],
      (id) =>
        `This Idempotency-Key has already created the PIN with the PinId ${id}, which is shown only once; if it was lost, revoke it and create another with a new key.`,
    );
    const { erasedAt } = await getPersonById(trx, viewer, personId);
    if (erasedAt) throw personErased();
    if (!(await lockIfActive(trx, mandatorId, personId)))
      throw Conflict.because('InactivePerson', 'The person is not active, so a PIN would not be valid.');
    const { pin, pinId } = await createPin(trx, pepperOf(config), {
      mandatorId,
      personId,
      ...(label !== null && { label }),
      ...(expiresAt !== null && { expiresAt }),
    });
    await settle(pinId);
    const record = await getPin(trx, mandatorId, pinId);
    await recordAct(trx, act, 'create PIN', subjectOf(record), { before: null, after: record });
    return { pin, record };
  });
}

/**
 * Ends a PIN, its tokens and its streams, on every process; repeating it is no error.
 * @param personId the PIN must be this person's, where given
 * @throws Forbidden, NotFound
 */
export async function revokePinOf(db: Database, act: Act, pinId: number, personId?: number): Promise<Pin> {
  const { mandatorId } = act.viewer;
  checkAdmin(act.viewer);
  return await db.transaction().execute(async (trx) => {
    await revokePin(trx, mandatorId, pinId, personId).catch((error: unknown) => {
      throw error instanceof NotFound ? noRecord('PIN') : error;
    });
    const revoked = await getPin(trx, mandatorId, pinId);
    await recordAct(trx, act, 'revoke PIN', subjectOf(revoked));
    return revoked;
  });
}

export async function getPin(trx: Transaction, mandatorId: number, pinId: number): Promise<Pin> {
  return await selectPins(trx, mandatorId).where('id', '=', pinId).executeTakeFirstOrThrow();
}
