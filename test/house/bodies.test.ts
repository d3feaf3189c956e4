import { once } from 'node:events';
import type { IncomingMessage } from 'node:http';
import net from 'node:net';
import { PassThrough } from 'node:stream';
import { gzipSync } from 'node:zlib';
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, jest, test } from '@jest/globals';
import { sql } from 'kysely';
import WebSocket from 'ws';
import { RequestTimeout } from '../../src/errors.ts';
import { addressSends, openMemory, personSends } from '../../src/http/body-memory.ts';
import { readBytes, streamBytes } from '../../src/http/request-body.ts';
import { hold, releaseAll } from '../_util/hold.ts';
import { makeJobs } from '../_util/lessons.ts';
import { webhookPath } from '../_util/notifications.ts';
import { until } from '../_util/process.ts';
import { type Service, startService } from '../_util/service.ts';

describe('the pace of a body', () => {
  const pace = {
    BodySeconds: 15,
    BodyBytesPerSecond: 1_000,
    BodyBytes: 1_000_000,
    WebhookBodyBytes: 1_000_000,
  };
  const limit = {
    most: 1_000_000,
    sender: addressSends('192.0.2.1'),
    tooLarge: () => new Error('too large'),
  };
  let client: PassThrough;
  let request: IncomingMessage;

  beforeEach(() => {
    jest.useFakeTimers();
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

describe('the memory of bodies that arrive', () => {
  const largest = 100_000;
  const part = Buffer.alloc(largest);
  /** Whether there is room for one more body of the largest size, and what gives it back. */
  function fill(mandatorId: number, personId: number) {
    const memory = openMemory(personSends({ mandatorId, personId }), largest);
    try {
      memory.append(part);
      return { refused: undefined, memory };
    } catch (error) {
      memory.clear();
      return { refused: (error as Error).message, memory };
    }
  }
  /** As many as there is room for. */
  function fillUp(mandatorId: number, persons: readonly number[]) {
    const filled = persons.flatMap((person) => {
      const own: ReturnType<typeof fill>[] = [];
      for (let next = fill(mandatorId, person); !next.refused; next = fill(mandatorId, person)) own.push(next);
      return own;
    });
    return { bodies: filled.length, clear: () => filled.map(({ memory }) => memory.clear()) };
  }

  test('is bounded for a person, a tenant and in all; what is given back is there again', () => {
    const persons = [1, 2, 3, 4];
    const counted = largest - 16_384;
    const fitting = (bodies: number) => Math.floor((bodies * largest) / counted);
    const person = fillUp(1, [1]);
    expect(person.bodies).toBe(fitting(16));
    expect(fill(1, 1).refused).toMatch(/^Bodies of this person that have not fully arrived already take 1600000 bytes/);
    const small = openMemory(personSends({ mandatorId: 1, personId: 1 }), largest);
    small.append(Buffer.alloc(16_384));
    small.clear();
    person.clear();
    const tenant = fillUp(1, persons);
    expect(tenant.bodies).toBe(fitting(32));
    expect(fill(1, 5).refused).toMatch(/^Bodies of this tenant /);
    const others = [2, 3, 4, 5].map((mandatorId) => fillUp(mandatorId, persons));
    // 128 of all, and the shares of five tenants.
    expect(tenant.bodies + others.reduce((sum, { bodies }) => sum + bodies, 0)).toBe(fitting(128 + 5 * 2));
    const late = [6, 7].map((mandatorId) => fillUp(mandatorId, [1]));
    expect(late.map(({ bodies }) => bodies)).toEqual([fitting(2), fitting(2)]);
    expect(fill(6, 1).refused).toMatch(/take all the memory/);
    for (const { clear } of [tenant, ...others, ...late]) clear();
    const again = fillUp(6, [1]);
    expect(again.bodies).toBe(fitting(16));
    again.clear();
  });

  test('counts what a growing body really holds, which is never more than the largest body', () => {
    const growing = Array.from({ length: 200 }, () => openMemory(personSends({ mandatorId: 1, personId: 1 }), largest));
    let [counted, refused] = [0, false];
    for (const memory of growing)
      try {
        for (let piece = 0; piece < 3; piece++) memory.append(part.subarray(0, 20_000));
        counted += memory.bytes().buffer.byteLength;
      } catch {
        refused = true;
      }
    expect(refused).toBe(true);
    expect(counted).toBeLessThanOrEqual(16 * largest + growing.length * 16_384);
    const [one] = growing as [ReturnType<typeof openMemory>];
    for (const memory of growing.slice(1)) memory.clear();
    one.append(part.subarray(0, 35_000));
    expect(one.bytes().buffer.byteLength).toBe(largest);
    one.clear();
  });

  test('holds a body in crumbs at about its size', () => {
    const memory = openMemory(addressSends('192.0.2.1'), largest);
    for (let at = 0; at < 10_000; at++) memory.append(Buffer.from([at % 256]));
    const bytes = memory.bytes();
    expect([bytes.length, bytes[9_999]]).toEqual([10_000, 9_999 % 256]);
    expect(bytes.buffer.byteLength).toBeLessThanOrEqual(20_000);
    memory.clear();
  });
});

describe('bodies below 1 MiB whose ends do not come', () => {
  let service: Service;
  let tokens: string[];
  /** Timers that keep this process alive. */
  const timers = () => process.getActiveResourcesInfo().filter((kind) => kind === 'Timeout').length;
  let before: number;
  beforeAll(async () => {
    before = timers();
    service = await startService({ Role: 'Web', Limits__BodySeconds: '300' }, ['R1']);
    tokens = [await service.signIn(), await service.signIn(service.tenant, 'Admin')];
  });
  afterAll(() => service.stop());

  const size = 1_048_000;
  const spaces = Buffer.concat([Buffer.from('['), Buffer.alloc(size, ' ')]);
  const packed = gzipSync(spaces);
  const json = 'Content-Type: application/json\r\n';
  /** What is sent, of which so much. */
  const routes: [name: string, path: string, headers: string, body: Buffer, sent: number][] = [
    ['REST', '/school/api/v1.0/bookings', json, spaces, size],
    ['GraphQL', '/school/graphql', json, spaces, size],
    ['an import', '/school/api/v2.0/jobs/create', json, spaces, size],
    [
      'an import as gzip',
      '/school/api/v2.0/jobs/create',
      `${json}Content-Encoding: gzip\r\n`,
      packed,
      packed.length - 1,
    ],
    ['a notification', webhookPath, 'Content-Type: text/xml\r\n', spaces, size],
  ];

  test.each(routes)(
    'hold 16 MiB of a sender at most, others and small ones none: %s',
    async (_name, path, headers, body, sent) => {
      const { port } = new URL(service.url);
      const [own, other] = tokens as [string, string];
      const refused: string[] = [];
      const sockets = await Promise.all(
        Array.from({ length: 20 }, async () => {
          const socket = net.connect(Number(port), '127.0.0.1');
          await once(socket, 'connect');
          socket.on('error', () => {}).on('data', (data) => refused.push(String(data)));
          socket.write(
            `POST ${path} HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer ${own}\r\n${headers}Content-Length: ${body.length}\r\n\r\n`,
          );
          socket.write(body.subarray(0, sent));
          return socket;
        }),
      );
      const post = async (token: string, bytes: Buffer) => {
        const init = {
          method: 'POST',
          headers: { Authorization: `Bearer ${token}`, 'Content-Type': 'application/json' },
        };
        return (await fetch(`${service.url}${path}`, { ...init, body: new Uint8Array(bytes) })).status;
      };
      // 17 of them are more than there is room for.
      await until('the others are refused', async () => refused.length >= 4);
      for (const answer of refused) {
        expect(answer).toMatch(/^HTTP\/1\.1 429 .*\r\nRetry-After: 10\r\n/is);
        expect(answer).toMatch(/that have not fully arrived already take 16777216 bytes/);
      }
      // Answered by what is in them, not by whose they are.
      expect(await post(own, Buffer.from('[1]'))).toBeLessThan(429);
      if (path !== webhookPath) expect(await post(other, spaces)).toBeLessThan(429);
      for (const socket of sockets) socket.destroy();
      await until('what they held is free', async () => (await post(own, spaces)) < 429);
    },
  );
  test('messages of WebSockets too, whatever comes between their parts', async () => {
    const { port } = new URL(service.url);
    const [own] = tokens as [string];
    /** A frame of a client, of which so much is sent; masked with zeros. */
    const frame = (first: number, payload: Buffer, length = payload.length) => {
      const head = Buffer.alloc(14);
      head.writeUInt16BE((first << 8) | 0xff);
      head.writeBigUInt64BE(BigInt(length), 2);
      return Buffer.concat([head, payload]);
    };
    const pong = Buffer.from([0x8a, 0x80, 0, 0, 0, 0]);
    let refused = 0;
    const open = async () => {
      const socket = net.connect(Number(port), '127.0.0.1');
      await once(socket, 'connect');
      let heard = '';
      socket
        .on('error', () => {})
        .on('data', (data) => {
          heard += data;
        });
      socket.write(
        `GET /school/graphql HTTP/1.1\r\nHost: x\r\nConnection: Upgrade\r\nUpgrade: websocket\r\nSec-WebSocket-Version: 13\r\nSec-WebSocket-Key: ${Buffer.alloc(16).toString('base64')}\r\nSec-WebSocket-Protocol: graphql-transport-ws\r\nAuthorization: Bearer ${own}\r\n\r\n`,
      );
      await until('it is open', async () => heard.includes('101 Switching'));
      socket.write(frame(0x81, Buffer.from('{"type":"connection_init"}')));
      await until('it is let in', async () => heard.includes('connection_ack'));
      socket.on('data', (data) => {
        if (data.includes('Try again later')) refused += 1;
      });
      return socket;
    };
    const sockets = await Promise.all(Array.from({ length: 20 }, open));
    // Small ones, and pongs, are forgotten with their ends.
    for (const socket of sockets) {
      for (let n = 0; n < 100; n++) socket.write(frame(0x81, Buffer.from(`{"type":"pong"${' '.repeat(400)}}`)));
      socket.write(frame(0x01, spaces.subarray(0, size / 2)));
      socket.write(pong);
      socket.write(frame(0x80, spaces.subarray(size / 2), size / 2 + 100));
    }
    await until('the others are refused', async () => refused >= 4);
    for (const socket of sockets) socket.destroy();
  });

  test('keep no process alive that has refused them', async () => {
    await service.stop();
    await until('no timer is left', () => timers() <= before);
  });
});

describe('every route that reads a body', () => {
  let service: Service;
  let token: string;
  beforeAll(async () => {
    // The largest body has two seconds.
    const size = { Limits__BodyBytes: '100000', Limits__BodyBytesPerSecond: '100000' };
    service = await startService({ Limits__BodySeconds: '1', ...size }, ['R1', 'R2']);
    token = await service.signIn();
  });
  afterAll(async () => {
    await releaseAll();
    await service.stop();
  });

  test('gives up a message of a WebSocket that does not end in the time of the largest body', async () => {
    const socket = new WebSocket(`${service.url.replace('http', 'ws')}/school/graphql`, 'graphql-transport-ws', {
      headers: { Authorization: `Bearer ${token}` },
    });
    await once(socket, 'open');
    socket.send('{"type":"connection_init"}');
    await once(socket, 'message');
    socket.send('{"type":', { fin: false });
    expect((await once(socket, 'close'))[0]).toBe(1008);
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
  const statusOf = (answer: string) => [...answer.matchAll(/^HTTP\/1\.1 (\d+)/gm)].map(([, status]) => Number(status));

  test('408 to a client that falls silent, trickles, or does not continue after 100; then the connection ends', async () => {
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
              socket.write(Buffer.concat([Buffer.from('1\r\n'), body.subarray(at, ++at), Buffer.from('\r\n')]));
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

  test('of a refused request is not asked for: its client waits for 100, and is spared the upload', async () => {
    const [path, expecting] = ['/school/api/v2.0/jobs/create', 'Expect: 100-continue\r\n'];
    const length = 'Content-Length: 1000\r\n';
    const sockets = await Promise.all([
      begin(path, `${json}${length}Authorization: Bearer wrong\r\n${expecting}`),
      begin('/other/api/v2.0/jobs/create', `${json}${length}${expecting}`),
      begin(path, `${json}Content-Length: 99999999999\r\n${expecting}`),
      begin('/school/graphql', `${json}Content-Length: 99999999999\r\n${expecting}`),
      begin(path, `Content-Type: text/plain\r\n${length}${expecting}`),
    ]);
    const answers = await Promise.all(sockets.map(heardBy));
    expect(answers.map(statusOf)).toEqual([[401], [404], [413], [413], [415]]);
  });

  test('that is empty is not waited for: the connection stays', async () => {
    const socket = await begin('/healthz', 'Content-Length: 0\r\nExpect: 100-continue\r\n');
    socket.write('GET /healthz HTTP/1.1\r\nHost: x\r\nExpect: 100-continue\r\n\r\n');
    socket.write('GET /healthz HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n');
    const answers = (await heardBy(socket)).match(/(?<=HTTP\/1\.1 )\d+/g);
    expect(answers).toEqual(['100', '405', '100', '200', '200']);
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
