/** Sending what is already stored changes nothing: no version, no act of the audit, no change of the feed. */
import fs from 'node:fs';
import { afterAll, beforeAll, expect, test } from '@jest/globals';
import { sql } from 'kysely';
import { ahead } from '../_util/ahead.ts';
import { pairDevice } from '../_util/displays.ts';
import { type MasterData, masterData } from '../_util/master-data.ts';
import { type Service, startService } from '../_util/service.ts';

type Tree = Record<string, unknown>;
/** Where an operation sends a body that changes nothing. */
type Case = { path: string; body: unknown };

let service: Service;
let admin: MasterData;

beforeAll(async () => {
  service = await startService({ Role: 'Web' }, ['Room', 'Hall']);
  admin = masterData(service, await service.signIn(service.tenant, 'Admin'));
});
afterAll(() => service.stop());

async function make(path: string, body: object): Promise<Tree> {
  const made = await admin.post(path, body);
  if (made.status !== 201) throw new Error(made.text);
  return made.body;
}
/** A record that is read, and sent back whole. */
async function record(path: string, body: object): Promise<Case> {
  const { Id } = await make(path, body);
  const whole = await admin.get(`${path}/${Id}`);
  return { path: `${path}/${Id}`, body: whole.body };
}
async function hours(owner: string, list: 'rules' | 'exceptions'): Promise<Case> {
  const path = `/opening-hours/${owner}/${list}`;
  const Periods = [{ Opens: '10:00', Closes: '12:00' }];
  const Items =
    list === 'rules'
      ? [{ Weekdays: [1, 2], Opens: '08:00', Closes: '18:00', ValidFrom: '2027-01-01' }]
      : [
          { FromDate: '2027-12-24', ToDate: '2027-12-26', Closed: true, Reason: 'Fest' },
          { FromDate: '2027-12-31', ToDate: '2027-12-31', Periods },
        ];
  await admin.send('PUT', path, { body: { Items }, headers: { 'If-Match': '*' } });
  const { body } = await admin.get(path);
  expect(body['Items']).toHaveLength(Items.length);
  return { path, body };
}
const ics = [
  ...['BEGIN:VCALENDAR', 'BEGIN:VEVENT', 'DTSTART:20271224', 'DTEND:20271227', 'SUMMARY:Fest', 'END:VEVENT'],
  ...['BEGIN:VEVENT', 'DTSTART:20270101', 'END:VEVENT', 'END:VCALENDAR'],
].join('\r\n');

const room = () => service.tenant.resources[0]!.id;
/** Each operation that changes a record or replaces a list. */
const cases: Record<string, () => Promise<Case>> = {
  'patch bookings/{id}': () =>
    record('/bookings', {
      ResourceId: room(),
      Subject: 'Rat',
      Description: 'Sitzung',
      Start: ahead('2027-06-07T08:00:00Z'),
      End: ahead('2027-06-07T09:00:00Z'),
    }),
  'patch resources/{id}': () =>
    record('/resources', {
      LocationId: service.tenant.locationId,
      Name: 'Aula',
      Kind: 'Hall',
      Capacity: 9,
      Equipment: ['B', 'A'],
      CheckInMinutes: 5,
    }),
  'patch locations/{id}': () => record('/locations', { Name: 'Annex', TimeZone: 'Europe/Zurich' }),
  'patch persons/{id}': () =>
    record('/persons', { Name: 'Ida', Email: 'ida@school.example', TimeZone: 'UTC', Role: 'User', TeacherCode: 'ID' }),
  'patch tenant': async () => ({ path: '/tenant', body: (await admin.get('/tenant')).body }),
  'patch groups/{id}': () => record('/groups', { Name: 'Staff', AddMembers: [service.tenant.person('User').id] }),
  'patch policies/{id}': async () => {
    const groups = [(await make('/groups', { Name: 'B' }))['Id'], (await make('/groups', { Name: 'A' }))['Id']];
    return record('/policies', { Name: 'Halls', MayBook: groups.toReversed(), LeadMinutes: 5, NeedsApproval: true });
  },
  'put opening-hours/{id}/rules': () => hours(String(room()), 'rules'),
  'put opening-hours/{id}/exceptions': () => hours(String(room()), 'exceptions'),
  'put opening-hours/locations/{id}/rules': () => hours(`locations/${service.tenant.locationId}`, 'rules'),
  'put opening-hours/locations/{id}/exceptions': () => hours(`locations/${service.tenant.locationId}`, 'exceptions'),
  'patch displays/{id}': async () => {
    const { id } = await pairDevice(service, admin, { ResourceIds: service.tenant.resources.map(({ id }) => id) });
    return { path: `/displays/${id}`, body: (await admin.get(`/displays/${id}`)).body };
  },
  'patch room-problems/{id}': async () => {
    const device = await pairDevice(service, admin);
    const { body } = await device.post('/room-problems', { ResourceId: room(), Kind: 'Light' });
    return { path: `/room-problems/${body['Id']}`, body };
  },
  'patch webhooks/{id}': async () => {
    const Url = 'https://hooks.example/';
    const { Id } = await make('/webhooks', { Name: 'Board', Url, Kinds: ['MailConflict', 'BatchEnded'] });
    return { path: `/webhooks/${Id}`, body: (await admin.get(`/webhooks/${Id}`)).body };
  },
  'patch timetable-profiles/{id}': () =>
    record('/timetable-profiles', {
      Name: 'AGs',
      Format: 'Csv',
      SharedRooms: ['B', 'A'],
      Mapping: { Room: 'Saal', Key: null },
      Term: { Name: '2627-2', From: '2027-03-15', To: '2027-04-02' },
    }),
  'patch holiday-calendars/{id}': async () => {
    const { path, body } = await record('/holiday-calendars', { Name: 'Ferien', Ics: ics });
    const { Url: _, ...members } = body as Tree;
    return { path, body: { ...members, Ics: ics } };
  },
};

test('the table has each PATCH and PUT except the report of a device', () => {
  const { paths } = JSON.parse(fs.readFileSync('src/rest/openapi.json', 'utf8')) as { paths: Record<string, object> };
  const writers = Object.entries(paths).flatMap(([path, operations]) =>
    Object.keys(operations)
      .filter((method) => ['patch', 'put'].includes(method))
      .map((method) => `${method} ${path.replace('/{mandator}/api/v1.0/', '')}`),
  );
  expect(Object.keys(cases)).toEqual(expect.arrayContaining(writers.filter((path) => !path.endsWith('self/health'))));
});

test.each(Object.keys(cases))('%s', async (name) => {
  const { path, body } = await (cases[name] as () => Promise<Case>)();
  const standing = async () => {
    const { rows } = await sql<Tree>`
      select (select count(*)::int from audit) as acts, (select count(*)::int from change) as changes`.execute(
      service.context.db,
    );
    return { ...rows[0], whole: await admin.get(path).then(({ body, headers }) => [body, headers.get('etag')]) };
  };
  const before = await standing();
  const method = name.split(' ')[0]!.toUpperCase();
  const tag = (await admin.get(path)).headers.get('etag') as string;
  const answer = await admin.send(method, path, { body, headers: { 'If-Match': tag } });
  expect([answer.status, answer.text.slice(0, 500)]).toEqual([200, expect.any(String)]);
  expect(answer.headers.get('etag')).toBe(tag);
  expect(await standing()).toEqual(before);
});
