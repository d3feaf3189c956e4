import { afterAll, beforeAll, describe, expect, test } from '@jest/globals';
import { makeTenant } from '../_util/factories.ts';
import { type MasterData, masterData, namesOf } from '../_util/master-data.ts';
import { until } from '../_util/process.ts';
import { type Service, startService } from '../_util/service.ts';

let service: Service;
let admin: MasterData;
let user: MasterData;
let display: MasterData;

beforeAll(async () => {
  service = await startService({ Role: 'Web' });
  const { tenant } = service;
  admin = masterData(service, await service.signIn(tenant, 'Admin'));
  user = masterData(service, await service.signIn());
  display = masterData(service, await service.signIn(tenant, 'Display'));
});
afterAll(() => service.stop());

let made = 0;
const newPerson = (more: object = {}) => ({
  Name: 'Grace',
  Email: `p${++made}@school.example`,
  TimeZone: 'Europe/Berlin',
  Role: 'User',
  ...more,
});
const makePerson = async (more: object = {}) => (await admin.post('/persons', newPerson(more))).body;

/** As a person who was just made, in a tenant of the test's own where one is given. */
async function signInAs(personId: unknown, tenant = service.tenant): Promise<MasterData> {
  const person = { id: personId as number, email: '', role: '', name: '' };
  const token = await service.signIn({ ...tenant, person: () => person });
  return masterData(service, token, tenant.code);
}

describe('GET persons/me', () => {
  test('200 for everybody, a display too, with the same values over GraphQL', async () => {
    for (const caller of [admin, user, display]) {
      const { status, body, headers } = await caller.get('/persons/me', { 'X-JsonPropertyFormat': 'camel' });
      expect([status, headers.get('etag')]).toEqual([200, '"1"']);
      const { data } = await caller.ask('{ me { id name email timeZone role teacherCode active erasedAt version } }');
      expect(data?.['me']).toEqual({ ...body, id: String(body['id']) });
    }
  });

  test('405 for a change', async () => {
    expect(await user.patch('/persons/me', {})).toMatchObject({ status: 405 });
  });
});

describe('persons', () => {
  test('409 names what another person has already', async () => {
    const { Email, TeacherCode } = await makePerson({ TeacherCode: 'GH' });
    for (const [taken, name] of [
      [{ Email }, 'e-mail address'],
      [{ TeacherCode }, 'TeacherCode'],
    ] as const) {
      const body = { Code: 'Conflict', detail: `Another person has this ${name} already.` };
      expect(await admin.post('/persons', newPerson(taken))).toMatchObject({ status: 409, body });
    }
  });

  test('201 with Location and ETag; 409 for an address that there is, in any case', async () => {
    const person = newPerson({ Email: 'Ada@School.example' });
    const answer = await admin.post('/persons', person);
    expect(answer).toMatchObject({ status: 201, body: { ...person, Active: true, Version: 1 } });
    expect(answer.headers.get('location')).toBe(`${service.url}/school/api/v1.0/persons/${answer.body['Id']}`);
    expect((await admin.get(`/persons/${answer.body['Id']}`)).body).toEqual(answer.body);
    expect((await admin.post('/persons', { ...person, Email: 'ada@school.EXAMPLE' })).status).toBe(409);
  });

  test.each([
    [{ Email: 'nobody' }, 'InvalidValue', 'Email'],
    [{ TimeZone: '+01:00' }, 'InvalidValue', 'TimeZone'],
    [{ Role: 'Owner' }, 'InvalidValue', 'Role'],
    [{ Role: 'Display' }, 'DevicesOnly', 'Role'],
    [{ Name: '  ' }, 'InvalidValue', 'Name'],
    [{ MandatorId: 2 }, 'UnknownField', 'MandatorId'],
    [{ Active: false }, 'UnknownField', 'Active'],
  ])('422 for %j', async (wrong, Code, Field) => {
    const answer = await admin.post('/persons', newPerson(wrong));
    expect(answer.status).toBe(422);
    expect(answer.body['Errors']).toContainEqual(expect.objectContaining({ Code, Field }));
  });

  test('lists by address, role and activity, the same over GraphQL', async () => {
    const { Id, Email } = await makePerson({ Name: 'Listed', Role: 'Importer' });
    await admin.patch(`/persons/${Id}`, { Active: false });
    expect(namesOf(await admin.get(`/persons?Email=${String(Email).toUpperCase()}`))).toEqual(['Listed']);
    expect(namesOf(await admin.get('/persons?Role=Importer&Active=false'))).toEqual(['Listed']);
    expect(namesOf(await admin.get('/persons?Role=Display&Active=true'))).toEqual(['Display of school']);
    const { data } = await admin.ask('{ persons(filter: {role: Importer, active: false}) { nodes { id name } } }');
    expect(data).toEqual({ persons: { nodes: [{ id: String(Id), name: 'Listed' }] } });
    const first = await admin.get('/persons?Limit=1');
    expect(namesOf(first)).toEqual(['Admin of school']);
    expect(namesOf(await admin.get(`/persons?Limit=1&Cursor=${first.body['NextCursor']}`))).toEqual(['User of school']);
  });

  test('403 for everybody else, whichever id they ask for', async () => {
    const { id } = service.tenant.person('User');
    for (const caller of [user, display])
      for (const path of ['/persons', `/persons/${id}`, '/persons/2000000000'])
        expect((await caller.get(path)).status).toBe(403);
    for (const caller of [user, display]) {
      expect((await caller.post('/persons', newPerson())).status).toBe(403);
      expect((await caller.patch(`/persons/${id}`, { Role: 'Admin' })).status).toBe(403);
      expect(await caller.ask(`{ person(id: "${id}") { id } }`)).toMatchObject({
        errors: [{ extensions: { code: 'FORBIDDEN' } }],
      });
    }
  });

  test('200 for a change of name, zone and role; 412 for a version that is past', async () => {
    const person = await makePerson();
    const path = `/persons/${person['Id']}`;
    const change = { Name: 'Grace Hopper', TimeZone: 'Asia/Tokyo', Role: 'Importer' };
    expect((await admin.patch(path, change, 1)).body).toEqual({ ...person, ...change, Version: 2 });
    expect((await admin.patch(path, { Name: 'Late' }, 1)).status).toBe(412);
    expect((await admin.send('PATCH', path, { body: {} })).status).toBe(428);
  });

  test('nobody becomes a display by hand, and the person of one may be sent back', async () => {
    const { id } = service.tenant.person('Display');
    const { body } = await admin.get(`/persons/${id}`);
    expect((await admin.patch(`/persons/${id}`, { Role: body['Role'], Name: body['Name'] })).status).toBe(200);
    const person = await makePerson();
    const answer = await admin.patch(`/persons/${person['Id']}`, { Role: 'Display' });
    expect(answer).toMatchObject({ status: 422, body: { Errors: [{ Code: 'DevicesOnly', Pointer: '/Role' }] } });
  });

  test('an import of the tenant file counts as a change', async () => {
    const person = await makePerson();
    const { db } = service.context;
    await db
      .updateTable('person')
      .set({ name: 'By file' })
      .where('id', '=', person['Id'] as number)
      .execute();
    expect((await admin.patch(`/persons/${person['Id']}`, { Name: 'Late' }, 1)).status).toBe(412);
  });
});

describe('who becomes inactive', () => {
  test('is refused at once with every PIN and token, and may come back', async () => {
    const { Id } = await makePerson();
    const caller = await signInAs(Id);
    expect((await caller.get('/persons/me')).status).toBe(200);
    await admin.patch(`/persons/${Id}`, { Active: false });
    await until(async () => (await caller.get('/persons/me')).status === 401);
    await admin.patch(`/persons/${Id}`, { Active: true });
    await until(async () => (await caller.get('/persons/me')).status === 200);
  });

  test('or an Admin no longer, loses that at once', async () => {
    const { Id } = await makePerson({ Role: 'Admin' });
    const caller = await signInAs(Id);
    expect((await caller.get('/persons')).status).toBe(200);
    await admin.patch(`/persons/${Id}`, { Role: 'User' });
    await until(async () => (await caller.get('/persons')).status === 403);
  });
});

test('200 for Admins who change each other at one time, again and again', async () => {
  const { Id } = await makePerson({ Role: 'Admin' });
  const other = await signInAs(Id);
  const first = `/persons/${service.tenant.person('Admin').id}`;
  const rounds = Array.from({ length: 40 }, (_, round) =>
    round % 2 === 0
      ? admin.patch(`/persons/${Id}`, { Name: `Other ${round}` })
      : other.patch(first, { Name: `First ${round}` }),
  );
  const statuses = (await Promise.all(rounds)).map(({ status }) => status);
  expect(new Set(statuses)).toEqual(new Set([200]));
  await admin.patch(`/persons/${Id}`, { Role: 'User' });
});

describe('a tenant keeps an active Admin', () => {
  test('409 for taking the last one away, from itself too', async () => {
    const path = `/persons/${service.tenant.person('Admin').id}`;
    for (const change of [{ Active: false }, { Role: 'User' }, { Role: 'Importer', Active: true }])
      expect(await admin.patch(path, change)).toMatchObject({ status: 409, body: { Code: 'Conflict' } });
    expect((await admin.patch(path, { Name: 'Still Admin', Active: true, Role: 'Admin' })).status).toBe(200);
  });

  test('also when all of them take the right from each other at one time', async () => {
    const { db } = service.context;
    const tenant = await makeTenant(db, { code: 'rivals' });
    const first = await signInAs(tenant.person('Admin').id, tenant);
    const ids = [tenant.person('Admin').id];
    for (let number = 0; number < 5; number++)
      ids.push((await first.post('/persons', newPerson({ Role: 'Admin' }))).body['Id'] as number);
    const callers = await Promise.all(ids.map((id) => signInAs(id, tenant)));
    const answers = await Promise.all(
      ids.map((id, number) => callers[(number + 1) % ids.length]!.patch(`/persons/${id}`, { Role: 'User' })),
    );
    for (const { status } of answers) expect([200, 401, 403, 409]).toContain(status);
    const left = await db
      .selectFrom('person')
      .where('mandator_id', '=', tenant.mandatorId)
      .where('role', '=', 'Admin')
      .select('id')
      .execute();
    expect(left.length).toBeGreaterThan(0);
  });
});

test('createPerson and changePerson answer records or the problem', async () => {
  const create = `mutation ($input: CreatePersonInput!) { createPerson(input: $input) {
    __typename ... on Person { id email role version } ... on Problem { code } } }`;
  const change = `mutation ($id: ID!, $version: Int!, $input: ChangePersonInput!) {
    changePerson(id: $id, version: $version, input: $input) {
    __typename ... on Person { role active version } ... on Problem { code } } }`;
  const outcome = async (query: string, variables: object, caller = admin) =>
    Object.values((await caller.ask(query, variables)).data ?? {})[0];
  const input = { name: 'Emmy', email: 'emmy@school.example', timeZone: 'UTC', role: 'Importer' };
  const person = (await outcome(create, { input })) as { id: string };
  expect(person).toMatchObject({ __typename: 'Person', role: 'Importer', version: 1 });
  expect(await outcome(create, { input })).toEqual({ __typename: 'ConflictProblem', code: 'Conflict' });
  expect(await outcome(create, { input }, user)).toEqual({
    __typename: 'ForbiddenProblem',
    code: 'Forbidden',
  });
  const { id } = person;
  expect(await outcome(change, { id, version: 1, input: { active: false } })).toEqual({
    __typename: 'Person',
    role: 'Importer',
    active: false,
    version: 2,
  });
  expect(await outcome(change, { id, version: 1, input: {} })).toMatchObject({
    __typename: 'VersionProblem',
  });
  expect(await outcome(change, { id, version: 2, input: { name: '' } })).toMatchObject({
    __typename: 'ValidationProblem',
  });
  expect(await outcome(change, { id: '2000000000', version: 2, input: {} })).toMatchObject({
    __typename: 'NotFoundProblem',
  });
});

test('what an Admin does is kept, with the request', async () => {
  const { db } = service.context;
  const { tenant } = service;
  const answer = await admin.post('/persons', newPerson(), { 'X-Request-Id': 'audit-1' });
  const rows = await db.selectFrom('audit').where('request_id', '=', 'audit-1').selectAll().execute();
  expect(rows).toEqual([
    expect.objectContaining({
      mandator_id: tenant.mandatorId,
      person_id: tenant.person('Admin').id,
      action: 'create person',
      subject_id: answer.body['Id'],
    }),
  ]);
  await admin.post('/persons', answer.body, { 'X-Request-Id': 'audit-2' });
  const refused = await db.selectFrom('audit').where('request_id', '=', 'audit-2').selectAll().execute();
  expect(refused).toEqual([]);
});
