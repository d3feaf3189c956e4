/** After random changes over REST, applying an export changes nothing, and a file that names one member changes only that. */
import { afterAll, beforeAll, describe, expect, test } from '@jest/globals';
import { readDemoTenant } from '../../src/demo/service.ts';
import * as tenants from '../../src/tenants/service.ts';
import { openDice } from '../_util/dice.ts';
import { seed, times } from '../_util/long.ts';
import { type MasterData, masterData, namesOf } from '../_util/master-data.ts';
import { type Service, startService } from '../_util/service.ts';

let service: Service;
beforeAll(async () => void (service = await startService({ Role: 'Web' })));
afterAll(() => service.stop());

/** A campus of a university with realistic master data. */
const university = (mandator: string, timeZone: string, rooms: number) => ({
  Mandator: mandator,
  Name: `University ${mandator}`,
  Parameters: { PinAuthenticationAllowed: true },
  Locations: [
    {
      Name: 'Campus',
      TimeZone: timeZone,
      OpeningRules: [{ Weekdays: [1, 2, 3, 4, 5, 6, 7], Opens: '06:00', Closes: '23:00' }],
      Resources: Array.from({ length: rooms }, (_, room) => ({
        Name: `R${String(room + 1).padStart(3, '0')}`,
        Kind: 'Room',
        Capacity: 40,
      })),
    },
  ],
  Persons: [
    { Name: 'Import', Email: `import@${mandator}.example`, TimeZone: timeZone, Role: 'Admin' },
    { Name: 'Reader', Email: `reader@${mandator}.example`, TimeZone: timeZone, Role: 'User' },
  ],
});

const dice = openDice(seed);
const { below, oneOf } = dice;
const word = () =>
  Array.from({ length: 1 + below(8) }, () => oneOf([...'abcXYZäßÉ019 -_/"\\\u0130\u1e9e']))
    .join('')
    .trim() || 'x';
const clock = () => `${String(below(24)).padStart(2, '0')}:${oneOf(['00', '15', '59'])}`;
const date = () => `20${26 + below(3)}-0${1 + below(9)}-1${below(10)}`;

type Item = { Id: number; Version: number; Name: string; Active: boolean };
type Members = Record<string, unknown>;

/** Random members of a record, of those that a PATCH takes. */
const some = (members: Record<string, () => unknown>): Members =>
  Object.fromEntries(
    Object.entries(members)
      .filter(() => below(3) === 0)
      .map(([name, make]) => [name, make()]),
  );
const zone = () => oneOf(['Europe/Berlin', 'Asia/Karachi', 'UTC', 'America/New_York']);
const resourceMembers = {
  Name: word,
  Kind: word,
  Capacity: () => oneOf([null, 0, 30, 1_000_000]),
  Equipment: () => Array.from({ length: below(4) }, word),
  Mailbox: () => oneOf([null, `room${below(1_000)}@school.example`]),
  CheckInMinutes: () => oneOf([null, 1, 240]),
};
const personMembers = { Name: word, TimeZone: zone, Role: () => oneOf(['User', 'Importer', 'Admin']) };
const active = () => below(4) > 0;
const rules = () =>
  below(4) === 0
    ? []
    : [
        {
          Weekdays: oneOf([[1], [7, 3], [2, 4, 6]]),
          Opens: clock(),
          Closes: clock(),
          ValidFrom: oneOf([null, date()]),
        },
      ];
const exceptions = () =>
  Array.from({ length: below(3) }, () => {
    const Reason = oneOf([null, word()]);
    const on = date();
    return oneOf([
      { FromDate: on, ToDate: on, Closed: true, Reason },
      { FromDate: on, ToDate: on, Periods: [{ Opens: clock(), Closes: '24:00' }], Reason },
    ]);
  });

const lists = ['MaySee', 'MayBook', 'MaySkipApproval', 'MayDecide', 'MayBookForOthers'];
const subset = <Item>(of: readonly Item[]): Item[] => of.filter(() => below(3) === 0);
/** @param groups how the lists name them */
const policyMembers = (groups: readonly unknown[]) => ({
  ...Object.fromEntries(lists.map((each) => [each, () => subset(groups)])),
  NeedsApproval: () => below(2) === 0,
  LeadMinutes: () => oneOf([null, 1, 525_600]),
  LongestMinutes: () => oneOf([null, 90]),
  QuotaBookingsPerWeek: () => oneOf([null, 3]),
});

const ics = () => {
  const events = Array.from({ length: below(4) }, () => [
    ...['BEGIN:VEVENT', `DTSTART:${date().replaceAll('-', '')}`, `DURATION:P${1 + below(20)}D`],
    ...[`SUMMARY:${word()}`, 'END:VEVENT'],
  ]);
  return ['BEGIN:VCALENDAR', ...events.flat(), 'END:VCALENDAR'].join('\r\n');
};
const url = () => `https://ferien.example/${below(1_000)}.ics?token=${below(10)}`;
const source = () => oneOf([{ Ics: ics() }, { Url: url() }]);

const memberMoves = (persons: readonly number[]) => ({
  AddMembers: () => subset(persons),
  RemoveMembers: () => subset(persons),
});

/** A change that is refused is no change: not all are allowed, and names may be taken. */
async function editOnce(admin: MasterData) {
  const list = async (noun: string) => (await admin.get(`/${noun}?Limit=200`)).body['Items'] as Item[];
  const ids = async (noun: string) => (await list(noun)).map(({ Id }) => Id);
  const remove = async (noun: string) =>
    admin.send('DELETE', `/${noun}/${oneOf([0, ...(await ids(noun))])}`, { headers: { 'If-Match': '*' } });
  const put = async (id: number, kind: string, Items: object[]) =>
    admin.send('PUT', `/opening-hours/${id}/${kind}`, { body: { Items }, headers: { 'If-Match': '*' } });
  const patch = async (noun: string, members: Record<string, () => unknown>) =>
    admin.patch(`/${noun}/${oneOf(await list(noun)).Id}`, some({ ...members, Active: active }));
  const edits = [
    () => patch('resources', resourceMembers),
    () => patch('locations', { Name: word, TimeZone: zone }),
    () => patch('persons', personMembers),
    async () =>
      admin.post('/resources', {
        ...some(resourceMembers),
        Name: word(),
        LocationId: oneOf(await list('locations')).Id,
      }),
    () => admin.post('/locations', { Name: word(), TimeZone: zone() }),
    () =>
      admin.post('/persons', { Name: word(), Email: `p${below(1e9)}@School.example`, TimeZone: zone(), Role: 'User' }),
    async () => put(oneOf(await list('resources')).Id, 'rules', rules()),
    async () => put(oneOf(await list('resources')).Id, 'exceptions', exceptions()),
    async () =>
      admin.patch(`/resources/${oneOf(await list('resources')).Id}`, { LocationId: oneOf(await list('locations')).Id }),
    async () => admin.post('/groups', { Name: word(), AddMembers: subset(await ids('persons')) }),
    async () =>
      admin.patch(
        `/groups/${oneOf([0, ...(await ids('groups'))])}`,
        some({ Name: word, ...memberMoves(await ids('persons')) }),
      ),
    () => remove('groups'),
    async () => admin.post('/policies', { Name: word(), ...some(policyMembers(await ids('groups'))) }),
    async () =>
      admin.patch(
        `/policies/${oneOf([0, ...(await ids('policies'))])}`,
        some({ Name: word, ...policyMembers(await ids('groups')) }),
      ),
    () => remove('policies'),
    async () =>
      admin.patch(`/resources/${oneOf(await list('resources')).Id}`, {
        PolicyId: oneOf([null, ...(await ids('policies'))]),
      }),
    async () => {
      const LocationId = oneOf([null, ...(await ids('locations'))]);
      return admin.post('/holiday-calendars', { Name: word(), LocationId, Closes: below(2) === 0, ...source() });
    },
    async () =>
      admin.patch(`/holiday-calendars/${oneOf([0, ...(await ids('holiday-calendars'))])}`, {
        ...some({ Name: word, Closes: () => below(2) === 0 }),
        ...oneOf([{}, source(), { LocationId: oneOf([null, ...(await ids('locations'))]) }]),
      }),
    () => remove('holiday-calendars'),
    () => admin.patch('/tenant', some({ Name: word, Parameters: () => ({ UsersMayImport: below(2) === 0 }) })),
  ];
  const { status } = await oneOf(edits)();
  expect([200, 201, 204, 404, 409, 422]).toContain(status);
  return status < 300;
}

type File = {
  Locations: (Members & { Resources: Members[] })[];
  Persons: Members[];
  Groups: Members[];
  Policies: Members[];
  HolidayCalendars: Members[];
};

/** A file that names one record of an export with one other value. */
function oneMember({ Locations, Persons, Groups, Policies, HolidayCalendars }: File): object {
  const location = oneOf(Locations);
  const other = (record: Members, members: Record<string, () => unknown>): Members => {
    for (;;) {
      const [name, make] = oneOf(Object.entries(members));
      const value = make();
      if (JSON.stringify(value) !== JSON.stringify(record[name])) return { [name]: value };
    }
  };
  const names = (records: readonly Members[], name = 'Name') => records.map((record) => record[name]);
  const hours = {
    OpeningRules: () => rules().map((rule) => ({ ...rule, ValidTo: null })),
    OpeningExceptions: () =>
      exceptions().map(({ FromDate, ToDate, Reason, ...more }) => ({
        FromDate,
        ToDate,
        Closed: 'Closed' in more,
        Periods: 'Periods' in more ? more.Periods : [],
        Reason,
      })),
  };
  const { Name: _, ...ofResource } = resourceMembers;
  const policy = () => oneOf([null, ...names(Policies)]);
  if (Groups.length > 0 && below(4) === 0) {
    const group = oneOf(Groups);
    return { Groups: [{ Name: group['Name'], ...other(group, { Members: () => subset(names(Persons, 'Email')) }) }] };
  }
  if (HolidayCalendars.length > 0 && below(4) === 0) {
    const calendar = oneOf(HolidayCalendars);
    const members = {
      Location: () => oneOf([null, ...names(Locations)]),
      Closes: () => below(2) === 0,
      ...oneOf([
        { Url: url },
        { Holidays: () => [date()].slice(below(2)).map((on) => ({ FromDate: on, ToDate: on, Name: word() })) },
      ]),
    };
    return { HolidayCalendars: [{ Name: calendar['Name'], ...other(calendar, members) }] };
  }
  if (Policies.length > 0 && below(4) === 0) {
    const changed = oneOf(Policies);
    return { Policies: [{ Name: changed['Name'], ...other(changed, policyMembers(names(Groups))) }] };
  }
  if (below(3) === 0) {
    const person = oneOf(Persons);
    return { Persons: [{ Email: person['Email'], ...other(person, { Name: word, TimeZone: zone }) }] };
  }
  const room = location.Resources.length > 0 && below(2) === 0 ? oneOf(location.Resources) : undefined;
  const of = { Name: location['Name'] };
  if (room)
    return {
      Locations: [
        { ...of, Resources: [{ Name: room['Name'], ...other(room, { ...ofResource, Policy: policy, ...hours }) }] },
      ],
    };
  return { Locations: [{ ...of, ...other(location, { TimeZone: zone, ...hours }) }] };
}

/** A person sees a room that another one does not. */
async function hideRooms(admin: MasterData) {
  const persons = ['in', 'out'].map((Name) => ({
    Name,
    Email: `${Name}@sight.example`,
    TimeZone: 'UTC',
    Role: 'User',
  }));
  const [insider] = await Promise.all(persons.map((person) => admin.post('/persons', person)));
  const group = await admin.post('/groups', { Name: 'Insiders', AddMembers: [insider!.body['Id']] });
  const policy = await admin.post('/policies', { Name: 'Hidden', MaySee: [group.body['Id']] });
  const [room] = (await admin.get('/resources?Limit=1')).body['Items'] as Item[];
  const { status } = await admin.patch(`/resources/${room!.Id}`, { PolicyId: policy.body['Id'] });
  expect(status).toBe(200);
}

/** The rooms and policies that persons of a tenant see, by name. */
async function sightsOf(mandator: string) {
  const { db } = service.context;
  const { mandatorId } = await tenants.getMandator(db, mandator);
  const persons = await tenants.listPersonsOf(db, mandator);
  const sights = ['in', 'out'].map(async (name) => {
    const found = persons.find(({ email }) => email === `${name}@sight.example`)!;
    const who = { ...service.tenant, mandatorId, person: () => ({ ...service.tenant.person('User'), id: found.id }) };
    const own = masterData(service, await service.signIn(who), mandator);
    const namesIn = async (noun: string) => namesOf(await own.get(`/${noun}?Limit=200`)).sort();
    return { rooms: await namesIn('resources'), policies: await namesIn('policies') };
  });
  const [inside, outside] = await Promise.all(sights);
  expect(inside!.rooms.length).toBeGreaterThan(outside!.rooms.length);
  return { inside, outside };
}

describe.each([
  ['demo', () => readDemoTenant()],
  ['muni', () => tenants.readTenantFile(university('muni', 'Europe/Prague', 33))],
  ['lums', () => tenants.readTenantFile(university('lums', 'Asia/Karachi', 15))],
])('of %s', (mandator, readFile) => {
  test('an export applies to the same state after any edits, and one named member changes one', async () => {
    const { db } = service.context;
    await tenants.applyTenantFile(db, readFile());
    const { mandatorId } = await tenants.getMandator(db, mandator);
    const [first] = (await tenants.listPersonsOf(db, mandator)).filter(({ role }) => role === 'Admin');
    const who = { ...service.tenant, mandatorId, person: () => ({ ...service.tenant.person('Admin'), id: first!.id }) };
    const token = await service.signIn(who, 'Admin');
    const admin = masterData(service, token, mandator);
    let changes = 0;
    for (let run = 0; run < times(4, 200); run++) {
      for (let edit = 0; edit < 5; edit++) changes += Number(await editOnce(admin));
      // Who edits stays an Admin.
      const own = { Email: first!.email, Role: 'Admin' as const, Active: true };
      await tenants.applyTenantFile(db, tenants.readTenantFile({ Mandator: mandator, Persons: [own] }));

      const file = (await tenants.exportTenant(db, mandator)) as File;
      const context = { run, file };
      const again = await tenants.previewTenantFile(db, tenants.readTenantFile(file));
      expect({ ...context, again: again.records.filter(({ fate }) => fate !== 'unchanged') }).toEqual({
        ...context,
        again: [],
      });
      const applied = await tenants.applyTenantFile(db, tenants.readTenantFile(file));
      expect([applied.created, applied.changed]).toEqual([0, 0]);

      const single = { Mandator: mandator, ...oneMember(file) };
      const changed = await tenants.applyTenantFile(db, tenants.readTenantFile(single));
      const differences = changed.records.flatMap((record) => record.changes);
      expect({ single, changed: [changed.created, changed.changed], differences }).toEqual({
        single,
        changed: [0, 1],
        differences: [expect.anything()],
      });
      const after = (await tenants.exportTenant(db, mandator)) as File;
      const [back] = [await tenants.previewTenantFile(db, tenants.readTenantFile(file))];
      expect(back.records.flatMap((record) => record.changes)).toHaveLength(1);
      expect(after).not.toEqual(file);
    }
    expect(changes).toBeGreaterThan(times(4, 200));

    await hideRooms(admin);
    // Elsewhere it makes the same tenant, in which everybody sees and may do the same.
    const file = (await tenants.exportTenant(db, mandator)) as object;
    const copy = { ...file, Mandator: `${mandator}-copy` };
    await tenants.applyTenantFile(db, tenants.readTenantFile(copy));
    expect(await tenants.exportTenant(db, copy.Mandator)).toEqual(copy);
    expect(await sightsOf(copy.Mandator)).toEqual(await sightsOf(mandator));
  });
});
