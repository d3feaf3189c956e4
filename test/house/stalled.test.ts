/** Readers that take nothing of their answers are cut, as the answers would be kept for them. */
import { once } from 'node:events';
import http from 'node:http';
import net, { type AddressInfo } from 'node:net';
import { afterAll, beforeAll, describe, expect, test } from '@jest/globals';
import { sql } from 'kysely';
import { type AnsweringSocket, cutStalled } from '../../src/http/stalled.ts';
import { openLog } from '../../src/log.ts';
import { until } from '../_util/process.ts';
import { type Service, startService } from '../_util/service.ts';

describe('of a server', () => {
  /** Far more than the system keeps for a reader. */
  const large = Buffer.alloc(64 * 2 ** 20, 'x');
  const server = http.createServer({ keepAliveTimeout: 50 });
  const connections = new Set<AnsweringSocket>();
  const stop = cutStalled(server, connections, 2_000);
  const answers: http.ServerResponse[] = [];

  beforeAll(async () => {
    server.on('connection', (connection: AnsweringSocket) => connections.add(connection));
    server.on('request', (request, response) => {
      const connection: AnsweringSocket = request.socket;
      connection.answering = response;
      response.on('close', () => (connection.answering = undefined));
      answers.push(response);
      if (request.url === '/stream') return void response.write('x');
      response.setHeader('Content-Length', large.length);
      if (request.url === '/') response.end(large);
    });
    await once(server.listen(0, '127.0.0.1'), 'listening');
  });
  afterAll(() => {
    stop();
    server.close();
  });

  function ask(...paths: string[]): net.Socket {
    const client = net.connect((server.address() as AddressInfo).port, '127.0.0.1').on('error', () => {});
    client.write(paths.map((path) => `GET ${path} HTTP/1.1\r\nHost: here\r\n\r\n`).join(''));
    return client;
  }

  test('a reader that takes nothing is cut', async () => {
    const client = ask('/').pause();
    await until('it is cut', () => answers.at(-1)?.closed);
    expect(answers.at(-1)?.writableFinished).toBe(false);
    client.destroy();
  });

  test('so is one that has asked for a stream behind it', async () => {
    const client = ask('/', '/stream').pause();
    await until('both are asked', () => answers.at(-1)?.req.url === '/stream');
    const [whole] = answers.slice(-2);
    await until('it is cut', () => whole?.closed);
    expect(whole?.writableFinished).toBe(false);
    client.destroy();
  });

  test('one that takes its answer gets all of it, and its idle connection is then closed', async () => {
    const client = ask('/');
    let taken = 0;
    client.on('data', (part) => (taken += part.length));
    await once(client, 'close');
    expect(taken).toBeGreaterThan(large.length);
    expect(answers.at(-1)?.writableFinished).toBe(true);
  });

  test('one whose answer takes its time waits', async () => {
    const client = ask('/later');
    const head = once(client, 'data');
    await until('it is asked', () => answers.at(-1)?.req.url === '/later');
    const stalled = ask('/').pause();
    await until('another one is cut', () => answers.at(-1)?.req.url === '/' && answers.at(-1)?.closed);
    answers.at(-2)?.write('x');
    expect(String(await head)).toMatch(/^HTTP\/1.1 200 /);
    for (const socket of [client, stalled]) socket.destroy();
  });
});

test('a reader that takes nothing of a large answer of the service is cut, and its request logged', async () => {
  const lines: string[] = [];
  const log = openLog('info', { write: (line) => void lines.push(line) });
  const service = await startService({ Role: 'Web', Limits__StalledReaderSeconds: '1' }, ['R1'], log);
  const token = await service.signIn();
  const { mandatorId, resources } = service.tenant;
  await sql`
    insert into booking (mandator_id, resource_id, kind, status, origin, subject, occupied)
    select ${mandatorId}::int, ${resources[0]?.id}::int, 'Booking', 'Confirmed', 'Api', 'One of many',
      tstzrange(timestamptz '2027-03-01T00:00Z' + n * interval '40 minutes', timestamptz '2027-03-01T00:01Z' + n * interval '40 minutes')
    from generate_series(0, 2999) as n`.execute(service.context.db);
  const instants = Array.from({ length: 70 }, (_, n) => `a${n}: start`).join(' ');
  const query = `{ availability(input: { from: "2027-03-01T00:00:00Z", to: "2027-05-31T00:00:00Z" }) { busy { ${instants} } } }`;
  const body = JSON.stringify({ query });
  const client = net.connect(Number(new URL(service.url).port), '127.0.0.1').pause();
  client.on('error', () => {});
  client.write(
    [
      'POST /school/graphql HTTP/1.1',
      'Host: here',
      `Authorization: Bearer ${token}`,
      'Content-Type: application/json',
      `Content-Length: ${body.length}\r\n\r\n${body}`,
    ].join('\r\n'),
  );
  const requests = () => lines.map((line) => JSON.parse(line)).filter(({ msg }) => msg === 'request');
  await until('it is cut', () => requests().some(({ aborted }) => aborted));
  expect(requests().at(-1)).toMatchObject({ route: '/:mandator/graphql', status: 200, aborted: true });
  client.destroy();
  await service.stop();
});

describe('of a client that sends requests before it has their answers', () => {
  let service: Service;
  beforeAll(async () => {
    service = await startService({ Role: 'Web' });
  });
  afterAll(() => service.stop());

  /** Sends so many requests at once. @returns how many of them are answered before the connection is closed */
  async function answersTo(requests: number): Promise<number> {
    const client = net.connect(Number(new URL(service.url).port), '127.0.0.1');
    const requestOf = (more = '') => `GET /readyz HTTP/1.1\r\nHost: here\r\n${more}\r\n`;
    client.write(requestOf().repeat(requests - 1) + requestOf('Connection: close\r\n'));
    let answers = '';
    client.on('data', (part) => (answers += part)).on('error', () => {});
    await new Promise((resolve) => client.once('close', resolve));
    return answers.match(/HTTP\/1\.1 /g)?.length ?? 0;
  }

  test('32 are all answered', async () => expect(await answersTo(32)).toBe(32));

  test('of more it is disconnected, and those past them are not answered', async () =>
    expect(await answersTo(200)).toBeLessThanOrEqual(32));
});
