import { once } from 'node:events';
import fs from 'node:fs';
import net from 'node:net';
import { afterAll, beforeAll, describe, expect, test } from '@jest/globals';
import { getIntrospectionQuery } from 'graphql';
import { serverAudits } from 'graphql-http';
import WebSocket from 'ws';
import { makeTenant } from '../_util/factories.ts';
import { type Answer, type GraphqlService, startGraphql } from '../_util/graphql.ts';
import { ratioOf } from '../_util/growth.ts';
import { NowDocument } from '../_util/operations/generated/graphql.ts';
import { cloneDatabase } from '../_util/postgres.ts';
import { until } from '../_util/process.ts';

let database: Awaited<ReturnType<typeof cloneDatabase>>;
let service: GraphqlService;
/** A WebSocket that says nothing, from the beginning of this file on. */
let silent: Promise<number | string>;

beforeAll(async () => {
  database = await cloneDatabase();
  service = await startGraphql(database.url);
  const tenant = await makeTenant(service.context.db);
  service.admit('user', tenant);
  service.admit('stranger', tenant, { mandator: 'stranger' });
  silent = greet('/school/graphql', { silent: true });
});

afterAll(async () => {
  await service.stop();
  await database.drop();
});

const read = async (response: Response) => (await response.json()) as Pick<Answer<unknown>, 'data' | 'errors'>;

const socketUrl = (path: string) => `ws://127.0.0.1:${service.port}${path}`;

/** Opens one, says hello, and returns the code with which it is closed, or what the first answer is. */
function greet(
  path: string,
  options: { headers?: Record<string, string>; payload?: unknown; silent?: boolean; text?: string } = {},
) {
  const socket = new WebSocket(socketUrl(path), 'graphql-transport-ws', { headers: options.headers ?? {} });
  return new Promise<number | string>((resolve) => {
    socket.on('open', () => {
      if (!options.silent)
        socket.send(options.text ?? JSON.stringify({ type: 'connection_init', payload: options.payload }));
    });
    socket.on('message', (data) => {
      resolve((JSON.parse(String(data)) as { type: string }).type);
      socket.terminate();
    });
    socket.on('close', (code, reason) => resolve(options.silent ? `${code} ${reason}` : code));
    socket.on('error', (error) => resolve(error.message));
  });
}

const range = (count: number) => Array.from({ length: count }, (_, index) => index);

/** Each fragment asks twice for the next one: 2^levels leaves. */
const doubled = (levels: number) =>
  `query { batch(id: "x") { ...f0 } } ${range(levels)
    .map((n) => `fragment f${n} on Batch { ...f${n + 1} ...f${n + 1} }`)
    .join(' ')} fragment f${levels} on Batch { id }`;

const tokens = /more than 1000 tokens/;
const fields = /fields; 200 are allowed/;
const cost = /costs \d+; 10000 are allowed/;

const bombs: [name: string, query: string, reason: RegExp][] = [
  ['2^20 leaves by doubled fragments', doubled(20), fields],
  [
    'a chain of 300 fragments',
    `${range(299)
      .map((n) => `fragment f${n} on Batch { ...f${n + 1} }`)
      .join(' ')} fragment f299 on Batch { id } { batch(id: "x") { ...f0 } }`,
    tokens,
  ],
  [
    'a fragment that contains itself',
    '{ batch(id: "x") { ...f } } fragment f on Batch { ...f }',
    /Cannot spread fragment/,
  ],
  ['a depth of 5,000', `${'{ batch(id: "x") '.repeat(5_000)}{ id }${'}'.repeat(5_000)}`, tokens],
  [
    '300 aliases',
    `{ ${range(300)
      .map((n) => `a${n}: serverTime`)
      .join(' ')} }`,
    fields,
  ],
  ['480 fields, before other faults are looked for', `{ ${'me { id } '.repeat(240)} unknown }`, fields],
  [
    '480 fields of a fragment that is not used',
    `{ me { id } } fragment f on Query { ${'me { id } '.repeat(240)} }`,
    fields,
  ],
  [
    '480 fields of fragments in introspection',
    `{ __schema { ...f0 ...f1 ...f2 } unknown } ${range(3)
      .map((n) => `fragment f${n} on __Schema { ${'queryType { name } '.repeat(80)} }`)
      .join(' ')}`,
    fields,
  ],
  ['20,000 times the same field', `{ ${'serverTime '.repeat(20_000)} }`, tokens],
  ['20,000 directives', `{ serverTime ${'@skip(if: false) '.repeat(20_000)} }`, tokens],
  [
    '5,000 variables',
    `query (${range(5_000)
      .map((n) => `$v${n}: Int`)
      .join(' ')}) { serverTime }`,
    tokens,
  ],
  ['pages in pages', '{ batches(first: 200) { nodes { errors(first: 200) { nodes { code message } } } } }', cost],
  [
    'pages in pages by a variable',
    'query ($n: Int = 200) { batches(first: $n) { nodes { errors(first: $n) { nodes { code message } } } } }',
    cost,
  ],
  [
    'lessons of a booking that lead back to it',
    '{ booking(id: "1") { lessons { booking { lessons { booking { lessons { id } } } } } } }',
    cost,
  ],
  [
    'a costly operation behind a cheap one',
    'query Cheap { serverTime } query Named { batches(first: 200) { nodes { errors(first: 200) { nodes { code } } } } }',
    cost,
  ],
  [
    'introspection multiplied by aliases',
    `{ __schema { types { ${range(40)
      .map((n) => `a${n}: fields { ...f }`)
      .join(' ')} } } } fragment f on __Field { ${range(40)
      .map((n) => `b${n}: type { ...g }`)
      .join(' ')} } fragment g on __Type { ${range(40)
      .map((n) => `c${n}: name`)
      .join(' ')} }`,
    /takes no aliases/,
  ],
  [
    'introspection that goes in circles',
    '{ __schema { types { fields { type { fields { type { fields { type { fields { name } } } } } } } } } }',
    /introspection depth/i,
  ],
];

describe('a query that would cost too much', () => {
  test.each(bombs)('is refused at once: %s', async (_name, query, reason) => {
    const response = await service.post({
      query,
      operationName: query.includes('Named') ? 'Named' : undefined,
    });
    const { data, errors } = await read(response);
    expect(errors?.[0]?.message).toMatch(reason);
    expect(data ?? null).toBeNull();
    expect(errors?.[0]?.extensions['code']).not.toBe('INTERNAL_ERROR');
    expect(response.status).toBe(200);
  });

  test('is refused as a subscription before it starts', async () => {
    const query = `subscription { batches { ${range(201)
      .map((n) => `a${n}: id`)
      .join(' ')} } }`;
    const text = await (await service.post({ query }, { accept: 'text/event-stream' })).text();
    expect(text).toContain('"code":"LIMIT"');
    expect(text).toContain('event: complete');
    expect(service.graphql.streamCount()).toBe(0);
  });
});

describe('mutations of one call', () => {
  let limited: GraphqlService;
  beforeAll(async () => {
    limited = await startGraphql(database.url, { RequestsPerMinute: 20 });
    const tenant = await makeTenant(limited.context.db, { code: 'limited' });
    limited.admit('user', tenant);
    limited.admit('other', tenant, { role: 'Importer' });
    limited.admit('third', tenant, { role: 'Admin' });
  });
  afterAll(() => limited.stop());

  const cancel = (count: number, name = 'a') =>
    range(count)
      .map((n) => `${name}${n}: cancelBatch(id: "x") { __typename }`)
      .join(' ');
  const many = `mutation { ${cancel(10)} ...F ... on Mutation { ${cancel(10, 'c')} } } fragment F on Mutation { ${cancel(10, 'b')} }`;
  const few = `mutation { ${cancel(5)} }`;
  const refused = [{ extensions: { code: 'LIMIT', retryAfterSeconds: expect.any(Number) } }];

  test('are each counted as a request, and none runs past the limit', async () => {
    const { data, errors } = await read(await limited.post({ query: many }));
    expect([data ?? null, errors]).toMatchObject([null, refused]);
    const other = { authorization: 'Bearer other' };
    const answer = await read(await limited.post({ query: few }, other));
    expect(Object.keys(answer.data as object)).toHaveLength(5);
  });

  test('are so over a WebSocket', async () => {
    const client = limited.ws('third');
    const { value } = await client.iterate({ query: many }).next();
    expect(value).toMatchObject({ errors: refused });
    await client.dispose();
  });

  test('as any messages of a WebSocket: of ten times the limit in a minute the next closes it with 1008', async () => {
    const socket = new WebSocket(limited.url.replace('http', 'ws'), 'graphql-transport-ws');
    await once(socket, 'open');
    socket.send('{"type":"connection_init","payload":{"Authorization":"Bearer third"}}');
    await once(socket, 'message');
    let answers = 0;
    socket.on('message', () => answers++);
    const closed = once(socket, 'close');
    // More than it takes, where a minute ends meanwhile.
    for (let sent = 0; sent < 2 * 200 + 1; sent++) socket.send('{"type":"ping"}');
    expect(String(await closed)).toBe('1008,Too many messages in a minute');
    expect(answers).toBeGreaterThanOrEqual(199);
  });
});

describe('a WebSocket whose credential was refused', () => {
  test('is refused without another check while other operations keep it open', async () => {
    const tenant = await makeTenant(service.context.db, { code: 'refused' });
    service.admit('ended', tenant, { mandator: 'school' });
    const client = service.ws('ended');
    const ask = async () => (await client.iterate({ query: '{ __typename }' }).next()).value;
    const stream = client.iterate({ query: 'subscription { bookings(filter: {}) { cursor } }' });
    expect((await stream.next()).value).toMatchObject({ data: { bookings: { cursor: expect.any(String) } } });
    const viewer = service.viewers.get('ended')!;
    service.viewers.delete('ended');
    const refused = [{ extensions: { code: 'NOT_AUTHENTICATED' } }];
    await expect(ask()).rejects.toMatchObject(refused);
    service.viewers.set('ended', viewer);
    await expect(ask()).rejects.toMatchObject(refused);
    await client.dispose();
  });
});

describe('introspection', () => {
  test('works for everybody who is authenticated', async () => {
    const { data, errors } = await read(await service.post({ query: getIntrospectionQuery() }));
    expect(errors).toBeUndefined();
    expect(data).toHaveProperty('__schema.queryType.name', 'Query');
  });
});

describe('a name that does not exist', () => {
  const ask = async (body: object) => JSON.stringify((await read(await service.post(body))).errors);

  test.each([
    ['a field', '{ serverTimes }', 'serverTime'],
    ['an argument', '{ batch(idd: "x") { id } }', 'id'],
    ['a type', '{ batch(id: "x") { ... on Batc { id } } }', 'Batch'],
    ['an enum value', '{ batches(filter: { operation: Creat }) { nodes { id } } }', 'Create'],
  ])('is answered with the one that was meant: %s', async (_name, query, meant) => {
    expect(await ask({ query })).toMatch(new RegExp(`Did you mean (the enum value )?\\\\"${meant}\\\\"`));
  });

  const query = 'query ($f: BatchFilter) { batches(filter: $f) { nodes { id } } }';

  test('in a variable is a fault, as are all others there', async () => {
    const told = await ask({ query, variables: { f: { operation: 'Creat', min: true } } });
    expect(told).toContain('Did you mean the enum value \\"Create\\"?');
    expect(told).toContain('Did you mean \\"mine\\"?');
  });

  test.each([
    ['a long document', { query: `{ serverTimes } ${'#'.repeat(10_000)}` }],
    ['a document of many faults', { query: `{ ${range(4).map((n) => `serverTimes${n}`)} }` }],
    ['long variables', { query, variables: { f: { operation: 'Creat', jobKey: 'x'.repeat(10_000) } } }],
    ['many variables', { query, variables: { f: { min: true }, others: range(201) } }],
  ])('costs %s no search for another', async (_name, body) => {
    const told = await ask(body);
    expect(told).toContain('message');
    expect(told).not.toContain('Did you mean');
  });
});

describe('what is no JSON over POST', () => {
  const mutation = 'mutation { cancelBatch(id: "x") { __typename } }';
  const send = (method: string, contentType: string | undefined, body?: BodyInit, query = '') =>
    fetch(service.url + query, {
      method,
      headers: { authorization: 'Bearer user', ...(contentType && { 'content-type': contentType }) },
      body: body ?? null,
    });

  test.each([
    ['GET with a mutation', () => send('GET', undefined, undefined, `?query=${encodeURIComponent(mutation)}`), 405],
    [
      'GET for a page',
      () => fetch(service.url, { headers: { authorization: 'Bearer user', accept: 'text/html' } }),
      405,
    ],
    ['PUT', () => send('PUT', 'application/json', '{}'), 405],
    ['OPTIONS', () => send('OPTIONS', undefined), 405],
    [
      'urlencoded',
      () => send('POST', 'application/x-www-form-urlencoded', new URLSearchParams({ query: mutation })),
      415,
    ],
    ['multipart', () => send('POST', 'multipart/form-data; boundary=x', '--x--'), 415],
    ['text/plain', () => send('POST', 'text/plain', JSON.stringify({ query: mutation })), 415],
    ['application/graphql', () => send('POST', 'application/graphql', mutation), 415],
    ['another charset', () => send('POST', 'application/json; charset=latin1', '{}'), 415],
    ['gzip', () => service.post('{}', { 'content-encoding': 'gzip' }), 415],
    ['an answer as HTML', () => service.post({ query: mutation }, { accept: 'text/html' }), 406],
    [
      'an answer in UTF-16',
      () => service.post({ query: mutation }, { accept: 'application/json; charset=utf-16' }),
      406,
    ],
    [
      'a stream in UTF-16',
      () => service.post({ query: mutation }, { accept: 'text/event-stream; charset=utf-16' }),
      406,
    ],
    ['bytes that are no UTF-8', () => send('POST', 'application/json', new Uint8Array([0x7b, 0xff, 0x7d])), 400],
    ['a body over the limit', () => service.post({ query: '{ serverTime }', pad: 'x'.repeat(1024 * 1024) }), 413],
  ])('is refused with a problem: %s', async (_name, call, status) => {
    const response = await call();
    expect(response.status).toBe(status);
    expect(response.headers.get('content-type')).toContain('application/problem+json');
    expect(response.headers.get('access-control-allow-origin')).toBeNull();
    if (status === 405) expect(response.headers.get('allow')).toBe('POST');
    await response.arrayBuffer();
  });

  test('is refused with 413 also without Content-Length', async () => {
    const body = new ReadableStream({
      pull: (controller) => controller.enqueue(new Uint8Array(64 * 1024).fill(0x20)),
    });
    const response = await fetch(service.url, {
      method: 'POST',
      headers: { authorization: 'Bearer user', 'content-type': 'application/json' },
      body,
      duplex: 'half',
    } as RequestInit);
    expect(response.status).toBe(413);
  });

  test.each([
    ['broken JSON', '{'],
    ['nothing', ''],
    ['an empty object', '{}'],
    ['null', 'null'],
    ['a text', '"x"'],
    ['a batch of calls', JSON.stringify([{ query: '{ serverTime }' }, { query: '{ serverTime }' }])],
    ['an empty batch', '[]'],
    ['an unknown member', JSON.stringify({ query: '{ serverTime }', extra: 1 })],
    [
      'variables nested 100,000 deep',
      `{"query":"{ serverTime }","variables":${'['.repeat(100_000)}${']'.repeat(100_000)}}`,
    ],
  ])('is a GraphQL error with 400: %s', async (_name, body) => {
    const response = await service.post(body, { accept: 'application/graphql-response+json' });
    const { data, errors } = await read(response);
    expect([response.status, data, errors?.length]).toEqual([400, undefined, 1]);
  });
});

describe('a call of 900 KB that fails', () => {
  const [long, many] = ['x'.repeat(900_000), range(70_000)];
  const members = Object.fromEntries(many.map((n) => [`k${n}`, 1]));
  const batches = 'query ($f: BatchFilter, $n: Int) { batches(filter: $f, first: $n) { nodes { id } } }';
  const ids =
    'query ($ids: [ID!]) { availability(input: { from: "2026-01-01T00:00:00Z", to: "2026-01-02T00:00:00Z", resourceIds: $ids }) { resourceId } }';
  const exceptions =
    'mutation ($items: [OpeningExceptionInput!]!) { setOpeningExceptions(resourceId: 1, version: 0, items: $items) { __typename } }';
  const jobs = 'mutation ($jobs: [LessonJobInput!]!) { createLessonJobs(jobs: $jobs) { __typename } }';
  const calls: [name: string, body: unknown][] = [
    ['a text', long],
    ['a number', Number('1'.repeat(300))],
    ['a list', many],
    ['broken JSON', `{"query":"${long}`],
    ['an unknown member', { query: '{ serverTime }', pad: long }],
    ['unknown members', { query: '{ serverTime }', ...members }],
    ['a query that is a list', { query: many }],
    ['variables that are a text', { query: '{ serverTime }', variables: long }],
    ['variables that are a list', { query: '{ serverTime }', variables: many }],
    ['extensions that are a text', { query: '{ serverTime }', extensions: long }],
    ['an unknown operation', { query: '{ serverTime }', operationName: long }],
    ['an unknown field', { query: `{ ${long} }` }],
    ['lines of nothing before an unknown field', { query: `{ ${'\n'.repeat(450_000)} nothing }` }],
    ['lines of nothing before a wrong character', { query: `{ ${'\n'.repeat(450_000)} ? }` }],
    ['a text for a number', { query: batches, variables: { n: long } }],
    ['a text for an enumeration', { query: batches, variables: { f: { operation: long } } }],
    ['unknown members of an input', { query: batches, variables: { f: members } }],
    ['wrong members of a list', { query: ids, variables: { ids: many.map(() => ({})) } }],
    ['members of a list that are no ids', { query: ids, variables: { ids: many.map(() => 'x') } }],
    ['a record for each three bytes', { query: exceptions, variables: { items: range(290_000).map(() => ({})) } }],
    ['a job for each three bytes', { query: jobs, variables: { jobs: range(290_000).map(() => ({})) } }],
    ['lists in lists', { query: ids, variables: { ids: JSON.parse(`${'['.repeat(3_000)}${']'.repeat(3_000)}`) } }],
  ];
  const valid = { query: 'query ($id: ID!) { batch(id: $id) { id } }', variables: { id: long } };

  test.each(calls)('costs little more than one that succeeds: %s', async (_name, sent) => {
    const body = typeof sent === 'string' && sent.startsWith('{') ? sent : JSON.stringify(sent);
    const parse = () => {
      try {
        JSON.parse(body);
      } catch {}
    };
    const answers: string[] = [];
    for (const accept of ['application/json', 'text/event-stream']) {
      const fail = async () => void answers.push(await (await service.post(body, { accept })).text());
      const succeed = async () => {
        parse();
        await (await service.post(valid)).text();
      };
      expect(await ratioOf(fail, succeed, 12)).toBeLessThan(12);
    }
    expect(answers.join('')).toContain('"errors"');
    for (const answer of answers) expect(answer.length).toBeLessThan(50_000);
  });

  const overWebSocket = calls.filter(([, sent]) => {
    const { query, variables = {}, ...others } = sent as { query?: unknown; variables?: unknown };
    const isCall = typeof query === 'string' && typeof variables === 'object' && !Array.isArray(variables);
    return isCall && Object.keys(others).every((name) => name === 'operationName');
  });
  test.each(overWebSocket)('is answered with little over a WebSocket too: %s', async (_name, sent) => {
    const client = service.ws();
    const answer = await client
      .iterate(sent as { query: string })
      .next()
      .then(
        ({ value }) => value?.errors,
        (errors: unknown) => errors,
      );
    await client.dispose();
    expect(answer).toHaveProperty('0.message');
    expect(JSON.stringify(answer).length).toBeLessThan(50_000);
  });
});

describe('CORS', () => {
  test('is granted to no origin', async () => {
    const response = await service.post({ query: '{ serverTime }' }, { origin: 'https://evil.example' });
    expect([...response.headers.keys()].filter((name) => name.startsWith('access-control'))).toEqual([]);
  });
});

describe('GraphQL over HTTP', () => {
  const page = fs.readFileSync('docs/graphql.md', 'utf8');
  /** What the page says does not pass, with the reason. */
  const declined = new Map([...page.matchAll(/^\| `(\w{4})` (.+?) \| .+ \|$/gm)].map(([, id, name]) => [id, name]));
  const audits = serverAudits({
    url: () => service.url,
    fetchFn: (url: string, init: RequestInit) =>
      fetch(url, { ...init, headers: { authorization: 'Bearer user', ...init?.headers } }),
  });

  test('the page counts the audits by their levels, and names those that do not pass', () => {
    const levels = [...page.matchAll(/^\| (MUST|SHOULD|MAY) \| (\d+) \| (\d+) \|$/gm)].map(([, ...cells]) => cells);
    const counted = ['MUST', 'SHOULD', 'MAY'].map((level) => {
      const all = audits.filter(({ name }) => name.startsWith(`${level} `));
      return [level, String(all.length), String(all.filter(({ id }) => !declined.has(id)).length)];
    });
    expect(levels).toEqual(counted);
    const names = new Map(audits.map(({ id, name }) => [id, name]));
    for (const [id, name] of declined) expect([id, names.get(id as string)]).toEqual([id, name]);
  });

  test.each(audits.map((audit) => [`${audit.id} ${audit.name}`, audit] as const))('%s', async (_name, audit) => {
    const result = await audit.fn();
    if (declined.has(audit.id)) expect(result.status).toBe('notice');
    else expect(result).toMatchObject({ status: 'ok' });
  });
});

describe('an operation without a name', () => {
  const one = 'query Only($no: Boolean = false) { serverTime @skip(if: $no) }';
  const two = 'query A { serverTime } query B { serverTime }';
  const nothing = { operationName: null, variables: null, extensions: null };
  const unnamed = [
    { query: one, ...nothing },
    { query: one, ...nothing, operationName: '' },
    { query: '{ serverTime }', operationName: '' },
  ];

  test('over HTTP and as a stream, its name may be null or empty; so may all others be null', async () => {
    for (const call of unnamed) {
      const answer = await service.post(call);
      expect([answer.status, await answer.json()]).toEqual([200, { data: { serverTime: expect.any(String) } }]);
      const stream = await service.post(call, { accept: 'text/event-stream' });
      expect(await stream.text()).toContain('event: next\ndata: {"data":{"serverTime":');
    }
    const ambiguous = await service.post({ query: two, operationName: '' });
    expect(await read(ambiguous)).toMatchObject({ errors: [{ extensions: { code: 'BAD_REQUEST' } }] });
  });

  test('so over a WebSocket', async () => {
    const client = service.ws();
    for (const call of unnamed)
      expect(await client.iterate(call as { query: string }).next()).toHaveProperty('value.data.serverTime');
    const ambiguous = client.iterate({ query: two, operationName: '' }).next();
    await expect(ambiguous).rejects.toMatchObject([{ extensions: { code: 'BAD_REQUEST' } }]);
    await client.dispose();
  });
});

describe('a WebSocket', () => {
  test('is let in by its header, or by the parameters of its first message', async () => {
    expect(await greet('/school/graphql', { headers: { authorization: 'Bearer user' } })).toBe('connection_ack');
    expect(await greet('/SCHOOL/graphql?x=1', { payload: { Authorization: 'Bearer user' } })).toBe('connection_ack');
  });

  test.each([
    ['4401 without a credential', '/school/graphql', {}, 4401],
    ['4401 with a wrong one', '/school/graphql', { payload: { Authorization: 'Bearer nobody' } }, 4401],
    ['4401 with one that is no text', '/school/graphql', { payload: { Authorization: ['Bearer user'] } }, 4401],
    ["4403 with another tenant's", '/school/graphql', { payload: { Authorization: 'Bearer stranger' } }, 4403],
    ['4400 when it speaks another language', '/school/graphql', { text: 'hello' }, 4400],
    ['1009 when it says too much', '/school/graphql', { text: 'x'.repeat(1024 * 1024 + 1) }, 1009],
    ['404 at another path', '/school/other', {}, 'Unexpected server response: 404'],
    ['404 at the root', '/', {}, 'Unexpected server response: 404'],
  ])('is closed with %s', async (_name, path, options, code) => {
    expect(await greet(path, options)).toBe(code);
  });

  test('is closed with 4408 when it says nothing, by the guard alone', async () => {
    expect(await silent).toBe('4408 Not let in in time');
  });

  test('is read no further before it is let in, whatever it is made of', async () => {
    const padding = 'x'.repeat(20_000);
    expect(await greet('/school/graphql', { payload: { Authorization: 'Bearer user', padding } })).toBe(1009);
    const socket = new WebSocket(socketUrl('/school/graphql'), 'graphql-transport-ws');
    const closed = new Promise<number>((resolve) => socket.on('close', resolve));
    socket.on('error', () => {});
    await new Promise((resolve) => socket.once('open', resolve));
    for (let count = 0; count < 200; count++)
      socket.send(JSON.stringify({ type: 'ping', payload: { text: 'x'.repeat(100) } }));
    expect(await closed).toBe(1009);
    const client = service.ws();
    const large = { query: '{ serverTime }', variables: { padding: 'x'.repeat(100_000) } };
    expect(await client.iterate(large).next()).toHaveProperty('value.data.serverTime');
    await client.dispose();
  });

  test('answers queries, with the errors of HTTP but without its statuses', async () => {
    const client = service.ws();
    const ask = (query: string) =>
      client
        .iterate({ query })
        .next()
        .then(
          ({ value }) => value,
          (error: unknown) => ({ errors: error }),
        );
    expect(await ask('{ me { role } }')).toEqual({ data: { me: { role: 'User' } } });
    expect(await ask('{ nothing }')).toMatchObject({
      errors: [{ extensions: { code: 'GRAPHQL_VALIDATION_FAILED' } }],
    });
    expect(await ask('{')).toMatchObject({ errors: [{ message: expect.stringContaining('Syntax Error') }] });
    expect(await ask(doubled(20))).toHaveProperty('errors');
    const refused = await ask(
      `{ ${range(201)
        .map((n) => `a${n}: serverTime`)
        .join(' ')} }`,
    );
    expect(refused).toMatchObject({ errors: [{ extensions: { code: 'LIMIT' } }] });
    expect(JSON.stringify(refused)).not.toContain('http');
    await client.dispose();
  });

  test('gets NOT_AUTHENTICATED from the next call when its credential has ended, and is closed with 4401', async () => {
    const tenant = await makeTenant(service.context.db, { code: 'ending' });
    service.admit('ending', tenant);
    // Its WebSocket stays open while nothing is asked.
    const client = service.ws('ending', { lazy: false, onNonLazyError() {} });
    const closed = new Promise((resolve) => client.on('closed', resolve));
    const ask = () => client.iterate({ query: '{ serverTime }' }).next();
    await ask();
    service.viewers.delete('ending');
    await expect(ask()).rejects.toMatchObject([{ extensions: { code: 'NOT_AUTHENTICATED' } }]);
    expect(await closed).toMatchObject({ code: 4401 });
    await client.dispose();
  });

  test('may go away in the middle of its handshake', async () => {
    const socket = net.connect(service.port, '127.0.0.1');
    socket.write('GET /school/graphql HTTP/1.1\r\nHost: x\r\nConnection: Upgrade\r\nUpgrade: websocket\r\n\r\n');
    socket.resetAndDestroy();
    await until(() => socket.destroyed);
    expect((await service.run(NowDocument, {})).status).toBe(200);
  });
});
