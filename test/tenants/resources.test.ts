import { afterAll, afterEach, beforeAll, describe, expect, jest, test } from '@jest/globals';
import { sql } from 'kysely';
import pg from 'pg';
import { selectResources } from '../../src/tenants/resources.ts';
import { makeTenant } from '../_util/factories.ts';
import { hold, lockedBy, releaseAll } from '../_util/hold.ts';
import { type MasterData, masterData, namesOf } from '../_util/master-data.ts';
import { type Service, startService } from '../_util/service.ts';

let service: Service;
let admin: MasterData;
let user: MasterData;
let display: MasterData;
let foreign: Awaited<ReturnType<typeof makeTenant>>;

beforeAll(async () => {
  service = await startService({ Role: 'Web' });
  const { tenant } = service;
  admin = masterData(service, await service.signIn(tenant, 'Admin'));
  user = masterData(service, await service.signIn());
  display = masterData(service, await service.signIn(tenant, 'Display'));
  foreign = await makeTenant(service.context.db, { code: 'other' });
});
afterAll(() => service.stop());

afterEach(releaseAll);

let made = 0;
/** A location of its own, so that no test finds the rooms of another. */
async function makeLocation(): Promise<number> {
  const answer = await admin.post('/locations', { Name: `Site ${++made}`, TimeZone: 'Europe/Berlin' });
  return answer.body['Id'] as number;
}
const room = (LocationId: number, Name: string, more: object = {}) => ({ LocationId, Name, ...more });

describe('POST resources', () => {
  test('201 with Location and ETag; what is left out has its default', async () => {
    const LocationId = await makeLocation();
    const answer = await admin.post('/resources', { locationId: LocationId, name: '  A 1 ' });
    const record = {
      Id: expect.any(Number),
      LocationId,
      Name: 'A 1',
      Kind: 'Room',
      Capacity: null,
      Equipment: [],
      Mailbox: null,
      CheckInMinutes: null,
      PolicyId: null,
      Active: true,
      Version: 1,
      CalendarWriting: null,
      CalendarEdits: null,
      DeclineConflicts: null,
    };
    expect([answer.status, answer.body]).toEqual([201, record]);
    expect(answer.headers.get('etag')).toBe('"1"');
    expect(answer.headers.get('location')).toBe(`${service.url}/school/api/v1.0/resources/${answer.body['Id']}`);
    expect((await user.get(`/resources/${answer.body['Id']}`)).body).toEqual(answer.body);
  });

  test('409 for a name that the location has, however it is written; another location may have it', async () => {
    const [one, other] = [await makeLocation(), await makeLocation()];
    expect((await admin.post('/resources', room(one, 'Hall'))).status).toBe(201);
    expect(await admin.post('/resources', room(one, ' hALL'))).toMatchObject({
      status: 409,
      body: { Code: 'Conflict' },
    });
    expect((await admin.post('/resources', room(other, 'Hall'))).status).toBe(201);
  });

  test('422 for a location that there is not, in the same words as for another tenant’s', async () => {
    for (const LocationId of [2_000_000_000, 9_007_199_254_740_991, foreign.locationId])
      expect(await admin.post('/resources', room(LocationId, 'B'))).toMatchObject({
        status: 422,
        body: {
          detail: 'LocationId: there is no location of this id.',
          Errors: [{ Field: 'LocationId', Code: 'UnknownLocation' }],
        },
      });
  });

  test.each([
    [{}, 'MissingField', 'LocationId'],
    [{ LocationId: 1, Name: 'x'.repeat(201) }, 'InvalidValue', 'Name'],
    [{ LocationId: 1, Name: 'A', Capacity: -1 }, 'InvalidValue', 'Capacity'],
    [{ LocationId: 1, Name: 'A', Capacity: '12' }, 'InvalidType', 'Capacity'],
    ...['a b@x.example', 'a@b@x.example', '../a@x.example', 'A <a@x.example>', '@x.example'].map(
      (Mailbox) => [{ LocationId: 1, Name: 'A', Mailbox }, 'InvalidValue', 'Mailbox'] as const,
    ),
    [{ LocationId: 1, Name: 'A', CheckInMinutes: 241 }, 'InvalidValue', 'CheckInMinutes'],
    [{ LocationId: 1, Name: 'A', CheckInMinutes: 0 }, 'InvalidValue', 'CheckInMinutes'],
    [{ LocationId: [1], Name: 'A' }, 'InvalidType', 'LocationId'],
    [{ LocationId: 1, Name: 'A', Equipment: 'Beamer' }, 'InvalidType', 'Equipment'],
    // Mass assignment (S28).
    [{ LocationId: 1, Name: 'A', Mandator: 'other' }, 'UnknownField', 'Mandator'],
    [{ LocationId: 1, Name: 'A', Version: 9 }, 'UnknownField', 'Version'],
    [{ LocationId: 1, Name: 'A', Id: 9 }, 'UnknownField', 'Id'],
  ])('422 for %j', async (body, Code, Field) => {
    const answer = await admin.post('/resources', body);
    expect(answer.status).toBe(422);
    expect(answer.body['Errors']).toContainEqual(expect.objectContaining({ Code, Field }));
  });

  test('403 for anybody but an Admin', async () => {
    for (const caller of [user, display])
      expect((await caller.post('/resources', room(service.tenant.locationId, 'C'))).status).toBe(403);
  });
});

describe('PATCH resources/{id}', () => {
  test('200: what is sent is changed, null clears, the rest stays; the version grows with each real change', async () => {
    const LocationId = await makeLocation();
    const { body } = await admin.post(
      '/resources',
      room(LocationId, 'Lab', { Capacity: 20, Mailbox: 'lab@x.example', Equipment: ['Sink'] }),
    );
    const path = `/resources/${body['Id']}`;
    const changes = { Mailbox: null, Kind: 'Laboratory', CheckInMinutes: 15 };
    const changed = await admin.patch(path, changes, 1);
    expect(changed.body).toEqual({ ...body, ...changes, Version: 2 });
    expect(changed.headers.get('etag')).toBe('"2"');
    for (const same of [{}, { Kind: 'Laboratory', CheckInMinutes: 15 }])
      expect((await admin.patch(path, same)).body).toEqual(changed.body);
  });

  test('412 for another version, 428 without one', async () => {
    const { body } = await admin.post('/resources', room(await makeLocation(), 'V'));
    const path = `/resources/${body['Id']}`;
    expect(await admin.patch(path, { Capacity: 1 }, 2)).toMatchObject({
      status: 412,
      body: { Code: 'PreconditionFailed' },
    });
    for (const tag of ['"x"', 'W/"2"', '""'])
      expect((await admin.send('PATCH', path, { body: {}, headers: { 'If-Match': tag } })).status).toBe(412);
    expect(await admin.send('PATCH', path, { body: {} })).toMatchObject({
      status: 428,
      body: { Code: 'PreconditionRequired' },
    });
    const listed = { body: { Capacity: 1 }, headers: { 'If-Match': '"7", "1"' } };
    expect((await admin.send('PATCH', path, listed)).status).toBe(200);
  });

  test('the ETag as a proxy that compresses has weakened it names the version; 400 for what is no ETag', async () => {
    const { body } = await admin.post('/resources', room(await makeLocation(), 'W'));
    const change = (tag: string) =>
      admin.send('PATCH', `/resources/${body['Id']}`, { body: { Capacity: 1 }, headers: { 'If-Match': tag } });
    for (const tag of ['1', '"1', '"7", 1', 'w/"1"'])
      expect(await change(tag)).toMatchObject({
        status: 400,
        body: {
          Code: 'Malformed',
          detail: 'If-Match: must be the ETag of the record with its quotes, such as "1", or *.',
          Errors: [{ Field: 'If-Match', Pointer: null, Code: 'InvalidValue' }],
        },
      });
    expect((await change('"7" , W/"1"')).status).toBe(200);
  });

  test('of two changes of one version one is made', async () => {
    const { body } = await admin.post('/resources', room(await makeLocation(), 'Race'));
    const answers = await Promise.all(
      [1, 2, 3, 4].map((Capacity) => admin.patch(`/resources/${body['Id']}`, { Capacity }, 1)),
    );
    expect(answers.map(({ status }) => status).sort()).toEqual([200, 412, 412, 412]);
  });

  test('409 for the name of a retired one says so, and how to go on; also when it is renamed or moved', async () => {
    const [LocationId, other] = [await makeLocation(), await makeLocation()];
    const { body: retired } = await admin.post('/resources', room(LocationId, 'Old'));
    await admin.patch(`/resources/${retired['Id']}`, { Active: false });
    const { body: elsewhere } = await admin.post('/resources', room(other, 'Old'));
    const { body: named } = await admin.post('/resources', room(LocationId, 'New'));
    const refused = {
      status: 409,
      body: {
        Code: 'Conflict',
        detail: `The retired resource ${retired['Id']} has this name: set that resource to active again, or give it another name first.`,
      },
    };
    expect(await admin.post('/resources', room(LocationId, ' OLD'))).toMatchObject(refused);
    expect(await admin.patch(`/resources/${named['Id']}`, { Name: 'Old' })).toMatchObject(refused);
    expect(await admin.patch(`/resources/${elsewhere['Id']}`, { LocationId })).toMatchObject(refused);
    // Its own name is no obstacle, and the remedies are what they are said to be.
    expect((await admin.patch(`/resources/${retired['Id']}`, { Name: 'OLD' })).status).toBe(200);
    expect((await admin.patch(`/resources/${retired['Id']}`, { Name: 'Older' })).status).toBe(200);
    expect((await admin.post('/resources', room(LocationId, 'Old'))).status).toBe(201);
    expect((await admin.patch(`/resources/${retired['Id']}`, { Active: true })).status).toBe(200);
  });

  test('409 for the name of another', async () => {
    const LocationId = await makeLocation();
    await admin.post('/resources', room(LocationId, 'One'));
    const { body } = await admin.post('/resources', room(LocationId, 'Two'));
    expect((await admin.patch(`/resources/${body['Id']}`, { Name: 'ONE' })).status).toBe(409);
  });
});

describe('locations', () => {
  test('an active resource has an active location, in whatever order they are changed', async () => {
    const LocationId = await makeLocation();
    const { body } = await admin.post('/resources', room(LocationId, 'Last'));
    const [resource, location] = [`/resources/${body['Id']}`, `/locations/${LocationId}`];
    expect((await admin.patch(location, { Active: false })).status).toBe(409);
    expect((await admin.patch(resource, { Active: false })).status).toBe(200);
    expect((await admin.patch(location, { Active: false })).body).toMatchObject({
      Active: false,
      Version: 2,
    });
    expect((await admin.patch(resource, { Active: true })).status).toBe(409);
    expect((await admin.post('/resources', room(LocationId, 'New'))).status).toBe(409);
    expect((await admin.patch(location, { Active: true })).status).toBe(200);
    expect((await admin.patch(resource, { Active: true })).status).toBe(200);
  });

  test('are locked before their resources, as by tenant files, so that neither waits for the other', async () => {
    const [from, to] = [await makeLocation(), await makeLocation()];
    const { body } = await admin.post('/resources', room(from, 'Back'));
    const path = `/resources/${body['Id']}`;
    await admin.patch(path, { Active: false });
    for (const changes of [{ Active: true }, { LocationId: to }, { LocationId: to, Active: true }])
      expect(await lockedBy(() => admin.patch(path, changes))).toEqual(['location', 'resource']);
    expect((await admin.get(path)).body).toMatchObject({ Active: true, LocationId: to });
    expect(await lockedBy(() => admin.patch(path, { Active: true }))).toEqual(['resource']);
  });

  test('nothing is deleted: 405', async () => {
    for (const path of ['/locations/1', '/resources/1', '/persons/1'])
      expect((await admin.send('DELETE', path)).status).toBe(405);
  });

  test('409 for the name of a retired one says so, and how to go on', async () => {
    const TimeZone = 'Europe/Berlin';
    const { body } = await admin.post('/locations', { Name: 'Annexe', TimeZone });
    const { body: other } = await admin.post('/locations', { Name: 'Barn', TimeZone });
    await admin.patch(`/locations/${body['Id']}`, { Active: false });
    const detail = `The retired location ${body['Id']} has this name: set that location to active again, or give it another name first.`;
    const refused = { status: 409, body: { Code: 'Conflict', detail } };
    expect(await admin.post('/locations', { Name: 'ANNEXE', TimeZone })).toMatchObject(refused);
    expect(await admin.patch(`/locations/${other['Id']}`, { Name: 'Annexe' })).toMatchObject(refused);
  });

  test('409 for a name that there is, 422 for what is no IANA zone', async () => {
    const location = { Name: 'Twice', TimeZone: 'Europe/Berlin' };
    const { body } = await admin.post('/locations', location);
    expect((await admin.post('/locations', { ...location, Name: 'TWICE ' })).status).toBe(409);
    for (const TimeZone of ['+01:00', 'Europe/Nowhere', '', 7]) {
      expect((await admin.post('/locations', { Name: 'Z', TimeZone })).status).toBe(422);
      expect((await admin.patch(`/locations/${body['Id']}`, { TimeZone })).status).toBe(422);
    }
    expect((await admin.patch(`/locations/${body['Id']}`, { TimeZone: 'Asia/Tokyo' }, 1)).body).toMatchObject({
      TimeZone: 'Asia/Tokyo',
      Version: 2,
    });
  });

  test('403 to change them for a user, and to read them for a display', async () => {
    expect((await user.post('/locations', { Name: 'U', TimeZone: 'UTC' })).status).toBe(403);
    expect((await user.patch(`/locations/${service.tenant.locationId}`, {})).status).toBe(403);
    for (const path of ['/locations', `/locations/${service.tenant.locationId}`, '/resources'])
      expect((await display.get(path)).status).toBe(403);
    expect(await display.ask('{ locations { id } }')).toMatchObject({
      errors: [{ extensions: { code: 'FORBIDDEN' } }],
    });
  });
});

describe('GET resources', () => {
  let LocationId: number;
  beforeAll(async () => {
    LocationId = await makeLocation();
    const rooms = [
      { Name: 'Small', Capacity: 8, Equipment: ['Whiteboard'] },
      { Name: 'Large', Capacity: 80, Equipment: ['Beamer', 'Whiteboard'], Kind: 'LectureHall' },
      { Name: 'Uncounted', Equipment: ['beamer '] },
      { Name: 'Retired', Capacity: 80 },
    ];
    for (const one of rooms) {
      const { body } = await admin.post('/resources', { LocationId, ...one });
      if (one.Name === 'Retired') await admin.patch(`/resources/${body['Id']}`, { Active: false });
    }
  });
  const filters: [query: string, filter: string, names: string[]][] = [
    ['', '', ['Small', 'Large', 'Uncounted', 'Retired']],
    ['&Active=true', 'active: true', ['Small', 'Large', 'Uncounted']],
    ['&Active=false', 'active: false', ['Retired']],
    ['&MinCapacity=9', 'minCapacity: 9', ['Large', 'Retired']],
    ['&Kind=lecturehall', 'kind: "lecturehall"', ['Large']],
    ['&Equipment=Beamer', 'equipment: ["Beamer"]', ['Large', 'Uncounted']],
    ['&equipment=BEAMER&Equipment=Whiteboard', 'equipment: ["BEAMER", "Whiteboard"]', ['Large']],
    ['&name=%20LARGE', 'name: " LARGE"', ['Large']],
    ['&MinCapacity=9&Active=true&Equipment=Pool', 'minCapacity: 9, equipment: ["Pool"]', []],
  ];

  test.each(filters)('%s gives the same over GraphQL', async (query, filter, names) => {
    expect(namesOf(await user.get(`/resources?LocationId=${LocationId}${query}`))).toEqual(names);
    const { data } = await user.ask(
      `{ resources(filter: {locationId: "${LocationId}", ${filter}}) { nodes { name } } }`,
    );
    expect(data).toEqual({ resources: { nodes: names.map((name) => ({ name })) } });
  });

  test('pages are stable, and end', async () => {
    const path = `/resources?LocationId=${LocationId}&Limit=3`;
    const first = await user.get(path);
    expect(namesOf(first)).toEqual(['Small', 'Large', 'Uncounted']);
    const second = await user.get(`${path}&Cursor=${first.body['NextCursor']}`);
    expect([namesOf(second), second.body['NextCursor']]).toEqual([['Retired'], null]);
  });

  test('another tenant’s location gives an empty page, as an unknown one does', async () => {
    for (const id of [foreign.locationId, 2_000_000_000])
      expect((await user.get(`/resources?LocationId=${id}`)).body).toEqual({ Items: [], NextCursor: null });
  });

  test.each(['LocationId=0x10', 'LocationId=1e2', 'MinCapacity=-1', 'Active=yes', 'Kind=', 'Equipment='])(
    '400 for %s',
    async (query) => {
      expect((await user.get(`/resources?${query}`)).status).toBe(400);
    },
  );

  test.each(['0', '-1', '01', '1.0', '0x10', '1e2', '2147483648', '99999999999', '12abc', '%00', 'null'])(
    '404 for the id %s',
    async (id) => {
      expect((await user.get(`/resources/${id}`)).status).toBe(404);
      expect((await admin.patch(`/resources/${id}`, {})).status).toBe(404);
      if (id !== '%00')
        expect(await user.ask(`{ resource(id: "${id}") { id } }`)).toEqual({ data: { resource: null } });
    },
  );

  test('304 for the version that the caller has', async () => {
    const path = `/resources/${service.tenant.resources[0]!.id}`;
    const etag = (await user.get(path)).headers.get('etag') ?? '';
    expect((await user.get(path, { 'If-None-Match': etag })).status).toBe(304);
  });
});

describe('GraphQL', () => {
  const record =
    'id locationId name kind capacity equipment mailbox checkInMinutes calendarWriting calendarEdits declineConflicts policyId active version';

  test('answers the values of REST, in camel case', async () => {
    const { id } = service.tenant.resources[0]!;
    const camel = { 'X-JsonPropertyFormat': 'camel' };
    const { data } = await user.ask(
      `query ($id: ID!, $location: ID!) {
        resource(id: $id) { ${record} }
        location(id: $location) { id name timeZone active version }
        locations { id name timeZone active version }
      }`,
      { id, location: service.tenant.locationId },
    );
    const resource = (await user.get(`/resources/${id}`, camel)).body;
    expect(data?.['resource']).toEqual({
      ...resource,
      id: String(id),
      locationId: String(resource['locationId']),
    });
    const location = (await user.get(`/locations/${service.tenant.locationId}`, camel)).body;
    expect(data?.['location']).toEqual({ ...location, id: String(location['id']) });
    expect(data?.['locations']).toContainEqual(data?.['location']);
  });

  test('a page reads all its locations with one query', async () => {
    const queries = jest.spyOn(pg.Pool.prototype, 'query');
    const { data } = await user.ask('{ resources(first: 100) { nodes { locationId location { id } } } }');
    const names = queries.mock.calls.map(([query]) => (query as unknown as { name?: string }).name);
    queries.mockRestore();
    expect(names.filter((name) => name?.startsWith('location by id'))).toHaveLength(1);
    const { nodes } = data!['resources'] as { nodes: { locationId: string; location: { id: string } }[] };
    expect(nodes.length).toBeGreaterThan(5);
    for (const { locationId, location } of nodes) expect(location.id).toBe(locationId);
  });

  test('createResource and changeResource answer records or the problem', async () => {
    const locationId = String(await makeLocation());
    const create = `mutation ($input: CreateResourceInput!) { createResource(input: $input) {
      __typename ... on Resource { ${record} } ... on Problem { code message } ... on ValidationProblem { errors { field code } } } }`;
    const change = `mutation ($id: ID!, $version: Int!, $input: ChangeResourceInput!) {
      changeResource(id: $id, version: $version, input: $input) {
      __typename ... on Resource { id capacity version } ... on Problem { code } } }`;
    const input = { locationId, name: 'G 1', capacity: 5 };
    const { data } = await admin.ask(create, { input });
    const resource = data?.['createResource'] as { id: string };
    expect(resource).toMatchObject({ __typename: 'Resource', locationId, name: 'G 1', version: 1 });
    const outcome = async (query: string, variables: object, caller = admin) =>
      Object.values((await caller.ask(query, variables)).data ?? {})[0];
    expect(await outcome(create, { input })).toMatchObject({ __typename: 'ConflictProblem' });
    expect(await outcome(create, { input }, user)).toMatchObject({ __typename: 'ForbiddenProblem' });
    expect(await outcome(create, { input: { name: 'G 2', locationId: foreign.locationId } })).toMatchObject({
      __typename: 'ValidationProblem',
      errors: [{ field: 'locationId', code: 'UnknownLocation' }],
    });
    const id = resource.id;
    expect(await outcome(change, { id, version: 1, input: { capacity: null } })).toEqual({
      __typename: 'Resource',
      id,
      capacity: null,
      version: 2,
    });
    expect(await outcome(change, { id, version: 1, input: {} })).toMatchObject({
      __typename: 'VersionProblem',
      code: 'PreconditionFailed',
    });
    expect(await outcome(change, { id, version: 2, input: { name: '' } })).toMatchObject({
      __typename: 'ValidationProblem',
    });
    expect(await outcome(change, { id: '0', version: 2, input: {} })).toMatchObject({
      __typename: 'NotFoundProblem',
    });
  });
});

test('with 1,000 resources in each of 20 tenants no list reads another tenant’s', async () => {
  const { db } = service.context;
  await db.transaction().execute(async (trx) => {
    // Without looking up what each of them refers to, and telling of it.
    await sql`set local session_replication_role = replica`.execute(trx);
    await sql`
      with tenants as (
        insert into mandator (code, name) select 'big-' || n, 'Big' from generate_series(1, 20) as n returning id
      ), sites as (
        insert into location (mandator_id, name, time_zone) select id, 'Campus', 'UTC' from tenants
        returning mandator_id, id
      )
      insert into resource (mandator_id, location_id, name, capacity, equipment)
      select mandator_id, id, 'R' || n, n % 100, '{Beamer}' from sites, generate_series(1, 1000) as n`.execute(trx);
  });
  await sql`analyze resource`.execute(db);
  const { id: mandatorId } = await db
    .selectFrom('mandator')
    .where('code', '=', 'big-7')
    .select('id')
    .executeTakeFirstOrThrow();
  const viewer = { mandatorId, hiddenRooms: [] } as unknown as Parameters<typeof selectResources>[1];
  const page = { limit: 50, after: undefined };
  for (const filter of [{}, { minCapacity: 99 }, { kind: 'Hall' }, { equipment: ['Sink'] }, { name: 'R7' }]) {
    const rows = await selectResources(db, viewer, filter, page).explain<{ 'QUERY PLAN': string }>(
      'text',
      sql`analyze`,
    );
    const plan = rows.map((row) => row['QUERY PLAN']).join('\n');
    expect(plan).toMatch(/Index Scan|Bitmap Index Scan/);
    expect(plan).not.toMatch(/Seq Scan on resource/);
  }
});

test('503 that names the import, with Retry-After, for a change while it holds the resource', async () => {
  const { Id, Version } = (await admin.post('/resources', room(await makeLocation(), 'Held'))).body;
  await hold(service.context.db, (trx) => sql`select from resource where id = ${Id} for no key update`.execute(trx));
  const answers = await Promise.all([
    admin.patch(`/resources/${Id}`, { Name: 'New' }),
    admin.send('PUT', `/opening-hours/${Id}/rules`, { body: { Items: [] }, headers: { 'If-Match': '"0"' } }),
  ]);
  for (const { status, headers, body } of answers) {
    expect([status, headers.get('retry-after')]).toEqual([503, '5']);
    expect(body['detail']).toMatch(/^The resource is locked by another change, such as an import of lessons/);
  }
  expect((await user.get(`/resources/${Id}`)).body).toMatchObject({ Name: 'Held', Version });
});
