import { afterAll, beforeAll, describe, expect, test } from '@jest/globals';
import { type MasterData, masterData } from '../_util/master-data.ts';
import { until } from '../_util/process.ts';
import { type Service, startService } from '../_util/service.ts';

let service: Service;
let admin: MasterData;
let user: MasterData;
let display: MasterData;
/** The PINs of the user. */
let pins: string;

beforeAll(async () => {
  service = await startService({ Role: 'Web' });
  const { tenant } = service;
  admin = masterData(service, await service.signIn(tenant, 'Admin'));
  user = masterData(service, await service.signIn());
  display = masterData(service, await service.signIn(tenant, 'Display'));
  pins = `/persons/${tenant.person('User').id}/pins`;
});
afterAll(() => service.stop());

async function exchange(pin: unknown): Promise<{ status: number; token: string }> {
  const form = { grant_type: 'apikey', scope: 'service_api', client_id: 'timetable-import' };
  const body = new URLSearchParams({ ...form, apikey: String(pin) });
  const answer = await fetch(`${service.url}/connect/token`, { method: 'POST', body });
  const { access_token } = (await answer.json()) as { access_token: string };
  return { status: answer.status, token: access_token };
}
const listed = async () => (await admin.get(`${pins}?Limit=200`)).body['Items'] as Record<string, unknown>[];

describe('POST persons/{id}/pins', () => {
  test('201 with a PIN that signs its person in; no-store; it is never shown again', async () => {
    const ExpiresAt = new Date(Date.now() + 3_600_000).toISOString();
    const answer = await admin.post(pins, { Label: ' Import ', ExpiresAt });
    expect(answer).toMatchObject({
      status: 201,
      body: { Label: 'Import', ExpiresAt, RevokedAt: null, PersonId: service.tenant.person('User').id },
    });
    expect(answer.headers.get('cache-control')).toBe('no-store');
    const { Pin, ...record } = answer.body;
    const { token } = await exchange(Pin);
    expect((await masterData(service, token).get('/persons/me')).body).toMatchObject({ Role: 'User' });
    const again = (await listed()).find(({ PinId }) => PinId === record['PinId']);
    expect(again).toEqual({ ...record, LastUsedAt: expect.any(String) });
    expect(JSON.stringify(await listed())).not.toContain(String(Pin).slice(0, 5));
  });

  test('409 for a key that has made a PIN: neither a second one, nor the first again', async () => {
    const key = { 'Idempotency-Key': 'pin-once' };
    const first = await admin.post(pins, {}, key);
    const count = (await listed()).length;
    const second = await admin.post(pins, {}, key);
    expect(second).toMatchObject({ status: 409, body: { Code: 'Conflict' } });
    expect(second.text).toContain(`PinId ${first.body['PinId']}`);
    expect(second.text).not.toContain(String(first.body['Pin']));
    expect((await admin.post(pins, { Label: 'other' }, key)).status).toBe(422);
    expect(await listed()).toHaveLength(count);
    const stored = await service.context.db.selectFrom('idempotent_request').select('response').execute();
    expect(JSON.stringify(stored)).not.toContain(String(first.body['Pin']));
  });

  test('of ten requests with one key at one time one makes a PIN', async () => {
    const count = (await listed()).length;
    const key = { 'Idempotency-Key': 'pin-race' };
    const answers = await Promise.all(Array.from({ length: 10 }, () => admin.post(pins, {}, key)));
    expect(answers.map(({ status }) => status).sort()).toEqual([201, ...Array(9).fill(409)]);
    expect(await listed()).toHaveLength(count + 1);
  });

  test.each([
    [{ ExpiresAt: '2020-01-01T00:00:00Z' }, 'InvalidValue', 'ExpiresAt'],
    [{ ExpiresAt: '2099-02-30T00:00:00Z' }, 'InvalidValue', 'ExpiresAt'],
    [{ ExpiresAt: '2099-01-01T00:00:00' }, 'InvalidValue', 'ExpiresAt'],
    [{ Label: '' }, 'InvalidValue', 'Label'],
    [{ Pin: 'CHOSEN-BY-ME' }, 'UnknownField', 'Pin'],
  ])('422 for %j', async (body, Code, Field) => {
    expect(await admin.post(pins, body)).toMatchObject({ status: 422, body: { Errors: [{ Code, Field }] } });
  });

  test('409 for a person who is not active, 404 for one that there is not', async () => {
    const person = { Name: 'Gone', Email: 'gone@school.example', TimeZone: 'UTC', Role: 'User' };
    const { Id } = (await admin.post('/persons', person)).body;
    await admin.patch(`/persons/${Id}`, { Active: false });
    expect((await admin.post(`/persons/${Id}/pins`, {})).status).toBe(409);
    expect((await admin.post('/persons/2000000000/pins', {})).status).toBe(404);
  });
});

describe('DELETE persons/{id}/pins/{pinId}', () => {
  test('200, again the same; its tokens are refused at once', async () => {
    const { Pin, PinId } = (await admin.post(pins, {})).body;
    const holder = masterData(service, (await exchange(Pin)).token);
    expect((await holder.get('/persons/me')).status).toBe(200);
    const revoked = await admin.send('DELETE', `${pins}/${PinId}`);
    expect(revoked).toMatchObject({ status: 200, body: { PinId, RevokedAt: expect.any(String) } });
    await until(async () => (await holder.get('/persons/me')).status === 401);
    expect((await exchange(Pin)).status).toBe(400);
    expect((await admin.send('DELETE', `${pins}/${PinId}`)).text).toBe(revoked.text);
  });

  test('404 for the PIN of another person', async () => {
    const { PinId } = (await admin.post(pins, {})).body;
    const other = `/persons/${service.tenant.person('Display').id}/pins/${PinId}`;
    expect((await admin.send('DELETE', other)).status).toBe(404);
  });
});

describe('403', () => {
  test('for anybody but an Admin, their own PINs too', async () => {
    for (const caller of [user, display]) {
      expect((await caller.get(pins)).status).toBe(403);
      expect((await caller.post(pins, {})).status).toBe(403);
      expect((await caller.send('DELETE', `${pins}/1`)).status).toBe(403);
    }
  });
});

test('createPin, pins and revokePin over GraphQL', async () => {
  const { id: personId } = service.tenant.person('User');
  const outcome = async (query: string, variables: object, caller = admin) =>
    Object.values((await caller.ask(query, variables)).data ?? {})[0];
  const create = `mutation ($personId: ID!, $label: String, $expiresAt: DateTime, $key: String) {
    createPin(personId: $personId, label: $label, expiresAt: $expiresAt, idempotencyKey: $key) {
      __typename ... on PinCreated { pin record { id personId label expiresAt revokedAt } } ... on Problem { code } } }`;
  const key = 'graphql-pin';
  const made = (await outcome(create, { personId, label: 'G', key })) as {
    pin: string;
    record: { id: string };
  };
  expect(made).toMatchObject({ record: { label: 'G', personId: String(personId), revokedAt: null } });
  expect((await exchange(made.pin)).status).toBe(200);
  expect(await outcome(create, { personId, label: 'G', key })).toMatchObject({
    __typename: 'ConflictProblem',
  });
  expect(await outcome(create, { personId }, user)).toMatchObject({ __typename: 'ForbiddenProblem' });
  expect(await outcome(create, { personId: '0' })).toMatchObject({ __typename: 'NotFoundProblem' });
  expect(await outcome(create, { personId, expiresAt: '2020-01-01T00:00:00Z' })).toMatchObject({
    __typename: 'ValidationProblem',
  });

  const list = 'query ($personId: ID!) { pins(personId: $personId, first: 200) { nodes { id label lastUsedAt } } }';
  const { nodes } = (await outcome(list, { personId })) as { nodes: { id: string; label: string }[] };
  const records = await listed();
  expect(nodes.map(({ id, label }) => [Number(id), label])).toEqual(records.map(({ PinId, Label }) => [PinId, Label]));
  expect(await user.ask(list, { personId })).toMatchObject({
    errors: [{ extensions: { code: 'FORBIDDEN' } }],
  });

  const revoke = `mutation ($id: ID!) { revokePin(id: $id) { __typename ... on Pin { id revokedAt } ... on Problem { code } } }`;
  const { id } = made.record;
  expect(await outcome(revoke, { id })).toEqual({ __typename: 'Pin', id, revokedAt: expect.any(String) });
  expect(await outcome(revoke, { id }, user)).toMatchObject({ __typename: 'ForbiddenProblem' });
  expect(await outcome(revoke, { id: '2000000000' })).toMatchObject({ __typename: 'NotFoundProblem' });
  expect((await exchange(made.pin)).status).toBe(400);
});
