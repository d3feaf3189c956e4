import { afterAll, beforeAll, expect, test } from '@jest/globals';
import { mayBookUnder, mayDecide, maySeePolicy, mustAsk, type Policy } from '../../src/access.ts';
import type { Viewer } from '../../src/context.ts';
import { makeTenant } from '../_util/factories.ts';
import { lockedBy } from '../_util/hold.ts';
import { type MasterData, masterData, namesOf } from '../_util/master-data.ts';
import { type Service, startService } from '../_util/service.ts';

let service: Service;
let admin: MasterData;
let user: MasterData;
let stranger: MasterData;

beforeAll(async () => {
  service = await startService({ Role: 'Web' });
  admin = masterData(service, await service.signIn(service.tenant, 'Admin'));
  user = masterData(service, await service.signIn());
  const elsewhere = await makeTenant(service.context.db, { code: 'elsewhere' });
  stranger = masterData(service, await service.signIn(elsewhere, 'Admin'), 'elsewhere');
});
afterAll(() => service.stop());

const idOf = (answer: { body: Record<string, unknown> }) => answer.body['Id'] as number;
const faultsOf = ({ body }: { body: Record<string, unknown> }) =>
  (body['Errors'] as { Code: string; Pointer: string }[]).map(({ Code, Pointer }) => `${Code} ${Pointer}`);
let made = 0;
const makeGroup = async (more: object = {}) => idOf(await admin.post('/groups', { Name: `Group ${++made}`, ...more }));
const makePolicy = async (more: object = {}) =>
  idOf(await admin.post('/policies', { Name: `Policy ${++made}`, ...more }));

test('a group is made, read, changed in its version and deleted, the same over GraphQL', async () => {
  const [one, other] = [service.tenant.person('User').id, service.tenant.person('Admin').id];
  const answer = await admin.post('/groups', { Name: ' Teachers ', AddMembers: [one] });
  const id = idOf(answer);
  expect(answer).toMatchObject({ status: 201, body: { Name: 'Teachers', Version: 1 } });
  expect(answer.headers.get('location')).toBe(`${service.url}/school/api/v1.0/groups/${id}`);
  expect((await admin.post('/groups', { Name: 'TEACHERS' })).status).toBe(409);
  expect((await admin.patch(`/groups/${id}`, { AddMembers: [other], RemoveMembers: [one] }, 1)).body).toMatchObject({
    Version: 2,
  });
  expect((await admin.patch(`/groups/${id}`, { AddMembers: [other], RemoveMembers: [one] }, 2)).body).toMatchObject({
    Version: 2,
  });
  expect((await admin.patch(`/groups/${id}`, { Name: 'Staff', AddMembers: [one] }, 2)).body).toMatchObject({
    Name: 'Staff',
    Version: 3,
  });
  expect((await admin.patch(`/groups/${id}`, { Name: 'Late' }, 2)).status).toBe(412);
  expect((await admin.get(`/groups?Name=staff`)).body).toEqual({
    Items: [{ Id: id, Name: 'Staff', Version: 3 }],
    NextCursor: null,
  });
  expect((await admin.get(`/persons?GroupId=${id}`)).body['Items']).toHaveLength(2);
  const { data } = await admin.ask(
    `query ($id: ID!) { group(id: $id) { name version members(first: 1) { nodes { id groups { nodes { name } } }
      pageInfo { hasNextPage } } } }`,
    { id: String(id) },
  );
  expect(data?.['group']).toMatchObject({
    name: 'Staff',
    version: 3,
    members: { nodes: [{ groups: { nodes: [{ name: 'Staff' }] } }], pageInfo: { hasNextPage: true } },
  });
  expect((await admin.send('DELETE', `/groups/${id}`)).status).toBe(428);
  expect((await admin.send('DELETE', `/groups/${id}`, { headers: { 'If-Match': '"3"' } })).status).toBe(204);
  expect((await admin.get(`/groups/${id}`)).status).toBe(404);
});

test('over GraphQL too a group and a policy are made, changed and deleted, or the problem is told', async () => {
  const run = async (query: string, variables: object, caller = admin) =>
    Object.values((await caller.ask(query, variables)).data ?? {})[0] as Record<string, unknown>;
  for (const noun of ['Group', 'Policy']) {
    const create = `mutation ($input: Create${noun}Input!) { create${noun}(input: $input) {
      __typename ... on ${noun} { id name version } ... on Problem { code } } }`;
    const change = `mutation ($id: ID!, $version: Int!, $input: Change${noun}Input!) {
      change${noun}(id: $id, version: $version, input: $input) {
      __typename ... on ${noun} { name version } ... on Problem { code } } }`;
    const remove = `mutation ($id: ID!, $version: Int!) { delete${noun}(id: $id, version: $version) {
      __typename ... on ${noun} { name } ... on Problem { code } } }`;
    const { id, ...record } = await run(create, { input: { name: 'Over GraphQL' } });
    expect(record).toEqual({ __typename: noun, name: 'Over GraphQL', version: 1 });
    expect(await run(create, { input: { name: 'over graphql' } })).toMatchObject({ code: 'Conflict' });
    expect(await run(create, { input: { name: 'Mine' } }, user)).toMatchObject({ code: 'Forbidden' });
    expect(await run(change, { id, version: 1, input: { name: 'New' } })).toMatchObject({ name: 'New', version: 2 });
    expect(await run(remove, { id, version: 1 })).toMatchObject({ __typename: 'VersionProblem' });
    expect(await run(remove, { id, version: 2 })).toEqual({ __typename: noun, name: 'New' });
    expect(await run(remove, { id, version: 2 })).toMatchObject({ __typename: 'NotFoundProblem' });
  }
});

test('unknown persons and groups are named, those of other tenants too, and nothing is made', async () => {
  const foreign = idOf(await stranger.post('/groups', { Name: 'Strangers' }));
  const mine = await makeGroup();
  expect(faultsOf(await admin.post('/groups', { Name: 'Nobody', AddMembers: [1_999_999_999] }))).toEqual([
    'UnknownPerson /AddMembers/0',
  ]);
  expect((await admin.get('/groups?Name=Nobody')).body['Items']).toEqual([]);
  expect(faultsOf(await admin.post('/policies', { Name: 'X', MayBook: [mine, foreign], MaySee: [foreign] }))).toEqual([
    'UnknownGroup /MaySee/0',
    expect.stringMatching(/^UnknownGroup \/MayBook\/[01]$/),
  ]);
  for (const path of [`/groups/${foreign}`, `/policies/${foreign}`]) {
    expect((await admin.get(path)).status).toBe(404);
    expect((await admin.patch(path, {})).status).toBe(404);
    expect((await admin.send('DELETE', path, { headers: { 'If-Match': '*' } })).status).toBe(404);
  }
});

test('a policy keeps its rules; null clears one, and a list is the whole list', async () => {
  const [one, two] = [await makeGroup(), await makeGroup()];
  const policy = { Name: 'Halls', MayBook: [two, one, two], NeedsApproval: true, LeadMinutes: 60, AheadDays: 90 };
  const answer = await admin.post('/policies', policy);
  expect(answer).toMatchObject({
    status: 201,
    body: {
      Name: 'Halls',
      MaySee: [],
      MayBook: [one, two],
      NeedsApproval: true,
      MaySkipApproval: [],
      MayDecide: [],
      MayBookForOthers: [],
      LeadMinutes: 60,
      AheadDays: 90,
      LongestMinutes: null,
      QuotaMinutesPerWeek: null,
      QuotaBookingsPerWeek: null,
      Version: 1,
    },
  });
  const id = idOf(answer);
  const changes = { LeadMinutes: null, MayBook: [two], QuotaBookingsPerWeek: 3 };
  const changed = await admin.patch(`/policies/${id}`, changes, 1);
  expect(changed.body).toEqual({ ...answer.body, ...changes, Version: 2 });
  expect((await admin.patch(`/policies/${id}`, { MayBook: [two] }, 2)).body).toMatchObject({ Version: 2 });
  expect((await user.get(`/policies/${id}`)).body).toEqual(changed.body);
});

test('what is in use is not deleted: a group that a policy names, a policy that a resource has', async () => {
  const group = await makeGroup();
  const policy = await makePolicy({ MayDecide: [group] });
  const [room] = (await admin.get('/resources')).body['Items'] as { Id: number }[];
  expect((await admin.patch(`/resources/${room!.Id}`, { PolicyId: policy })).body).toMatchObject({
    PolicyId: policy,
    Version: 2,
  });
  const remove = (path: string) => admin.send('DELETE', path, { headers: { 'If-Match': '*' } });
  expect((await remove(`/groups/${group}`)).status).toBe(409);
  expect((await remove(`/policies/${policy}`)).status).toBe(409);
  expect((await user.ask(`{ resource(id: "${room!.Id}") { policy { id } } }`)).data).toEqual({
    resource: { policy: { id: String(policy) } },
  });
  expect((await admin.patch(`/resources/${room!.Id}`, { PolicyId: null })).body).toMatchObject({ PolicyId: null });
  expect((await remove(`/policies/${policy}`)).status).toBe(204);
  expect((await remove(`/groups/${group}`)).status).toBe(204);
  expect(faultsOf(await admin.patch(`/resources/${room!.Id}`, { PolicyId: policy }))).toEqual([
    'UnknownPolicy /PolicyId',
  ]);
});

test('persons who join a group are locked before it, as by tenant files, so that neither waits for the other', async () => {
  const AddMembers = [service.tenant.person('User').id];
  const path = `/groups/${await makeGroup()}`;
  expect(await lockedBy(() => admin.patch(path, { AddMembers }))).toEqual(['person', 'person_group']);
  expect(await lockedBy(() => admin.patch(path, { RemoveMembers: AddMembers }))).toEqual(['person_group']);
});

test('a User reads its own groups and no others', async () => {
  const me = service.tenant.person('User').id;
  await makeGroup({ Name: 'Mine', AddMembers: [me] });
  const other = await makeGroup({ Name: 'Not mine' });
  expect(namesOf(await user.get(`/groups?PersonId=${me}`))).toContain('Mine');
  expect(namesOf(await user.get(`/groups?PersonId=${me}`))).not.toContain('Not mine');
  expect((await user.ask('{ me { groups { nodes { name } } } }')).data).toMatchObject({
    me: { groups: { nodes: expect.arrayContaining([{ name: 'Mine' }]) } },
  });
  for (const path of ['/groups', `/groups/${other}`, `/groups?PersonId=${service.tenant.person('Admin').id}`])
    expect((await user.get(path)).status).toBe(403);
});

const rules = { leadMinutes: null, aheadDays: null, longestMinutes: null };
const quotas = { quotaMinutesPerWeek: null, quotaBookingsPerWeek: null };
const open: Policy = {
  id: 1,
  maySee: [],
  mayBook: [],
  needsApproval: false,
  maySkipApproval: [],
  mayDecide: [],
  mayBookForOthers: [],
  ...rules,
  ...quotas,
};
const closed: Policy = {
  ...open,
  maySee: [1],
  mayBook: [2],
  needsApproval: true,
  maySkipApproval: [3],
  mayDecide: [4],
  mayBookForOthers: [5],
};
const as = (role: Viewer['role'], ...groupIds: number[]) => ({ role, groupIds }) as unknown as Viewer;

test.each<[string, Viewer, Policy, [sees: boolean, books: boolean, asks: boolean, decides: boolean]]>([
  ['an Admin', as('Admin'), closed, [true, true, false, true]],
  ['an Importer', as('Importer'), closed, [true, false, true, false]],
  ['a User of no group', as('User'), closed, [false, false, true, false]],
  ['who may see', as('User', 1), closed, [true, false, true, false]],
  ['who may book', as('User', 2), closed, [false, true, true, false]],
  ['who need not ask', as('User', 3, 2), closed, [false, true, false, false]],
  ['who decides', as('User', 4), closed, [false, true, false, true]],
  ['who books for others', as('User', 5), closed, [false, true, true, false]],
  ['a display', as('Display'), closed, [false, true, false, false]],
  ['a User, where nobody is named', as('User'), open, [true, true, false, false]],
  ['a User of groups, where nobody is named', as('User', 1, 2), open, [true, true, false, false]],
])('under a policy: %s', (_name, viewer, policy, decided) => {
  expect([
    maySeePolicy(viewer, policy),
    mayBookUnder(viewer, policy),
    mustAsk(viewer, policy),
    mayDecide(viewer, policy),
  ]).toEqual(decided);
});
