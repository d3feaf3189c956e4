/** The transport of GraphQL: failures before it runs, the schema as text, and documents that are named by their hashes. */
import { createHash } from 'node:crypto';
import fs from 'node:fs';
import path from 'node:path';
import { afterAll, beforeAll, describe, expect, test } from '@jest/globals';
import { createClient } from 'graphql-ws';
import { sql } from 'kysely';
import WebSocket from 'ws';
import { cursorAt } from '../../src/changes/service.ts';
import { graphqlCodes } from '../../src/graphql/failures.ts';
import { cloneDatabase } from '../_util/postgres.ts';
import { type Service, startService } from '../_util/service.ts';
import { openWire } from '../_util/wire.ts';

const origin = 'https://school.example';
const answerType = 'application/graphql-response+json';

let database: Awaited<ReturnType<typeof cloneDatabase>>;
let wire: Awaited<ReturnType<typeof openWire>>;
let service: Service;
let token: string;
let admin: string;

beforeAll(async () => {
  database = await cloneDatabase();
  wire = await openWire(database.url);
  service = await startService({
    Role: 'Web',
    Cors__Origins: origin,
    Limits__RequestsPerMinute: '60',
    DatabaseUrl: wire.url,
  });
  token = await service.signIn(service.tenant, 'User');
  admin = await service.signIn(service.tenant, 'Admin');
});
afterAll(async () => {
  await service.stop();
  await database.drop();
});

/** The codes of all answers. */
const seen = new Set<unknown>();

const send = async (
  init: { body?: unknown; method?: string; path?: string; headers?: Record<string, string> } = {},
) => {
  const { body = { query: '{ serverTime }' }, method = 'POST', path = '/school/graphql', headers = {} } = init;
  const text = typeof body === 'string' ? body : JSON.stringify(body);
  const answer = await fetch(service.url + path, {
    method,
    headers: {
      authorization: `Bearer ${token}`,
      'content-type': 'application/json',
      accept: answerType,
      origin,
      ...headers,
    },
    body: method === 'GET' ? null : text,
  });
  if (/json/.test(answer.headers.get('content-type') ?? '')) {
    const { errors = [] } = (await answer.clone().json()) as {
      errors?: { extensions: { code: string; traceId: string } }[];
    };
    for (const { extensions } of errors) {
      seen.add(extensions.code);
      expect(extensions.traceId).toBe(answer.headers.get('x-request-id'));
    }
  }
  if (path.endsWith('/graphql')) expect(answer.headers.get('vary')).toMatch(/\bAccept\b/);
  return answer;
};

describe('a failure before GraphQL runs has a GraphQL body, and the status and headers of REST', () => {
  const table: [name: string, init: Parameters<typeof send>[0], status: number, code: string, header: string[]][] = [
    ['no valid credential', { headers: { authorization: 'Bearer x' } }, 401, 'NOT_AUTHENTICATED', ['www-authenticate']],
    ['another tenant', { path: '/stranger/graphql' }, 404, 'NOT_FOUND', []],
    ['another method', { method: 'PUT' }, 405, 'BAD_REQUEST', ['allow']],
    ['another type', { headers: { 'content-type': 'text/plain' } }, 415, 'BAD_REQUEST', []],
    ['too much', { body: 'x'.repeat(1_100_000) }, 413, 'LIMIT', []],
    ['broken JSON', { body: '{' }, 400, 'BAD_REQUEST', []],
  ];

  test.each(table)('%s', async (_name, init, status, code, names) => {
    const answer = await send(init);
    expect([answer.status, answer.headers.get('content-type')]).toEqual([status, `${answerType}; charset=utf-8`]);
    const body = (await answer.json()) as object;
    expect(body).toEqual({
      errors: [expect.objectContaining({ message: expect.any(String), extensions: expect.objectContaining({ code }) })],
    });
    for (const name of ['x-request-id', 'access-control-allow-origin', ...names])
      expect([name, answer.headers.get(name)]).toEqual([name, expect.any(String)]);
  });

  test('a subscription of a client that accepts no stream, which is told how to subscribe', async () => {
    const query = 'subscription { bookings(filter: {}) { cursor } }';
    for (const type of [answerType, 'application/json']) {
      const answer = await send({ body: { query }, headers: { accept: type } });
      expect([answer.status, answer.headers.get('content-type')]).toEqual([406, `${type}; charset=utf-8`]);
      expect(await answer.json()).toEqual({
        errors: [
          {
            message: expect.stringMatching(/Accept: text\/event-stream.*WebSocket/),
            extensions: { code: 'BAD_REQUEST', traceId: expect.any(String) },
          },
        ],
      });
    }
  });

  test('a client that accepts no type of GraphQL gets a problem', async () => {
    const answer = await send({ headers: { accept: 'image/png' } });
    expect([answer.status, answer.headers.get('content-type')]).toEqual([
      406,
      'application/problem+json; charset=utf-8',
    ]);
  });

  test('in application/json for who asks for that, and a problem for who asks for neither', async () => {
    const types = [];
    for (const accept of ['text/event-stream, application/json;q=0.5', '*/*'])
      types.push((await send({ headers: { accept, authorization: '' } })).headers.get('content-type'));
    expect(types).toEqual(['application/json; charset=utf-8', 'application/problem+json; charset=utf-8']);
    const rest = await send({ path: '/school/api/v1.0/nothing', headers: { authorization: '', accept: answerType } });
    expect(rest.headers.get('content-type')).toContain('application/problem+json');
  });
});

test('a WebSocket whose client sends too many messages in a minute, of whatever kind, is closed with 1008', async () => {
  const most = 600;
  const kinds: Record<string, (socket: WebSocket) => void> = {
    'pings of the protocol': (socket) => socket.send('{"type":"ping"}'),
    'ends of what is not under way': (socket) => socket.send('{"type":"complete","id":"1"}'),
    'pings of WebSocket': (socket) => socket.ping(),
  };
  for (const [kind, send] of Object.entries(kinds)) {
    const socket = new WebSocket(`${service.url.replace('http', 'ws')}/school/graphql`, 'graphql-transport-ws', {
      headers: { authorization: `Bearer ${token}` },
    });
    await new Promise((resolve) => socket.once('open', resolve));
    const accepted = new Promise((resolve) => socket.once('message', resolve));
    socket.send('{"type":"connection_init"}');
    await accepted;
    let answers = 0;
    socket.on('message', () => answers++).on('pong', () => answers++);
    const closed = new Promise((resolve) => socket.on('close', (code, reason) => resolve([code, String(reason)])));
    // More than it takes, where a minute ends meanwhile.
    for (let sent = 0; sent < 2 * most + 1; sent++) send(socket);
    expect([kind, await closed]).toEqual([kind, [1008, 'Too many messages in a minute']]);
    if (!kind.startsWith('ends')) expect(answers).toBeGreaterThanOrEqual(most - 1);
  }
});

describe('a failure of GraphQL has a code that is listed', () => {
  const table: [query: string, status: number, code: string][] = [
    ['{ serverTime', 400, 'GRAPHQL_PARSE_FAILED'],
    ['{ nothing }', 400, 'GRAPHQL_VALIDATION_FAILED'],
    ['query A { me { id } } query B { me { id } }', 400, 'BAD_REQUEST'],
    ['{ resources(first: 0) { nodes { id } } }', 200, 'BAD_USER_INPUT'],
    ['query ($id: ID!) { booking(id: $id) { id } }', 400, 'BAD_USER_INPUT'],
    ['{ audit { nodes { id } } }', 200, 'FORBIDDEN'],
    [`{ changes(after: "${cursorAt({ position: 1_000_000_000, micros: 1 })}") { hasMore } }`, 200, 'CONFLICT'],
    [`{ ${'a: __typename '.repeat(400)} }`, 400, 'GRAPHQL_PARSE_FAILED'],
    [`{ ${Array.from({ length: 201 }, (_, n) => `a${n}: __typename`).join(' ')} }`, 400, 'LIMIT'],
  ];

  test.each(table)('%s', async (query, status, code) => {
    const answer = await send({ body: { query } });
    const { errors = [] } = (await answer.json()) as { errors?: { extensions: { code: string } }[] };
    expect([answer.status, ...errors.map(({ extensions }) => extensions.code)]).toEqual([status, code]);
  });

  test.each(table.slice(0, 3))('%s, which comes over a WebSocket first', async (query, status, code) => {
    const document = `${query} # over a WebSocket`;
    const client = createClient({
      webSocketImpl: WebSocket,
      url: `${service.url.replace('http', 'ws')}/school/graphql`,
      connectionParams: { Authorization: `Bearer ${token}` },
    });
    const refused = client.iterate({ query: document }).next();
    await expect(refused).rejects.toMatchObject([{ extensions: { code } }]);
    await client.dispose();
    const answer = await send({ body: { query: document } });
    expect(answer.status).toBe(status);
    expect(await answer.json()).toMatchObject({ errors: [{ extensions: { code } }] });
  });

  test('what is no fault of the caller', async () => {
    const { db } = service.context;
    await sql`alter table holiday rename to holiday_away`.execute(db);
    const answer = await send({ body: { query: '{ serverTime holidays { nodes { id } } }' } });
    await sql`alter table holiday_away rename to holiday`.execute(db);
    expect(await answer.json()).toMatchObject({
      data: { serverTime: expect.any(String), holidays: null },
      errors: [{ path: ['holidays'], extensions: { code: 'INTERNAL_ERROR', traceId: expect.any(String) } }],
    });
  });
});

describe('the schema as text', () => {
  const schema = '/school/graphql/schema.graphql';

  test('is that which is committed, with an ETag', async () => {
    const answer = await send({ method: 'GET', path: schema });
    expect([answer.status, answer.headers.get('content-type')]).toEqual([200, 'text/plain; charset=utf-8']);
    const file = path.join(import.meta.dirname, '..', '..', 'src', 'graphql', 'schema.graphql');
    expect(await answer.text()).toBe(fs.readFileSync(file, 'utf8'));
    const etag = answer.headers.get('etag') as string;
    const again = await send({ method: 'GET', path: schema, headers: { 'if-none-match': etag } });
    expect([again.status, await again.text()]).toEqual([304, '']);
  });

  test('needs a credential, as introspection does', async () => {
    expect((await send({ method: 'GET', path: schema, headers: { authorization: '' } })).status).toBe(401);
  });
});

describe('automatic persisted queries', () => {
  const named = (query: string, sha256Hash = createHash('sha256').update(query).digest('hex')) => ({
    extensions: { persistedQuery: { version: 1, sha256Hash } },
  });
  const codeOf = async (answer: Response) => {
    const { errors } = (await answer.json()) as { errors?: { extensions: { code: string } }[] };
    return [answer.status, errors?.[0]?.extensions.code];
  };

  test('a document is sent once, and named by its hash from then on', async () => {
    const query = '{ serverTime me { role } }';
    expect(await codeOf(await send({ body: named(query) }))).toEqual([200, 'PERSISTED_QUERY_NOT_FOUND']);
    const answers = [];
    for (const body of [{ query, ...named(query) }, named(query), named(query)])
      answers.push(await (await send({ body })).json());
    for (const answer of answers)
      expect(answer).toEqual({ data: { serverTime: expect.any(String), me: { role: 'User' } } });
  });

  test('subscriptions over SSE too', async () => {
    const query = 'subscription { bookings(filter: {}) { cursor } }';
    for (const body of [{ query, ...named(query) }, named(query)]) {
      const answer = await send({ body, headers: { accept: 'text/event-stream' } });
      expect([answer.status, answer.headers.get('content-type')]).toEqual([
        200,
        expect.stringContaining('text/event-stream'),
      ]);
      await answer.body?.cancel();
    }
  });

  test('a wrong hash is refused, and keeps nothing', async () => {
    const query = '{ serverTime other: serverTime }';
    const wrong = named(query, 'a'.repeat(64));
    expect(await codeOf(await send({ body: { query, ...wrong } }))).toEqual([400, 'PERSISTED_QUERY_MISMATCH']);
    expect(await codeOf(await send({ body: wrong }))).toEqual([200, 'PERSISTED_QUERY_NOT_FOUND']);
    expect(await codeOf(await send({ body: named(query, 'A') }))).toEqual([400, 'BAD_REQUEST']);
  });

  test('a malformed member is refused, also beside a document; null counts as left out', async () => {
    const query = '{ serverTime }';
    for (const persistedQuery of [5, 0, '', 'text', true, false, [], {}]) {
      const body = { query, extensions: { persistedQuery } };
      expect([persistedQuery, await codeOf(await send({ body }))]).toEqual([persistedQuery, [400, 'BAD_REQUEST']]);
    }
    const body = { query, extensions: { persistedQuery: null } };
    expect(await codeOf(await send({ body }))).toEqual([200, undefined]);
  });
});

test('429: too many requests, with Retry-After', async () => {
  let answer = await send();
  for (let sent = 0; sent < 70 && answer.status !== 429; sent++) answer = await send();
  expect([answer.status, answer.headers.get('content-type')]).toEqual([429, `${answerType}; charset=utf-8`]);
  expect(Number(answer.headers.get('retry-after'))).toBeGreaterThan(0);
  expect(await answer.json()).toMatchObject({ errors: [{ extensions: { code: 'LIMIT' } }] });
});

test('503 while the database is out of reach, with Retry-After', async () => {
  await wire.close();
  const answer = await send({ headers: { authorization: `Bearer ${admin}` } });
  expect([answer.status, answer.headers.get('content-type')]).toEqual([503, `${answerType}; charset=utf-8`]);
  expect(answer.headers.get('retry-after')).toBe('5');
  expect(await answer.json()).toEqual({
    errors: [
      {
        message: expect.any(String),
        extensions: { code: 'UNAVAILABLE', retryAfterSeconds: 5, traceId: expect.any(String) },
      },
    ],
  });
});

test('docs/graphql.md lists every code, and each came by', () => {
  const page = fs.readFileSync('docs/graphql.md', 'utf8');
  const listed = [...page.matchAll(/^\| `([A-Z_]+)` \|/gm)].map(([, code]) => code);
  expect(listed).toEqual([...graphqlCodes]);
  expect([...seen].sort()).toEqual([...graphqlCodes]);
});
