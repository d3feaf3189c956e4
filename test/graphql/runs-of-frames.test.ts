/** A board has a frame for each of its rooms, which may be thousands: other work runs between them, on every road. */
import http from 'node:http';
import type { AddressInfo } from 'node:net';
import { afterAll, afterEach, beforeAll, beforeEach, expect, jest, test } from '@jest/globals';
import WebSocket from 'ws';
import type { Execution } from '../../src/graphql/execution.ts';
import { Outbox } from '../../src/graphql/outbox.ts';
import { createEventStreams } from '../../src/graphql/sse.ts';
import { makeTenant } from '../_util/factories.ts';
import { type GraphqlService, startGraphql } from '../_util/graphql.ts';
import { cloneDatabase } from '../_util/postgres.ts';
import { until } from '../_util/process.ts';

const count = 40;
/** A slice lasts five milliseconds, and each look at the clock takes two here. */
const mostInTurn = 5;

let database: Awaited<ReturnType<typeof cloneDatabase>>;
let service: GraphqlService;
let locationId: number;
/** How many frames were sent in each turn of the event loop. */
let sent: Map<number, number>;
let turn = 0;
let turning: NodeJS.Immediate;

beforeAll(async () => {
  database = await cloneDatabase();
  service = await startGraphql(database.url);
  const rooms = Array.from({ length: count }, (_, number) => `R${number}`);
  const tenant = await makeTenant(service.context.db, { rooms });
  service.admit('user', tenant);
  locationId = tenant.locationId;
});
beforeEach(() => {
  sent = new Map();
  const next = () => {
    turn++;
    turning = setImmediate(next);
  };
  next();
  const { now } = performance;
  let looks = 0;
  jest.spyOn(performance, 'now').mockImplementation(() => now.call(performance) + 2 * ++looks);
});
afterEach(() => {
  clearImmediate(turning);
  jest.restoreAllMocks();
});
afterAll(async () => {
  await service.stop();
  await database.drop();
});

const countSent = () => void sent.set(turn, (sent.get(turn) ?? 0) + 1);
const total = () => [...sent.values()].reduce((sum, some) => sum + some, 0);

test('over SSE', async () => {
  const events = createEventStreams({ error() {} } as never, 3_600_000);
  const frames = {
    mandatorId: 1,
    isOver: false,
    onNews: undefined,
    take(): Execution | undefined {
      if (total() === count) return undefined;
      countSent();
      return { result: { data: { number: total() } } };
    },
    close() {},
  };
  const server = http.createServer((_, response) => events.serve(response, frames));
  await new Promise((resolve) => server.listen(0, '127.0.0.1', () => resolve(undefined)));
  let text = '';
  const request = http.get({ port: (server.address() as AddressInfo).port, agent: false }, (response) =>
    response.on('data', (part) => (text += part)).on('error', () => {}),
  );
  await until(() => text.includes(`"number":${count}}`));
  const numbers = [...text.matchAll(/"number":(\d+)/g)].map(([, number]) => Number(number));
  expect(numbers).toEqual(Array.from({ length: count }, (_, index) => index + 1));
  expect(Math.max(...sent.values())).toBeLessThanOrEqual(mostInTurn);
  request.destroy();
  events.close();
  await new Promise((resolve) => server.close(resolve));
});

test('over WebSocket', async () => {
  const socket = new WebSocket(service.url.replace('http', 'ws'), 'graphql-transport-ws');
  const frames = (id: string) => got.filter((message) => message.id === id && message.type === 'next');
  const got: { id: string; type: string }[] = [];
  socket.on('message', (data) => got.push(JSON.parse(String(data))));
  await new Promise((resolve) => socket.once('open', resolve));
  const send = (message: object) => socket.send(JSON.stringify(message));
  send({ type: 'connection_init', payload: { Authorization: 'Bearer user' } });
  await until(() => got.length === 1);
  const query = `subscription { board(locationId: "${locationId}") { ... on DisplaySnapshot { resource { name } } } }`;
  const watch = async (id: string) => {
    send({ id, type: 'subscribe', payload: { query } });
    await until(() => frames(id).length >= count);
  };
  // The rooms are read for the first one, one after the other, and are all there for the second.
  await watch('first');
  const { send: sending } = Outbox.prototype;
  jest.spyOn(Outbox.prototype, 'send').mockImplementation(function (this: Outbox, text, done) {
    if (text.includes('"second"')) countSent();
    sending.call(this, text, done);
  });
  await watch('second');
  expect(Math.max(...sent.values())).toBeLessThanOrEqual(mostInTurn);
  socket.close();
});
