/** The graph: nodes and connections by Relay's rules for servers, and the number of statements for edges. */
import fs from 'node:fs';
import { afterAll, beforeAll, describe, expect, test } from '@jest/globals';
import { buildSchema, type GraphQLObjectType, getNamedType, isObjectType } from 'graphql';
import { sql } from 'kysely';
import { makeTenant } from '../_util/factories.ts';
import { type GraphqlService, startGraphql } from '../_util/graphql.ts';
import { cloneDatabase } from '../_util/postgres.ts';
import { statementsOf } from '../_util/statements.ts';

type Tree = Record<string, unknown>;
const rooms = Array.from({ length: 50 }, (_, n) => `R${String(n).padStart(2, '0')}`);
const perRoom = 5;
const day = '2090-01-02T';
const schema = buildSchema(fs.readFileSync('src/graphql/schema.graphql', 'utf8'));
let clone: Awaited<ReturnType<typeof cloneDatabase>>;
let service: GraphqlService;
let tenant: Awaited<ReturnType<typeof makeTenant>>;
let foreign: Awaited<ReturnType<typeof makeTenant>>;
let booking: number;
let series: number;
let job: number;
let pin: number;
let token: number;
/** One of each that only Admins read. */
let [act, batch, calendar, display, group, mail, policy, problem, profile, webhook] = new Array<number | string>(
  10,
).fill('');

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
    ), batch as (
      insert into batch (mandator_id, id, operation, job_count, request_id, created_by)
      values (${tenant.mandatorId}, gen_random_uuid(), 'Create', 1, 'test', ${personId}) returning id
    ), job as (
      insert into lesson_job (mandator_id, job_id, batch_id, created_by)
      select ${tenant.mandatorId}, 'J', id, ${personId}::int from batch returning id
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
  const { rows } = await sql<{ job: number; pin: number; token: number } & Record<string, number | string>>`
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
      returning id
    ), acts as (
      insert into audit (mandator_id, person_id, action, subject, subject_id, request_id)
      values (${tenant.mandatorId}, ${personId}, 'CreateResource', 'Resource', ${ids[0]}, 'test') returning id
    ), groups as (
      insert into person_group (mandator_id, name) values (${tenant.mandatorId}, 'Staff'), (${tenant.mandatorId}, 'Halls')
      returning id, name
    ), belonging as (
      insert into person_group_member (mandator_id, group_id, person_id)
      select ${tenant.mandatorId}, groups.id, person.id from groups
      join person on person.mandator_id = ${tenant.mandatorId} and (groups.name = 'Staff' or person.id = ${personId})
    ), policies as (
      insert into policy (mandator_id, name) values (${tenant.mandatorId}, 'Halls') returning id
    ), holidays as (
      insert into holiday_calendar (mandator_id, name, closes) values (${tenant.mandatorId}, 'Public', true) returning id
    ), hooks as (
      insert into webhook (mandator_id, name, url, kinds, secret, disabled_at, disabled_because)
      values (${tenant.mandatorId}, 'Board', 'https://hooks.example/', '{BatchEnded}', '', now(), 'Admin') returning id
    ), profiles as (
      insert into timetable_profile (mandator_id, name, reading) values (${tenant.mandatorId}, 'Untis', '{}') returning id
    ), sign as (
      insert into display (mandator_id, person_id, created_by, privacy, token_hash, expires_at)
      values (${tenant.mandatorId}, ${tenant.person('Display').id}, ${personId}, 'BusyOnly', decode(md5('sign'), 'hex'), now() + interval '1 year')
      returning id
    ), given as (
      insert into display_resource (mandator_id, display_id, resource_id)
      select ${tenant.mandatorId}, sign.id, room from sign, unnest(${ids.slice(0, 2)}::int[]) as room
    ), problems as (
      insert into room_problem (mandator_id, resource_id, display_id, key, kind, reported_at)
      select ${tenant.mandatorId}, ${ids[0]}, id, 'one', 'Other', now() from sign returning id
    )
    select (select id from lesson_job where mandator_id = ${tenant.mandatorId}) as job,
      (select id from pins where person_id = ${personId}) as pin, (select min(id) from tokens) as token,
      (select id from acts) as act, (select id from batch where mandator_id = ${tenant.mandatorId}) as batch,
      (select id from holidays) as calendar, (select id from sign) as display, (select id from groups where name = 'Staff') as "group",
      (select min(id) from calendars) as mail, (select id from policies) as policy, (select id from problems) as problem,
      (select id from hooks) as webhook, (select id from profiles) as profile`.execute(service.context.db);
  ({ job, pin, token } = rows[0]!);
  ({ act, batch, calendar, display, group, mail, policy, problem, profile, webhook } = rows[0]!);
}
afterAll(async () => {
  await service.stop();
  await clone.drop();
});

/** The whole answer with the ids of the graph, and how many statements it took. */
async function ask(query: string, variables: Tree = {}, token = 'admin') {
  const { answer, texts } = await statementsOf(service.context.db, () =>
    service.post({ query, variables }, { authorization: `Bearer ${token}` }),
  );
  const { data, errors } = (await answer.json()) as {
    data: Record<string, never> | null;
    errors?: { message: string; extensions: { code: string } }[];
  };
  return { data: data as Record<string, unknown> | null, errors, statements: texts.length };
}

const window = `filter: { from: "${day}00:00:00Z", to: "${day}23:00:00Z" }`;

describe('nodes', () => {
  const node = 'query ($id: ID!) { node(id: $id) { __typename id } }';

  const nodes: [type: string, id: () => string][] = [
    ['Act', () => `act_${act}`],
    ['Batch', () => `batch_${batch}`],
    ['Display', () => `display_${display}`],
    ['Group', () => `group_${group}`],
    ['HolidayCalendar', () => `holidayCalendar_${calendar}`],
    ['MailSubscription', () => `mailSubscription_${mail}`],
    ['Policy', () => `policy_${policy}`],
    ['RoomProblem', () => `roomProblem_${problem}`],
    ['TimetableProfile', () => `timetableProfile_${profile}`],
    ['Tenant', () => `tenant_${tenant.mandatorId}`],
    ['Webhook', () => `webhook_${webhook}`],
    ['Booking', () => `booking_${booking}`],
    ['Series', () => `series_${series}`],
    ['Resource', () => `resource_${tenant.resources[0]!.id}`],
    ['Location', () => `location_${tenant.locationId}`],
    ['Person', () => `person_${tenant.person('User').id}`],
    ['LessonJob', () => 'lessonJob_J'],
    ['Lesson', () => `lesson_${job}_L${tenant.resources[0]!.id}`],
    ['Pin', () => `pin_${pin}`],
    ['CalendarToken', () => `calendarToken_${token}`],
  ];

  test('every type of them is read below', () => {
    const types = Object.values(schema.getTypeMap()).filter(
      (type) => isObjectType(type) && type.getInterfaces().some(({ name }) => name === 'Node'),
    );
    expect(nodes.map(([type]) => type).sort()).toEqual(types.map(({ name }) => name).sort());
  });

  test.each(nodes)('%s is read by its id, which is the same again', async (type, id) => {
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
    ['an unknown act', () => 'act_9000000000'],
    ['an unknown holiday calendar', () => 'holidayCalendar_2000000000'],
    ['an unknown calendar of a room', () => 'mailSubscription_2000000000'],
    ['an unknown problem of a room', () => 'roomProblem_2000000000'],
    ['an unknown webhook', () => 'webhook_2000000000'],
    ['a foreign tenant', () => `tenant_${foreign.mandatorId}`],
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

  test('a lesson and a job are found by either id', async () => {
    const lesson = `lesson_${job}_L${tenant.resources[0]!.id}`;
    const keys = `jobKey: "J", lessonKey: "L${tenant.resources[0]!.id}"`;
    const { data, errors } = await ask(`{ a: lesson(id: "${lesson}") { id } b: lesson(${keys}) { id }
      c: lessonJob(id: "lessonJob_J") { id } d: lessonJob(id: "J") { id } e: lessonJob(jobKey: "J") { id } }`);
    const [ofLesson, ofJob] = [{ id: lesson }, { id: 'lessonJob_J' }];
    expect([errors, data]).toEqual([undefined, { a: ofLesson, b: ofLesson, c: ofJob, d: ofJob, e: ofJob }]);
    for (const query of [
      'lesson',
      'lesson(jobKey: "J")',
      `lesson(id: "x", ${keys})`,
      'lessonJob',
      'lessonJob(id: "J", jobKey: "J")',
    ])
      expect((await ask(`{ ${query} { id } }`)).errors).toMatchObject([
        { message: expect.stringMatching(/^id, jobKey/), extensions: { code: 'BAD_USER_INPUT' } },
      ]);
  });

  test('have the rights of their own queries', async () => {
    const person = `person_${tenant.person('Admin').id}`;
    const refused = (await ask(node, { id: person }, 'user')).errors;
    expect(refused?.[0]?.extensions.code).toBe('FORBIDDEN');
    expect((await ask(node, { id: `booking_${booking}` }, 'sign')).errors?.[0]?.extensions.code).toBe('FORBIDDEN');
    for (const id of [
      `pin_${pin}`,
      `act_${act}`,
      `holidayCalendar_${calendar}`,
      `mailSubscription_${mail}`,
      `roomProblem_${problem}`,
      `webhook_${webhook}`,
    ])
      expect((await ask(node, { id }, 'user')).errors?.[0]?.extensions.code).toBe('FORBIDDEN');
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
      hasNextPage: true,
      hasPreviousPage: false,
      startCursor: edges[0]?.cursor,
      endCursor: edges[2]?.cursor,
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

  test('a page of an edge continues behind its cursor', async () => {
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

  test('others do not see persons', async () => {
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
      const read = (first: number) => ask(`{ ${list}(first: ${first}) { nodes { ${edge} } } }`);
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

  const times = {
    'hours of resources': `openingHours(from: "${day.slice(0, -1)}", to: "${day.slice(0, -1)}") { resourceName weekly { opens } intervals { start } }`,
    'availability of resources': `availability(input: { from: "${day}08:00:00Z", to: "${day}14:00:00Z" }) { resourceName busy { start end } free { start } }`,
  };

  test.each(Object.entries(times))('%s take no more statements for many', async (_name, edge) => {
    const read = (first: number) => ask(`{ resources(first: ${first}) { nodes { name ${edge} } } }`);
    const { statements, errors } = await read(2);
    expect(errors).toBeUndefined();
    const many = await read(50);
    expect([many.errors, many.statements]).toEqual([undefined, statements]);
    const { nodes } = many.data!['resources'] as { nodes: Record<string, { resourceName: string }>[] };
    const name = edge.slice(0, edge.indexOf('('));
    expect(nodes.map((node) => node[name]?.resourceName)).toEqual(rooms);
  });

  const back = {
    'rooms and jobs of lessons':
      'lessons(first: 50) { nodes { lessonKey resource { id name } job { id jobKey batch { id } } } }',
    'rooms and locations of bookings': `bookings(first: 50, ${window}) { nodes { id resource { id } location { id name } } }`,
    'numbers of what rooms have': `resources(first: 50) { totalCount nodes { bookings(first: 1, ${window}) { totalCount } displays(first: 1) { totalCount } } }`,
  };
  test('groups of persons and members of groups take no more statements for many, and are of their own parents', async () => {
    const read = (first: number) =>
      ask(`{ persons(first: ${first}) { nodes { role groups(first: 1) { totalCount nodes { name } pageInfo { hasNextPage } } } }
        groups(first: ${first}) { nodes { name members(first: 1) { totalCount nodes { role } } } } }`);
    const [few, many] = [await read(1), await read(50)];
    expect([few.errors, many.errors, many.statements]).toEqual([undefined, undefined, few.statements]);
    type Read = Record<'persons' | 'groups', { nodes: Tree[] }>;
    const { persons, groups } = many.data as Read;
    const isUser = ({ role }: Tree) => role === 'User';
    const staff = { totalCount: 1, nodes: [{ name: 'Staff' }], pageInfo: { hasNextPage: false } };
    expect(persons.nodes.filter((one) => !isUser(one)).map((one) => one['groups'])).toEqual(
      Array(persons.nodes.length - 1).fill(staff),
    );
    expect(persons.nodes.filter(isUser)).toMatchObject([
      { groups: { totalCount: 2, pageInfo: { hasNextPage: true } } },
    ]);
    expect(groups.nodes).toEqual([
      { name: 'Staff', members: { totalCount: persons.nodes.length, nodes: [{ role: persons.nodes[0]?.['role'] }] } },
      { name: 'Halls', members: { totalCount: 1, nodes: [{ role: 'User' }] } },
    ]);
  });

  test('who is no Admin reads its own groups, and no members', async () => {
    const own = await ask('{ me { groups { totalCount nodes { name members { nodes { name } } } } } }', {}, 'user');
    expect(own.errors?.[0]?.extensions.code).toBe('FORBIDDEN');
    const names = await ask('{ me { groups { totalCount nodes { name } } } }', {}, 'user');
    expect(names.data).toEqual({ me: { groups: { totalCount: 2, nodes: [{ name: 'Staff' }, { name: 'Halls' }] } } });
  });

  test.each(Object.entries(back))('%s take no more statements for many', async (_name, list) => {
    const few = await ask(`{ ${list.replace('first: 50', 'first: 2')} }`);
    const many = await ask(`{ ${list} }`);
    expect([few.errors, many.errors, many.statements]).toEqual([undefined, undefined, few.statements]);
  });

  test('lessons lead to their room, their job and its batch, bookings to their location', async () => {
    const { data } = await ask(
      `{ lessons(first: 1) { nodes { lessonKey resourceId resource { id } job { id jobKey batchId batch { id } } } }
        bookings(first: 1, ${window}) { nodes { locationId location { id resources(first: 1) { nodes { name } } } } } }`,
    );
    const [first] = tenant.resources;
    const place = `location_${tenant.locationId}`;
    expect(data).toEqual({
      lessons: {
        nodes: [
          {
            lessonKey: `L${first!.id}`,
            resourceId: `resource_${first!.id}`,
            resource: { id: `resource_${first!.id}` },
            job: { id: 'lessonJob_J', jobKey: 'J', batchId: `batch_${batch}`, batch: { id: `batch_${batch}` } },
          },
        ],
      },
      bookings: {
        nodes: [{ locationId: place, location: { id: place, resources: { nodes: [{ name: 'R00' }] } } }],
      },
    });
  });

  test('short lists are counted, with the filter and on every page', async () => {
    const { data, errors } = await ask(
      `{ resources(first: 3, filter: { name: "R01" }) { totalCount } all: resources(last: 2) { totalCount nodes { name } }
        persons(first: 1) { totalCount } groups { totalCount } policies { totalCount } displays { totalCount }
        holidayCalendars { totalCount } webhooks { totalCount } bookings(first: 1, ${window}) { totalCount }
        location(id: ${tenant.locationId}) { resources(first: 1) { totalCount } }
        resource(id: ${tenant.resources[0]!.id}) { displays { totalCount }
          bookings(first: 1, ${window}) { totalCount }
          booked: bookings(filter: { from: "${day}00:00:00Z", to: "${day}23:00:00Z", kind: [Booking] }) { totalCount } } }`,
    );
    expect([errors, data]).toEqual([
      undefined,
      {
        resources: { totalCount: 1 },
        all: { totalCount: rooms.length, nodes: [{ name: 'R48' }, { name: 'R49' }] },
        persons: { totalCount: expect.any(Number) },
        groups: { totalCount: 2 },
        policies: { totalCount: 1 },
        displays: { totalCount: 1 },
        holidayCalendars: { totalCount: 1 },
        bookings: { totalCount: null },
        webhooks: { totalCount: 1 },
        location: { resources: { totalCount: rooms.length } },
        resource: {
          displays: { totalCount: 1 },
          bookings: { totalCount: perRoom },
          booked: { totalCount: perRoom - 1 },
        },
      },
    ]);
  });

  test('hours and availability are those of the lists', async () => {
    const id = tenant.resources[4]!.id;
    const when = `from: "${day}08:00:00Z", to: "${day}14:00:00Z"`;
    const spans = 'resourceName busy { start end } free { start end }';
    const hours = 'resourceName intervals { start end source }';
    const { data, errors } = await ask(
      `query ($id: ID!, $location: ID!) {
        availability(input: { ${when}, resourceIds: [$id] }) { ${spans} }
        openingHours(locationId: $location, from: "2090-01-02") { resources { ${hours} } }
        resource(id: $id) { availability(input: { ${when} }) { ${spans} } openingHours(from: "2090-01-02") { ${hours} } }
      }`,
      { id: String(id), location: String(tenant.locationId) },
    );
    expect(errors).toBeUndefined();
    const found = data as {
      availability: object[];
      openingHours: { resources: object[] };
      resource: { availability: object; openingHours: object };
    };
    expect(found.resource.availability).toEqual(found.availability[0]);
    expect(found.resource.openingHours).toEqual(found.openingHours.resources[4]);
    const retired = `{ resource(id: ${id}) { availability(input: { ${when} }) { resourceName } openingHours { resourceName } } }`;
    await sql`update resource set active = false where id = ${id}`.execute(service.context.db);
    const now = await ask(retired);
    await sql`update resource set active = true where id = ${id}`.execute(service.context.db);
    expect([now.errors, now.data]).toEqual([
      undefined,
      { resource: { availability: null, openingHours: { resourceName: 'R04' } } },
    ]);
  });

  test('jobs and lessons of batches take no more statements for many, and are of their own batch', async () => {
    const read = (first: number) =>
      ask(
        `{ batches(first: ${first}) { nodes { id jobs { nodes { jobKey batchId } } lessons(first: 3) { nodes { jobKey } } } } }`,
      );
    const { statements } = await read(1);
    await sql`
      with more as (
        insert into batch (mandator_id, id, operation, job_count, request_id, created_by)
        select ${tenant.mandatorId}, gen_random_uuid(), 'Create', 1, 'test', ${tenant.person('User').id}
        from generate_series(1, 5) returning id
      )
      insert into lesson_job (mandator_id, job_id, batch_id, created_by)
      select ${tenant.mandatorId}, 'of ' || id, id, ${tenant.person('User').id} from more`.execute(service.context.db);
    const many = await read(6);
    expect([many.errors, many.statements]).toEqual([undefined, statements]);
    const { nodes } = many.data!['batches'] as {
      nodes: { id: string; jobs: { nodes: { batchId: string }[] }; lessons: { nodes: object[] } }[];
    };
    expect(nodes.map(({ jobs }) => jobs.nodes.map(({ batchId }) => batchId))).toEqual(nodes.map(({ id }) => [id]));
    expect(nodes.map(({ lessons }) => lessons.nodes.length)).toEqual([0, 0, 0, 0, 0, 3]);
  });

  test('each record has its own related records', async () => {
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
  type Objects = { [name: string]: GraphQLObjectType };
  const { Query, ...types } = schema.getTypeMap() as Objects;
  const isRecord = (type: GraphQLObjectType) => 'id' in type.getFields();
  /** All members of a record that its page can show: values, value objects with theirs, and the ids of records one edge away. */
  const wholeOf = (type: GraphQLObjectType): string =>
    Object.values(type.getFields())
      .flatMap(({ name, type: given }) => {
        const member = getNamedType(given);
        if (!isObjectType(member)) return [name];
        if (member.name.endsWith('Connection') || ownPrice.has(`${type.name}.${name}`)) return [];
        return [`${name} { ${isRecord(member) ? 'id' : wholeOf(member)} }`];
      })
      .join(' ');
  /** Fields that are computed or read for one record at a time, and are expensive for a page of records. */
  const ownPrice = new Set([
    ...['Resource.availability', 'Resource.openingHours', 'Batch.difference'],
    ...['DeviceDisplay.board', 'Display.snapshot'],
  ]);
  /** The lists of the tenant, with an argument where one is required. */
  const lists = Object.values(Query!.getFields())
    .filter(({ type }) => getNamedType(type).name.endsWith('Connection'))
    .map(({ name, type, args }) => {
      const node = types[getNamedType(type).name.replace(/Connection$/, '')] as GraphQLObjectType;
      const required = args.filter(({ type }) => String(type).endsWith('!')).map(({ name }) => name);
      return { name, node, required };
    });

  test.each(lists)('a page of 200 $name with all members of theirs is allowed', async ({ name, node, required }) => {
    const given = required.map((name) => (name === 'filter' ? window : `${name}: "${tenant.resources[0]!.id}"`));
    const { data, errors } = await ask(
      `{ ${name}(${['first: 200', ...given].join(', ')}) { nodes { ${wholeOf(node)} } } }`,
    );
    expect([errors, data]).toEqual([undefined, { [name]: { nodes: expect.any(Array) } }]);
    if (name === 'bookings') expect(data).toMatchObject({ bookings: { nodes: { length: 200 } } });
  });

  test.each([
    ['displays', 'resources { resourceId }'],
    ['roomProblems', 'doneBy { displayName }'],
  ])('a frame of the stream %s costs as a page of 200 does', async (list, member) => {
    const members = Array.from({ length: 60 }, (_, index) => `a${index}: ${member}`).join(' ');
    for (const operation of [
      `{ ${list}(first: 200) { nodes { ${members} } } }`,
      `subscription { ${list} { ${members} } }`,
    ])
      expect((await ask(operation)).errors).toMatchObject([{ extensions: { code: 'LIMIT' } }]);
  });

  test('pages of 200 within pages of 200 are refused', async () => {
    const within = `bookings(first: 200, ${window}) { nodes { id } }`;
    for (const list of ['resources', 'persons']) {
      const { data, errors } = await ask(`{ ${list}(first: 200) { nodes { ${within} } } }`);
      expect([data, errors?.[0]?.extensions.code]).toEqual([undefined, 'LIMIT']);
    }
  });
});
