import { describe, expect, test } from '@jest/globals';
import { sql } from 'kysely';
import { openDatabase } from '../../src/db/database.ts';
import { atPrimary, hostsOf } from '../../src/db/hosts.ts';
import { isOutage } from '../../src/flow/database-errors.ts';
import { openLog } from '../../src/log.ts';
import { cloneDatabase } from '../_util/postgres.ts';

describe('a URL of several hosts', () => {
  test.each([
    ['postgres://u:p@a:1/d', ['postgres://u:p@a:1/d']],
    [
      'postgres://u:p@a:1,b:2/d?sslmode=require',
      ['postgres://u:p@a:1/d?sslmode=require', 'postgres://u:p@b:2/d?sslmode=require'],
    ],
    ['postgresql://a,b', ['postgresql://a', 'postgresql://b']],
    ['postgres://u:p%2C@[::1]:1,b/d?x=1,2', ['postgres://u:p%2C@[::1]:1/d?x=1,2', 'postgres://u:p%2C@b/d?x=1,2']],
    ['', ['']],
  ])('%s', (url, hosts) => expect(hostsOf(url)).toEqual(hosts));
});

test('is told to libpq with the condition that it takes writes', () => {
  const urls = ['postgres://a/d?x=1', 'postgres://a,b/d', 'postgres://a,b', 'postgres://a,b/d?x=1'];
  expect(urls.map(atPrimary)).toEqual([
    'postgres://a/d?x=1',
    'postgres://a,b/d?target_session_attrs=primary',
    'postgres://a,b?target_session_attrs=primary',
    'postgres://a,b/d?x=1&target_session_attrs=primary',
  ]);
  const own = 'postgres://a,b/d?target_session_attrs=any';
  expect(atPrimary(own)).toBe(own);
});

test('where a host does not answer, the next connection goes to the next one', async () => {
  const database = await cloneDatabase();
  const { host } = new URL(database.url);
  const url = database.url.replace(host, `127.0.0.1:1,${host}`);
  const db = openDatabase(url, { max: 2, log: openLog('silent'), statementTimeout: 0 });
  const ask = () => sql<{ one: number }>`select 1 as one`.execute(db);
  const error = await ask().catch((failure: Error) => failure);
  expect(isOutage(error)).toBe(true);
  for (const { rows } of await Promise.all([ask(), ask()])) expect(rows).toEqual([{ one: 1 }]);
  await db.destroy();
  await database.drop();
});
