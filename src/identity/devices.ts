/**
 * Displays as callers (contract 9): a paired device calls with a token of its own, in every mode of the identity provider.
 * The token is valid until the display is revoked, is not heard from for too long, or its person becomes inactive.
 */
import { createHmac, createSecretKey, type KeyObject, randomBytes } from 'node:crypto';
import { sql } from 'kysely';
import type { Context, DisplayGrant, Viewer } from '../context.ts';
import { runPrepared } from '../db/prepared.ts';
import { NotAuthenticated } from '../errors.ts';
import { openGathering } from '../flow/gather.ts';
import { pepperOf } from './pins.ts';
import { deriveKey } from './sealing.ts';
import { countWrongToken } from './wrong-tokens.ts';

const prefix = 'rgd_';
/** 256 bits. */
const tokenBytes = 32;

/** Whether a bearer token is, or pretends to be, a display's. */
export const isDisplayToken = (token: string) => token.startsWith(prefix);

export const makeDisplayToken = () => prefix + randomBytes(tokenBytes).toString('base64url');

/** Cached: deriving a key costs more than all other work on a token. */
const keys = new WeakMap<Context['config'], KeyObject>();

function keyOf(config: Context['config']): KeyObject {
  let key = keys.get(config);
  if (!key) keys.set(config, (key = createSecretKey(deriveKey(pepperOf(config), 'display token'))));
  return key;
}

/** The hash of a token, as stored. */
export const hashDisplayToken = (config: Context['config'], token: string): Buffer =>
  createHmac('sha256', keyOf(config)).update(token).digest();

type DisplayRow = Omit<Viewer, 'role' | 'groupIds' | 'hiddenRooms' | 'pinId' | 'display' | 'credential'> &
  DisplayGrant & { hash: Buffer; counts: boolean };

const statement = {
  name: 'displays by token',
  sql: `
    select display.token_hash as hash, mandator.id as "mandatorId", mandator.code as mandator,
      person.id as "personId", person.name as "displayName", person.email, person.time_zone as "timeZone",
      display.id as "displayId", may_book as "mayBook", privacy, expires_at as "expiresAt",
      revoked_at is null and expires_at > now() and person.active as counts,
      array(
        select resource_id from display_resource as given
        where given.mandator_id = display.mandator_id and given.display_id = display.id
        union
        select id from resource
        where resource.mandator_id = display.mandator_id and resource.location_id = display.location_id and active
        order by 1) as "resourceIds"
    from display
    join mandator on mandator.id = display.mandator_id
    join person on person.mandator_id = display.mandator_id and person.id = display.person_id
    where token_hash = any ((select $1::bytea[])::bytea[])`,
};

/** Reads displays by the hashes of their tokens, many at once: after a restart thousands come back within seconds. */
function openReader({ db }: Context): (hash: Buffer) => Promise<DisplayRow | undefined> {
  const keyOf = (hash: Buffer) => hash.toString('base64');
  const gather = openGathering<Buffer, DisplayRow | undefined>(async (hashes) => {
    const rows = await runPrepared<DisplayRow>(db, statement, [hashes]);
    const found = new Map(rows.map((row) => [keyOf(row.hash), row]));
    return hashes.map((hash) => found.get(keyOf(hash)));
  });
  return (hash) => gather(keyOf(hash), hash);
}

/**
 * Opens the reader of displays: of a token and an IP address it makes the viewer, always in the role Display.
 * @throws NotAuthenticated; LimitExceeded after too many wrong tokens from this address
 */
export function openDevices(context: Context): (token: string, ip: string) => Promise<Viewer> {
  const { db, config } = context;
  const read = openReader(context);

  async function isPairing(hash: Buffer): Promise<boolean> {
    const found = await db
      .selectFrom('display_pairing')
      .where('token_hash', '=', hash)
      .where('expires_at', '>', sql<Date>`now()`)
      .select('code')
      .executeTakeFirst();
    return found !== undefined;
  }

  async function refuse(hash: Buffer, isKnown: boolean, ip: string): Promise<NotAuthenticated> {
    if (!isKnown && (await isPairing(hash)))
      return new NotAuthenticated(
        'The display is not paired yet: have an Admin confirm the code on its screen, for example with "roomgate display pair CODE".',
      );
    // A revoked display does not count: it was a right one.
    if (!isKnown) countWrongToken(context, ip, 'displays');
    return new NotAuthenticated(
      'The token of the display is not valid or has expired, or the display was revoked; pair it again.',
    );
  }

  return async (token, ip) => {
    const hash = hashDisplayToken(config, token);
    const row = await read(hash);
    if (!row?.counts) throw await refuse(hash, row !== undefined, ip);
    const { hash: _hash, counts: _counts, displayId, mayBook, privacy, resourceIds, ...viewer } = row;
    // A copy, because a list of the database client has room for more, and streams keep it.
    const display = { displayId, mayBook, privacy, resourceIds: resourceIds.slice() };
    const sight = { groupIds: [], hiddenRooms: [] };
    return { ...viewer, ...sight, role: 'Display', pinId: null, display, credential: `display:${displayId}` };
  };
}
