/** What an administrator has given to the role or the database as defaults of sessions. */
import { afterEach, beforeEach, expect, test } from '@jest/globals';
import { sql } from 'kysely';
import pg from 'pg';
import { connect } from '../../src/db/backup.ts';
import { openDatabase, setUpSession, withDatabase } from '../../src/db/database.ts';
import { diagnose } from '../../src/db/diagnosis.ts';
import { openLog } from '../../src/log.ts';
import { travel } from '../_util/journey.ts';
import { hasPgBouncer, startPooler } from '../_util/pooler.ts';
import { cloneDatabase } from '../_util/postgres.ts';
import { type Service, startService } from '../_util/service.ts';
import { ask } from '../_util/streaming.ts';

const given = {
  datestyle: 'German, DMY',
  timezone: 'Asia/Kolkata',
  standard_conforming_strings: 'off',
  default_transaction_isolation: 'serializable',
  transaction_timeout: '1min',
  idle_session_timeout: '1min',
};
let database: Awaited<ReturnType<typeof cloneDatabase>>;
let service: Service | undefined;

beforeEach(async () => {
  database = await cloneDatabase();
  const name = new URL(database.url).pathname.slice(1);
  // PostgreSQL 16 has no transaction_timeout.
  const known = await ask<{ name: keyof typeof given }>(
    database.url,
    `select lower(name) as name from pg_settings where lower(name) = any ('{${Object.keys(given)}}')`,
  );
  await ask(database.url, ...known.map((one) => `alter database ${name} set ${one.name} = '${given[one.name]}'`));
});
afterEach(async () => {
  await service?.stop();
  service = undefined;
  await database.drop();
});

async function useService({ url, tenant, context, signIn }: Service): Promise<void> {
  await travel(service!);
  const found = await fetch(`${url}/${tenant.code}/api/v1.0/bookings?From=2030-01-01T00:00:00Z&Search=algebra`, {
    headers: { authorization: `Bearer ${await signIn()}` },
  });
  expect(found.status).toBe(200);
  const findings = await diagnose(database.url, context.db);
  expect(findings.filter(({ level }) => level === 'fault')).toEqual([]);
}

test('they change nothing for the service', async () => {
  service = await startService({ DatabaseUrl: database.url });
  await useService(service);
});

(hasPgBouncer ? test : test.skip)(
  `${hasPgBouncer ? '' : 'SKIPPED: pgbouncer is not installed: '}they change nothing through a pooler`,
  async () => {
    const pooler = await startPooler(database.url);
    try {
      service = await startService({ DatabaseUrl: database.url, PooledDatabaseUrl: pooler.through(database.url) });
      await useService(service);
    } finally {
      await service?.stop();
      service = undefined;
      await pooler.stop();
    }
  },
);

test('a session begins whatever time-outs it was given', async () => {
  const name = new URL(database.url).pathname.slice(1);
  await ask(
    database.url,
    'create schema slow',
    `create function slow.pg_backend_pid() returns int volatile language sql as
      $$ select pg_catalog.pg_backend_pid() from pg_sleep(1.5) $$`,
    `alter database ${name} set search_path = slow, pg_catalog, public`,
    `alter database ${name} set lock_timeout = '1s'`,
    `alter database ${name} set statement_timeout = '1s'`,
  );
  const client = new pg.Client(database.url);
  await client.connect();
  await setUpSession(client);
  const { rows } = await client.query(
    "select current_setting('statement_timeout') as statement, current_setting('lock_timeout') as lock",
  );
  await client.end();
  expect(rows).toEqual([{ statement: '0', lock: '0' }]);
});

test('no work is too long, and a backup has instants that each PostgreSQL reads alike', async () => {
  const timeout = sql<{
    timeout: string;
  }>`select coalesce(current_setting('transaction_timeout', true), '0') as timeout`;
  const inSession = await withDatabase(database.url, openLog('silent'), (db) => timeout.execute(db));
  expect(inSession.rows).toEqual([{ timeout: '0' }]);
  const client = await connect(database.url);
  const { rows } = await client.query(`
    select coalesce(current_setting('transaction_timeout', true), '0') as timeout,
      current_setting('idle_session_timeout') as idle, timestamptz '2027-02-01 12:00+00' :: text as instant`);
  await client.end();
  expect(rows).toEqual([{ timeout: '0', idle: '0', instant: '2027-02-01 12:00:00+00' }]);
});

test('a setting of our own, which no PostgreSQL knows before, is set in each session', async () => {
  const db = openDatabase(database.url, {
    max: 1,
    log: openLog('silent'),
    statementTimeout: 0,
    settings: { 'roomgate.background': 1 },
  });
  const { rows } = await sql`select current_setting('roomgate.background', true) as background`.execute(db);
  expect(rows).toEqual([{ background: '1' }]);
  await db.destroy();
});
