/** Whoever may decide about private requests sees and finds them as their owner does; so does who has decided. */
import { afterAll, beforeAll, describe, expect, test } from '@jest/globals';
import { ahead } from '../_util/ahead.ts';
import { type MasterData, masterData } from '../_util/master-data.ts';
import { type Service, startService } from '../_util/service.ts';

type Tree = Record<string, unknown>;

const days = ahead('From=2027-03-01T00:00:00Z&To=2027-03-05T00:00:00Z');

let service: Service;
let admin: MasterData;
let owner: MasterData;
let decider: MasterData;
/** May decide, too. */
let deputy: MasterData;
let others: MasterData[];
let requests: { ids: number[]; seriesId: number; personId: number; resourceId: number };

async function post(caller: MasterData, path: string, body: object): Promise<Tree> {
  const answer = await caller.post(path, body);
  expect([answer.status, answer.text]).toEqual([201, answer.text]);
  return answer.body;
}

/** A further User, in a group of its own unless one is given. */
async function addMember(name: string, given?: number): Promise<{ caller: MasterData; groupId: number }> {
  const person = await post(admin, '/persons', {
    Name: name,
    Email: `${name}@school.example`,
    TimeZone: 'UTC',
    Role: 'User',
  });
  const groupId = given ?? ((await post(admin, '/groups', { Name: name }))['Id'] as number);
  await admin.patch(`/groups/${groupId}`, { AddMembers: [person['Id']] });
  const { tenant } = service;
  const who = { ...tenant, person: () => ({ ...tenant.person('User'), id: person['Id'] as number }) };
  return { caller: masterData(service, await service.signIn(who)), groupId };
}

beforeAll(async () => {
  service = await startService({ Role: 'Web' });
  const { tenant } = service;
  admin = masterData(service, await service.signIn(tenant, 'Admin'));
  owner = masterData(service, await service.signIn());
  const [member, trusted] = [await addMember('decider'), await addMember('trusted')];
  decider = member.caller;
  deputy = (await addMember('deputy', member.groupId)).caller;
  others = [trusted.caller, (await addMember('stranger')).caller];
  const policy = await post(admin, '/policies', {
    Name: 'Hall',
    NeedsApproval: true,
    MayDecide: [member.groupId],
    MaySkipApproval: [trusted.groupId],
  });
  const resourceId = tenant.resources[0]!.id;
  await admin.patch(`/resources/${resourceId}`, { PolicyId: policy['Id'] });
  const first = await post(owner, '/bookings', {
    ResourceId: resourceId,
    Subject: 'Geheim',
    Start: ahead('2027-03-01T09:00:00Z'),
    End: ahead('2027-03-01T10:00:00Z'),
    IsPrivate: true,
    RecurrenceRule: 'FREQ=DAILY;COUNT=2',
  });
  const { Items } = (await owner.get(`/bookings?SeriesId=${first['SeriesId']}`)).body as { Items: { Id: number }[] };
  requests = {
    ids: Items.map(({ Id }) => Id),
    seriesId: first['SeriesId'] as number,
    personId: tenant.person('User').id,
    resourceId,
  };
});
afterAll(() => service.stop());

/** The ids that each filter finds, which only those find who see the content. */
async function find(caller: MasterData): Promise<Record<string, number[]>> {
  const { seriesId, personId, resourceId } = requests;
  const filters = [
    `SeriesId=${seriesId}`,
    `${days}&SeriesId=${seriesId}&ResourceId=${resourceId}`,
    `${days}&PersonId=${personId}`,
    `${days}&Search=geheim`,
  ];
  const found = filters.map(async (filter): Promise<[string, number[]]> => {
    const { status, body } = await caller.get(`/bookings?${filter}`);
    expect(status).toBe(200);
    return [filter, (body['Items'] as { Id: number }[]).map(({ Id }) => Id)];
  });
  return Object.fromEntries(await Promise.all(found));
}

const everywhere = (found: Record<string, number[]>, ids: number[]) =>
  Object.fromEntries(Object.keys(found).map((filter) => [filter, ids]));

/** The subjects of the requests, which are in the way of another series. */
async function meet(caller: MasterData): Promise<unknown[]> {
  const { status, body } = await caller.post('/bookings', {
    ResourceId: requests.resourceId,
    Subject: 'Probe',
    Start: ahead('2027-03-01T09:00:00Z'),
    End: ahead('2027-03-01T10:00:00Z'),
    RecurrenceRule: 'FREQ=DAILY;COUNT=2',
  });
  expect(status).toBe(409);
  return (body['Conflicts'] as Tree[]).map(({ Subject }) => Subject);
}

describe('private requests', () => {
  test('are found by series, organizer and words by whoever may decide about them, and by no other', async () => {
    const found = await find(decider);
    expect(found).toEqual(everywhere(found, requests.ids));
    for (const other of others) expect(await find(other)).toEqual(everywhere(found, []));
    const ofOwner = await decider.get(`/bookings?ToDecide=true&PersonId=${requests.personId}`);
    expect(ofOwner.body['Items']).toHaveLength(2);
  });

  test('have a series for whoever may decide about them', async () => {
    const { seriesId, ids } = requests;
    const bookings = `{ id bookings { nodes { id } } }`;
    const query = `query ($booking: ID!, $node: ID!) { booking(id: $booking) { series ${bookings} } node(id: $node) { ... on Series ${bookings} } }`;
    const ask = (caller: MasterData) => caller.ask(query, { booking: String(ids[0]), node: `series_${seriesId}` });
    const { data } = await ask(decider);
    const series = { id: expect.anything(), bookings: { nodes: ids.map((id) => ({ id: String(id) })) } };
    expect(data).toEqual({ booking: { series }, node: series });
    for (const other of others) expect((await ask(other)).data).toEqual({ booking: { series: null }, node: null });
  });

  test('in the way of a booking have their subject for whoever may decide about them', async () => {
    expect(await meet(decider)).toEqual(['Geheim', 'Geheim']);
    for (const other of others) expect(await meet(other)).toEqual(['Belegt', 'Belegt']);
  });

  test('about which somebody has decided are found by that person, and no longer by others who might have', async () => {
    const [id, open] = requests.ids;
    const { status } = await decider.send('POST', `/bookings/${id}/decide`, {
      body: { Verdict: 'Approved' },
      headers: { 'If-Match': '*' },
    });
    expect(status).toBe(200);
    const found = await find(decider);
    expect(found).toEqual(everywhere(found, requests.ids));
    expect(await meet(decider)).toEqual(['Geheim', 'Geheim']);
    expect(await find(deputy)).toEqual(everywhere(found, [open!]));
    expect(await meet(deputy)).toEqual(['Belegt', 'Geheim']);
  });
});
