/** The check of requests and answers against the OpenAPI document: it must find violations in both. */
import { afterAll, beforeAll, expect, test } from '@jest/globals';
import { type Contract, openContract } from '../_util/contract.ts';
import { type ScriptedServer, startScriptedServer } from '../_util/scripted-server.ts';

let server: ScriptedServer;
let contract: Contract;

beforeAll(async () => {
  server = await startScriptedServer();
  contract = openContract(server.origin);
});
afterAll(() => server.close());

const location = { Id: 1, Version: 1, Name: 'A', TimeZone: 'UTC', Active: true };
const headers = { 'Content-Type': 'application/json', 'X-Request-Id': 'r', Vary: 'v', 'Cache-Control': 'no-cache' };
const good = { status: 200, headers, body: JSON.stringify({ Items: [location], NextCursor: null }) };
const credential = { Authorization: 'Bearer t' };
const ask = (query = '', init: RequestInit = { headers: credential }) =>
  contract.fetch(`/demo/api/v1.0/locations${query}`, init);

test('what keeps to the document passes', async () => {
  server.answer(() => good);
  expect((await ask('?Limit=3')).status).toBe(200);
});

test.each([
  ['a parameter of the wrong type', '?Limit=three', { headers: credential }, /request\.query\.Limit must be integer/],
  ['a parameter that is not described', '?Nonsense=1', { headers: credential }, /request\.query\.Nonsense/],
  ['no credential', '', {}, /no credential/],
  [
    'a header of the wrong form',
    '',
    { headers: { ...credential, 'X-Request-Id': 'x'.repeat(200) } },
    /request\.header\.X-Request-Id must NOT have more than 128/,
  ],
  [
    'a body with a member that is not described',
    '',
    {
      method: 'POST',
      headers: { ...credential, 'Content-Type': 'application/json' },
      body: '{"Name":"A","TimeZone":"UTC","Nonsense":1}',
    },
    /request\.body must NOT have additional properties.*Nonsense/,
  ],
])('a request with %s is found', async (_what, query, init, message) => {
  server.answer(() => good);
  await expect(ask(query, init)).rejects.toThrow(message);
});

test.each([
  ['a status that is not described', { ...good, status: 418 }, /status 418 is not described/],
  ['another media type', { ...good, headers: { ...headers, 'Content-Type': 'text/plain' } }, /"text\/plain" is none/],
  [
    'a header of the wrong form',
    { ...good, headers: { ...headers, 'X-Request-Id': 'ü'.repeat(3) } },
    /X-Request-Id must match/,
  ],
  [
    'a missing member',
    { ...good, body: '{"Items":[{"Id":1}],"NextCursor":null}' },
    /body\/Items\/0 must have required property/,
  ],
  [
    'a member that is not described',
    { ...good, body: JSON.stringify({ Items: [{ ...location, More: 1 }], NextCursor: null }) },
    /body\/Items\/0 must NOT have additional properties.*More/,
  ],
  [
    'the camel case that nobody asked for',
    { ...good, body: '{"items":[],"nextCursor":null}' },
    /required property 'Items'/,
  ],
])('%s of an answer is found, whatever the request was meant to be', async (_what, wrong, message) => {
  server.answer(() => wrong);
  await expect(contract.fetch('/demo/api/v1.0/locations', { headers: credential }, { wrong: true })).rejects.toThrow(
    message,
  );
});
