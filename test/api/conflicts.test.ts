/** A conflict says by code what it is about, and which member, in both fronts. */
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
