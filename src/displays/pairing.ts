/**
 * Pairing (contract 9): a device asks for a **code** and shows it; an Admin confirms the code, and from then on the token of
 * the device is valid. A device that names an unknown tenant, room or location is refused with the reason: the limit on
 * requests from one IP address keeps strangers from listing them.
 */
import { sql } from 'kysely';
import { checkAdmin } from '../access.ts';
import { recordAct } from '../acts.ts';
import type { Act, Context } from '../context.ts';
import type { Database, Transaction } from '../db/database.ts';
import { InvalidInput, memberFault, NotFound } from '../errors.ts';
import { networkOf } from '../http/networks.ts';
import { hashDisplayToken, makeDisplayToken, makeTyped, normalizeTyped } from '../identity/service.ts';
import { isMandator } from '../names.ts';
import { createDisplayPerson, holdActiveLocation } from '../tenants/service.ts';
import { getDevice, settingsOf, subjectOf } from './devices.ts';
import type { Display, Privacy } from './display.ts';
import { daysUnheard } from './hearing.ts';
import { checkResources, checkSomeRoom } from './rooms.ts';

/** The device shows the code and keeps the token. */
export type Pairing = { code: string; token: string; expiresAt: Date };

/** Whose page a device has open: a room's, a location's, or it does not say. */
export type AskedPage = { resourceId: number | null; locationId: number | null };

/** The room whose page a device has open; `name` is null where no active room has this id. */
export type AskedRoom = { id: number; name: string | null };

export type NewDisplay = {
  code: string;
  /** Null: the display is named after its rooms. */
  name: string | null;
  /** Without any, and without a location, the display shows what the page that the device has open does. */
  resourceIds: number[];
  locationId: number | null;
  mayBook: boolean;
  privacy: Privacy;
};

/** 40 bits. */
const codeLength = 8;
/** How often a device asks whether it has been paired. */
export const pollSeconds = 5;
/** How long a code is valid. */
export const codeMinutes = 10;

/** The most codes that wait for confirmation at one time. */
const mostOfNetwork = 100;
const mostOfTenant = 1_000;
/** The prefix of IPv6 that a provider gives one customer. */
const networkBits = 48;

const shown = (code: string) => `${code.slice(0, codeLength / 2)}-${code.slice(codeLength / 2)}`;

/**
 * A code and a token for an unknown device.
 * @param asked whose page the device has open
 * @param address of the device
 * @throws NotFound for an unknown tenant; InvalidInput for a room or a location that is not in use there
 */
export async function requestPairing(
  { db, config }: Context,
  mandator: string,
  asked: AskedPage,
  address: string,
): Promise<Pairing> {
  const name = mandator.toLowerCase();
  await checkAsked(db, name, asked);
  const network = networkOf(address, networkBits);
  await makePlace(db, name, network);
  const token = makeDisplayToken();
  for (;;) {
    const code = makeTyped(codeLength);
    const made = await db
      .insertInto('display_pairing')
      .values({
        code,
        mandator: name,
        resource_id: asked.resourceId,
        location_id: asked.locationId,
        network,
        token_hash: hashDisplayToken(config, token),
        expires_at: sql<Date>`now() + make_interval(mins => ${codeMinutes})`,
      })
      .onConflict((conflict) => conflict.column('code').doNothing())
      .returning('expires_at as expiresAt')
      .executeTakeFirst();
    if (made) return { code: shown(code), token, ...made };
  }
}

/** @throws NotFound, InvalidInput */
async function checkAsked(db: Database, mandator: string, { resourceId, locationId }: AskedPage): Promise<void> {
  const inUse = (table: 'resource' | 'location', id: number | null) =>
    sql<boolean>`${id}::bigint is null or exists (select from ${sql.table(table)} as one
      where one.mandator_id = mandator.id and one.id = ${id} and one.active)`;
  const found = isMandator(mandator)
    ? await db
        .selectFrom('mandator')
        .where('code', '=', mandator)
        .select([inUse('resource', resourceId).as('hasResource'), inUse('location', locationId).as('hasLocation')])
        .executeTakeFirst()
    : undefined;
  if (!found)
    throw new NotFound('There is no such tenant; correct its code, which is the first part of the path of a sign.');
  const refuse = (field: string, code: string, what: string) => {
    const text = `there is no active ${what} with this id; correct it: it is the last part of the path of a sign`;
    return InvalidInput.of(memberFault(field, code, text));
  };
  if (!found.hasResource) throw refuse('ResourceId', 'UnknownResource', 'resource');
  if (!found.hasLocation) throw refuse('LocationId', 'UnknownLocation', 'location');
}

/**
 * Devices are unknown, so none is refused: when too many codes wait, the oldest code of the same network is dropped, or the
 * oldest of the network with most codes of this tenant.
 */
async function makePlace(db: Database, mandator: string, network: string): Promise<void> {
  await sql`
    with surplus as (
      delete from display_pairing where code = any (array(
        select code from display_pairing where network = ${network}::inet
        order by expires_at desc offset ${mostOfNetwork - 1}))
    )
    delete from display_pairing where code = (
      select code from display_pairing
      where mandator = ${mandator} and network is not distinct from (
        select network from display_pairing where mandator = ${mandator} group by network order by count(*) desc limit 1)
      order by expires_at limit 1)
      and (select count(*) from display_pairing where mandator = ${mandator}) >= ${mostOfTenant}`.execute(db);
}

/**
 * Makes a display of the device that shows the code, and a person of role Display that it acts as.
 * @throws Forbidden; InvalidInput for a code that no device of this tenant shows, for unknown rooms, or without rooms;
 * Conflict for retired ones
 */
export function pairDisplay(db: Database, act: Act, wanted: NewDisplay): Promise<Display> {
  checkAdmin(act.viewer);
  const { mandatorId } = act.viewer;
  return db.transaction().execute(async (trx) => {
    const pairing = await takePairing(trx, act, wanted.code);
    const { mayBook, privacy } = wanted;
    const { resourceIds, locationId } =
      wanted.resourceIds.length > 0 || wanted.locationId !== null
        ? { resourceIds: [...new Set(wanted.resourceIds)], locationId: wanted.locationId }
        : await placesOf(trx, mandatorId, pairing);
    checkSomeRoom(resourceIds, locationId);
    // Before the rooms, as tenant files lock them.
    const location = locationId === null ? undefined : await holdActiveLocation(trx, mandatorId, locationId);
    const resources = await checkResources(trx, mandatorId, resourceIds);
    const name = wanted.name ?? [...resources, ...(location ? [location] : [])].map((one) => one.name).join(', ');
    const timeZone = location?.timeZone ?? (resources[0]?.timeZone as string);
    const personId = await createDisplayPerson(trx, mandatorId, { name, timeZone });
    const { id } = await trx
      .insertInto('display')
      .values({
        mandator_id: mandatorId,
        person_id: personId,
        location_id: locationId,
        may_book: mayBook,
        privacy,
        token_hash: pairing.tokenHash,
        created_by: act.viewer.personId,
        expires_at: sql<Date>`now() + make_interval(days => ${daysUnheard})`,
        due_at: sql<Date>`now()`,
      })
      .returning('id')
      .executeTakeFirstOrThrow();
    if (resourceIds.length > 0)
      await trx
        .insertInto('display_resource')
        .values(resourceIds.map((resource_id) => ({ mandator_id: mandatorId, display_id: id, resource_id })))
        .execute();
    const paired = await getDevice(trx, act.viewer, id);
    await recordAct(trx, act, 'pair display', subjectOf(paired), { before: null, after: settingsOf(paired) });
    return paired;
  });
}

/**
 * The room that the device behind a code has named, which need not exist; null where it has named none, or no device of this
 * tenant shows the code.
 */
export async function findAskedRoom(db: Database, { viewer }: Act, code: string): Promise<AskedRoom | null> {
  const asked = await db
    .selectFrom('display_pairing as pairing')
    .leftJoin('resource', (join) =>
      join
        .on('resource.mandator_id', '=', viewer.mandatorId)
        .onRef('resource.id', '=', 'pairing.resource_id')
        .on('resource.active', '=', true),
    )
    .where('pairing.code', '=', normalizeTyped(code))
    .where('pairing.mandator', '=', viewer.mandator)
    .where('pairing.expires_at', '>', sql<Date>`now()`)
    .where('pairing.resource_id', 'is not', null)
    .select(['pairing.resource_id as id', 'resource.name'])
    .executeTakeFirst();
  return asked ? { id: Number(asked.id), name: asked.name } : null;
}

/** Takes the code; a rollback gives it back. @throws InvalidInput */
async function takePairing(
  trx: Transaction,
  { viewer }: Act,
  code: string,
): Promise<AskedPage & { tokenHash: Buffer }> {
  const taken = await trx
    .deleteFrom('display_pairing')
    .where('code', '=', normalizeTyped(code))
    .where('mandator', '=', viewer.mandator)
    .where('expires_at', '>', sql<Date>`now()`)
    .returning(['token_hash as tokenHash', 'resource_id as resourceId', 'location_id as locationId'])
    .executeTakeFirst();
  if (taken) return taken;
  const text = `no device shows this code; a code is valid once, for ${codeMinutes} minutes: enter the one that is on the screen now`;
  throw InvalidInput.of(memberFault('Code', 'UnknownCode', text));
}

/** The room or else the location whose page a device has open, if it is in use in this tenant. */
async function placesOf(
  trx: Transaction,
  mandatorId: number,
  asked: AskedPage,
): Promise<Pick<NewDisplay, 'resourceIds' | 'locationId'>> {
  const findActive = async (table: 'resource' | 'location', id: number | null) =>
    (
      await trx
        .selectFrom(table)
        .where('mandator_id', '=', mandatorId)
        .where('id', '=', id)
        .where('active', '=', true)
        .select('id')
        .executeTakeFirst()
    )?.id;
  const resourceId = await findActive('resource', asked.resourceId);
  if (resourceId !== undefined) return { resourceIds: [resourceId], locationId: null };
  return { resourceIds: [], locationId: (await findActive('location', asked.locationId)) ?? null };
}
