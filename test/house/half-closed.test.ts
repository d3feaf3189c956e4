/** Clients that end their side of the connection after their requests are answered; those that have gone are noticed. */
import { once } from 'node:events';
import net from 'node:net';
import { text } from 'node:stream/consumers';
import { afterAll, beforeAll, expect, test } from '@jest/globals';
import { openLog } from '../../src/log.ts';
import { makeJobs } from '../_util/lessons.ts';
import { until } from '../_util/process.ts';
import { type Service, startService } from '../_util/service.ts';

let service: Service;
let about: string;
const lines: { route?: string; status?: number; aborted?: boolean }[] = [];

beforeAll(async () => {
  const log = openLog('info', { write: (line) => void lines.push(JSON.parse(line)) });
  service = await startService({ Role: 'Web' }, ['R1'], log);
  about = `Host: x\r\nAuthorization: Bearer ${await service.signIn()}\r\nContent-Type: application/json\r\n`;
});
afterAll(() => service.stop());

const connect = () => net.connect({ port: Number(new URL(service.url).port), host: '127.0.0.1', allowHalfOpen: true });

const get = (address: string, version = '1.1') => `GET /school/api/${address} HTTP/${version}\r\n${about}\r\n`;
const post = (address: string, body: string) =>
  `POST /school/${address} HTTP/1.1\r\n${about}Content-Length: ${Buffer.byteLength(body)}\r\n\r\n${body}`;
const lessons = (prefix: string) =>
  post('api/v2.0/jobs/create', JSON.stringify(makeJobs(1, { prefix, rooms: ['R1'] })));

/** All that is answered to what is sent together with the end of the client's side. */
const answersTo = async (sent: string) => await text(connect().end(sent));
/** Without interim answers, which clients skip. */
const finalStatuses = (answers: string) =>
  [...answers.matchAll(/HTTP\/1\.1 ([2-5]\d\d) /g)].map(([, status]) => Number(status));

test.each([
  ['a GET', () => get('v1.0/resources'), [200]],
  ['a GET of HTTP/1.0', () => get('v1.0/resources', '1.0'), [200]],
  ['a batch', () => lessons('half-'), [202]],
  ['GraphQL', () => post('graphql', '{"query":"{ me { name } }"}'), [200]],
  ['several requests', () => get('v1.0/resources') + get('v1.0/locations') + get('v1.0/nothing'), [200, 200, 404]],
])('%s is answered', async (_what, request, statuses) => {
  expect(finalStatuses(await answersTo(request()))).toEqual(statuses);
});

test('HTTP/1.0 has no interim answers', async () => {
  expect(await answersTo(get('v1.0/resources', '1.0'))).toMatch(/^HTTP\/1\.1 200 OK\r\n/);
});

test('a body that is not complete is 400', async () => {
  expect(finalStatuses(await answersTo(lessons('cut-').slice(0, -1)))).toEqual([400]);
});

/** The address of a batch that nobody works on. */
async function waiting(prefix: string): Promise<string> {
  const [batchId] = /(?<="BatchId":")[^"]+/.exec(await answersTo(lessons(prefix))) ?? [];
  return `v2.0/jobs/batches/${batchId}`;
}

test('a poll that waits is answered', async () => {
  const address = await waiting('poll-');
  expect(finalStatuses(await answersTo(get(`${address}?WaitSeconds=1`)))).toEqual([200]);
});

const isGivenUp = (end: string) => () => lines.some(({ route, status }) => route?.endsWith(end) && status === 499);

test('a poll whose client has gone is given up', async () => {
  const request = get(`${await waiting('gone-')}?WaitSeconds=30`);
  const client = connect();
  client.write(request);
  await once(client, 'connect');
  client.destroy();
  await until('it is given up', isGivenUp('/:batchId'));
});

test('so is one whose client has gone behind a proxy, which hears of it only when it forwards something', async () => {
  lines.length = 0;
  const proxy = net.createServer({ allowHalfOpen: true }, (client) => {
    const server = connect();
    client.pipe(server).pipe(client);
    client.on('error', () => server.destroy());
  });
  await once(proxy.listen(0, '127.0.0.1'), 'listening');
  const request = get(`${await waiting('behind-')}?WaitSeconds=30`);
  const client = net.connect((proxy.address() as net.AddressInfo).port, '127.0.0.1');
  client.write(request);
  await once(client, 'connect');
  client.destroy();
  await until('it is given up', isGivenUp('/:batchId'));
  proxy.close();
});

test.each(['1.1', '1.0'])('a stream of HTTP/%s ends', async (version) => {
  lines.length = 0;
  const client = connect();
  const query = 'subscription { batches { id } }';
  const request = post('graphql', JSON.stringify({ query })).replace('HTTP/1.1', `HTTP/${version}`);
  client.write(request.replace('Host', 'Accept: text/event-stream\r\nHost'));
  await once(client, 'data');
  client.end();
  await once(client.resume(), 'end');
  await until('it is given up', () => lines.some(({ route, aborted }) => route?.endsWith('graphql') && aborted));
});
