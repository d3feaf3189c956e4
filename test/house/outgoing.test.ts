/** Whatever another server answers, our request ends with an answer or an error within its limits, and the process survives. */
import { randomBytes } from 'node:crypto';
import http from 'node:http';
import type { LookupFunction } from 'node:net';
import { brotliCompressSync, deflateSync, gzipSync } from 'node:zlib';
import { afterAll, beforeAll, describe, expect, test } from '@jest/globals';
import { readRetryAfter } from '../../src/http/retry-after.ts';
import { AnswerTooLarge, fetchBounded, fetchSafely } from '../../src/http/safe-fetch.ts';
import { type Asked, endless, type ScriptedServer, startScriptedServer, type Told } from '../_util/scripted-server.ts';

const most = 4 * 1_048_576;
let server: ScriptedServer;
beforeAll(async () => {
  server = await startScriptedServer();
});
afterAll(() => server.close());

const ask = (init = {}) => fetchBounded(new URL('/x', server.origin), init, most);
const raw =
  (text: string): Told['body'] =>
  (response) =>
    void response.socket!.end(text);

describe('an answer that is compressed although it was asked not to be', () => {
  // Random, so that it stays above the 131 KB that a socket holds.
  const content = randomBytes(300_000);

  test.each([
    ['gzip', gzipSync(content)],
    ['X-GZIP', gzipSync(content)],
    ['deflate', deflateSync(content)],
    ['br', brotliCompressSync(content)],
  ])('%s, with its length and a connection that closes: it is read', async (coding, bytes) => {
    const headers = { 'content-encoding': coding, 'content-length': `${bytes.length}`, connection: 'close' };
    server.answer(() => ({ headers, body: (response) => void response.end(bytes) }));
    for (let round = 0; round < 5; round++) expect((await ask()).bytes.equals(content)).toBe(true);
    expect(server.asked[0]!.headers['accept-encoding']).toBe('identity');
  });

  test('to more than is allowed: an error, with no more inflated', async () => {
    const bomb = gzipSync(Buffer.alloc(64 * 1_048_576));
    server.answer(() => ({
      headers: { 'content-encoding': 'gzip' },
      body: (response) => void response.end(bomb),
    }));
    await expect(ask()).rejects.toBeInstanceOf(AnswerTooLarge);
  });

  test.each(['zstd', 'gzip, gzip', 'gzip'])('%s, which cannot be read: an error', async (coding) => {
    server.answer(() => ({ headers: { 'content-encoding': coding }, body: 'not compressed' }));
    await expect(ask()).rejects.toThrow(/compressed|header/);
  });
});

test.each<[string, Told['body'], string]>([
  ['no HTTP', raw('SSH-2.0-OpenSSH\r\n'), 'HPE_INVALID_CONSTANT'],
  ['nothing', (response) => void response.socket!.destroy(), 'ECONNRESET'],
  ['headers without an end', raw(`HTTP/1.1 200 OK\r\nx: ${'x'.repeat(40_000)}`), 'HPE_HEADER_OVERFLOW'],
  ['less than its length', raw('HTTP/1.1 200 OK\r\nContent-Length: 9\r\n\r\nless'), 'ECONNRESET'],
  ['a broken chunk', raw('HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\nzz\r\n'), 'ECONNRESET'],
])('%s: an error that says so', async (_, body, code) => {
  server.answer(() => ({ body: body! }));
  await expect(ask()).rejects.toMatchObject({ code });
});

test('an upgrade to another protocol: an error', async () => {
  server.answer(() => ({
    body: raw('HTTP/1.1 101 Switching Protocols\r\nConnection: upgrade\r\nUpgrade: x\r\n\r\n')!,
  }));
  await expect(ask()).rejects.toThrow('without an answer');
});

test('an answer without an end is not read on', async () => {
  server.answer(() => ({ body: endless }));
  await expect(ask()).rejects.toBeInstanceOf(AnswerTooLarge);
});

test('the signal ends it, with its own reason, before an answer and within one', async () => {
  for (const body of [() => {}, (response: { write(text: string): unknown }) => void response.write('x')]) {
    const stop = new AbortController();
    server.answer(() => {
      setImmediate(() => stop.abort(new Error('stopped')));
      return { body };
    });
    await expect(ask({ signal: stop.signal })).rejects.toThrow('stopped');
  }
});

test('a redirect is not followed', async () => {
  server.answer(() => ({ status: 302, headers: { location: '/elsewhere' } }));
  expect(await ask()).toMatchObject({ status: 302 });
  expect(server.asked).toHaveLength(1);
});

test('what is sent has its length, but for a stream, which the answer may come before', async () => {
  server.answer(({ body, headers }: Asked) => ({ body: { body, headers } }));
  const sent = async (body: unknown) => JSON.parse((await ask({ method: 'POST', body })).bytes.toString()) as Asked;
  expect(await sent('text')).toMatchObject({ body: 'text', headers: { 'content-length': '4' } });
  expect(await sent(new TextEncoder().encode('bytes'))).toMatchObject({
    body: 'bytes',
    headers: { 'content-length': '5' },
  });
  expect(await sent(new URLSearchParams({ a: 'ü' }))).toMatchObject({
    body: 'a=%C3%BC',
    headers: { 'content-type': 'application/x-www-form-urlencoded;charset=UTF-8', 'content-length': '8' },
  });
  const stream = new Blob(['in ', 'pieces']).stream();
  expect(await sent(stream)).toMatchObject({
    body: 'in pieces',
    headers: { 'transfer-encoding': 'chunked' },
  });
});

test('an address that another system names is https, or the one of the settings', async () => {
  server.answer(() => ({ status: 204 }));
  expect((await fetchSafely(server.origin)(`${server.origin}/x`, {})).status).toBe(204);
  await expect(fetchSafely('https://elsewhere.test')(`${server.origin}/x`, {})).rejects.toThrow('neither an https');
});

test('a request that looks its host up itself never goes over a connection that another has opened', async () => {
  server.answer(() => ({ body: 'answered' }));
  const byName = new URL(`/x`, server.origin.replace('127.0.0.1', 'localhost'));
  expect((await fetchBounded(byName, {}, most)).status).toBe(200);
  const refused = new Error('not there');
  const lookup: LookupFunction = (_host, _options, callback) => callback(refused, '');
  await expect(fetchBounded(byName, { lookup }, most)).rejects.toBe(refused);
});

test('connections are kept where asked, each looked up, and one that the server has closed is replaced', async () => {
  const agent = new http.Agent({ keepAlive: true, maxSockets: 1 });
  let lookups = 0;
  const lookup: LookupFunction = (_host, { all }, callback) => {
    lookups += 1;
    return all ? callback(null, [{ address: '127.0.0.1', family: 4 }]) : callback(null, '127.0.0.1', 4);
  };
  const byName = new URL('/x', server.origin.replace('127.0.0.1', 'kept.test'));
  const post = (body: string) => fetchBounded(byName, { method: 'POST', body, lookup, agent }, most);
  const closing = new Set(['second']);
  server.answer(({ body }) => (closing.delete(body) ? { body: raw('')! } : { status: 204 }));
  for (const body of ['first', 'second', 'third', 'fourth']) expect((await post(body)).status).toBe(204);
  expect(server.asked.map(({ body }) => body)).toEqual(['first', 'second', 'second', 'third', 'fourth']);
  // Of the first, of the second again, which is not kept, and of the third.
  expect(lookups).toBe(3);
  agent.destroy();
  // A connection that is new, and closed without an answer: no reason to try again.
  closing.add('fifth');
  await expect(post('fifth')).rejects.toMatchObject({ code: 'ECONNRESET' });
  agent.destroy();
});

describe('Retry-After', () => {
  const read = (value: string) => readRetryAfter(new Headers({ 'Retry-After': value }));

  test.each([
    ['0', 0],
    ['120', 120_000],
    ['1.5', 1_500],
    ['Sun, 06 Nov 1994 08:49:37 GMT', 0],
  ])('%s is a pause', (value, ms) => expect(read(value)).toBe(ms));

  test('a date to come is a pause until then', () => {
    const pause = read(new Date(Date.now() + 600_000).toUTCString());
    expect(pause).toBeGreaterThan(500_000);
    expect(pause).toBeLessThanOrEqual(600_000);
  });

  test.each(['', 'later', '-5', '0x10', '1e3', '1, 2'])('"%s" is none', (value) => expect(read(value)).toBeUndefined());

  test('nor is a missing one', () => expect(readRetryAfter(new Headers())).toBeUndefined());
});
