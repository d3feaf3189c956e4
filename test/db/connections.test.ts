/** How many connections each role opens, and that they are there. */
import { randomUUID } from 'node:crypto';
import fs from 'node:fs';
import path from 'node:path';
import { expect, test } from '@jest/globals';
import pg from 'pg';
import { mostConnections } from '../../src/db/connections.ts';
import { withDatabase } from '../../src/db/database.ts';
import { findRooms, scarcityOf } from '../../src/db/direct.ts';
import { openLog } from '../../src/log.ts';
import { cloneDatabase } from '../_util/postgres.ts';
import { ask } from '../_util/streaming.ts';

const project = path.join(import.meta.dirname, '../..');

test('docs/operating.md tells how many connections each role opens', () => {
  const page = fs.readFileSync(path.join(project, 'docs/operating.md'), 'utf8');
  for (const Role of ['Web', 'Worker', 'All'] as const) {
    const [, told] = new RegExp(`^\\| \`${Role}\` \\|.*\\*\\*(\\d+)\\*\\* \\|$`, 'm').exec(page) ?? [];
    expect([Role, Number(told)]).toEqual([Role, mostConnections({ Role, PooledDatabaseUrl: undefined }).direct]);
    const { direct, pooled } = mostConnections({ Role, PooledDatabaseUrl: 'postgres://pool' });
    expect(page).toContain(`| \`${Role}\` with \`PooledDatabaseUrl\` | ${pooled} | ${direct} |`);
  }
});

test('too few connections are told of at the start', () => {
  const all = { Role: 'All', PooledDatabaseUrl: undefined } as const;
  expect(scarcityOf([{ limit: 'max_connections', most: 100, free: 46 }], all)).toBeUndefined();
  expect(scarcityOf([{ limit: 'max_connections', most: 100, free: 45 }], all)).toBe(
    'max_connections is 100, of which 45 are free; this process may need 46',
  );
});

test('the limit of the role bounds the direct connections only, as a pooler may sign in as another role', () => {
  const all = { Role: 'All', PooledDatabaseUrl: 'postgres://pool' } as const;
  const { direct, pooled } = mostConnections(all);
  const role = { limit: 'the connection limit of the role', most: direct };
  const database = { limit: 'the connection limit of the database', most: 100 };
  const enough = { ...role, free: direct };
  expect(scarcityOf([enough, { ...database, free: direct + pooled }], all)).toBeUndefined();
  expect(scarcityOf([{ ...role, free: direct - 1 }], all)).toMatch(`of which ${direct - 1} are free`);
  expect(scarcityOf([enough, { ...database, free: direct + pooled - 1 }], all)).toMatch(
    'the connection limit of the database is 100, of which',
  );
});

test('the narrowest limit comes first, of the server, the role or the database; only sessions of others use it', async () => {
  const { url, drop } = await cloneDatabase();
  const name = new URL(url).pathname.slice(1);
  const role = `narrow_${randomUUID().slice(0, 8)}`;
  const own = Object.assign(new URL(url), { username: role, password: 'narrow' }).href;
  const other = new pg.Client(own);
  const room = async () => (await withDatabase(own, openLog('silent'), findRooms))[0];
  try {
    await ask(url, `create role ${role} login password 'narrow'`);
    expect(await room()).toMatchObject({ limit: 'max_connections' });
    await other.connect();
    await ask(url, `alter role ${role} connection limit 4`);
    expect(await room()).toEqual({ limit: 'the connection limit of the role', most: 4, free: 3 });
    await ask(url, `alter database ${name} connection limit 3`);
    expect(await room()).toEqual({ limit: 'the connection limit of the database', most: 3, free: 2 });
  } finally {
    await other.end();
    await ask(url, `drop role if exists ${role}`);
    await drop();
  }
});
