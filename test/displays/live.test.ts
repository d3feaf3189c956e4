/** Rooms as they change: one read for all watchers, frames at once, and a clear sign of what is unknown. */
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, jest, test } from '@jest/globals';
import { sql } from 'kysely';
import type { DisplayGrant, Viewer } from '../../src/context.ts';
import { openBoard } from '../../src/displays/board.ts';
import type { DisplayHeartbeat, RoomSnapshot } from '../../src/displays/display.ts';
import { type Hub, openHub } from '../../src/displays/hub.ts';
import { readLocation, watchLocation, watchRoom } from '../../src/displays/live.ts';
import { keepLocalDays } from '../../src/displays/local-days.ts';
import { readPlans } from '../../src/displays/plan.ts';
import { openRoom } from '../../src/displays/room.ts';
import { readBoard } from '../../src/displays/sources.ts';
import { type Latest, nextOf } from '../../src/flow/latest.ts';
import { makeTenant } from '../_util/factories.ts';
import { type GraphqlService, heardOfAll, startGraphql } from '../_util/graphql.ts';
import { cloneDatabase } from '../_util/postgres.ts';
import { until } from '../_util/process.ts';

type Tenant = Awaited<ReturnType<typeof makeTenant>>;
type RoomFrame = RoomSnapshot | DisplayHeartbeat;

let database: Awaited<ReturnType<typeof cloneDatabase>>;
let service: GraphqlService;
let tenant: Tenant;
let viewer: Viewer;
let hub: Hub;
let tenants = 0;

const second = 1_000;
/** As it is, but for waiting. */
const pace = {
  heartbeatMs: 60 * second,
  keepMs: 60 * second,
  midnightSpreadMs: second,
  retries: { firstMs: 20, longestMs: 20 },
};

beforeAll(async () => {
  database = await cloneDatabase();
  service = await startGraphql(database.url);
});
beforeEach(async () => {
  tenant = await makeTenant(service.context.db, { code: `school-${++tenants}`, rooms: ['A', 'B', 'C'] });
  viewer = service.admit('user', tenant);
  hub = openHub(service.context, pace);
  await heardOfAll(service.context);
});
afterEach(() => hub.close());
afterAll(async () => {
  await service.stop();
  await database.drop();
});

const room = (index = 0) => tenant.resources[index]!.id;
const run = (statement: ReturnType<typeof sql>) => statement.execute(service.context.db);

/** A booking from so many seconds from now on, for an hour. */
async function book(index = 0, options: { in?: number; isPrivate?: boolean } = {}): Promise<number> {
  const { rows } = await sql<{ id: number }>`
    insert into booking (mandator_id, resource_id, kind, status, origin, subject, is_private, occupied)
    select ${tenant.mandatorId}, ${room(index)}, 'Booking', 'Confirmed', 'Api', 'Sitzung', ${options.isPrivate ?? false},
      tstzrange(start, start + interval '1 hour')
    from (select now() + make_interval(secs => ${options.in ?? -1}) as start) as place returning id`.execute(
    service.context.db,
  );
  return rows[0]!.id;
}
const update = (id: number, changes: string) =>
  run(sql`update booking set ${sql.raw(changes)}, version = version + 1 where id = ${id}`);

/** Takes all frames of a source as they come. */
function collect(source: Latest<RoomFrame>) {
  const frames: RoomFrame[] = [];
  const reading = (async () => {
    for (let frame = await nextOf(source); frame; frame = await nextOf(source)) frames.push(frame);
  })();
  const snapshots = () => frames.filter((frame) => frame.kind === 'snapshot');
  const heartbeats = () => frames.filter((frame) => frame.kind === 'heartbeat');
  return {
    frames,
    snapshots,
    heartbeats,
    reading,
    close: () => source.close(),
    last: () => snapshots().at(-1) as RoomSnapshot,
  };
}
const watch = async (index = 0, after?: string, as = viewer) =>
  collect(await watchRoom(service.context, as, room(index), after, hub));
const watchBoard = async (as = viewer) => collect(await watchLocation(service.context, as, tenant.locationId, hub));

function asDisplay(grant: Partial<DisplayGrant>): Viewer {
  const display: DisplayGrant = {
    displayId: 1,
    mayBook: false,
    privacy: 'Title',
    resourceIds: [],
    ...grant,
  };
  return service.admit('sign', tenant, { role: 'Display', display });
}

describe('a room that is watched', () => {
  test('is shown at once, and again after whatever changes it', async () => {
    const stream = await watch();
    await until(() => stream.frames.length === 1);
    expect(stream.last()).toMatchObject({ status: 'FREE', schedule: [], resource: { name: 'A' } });
    let id = 0;
    const steps: [string, () => Promise<unknown>, (now: RoomSnapshot) => unknown, unknown][] = [
      ['a booking', async () => (id = await book()), ({ status }) => status, 'BUSY'],
      ['its subject', () => update(id, `subject = 'anders'`), (now) => now.schedule[0]?.subject, 'anders'],
      ['its leaving', () => update(id, `resource_id = ${room(1)}`), ({ status }) => status, 'FREE'],
      ['its coming', () => update(id, `resource_id = ${room()}`), ({ status }) => status, 'BUSY'],
      ['its end', () => update(id, `status = 'Cancelled'`), ({ status }) => status, 'FREE'],
      [
        'the name of the room',
        () => run(sql`update resource set name = 'Aula' where id = ${room()}`),
        (now) => now.resource.name,
        'Aula',
      ],
      [
        'the name of the location',
        () => run(sql`update location set name = 'Annex' where id = ${tenant.locationId}`),
        (now) => now.resource.locationName,
        'Annex',
      ],
      [
        'opening hours',
        () =>
          run(sql`insert into opening_exception (mandator_id, location_id, from_date, to_date, closed)
            values (${tenant.mandatorId}, ${tenant.locationId}, '2000-01-01', '2999-01-01', true)`),
        // An exception counts where there are rules.
        (now) => now.open.length,
        1,
      ],
      [
        'opening hours with a rule',
        () =>
          run(sql`insert into opening_rule (mandator_id, location_id, weekdays, opens, closes)
            values (${tenant.mandatorId}, ${tenant.locationId}, '{1,2,3,4,5,6,7}', '08:00', '18:00')`),
        ({ status }) => status,
        'CLOSED',
      ],
      [
        'its retirement',
        () => run(sql`update resource set active = false where id = ${room()}`),
        ({ status }) => status,
        'OUT_OF_SERVICE',
      ],
    ];
    for (const [what, change, read, expected] of steps) {
      await change();
      await until(() => read(stream.last()) === expected).catch(() => {});
      expect([what, read(stream.last())]).toEqual([what, expected]);
    }
  });

  test('is read once for each change, and is the same object for all who see the same', async () => {
    const displays = [asDisplay({ resourceIds: [room()] }), asDisplay({ privacy: 'BusyOnly', resourceIds: [room()] })];
    const streams = await Promise.all(
      Array.from({ length: 50 }, (_, index) => watch(0, undefined, [viewer, ...displays][index % 3])),
    );
    await until(() => streams.every(({ frames }) => frames.length === 1));
    expect(hub.figures).toEqual({ statements: 1, roomsRead: 1, watched: 1, kept: 0 });
    const id = await book();
    await until(() => streams.every(({ frames }) => frames.length === 2));
    expect(hub.figures).toMatchObject({ statements: 2, roomsRead: 2 });
    const shown = new Set(streams.map(({ frames }) => frames[1] as RoomSnapshot));
    expect([...shown].map(({ schedule }) => schedule[0]?.subject)).toEqual(['Sitzung', null]);
    await update(id, `description = 'not shown'`);
    await until(() => hub.figures.statements === 3);
    await book(1);
    const other = await watch(1);
    await until(() => other.frames.length === 1);
    // The version of the booking is shown, and grows.
    await until(() => streams.every(({ frames }) => frames.length === 3));
  });

  test('that changes while a read runs is read once more, with all that have', async () => {
    const streams = [await watch(0), await watch(1), await watch(2)];
    const before = hub.figures;
    for (let round = 0; round < 20; round++)
      await Promise.all([0, 1, 2].map((index) => book(index, { in: 4_000 + round * 3_600 })));
    await until(() => streams.every((stream) => (stream.last()?.schedule.length ?? 0) >= 15));
    const { statements, roomsRead } = hub.figures;
    expect(roomsRead - before.roomsRead).toBeLessThanOrEqual(60);
    expect(statements - before.statements).toBeLessThanOrEqual(60);
  });

  test('gives a slow reader the latest alone', async () => {
    const source = await watchRoom(service.context, viewer, room(), undefined, hub);
    const quick = await watch();
    const [first] = [(await nextOf(source)) as RoomSnapshot];
    const id = await book();
    await until(() => quick.last()?.status === 'BUSY');
    await update(id, `subject = 'anders'`);
    await until(() => quick.last().schedule[0]?.subject === 'anders');
    const next = (await nextOf(source)) as RoomSnapshot;
    expect([first.schedule.length, next.schedule[0]?.subject]).toEqual([0, 'anders']);
    // What is as it was for this reader is no news.
    await update(id, `status = 'Cancelled'`);
    await until(() => quick.last().status === 'FREE');
    await run(sql`update booking set status = 'Confirmed', version = version - 1 where id = ${id}`);
    await until(() => quick.last().status === 'BUSY');
    let isNews = false;
    void nextOf(source).then(() => (isNews = true));
    await until(() => quick.snapshots().length >= 5);
    expect(isNews).toBe(false);
    source.close();
  });

  test('greets who has its present cursor with a heartbeat, and everybody else with a snapshot', async () => {
    const stream = await watch();
    await until(() => stream.frames.length === 1);
    const { cursor } = stream.last();
    const [again, behind] = [await watch(0, cursor), await watch(0, 'another')];
    await until(() => again.frames.length === 1 && behind.frames.length === 1);
    expect([again.frames[0]?.kind, again.frames[0]?.cursor]).toEqual(['heartbeat', cursor]);
    expect(behind.frames[0]?.kind).toBe('snapshot');
    await book();
    await until(() => again.snapshots().length === 1);
  });

  test('turns at the minute, without being read', async () => {
    const stream = await watch();
    await book(0, { in: 0.5 });
    await until(() => stream.last()?.schedule.length === 1);
    const { statements } = hub.figures;
    expect(stream.last().status).toBe('STARTING_SOON');
    await until(() => stream.last().status === 'BUSY');
    const { serverTime, schedule, nextChangeAt } = stream.last();
    expect(serverTime).toBeGreaterThanOrEqual(schedule[0]!.from - 50);
    expect(nextChangeAt).toBeGreaterThan(serverTime);
    expect(hub.figures.statements).toBe(statements);
  });

  test('that nobody watches any more is kept for a while, unless it changes', async () => {
    hub = openHub(service.context, { ...pace, keepMs: 600_000 });
    const crowd = async () => await Promise.all(Array.from({ length: 60 }, (_, index) => watch(index % 3)));
    const first = await crowd();
    expect(hub.figures).toMatchObject({ roomsRead: 3, watched: 3 });
    for (const { close } of first) close();
    // A storm of those who come back reads nothing anew.
    const second = await crowd();
    expect(hub.figures.roomsRead).toBe(3);
    for (const { close } of second) close();
    await Promise.all(second.map(({ reading }) => reading));
    expect(hub.figures).toMatchObject({ watched: 0, kept: 3 });
    await book(0);
    await heardOfAll(service.context);
    expect(hub.figures).toMatchObject({ roomsRead: 3, kept: 2 });
    const late = await watch(0);
    await until(() => late.last()?.status === 'BUSY');
    expect(hub.figures.roomsRead).toBe(4);
  });

  test('is forgotten a while after its last reader has left', async () => {
    hub = openHub(service.context, { ...pace, keepMs: 1 });
    const { close, reading } = await watch(0);
    close();
    await reading;
    await until(() => hub.figures.kept === 0);
    await watch(0);
    expect(hub.figures.roomsRead).toBe(2);
  });
});

describe('a day that is over', () => {
  test('is read anew soon after midnight at the location, and continues turning until then', async () => {
    const { db } = service.context;
    await book(0, { in: 60 });
    const stored = await readPlans(db, tenant.mandatorId, [room()], new Date());
    const [plan] = await keepLocalDays(db).complete(tenant.mandatorId, stored);
    jest.useFakeTimers();
    const midnight = Date.now() + 10 * second;
    const wanted: number[] = [];
    let turns = 0;
    const own = openRoom(room(), {
      pace: { ...pace, midnightSpreadMs: 50 },
      async publish(tell) {
        turns++;
        tell();
      },
      isListening: () => true,
      wantsRead: (_room, isFirst) => void (isFirst || wanted.push(Date.now())),
      isDone() {},
    });
    own.beginRead()({ ...plan!, stored: { ...plan!.stored, midnight } });
    const seen: string[] = [];
    own.join({ tell: () => void seen.push(own.snapshot('Title').status), end() {} });
    try {
      jest.advanceTimersByTime(9 * second);
      expect(wanted).toEqual([]);
      jest.advanceTimersByTime(2 * second);
      expect(wanted).toEqual([expect.any(Number)]);
      expect(wanted[0]).toBeGreaterThanOrEqual(midnight);
      // Since midnight it is not sure of it any more.
      expect([own.isStale, own.asOf(Date.now()) < midnight]).toEqual([true, true]);
      jest.advanceTimersByTime(60 * second);
      expect([seen.at(-1), wanted.length]).toEqual(['BUSY', 1]);
      // Other rooms turn at midnight, too.
      expect(turns).toBeGreaterThan(0);
    } finally {
      own.close();
      jest.useRealTimers();
    }
  });
});

describe('what is not known', () => {
  const terminate = () =>
    run(sql`select pg_terminate_backend(pid) from pg_stat_activity
      where application_name = 'roomgate listen' and datname = current_database()`);

  test('a heartbeat says until when all was known to be right', async () => {
    hub = openHub(service.context, { ...pace, heartbeatMs: 100 });
    const stream = await watch();
    await until(() => stream.heartbeats().length >= 3);
    const [first, , third] = stream.heartbeats();
    expect(third!.asOf - first!.asOf).toBeGreaterThan(150);
    expect([third!.trustUntil - third!.asOf, third!.cursor]).toEqual([900_000, stream.last().cursor]);
  });

  test('what changes while LISTEN is lost is shown when it is back, to all of them', async () => {
    const streams = [await watch(0), await watch(1)];
    await until(() => streams.every(({ frames }) => frames.length === 1));
    await terminate();
    await until(() => !service.context.notifications.listening);
    await Promise.all([book(0), book(1)]);
    await until(() => streams.every((stream) => stream.last().status === 'BUSY'));
  });

  test('while reads fail asOf does not move on; then everything is as it is', async () => {
    hub = openHub(service.context, { ...pace, heartbeatMs: 50 });
    const stream = await watch();
    await until(() => stream.heartbeats().length >= 1);
    await run(sql`alter table lesson rename to hidden_lesson`);
    try {
      // A connection that has the statement prepared would find the table by its number.
      await run(sql`update resource set capacity = 3 where id = ${room()}`);
      await run(sql`insert into booking (mandator_id, resource_id, kind, status, origin, subject, occupied)
        values (${tenant.mandatorId}, ${room()}, 'Booking', 'Confirmed', 'Api', 'S', tstzrange(now() - interval '1 s', now() + interval '1 h'))`);
      await until(() => service.lines.some((line) => line.includes('rooms could not be read')));
      const failing = stream.heartbeats().length;
      await until(() => stream.heartbeats().length >= failing + 3);
      const later = stream.heartbeats().slice(failing);
      expect(new Set(later.map(({ asOf }) => asOf)).size).toBe(1);
      expect(stream.last().status).toBe('FREE');
    } finally {
      await run(sql`alter table hidden_lesson rename to lesson`);
    }
    await until(() => stream.last().status === 'BUSY');
    const { asOf } = stream.last();
    await until(() => stream.heartbeats().at(-1)!.asOf > asOf);
  });
});

describe('who may see what', () => {
  test('a display the rooms of its grant; every other room is as unknown to it as one that nobody has', async () => {
    const stranger = await makeTenant(service.context.db, { code: `stranger-${tenants}` });
    const sign = asDisplay({ resourceIds: [room(1), stranger.resources[0]!.id] });
    await expect(watch(1, undefined, sign)).resolves.toBeDefined();
    const refused = (id: number, as = sign) =>
      watchRoom(service.context, as, id, undefined, hub).then(
        () => 'shown',
        ({ code, message }) => `${code}: ${message}`,
      );
    const unknown = await refused(2_000_000_000, viewer);
    expect(unknown).toMatch(/^NotFound: /);
    const person = service.admit('person', tenant, { role: 'Display' });
    for (const one of [
      refused(room(0)),
      refused(stranger.resources[0]!.id),
      refused(stranger.resources[0]!.id, viewer),
      refused(room(1), person),
      refused(0, viewer),
    ])
      expect(await one).toBe(unknown);
    await expect(watchBoard(person)).rejects.toMatchObject({ code: 'NotFound' });
    await expect(readLocation(service.context, asDisplay({}), tenant.locationId)).rejects.toMatchObject({
      code: 'NotFound',
    });
    await expect(watchLocation(service.context, viewer, stranger.locationId, hub)).rejects.toMatchObject({
      code: 'NotFound',
    });
  });

  test('nobody what a private booking is about, whatever their role', async () => {
    await book(0, { isPrivate: true });
    for (const role of ['User', 'Admin'] as const) {
      const stream = await watch(0, undefined, service.admit(role, tenant, { role }));
      await until(() => stream.frames.length === 1);
      expect(stream.last()).toMatchObject({ status: 'BUSY', schedule: [{ subject: null, organizer: null }] });
    }
  });
});

describe('a board', () => {
  const shown = ({ frames }: Awaited<ReturnType<typeof watchBoard>>) =>
    frames.filter((frame) => frame.kind === 'snapshot').map(({ resource, status }) => `${resource.name} ${status}`);

  test('shows the rooms of its location, each change of one, and those that come and go', async () => {
    await run(sql`update resource set active = false where id = ${room(2)}`);
    const board = await watchBoard();
    await until(() => shown(board).length === 2);
    expect(shown(board).sort()).toEqual(['A FREE', 'B FREE']);
    await book(1);
    await until(() => shown(board).length === 3);
    await run(sql`update resource set active = true where id = ${room(2)}`);
    await until(() => shown(board).length === 4);
    await run(sql`update resource set active = false where id = ${room(0)}`);
    await until(() => shown(board).length === 5);
    await run(sql`insert into resource (mandator_id, location_id, name)
      values (${tenant.mandatorId}, ${tenant.locationId}, 'D')`);
    await until(() => shown(board).length === 6);
    expect(shown(board).slice(2)).toEqual(['B BUSY', 'C FREE', 'A OUT_OF_SERVICE', 'D FREE']);
    const { rows } = await sql<{ id: number }>`
      insert into location (mandator_id, name, time_zone) values (${tenant.mandatorId}, 'Annex', 'UTC') returning id`.execute(
      service.context.db,
    );
    await run(sql`update resource set location_id = ${rows[0]!.id} where id = ${room(1)}`);
    await until(() => board.last().resource.locationName === 'Annex');
    await run(sql`update resource set location_id = ${tenant.locationId} where id = ${room(1)}`);
    await until(() => board.last().resource.locationName === 'Campus');
    // What is no longer there is not watched either.
    await until(() => hub.figures.watched === 3);
    await run(sql`update resource set capacity = 5 where id = ${room(0)}`);
    await run(sql`update resource set active = true where id = ${room(0)}`);
    await until(() => shown(board).length === 9);
    expect(shown(board).slice(6)).toEqual(['B BUSY', 'B BUSY', 'A FREE']);
    board.close();
    await board.reading;
    expect(hub.figures.watched).toBe(0);
  });

  test('of a display shows its own rooms; one read serves boards and signs', async () => {
    const [board, sign] = [await watchBoard(asDisplay({ resourceIds: [room(1)] })), await watch(1)];
    await until(() => board.snapshots().length === 1 && sign.frames.length === 1);
    await Promise.all([book(0), book(1)]);
    await until(() => shown(board).length === 2 && sign.frames.length === 2);
    expect(shown(board)).toEqual(['B FREE', 'B BUSY']);
    expect(board.last()).toBe(sign.last());
  });

  test('ends its greeting with a heartbeat: a room that was not sent by then is not on it', async () => {
    hub = openHub(service.context, { ...pace, heartbeatMs: 3_600 * second });
    const board = await watchBoard();
    await until(() => board.heartbeats().length === 1);
    expect(board.frames.map(({ kind }) => kind)).toEqual(['snapshot', 'snapshot', 'snapshot', 'heartbeat']);
    await book(1);
    await until(() => shown(board).length === 4);
    expect(board.heartbeats()).toHaveLength(1);
  });

  test('whose room is read late, or turns out to be gone, sends no heartbeat before', async () => {
    const { db } = service.context;
    const stored = await readPlans(db, tenant.mandatorId, [room(0)], new Date());
    const [plan] = await keepLocalDays(db).complete(tenant.mandatorId, stored);
    const quiet = { isListening: () => true, isDone() {} };
    const publish = async (tell: () => void) => tell();
    const [late, gone] = [0, 1].map((index) => openRoom(room(index), { pace, publish, wantsRead() {}, ...quiet }));
    const roomOf = (id: number) => (id === room(0) ? late! : gone!);
    jest.useFakeTimers();
    const board = openBoard(tenant.locationId, { pace, roomOf, findRoom: roomOf, ...quiet });
    board.beginRead()([room(0), room(1)]);
    const source = readBoard(board, 'Title', () => true);
    try {
      jest.advanceTimersByTime(3 * pace.heartbeatMs);
      expect(source.take()).toBeUndefined();
      late!.beginRead()(plan!);
      expect([source.take()?.kind, source.take()]).toEqual(['snapshot', undefined]);
      let isNews = false;
      source.onNews = () => (isNews = true);
      gone!.close();
      expect([isNews, source.take()?.kind, source.take()]).toEqual([true, 'heartbeat', undefined]);
      jest.advanceTimersByTime(pace.heartbeatMs);
      expect(source.take()?.kind).toBe('heartbeat');
    } finally {
      source.close();
      late!.close();
      jest.useRealTimers();
    }
  });

  test('has one heartbeat for all, and greets with it where there is nothing to show', async () => {
    hub = openHub(service.context, { ...pace, heartbeatMs: 100 });
    const board = await watchBoard();
    await until(() => board.heartbeats().length >= 2);
    expect(board.heartbeats()[1]).toMatchObject({ cursor: '' });
    expect(board.heartbeats()[1]!.asOf).toBeGreaterThan(board.heartbeats()[0]!.asOf);
    await run(sql`update resource set active = false where mandator_id = ${tenant.mandatorId}`);
    hub.close();
    hub = openHub(service.context, pace);
    const empty = await watchBoard();
    await until(() => empty.frames.length === 1);
    expect(empty.frames[0]?.kind).toBe('heartbeat');
  });
});
