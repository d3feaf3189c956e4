/** Any record that was read can be sent back with changes. */
import { afterAll, beforeAll, describe, expect, test } from '@jest/globals';
import { ahead } from '../_util/ahead.ts';
import { pairDevice } from '../_util/displays.ts';
import { type MasterData, masterData, type Reply } from '../_util/master-data.ts';
import { type Service, startService } from '../_util/service.ts';

type Tree = Record<string, unknown>;
let service: Service;
let admin: MasterData;
let user: MasterData;
const paths: Record<string, string> = {};

beforeAll(async () => {
  service = await startService({ Role: 'Web' });
  admin = masterData(service, await service.signIn(service.tenant, 'Admin'));
  user = masterData(service, await service.signIn());
  const { tenant } = service;
  const room = tenant.resources[0]!.id;
  const make = async (of: string, body: object) => `${of}/${(await admin.post(of, body)).body['Id']}`;
  const week = { Weekdays: [1], Opens: '08:00', Closes: '18:00' };
  await admin.send('PUT', `/opening-hours/${room}/rules`, {
    body: { Items: [week, { ...week, Weekdays: [7] }] },
    headers: { 'If-Match': '*' },
  });
  const day = { FromDate: '2027-04-01', ToDate: '2027-04-01', Closed: true };
  await admin.send('PUT', `/opening-hours/${room}/exceptions`, {
    body: { Items: [day, { ...day, FromDate: '2027-05-01', ToDate: '2027-05-01' }] },
    headers: { 'If-Match': '*' },
  });
  Object.assign(paths, {
    tenant: '/tenant',
    location: `/locations/${tenant.locationId}`,
    resource: `/resources/${room}`,
    person: `/persons/${tenant.person('User').id}`,
    group: await make('/groups', { Name: 'Teachers' }),
    policy: await make('/policies', { Name: 'Labs' }),
    display: `/displays/${(await pairDevice(service, admin)).id}`,
    booking: await make('/bookings', {
      ResourceId: room,
      Subject: 'Sitzung',
      Start: ahead('2027-03-01T09:00:00Z'),
      End: ahead('2027-03-01T10:00:00Z'),
      RecurrenceRule: 'FREQ=WEEKLY;COUNT=2',
    }),
    rules: `/opening-hours/${room}/rules`,
    exceptions: `/opening-hours/${room}/exceptions`,
  });
});
afterAll(() => service.stop());

const lowered = (value: unknown): unknown => {
  if (Array.isArray(value)) return value.map(lowered);
  if (typeof value !== 'object' || value === null) return value;
  return Object.fromEntries(
    Object.entries(value).map(([name, member]) => [name.charAt(0).toLowerCase() + name.slice(1), lowered(member)]),
  );
};
const isList = (noun: string) => ['rules', 'exceptions'].includes(noun);
const read = async (noun: string) => (await admin.get(paths[noun] as string)).body;
const send = (noun: string, body: unknown, version: unknown, caller = admin): Promise<Reply> =>
  caller.send(isList(noun) ? 'PUT' : 'PATCH', paths[noun] as string, {
    body,
    headers: { 'If-Match': version === '*' ? '*' : `"${version}"` },
  });
const faultsOf = ({ body }: Reply) =>
  ((body['Errors'] ?? []) as Tree[]).map(({ Code, Pointer, Field }) => [Code, Pointer, Field]);

/** A member of each record that cannot be changed, besides Version, and one that can. */
const nouns: [noun: string, fixed: Tree, change: Tree][] = [
  ['tenant', { Mandator: 'other' }, { Name: 'Nord' }],
  ['location', { Id: 9_999 }, { Name: 'Nord' }],
  ['resource', { Id: 9_999 }, { Capacity: 7 }],
  ['person', { ErasedAt: '2027-01-01T00:00:00.000Z' }, { Name: 'Noether' }],
  ['group', { Id: 9_999 }, { Name: 'Pupils' }],
  ['policy', { Id: 9_999 }, { Name: 'Halls' }],
  ['display', { PersonId: 9_999 }, { Name: 'Door' }],
  ['booking', { Organizer: null }, { Subject: 'Anders' }],
  ['rules', { ResourceId: 9_999 }, {}],
  ['exceptions', { ResourceId: 9_999 }, {}],
];

describe.each(nouns)('%s', (noun, fixed, change) => {
  test('is accepted as it was read, in either spelling, with and without changes', async () => {
    const record = await read(noun);
    const same = await send(noun, record, record['Version']);
    expect([same.status, faultsOf(same)]).toEqual([200, []]);
    const { Version, ...others } = same.body;
    if (!isList(noun)) expect(Version).toBe(record['Version']);
    const changed = await send(noun, lowered({ ...same.body, ...change }), Version);
    expect([changed.status, faultsOf(changed)]).toEqual([200, []]);
    if (!isList(noun))
      expect(changed.body).toMatchObject({
        ...others,
        ...change,
        ...('ChangedAt' in record && { ChangedAt: changed.body['ChangedAt'] }),
      });
  });

  test('422 that names what cannot be changed, and all else that is wrong; nothing is changed', async () => {
    const record = await read(noun);
    const [name] = Object.keys(fixed) as [string];
    const answer = await send(noun, { ...record, ...change, ...fixed, Owner: 'me' }, record['Version']);
    expect(answer.status).toBe(422);
    expect(faultsOf(answer)).toEqual([
      ['ReadOnly', `/${name}`, name],
      ['UnknownField', '/Owner', 'Owner'],
    ]);
    expect(await read(noun)).toEqual(record);
  });

  test('412 for a version that is past, also where the record has it; a past Version beside * is refused by name', async () => {
    const record = await read(noun);
    const past = { ...record, Version: (record['Version'] as number) + 100 };
    expect((await send(noun, past, past.Version)).status).toBe(412);
    expect(faultsOf(await send(noun, past, '*'))).toEqual([['ReadOnly', '/Version', 'Version']]);
    expect((await send(noun, record, '*')).status).toBe(200);
    expect((await admin.send(isList(noun) ? 'PUT' : 'PATCH', paths[noun]!, { body: record })).status).toBe(428);
  });

  test('reveals nothing to those who may not change it', async () => {
    const record = await read(noun);
    const answer = await send(noun, { ...record, ...fixed }, '*', user);
    expect(answer.status).toBe((await user.get(paths[noun] as string)).status === 200 ? 422 : 403);
    expect((await send(noun, change, '*', user)).status).toBe(403);
  });
});

test('items of lists belong together by their Id; one that is new has none', async () => {
  const { Version, Items } = (await read('rules')) as { Version: number; Items: Tree[] };
  const [first, second] = Items as [Tree, Tree];
  const { Id: _, LocationId, ResourceId, ...fresh } = second;
  const refused = await send(
    'rules',
    {
      Items: [
        { ...first, LocationId: 9_999 },
        { ...second, Id: 9_999 },
      ],
    },
    Version,
  );
  expect(faultsOf(refused)).toEqual([
    ['ReadOnly', '/Items/0/LocationId', 'LocationId'],
    ['UnknownField', '/Items/1/Id', 'Id'],
    ['UnknownField', '/Items/1/LocationId', 'LocationId'],
    ['UnknownField', '/Items/1/ResourceId', 'ResourceId'],
  ]);
  const Weekdays = [2];
  const swapped = await send('rules', { Items: [second, first, { ...fresh, Weekdays }] }, Version);
  expect(swapped.body['Items']).toMatchObject([
    { Weekdays: second['Weekdays'], LocationId, ResourceId },
    { Weekdays: first['Weekdays'] },
    { Weekdays },
  ]);
});

test('what a device reports of itself may have changed since', async () => {
  const record = await read('display');
  const { status, body } = await send(
    'display',
    { ...record, HeardAt: null, Health: null, Name: 'Later' },
    record['Version'],
  );
  expect([status, body['Name']]).toEqual([200, 'Later']);
});

test('as many items as a list may have', async () => {
  const Items = Array.from({ length: 1_000 }, (_, number) => {
    const date = new Date(Date.UTC(2028, 0, 1 + number)).toISOString().slice(0, 10);
    return { FromDate: date, ToDate: date, Closed: true };
  });
  expect((await send('exceptions', { Items }, '*')).status).toBe(200);
  const record = await read('exceptions');
  const answer = await send('exceptions', record, record['Version']);
  expect([answer.status, (answer.body['Items'] as Tree[]).length]).toEqual([200, 1_000]);
});

test('a new record accepts no read-only members', async () => {
  const record = await read('resource');
  expect(faultsOf(await admin.post('/resources', { ...record, Name: 'Copy' }))).toEqual(
    expect.arrayContaining([['UnknownField', '/Id', 'Id']]),
  );
});
