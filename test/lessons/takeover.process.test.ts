/** A worker that hangs, or loses its connection, in the middle of imports: see worker/leases. */
import { afterAll, afterEach, beforeAll, expect, test } from '@jest/globals';
import { sql } from 'kysely';
import { layCable } from '../_util/cable.ts';
import { makeTenant } from '../_util/factories.ts';
import { firstMonday, type LessonClient, lessonClient, makeJobs } from '../_util/lessons.ts';
import { killPrograms, type Program, startProgram, until } from '../_util/process.ts';
import { type Service, startService } from '../_util/service.ts';

const rooms = ['R1', 'R2'];
let service: Service;
let tenants: { mandatorId: number; client: LessonClient }[];

beforeAll(async () => {
  service = await startService({ Role: 'Web' }, rooms);
  const { db } = service.context;
  const others = await Promise.all(['idle', 'busy'].map((code) => makeTenant(db, { code, rooms })));
  tenants = await Promise.all(
    others.map(async (tenant) => ({
      mandatorId: tenant.mandatorId,
      client: lessonClient({ url: service.url, tenant }, await service.signIn(tenant)),
    })),
  );
  // The first import of each tenant hangs in a statement: of one tenant until it is released, of the other for good.
  await sql`create table let_go ()`.execute(db);
  for (const [index, { mandatorId }] of tenants.entries()) {
    const name = sql.id(`slow_${index}`);
    await sql`create sequence ${name}`.execute(db);
    await sql`
      create function ${name}() returns trigger language plpgsql as ${sql.lit(
        `begin
          if nextval('slow_${index}') > 1 then return null; end if;
          while ${index === 0 ? 'not exists (select from let_go)' : 'true'} loop perform pg_sleep(0.1); end loop;
          return null;
        end`,
      )}`.execute(db);
    await sql`
      create trigger ${name} after insert on lesson_job for each row
      when (new.mandator_id = ${sql.lit(mandatorId)}) execute function ${name}()`.execute(db);
  }
  // Who has written what about a batch, and when.
  await sql`create table history (batch_id uuid, writer text, import_status text, attempts int, at timestamptz)`.execute(
    db,
  );
  await sql`
    create function record_history() returns trigger language plpgsql as $$
    begin
      insert into history values (new.id, current_setting('application_name'), new.import_status, new.attempts, clock_timestamp());
      return null;
    end $$`.execute(db);
  await sql`create trigger recorded after update on batch for each row execute function record_history()`.execute(db);
});
afterEach(killPrograms);
afterAll(() => service.stop());

const startWorker = (url = service.databaseUrl) => startProgram(url, { Role: 'Worker' });
const count = async (what: ReturnType<typeof sql>) =>
  (await sql<{ n: number }>`select count(*)::int as n from ${what}`.execute(service.context.db)).rows[0]!.n;
const now = async () =>
  (await sql<{ now: Date }>`select clock_timestamp() as now`.execute(service.context.db)).rows[0]!.now;

async function post({ client }: (typeof tenants)[number], from: number): Promise<string> {
  const answer = await client.post(makeJobs(30, { rooms, prefix: `${from}-`, from }));
  expect(answer.status).toBe(202);
  return ((await answer.json()) as { BatchId: string }).BatchId;
}

/** How many of the worker's sessions are in the statement that stays. */
const inside = ({ name }: Program) =>
  count(sql`pg_stat_activity where datname = current_database() and application_name = ${name}
    and state = 'active' and wait_event = 'PgSleep'`);

test('one that is frozen loses its tenants within 60 s, idle or in a statement, and writes nothing once it thaws', async () => {
  const { db } = service.context;
  const frozen = startWorker();
  const url = await frozen.ready;
  const batches = await Promise.all(tenants.map((tenant) => post(tenant, firstMonday)));
  await until('it is in both imports', async () => (await inside(frozen)) === 2);
  const heir = startWorker();
  await heir.ready;
  frozen.signal('SIGSTOP');
  const frozenAt = await now();
  await sql`insert into let_go default values`.execute(db);

  await Promise.all(tenants.map(({ client }, index) => client.end(batches[index]!)));
  const { rows } = await sql<{ id: string; seconds: number; statuses: string[] }>`
    select batch_id as id, array_agg(distinct import_status) as statuses,
      extract(epoch from min(at) - ${frozenAt}::timestamptz)::float8 as seconds
    from history where writer = ${heir.name} and batch_id = any (${batches}::uuid[]) group by 1`.execute(db);
  process.stdout.write(`taken over after ${rows.map(({ seconds }) => seconds.toFixed(1)).join(' and ')} s\n`);
  expect(rows.map(({ id }) => id).sort()).toEqual([...batches].sort());
  for (const { seconds } of rows) expect(seconds).toBeLessThan(60);

  const thawedAt = await now();
  frozen.signal('SIGCONT');
  await until('it takes jobs again', async () => (await fetch(`${url}/readyz`)).status === 200);
  await until('it has noticed', () => frozen.lines.some(({ msg }) => msg === 'the worker stopped; it is restarted'));
  await until('it has given both up', async () => (await inside(frozen)) === 0);
  for (const [index, { client, mandatorId }] of tenants.entries()) {
    expect(await client.end(batches[index]!)).toMatchObject({
      ImportStatus: 'LessonsCreated',
      CreatedCount: 30,
    });
    expect(await count(sql`lesson where mandator_id = ${mandatorId}`)).toBe(30);
  }
  expect(
    await count(sql`history where writer = ${frozen.name} and at >= ${thawedAt}::timestamptz
      and batch_id = any (${batches}::uuid[])`),
  ).toBe(0);
});

test('one whose connections are all dead without a word says that it is not ready, heals, and takes jobs again', async () => {
  const cable = await layCable(service.databaseUrl);
  const worker = startWorker(cable.url);
  const url = await worker.ready;
  const isReady = async () => (await fetch(`${url}/readyz`)).status === 200;
  await until('it is ready', isReady);
  cable.strand();
  await until('it says that it is not ready', async () => !(await isReady()));
  const batch = await post(tenants[0]!, firstMonday + 105 * 7 * 86_400_000);
  await until('it is ready again', isReady);
  expect(await tenants[0]!.client.end(batch)).toMatchObject({ ImportStatus: 'LessonsCreated' });
  await cable.close();
});
