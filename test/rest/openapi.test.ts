import fs from 'node:fs';
import { afterAll, beforeAll, describe, expect, jest, test } from '@jest/globals';
import type { Router } from 'express';
import { sql } from 'kysely';
import { createApp } from '../../src/app.ts';
import { cursorAt } from '../../src/changes/service.ts';
import { ConfigError } from '../../src/config.ts';
import { createPin } from '../../src/identity/service.ts';
import { ahead } from '../_util/ahead.ts';
import { brokenExamples, type Contract, documentFile, openContract } from '../_util/contract.ts';
import { pairDevice } from '../_util/displays.ts';
import { makeTenant } from '../_util/factories.ts';
import { hold, releaseAll } from '../_util/hold.ts';
import { lessonClient } from '../_util/lessons.ts';
import { masterData } from '../_util/master-data.ts';
import { ewsBody, stateChange } from '../_util/notifications.ts';
import { pepper } from '../_util/pepper.ts';
import { cloneDatabase } from '../_util/postgres.ts';
import { type Service, startService, testConfig } from '../_util/service.ts';
import { openWire } from '../_util/wire.ts';
import { makeCalendar, sparing, waiting } from '../mail/_util/rows.ts';
import { makeWebhook } from '../webhooks/_util/rows.ts';

type Operation = {
  operationId: string;
  summary?: string;
  description?: string;
  tags?: string[];
  parameters?: { name?: string; in?: string; required?: boolean; schema?: { example?: string } }[];
  requestBody?: { content: Record<string, { example?: unknown }> };
  responses: Record<string, { content?: object }>;
  security?: object[];
};
type Document = { servers: object[]; paths: Record<string, Record<string, Operation>> };

const committed = JSON.parse(fs.readFileSync(documentFile, 'utf8')) as Document;
const requestsPerMinute = 1000;
const webhooks = ['/api/webhooks/mailserver', '/WebServices/SyncNotification.svc'];

let database: Awaited<ReturnType<typeof cloneDatabase>>;
let wire: Awaited<ReturnType<typeof openWire>>;
let service: Service;
let contract: Contract;
const tokens = { admin: '', user: '', display: '', device: '', spent: '', fresh: '' };
let pin = '';
let consolePin = '';
let batchId = '';
let pinId = 0;
let tokenId = 0;
let timetableTokenId = 0;
let closedId = 0;
/** As whom a display acts. */
let devicePersonId = 0;
/** Of a resource that is not active. */
const closedResourceId = 4;
const mailbox = 'hs101@school.example';
/** Those of devices: of the example, and one more. */
const codes = ['K7QM4D2X', 'K7QM4D2Y'];
/**
 * Of the record that an operation reads or changes: by the segment of the address before `{id}`, and by the operation where it
 * needs one of its own, which it uses up. The booking of all others is of the mail server, which alone changes it.
 */
const ids: Record<string, number> = {};
/** The queries of lists, so that they find something. */
const questions: Record<string, string> = {
  getTimetable: 'ResourceId=1',
  // Else from the present moment on, which no answer keeps.
  getAvailabilityFree: ahead('From=2027-03-02T08:00:00Z'),
};

/** Every operation below a tenant, with an address that exists. */
const operations = Object.entries(committed.paths)
  .filter(([template]) => template.startsWith('/{mandator}/api/'))
  .flatMap(([template, item]) =>
    Object.entries(item).map(([method, operation]) => ({
      name: operation.operationId,
      method: method.toUpperCase(),
      template,
      example: operation.requestBody?.content['application/json']?.example,
      statuses: Object.keys(operation.responses).map(Number),
      isAnonymous: operation.security?.length === 0,
      isJson: !operation.responses['200']?.content || 'application/json' in operation.responses['200'].content,
      /** Query parameters that are required. */
      query: (operation.parameters ?? [])
        .filter((one) => one.in === 'query' && one.required)
        .map(({ name, schema }) => `${name}=${schema?.example}`),
    })),
  );
const answering = (status: number) => operations.filter(({ statuses }) => statuses.includes(status));
const readers = operations.filter(({ method }) => method === 'GET');
const jsonReaders = readers.filter(({ isJson }) => isJson);
const writers = operations.filter(({ example }) => example !== undefined);
const batchWriters = answering(202);
const isOfBatches = ({ template }: { template: string }) => template.includes('/v2.0/');
const guarded = operations.filter(({ isAnonymous }) => !isAnonymous);
/** Operations that one request alone can bring to a 409. */
const conflicting = answering(409).filter((operation) => !batchWriters.includes(operation));

const nounOf = (template: string) => /([\w-]+)\/\{id\}/.exec(template)?.[1] ?? '';

const addressOf = (template: string, { mandator = 'school', id = ids[nounOf(template)] }: Change = {}) => {
  const { locationId, resources } = service.tenant;
  return template
    .replace('{mandator}', mandator)
    .replace('{batchId}', batchId)
    .replace('{pinId}', String(pinId))
    .replace('{tokenId}', String(template.includes('/timetable/') ? timetableTokenId : tokenId))
    .replace('{JobID}/{LektionId}', 'J-1/L-1')
    .replace('{locationId}', String(locationId))
    .replace('{resourceId}', String(resources[0]!.id))
    .replace('{id}', String(id));
};

const bearer = (text: string) => ({ Authorization: `Bearer ${text}` });

type Change = {
  /** Of another record than that of the operation. */
  id?: number | undefined;
  credential?: Record<string, string>;
  headers?: Record<string, string>;
  body?: string;
  mandator?: string;
  query?: string;
};

/** The token of an operation's default caller. */
function tokenOf(method: string, template: string): string {
  if (method === 'POST' && template.endsWith('/room-problems')) return tokens.device;
  if (template.includes('/displays/self') || template.endsWith('/undo')) return tokens.device;
  return isOfBatches({ template }) ? tokens.user : tokens.admin;
}

/** A valid call of an operation with its own example, except for `change`. */
function call(
  { name, method, template, example, statuses, query }: (typeof operations)[number],
  change: Change = {},
  options: { wrong?: boolean } = {},
): Promise<Response> {
  const body = change.body ?? (example === undefined ? undefined : JSON.stringify(example));
  const headers = {
    ...(change.credential ?? bearer(tokenOf(method, template))),
    ...(body === undefined ? {} : { 'Content-Type': 'application/json' }),
    ...(statuses.includes(412) || statuses.includes(428) ? { 'If-Match': '*' } : {}),
    ...change.headers,
  };
  const asked = [...query, questions[name], change.query].filter(Boolean).join('&');
  const address = `${addressOf(template, { id: ids[name], ...change })}${asked && '?'}${asked}`;
  return contract.fetch(address, { method, headers, ...(body === undefined ? {} : { body }) }, options);
}

/** As if who asks had made all requests of a minute. */
async function useUp(ask: () => Promise<unknown>): Promise<void> {
  const { rates } = service.context;
  const counting = jest.spyOn(rates, 'count');
  await ask();
  const [key] = counting.mock.calls.find(([name]) => name.startsWith('requests '))!;
  counting.mockRestore();
  rates.count(key, requestsPerMinute);
}

beforeAll(async () => {
  database = await cloneDatabase();
  wire = await openWire(database.url);
  service = await startService(
    {
      DatabaseUrl: wire.url,
      SwaggerEnabled: 'true',
      LegacyApiKeyEnabled: 'true',
      Limits__JobBodyBytes: '3000',
      Limits__BodyBytes: '3000',
      Limits__RequestsPerMinute: String(requestsPerMinute),
      ...sparing(mailbox),
    },
    ['HS 101', 'HS 102', 'HS 104', 'Closed'],
  );
  contract = openContract(service.url);
  const { tenant, context } = service;
  tokens.display = await service.signIn(tenant, 'Display');
  for (const name of ['admin', 'fresh'] as const) tokens[name] = await service.signIn(tenant, 'Admin');
  // Their person's requests are used up, so it is none of the others.
  tokens.spent = await service.signIn(tenant, 'Importer');
  tokens.user = await service.signIn();
  const { mandatorId } = tenant;
  ({ pin } = await createPin(context.db, pepper, { mandatorId, personId: tenant.person('User').id }));
  ({ pin: consolePin } = await createPin(context.db, pepper, { mandatorId, personId: tenant.person('Importer').id }));
  ({ pinId } = await createPin(context.db, pepper, { mandatorId, personId: tenant.person('Admin').id }));
  // The user has as many as one may have.
  const tokensOf = async (resource_id: number | null, mark: number) => {
    const token = (role: string, last: number) => ({
      mandator_id: mandatorId,
      resource_id,
      person_id: tenant.person(role).id,
      hash: Buffer.from([mark, last]),
    });
    const most = Array.from({ length: 20 }, (_each, index) => token('User', index));
    const insert = context.db.insertInto('calendar_token').values([token('Admin', 20), ...most]);
    return (await insert.returning('id').execute())[0]!.id;
  };
  tokenId = await tokensOf(tenant.resources[0]!.id, 1);
  timetableTokenId = await tokensOf(null, 2);
  await makeMasterData();
  await makeBookings();
  await makeDisplays();
  await makeTenant(context.db, { code: 'other' });
});
afterAll(async () => {
  await releaseAll();
  await service?.stop();
  await wire.close();
  await database.drop();
});

/** The groups that the examples name, with ids from 1 on, and what is changed, retired, erased and deleted. */
async function makeMasterData(): Promise<void> {
  const { tenant, context } = service;
  const { mandatorId, locationId, resources, person } = tenant;
  const [resource, retired] = resources;
  Object.assign(ids, { locations: locationId, persons: person('Admin').id, resources: resource!.id });
  Object.assign(ids, { 'opening-hours': resource!.id, postResourcesByIdRetirement: retired!.id });
  const named = (names: string[]) => names.map((name) => ({ mandator_id: mandatorId, name }));
  const groups = named(['Physics', 'Chemistry', 'Teachers', 'Deans', 'Guests', 'deleted']);
  const groupIds = await context.db.insertInto('person_group').values(groups).returning('id').execute();
  Object.assign(ids, { groups: groupIds[0]!.id, deleteGroupsById: groupIds[5]!.id });
  const policies = named(['changed', 'deleted']);
  const policyIds = await context.db.insertInto('policy').values(policies).returning('id').execute();
  Object.assign(ids, { policies: policyIds[0]!.id, deletePoliciesById: policyIds[1]!.id });
  await sql`
    update resource set active = false, policy_id = ${policyIds[0]!.id} where id = ${closedResourceId}`.execute(
    context.db,
  );
  const calendars = named(['changed', 'deleted']).map((one) => ({ ...one, closes: false }));
  const calendarIds = await context.db.insertInto('holiday_calendar').values(calendars).returning('id').execute();
  Object.assign(ids, { 'holiday-calendars': calendarIds[0]!.id, deleteHolidayCalendarsById: calendarIds[1]!.id });
  await sql`
    insert into holiday (mandator_id, calendar_id, name, from_date, to_date)
    values (${mandatorId}, ${calendarIds[0]!.id}, 'Ferien', current_date, current_date + 14)`.execute(context.db);
  const profiles = named(['changed', 'deleted']).map((one) => ({ ...one, reading: '{}' }));
  const profileIds = await context.db.insertInto('timetable_profile').values(profiles).returning('id').execute();
  Object.assign(ids, { 'timetable-profiles': profileIds[0]!.id, deleteTimetableProfilesById: profileIds[1]!.id });
  ids['webhooks'] = await makeWebhook(context.db, mandatorId, 'changed');
  ids['deleteWebhooksById'] = await makeWebhook(context.db, mandatorId, 'deleted');
  const place = { mandatorId, resourceId: resource!.id };
  ids['mail-subscriptions'] = await makeCalendar(context.db, place, { kind: 'Graph', mailbox }, waiting);
  const gone = { name: 'Gone', email: 'gone@school.example', time_zone: 'UTC', role: 'User' };
  const insert = context.db.insertInto('person').values({ mandator_id: mandatorId, ...gone });
  ids['postPersonsByIdErasure'] = (await insert.returning('id').executeTakeFirstOrThrow()).id;
}

/** One of the present moment, and on each of the next days one more. */
async function makeBookings(): Promise<void> {
  const { tenant, context } = service;
  const names = ['postBookingsByIdCheckIn', 'patchBookingsById', 'deleteBookingsById'];
  names.push('postBookingsByIdRelease', 'postBookingsByIdExtend', 'postBookingsByIdUndo', 'postBookingsByIdDecide');
  names.push('bookings');
  const { rows } = await sql<{ id: number }>`
    insert into booking (mandator_id, resource_id, kind, status, approval, origin, subject, occupied, check_in_from, check_in_until)
    select ${tenant.mandatorId}, ${tenant.resources[0]!.id}, case name when 'bookings' then 'MailItem' else 'Booking' end,
      case name when 'postBookingsByIdDecide' then 'Tentative' else 'Confirmed' end,
      case name when 'postBookingsByIdDecide' then 'Requested' end, 'Api', name, tstzrange(start, start + interval '10 hours'),
      case day when 1 then start end, case day when 1 then start + interval '10 hours' end
    from unnest(${names}::text[]) with ordinality as booking(name, day),
      lateral (select now() - interval '1 minute' + interval '1 day' * (day - 1) as start) as slot
    order by day returning id`.execute(context.db);
  for (const [index, name] of names.entries()) ids[name] = rows[index]!.id;
}

/** One to be changed and revoked, one that calls, and a code for each that shall come. */
async function makeDisplays(): Promise<void> {
  const { tenant, context } = service;
  const admin = masterData(service, tokens.admin);
  ids['displays'] = (await pairDevice(service, admin)).id;
  const device = await pairDevice(service, admin, { MayBook: true });
  tokens.device = device.token;
  devicePersonId = device.personId;
  const reported = { key: 'one', kind: 'Light', reported_at: new Date() };
  const at = { mandator_id: tenant.mandatorId, resource_id: tenant.resources[0]!.id, display_id: device.id };
  const problem = context.db
    .insertInto('room_problem')
    .values({ ...at, ...reported })
    .returning('id');
  ids['room-problems'] = (await problem.executeTakeFirstOrThrow()).id;
  // As if it had extended this one just when it is undone.
  await sql`
    insert into booking_undo (mandator_id, booking_id, person_id, version, action, occupied, at)
    select mandator_id, id, ${device.personId}, version, 'Extended', occupied, now() + interval '1 hour' from booking
    where subject = 'postBookingsByIdUndo'`.execute(context.db);
  // Heard of, so that no answer changes by itself meanwhile.
  await sql`update display set heard_at = now(), due_at = now() + interval '1 hour'`.execute(context.db);
  await sql`
    insert into display_pairing (code, mandator, token_hash, expires_at)
    select code, 'school', code::bytea, now() + interval '10 minutes' from unnest(${codes}::text[]) as code`.execute(
    context.db,
  );
  const closed = await sql<{ id: number }>`
    insert into location (mandator_id, name, time_zone, active) values (${tenant.mandatorId}, 'Closed', 'UTC', false)
    returning id`.execute(context.db);
  closedId = closed.rows[0]!.id;
}

describe('the committed document', () => {
  test('is what the server serves, but for the address', async () => {
    const served = (await (await fetch(`${service.url}/swagger/openapi.json`)).json()) as Document;
    expect(served.servers).toMatchObject([{ url: service.url }]);
    expect({ ...served, servers: [] }).toEqual({ ...committed, servers: [] });
  });

  test('is written once, and not for each reader: it has an ETag, and is compressed', async () => {
    const address = `${service.url}/swagger/openapi.json`;
    const first = await fetch(address);
    expect([first.headers.get('content-type'), first.headers.get('content-encoding')]).toEqual([
      'application/json; charset=utf-8',
      'gzip',
    ]);
    await first.arrayBuffer();
    const again = await fetch(address, { headers: { 'If-None-Match': String(first.headers.get('etag')) } });
    expect(again.status).toBe(304);
  });

  test('promises no numbers of jobs and lessons but those that every server keeps to', () => {
    const found = new Map<string, number>();
    const collect = (value: unknown): void => {
      if (value === null || typeof value !== 'object') return;
      const { description, maxItems } = value as { description?: unknown; maxItems?: number };
      const [, setting] = /the setting (\w+) says/.exec(String(description)) ?? [];
      if (setting && maxItems) found.set(setting, maxItems);
      Object.values(value).forEach(collect);
    };
    collect(committed);
    expect([...found.keys()].sort()).toEqual(['JobsPerBatch', 'LessonsPerBatch']);
    for (const [setting, most] of found) {
      const set = (value: number) => testConfig(database.url, { [`Limits__${setting}`]: String(value) });
      expect(set(most).Limits).toMatchObject({ [setting]: most });
      expect(() => set(most + 1)).toThrow(ConfigError);
    }
  });

  test('names every route of the program', async () => {
    const health = { pendingMigrations: async () => [], pepper: async () => true, stopping: () => false };
    const app = createApp(service.context, health);
    const mounted = new Set<string>();
    const collect = ({ stack }: Router) => {
      for (const { route, handle } of stack) {
        if (route) for (const address of [route.path].flat()) mounted.add(address.replaceAll(/:(\w+)/g, '{$1}'));
        else if ('stack' in handle) collect(handle as unknown as Router);
      }
    };
    collect(app.express.router as unknown as Router);
    await app.close();
    const elsewhere =
      /^(\/swagger.*|\/metrics|\/assets\/.*|\/\{mandator\}\/(graphql(\/schema\.graphql)?|board\/\{id\}|door-sign\/\{id\}(\/phone\.svg)?|logo|console.*))$/;
    expect([...mounted].filter((address) => !elsewhere.test(address)).sort()).toEqual(
      Object.keys(committed.paths).sort(),
    );
  });

  test('gives examples that are what it describes', () => {
    expect(brokenExamples()).toEqual([]);
  });

  test('gives every operation a name of its own, a summary, a description and a tag', () => {
    const all = Object.values(committed.paths).flatMap((item) =>
      Object.entries(item).flatMap(([method, operation]) => (method === 'servers' ? [] : [operation])),
    );
    expect(new Set(all.map(({ operationId }) => operationId)).size).toBe(all.length);
    for (const { summary, description, tags } of all)
      expect([Boolean(summary), Boolean(description), tags?.length]).toEqual([true, true, 1]);
  });
});

describe('answers keep to the document', () => {
  const lesson = {
    LektionId: 'L-1',
    // Without an offset: a warning.
    Beginn: ahead('2027-03-01T08:00:00'),
    Ende: ahead('2027-03-01T09:00:00Z'),
    RessourceName: 'HS 101',
    Klassen: ['1A'],
  };

  test('200 for a right PIN at the token endpoint; 400, 401, 413 and 429 for wrong requests', async () => {
    const form = { grant_type: 'apikey', scope: 'service_api', client_id: 'timetable-import', apikey: pin };
    for (const [path, others] of [
      ['/connect/token', ''],
      ['/school/connect/token', '/other/connect/token'],
    ] as const) {
      const ask = async (parameters: Record<string, string>, wrong = false, at: string = path) => {
        const body = new URLSearchParams({ ...form, ...parameters });
        return (await contract.fetch(at, { method: 'POST', body }, { wrong })).status;
      };
      expect(await ask({})).toBe(200);
      if (others) expect(await ask({}, false, others)).toBe(400);
      expect(await ask({ apikey: 'AAAAA-AAAAA' })).toBe(400);
      expect(await ask({ client_id: 'nobody' })).toBe(401);
      expect(await ask({ client_secret: 'x'.repeat(20_000) }, true)).toBe(413);
    }
    for (const path of ['/connect/token', '/school/connect/token']) {
      const body = new URLSearchParams({ ...form, apikey: 'AAAAA-AAAAA' });
      const asks = Array.from({ length: 10 }, () => contract.fetch(path, { method: 'POST', body }));
      expect((await Promise.all(asks)).map(({ status }) => status)).toContain(429);
    }
  });

  test('200 for discovery, keys and health, anonymously', async () => {
    for (const address of [
      '/.well-known/openid-configuration',
      '/.well-known/openid-configuration/jwks',
      '/school/.well-known/openid-configuration',
      '/school/.well-known/openid-configuration/jwks',
      '/healthz',
      '/readyz',
      '/',
      '/school',
    ])
      expect((await contract.fetch(address)).status).toBe(200);
  });

  test('304 from the entries for the ETag of their last answer, in either casing', async () => {
    for (const address of ['/', '/school'])
      for (const headers of [{}, { 'X-JsonPropertyFormat': 'camel' }]) {
        const etag = (await contract.fetch(address, { headers })).headers.get('etag') ?? '';
        const again = await contract.fetch(address, { headers: { ...headers, 'If-None-Match': etag } });
        expect([address, headers, again.status]).toEqual([address, headers, 304]);
      }
  });

  const own = { 'X-Roomgate-Console': '1', 'Content-Type': 'application/json' };
  const session = (
    method: string,
    init: { headers?: Record<string, string>; body?: string; mandator?: string; query?: string } = {},
  ) => {
    const { headers = own, body = method === 'POST' ? JSON.stringify({ Pin: consolePin }) : undefined } = init;
    const sent = { method, headers, ...(body !== undefined && { body }) };
    return contract.fetch(`/${init.mandator ?? 'school'}/session${init.query ?? ''}`, sent, { wrong: true });
  };
  const cookieFrom = (answer: Response) => answer.headers.getSetCookie()[0]?.split(';', 1)[0] ?? '';

  test('a session of the console begins, is described and ends; wrong calls are answered as documented', async () => {
    expect((await contract.fetch('/school/session/options')).status).toBe(200);
    for (const address of ['/no%20name/session/options', '/school/session/start', '/school/session/return'])
      expect((await contract.fetch(address, {}, { wrong: true })).status).toBe(404);
    const begun = await session('POST');
    expect(begun.status).toBe(201);
    const cookie = cookieFrom(begun);
    const statusOf = async (...call: Parameters<typeof session>) => (await session(...call)).status;
    expect(await statusOf('GET', { headers: { ...own, cookie } })).toBe(200);
    expect(await statusOf('GET')).toBe(401);
    expect(await statusOf('GET', { headers: { ...own, cookie }, mandator: 'other' })).toBe(404);
    for (const method of ['GET', 'POST', 'DELETE']) {
      expect([method, await statusOf(method, { headers: {} })]).toEqual([method, 403]);
      expect([method, await statusOf(method, { mandator: 'no%20name' })]).toEqual([method, 404]);
    }
    for (const [body, status] of [
      ['{', 400],
      ['{"Pin":"AAAAA-AAAAA"}', 401],
      [JSON.stringify({ Pin: 'x'.repeat(5_000) }), 413],
      ['{"Nonsense":1}', 422],
    ] as const)
      expect([body.slice(0, 20), await statusOf('POST', { body })]).toEqual([body.slice(0, 20), status]);
    expect(await statusOf('POST', { headers: { ...own, 'Content-Encoding': 'br' } })).toBe(415);
    const wrong = Array.from({ length: 10 }, () => statusOf('POST', { body: '{"Pin":"AAAAA-AAAAA"}' }));
    expect(await Promise.all(wrong)).toContain(429);
    const headers = { ...own, cookie };
    await useUp(() => fetch(`${service.url}/school/session`, { headers }));
    expect(await statusOf('GET', { headers })).toBe(429);
    expect(await statusOf('DELETE', { query: '?Everywhere=yes' })).toBe(400);
    expect(await statusOf('DELETE', { query: '?Everywhere=true' })).toBe(401);
    expect(await statusOf('DELETE', { headers: { ...own, cookie } })).toBe(204);
  });

  test.each(webhooks)(
    '200, 202 and 400 for what mail servers send to %s, 413 and 415 for what they may not',
    async (path) => {
      const send = async (headers: Record<string, string>, body: string, wrong = false) =>
        (await contract.fetch(path, { method: 'POST', headers, body }, { wrong })).status;
      const xml = { 'Content-Type': 'text/xml' };
      const json = { 'Content-Type': 'application/json' };
      // Not Graph, whose 202 is empty: a document cannot say that an answer may have a body.
      expect(await send(xml, ewsBody())).toBe(200);
      expect(await send(json, stateChange({ aula: { CalendarEvent: 's' } }))).toBe(202);
      expect(await send(xml, '<x/>')).toBe(400);
      expect(await send(xml, ' '.repeat(1_048_577), true)).toBe(413);
      expect(await send({ ...xml, 'Content-Encoding': 'br' }, ewsBody())).toBe(415);
    },
  );

  test('200 or 201 for the example of each change of a record', async () => {
    for (const operation of operations.filter((one) => one.method !== 'GET' && !isOfBatches(one))) {
      const answer = await call(operation, { headers: { 'Idempotency-Key': `example-${operation.name}` } });
      const done = operation.statuses.find((status) => status < 300);
      expect([operation.name, answer.status]).toEqual([operation.name, done]);
      expect(answer.headers.get('cache-control')).toBe('no-store');
    }
  });

  test('202 for the example of each writer; its batch can be read at Location', async () => {
    for (const writer of batchWriters) {
      const answer = await call(writer, { headers: { 'Idempotency-Key': `example-${writer.name}` } });
      expect([writer.name, answer.status]).toEqual([writer.name, 202]);
      const { BatchId } = (await answer.json()) as { BatchId: string };
      expect(answer.headers.get('location')).toMatch(new RegExp(`/jobs/batches/${BatchId}$`));
      await lessonClient(service, tokens.user).end(BatchId);
    }
  });

  test('200 with lists and records that are not empty', async () => {
    const client = lessonClient(service, tokens.user);
    const good = await client.importJobs([{ JobID: 'J-1', LektionList: [lesson] }]);
    expect([good.ImportStatus, good.WarningCount]).toEqual(['LessonsCreated', 1]);
    const bad = await client.importJobs([{ JobID: 'J-1', LektionList: [{ ...lesson, RessourceName: '?' }] }]);
    expect(bad.ImportStatus).toBe('LessonsImportFailed');
    batchId = bad.BatchId;
    for (const reader of jsonReaders) {
      const query = reader.template.endsWith('/batches') ? 'ImportStatus=All&Mine=true&Limit=3' : '';
      const answer = await call(reader, { query });
      const body = (await answer.json()) as { Items?: unknown[]; Errors?: unknown[] };
      expect([reader.name, answer.status]).toEqual([reader.name, 200]);
      expect([reader.name, (body.Items ?? body.Errors)?.length]).not.toEqual([reader.name, 0]);
    }
  });

  test('200 in camel case, with the same values', async () => {
    const headers = { 'X-JsonPropertyFormat': 'camel' };
    // Of each answer anew.
    const clock = /(?<="(ServerTime|AsOf|TrustUntil)":)"[^"]+"/gi;
    const textOf = async (answer: Response) => JSON.stringify(await answer.json()).replaceAll(clock, '""');
    // What is sent to webhooks, and fails, would be told between two answers.
    const release = await hold(service.context.db, (trx) => sql`lock table webhook in exclusive mode`.execute(trx));
    for (const reader of jsonReaders) {
      const camel = await textOf(await call(reader, { headers }));
      const pascal = await textOf(await call(reader));
      expect(camel).toBe(pascal.replaceAll(/"([A-Z])(\w*)":/g, (_, first, rest) => `"${first.toLowerCase()}${rest}":`));
    }
    await release();
  });

  test('200 by APIKEY, with what is said of its end', async () => {
    const [reader] = readers;
    const answer = await call(reader!, { credential: { APIKEY: pin } });
    expect([answer.status, answer.headers.get('deprecation')]).toEqual([200, expect.stringMatching(/^@\d+$/)]);
  });

  test('200 for the cancelling of a batch that has not ended', async () => {
    const { db } = service.context;
    const release = await hold(db, (trx) => trx.selectFrom('resource').select('id').forUpdate().execute());
    const client = lessonClient(service, tokens.user);
    const jobs = [{ JobID: 'J-2', LektionList: [lesson] }];
    const { BatchId } = (await (await client.post(jobs)).json()) as { BatchId: string };
    const { template } = operations.find(({ name }) => name.endsWith('Cancel'))!;
    const init = { method: 'POST', headers: bearer(tokens.user) };
    expect((await contract.fetch(addressOf(template).replace(batchId, BatchId), init)).status).toBe(200);
    await release();
    expect((await client.end(BatchId)).FailureKind).toBe('Cancelled');
  });

  test('304 from each reader for the ETag of its last answer', async () => {
    for (const reader of readers) {
      const etag = (await call(reader)).headers.get('etag') ?? '';
      expect([reader.name, (await call(reader, { headers: { 'If-None-Match': etag } })).status]).toEqual([
        reader.name,
        304,
      ]);
    }
  });

  /** Changes of the example, if a second call with it would not be in conflict. */
  const conflictOf: Record<string, Change> = {
    patchResourcesById: { body: '{"Name":"HS 103"}' },
    patchLocationsById: { body: '{"Active":false}' },
    patchPersonsById: { body: '{"Active":false}' },
    postPersonsByIdPins: { headers: { 'Idempotency-Key': 'example-postPersonsByIdPins' } },
    postResourcesByIdCalendarTokens: {
      get credential() {
        return bearer(tokens.user);
      },
    },
    postTimetableCalendarTokens: {
      get credential() {
        return bearer(tokens.user);
      },
    },
    patchGroupsById: { body: '{"Name":"Lehrpersonen"}' },
    // The policy of the example names it.
    deleteGroupsById: { id: 3 },
    patchPoliciesById: { body: '{"Name":"Hörsäle"}' },
    deletePoliciesById: {
      get id() {
        return ids['policies'];
      },
    },
    patchHolidayCalendarsById: { body: '{"Name":"Schulferien"}' },
    postResourcesByIdRetirement: { body: JSON.stringify({ FutureBookings: 'Move', ResourceId: closedResourceId }) },
    postPersonsByIdErasure: {
      get id() {
        return devicePersonId;
      },
    },
    postDisplays: {
      get body() {
        return JSON.stringify({ Code: codes[1], LocationId: closedId });
      },
    },
    getChanges: { query: `Cursor=${cursorAt({ position: 1_000_000_000, micros: 1 })}` },
    patchTimetableProfilesById: { body: '{"Name":"AGs"}' },
    patchWebhooksById: { body: '{"Name":"Timetable board"}' },
    postWebhooksByIdReplay: { body: JSON.stringify({ Cursor: cursorAt({ position: 1_000_000_000, micros: 1 }) }) },
  };

  /** How each status is provoked from any operation of `from`. */
  const provoked: [
    status: number,
    from: typeof operations,
    change: (operation: (typeof operations)[number]) => Change,
  ][] = [
    [400, operations, () => ({ query: 'Nonsense=1', headers: { Prefer: 'handling=strict' } })],
    [401, guarded, () => ({ credential: {} })],
    [403, answering(403), () => ({ credential: bearer(tokens.display) })],
    [404, operations, ({ isAnonymous }) => ({ mandator: isAnonymous ? 'no%20name' : 'other' })],
    [406, operations, () => ({ headers: { Accept: 'text/html' } })],
    [
      409,
      conflicting,
      ({ name, template }) => conflictOf[name] ?? (nounOf(template) === 'bookings' ? { id: ids['bookings'] } : {}),
    ],
    [
      412,
      answering(412),
      ({ template }) => {
        const noun = nounOf(template);
        return { headers: { 'If-Match': '"0"' }, id: ids[noun === 'bookings' ? 'patchBookingsById' : noun] };
      },
    ],
    [413, writers, () => ({ body: JSON.stringify([{ JobID: 'J', Bemerkung: 'x'.repeat(3_000) }]) })],
    [415, writers, () => ({ headers: { 'Content-Type': 'text/plain' } })],
    [422, batchWriters, () => ({ body: '[{"JobID":"J"}]', headers: { 'Idempotency-Key': 'example-of-another-body' } })],
    [422, writers.filter((writer) => !isOfBatches(writer)), () => ({ body: '{"Nonsense":1}' })],
    [428, answering(428), () => ({ headers: { 'If-Match': '' } })],
  ];

  test.each(provoked)('%d from each operation that can answer so', async (status, from, change) => {
    if (status === 422)
      for (const writer of from)
        await call(writer, { headers: { 'Idempotency-Key': 'example-of-another-body' } }, { wrong: true });
    for (const operation of from) {
      const answer = await call(operation, change(operation), { wrong: true });
      expect([operation.name, answer.status, answer.headers.get('content-type')]).toEqual([
        operation.name,
        status,
        expect.stringMatching(/^application\/problem\+json/),
      ]);
    }
  });

  test('404 for a batch that there is not', async () => {
    const unknown = addressOf('/{mandator}/api/v2.0/jobs/batches/01a1f8da-707e-77b2-927f-0b8eb9707a33');
    expect((await contract.fetch(unknown, { headers: bearer(tokens.user) })).status).toBe(404);
  });

  test('405 with Allow for a method that an address does not take', async () => {
    for (const { template } of operations) {
      const taken = operations.filter((one) => one.template === template).map(({ method }) => method);
      const method = ['PUT', 'PATCH', 'DELETE'].find((other) => !taken.includes(other)) as string;
      const init = { method, headers: bearer(tokens.user) };
      const answer = await contract.fetch(addressOf(template), init, { wrong: true });
      expect([answer.status, answer.headers.get('allow')]).toEqual([405, expect.stringMatching(/GET|POST|PUT|DELETE/)]);
    }
  });

  test('429 from each operation for a token that has used up its requests', async () => {
    const spent = bearer(tokens.spent);
    const address = service.url + addressOf('/{mandator}/api/v2.0/jobs/nothing');
    await useUp(() => fetch(address, { headers: spent }));
    for (const operation of guarded) {
      const answer = await call(operation, { credential: spent });
      expect([operation.name, answer.status]).toEqual([operation.name, 429]);
      expect(Number(answer.headers.get('retry-after'))).toBeGreaterThan(0);
    }
  });

  test('503 from each operation while the database is out of reach', async () => {
    await wire.close();
    for (const operation of operations) {
      const answer = await call(operation, { credential: bearer(tokens.fresh) });
      expect([operation.name, answer.status]).toEqual([operation.name, 503]);
    }
    expect((await contract.fetch('/readyz')).status).toBe(503);
    for (const method of ['GET', 'POST', 'DELETE']) {
      const headers = { ...own, cookie: `roomgate_session=${'A'.repeat(43)}` };
      expect([method, (await session(method, { headers })).status]).toEqual([method, 503]);
    }
    const body = new URLSearchParams({ grant_type: 'apikey', client_id: 'timetable-import', apikey: pin });
    for (const path of ['/connect/token', '/school/connect/token'])
      expect((await contract.fetch(path, { method: 'POST', body })).status).toBe(503);
    const headers = { 'Content-Type': 'text/xml' };
    const posts = webhooks.map((path) => contract.fetch(path, { method: 'POST', headers, body: ewsBody() }));
    expect((await Promise.all(posts)).map(({ status }) => status)).toEqual([503, 503]);
  });

  test('every status that the document names came by, but for faults of our own', () => {
    const missing = contract.operations().flatMap(({ name, statuses, seen }) =>
      statuses
        // 408 needs clients that are slow: house.bodies.
        .filter((status) => status !== 500 && status !== 408 && !seen.includes(status))
        .map((status) => `${status} ${name}`),
    );
    expect(missing.sort()).toEqual([
      // Where there is an outside provider: identity.sign-in.
      '303 GET /{mandator}/session/return',
      '303 GET /{mandator}/session/start',
      // Needs two requests with one key at one time: lessons.accept.
      ...batchWriters.map(({ method, template }) => `409 ${method} ${template}`).sort(),
      // Are counted by address: mail.inbox, displays.pairing.
      ...webhooks.map((path) => `429 POST ${path}`).sort(),
      '429 POST /{mandator}/api/v1.0/displays/pairings',
      // The keys are kept in memory.
      '503 GET /.well-known/openid-configuration/jwks',
      '503 GET /{mandator}/.well-known/openid-configuration/jwks',
    ]);
  });
});
