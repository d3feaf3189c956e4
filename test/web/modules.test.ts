/** The page of the console and its files, without a credential: no data, and nothing from other hosts. */
import fs from 'node:fs/promises';
import { afterAll, beforeAll, expect, test } from '@jest/globals';
import { readModules, versionOf } from '../../src/web/modules.ts';
import { type Service, startService } from '../_util/service.ts';

let service: Service;
/** Of the modules of this version, as pages name it. */
let folder: string;
beforeAll(async () => {
  service = await startService({ Role: 'Web' });
  const markup = await fs.readFile(new URL('../../src/web/console/index.html', import.meta.url), 'utf8');
  folder = `/assets/console/${versionOf(await readModules('web/console'), markup)}`;
});
afterAll(() => service.stop());

const get = (address: string, init?: RequestInit) => fetch(service.url + address, { redirect: 'manual', ...init });

test('the page lets nothing in: no script but ours, no markup from texts, no frame around it', async () => {
  const answer = await get('/school/console');
  expect(answer.status).toBe(200);
  expect(Object.fromEntries(answer.headers)).toMatchObject({
    'content-type': 'text/html; charset=utf-8',
    'cache-control': 'no-cache',
    'x-content-type-options': 'nosniff',
    'referrer-policy': 'no-referrer',
  });
  const policy = new Map(
    answer.headers
      .get('content-security-policy')!
      .split('; ')
      .map((one) => [one.split(' ', 1)[0]!, one.split(' ').slice(1).join(' ')] as const),
  );
  const own = ['script-src', 'style-src', 'connect-src', 'img-src', 'font-src', 'form-action'];
  for (const name of own) expect([name, policy.get(name)]).toEqual([name, `'self'`]);
  for (const name of ['default-src', 'base-uri', 'frame-ancestors', 'trusted-types'])
    expect([name, policy.get(name)]).toEqual([name, `'none'`]);
  expect(policy.get('require-trusted-types-for')).toBe(`'script'`);
  const text = await answer.text();
  expect(text).not.toMatch(/\{\{|<style|style=|\son\w+=|https?:|<script(?![^>]*src=)/);
  expect(text).toContain('data-mandator="school"');
  expect(answer.headers.get('set-cookie')).toBeNull();
  const etag = answer.headers.get('etag')!;
  expect((await get('/school/console', { headers: { 'If-None-Match': etag } })).status).toBe(304);
});

test.each([
  ['/school/console', 'data-root="../"'],
  ['/school/console/', 'data-root="../../"'],
  ['/school/console/rooms/7', 'data-root="../../../"'],
])('%s names the root of the service', async (address, root) => {
  expect(await (await get(address)).text()).toContain(root);
});

test.each([
  ['/School/console?screen=rooms&day=2026-11-22', '../school/console?screen=rooms&day=2026-11-22'],
  ['/SCHOOL/console/rooms', '../../school/console'],
  ['/School/console//other.example', '../../../school/console'],
])('%s leads to %s', async (address, location) => {
  const answer = await get(address);
  expect([answer.status, answer.headers.get('location')]).toEqual([302, location]);
});

test.each(['/m%C3%BCnchen/console', '/my%20school/console/rooms', '/api/console'])(
  '%s is of no tenant: 404 that says what begins the address',
  async (address) => {
    const answer = await get(address);
    expect([answer.status, await answer.json()]).toMatchObject([
      404,
      { detail: expect.stringContaining('the short name of a tenant') },
    ]);
  },
);

// Each compression that waits takes 256 KB, and nobody needs a credential to ask for it.
test('what is made for one answer is not compressed', async () => {
  for (const address of ['/school/console', '/school/door-sign/1/phone.svg?day=2026-11-28']) {
    const answer = await get(address, { headers: { Accept: 'text/html', 'Accept-Encoding': 'gzip' } });
    expect([address, answer.status, answer.headers.get('content-encoding')]).toEqual([address, 200, null]);
  }
});

/** All that a page loads, without what it loads later: itself first, then what its markup names and its modules import. */
async function follow(address: string): Promise<Map<string, Response & { content: string }>> {
  const found = new Map<string, Response & { content: string }>();
  const open = [address];
  for (let next = open.pop(); next; next = open.pop()) {
    if (found.has(next)) continue;
    const answer = await get(next);
    const content = await answer.text();
    found.set(next, Object.assign(answer, { content }));
    const named = next === address ? /(?:src|href)="([^"]*)"/g : staticImport;
    for (const [, name = ''] of content.matchAll(named)) {
      expect([next, name]).toEqual([next, expect.stringMatching(/^\.\.?\//)]);
      open.push(new URL(name, service.url + next).pathname);
    }
  }
  return found;
}

const staticImport = /(?:^|[;}\s])(?:import\s*|(?:import|export)\b[^;'"`]*?\bfrom\s*)["']([^"'\n]+)["']/g;
const isModule = (address: string) => /\.(ts|m?js)$/.test(address);

test('modules are cached forever, import no package by name, and each import exists', async () => {
  const found = await follow('/school/console');
  found.delete('/school/console');
  for (const [address, { status, headers }] of found) {
    expect(address.startsWith(`${folder}/`)).toBe(true);
    expect([address, status, headers.get('cache-control')]).toEqual([
      address,
      200,
      'public, max-age=31536000, immutable',
    ]);
    if (isModule(address)) expect(headers.get('content-type')).toBe('text/javascript; charset=utf-8');
  }
  for (const name of ['preact/dist/preact.mjs', '@preact/signals/dist/signals.module.js', 'graphql-ws/dist/client.js'])
    expect([...found.keys()]).toContain(`${folder}/packages/${name}`);
});

// A module that is found in another one is asked for after that one has arrived.
test.each([
  ['/school/console', 'rooms'],
  ['/school/console?screen=mail', 'mail'],
  ['/school/console?screen=unknown', 'rooms'],
  ['/school/console?screen=__proto__', 'rooms'],
  ['/school/console?screen=mail&screen=use', 'rooms'],
])('%s links all modules of the console and of the screen %s, once each', async (address, screen) => {
  const found = await follow(address);
  const links = [
    ...(found.get(address)?.content ?? '').matchAll(/<link rel="modulepreload"[^>]* href="\.\.([^"]*)">/g),
  ];
  const linked = links.map(([, name = '']) => name);
  expect(linked[0]).toBe(`${folder}/web/console/start.ts`);
  expect(links.find(([link]) => link.includes('low'))?.[1]).toBe(`${folder}/web/console/screens/${screen}.ts`);
  expect(linked.toSorted()).toEqual([...found.keys()].filter(isModule).toSorted());
});

test('each screen has a module of its name', async () => {
  const { content } = (await follow('/school/console')).get(`${folder}/web/console/routes.ts`)!;
  const all = (pattern: RegExp) => [...content.matchAll(pattern)].map(([, name]) => name);
  const names = all(/name: ["'](\w+)["']/g);
  expect(names.length).toBeGreaterThan(5);
  expect(all(/screens\/(\w+)\.ts/g)).toEqual(names);
});

test.each([
  'web/console/index.html',
  'web/console/../display/sign.ts',
  'web/console/%2e%2e/%2e%2e/settings.ts',
  'web/console/..%2f..%2fsettings.ts',
  'packages/express/index.js',
  'packages/preact/package.json',
  'packages/../package.json',
  'settings.ts',
  '',
])('nothing else is served: %s', async (name) => {
  const answer = await get(`${folder}/${name}`);
  expect([404, 405]).toContain(answer.status);
  expect(answer.headers.get('cache-control') ?? '').not.toContain('immutable');
});

test('another version is not there, and only GET is answered', async () => {
  expect((await get('/assets/console/AAAAAAAAAAAAAAAA/packages/preact/dist/preact.mjs')).status).toBe(404);
  const answer = await get('/school/console', { method: 'POST' });
  expect([answer.status, answer.headers.get('allow')]).toEqual([405, 'GET, HEAD']);
});
