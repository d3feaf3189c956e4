/**
 * What a display's token opens, in every place of the API: its own record, its health, itself as a person, and its own
 * rooms. The places come from the OpenAPI document and the SDL, so that a new one has to be thought of.
 */
import { randomBytes } from 'node:crypto';
import fs from 'node:fs';
import path from 'node:path';
import { afterAll, beforeAll, describe, expect, test } from '@jest/globals';
import {
  buildSchema,
  type GraphQLArgument,
  type GraphQLField,
  type GraphQLInputField,
  type GraphQLNamedType,
  getNamedType,
  isCompositeType,
  isEnumType,
  isInputObjectType,
  isNonNullType,
  isObjectType,
  isUnionType,
} from 'graphql';
import { sql } from 'kysely';
import { documentFile } from '../_util/contract.ts';
import { type Device, pairDevice } from '../_util/displays.ts';
import { makeTenant } from '../_util/factories.ts';
import { readStart } from '../_util/fetch-whole.ts';
import { project } from '../_util/generate.ts';
import { lessonClient } from '../_util/lessons.ts';
import { masterData } from '../_util/master-data.ts';
import { type Service, startService } from '../_util/service.ts';

type Operation = {
  operationId: string;
  parameters?: { name?: string; in?: string; required?: boolean; schema?: { example?: string } }[];
  requestBody?: { content: Record<string, { example?: unknown }> };
};
const document = JSON.parse(fs.readFileSync(documentFile, 'utf8')) as {
  paths: Record<string, Record<string, Operation>>;
};
const schema = buildSchema(fs.readFileSync(path.join(project, 'src/graphql/schema.graphql'), 'utf8'));

/** A text in everything that a display must not see. */
const secret = 'geheim';
let service: Service;
/** One that only looks and one that books, both of the first room. */
let looking: Device;
let booking: Device;
/** Records of their own tenant that are not theirs. */
const other: Record<string, string> = {};

beforeAll(async () => {
  service = await startService({}, ['Mine', secret]);
  const { tenant, context } = service;
  const { db } = context;
  const { mandatorId } = tenant;
  const admin = masterData(service, await service.signIn(tenant, 'Admin'));
  const place = (await admin.post('/locations', { Name: secret, TimeZone: 'UTC' })).body['Id'] as number;
  const room = (await admin.post('/resources', { LocationId: place, Name: secret })).body['Id'] as number;
  looking = await pairDevice(service, admin, { Name: 'Looks' });
  booking = await pairDevice(service, admin, { Name: 'Books', MayBook: true });
  const sign = await pairDevice(service, admin, { Name: secret, ResourceIds: [room], MayBook: true });
  const person = (await admin.post('/persons', {
    Name: secret,
    Email: `${secret}@school.example`,
    TimeZone: 'UTC',
    Role: 'User',
  })) as unknown as { body: { Id: number } };
  const pin = await admin.post(`/persons/${person.body.Id}/pins`, { Label: secret });
  const start = new Date(Date.now() + 86_400_000);
  const booked = await admin.post('/bookings', {
    ResourceId: room,
    Subject: secret,
    Description: secret,
    Start: start.toISOString(),
    End: new Date(start.getTime() + 3_600_000).toISOString(),
  });
  const user = await service.signIn();
  const client = lessonClient(service, user);
  const { BatchId } = (await (await client.post([{ JobID: secret }])).json()) as { BatchId: string };
  await client.end(BatchId);
  const token = await db
    .insertInto('calendar_token')
    .values({
      mandator_id: mandatorId,
      resource_id: room,
      person_id: person.body.Id,
      hash: randomBytes(32),
      label: secret,
    })
    .returning('id')
    .executeTakeFirstOrThrow();
  Object.assign(other, {
    resourceId: room,
    locationId: place,
    personId: person.body.Id,
    displayId: sign.id,
    bookingId: booked.body['Id'],
    pinId: pin.body['PinId'],
    tokenId: token.id,
    batchId: BatchId,
  });
  await makeTenant(db, { code: 'stranger' });
});
afterAll(() => service.stop());

/** All that could be changed, as text. */
async function readAll(): Promise<string> {
  const tables = [
    ...['location', 'resource', 'person', 'pin', 'batch', 'calendar_token', 'booking', 'audit'],
    ...['opening_rule', 'opening_exception', 'display_resource', 'lesson_job', 'room_problem'],
  ];
  const texts = await Promise.all(
    [...tables, 'display'].map((table) =>
      sql<{ text: string }>`
        select coalesce(string_agg((to_jsonb(one) - '{heard_at,due_at,health}'::text[])::text, ',' order by to_jsonb(one)::text), '') as text
        from ${sql.table(table)} as one`
        .execute(service.context.db)
        .then(({ rows }) => rows[0]!.text),
    ),
  );
  return texts.join('\n');
}

describe('over REST a display', () => {
  const nouns = ['location', 'resource', 'person', 'pin', 'token', 'batch', 'booking', 'display'];
  const idOf = (hole: string, before: string) =>
    hole === 'id' ? other[`${nouns.find((noun) => before.startsWith(noun))}Id`] : other[hole];

  const operations = Object.entries(document.paths)
    .filter(([template]) => template.startsWith('/{mandator}/api/'))
    .flatMap(([template, item]) =>
      Object.entries(item).map(([method, operation]) => ({
        template,
        method: method.toUpperCase(),
        operation,
      })),
    );

  function address(template: string, { parameters = [] }: Operation, mandator: string): string {
    const query = parameters
      .filter((one) => one.in === 'query' && one.required)
      .map(({ name, schema: of }) => `${name}=${of?.example}`);
    const filled = template
      .replace('{mandator}', mandator)
      .replaceAll(/\/([\w-]+)\/\{(\w+)\}/g, (_all, before, hole) => `/${before}/${idOf(hole, before)}`);
    return `${service.url}${filled}?${query.join('&')}`;
  }

  /** Its example, with the other room for its own. */
  const bodyOf = ({ requestBody }: Operation) => {
    const example = requestBody?.content['application/json']?.example;
    if (example === undefined) return undefined;
    return JSON.stringify(example)
      .replaceAll(/"(Resource|Location|Person|Organizer)Id":\d+/g, (_all, noun) => {
        const id = other[`${noun === 'Organizer' ? 'person' : noun.toLowerCase()}Id`];
        return `"${noun}Id":${id}`;
      })
      .replaceAll(/"ResourceIds":\[\d+\]/g, `"ResourceIds":[${other['resourceId']}]`);
  };

  async function call(
    device: Device,
    { template, method, operation }: (typeof operations)[number],
    mandator = 'school',
  ) {
    const body = bodyOf(operation);
    const answer = await fetch(address(template, operation, mandator), {
      method,
      headers: {
        Authorization: `Bearer ${device.token}`,
        'If-Match': '*',
        ...(body === undefined ? {} : { 'Content-Type': 'application/json' }),
      },
      body: body ?? null,
    });
    return { status: answer.status, text: await answer.text() };
  }

  /** What is everybody's own, and what needs no credential. */
  const opened: Record<string, number> = {
    getDisplaysSelf: 200,
    putDisplaysSelfHealth: 204,
    getPersonsMe: 200,
    postDisplaysPairings: 201,
  };

  test('is let into nothing but what is its own', async () => {
    const before = await readAll();
    for (const operation of operations) {
      const { operationId } = operation.operation;
      const { status, text } = await call(looking, operation);
      // Its body names a room of which this display knows nothing.
      const may = [operationId === 'postRoomProblems' ? 422 : (opened[operationId] ?? [403, 404])].flat();
      expect([operationId, may.includes(status) || status]).toEqual([operationId, true]);
      expect([operationId, text.includes(secret)]).toEqual([operationId, false]);
    }
    expect(await readAll()).toBe(before);
  });

  test('that books gets no further in another room', async () => {
    const before = await readAll();
    for (const operation of operations) {
      const { operationId } = operation.operation;
      const { status, text } = await call(booking, operation);
      // Its body names a room of which this display knows nothing.
      const may = opened[operationId] ?? (/^post(Bookings|RoomProblems)$/.test(operationId) ? 422 : 404);
      expect([operationId, status === 403 || status === may || status]).toEqual([operationId, true]);
      expect([operationId, text.includes(secret)]).toEqual([operationId, false]);
    }
    expect(await readAll()).toBe(before);
  });

  test('gets 404 for all of another tenant', async () => {
    for (const operation of operations) {
      const { operationId } = operation.operation;
      if (operationId === 'postDisplaysPairings') continue;
      expect([operationId, (await call(booking, operation, 'stranger')).status]).toEqual([operationId, 404]);
    }
  });
});

describe('over GraphQL a display', () => {
  type Input = GraphQLArgument | GraphQLInputField;
  const nouns = ['resource', 'location', 'person', 'pin', 'token', 'batch', 'booking', 'display'];
  const nounOf = (name: string, field: string) =>
    nouns.find((noun) => name.toLowerCase().includes(noun)) ??
    nouns.find((noun) => field.toLowerCase().includes(noun)) ??
    'booking';

  /** Where not every text is right. */
  const texts: Record<string, string> = {
    timeZone: 'UTC',
    email: 'new@school.example',
    url: 'https://hooks.example/',
    role: 'User',
    opens: '09:00',
    closes: '18:00',
  };

  function fillerOf(input: Input, field: string): unknown {
    const type = getNamedType(input.type);
    // A closed day has no periods.
    if (input.name === 'closed') return true;
    if (input.name === 'periods') return [];
    // What it is refused for is not the place itself.
    if (input.name === 'timezoneLocationId') return undefined;
    if (type.name === 'ID') {
      const id = other[`${nounOf(input.name, field)}Id`];
      return input.type.toString().startsWith('[') ? [id] : id;
    }
    if (!isNonNullType(input.type) && !input.description?.startsWith('Required.')) return undefined;
    if (isEnumType(type)) return type.getValues()[0]?.value;
    if (isInputObjectType(type)) {
      const members = Object.values(type.getFields()).map((one) => [one.name, fillerOf(one, field)]);
      const value = Object.fromEntries(members);
      return input.type.toString().startsWith('[') ? [value] : value;
    }
    if (type.name === 'DateTime')
      return new Date(Date.now() + (['to', 'end'].includes(input.name) ? 3_600_000 : 0)).toISOString();
    if (type.name === 'Date') return '2027-03-01';
    return ({ Int: 1, Boolean: true } as Record<string, unknown>)[type.name] ?? texts[input.name] ?? 'text';
  }

  const isOfProblems = (type: GraphQLNamedType) =>
    isUnionType(type) && type.getTypes().some((one) => one.getInterfaces().length > 0);

  /** Whatever there is without arguments, so deep. */
  function selectionOf({ type }: GraphQLField<unknown, unknown>, depth: number): string {
    const named = getNamedType(type);
    if (!isCompositeType(named)) return '';
    if (!isObjectType(named))
      return isOfProblems(named) ? '{ __typename ... on Problem { code message } }' : '{ __typename }';
    const fields = Object.values(named.getFields())
      .filter((field) => field.args.length === 0)
      .filter((field) => depth > 0 || !isCompositeType(getNamedType(field.type)))
      .map((field) => `${field.name} ${selectionOf(field, depth - 1)}`);
    return `{ __typename ${fields.join(' ')} }`;
  }

  const places = (
    [
      ['query', schema.getQueryType()],
      ['mutation', schema.getMutationType()],
      ['subscription', schema.getSubscriptionType()],
    ] as const
  ).flatMap(([kind, type]) => Object.values(type!.getFields()).map((field) => ({ kind, field })));

  async function ask(device: Device, { kind, field }: (typeof places)[number]): Promise<string> {
    const declared = field.args.map(({ name, type }) => `$${name}: ${type}`).join(', ');
    const passed = field.args.map(({ name }) => `${name}: $${name}`).join(', ');
    const head = declared ? `${kind} (${declared}) { ${field.name}(${passed})` : `${kind} { ${field.name}`;
    const answer = await fetch(`${service.url}/school/graphql`, {
      method: 'POST',
      headers: {
        Authorization: `Bearer ${device.token}`,
        'Content-Type': 'application/json',
        Accept: kind === 'subscription' ? 'text/event-stream' : 'application/json',
      },
      body: JSON.stringify({
        query: `${head} ${selectionOf(field, 1)} }`,
        variables: Object.fromEntries(field.args.map((one) => [one.name, fillerOf(one, field.name)])),
      }),
    });
    return await readStart(answer);
  }

  const opened = ['serverTime', 'me', 'thisDisplay', 'reportHealth'];
  const refused =
    /"code":"(FORBIDDEN|NOT_FOUND)"|"__typename":"(Forbidden|NotFound)Problem"|"data":\{"\w+":(null|\[null\])\}/;

  test.each(['looking', 'booking'] as const)('that is %s is let into nothing but what is its own', async (name) => {
    const device = name === 'looking' ? looking : booking;
    const before = await readAll();
    for (const place of places) {
      const where = `${place.kind} ${place.field.name}`;
      const text = await ask(device, place);
      // Its input names a room of which this display knows nothing.
      const names = name === 'booking' ? ['createBooking', 'reportRoomProblem'] : ['reportRoomProblem'];
      const isNamed = names.includes(place.field.name) && text.includes('ValidationProblem');
      const right = opened.includes(place.field.name) ? !/"errors"|Problem"/.test(text) : isNamed || refused.test(text);
      expect([where, right || text]).toEqual([where, true]);
      expect([where, text.includes(secret)]).toEqual([where, false]);
    }
    expect(await readAll()).toBe(before);
  });
});

test('of its location a display sees its own room alone', async () => {
  const { locationId } = service.tenant;
  const [own, hidden] = service.tenant.resources.map(({ id }) => String(id));
  const { data } = await looking.ask('query ($id: ID!) { board(locationId: $id) { resource { id: resourceId } } }', {
    id: locationId,
  });
  expect(data).toEqual({ board: [{ resource: { id: own } }] });
  const hours = await looking.get(`/opening-hours/all/${locationId}`);
  expect([hours.status, hours.text.includes(secret)]).toEqual([200, false]);
  expect((await looking.get(`/displays/${own}/snapshot`)).status).toBe(200);
  expect((await looking.get(`/displays/${hidden}/snapshot`)).status).toBe(404);
});

test('and a person of role Display without a device, by a PIN, is let into less still', async () => {
  const pin = masterData(service, await service.signIn(service.tenant, 'Display'));
  for (const place of ['/resources', '/bookings', '/displays', '/displays/self', '/changes', '/locations'])
    expect((await pin.get(place)).status).toBe(403);
  expect((await pin.post('/bookings', { ResourceId: service.tenant.resources[0]!.id })).status).not.toBe(201);
});
