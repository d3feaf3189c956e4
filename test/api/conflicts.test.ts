/** A conflict says by code what it is about, and which member, in both fronts. */
import { readdirSync, readFileSync } from 'node:fs';
import { afterAll, beforeAll, expect, test } from '@jest/globals';
import { lowerFirst } from '../../src/fields.ts';
import { type MasterData, masterData, type Reply } from '../_util/master-data.ts';
import { type Service, startService } from '../_util/service.ts';

type Tree = Record<string, unknown>;

let service: Service;
let admin: MasterData;
let locationId: number;

beforeAll(async () => {
  service = await startService({ Role: 'Web' });
  admin = masterData(service, await service.signIn(service.tenant, 'Admin'));
  locationId = service.tenant.locationId;
});
afterAll(() => service.stop());

/** The faults of a refusal of REST. */
const faultsOf = ({ status, body }: Reply) => ({
  status,
  faults: (body['Errors'] as Tree[] | undefined)?.map(({ Field, Pointer, Code }) => ({ Field, Pointer, Code })),
});

/** The refusal of a mutation. */
async function refusalOf(mutation: string, variables: Tree): Promise<unknown> {
  const problem = `__typename ... on ConflictProblem { code errors { field pointer otherPointer code } }`;
  return (await admin.ask(`mutation ${mutation} { ${problem} } }`, variables)).data?.['result'];
}

const inCamelCase = (record: Tree) =>
  Object.fromEntries(Object.entries(record).map(([name, value]) => [lowerFirst(name), value]));

/** What can be made, and its member that another record has already. */
const taken: [
  what: string,
  path: string,
  noun: string,
  field: string,
  code: string,
  body: () => Tree,
  retires?: true,
][] = [
  ['a location', 'locations', 'Location', 'Name', 'NameTaken', () => ({ Name: 'Annexe', TimeZone: 'UTC' })],
  ['a resource', 'resources', 'Resource', 'Name', 'NameTaken', () => ({ Name: 'A 1', LocationId: locationId })],
  ['a group', 'groups', 'Group', 'Name', 'NameTaken', () => ({ Name: 'Staff' })],
  ['a policy', 'policies', 'Policy', 'Name', 'NameTaken', () => ({ Name: 'Short' })],
  [
    'a holiday calendar',
    'holiday-calendars',
    'HolidayCalendar',
    'Name',
    'NameTaken',
    () => ({ Name: 'Ferien', Url: `https://calendar.example/holidays.ics` }),
  ],
  [
    'a webhook',
    'webhooks',
    'Webhook',
    'Name',
    'NameTaken',
    () => ({ Name: 'Board', Url: 'https://board.example/', Kinds: ['BatchEnded'] }),
  ],
  [
    'a person',
    'persons',
    'Person',
    'Email',
    'EmailTaken',
    () => ({ Name: 'Ada', Email: 'ada@school.example', TimeZone: 'UTC', Role: 'User' }),
  ],
  [
    'a retired location',
    'locations',
    'Location',
    'Name',
    'NameOfRetired',
    () => ({ Name: 'Barn', TimeZone: 'UTC' }),
    true,
  ],
  [
    'a retired resource',
    'resources',
    'Resource',
    'Name',
    'NameOfRetired',
    () => ({ Name: 'B 1', LocationId: locationId }),
    true,
  ],
];

test.each(taken)('409 names the member whose value %s has already', async (...row) => {
  const [, path, noun, field, code, body, retires] = row;
  const first = await admin.post(`/${path}`, body());
  expect(first.status).toBe(201);
  if (retires) await admin.patch(`/${path}/${first.body['Id']}`, { Active: false });
  expect(faultsOf(await admin.post(`/${path}`, body()))).toEqual({
    status: 409,
    faults: [{ Field: field, Pointer: `/${field}`, Code: code }],
  });
  const input = inCamelCase(body());
  if (input['locationId']) input['locationId'] = String(input['locationId']);
  const name = lowerFirst(field);
  expect(await refusalOf(`($input: Create${noun}Input!) { result: create${noun}(input: $input)`, { input })).toEqual({
    __typename: 'ConflictProblem',
    code: 'Conflict',
    errors: [{ field: name, pointer: `/input/${name}`, otherPointer: null, code }],
  });
});

test('409 names the TeacherCode that another person has, also as the client spells it', async () => {
  const person = (Email: string) => ({ Name: 'Grace', Email, TimeZone: 'UTC', Role: 'User', TeacherCode: 'GH' });
  expect((await admin.post('/persons', person('grace@school.example'))).status).toBe(201);
  const refused = await admin.post('/persons', inCamelCase(person('hopper@school.example')));
  expect(faultsOf(refused)).toEqual({
    status: 409,
    faults: [{ Field: 'TeacherCode', Pointer: '/teacherCode', Code: 'TeacherCodeTaken' }],
  });
});

/** Changes that the present state does not allow. */
const impossible: [what: string, code: string, field: string | null, attempt: () => Promise<Reply>][] = [
  [
    'a location whose resources are active is retired',
    'HasActiveResources',
    null,
    async () => {
      const { LocationId } = await makeRoom();
      return await admin.patch(`/locations/${LocationId}`, { Active: false });
    },
  ],
  [
    'a resource is made at a retired location',
    'InactiveLocation',
    'LocationId',
    async () => {
      const { Id: LocationId } = await make('locations', { Name: 'Closed', TimeZone: 'UTC' });
      await admin.patch(`/locations/${LocationId}`, { Active: false });
      return await admin.post('/resources', { LocationId, Name: 'C 1' });
    },
  ],
  [
    'the last Admin becomes a User',
    'LastAdmin',
    null,
    () => admin.patch(`/persons/${service.tenant.person('Admin').id}`, { Role: 'User' }),
  ],
  [
    'a PIN is made for a retired person',
    'InactivePerson',
    null,
    async () => {
      const person = { Name: 'Emmy', Email: 'emmy@school.example', TimeZone: 'UTC', Role: 'User' };
      const { Id } = await make('persons', person);
      await admin.patch(`/persons/${Id}`, { Active: false });
      return await admin.post(`/persons/${Id}/pins`, {});
    },
  ],
  [
    'a PIN is made for an erased person',
    'PersonErased',
    null,
    async () => {
      const { Id } = await make('persons', { Name: 'Ida', Email: 'ida@school.example', TimeZone: 'UTC', Role: 'User' });
      await admin.post(`/persons/${Id}/erasure`, {});
      return await admin.post(`/persons/${Id}/pins`, {});
    },
  ],
  [
    'a retired resource is booked',
    'InactiveResource',
    'ResourceId',
    async () => await admin.post('/bookings', bookingOf(await makeRetired())),
  ],
  [
    'a booking is moved to a retired resource',
    'InactiveResource',
    'ResourceId',
    async () => {
      const { Id } = await make('bookings', bookingOf((await makeRoom()).Id));
      return await admin.patch(`/bookings/${Id}`, { ResourceId: await makeRetired() });
    },
  ],
  [
    'a policy is deleted that a resource has',
    'InUse',
    null,
    async () => {
      const { Id: PolicyId } = await make('policies', { Name: 'Strict' });
      await makeRoom({ PolicyId });
      return await admin.send('DELETE', `/policies/${PolicyId}`, { headers: { 'If-Match': '*' } });
    },
  ],
  [
    'an Idempotency-Key has made a PIN already',
    'KeyUsed',
    null,
    async () => {
      const path = `/persons/${service.tenant.person('User').id}/pins`;
      await admin.post(path, {}, { 'Idempotency-Key': 'pin-1' });
      return await admin.post(path, {}, { 'Idempotency-Key': 'pin-1' });
    },
  ],
  [
    'a room is taken',
    'RoomOccupied',
    null,
    async () => {
      const { Id: ResourceId } = await makeRoom();
      await make('bookings', bookingOf(ResourceId));
      return await admin.post('/bookings', bookingOf(ResourceId));
    },
  ],
  [
    'a booking is changed that is cancelled',
    'BookingCancelled',
    null,
    async () => {
      const { Id } = await make('bookings', bookingOf((await makeRoom()).Id));
      await admin.send('DELETE', `/bookings/${Id}`, { headers: { 'If-Match': '*' } });
      return await admin.patch(`/bookings/${Id}`, { Subject: 'Other' });
    },
  ],
  [
    'a booking that needs no check-in is checked in',
    'NoCheckIn',
    null,
    async () => {
      const { Id } = await make('bookings', bookingOf((await makeRoom()).Id));
      return await admin.post(`/bookings/${Id}/check-in`, {});
    },
  ],
];

let sites = 0;
async function make(list: string, body: Tree) {
  const { status, body: made } = await admin.post(`/${list}`, body);
  expect(status).toBe(201);
  return made as { Id: number };
}
async function makeRoom(more: Tree = {}) {
  const { Id: LocationId } = await make('locations', { Name: `Site ${++sites}`, TimeZone: 'UTC' });
  return { ...(await make('resources', { Name: 'Room', LocationId, ...more })), LocationId };
}
async function makeRetired(): Promise<number> {
  const { Id } = await makeRoom();
  expect((await admin.patch(`/resources/${Id}`, { Active: false })).status).toBe(200);
  return Id;
}
const tomorrow = Math.ceil(Date.now() / 86_400_000) * 86_400_000 + 86_400_000;
const bookingOf = (ResourceId: number) => ({
  ResourceId,
  Subject: 'Exam',
  Start: new Date(tomorrow).toISOString(),
  End: new Date(tomorrow + 3_600_000).toISOString(),
});

test.each(impossible)('409 says by code why, when %s', async (_what, code, field, attempt) => {
  expect(faultsOf(await attempt())).toEqual({
    status: 409,
    faults: [{ Field: field, Pointer: field && `/${field}`, Code: code }],
  });
});

test('ConflictProblem says by code why, and what is about no member has no pointer', async () => {
  const id = String(service.tenant.person('Admin').id);
  expect(
    await refusalOf(`($id: ID!) { result: changePerson(id: $id, version: 1, input: { role: User })`, { id }),
  ).toEqual({
    __typename: 'ConflictProblem',
    code: 'Conflict',
    errors: [{ field: null, pointer: null, otherPointer: null, code: 'LastAdmin' }],
  });
});

test('422 with a code for an Idempotency-Key of another request', async () => {
  const [one, other] = [bookingOf((await makeRoom()).Id), bookingOf((await makeRoom()).Id)];
  const headers = { 'Idempotency-Key': 'booking-1' };
  await admin.post('/bookings', one, headers);
  expect(faultsOf(await admin.post('/bookings', other, headers))).toEqual({
    status: 422,
    faults: [{ Field: null, Pointer: null, Code: 'KeyUsed' }],
  });
});

test('a cursor that the feed of changes does not know', async () => {
  const cursor = Buffer.from('r1:changes:[42,1795596400000000]').toString('base64url');
  expect(faultsOf(await admin.get(`/changes?Cursor=${cursor}`))).toEqual({
    status: 409,
    faults: [{ Field: null, Pointer: null, Code: 'CursorLost' }],
  });
});

test('the console has a sentence in both languages for each code of a conflict', () => {
  const source = (path: string) => readFileSync(new URL(`../../src/${path}`, import.meta.url), 'utf8');
  const files = readdirSync(new URL('../../src', import.meta.url), { recursive: true, encoding: 'utf8' });
  const codes = files
    .filter((file) => file.endsWith('.ts') && !file.startsWith('web/'))
    .flatMap((file) => [...source(file).matchAll(/(?:Conflict\.because|stateFault)\(\s*'(\w+)'/g)])
    .map(([, code]) => code as string);
  expect(new Set(codes).size).toBeGreaterThan(30);
  const texts = ['conflicts', 'problems'].map((name) => source(`web/console/texts/${name}.ts`)).join();
  const unsaid = codes.filter((code) => [...texts.matchAll(new RegExp(`^    ${code}:`, 'gm'))].length !== 2);
  expect(unsaid).toEqual([]);
});
