/** What is answered to connections that bring no request: as by Node.js, but only after it has read what has arrived. */
import { once } from 'node:events';
import http from 'node:http';
import net, { type AddressInfo } from 'node:net';
import { Worker } from 'node:worker_threads';
import { afterAll, beforeAll, expect, test } from '@jest/globals';
import { answerClientErrors } from '../../src/http/client-errors.ts';
import type { AnsweringSocket } from '../../src/http/stalled.ts';

const headersTimeout = 200;
const server = http.createServer({ headersTimeout, requestTimeout: 0, connectionsCheckingInterval: 20 });
let onConnection = () => {};

beforeAll(async () => {
  answerClientErrors(server);
  server.on('connection', () => onConnection());
  server.on('request', (request, response) => {
    const connection: AnsweringSocket = request.socket;
    connection.answering = response;
    connection.unanswered = (connection.unanswered ?? 0) + 1;
    response.on('close', () => {
      connection.unanswered = (connection.unanswered ?? 0) - 1;
      if (connection.answering === response) connection.answering = undefined;
    });
    if (request.url === '/begun') response.write('begun');
    if (request.method === 'GET' && request.url === '/') response.end('answered');
    // Held until the head behind it is too late.
    if (request.url === '/held')
      server.once('clientError', () => setImmediate(() => setImmediate(() => response.end('held'))));
  });
  server.on('upgrade', (_request, socket) => {
    socket.write('HTTP/1.1 101 Switching Protocols\r\n\r\n');
    socket.once('data', () => socket.end('upgraded'));
  });
  await once(server.listen(0, '127.0.0.1'), 'listening');
});
afterAll(() => {
  server.closeAllConnections();
  server.close();
});

const portOf = () => (server.address() as AddressInfo).port;

/** All that a client is answered until its connection ends. */
async function answerTo(sent: string): Promise<string> {
  const client = net.connect(portOf(), '127.0.0.1').on('error', () => {});
  client.write(sent);
  let answer = '';
  client.on('data', (part) => (answer += part));
  await once(client, 'close');
  return answer;
}

const head = (path: string) => `${path} HTTP/1.1\r\nHost: here\r\n`;
const only = (status: string) => `HTTP/1.1 ${status}\r\nConnection: close\r\n\r\n`;

const answered = String.raw`HTTP/1\.1 200 OK\r\n[\s\S]*answered`;
const closing = `${head('GET /')}Connection: close\r\n\r\n`;

test.each([
  ['', closing, '', `^${answered}$`],
  [', and so is the next of its connection', `${head('GET /')}\r\n`, closing, `^${answered}[sS]*${answered}$`],
  [
    ', also if it is an upgrade',
    `${head('GET /')}Connection: Upgrade\r\nUpgrade: x\r\n\r\n`,
    'x',
    '^HTTP/1\\.1 101 Switching Protocols\\r\\n\\r\\nupgraded$',
  ],
])(
  'a request that arrived while the process was busy is answered, though its time is over%s',
  async (_how, request, next, wanted) => {
    // [0]: the process is busy; [1]: the request was sent
    const flags = new Int32Array(new SharedArrayBuffer(8));
    onConnection = () => {
      Atomics.store(flags, 0, 1);
      Atomics.notify(flags, 0);
      Atomics.wait(flags, 1, 0);
      Atomics.wait(flags, 0, 1, 2 * headersTimeout);
    };
    const client = new Worker(
      `const { parentPort, workerData: { port, flags, request, next } } = require('node:worker_threads');
     const client = require('node:net').connect(port, '127.0.0.1', () => {
       Atomics.wait(flags, 0, 0);
       client.write(request, () => {
         Atomics.store(flags, 1, 1);
         Atomics.notify(flags, 1);
       });
     });
     let answer = '';
     client.once('data', () => client.write(next));
     client.on('data', (part) => (answer += part)).on('close', () => parentPort.postMessage(answer));`,
      { eval: true, workerData: { port: portOf(), flags, request, next } },
    );
    const [answer] = await once(client, 'message');
    onConnection = () => {};
    await client.terminate();
    expect(answer).toMatch(new RegExp(wanted));
  },
);

test.each([
  ['a client that sends nothing', '', only('408 Request Timeout')],
  ['a client that sends half a head', head('GET /'), only('408 Request Timeout')],
  ['bytes that are no request', 'hello\r\n\r\n', only('400 Bad Request')],
  ['TLS', '\x16\x03\x01\x00\xc8\x01', only('400 Bad Request')],
  ['a head that is too large', `${head('GET /')}A: ${'a'.repeat(20_000)}`, only('431 Request Header Fields Too Large')],
  [
    'extensions of chunks that are too large',
    `${head('POST /')}Transfer-Encoding: chunked\r\n\r\n1;${'a'.repeat(20_000)}`,
    only('413 Payload Too Large'),
  ],
  ['a body that is faulty', `${head('POST /')}Transfer-Encoding: chunked\r\n\r\nnone\r\n`, only('400 Bad Request')],
])('%s is refused', async (_who, sent, answer) => {
  expect(await answerTo(sent)).toBe(answer);
});

test('nothing is written into the midst of an answer, or before one', async () => {
  expect(await answerTo(`${head('GET /begun')}\r\nnone\r\n\r\n`)).not.toContain('400');
  expect(await answerTo(`${head('GET /begun')}\r\n${head('GET /later')}\r\nnone\r\n\r\n`)).not.toContain('400');
});

test('a head behind a request that is being answered is refused after its answer', async () => {
  const answer = await answerTo(`${head('GET /held')}\r\n${head('GET /')}`);
  expect(answer).toMatch(/^HTTP\/1\.1 200 OK\r\n[\s\S]*held/);
  expect(answer).toContain(only('408 Request Timeout'));
});
