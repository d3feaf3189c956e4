import { setTimeout as sleep } from 'node:timers/promises';
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, test } from '@jest/globals';
import { sql } from 'kysely';
import { type Database, openDatabase } from '../../src/db/database.ts';
import { migrate } from '../../src/db/migrate.ts';
import { openLog } from '../../src/log.ts';
import { migrateQueue, openQueuePool } from '../../src/worker/queue.ts';
import { startDatabaseServer } from '../_util/database-server.ts';
import { makeTenant } from '../_util/factories.ts';
import { freePort } from '../_util/free-port.ts';
import { hold, releaseAll } from '../_util/hold.ts';
import { type LessonClient, makeJobs } from '../_util/lessons.ts';
import { times } from '../_util/long.ts';
import { killPrograms, type Program, startProgram, until, visit } from '../_util/process.ts';
import { type Service, startService } from '../_util/service.ts';
import { openWire } from '../_util/wire.ts';

const rooms = ['R1', 'R2', 'R3', 'R4'];
let server: Awaited<ReturnType<typeof startDatabaseServer>>;
let db: Database;

beforeAll(async () => {
  server = await startDatabaseServer();
  db = openDatabase(server.url, { max: 5, log: openLog('silent'), statementTimeout: 0 });
  await migrate(db, openLog('silent'));
  await migrateQueue(db);
});
afterEach(killPrograms);
afterAll(async () => {
  await killPrograms();
  await db.destroy();
  await server.remove();
});

let tenants = 0;
const newTenant = () => makeTenant(db, { code: `t${++tenants}`, rooms });

let made = 0;
/** Lessons at a time and with JobIDs of their own. */
function freshJobs(lessons: number) {
  const number = made++;
  return makeJobs(lessons, {
    rooms,
    prefix: `${number}-`,
    from: Date.UTC(2030, 0, 7) + number * 60 * 7 * 86_400_000,
  });
}

async function accept(client: LessonClient, jobs: unknown): Promise<string> {
  const answer = await client.post(jobs);
  expect(answer.status).toBe(202);
  return ((await answer.json()) as { BatchId: string }).BatchId;
}

/** `what` is a table with its conditions. */
async function count(what: ReturnType<typeof sql>): Promise<number> {
  return (await sql<{ n: number }>`select count(*)::int as n from ${what}`.execute(db)).rows[0]!.n;
}

async function isReady(url: string): Promise<boolean> {
  return (await fetch(`${url}/readyz`)).status === 200;
}

/** Answers that must never occur: a status other than success and 503, or a 503 without its headers. */
function watch(wrong: string[]) {
  return async (answer: Promise<Response>) => {
    const { status, headers } = await answer;
    const problem = `${headers.get('content-type')}, Retry-After ${headers.get('retry-after')}`;
    if (
      status !== 200 &&
      status !== 202 &&
      (status !== 503 || !/^application\/problem\+json.*, Retry-After \d+$/.test(problem))
    )
      wrong.push(`${status} ${problem}`);
    return status;
  };
}

/** Asks and posts for as long as it is not stopped; each post is repeated under its key until it is accepted. */
function startLoad(clients: readonly LessonClient[], known: string) {
  const wrong: string[] = [];
  const statuses: Record<number, number> = {};
  const accepted: { client: LessonClient; id: string }[] = [];
  const seen = watch(wrong);
  let stopped = false;
  const ask = async () => {
    while (!stopped) {
      const status = await seen(clients[0]!.call(`/batches/${known}`));
      statuses[status] = (statuses[status] ?? 0) + 1;
      await sleep(20);
    }
  };
  const poll = async () => {
    while (!stopped) {
      await seen(clients[0]!.call(`/batches/${known}?WaitSeconds=1`));
      await sleep(20);
    }
  };
  const send = async (client: LessonClient) => {
    while (!stopped) {
      const jobs = freshJobs(40);
      const key = { 'Idempotency-Key': `load-${jobs[0]!.JobID}` };
      for (let status = 0; status !== 202; ) {
        const answer = client.post(jobs, key);
        status = await seen(answer);
        if (status === 202)
          accepted.push({ client, id: ((await (await answer).json()) as { BatchId: string }).BatchId });
        else await sleep(50);
      }
      await sleep(200);
    }
  };
  const running = Promise.all([ask(), poll(), ...clients.map(send)]);
  // Whoever stops it gets the error; after a failure nobody does.
  running.catch(() => {});
  return {
    statuses,
    wrong,
    async stop() {
      stopped = true;
      await running;
      return accepted;
    },
  };
}

/** Starts the program with two tenants, does one fault after the other to it under load, and looks whether all is as before. */
async function under(faults: Record<string, (program: Program, statuses: Record<number, number>) => Promise<void>>) {
  const program = startProgram(server.url);
  const url = await program.ready;
  const clients = await Promise.all([1, 2].map(async () => visit(url, db, await newTenant())));
  const before = await count(sql`batch`);
  const early = await Promise.all(
    clients.flatMap((client) =>
      [1, 2].map(async () => ({ client, id: await accept(client, freshJobs(times(300, 600))) })),
    ),
  );
  const load = startLoad(clients, early[0]!.id);
  for (const [name, fault] of Object.entries(faults)) {
    const well = load.statuses[200] ?? 0;
    await until('the load runs', () => (load.statuses[200] ?? 0) > well + 3);
    await fault(program, load.statuses);
    const back = performance.now();
    await until('/readyz is 200', () => isReady(url));
    const ms = Math.round(performance.now() - back);
    process.stdout.write(`${name}: answers ${JSON.stringify(load.statuses)}, ready again after ${ms} ms\n`);
  }
  const accepted = [...early, ...(await load.stop())];

  expect(load.wrong).toEqual([]);
  const ended = await Promise.all(accepted.map(({ client, id }) => client.end(id)));
  expect(ended.filter(({ ImportStatus }) => ImportStatus !== 'LessonsCreated')).toEqual([]);
  // Each post made one batch, however often it had to be repeated.
  expect((await count(sql`batch`)) - before).toBe(accepted.length);
  expect(
    await count(sql`batch where created_count <> (
      select count(*) from lesson join lesson_job on lesson_job.mandator_id = lesson.mandator_id and lesson_job.id = lesson.job
      where lesson_job.mandator_id = batch.mandator_id and lesson_job.batch_id = batch.id)`),
  ).toBe(0);
  await until('the queue is empty', async () => (await count(sql`graphile_worker._private_jobs`)) === 0);
  expect(program.lines.filter(({ msg }) => msg === 'unexpected error')).toEqual([]);
  expect(await program.end('SIGTERM')).toMatchObject({ code: 0 });
}

describe('PostgreSQL', () => {
  const outage =
    (signal: 'SIGQUIT' | 'SIGINT', refusals: number) => async (_: Program, statuses: Record<number, number>) => {
      const before = statuses[503] ?? 0;
      await server.stop(signal);
      await until('requests are refused', () => (statuses[503] ?? 0) - before >= refusals);
      await server.start();
    };

  test('crashes, is shut down, and loses all its backends again and again: 503 meanwhile, then everything ends', async () => {
    await under({
      'back soon after a crash': outage('SIGQUIT', 6),
      'back later after a shutdown': outage('SIGINT', 60),
      async 'backends terminated every 150 ms for 2 s'({ name }) {
        for (const end = performance.now() + 2_000; performance.now() < end; await sleep(150))
          await sql`select pg_terminate_backend(pid) from pg_stat_activity where application_name = ${name}`.execute(
            db,
          );
      },
    });
  });

  test('a connection that the queue library gives back twice, or in vain, ends no process', async () => {
    const pool = openQueuePool(server.url, { max: 1, log: openLog('silent'), statementTimeout: 0 });
    const take = () =>
      new Promise<[Error | undefined, () => void]>((resolve) =>
        pool.connect((error, _client, release) => resolve([error, release])),
      );
    const [, release] = await take();
    release();
    release();
    expect((await pool.query('select 1 as one')).rows).toEqual([{ one: 1 }]);
    await pool.end();
    const [error, releaseNothing] = await take();
    expect(error).toBeInstanceOf(Error);
    releaseNothing();
  });

  test('a deadlock with somebody who queues jobs does not fail a statement of the queue library, which would stop it', async () => {
    await sql`create table job (id integer primary key)`.execute(db);
    await sql`insert into job values (1), (2), (3)`.execute(db);
    const pool = openQueuePool(server.url, {
      max: 1,
      log: openLog('silent'),
      statementTimeout: 0,
      settings: { deadlock_timeout: 10 },
    });
    const library = await pool.connect();
    const lock = (trx: Database, id: number) => sql`select from job where id = ${id} for update`.execute(trx);
    const untilWaiting = (sessions: number) =>
      until(`${sessions} sessions wait for a job`, async () => {
        const { rows } = await sql`select from pg_locks where not granted`.execute(db);
        return rows.length === sessions;
      });
    let completed: Promise<unknown> | undefined;
    await db.transaction().execute(async (queueing) => {
      // PostgreSQL looks for a deadlock once, after this time, and ends the statement that looks: that of the library, which waits last.
      await sql`set local deadlock_timeout = '1h'`.execute(queueing);
      await lock(queueing, 3);
      let queued: Promise<unknown> | undefined;
      await db.transaction().execute(async (other) => {
        await lock(other, 2);
        const all = 'delete from job using unnest($1::integer[]) as done (one) where id = one';
        completed = library.query(all, [[1, 2, 3]]);
        await untilWaiting(1);
        queued = lock(queueing, 1);
        await untilWaiting(2);
      });
      await queued;
    });
    expect(await completed).toMatchObject({ rowCount: 3 });
    library.release();
    await pool.end();
    await sql`drop table job`.execute(db);
  });

  test('is not there at the start: the process serves /healthz, waits, and stops when told to', async () => {
    const port = await freePort();
    const url = `http://127.0.0.1:${port}`;
    await server.stop('SIGINT');
    const start = () => startProgram(server.url, { Role: 'Worker', Port: String(port) });
    const reach = () =>
      until('/healthz is 200', async () => (await fetch(`${url}/healthz`).catch(() => undefined))?.status === 200);

    const impatient = start();
    await reach();
    expect(await impatient.end('SIGTERM')).toMatchObject({ code: 0 });

    const patient = start();
    await reach();
    expect(await isReady(url)).toBe(false);
    await server.start();
    await until('/readyz is 200', () => isReady(url));
    await patient.ready;
  });
});

describe('a COMMIT whose outcome is unknown', () => {
  let wire: Awaited<ReturnType<typeof openWire>>;
  beforeAll(async () => {
    wire = await openWire(server.url);
  });
  afterAll(() => wire.close());

  test('a POST that is repeated under its Idempotency-Key makes one batch', async () => {
    const url = await startProgram(wire.url, { Role: 'Web' }).ready;
    for (const where of ['before COMMIT', 'after COMMIT'] as const) {
      const tenant = await newTenant();
      const client = await visit(url, db, tenant);
      const stored = () => count(sql`batch where mandator_id = ${tenant.mandatorId}`);
      const jobs = freshJobs(20);
      const post = () => client.post(jobs, { 'Idempotency-Key': 'once' });
      wire.cutNext(where, 'idempotent_request');
      expect((await post()).status).toBe(503);
      expect([wire.hasCut, await stored()]).toEqual([true, where === 'after COMMIT' ? 1 : 0]);
      // The backend of the connection that was cut may hold the key for a moment yet.
      const again = await until('it is not still running', async () => {
        const answer = await post();
        return answer.status !== 409 && answer;
      });
      expect(again.status).toBe(202);
      const { BatchId } = (await again.json()) as { BatchId: string };
      expect([await stored(), await count(sql`batch where id = ${BatchId}::uuid`)]).toEqual([1, 1]);
    }
  });

  test('an import is there once', async () => {
    const url = await startProgram(server.url, { Role: 'Web' }).ready;
    await startProgram(wire.url, { Role: 'Worker' }).ready;
    for (const where of ['before COMMIT', 'after COMMIT'] as const) {
      const tenant = await newTenant();
      const client = await visit(url, db, tenant);
      await until('no other batch is open', async () => (await count(sql`batch where finished_at is null`)) === 0);
      wire.cutNext(where, 'insert into lesson ');
      const batch = await client.importJobs(freshJobs(200));
      expect(wire.hasCut).toBe(true);
      expect(batch).toMatchObject({ ImportStatus: 'LessonsCreated', CreatedCount: 200 });
      expect([
        await count(sql`lesson where mandator_id = ${tenant.mandatorId}`),
        await count(sql`booking where mandator_id = ${tenant.mandatorId}`),
      ]).toEqual([200, 200]);
      // What was committed unheard is not done again.
      if (where === 'after COMMIT')
        expect(await count(sql`batch where mandator_id = ${tenant.mandatorId} and attempts = 1`)).toBe(1);
    }
  });
});

describe('poison', () => {
  test('a batch that always fails technically is given up; other tenants, and its own next one, continue', async () => {
    const [sick, well] = [await newTenant(), await newTenant()];
    await sql`create function fail_on_poison() returns trigger language plpgsql as $$
      begin if new.job_id = 'poison' then raise 'out of order' using errcode = 'XX000'; end if; return new; end $$`.execute(
      db,
    );
    await sql`create trigger poisoned before insert on lesson_job for each row execute function fail_on_poison()`.execute(
      db,
    );
    // So that the test need not wait for 25 failures.
    await sql`create function tried_before() returns trigger language plpgsql as $$
      begin new.attempts := 23; return new; end $$`.execute(db);
    await sql`create trigger tried before insert on batch for each row
      when (new.mandator_id = ${sql.lit(sick.mandatorId)}) execute function tried_before()`.execute(db);

    const program = startProgram(server.url);
    const url = await program.ready;
    const [sickClient, wellClient] = [await visit(url, db, sick), await visit(url, db, well)];
    const poison = await accept(sickClient, [{ ...freshJobs(1)[0], JobID: 'poison' }]);
    const next = await accept(sickClient, freshJobs(10));
    await until(
      'it has failed once',
      async () => (await count(sql`batch where id = ${poison}::uuid and attempts > 23`)) > 0,
    );
    const others = await Promise.all([1, 2, 3].map(() => wellClient.importJobs(freshJobs(10))));
    expect(others.map(({ ImportStatus }) => ImportStatus)).toEqual(others.map(() => 'LessonsCreated'));

    // Its pause is over.
    await until('it waits', async () => {
      const { rows } = await sql`
        update batch set not_before = null where id = ${poison}::uuid and troubled_since is not null returning id`.execute(
        db,
      );
      return rows.length > 0;
    });
    const failed = await sickClient.end(poison);
    expect(failed).toMatchObject({
      ImportStatus: 'LessonsImportFailed',
      FailureKind: 'Technical',
      ErrorMessages: expect.stringMatching(
        /started 25 times.* because an error of the service, .* nothing of it was stored/,
      ),
    });
    const at = (batch: Record<string, unknown>, field: string) => Date.parse(String(batch[field]));
    for (const batch of others) expect(at(batch, 'FinishedAt')).toBeLessThanOrEqual(at(failed, 'FinishedAt'));
    expect(await sickClient.end(next)).toMatchObject({ ImportStatus: 'LessonsCreated' });
    expect(await count(sql`lesson_job where mandator_id = ${sick.mandatorId} and job_id = 'poison'`)).toBe(0);
    await until('the queue is empty', async () => (await count(sql`graphile_worker._private_jobs`)) === 0);
    await sql`drop trigger poisoned on lesson_job`.execute(db);
  });
});

describe('a worker in the web process', () => {
  let service: Service;
  let outside: Database;
  beforeEach(async () => {
    service = await startService({}, rooms);
    outside = openDatabase(service.databaseUrl, { max: 5, log: openLog('silent'), statementTimeout: 0 });
  });
  afterEach(async () => {
    await releaseAll();
    await outside.destroy();
    await service.stop();
  });

  test('continues when all connections of the requests are busy', async () => {
    const client = await visit(service.url, outside, service.tenant);
    const release = await hold(outside, (trx) => sql`select from resource for update`.execute(trx));
    const id = await accept(client, freshJobs(50));
    const given = Promise.withResolvers<void>();
    const taken = Array.from({ length: 10 }, () => {
      const ready = Promise.withResolvers<void>();
      const busy = service.context.db.connection().execute(async () => {
        ready.resolve();
        await given.promise;
      });
      return { ready: ready.promise, busy };
    });
    await Promise.all(taken.map(({ ready }) => ready));
    await release();
    const ended = until('the batch has ended', async () => {
      const rows = await outside.selectFrom('batch').select('import_status').where('id', '=', id).execute();
      return rows[0]?.import_status === 'LessonsCreated';
    });
    await ended.finally(given.resolve);
    await Promise.all(taken.map(({ busy }) => busy));
  });

  test('comes back when the ends of jobs could not be written, and leaves none of them locked', async () => {
    const other = await makeTenant(outside, { code: 'other', rooms });
    const [client, otherClient] = [
      await visit(service.url, outside, service.tenant),
      await visit(service.url, outside, other),
    ];
    await sql`create sequence refusal`.execute(outside);
    await sql`create function refuse_twice() returns trigger language plpgsql as $$
      begin
        perform pg_advisory_xact_lock_shared(2);
        if nextval('refusal') <= 2 then raise 'not now' using errcode = '57P03'; end if;
        return old;
      end $$`.execute(outside);
    await sql`create trigger refuses before delete on graphile_worker._private_jobs
      for each row execute function refuse_twice()`.execute(outside);
    const waitFor = (wanted: number, event: 'advisory' | 'transactionid') =>
      until(`${wanted} wait for ${event}`, async () => {
        const { rows } = await sql`select from pg_stat_activity
          where datname = current_database() and wait_event_type = 'Lock' and wait_event = ${event}`.execute(outside);
        return rows.length === wanted;
      });
    const holdRooms = ({ mandatorId }: { mandatorId: number }) =>
      hold(outside, (trx) => sql`select from resource where mandator_id = ${mandatorId} for update`.execute(trx));
    const holds = [await holdRooms(service.tenant), await holdRooms(other)];
    const refuse = await hold(outside, (trx) => sql`select pg_advisory_xact_lock(2)`.execute(trx));
    const ids = [await accept(client, freshJobs(5)), await accept(otherClient, freshJobs(5))] as const;
    await waitFor(2, 'transactionid');
    // Locked long ago: who looks after the dead need not wait.
    await sql`update graphile_worker._private_jobs set locked_at = now() - interval '1 minute'`.execute(outside);
    // One after the other, so that they are written down one by one.
    for (const [at, release] of holds.entries()) {
      await release();
      await waitFor(at + 1, 'advisory');
    }
    await refuse();
    expect(await client.end(ids[0])).toMatchObject({ ImportStatus: 'LessonsCreated' });
    expect(await otherClient.end(ids[1])).toMatchObject({ ImportStatus: 'LessonsCreated' });
    const jobs = sql`select from graphile_worker._private_jobs`;
    await until('the queue is empty', async () => (await jobs.execute(outside)).rows.length === 0);
    expect(await client.importJobs(freshJobs(5))).toMatchObject({ ImportStatus: 'LessonsCreated' });
    await until('/readyz is 200', () => isReady(service.url));
  });
});
