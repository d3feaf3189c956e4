import { afterAll, beforeAll, expect, test } from '@jest/globals';
import { createClient } from 'graphql-sse';
import { sql } from 'kysely';
import { forgetProblems, mostOpen, problemFigures } from '../../src/problems/service.ts';
import { type Device, pairDevice } from '../_util/displays.ts';
import { type MasterData, masterData } from '../_util/master-data.ts';
import { type Service, startService } from '../_util/service.ts';

let service: Service;
let admin: MasterData;
let device: Device;
let [room, other] = [0, 0];

beforeAll(async () => {
  service = await startService({ Role: 'Web' });
  admin = masterData(service, await service.signIn(service.tenant, 'Admin'));
  [room, other] = service.tenant.resources.map(({ id }) => id) as [number, number];
  device = await pairDevice(service, admin, { Name: 'Tür' });
});
afterAll(() => service.stop());

const report = (body: object, by: MasterData = device) => by.post('/room-problems', { ResourceId: room, ...body });
const list = async (query = '') => (await admin.get(`/room-problems${query}`)).body['Items'] as { Id: number }[];

test('what is reported at a door is stored once, whenever it is sent again', async () => {
  const sent = { Kind: 'Heating', Text: ' zu kalt ', Key: 'first', ReportedAt: '2026-03-02T08:00:00Z' };
  const answers = await Promise.all([report(sent), report(sent), report(sent)]);
  const { status, body } = answers[0];
  expect([status, body]).toMatchObject([
    201,
    {
      ResourceId: room,
      DisplayId: device.id,
      DisplayName: 'Tür',
      Kind: 'Heating',
      Text: 'zu kalt',
      Version: 1,
      ReportedAt: '2026-03-02T08:00:00.000Z',
      State: 'Open',
      DoneAt: null,
      DoneBy: null,
    },
  ]);
  for (const answer of answers) expect(answer.body).toEqual(body);
  expect(await list()).toEqual([body]);
  expect((await report({ ...sent, Text: 'zu warm' })).body).toMatchObject({ Errors: [{ Pointer: '/Key' }] });
});

test('reports that nobody may make are refused, and change nothing', async () => {
  const before = await list();
  for (const [body, pointer] of [
    [{ Kind: 'Weather' }, '/Kind'],
    [{ Kind: 'Other', Text: 'x'.repeat(301) }, '/Text'],
    [{ Kind: 'Other', Text: '  ' }, '/Text'],
    [{ Kind: 'Other', Key: 'with space' }, '/Key'],
    [{ Kind: 'Other', ResourceId: other }, '/ResourceId'],
    [{ Kind: 'Other', ReportedAt: 'today' }, '/ReportedAt'],
  ] as const)
    expect(await report(body)).toMatchObject({ status: 422, body: { Errors: [{ Pointer: pointer }] } });
  expect((await report({ Kind: 'Other' }, admin)).status).toBe(403);
  expect((await device.get('/room-problems')).status).toBe(403);
  expect(await list()).toEqual(before);
});

test('an Admin settles a problem, and opens it again; the audit tells of it, and old settled ones are forgotten', async () => {
  const [{ Id }] = (await list()) as [{ Id: number }];
  const change = (body: object, version: string) =>
    admin.send('PATCH', `/room-problems/${Id}`, { body, headers: { 'If-Match': version } });
  const done = await change({ State: 'Done' }, '"1"');
  expect([done.status, done.body]).toMatchObject([
    200,
    { State: 'Done', Version: 2, DoneBy: { PersonId: expect.anything() } },
  ]);
  expect((await change({ State: 'Open' }, '"1"')).status).toBe(412);
  expect(await list('?State=Open')).toEqual([]);
  expect(await list(`?State=Done&ResourceId=${room}&Kind=Heating&DisplayId=${device.id}`)).toEqual([done.body]);
  const { body } = await admin.get('/audit?Subject=RoomProblem');
  expect(body['Items']).toMatchObject([
    { Action: 'change room problem', SubjectId: Id, Changes: [{ Member: 'State', From: 'Open', To: 'Done' }] },
  ]);
  const { db } = service.context;
  await forgetProblems(db, 180);
  expect(await list()).toHaveLength(1);
  expect((await change({ State: 'Open' }, '"2"')).body).toMatchObject({
    State: 'Open',
    DoneAt: null,
    DoneBy: null,
    Version: 3,
  });
  await forgetProblems(db, 0);
  expect(await list()).toHaveLength(1);
  await change({ State: 'Done' }, '*');
  await db
    .updateTable('room_problem')
    .set({ done_at: new Date('2026-01-01') })
    .execute();
  // However many there are.
  await sql`
    insert into room_problem (mandator_id, resource_id, display_id, key, kind, reported_at, done_at, done_by)
    select mandator_id, resource_id, display_id, 'copy ' || copy, kind, reported_at, done_at, done_by
    from room_problem, generate_series(1, 5000) as copy`.execute(db);
  await forgetProblems(db, 30);
  expect(await list()).toEqual([]);
});

test('an Admin who follows has what is open, and then what is reported and settled', async () => {
  const headers = { Authorization: `Bearer ${admin.token}` };
  const client = createClient({ url: `${service.url}/school/graphql`, headers, retryAttempts: 0 });
  type Frame = { roomProblems: { id: string; state: string }[] };
  const stream = client.iterate<Frame>({ query: 'subscription { roomProblems { id state } }' });
  const next = async () => (await stream.next()).value?.data?.roomProblems;
  expect(await next()).toEqual([]);
  const { body } = await report({ Kind: 'Cleaning' });
  const id = `roomProblem_${body['Id']}`;
  expect(await next()).toEqual([{ id, state: 'Open' }]);
  await admin.patch(`/room-problems/${body['Id']}`, { State: 'Done' });
  expect(await next()).toEqual([{ id, state: 'Done' }]);
  await stream.return?.();
});

test('one display has so many open problems at most, and reports so many in a minute', async () => {
  const { db } = service.context;
  const values = Array.from({ length: mostOpen - 1 }, (_, n) => ({
    mandator_id: service.tenant.mandatorId,
    resource_id: room,
    display_id: device.id,
    key: `old ${n}`,
    kind: 'Other',
    reported_at: new Date(),
  }));
  await db.insertInto('room_problem').values(values).execute();
  const full = await pairDevice(service, admin, { Name: 'Voll' });
  await db.updateTable('room_problem').set({ display_id: full.id }).execute();
  expect((await report({ Kind: 'Light', Key: 'last' }, full)).status).toBe(201);
  expect((await report({ Kind: 'Light' }, full)).status).toBe(429);
  // What is stored already is not one more.
  expect((await report({ Kind: 'Light', Key: 'last' }, full)).status).toBe(201);
  expect(await problemFigures.roomgate_room_problems_open.read(db)).toBe(mostOpen);
  const fast = await pairDevice(service, admin, { Name: 'Schnell' });
  const statuses: number[] = [];
  for (let n = 0; n < 11; n++) statuses.push((await report({ Kind: 'Light' }, fast)).status);
  // A new minute may have begun meanwhile.
  expect(statuses).toContain(429);
});
