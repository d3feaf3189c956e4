/** Zones: which are accepted, the effect of a row with another on others, and the source of the rules. */
import { execFile } from 'node:child_process';
import fs from 'node:fs';
import os from 'node:os';
import path from 'node:path';
import { promisify } from 'node:util';
import { afterAll, beforeAll, describe, expect, test } from '@jest/globals';
import { examineZoneRules } from '../../src/db/zone-rules.ts';
import { applyTenantFile, exportTenant, readTenantFile } from '../../src/tenants/service.ts';
import { ahead } from '../_util/ahead.ts';
import { makeTenant } from '../_util/factories.ts';
import { project } from '../_util/generate.ts';
import { type MasterData, masterData } from '../_util/master-data.ts';
import { pepper } from '../_util/pepper.ts';
import { type Service, startService } from '../_util/service.ts';
import { readZoneRules, rewriteZoneRules } from './_util/icu.ts';

let service: Service;
let admin: MasterData;

beforeAll(async () => {
  service = await startService({ Role: 'Web' });
  admin = masterData(service, await service.signIn(service.tenant, 'Admin'));
});
afterAll(() => service.stop());

/** ICU has these zones for compatibility with Java; PostgreSQL has not. */
const ofNodeAlone = [
  ['SystemV/PST8', ''],
  ['US/Pacific-New', 'America/Los_Angeles'],
];

describe('a zone that Node.js alone knows is refused with the name that both know', () => {
  test.each(ofNodeAlone)('%s over REST and GraphQL', async (TimeZone, current) => {
    const person = { Name: 'P', Email: 'p@school.example', Role: 'User', TimeZone };
    for (const answer of [
      await admin.post('/locations', { Name: 'L', TimeZone }),
      await admin.patch(`/locations/${service.tenant.locationId}`, { TimeZone }),
      await admin.post('/persons', person),
      await admin.patch(`/persons/${service.tenant.person('User').id}`, { TimeZone }),
    ]) {
      expect(answer.status).toBe(422);
      expect(answer.body['Errors']).toMatchObject([{ Field: 'TimeZone', Pointer: '/TimeZone' }]);
      expect(answer.body['detail']).toContain(current && `write ${current}`);
    }
    const { data } = await admin.ask(
      'mutation ($input: CreateLocationInput!) { made: createLocation(input: $input) { ... on ValidationProblem { errors { pointer } } } }',
      { input: { name: 'L', timeZone: TimeZone } },
    );
    expect(data).toEqual({ made: { errors: [{ pointer: '/input/timeZone' }] } });
  });

  test('in a tenant file, with each of its places; nothing is applied', async () => {
    const file = readTenantFile({
      Mandator: 'refused',
      Name: 'R',
      Locations: [{ Name: 'L', TimeZone: 'SystemV/PST8' }],
      Persons: [{ Name: 'P', Email: 'p@refused.example', TimeZone: 'US/Pacific-New', Role: 'User' }],
    });
    const { db } = service.context;
    await expect(applyTenantFile(db, file)).rejects.toMatchObject({
      errors: [{ pointer: '/Locations/0/TimeZone' }, { pointer: '/Persons/0/TimeZone' }],
    });
    const made = await db.selectFrom('mandator').where('code', '=', 'refused').select('id').execute();
    expect(made).toEqual([]);
  });
});

test('a zone that is written in another case is stored under its own name, and an older name stays', async () => {
  const { tenant, context } = service;
  const { db } = context;
  const made = await admin.post('/locations', { Name: 'Z', TimeZone: 'europe/berlin' });
  const person = { Name: 'Z', Email: 'z@school.example', Role: 'User', TimeZone: 'ASIA/CALCUTTA' };
  const answers = [
    made,
    await admin.patch(`/locations/${made.body['Id']}`, { TimeZone: 'utc' }),
    await admin.post('/persons', person),
    await admin.patch(`/persons/${tenant.person('User').id}`, { TimeZone: 'asia/kolkata' }),
  ];
  expect(answers.map(({ body }) => body['TimeZone'])).toEqual([
    'Europe/Berlin',
    'UTC',
    'Asia/Calcutta',
    'Asia/Kolkata',
  ]);
  const { data } = await admin.ask(
    'mutation ($id: ID!, $input: ChangeLocationInput!) { made: changeLocation(id: $id, version: 2, input: $input) { ... on Location { timeZone } } }',
    { id: made.body['Id'], input: { timeZone: 'us/eastern' } },
  );
  expect(data).toEqual({ made: { timeZone: 'US/Eastern' } });
  const file = (zone: string) =>
    readTenantFile({
      Mandator: 'cased',
      Name: 'C',
      Locations: [{ Name: 'L', TimeZone: zone }],
      Persons: [{ Name: 'P', Email: 'p@cased.example', TimeZone: zone, Role: 'Admin' }],
    });
  await applyTenantFile(db, file('europe/ZURICH'));
  expect(await applyTenantFile(db, file('Europe/Zurich'))).toMatchObject({ created: 0, changed: 0 });
  expect(JSON.stringify(await exportTenant(db, 'cased'))).not.toContain('ZURICH');
});

test.each([
  ['US/Pacific-New', 'warning'],
  ['CAT', 'fault'],
  ['Europe/Nowhere', 'fault'],
])(
  'a stored zone %s, with which PostgreSQL or nobody computes, fails no read of it or of others',
  async (zone, level) => {
    const { db } = service.context;
    const { code, locationId, resources } = await makeTenant(db, { code: zone.slice(-3).toLowerCase() });
    const tenant = { ...service.tenant, code, locationId, resources };
    const of = await db.selectFrom('mandator').where('code', '=', code).select('id').executeTakeFirstOrThrow();
    const [elsewhere, strange] = [resources[0]!, resources[1]!];
    const { id: strangeLocation } = await db
      .insertInto('location')
      .values({ mandator_id: of.id, name: 'Strange', time_zone: zone })
      .returning('id')
      .executeTakeFirstOrThrow();
    await db.updateTable('resource').set({ location_id: strangeLocation }).where('id', '=', strange.id).execute();
    const persons = await db
      .selectFrom('person')
      .where('mandator_id', '=', of.id)
      .select(['id', 'email', 'role', 'name'])
      .execute();
    const person = (role: string) => persons.find((one) => one.role === role)!;
    const token = await service.signIn({ ...tenant, mandatorId: of.id, person }, 'Admin');
    const reader = masterData(service, token, code);
    const window = 'From=2026-11-22T00:00:00Z&To=2026-11-24T00:00:00Z';
    const answers = await Promise.all([
      reader.get(`/displays/${elsewhere.id}/snapshot`),
      reader.get(`/displays/${strange.id}/snapshot`),
      reader.get(`/availability?${window}`),
      reader.get(`/opening-hours/all/${strangeLocation}`),
      reader.get(`/bookings?${window}`),
      reader.post('/bookings', {
        ResourceId: strange.id,
        Subject: 'S',
        RecurrenceRule: 'FREQ=DAILY;COUNT=2',
        Start: ahead('2027-02-01T10:00:00Z'),
        End: ahead('2027-02-01T11:00:00Z'),
      }),
    ]);
    expect(answers.map(({ status }) => status)).toEqual([200, 200, 200, 200, 200, 201]);
    const told = (await examineZoneRules(db)).filter(({ text }) => text.includes(`${zone} of`));
    expect(told).toMatchObject([{ level }]);
  },
);

test('doctor tells the release of both, and a file of ICU brings other rules to the same Node.js', async () => {
  const rules = readZoneRules();
  if (!rules) return void process.stderr.write('SKIPPED: the ICU of this Node.js is not in its program.\n');
  const folder = fs.mkdtempSync(path.join(os.tmpdir(), 'roomgate-zones-'));
  fs.writeFileSync(path.join(folder, 'zoneinfo64.res'), rewriteZoneRules(rules, '2099a'));
  await makeTenant(service.context.db, { code: 'nepal', timeZone: 'Asia/Kathmandu' });
  const { stdout } = await promisify(execFile)(
    process.execPath,
    [path.join(project, 'src/main.js'), 'doctor', '--json'],
    {
      env: {
        PATH: process.env['PATH'],
        DatabaseUrl: service.databaseUrl,
        Pepper: pepper,
        LogLevel: 'silent',
        Port: new URL(service.url).port,
        ICU_TIMEZONE_FILES_DIR: folder,
      },
    },
  ).catch((failed: { stdout: string }) => failed);
  fs.rmSync(folder, { recursive: true });
  const [found] = (JSON.parse(stdout) as { Check: string; Level: string; Text: string }[]).filter(
    ({ Check }) => Check === 'Time zones',
  );
  expect(found).toMatchObject({ Level: 'warning' });
  expect(found?.Text).toMatch(/^Node\.js, .* the rules of 2099a; PostgreSQL those of (older than )?20\d\d[a-z]/);
  expect(found?.Text).toContain('Asia/Kathmandu from ');
});
