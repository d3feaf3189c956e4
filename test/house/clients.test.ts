import { execFile } from 'node:child_process';
import { once } from 'node:events';
import fs from 'node:fs';
import net from 'node:net';
import os from 'node:os';
import path from 'node:path';
import { text } from 'node:stream/consumers';
import { promisify } from 'node:util';
import { afterAll, beforeAll, describe, expect, test } from '@jest/globals';
import { createPin } from '../../src/identity/service.ts';
import { openLog } from '../../src/log.ts';
import { startServer } from '../../src/server.ts';
import { firstMonday, makeJobs } from '../_util/lessons.ts';
import { pepper } from '../_util/pepper.ts';
import { type Service, startService, testConfig } from '../_util/service.ts';
import { describeReal, findMissing } from '../mail/_util/real-servers.ts';

const run = promisify(execFile);
const clients = path.join(import.meta.dirname, 'clients');

let service: Service;
let directory: string;
let token: string;
/** Of a process that only works on the queue. */
let worker: { url: string; stop(): Promise<void> };

beforeAll(async () => {
  service = await startService({ Role: 'Web' }, ['R1']);
  token = await service.signIn();
  directory = fs.mkdtempSync(path.join(os.tmpdir(), 'roomgate-clients-'));
  const { context, ready, stop } = await startServer(
    testConfig(service.databaseUrl, { Role: 'Worker' }),
    openLog('silent'),
  );
  await ready;
  worker = { url: context.config.BaseUrl, stop };
});
afterAll(async () => {
  fs.rmSync(directory, { recursive: true });
  await worker.stop();
  await service.stop();
});

/** What comes back on a connection of its own until the server closes it. */
async function exchange(sent: string, url = service.url): Promise<string> {
  const socket = net.connect(Number(new URL(url).port), '127.0.0.1');
  await once(socket, 'connect');
  socket.write(sent);
  return await text(socket);
}

const statusesIn = (answers: string) => [...answers.matchAll(/^HTTP\/1\.1 (\d+)/gm)].map(([, code]) => Number(code));

const offers = {
  'HTTP/2, as Java does':
    'Connection: Upgrade, HTTP2-Settings\r\nUpgrade: h2c\r\nHTTP2-Settings: AAEAAEAAAAIAAAABAAMAAABkAAQBAAAAAAUAAEAA\r\n',
  'WebSocket where there is none':
    'Connection: Upgrade\r\nUpgrade: websocket\r\nSec-WebSocket-Version: 13\r\nSec-WebSocket-Key: AAAAAAAAAAAAAAAAAAAAAA==\r\n',
  'several protocols': 'Connection: keep-alive, Upgrade\r\nUpgrade: h2c, TLS/1.0, IRC/6.9, websocket\r\n',
  nothing: 'Connection: Upgrade\r\nUpgrade: \r\n',
};

describe.each(Object.entries(offers))('an upgrade to %s is ignored', (_name, offer) => {
  const head = (line: string, more = '') => `${line} HTTP/1.1\r\nHost: x\r\n${offer}${more}\r\n`;

  test.each([
    [200, '/healthz'],
    [200, '/readyz'],
    [200, '/metrics'],
    [200, '/.well-known/openid-configuration'],
    [401, '/school/api/v1.0/resources'],
    [404, '/nowhere/at/all'],
  ])('%i: %s', async (status, address) => {
    expect(statusesIn(await exchange(head(`GET ${address}`)))).toEqual([status]);
  });

  test('200 from a process that only works on the queue', async () => {
    expect(statusesIn(await exchange(head('GET /healthz'), worker.url))).toEqual([200]);
  });

  const query = '{"query":"{ serverTime }"}';
  test.each([
    ['in one piece', `Content-Length: ${query.length}\r\n`, query],
    ['in chunks', 'Transfer-Encoding: chunked\r\n', `${query.length.toString(16)}\r\n${query}\r\n0\r\n\r\n`],
  ])('of a request with a body %s', async (_name, how, body) => {
    const about = `Authorization: Bearer ${token}\r\nContent-Type: application/json\r\n`;
    const answer = await exchange(`${head('POST /school/graphql', about + how)}${body}`);
    expect([...statusesIn(answer), answer.match(/"serverTime":"/)?.length]).toEqual([200, 1]);
  });

  test('a client that has sent more behind it learns that it was not read', async () => {
    const answers = await exchange(head('GET /healthz') + head('GET /healthz'));
    expect([...statusesIn(answers), /^Connection: close\r$/m.test(answers)]).toEqual([200, true]);
  });
});

describe('a WebSocket', () => {
  const key =
    'Sec-WebSocket-Version: 13\r\nSec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\nSec-WebSocket-Protocol: graphql-transport-ws\r\n';
  /** The first line that is answered. */
  async function openWith(line: string, headers: string): Promise<string> {
    const socket = net.connect(Number(new URL(service.url).port), '127.0.0.1');
    socket.write(`${line}\r\nHost: x\r\nConnection: Upgrade\r\n${headers}\r\n`);
    const [data] = await once(socket, 'data');
    socket.destroy();
    return String(data).split('\r\n', 1)[0]!;
  }

  test.each(['websocket', 'WebSocket', 'h2c, websocket', 'websocket,h2c'])('101 at its path: %s', async (upgrade) => {
    expect(await openWith('GET /school/graphql HTTP/1.1', `Upgrade: ${upgrade}\r\n${key}`)).toBe(
      'HTTP/1.1 101 Switching Protocols',
    );
  });

  test.each([
    ['of HTTP/1.0', 'GET /school/graphql HTTP/1.0', ''],
    ['by POST', 'POST /school/graphql HTTP/1.1', 'Content-Length: 0\r\n'],
    ['with a body', 'GET /school/graphql HTTP/1.1', 'Content-Length: 2\r\n'],
    ['with a body in chunks', 'GET /school/graphql HTTP/1.1', 'Transfer-Encoding: chunked\r\n'],
  ])('is asked for in vain %s: the request is answered as it is', async (_name, line, more) => {
    expect(await openWith(line, `Upgrade: websocket\r\n${key}${more}`)).toBe('HTTP/1.1 401 Unauthorized');
  });
});

test('two Hosts are 400 for a call and for a WebSocket, and end the connection', async () => {
  const offer = `Connection: Upgrade\r\nUpgrade: websocket\r\nSec-WebSocket-Version: 13\r\nSec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\n`;
  for (const [line, more] of [
    ['GET /healthz', ''],
    ['GET /school/graphql', offer],
  ]) {
    const request = `${line} HTTP/1.1\r\nHost: x\r\nhost: y\r\n${more}\r\n`;
    expect(statusesIn(await exchange(request + request))).toEqual([400]);
  }
});

test('501 for a body in another transfer coding', async () => {
  const about = `Authorization: Bearer ${token}\r\nContent-Type: application/json\r\nTransfer-Encoding: gzip, chunked\r\n`;
  const request = `POST /school/api/v2.0/jobs/create HTTP/1.1\r\nHost: x\r\n${about}\r\n2\r\n[]\r\n0\r\n\r\n`;
  expect(statusesIn(await exchange(request + request))).toEqual([501]);
});

/** What each client is started with: where, which tenant, a new PIN, and jobs of its own. */
async function argumentsFor(prefix: string, weeksLater: number): Promise<string[]> {
  const { tenant, context } = service;
  const { pin } = await createPin(context.db, pepper, {
    mandatorId: tenant.mandatorId,
    personId: tenant.person('User').id,
  });
  const from = firstMonday + weeksLater * 7 * 86_400_000;
  return [service.url, tenant.code, pin, JSON.stringify(makeJobs(3, { prefix, rooms: ['R1'], from }))];
}

describe('token, import and polling', () => {
  describeReal('the HTTP client of the JDK', findMissing(['javac', 'java'], 'openjdk-17-jdk-headless'), () => {
    test('as it is made', async () => {
      const source = path.join(clients, 'Timetable.java');
      const { stdout } = await run('java', [source, ...(await argumentsFor('java-', 0))]);
      expect(stdout).toBe('LessonsCreated\n');
    });
  });

  describeReal('urllib and http.client of Python', findMissing(['python3'], 'python3'), () => {
    test('as they are made', async () => {
      const script = path.join(clients, 'timetable.py');
      const { stdout } = await run('python3', [script, ...(await argumentsFor('python-', 10))]);
      expect(stdout).toBe('LessonsCreated\n');
    });
  });

  const mono = 'mono-mcs mono-runtime libmono-system-net-http4.0-cil libmono-i18n-west4.0-cil';
  describeReal('the HttpClient of .NET, as Mono has it', findMissing(['mcs', 'mono'], mono), () => {
    test('as it is made', async () => {
      const program = path.join(directory, 'timetable.exe');
      const source = path.join(clients, 'Timetable.cs');
      await run('mcs', ['-r:System.Net.Http', `-out:${program}`, source]);
      const { stdout } = await run('mono', [program, ...(await argumentsFor('mono-', 20))]);
      expect(stdout).toBe('LessonsCreated\n');
    });
  });

  describeReal('curl --http2', findMissing(['curl'], 'curl'), () => {
    test('is answered over HTTP/1.1', async () => {
      const { stdout } = await run('curl', [
        ...['-s', '--http2', '-o', '/dev/null', '-w', '%{http_code} %{http_version}'],
        `${service.url}/healthz`,
      ]);
      expect(stdout).toBe('200 1.1');
    });
  });
});

test.each([
  // An address of documentation (RFC 5737), which no machine has.
  ['an address that this machine does not have', { Host: '203.0.113.1' }, 'Host: cannot listen on 203.0.113.1:'],
  ['a name without an address', { Host: 'rooms.invalid' }, 'Host: cannot listen on rooms.invalid:'],
  ['a port in use', { Port: () => Number(new URL(service.url).port) }, 'Port: cannot listen on 127.0.0.1:'],
])(
  '%s: the start names the setting',
  async (_what, { Host, Port }: { Host?: string; Port?: () => number }, message) => {
    const config = {
      ...testConfig(service.databaseUrl, { Role: 'Web' }),
      ...(Host && { Host }),
      ...(Port && { Port: Port() }),
    };
    await expect(startServer(config, openLog('silent'))).rejects.toThrow(message);
  },
);
