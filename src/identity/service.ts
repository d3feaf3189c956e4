/**
 * Who may call (contract 3; specification 2.6 and 5). A **PIN** is a person's API key; a **client** is a program that
 * the settings list; a **token** is what a client gets for a person's PIN, or from an outside provider, and sends with
 * each call; a paired display has one of its own. A **credential** is what a call carries: a token, or in legacy mode the
 * PIN itself.
 *
 * Invariants: a PIN is shown once and stored only as a keyed hash, whose key is not in the database. Only `usablePins`
 * decides which PINs are valid, when a token is issued and whenever it is used. A PIN that is revoked, expired, unknown or
 * switched off by its tenant is refused in the same words after the same work.
 */
import { createHash } from 'node:crypto';
import { LRUCache } from 'lru-cache';
import type { Context, Viewer } from '../context.ts';
import { isAway } from '../db/resting.ts';
import { LimitExceeded, NotAuthenticated, TenantAway } from '../errors.ts';
import { atMost } from '../flow/caches.ts';
import { normalizeAddress } from '../http/networks.ts';
import { takesPins } from '../http/schemes.ts';
import { farFuture, readHolder, readPerson } from './callers.ts';
import { checkRequest, OAuthError, type TokenRequest } from './clients.ts';
import { openDevices } from './devices.ts';
import { type OutsideProvider, openProvider } from './external.ts';
import { openExchange } from './guesses.ts';
import { hashPin, pepperOf } from './pins.ts';
import { beginSession, deleteSession, deleteSessionsOf, hashSession, openUses, readSession } from './sessions.ts';
import { openSignIns, type ProviderAnswer, SignInFailed } from './sign-in.ts';
import { apiScope, openKeys, type TokenKeys, tokenLifetimeSeconds } from './tokens.ts';
import { countingForged } from './wrong-tokens.ts';

export { actOfOperator, anyAdmin, farFuture, findBooker, getFirstAdmin, getHolder, viewerColumns } from './callers.ts';
export { grantType, OAuthError, type TokenRequest } from './clients.ts';
export { checkOwnPage, cookiesOf, sessionOf, writeCookie } from './cookies.ts';
export { hashDisplayToken, isDisplayToken, makeDisplayToken } from './devices.ts';
export { howToSignIn, tokenSource } from './modes.ts';
export { createPinByOperator, revokePinByOperator } from './operator-pins.ts';
export { claimPepper, examinePepper, forgetPepper, hasRightPepper } from './pepper.ts';
export { createPinFor, findPin, listPinsOf, listPinsTogether, pinList, revokePinOf } from './pin-admin.ts';
export { createPin, deletePinsOf, listPins, type Pin, pepperOf, revokePin, whyPinsDoNotCount } from './pins.ts';
export { deriveKey, seal, unseal } from './sealing.ts';
export { readTerms, sweepSessions } from './sessions.ts';
export { flowSeconds, SignInFailed } from './sign-in.ts';
export { createTemporaryPin } from './temporary-pin.ts';
export { makeTyped, normalizeTyped } from './typed.ts';
export { isNewUse, recordUse } from './uses.ts';
export { apiScope };

/** The state of this room in one process; it ends with the context's notifications. */
export type Identity = {
  context: Context;
  keys: TokenKeys;
  provider: OutsideProvider;
  signIns: ReturnType<typeof openSignIns>;
  exchange: ReturnType<typeof openExchange>;
  viewerOfDevice: ReturnType<typeof openDevices>;
  /** Records that a session is used. */
  noteUse: ReturnType<typeof openUses>;
  /** By token, by hash and address of a PIN, or by the hash of a session's id. */
  verified: LRUCache<string, Verified>;
};

/** What a credential proves, and how to read its viewer. */
type Proof = { provenUntil: number; read(): Promise<Viewer> };

type Verified = {
  viewer: Promise<Viewer>;
  checkAgainAt: number;
  proof: Proof | undefined;
  /** The viewer as last read. */
  last: Viewer | undefined;
};

/** For how long a check of a credential holds. */
const believedMs = 4_000;
/** The clients under which wrong PINs are counted: in the header APIKEY, and at the console. */
const [headerClient, consoleClient] = ['APIKEY', 'console'] as const;

/** Opens the room in this process. Credentials are checked again when a change is announced. */
export function openIdentity(context: Context): Identity {
  const provider = openProvider(context);
  const identity: Identity = {
    context,
    keys: openKeys(context, pepperOf(context.config)),
    provider,
    signIns: openSignIns(context, provider),
    exchange: openExchange(context),
    viewerOfDevice: openDevices(context),
    noteUse: openUses(context),
    verified: new LRUCache(atMost(10_000)),
  };
  void forgetChanged(identity);
  return identity;
}

async function forgetChanged({ context: { notifications }, verified }: Identity): Promise<void> {
  const subscription = await notifications.subscribe('pin', 'person', 'mandator', 'display', 'session');
  notifications.stopping.addEventListener('abort', () => subscription.close(), { once: true });
  for (let change = await subscription.next(); change; change = await subscription.next())
    for (const known of verified.values()) {
      // The ids of five tables are compared alike; an unneeded check does no harm.
      const { pinId, personId, mandatorId, display, sessionId } = known.last ?? {};
      const ids = [pinId, personId, mandatorId, display?.displayId, sessionId];
      const isMeant = ids.some((id) => change.keys.has(String(id)));
      if (change.all || !known.last || isMeant) known.checkAgainAt = 0;
    }
}

/**
 * The viewer of a credential. Cached, but a credential that has ended is refused within 5 s, even if the announcement was
 * lost.
 * @param prove verifies the credential if that has not been done or is outdated; `isProven`: it was valid before
 */
function viewerBy({ verified }: Identity, key: string, prove: (isProven: boolean) => Promise<Proof>): Promise<Viewer> {
  const known = verified.get(key);
  const now = Date.now();
  if (known && now < known.checkAgainAt) return known.viewer;

  async function check(): Promise<Viewer> {
    if (!entry.proof || now >= entry.proof.provenUntil) entry.proof = await prove(entry.proof !== undefined);
    const viewer = await entry.proof.read();
    entry.last = viewer;
    entry.checkAgainAt = Math.min(entry.checkAgainAt, viewer.expiresAt.getTime());
    return viewer;
  }
  const entry: Verified = {
    proof: known?.proof,
    last: known?.last,
    checkAgainAt: now + believedMs,
    viewer: Promise.resolve().then(check),
  };
  verified.set(key, entry);
  entry.viewer.catch((error: unknown) => {
    entry.checkAgainAt = 0;
    // In an outage, an earlier proof stays valid.
    const isProven = entry.proof && !(error instanceof NotAuthenticated);
    if (!isProven && verified.get(key) === entry) verified.delete(key);
  });
  return entry.viewer;
}

/**
 * The viewer of a bearer token, of our own or of an outside provider.
 * @throws NotAuthenticated; LimitExceeded after too many forged tokens; Unavailable while an outside provider cannot be asked
 */
export function viewerOfToken(identity: Identity, token: string, ip: string): Promise<Viewer> {
  const { context, keys, provider } = identity;
  return viewerBy(identity, token, async (isProven) => {
    const credential = createHash('sha256').update(token).digest('base64url').slice(0, 22);
    if (context.config.IdentityProvider.Mode === 'External') {
      const sender = { address: normalizeAddress(ip), isProven };
      const assertion = await countingForged(context, ip, provider.verify(token, sender));
      // The provider may change its keys, or revoke an opaque token, at any time.
      return { provenUntil: 0, read: () => readPerson(context, credential, assertion) };
    }
    const { tenant, sub, pin, exp } = await countingForged(context, ip, keys.verify(token));
    const holder = { mandator: tenant, personId: sub, pinId: pin };
    const expiresAt = new Date(exp * 1000);
    return { provenUntil: exp * 1000, read: () => readHolder(context, holder, { credential, expiresAt }) };
  });
}

/** @throws NotAuthenticated; LimitExceeded after too many wrong tokens */
export function viewerOfDisplay(identity: Identity, token: string, ip: string): Promise<Viewer> {
  const read = () => identity.viewerOfDevice(token, ip);
  return viewerBy(identity, token, async () => {
    // The first read is also the proof.
    let proven: Viewer | undefined = await read();
    return {
      provenUntil: Number.POSITIVE_INFINITY,
      async read() {
        const viewer = proven ?? (await read());
        proven = undefined;
        return viewer;
      },
    };
  });
}

/**
 * The viewer of a PIN in the header APIKEY. Wrong PINs are limited as at the token endpoint; the limit does not apply to a PIN
 * that has been valid from this address before.
 * @throws NotAuthenticated, LimitExceeded
 */
export function viewerOfPin(identity: Identity, pin: string, ip: string): Promise<Viewer> {
  const { context, exchange } = identity;
  const hash = hashPin(pepperOf(context.config), pin);
  const address = normalizeAddress(ip);
  return viewerBy(identity, `${hash.toString('base64')} ${address}`, async () => {
    const { holder, throttledFor } = await exchange(pin, headerClient, address);
    if (throttledFor !== undefined) throw new LimitExceeded(tooManyWrong(throttledFor), throttledFor);
    if (!holder) throw new NotAuthenticated(wrongPin);
    const shown = { credential: `pin:${holder.pinId}`, expiresAt: farFuture, isSent: true };
    return { provenUntil: Number.POSITIVE_INFINITY, read: () => readHolder(context, holder, shown) };
  });
}

const wrongPin = 'The PIN is not valid; ask an Admin of the tenant for a new one.';
const tooManyWrong = (seconds: number) =>
  `Too many wrong PINs from here; wait ${Math.max(1, Math.ceil(seconds))} seconds.`;

/**
 * Exchanges a person's PIN for an access token that lives `expiresIn` seconds.
 * @throws OAuthError; TenantAway while the tenant of the path is moved
 */
export async function issueToken(
  { context, keys, exchange }: Identity,
  request: TokenRequest,
): Promise<{ accessToken: string; expiresIn: number }> {
  const { clientId, apiKey } = checkRequest(context.config.Clients, request);
  const wanted = request.mandator?.toLowerCase();
  if (wanted !== undefined && (await isAway(context.db, wanted))) throw new TenantAway();
  const { holder, throttledFor } = await exchange(apiKey, clientId, normalizeAddress(request.address));
  if (throttledFor !== undefined) throw new OAuthError('slow_down', tooManyWrong(throttledFor), 429, throttledFor);
  if (!holder || (wanted !== undefined && holder.mandator !== wanted)) throw new OAuthError('invalid_grant', wrongPin);
  const accessToken = await keys.sign({ ...holder, clientId });
  context.log.info({ clientId, ...holder }, 'token issued');
  return { accessToken, expiresIn: tokenLifetimeSeconds };
}

/** Whether the tenant is being moved and is not served here. */
export const isMoving = ({ context }: Identity, mandator: string): Promise<boolean> => isAway(context.db, mandator);

/** The viewer of a session. @throws NotAuthenticated */
export function viewerOfSession(identity: Identity, id: string): Promise<Viewer> {
  const hash = hashSession(identity.context.config, id);
  const read = () => readSession(identity.context, hash);
  return viewerBy(identity, keyOfSession(hash), async () => ({ provenUntil: Number.POSITIVE_INFINITY, read }));
}

const keyOfSession = (hash: Buffer) => `session ${hash.toString('base64')}`;

/** A session that has just begun, with its id for the cookie. */
export type BegunSession = { id: string; viewer: Viewer };

async function openSession(
  identity: Identity,
  owner: Parameters<typeof beginSession>[1],
  address?: string,
): Promise<BegunSession> {
  const id = await beginSession(identity.context, owner, address);
  const viewer = await viewerOfSession(identity, id);
  identity.context.log.info({ sessionId: viewer.sessionId, ...owner }, 'session begun');
  return { id, viewer };
}

/** Begins the session of the holder of a PIN. @throws NotAuthenticated, also for another tenant's PIN; LimitExceeded */
export async function signInByPin(
  identity: Identity,
  mandator: string,
  { pin, ip }: { pin: string; ip: string },
): Promise<BegunSession> {
  if (!takesPins(identity.context.config))
    throw new NotAuthenticated('PINs are not accepted here; sign in in another way.');
  const { holder, throttledFor } = await identity.exchange(pin, consoleClient, normalizeAddress(ip));
  if (throttledFor !== undefined) throw new LimitExceeded(tooManyWrong(throttledFor), throttledFor);
  if (holder?.mandator !== mandator.toLowerCase())
    throw new NotAuthenticated('The PIN is not valid here; ask an Admin for one, or check its spelling.');
  const { mandatorId } = await readHolder(identity.context, holder, { credential: 'console', expiresAt: farFuture });
  return await openSession(identity, { mandatorId, personId: holder.personId, pinId: holder.pinId });
}

/** Sends a person to the outside provider. @param before the sessions that end with the sign-in @throws SignInFailed */
export const beginSignIn = ({ signIns }: Identity, mandator: string, before: string[]) =>
  signIns.begin(mandator.toLowerCase(), before);

/** Begins the session of the person that the outside provider names, found as for its tokens. @throws SignInFailed */
export async function signInByProvider(
  identity: Identity,
  mandator: string,
  answer: ProviderAnswer,
): Promise<BegunSession & { before: string[] }> {
  const code = mandator.toLowerCase();
  const { names, before } = await identity.signIns.finish(code, answer);
  try {
    if (names.tenant.toLowerCase() !== code) throw new NotAuthenticated(`The person belongs to ${names.tenant}.`);
    const assertion = { ...names, expiresAt: farFuture };
    const { mandatorId, personId } = await readPerson(identity.context, 'console', assertion);
    return { ...(await openSession(identity, { mandatorId, personId, pinId: null }, names.email)), before };
  } catch (error) {
    throw error instanceof NotAuthenticated ? new SignInFailed('PersonUnknown', error.message) : error;
  }
}

/** How people sign in to the console; `provider` is the name of the outside provider. */
export function waysToSignIn({ context: { config } }: Identity): { pin: boolean; provider: string | undefined } {
  const { SignIn, SignInName, Authority = '' } = config.IdentityProvider;
  return { pin: takesPins(config), provider: SignIn ? (SignInName ?? new URL(Authority).host) : undefined };
}

/** Ends a session, and with it its streams on every process; repeating it is no error. */
export async function endSession({ context, verified }: Identity, id: string): Promise<void> {
  const hash = hashSession(context.config, id);
  await deleteSession(context.db, hash);
  // At once in this process: the notification takes a moment.
  verified.delete(keyOfSession(hash));
}

/** Ends all sessions of a person, in all browsers. */
export async function endSessionsOf({ context, verified }: Identity, viewer: Viewer): Promise<void> {
  for (const hash of await deleteSessionsOf(context.db, viewer)) verified.delete(keyOfSession(hash));
}
