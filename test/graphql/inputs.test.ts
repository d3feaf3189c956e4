/** Inputs are checked by the schemas of REST: the same faults and codes, with GraphQL's names and places. */
import { afterAll, beforeAll, describe, expect, test } from '@jest/globals';
import { masterData } from '../_util/master-data.ts';
import { type Service, startService } from '../_util/service.ts';

type Fault = { field: string; pointer: string; code: string; message: string };
type Tree = Record<string, unknown>;
type Result = Tree & { __typename: string; errors?: Fault[] };

let service: Service;
let admin: ReturnType<typeof masterData>;
let room: string;

beforeAll(async () => {
  service = await startService({ Role: 'Web' });
  admin = masterData(service, await service.signIn(service.tenant, 'Admin'));
  room = String(service.tenant.resources[0]!.id);
});
afterAll(() => service.stop());

const ask = (query: string, variables: Tree) =>
  admin.ask(query, variables) as Promise<{ data?: { result: Result } | null; errors?: Tree[] }>;

/** The faults of a mutation with these arguments, each given by its name, type and value. */
async function faultsOf(field: string, sent: Record<string, [type: string, value: unknown]>): Promise<Fault[]> {
  const declared = Object.entries(sent).map(([name, [type]]) => `$${name}: ${type}`);
  const used = Object.keys(sent).map((name) => `${name}: $${name}`);
  const query = `mutation (${declared}) { result: ${field}(${used}) {
    __typename ... on ValidationProblem { errors { field pointer code message } } } }`;
  const variables = Object.fromEntries(Object.entries(sent).map(([name, [, value]]) => [name, value]));
  const answer = await ask(query, variables);
  return answer.data?.result.errors ?? [answer as never];
}

const brief = (faults: readonly Fault[]) => faults.map(({ pointer, code }) => `${pointer} ${code}`);
const hour = (at: number) => `2027-03-01T0${at}:00:00Z`;
const wanted = () => ({ resourceId: room, subject: 'Sitzung', start: hour(8), end: hour(9) });

test('every fault of a body is reported at once, as in REST', async () => {
  const input = { ...wanted(), subject: '', setupMinutes: -1, recurrenceRule: 'x'.repeat(501), status: null };
  const faults = await faultsOf('createBooking', { input: ['CreateBookingInput!', input] });
  const { body } = await admin.post('/bookings', {
    ResourceId: Number(room),
    Subject: '',
    Start: hour(8),
    End: hour(9),
    SetupMinutes: -1,
    RecurrenceRule: 'x'.repeat(501),
    Status: null,
  });
  const ofRest = (body['Errors'] as { Field: string; Code: string }[]).map(({ Field, Code }) => [
    `${Field.charAt(0).toLowerCase()}${Field.slice(1)}`,
    Code,
  ]);
  expect(faults.map(({ field, code }) => [field, code]).sort()).toEqual(ofRest.sort());
  expect(faults).toContainEqual({
    field: 'subject',
    pointer: '/input/subject',
    code: 'InvalidValue',
    message: 'input.subject: must not be empty.',
  });
});

test('a limit is told in figures as well, over both fronts', async () => {
  const query = `mutation ($input: CreateBookingInput!) { result: createBooking(input: $input) {
    ... on ValidationProblem { errors { code limit { policy minutes days bookings earliest bookableFrom week nextWeek } } } } }`;
  const limitsOf = async (start: string, end: string) => {
    const { data } = await ask(query, { input: { ...wanted(), start, end } });
    const { body } = await admin.post('/bookings', { ResourceId: Number(room), Subject: 'x', Start: start, End: end });
    return [data?.result.errors, body['Errors']];
  };
  const none = {
    policy: null,
    minutes: null,
    bookings: null,
    earliest: null,
    bookableFrom: null,
    week: null,
    nextWeek: null,
  };
  expect(await limitsOf(hour(8), '2027-03-03T08:00:00Z')).toEqual([
    [{ code: 'TooLong', limit: { ...none, days: 1 } }],
    [expect.objectContaining({ Code: 'TooLong', Limit: { Days: 1 } })],
  ]);
  // What is about no limit has none.
  expect(await limitsOf(hour(8), hour(7))).toEqual([
    [{ code: 'InvalidTime', limit: null }],
    [expect.not.objectContaining({ Limit: expect.anything() })],
  ]);
});

test('the instants of a limit are those of REST', async () => {
  const policy = await admin.post('/policies', { Name: 'Halls', LeadMinutes: 525_600 });
  const hall = Number(service.tenant.resources[1]!.id);
  expect((await admin.patch(`/resources/${hall}`, { PolicyId: policy.body['Id'] })).status).toBe(200);
  const user = masterData(service, await service.signIn(service.tenant, 'User'));
  const query = `mutation ($input: CreateBookingInput!) { result: createBooking(input: $input) {
    ... on ValidationProblem { errors { code limit { policy minutes start earliest } } } } }`;
  const { data } = await user.ask(query, { input: { ...wanted(), resourceId: String(hall) } });
  const { body } = await user.post('/bookings', { ResourceId: hall, Subject: 'x', Start: hour(8), End: hour(9) });
  const [{ limit }] = (data!['result'] as { errors: [{ limit: Tree }] }).errors;
  const [{ Limit }] = body['Errors'] as [{ Limit: Tree }];
  expect(limit).toEqual({ policy: 'Halls', minutes: 525_600, start: Limit['Start'], earliest: expect.any(String) });
  // Each front is asked at an instant of its own.
  const written = /^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(\.\d+)?Z$/;
  expect([limit['start'], limit['earliest'], Limit['Earliest']]).toEqual(Array(3).fill(expect.stringMatching(written)));
});

test('what a service finds has the same names and places', async () => {
  const input = { ...wanted(), resourceId: '999999', end: hour(7) };
  const faults = await faultsOf('createBooking', { input: ['CreateBookingInput!', input] });
  expect(brief(faults)).toEqual(['/input/resourceId UnknownResource', '/input/end InvalidTime']);
  expect(faults[0]).toMatchObject({ field: 'resourceId', message: expect.stringMatching(/^resourceId: /) });
});

test('faults of the input itself are reported before stored data are read, over both fronts', async () => {
  const input = { ...wanted(), resourceId: '999999', subject: '', end: hour(7) };
  const sent = { ResourceId: 999_999, Subject: '', Start: hour(8), End: hour(7) };
  const rounds = async (subject: string) => {
    const { body } = await admin.post('/bookings', { ...sent, Subject: subject });
    const faults = await faultsOf('createBooking', { input: ['CreateBookingInput!', { ...input, subject }] });
    return [(body['Errors'] as Tree[]).map(({ Pointer, Code }) => `${Pointer} ${Code}`), brief(faults)];
  };
  expect(await rounds('')).toEqual([['/Subject InvalidValue'], ['/input/subject InvalidValue']]);
  expect(await rounds('Sitzung')).toEqual([
    ['/ResourceId UnknownResource', '/End InvalidTime'],
    ['/input/resourceId UnknownResource', '/input/end InvalidTime'],
  ]);
});

test('faults of several arguments come together', async () => {
  const faults = await faultsOf('createPin', {
    personId: ['ID!', '1'],
    label: ['String', ''],
    expiresAt: ['DateTime', '+010000-01-01T00:00:00Z'],
    idempotencyKey: ['String', 'two words'],
  });
  expect(faults).toHaveLength(1);
  const others = await faultsOf('createPin', {
    personId: ['ID!', '1'],
    label: ['String', ''],
    idempotencyKey: ['String', 'two words'],
  });
  expect(brief(others)).toEqual(['/label InvalidValue', '/idempotencyKey InvalidValue']);
});

test('an id with leading zeros names no record, in an argument and in an input', async () => {
  for (const id of [`0${room}`, `resource_0${room}`]) {
    expect(await ask('query ($id: ID!) { result: resource(id: $id) { id } }', { id })).toEqual({
      data: { result: null },
    });
    const input = { ...wanted(), resourceId: id };
    expect(brief(await faultsOf('createBooking', { input: ['CreateBookingInput!', input] }))).toEqual([
      '/input/resourceId InvalidType',
    ]);
  }
});

test('a text that cannot be an id is answered with what must be there', async () => {
  const input = { ...wanted(), resourceId: 'Aula', organizerId: 'person_Ada' };
  const faults = await faultsOf('createBooking', { input: ['CreateBookingInput!', input] });
  expect(faults.map(({ message }) => message).sort()).toEqual([
    'input.organizerId: must be the id of a person.',
    'input.resourceId: must be the id of a resource.',
  ]);
});

test('a list of a filter that must not be empty, or has too many entries, is told so', async () => {
  const query = `query ($ids: [ID!]!) {
    batches(filter: { importStatus: [] }) { nodes { id } }
    bookings(filter: { resourceId: $ids }) { nodes { id } }
  }`;
  const ids = Array.from({ length: 201 }, (_, index) => String(index + 1));
  const { errors } = await ask(query, { ids });
  expect(errors?.map(({ message }) => message).sort()).toEqual([
    'filter.importStatus: must not be empty.',
    'filter.resourceId: must have at most 200 entries.',
  ]);
});

test('members of parts and of lists have their places', async () => {
  const rule = { weekdays: [1, 8], opens: '08:00', closes: '12:00', validFrom: '2027-02-01', validTo: '2027-01-01' };
  const faults = await faultsOf('setOpeningRules', {
    resourceId: ['ID!', room],
    version: ['Int!', 0],
    items: ['[OpeningRuleInput!]!', [rule, { ...rule, weekdays: [2] }]],
  });
  expect(brief(faults)).toEqual(
    ['0/weekdays/1', '0/validTo', '1/validTo'].map((place) => `/items/${place} InvalidValue`),
  );
});

describe('absent and null are different where the schema of the body says so', () => {
  const change = (version: number, input: Tree) =>
    ask(
      `mutation ($id: ID!, $version: Int!, $input: ChangeResourceInput!) {
        result: changeResource(id: $id, version: $version, input: $input) {
          __typename ... on Resource { capacity name version }
          ... on ValidationProblem { errors { field pointer code message } } } }`,
      { id: room, version, input },
    );

  test('null clears, absent keeps, and null where it may not be is a fault', async () => {
    const { body } = await admin.get(`/resources/${room}`);
    const version = Number(body['Version']);
    const set = await change(version, { capacity: 7 });
    expect(set.data?.result).toMatchObject({ capacity: 7, version: version + 1 });
    const kept = await change(version + 1, { equipment: ['Beamer'] });
    expect(kept.data?.result).toMatchObject({ capacity: 7 });
    const cleared = await change(version + 2, { capacity: null });
    expect(cleared.data?.result).toMatchObject({ capacity: null, name: body['Name'] });
    const refused = await change(version + 3, { name: null });
    expect(brief(refused.data?.result.errors ?? [])).toEqual(['/input/name InvalidType']);
  });

  test('null in place of a value of an enumeration is of the wrong type, as in a tenant file', async () => {
    const id = String(service.tenant.person('User').id);
    const ofRest = await admin.patch(`/persons/${id}`, { Role: null });
    expect(ofRest.body['Errors']).toMatchObject([{ Pointer: '/Role', Code: 'InvalidType' }]);
    const faults = await faultsOf('changePerson', {
      id: ['ID!', id],
      version: ['Int!', 1],
      input: ['ChangePersonInput!', { role: null }],
    });
    expect(brief(faults)).toEqual(['/input/role InvalidType']);
  });
});

test('a text that PostgreSQL cannot keep is a fault with its place', async () => {
  const input = { name: 'a\0b', timeZone: 'Europe/Berlin' };
  expect(brief(await faultsOf('createLocation', { input: ['CreateLocationInput!', input] }))).toContain(
    '/input/name Malformed',
  );
});

test.each([
  ['a missing member', { end: undefined }, ['include required field "end"']],
  ['a wrong value', { status: 'Confirmd' }, ['at .status', 'Did you mean the enum value "Confirmed"?']],
  ['an unknown member', { subjekt: 'x' }, ['unknown field "subjekt"', 'Did you mean "subject"?']],
])('%s is named by GraphQL itself', async (_name, members, texts) => {
  const query = 'mutation ($input: CreateBookingInput!) { result: createBooking(input: $input) { __typename } }';
  const { data, errors } = await ask(query, { input: { ...wanted(), ...members } });
  expect([data ?? null, errors?.length]).toEqual([null, 1]);
  expect(errors?.[0]).toMatchObject({ extensions: { code: 'BAD_USER_INPUT' } });
  for (const text of texts) expect(errors?.[0]?.['message']).toContain(text);
});

test('one query that is refused leaves the others their answers', async () => {
  const user = masterData(service, await service.signIn(service.tenant, 'User'));
  const { data, errors } = await user.ask(`{ me { role } locations { name } persons { nodes { id } }
    displays { nodes { id } } openingHours(locationId: "999999") { timeZone } }`);
  expect(data).toMatchObject({ me: { role: 'User' }, locations: [{ name: expect.any(String) }] });
  expect(data).toMatchObject({ persons: null, displays: null, openingHours: null });
  const told = (errors ?? []).map(({ path, extensions }) => [path, (extensions as Tree)['code']]);
  expect(told.sort()).toEqual([
    [['displays'], 'FORBIDDEN'],
    [['openingHours'], 'NOT_FOUND'],
    [['persons'], 'FORBIDDEN'],
  ]);
});
