import { describe, expect, test } from '@jest/globals';
import { InvalidInput } from '../../src/errors.ts';
import { readTenantFile } from '../../src/tenants/tenant-file.ts';

const rule = { Weekdays: [1], Opens: '08:00', Closes: '18:00' };
const exception = { FromDate: '2026-12-24', ToDate: '2026-12-26', Closed: true };
const room = { Name: 'R001' };
const site = { Name: 'Campus', TimeZone: 'Europe/Berlin' };
const person = { Name: 'Ada', Email: 'ada@school.example', TimeZone: 'UTC', Role: 'Admin' };
const file = (members: object = {}) => ({ Mandator: 'school', Name: 'School', ...members });
const withSite = (members: object) => file({ Locations: [{ ...site, ...members }] });
const withRoom = (members: object) => withSite({ Resources: [{ ...room, ...members }] });
const withRule = (members: object) => withSite({ OpeningRules: [{ ...rule, ...members }] });
const withException = (members: object) => withSite({ OpeningExceptions: [{ ...exception, ...members }] });
const withCalendar = (members: object) => file({ HolidayCalendars: [{ Name: 'Holidays', ...members }] });
const withPerson = (members: object) => file({ Persons: [{ ...person, ...members }] });

function faultsOf(json: unknown) {
  try {
    readTenantFile(json);
    return [];
  } catch (error) {
    expect(error).toBeInstanceOf(InvalidInput);
    const { message, errors } = error as InvalidInput;
    expect(message.split('\n')).toEqual(errors.map((one) => one.message));
    return errors;
  }
}

describe('each fault names its path, its value and what is allowed', () => {
  const members =
    'Name, Kind, Capacity, Equipment, Mailbox, CheckInMinutes, CalendarWriting, CalendarEdits, DeclineConflicts, Policy, Active, OpeningRules, OpeningExceptions';
  const table: [json: unknown, code: string, pointer: string, field: string | null, message: string][] = [
    [7, 'InvalidType', '', null, 'the file: is 7; must be an object in braces'],
    [[], 'InvalidType', '', null, 'the file: is []; must be an object in braces'],
    [{ Name: 'a' }, 'MissingField', '/Mandator', 'Mandator', 'Mandator: is missing; must be a text in quotes'],
    [
      file({ Mandator: 'a.b' }),
      'InvalidValue',
      '/Mandator',
      'Mandator',
      'Mandator: is "a.b"; must consist of a-z, 0-9, - and _',
    ],
    [file({ Mandator: '' }), 'InvalidValue', '/Mandator', 'Mandator', 'Mandator: is ""; must not be empty'],
    [
      file({ Mandator: 'a'.repeat(65) }),
      'InvalidValue',
      '/Mandator',
      'Mandator',
      `Mandator: is "${'a'.repeat(65)}"; must have at most 64 characters`,
    ],
    [
      file({ Mandator: 'API' }),
      'InvalidValue',
      '/Mandator',
      'Mandator',
      'Mandator: is "API"; is reserved; choose another name',
    ],
    [
      file({ Mandator: '.well-known' }),
      'InvalidValue',
      '/Mandator',
      'Mandator',
      'Mandator: is ".well-known"; is reserved; choose another name',
    ],
    [
      file({ Name: 'a\0' }),
      'InvalidValue',
      '/Name',
      'Name',
      'Name: is "a\\u0000"; must not hold U+0000 or half of a surrogate pair',
    ],
    [
      file({ Name: '\ud83d' }),
      'InvalidValue',
      '/Name',
      'Name',
      'Name: is "\\ud83d"; must not hold U+0000 or half of a surrogate pair',
    ],
    [file({ Name: 5 }), 'InvalidType', '/Name', 'Name', 'Name: is 5; must be a text in quotes'],
    [
      file({ Parameters: { PinAuthenticationAllowed: 'true' } }),
      'InvalidType',
      '/Parameters/PinAuthenticationAllowed',
      'PinAuthenticationAllowed',
      'Parameters.PinAuthenticationAllowed: is "true"; must be true or false',
    ],
    [
      file({ Parameters: { Pin: true } }),
      'UnknownField',
      '/Parameters/Pin',
      'Pin',
      'Parameters.Pin: is not known here; the members here are PinAuthenticationAllowed, UsersMayImport, CalendarWriting, CalendarEdits, DeclineConflicts',
    ],
    [file({ Locations: {} }), 'InvalidType', '/Locations', 'Locations', 'Locations: is {}; must be a list in brackets'],
    [
      file({ 'a/b~': 1 }),
      'UnknownField',
      '/a~1b~0',
      'a/b~',
      'a/b~: is not known here; the members here are Mandator, Name, Parameters, Colour, Logo, Locations, Persons, Groups, Policies, HolidayCalendars',
    ],
    [
      JSON.parse('{"Mandator":"a","Name":"b","__proto__":{"x":1}}'),
      'UnknownField',
      '/__proto__',
      '__proto__',
      '__proto__: is not known here; the members here are Mandator, Name, Parameters, Colour, Logo, Locations, Persons, Groups, Policies, HolidayCalendars',
    ],
    [
      withSite({ TimeZone: 'Europe/Berlinn' }),
      'InvalidValue',
      '/Locations/0/TimeZone',
      'TimeZone',
      'Locations[0].TimeZone: is "Europe/Berlinn"; must be an IANA time zone such as Europe/Zurich',
    ],
    [
      withSite({ TimeZone: '+01:00' }),
      'InvalidValue',
      '/Locations/0/TimeZone',
      'TimeZone',
      'Locations[0].TimeZone: is "+01:00"; must be an IANA time zone such as Europe/Zurich',
    ],
    [
      withSite({
        Resources: [room, room, room, { ...room, Name: 'x', Capacityy: 3 }].map((one, index) => ({
          ...one,
          Name: `${index}`,
        })),
      }),
      'UnknownField',
      '/Locations/0/Resources/3/Capacityy',
      'Capacityy',
      'Locations[0].Resources[3].Capacityy: is not known here; did you mean Capacity?',
    ],
    [
      withRoom({ Mailbox: 'the aula' }),
      'InvalidValue',
      '/Locations/0/Resources/0/Mailbox',
      'Mailbox',
      'Locations[0].Resources[0].Mailbox: is "the aula"; must be an e-mail address or the name of an account on the mail server',
    ],
    [
      withRoom({ mailbox: 'a' }),
      'UnknownField',
      '/Locations/0/Resources/0/mailbox',
      'mailbox',
      'Locations[0].Resources[0].mailbox: is not known here; did you mean Mailbox?',
    ],
    [
      withRoom({ Wifi: 'a' }),
      'UnknownField',
      '/Locations/0/Resources/0/Wifi',
      'Wifi',
      `Locations[0].Resources[0].Wifi: is not known here; the members here are ${members}`,
    ],
    [
      withRoom({ Capacity: -1 }),
      'InvalidValue',
      '/Locations/0/Resources/0/Capacity',
      'Capacity',
      'Locations[0].Resources[0].Capacity: is -1; must be 0 or more',
    ],
    [
      withRoom({ Capacity: 2.5 }),
      'InvalidType',
      '/Locations/0/Resources/0/Capacity',
      'Capacity',
      'Locations[0].Resources[0].Capacity: is 2.5; must be a whole number',
    ],
    [
      withRoom({ Capacity: 'many' }),
      'InvalidType',
      '/Locations/0/Resources/0/Capacity',
      'Capacity',
      'Locations[0].Resources[0].Capacity: is "many"; must be a whole number',
    ],
    [
      withRoom({ Equipment: ['a', null] }),
      'InvalidType',
      '/Locations/0/Resources/0/Equipment/1',
      'Equipment',
      'Locations[0].Resources[0].Equipment[1]: is null; must be a text in quotes',
    ],
    [
      withRule({ Weekdays: [1, 8] }),
      'InvalidValue',
      '/Locations/0/OpeningRules/0/Weekdays/1',
      'Weekdays',
      'Locations[0].OpeningRules[0].Weekdays[1]: is 8; must be 7 (Sunday) or less',
    ],
    [
      withRule({ Weekdays: [] }),
      'InvalidValue',
      '/Locations/0/OpeningRules/0/Weekdays',
      'Weekdays',
      'Locations[0].OpeningRules[0].Weekdays: is []; must name a weekday',
    ],
    [
      withRule({ Opens: '24:00' }),
      'InvalidValue',
      '/Locations/0/OpeningRules/0/Opens',
      'Opens',
      'Locations[0].OpeningRules[0].Opens: is "24:00"; must be a time from 00:00 to 23:59',
    ],
    [
      withRule({ Opens: '8:00' }),
      'InvalidValue',
      '/Locations/0/OpeningRules/0/Opens',
      'Opens',
      'Locations[0].OpeningRules[0].Opens: is "8:00"; must be a time from 00:00 to 23:59',
    ],
    [
      withRule({ Closes: '24:01' }),
      'InvalidValue',
      '/Locations/0/OpeningRules/0/Closes',
      'Closes',
      'Locations[0].OpeningRules[0].Closes: is "24:01"; must be a time from 00:00 to 24:00',
    ],
    [
      withRule({ ValidFrom: '2026-02-30' }),
      'InvalidValue',
      '/Locations/0/OpeningRules/0/ValidFrom',
      'ValidFrom',
      'Locations[0].OpeningRules[0].ValidFrom: is "2026-02-30"; must be a date such as 2027-02-01',
    ],
    [
      withRule({ ValidFrom: 20260202 }),
      'InvalidType',
      '/Locations/0/OpeningRules/0/ValidFrom',
      'ValidFrom',
      'Locations[0].OpeningRules[0].ValidFrom: is 20260202; must be a date such as 2027-02-01',
    ],
    [
      withRule({ ValidFrom: '2026-02-02', ValidTo: '2026-02-01' }),
      'InvalidValue',
      '/Locations/0/OpeningRules/0/ValidTo',
      'ValidTo',
      'Locations[0].OpeningRules[0].ValidTo: is "2026-02-01"; must not be before ValidFrom',
    ],
    [
      withException({ FromDate: '0000-01-01' }),
      'InvalidValue',
      '/Locations/0/OpeningExceptions/0/FromDate',
      'FromDate',
      'Locations[0].OpeningExceptions[0].FromDate: is "0000-01-01"; must be a date of 1900 or later',
    ],
    [
      withException({ ToDate: '2026-12-23' }),
      'InvalidValue',
      '/Locations/0/OpeningExceptions/0/ToDate',
      'ToDate',
      'Locations[0].OpeningExceptions[0].ToDate: is "2026-12-23"; must not be before FromDate',
    ],
    [
      withException({ Closed: false, Periods: [] }),
      'InvalidValue',
      '/Locations/0/OpeningExceptions/0/Periods',
      'Periods',
      'Locations[0].OpeningExceptions[0].Periods: is []; must contain at least one period, or none if Closed is true',
    ],
    [
      withException({ Periods: [{ Opens: '10:00', Closes: '12:00' }] }),
      'InvalidValue',
      '/Locations/0/OpeningExceptions/0/Periods',
      'Periods',
      'Locations[0].OpeningExceptions[0].Periods: is [{"Opens":"10:00","Closes":"12:00"}]; must contain at least one period, or none if Closed is true',
    ],
    [
      withPerson({ Email: 'ada' }),
      'InvalidValue',
      '/Persons/0/Email',
      'Email',
      'Persons[0].Email: is "ada"; must be an e-mail address',
    ],
    [
      withPerson({ Role: 'admin' }),
      'InvalidValue',
      '/Persons/0/Role',
      'Role',
      'Persons[0].Role: is "admin"; must be Admin, Importer, User or Display',
    ],
    [
      withCalendar({ Url: 'https://me:secret@ferien.example/a.ics' }),
      'InvalidValue',
      '/HolidayCalendars/0/Url',
      'Url',
      'HolidayCalendars[0].Url: must be an https address, without a password',
    ],
    [
      withCalendar({ Url: 'https://ferien.example/a.ics', Holidays: [] }),
      'InvalidValue',
      '/HolidayCalendars/0/Holidays',
      'Holidays',
      'HolidayCalendars[0].Holidays: is []; cannot be combined with Url; give the dates or the address',
    ],
    [
      withCalendar({ Holidays: [{ FromDate: 'x', ToDate: '1800-01-01' }] }),
      'InvalidValue',
      '/HolidayCalendars/0/Holidays/0/FromDate',
      'FromDate',
      'HolidayCalendars[0].Holidays[0].FromDate: is "x"; must be a date such as 2027-02-01',
    ],
    [
      withCalendar({ Holidays: [{ FromDate: '2026-12-24', ToDate: '2027-12-25' }] }),
      'InvalidValue',
      '/HolidayCalendars/0/Holidays/0/ToDate',
      'ToDate',
      'HolidayCalendars[0].Holidays[0].ToDate: is "2027-12-25"; must be at most 366 days from FromDate, both included',
    ],
    [
      file({ Policies: [{ Name: 'a', LeadMinutes: 525_601 }] }),
      'InvalidValue',
      '/Policies/0/LeadMinutes',
      'LeadMinutes',
      'Policies[0].LeadMinutes: is 525601; must be at most 525600',
    ],
    [
      file({ Groups: [{ Name: 'a' }, { Name: 'A' }] }),
      'DuplicateName',
      '/Groups/1/Name',
      'Name',
      'Groups[1].Name: is "A"; Groups[0] has the same Name',
    ],
    [
      file({ Locations: [site, { ...site, Name: ' CAMPUS' }] }),
      'DuplicateName',
      '/Locations/1/Name',
      'Name',
      'Locations[1].Name: is " CAMPUS"; Locations[0] has the same Name',
    ],
    [
      withSite({ Resources: [{ Name: 'Caf\u00e9' }, room, { Name: 'cafe\u0301' }] }),
      'DuplicateName',
      '/Locations/0/Resources/2/Name',
      'Name',
      'Locations[0].Resources[2].Name: is "cafe\u0301"; Locations[0].Resources[0] has the same Name',
    ],
    [
      file({ Persons: [person, { ...person, Email: 'ADA@school.example' }] }),
      'DuplicateName',
      '/Persons/1/Email',
      'Email',
      'Persons[1].Email: is "ADA@school.example"; Persons[0] has the same Email',
    ],
  ];
  test.each(
    table.map(([json, code, pointer, field, message]) => [message, json, { code, pointer, field, message }] as const),
  )('%s', (_, json, expected) => {
    expect(faultsOf(json)).toEqual([expected]);
  });
});

test('all faults are told at once', () => {
  const faulty = {
    Mandator: 'swagger',
    Locations: [
      { ...site, TimeZone: 'Nowhere', Resources: [{ Name: '\0' }, { Name: 'a', Kindd: 1 }, { Name: 'A' }] },
      7,
      { ...site, OpeningRules: [{ ...rule, Opens: 'x', ValidFrom: 'y' }] },
    ],
    Persons: [{ ...person, Role: 'Boss', Email: 'x' }],
    Extra: 1,
  };
  expect(faultsOf(faulty).map(({ pointer }) => pointer)).toEqual(
    expect.arrayContaining([
      ...['/Mandator', '/Extra', '/Locations/0/TimeZone', '/Locations/0/Resources/0/Name'],
      ...['/Locations/0/Resources/1/Kindd', '/Locations/0/Resources/2/Name', '/Locations/1'],
      ...['/Locations/2/OpeningRules/0/Opens', '/Locations/2/OpeningRules/0/ValidFrom', '/Locations/2/Name'],
      ...['/Persons/0/Role', '/Persons/0/Email'],
    ]),
  );
  expect(faultsOf(faulty)).toHaveLength(12);
});

test('a long value is shown by its beginning', () => {
  const [fault] = faultsOf(file({ Name: 'x'.repeat(5_000) }));
  expect(fault!.message.length).toBeLessThan(150);
});

test('names are trimmed and in NFC, the tenant in lower case, and what is left out stays out', () => {
  const read = readTenantFile({
    Mandator: 'My_School-1',
    Name: ' Scho\u0308n ',
    Locations: [{ ...site, OpeningRules: [{ ...rule, Closes: '24:00', ValidTo: null }], Resources: [room] }],
  });
  expect(read).toEqual({
    Mandator: 'my_school-1',
    Name: 'Sch\u00f6n',
    Parameters: {},
    Persons: [],
    Groups: [],
    Policies: [],
    HolidayCalendars: [],
    Locations: [
      { ...site, OpeningRules: [{ ...rule, Closes: '24:00', ValidFrom: null, ValidTo: null }], Resources: [room] },
    ],
  });
});

test('null clears what can be cleared; a list is then empty', () => {
  const cleared = { Capacity: null, Mailbox: null, CheckInMinutes: null };
  const lists = { OpeningRules: null, OpeningExceptions: null };
  const Resources = [{ ...room, ...cleared, ...lists, Equipment: null }];
  const read = readTenantFile(file({ Parameters: { UsersMayImport: null }, Locations: [{ ...site, Resources }] }));
  const empty = { Equipment: [], OpeningRules: [], OpeningExceptions: [] };
  expect(read.Locations[0]?.Resources).toEqual([{ ...room, ...cleared, ...empty }]);
  expect(read.Parameters).toEqual({ UsersMayImport: null });
});

test.each([
  ['Name', file({ Name: null })],
  ['Parameters', file({ Parameters: null })],
  ['Locations', file({ Locations: null })],
  ['Locations[0].TimeZone', withSite({ TimeZone: null })],
  ['Locations[0].Resources', withSite({ Resources: null })],
  ['Locations[0].Resources[0].Kind', withRoom({ Kind: null })],
  ['Locations[0].Resources[0].Active', withRoom({ Active: null })],
  ['Persons[0].Role', withPerson({ Role: null })],
])('null does not clear %s', (place, json) => {
  expect(faultsOf(json).map(({ message }) => message)).toEqual([
    expect.stringContaining(`${place}: is null, but cannot be cleared; must be `),
  ]);
});

test.each(['UTC', 'Europe/Kyiv', 'Asia/Calcutta', 'America/Argentina/Ushuaia', 'Etc/GMT+5'])(
  '%s is a time zone',
  (TimeZone) => expect(faultsOf(withSite({ TimeZone }))).toEqual([]),
);

test('two locations may have a room of the same name', () => {
  const Locations = ['Campus', 'Annex'].map((Name) => ({ ...site, Name, Resources: [room] }));
  expect(faultsOf(file({ Locations }))).toEqual([]);
});
