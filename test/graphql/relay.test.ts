/** Relay's published rules for servers, over every connection and every node of the schema: a new one is missed here. */

import fs from 'node:fs';
import { afterAll, beforeAll, describe, expect, test } from '@jest/globals';
import {
  buildSchema,
  type GraphQLField,
  type GraphQLInterfaceType,
  type GraphQLObjectType,
  getNamedType,
  isInterfaceType,
  isObjectType,
} from 'graphql';
import { sql } from 'kysely';
import { makeDisplay, makeTenant } from '../_util/factories.ts';
import { type GraphqlService, startGraphql } from '../_util/graphql.ts';
import { cloneDatabase } from '../_util/postgres.ts';

const schema = buildSchema(fs.readFileSync('src/graphql/schema.graphql', 'utf8'));
const types = Object.values(schema.getTypeMap()).filter(
  (type): type is GraphQLObjectType | GraphQLInterfaceType => isObjectType(type) || isInterfaceType(type),
);
const typeOf = ({ type }: GraphQLField<unknown, unknown>) => String(type);
const fieldsOf = (name: string) => (schema.getType(name) as GraphQLObjectType).getFields();
/** Every field that gives a connection, by its place. */
const connections = new Map(
  types.flatMap((type) =>
    Object.values(type.getFields())
      .filter((field) => getNamedType(field.type).name.endsWith('Connection'))
      .map((field) => [`${type.name}.${field.name}`, field] as const),
  ),
);
const nodeTypes = types.filter((type) => type.getInterfaces().some(({ name }) => name === 'Node'));

const count = 5;
const day = '2090-01-02';
const window = `filter: { from: "${day}T00:00:00Z", to: "${day}T23:00:00Z" }`;
let clone: Awaited<ReturnType<typeof cloneDatabase>>;
let service: GraphqlService;
let tenant: Awaited<ReturnType<typeof makeTenant>>;
/** The ids of one parent of each kind, which has five of everything. */
let ids: Record<'batch' | 'calendar' | 'group' | 'person' | 'resource' | 'series' | 'webhook', number | string>;

beforeAll(async () => {
  clone = await cloneDatabase();
  service = await startGraphql(clone.url);
  const { db } = service.context;
  tenant = await makeTenant(db, { rooms: ['R1', 'R2', 'R3', 'R4', 'R5'] });
  const { personId } = service.admit('admin', tenant, { role: 'Admin' });
  const { mandatorId } = tenant;
  const resource = tenant.resources[0]!.id;
  for (let n = 0; n < count; n++) await makeDisplay(db, tenant, { name: `Sign ${n}`, resourceIds: [resource] });
  const { rows } = await sql<typeof ids>`
    with five as (select generate_series(1, ${count}::int) as n), series as (
      insert into booking_series (mandator_id, recurrence_rule) values (${mandatorId}, 'FREQ=DAILY;COUNT=5') returning id
    ), booked as (
      insert into booking (mandator_id, resource_id, kind, status, origin, subject, organizer_id, series_id, occupied)
      select ${mandatorId}, ${resource}, 'Lesson', 'Confirmed', 'Api', 'No. ' || n, ${personId}::int, series.id,
        tstzrange(start, start + interval '1 hour')
      from five, series cross join lateral (
        select ${`${day}T08:00Z`}::timestamptz + interval '1 hour' * n as start) as slot
      returning *
    ), batches as (
      insert into batch (mandator_id, id, operation, job_count, request_id, created_by)
      select ${mandatorId}, gen_random_uuid(), 'Create', 5, 'test', ${personId} from five returning id
    ), batch as (select id from batches limit 1), errors as (
      insert into batch_error (mandator_id, batch_id, number, severity, code, message)
      select ${mandatorId}, batch.id, n, 'Error', 'InvalidValue', 'wrong' from batch, five
    ), jobs as (
      insert into lesson_job (mandator_id, job_id, batch_id, created_by)
      select ${mandatorId}, 'J' || n, batch.id, ${personId}::int from five, batch returning id, job_id
    ), taught as (
      insert into lesson (mandator_id, job, lektion_id, booking_id, resource_id, beginn, ende, status)
      select mandator_id, jobs.id, 'L' || booked.id, booked.id, resource_id, lower(occupied), upper(occupied), 'Geplant'
      from booked, jobs where job_id = 'J1'
    ), groups as (
      insert into person_group (mandator_id, name) select ${mandatorId}, 'Group ' || n from five returning id
    ), members as (
      insert into person_group_member (mandator_id, group_id, person_id)
      select ${mandatorId}, groups.id, person.id from groups, person where mandator_id = ${mandatorId}
    ), policies as (
      insert into policy (mandator_id, name) select ${mandatorId}, 'Policy ' || n from five
    ), pins as (
      insert into pin (mandator_id, person_id, hash)
      select ${mandatorId}, ${personId}, decode(md5('PIN ' || n), 'hex') from five
    ), tokens as (
      insert into calendar_token (mandator_id, resource_id, person_id, class, hash)
      select ${mandatorId}, room, ${personId}::int, case when room is null then '7a' end, decode(md5('token ' || n || coalesce(room, 0)), 'hex')
      from five, unnest(array[null, ${resource}]::int[]) as room
    ), calendars as (
      insert into holiday_calendar (mandator_id, name, closes) select ${mandatorId}, 'Calendar ' || n, true from five returning id
    ), calendar as (select min(id) as id from calendars), holidays as (
      insert into holiday (mandator_id, calendar_id, from_date, to_date, name)
      select ${mandatorId}, calendar.id, ${day}::date, ${day}::date, 'Holiday ' || n from calendar, five
    ), acts as (
      insert into audit (mandator_id, person_id, action, subject, subject_id, request_id)
      select ${mandatorId}, ${personId}, 'CreateResource', 'Resource', ${resource}, 'test' from five
    ), hooks as (
      insert into webhook (mandator_id, name, url, kinds, secret, disabled_at, disabled_because)
      select ${mandatorId}, 'Webhook ' || n, 'https://hooks.example/', '{BatchEnded}', '', now(), 'Admin' from five returning id
    ), profiles as (
      insert into timetable_profile (mandator_id, name, reading) select ${mandatorId}, 'Profile ' || n, '{}' from five
    ), hook as (select min(id) as id from hooks), deliveries as (
      insert into webhook_delivery (mandator_id, webhook_id, message_id, kind, attempt, at, milliseconds)
      select ${mandatorId}, hook.id, 'm' || n, 'Test', 1, now(), 1 from hook, five
    ), problems as (
      insert into room_problem (mandator_id, resource_id, display_id, key, kind, reported_at)
      select mandator_id, ${resource}, display.id, n::text, 'Other', now() from five, display
      where display.id = (select min(id) from display where mandator_id = ${mandatorId})
    ), colleague as (
      insert into person (mandator_id, name, email, time_zone, role)
      values (${mandatorId}, 'Colleague', 'colleague@school.example', 'Europe/Berlin', 'User')
    )
    select batch.id as batch, calendar.id as calendar, (select min(id) from groups) as "group", ${personId}::int as person,
      ${resource}::int as resource, series.id as series, hook.id as webhook from batch, calendar, series, hook`.execute(
    db,
  );
  ids = rows[0]!;
});
afterAll(async () => {
  await service.stop();
  await clone.drop();
});

type Page = {
  edges: { cursor: string; node: object }[];
  nodes: object[];
  pageInfo: { hasNextPage: boolean; hasPreviousPage: boolean; startCursor: string | null; endCursor: string | null };
};

type Place = `${string}.${string}`;

/** What leads to each connection: the field around it, and arguments of its own. */
const places: Record<Place, () => { around?: string; own?: string }> = {
  'Batch.errors': () => ({ around: `batch(id: "${ids.batch}")` }),
  'Batch.jobs': () => ({ around: `batch(id: "${ids.batch}")` }),
  'Batch.lessons': () => ({ around: `batch(id: "${ids.batch}")` }),
  'Group.members': () => ({ around: `group(id: ${ids.group})` }),
  'LessonJob.lessons': () => ({ around: 'lessonJob(jobKey: "J1")' }),
  'Location.resources': () => ({ around: `location(id: ${tenant.locationId})` }),
  'Person.bookings': () => ({ around: 'me', own: window }),
  'Person.groups': () => ({ around: 'me' }),
  'Person.pins': () => ({ around: 'me' }),
  'Query.audit': () => ({}),
  'Query.batches': () => ({}),
  'Query.bookings': () => ({ own: window }),
  'Query.bookingsInHolidays': () => ({ own: `calendarId: ${ids.calendar}` }),
  'Query.calendarTokens': () => ({ own: `resourceId: ${ids.resource}` }),
  'Query.displays': () => ({}),
  'Query.groups': () => ({}),
  'Query.holidayCalendars': () => ({}),
  'Query.holidays': () => ({}),
  'Query.lessonJobs': () => ({}),
  'Query.lessons': () => ({}),
  'Query.organizers': () => ({}),
  'Query.persons': () => ({}),
  'Query.pins': () => ({ own: `personId: ${ids.person}` }),
  'Query.policies': () => ({}),
  'Query.resources': () => ({}),
  'Query.roomProblems': () => ({}),
  'Query.timetable': () => ({ own: `${window.slice(0, -1)}, resourceId: ${ids.resource} }` }),
  'Query.timetableProfiles': () => ({}),
  'Query.timetableTokens': () => ({}),
  'Query.webhooks': () => ({}),
  'Resource.bookings': () => ({ around: `resource(id: ${ids.resource})`, own: window }),
  'Resource.displays': () => ({ around: `resource(id: ${ids.resource})` }),
  'Series.bookings': () => ({ around: `node(id: "series_${ids.series}") { ... on Series` }),
  'Webhook.deliveries': () => ({ around: `node(id: "webhook_${ids.webhook}") { ... on Webhook` }),
};

async function ask(query: string) {
  const answer = await service.post({ query }, { authorization: 'Bearer admin' });
  return (await answer.json()) as { data?: object | null; errors?: { message: string; extensions: object }[] };
}

/** A page of the connection at a place. */
async function read(place: Place, args: string): Promise<Page> {
  const { around, own = '' } = places[place]!();
  const name = place.slice(place.indexOf('.') + 1);
  const field = `${name}(${own} ${args}) { nodes { __typename } edges { cursor node { __typename } }
    pageInfo { hasNextPage hasPreviousPage startCursor endCursor } }`;
  const closing = around?.includes('{') ? '} }' : '}';
  const { data, errors } = await ask(around ? `{ ${around} { ${field} ${closing} }` : `{ ${field} }`);
  if (errors) throw new Error(errors[0]?.message);
  const found = around ? (Object.values(data!)[0] as Record<string, Page>)[name] : (data as Record<string, Page>)[name];
  return found!;
}

const cursorsOf = ({ edges }: Page) => edges.map(({ cursor }) => cursor);

describe('connections', () => {
  test('each is proved below', () => {
    expect(Object.keys(places).sort()).toEqual([...connections.keys()].sort());
  });

  const all = Object.keys(places) as Place[];

  test.each(all)('%s has the types of Relay', (place) => {
    const field = connections.get(place)!;
    const args = Object.fromEntries(field.args.map(({ name, type }) => [name, String(type)]));
    expect(args).toMatchObject({ first: 'Int', last: 'Int', after: 'String', before: 'String' });
    const { name } = getNamedType(field.type);
    const { edges, pageInfo } = fieldsOf(name) as Record<string, GraphQLField<unknown, unknown>>;
    const edge = fieldsOf(getNamedType(edges!.type).name);
    expect([typeOf(pageInfo!), typeOf(edge['cursor']!)]).toEqual(['PageInfo!', 'String!']);
    expect(isObjectType(getNamedType(edge['node']!.type))).toBe(true);
  });

  test('PageInfo has the fields of Relay', () => {
    const fields = Object.values(fieldsOf('PageInfo')).map((field) => [field.name, typeOf(field)]);
    expect(Object.fromEntries(fields)).toEqual({
      hasNextPage: 'Boolean!',
      hasPreviousPage: 'Boolean!',
      startCursor: 'String',
      endCursor: 'String',
    });
  });

  test.each(all)('%s is read in pages of two, forward and backward, in one order', async (place) => {
    const whole = await read(place, 'first: 100');
    const all = cursorsOf(whole);
    expect([all.length >= 4, new Set(all).size]).toEqual([true, all.length]);
    expect(whole.pageInfo).toEqual({
      hasNextPage: false,
      hasPreviousPage: false,
      startCursor: all[0],
      endCursor: all.at(-1),
    });
    const forward = [];
    for (let args = 'first: 2', hasNext = true; hasNext; ) {
      const page = await read(place, args);
      const { hasNextPage, hasPreviousPage, endCursor } = page.pageInfo;
      expect(hasPreviousPage).toBe(forward.length > 0);
      forward.push(...cursorsOf(page));
      hasNext = hasNextPage;
      args = `first: 2, after: "${endCursor}"`;
    }
    expect(forward).toEqual(all);
    const backward: string[] = [];
    for (let args = 'last: 2', hasPrevious = true; hasPrevious; ) {
      const page = await read(place, args);
      const { hasNextPage, hasPreviousPage, startCursor } = page.pageInfo;
      expect(hasNextPage).toBe(backward.length > 0);
      backward.unshift(...cursorsOf(page));
      hasPrevious = hasPreviousPage;
      args = `last: 2, before: "${startCursor}"`;
    }
    expect(backward).toEqual(all);
    const between = `after: "${all[0]}", before: "${all.at(-1)}"`;
    expect(cursorsOf(await read(place, between))).toEqual(all.slice(1, -1));
    expect(cursorsOf(await read(place, `last: 1, ${between}`))).toEqual(all.slice(-2, -1));
  });

  test('in falling order backward too', async () => {
    for (const place of ['Query.bookings', 'Query.lessons', 'Query.timetable'] as const) {
      const all = cursorsOf(await read(place, 'first: 100'));
      const falling = cursorsOf(await read(place, 'order: Descending, first: 100'));
      expect(falling).toEqual(all.toReversed());
      const before = `order: Descending, before: "${falling[3]}"`;
      expect(cursorsOf(await read(place, `${before}, last: 2`))).toEqual(falling.slice(1, 3));
      expect(cursorsOf(await read(place, `${before}, first: 2`))).toEqual(falling.slice(0, 2));
    }
  });

  test('`last` above the limit is lowered, and with `first` or a cursor of another list it is a fault that says so', async () => {
    expect(cursorsOf(await read('Query.resources', 'last: 100000'))).toHaveLength(count);
    const faults: [args: string, message: RegExp][] = [
      ['first: 1, last: 1', /^first, last: give one of them/],
      ['last: 0', /\blast\b/],
      ['last: 1, before: "x"', /^before: pass a cursor of this list/],
      [`after: "${cursorsOf(await read('Query.persons', 'first: 1'))[0]}"`, /^after: pass a cursor of this list/],
    ];
    for (const [args, message] of faults)
      expect((await ask(`{ resources(${args}) { nodes { id } } }`)).errors).toMatchObject([
        { message: expect.stringMatching(message), extensions: { code: 'BAD_USER_INPUT' } },
      ]);
  });

  test('a backward page costs as a forward one', async () => {
    for (const size of ['first', 'last']) {
      const query = `{ resources(${size}: 200) { nodes { bookings(${size}: 200) { nodes { id } } } } }`;
      expect((await ask(query)).errors).toMatchObject([{ extensions: { code: 'LIMIT' } }]);
    }
  });
});

describe('nodes', () => {
  test('the interface and its query are as Relay says', () => {
    const { node, nodes } = schema.getQueryType()!.getFields();
    expect([typeOf(node!), String(node!.args[0]!.type), String(nodes!.args[0]!.type)]).toEqual([
      'Node',
      'ID!',
      '[ID!]!',
    ]);
    expect(Object.values((schema.getType('Node') as GraphQLInterfaceType).getFields()).map(typeOf)).toEqual(['ID!']);
  });

  test('only records are known by an `id`: caches join what has the same type and id', () => {
    const known = types.filter((type) => type.name !== 'Node' && 'id' in type.getFields()).map(({ name }) => name);
    const apart = ['Change', 'Holiday', 'OpeningException', 'OpeningRule', 'WebhookDelivery'];
    expect(known.filter((name) => !apart.includes(name))).toEqual(nodeTypes.map(({ name }) => name));
  });

  test('each has an id of its own', () => {
    expect(nodeTypes.map(({ name }) => name)).toContain('Booking');
    for (const type of nodeTypes) expect([type.name, typeOf(type.getFields()['id']!)]).toEqual([type.name, 'ID!']);
  });
});
