import { once } from 'node:events';
import type { IncomingMessage } from 'node:http';
import net from 'node:net';
import { PassThrough } from 'node:stream';
import { gzipSync } from 'node:zlib';
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, jest, test } from '@jest/globals';
import { sql } from 'kysely';
import { RequestTimeout } from '../src/errors.ts';
import { readBytes, streamBytes } from '../src/request-body.ts';
import { hold, releaseAll } from './_util/hold.ts';
import { makeJobs } from './_util/lessons.ts';
import { webhookPath } from './_util/notifications.ts';
import { type Service, startService } from './_util/service.ts';

describe('the pace of a body', () => {
  const pace = { BodySeconds: 15, BodyBytesPerSecond: 1_000 };
  const limit = { most: 1_000_000, tooLarge: () => new Error('too large') };
  let client: PassThrough;
  let request: IncomingMessage;

  beforeEach(() => {
    jest.useFakeTimers({ doNotFake: ['nextTick', 'queueMicrotask'] });
    client = new PassThrough({ highWaterMark: 1_000_000 });
    request = Object.assign(client, { headers: {} }) as unknown as IncomingMessage;
  });
  afterEach(() => {
    jest.useRealTimers();
  });

  const pass = (seconds: number) => jest.advanceTimersByTimeAsync(seconds * 1_000);
  /** What became of it, as far as is known by now. */
  function watch(reading: Promise<unknown>): () => unknown {
    let outcome: unknown = 'goes on';
    reading.then(
      () => (outcome = 'read'),
      (error) => (outcome = error),
    );
    return () => outcome;
  }
  /** Sends `bytes` before each of so many pauses. */
  async function send(bytes: number, pauses: number, seconds: number): Promise<void> {
    for (let sent = 0; sent < pauses; sent++) {
      if (bytes > 0) client.write(Buffer.alloc(bytes));
      await pass(seconds);
    }
  }
  type Step = Parameters<typeof send>;
  const slow = expect.any(RequestTimeout);

  test.each([
    ['nothing comes for 15 seconds', [[0, 1, 14.9]], [[0, 1, 0.2]]],
    ['nothing more comes for 15 seconds', [[1_000, 1, 14.9]], [[0, 1, 0.2]]],
    ['a byte comes every 10 seconds', [[1, 1, 10]], [[1, 1, 5.1]]],
    ['half of the pace is kept', [[500, 29, 1]], [[500, 2, 1]]],
    [
      'what came at once has used up its time',
      [
        [100_000, 1, 1],
        [1, 11, 10],
      ],
      [[1, 1, 10]],
    ],
  ] as [string, Step[], Step[]][])('408 once %s', async (_name, before, after) => {
    const outcome = watch(readBytes(request, pace, limit));
    for (const step of before) await send(...step);
    expect(outcome()).toBe('goes on');
    for (const step of after) await send(...step);
    expect(outcome()).toEqual(slow);
    expect(jest.getTimerCount()).toBe(0);
  });

  test('a body of any length is read at its pace, and no timer is left', async () => {
    const outcome = watch(readBytes(request, pace, limit));
    await send(1_000, 600, 1);
    expect(outcome()).toBe('goes on');
    client.end();
    await pass(0);
    expect([outcome(), jest.getTimerCount()]).toEqual(['read', 0]);
  });

  test('what has arrived and is not read yet counts', async () => {
    // Timers come first, then what the network has brought, then immediates.
    setTimeout(() => setImmediate(() => client.end(Buffer.alloc(100))), 15_000);
    const outcome = watch(readBytes(request, pace, limit));
    await pass(16);
    expect(outcome()).toBe('read');
  });

  test('of a stream only the waiting for the client counts', async () => {
    const bytes = streamBytes(request, pace);
    client.write(Buffer.alloc(10));
    expect((await bytes.next()).value).toHaveLength(10);
    await pass(3_600);
    client.write(Buffer.alloc(20));
    expect((await bytes.next()).value).toHaveLength(20);
    const outcome = watch(bytes.next());
    await pass(14);
    expect(outcome()).toBe('goes on');
    await pass(2);
    expect([outcome(), jest.getTimerCount()]).toEqual([slow, 0]);
  });
});

describe('every route that reads a body', () => {
  let service: Service;
  let token: string;
  beforeAll(async () => {
    service = await startService({ Limits__BodySeconds: '1', Limits__BodyBytesPerSecond: '100000' }, [
      'R1',
      'R2',
    ]);
    token = await service.signIn();
  });
  afterAll(async () => {
    await releaseAll();
    await service.stop();
  });

  const json = 'Content-Type: application/json\r\n';
  const routes: [name: string, path: string, type: string][] = [
    ['REST', '/school/api/v1.0/bookings', json],
    ['an import', '/school/api/v2.0/jobs/create', json],
    ['an import as gzip', '/school/api/v2.0/jobs/create', `${json}Content-Encoding: gzip\r\n`],
    ['GraphQL', '/school/graphql', json],
    ['a token', '/connect/token', 'Content-Type: application/x-www-form-urlencoded\r\n'],
    ['a notification', webhookPath, 'Content-Type: text/xml\r\n'],
  ];

  /** Begins a POST on a connection of its own. */
  async function begin(path: string, headers: string) {
    const socket = net.connect(Number(new URL(service.url).port), '127.0.0.1');
    await once(socket, 'connect');
    socket.on('error', () => {});
    socket.write(`POST ${path} HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer ${token}\r\n${headers}\r\n`);
    return socket;
  }
  /** All that is answered until the connection ends. */
  async function heardBy(socket: net.Socket): Promise<string> {
    let answer = '';
    socket.on('data', (data) => (answer += data));
    await new Promise((resolve) => socket.once('close', resolve));
    return answer;
  }
  const statusOf = (answer: string) =>
    [...answer.matchAll(/^HTTP\/1\.1 (\d+)/gm)].map(([, status]) => Number(status));

  test('408 to who falls silent, who trickles, and who was told to go on and does not; then the connection ends', async () => {
    const plain = Buffer.alloc(1_000, ' ');
    const packed = gzipSync(plain, { level: 0 });
    const answers = await Promise.all(
      routes.flatMap(([name, path, type]) => {
        const body = type.includes('gzip') ? packed : plain;
        return [
          begin(path, `${type}Content-Length: 1000\r\n`).then(async (socket) => {
            socket.write(body.subarray(0, 12));
            return [name, 'silent', await heardBy(socket)] as const;
          }),
          begin(path, `${type}Transfer-Encoding: chunked\r\n`).then(async (socket) => {
            let at = 0;
            const trickle = setInterval(() => {
              socket.write(
                Buffer.concat([Buffer.from('1\r\n'), body.subarray(at, ++at), Buffer.from('\r\n')]),
              );
            }, 50);
            const answer = await heardBy(socket).finally(() => clearInterval(trickle));
            return [name, 'trickles', answer] as const;
          }),
          begin(path, `${type}Content-Length: 1000\r\nExpect: 100-continue\r\n`).then(
            async (socket) => [name, 'told to go on', await heardBy(socket)] as const,
          ),
        ];
      }),
    );
    expect(answers.map(([name, how, answer]) => [name, how, statusOf(answer)])).toEqual(
      routes.flatMap(([name]) => [
        [name, 'silent', [408]],
        [name, 'trickles', [408]],
        [name, 'told to go on', [100, 408]],
      ]),
    );
  });

  test.each([
    ['shorter than it says, then hung up', 'Content-Length: 1000\r\n', '[{"JobID":"short"}]', [400]],
    ['longer than it says', 'Content-Length: 18\r\n', '[{"JobID":"long"}],[{"JobID":"more"}]', [400]],
    ['of two lengths', 'Content-Length: 10\r\nContent-Length: 11\r\n', '[{"JobID":"two"}]', [400]],
    ['of a length, and in chunks', 'Content-Length: 5\r\nTransfer-Encoding: chunked\r\n', '0\r\n\r\n', [400]],
    ['in chunks of no size', 'Transfer-Encoding: chunked\r\n', 'x\r\n', [400]],
  ])('a body %s', async (_name, headers, body, statuses) => {
    const socket = await begin('/school/api/v2.0/jobs/create', `${json}${headers}`);
    socket.end(body);
    expect(statusOf(await heardBy(socket))).toEqual(statuses);
  });

  test('what was answered before its body came is not read for long', async () => {
    const sockets = await Promise.all([
      begin('/nowhere/at/all', 'Content-Length: 1000\r\n'),
      begin('/healthz', 'Transfer-Encoding: chunked\r\n'),
      begin('/other/graphql', `${json}Content-Length: 1000\r\n`),
    ]);
    const answers = await Promise.all(sockets.map(heardBy));
    expect(answers.map(statusOf)).toEqual([[404], [405], [404]]);
  });

  test('is answered, however long the work takes once the body is here', async () => {
    const { db } = service.context;
    const { mandatorId, resources } = service.tenant;
    const [start, end] = [30, 30.05].map((days) => new Date(Date.now() + days * 86_400_000).toISOString());
    const [first, second] = resources.map(({ id }) => id);
    const release = await hold(db, async (trx) => {
      await sql`select from resource for update`.execute(trx);
      await sql`lock table mail_notification in access exclusive mode`.execute(trx);
      // Which an accepted batch takes.
      await sql`select pg_advisory_xact_lock(7003, ${mandatorId})`.execute(trx);
    });
    const post = async (path: string, body: unknown, type = 'application/json') => {
      const headers = { Authorization: `Bearer ${token}`, 'Content-Type': type };
      const init = { method: 'POST', headers, body: typeof body === 'string' ? body : JSON.stringify(body) };
      const answer = await fetch(`${service.url}${path}`, init);
      return `${answer.status} ${await answer.text()}`;
    };
    const answers = Promise.all([
      post('/school/api/v1.0/bookings', { ResourceId: first, Start: start, End: end, Subject: 'held' }),
      post('/school/graphql', {
        query: `mutation { createBooking(input: { resourceId: "${second}", start: "${start}", end: "${end}", subject: "held" }) { __typename } }`,
      }),
      post('/school/api/v2.0/jobs/create', makeJobs(1, { rooms: ['R1'] })),
      post(webhookPath, '<notification/>', 'text/xml'),
    ]);
    // Longer than a body may be silent.
    await sql`select pg_sleep(1.5)`.execute(db);
    await release();
    expect(await answers).toEqual([
      expect.stringMatching(/^201 /),
      expect.stringMatching(/^200 .*"BookingCreated"/),
      expect.stringMatching(/^202 /),
      // Recorded as what nobody understands, or not in the 2.5 seconds that there are for it.
      expect.stringMatching(/^(400|503) .*"(Malformed|Unavailable)"/),
    ]);
  });
});
