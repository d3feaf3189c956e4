/** PostgreSQL answers, but refuses what DatabaseUrl says. */
import { spawnSync } from 'node:child_process';
import { randomUUID } from 'node:crypto';
import path from 'node:path';
import { afterAll, beforeAll, describe, expect, test } from '@jest/globals';
import { pepper } from '../_util/pepper.ts';
import { cloneDatabase } from '../_util/postgres.ts';
import { ask } from '../_util/streaming.ts';

const main = path.join(import.meta.dirname, '..', '..', 'src', 'main.js');
const weak = `weak_${randomUUID().slice(0, 8)}`;
let database: Awaited<ReturnType<typeof cloneDatabase>>;

beforeAll(async () => {
  database = await cloneDatabase();
  await ask(database.url, `create role ${weak} login password 'weak'`);
});
afterAll(async () => {
  await ask(database.url, `drop role ${weak}`);
  await database.drop();
});

describe.each<[string, (url: URL) => void, string]>([
  ['a wrong password', (url) => void (url.password = 'wrong'), 'password authentication failed for user'],
  ['no such database', (url) => void (url.pathname = '/none'), 'database "none" does not exist'],
  ['a server without TLS', (url) => void (url.search = 'sslmode=verify-full'), 'The server does not support SSL'],
  [
    'a role without rights',
    (url) => void Object.assign(url, { username: weak, password: 'weak' }),
    'its role may not do that (permission denied for table ',
  ],
])('%s', (_what, change, message) => {
  test.each([[['tenants', 'list']], [['migrate']], [['serve']]])(
    '%j ends with code 78, and names the setting',
    (words) => {
      const url = new URL(database.url);
      change(url);
      const { status, stdout, stderr } = spawnSync(process.execPath, [main, ...words], {
        env: { PATH: process.env['PATH'], DatabaseUrl: url.href, Pepper: pepper, Port: '0' },
        encoding: 'utf8',
      });
      expect({ status, stdout }).toEqual({ status: 78, stdout: '' });
      expect(stderr).toContain(`DatabaseUrl: ${message}`);
    },
  );
});

test.each([['migrate'], ['serve']])(
  'a search_path without a schema ends %j with code 78 and its remedy',
  async (word) => {
    const url = new URL(database.url);
    await ask(database.url, `alter role ${weak} in database ${url.pathname.slice(1)} set search_path = 'none'`);
    const { status, stderr } = spawnSync(process.execPath, [main, word], {
      env: {
        PATH: process.env['PATH'],
        DatabaseUrl: Object.assign(url, { username: weak, password: 'weak' }).href,
        Pepper: pepper,
        Port: '0',
      },
      encoding: 'utf8',
    });
    expect(status).toBe(78);
    expect(stderr).toMatch(/DatabaseUrl: the search_path of .* names no schema that exists .*reset search_path/);
  },
);
