/** A backup that is restored with another Pepper lets nobody in: the start, /readyz and the doctor say so. */
import { afterAll, beforeAll, beforeEach, describe, expect, test } from '@jest/globals';
import { sql } from 'kysely';
import { ConfigError } from '../../src/config.ts';
import { type Context, openContext } from '../../src/context.ts';
import { claimPepper, hasRightPepper } from '../../src/identity/authenticate.ts';
import { examinePepper } from '../../src/identity/pepper.ts';
import { createPin } from '../../src/identity/service.ts';
import { openLog } from '../../src/log.ts';
import { startServer } from '../../src/server.ts';
import { runCommand } from '../_util/command-line.ts';
import { pepper } from '../_util/pepper.ts';
import { type Service, startService, testConfig } from '../_util/service.ts';

const another = 'another Pepper, which is as long as the first';
const silent = openLog('silent');
let service: Service;
/** A context of the same database, with the other Pepper. */
let foreign: Context & { close(): Promise<void> };

beforeAll(async () => {
  service = await startService({ Role: 'Web' });
  foreign = await openContext(testConfig(service.databaseUrl, { Pepper: another }), silent);
});
afterAll(async () => {
  await foreign.close();
  await service.stop();
});

const forget = () => sql`delete from pepper`.execute(service.context.db);
beforeEach(async () => {
  await forget();
  await sql`delete from signing_key`.execute(service.context.db);
  expect(await claimPepper(service.context)).toBe(true);
});

const readiness = async () => {
  const answer = await fetch(`${service.url}/readyz`);
  return { status: answer.status, ...((await answer.json()) as { Checks: Record<string, string> }) };
};

test.each(['All', 'Web', 'Worker'])('no process starts with another one: Role=%s', async (Role) => {
  const server = await startServer(testConfig(service.databaseUrl, { Pepper: another, Role }), silent);
  const failed = await server.ready.catch((error: unknown) => error);
  const told = await fetch(`${server.context.config.BaseUrl}/readyz`);
  await server.stop();
  expect(failed).toBeInstanceOf(ConfigError);
  expect((failed as Error).message).toMatch(/^Pepper: does not match .*when-the-pepper-is-lost/);
  expect((failed as Error).message).not.toContain(another);
  expect(told.status).toBe(503);
});

test('a running process whose database is exchanged is not ready', async () => {
  expect(await readiness()).toMatchObject({ status: 200, Checks: { Pepper: 'Healthy' } });
  await sql`update pepper set hash = sha256('of another')`.execute(service.context.db);
  expect(await readiness()).toMatchObject({
    status: 503,
    Checks: { Pepper: 'Unhealthy', Database: 'Healthy' },
  });
  await forget();
  expect(await readiness()).toMatchObject({ status: 200, Checks: { Pepper: 'Healthy' } });
});

describe('a database of a release that did not remember it', () => {
  test('is judged by its signing keys', async () => {
    await service.signIn();
    await forget();
    expect(await claimPepper(foreign)).toBe(false);
    expect(await claimPepper(service.context)).toBe(true);
    expect(await claimPepper(foreign)).toBe(false);
  });

  test('without any, the first one that starts counts, even after others were refused', async () => {
    await forget();
    // As /readyz asks, and the doctor.
    expect(await hasRightPepper(foreign)).toBe(true);
    expect(await examinePepper(foreign)).toMatchObject([{ level: 'ok' }]);
    expect(await readiness()).toMatchObject({ status: 200 });
    expect((await sql`select from pepper`.execute(service.context.db)).rows).toEqual([]);
    const answers = await Promise.all([service.context, foreign].map((context) => claimPepper(context)));
    expect(answers.toSorted()).toEqual([false, true]);
  });
});

describe('the command line', () => {
  const countPins = async () => {
    const { rows } = await sql<{ n: number }>`select count(*)::int as n from pin`.execute(service.context.db);
    return rows[0]!.n;
  };

  test('makes no secret that would never be valid', async () => {
    const before = await countPins();
    for (const args of [
      ['pin', 'create', '--mandator', 'school'],
      ['batches', '--mandator', 'school', '--base-url', service.url],
      ['tenants', 'list'],
    ])
      expect(await runCommand(foreign, ...args)).toMatchObject({
        code: 78,
        out: '',
        err: expect.stringMatching(/^Pepper: does not match/),
      });
    expect(await countPins()).toBe(before);
    expect(await runCommand(service.context, 'pin', 'create', '--mandator', 'school')).toMatchObject({ code: 0 });
  });

  test('that only reads does not fix the Pepper; one that makes secrets does', async () => {
    const claims = async () =>
      (await sql<{ n: number }>`select count(*)::int as n from pepper`.execute(service.context.db)).rows[0]!.n;
    const restart = async () => {
      await forget();
      await sql`delete from signing_key`.execute(service.context.db);
    };
    for (const args of [
      ['tenants', 'list'],
      ['persons', 'list'],
      ['pin', 'list'],
      ['parameter', 'get'],
      ['display', 'list'],
      ['mail', 'list'],
    ]) {
      await restart();
      expect(await runCommand(foreign, ...args)).toMatchObject({ code: 0, err: '' });
      expect([...args, await claims()]).toEqual([...args, 0]);
    }
    for (const args of [
      ['pin', 'create'],
      ['batches', '--mandator', 'school', '--base-url', service.url],
    ]) {
      await restart();
      expect(await runCommand(service.context, ...args)).toMatchObject({ code: 0, err: '' });
      expect([...args, await claims()]).toEqual([...args, 1]);
      expect(await runCommand(foreign, 'tenants', 'list')).toMatchObject({ code: 78 });
    }
  });

  test('the doctor names it, and what to do', async () => {
    const secrets = async (context: Context) => {
      const { code, out } = await runCommand(context, 'doctor', '--json');
      const all = JSON.parse(out) as { Check: string; Level: string; Text: string; Remedy: string }[];
      return { code, ...all.find(({ Check }) => Check === 'Secrets')! };
    };
    expect(await secrets(foreign)).toMatchObject({
      code: 1,
      Level: 'fault',
      Text: expect.stringContaining('no PIN, token, display'),
      Remedy: expect.stringMatching(/^Set Pepper to that of/),
    });
    const right = { Level: 'ok', Text: 'the Pepper is the one of this database' };
    expect(await secrets(service.context)).toMatchObject(right);
    await forget();
    await sql`delete from signing_key`.execute(service.context.db);
    for (const context of [service.context, foreign])
      expect(await secrets(context)).toMatchObject({
        Level: 'ok',
        Text: expect.stringContaining('the next start will set it'),
      });
    expect(await runCommand(service.context, 'pin', 'create', '--mandator', 'school')).toMatchObject({ code: 0 });
    expect(await secrets(service.context)).toMatchObject(right);
  });
});

test('when it is lost, the database forgets it, and a new PIN counts', async () => {
  const { context, tenant } = service;
  await service.signIn();
  await forget();
  await sql`delete from signing_key`.execute(context.db);
  const server = await startServer(testConfig(service.databaseUrl, { Pepper: another, Role: 'Web' }), silent);
  await server.ready;
  const holder = { mandatorId: tenant.mandatorId, personId: tenant.person('User').id };
  const ask = async (apikey: string) => {
    const form = { grant_type: 'apikey', scope: 'service_api', client_id: 'timetable-import', apikey };
    const address = `${server.context.config.BaseUrl}/connect/token`;
    return (await fetch(address, { method: 'POST', body: new URLSearchParams(form) })).status;
  };
  const [old, made] = [await createPin(context.db, pepper, holder), await createPin(context.db, another, holder)];
  expect([await ask(made.pin), await ask(old.pin)]).toEqual([200, 400]);
  await server.stop();
});
