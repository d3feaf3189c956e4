import { afterAll, beforeAll, expect, test } from '@jest/globals';
import { type MasterData, masterData, namesOf } from '../_util/master-data.ts';
import { type Service, startService } from '../_util/service.ts';

let service: Service;
let admin: MasterData;
let user: MasterData;

beforeAll(async () => {
  service = await startService({ Role: 'Web' }, ['R001']);
  admin = masterData(service, await service.signIn(service.tenant, 'Admin'));
  user = masterData(service, await service.signIn());
  const place = await admin.post('/locations', { Name: 'Hauptgebäude Zürich', TimeZone: 'Europe/Zurich' });
  const LocationId = place.body['Id'];
  const site = { LocationId, Kind: 'Hörsaal', Equipment: ['Beamer', 'Flügel'] };
  for (const Name of ['HS 101', 'HS-102', 'Große Aula', 'A-1.02 100% _x'])
    await admin.post('/resources', { ...site, Name });
  const person = { TimeZone: 'Europe/Zurich', Role: 'User' };
  for (const [Name, Email] of [
    ['Zoë Müller', 'zoe@eth.example'],
    ['Mueller, Bjørn', 'b.m@eth.example'],
    ['Straßer Łukasz', 'l@eth.example'],
  ])
    await admin.post('/persons', { ...person, Name, Email });
});
afterAll(() => service.stop());

const document = `query ($rooms: ResourceFilter, $persons: PersonFilter) {
  resources(filter: $rooms) { nodes { name } } persons(filter: $persons) { nodes { name } } }`;

test.each([
  ['hs', ['HS 101', 'HS-102']],
  ['HS 102', ['HS-102']],
  ['102', ['HS-102']],
  ['02', ['A-1.02 100% _x']],
  ['1.02', ['A-1.02 100% _x']],
  ['zurich gross', ['Große Aula']],
  ['GROSSE AULA', ['Große Aula']],
  ['aula große', ['Große Aula']],
  ['horsaal flugel haupt', ['HS 101', 'HS-102', 'Große Aula', 'A-1.02 100% _x']],
  ['Zu\u0308rich HS', ['HS 101', 'HS-102']],
  // Only the beginnings of words count, and nothing of a search is a pattern.
  ['saal', []],
  ['100%', ['A-1.02 100% _x']],
  ['H_ %S', []],
  ['hs nowhere', []],
])('the words of %j find the rooms %j', async (search, expected) => {
  const answer = await user.get(`/resources?Search=${encodeURIComponent(search)}`);
  expect(namesOf(answer)).toEqual(expected);
  const { data } = await admin.ask(document, { rooms: { search } });
  expect(data?.['resources']).toEqual({ nodes: expected.map((name) => ({ name })) });
});

test.each([
  ['muller', ['Zoë Müller']],
  ['zoe eth', ['Zoë Müller']],
  ['bjorn', ['Mueller, Bjørn']],
  ['b.m@eth', ['Mueller, Bjørn']],
  ['strasser lukasz', ['Straßer Łukasz']],
  ['eth.example', ['Zoë Müller', 'Mueller, Bjørn', 'Straßer Łukasz']],
])('the words of %j find the persons %j', async (search, expected) => {
  const answer = await admin.get(`/persons?Search=${encodeURIComponent(search)}`);
  expect(namesOf(answer)).toEqual(expected);
  const { data } = await admin.ask(document, { persons: { search } });
  expect(data?.['persons']).toEqual({ nodes: expected.map((name) => ({ name })) });
});

test('who books for others finds persons by their names, and nothing more of them; nobody else does', async () => {
  const organizers = `query ($filter: OrganizerFilter) { organizers(filter: $filter, first: 1) { nodes { displayName } pageInfo { hasNextPage } } }`;
  const me = (await user.get('/persons/me')).body['Id'];
  expect(await user.get('/persons/organizers?Search=zoe')).toMatchObject({ status: 403 });
  expect((await user.ask(organizers)).errors).toMatchObject([{ extensions: { code: 'FORBIDDEN' } }]);
  const group = (await admin.post('/groups', { Name: 'Office' })).body['Id'];
  expect((await admin.patch(`/groups/${group}`, { AddMembers: [me] })).status).toBe(200);
  expect(await user.get('/persons/organizers')).toMatchObject({ status: 403 });
  await admin.post('/policies', { Name: 'For others', MayBookForOthers: [group] });
  for (const who of [user, admin]) {
    const found = await who.get('/persons/organizers?Search=MULLER');
    expect(found.body['Items']).toEqual([{ PersonId: expect.any(Number), DisplayName: 'Zoë Müller' }]);
    // Words of an address are nothing to them.
    expect((await who.get('/persons/organizers?Search=eth')).body['Items']).toEqual([]);
    expect(await who.ask(organizers, { filter: { search: 'z' } })).toEqual({
      data: { organizers: { nodes: [{ displayName: 'Zoë Müller' }], pageInfo: { hasNextPage: false } } },
    });
  }
  const all = (await user.get('/persons/organizers')).body['Items'] as { DisplayName: string }[];
  expect(all.map(({ DisplayName }) => DisplayName)).not.toContain('Display of school');
  const first = await user.get('/persons/organizers?Limit=2');
  const rest = await user.get(`/persons/organizers?Cursor=${first.body['NextCursor']}`);
  expect([...(first.body['Items'] as object[]), ...(rest.body['Items'] as object[])]).toEqual(all);
});

test('a search goes with other filters and with pages, and follows a new name', async () => {
  const found = await user.get('/resources?Search=hs&Name=hs-102');
  expect(namesOf(found)).toEqual(['HS-102']);
  const first = await user.get('/resources?Search=hs&Limit=1');
  expect(namesOf(await user.get(`/resources?Search=hs&Cursor=${first.body['NextCursor']}`))).toEqual(['HS-102']);
  const [{ Id }] = found.body['Items'] as [{ Id: number }];
  await admin.patch(`/resources/${Id}`, { Name: 'Turnhalle' });
  expect(namesOf(await user.get('/resources?Search=turn'))).toEqual(['Turnhalle']);
});

test.each(['', '%', 'x'.repeat(101)])('a search of %j is refused', async (search) => {
  for (const list of ['resources', 'persons', 'availability/free'])
    expect(await admin.get(`/${list}?Search=${encodeURIComponent(search)}`)).toMatchObject({
      status: 400,
      body: { Errors: [{ Field: 'Search' }] },
    });
});
