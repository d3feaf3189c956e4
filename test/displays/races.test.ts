/** What signs show while reads, changes, readers and outages overlap: nothing that is over, and no outdated state without notice. */
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, jest, test } from '@jest/globals';
import { sql } from 'kysely';
import pg from 'pg';
import type { Viewer } from '../../src/context.ts';
import type { DisplayHeartbeat, RoomSnapshot } from '../../src/displays/display.ts';
import { type Hub, openHub } from '../../src/displays/hub.ts';
import { watchLocation, watchRoom } from '../../src/displays/live.ts';
import { readPlans } from '../../src/displays/plan.ts';
import type { WatchedRoom } from '../../src/displays/room.ts';
import { type Latest, nextOf } from '../../src/flow/latest.ts';
import { createStreams } from '../../src/graphql/streams.ts';
import { makeTenant } from '../_util/factories.ts';
import { type GraphqlService, heardOfAll, startGraphql } from '../_util/graphql.ts';
import { cloneDatabase } from '../_util/postgres.ts';
import { until } from '../_util/process.ts';

type DisplayFrame = RoomSnapshot | DisplayHeartbeat;

let database: Awaited<ReturnType<typeof cloneDatabase>>;
let service: GraphqlService;
let tenant: Awaited<ReturnType<typeof makeTenant>>;
let viewer: Viewer;
let hub: Hub;
let tenants = 0;

const pace = {
  heartbeatMs: 60_000,
  keepMs: 60_000,
  midnightSpreadMs: 1_000,
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
afterEach(() => {
  jest.restoreAllMocks();
  for (const letGo of gates) letGo();
  gates.clear();
  hub.close();
});
afterAll(async () => {
  await service.stop();
  await database.drop();
});

const room = (index = 0) => tenant.resources[index]!.id;
const run = (statement: ReturnType<typeof sql>) => statement.execute(service.context.db);

/** For an hour from now on. */
const book = (organizerId: number | null = null) =>
  run(sql`insert into booking (mandator_id, resource_id, kind, status, origin, subject, organizer_id, occupied)
    values (${tenant.mandatorId}, ${room()}, 'Booking', 'Confirmed', 'Api', 'Sitzung', ${organizerId},
      tstzrange(now() - interval '1 s', now() + interval '1 hour'))`);

/** What holds an answer back now. */
const gates = new Set<() => void>();

/** Keeps the answer to the next statement that has this text from whoever asks, as a slow network does, or loses it. */
function holdBack(text: string) {
  const [there, gate] = [Promise.withResolvers<void>(), Promise.withResolvers<Error | undefined>()];
  const letGo = () => gate.resolve(undefined);
  gates.add(letGo);
  const { query } = pg.Client.prototype;
  const held = jest.spyOn(pg.Client.prototype, 'query');
  held.mockImplementation(function (this: pg.Client, ...given: unknown[]) {
    const [asked] = given as [string | { text: string }];
    const ask = (values: unknown[]) => (query as (...all: unknown[]) => unknown).apply(this, values);
    if (!(typeof asked === 'string' ? asked : asked.text).includes(text)) return ask(given);
    held.mockRestore();
    const wait = () => {
      there.resolve();
      return gate.promise;
    };
    const last = given.at(-1);
    if (typeof last !== 'function')
      return (ask(given) as Promise<unknown>).then(async (answer) => {
        const lost = await wait();
        if (lost) throw lost;
        return answer;
      });
    const onAnswer = (error: unknown, answer: unknown) => void wait().then((lost) => last(lost ?? error, answer));
    return ask([...given.slice(0, -1), onAnswer]);
  } as typeof query);
  return { isThere: there.promise, letGo, lose: () => gate.resolve(new Error('lost')) };
}
const [aPlan, members] = ['from unnest((select $2::integer[])) as asked(id)', 'as "members"'];

/** Takes all frames of a source as they come. */
function collect(source: Latest<DisplayFrame>) {
  const frames: DisplayFrame[] = [];
  void (async () => {
    for (let frame = await nextOf(source); frame; frame = await nextOf(source)) frames.push(frame);
  })();
  const snapshots = () => frames.filter((frame) => frame.kind === 'snapshot');
  return { frames, snapshots, last: () => snapshots().at(-1) as RoomSnapshot, close: () => source.close() };
}
const watch = async (index = 0) => collect(await watchRoom(service.context, viewer, room(index), undefined, hub));
const watchBoard = async () => collect(await watchLocation(service.context, viewer, tenant.locationId, hub));
/** As polled. */
const readNow = (id = room()) =>
  hub.withRoom(tenant.mandatorId, id, true, (read: WatchedRoom) => read.snapshot('Title'));

describe('reads that overlap', () => {
  test('a poll returns what was committed before, also while the room is read for the first time', async () => {
    const plan = holdBack(aPlan);
    const first = watch();
    await plan.isThere;
    // The answer to a booking may be there before this process has heard of it.
    await run(sql`alter table booking disable trigger booking_created`);
    await book();
    await run(sql`alter table booking enable trigger booking_created`);
    const polled = readNow();
    plan.letGo();
    expect((await polled)?.status).toBe('BUSY');
    await first;
  });

  test('who waits for a room that a read does not find is answered', async () => {
    const plan = holdBack(aPlan);
    const unknown = 2_000_000_000;
    const first = readNow(unknown);
    await plan.isThere;
    // All rooms may have changed, also one that nobody has read yet.
    await run(sql`update resource set capacity = 7 where id = ${room()}`);
    await heardOfAll(service.context);
    const second = readNow(unknown);
    plan.letGo();
    expect([await first, await second]).toEqual([undefined, undefined]);
    expect(hub.figures).toMatchObject({ watched: 0, kept: 0 });
  });

  test('who waits when the process stops is answered', async () => {
    await watch();
    const plan = holdBack(aPlan);
    const first = readNow();
    await plan.isThere;
    const second = readNow();
    hub.close();
    plan.letGo();
    expect([(await first)?.status, (await second)?.status]).toEqual(['FREE', 'FREE']);
  });

  test('however long the reads of one tenant take, another tenant has one', async () => {
    const other = await makeTenant(service.context.db, { code: `other-${tenants}`, rooms: ['X'] });
    const read = (of: typeof tenant, index: number) =>
      hub.withRoom(of.mandatorId, of.resources[index]!.id, true, (one) => one.snapshot('Title').status);
    const long = [];
    for (const index of [0, 1]) {
      const plan = holdBack(aPlan);
      long.push({ plan, done: read(tenant, index) });
      await plan.isThere;
    }
    let isThirdRead = false;
    const third = read(tenant, 2).then(() => (isThirdRead = true));
    const next = holdBack(aPlan);
    const others = read(other, 0);
    await next.isThere;
    next.letGo();
    expect([await others, isThirdRead]).toEqual(['FREE', false]);
    for (const { plan, done } of long) {
      plan.letGo();
      expect(await done).toBe('FREE');
    }
    await third;
  });

  test('of two reads of the rooms of a board the later one counts, also when it is done first', async () => {
    const board = await watchBoard();
    await until(() => board.frames.length >= 3);
    const slow = holdBack(members);
    await run(sql`update resource set capacity = 7 where id = ${room(0)}`);
    await slow.isThere;
    await run(sql`insert into resource (mandator_id, location_id, name)
      values (${tenant.mandatorId}, ${tenant.locationId}, 'D')`);
    // The room that has changed may be told of once more behind it.
    await until(() => board.snapshots().some(({ resource }) => resource.name === 'D'));
    slow.letGo();
    await heardOfAll(service.context);
    const ids = () => hub.withBoard(tenant.mandatorId, tenant.locationId, false, ({ resourceIds }) => resourceIds);
    await heardOfAll(service.context);
    expect(await ids()).toHaveLength(4);
  });

  test('a board is not sure of its rooms while a read runs that has begun before they changed', async () => {
    const board = await watchBoard();
    await until(() => board.frames.length >= 3);
    const asOf = () => hub.withBoard(tenant.mandatorId, tenant.locationId, false, (one) => one.heartbeat().asOf);
    const first = holdBack(members);
    await run(sql`update resource set capacity = 7 where id = ${room(0)}`);
    await first.isThere;
    const second = holdBack(members);
    const changedAt = Date.now();
    await run(sql`update resource set capacity = 8 where id = ${room(0)}`);
    await second.isThere;
    first.letGo();
    await heardOfAll(service.context);
    // A frame is shared for a moment.
    await until(() => Date.now() > changedAt + 300);
    expect(await asOf()).toBeLessThanOrEqual(changedAt);
    second.letGo();
    await until(async () => ((await asOf()) ?? 0) > changedAt + 300);
  });
});

describe('what is kept', () => {
  test('a room whose last read failed is read again for the next reader', async () => {
    const first = await watch();
    const failing = holdBack(aPlan);
    await book();
    await failing.isThere;
    first.close();
    failing.lose();
    await until(() => service.lines.some((line) => line.includes('rooms could not be read')));
    expect(hub.figures).toMatchObject({ watched: 0, kept: 1 });
    const second = await watch();
    await until(() => second.last()?.status === 'BUSY');
  });

  test('a poll returns opening hours of which this process was not notified yet', async () => {
    await run(sql`insert into opening_rule (mandator_id, location_id, weekdays, opens, closes)
      values (${tenant.mandatorId}, ${tenant.locationId}, '{1,2,3,4,5,6,7}', '00:00', '00:00')`);
    await heardOfAll(service.context);
    await watch();
    await run(sql`alter table opening_rule disable trigger opening_rule_changed`);
    try {
      await run(sql`delete from opening_rule where mandator_id = ${tenant.mandatorId}`);
      await run(sql`insert into opening_rule (mandator_id, location_id, weekdays, opens, closes, valid_to)
        values (${tenant.mandatorId}, ${tenant.locationId}, '{1,2,3,4,5,6,7}', '00:00', '00:00', '2000-01-01')`);
    } finally {
      await run(sql`alter table opening_rule enable trigger opening_rule_changed`);
    }
    expect((await readNow())?.status).toBe('CLOSED');
  });
});

test('a sign gets changes that are made while it is being read', async () => {
  const { id } = tenant.person('User');
  const sign = await watch();
  const plan = holdBack(aPlan);
  await book(id);
  await plan.isThere;
  await run(sql`update person set name = 'Ada Neu' where mandator_id = ${tenant.mandatorId} and id = ${id}`);
  await heardOfAll(service.context);
  plan.letGo();
  await until(() => sign.last()?.schedule[0]?.organizer === 'Ada Neu');
});

test('a sign is notified that the person whom its booking is for has another name', async () => {
  const { id } = tenant.person('User');
  await book(id);
  const sign = await watch();
  await until(() => sign.frames.length === 1);
  await heardOfAll(service.context);
  await run(sql`update person set name = 'Ada Neu' where mandator_id = ${tenant.mandatorId} and id = ${id}`);
  await until(() => sign.last().schedule[0]?.organizer === 'Ada Neu');
});

test.each([
  ['Atlantic/Azores', '2026-10-25T00:30:00Z', '2026-10-25T00:00:00Z', 25],
  ['Atlantic/Azores', '2026-10-25T01:30:00Z', '2026-10-25T00:00:00Z', 25],
  ['America/Havana', '2026-11-01T04:30:00Z', '2026-11-01T04:00:00Z', 25],
  ['America/Santiago', '2026-09-06T04:30:00Z', '2026-09-06T04:00:00Z', 23],
  ['Australia/Lord_Howe', '2026-10-03T13:45:00Z', '2026-10-03T13:30:00Z', 23.5],
  ['Europe/Berlin', '2026-10-24T22:30:00Z', '2026-10-24T22:00:00Z', 25],
])('a day in %s, read at %s, begins with its first instant', async (timeZone, now, start, length) => {
  await run(sql`update location set time_zone = ${timeZone} where id = ${tenant.locationId}`);
  const [plan] = await readPlans(service.context.db, tenant.mandatorId, [room()], new Date(now));
  expect([new Date(plan!.start).toISOString(), (plan!.midnight - plan!.start) / 3_600_000]).toEqual([
    new Date(start).toISOString(),
    length,
  ]);
});

test('a display whose rooms change while its stream is opened is asked to come again', async () => {
  const display = { displayId: 7, mayBook: false, privacy: 'Title' as const, resourceIds: [1, 2] };
  const sign = service.admit('sign', tenant, { role: 'Display', display });
  const streams = createStreams(service.context, async () => ({
    ...sign,
    display: { ...display, resourceIds: [1] },
  }));
  const client = { closed: false, on() {}, once() {}, off() {} };
  const source: Latest<string> & { isOver: boolean } = {
    isOver: false,
    onNews: undefined,
    take: () => (source.isOver ? undefined : 'shown'),
    close: () => void (source.isOver = true),
  };
  const caller = { viewer: sign, credentials: { authorization: 'sign', address: '::1' }, client };
  const stream = await streams.follow(
    caller,
    async () => source,
    ({ message }) => message,
  );
  expect([await stream.next(), source.isOver]).toEqual([
    { done: false, value: expect.stringContaining('subscribe again') },
    true,
  ]);
  await stream.next();
  expect(streams.count()).toBe(0);
  await streams.close();
});
