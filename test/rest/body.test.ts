import type { AddressInfo } from 'node:net';
import { gzipSync } from 'node:zlib';
import { afterAll, beforeAll, describe, expect, test } from '@jest/globals';
import express from 'express';
import { z } from 'zod';
import type { Context } from '../../src/context.ts';
import { readInput } from '../../src/input.ts';
import { openLog } from '../../src/log.ts';
import { handleErrors } from '../../src/rest/errors.ts';
import { mountRoutes, type Route, route } from '../../src/rest/route.ts';
import { costOf, growthOf, ratioOf } from '../_util/growth.ts';
import { longestIdleMs } from '../_util/scripted-server.ts';

const schema = z.strictObject({
  Name: z.string().max(10),
  Count: z.int().optional(),
  Rows: z.array(z.strictObject({ Opens: z.string(), Closes: z.string() })).optional(),
  Inner: z
    .strictObject({ Odd: z.int() })
    .refine(({ Odd }) => Odd % 2 === 1, { path: ['Odd'], message: 'must be odd', params: { code: 'Even' } })
    .optional(),
});

const mostBytes = 3_000;
/** More members than any record has. */
const unknown = (count: number) => Object.fromEntries(Array.from({ length: count }, (_, at) => [`k${at}`, 1]));

let received: unknown;
let close: () => void;
let url: string;

const answers = { 200: { description: 'What was read.' } };
const checked = route({
  method: 'PUT',
  path: '/v1.0/checked',
  summary: 'Reads a body',
  body: { schema, example: { Name: 'x' } },
  answers,
  handle: async (_context, { body }) => {
    received = body satisfies { Name: string };
    return { status: 200, body: {} };
  },
});
const streamed: Route = {
  ...checked,
  path: '/v1.0/streamed',
  body: { schema, example: {}, streamed: true },
  handle: async (_context, { body, request }) => {
    const sent = (await request.toArray()).join('');
    return { status: 200, body: { Read: body ?? null, Sent: sent } };
  },
};

beforeAll(() => {
  const app = express();
  app.use((_request, response, next) => {
    response.locals['viewer'] = {};
    next();
  });
  const context = {
    config: {
      StrictQueryParameters: true,
      Limits: {
        BodyBytes: mostBytes,
        WebhookBodyBytes: mostBytes,
        BodySeconds: 15,
        BodyBytesPerSecond: 1_000,
      },
    },
  } as Context;
  app.use(mountRoutes(context, [checked, streamed]));
  app.use(handleErrors(openLog('silent')));
  const server = app.listen(0);
  server.keepAliveTimeout = longestIdleMs;
  url = `http://127.0.0.1:${(server.address() as AddressInfo).port}/school/api/v1.0`;
  close = () => void server.close();
});
afterAll(() => close());

type Fault = { Field: string | null; Pointer: string; Code: string; Message: string };

async function send(body: string | Uint8Array, headers: Record<string, string> = {}) {
  received = undefined;
  const init = { method: 'PUT', body: Buffer.from(body) };
  const answer = await fetch(`${url}/checked`, {
    ...init,
    headers: { 'Content-Type': 'application/json', ...headers },
  });
  const { Errors: faults = [], detail = '' } = (await answer.json()) as { Errors?: Fault[]; detail?: string };
  return { status: answer.status, faults, detail };
}

const faultsOf = async (body: unknown) => {
  const { status, faults } = await send(JSON.stringify(body));
  return { status, faults: faults.map(({ Field, Pointer, Code }) => [Field, Pointer, Code]) };
};

describe('200', () => {
  const whole = { Name: 'a', Rows: [{ Opens: '09:00', Closes: '18:00' }], Inner: { Odd: 3 } };

  test('names in both spellings at every depth', async () => {
    expect((await send(JSON.stringify(whole))).status).toBe(200);
    expect(received).toEqual(whole);
    const mixed = { name: 'a', Rows: [{ opens: '09:00', Closes: '18:00' }], inner: { odd: 3 } };
    expect((await send(JSON.stringify(mixed))).status).toBe(200);
    expect(received).toEqual(whole);
  });

  test('gzip, a charset and a byte order mark', async () => {
    const text = JSON.stringify(whole);
    const type = 'application/json; charset=UTF-8';
    expect((await send(gzipSync(text), { 'Content-Encoding': 'gzip' })).status).toBe(200);
    expect((await send(gzipSync(text), { 'Content-Encoding': 'X-GZIP' })).status).toBe(200);
    expect((await send(`\ufeff${text}`, { 'Content-Type': type })).status).toBe(200);
    expect(received).toEqual(whole);
  });

  test('a streamed body is left to the route', async () => {
    const init = { method: 'PUT', body: 'anything' };
    expect(await (await fetch(`${url}/streamed`, init)).json()).toEqual({ Read: null, Sent: 'anything' });
  });
});

describe('422 with every fault at once, its Pointer as it was sent', () => {
  test('MissingField, InvalidType, UnknownField, InvalidValue', async () => {
    const sent = {
      name: 'longer than ten',
      count: '1',
      rows: [{ opens: 900, colour: 'red' }],
      Extra: 1,
      inner: { odd: 2 },
    };
    const { status, faults } = await faultsOf(sent);
    expect(status).toBe(422);
    expect(faults.sort()).toEqual([
      ['Closes', '/rows/0/closes', 'MissingField'],
      ['Colour', '/rows/0/colour', 'UnknownField'],
      ['Count', '/count', 'InvalidType'],
      ['Extra', '/Extra', 'UnknownField'],
      ['Name', '/name', 'InvalidValue'],
      ['Odd', '/inner/odd', 'Even'],
      ['Opens', '/rows/0/opens', 'InvalidType'],
    ]);
  });

  test.each([
    ['[]', ''],
    ['null', ''],
    ['"text"', ''],
    ['1e999', ''],
  ])('a body of another kind: %s', async (body, pointer) => {
    const { status, faults } = await send(body);
    expect([status, faults]).toEqual([
      422,
      [expect.objectContaining({ Field: null, Pointer: pointer, Code: 'InvalidType' })],
    ]);
  });

  test.each([
    ['__proto__', '{"Name":"a","__proto__":{"Count":1}}', '/__proto__'],
    ['constructor', '{"Name":"a","constructor":{"prototype":{"x":1}}}', '/constructor'],
    ['a/b~c', '{"Name":"a","a/b~c":1}', '/a~1b~0c'],
  ])('%s is an unknown member like any other', async (_name, body, pointer) => {
    const { status, faults } = await send(body);
    expect([status, faults.map(({ Pointer, Code }) => [Pointer, Code])]).toEqual([422, [[pointer, 'UnknownField']]]);
    expect(({} as { x?: unknown }).x).toBeUndefined();
  });

  test.each(['1e999', '9007199254740993', '1.5', '"12"', '[1]', 'true', 'null'])('Count: %s', async (value) => {
    expect((await send(`{"Name":"a","Count":${value}}`)).status).toBe(422);
  });

  test('a value of another type has no fault of its length beside that', async () => {
    const { detail, faults } = await send(JSON.stringify({ Name: Array(11).fill('x') }));
    expect([detail, faults.length]).toEqual(['Name: must be a text in quotes.', 1]);
  });

  test('the text of many faults ends, and says how many there are', async () => {
    const { detail, faults } = await send(
      JSON.stringify({
        Name: 'a',
        ...Object.fromEntries(Array.from({ length: 100 }, (_, i) => [`X${i}`, 1])),
      }),
    );
    expect([faults.length, detail.endsWith(' … and 80 more.')]).toEqual([100, true]);
  });
});

describe('400 for what cannot be read', () => {
  const nested = (levels: number) => `{"Name":"a","Extra":${'['.repeat(levels)}${']'.repeat(levels)}}`;

  test.each([
    ['no body', ''],
    ['broken JSON', '{"Name":'],
    ['two values', '{"Name":"a"}{}'],
    ['wrong UTF-8', Uint8Array.of(0x22, 0xc3, 0x28, 0x22)],
    ['an overlong character', Uint8Array.of(0x22, 0xc0, 0xaf, 0x22)],
    ['U+0000 in a text', '{"Name":"\\u0000"}'],
    ['half of a surrogate pair', '{"Name":"\\ud800"}'],
    ['U+0000 in a name', '{"Name":"a","\\u0000":1}'],
    ['33 levels', nested(32)],
    ['as deep as the limit allows', nested(1_400)],
  ])('%s', async (_name, body) => {
    expect((await send(body)).status).toBe(400);
    expect(received).toBeUndefined();
  });

  test('32 levels are read', async () => {
    expect((await send(nested(31))).status).toBe(422);
  });

  test.each([
    ['members', 2_000, unknown],
    ['values', 50_000, (count: number) => ({ Rows: Array.from({ length: count }, () => ({})) })],
  ])('more %s than any body has, before it is looked through', (what, most, make) => {
    const sent = make(90_000);
    const read = () => readInput(schema, sent);
    expect(read).toThrow(new RegExp(`more than ${most} ${what}`));
    const refuse = () => {
      try {
        read();
      } catch {}
    };
    expect(costOf(refuse, 25)).toBeLessThan(25);
    expect(() => readInput(schema, make(most - 2))).not.toThrow(/more than \d+ (members|values)/);
  });

  test('a name in both spellings', async () => {
    const { status, faults } = await send('{"name":"a","Inner":{"Odd":1,"odd":3},"Name":"b"}');
    expect([status, faults.map(({ Pointer }) => Pointer)]).toEqual([400, ['/Inner/odd']]);
  });

  test('the last of two members of one name counts', async () => {
    expect((await send('{"Name":1,"Name":"a"}')).status).toBe(200);
    expect((await send('{"Name":"a","Name":1}')).status).toBe(422);
  });

  test('broken gzip', async () => {
    expect((await send('{"Name":"a"}', { 'Content-Encoding': 'gzip' })).status).toBe(400);
  });
});

test('a parameter of the query that comes thousands of times costs no more than one that is as long', async () => {
  const status = async (query: string) => (await fetch(`${url}/checked?${query}`, { method: 'PUT' })).status;
  const times = 3_900;
  expect(await status('A=1&'.repeat(times))).toBe(400);
  const many = () => status('A=1&'.repeat(times));
  const one = () => status(`A=${'1'.repeat(4 * times)}`);
  // Names are read one by one, which alone costs several times as much.
  expect(await ratioOf(many, one, 20)).toBeLessThan(20);
});

test('`__proto__` is a parameter as unknown as others', async () => {
  const answer = await fetch(`${url}/checked?__proto__=1`, { method: 'PUT' });
  expect([answer.status, ((await answer.json()) as { detail: string }).detail]).toEqual([
    400,
    '__proto__ is not a query parameter of this route.',
  ]);
});

test('413 for more bytes than the limit, also when gzip hides them', async () => {
  const body = JSON.stringify({ Name: 'x'.repeat(mostBytes) });
  expect((await send(body)).status).toBe(413);
  expect((await send(gzipSync(body), { 'Content-Encoding': 'gzip' })).status).toBe(413);
  const fits = '{"Name":"a"}'.padEnd(mostBytes);
  expect([(await send(fits)).status, (await send(`${fits} `)).status]).toEqual([200, 413]);
});

test.each(['text/plain', 'application/xml', 'multipart/form-data', 'application/json; charset=latin1'])(
  '415 for %s',
  async (type) => {
    expect((await send('{"Name":"a"}', { 'Content-Type': type })).status).toBe(415);
    expect((await send('{"Name":"a"}', { 'Content-Encoding': 'br' })).status).toBe(415);
  },
);

test.each<[string, (size: number) => unknown]>([
  ['unknown members', (size) => ({ Name: 'x', Rows: Array.from({ length: size / 1_000 }, () => unknown(1_000)) })],
  ['wrong items of a list', (size) => ({ Name: 'x', Rows: Array(size).fill(1) })],
  ['items without members', (size) => ({ Name: 'x', Rows: Array.from({ length: size }, () => ({})) })],
])('twice as many faults cost no more than in proportion: %s', (_name, make) => {
  const growth = growthOf(
    (size) => {
      const sent = make(size);
      return () => expect(() => readInput(schema, sent)).toThrow(/more\.$/);
    },
    2_000,
    3,
  );
  // Garbage takes more than its part; quadratic work is 4.
  expect(growth).toBeLessThan(3);
});
