/** Long batches, and mail servers that do not answer, leave a place for short work in each worker. */
import { afterAll, beforeAll, expect, test } from '@jest/globals';
import { sql } from 'kysely';
import { markCalendars } from '../../src/mail-subscriptions/marks.ts';
import { makeTenant } from '../_util/factories.ts';
import { type LessonClient, lessonClient, makeJobs } from '../_util/lessons.ts';
import { until } from '../_util/process.ts';
import { type ScriptedServer, startScriptedServer } from '../_util/scripted-server.ts';
import { type Service, startService } from '../_util/service.ts';
import { makeCalendar } from '../mail/_util/rows.ts';
import { eventAt, type ScriptedGraph, startScriptedGraph } from '../mail/_util/scripted-graph.ts';
import { enterSchool } from '../timetable-files/_util/school.ts';

const rooms = ['R1', 'R2', 'R3', 'R4', 'R5', 'R6'];
let service: Service;
let silent: ScriptedServer;
let graph: ScriptedGraph;

beforeAll(async () => {
  silent = await startScriptedServer();
  silent.answer(() => ({ body: () => {} }));
  graph = await startScriptedGraph();
  const settings = graph.settingsOf('mute');
  service = await startService(
    {
      ...settings,
      ...graph.settingsOf('spoken'),
      MailServer__mute__Url: silent.origin,
    },
    rooms,
  );
  const { db } = service.context;
  // The imports of the tenants in `held` wait in mid-batch, and for no lock, which they would give up.
  await sql`create table held (mandator_id integer primary key)`.execute(db);
  await sql`create function wait_while_held() returns trigger language plpgsql as $$
    begin
      while exists (select from held where mandator_id = new.mandator_id) loop perform pg_sleep(0.02); end loop;
      return new;
    end $$`.execute(db);
  await sql`create trigger held before insert on lesson_job for each row execute function wait_while_held()`.execute(
    db,
  );
});
afterAll(async () => {
  await sql`delete from held`.execute(service.context.db);
  await silent.close();
  await service.stop();
  await graph.stop();
});

let tenants = 0;

async function enter(code = `t${++tenants}`) {
  const tenant = await makeTenant(service.context.db, { code, rooms });
  const client = lessonClient({ url: service.url, tenant }, await service.signIn(tenant));
  return { tenant, client };
}

async function send(client: LessonClient, operation: string, jobs: unknown): Promise<string> {
  const answer = await client.send(operation, jobs);
  expect(answer.status).toBe(202);
  return ((await answer.json()) as { BatchId: string }).BatchId;
}

const count = async (what: ReturnType<typeof sql>) =>
  (await sql<{ n: number }>`select count(*)::int as n from ${what}`.execute(service.context.db)).rows[0]!.n;
const started = () => count(sql`batch where started_at is not null and finished_at is null`);

/** More lessons than the short lane takes. */
const many = 1_001;

test('however busy the worker is, short batches and other tenants’ calendars continue; long ones wait for a long place', async () => {
  const { db } = service.context;
  const timetable = makeJobs(many, { rooms, perJob: many });
  const [one] = timetable[0]!.LektionList;
  const thick = [{ JobID: 'thick', LektionList: [{ ...one, x: 'x'.repeat(1_100_000) }] }];
  const [stored, replaced, changed] = [await enter(), await enter(), await enter()];
  const ended = await Promise.all([stored, replaced, changed].map(({ client }) => client.importJobs(timetable)));
  expect(ended.map(({ ImportStatus }) => ImportStatus)).toEqual(ended.map(() => 'LessonsCreated'));
  const school = await enterSchool(service, rooms);
  const ofFiles = timetable.map((job) => ({ ...job, Quelle: 'csv' }));
  expect((await school.client.importJobs(ofFiles)).ImportStatus).toBe('LessonsCreated');

  const large = await Promise.all(Array.from({ length: 9 }, () => enter()));
  await sql`insert into held select unnest(${large.map(({ tenant }) => tenant.mandatorId)}::int[])`.execute(db);
  await Promise.all(large.map(({ client }) => send(client, 'create', thick)));
  await until('three are worked on', async () => (await started()) === 3);

  // Mail servers that do not answer, with more calendars than the worker reads at a time.
  const calendars = async (code: string) => {
    const { mandatorId, resources } = await makeTenant(db, { code, rooms });
    const mailbox = (name: string) => `${name.toLowerCase()}@${code}.example`;
    await sql`update resource set mailbox = lower(name) || '@' || ${`${code}.example`}::text where mandator_id = ${mandatorId}`.execute(
      db,
    );
    return await Promise.all(
      resources.map(({ id, name }) =>
        makeCalendar(db, { mandatorId, resourceId: id }, { kind: 'Graph', mailbox: mailbox(name) }),
      ),
    );
  };
  await markCalendars(db, await calendars('mute'), 'Push');
  await until('calendars are asked for in vain', () => silent.asked.length >= 3);
  graph.put('r1@spoken.example', eventAt('a', Date.now() + 86_400_000));
  const [spoken = 0] = await calendars('spoken');
  await markCalendars(db, [spoken], 'Push');
  await until('one of another mail server is read', async () =>
    count(sql`mail_calendar where id = ${spoken} and read_at is not null`),
  );

  // Sent as little, these are long: they delete many lessons.
  const hidden = [
    await send(stored.client, 'delete', [{ JobID: 'J0' }]),
    await send(replaced.client, 'update', [{ JobID: 'J0', ReplaceLektionList: true, LektionList: [one] }]),
    (await school.accept({ 'a.csv': 'Datum;Von;Bis;Raum;Fach\n14.06.2027;8:00;8:45;R1;M' }, { allowRemoval: true }))
      .BatchId,
  ];
  // And these are short, though one is about a job that is long.
  const shorts = await Promise.all(
    Array.from({ length: 6 }, async (_, number) => {
      const { client } = await enter();
      return { client, id: await send(client, 'create', makeJobs(3, { rooms, prefix: `short-${number}-` })) };
    }),
  );
  for (const { client, id } of shorts) expect((await client.end(id)).ImportStatus).toBe('LessonsCreated');
  const change = [{ JobID: 'J0', LektionList: [{ LektionId: one?.LektionId, Titel: 'changed' }] }];
  expect((await changed.client.importJobs(change, 'update')).ImportStatus).toBe('LessonsCreated');
  expect([
    await started(),
    await count(sql`batch where id = any (${hidden}::uuid[]) and started_at is not null`),
  ]).toEqual([3, 0]);

  await sql`delete from held`.execute(db);
  await until('all have ended', async () => (await count(sql`batch where finished_at is null`)) === 0);
  expect(await count(sql`batch where import_status <> 'LessonsCreated' or attempts <> 1`)).toBe(0);
});

test('a batch is queued in the lane of its size, as far as its body shows that', async () => {
  const web = await startService({ Role: 'Web' }, rooms);
  try {
    const { db } = web.context;
    const client = lessonClient({ url: web.url, tenant: web.tenant }, await web.signIn());
    const queued = async () =>
      (
        await sql<{
          key: string;
        }>`select key from graphile_worker._private_jobs where key like '%LessonBatches:%'`.execute(db)
      ).rows;
    await send(client, 'create', makeJobs(many, { rooms, perJob: many }));
    const { mandatorId } = web.tenant;
    expect(await queued()).toEqual([{ key: `ProcessLongLessonBatches:${mandatorId}` }]);
    await send(client, 'create', makeJobs(3, { rooms, prefix: 'short-' }));
    expect((await queued()).map(({ key }) => key).sort()).toEqual([
      `ProcessLessonBatches:${mandatorId}`,
      `ProcessLongLessonBatches:${mandatorId}`,
    ]);
  } finally {
    await web.stop();
  }
});
