import { once } from 'node:events';
import net, { type AddressInfo } from 'node:net';
import { describe, expect, test } from '@jest/globals';
import { sql } from 'kysely';
import { openDatabase } from '../../src/db/database.ts';
import { isOutage } from '../../src/flow/database-errors.ts';
import { atPrimary, hostsOf } from '../../src/flow/database-urls.ts';
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

test('a server that asks for a password that is not there is told of, and left', async () => {
  const messages = [
    // AuthenticationSASL, and the first message of a server
    [10, 'SCRAM-SHA-256\0\0'],
    [11, 'r=nonce,s=c2FsdA==,i=4096'],
  ] as const;
  const server = net.createServer((socket) => {
    const left = messages.values();
    socket.on('data', () => {
      const [kind, text] = left.next().value ?? [0, ''];
      const head = Buffer.from('R\0\0\0\0\0\0\0\0');
      head.writeInt32BE(8 + text.length, 1);
      head.writeInt32BE(kind, 5);
      socket.write(Buffer.concat([head, Buffer.from(text)]));
    });
    socket.on('error', () => {});
  });
  await once(server.listen(0, '127.0.0.1'), 'listening');
  const url = `postgres://somebody@127.0.0.1:${(server.address() as AddressInfo).port}/rooms`;
  const db = openDatabase(url, { max: 1, log: openLog('silent'), statementTimeout: 0 });
  await expect(sql`select`.execute(db)).rejects.toMatchObject({
    message: 'the server asks for a password, and neither the URL nor PGPASSWORD has one',
    code: '28P01',
  });
  // Ends once every connection has been closed.
  server.close();
  await once(server, 'close');
  await db.destroy();
});

test('a connection that is ended in the packet in which it becomes ready ends no process', async () => {
  const message = (type: string, body: string) => {
    const head = Buffer.from(`${type}\0\0\0\0`);
    head.writeInt32BE(4 + body.length, 1);
    return Buffer.concat([head, Buffer.from(body)]);
  };
  const server = net.createServer((socket) => {
    socket.once('data', () => {
      const ended = 'SFATAL\0VFATAL\0C57P01\0Mterminating connection\0\0';
      socket.end(Buffer.concat([message('R', '\0\0\0\0'), message('Z', 'I'), message('E', ended)]));
    });
    socket.on('error', () => {});
  });
  await once(server.listen(0, '127.0.0.1'), 'listening');
  const url = `postgres://somebody:secret@127.0.0.1:${(server.address() as AddressInfo).port}/rooms`;
  const db = openDatabase(url, { max: 1, log: openLog('silent'), statementTimeout: 0 });
  const error = await sql`select`.execute(db).catch((failure: Error) => failure);
  expect(isOutage(error)).toBe(true);
  await db.destroy();
  server.close();
});
