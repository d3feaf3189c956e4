/** Nothing cancels a COMMIT that waits for a synchronous standby: it would be acknowledged without the standby. */
import { afterAll, afterEach, beforeAll, beforeEach, expect, test } from '@jest/globals';
import { sql } from 'kysely';
import { type Database, openDatabase } from '../../src/db/database.ts';
import { diagnose } from '../../src/db/diagnosis.ts';
import { runNextBatch } from '../../src/lessons/service.ts';
import { openLog } from '../../src/log.ts';
import { releaseTheDead, workFor } from '../../src/worker/leases.ts';
import { type DatabaseServer, startDatabaseServer } from '../_util/database-server.ts';
import { lessonClient, makeJobs } from '../_util/lessons.ts';
import { until } from '../_util/process.ts';
import { type Service, startService } from '../_util/service.ts';
import { ask } from '../_util/streaming.ts';

const log = openLog('silent');
let server: DatabaseServer;
let service: Service;
let work: Database;

const waitFor = (standbys: string) =>
  ask(server.url, `alter system set synchronous_standby_names = '${standbys}'`, 'select pg_reload_conf()');

beforeAll(async () => {
  server = await startDatabaseServer();
  // Only what says so waits.
  await ask(server.url, `alter database ${new URL(server.url).pathname.slice(1)} set synchronous_commit = local`);
  service = await startService({ DatabaseUrl: server.url, Role: 'Web' });
  work = openDatabase(server.url, { max: 4, log, statementTimeout: 0 });
});
beforeEach(async () => {
  await waitFor('nobody');
  await untilCommitsWait();
});
afterEach(() => waitFor(''));
afterAll(async () => {
  await waitFor('');
  await work?.destroy();
  await service?.stop();
  await server?.remove();
});

async function findWaiting(): Promise<number[]> {
  const { rows } = await sql<{ pid: number }>`
    select pid from pg_stat_activity where wait_event = 'SyncRep'`.execute(service.context.db);
  return rows.map(({ pid }) => pid);
}

/** Looks often, each time after what was sent before. */
async function insistOnWaiting(pid: number): Promise<void> {
  for (let look = 0; look < 50; look++) expect(await findWaiting()).toEqual([pid]);
}

async function oneWaits(): Promise<number> {
  await until('its COMMIT waits', async () => (await findWaiting()).length === 1);
  return (await findWaiting())[0]!;
}

/** Sessions learn from the checkpointer that they have to wait, which hears of the setting when it gets its turn. */
async function untilCommitsWait(): Promise<void> {
  let isProbing = true;
  const probing = work.connection().execute(async (session) => {
    await sql`set synchronous_commit = on`.execute(session);
    while (isProbing) await sql`select pg_logical_emit_message(true, 'test', 'probe')`.execute(session);
    await sql`reset synchronous_commit`.execute(session);
  });
  const pid = await oneWaits();
  isProbing = false;
  await sql`select pg_cancel_backend(${pid})`.execute(service.context.db);
  await probing;
}

test('the COMMIT of a batch, while its process stops', async () => {
  const { db } = service.context;
  await sql`
    create function wait_for_standby() returns trigger language plpgsql as $$
    begin
      perform set_config('synchronous_commit', 'on', true);
      return null;
    end $$`.execute(db);
  await sql`
    create trigger waits after update on batch for each row when (new.import_status = 'LessonsCreated')
    execute function wait_for_standby()`.execute(db);
  const client = lessonClient(service, await service.signIn(service.tenant, 'Importer'));
  const { BatchId } = (await (await client.post(makeJobs(3))).json()) as { BatchId: string };
  const stop = new AbortController();
  const context = { ...service.context, work, signal: stop.signal, runner: 'stopping' };
  const ran = runNextBatch(context, service.tenant.mandatorId, 'long');
  const pid = await oneWaits();
  stop.abort();
  await insistOnWaiting(pid);
  await waitFor('');
  await ran;
  expect((await client.get(`/batches/${BatchId}`)).ImportStatus).toBe('LessonsCreated');
});

test('the COMMIT of a dead worker', async () => {
  const ended = work.connection().execute(async (session) => {
    await workFor(session, 'dead');
    await session.transaction().execute(async (trx) => {
      await sql`set local synchronous_commit = on`.execute(trx);
      await sql`select pg_logical_emit_message(true, 'test', 'written')`.execute(trx);
    });
  });
  const pid = await oneWaits();
  await work.connection().execute((session) => releaseTheDead(session, [], log));
  await insistOnWaiting(pid);
  await waitFor('');
  await ended;
  // One that waits for no standby is ended.
  const idle = work.connection().execute(async (session) => {
    await workFor(session, 'dead');
    await work.connection().execute((other) => releaseTheDead(other, [], log));
    await sql`select`.execute(session);
  });
  await expect(idle).rejects.toThrow();
});

test('the doctor says that its COMMIT was not confirmed, and to look at the standby', async () => {
  const url = new URL(server.url);
  url.searchParams.set('options', '-c synchronous_commit=on');
  const db = openDatabase(url.href, { max: 1, log, statementTimeout: 3_000 });
  try {
    expect((await diagnose(server.url, db)).find(({ check }) => check === 'Writes')).toMatchObject({
      level: 'fault',
      text: expect.stringMatching(/^not confirmed: /),
      remedy: expect.stringContaining('synchronous_standby_names'),
    });
  } finally {
    await db.destroy();
  }
});
