import { setTimeout as sleep } from 'node:timers/promises';
import { afterAll, beforeAll, describe, expect, test } from '@jest/globals';
import { sql } from 'kysely';
import { ahead } from '../_util/ahead.ts';
import { makeTenant } from '../_util/factories.ts';
import { type Job, type LessonClient, lessonClient, makeJobs } from '../_util/lessons.ts';
import { times } from '../_util/long.ts';
import { killPrograms, type Program, startProgram, until } from '../_util/process.ts';
import { type Service, startService } from '../_util/service.ts';

const rooms = Array.from({ length: 10 }, (_, number) => `R${number}`);
const lessons = times(800, 1_500);
const open = sql`import_status in ('AwaitingLessonCreation', 'AwaitingLessonProcessing')`;

type Tenant = Awaited<ReturnType<typeof makeTenant>>;
type Posted = { id: string; tenant: Tenant; faulty: boolean };

let service: Service;
let tenants: { tenant: Tenant; client: LessonClient }[];

beforeAll(async () => {
  service = await startService({ Role: 'Web' }, rooms);
  const { db } = service.context;
  // What each committed change of a batch was, and when.
  await sql`create table history (batch_id uuid, attempts int, import_status text, at timestamptz)`.execute(db);
  await sql`
    create function record_history() returns trigger language plpgsql as $$
    begin
      insert into history values (new.id, new.attempts, new.import_status, clock_timestamp());
      return null;
    end $$`.execute(db);
  await sql`create trigger recorded after insert or update on batch for each row execute function record_history()`.execute(
    db,
  );
  const others = await Promise.all(['b', 'c', 'd'].map((code) => makeTenant(db, { code, rooms })));
  tenants = await Promise.all(
    [service.tenant, ...others].map(async (tenant) => ({
      tenant,
      client: lessonClient({ url: service.url, tenant }, await service.signIn(tenant)),
    })),
  );
});
afterAll(async () => {
  await killPrograms();
  await service.stop();
});

const spoilers: ((jobs: Job[]) => void)[] = [
  // Found before, during and after the lessons are inserted.
  (jobs) => Object.assign(jobs.at(-1)!.LektionList[0]!, { RessourceName: 'Nowhere' }),
  (jobs) => Object.assign(jobs.at(-1)!, { JobID: jobs[0]!.JobID }),
  (jobs) => jobs.at(-1)!.LektionList.push({ ...jobs[0]!.LektionList[0]!, LektionId: 'overlap' }),
];

let made = 0;
const week = 7 * 86_400_000;

/** Every third batch has a fault near its end. */
async function post({ tenant, client }: (typeof tenants)[number]): Promise<Posted> {
  const number = made++;
  const jobs = makeJobs(lessons, {
    rooms,
    prefix: `${number}-`,
    from: Date.parse(ahead('2027-02-01T07:00Z')) + number * 20 * week,
  });
  const faulty = number % 3 === 2;
  if (faulty) spoilers[Math.floor(number / 3) % spoilers.length]!(jobs);
  const answer = await client.post(jobs);
  expect(answer.status).toBe(202);
  return { id: ((await answer.json()) as { BatchId: string }).BatchId, tenant, faulty };
}

type InFlight = { id: string; attempts: number; importStatus: string };

/** The batches that a worker is on, and the database's time. */
async function inFlight(worker: Program): Promise<{ batches: InFlight[]; now: Date }> {
  const { rows } = await sql<{ batches: InFlight[]; now: Date }>`
    select clock_timestamp() as now, coalesce(json_agg(json_build_object(
      'id', id, 'attempts', attempts, 'importStatus', import_status)) filter (where attempts > 0), '[]') as batches
    from pg_locks join pg_stat_activity using (pid)
    cross join lateral (
      select * from batch where mandator_id = objid::bigint and ${open} order by arrival limit 1) as running
    where locktype = 'advisory' and classid = 7001 and granted and application_name = ${worker.name}
      and datname = current_database()`.execute(service.context.db);
  return rows[0]!;
}

const count = async (what: ReturnType<typeof sql>) =>
  (await sql<{ n: number }>`select count(*)::int as n from ${what}`.execute(service.context.db)).rows[0]!.n;

const startWorker = () => startProgram(service.databaseUrl, { Role: 'Worker' });

const mostKills = times(2, 20);

describe(`kill -9 of a worker, ${mostKills} times over the states of its batches`, () => {
  const posted: Posted[] = [];
  /** What was seen of each victim last. */
  const kills: { now: Date; batches: InFlight[] }[] = [];
  let workers: Program[];

  /** Each tenant has a batch that runs and one that waits: a victim that has just finished finds another. */
  async function keepBusy(): Promise<void> {
    for (const tenant of tenants) {
      const waiting = await count(sql`batch where mandator_id = ${tenant.tenant.mandatorId} and ${open}`);
      for (let missing = waiting; missing < 2; missing++) posted.push(await post(tenant));
    }
  }

  test(
    'every batch ends once, in the right state, soon after the kill',
    async () => {
      workers = [startWorker(), startWorker()];
      await Promise.all(workers.map(({ ready }) => ready));

      for (let kill = 0; kill < mostKills; kill++) {
        const victim = workers.shift()!;
        const phase = kill % 2 === 0 ? 'AwaitingLessonCreation' : 'AwaitingLessonProcessing';
        const seen = await until(`a batch of the victim in ${phase}`, async () => {
          await keepBusy();
          const flying = await inFlight(victim);
          return flying.batches.some(({ importStatus }) => importStatus === phase) && flying;
        });
        await sleep(Math.random() * (kill % 2 === 0 ? 20 : 200));
        expect((await victim.end('SIGKILL')).signal).toBe('SIGKILL');
        kills.push(seen);
        workers.push(startWorker());
        await workers[1]!.ready;
      }
      await until('every batch has ended', async () => (await count(sql`batch where ${open}`)) === 0);

      const ended = await sql<{ id: string; statuses: string[] }>`
      select batch_id as id, array_agg(import_status) as statuses from history
      where import_status in ('LessonsCreated', 'LessonsImportFailed') group by 1`.execute(service.context.db);
      expect(new Map(ended.rows.map(({ id, statuses }) => [id, statuses]))).toEqual(
        new Map(posted.map(({ id, faulty }) => [id, [faulty ? 'LessonsImportFailed' : 'LessonsCreated']])),
      );
    },
    120_000 + mostKills * 20_000,
  );

  test('no lesson is missing or there twice, and nothing is left of the failed ones', async () => {
    const wrong = await sql`
      select id, import_status, created_count, jobs, lessons, bookings, left_over from batch
      cross join lateral (
        select count(distinct j.id)::int as jobs, count(l.lektion_id)::int as lessons from lesson_job j
        left join lesson l on l.mandator_id = j.mandator_id and l.job = j.id
        where j.mandator_id = batch.mandator_id and j.batch_id = batch.id) as of_job
      cross join lateral (
        select count(*)::int as bookings from booking where mandator_id = batch.mandator_id and batch_id = batch.id) as of_room
      cross join lateral (
        select count(*)::int as left_over from batch_job where mandator_id = batch.mandator_id and batch_id = batch.id and body is not null) as of_body
      where (jobs, lessons, bookings, created_count, left_over, failure_kind is null) is distinct from
        (case import_status when 'LessonsCreated' then (job_count, ${lessons}::int, ${lessons}::int, ${lessons}::int, 0, true)
                            else (0, 0, 0, 0, 0, false) end)`.execute(service.context.db);
    expect(wrong.rows).toEqual([]);
    const good = posted.filter(({ faulty }) => !faulty).length;
    expect([await count(sql`lesson`), await count(sql`booking`)]).toEqual([good * lessons, good * lessons]);
    expect(
      await count(sql`(
        select lower(occupied) < lag(upper(occupied)) over (partition by resource_id order by lower(occupied)) as is_early
        from booking) as neighbours where is_early`),
    ).toBe(0);
  });

  test('each batch that was hit went on', async () => {
    const { rows } = await sql<InFlight & { at: Date }>`
      select batch_id as id, attempts, import_status as "importStatus", at from history order by at`.execute(
      service.context.db,
    );
    const resumed = kills.flatMap(({ now, batches }) =>
      batches.map(({ id, attempts }) => {
        const next = rows.find(
          (row) => row.id === id && (row.attempts > attempts || row.importStatus.startsWith('Lessons')),
        );
        return Math.max(0, next!.at.getTime() - now.getTime()) / 1_000;
      }),
    );
    resumed.sort((a, b) => a - b);
    const states = Object.groupBy(
      kills.flatMap(({ batches }) => batches),
      ({ importStatus }) => importStatus,
    );
    process.stdout.write(
      `${resumed.length} batches hit (${Object.entries(states)
        .map(([state, hit]) => `${state} ${hit?.length}`)
        .join(', ')}), ` + `resumed after p50 ${resumed[Math.floor(resumed.length / 2)]} s, max ${resumed.at(-1)} s\n`,
    );
    expect(Object.keys(states).sort()).toEqual(['AwaitingLessonCreation', 'AwaitingLessonProcessing']);
  });

  test('a worker that lives on takes over what the dead one had', async () => {
    const batch = await post(tenants[0]!);
    const victim = await until('a worker is on it', async () => {
      for (const worker of workers) if ((await inFlight(worker)).batches.length > 0) return worker;
      return undefined;
    });
    await victim.end('SIGKILL');
    posted.push(batch);
    await until('it has ended', async () => (await count(sql`batch where ${open}`)) === 0);
    expect(await count(sql`batch where id = ${batch.id}::uuid and attempts = 2`)).toBe(1);
  });

  test('the dead leave nothing locked in the queue, and nothing behind', async () => {
    await until('the queue is empty', async () => (await count(sql`graphile_worker._private_jobs`)) === 0);
  });
});

describe('kill -9 of a worker among updates and deletes', () => {
  test('each takes effect once and wholly, or not at all', async () => {
    const { db } = service.context;
    const tenant = await makeTenant(db, { code: 'replanned', rooms });
    const client = lessonClient({ url: service.url, tenant }, await service.signIn(tenant));
    const jobs = makeJobs(times(300, 1_500), { rooms });
    const expected: { id: string; status: string }[] = [];
    async function send(operation: string, body: unknown, status = 'LessonsCreated'): Promise<void> {
      const answer = await client.send(operation, body);
      expect(answer.status).toBe(202);
      expected.push({ id: ((await answer.json()) as { BatchId: string }).BatchId, status });
    }
    // All lessons into the next room, which others leave, and one job less each time; every third time with a fault.
    let [left, moves] = [jobs, 0];
    const inRoom = (moved: number) =>
      left.map(({ JobID, LektionList }) => ({
        JobID,
        LektionList: LektionList.map(({ LektionId, RessourceName }) => ({
          LektionId,
          RessourceName: rooms[(rooms.indexOf(RessourceName) + moved) % rooms.length],
        })),
      }));
    await send('create', jobs);
    for (let round = 1; round <= times(6, 9); round++) {
      if (round % 3 === 0)
        await send('update', [...inRoom(moves + 1), { JobID: 'nowhere', Bemerkung: 'fault' }], 'LessonsImportFailed');
      else await send('update', inRoom(++moves));
      await send('delete', [{ JobID: left[0]?.JobID }]);
      left = left.slice(1);
    }

    // Nobody else takes over.
    await killPrograms();
    let worker = startWorker();
    for (let kill = 0; kill < times(2, 4); kill++) {
      await until('it is on a batch', async () => (await inFlight(worker)).batches.length > 0);
      await sleep(Math.random() * 200);
      await worker.end('SIGKILL');
      worker = startWorker();
    }
    const ids = expected.map(({ id }) => id);
    const ended = await Promise.all(ids.map((id) => client.end(id)));
    expect(ended.map(({ BatchId, ImportStatus }) => ({ id: BatchId, status: ImportStatus }))).toEqual(expected);
    const { rows: history } = await sql<{ id: string; ends: number }>`
      select batch_id as id, count(*)::int as ends from history
      where import_status like 'Lessons%' and batch_id = any (${ids}::uuid[]) group by 1`.execute(db);
    expect(history.every(({ ends }) => ends === 1)).toBe(true);

    const { rows } = await sql<Record<string, unknown>>`
      select lektion_id as id, name as room, booking.status, booking.version
      from lesson join booking on booking.mandator_id = lesson.mandator_id and booking.id = booking_id
      join resource on resource.id = booking.resource_id and resource.mandator_id = booking.mandator_id
      where lesson.mandator_id = ${tenant.mandatorId} and lesson.resource_id = booking.resource_id`.execute(db);
    const byId = (list: Record<string, unknown>[]) => new Map(list.map((row) => [row['id'], row]));
    expect(byId(rows)).toEqual(
      byId(
        inRoom(moves).flatMap(({ LektionList }) =>
          LektionList.map(({ LektionId, RessourceName }) => ({
            id: LektionId,
            room: RessourceName,
            status: 'Confirmed',
            version: moves + 1,
          })),
        ),
      ),
    );
    expect(
      await count(
        sql`booking where mandator_id = ${tenant.mandatorId} and (status = 'Cancelled') = (id in (select booking_id from lesson))`,
      ),
    ).toBe(0);
  });
});
