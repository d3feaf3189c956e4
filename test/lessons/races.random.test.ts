import { setTimeout as sleep } from 'node:timers/promises';
import { afterAll, beforeAll, describe, expect, test } from '@jest/globals';
import { sql } from 'kysely';
import { openLog } from '../../src/log.ts';
import { type Server, startServer } from '../../src/server.ts';
import { makeJobs } from '../_util/lessons.ts';
import { times } from '../_util/long.ts';
import { visit } from '../_util/process.ts';
import { type Service, startService, testConfig } from '../_util/service.ts';
import { at, enterTenant, type LessonRecord, lesson, type Timetable } from '../_util/timetable.ts';

/** Two processes on one database, each with a worker. */
let service: Service;
let second: Server;
beforeAll(async () => {
  service = await startService();
  const config = testConfig(service.databaseUrl);
  second = await startServer(config, openLog(config.LogLevel));
  await second.ready;
});
afterAll(async () => {
  await second.stop();
  await service.stop();
});

/** What another connection sees of a tenant at one moment. */
type Sight = { overlaps: number; lessons: number; active: number; moved: number };

/** Looks at the tenant without a pause, and once more when it is stopped. */
function watch({ tenant }: Timetable) {
  const seen: Sight[] = [];
  let watching = true;
  async function look(): Promise<void> {
    const { rows } = await sql<Sight>`
      select count(*) filter (where is_early)::int as overlaps, count(*)::int as active,
        (select count(*)::int from lesson where mandator_id = ${tenant.mandatorId}) as lessons,
        (select count(*)::int from lesson where mandator_id = ${tenant.mandatorId} and ursprung is not null) as moved
      from (
        select lower(occupied) < lag(upper(occupied)) over (partition by resource_id order by lower(occupied)) as is_early
        from booking where mandator_id = ${tenant.mandatorId} and status in ('Confirmed', 'Tentative')
      ) as booking`.execute(service.context.db);
    seen.push(rows[0] as Sight);
  }
  const done = (async () => {
    while (watching) await look();
    await look();
  })();
  return {
    async stop(): Promise<Sight[]> {
      watching = false;
      await done;
      return seen;
    },
  };
}

const pick = <T>(list: readonly T[]): T => list[Math.floor(Math.random() * list.length)] as T;
const shuffle = <T>(list: readonly T[]): T[] =>
  list
    .map((each) => ({ each, by: Math.random() }))
    .sort((a, b) => a.by - b.by)
    .map(({ each }) => each);

describe('updates race with creates and deletes of two processes and with the bookings of others', () => {
  const rooms = ['A', 'B', 'C', 'D', 'E'];
  const hours = [8, 9, 10];
  /** In each hour one room is free. */
  const planned = hours.flatMap((hour) => [0, 1, 2, 3].map((number) => ({ id: `${hour}-${number}`, hour, number })));
  const perSender = 5;

  type Change = { operation: string; jobs: { JobID: string; LektionList?: Record<string, unknown>[] }[] };

  /** A random change of the timetable, complete by itself: it says where its lessons shall be, whatever was before. */
  function randomChange(name: string, created: string[]): Change {
    const kind = Math.random();
    if (kind < 0.2 && created.length > 0) return { operation: 'delete', jobs: [{ JobID: created.pop() as string }] };
    if (kind < 0.4) {
      const list = [lesson(`${name}-1`, pick(rooms), pick(hours)), lesson(`${name}-2`, pick(rooms), 12)];
      return { operation: 'create', jobs: [{ JobID: name, LektionList: list }] };
    }
    const list = hours.slice(0, 2).flatMap((hour) => {
      const places = shuffle(rooms);
      return [0, 1, 2, 3].map((number) => ({
        LektionId: `${hour}-${number}`,
        RessourceName: places[number],
        Titel: name,
      }));
    });
    return { operation: 'update', jobs: [{ JobID: 'J', LektionList: list }] };
  }

  /** Books, moves and cancels at random, as a process of API 1.0 does. @returns its bookings as it left them */
  async function bookAtRandom({ tenant, roomId }: Timetable, locksFirst: boolean, ended: () => boolean) {
    const mine = new Map<number, { resourceId: number; hour: number; active: boolean }>();
    const occupied = (hour: number) => sql`tstzrange(${at(hour).Beginn}, ${at(hour, hour + 0.5).Ende})`;
    // A few hundred changes a second, which leaves the batches some of the processor.
    for (; !ended(); await sleep(4)) {
      const [id, before] = pick([...mine].filter(([, { active }]) => active)) ?? [];
      const resourceId = roomId(pick(rooms));
      const hour = pick(hours);
      const cancels = Math.random() < 0.6;
      const touched = [resourceId, before?.resourceId ?? resourceId];
      await second.context.db
        .transaction()
        .execute(async (trx) => {
          if (locksFirst)
            await sql`select from resource where id = any (${touched}::int[]) order by id for no key update`.execute(
              trx,
            );
          if (id === undefined || !before) {
            const { rows } = await sql<{ id: number }>`
              insert into booking (mandator_id, resource_id, kind, status, origin, occupied)
              values (${tenant.mandatorId}, ${resourceId}, 'Booking', 'Confirmed', 'Api', ${occupied(hour)}) returning id`.execute(
              trx,
            );
            return () => mine.set(rows[0]?.id as number, { resourceId, hour, active: true });
          }
          await sql`
            update booking set ${cancels ? sql`status = 'Cancelled'` : sql`resource_id = ${resourceId}, occupied = ${occupied(hour)}`}
            where mandator_id = ${tenant.mandatorId} and id = ${id}`.execute(trx);
          return () => mine.set(id, cancels ? { ...before, active: false } : { resourceId, hour, active: true });
        })
        .then((committed) => committed())
        .catch((error: { code?: string }) => {
          // The room is occupied, or this one gave way in a deadlock.
          if (error.code !== '23P01' && error.code !== '40P01') throw error;
        });
    }
    return mine;
  }

  test.each([
    ['that lock their rooms first', true],
    ['that lock nothing', false],
  ])('%s: no overlap, no lost update, no error but ResourceConflict', async (_name, locksFirst) => {
    const timetable = await enterTenant(service, rooms);
    const { tenant } = timetable;
    await timetable.done('create', [
      {
        JobID: 'J',
        LektionList: planned.map(({ id, hour, number }) => lesson(id, rooms[number] as string, hour)),
      },
    ]);
    const changes = new Map<string, Change>();
    const watcher = watch(timetable);
    let sending = true;
    const bookers = [1, 2].map(() => bookAtRandom(timetable, locksFirst, () => !sending));
    await Promise.all(
      [service.url, second.context.config.BaseUrl]
        .flatMap((url) => [1, 2].map((each) => [url, each] as const))
        .map(async ([url, each]) => {
          const client = await visit(url, service.context.db, tenant);
          const created: string[] = [];
          for (let sent = 0; sent < perSender; sent++) {
            const name = `${new URL(url).port}-${each}-${sent}`;
            const change = randomChange(name, created);
            const batch = await client.importJobs(change.jobs, change.operation);
            changes.set(batch.BatchId, change);
            if (batch.ImportStatus === 'LessonsCreated') {
              if (change.operation === 'create') created.push(name);
            } else
              expect([batch.FailureKind, [...new Set(batch.Errors.map(({ Code }) => Code))]]).toEqual([
                'Data',
                ['ResourceConflict'],
              ]);
          }
        }),
    );
    sending = false;
    const bookings = await Promise.all(bookers);
    const sights = await watcher.stop();
    expect(sights.length).toBeGreaterThan(20);
    expect(sights.filter(({ overlaps }) => overlaps > 0)).toEqual([]);

    // What the batches did that succeeded, one after another as they arrived.
    const expected = new Map(
      planned.map(({ id, hour, number }) => [id, { place: `${rooms[number]} ${hour}`, Titel: null as unknown }]),
    );
    const { rows: ended } = await sql<{ id: string; succeeded: boolean }>`
      select id, import_status = 'LessonsCreated' as succeeded from batch
      where mandator_id = ${tenant.mandatorId} order by arrival`.execute(service.context.db);
    for (const { id, succeeded } of ended) {
      const change = changes.get(id);
      if (!succeeded || !change) continue;
      for (const { JobID, LektionList } of change.jobs)
        if (!LektionList) for (const number of [1, 2]) expected.delete(`${JobID}-${number}`);
        else
          for (const { LektionId, RessourceName, Beginn, Titel = null } of LektionList) {
            const hour = Beginn
              ? (Date.parse(String(Beginn)) - Date.parse(at(0).Beginn)) / 3_600_000
              : String(LektionId).split('-')[0];
            expected.set(String(LektionId), { place: `${RessourceName} ${hour}`, Titel });
          }
    }
    const lessons = await timetable.lessons();
    const places = await timetable.places();
    expect(
      Object.fromEntries(Object.keys(places).map((id) => [id, { place: places[id], Titel: lessons[id]?.Titel }])),
    ).toEqual(Object.fromEntries(expected));
    const states = await timetable.bookings();
    for (const [id, { resourceId, hour, active }] of bookings.flatMap((mine) => [...mine]))
      expect(states[id]).toMatchObject({
        kind: 'Booking',
        status: active ? 'Confirmed' : 'Cancelled',
        at: `${tenant.resources.find((room) => room.id === resourceId)?.name} ${hour}-${hour + 0.5}`,
      });
    const succeeded = ended.filter((batch) => batch.succeeded).length;
    expect([succeeded > 1, succeeded < ended.length]).toEqual([true, true]);
  });
});

describe('a whole term re-planned', () => {
  test('imported, rotated, halved and restored: no half-done step is ever seen, and the counts are exact', async () => {
    const rooms = Array.from({ length: 20 }, (_, number) => `R${number}`);
    const timetable = await enterTenant(service, rooms);
    const total = times(2_000, 4_000);
    const jobs = makeJobs(total, { rooms });
    const all = jobs.flatMap(({ JobID, LektionList }) => LektionList.map((each) => ({ JobID, each })));
    const [kept, dropped] = [0, 1].map((half) => jobs.filter((_job, index) => index % 2 === half)) as [
      typeof jobs,
      typeof jobs,
    ];
    const lessonsOf = (some: typeof jobs) => some.reduce((sum, { LektionList }) => sum + LektionList.length, 0);
    const rotated = all.filter((_each, index) => index % 8 === 0);
    const rotation = rotated.map(({ JobID, each }, index) => {
      const { Beginn, Ende, RessourceName } = (rotated[(index + 1) % rotated.length] as (typeof rotated)[number]).each;
      return { JobID, each: { LektionId: each.LektionId, Beginn, Ende, RessourceName } };
    });
    const update = [...Map.groupBy(rotation, ({ JobID }) => JobID)].map(([JobID, own]) => ({
      JobID,
      LektionList: own.map(({ each }) => each),
    }));
    const stillRotated = rotated.filter(({ JobID }) => kept.some((job) => job.JobID === JobID)).length;

    const watcher = watch(timetable);
    const counts = async (operation: string, body: unknown) => {
      const { JobCount, LessonCount, ProcessedCount, CreatedCount } = await timetable.done(operation, body);
      return [JobCount, LessonCount, ProcessedCount, CreatedCount];
    };
    expect(await counts('create', jobs)).toEqual([jobs.length, total, total, total]);
    const first = await timetable.lessons();
    expect(await counts('update', update)).toEqual([update.length, rotated.length, rotated.length, 0]);
    const places = Object.fromEntries(
      Object.values(await timetable.lessons()).map((record) => [record.LektionId, record]),
    );
    for (const { each } of rotation)
      expect(places[each.LektionId]).toMatchObject({
        RessourceName: each.RessourceName,
        Beginn: new Date(each.Beginn).toISOString(),
      });
    const gone = lessonsOf(dropped);
    const toDelete = dropped.map(({ JobID }) => ({ JobID }));
    expect(await counts('delete', toDelete)).toEqual([dropped.length, gone, gone, 0]);
    const replace = kept.map((job) => ({ ...job, ReplaceLektionList: true }));
    expect(await counts('update', replace)).toEqual([kept.length, total - gone, total - gone, 0]);
    expect(await counts('create', dropped)).toEqual([dropped.length, gone, gone, gone]);

    const steps: Sight[] = [
      [0, 0],
      [total, 0],
      [total, rotated.length],
      [total - gone, stillRotated],
      [total, stillRotated],
    ].map(([lessons = 0, moved = 0]) => ({ overlaps: 0, lessons, active: lessons, moved }));
    const sights = await watcher.stop();
    const seen = sights.filter((sight, index) => JSON.stringify(sight) !== JSON.stringify(sights[index - 1]));
    expect(seen).toEqual(steps);
    const plain = (records: Record<string, LessonRecord>) =>
      Object.fromEntries(
        Object.values(records).map(({ BookingId, Ursprung, ...record }) => [record.LektionId, record]),
      );
    expect(plain(await timetable.lessons())).toEqual(plain(first));
  });
});
