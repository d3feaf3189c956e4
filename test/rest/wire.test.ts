import type { AddressInfo } from 'node:net';
import net from 'node:net';
import { text } from 'node:stream/consumers';
import { afterAll, beforeAll, describe, expect, test } from '@jest/globals';
import express from 'express';
import { GraphQLError } from 'graphql';
import {
  Conflict,
  Forbidden,
  InvalidInput,
  LimitExceeded,
  Malformed,
  MethodNotAllowed,
  NotAcceptable,
  NotAuthenticated,
  NotFound,
  PreconditionFailed,
  PreconditionRequired,
  RequestTimeout,
  statusOfCode,
  TooLarge,
  Unavailable,
  UnsupportedMediaType,
} from '../../src/errors.ts';
import { presentError } from '../../src/graphql/errors.ts';
import { createPin } from '../../src/identity/service.ts';
import { openLog } from '../../src/log.ts';
import { handleErrors } from '../../src/rest/errors.ts';
import { ahead } from '../_util/ahead.ts';
import { type LessonClient, lessonClient } from '../_util/lessons.ts';
import { pepper } from '../_util/pepper.ts';
import { type Service, startService } from '../_util/service.ts';

let service: Service;
let client: LessonClient;
/** A batch that has failed. */
let ended: string;

const brokenJob = [{ JobID: 'J', LektionList: [{ LektionId: 'L', Beginn: 'never', RessourceName: 'Nowhere' }] }];

async function submit(body: unknown, headers: Record<string, string> = {}, to: LessonClient = client): Promise<string> {
  const accepted = (await (await to.post(body, headers)).json()) as Record<string, string>;
  return accepted['BatchId'] ?? accepted['batchId'] ?? '';
}

beforeAll(async () => {
  service = await startService({ LegacyApiKeyEnabled: 'true' });
  client = lessonClient(service, await service.signIn());
  ended = await submit(brokenJob);
  await client.end(ended);
});
afterAll(() => service.stop());

const camel = { 'X-JsonPropertyFormat': 'camel' };

/** The names of all members, at every depth. */
function keysOf(value: unknown): string[] {
  if (value === null || typeof value !== 'object') return [];
  const inner = Object.values(value).flatMap(keysOf);
  return Array.isArray(value) ? inner : [...Object.keys(value), ...inner];
}

const headersOf = ({ headers }: Response, ...names: string[]) => names.map((name) => headers.get(name));

type Problem = {
  status: number;
  detail: string;
  Code: string;
  Errors?: { Field: string; Code: string; Message: string }[];
};

async function problemOf(answer: Response): Promise<Problem> {
  expect(headersOf(answer, 'content-type', 'cache-control')).toEqual([
    'application/problem+json; charset=utf-8',
    'no-store',
  ]);
  const problem = (await answer.json()) as Problem;
  expect(problem.status).toBe(answer.status);
  return problem;
}

describe('casing', () => {
  test('answers: Pascal by default, camel by header, at every depth', async () => {
    const pascal = await (await client.call(`/batches/${ended}`)).json();
    const lower = await (await client.call(`/batches/${ended}`, { headers: camel })).json();
    const names = keysOf(pascal);
    expect(names).toEqual(expect.arrayContaining(['BatchId', 'Errors', 'JobID', 'DisplayName']));
    expect(names.filter((name) => !/^[A-Z]/.test(name))).toEqual([]);
    expect(keysOf(lower)).toEqual(names.map((name) => name.charAt(0).toLowerCase() + name.slice(1)));
  });

  test('bodies: both spellings are read the same, whatever the header says', async () => {
    const room = service.tenant.resources[0]?.name;
    const times = { beginn: ahead('2027-02-01T08:00:00Z'), ende: ahead('2027-02-01T09:00:00Z'), ressourceName: room };
    const lower = await submit([{ jobId: 'camel', lektionList: [{ lektionId: '1', ...times }] }]);
    const mixed = await submit(
      [
        {
          JobId: 'mixed',
          lektionList: [
            { LektionId: '1', ...times, beginn: ahead('2027-02-02T08:00:00Z'), ende: ahead('2027-02-02T09:00:00Z') },
          ],
        },
      ],
      camel,
    );
    for (const id of [lower, mixed])
      expect(await client.end(id)).toMatchObject({ ImportStatus: 'LessonsCreated', WarningCount: 0 });
  });

  test.each(['ImportStatus=All&Limit=1', 'importStatus=All&limit=1'])('query names: %s', async (query) => {
    const { Items } = await client.get<{ Items: unknown[] }>(`/batches?${query}`);
    expect(Items).toHaveLength(1);
  });

  test('problems: the members of RFC 9457 stay lower case, the others follow', async () => {
    const pascal = await (await client.call('/batches?Limit=x')).json();
    const lower = await (await client.call('/batches?Limit=x', { headers: camel })).json();
    const standard = ['type', 'title', 'status', 'detail', 'instance'];
    expect(keysOf(pascal)).toEqual([...standard, 'Code', 'TraceId', 'Errors', 'Field', 'Pointer', 'Code', 'Message']);
    expect(keysOf(lower)).toEqual([...standard, 'code', 'traceId', 'errors', 'field', 'pointer', 'code', 'message']);
  });
});

describe('ETag', () => {
  // Without a worker: a batch stays as it is.
  let idle: Service;
  let reader: LessonClient;
  let waiting: string;

  beforeAll(async () => {
    idle = await startService({ Role: 'Web' });
    reader = lessonClient(idle, await idle.signIn());
    waiting = await submit(brokenJob, {}, reader);
    await submit(brokenJob, {}, reader);
  });
  afterAll(() => idle.stop());

  const read = (headers: Record<string, string> = {}, path = `/batches/${waiting}`, method = 'GET') =>
    reader.call(path, { method, headers });
  const kept = ['etag', 'vary', 'cache-control', 'retry-after'];

  test('200 carries one, to be asked about again by private caches only', async () => {
    const answer = await read();
    expect(answer.status).toBe(200);
    expect(headersOf(answer, ...kept)).toEqual([
      expect.stringMatching(/^"[\w-]{27}"$/),
      expect.stringMatching(/\bAuthorization, X-JsonPropertyFormat$/),
      'private, no-cache',
      expect.stringMatching(/^\d+$/),
    ]);
  });

  test.each([
    ['itself', (etag: string) => etag],
    ['weakened by a proxy', (etag: string) => `W/${etag}`],
    ['one of a list', (etag: string) => `"other", ${etag}`],
    ['any', () => '*'],
  ])('304 without a body, and with the same headers, to who names %s', async (_name, known) => {
    const full = await read();
    for (const method of ['GET', 'HEAD']) {
      const answer = await read({ 'If-None-Match': known(full.headers.get('etag') ?? '') }, undefined, method);
      expect([answer.status, await answer.text()]).toEqual([304, '']);
      expect(headersOf(answer, ...kept)).toEqual(headersOf(full, ...kept));
      expect(headersOf(answer, 'content-type', 'content-length')).toEqual([null, null]);
    }
  });

  test('lists have one too, and another where a value or the casing differs', async () => {
    const etags = await Promise.all(
      [
        read({}, '/batches?ImportStatus=All'),
        read(camel, '/batches?ImportStatus=All'),
        read({}, '/batches?ImportStatus=All&Limit=1'),
        read({}, `/batches/${waiting}/errors`),
      ].map(async (answer) => (await answer).headers.get('etag')),
    );
    expect(new Set(etags).size).toBe(4);
    const again = await read({ 'If-None-Match': etags[0] ?? '' }, '/batches?ImportStatus=All');
    expect(again.status).toBe(304);
    const other = await read({ 'If-None-Match': etags[0] ?? '', ...camel }, '/batches?ImportStatus=All');
    expect(other.status).toBe(200);
  });

  test('none on a problem, nor on what a POST answers', async () => {
    const missing = await read({ 'If-None-Match': '*' }, '/batches/unknown');
    expect([missing.status, missing.headers.get('etag')]).toEqual([404, null]);
    const posted = await reader.post(brokenJob, { 'If-None-Match': '*' });
    expect([posted.status, ...headersOf(posted, 'etag', 'cache-control')]).toEqual([202, null, 'no-store']);
  });

  test('HEAD answers the headers of GET', async () => {
    const names = [...kept, 'content-type', 'content-length'];
    const [get, head] = [await read(), await read({}, undefined, 'HEAD')];
    expect([head.status, await head.text()]).toEqual([200, '']);
    expect(headersOf(head, ...names)).toEqual(headersOf(get, ...names));
    expect(head.headers.get('content-length')).toBe(String((await get.arrayBuffer()).byteLength));
  });
});

describe('Accept', () => {
  const answerTo = (accept: string) => client.call(`/batches/${ended}`, { headers: { Accept: accept } });

  test.each([
    '*/*',
    'application/*',
    'application/json',
    'text/html, application/xhtml+xml, */*;q=0.8',
    'text/plain;q=0.9, application/json;q=0.1',
    'application/json; charset=utf-8',
    'application/json;charset="UTF-8"',
    'application/json;charset=iso-8859-1',
    'application/json;profile="https://rooms.example/a,b;q=0";version=1;q=0.5, text/html',
    'application/json;odata.metadata=minimal;odata.streaming=true',
    'application/*;version=2',
  ])('200: %s', async (accept) => {
    const answer = await answerTo(accept);
    expect([answer.status, answer.headers.get('content-type')]).toEqual([200, 'application/json; charset=utf-8']);
  });

  test.each([
    'text/html',
    'application/xml',
    'application/json;q=0',
    'application/json;version=1; Q = 0',
    'application/json;q=0, text/*',
    'nonsense',
  ])('406: %s', async (accept) => {
    const answer = await answerTo(accept);
    expect(answer.status).toBe(406);
    expect(await problemOf(answer)).toMatchObject({
      Code: 'NotAcceptable',
      detail: expect.stringMatching(/application\/json/),
    });
  });

  test('200 without it', async () => {
    const socket = net.connect(Number(new URL(service.url).port), '127.0.0.1');
    const { authorization } = await credentials();
    socket.write(
      `GET /school/api/v2.0/jobs/batches HTTP/1.1\r\nHost: x\r\nConnection: close\r\nAuthorization: ${authorization}\r\n\r\n`,
    );
    expect(await text(socket)).toMatch(/^HTTP\/1\.1 200 OK\r\n/);
  });
});

describe('415 for a Content-Encoding that is not read: Accept-Encoding says which are (RFC 9110, 15.5.16)', () => {
  const json = 'application/json';
  const form = 'application/x-www-form-urlencoded';
  test.each([
    ['/school/api/v2.0/jobs/create', json, 'gzip, x-gzip, identity'],
    ['/school/api/v1.0/bookings', json, 'gzip, x-gzip, identity'],
    ['/school/api/v1.0/displays/pairings', json, 'gzip, x-gzip, identity'],
    ['/school/graphql', json, 'identity'],
    ['/api/webhooks/mailserver', json, 'identity'],
    ['/WebServices/SyncNotification.svc', json, 'identity'],
    ['/connect/token', form, 'identity'],
  ])('POST %s', async (path, type, codings) => {
    const own = await credentials();
    const send = (headers: Record<string, string>) =>
      fetch(service.url + path, { method: 'POST', body: '[]', headers: { ...own, ...headers } });
    const refused = await send({ 'Content-Type': type, 'Content-Encoding': 'br' });
    expect([refused.status, refused.headers.get('accept-encoding')]).toEqual([415, codings]);
    expect(await refused.text()).toContain('Content-Encoding br is not supported here');
    // RFC 9110 forbids it where the type is at fault.
    expect((await send({ 'Content-Type': 'text/plain' })).headers.get('accept-encoding')).toBeNull();
  });
});

const credentials = async () => ({ authorization: `Bearer ${await service.signIn()}` });

describe('methods', () => {
  const allowed = { '/batches': 'GET, HEAD', [`/batches/x/cancel`]: 'POST', '/create': 'POST' };

  test.each(Object.entries(allowed))('405 with Allow: %s', async (path, allow) => {
    for (const method of ['PUT', 'PATCH', 'DELETE']) {
      const answer = await client.call(path, { method });
      expect([answer.status, answer.headers.get('allow')]).toEqual([405, allow]);
      expect(await problemOf(answer)).toMatchObject({ Code: 'MethodNotAllowed' });
    }
  });

  test.each(Object.entries(allowed))(
    'OPTIONS answers 204 with Allow, and permits no other origin: %s',
    async (path, allow) => {
      const answer = await client.call(path, {
        method: 'OPTIONS',
        headers: { Origin: 'https://evil.example' },
      });
      expect([answer.status, await answer.text()]).toEqual([204, '']);
      expect(headersOf(answer, 'allow', 'access-control-allow-origin')).toEqual([allow, null]);
      expect(answer.headers.get('vary')).toMatch(/\bAuthorization\b/);
    },
  );
});

describe('what cannot be read', () => {
  test.each([
    'x',
    '0',
    '-1',
    '1e999',
    '%00',
    `${'0'.repeat(8)}-0000-7000-8000-00000000000g`,
    '..%2f..%2f',
    '%C2%A0',
    'x'.repeat(300),
  ])('404: an id of no batch: %s', async (id) => {
    for (const path of [`/batches/${id}`, `/batches/${id}/errors`]) {
      const answer = await client.call(path);
      expect(answer.status).toBe(404);
      expect(await problemOf(answer)).toMatchObject({ Code: 'NotFound' });
    }
  });

  test.each(['%ff', '%c0%80', '%'])('400: a path that is not UTF-8: %s', async (id) => {
    const answer = await client.call(`/batches/${id}`);
    expect(answer.status).toBe(400);
    expect(await problemOf(answer)).toMatchObject({
      Code: 'Malformed',
      detail: 'The path is not percent-encoded UTF-8.',
    });
  });

  test('400 names every fault of the query at once', async () => {
    const answer = await client.call(
      '/batches?Limit=none&ImportStatus=Done&Color=red&JobID=a%00b&Mine=true&mine=false',
      { headers: { Prefer: 'handling=strict' } },
    );
    expect(answer.status).toBe(400);
    const { detail, Errors = [] } = await problemOf(answer);
    expect(Errors.map(({ Field, Code }) => [Field, Code]).sort()).toEqual([
      ['Color', 'UnknownField'],
      ['ImportStatus.0', 'InvalidValue'],
      ['JobID', 'InvalidType'],
      ['Limit', 'InvalidType'],
      ['Mine', 'InvalidType'],
    ]);
    for (const { Message } of Errors) expect(detail).toContain(Message);
  });

  test.each(['JobID=%ff', 'JobID=%c0%80', '%zz=1', 'JobID=100%'])(
    '400: a query that is not UTF-8: %s',
    async (query) => {
      const answer = await client.call(`/batches?${query}`);
      expect(answer.status).toBe(400);
      expect(await problemOf(answer)).toMatchObject({ Code: 'Malformed' });
    },
  );

  test.each([
    'Limit=1e999',
    'Limit=-1',
    'Limit=12abc',
    'Limit=9223372036854775808',
    'Cursor=%F0%9F%92%A9',
    'CreatedAfter=2026-02-30T00:00:00Z',
  ])('400: %s', async (query) => {
    expect((await client.call(`/batches?${query}`)).status).toBe(400);
  });

  test.each(['0', '1.5', 'all'])('400 that says what Limit may be: %s', async (limit) => {
    const { detail } = await problemOf(await client.call(`/batches?Limit=${limit}`));
    expect(detail).toBe('Limit: must be a whole number from 1 on.');
  });

  test.each([
    ['both lengths', 'Content-Length: 4\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n'],
    ['two lengths', 'Content-Length: 4\r\nContent-Length: 5\r\n\r\nabcd'],
    ['a bare line feed', 'X-A: 1\nX-B: 2\r\n\r\n'],
  ])('400, and the connection is closed: %s', async (_name, rest) => {
    const socket = net.connect(Number(new URL(service.url).port), '127.0.0.1');
    socket.write(
      `POST /school/api/v2.0/jobs/create HTTP/1.1\r\nHost: x\r\n${rest}GET /healthz HTTP/1.1\r\nHost: x\r\n\r\n`,
    );
    const answered = await text(socket);
    expect(answered).toMatch(/^HTTP\/1\.1 400 /);
    expect(answered).not.toMatch(/Healthy/);
  });
});

describe('a body where none is asked for', () => {
  test.each([
    ['of another type', 'text/plain', () => 'anything'],
    ['that is no JSON', 'application/json', () => '{'],
    ['that is large', 'application/octet-stream', () => Buffer.alloc(8 * 1024 * 1024)],
  ])('is read past: one %s', async (_name, type, body) => {
    const cancel = () =>
      client.call(`/batches/${ended}/cancel`, {
        method: 'POST',
        headers: { 'Content-Type': type },
        body: body(),
      });
    // Batches that have ended cannot be cancelled: the route itself has answered.
    expect((await cancel()).status).toBe(409);
    expect((await client.call('/batches')).status).toBe(200);
  });
});

describe('deprecation', () => {
  const pinOf = async () => {
    const { context, tenant } = service;
    const options = { mandatorId: tenant.mandatorId, personId: tenant.person('User').id };
    return (await createPin(context.db, pepper, options)).pin;
  };
  const names = ['deprecation', 'sunset', 'link'];
  const marks = () => [
    '@1795132800',
    'Sat, 01 Jan 2028 00:00:00 GMT',
    `<${service.url}/swagger>; rel="deprecation"; type="text/html", <${service.url}/connect/token>; rel="successor-version"`,
  ];

  test('a call by APIKEY is told when that ends and what replaces it, whatever the answer', async () => {
    const APIKEY = await pinOf();
    const root = `${service.url}/school`;
    const batches = `${root}/api/v2.0/jobs/batches`;
    const read = await fetch(batches, { headers: { APIKEY } });
    const answers = [
      read,
      await fetch(batches, { headers: { APIKEY, 'If-None-Match': read.headers.get('etag') ?? '' } }),
      await fetch(`${batches}/unknown`, { headers: { APIKEY } }),
      await fetch(batches, { headers: { APIKEY: 'wrong' } }),
      await fetch(`${root}/graphql`, {
        method: 'POST',
        headers: { APIKEY, 'Content-Type': 'application/json' },
        body: '{"query":"{ __typename }"}',
      }),
    ];
    expect(answers.map(({ status }) => status)).toEqual([200, 304, 404, 401, 200]);
    for (const answer of answers) expect(headersOf(answer, ...names)).toEqual(marks());
  });

  test('without SwaggerEnabled no link leads to its page', async () => {
    const plain = await startService({ Role: 'Web', LegacyApiKeyEnabled: 'true', SwaggerEnabled: 'false' });
    try {
      const answer = await fetch(`${plain.url}/school/api/v2.0/jobs`, { headers: { APIKEY: 'wrong' } });
      expect(headersOf(answer, ...names)).toEqual([
        ...marks().slice(0, 2),
        `<${plain.url}/connect/token>; rel="successor-version"`,
      ]);
    } finally {
      await plain.stop();
    }
  });

  test('a call by bearer token is not', async () => {
    expect(headersOf(await client.call('/batches'), ...names)).toEqual([null, null, null]);
  });
});

test('the error table: code, HTTP, GraphQL', async () => {
  const thrown = [
    new Malformed('no'),
    new NotAuthenticated('no'),
    new Forbidden('no'),
    new NotFound('no'),
    new MethodNotAllowed('PUT', ['GET']),
    new NotAcceptable('no'),
    new RequestTimeout('no'),
    new Conflict('no'),
    new PreconditionFailed('no'),
    new TooLarge('no'),
    new UnsupportedMediaType('no'),
    new InvalidInput('no'),
    new PreconditionRequired('no'),
    new LimitExceeded('no'),
    new Unavailable('no'),
  ];
  const log = openLog('silent');
  const app = express();
  for (const error of thrown)
    app.get(`/${error.code}`, () => {
      throw error;
    });
  const server = app.use(handleErrors(log)).listen(0, '127.0.0.1');
  await new Promise((resolve) => server.once('listening', resolve));
  const root = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
  const table: unknown[] = [];
  for (const error of thrown) {
    const answer = await fetch(`${root}/${error.code}`);
    expect(await problemOf(answer)).toMatchObject({ Code: error.code, detail: error.message });
    const { extensions } = presentError(new GraphQLError('', { originalError: error }), 'id', log);
    table.push([error.code, answer.status, extensions['code']]);
  }
  await new Promise((resolve) => server.close(resolve));
  expect(thrown.map(({ code }) => code)).toEqual(Object.keys(statusOfCode));
  expect(table).toEqual([
    ['Malformed', 400, 'BAD_USER_INPUT'],
    ['NotAuthenticated', 401, 'NOT_AUTHENTICATED'],
    ['Forbidden', 403, 'FORBIDDEN'],
    ['NotFound', 404, 'NOT_FOUND'],
    ['MethodNotAllowed', 405, 'BAD_REQUEST'],
    ['NotAcceptable', 406, 'BAD_REQUEST'],
    ['RequestTimeout', 408, 'BAD_REQUEST'],
    ['Conflict', 409, 'CONFLICT'],
    ['PreconditionFailed', 412, 'CONFLICT'],
    ['TooLarge', 413, 'LIMIT'],
    ['UnsupportedMediaType', 415, 'BAD_REQUEST'],
    ['InvalidInput', 422, 'BAD_USER_INPUT'],
    ['PreconditionRequired', 428, 'BAD_USER_INPUT'],
    ['LimitExceeded', 429, 'LIMIT'],
    ['Unavailable', 503, 'UNAVAILABLE'],
  ]);
});

test('an error is answered in its turn, behind the answer to the request before it', async () => {
  const app = express();
  let answerFirst = () => {};
  const thrown = Promise.withResolvers<void>();
  app.get('/first', (_request, response) => {
    answerFirst = () => void response.end('first');
  });
  app.get('/second', () => {
    thrown.resolve();
    throw new NotFound('no');
  });
  const server = app.use(handleErrors(openLog('silent'))).listen(0, '127.0.0.1');
  await new Promise((resolve) => server.once('listening', resolve));
  const client = net.connect((server.address() as AddressInfo).port, '127.0.0.1');
  const requestOf = (path: string, more = '') => `GET ${path} HTTP/1.1\r\nHost: here\r\n${more}\r\n`;
  client.write(requestOf('/first') + requestOf('/second', 'Connection: close\r\n'));
  await thrown.promise;
  await new Promise(setImmediate);
  answerFirst();
  expect((await text(client)).match(/HTTP\/1\.1 \d+/g)).toEqual(['HTTP/1.1 200', 'HTTP/1.1 404']);
  await new Promise((resolve) => server.close(resolve));
});
