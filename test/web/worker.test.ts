import fs from 'node:fs';
import path from 'node:path';
import { afterAll, beforeEach, expect, jest, test } from '@jest/globals';

type Answer = (request: Request, init: RequestInit) => Promise<Response>;
const listeners = new Map<string, (event: object) => void>();
const kept = new Map<string, Response>();
let network: Answer;

const ownFetch = globalThis.fetch;
afterAll(() => void Object.assign(globalThis, { fetch: ownFetch }));

jest.useFakeTimers();
beforeEach(async () => {
  kept.clear();
  Object.assign(globalThis, {
    addEventListener: (name: string, listener: (event: object) => void) => listeners.set(name, listener),
    caches: {
      open: async () => ({
        match: async (request: Request) => kept.get(request.url.replace(/\?.*/, ''))?.clone(),
        put: async (address: string, response: Response) => void kept.set(address, response),
      }),
    },
    fetch: (...call: Parameters<Answer>) => network(...call),
  });
  await import('../../src/web/display/worker.ts');
});

/** Undefined where it leaves the request to the browser. */
async function get(path: string, method = 'GET'): Promise<string | undefined> {
  let answer: Promise<Response> | undefined;
  const request = new Request(`http://school.test${path}`, { method });
  listeners.get('fetch')?.({ request, respondWith: (given: Promise<Response>) => void (answer = given) });
  return (await answer)?.text();
}

const page = (version: string) => `<meta name="version" content="${version}">`;
const html = (text: string, status = 200) => new Response(text, { status, headers: { 'content-type': 'text/html' } });
const sign = '/school/door-sign/7?lang=de';

test('the worker answers with what the network sends, and caches it', async () => {
  for (const version of ['1', '2']) {
    network = async () => html(page(version));
    expect(await get(sign)).toBe(page(version));
    expect(await kept.get('http://school.test/school/door-sign/7')?.clone().text()).toBe(page(version));
  }
});

test.each([
  ['a portal', html('Please sign in to our WLAN')],
  ['a proxy whose server is away', html('Bad gateway', 502)],
  ['a proxy that knows of no server', new Response('404 page not found', { status: 404 })],
])('what it kept comes in place of the page of %s', async (_name, answer) => {
  network = async () => html(page('1'));
  await get(sign);
  network = async () => answer.clone();
  expect(await get(sign)).toBe(page('1'));
  expect(await get('/school/door-sign/8')).toBe(await answer.clone().text());
  expect(kept.size).toBe(1);
});

test('a call that hangs is given up: soon if the answer is cached, otherwise before it blocks other calls', async () => {
  network = async () => html(page('1'));
  await get(sign);
  network = (_request, { signal }) =>
    new Promise((_resolve, reject) => signal?.addEventListener('abort', () => reject(new Error('aborted'))));
  const kept = get(sign);
  await jest.advanceTimersByTimeAsync(5_000);
  expect(await kept).toBe(page('1'));
  const unkept = expect(get('/school/door-sign/8')).rejects.toThrow('aborted');
  await jest.advanceTimersByTimeAsync(20_000);
  await unkept;
});

test('the worker keeps no answer of an API, and nothing that is sent', async () => {
  network = async () => new Response('secret');
  for (const path of ['/school/graphql', '/school/api/v1.0/displays/self', '/school/api/v1.0/displays/7/snapshot'])
    expect(await get(path)).toBeUndefined();
  expect(await get('/school/door-sign/7', 'POST')).toBeUndefined();
  expect(kept.size).toBe(0);
});

test('the worker caches each module that the pages load', async () => {
  network = async () => new Response('module');
  const modules = fs
    .globSync('src/web/display/*.ts')
    .flatMap((file) => [
      file,
      ...[...fs.readFileSync(file, 'utf8').matchAll(/^import (?!type).* from '(\.[^']+)';$/gm)].map(([, from = '']) =>
        path.join(path.dirname(file), from),
      ),
    ]);
  expect(modules).toContain('src/displays/state.ts');
  for (const name of new Set(modules))
    expect([name, await get(name.replace('src', '/assets'))]).toEqual([name, 'module']);
});
