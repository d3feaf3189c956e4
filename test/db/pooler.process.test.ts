/** Requests through PgBouncer in transaction mode, and the rest over direct connections. */
import { execFile } from 'node:child_process';
import path from 'node:path';
import { promisify } from 'node:util';
import { afterAll, beforeAll, describe, expect, test } from '@jest/globals';
import { sql } from 'kysely';
import { type Database, isPooled, openDatabase } from '../../src/db/database.ts';
import { diagnose } from '../../src/db/diagnosis.ts';
import { openNotifications } from '../../src/db/notifications.ts';
import { lockClasses } from '../../src/flow/locks.ts';
import { openLog } from '../../src/log.ts';
import { startServer } from '../../src/server.ts';
import { makeTenant } from '../_util/factories.ts';
import { travel } from '../_util/journey.ts';
import { pepper } from '../_util/pepper.ts';
import { hasPgBouncer, startPooler } from '../_util/pooler.ts';
import { cloneDatabase } from '../_util/postgres.ts';
import { type Service, startService, testConfig } from '../_util/service.ts';

const log = openLog('silent');
const project = path.join(import.meta.dirname, '../..');

const pooled = hasPgBouncer ? describe : describe.skip;
pooled(hasPgBouncer ? 'PgBouncer' : 'SKIPPED: pgbouncer is not installed', () => {
  let database: Awaited<ReturnType<typeof cloneDatabase>>;
  let pooler: Awaited<ReturnType<typeof startPooler>>;
  let service: Service;

  beforeAll(async () => {
    database = await cloneDatabase();
    pooler = await startPooler(database.url);
    service = await startService({ DatabaseUrl: database.url, PooledDatabaseUrl: pooler.through(database.url) });
  });
  afterAll(async () => {
    await service.stop();
    await pooler.stop();
    await database.drop();
  });

  // First: a start with the pooler in place of the direct connection sets up sessions of PgBouncer's.
  test('gives transactions the time-outs of their pool, and leaves none behind in its sessions', async () => {
    const { db, inbox, uploads } = service.context;
    const timeout = sql<{ timeout: string }>`select current_setting('statement_timeout') as timeout`;
    const inside = await Promise.all(
      [db, inbox, uploads].map(async (one) => {
        expect(isPooled(one)).toBe(true);
        return (await one.transaction().execute((trx) => timeout.execute(trx))).rows[0]?.timeout;
      }),
    );
    expect(inside).toEqual(['15s', '2500ms', '1min']);
    const outside = await Promise.all(Array.from({ length: 10 }, () => timeout.execute(db)));
    expect(new Set(outside.map(({ rows }) => rows[0]?.timeout)).size).toBe(1);
  });

  test('sends nothing to PostgreSQL beside the statements themselves', async () => {
    // Of its own, in which nobody else commits.
    const quiet = await cloneDatabase();
    const one = await startPooler(quiet.url, 1);
    const db = openDatabase(one.through(quiet.url), { max: 1, log, statementTimeout: 5_000, pooled: true });
    const countCommits = async () => {
      const { rows } = await sql<{ commits: number }>`
        select pg_stat_get_db_xact_commit(oid)::float8 as commits, pg_stat_force_next_flush()
        from pg_database where datname = current_database()`.execute(db);
      return rows[0]!.commits;
    };
    await countCommits();
    const before = await countCommits();
    for (let sent = 0; sent < 100; sent++) await sql`select`.execute(db);
    await countCommits();
    expect((await countCommits()) - before).toBeLessThan(150);
    await db.destroy();
    await one.stop();
    await quiet.drop();
  });

  test('in place of the direct connection ends a start, which names it', async () => {
    const server = await startServer(testConfig(pooler.through(database.url)), log);
    await expect(server.ready).rejects.toThrow(
      /^DatabaseUrl: LISTEN receives nothing from other connections, as through/,
    );
    await server.stop();
  });

  test.each([['migrate'], ['migrate', '--dry-run'], ['backup', '-'], ['tenant', 'thaw']])(
    'in place of the direct connection is refused by what needs sessions: %s %s',
    async (...args) => {
      const env = { ...process.env, DatabaseUrl: pooler.through(database.url), Pepper: pepper, LogLevel: 'error' };
      const ran = promisify(execFile)(process.execPath, ['src/main.js', ...args], { cwd: project, env });
      await expect(ran).rejects.toMatchObject({
        code: 78,
        stderr: expect.stringMatching(/^DatabaseUrl: LISTEN receives nothing/),
      });
    },
  );

  test('in place of the direct connection hears no notifications: /readyz and the doctor say so', async () => {
    const notifications = openNotifications(pooler.through(database.url), log);
    expect(await notifications.hears()).toBe(false);
    expect(notifications.listening).toBe(false);
    await notifications.close();
    const findings = await diagnose(pooler.through(database.url), service.context.db);
    expect(findings).toContainEqual(expect.objectContaining({ check: 'Notifications', level: 'fault' }));
  });

  test('whose role has no time-out is a warning, until it has the ones that the doctor names', async () => {
    const examine = async (db: Database) =>
      (await diagnose(database.url, db)).filter(({ check }) => check === 'Pooler');
    // What somebody set in the sessions does not count.
    await Promise.all(
      Array.from({ length: 30 }, () => sql`set statement_timeout = '15min'`.execute(service.context.db)),
    );
    const [before] = await examine(service.context.db);
    expect(before).toMatchObject({ level: 'warning', text: expect.stringMatching(/have no time-out/) });
    const [, statements = ''] = /: (alter role .*)$/.exec(before?.remedy ?? '') ?? [];
    await sql.raw(statements).execute(service.context.db);
    // The sessions of the first one are from before.
    const other = await startPooler(database.url);
    const db = openDatabase(other.through(database.url), { max: 1, log, statementTimeout: 0, pooled: true });
    expect(await examine(db)).toMatchObject([{ level: 'ok' }]);
    await db.destroy();
    await other.stop();
  });

  test('that needs attention is told by a start in one line, whose level is that of the log', async () => {
    const lines: string[] = [];
    const server = await startServer(
      testConfig(database.url, { PooledDatabaseUrl: 'postgres://127.0.0.1:9/none' }),
      openLog('warn', { write: (line) => void lines.push(line) }),
    );
    await server.ready;
    await server.stop();
    const told = lines.filter((line) => line.includes('needs attention'));
    expect(told).toHaveLength(1);
    expect(told[0]).toMatch(/^\{"level":"warn",(?!.*"level":).*"fault":"PooledDatabaseUrl cannot be used: /);
  });

  test('must lead to the same database', async () => {
    const elsewhere = await cloneDatabase();
    const findings = await diagnose(elsewhere.url, service.context.db);
    expect(findings.find(({ check }) => check === 'Pooler')).toMatchObject({
      level: 'fault',
      text: 'PooledDatabaseUrl leads to another database than DatabaseUrl',
    });
    const server = await startServer(
      testConfig(elsewhere.url, { PooledDatabaseUrl: pooler.through(database.url) }),
      log,
    );
    await expect(server.ready).rejects.toThrow(/^PooledDatabaseUrl: leads to another database than DatabaseUrl/);
    await server.stop();
    await elsewhere.drop();
  });

  test('is bypassed by what needs a session: a tenant is frozen, thawed and removed', async () => {
    const { code } = await makeTenant(service.context.db, { code: 'resting' });
    const env = {
      ...process.env,
      DatabaseUrl: database.url,
      PooledDatabaseUrl: pooler.through(database.url),
      Pepper: pepper,
      LogLevel: 'error',
    };
    const run = (...args: string[]) =>
      promisify(execFile)(process.execPath, ['src/main.js', 'tenant', ...args, '--mandator', code], {
        cwd: project,
        env,
      });
    for (const args of [['freeze'], ['thaw'], ['freeze'], ['thaw'], ['delete', '--yes']]) await run(...args);
    const { rows } = await sql`
      select from pg_locks where locktype = 'advisory' and classid = ${lockClasses.rest}
        and database = (select oid from pg_database where datname = current_database())`.execute(service.context.db);
    expect(rows).toEqual([]);
  });

  test('that does not answer is named by the doctor', async () => {
    const db = openDatabase('postgres://127.0.0.1:1/rooms', { max: 1, log, statementTimeout: 0, pooled: true });
    expect(await diagnose(database.url, db)).toMatchObject([
      {
        check: 'Database',
        level: 'fault',
        text: expect.stringMatching(/^PooledDatabaseUrl cannot be used: .*ECONNREFUSED/),
      },
    ]);
    await db.destroy();
  });

  test('carries REST, GraphQL, imports and subscriptions, of more callers than it has sessions', async () => {
    await Promise.all([travel(service), travel(service), travel(service)]);
    const ready = await fetch(`${service.url}/readyz`);
    expect([ready.status, await ready.json()]).toMatchObject([200, { Status: 'Healthy' }]);
  });
});
