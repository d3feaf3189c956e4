/** The viewers that credentials lead to, read from the database as they are now. */
import { sql } from 'kysely';
import { sightColumns } from '../access.ts';
import { commandLine } from '../acts.ts';
import type { Act, Context, Viewer } from '../context.ts';
import type { Database } from '../db/database.ts';
import { NotAuthenticated, NotFound } from '../errors.ts';
import { getPerson } from '../tenants/service.ts';
import type { Assertion } from './external.ts';
import type { PinHolder } from './guesses.ts';
import { usablePins } from './pins.ts';
import { isNewUse, recordPinUse } from './uses.ts';

/** The expiry of a credential that has none. */
export const farFuture = new Date(8.64e15);

/** The columns of a viewer, selected from the rows of its tenant and person. */
export const viewerColumns = [
  'mandator.id as mandatorId',
  'mandator.code as mandator',
  'person.id as personId',
  'person.name as displayName',
  'person.email',
  'person.time_zone as timeZone',
  'person.role',
  sql<boolean>`mandator.parameters @> '{"UsersMayImport": true}'`.as('usersMayImport'),
  ...sightColumns,
] as const;

const activePersons = (db: Database) =>
  db
    .selectFrom('mandator')
    .innerJoin('person', 'person.mandator_id', 'mandator.id')
    .where('person.active', '=', true)
    .select(viewerColumns)
    .$narrowType<Pick<Viewer, 'role'>>();

/**
 * The holder of a valid PIN. @throws NotAuthenticated
 * @param shown.isSent the call carries the PIN itself, which is a use of it
 */
export async function readHolder(
  context: Context,
  { mandator, personId, pinId }: PinHolder,
  { credential, expiresAt, isSent = false }: Pick<Viewer, 'credential' | 'expiresAt'> & { isSent?: boolean },
): Promise<Viewer> {
  const row = await usablePins(context.db)
    .where('mandator.code', '=', mandator)
    .where('pin.id', '=', pinId)
    .where('person.id', '=', personId)
    .select([...viewerColumns, 'pin.id as pinId', 'pin.expires_at as pinExpiresAt'])
    .select(isNewUse(sql.ref('pin.last_used_at')).as('isNew'))
    .$narrowType<Pick<Viewer, 'role'>>()
    .executeTakeFirst();
  if (!row)
    throw new NotAuthenticated('The PIN of this call is no longer valid; ask an Admin of the tenant for a new one.');
  const { pinExpiresAt, isNew, ...viewer } = row;
  if (isSent && isNew) await recordPinUse(context, viewer);
  const isPinFirst = pinExpiresAt !== null && pinExpiresAt < expiresAt;
  return { ...viewer, display: null, credential, expiresAt: isPinFirst ? pinExpiresAt : expiresAt };
}

/** The active person that an outside token names. @throws NotAuthenticated */
export async function readPerson(
  { db }: Context,
  credential: string,
  { tenant, email, expiresAt }: Assertion,
): Promise<Viewer> {
  const row = await activePersons(db)
    .where('mandator.code', '=', tenant.toLowerCase())
    .where(sql`lower(person.email)`, '=', sql`lower(${email})`)
    .executeTakeFirst();
  if (!row)
    throw new NotAuthenticated(
      'The token is valid, but no person of its tenant has its e-mail address: add the person to the tenant file and run "roomgate apply FILE".',
    );
  return { ...row, pinId: null, display: null, credential, expiresAt };
}

/**
 * The first active Admin of a tenant: the operator's commands act as this person.
 * @throws NotFound when there is no such tenant, or no active Admin in it
 */
export async function getFirstAdmin(db: Database, mandator: string): Promise<Viewer> {
  const row = await activePersons(db)
    .where('mandator.code', '=', mandator.toLowerCase())
    .where('person.role', '=', 'Admin')
    .orderBy('person.id')
    .executeTakeFirst();
  if (!row)
    throw new NotFound(
      `There is no tenant ${mandator} with an active Admin; create them with "roomgate apply FILE", or give a PIN if the command accepts one.`,
    );
  return { ...row, pinId: null, display: null, credential: 'command line', expiresAt: farFuture };
}

/** An act of the operator at the command line, with the rights of the first Admin. @throws as `getFirstAdmin` */
export async function actOfOperator(db: Database, mandator: string): Promise<Act> {
  return { viewer: await getFirstAdmin(db, mandator), requestId: commandLine, isOfOperator: true };
}

/** The active person in whose name a booking follows its item on the mail server; undefined if there is none. */
export async function findBooker(db: Database, mandatorId: number, personId: number): Promise<Viewer | undefined> {
  const row = await activePersons(db)
    .where('mandator.id', '=', mandatorId)
    .where('person.id', '=', personId)
    .where('person.role', '<>', 'Display')
    .executeTakeFirst();
  return row && { ...row, pinId: null, display: null, credential: 'mail server', expiresAt: farFuture };
}

/** A viewer with an Admin's sight of a tenant, for content sent to a receiver that an Admin has chosen. */
export const anyAdmin = (mandatorId: number, mandator: string): Viewer => ({
  mandatorId,
  mandator,
  personId: 0,
  displayName: '',
  email: '',
  timeZone: 'UTC',
  role: 'Admin',
  groupIds: [],
  hiddenRooms: [],
  pinId: null,
  display: null,
  credential: 'webhook',
  expiresAt: farFuture,
});

/** The person whose PINs a command handles: by this e-mail address, or the first Admin. @throws NotFound */
export const getHolder = (db: Database, mandator: string, email: string | undefined) =>
  email === undefined ? getFirstAdmin(db, mandator) : getPerson(db, mandator, email);
