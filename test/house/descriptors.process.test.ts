/** A process that has no file descriptors left. */
import { once } from 'node:events';
import net from 'node:net';
import { afterAll, afterEach, beforeAll, expect, test } from '@jest/globals';
import { sql } from 'kysely';
import { type Database, openDatabase } from '../../src/db/database.ts';
import { openLog } from '../../src/log.ts';
import { makeTenant } from '../_util/factories.ts';
import { hold, releaseAll } from '../_util/hold.ts';
import { cloneDatabase } from '../_util/postgres.ts';
import { killPrograms, startProgram, visit } from '../_util/process.ts';

let database: Awaited<ReturnType<typeof cloneDatabase>>;
let db: Database;

beforeAll(async () => {
  database = await cloneDatabase();
  db = openDatabase(database.url, { max: 2, log: openLog('silent'), statementTimeout: 0 });
});
afterEach(killPrograms);
afterAll(async () => {
  await releaseAll();
  await db.destroy();
  await database.drop();
});

const few = ['sh', '-c', 'ulimit -n 60 && exec "$@"', 'sh'];

/** A connection that stays open. */
async function connect(url: string) {
  const socket = net.connect(Number(new URL(url).port), '127.0.0.1').on('error', () => {});
  await once(socket, 'connect');
  return {
    socket,
    /** Sends a request. @returns the status of its answer; undefined when the connection is closed without one */
    async get(path: string, token = ''): Promise<number | undefined> {
      socket.write(`GET ${path} HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer ${token}\r\n\r\n`);
      const first = await new Promise<string>((resolve) => {
        socket.once('data', (data) => resolve(String(data))).once('close', () => resolve(''));
      });
      const [, status] = /^HTTP\/1.1 (\d+)/.exec(first) ?? [];
      return status === undefined ? undefined : Number(status);
    },
  };
}

test('requests for which no connection to PostgreSQL can be opened are answered 503, as in an outage', async () => {
  const url = await startProgram(database.url, { Role: 'Web' }, few).ready;
  const tenant = await makeTenant(db);
  const { token } = await visit(url, db, tenant);
  const clients = await Promise.all(Array.from({ length: 10 }, () => connect(url)));
  for (const client of clients) expect(await client.get('/healthz')).toBe(200);
  const others = [];
  for (let answer: number | undefined = 200; answer !== undefined; ) {
    const other = await connect(url);
    others.push(other.socket);
    answer = await other.get('/healthz');
  }
  // What has a connection waits, so that the others need further ones.
  const release = await hold(db, (trx) => sql`lock table booking`.execute(trx));
  const answers = clients.map((client) => client.get(`/${tenant.code}/api/v1.0/bookings`, token));
  expect(await Promise.race(answers)).toBe(503);
  await release();
  for (const answer of await Promise.all(answers)) expect([200, 503]).toContain(answer);
  for (const socket of [...others, ...clients.map(({ socket }) => socket)]) socket.destroy();
});
