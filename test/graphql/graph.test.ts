/** The graph: nodes and connections after the rules that Relay publishes for servers, and what edges cost in statements. */
import fs from 'node:fs';
import { afterAll, beforeAll, describe, expect, jest, test } from '@jest/globals';
import { buildSchema, type GraphQLObjectType, getNamedType, isLeafType } from 'graphql';
import { sql } from 'kysely';
import pg from 'pg';
import { makeTenant } from '../_util/factories.ts';
import { type GraphqlService, startGraphql } from '../_util/graphql.ts';
import { cloneDatabase } from '../_util/postgres.ts';

type Tree = Record<string, unknown>;
const rooms = Array.from({ length: 50 }, (_, n) => `R${String(n).padStart(2, '0')}`);
const perRoom = 5;
const day = '2090-01-02T';
let clone: Awaited<ReturnType<typeof cloneDatabase>>;
let service: GraphqlService;
let tenant: Awaited<ReturnType<typeof makeTenant>>;
let foreign: Awaited<ReturnType<typeof makeTenant>>;
let booking: number;
let series: number;
let job: number;
let pin: number;
let token: number;

/** In each room five bookings of an hour each: four of a user, of which two are a series, and a lesson. */
beforeAll(async () => {
  clone = await cloneDatabase();
  service = await startGraphql(clone.url);
  const { db } = service.context;
  tenant = await makeTenant(db, { rooms });
  foreign = await makeTenant(db, { code: 'other', rooms: ['X'] });
  const { personId } = service.admit('user', tenant);
  service.admit('admin', tenant, { role: 'Admin' });
  service.admit('sign', tenant, { role: 'Display' });
  const { rows } = await sql<{ id: number; series: number }>`
    with repeated as (
      insert into booking_series (mandator_id, recurrence_rule) values (${tenant.mandatorId}, 'FREQ=DAILY;COUNT=2') returning id
    ), booked as (
      insert into booking (mandator_id, resource_id, kind, status, origin, subject, organizer_id, series_id, occupied)
      select ${tenant.mandatorId}, room, case when n = 1 then 'Lesson' else 'Booking' end, 'Confirmed', 'Api',
        'No. ' || n, case when n <> 1 then ${personId}::int end,
        case when n > 2 and room = ${tenant.resources[0]!.id} then repeated.id end,
        tstzrange(start, start + interval '1 hour')
      from unnest(${tenant.resources.map(({ id }) => id)}::int[]) as room
      cross join generate_series(0, ${perRoom - 1}) as n
      cross join repeated
      cross join lateral (select (${`${day}08:00Z`}::timestamptz) + interval '1 hour' * n as start) as slot
      returning *
    ), job as (
      insert into lesson_job (mandator_id, job_id, batch_id, created_by)
      values (${tenant.mandatorId}, 'J', gen_random_uuid(), ${personId}) returning id
    ), taught as (
      insert into lesson (mandator_id, job, lektion_id, booking_id, resource_id, beginn, ende, status)
      select mandator_id, job.id, 'L' || resource_id, booked.id, resource_id, lower(occupied), upper(occupied), 'Geplant'
      from booked, job where kind = 'Lesson'
    )
    select max(id) as id, max(series_id) as series from booked`.execute(db);
  ({ id: booking, series } = rows[0]!);
  await addBelongings(personId);
});

/** A PIN for each person, a token for each room, a calendar for each but the first, and one display for the first two. */
async function addBelongings(personId: number): Promise<void> {
  const ids = tenant.resources.map(({ id }) => id);
  const { rows } = await sql<{ job: number; pin: number; token: number }>`
    with pins as (
      insert into pin (mandator_id, person_id, hash)
      select mandator_id, id, decode(md5('PIN ' || id), 'hex') from person where mandator_id = ${tenant.mandatorId}
      returning id, person_id
    ), tokens as (
      insert into calendar_token (mandator_id, resource_id, person_id, hash)
      select ${tenant.mandatorId}, room, ${personId}::int, decode(md5('token ' || room), 'hex') from unnest(${ids}::int[]) as room
      returning id
    ), calendars as (
      insert into mail_calendar (mandator_id, resource_id, kind, mailbox)
      select ${tenant.mandatorId}, room, 'Graph', room || '@school.example' from unnest(${ids.slice(1)}::int[]) as room
    ), sign as (
      insert into display (mandator_id, person_id, created_by, privacy, token_hash, expires_at)
      values (${tenant.mandatorId}, ${tenant.person('Display').id}, ${personId}, 'BusyOnly', decode(md5('sign'), 'hex'), now() + interval '1 year')
      returning id
    ), given as (
      insert into display_resource (mandator_id, display_id, resource_id)
      select ${tenant.mandatorId}, sign.id, room from sign, unnest(${ids.slice(0, 2)}::int[]) as room
    )
    select (select id from lesson_job where mandator_id = ${tenant.mandatorId}) as job,
      (select id from pins where person_id = ${personId}) as pin, (select min(id) from tokens) as token`.execute(
    service.context.db,
  );
  ({ job, pin, token } = rows[0]!);
}
afterAll(async () => {
  await service.stop();
  await clone.drop();
});

/** The whole answer with the ids of the graph, and how many statements it took. */
async function ask(query: string, variables: Tree = {}, token = 'admin') {
  const spy = jest.spyOn(pg.Client.prototype, 'query');
  const answer = await service.post({ query, variables }, { authorization: `Bearer ${token}` });
  const texts = spy.mock.calls.map(([query]) => (query as { text?: string }).text ?? String(query));
  // What a new connection says first, and the sign of life of the one that listens, are none of the query's.
  const statements = texts.filter((text) => !/server_version_num|pg_notify/.test(text)).length;
  spy.mockRestore();
  const { data, errors } = (await answer.json()) as {
    data: Record<string, never> | null;
    errors?: { message: string; extensions: { code: string } }[];
  };
  return { data: data as Record<string, unknown> | null, errors, statements };
}

const window = `filter: { from: "${day}00:00:00Z", to: "${day}23:00:00Z" }`;

describe('nodes', () => {
  const node = 'query ($id: ID!) { node(id: $id) { __typename id } }';

  test.each<[type: string, id: () => string]>([
    ['Booking', () => `booking_${booking}`],
    ['Series', () => `series_${series}`],
    ['Resource', () => `resource_${tenant.resources[0]!.id}`],
    ['Location', () => `location_${tenant.locationId}`],
    ['Person', () => `person_${tenant.person('User').id}`],
    ['LessonJob', () => 'lessonJob_J'],
    ['Lesson', () => `lesson_${job}_L${tenant.resources[0]!.id}`],
    ['Pin', () => `pin_${pin}`],
    ['CalendarToken', () => `calendarToken_${token}`],
  ])('%s is read by its id, which is the same again', async (type, id) => {
    expect((await ask(node, { id: id() })).data).toEqual({ node: { __typename: type, id: id() } });
  });

  test.each<[string, () => string]>([
    ['no id at all', () => 'hello'],
    ['a plain id', () => String(tenant.locationId)],
    ['nothing behind the noun', () => 'booking_'],
    ['text behind the noun', () => 'booking_x'],
    ['a number beyond all', () => `booking_${'9'.repeat(40)}`],
    ['no UUID', () => 'batch_7'],
    ['an unknown one', () => 'batch_01a1f8da-707e-77b2-927f-0b8eb9707a33'],
    ['a noun that is no node', () => 'change_1'],
    ['a foreign room', () => `resource_${foreign.resources[0]!.id}`],
    ['a foreign location', () => `location_${foreign.locationId}`],
    ['a foreign person', () => `person_${foreign.person('User').id}`],
    ['a lesson without its job', () => 'lesson_L1'],
    ['an unknown lesson', () => `lesson_${job}_L`],
    ['a lesson that PostgreSQL cannot store', () => `lesson_${job}_\0`],
    ['a lesson of a job beyond all', () => `lesson_${'9'.repeat(16)}_L1`],
    ['an unknown PIN', () => 'pin_2000000000'],
    ['an unknown token', () => 'calendarToken_2000000000'],
  ])('%s gives null', async (_name, id) => {
    expect(await ask(node, { id: id() })).toMatchObject({ data: { node: null }, errors: undefined });
  });

  test('nodes come in the order of their ids, and null where there is none', async () => {
    const ids = [`booking_${booking}`, 'x', `location_${tenant.locationId}`, `booking_${booking}`];
    const { data } = await ask('query ($ids: [ID!]!) { nodes(ids: $ids) { id } }', { ids });
    expect(data).toEqual({ nodes: ids.map((id) => (id === 'x' ? null : { id })) });
  });

  test('nodes are bounded, and read together', async () => {
    const many = 'query ($ids: [ID!]!) { nodes(ids: $ids) { id } }';
    const first = tenant.resources.map(({ id }) => `resource_${id}`);
    const { statements } = await ask(many, { ids: first.slice(0, 1) });
    expect((await ask(many, { ids: first })).statements).toBe(statements);
    expect((await ask(many, { ids: Array(101).fill('x') })).errors?.[0]?.extensions.code).toBe('BAD_USER_INPUT');
  });

  test('have the rights of their own queries', async () => {
    const person = `person_${tenant.person('Admin').id}`;
    const refused = (await ask(node, { id: person }, 'user')).errors;
    expect(refused?.[0]?.extensions.code).toBe('FORBIDDEN');
    expect((await ask(node, { id: `booking_${booking}` }, 'sign')).errors?.[0]?.extensions.code).toBe('FORBIDDEN');
    expect((await ask(node, { id: `pin_${pin}` }, 'user')).errors?.[0]?.extensions.code).toBe('FORBIDDEN');
    expect((await ask(node, { id: `lesson_${job}_L1` }, 'sign')).errors?.[0]?.extensions.code).toBe('FORBIDDEN');
    service.admit('other', tenant, { personId: tenant.person('Admin').id });
    expect((await ask(node, { id: `calendarToken_${token}` }, 'other')).data).toEqual({ node: null });
    const [first] = tenant.resources;
    service.admit('barred', tenant, { hiddenRooms: [first!.id] });
    for (const id of [`calendarToken_${token}`, `lesson_${job}_L${first!.id}`])
      expect((await ask(node, { id }, 'barred')).data).toEqual({ node: null });
  });

  test('a fragment on a type reads its own fields', async () => {
    const { data } = await ask(
      'query ($id: ID!) { node(id: $id) { ... on Series { recurrenceRule bookings { nodes { id } } } } }',
      { id: `series_${series}` },
    );
    expect(data).toMatchObject({ node: { recurrenceRule: 'FREQ=DAILY;COUNT=2', bookings: { nodes: { length: 2 } } } });
  });
});

describe('connections', () => {
  const page = (args: string) =>
    ask(`{ resources(${args}) { nodes { id } edges { cursor node { id } }
      pageInfo { hasNextPage hasPreviousPage startCursor endCursor } } }`);
  type Page = {
    nodes: { id: string }[];
    edges: { cursor: string; node: { id: string } }[];
    pageInfo: { hasNextPage: boolean; startCursor: string | null; endCursor: string | null };
  };

  test('have edges with cursors, of which pageInfo names the first and the last', async () => {
    const { nodes, edges, pageInfo } = (await page('first: 3')).data!['resources'] as Page;
    expect(edges.map(({ node }) => node)).toEqual(nodes);
    expect(pageInfo).toEqual({
      ...{ hasNextPage: true, hasPreviousPage: false },
      ...{ startCursor: edges[0]?.cursor, endCursor: edges[2]?.cursor },
    });
    const next = (await page(`first: 3, after: "${edges[0]?.cursor}"`)).data!['resources'] as Page;
    expect(next.nodes.slice(0, 2)).toEqual(nodes.slice(1));
  });

  test('lower `first` above 200, and refuse 0 and less by name', async () => {
    const { nodes, pageInfo } = (await page('first: 100000')).data!['resources'] as Page;
    expect([nodes.length, pageInfo.hasNextPage]).toEqual([rooms.length, false]);
    for (const first of [0, -1]) expect((await page(`first: ${first}`)).errors?.[0]?.message).toMatch(/\bfirst\b/);
  });

  test('an empty page has no cursors', async () => {
    const { pageInfo } = (await page('first: 1, filter: { name: "none" }')).data!['resources'] as Page;
    expect([pageInfo.startCursor, pageInfo.endCursor]).toEqual([null, null]);
  });
});

describe('edges', () => {
  const plan = (first: number) =>
    ask(
      `query ($id: ID!) { location(id: $id) { resources(first: ${first}) { nodes { name
        bookings(first: 3, ${window}) { nodes { subject organizer { person { name } } lessons { lessonKey }
          resource { name } } pageInfo { hasNextPage } } } } } }`,
      { id: `location_${tenant.locationId}` },
    );
  type Plan = {
    location: {
      resources: {
        nodes: {
          name: string;
          bookings: {
            nodes: { subject: string; organizer: { person: object } | null; lessons: object[] }[];
            pageInfo: { hasNextPage: boolean };
          };
        }[];
      };
    };
  };

  test('rooms of a location with their next bookings, organizers and lessons take six statements for 50 rooms', async () => {
    const { data, errors, statements } = await plan(rooms.length);
    expect(errors).toBeUndefined();
    const { nodes } = (data as Plan).location.resources;
    expect(nodes.map(({ name }) => name)).toEqual(rooms);
    for (const { bookings } of nodes) {
      expect(bookings.nodes.map(({ subject }) => subject)).toEqual(['No. 0', 'No. 1', 'No. 2']);
      expect(bookings.nodes.map(({ lessons }) => lessons.length)).toEqual([0, 1, 0]);
      expect(bookings.nodes[0]?.organizer?.person).toEqual({ name: tenant.person('User').name });
      expect(bookings.pageInfo.hasNextPage).toBe(true);
    }
    expect(statements).toBeLessThanOrEqual(6);
    expect((await plan(2)).statements).toBe(statements);
  });

  test('a page of an edge goes on behind its cursor', async () => {
    const read = async (args: string) => {
      const { data } = await ask(
        `query ($id: ID!) { resource(id: $id) { bookings(${args}, ${window}) { nodes { id } pageInfo { endCursor } } } }`,
        { id: tenant.resources[3]!.id },
      );
      return (data as { resource: { bookings: { nodes: object[]; pageInfo: { endCursor: string } } } }).resource
        .bookings;
    };
    const whole = await read('first: 5');
    const start = await read('first: 2');
    const rest = await read(`first: 5, after: "${start.pageInfo.endCursor}"`);
    expect([...start.nodes, ...rest.nodes]).toEqual(whole.nodes);
    expect(whole.nodes).toHaveLength(perRoom);
  });

  test('a window that is refused leaves the others of its turn their answers', async () => {
    const edge = (to: string) => `bookings(filter: { from: "2027-01-01T00:00:00Z", to: "${to}" }) { nodes { id } }`;
    const { data, errors } = await ask(
      `{ bad: resource(id: 1) { ${edge('2029-01-01T00:00:00Z')} } good: resource(id: 1) { ${edge('2027-01-02T00:00:00Z')} } }`,
    );
    expect(errors).toMatchObject([{ path: ['bad', 'bookings'] }]);
    expect(data).toMatchObject({ bad: null, good: { bookings: { nodes: expect.any(Array) } } });
  });

  test('others are not told of persons', async () => {
    const { data } = await ask(
      `{ bookings(first: 1, ${window}) { nodes { organizer { displayName person { email } } } } }`,
      {},
      'user',
    );
    expect(data).toMatchObject({ bookings: { nodes: [{ organizer: { person: { email: expect.any(String) } } }] } });
    service.admit('colleague', tenant, { personId: tenant.person('Admin').id });
    const others = await ask(
      `{ bookings(first: 1, ${window}) { nodes { organizer { person { email } } } } }`,
      {},
      'colleague',
    );
    expect(others.data).toEqual({ bookings: { nodes: [{ organizer: { person: null } }] } });
  });

  test('a job has its lessons, and a person its bookings', async () => {
    const { data } = await ask(`{ lessonJobs(first: 1) { nodes { lessons(first: 200) { nodes { jobKey } } } } }`);
    expect(data).toMatchObject({ lessonJobs: { nodes: [{ lessons: { nodes: { length: rooms.length } } }] } });
    const mine = await ask(`{ me { bookings(first: 200, ${window}) { nodes { id } } } }`, {}, 'user');
    expect(mine.data).toMatchObject({ me: { bookings: { nodes: { length: rooms.length * (perRoom - 1) } } } });
  });

  const belongings = {
    'PINs of persons': ['persons', 'pins(first: 5) { nodes { personId } }'],
    'displays of resources': ['resources', 'displays(first: 5) { nodes { privacy resources { name } } }'],
    'calendars of resources': ['resources', 'mailSubscription { mailbox resource { name } conflicts { subject } }'],
  };

  test.each(Object.entries(belongings))(
    '%s take no more statements for many, and are for Admins',
    async (_name, one) => {
      const [list, edge] = one;
      const read = (first: number, who?: string) => ask(`{ ${list}(first: ${first}) { nodes { ${edge} } } }`, {}, who);
      // The first resource has no calendar.
      const { statements, errors } = await read(2);
      expect(errors).toBeUndefined();
      expect((await read(50)).statements).toBe(statements);
      const own = list === 'persons' ? `{ me { name ${edge} } }` : `{ resources(first: 1) { nodes { name ${edge} } } }`;
      const refused = await ask(own, {}, 'user');
      expect(refused.errors?.[0]?.extensions.code).toBe('FORBIDDEN');
      const name = edge?.match(/^\w+/)?.[0] as string;
      const kept = refused.data as { me?: Tree; resources?: { nodes: Tree[] } };
      expect(kept.me ?? kept.resources?.nodes[0]).toEqual({ name: expect.any(String), [name]: null });
    },
  );

  test('each has its own belongings', async () => {
    const [first, second] = tenant.resources;
    const { data } = await ask(
      `{ resources(first: 3) { nodes { displays { nodes { resources { name } } } mailSubscription { mailbox } } } }`,
    );
    const shown = { nodes: [{ resources: [{ name: 'R00' }, { name: 'R01' }] }] };
    expect(data).toEqual({
      resources: {
        nodes: [
          { displays: shown, mailSubscription: null },
          { displays: shown, mailSubscription: { mailbox: `${second!.id}@school.example` } },
          { displays: { nodes: [] }, mailSubscription: { mailbox: `${tenant.resources[2]!.id}@school.example` } },
        ],
      },
    });
    const mine = `person_${tenant.person('User').id}`;
    const pins = await ask('query ($id: ID!) { person(id: $id) { pins { nodes { id personId } } } }', { id: mine });
    expect(pins.data).toEqual({ person: { pins: { nodes: [{ id: `pin_${pin}`, personId: mine }] } } });
    const tokens = await ask(
      'query ($id: ID!) { calendarTokens(resourceId: $id) { nodes { id resource { name } person { id } } } }',
      { id: first!.id },
      'user',
    );
    expect(tokens.data).toEqual({
      calendarTokens: { nodes: [{ id: `calendarToken_${token}`, resource: { name: 'R00' }, person: { id: mine } }] },
    });
  });
});

describe('costs', () => {
  const schema = buildSchema(fs.readFileSync('src/graphql/schema.graphql', 'utf8'));
  /** The fields of a type that are values. */
  const valuesOf = (name: string) =>
    Object.values((schema.getType(name) as GraphQLObjectType).getFields())
      .filter(({ type }) => isLeafType(getNamedType(type)))
      .map(({ name }) => name)
      .join(' ');

  test('a page of 200 bookings with all values of theirs, of the resource and of the organizer is allowed', async () => {
    const whole = `${valuesOf('Booking')} resource { ${valuesOf('Resource')} } organizer { ${valuesOf('Organizer')} }`;
    const { data, errors } = await ask(`{ bookings(first: 200, ${window}) { nodes { ${whole} } } }`);
    expect(errors).toBeUndefined();
    expect(data).toMatchObject({ bookings: { nodes: { length: 200 } } });
  });

  test('pages of 200 within pages of 200 are refused', async () => {
    const within = `bookings(first: 200, ${window}) { nodes { id } }`;
    for (const list of ['resources', 'persons']) {
      const { data, errors } = await ask(`{ ${list}(first: 200) { nodes { ${within} } } }`);
      expect([data, errors?.[0]?.extensions.code]).toEqual([undefined, 'LIMIT']);
    }
  });
});
