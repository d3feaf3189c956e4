/**
 * Access tokens (contract 3): JWTs that any process signs and any process verifies, with keys they share through the
 * table signing_key. A **key** signs for 90 days and verifies until the last token that it signed has expired.
 */
import { createPrivateKey, createPublicKey, generateKeyPair, type KeyObject, randomUUID } from 'node:crypto';
import { setTimeout as sleep } from 'node:timers/promises';
import { promisify } from 'node:util';
import { errors, type JWK, jwtVerify, SignJWT } from 'jose';
import { sql } from 'kysely';
import { z } from 'zod';
import type { Context } from '../context.ts';
import { signingKeyLock } from '../flow/locks.ts';
import { hour } from '../time/durations.ts';
import { howToSignIn } from './modes.ts';
import { seal, unseal } from './sealing.ts';
import { refusedToken } from './wrong-tokens.ts';

export const tokenLifetimeSeconds = 3600;
/** The only scope, and the audience of tokens. */
export const apiScope = 'service_api';

const algorithm = 'RS256';
const type = 'at+jwt';
const signsForMs = 90 * 24 * hour;
/** Longer than it signs by the lifetime of a token, and as much again for clocks that differ. */
const verifiesForMs = signsForMs + 2 * hour;
/** Unknown key ids cause at most one read of the keys in this time. */
const readEveryMs = 250;

const claimsSchema = z.object({
  /** The person's id. */
  sub: z.coerce.number().int(),
  /** The mandator's code. */
  tenant: z.string(),
  /** The PIN's id. */
  pin: z.number().int(),
  /** Seconds since 1970. */
  exp: z.number(),
});

export type TokenClaims = z.output<typeof claimsSchema>;

export type TokenKeys = {
  sign(holder: { personId: number; mandator: string; pinId: number; clientId: string }): Promise<string>;
  /** @throws NotAuthenticated for anything but a valid token of ours */
  verify(token: string): Promise<TokenClaims>;
  /** The JWKS: every key whose tokens may still be valid, including those of other processes. */
  publicKeys(): Promise<JWK[]>;
};

const purpose = 'signing key';

function unsealKey(pepper: string, kid: string, sealed: Buffer): Buffer {
  try {
    return unseal(pepper, purpose, kid, sealed);
  } catch {
    throw new Error(
      `signing_key ${kid} was encrypted with another Pepper: set that Pepper again, or delete the row to end all tokens`,
    );
  }
}

/** Whether a signing key was sealed with this pepper. */
export function isSealedWith(pepper: string, kid: string, sealed: Buffer): boolean {
  try {
    unseal(pepper, purpose, kid, sealed);
    return true;
  } catch {
    return false;
  }
}

async function generateKey(pepper: string) {
  const { publicKey, privateKey } = await promisify(generateKeyPair)('rsa', { modulusLength: 2048 });
  const kid = randomUUID();
  return {
    kid,
    public_jwk: JSON.stringify({ ...publicKey.export({ format: 'jwk' }), kid, alg: algorithm, use: 'sig' }),
    private_key: seal(pepper, purpose, kid, privateKey.export({ format: 'der', type: 'pkcs8' })),
  };
}

type ParsedKey = { kid: string; publicJwk: JWK; publicKey: KeyObject; sealed: Buffer; createdAt: Date };

const mayStillSign = (key: ParsedKey | undefined): key is ParsedKey =>
  key !== undefined && Date.now() - key.createdAt.getTime() < signsForMs;

export function openKeys({ db, config }: Context, pepper: string): TokenKeys {
  /** Newest first. */
  let keys: ParsedKey[] = [];
  let signer: { kid: string; key: KeyObject } | undefined;
  let renewing: Promise<void> | undefined;
  let nextRead: Promise<void> | undefined;
  let lastRead = -readEveryMs;

  async function read(): Promise<void> {
    const rows = await db
      .selectFrom('signing_key')
      .selectAll()
      .where('created_at', '>', new Date(Date.now() - verifiesForMs))
      .orderBy('created_at', 'desc')
      .execute();
    keys = rows.map((row) => {
      const publicJwk = row.public_jwk as JWK;
      const publicKey = createPublicKey({ key: publicJwk, format: 'jwk' });
      return { kid: row.kid, publicJwk, publicKey, sealed: row.private_key, createdAt: row.created_at };
    });
  }

  /** A read that begins after this call, and at least `readEveryMs` after the previous one. */
  function readSoon(): Promise<void> {
    nextRead ??= (async () => {
      await sleep(Math.max(0, lastRead + readEveryMs - performance.now()));
      lastRead = performance.now();
      nextRead = undefined;
      await read();
    })();
    return nextRead;
  }

  /** Finds the key that signs now, or makes one; if several processes try, only one makes it. */
  async function renew(): Promise<void> {
    await read();
    if (mayStillSign(keys[0])) return;
    const made = await generateKey(pepper);
    await db.transaction().execute(async (trx) => {
      await sql`select pg_advisory_xact_lock(hashtextextended(${signingKeyLock}, 0))`.execute(trx);
      const now = Date.now();
      const other = await trx
        .selectFrom('signing_key')
        .select('kid')
        .where('created_at', '>', new Date(now - signsForMs))
        .executeTakeFirst();
      if (other) return;
      await trx
        .insertInto('signing_key')
        .values({ ...made, created_at: new Date(now) })
        .execute();
      await trx
        .deleteFrom('signing_key')
        .where('created_at', '<', new Date(now - verifiesForMs))
        .execute();
    });
    await read();
  }

  async function currentKey(): Promise<ParsedKey> {
    if (!mayStillSign(keys[0])) {
      renewing ??= renew().finally(() => {
        renewing = undefined;
      });
      await renewing;
    }
    return keys[0]!;
  }

  async function publicKeyOf({ kid }: { kid?: string | undefined }): Promise<KeyObject> {
    const known = () => keys.find((key) => key.kid === kid);
    if (kid && !known()) await readSoon();
    const key = known();
    if (!key) throw new errors.JWKSNoMatchingKey();
    return key.publicKey;
  }

  return {
    async sign({ personId, mandator, pinId, clientId }) {
      const { kid, sealed } = await currentKey();
      if (signer?.kid !== kid) {
        const der = unsealKey(pepper, kid, sealed);
        signer = { kid, key: createPrivateKey({ key: der, format: 'der', type: 'pkcs8' }) };
      }
      const now = Math.floor(Date.now() / 1000);
      return await new SignJWT({ tenant: mandator, scope: apiScope, pin: pinId, client_id: clientId })
        .setProtectedHeader({ alg: algorithm, typ: type, kid })
        .setIssuer(config.IdpUrl)
        .setAudience(apiScope)
        .setSubject(String(personId))
        .setIssuedAt(now)
        .setExpirationTime(now + tokenLifetimeSeconds)
        .setJti(randomUUID())
        .sign(signer.key);
    },

    async verify(token) {
      try {
        const { payload } = await jwtVerify(token, publicKeyOf, {
          algorithms: [algorithm],
          issuer: config.IdpUrl,
          audience: apiScope,
          typ: type,
          clockTolerance: 5,
        });
        return claimsSchema.parse(payload);
      } catch (error) {
        if (error instanceof errors.JOSEError || error instanceof z.ZodError)
          throw refusedToken(error, `The token is not valid or has expired; ${howToSignIn(config)}`);
        throw error;
      }
    },

    async publicKeys() {
      await currentKey();
      // Anybody may ask for them.
      await readSoon();
      return keys.map(({ publicJwk }) => publicJwk);
    },
  };
}
