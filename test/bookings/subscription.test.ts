import { randomUUID } from 'node:crypto';
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, jest, test } from '@jest/globals';
import { sql } from 'kysely';
import pg from 'pg';
import { watchBookings } from '../../src/bookings/watch.ts';
import { cursorAt, findEnd } from '../../src/changes/service.ts';
import { forgetOldChanges } from '../../src/changes/upkeep.ts';
import type { Viewer } from '../../src/context.ts';
import { ahead } from '../_util/ahead.ts';
import { insertBookings } from '../_util/bookings-table.ts';
import { makeTenant } from '../_util/factories.ts';
import { type Answer, type GraphqlService, startGraphql } from '../_util/graphql.ts';
import { cancelWaiting, hold, releaseAll } from '../_util/hold.ts';
import { cloneDatabase } from '../_util/postgres.ts';
import { until } from '../_util/process.ts';

type Tenant = Awaited<ReturnType<typeof makeTenant>>;
type Booking = { id: string; resourceId: string; subject: string | null; status: string };
type Frame = { cursor: string; serverTime: string; bookings: Booking[]; gone?: string[] };
type Transport = 'sse' | 'ws';

let database: Awaited<ReturnType<typeof cloneDatabase>>;
let service: GraphqlService;
let tenant: Tenant;
let stranger: Tenant;
/** Hours that are taken in the room of the stranger, which all tests share. */
let foreignHours = 0;
let viewer: Viewer;

beforeAll(async () => {
  database = await cloneDatabase();
  service = await startGraphql(database.url);
  stranger = await makeTenant(service.context.db, { code: 'stranger' });
});
beforeEach(async () => {
  tenant = await makeTenant(service.context.db, { code: `school-${randomUUID()}` });
  viewer = service.admit('user', tenant);
  service.admit('admin', tenant, { role: 'Admin' });
});
/** What a test has opened and may not have closed. */
const open: (() => void)[] = [];
afterEach(() => {
  for (const leave of open.splice(0)) leave();
  return until(() => service.graphql.streamCount() === 0);
});
afterAll(async () => {
  await releaseAll();
  await service.stop();
  await database.drop();
});

const query = `subscription ($filter: BookingFilter!, $after: String) {
  bookings(filter: $filter, after: $after) { cursor serverTime bookings { id resourceId subject status } }
}`;

/** The same of a timetable. */
const ofTimetable = query.replace('BookingFilter!', 'TimetableFilter').replace('  bookings(', '  bookings: timetable(');

/** A real client's stream with its frames. */
function watch(transport: Transport, filter: object, after?: string, token = 'user', document = query) {
  const client = transport === 'sse' ? service.sse(token) : service.ws(token);
  open.push(() => client.dispose());
  const frames: Frame[] = [];
  const errors: NonNullable<Answer<unknown>['errors']> = [];
  client.subscribe<{ bookings: Frame }>(
    { query: document, variables: { filter, after } },
    {
      next(result) {
        const { data, errors: failed } = result as unknown as Answer<{ bookings: Frame }>;
        if (data) frames.push(data.bookings);
        errors.push(...(failed ?? []));
      },
      error: () => {},
      complete: () => {},
    },
  );
  return { frames, errors, leave: () => client.dispose() };
}

type Stream = ReturnType<typeof watch>;

/** The ids of the bookings of a stream, frame by frame. */
const told = ({ frames }: Stream) => frames.map(({ bookings }) => bookings.map(({ id }) => Number(id)));
const greeted = async (...streams: Stream[]) => {
  await until(() => streams.every(({ frames }) => frames.length === 1));
};

const room = (index = 0, of = tenant) => of.resources[index]!.id;
const insert = (options: Parameters<typeof insertBookings>[3] & { in?: number } = {}) =>
  insertBookings(service.context.db, tenant.mandatorId, options.in ?? room(), options);
/** `changes` as they stand in an UPDATE. */
const update = (id: number | undefined, changes: string) =>
  sql`update booking set ${sql.raw(changes)}, version = version + 1
      where mandator_id = ${tenant.mandatorId} and id = ${id}`.execute(service.context.db);

const forever = new AbortController().signal;

test('reads that fail because the database does not answer are repeated until the outage is over', async () => {
  const streams = [watch('sse', {}), watch('ws', {})];
  await greeted(...streams);
  const [id] = await insert({ first: 0 });
  await until(() => streams.every(({ frames }) => frames.length === 2));
  const { db } = service.context;
  const release = await hold(db, (trx) => sql`lock table change in access exclusive mode`.execute(trx));
  await sql`select pg_notify('roomgate', 'booking:' || ${tenant.mandatorId}::int || ':' || ${room()}::int)`.execute(db);
  await cancelWaiting(db, 5);
  await release();
  await update(id, `status = 'Cancelled'`);
  await until(() => streams.every(({ frames }) => frames.length === 3));
  for (const stream of streams) {
    expect(told(stream)).toEqual([[], [id], [id]]);
    expect(stream.errors).toEqual([]);
  }
});

describe.each<Transport>(['sse', 'ws'])('bookings over %s', (transport) => {
  test('begins with the present cursor and tells each change', async () => {
    await insert({ first: 0 });
    const asked = Date.now();
    const stream = watch(transport, {});
    await greeted(stream);
    expect(stream.frames[0]).toMatchObject({ cursor: expect.any(String), bookings: [] });
    const serverTime = Date.parse(stream.frames[0]!.serverTime);
    expect(serverTime).toBeGreaterThanOrEqual(asked - 1_000);
    expect(serverTime).toBeLessThanOrEqual(Date.now() + 1_000);
    const [id] = await insert({ first: 1 });
    await until(() => stream.frames.length === 2);
    await update(id, `status = 'Cancelled'`);
    await until(() => stream.frames.length === 3);
    expect(told(stream)).toEqual([[], [id], [id]]);
    expect(stream.frames[2]?.bookings).toEqual([
      { id: String(id), resourceId: String(room()), subject: 'Sitzung', status: 'Cancelled' },
    ]);
  });

  test('continues behind a cursor: what happened meanwhile comes at once, each booking once and as it is now', async () => {
    const before = watch(transport, {});
    await greeted(before);
    const [seen] = await insert({ first: 0 });
    await until(() => before.frames.length === 2);
    before.leave();
    const [changed, made] = [seen, (await insert({ first: 1 }))[0]];
    await update(changed, `subject = 'anders'`);
    await update(changed, `subject = 'ganz anders'`);
    const stream = watch(transport, {}, before.frames[1]?.cursor);
    await greeted(stream);
    expect(told(stream)).toEqual([[made, changed]]);
    expect(stream.frames[0]?.bookings[1]?.subject).toBe('ganz anders');
    const again = watch(transport, {}, stream.frames[0]?.cursor);
    await greeted(again);
    expect(told(again)).toEqual([[]]);
  });

  test('tells a new booking that fits the filter, and a changed one of its room whatever became of it', async () => {
    const window = { from: ahead('2027-03-01T00:00:00Z'), to: ahead('2027-03-02T00:00:00Z'), status: 'Confirmed' };
    const stream = watch(transport, { ...window, resourceId: String(room()), kind: 'Booking' });
    await greeted(stream);
    const [fits] = await insert({ first: 2 });
    await until(() => stream.frames.length === 2);
    const [, elsewhere, block] = [
      await insert({ first: 30 }),
      (await insert({ first: 3, in: room(1) }))[0],
      (await insert({ first: 4, kind: 'Block' }))[0],
    ];
    await update(block, `subject = 'anders'`);
    await update(fits, `status = 'Cancelled'`);
    await until(() => stream.frames.length === 3);
    // The booking moves to another time, to another room, and back from there.
    await update(fits, ahead(`occupied = tstzrange('2027-05-01T08:00Z', '2027-05-01T09:00Z')`));
    await until(() => stream.frames.length === 4);
    await update(fits, `resource_id = ${room(1)}`);
    await until(() => stream.frames.length === 5);
    await update(fits, `subject = 'nicht mehr hier'`);
    await update(elsewhere, `resource_id = ${room()}`);
    await until(() => stream.frames.length === 6);
    expect(told(stream)).toEqual([[], [fits], [fits], [fits], [fits], [elsewhere]]);
    expect(stream.frames[4]?.bookings[0]?.resourceId).toBe(String(room(1)));
  });

  test('that words ask for are told when they are new and have them, and when they change', async () => {
    const [asked, other] = [watch(transport, { search: 'sitz' }), watch(transport, { search: 'konferenz' })];
    await greeted(asked, other);
    const [id] = await insert();
    await until(() => asked.frames.length === 2);
    await update(id, `subject = 'anders'`);
    await until(() => asked.frames.length === 3 && other.frames.length === 2);
    expect([told(asked), told(other)]).toEqual([
      [[], [id], [id]],
      [[], [id]],
    ]);
  });

  test('to decide are new requests about which the viewer may decide, and all bookings that change', async () => {
    const { db } = service.context;
    const { mandatorId } = tenant;
    const { rows } = await sql<{ id: number }>`
      insert into person_group (mandator_id, name) values (${mandatorId}, 'Deciders') returning id`.execute(db);
    const deciders = rows[0]!.id;
    await sql`
      with policy as (
        insert into policy (mandator_id, name, may_decide) values (${mandatorId}, 'Hall', ${[deciders]}) returning id)
      update resource set policy_id = policy.id from policy where resource.id = ${room()}`.execute(db);
    service.admit('decider', tenant, { groupIds: [deciders] });
    const [ofDecider, ofAdmin, ofUser] = ['decider', 'admin', 'user'].map((token) =>
      watch(transport, { toDecide: true }, undefined, token),
    ) as [Stream, Stream, Stream];
    await greeted(ofDecider, ofAdmin, ofUser);
    const [plain] = await insert();
    const [request] = await insert({ first: 1, isRequested: true });
    const [elsewhere] = await insert({ in: room(1), isRequested: true });
    const told = ({ frames }: Stream) => frames.flatMap(({ bookings }) => bookings.map(({ id }) => Number(id)));
    await until(() => told(ofDecider).includes(request!) && told(ofAdmin).includes(elsewhere!));
    await update(plain, `subject = 'anders'`);
    await until(() => [ofDecider, ofAdmin, ofUser].every((stream) => told(stream).includes(plain!)));
    expect(told(ofDecider)).toEqual([request, plain]);
    expect(told(ofAdmin)).toEqual([request, elsewhere, plain]);
    expect(told(ofUser)).toEqual([plain]);
  });

  test('of a timetable are new ones that belong there, and all that change', async () => {
    const mine = watch(transport, {}, undefined, 'user', ofTimetable);
    const ofRoom = watch(transport, { resourceId: String(room(1)) }, undefined, 'user', ofTimetable);
    const ofClass = watch(transport, { class: '3a' }, undefined, 'user', ofTimetable);
    await greeted(mine, ofRoom, ofClass);
    const [elsewhere] = await insert();
    const [here] = await insert({ in: room(1) });
    await until(() => ofRoom.frames.length === 2);
    // Whoever is told of this change has read that both were new.
    await update(here, `subject = 'anders'`);
    await until(() => ofRoom.frames.length === 3 && [mine, ofClass].every(({ frames }) => frames.length === 2));
    await update(elsewhere, `organizer_id = ${tenant.person('User').id}`);
    await until(() => [mine, ofClass].every(({ frames }) => frames.length === 3));
    expect([mine, ofRoom, ofClass].map(told)).toEqual([
      [[], [here], [elsewhere]],
      [[], [here], [here]],
      [[], [here], [elsewhere]],
    ]);
  });

  test('of a location are those of its rooms', async () => {
    const { db } = service.context;
    const ofLocation = { mandator_id: tenant.mandatorId, name: 'Annex', time_zone: 'Europe/Berlin' };
    const { id: annex } = await db.insertInto('location').values(ofLocation).returning('id').executeTakeFirstOrThrow();
    const stream = watch(transport, { locationId: String(annex) });
    const other = watch(transport, { locationId: String(tenant.locationId) });
    await greeted(stream, other);
    const { id: distant } = await db
      .insertInto('resource')
      .values({ mandator_id: tenant.mandatorId, location_id: annex, name: 'A1' })
      .returning('id')
      .executeTakeFirstOrThrow();
    const [here] = await insert({ first: 0 });
    await until(() => other.frames.length === 2);
    // Whoever is told of it has read that the first one was new.
    const [there] = await insert({ first: 1, in: distant });
    await until(() => stream.frames.length === 2);
    await update(here, `resource_id = ${distant}`);
    await until(() => stream.frames.length === 3 && other.frames.length === 3);
    expect([told(stream), told(other)]).toEqual([
      [[], [there], [here]],
      [[], [here], [here]],
    ]);
  });

  test('of a room of another tenant are none, as of a room that nobody has', async () => {
    const all = watch(transport, {});
    const foreign = watch(transport, { resourceId: String(room(0, stranger)) });
    const unknown = watch(transport, { resourceId: '2000000000' });
    await greeted(all, foreign, unknown);
    await insertBookings(service.context.db, stranger.mandatorId, room(0, stranger), { first: foreignHours++ });
    await insert();
    await until(() => all.frames.length === 2);
    expect([foreign, unknown].map(({ frames, errors }) => [frames.length, errors])).toEqual([
      [1, []],
      [1, []],
    ]);
  });

  test('that are private say no more than that the room is taken', async () => {
    const [ofUser, ofAdmin] = [watch(transport, {}), watch(transport, {}, undefined, 'admin')];
    await greeted(ofUser, ofAdmin);
    const [id] = await insert();
    await until(() => ofUser.frames.length === 2 && ofAdmin.frames.length === 2);
    await update(id, `is_private = true, subject = 'Kündigung'`);
    await until(() => ofUser.frames.length === 3 && ofAdmin.frames.length === 3);
    const subjects = [ofUser, ofAdmin].map(({ frames }) => frames[2]?.bookings[0]?.subject);
    expect(subjects).toEqual(['Belegt', 'Kündigung']);
  });

  test('that are made private are gone for who follows their series, like all private ones of others', async () => {
    const { db } = service.context;
    const { rows } = await sql<{ id: string }>`
      insert into booking_series (mandator_id, recurrence_rule) values (${tenant.mandatorId}, 'FREQ=DAILY;COUNT=2')
      returning id`.execute(db);
    const seriesId = String(rows[0]?.id);
    const [id, other] = await insert({ count: 2 });
    await update(id, `series_id = ${seriesId}`);
    const withGone = query.replace('serverTime', 'serverTime gone');
    const watchers = ['user', 'admin'].map((who) => watch(transport, { seriesId }, undefined, who, withGone));
    await greeted(...watchers);
    await update(id, `is_private = true, subject = 'Kündigung'`);
    await until(() => watchers.every(({ frames }) => frames.length === 2));
    await update(other, `is_private = true`);
    await until(() => watchers[0]?.frames.length === 3);
    await update(id, `is_private = false`);
    await until(() => watchers[0]?.frames.length === 4 && watchers[1]?.frames.length === 3);
    const gone = watchers.map(({ frames }) => frames.map((frame) => frame.gone?.map(Number)));
    expect([watchers.map(told), gone]).toEqual([
      [
        [[], [], [], [id]],
        [[], [id], [id]],
      ],
      [
        [[], [id], [other], []],
        [[], [], []],
      ],
    ]);
  });

  test('that come 250 at a time come in frames of at most 100, each once', async () => {
    const stream = watch(transport, {});
    await greeted(stream);
    const ids = await insert({ count: 250 });
    await until(() => told(stream).flat().length >= 250);
    expect(told(stream).map(({ length }) => length)).toEqual([0, 100, 100, 50]);
    expect(
      told(stream)
        .flat()
        .sort((one, other) => one - other),
    ).toEqual(ids);
  });

  test.each([
    ['FORBIDDEN for a display', async () => undefined, 'display', 'FORBIDDEN'],
    ['BAD_USER_INPUT for what is no cursor', async () => 'bm93', 'user', 'BAD_USER_INPUT'],
    [
      'CONFLICT for a cursor whose changes are forgotten',
      async () => {
        const { db } = service.context;
        const start = await findEnd(db, tenant.mandatorId);
        await insert();
        await findEnd(db, tenant.mandatorId);
        await sql`update change set at = now() - interval '31 days' where mandator_id = ${tenant.mandatorId}`.execute(
          db,
        );
        await forgetOldChanges(db, 30);
        return cursorAt(start);
      },
      'user',
      'CONFLICT',
    ],
  ])('is %s', async (_name, after, token, code) => {
    service.admit('display', tenant, { role: 'Display' });
    const stream = watch(transport, {}, await after(), token);
    await until(() => stream.errors.length > 0);
    expect(stream.errors[0]?.extensions['code']).toBe(code);
    expect(stream.frames).toEqual([]);
  });
});

describe('watchBookings', () => {
  async function* changesOf() {
    const changes = await service.context.notifications.subscribe(`booking:${tenant.mandatorId}`);
    open.push(changes.close);
    yield { keys: new Set<string>(), all: true };
    for (let change = await changes.next(); change; change = await changes.next()) yield change;
  }

  test('gives an empty frame at each heartbeat, also while changes of other rooms rush by', async () => {
    const filter = { resourceId: [room(1)] };
    const frames = watchBookings(service.context.db, viewer, { filter }, changesOf(), forever, 100);
    const begun = performance.now();
    await frames.next();
    let isOver = false;
    const rushing = (async () => {
      for (let first = 0; !isOver; first++) await insert({ first });
    })();
    for (let beat = 1; beat <= 3; beat++) expect((await frames.next()).value?.bookings).toEqual([]);
    expect(performance.now() - begun).toBeGreaterThan(250);
    isOver = true;
    await rushing;
    for (const close of open.splice(0)) close();
    await frames.return(undefined);
  });

  test('reads a change once for all streams that wake by it', async () => {
    const { db } = service.context;
    const statements = jest.spyOn(pg.Client.prototype, 'query');
    const countOf = (text: string) =>
      statements.mock.calls.filter(([query]) => {
        const { text: own } = query as unknown as { text?: string };
        return (own ?? String(query)).includes(text);
      }).length;
    const change = { keys: new Set<string>(), all: true };
    const { promise: changed, resolve: wake } = Promise.withResolvers<void>();
    let waiting = 0;
    async function* twice() {
      yield change;
      waiting++;
      yield await changed.then(() => change);
    }
    const streams = Array.from({ length: 50 }, (_, index) =>
      watchBookings(db, viewer, { filter: index % 2 ? {} : { resourceId: [room()] } }, twice(), forever),
    );
    await Promise.all(streams.map((stream) => stream.next()));
    const next = Promise.all(streams.map((stream) => stream.next()));
    await until(() => waiting === streams.length);
    statements.mockClear();
    const [id] = await insert();
    wake();
    for (const { value } of await next) expect(value?.bookings).toMatchObject([{ id }]);
    // The feed, before and after it is placed.
    expect([countOf('order by position'), countOf('"mandatorUid"')]).toEqual([2, 1]);
    statements.mockRestore();
    await Promise.all(streams.map((stream) => stream.return(undefined)));
  });
});
