/** Answers of megabytes: on every road they are sent in chunks as their readers take them, and never are one text. */
import net from 'node:net';
import { afterAll, beforeAll, beforeEach, describe, expect, jest, test } from '@jest/globals';
import { sql } from 'kysely';
import WebSocket from 'ws';
import { openSlabs } from '../../src/availability/spans.ts';
import { LimitExceeded } from '../../src/errors.ts';
import { openLargeAnswers } from '../../src/flow/large-answers.ts';
import { Outbox } from '../../src/graphql/outbox.ts';
import { makeTenant } from '../_util/factories.ts';
import { type GraphqlService, startGraphql, until } from '../_util/graphql.ts';
import { cloneDatabase } from '../_util/postgres.ts';

let database: Awaited<ReturnType<typeof cloneDatabase>>;
let service: GraphqlService;
let holder: { mandatorId: number; personId: number };
let rooms: { id: number; name: string }[];
/** The slabs of answers under way, and the most there were. */
const slabs = { inUse: 0, most: 0 };

const minute = 60_000;
const from = Date.UTC(2027, 2, 1);
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
    const text = await ask(query());
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

test('of a WebSocket whose client takes nothing only a few answers are made', async () => {
  const asked = 16;
  const socket = new WebSocket(service.url.replace('http', 'ws'), 'graphql-transport-ws');
  const send = (message: object) => socket.send(JSON.stringify(message));
  const ready = Promise.withResolvers<void>();
  const done = Promise.withResolvers<void>();
  const complete = new Set<string>();
  socket
    .on('open', () => send({ type: 'connection_init', payload: { Authorization: 'Bearer user' } }))
    .on('close', done.resolve)
    .on('message', (data: Buffer) => {
      if (data.length > 1_000) return;
      const { type, id } = JSON.parse(data.toString()) as { type: string; id: string };
      if (type === 'connection_ack') ready.resolve();
      if (type === 'complete' && complete.add(id).size === asked) done.resolve();
    });
  await ready.promise;
  socket.pause();
  for (const number of range(asked))
    send({ id: String(number), type: 'subscribe', payload: { query: `{ ${spans()} }` } });
  await until(() => slabs.inUse === 8);
  socket.resume();
  await done.promise;
  expect([complete.size, slabs.most]).toEqual([asked, 8]);
  await until(() => slabs.inUse === 0);
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

test('a person that takes none of its large answers gets no more of them until it does', async () => {
  const places = service.context.once(openLargeAnswers);
  const taken = Promise.withResolvers<void>();
  const held = range(32 + 64).map(() => places.hold(holder, () => taken.promise));
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
