/**
 * Who may call (contract 3; specification 2.6 and 5). A **PIN** is a person's API key; a **client** is a program that
 * the settings list; a **token** is what a client gets for a person's PIN and sends with each call.
 *
 * Invariants: a PIN is shown once and stored only as a keyed hash, whose key is not in the database. `usablePins` alone
 * says which PINs count, when a token is issued and for as long as it is used. A PIN that is revoked, expired, unknown or
 * switched off by its tenant is refused in the same words after the same work.
 */
import { createHmac, randomBytes } from 'node:crypto';
import net from 'node:net';
import { type RawBuilder, sql } from 'kysely';
import { LRUCache } from 'lru-cache';
import type { Config } from '../config.ts';
import type { Context, Viewer } from '../context.ts';
import type { Database, Transaction } from '../db/database.ts';
import { Conflict, InvalidInput, NotAuthenticated, NotFound } from '../errors.ts';
import { checkRequest, OAuthError, type TokenRequest } from './clients.ts';
import { type Claims, deriveKey, howToGetToken, type Keys, openKeys, tokenLifetime } from './tokens.ts';

/** Holders of PINs are found by mandator and e-mail address. */
export { getPerson } from '../tenants/service.ts';

export type Pin = {
  pinId: number;
  personId: number;
  label: string | null;
  createdAt: Date;
  expiresAt: Date | null;
  revokedAt: Date | null;
  lastUsedAt: Date | null;
};

/** The state of this room in one process; ends with the context's notifications. */
export type Identity = {
  context: Context;
  keys: Keys;
  /** By token, from its verification on. */
  verified: LRUCache<string, { claims: Claims; checkAgainAt: number; viewer: Promise<Viewer> }>;
};

const crockford = '0123456789ABCDEFGHJKMNPQRSTVWXYZ';
const leastFixedPin = 8;
/** Milliseconds for which a token's check in the database is believed. */
const believedFor = 4_000;

/** The key of PIN hashes and signing keys. */
export function pepperOf(config: Config): string {
  if (!config.Pepper) throw new Error('Pepper: is missing; set it to a secret of at least 32 characters');
  return config.Pepper;
}

/** 20 characters that are hard to confuse, grouped for reading: 100 bits. */
function makePin(): string {
  const characters = Array.from(randomBytes(20), (byte) => crockford[byte & 31]).join('');
  return characters.replace(/.{5}(?=.)/g, '$&-');
}

/** The same PIN however a person writes it. */
function normalizePin(pin: string): string {
  return pin.toUpperCase().replace(/[\s-]/g, '').replaceAll('O', '0').replace(/[IL]/g, '1');
}

function hashPin(pepper: string, pin: string): Buffer {
  return createHmac('sha256', deriveKey(pepper, 'PIN')).update(normalizePin(pin)).digest();
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
  if (normalizePin(pin).length < leastFixedPin)
    throw new InvalidInput(
      `A fixed PIN needs at least ${leastFixedPin} characters besides spaces and dashes.`,
    );
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
    .catch((error: Error & { code?: string }) => {
      if (error.code === '23503') throw new NotFound(`There is no person ${personId} in this tenant.`);
      if (error.code === '23505') throw new Conflict('This PIN is in use already; choose another.');
      throw error;
    });
  return { pin, pinId: row.id, personId };
}

/** All PINs of a tenant or of one person, revoked ones too, oldest first. */
export async function listPins(db: Database, mandatorId: number, personId?: number): Promise<Pin[]> {
  let query = db.selectFrom('pin').where('mandator_id', '=', mandatorId);
  if (personId !== undefined) query = query.where('person_id', '=', personId);
  return await query
    .select(['id as pinId', 'person_id as personId', 'label', 'created_at as createdAt'])
    .select(['expires_at as expiresAt', 'revoked_at as revokedAt', 'last_used_at as lastUsedAt'])
    .orderBy('id')
    .execute();
}

/**
 * Ends a PIN, its tokens and its streams, on every process; again is no error.
 * @param personId the PIN must be this person's, where given
 * @throws NotFound
 */
export async function revokePin(
  db: Database,
  mandatorId: number,
  pinId: number,
  personId?: number,
): Promise<void> {
  let query = db
    .updateTable('pin')
    .set({ revoked_at: sql`coalesce(revoked_at, now())` })
    .where('mandator_id', '=', mandatorId)
    .where('id', '=', pinId);
  if (personId !== undefined) query = query.where('person_id', '=', personId);
  const { numUpdatedRows } = await query.executeTakeFirstOrThrow();
  if (numUpdatedRows === 0n) throw new NotFound(`There is no PIN ${pinId}.`);
}

/** The PINs that count now, with their person and tenant. */
const usablePins = (db: Database) =>
  db
    .selectFrom('pin')
    .innerJoin('mandator', 'mandator.id', 'pin.mandator_id')
    .innerJoin('person', (join) =>
      join.onRef('person.mandator_id', '=', 'pin.mandator_id').onRef('person.id', '=', 'pin.person_id'),
    )
    .where('pin.revoked_at', 'is', null)
    .where((where) =>
      where.or([where('pin.expires_at', 'is', null), where('pin.expires_at', '>', sql<Date>`now()`)]),
    )
    .where('person.active', '=', true)
    .where(sql<boolean>`mandator.parameters @> '{"PinAuthenticationAllowed": true}'`);

/** Opens the room in this process; revoked PINs are dropped as they are announced. */
export function openIdentity(context: Context): Identity {
  const identity: Identity = {
    context,
    keys: openKeys(context, pepperOf(context.config)),
    verified: new LRUCache({ max: 10_000 }),
  };
  void dropChangedPins(identity);
  return identity;
}

async function dropChangedPins({ context: { notifications }, verified }: Identity): Promise<void> {
  const subscription = await notifications.subscribe('pin');
  notifications.stopping.addEventListener('abort', () => subscription.close(), { once: true });
  for (let change = await subscription.next(); change; change = await subscription.next())
    for (const [token, { claims }] of verified.entries())
      if (change.all || change.keys.has(String(claims.pin))) verified.delete(token);
}

/**
 * Who a token speaks for. Cached, yet within 5 s of the PIN's end it is refused even if the announcement was lost.
 * @throws NotAuthenticated
 */
export function viewerOfToken(identity: Identity, token: string): Promise<Viewer> {
  const known = identity.verified.get(token);
  return known && Date.now() < known.checkAgainAt ? known.viewer : checkToken(identity, token);
}

async function checkToken({ context, keys, verified }: Identity, token: string): Promise<Viewer> {
  const known = verified.get(token)?.claims;
  const claims = known && Date.now() < known.exp * 1000 ? known : await keys.verify(token);
  const viewer = readViewer(context, claims);
  const checkAgainAt = Math.min(Date.now() + believedFor, claims.exp * 1000);
  verified.set(token, { claims, checkAgainAt, viewer });
  viewer.catch(() => verified.delete(token));
  return viewer;
}

async function readViewer({ db, config }: Context, claims: Claims): Promise<Viewer> {
  const row = await usablePins(db)
    .where('mandator.code', '=', claims.tenant)
    .where('pin.id', '=', claims.pin)
    .where('person.id', '=', claims.sub)
    .select(['mandator.id as mandatorId', 'mandator.code as mandator', 'person.id as personId'])
    .select(['person.name as displayName', 'person.email', 'person.time_zone as timeZone', 'person.role'])
    .select(['pin.id as pinId', 'pin.expires_at as pinExpiresAt'])
    .executeTakeFirst();
  if (!row) throw new NotAuthenticated(`The token's PIN no longer counts; ${howToGetToken(config.IdpUrl)}`);
  const { pinExpiresAt, ...viewer } = row;
  const expiresAt = new Date(
    Math.min(claims.exp * 1000, pinExpiresAt?.getTime() ?? Number.POSITIVE_INFINITY),
  );
  return { ...viewer, role: viewer.role as Viewer['role'], expiresAt };
}

/**
 * Exchanges a person's PIN for an access token that lives `expiresIn` seconds.
 * @throws OAuthError
 */
export async function issueToken(
  identity: Identity,
  request: TokenRequest,
): Promise<{ accessToken: string; expiresIn: number }> {
  const { context, keys } = identity;
  const checked = checkRequest(context.config.Clients, request);
  const { clientId } = checked;
  const holder = await spendPin(context, { ...checked, address: request.address });
  const accessToken = await keys.sign({ ...holder, clientId });
  context.log.info({ clientId, ...holder }, 'token issued');
  return { accessToken, expiresIn: tokenLifetime };
}

type Holder = { mandator: string; personId: number; pinId: number };
/** Where guesses come from: a client and an address, of IPv6 the /64. */
type Source = { clientId: string; network: RawBuilder<string> };

/**
 * Whose PIN it is. Wrong ones are counted for their source on all processes together, and a source's requests wait for
 * each other, so that many at once are not more guesses.
 */
async function spendPin(
  { db, config, log }: Context,
  { clientId, apiKey, address }: { clientId: string; apiKey: string; address: string },
): Promise<Holder> {
  const network = sql<string>`network(set_masklen(${address}::inet, ${net.isIPv6(address) ? 64 : 32}))::inet`;
  const source = { clientId, network };
  const { holder, throttledFor } = await db.transaction().execute(async (trx) => {
    await sql`select pg_advisory_xact_lock(hashtextextended(${clientId} || ' ' || ${network}, 0))`.execute(
      trx,
    );
    const { wrong, waitSeconds } = await recentFailures(trx, source);
    if (wrong >= config.Limits.WrongPins) return { throttledFor: waitSeconds };
    const found = await useOf(trx, hashPin(pepperOf(config), apiKey));
    if (!found) await recordFailure(trx, source);
    return { holder: found };
  });
  if (holder) return holder;
  const throttled = throttledFor !== undefined;
  log.warn({ clientId, address, throttled }, 'wrong PIN');
  if (!throttled)
    throw new OAuthError('invalid_grant', 'The PIN is not valid; make one with "roomgate pin create".');
  const advice = `Too many wrong PINs from here; wait ${throttledFor} seconds.`;
  throw new OAuthError('slow_down', advice, 429, throttledFor);
}

/** Those of the last 15 minutes, and in how many seconds the oldest will no longer count. */
async function recentFailures(
  trx: Transaction,
  { clientId, network }: Source,
): Promise<{ wrong: number; waitSeconds: number }> {
  return await trx
    .selectFrom('pin_failure')
    .where('client_id', '=', clientId)
    .where('address', '=', network)
    .where('at', '>', sql<Date>`now() - interval '15 minutes'`)
    .select((select) => select.fn.countAll<number>().as('wrong'))
    .select(
      sql<number>`coalesce(extract(epoch from min(at) + interval '15 minutes' - now()), 0)::float8`.as(
        'waitSeconds',
      ),
    )
    .executeTakeFirstOrThrow();
}

async function recordFailure(trx: Transaction, { clientId, network }: Source): Promise<void> {
  await trx.insertInto('pin_failure').values({ client_id: clientId, address: network }).execute();
  // Each failure removes more old ones than it adds, and none that another process is removing.
  await sql`
    delete from pin_failure where ctid = any (array(
      select ctid from pin_failure where at < now() - interval '15 minutes' order by at limit 100
      for update skip locked))`.execute(trx);
}

/** Whose usable PIN this is, with the use written down at most once a minute. */
async function useOf(trx: Transaction, hash: Buffer): Promise<Holder | undefined> {
  const found = await usablePins(trx)
    .where('pin.hash', '=', hash)
    .select(['mandator.id as mandatorId', 'mandator.code as mandator'])
    .select(['person.id as personId', 'pin.id as pinId'])
    .executeTakeFirst();
  if (!found) return undefined;
  const { mandatorId, ...holder } = found;
  await trx
    .updateTable('pin')
    .set({ last_used_at: sql`now()` })
    .where('mandator_id', '=', mandatorId)
    .where('id', '=', holder.pinId)
    .where(sql<boolean>`last_used_at is null or last_used_at < now() - interval '1 minute'`)
    .execute();
  return holder;
}
