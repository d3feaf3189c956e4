import { createHash } from 'node:crypto';
import { afterAll, beforeAll, describe, expect, test } from '@jest/globals';
import { sql } from 'kysely';
import { CommandFailed } from '../../src/cli/command.ts';
import type { Database } from '../../src/db/database.ts';
import { Conflict, InvalidInput, NotFound } from '../../src/errors.ts';
import { addCommands } from '../../src/identity/cli.ts';
import { createPin, listPins, revokePin } from '../../src/identity/service.ts';
import { runOne } from '../_util/command-line.ts';
import { makeTenant } from '../_util/factories.ts';
import { pepper } from '../_util/pepper.ts';
import { cloneDatabase } from '../_util/postgres.ts';
import { type IdentityServer, startIdentity } from './_util/identity.ts';

let database: Awaited<ReturnType<typeof cloneDatabase>>;
let server: IdentityServer;
let db: Database;
let tenant: Awaited<ReturnType<typeof makeTenant>>;
let stranger: Awaited<ReturnType<typeof makeTenant>>;

beforeAll(async () => {
  database = await cloneDatabase();
  server = await startIdentity(database.url);
  ({ db } = server.context);
  tenant = await makeTenant(db);
  stranger = await makeTenant(db, { code: 'stranger' });
});

afterAll(async () => {
  await server.stop();
  await database.drop();
});

const user = () => ({ mandatorId: tenant.mandatorId, personId: tenant.person('User').id });

describe('createPin', () => {
  test('makes 20 characters of Crockford base32 in groups, never the same', async () => {
    const made = await Promise.all(Array.from({ length: 50 }, () => createPin(db, pepper, user())));
    for (const { pin } of made) expect(pin).toMatch(/^[0-9A-HJKMNP-TV-Z]{5}(-[0-9A-HJKMNP-TV-Z]{5}){3}$/);
    expect(new Set(made.map(({ pin }) => pin)).size).toBe(50);
    // A letter of 32 is missing from 1,000 with a probability of 10^-12.
    expect(new Set(made.flatMap(({ pin }) => [...pin.replaceAll('-', '')])).size).toBe(32);
  });

  test('leaves nothing in the database from which it could be read or recomputed', async () => {
    const { pin, pinId } = await createPin(db, pepper, { ...user(), label: 'canary' });
    const { rows } = await sql<{ dump: string }>`
      select string_agg(pin::text, ' ') || (select coalesce(string_agg(pin_failure::text, ' '), '') from pin_failure) as dump
      from pin`.execute(db);
    const dump = rows[0]!.dump.toUpperCase();
    expect(dump).toContain('CANARY');
    const written = [pin, pin.replaceAll('-', '')];
    const hashes = written.flatMap((text) =>
      ['sha256', 'sha1', 'md5'].map((name) => createHash(name).update(text).digest('hex').toUpperCase()),
    );
    for (const clear of [...written, ...hashes]) expect(dump).not.toContain(clear);

    // The same PIN under another pepper is another hash: as unique as any, and unknown to the first.
    const second = await createPin(db, `${pepper}!`, { ...user(), pin });
    const stored = await db.selectFrom('pin').where('id', 'in', [pinId, second.pinId]).select('hash').execute();
    expect(stored[0]!.hash.equals(stored[1]!.hash)).toBe(false);
    const elsewhere = await startIdentity(database.url, {
      Pepper: 'a third pepper with more than 32 characters',
    });
    try {
      expect(await (await elsewhere.requestToken(pin)).json()).toMatchObject({ error: 'invalid_grant' });
    } finally {
      await elsewhere.stop();
    }
  });

  test('takes a fixed PIN, however it is written later', async () => {
    const { pin } = await createPin(db, pepper, { ...user(), pin: 'Demo-Pin 2026-Olli' });
    expect(pin).toBe('Demo-Pin 2026-Olli');
    expect((await server.requestToken('DEM0P1N2026 0111')).status).toBe(200);
  });

  test('refuses a fixed PIN of fewer than 8 characters, dashes and spaces not counted', async () => {
    await expect(createPin(db, pepper, { ...user(), pin: 'abc-def 7' })).rejects.toThrow(InvalidInput);
  });

  test('refuses a PIN that is in use, by whichever tenant', async () => {
    const { pin } = await createPin(db, pepper, user());
    const elsewhere = { mandatorId: stranger.mandatorId, personId: stranger.person('User').id };
    await expect(createPin(db, pepper, { ...elsewhere, pin })).rejects.toThrow(Conflict);
  });

  test('knows no person of another tenant', async () => {
    const mixed = { mandatorId: tenant.mandatorId, personId: stranger.person('User').id };
    await expect(createPin(db, pepper, mixed)).rejects.toThrow(NotFound);
  });
});

describe('listPins', () => {
  test('lists what is known of them, of one person or of the tenant', async () => {
    const of = await makeTenant(db, { code: 'listed' });
    const [admin, display] = [of.person('Admin').id, of.person('Display').id];
    const expiresAt = new Date(Date.now() + 60_000);
    const first = await createPin(db, pepper, {
      mandatorId: of.mandatorId,
      personId: admin,
      label: 'one',
      expiresAt,
    });
    const second = await createPin(db, pepper, { mandatorId: of.mandatorId, personId: display });
    await revokePin(db, of.mandatorId, second.pinId);
    expect(await listPins(db, of.mandatorId)).toEqual([
      {
        pinId: first.pinId,
        personId: admin,
        label: 'one',
        createdAt: expect.any(Date),
        expiresAt,
        revokedAt: null,
        lastUsedAt: null,
      },
      expect.objectContaining({ pinId: second.pinId, personId: display, revokedAt: expect.any(Date) }),
    ]);
    expect(await listPins(db, of.mandatorId, admin)).toHaveLength(1);
  });
});

describe('revokePin', () => {
  test('again changes nothing', async () => {
    const { pinId } = await createPin(db, pepper, user());
    const revokedAt = () => db.selectFrom('pin').where('id', '=', pinId).select('revoked_at').executeTakeFirst();
    await revokePin(db, tenant.mandatorId, pinId);
    const first = await revokedAt();
    await revokePin(db, tenant.mandatorId, pinId);
    expect(await revokedAt()).toEqual(first);
  });

  test('knows no PIN of another tenant or person, and leaves it valid', async () => {
    const { pin, pinId } = await createPin(db, pepper, user());
    await expect(revokePin(db, stranger.mandatorId, pinId)).rejects.toThrow(NotFound);
    await expect(revokePin(db, tenant.mandatorId, pinId, tenant.person('Admin').id)).rejects.toThrow(NotFound);
    await expect(revokePin(db, tenant.mandatorId, 2_000_000_000)).rejects.toThrow(NotFound);
    expect((await server.requestToken(pin)).status).toBe(200);
  });
});

describe('roomgate pin', () => {
  const run = (...args: string[]) => runOne(addCommands, server.context, 'pin', ...args);
  const person = ['--mandator', 'School', '--person', 'USER@school.example'];

  test('create prints a PIN that works; list does not; revoke ends it', async () => {
    const { text, record } = await run('create', ...person, '--label', 'timetable');
    const { Pin, PinId, ...rest } = record as { Pin: string; PinId: number };
    expect(rest).toEqual({ PersonId: tenant.person('User').id, Counts: true });
    expect(text).toContain(Pin);
    expect((await server.requestToken(Pin)).status).toBe(200);

    const list = await run('list', ...person);
    expect(list.record).toContainEqual({
      PinId,
      PersonId: tenant.person('User').id,
      Label: 'timetable',
      CreatedAt: expect.any(Date),
      ExpiresAt: null,
      RevokedAt: null,
      LastUsedAt: expect.any(Date),
    });
    expect(list.text).toMatch(new RegExp(`^${PinId} +timetable `, 'm'));
    expect(JSON.stringify(list)).not.toContain(Pin);

    await run('revoke', ...person, String(PinId));
    expect((await server.requestToken(Pin)).status).toBe(400);
  });

  test('create and revoke are acts of the operator in the audit, without the PIN', async () => {
    const { db } = server.context;
    await db.deleteFrom('audit').execute();
    const { Pin, PinId } = (await run('create', ...person, '--label', 'timetable')).record as {
      Pin: string;
      PinId: number;
    };
    await run('revoke', ...person, String(PinId));
    const acts = await db.selectFrom('audit').selectAll().orderBy('id').execute();
    const act = { person_id: null, subject: 'Pin', subject_id: PinId, about_person_id: tenant.person('User').id };
    expect(acts).toMatchObject([
      { ...act, action: 'create PIN' },
      { ...act, action: 'revoke PIN', changes: [] },
    ]);
    const text = JSON.stringify(acts);
    for (const hidden of [Pin, 'timetable']) expect(text).not.toContain(hidden);
  });

  test('names what is wrong', async () => {
    await expect(run('create', '--mandator', 'school', '--person', 'no@body')).rejects.toThrow(NotFound);
    await expect(run('revoke', ...person, 'x')).rejects.toThrow(CommandFailed);
    await expect(run('revoke', ...person, '999999999')).rejects.toThrow(NotFound);
  });
});
