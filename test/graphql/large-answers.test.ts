/** Answers of megabytes: on every road they are sent in chunks as their readers take them, and never are one text. */
import net from 'node:net';
import { afterAll, beforeAll, beforeEach, describe, expect, jest, test } from '@jest/globals';
import { sql } from 'kysely';
import WebSocket from 'ws';
import { openSlabs } from '../../src/availability/spans.ts';
import type { Viewer } from '../../src/context.ts';
import { LimitExceeded } from '../../src/errors.ts';
import { openLargeAnswers } from '../../src/flow/large-answers.ts';
import { tenantNow } from '../../src/flow/working.ts';
import { Outbox } from '../../src/graphql/outbox.ts';
import { openChunks } from '../../src/http/pieces.ts';
import { ahead, nextYear } from '../_util/ahead.ts';
import { makeTenant } from '../_util/factories.ts';
import { type GraphqlService, startGraphql } from '../_util/graphql.ts';
import { cloneDatabase } from '../_util/postgres.ts';
import { until } from '../_util/process.ts';

let database: Awaited<ReturnType<typeof cloneDatabase>>;
let service: GraphqlService;
let holder: { mandatorId: number; personId: number };
let rooms: { id: number; name: string }[];
let locationId: number;
/** The slabs of answers under way, and the most there were. */
const slabs = { inUse: 0, most: 0 };

const minute = 60_000;
const from = Date.parse(ahead('2027-03-01T00:00Z'));
const bookings = 1_344;
const at = (minutes: number) => new Date(from + minutes * minute).toISOString();

const range = (count: number) => Array.from({ length: count }, (_, index) => index);
const aliases = range(60).map((number) => `a${number}`);

beforeAll(async () => {
  database = await cloneDatabase();
  service = await startGraphql(database.url);
  const { db } = service.context;
  const tenant = await makeTenant(db, { rooms: ['R1', 'R2', 'R3', 'R4'] });
  holder = service.admit('user', tenant);
  rooms = tenant.resources;
  locationId = tenant.locationId;
  await sql`
    insert into booking (mandator_id, resource_id, kind, status, origin, subject, occupied)
    select ${tenant.mandatorId}, ${rooms[0]?.id}, 'Booking', 'Confirmed', 'Api', 'One', tstzrange(at, at + interval '10 minutes')
    from generate_series(${at(0)}::timestamptz, ${at(30 * (bookings - 1))}::timestamptz, interval '30 minutes') as at`.execute(
    db,
  );
  const pool = service.context.once(openSlabs);
  const { take, giveBack } = pool;
  pool.take = () => {
    slabs.most = Math.max(slabs.most, ++slabs.inUse);
    return take();
  };
  pool.giveBack = (slab) => {
    slabs.inUse--;
    giveBack(slab);
  };
});

afterAll(async () => {
  await service.stop();
  await database.drop();
});

beforeEach(() => {
  slabs.most = 0;
});

const spans =
  () => `availability(input: { from: "${at(0)}", to: "${at(30 * bookings)}", resourceIds: ["${rooms[0]?.id}"] }) {
  busy { ${aliases.map((name) => `${name}: start`).join(' ')} } free { end } }`;

/** Of so many resources that it is large before it is made. */
const spansOfAll = () => spans().replace(/, resourceIds: .*?\]/, '');

/** Of one list that is far longer than a chunk. */
const expectedSpans = () => [
  {
    busy: range(bookings).map((number) => Object.fromEntries(aliases.map((name) => [name, at(30 * number)]))),
    free: range(bookings).map((number) => ({ end: at(30 * (number + 1)) })),
  },
];

const longNames = range(8).map((number) => `${'n'.repeat(40_000)}${number}`);

const queries: [name: string, query: () => string, expected: () => object][] = [
  ['spans', () => `{ ${spans()} }`, () => ({ availability: expectedSpans() })],
  [
    "spans, by GraphQL's own executor",
    () => `{ me { id @skip(if: true) role } ${spans()} }`,
    () => ({ me: { role: 'User' }, availability: expectedSpans() }),
  ],
  [
    'long names, without a list that writes itself',
    () => `{ resources { nodes { ${longNames.map((name) => `${name}: name`).join(' ')} } } }`,
    () => ({
      resources: { nodes: rooms.map(({ name }) => Object.fromEntries(longNames.map((long) => [long, name]))) },
    }),
  ],
];

const overHttp = (accept: string) => async (query: string) => await (await service.post({ query }, { accept })).text();

/** The texts of answers, by the ways to ask. */
const roads: [name: string, ask: (query: string) => Promise<string>][] = [
  ...['application/json', 'application/graphql-response+json; profile=x', 'text/html, application/json;q=0.9'].map(
    (accept): [string, (query: string) => Promise<string>] => [accept, overHttp(accept)],
  ),
  ['an empty Accept', overHttp('')],
  ...['text/event-stream', 'multipart/mixed, text/event-stream'].map(
    (accept): [string, (query: string) => Promise<string>] => [
      accept,
      async (query) => {
        const stream = await overHttp(accept)(query);
        const [, text] = /^event: next\ndata: (.*)\n\nevent: complete\ndata:\n\n$/.exec(stream) ?? [];
        return text ?? `No event: ${stream.slice(0, 100)}`;
      },
    ],
  ),
  [
    'a WebSocket',
    async (query) => {
      const client = service.ws();
      const { value } = await client.iterate({ query }).next();
      await client.dispose();
      return JSON.stringify(value);
    },
  ],
];

describe.each(queries)('an answer of %s', (_name, query, expected) => {
  test.each(roads)('comes whole and in chunks: %s', async (_road, ask) => {
    const written = jest.spyOn(net.Socket.prototype, 'write');
    // Tenants take turns at making and sending.
    const chunks = service.context.once(openChunks);
    const { take } = chunks;
    const tenants: unknown[] = [];
    const taking = jest.spyOn(chunks, 'take').mockImplementation((length) => {
      tenants.push(tenantNow());
      return take(length);
    });
    const text = await ask(query());
    taking.mockRestore();
    expect([tenants.length > 5, new Set(tenants)]).toEqual([true, new Set([holder.mandatorId])]);
    const lengths = written.mock.calls.map(([data]) => data.length);
    written.mockRestore();
    // Not printed, as it has megabytes.
    expect([text.length > 1_000_000, text === JSON.stringify({ data: expected() })]).toEqual([true, true]);
    // The query with its long names is sent whole.
    expect(Math.max(...lengths)).toBeLessThan(400_000);
    await until(() => slabs.inUse === 0);
  });
});

test('long and short messages of a WebSocket do not mix', async () => {
  const client = service.ws();
  const ask = async (query: string) => JSON.stringify((await client.iterate({ query }).next()).value?.data);
  const long = JSON.stringify({ availability: expectedSpans() });
  const answers = await Promise.all(
    range(12).map((number) => ask(number % 3 === 0 ? `{ ${spans()} }` : `{ a${number}: __typename }`)),
  );
  await client.dispose();
  for (const [number, answer] of answers.entries())
    expect(answer === (number % 3 === 0 ? long : `{"a${number}":"Query"}`)).toBe(true);
});

type Message = { type: string; id: string; payload?: unknown };

/** A WebSocket whose client may take nothing. */
async function openSocket(token = 'user') {
  const socket = new WebSocket(service.url.replace('http', 'ws'), 'graphql-transport-ws');
  const send = (message: object) => socket.send(JSON.stringify(message));
  const messages: Message[] = [];
  socket
    .on('open', () => send({ type: 'connection_init', payload: { Authorization: `Bearer ${token}` } }))
    .on('message', (data: Buffer) => void messages.push(JSON.parse(data.toString()) as Message));
  await until(() => messages.length === 1);
  return {
    socket,
    messages,
    ask: (id: number | string, query: string) => send({ id: String(id), type: 'subscribe', payload: { query } }),
    cancel: (id: string) => send({ id, type: 'complete' }),
    completed: () => messages.filter(({ type }) => type === 'complete').length,
  };
}

test('of a WebSocket whose client takes nothing only a few answers are made', async () => {
  const asked = 16;
  const { socket, ask, completed } = await openSocket();
  socket.pause();
  for (const number of range(asked)) ask(number, `{ ${spans()} }`);
  await until(() => slabs.inUse === 8);
  socket.resume();
  await until(() => completed() === asked);
  expect(slabs.most).toBe(8);
  await until(() => slabs.inUse === 0);
  socket.close();
});

test('an operation that has waited for the answers before it is not run if its credential was revoked meanwhile', async () => {
  service.viewers.set('leaving', service.viewers.get('user') as Viewer);
  const { socket, messages, ask, completed } = await openSocket('leaving');
  const waiting = jest.spyOn(Outbox.prototype, 'beginAnswer');
  socket.pause();
  for (const number of range(16)) ask(number, `{ ${spans()} }`);
  ask('late', '{ __typename }');
  await until(() => waiting.mock.calls.length === 17 && slabs.inUse === 8);
  waiting.mockRestore();
  service.viewers.delete('leaving');
  socket.resume();
  await until(() => completed() === 17);
  expect(messages.find(({ id }) => id === 'late')?.payload).toMatchObject({
    errors: [{ extensions: { code: 'NOT_AUTHENTICATED' } }],
  });
  await until(() => slabs.inUse === 0);
  socket.close();
});

test('an answer that a client cancels while it waits behind those before it is not sent', async () => {
  const { socket, messages, ask, cancel, completed } = await openSocket();
  const sending = jest.spyOn(Outbox.prototype, 'sendPieces');
  const checked = jest.spyOn(service.viewers, 'get');
  socket.pause();
  for (const number of range(7)) ask(number, `{ ${spans()} }`);
  await until(() => sending.mock.calls.length === 7);
  ask('last', `{ ${spans()} }`);
  await until(() => sending.mock.calls.length === 8);
  const before = checked.mock.calls.length;
  cancel('last');
  ask('next', '{ __typename }');
  await until(() => checked.mock.calls.length > before);
  for (const spy of [sending, checked]) spy.mockRestore();
  socket.resume();
  // It is sent behind all answers that were made before it.
  await until(() => completed() === 8);
  expect(messages.filter(({ id }) => id === 'last')).toEqual([]);
  await until(() => slabs.inUse === 0);
  socket.close();
});

const ping = (payload: object) => JSON.stringify({ type: 'ping', payload });

test('of a client that takes no short messages of its WebSocket nothing more is read until it does', async () => {
  const { socket, messages } = await openSocket();
  const pausing = jest.spyOn(WebSocket.prototype, 'pause');
  socket.pause();
  const [count, text] = [400, 'x'.repeat(100_000)];
  for (const number of range(count)) socket.send(ping({ number, text }));
  await until(() => pausing.mock.contexts.some((paused) => paused !== socket));
  pausing.mockRestore();
  socket.resume();
  await until(() => messages.length === 1 + count);
  expect(messages.slice(1).map(({ payload }) => (payload as { number: number }).number)).toEqual(range(count));
  socket.close();
});

test('a client is read while the answers that it has asked for are sent to it, however slowly it takes them', async () => {
  const taking = jest.spyOn(WebSocket.prototype, 'send').mockImplementation(() => {});
  const pause = jest.fn();
  const outbox = new Outbox({ pause } as unknown as WebSocket);
  for (const _ of range(8)) {
    await outbox.beginAnswer();
    outbox.send('x'.repeat(1_048_576), () => {});
  }
  expect(pause).not.toHaveBeenCalled();
  for (const _ of range(2)) outbox.send('x'.repeat(1_048_576), () => {});
  taking.mockRestore();
  expect(pause).toHaveBeenCalledTimes(1);
});

test('of the messages of a WebSocket one is read in a turn of the event loop', async () => {
  const { socket, messages } = await openSocket();
  const count = 100;
  let turn = 0;
  const next = () => {
    turn++;
    if (messages.length <= count) setImmediate(next);
  };
  const turns: number[] = [];
  const { send } = Outbox.prototype;
  const sending = jest.spyOn(Outbox.prototype, 'send').mockImplementation(function (this: Outbox, text, sent) {
    turns.push(turn);
    send.call(this, text, sent);
  });
  next();
  for (const number of range(count)) socket.send(ping({ number }));
  await until(() => messages.length === 1 + count);
  sending.mockRestore();
  expect(new Set(turns).size).toBe(count);
  socket.close();
});

test('of operations that wait for the answers before them there are at most a hundred', async () => {
  const outbox = new Outbox({} as unknown as WebSocket);
  const ends = await Promise.all(range(8).map(() => outbox.beginAnswer()));
  const waiting = range(100).map(() => outbox.beginAnswer());
  await expect(outbox.beginAnswer()).rejects.toThrow(LimitExceeded);
  for (const end of ends) end();
  await Promise.all(waiting.slice(0, 8));
  const late = outbox.beginAnswer();
  for (const one of waiting) (await one)();
  await expect(late).resolves.toEqual(expect.any(Function));
});

/** Places of the person, all that it may have and all that may wait; `taken` gives them back. */
async function takeAllPlaces() {
  // Those of the test before are given back a moment after its answers have arrived.
  await until(() => slabs.inUse === 0);
  const places = service.context.once(openLargeAnswers);
  const taken = Promise.withResolvers<void>();
  return { taken, held: range(8 + 64).map(() => places.hold(holder, () => taken.promise)) };
}

test('a person that takes none of its large answers gets no more of them until it does', async () => {
  const { held, taken } = await takeAllPlaces();
  const query = `{ ${spans()} }`;
  const client = service.ws();
  const socket = client.iterate({ query });
  expect((await socket.next()).value).toMatchObject({ errors: [{ extensions: { code: 'LIMIT' } }] });
  expect((await service.post({ query })).status).toBe(429);
  await until(() => slabs.inUse === 0);
  expect(await (await service.post({ query: '{ __typename }' })).json()).toEqual({ data: { __typename: 'Query' } });
  taken.resolve();
  await Promise.all(held);
  expect((await service.post({ query })).status).toBe(200);
  await client.dispose();
});

const quarter = () => `input: { from: "${at(0)}", to: "${at(92 * 1_440)}" }`;
const year = `from: "${nextYear}-01-01", to: "${nextYear}-12-31"`;
/** Fields of which the answer may be large, with short ones. */
const fields: [name: string, field: () => string][] = [
  ['availability', () => `availability(${quarter()}) { free { start } }`],
  [
    'availability of a resource',
    () =>
      `resources(first: 4) { nodes { availability(${quarter()}) { resourceId } b: availability(${quarter()}) { free { start } } c: availability(${quarter()}) { resourceName } } }`,
  ],
  ['opening hours', () => `openingHours(locationId: "${locationId}", ${year}) { timeZone }`],
  ['opening hours of a resource', () => `resources(first: 4) { nodes { openingHours(${year}) { resourceName } } }`],
];

test.each(fields)('a call waits for its place before its answer is made: %s', async (_name, field) => {
  const { held, taken } = await takeAllPlaces();
  const query = `{ ${field()} }`;
  expect((await service.post({ query })).status).toBe(429);
  const client = service.ws();
  expect((await client.iterate({ query }).next()).value).toMatchObject({ errors: [{ extensions: { code: 'LIMIT' } }] });
  await client.dispose();
  taken.resolve();
  await Promise.all(held);
  expect((await service.post({ query })).status).toBe(200);
});

test('what is small takes no place', async () => {
  const { held, taken } = await takeAllPlaces();
  const day = `input: { from: "${at(0)}", to: "${at(1_440)}" }`;
  const small = `openingHours(locationId: "${locationId}") { timeZone } resources(first: 4) { nodes { availability(${day}) { resourceId } openingHours { resourceName } } }`;
  const answer = await service.post({ query: `{ ${small} }` });
  expect([answer.status, await answer.json()]).toEqual([
    200,
    expect.not.objectContaining({ errors: expect.anything() }),
  ]);
  taken.resolve();
  await Promise.all(held);
});

test('an answer that is cancelled while it waits for its place is not made', async () => {
  await until(() => slabs.inUse === 0);
  slabs.most = 0;
  const places = service.context.once(openLargeAnswers);
  const leave = await Promise.all(range(8).map(() => places.take(holder)));
  const taking = jest.spyOn(places, 'take');
  const { socket, messages } = await openSocket();
  socket.send(JSON.stringify({ id: '1', type: 'subscribe', payload: { query: `{ ${spansOfAll()} }` } }));
  await until(() => taking.mock.calls.length === 1);
  taking.mockRestore();
  socket.send(JSON.stringify({ id: '1', type: 'complete' }));
  socket.send(ping({}));
  await until(() => messages.some(({ type }) => type === 'pong'));
  for (const one of leave) one();
  for (const one of await Promise.all(range(8).map(() => places.take(holder)))) one();
  expect(slabs.most).toBe(0);
  socket.close();
});

test('spans of answers that wait for their places take no memory', async () => {
  await until(() => slabs.inUse === 0);
  slabs.most = 0;
  const places = service.context.once(openLargeAnswers);
  const leave = await Promise.all(range(8).map(() => places.take(holder)));
  const taking = jest.spyOn(places, 'take');
  const answers = range(20).map(() => service.post({ query: `{ ${spansOfAll()} }` }));
  await until(() => taking.mock.calls.length === 20);
  expect(slabs.most).toBe(0);
  taking.mockRestore();
  for (const one of leave) one();
  for (const answer of await Promise.all(answers)) expect((await answer.text()).length).toBeGreaterThan(1_000_000);
  expect(slabs.most).toBeLessThanOrEqual(8);
});

/** Days of several resources, which together are large before they are made. */
const ofResources = () =>
  `resources(first: 4) { nodes { ${['a', 'b', 'c'].map((name) => `${name}: availability(${quarter()}) { resourceName }`).join(' ')} } }`;

test.each([
  ['an answer that has turned out to be large', spans],
  ['one of which a part is made before another asks for the place', () => `${spans()} ${ofResources()}`],
])('%s is not held while it waits for its place, and made again with it', async (_name, field) => {
  await until(() => slabs.inUse === 0);
  const query = `{ ${field()} }`;
  const places = service.context.once(openLargeAnswers);
  const usual = await (await service.post({ query })).text();
  const leave = await Promise.all(range(8).map(() => places.take(holder)));
  const taking = jest.spyOn(places, 'take');
  const client = service.ws();
  const overSocket = client.iterate({ query }).next();
  const answers = range(10).map(() => service.post({ query }));
  await until(() => taking.mock.calls.length === 11);
  expect(slabs.inUse).toBe(0);
  taking.mockRestore();
  for (const one of leave) one();
  for (const answer of await Promise.all(answers)) expect((await answer.text()) === usual).toBe(true);
  expect(JSON.stringify((await overSocket).value) === usual).toBe(true);
  await client.dispose();
  await until(() => slabs.inUse === 0);
});

test('a call has one place for all of its fields, and gives it back however it ends', async () => {
  await until(() => slabs.inUse === 0);
  const places = service.context.once(openLargeAnswers);
  const leave = await Promise.all(range(7).map(() => places.take(holder)));
  const [availability, ofResource, hours, hoursOfResource] = fields.map(([, field]) => field());
  const all = `${availability} ${hours} a: ${hours} b: ${hoursOfResource} c: ${ofResource}`;
  expect(await (await service.post({ query: `{ ${all} }` })).json()).not.toHaveProperty('errors');
  // By GraphQL's own executor, which stops at the first fault of a field that is not nullable.
  const faulty = `{ me { id @skip(if: true) } ${all} resources(first: 4) { nodes { openingHours(from: "2027-01-01", to: "2031-01-01") { resourceName } } } }`;
  expect(await (await service.post({ query: faulty })).json()).toHaveProperty('errors');
  leave.push(await places.take(holder));
  const gone = new AbortController();
  const taking = jest.spyOn(places, 'take');
  const waiting = service.post({ query: `{ ${spansOfAll()} }` }, {}, gone.signal).catch(() => 'gone');
  await until(() => taking.mock.calls.length === 1);
  gone.abort();
  expect(await waiting).toBe('gone');
  taking.mockRestore();
  for (const one of leave) one();
  await Promise.all(range(8).map(async () => (await places.take(holder))()));
  const again = await Promise.all(range(8).map(() => places.take(holder)));
  for (const one of again) one();
});

test('a mutation that has been done is answered, whatever its person has under way', async () => {
  const { held, taken } = await takeAllPlaces();
  const start = (day: number) => at(1_440 * day);
  const book = (day: number) => `mutation { createBooking(input: {
    resourceId: "${rooms[1]?.id}", subject: "One", start: "${start(day)}", end: "${at(1_440 * day + 60)}" }) {
    ... on BookingCreated { booking { resource {
      availability(input: { from: "${start(day)}", to: "${start(day + 1)}" }) { busy { start } } } } }
    ... on Problem { message } } }`;
  const expected = (day: number) => ({
    data: { createBooking: { booking: { resource: { availability: { busy: [{ start: start(day) }] } } } } },
  });
  const client = service.ws();
  expect(await (await service.post({ query: book(1) })).json()).toEqual(expected(1));
  expect((await client.iterate({ query: book(2) }).next()).value).toEqual(expected(2));
  await until(() => slabs.inUse === 0);
  taken.resolve();
  await Promise.all(held);
  await client.dispose();
});
