import fs from 'node:fs/promises';
import os from 'node:os';
import path from 'node:path';
import { afterAll, beforeAll, describe, expect, test } from '@jest/globals';
import { Command } from 'commander';
import { CommandFailed } from '../../src/cli/command.ts';
import type { Context } from '../../src/context.ts';
import { type Database, openDatabase } from '../../src/db/database.ts';
import { openLog } from '../../src/log.ts';
import { addCommands } from '../../src/tenants/cli.ts';
import * as tenants from '../../src/tenants/service.ts';
import { readTenantFile } from '../../src/tenants/tenant-file.ts';
import { cloneDatabase } from '../_util/postgres.ts';

let clone: Awaited<ReturnType<typeof cloneDatabase>>;
let db: Database;

beforeAll(async () => {
  clone = await cloneDatabase();
  db = openDatabase(clone.url, { max: 4, log: openLog('silent'), statementTimeout: 5_000 });
});
afterAll(async () => {
  await db.destroy();
  await clone.drop();
});

const weekly = { Weekdays: [1, 2, 3, 4, 5], Opens: '08:00', Closes: '18:00' };
type Loose = { Name: string; [member: string]: unknown };
const summer = { FromDate: '2027-07-01', ToDate: '2027-08-31', Name: 'Summer' };
const winter = { FromDate: '2026-12-24', ToDate: '2027-01-03', Name: 'Winter' };
const school = (mandator: string) => ({
  Mandator: mandator,
  Name: 'School',
  Parameters: { PinAuthenticationAllowed: true },
  Locations: [
    {
      Name: 'Campus',
      TimeZone: 'Europe/Berlin',
      OpeningRules: [weekly],
      OpeningExceptions: [{ FromDate: '2026-12-24', ToDate: '2026-12-26', Closed: true, Reason: 'Christmas' }],
      Resources: [
        { Name: 'R001', Kind: 'Room', Capacity: 30, Equipment: ['Projector', 'Piano'], Policy: 'staff ONLY' },
        {
          Name: 'R002',
          OpeningRules: [{ Weekdays: [6], Opens: '22:00', Closes: '24:00', ValidTo: '2027-06-30' }],
        },
      ] as Loose[],
    },
    { Name: 'Annex', TimeZone: 'Asia/Tokyo', Resources: [{ Name: 'R001' }] as Loose[] },
  ],
  Persons: [
    { Name: 'Ada', Email: 'Ada@school.example', TimeZone: 'Europe/Berlin', Role: 'Admin' },
    { Name: 'Door', Email: 'door@school.example', TimeZone: 'UTC', Role: 'User' },
  ],
  Groups: [
    { Name: 'Staff', Members: ['ADA@school.example'] },
    { Name: 'Office', Members: [] as string[] },
  ],
  Policies: [{ Name: 'Staff only', MaySee: ['Staff', 'Office', 'STAFF'], LeadMinutes: 60 }] as Loose[],
  HolidayCalendars: [
    { Name: 'School holidays', Location: 'campus', Holidays: [summer, winter] },
    { Name: 'Public holidays', Closes: false, Url: 'https://ferien.example/a.ics?token=secret' },
  ] as Loose[],
});
const records = 1 + 2 + 3 + 2 + 2 + 1 + 2;

/** How many records were created, changed and left alone. */
async function apply(json: unknown) {
  const { records: _, ...counts } = await tenants.applyTenantFile(db, readTenantFile(json));
  return counts;
}
/** What would change, by the names of the records. */
async function differences(json: unknown) {
  const { records } = await tenants.previewTenantFile(db, readTenantFile(json));
  return records.flatMap(({ kind, name, changes }) =>
    changes.map(({ member, old, new: value }) => [`${kind} ${name}`, member, old, value]),
  );
}

/** All stored data of a tenant, as readable text. */
async function stored(code: string) {
  const { mandatorId } = await tenants.getMandator(db, code);
  const read = (
    table: 'location' | 'resource' | 'person' | 'person_group' | 'policy' | 'opening_rule' | 'opening_exception',
  ) => db.selectFrom(table).selectAll().where('mandator_id', '=', mandatorId).orderBy('id').execute();
  return {
    locations: await read('location'),
    resources: await read('resource'),
    persons: await read('person'),
    rules: await read('opening_rule'),
    exceptions: await read('opening_exception'),
    groups: await read('person_group'),
    calendars: await db
      .selectFrom('holiday_calendar')
      .selectAll()
      .where('mandator_id', '=', mandatorId)
      .orderBy('id')
      .execute(),
    holidays: await db.selectFrom('holiday').selectAll().where('mandator_id', '=', mandatorId).orderBy('id').execute(),
    policies: await read('policy'),
    members: await db
      .selectFrom('person_group_member')
      .where('mandator_id', '=', mandatorId)
      .select(['group_id', 'person_id'])
      .orderBy('group_id')
      .orderBy('person_id')
      .execute(),
  };
}

describe('a tenant file', () => {
  test('makes nobody a display, and says how devices become one', async () => {
    const file = school('devices');
    await apply(file);
    file.Persons[1]!.Role = 'Display';
    await expect(apply(file)).rejects.toMatchObject({
      errors: [
        {
          code: 'DevicesOnly',
          pointer: '/Persons/1/Role',
          message: expect.stringContaining('roomgate display pair CODE'),
        },
      ],
    });
    await db.updateTable('person').set({ role: 'Display' }).where('email', '=', 'door@school.example').execute();
    expect(await apply(file)).toMatchObject({ changed: 0 });
  });

  test('creates everything that it names', async () => {
    expect(await apply(school('creates'))).toEqual({ created: records, changed: 0, unchanged: 0 });
    const { locations, resources, persons, rules, exceptions, ...rights } = await stored('creates');
    const [campus, annex] = locations;
    expect(locations).toMatchObject([
      { name: 'Campus', time_zone: 'Europe/Berlin' },
      { name: 'Annex', time_zone: 'Asia/Tokyo' },
    ]);
    expect(resources).toMatchObject([
      { name: 'R001', kind: 'Room', capacity: 30, mailbox: null, equipment: ['Projector', 'Piano'] },
      { name: 'R002', kind: 'Room', capacity: null, location_id: campus!.id, equipment: [] },
      { name: 'R001', location_id: annex!.id },
    ]);
    expect(persons).toMatchObject([
      { email: 'Ada@school.example', role: 'Admin', active: true },
      { email: 'door@school.example', role: 'User', time_zone: 'UTC' },
    ]);
    const [staff, office] = rights.groups;
    expect(rights.groups.map(({ name }) => name)).toEqual(['Staff', 'Office']);
    expect(rights.members).toEqual([{ group_id: staff!.id, person_id: persons[0]!.id }]);
    expect(rights.policies).toMatchObject([
      { name: 'Staff only', may_see: [staff!.id, office!.id], may_book: [], lead_minutes: 60, longest_minutes: null },
    ]);
    expect(rights.calendars).toMatchObject([
      { name: 'School holidays', location_id: campus!.id, closes: true, url: null, due_at: null },
      { name: 'Public holidays', location_id: null, closes: false, url: 'https://ferien.example/a.ics?token=secret' },
    ]);
    expect(rights.holidays).toMatchObject([
      { calendar_id: rights.calendars[0]!.id, from_date: '2026-12-24', to_date: '2027-01-03', name: 'Winter' },
      { from_date: '2027-07-01', to_date: '2027-08-31', name: 'Summer' },
    ]);
    expect(resources.map(({ policy_id }) => policy_id)).toEqual([rights.policies[0]!.id, null, null]);
    expect(rules).toMatchObject([
      {
        location_id: campus!.id,
        resource_id: null,
        weekdays: [1, 2, 3, 4, 5],
        opens: '08:00:00',
        valid_to: null,
      },
      { location_id: campus!.id, resource_id: resources[1]!.id, closes: '24:00:00', valid_to: '2027-06-30' },
    ]);
    expect(exceptions).toMatchObject([
      {
        location_id: campus!.id,
        resource_id: null,
        from_date: '2026-12-24',
        closed: true,
        reason: 'Christmas',
      },
    ]);
    expect(await tenants.getMandator(db, 'CREATES')).toMatchObject({
      code: 'creates',
      name: 'School',
      parameters: { PinAuthenticationAllowed: true },
    });
  });

  test('changes nothing when it is applied again, not even ids of hours', async () => {
    await apply(school('again'));
    const before = await stored('again');
    expect(await apply(school('again'))).toEqual({ created: 0, changed: 0, unchanged: records });
    expect(await stored('again')).toEqual(before);
  });

  test('with everything left out has defaults', async () => {
    expect(await apply({ Mandator: 'empty', Name: 'Empty' })).toEqual({
      created: 1,
      changed: 0,
      unchanged: 0,
    });
    expect(await tenants.getMandator(db, 'empty')).toMatchObject({
      parameters: { PinAuthenticationAllowed: false },
    });
  });

  test('finds its records by name in any case and spelling, and takes over the spelling of the file', async () => {
    await apply(school('spelling'));
    const before = await stored('spelling');
    const file = school('Spelling');
    file.Locations[0]!.Name = ' CAMPUS ';
    file.Locations[0]!.Resources[0]!.Name = 'r001';
    file.Persons[0]!.Email = 'ADA@school.example';
    expect(await apply(file)).toEqual({ created: 0, changed: 3, unchanged: records - 3 });
    const after = await stored('spelling');
    expect(after.locations.map(({ id, name }) => [id, name])).toEqual([
      [before.locations[0]!.id, 'CAMPUS'],
      [before.locations[1]!.id, 'Annex'],
    ]);
    expect(after.persons.map(({ id }) => id)).toEqual(before.persons.map(({ id }) => id));
  });

  type File = ReturnType<typeof school>;
  const changes: [string, (file: File) => void, { created?: number; changed?: number }][] = [
    ['the name of the tenant', (file) => void (file.Name = 'Other'), { changed: 1 }],
    ['a parameter', (file) => void (file.Parameters.PinAuthenticationAllowed = false), { changed: 1 }],
    ['a zone', (file) => void (file.Locations[1]!.TimeZone = 'Asia/Seoul'), { changed: 1 }],
    ['a capacity', (file) => void Object.assign(file.Locations[0]!.Resources[0]!, { Capacity: 31 }), { changed: 1 }],
    ['equipment', (file) => void (file.Locations[0]!.Resources[0]!['Equipment'] = ['Projector']), { changed: 1 }],
    [
      'the check-in',
      (file) => void Object.assign(file.Locations[0]!.Resources[0]!, { CheckInMinutes: 15 }),
      { changed: 1 },
    ],
    ['a role', (file) => void (file.Persons[1]!.Role = 'Importer'), { changed: 1 }],
    [
      'a rule of a location',
      (file) => void (file.Locations[0]!.OpeningRules![0] = { ...weekly, Closes: '19:00' }),
      { changed: 1 },
    ],
    ['an exception', (file) => void (file.Locations[0]!.OpeningExceptions![0]!.ToDate = '2026-12-27'), { changed: 1 }],
    [
      'the rules of a resource to none',
      (file) => void Object.assign(file.Locations[0]!.Resources[1]!, { OpeningRules: null }),
      { changed: 1 },
    ],
    [
      'a resource to a retired one',
      (file) => void Object.assign(file.Locations[0]!.Resources[0]!, { Active: false }),
      { changed: 1 },
    ],
    [
      'a parameter to its default',
      (file) => void Object.assign(file.Parameters, { PinAuthenticationAllowed: null }),
      { changed: 1 },
    ],
    [
      'a location and its rules at once',
      (file) => void Object.assign(file.Locations[0]!, { TimeZone: 'UTC', OpeningRules: [] }),
      { changed: 1 },
    ],
    ['a member of a group', (file) => void file.Groups[0]!.Members.push('door@school.example'), { changed: 1 }],
    ['a group to nobody', (file) => void Object.assign(file.Groups[0]!, { Members: null }), { changed: 1 }],
    ['the spelling of a group', (file) => void (file.Groups[0]!.Name = 'STAFF'), { changed: 1 }],
    ['whom a policy names', (file) => void (file.Policies[0]!['MaySee'] = ['office']), { changed: 1 }],
    ['a holiday', (file) => void (file.HolidayCalendars[0]!['Holidays'] = [summer]), { changed: 1 }],
    ['whether holidays close', (file) => void (file.HolidayCalendars[0]!['Closes'] = false), { changed: 1 }],
    [
      'a calendar to one of all locations',
      (file) => void (file.HolidayCalendars[0]!['Location'] = null),
      { changed: 1 },
    ],
    [
      'a calendar to one at an address',
      (file) => {
        const { Holidays: _, ...calendar } = file.HolidayCalendars[0]!;
        file.HolidayCalendars[0] = { ...calendar, Url: 'https://ferien.example/b.ics' };
      },
      { changed: 1 },
    ],
    ['a rule of a policy to none', (file) => void (file.Policies[0]!['LeadMinutes'] = null), { changed: 1 }],
    [
      'a room to one without a policy',
      (file) => void (file.Locations[0]!.Resources[0]!['Policy'] = null),
      { changed: 1 },
    ],
    [
      'a room to one with a new policy',
      (file) => {
        file.Policies.push({ Name: 'New', MayBook: ['Newcomers'] });
        file.Groups.push({ Name: 'newcomers', Members: ['door@school.example'] });
        file.Locations[0]!.Resources[0]!['Policy'] = 'NEW';
      },
      { created: 2, changed: 1 },
    ],
    ['a new resource', (file) => void file.Locations[1]!.Resources.push({ Name: 'R003' }), { created: 1 }],
  ];
  test.each(changes.map((change, index) => [...change, index] as const))(
    'changes %s',
    async (_, change, expected, index) => {
      const code = `change-${index}`;
      await apply(school(code));
      const file = school(code);
      change(file);
      const { created = 0, changed = 0 } = expected;
      expect(await apply(file)).toEqual({ created, changed, unchanged: records - changed });
      expect(await apply(file)).toEqual({ created: 0, changed: 0, unchanged: records + created });
    },
  );

  test('changes only what it names: a member that is left out stays', async () => {
    await apply(school('leaves'));
    const Resources = [{ Name: 'R001', Capacity: null }, { Name: 'R002' }];
    const file = { Mandator: 'leaves', Locations: [{ Name: 'Campus', Resources }, { Name: 'Annex' }] };
    const Persons = [{ Email: 'door@school.example', Name: 'Gate' }];
    expect(await differences({ ...file, Persons })).toEqual([
      ['Resource Campus / R001', 'Capacity', 30, null],
      ['Person door@school.example', 'Name', 'Door', 'Gate'],
    ]);
    const before = await stored('leaves');
    expect(await apply({ ...file, Persons })).toEqual({ created: 0, changed: 2, unchanged: 5 - 1 });
    const after = await stored('leaves');
    expect(after).toEqual({
      ...before,
      resources: before.resources.map((one, index) => (index === 0 ? { ...one, capacity: null, version: 2 } : one)),
      persons: before.persons.map((one, index) =>
        index === 1 ? { ...one, name: 'Gate', search_key: expect.any(String), version: 2 } : one,
      ),
    });
  });

  test.each<[string, object, string]>([
    ['a tenant', { Mandator: 'nameless' }, 'Name: is missing; a new tenant must have it'],
    ['a location', { Locations: [{ Name: 'New' }] }, 'Locations[0].TimeZone: is missing; a new location must have it'],
    [
      'a person',
      { Persons: [{ Email: 'new@school.example' }] },
      ['Name', 'TimeZone', 'Role']
        .map((member) => `Persons[0].${member}: is missing; a new person must have it`)
        .join('\n'),
    ],
    [
      'a location that is retired before its rooms',
      { Locations: [{ Name: 'campus', Active: false, Resources: [{ Name: 'r001', Active: false }] }] },
      'Locations[0].Active: is false, but the location has 1 active resources; set these to inactive too',
    ],
    [
      'a calendar without holidays',
      { HolidayCalendars: [{ Name: 'New' }] },
      'HolidayCalendars[0].Holidays: is missing; a new holiday calendar must have it, or a Url',
    ],
    [
      'more calendars than the API makes',
      { HolidayCalendars: Array.from({ length: 49 }, (_, index) => ({ Name: `${index}`, Holidays: [] })) },
      'HolidayCalendars: a tenant has at most 50 holiday calendars; delete one',
    ],
    [
      'names that lead nowhere',
      {
        Locations: [{ Name: 'Campus', Resources: [{ Name: 'R001', Policy: 'Nobodys' }] }],
        Groups: [{ Name: 'Staff', Members: ['ada@school.example', 'eve@school.example'] }],
        Policies: [{ Name: 'Other', MaySee: ['Staff'], MayDecide: ['Staff', 'Board'] }],
        HolidayCalendars: [{ Name: 'School holidays', Location: 'Nowhere' }],
      },
      [
        ['Locations[0].Resources[0].Policy: is "Nobodys"', 'policy with this name'],
        ['Groups[0].Members[1]: is "eve@school.example"', 'person with this address'],
        ['Policies[0].MayDecide[1]: is "Board"', 'group with this name'],
        ['HolidayCalendars[0].Location: is "Nowhere"', 'location with this name'],
      ]
        .map(([what, which]) => `${what}; there is no ${which}, neither in the tenant nor in the file`)
        .join('\n'),
    ],
    [
      'a TeacherCode that another person keeps',
      { Persons: [{ Email: 'door@school.example', TeacherCode: 'lovelace' }, { Email: 'ada@school.example' }] },
      'Persons[0].TeacherCode: is "lovelace", the code of ada@school.example; give that person another one in the file, or null',
    ],
    [
      'a tenant without an Admin',
      { Persons: [{ Email: 'ada@school.example', Role: 'User' }] },
      'Persons: the tenant would have no active Admin left; name another one',
    ],
  ])('refuses %s, and changes nothing', async (_, members, message) => {
    await apply(school('refuses'));
    await apply({ Mandator: 'refuses', Persons: [{ Email: 'ada@school.example', TeacherCode: 'Lovelace' }] });
    const before = await stored('refuses');
    const file = { Mandator: 'refuses', Name: 'Other', ...members } as object;
    const sent = 'Mandator' in members ? members : file;
    await expect(differences(sent)).rejects.toMatchObject({ code: 'InvalidInput', message });
    await expect(apply(sent)).rejects.toMatchObject({ code: 'InvalidInput', message });
    expect(await stored('refuses')).toEqual(before);
    expect((await tenants.listTenants(db)).map(({ code }) => code)).not.toContain('nameless');
  });

  test('hands TeacherCodes on: to one another, to a new person, and back', async () => {
    const file = (mandator: string, ...codes: [address: string, TeacherCode: string | null][]) => ({
      Mandator: mandator,
      Persons: codes.map(([address, TeacherCode]) => ({
        Email: `${address}@school.example`,
        Name: address,
        TimeZone: 'UTC',
        Role: 'User',
        TeacherCode,
      })),
    });
    const codes = async (mandator: string) =>
      (await stored(mandator)).persons.map(({ name, teacher_code }) => [name, teacher_code]);
    await apply({ ...file('codes', ['ada', 'ADA'], ['bob', 'BOB'], ['cy', null]), Name: 'School' });
    for (const given of [
      file('codes', ['ada', 'Bob'], ['bob', 'ada']),
      file('codes', ['ada', null], ['bob', 'BOB'], ['new', 'ADA']),
      file('codes', ['new', 'bob'], ['cy', 'ada'], ['bob', 'NEW']),
    ]) {
      const counts = async () => {
        const { records: _, ...rest } = await tenants.previewTenantFile(db, readTenantFile(given));
        return rest;
      };
      const promised = await counts();
      expect(await apply(given)).toEqual(promised);
      expect(Object.fromEntries(await codes('codes'))).toMatchObject(
        Object.fromEntries(given.Persons.map(({ Name, TeacherCode }) => [Name, TeacherCode])),
      );
      expect(await counts()).toMatchObject({ created: 0, changed: 0 });
    }
  });

  test('retires a location with its rooms, and brings it back', async () => {
    await apply(school('retires'));
    const annex = (Active: boolean) => ({
      Mandator: 'retires',
      Locations: [{ Name: 'Annex', Active, Resources: [{ Name: 'R001', Active }] }],
    });
    expect(await apply(annex(false))).toMatchObject({ changed: 2 });
    expect((await stored('retires')).resources.map(({ active }) => active)).toEqual([true, true, false]);
    expect(await apply(annex(true))).toMatchObject({ changed: 2 });
  });

  test('is audited as the same changes over the API are, in the name of nobody', async () => {
    await apply(school('audited'));
    const { mandatorId } = await tenants.getMandator(db, 'audited');
    const { locations, resources } = await stored('audited');
    const acts = () =>
      db
        .selectFrom('audit')
        .where('mandator_id', '=', mandatorId)
        .select(['action', 'subject_id', 'person_id', 'request_id'])
        .orderBy('id')
        .execute();
    const created = await acts();
    expect(created.map(({ action }) => action)).toEqual([
      ...['create tenant', 'create location', 'replace opening rules'],
      ...['replace opening exceptions', 'create location', 'create resource', 'create resource'],
      ...['replace opening rules', 'create resource', 'create person', 'create person'],
      ...['create group', 'create group', 'create policy'],
      ...['create holiday calendar', 'create holiday calendar'],
    ]);
    const [campus] = locations;
    const Resources = [{ Name: 'R001', Capacity: 9, OpeningRules: [weekly] }];
    await apply({ Mandator: 'audited', Locations: [{ Name: 'Campus', OpeningExceptions: [], Resources }] });
    const changed = (await acts()).slice(created.length);
    const [{ request_id } = { request_id: '' }] = changed;
    expect(request_id).toMatch(/^apply /);
    expect(changed).toEqual(
      [
        ['replace opening exceptions', campus!.id],
        ['change resource', resources[0]!.id],
        ['replace opening rules', resources[0]!.id],
      ].map(([action, subject_id]) => ({ action, subject_id, person_id: null, request_id })),
    );
  });

  test('tells of rights by ids, as the API does, and of nobody by an address', async () => {
    const file = school('told');
    await apply(file);
    const { mandatorId } = await tenants.getMandator(db, 'told');
    const { persons, groups, policies, resources } = await stored('told');
    const acts = async (after: number) => {
      const rows = await db
        .selectFrom('audit')
        .where('mandator_id', '=', mandatorId)
        .where('id', '>', after)
        .selectAll()
        .orderBy('id')
        .execute();
      expect(JSON.stringify(rows)).not.toMatch(/@/);
      return rows;
    };
    const before = await acts(0);
    expect(before.find(({ subject }) => subject === 'Group')).toMatchObject({
      changes: [
        { member: 'AddMembers', from: null, to: `${persons[0]!.id}` },
        { member: 'Name', from: null, to: 'Staff' },
      ],
    });
    await apply({ Mandator: 'told', Groups: [{ Name: 'Staff', Members: ['door@school.example'] }] });
    await apply({ Mandator: 'told', Policies: [{ Name: 'Staff only', MaySee: ['Office'] }] });
    await apply({ Mandator: 'told', Locations: [{ Name: 'Campus', Resources: [{ Name: 'R001', Policy: null }] }] });
    const told = await acts(before.at(-1)!.id);
    expect(told.map(({ action, subject_id, changes }) => [action, subject_id, changes])).toEqual([
      [
        ...['change group', groups[0]!.id],
        [
          { member: 'AddMembers', from: null, to: `${persons[1]!.id}` },
          { member: 'RemoveMembers', from: null, to: `${persons[0]!.id}` },
        ],
      ],
      [
        ...['change policy', policies[0]!.id],
        [{ member: 'MaySee', from: groups.map(({ id }) => id).join(', '), to: `${groups[1]!.id}` }],
      ],
      [...['change resource', resources[0]!.id], [{ member: 'PolicyId', from: `${policies[0]!.id}`, to: null }]],
    ]);
    const { groups: after } = await stored('told');
    expect(after.map(({ version }) => version)).toEqual([2, 1]);
  });

  test('tells of the address of a calendar no more than its server', async () => {
    const file = school('secret');
    file.HolidayCalendars[1]!['Url'] = 'https://other.example/b.ics?token=secret';
    const { records: planned } = await tenants.previewTenantFile(db, readTenantFile(file));
    await apply(school('secret'));
    const changes = await differences(file);
    await apply(file);
    expect(changes).toEqual([
      ['HolidayCalendar Public holidays', 'Url', 'https://ferien.example/…', 'https://other.example/…'],
    ]);
    const audit = await db
      .selectFrom('audit')
      .where('subject', '=', 'HolidayCalendar')
      .selectAll()
      .orderBy('id')
      .execute();
    expect(audit.at(-1)).toMatchObject({
      changes: [{ member: 'Url', from: 'https://ferien.example', to: 'https://other.example' }],
    });
    for (const told of [planned, audit]) expect(JSON.stringify(told)).not.toContain('token');
    // The export is for the operator alone, and applies to the same state.
    expect(JSON.stringify(await tenants.exportTenant(db, 'secret'))).toContain(
      'https://other.example/b.ics?token=secret',
    );
  });

  test('says nothing of the displays in a group, which stay', async () => {
    await apply(school('screens'));
    const { mandatorId } = await tenants.getMandator(db, 'screens');
    const { groups } = await stored('screens');
    const personId = await db
      .transaction()
      .execute((trx) => tenants.createDisplayPerson(trx, mandatorId, { name: 'Sign', timeZone: 'UTC' }));
    const member = { mandator_id: mandatorId, group_id: groups[0]!.id, person_id: personId };
    await db.insertInto('person_group_member').values(member).execute();
    expect(JSON.stringify(await tenants.exportTenant(db, 'screens'))).not.toContain('displays.invalid');
    expect(await apply(school('screens'))).toMatchObject({ changed: 0 });
    expect(await apply({ Mandator: 'screens', Groups: [{ Name: 'Staff', Members: [] }] })).toMatchObject({
      changed: 1,
    });
    expect((await stored('screens')).members).toEqual([{ group_id: groups[0]!.id, person_id: personId }]);
  });

  test('replaces the hours of what it names as a whole', async () => {
    await apply(school('hours'));
    const file = school('hours');
    file.Locations[0]!.OpeningRules = [
      { ...weekly, Weekdays: [1] },
      { ...weekly, Weekdays: [2] },
    ];
    file.Locations[0]!.OpeningExceptions = [];
    await apply(file);
    const { rules, exceptions } = await stored('hours');
    expect(rules.map(({ weekdays }) => weekdays)).toEqual([[6], [1], [2]]);
    expect(exceptions).toEqual([]);
  });

  test('deletes nothing that it does not name, and leaves its hours and parameters alone', async () => {
    await apply(school('keeps'));
    const before = await stored('keeps');
    const { Parameters: _, ...file } = school('keeps');
    file.Locations.splice(0, 1);
    file.Persons.splice(0, 1);
    expect(await apply(file)).toMatchObject({ created: 0, changed: 0 });
    expect(await stored('keeps')).toEqual(before);
    expect(await tenants.getMandator(db, 'keeps')).toMatchObject({
      parameters: { PinAuthenticationAllowed: true },
    });
  });

  test('touches no other tenant', async () => {
    await apply(school('mine'));
    await apply(school('theirs'));
    const before = await stored('theirs');
    const file = school('mine');
    file.Locations[0]!.TimeZone = 'UTC';
    file.Locations[0]!.OpeningRules = [];
    await apply(file);
    expect(await stored('theirs')).toEqual(before);
  });

  test('applied eight times at once creates everything once', async () => {
    const applied = await Promise.all(Array.from({ length: 8 }, () => apply(school('race'))));
    expect(applied.filter(({ created }) => created === records)).toHaveLength(1);
    expect(applied.filter(({ unchanged }) => unchanged === records)).toHaveLength(7);
    const { rules, exceptions } = await stored('race');
    expect([rules.length, exceptions.length]).toEqual([2, 1]);
  });

  test('applied eight times at once changes everything once', async () => {
    await apply(school('change-race'));
    const file = school('change-race');
    file.Locations[0]!.OpeningRules = [{ ...weekly, Opens: '09:00' }];
    const applied = await Promise.all(Array.from({ length: 8 }, () => apply(file)));
    expect(applied.filter(({ changed }) => changed === 1)).toHaveLength(1);
    expect(applied.filter(({ unchanged }) => unchanged === records)).toHaveLength(7);
    const { rules } = await stored('change-race');
    expect(rules.map(({ opens }) => opens).sort()).toEqual(['09:00:00', '22:00:00']);
  });

  test('makes another application of the same tenant wait, but not what only refers to the tenant', async () => {
    const file = readTenantFile({ Mandator: 'locked', Name: 'Locked' });
    await tenants.applyTenantFile(db, file);
    const { mandatorId } = await tenants.getMandator(db, 'locked');
    await db.transaction().execute(async (trx) => {
      await tenants.writeTenant(trx, file);
      const another = db.selectFrom('mandator').where('id', '=', mandatorId).forNoKeyUpdate().noWait();
      await expect(another.select('id').execute()).rejects.toMatchObject({ code: '55P03' });
      const referring = { mandator_id: mandatorId, name: 'Campus', time_zone: 'UTC' };
      await db.insertInto('location').values(referring).execute();
    });
  });

  test('leaves a parameter alone that it does not name', async () => {
    await apply(school('parameters'));
    await apply({ ...school('parameters'), Name: 'Other', Parameters: {} });
    expect(await tenants.getMandator(db, 'parameters')).toMatchObject({
      name: 'Other',
      parameters: { PinAuthenticationAllowed: true },
    });
  });

  test('that fails half-way leaves nothing', async () => {
    const file = readTenantFile(school('atomic'));
    file.Persons[1]!.Role = 'Nobody' as 'User';
    await expect(tenants.applyTenantFile(db, file)).rejects.toThrow('person_role_check');
    await expect(tenants.getMandator(db, 'atomic')).rejects.toThrow('There is no tenant "atomic"');
  });
});

describe('getPerson', () => {
  beforeAll(() => apply(school('people')));

  test('finds by tenant and address in any case', async () => {
    const person = await tenants.getPerson(db, 'People', 'ada@SCHOOL.example');
    expect(person).toEqual({
      mandatorId: expect.any(Number),
      personId: expect.any(Number),
      name: 'Ada',
      email: 'Ada@school.example',
      role: 'Admin',
    });
  });

  test.each([
    ['an unknown tenant', 'nobody', 'ada@school.example', 'There is no tenant "nobody"; create it with'],
    ['an unknown address', 'people', 'bob@school.example', 'Tenant people has no active person "bob@school.example"'],
  ])('NotFound names %s and the remedy', async (_, code, email, message) => {
    await expect(tenants.getPerson(db, code, email)).rejects.toMatchObject({
      code: 'NotFound',
      message: expect.stringMatching(new RegExp(`^${message}.*roomgate apply FILE`)),
    });
  });

  test('NotFound for a person who is no longer active', async () => {
    await apply(school('left'));
    await db.updateTable('person').set({ active: false }).where('name', '=', 'Ada').execute();
    await expect(tenants.getPerson(db, 'left', 'ada@school.example')).rejects.toThrow('no active person');
  });
});

describe('roomgate apply FILE', () => {
  let folder: string;
  beforeAll(async () => void (folder = await fs.mkdtemp(path.join(os.tmpdir(), 'roomgate-apply-'))));
  afterAll(() => fs.rm(folder, { recursive: true }));

  /** Runs the command on a file of this content, and returns what it printed. */
  async function run(content: string | undefined, ...options: string[]) {
    const file = path.join(folder, 'tenant.json');
    await fs.rm(file, { force: true });
    if (content !== undefined) await fs.writeFile(file, content);
    return await roomgate('apply', file, ...options);
  }
  async function roomgate(...args: string[]) {
    const printed: { text: string; record: unknown }[] = [];
    const program = new Command().exitOverride();
    addCommands(program, (work) => async (...given) => {
      const context = { db } as Context;
      await work({ context, json: false, print: (text, record) => void printed.push({ text, record }) }, ...given);
    });
    await program.parseAsync(args, { from: 'user' });
    return printed;
  }

  test('prints the outcome for the records', async () => {
    const file = { Mandator: 'CLI', Name: 'School' };
    const Members = [{ Member: 'Name', Old: null, New: 'School' }];
    expect(await run(`\uFEFF${JSON.stringify(file)}`)).toEqual([
      {
        text: 'Tenant cli: 1 created, 0 changed, 0 unchanged.',
        record: {
          Mandator: 'cli',
          DryRun: false,
          Created: 1,
          Changed: 0,
          Unchanged: 0,
          Records: [{ Kind: 'Tenant', Name: 'cli', Action: 'Created', Members }],
        },
      },
    ]);
  });

  test('--dry-run prints the difference, record by record, and writes nothing', async () => {
    await apply(school('dry'));
    const before = await stored('dry');
    const Resources = [{ Name: 'R001', Capacity: 31, Equipment: null }, { Name: 'R009' }];
    const file = { Mandator: 'dry', Locations: [{ Name: 'Campus', TimeZone: 'UTC', Resources }, { Name: 'Annex' }] };
    const [printed] = await run(JSON.stringify(file), '--dry-run');
    expect(printed?.text.split('\n')).toEqual([
      'Location Campus: changed',
      '  TimeZone: "Europe/Berlin" -> "UTC"',
      'Resource Campus / R001: changed',
      '  Capacity: 30 -> 31',
      '  Equipment: ["Projector","Piano"] -> []',
      'Resource Campus / R009: created',
      '  Name: "R009"',
      'Tenant dry would have 1 created, 2 changed, 2 unchanged.',
    ]);
    expect(printed?.record).toMatchObject({
      Mandator: 'dry',
      DryRun: true,
      Created: 1,
      Changed: 2,
      Unchanged: 2,
      Records: [
        { Kind: 'Location', Name: 'Campus', Action: 'Changed' },
        {
          Kind: 'Resource',
          Name: 'Campus / R001',
          Action: 'Changed',
          Members: [{ Member: 'Capacity', Old: 30, New: 31 }, { Member: 'Equipment' }],
        },
        { Kind: 'Resource', Name: 'Campus / R009', Action: 'Created' },
      ],
    });
    expect(await stored('dry')).toEqual(before);
    await run(JSON.stringify({ Mandator: 'dry-new', Name: 'New' }), '--dry-run');
    await expect(tenants.getMandator(db, 'dry-new')).rejects.toThrow('There is no tenant');
  });

  test('prints what was read of the holidays that the file lists, and which of them close nothing to come', async () => {
    await apply({ Mandator: 'read', Name: 'School', Locations: [{ Name: 'Campus', TimeZone: 'UTC' }] });
    const past = { FromDate: '2001-12-24', ToDate: '2001-12-26', Name: 'Weihnachten' };
    const Holidays = [
      past,
      { ...past, FromDate: '2002-12-24', ToDate: '2002-12-26' },
      { ...past, ToDate: '2002-12-20' },
    ];
    const next = { ...past, FromDate: '2090-12-24', ToDate: '2090-12-26' };
    const calendar = { Name: 'Ferien', Location: 'Campus', Holidays: [...Holidays, next] };
    const file = JSON.stringify({
      Mandator: 'read',
      HolidayCalendars: [calendar, { Name: 'Feste', Url: 'https://a.example/b' }],
    });
    const Reading = { Events: 4, Holidays: 4, Unused: [{ Reason: 'Past', Events: 3 }] };
    const line = 'HolidayCalendar Ferien: 4 read, 4 holidays, 3 Past';
    const Records = [
      { Kind: 'HolidayCalendar', Name: 'Ferien', Reading },
      { Kind: 'HolidayCalendar', Name: 'Feste' },
    ];
    for (const options of [['--dry-run'], []]) {
      const [printed] = await run(file, ...options);
      expect(printed?.text.split('\n').slice(-2)).toEqual([line, expect.stringContaining('2 created')]);
      expect(printed?.record).toMatchObject({ Records });
      expect((printed!.record as { Records: object[] }).Records[1]).not.toHaveProperty('Reading');
    }
    const { mandatorId } = await tenants.getMandator(db, 'read');
    const kept = db.selectFrom('holiday_calendar').where('mandator_id', '=', mandatorId).where('name', '=', 'Ferien');
    expect(await kept.select('reading').executeTakeFirstOrThrow()).toEqual({
      reading: { events: 4, holidays: 4, unused: [{ reason: 'Past', events: 3 }] },
    });
    expect((await run(file))[0]?.text).toBe('Tenant read: 0 created, 0 changed, 3 unchanged.');
  });

  test('export writes a file that changes nothing where it comes from, and makes the same tenant elsewhere', async () => {
    await apply(school('exports'));
    await apply({ Mandator: 'exports', Locations: [{ Name: 'Annex', Resources: [{ Name: 'R001', Active: false }] }] });
    const [first] = await roomgate('export', '--mandator', 'Exports');
    const file = JSON.parse(first!.text);
    expect(first!.record).toEqual(file);
    expect(file).toMatchObject({
      Mandator: 'exports',
      Name: 'School',
      Parameters: { PinAuthenticationAllowed: true },
      Locations: [{ Name: 'Annex', Resources: [{ Name: 'R001', Active: false }] }, { Name: 'Campus' }],
      Persons: [{ Email: 'Ada@school.example' }, { Email: 'door@school.example' }],
    });
    expect(first!.text).not.toMatch(/Id\b/);
    expect(await differences(file)).toEqual([]);
    await apply({ ...file, Mandator: 'copied' });
    const [copy] = await roomgate('export', '--mandator', 'copied');
    expect(copy!.record).toEqual({ ...file, Mandator: 'copied' });
  });

  test.each([
    ['that is not there', undefined, /tenant\.json cannot be read: there is no such file/],
    [
      'that is not JSON, without quoting it',
      '{"HolidayCalendars": ["https://u:secret@x",}',
      /tenant\.json: is not JSON: (?!.*secret)/,
    ],
    [
      'with faults',
      '{"Mandator":"a b","Name":1,"Naem":1}',
      /^.*tenant\.json: Mandator: .*\n.*tenant\.json: Name: .*\n.*tenant\.json: Naem: is not known here; did you mean Name\?$/,
    ],
    ['that makes a tenant without a name', '{"Mandator":"unnamed"}', /tenant\.json: Name: is missing; a new tenant/],
  ])('refuses a file %s', async (_, content, message) => {
    const refused = run(content);
    await expect(refused).rejects.toThrow(CommandFailed);
    await expect(refused).rejects.toThrow(message);
  });
});
