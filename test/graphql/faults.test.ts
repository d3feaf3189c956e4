/** Faults as a client of GraphQL sees them: names, places and words are GraphQL's, whichever layer found them. */
import fs from 'node:fs';
import path from 'node:path';
import { afterAll, beforeAll, describe, expect, test } from '@jest/globals';
import {
  buildSchema,
  type GraphQLArgument,
  type GraphQLField,
  type GraphQLInputField,
  type GraphQLInputType,
  getNamedType,
  getNullableType,
  isEnumType,
  isInputObjectType,
  isLeafType,
  isListType,
  isRequiredArgument,
  isRequiredInputField,
  isUnionType,
} from 'graphql';
import { english, nameOf } from '../../src/graphql/names.ts';
import { masterData } from '../_util/master-data.ts';
import { type Service, startService } from '../_util/service.ts';

type Tree = Record<string, unknown>;
type Fault = { field: string | null; pointer: string | null; code: string; message: string };
type Told = { message: string; faults: Fault[]; code?: unknown };

const source = path.join(import.meta.dirname, '..', '..', 'src');
const schema = buildSchema(fs.readFileSync(path.join(source, 'graphql', 'schema.graphql'), 'utf8'));

const openapi = JSON.parse(fs.readFileSync(path.join(source, 'rest', 'openapi.json'), 'utf8'));

/** The members and query parameters of REST, of all its schemas. */
const wire = new Set<string>();
(function collect(node: unknown): void {
  if (typeof node !== 'object' || node === null) return;
  const { properties, name, in: place } = node as Tree;
  for (const member of Object.keys(properties ?? {})) wire.add(member);
  if (place === 'query') wire.add(String(name));
  for (const inner of Object.values(node)) collect(inner);
})(openapi);

let service: Service;
let admin: ReturnType<typeof masterData>;
let room: string;

beforeAll(async () => {
  service = await startService({ Role: 'Web' });
  admin = masterData(service, await service.signIn(service.tenant, 'Admin'));
  room = String(service.tenant.resources[0]!.id);
});
afterAll(() => service.stop());

type Field = GraphQLField<unknown, unknown>;
type Kind = 'query' | 'mutation';

/** What a call of a field is told, as a problem or in `errors`. */
async function tell(kind: Kind, field: Field, args: Tree): Promise<Told[]> {
  const given = field.args.filter(({ name }) => args[name] !== undefined);
  const declared = given.map(({ name, type }) => `$${name}: ${type}`);
  const used = given.map(({ name }) => `${name}: $${name}`);
  const type = getNamedType(field.type);
  const selection = isUnionType(type)
    ? '{ __typename ... on Problem { message } ... on ValidationProblem { errors { field pointer code message } } }'
    : isLeafType(type)
      ? ''
      : '{ __typename }';
  const document = `${kind} ${declared.length > 0 ? `(${declared})` : ''} {
    result: ${field.name}${used.length > 0 ? `(${used})` : ''} ${selection} }`;
  const { data, errors } = (await admin.ask(document, args)) as {
    data?: { result?: { message?: string; errors?: Fault[] } | null } | null;
    errors?: { message: string; extensions: { code: string; errors?: Fault[] } }[];
  };
  const problem = data?.result?.message;
  return [
    ...(problem === undefined ? [] : [{ message: problem, faults: data?.result?.errors ?? [] }]),
    ...(errors ?? []).map(({ message, extensions }) => ({
      message,
      faults: extensions.errors ?? [],
      code: extensions.code,
    })),
  ];
}

/** The names of the arguments of a field and of all that is below them. */
function namesBelow(parts: readonly (GraphQLArgument | GraphQLInputField)[], names = new Set<string>()): Set<string> {
  for (const { name, type } of parts) {
    const inner = getNamedType(type);
    const isNew = !names.has(name);
    names.add(name);
    if (isNew && isInputObjectType(inner)) namesBelow(Object.values(inner.getFields()), names);
  }
  return names;
}

const ofZod =
  /Too (small|big)|Invalid [a-zA-Z]|>=|<=|expected (string|number|array|object|int)|must have (the|another) form|is not allowed here/;

/** The wrong spellings in a fault; empty if there are none. */
function wrongIn(told: Told[], field: Field): string[] {
  const own = namesBelow(field.args);
  const isForeign = (word: string) =>
    wire.has(word) && nameOf(word) !== word && (own.has(nameOf(word)) || /[a-z][A-Z]/.test(word) || english.has(word));
  return told.flatMap(({ message, faults }) => [
    ...[message, ...faults.map(({ message }) => message)].flatMap((text) => [
      ...(ofZod.test(text) ? [`of zod: ${text}`] : []),
      ...(text.replaceAll(/"[^"]*"/g, '').match(/[A-Za-z]\w*/g) ?? [])
        .filter(isForeign)
        .map((word) => `${word} in: ${text}`),
    ]),
    ...faults.flatMap((fault) => {
      const first = fault.pointer?.split('/')[1] ?? '';
      const isPlaced = field.args.some(({ name }) => name === first);
      const isNamed = fault.field !== null && isForeign(fault.field);
      return (fault.field !== null && !isPlaced) || isNamed ? [`not placed: ${JSON.stringify(fault)}`] : [];
    }),
  ]);
}

const fields = (['Query', 'Mutation'] as const).flatMap((type) =>
  Object.values(
    schema.getType(type) ? (schema.getType(type) as never as { getFields(): Record<string, Field> }).getFields() : {},
  ).map((field) => ({ kind: type.toLowerCase() as Kind, field })),
);
const fieldNamed = (name: string) => fields.find(({ field }) => field.name === name)!;

const plain: Record<string, unknown> = {
  ID: '999999',
  Int: 1,
  String: 'x1',
  Boolean: true,
  Date: '2027-03-01',
  DateTime: '2027-03-01T08:00:00Z',
};
const wrong: Record<string, unknown[]> = {
  ID: ['x'],
  Int: [-1, 2_000_000_000],
  String: ['', 'x'.repeat(3_000)],
  Boolean: [],
  Date: ['1850-01-01'],
  DateTime: ['1850-01-01T00:00:00Z'],
};

/** A value that is right by its type alone. */
function rightFor(type: GraphQLInputType): unknown {
  const nullable = getNullableType(type);
  if (isListType(nullable)) return [rightFor(nullable.ofType)];
  if (isEnumType(nullable)) return nullable.getValues()[0]?.name;
  if (!isInputObjectType(nullable)) return plain[String(nullable)];
  const members = Object.values(nullable.getFields()).filter(isRequiredInputField);
  return Object.fromEntries(members.map(({ name, type }) => [name, rightFor(type)]));
}

/** Values that the type takes and in which one thing is wrong. */
function wrongFor(type: GraphQLInputType, depth = 0): unknown[] {
  const nullable = getNullableType(type);
  if (isListType(nullable)) return wrongFor(nullable.ofType, depth).map((item) => [item]);
  if (isEnumType(nullable)) return [];
  if (!isInputObjectType(nullable)) return wrong[String(nullable)] ?? [];
  if (depth > 3) return [];
  const right = rightFor(nullable) as Tree;
  return Object.values(nullable.getFields()).flatMap(({ name, type }) =>
    wrongFor(type, depth + 1).map((value) => ({ ...right, [name]: value })),
  );
}

test.each<Kind>(['query', 'mutation'])(
  'whatever is wrong with an argument of any %s, the fault has its names and its place',
  async (kind) => {
    const found: string[] = [];
    let told = 0;
    const ofKind = fields.filter((one) => one.kind === kind);
    for (const { field } of ofKind) {
      const needed = field.args.filter(isRequiredArgument);
      const right = Object.fromEntries(needed.map(({ name, type }) => [name, rightFor(type)]));
      for (const { name, type } of field.args)
        for (const value of wrongFor(type)) {
          const answer = await tell(kind, field, { ...right, [name]: value });
          told += answer.length;
          found.push(...wrongIn(answer, field).map((text) => `${field.name}: ${text}`));
        }
    }
    expect([...new Set(found)]).toEqual([]);
    expect(told).toBeGreaterThan(ofKind.length);
  },
);

const far = { from: '2027-03-01T00:00:00Z', to: '2028-12-01T00:00:00Z' };
const back = { from: '2027-03-01T00:00:00Z', to: '2027-02-01T00:00:00Z' };
const days = (to: string) => ({ from: '2027-03-01', to });

describe('what a service finds', () => {
  test.each<[string, Tree, ...string[]]>([
    ['usage', { input: days('2027-02-01') }, '/input/to'],
    ['usage', { input: days('2029-02-01') }, '/input/to'],
    [
      'timetable',
      { filter: { class: '7a', teacher: 'MUE' } },
      '/filter/class',
      '/filter/teacher',
      '/filter/resourceId',
      '/filter/personId',
    ],
    ['availability', { input: back }, '/input/to'],
    ['availability', { input: far }, '/input/to'],
    ['freeResources', { input: { at: '1850-01-01T00:00:00Z' } }],
    ['bookings', { filter: back }, '/filter/to'],
    ['bookings', { filter: far }, '/filter/to'],
    ['timetable', { filter: back }, '/filter/to'],
    ['audit', { filter: back }, '/filter/to'],
    ['openingHours', { locationId: 'location', ...days('2027-02-01') }, '/to'],
    ['openingHours', { locationId: 'location', ...days('2029-02-01') }, '/to'],
    ['lesson', { jobKey: 'x' }, '/id', '/jobKey', '/lessonKey'],
    ['lessonJob', {}, '/id', '/jobKey'],
    ['persons', { after: 'x' }, '/after'],
    ['persons', { first: 1, last: 1 }, '/first', '/last'],
    ['changes', { after: 'x' }, '/after'],
    ['changes', { last: 1 }, '/last', '/before'],
    ['changes', { first: 200, last: 1 }, '/last', '/before'],
    ['changes', { before: 'x' }, '/last', '/before'],
    ['createPolicy', { input: { name: 'P', maySee: ['999999'] } }, '/input/maySee/0'],
    ['createBooking', { input: { resourceId: 'room', subject: 'S', start: far.from, end: back.to } }, '/input/end'],
    [
      'createBooking',
      { input: { resourceId: '999999', subject: 'S', start: far.from, end: far.from } },
      '/input/resourceId',
      '/input/end',
    ],
    ['createHolidayCalendar', { input: { name: 'H', ics: 'x' } }, '/input/ics'],
    ['createHolidayCalendar', { input: { name: 'H' } }, '/input/ics'],
    [
      'createHolidayCalendar',
      { input: { name: 'H', url: 'https://school.example/h.ics', locationId: '999999' } },
      '/input/locationId',
    ],
    ['createResource', { input: { name: 'R', locationId: '999999' } }, '/input/locationId'],
    ['pairDisplay', { input: { code: 'ABCDEF', name: 'D', resourceIds: ['999999'] } }],
    ['deleteLessonJobs', { jobs: [{ jobKey: 'x' }], options: { onConflict: 'Displace' } }, '/options/onConflict'],
    ['createLessonJobs', { jobs: [] }, '/jobs'],
  ])('%s %j', async (name, args, ...places) => {
    const { kind, field } = fieldNamed(name);
    const real = JSON.parse(
      JSON.stringify(args).replaceAll('"room"', `"${room}"`).replaceAll('"location"', `"${service.tenant.locationId}"`),
    );
    const told = await tell(kind, field, real);
    expect(told).not.toEqual([]);
    expect(wrongIn(told, field)).toEqual([]);
    if (places.length > 0) expect(told.flatMap(({ faults }) => faults.map(({ pointer }) => pointer))).toEqual(places);
  });
});

/** A subscription without a cursor begins now, and the list of changes at the oldest: no remedy names that. */
const wrongCursor = 'after: pass a cursor of the feed of changes unchanged, or "now" for changes from now on.';

test.each<[string, Tree, string, string]>([
  ['bookings', { filter: {}, after: 'x' }, '/after', wrongCursor],
  [
    'timetable',
    { filter: { class: '7a', teacher: 'MUE' } },
    '/filter/class',
    'class, teacher, resourceId, personId: name one of them, or none for your own timetable.',
  ],
  ['timetable', { after: 'x' }, '/after', wrongCursor],
])('the subscription %s %j', async (name, args, place, message) => {
  const field = schema.getSubscriptionType()!.getFields()[name]!;
  const given = field.args.filter((argument) => argument.name in args);
  const query = `subscription (${given.map((one) => `$${one.name}: ${one.type}`)}) {
    ${name}(${given.map((one) => `${one.name}: $${one.name}`)}) { __typename } }`;
  const answer = await fetch(`${service.url}/school/graphql`, {
    method: 'POST',
    headers: { ...headers(), Accept: 'text/event-stream' },
    body: JSON.stringify({ query, variables: args }),
  });
  const errors: { message: string; extensions: { errors?: Fault[] } }[] = JSON.parse(
    /\{.*\}/.exec(await answer.text())?.[0] ?? '{}',
  ).errors;
  const told = errors.map(({ message, extensions }) => ({ message, faults: extensions.errors ?? [] }));
  expect(wrongIn(told, field)).toEqual([]);
  expect(told[0]?.faults[0]).toMatchObject({ pointer: place, message });
});

test.each([
  ['a rule of a value', 'Int', '0', 'persons(first: §) { nodes { id } }', 'BAD_USER_INPUT', 'BAD_USER_INPUT'],
  ['a scalar', 'DateTime', '"x"', 'bookings(filter: { from: § }) { nodes { id } }'],
  ['a date', 'Date', '"x"', 'holidays(filter: { from: § }) { nodes { id } }'],
  ['an enumeration', 'SortOrder', '"Upward"', 'bookings(filter: {}, order: §) { nodes { id } }'],
  ['a member that is missing', 'UsageInput!', '{}', 'usage(input: §) { hours { hour } }'],
])(
  '%s is judged by the same rule in a variable and in the document, which is then no valid one',
  async (_what, type, value, use, ofVariable = 'BAD_USER_INPUT', ofDocument = 'GRAPHQL_VALIDATION_FAILED') => {
    const codesOf = ({ errors = [] }: { errors?: Tree[] }) => [
      ...new Set(errors.map(({ extensions }) => (extensions as Tree)['code'])),
    ];
    const asVariable = await admin.ask(`query ($v: ${type}) { ${use.replace('§', '$v')} }`, { v: JSON.parse(value) });
    const asLiteral = await admin.ask(`{ ${use.replace('§', type === 'SortOrder' ? 'Upward' : value)} }`);
    expect([codesOf(asVariable), codesOf(asLiteral)]).toEqual([[ofVariable], [ofDocument]]);
    expect(asLiteral.errors?.filter((error) => !('locations' in (error as Tree)))).toEqual([]);
  },
);

const headers = () => ({ Authorization: `Bearer ${admin.token}`, 'Content-Type': 'application/json' });

test('a value that breaks a rule is answered in our own words by every operation of REST', async () => {
  type Operation = { parameters?: { name: string; in: string }[]; requestBody?: { content: Tree } };
  const texts = new Set<string>();
  const follow = (schema: Tree): Tree =>
    typeof schema['$ref'] === 'string' ? openapi.components.schemas[schema['$ref'].split('/').at(-1) ?? ''] : schema;
  async function send(method: string, at: string, query: string, body?: unknown): Promise<void> {
    const answer = await fetch(`${service.url}${at}?${query}`, {
      method,
      headers: { ...headers(), 'If-Match': '"1"' },
      ...(body !== undefined && { body: JSON.stringify(body) }),
    });
    const { detail = '', Errors = [] } = await answer.json().catch(() => ({}));
    for (const text of [detail, ...Errors.map(({ Message }: { Message: string }) => Message)]) texts.add(text);
  }
  const values = [true, -1, 1.5, 'x'.repeat(3_000), '', [], {}, ['x'.repeat(3_000)], [{}], null];
  for (const [template, operations] of Object.entries(openapi.paths as Record<string, Record<string, Operation>>)) {
    const at = template.replaceAll('{mandator}', 'school').replaceAll(/\{\w+\}/g, '999999');
    for (const [method, { parameters = [], requestBody }] of Object.entries(operations)) {
      const queries = parameters.filter((parameter) => parameter.in === 'query').map(({ name }) => name);
      if (method === 'get' && queries.length > 0)
        for (const value of ['', '-1', 'x'.repeat(3_000), '1850-01-01', '9999-01-01T00:00:00Z', 'a&§=b'])
          await send('GET', at, queries.map((name) => `${name}=${value.replace('§', name)}`).join('&'));
      const json = requestBody?.content['application/json'] as { schema: Tree } | undefined;
      if (!json) continue;
      const schema = follow(json.schema);
      const item = follow((schema['items'] as Tree | undefined) ?? schema);
      const names = Object.keys((item['properties'] as Tree | undefined) ?? {});
      for (const value of values) {
        const members = Object.fromEntries(names.map((name) => [name, value]));
        await send(method.toUpperCase(), at, '', schema === item ? members : [members]);
      }
    }
  }
  expect([...texts].filter((text) => ofZod.test(text))).toEqual([]);
  expect(texts.size).toBeGreaterThan(100);
});
