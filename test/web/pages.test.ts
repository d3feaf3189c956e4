import fs from 'node:fs';
import http from 'node:http';
import path from 'node:path';
import { gunzipSync } from 'node:zlib';
import { afterAll, beforeAll, describe, expect, test } from '@jest/globals';
import decode from 'qr/decode.js';
import { stripScript } from '../../src/web/minify.ts';
import { type Service, startService } from '../_util/service.ts';

const folder = path.join(import.meta.dirname, '..', '..', 'src', 'web', 'display');
let service: Service;

beforeAll(async () => {
  service = await startService({ Role: 'Web' });
});
afterAll(() => service.stop());

/** Bytes as they travel: fetch would inflate them. */
function get(address: string, headers: Record<string, string> = {}, method = 'GET') {
  return new Promise<{ status: number; headers: http.IncomingHttpHeaders; body: Buffer }>((resolve, reject) => {
    const sent = http.request(service.url + address, { headers, method }, async (answer) => {
      const chunks: Buffer[] = [];
      for await (const chunk of answer) chunks.push(chunk as Buffer);
      resolve({ status: answer.statusCode ?? 0, headers: answer.headers, body: Buffer.concat(chunks) });
    });
    sent.on('error', reject).end();
  });
}

/** The addresses of all that a page loads, itself first: what its markup names, and what its scripts import or start. */
async function follow(address: string): Promise<Map<string, string>> {
  const found = new Map<string, string>();
  const open = [address];
  for (let next = open.pop(); next !== undefined; next = open.pop()) {
    if (found.has(next)) continue;
    const { status, body } = await get(next);
    const text = body.toString();
    expect([next, status]).toEqual([next, 200]);
    found.set(next, text);
    const named = [
      ...text.matchAll(/(?:src|href)="([^"#][^"]*)"/g),
      ...text.matchAll(/(?:from|import)\s*\(?['"]([^'"]+)['"]/g),
      ...text.matchAll(/new URL\('([^']+)', ?import\.meta\.url/g),
      ...text.matchAll(/url\(['"]?([^'")]+)['"]?\)/g),
    ];
    for (const [, part = ''] of named) {
      if (part.startsWith('data:')) continue;
      const url = new URL(part, service.url + next);
      expect(url.origin).toBe(service.url);
      open.push(url.pathname + url.search);
    }
  }
  return found;
}

describe.each([
  ['sign', '/school/door-sign/1', 80_000],
  ['board', '/school/board/1', 80_000],
])('the %s', (_name, address, most) => {
  test('its parts come from here alone, and are at most 80 kB', async () => {
    const parts = await follow(address);
    expect(parts.size).toBeGreaterThan(3);
    const sizes = [...parts].map(([part, text]) => ({ part, bytes: Buffer.byteLength(text) }));
    // Of the languages one is loaded.
    const [, ...others] = sizes
      .filter(({ part }) => /\/(german|english)\.ts$/.test(part))
      .sort((one, other) => other.bytes - one.bytes);
    expect(others).toHaveLength(1);
    const sum = (some: typeof sizes) => some.reduce((bytes, one) => bytes + one.bytes, 0);
    expect(sum(sizes) - sum(others)).toBeLessThanOrEqual(most);
  });

  test('the same for every tenant and id, known or not, without a credential', async () => {
    const { headers, body } = await get(address);
    for (const other of [address.replace('school', 'nobody'), address.replace(/1$/, '999999999999')]) {
      const answer = await get(other);
      expect([answer.status, answer.headers['etag']]).toEqual([200, headers['etag']]);
      expect(answer.body.equals(body)).toBe(true);
    }
    expect(body.toString()).not.toMatch(/\{\{|\/school\//);
  });

  test('404 for what is no id, 405 for another method', async () => {
    for (const id of ['0', '-1', '1.5', 'x', '01', '1/'])
      expect([id, (await get(address.replace(/1$/, id))).status]).toEqual([id, 404]);
    const posted = await get(address, {}, 'POST');
    expect([posted.status, posted.headers['allow']]).toEqual([405, 'GET, HEAD']);
  });

  test('it may run nothing but its own scripts, and keep the screen on', async () => {
    const { headers } = await get(address);
    expect(headers['content-security-policy']).toMatch(
      /^default-src 'none'; script-src 'self'; style-src 'self'; .*connect-src 'self'; .*frame-ancestors 'none'; require-trusted-types-for 'script'/,
    );
    expect(headers['permissions-policy']).toContain('screen-wake-lock=(self)');
    expect(headers['x-content-type-options']).toBe('nosniff');
    expect(headers['content-type']).toBe('text/html; charset=utf-8');
  });
});

describe('GET /{mandator}/door-sign/{resourceId}/phone.svg', () => {
  const address = '/school/door-sign/12/phone.svg';

  /** What a camera reads from the squares of the picture. */
  function readCode(svg: string): string {
    const side = Number(/viewBox="0 0 (\d+) /.exec(svg)?.[1]);
    const scale = 4;
    const size = side * scale;
    const data = new Uint8ClampedArray(size * size * 4).fill(255);
    let [x, y] = [0, 0];
    const path = svg.match(/ d="([^"]*)"/)?.[1] ?? '';
    for (const [, command, dx, dy] of path.matchAll(/([Mm])(-?\d+) ?(-?\d+)h1v1[Hh]-?\d+[Zz]/g)) {
      [x, y] = command === 'M' ? [Number(dx), Number(dy)] : [x + Number(dx), y + Number(dy)];
      for (let row = y * scale; row < (y + 1) * scale; row++)
        for (let column = x * scale; column < (x + 1) * scale; column++)
          data.fill(0, (row * size + column) * 4, (row * size + column) * 4 + 3);
    }
    return decode({ width: size, height: size, data });
  }

  test('a picture that leads phones to the day of the room, which can run nothing', async () => {
    const { status, headers, body } = await get(`${address}?day=2027-03-01`);
    expect([status, headers['content-type']]).toEqual([200, 'image/svg+xml']);
    expect(readCode(body.toString())).toBe(
      `${service.context.config.BaseUrl}/school/console?screen=rooms&resource=12&day=2027-03-01`,
    );
    expect(headers['content-security-policy']).toBe("default-src 'none'; style-src 'none'; sandbox");
    expect(headers['x-content-type-options']).toBe('nosniff');
    const again = await get(`${address}?day=2027-03-01`, { 'If-None-Match': String(headers['etag']) });
    expect(again.status).toBe(304);
  });

  test('422 without a day, 404 for what can be no room or tenant, 405 for another method', async () => {
    for (const day of ['', '?day=', '?day=<script>', '?day=2027-03-01&day=2027-03-02', `?day=${'1'.repeat(100)}`])
      expect([day, (await get(address + day)).status]).toEqual([day, 422]);
    for (const wrong of [
      address.replace('12', '0'),
      address.replace('12', '12345678901'),
      address.replace('sc', '%3C'),
    ])
      expect([wrong, (await get(`${wrong}?day=2027-03-01`)).status]).toEqual([wrong, 404]);
    expect((await get(address, {}, 'POST')).status).toBe(405);
  });
});

describe('GET /assets', () => {
  test('scripts have neither types nor comments, and behave the same', async () => {
    const { headers, body } = await get('/assets/displays/state.ts');
    expect(headers['content-type']).toBe('text/javascript; charset=utf-8');
    expect(body.toString()).not.toMatch(/\/\*\*|\bexport type\b|: number/);
    const text = body.toString().replaceAll("'../", `'${new URL('../../src/', import.meta.url)}`);
    const served = (await import(`data:text/javascript,${encodeURIComponent(text)}`)) as Record<string, unknown>;
    const source = (await import('../../src/displays/state.ts')) as Record<string, unknown>;
    expect(Object.keys(served)).toEqual(Object.keys(source));
  });

  test('constants are joined, and with nothing whose name only begins like their keyword', async () => {
    const text =
      'let one = 1;\nlet two = 2;\nletters.push(one, two);\nconst a = 1;\nconst [b] = [2];\nconstants.push(a, b);\n';
    expect((await stripScript(text)).trim()).toBe(
      'let one=1,two=2;letters.push(one,two);const a=1,[b]=[2];constants.push(a,b);',
    );
  });

  test('the script that tells old browsers what is wrong can be read by them', async () => {
    const { body } = await get('/assets/web/display/start.ts');
    expect(body.toString()).toContain('Android System WebView');
    expect(body.toString()).not.toMatch(/\?\?|\?\.|\d_\d|\|\|=|&&=|\.at\(/);
  });

  test('304 for a known ETag, gzip if accepted, each with an ETag of its own', async () => {
    for (const address of ['/school/door-sign/1', '/assets/displays/state.ts']) {
      const plain = await get(address);
      const zipped = await get(address, { 'Accept-Encoding': 'br, gzip' });
      expect([plain.headers['content-encoding'], zipped.headers['content-encoding']]).toEqual([undefined, 'gzip']);
      expect(gunzipSync(zipped.body).equals(plain.body)).toBe(true);
      expect(zipped.headers['etag']).not.toBe(plain.headers['etag']);
      expect(plain.headers).toMatchObject({ 'cache-control': 'no-cache', vary: 'Accept-Encoding' });
      const again = await get(address, { 'If-None-Match': `"other", W/${plain.headers['etag']}` });
      expect([again.status, again.body.length]).toEqual([304, 0]);
      expect((await get(address, { 'If-None-Match': String(zipped.headers['etag']) })).status).toBe(200);
      const head = await get(address, {}, 'HEAD');
      expect([head.status, head.headers['content-length'], head.body.length]).toEqual([
        ...[200, String(plain.body.length), 0],
      ]);
    }
  });

  test('404 for every other file', async () => {
    for (const name of [
      ...['web/display/sign.html', 'web/display', 'web/display/', 'displays/display.ts', 'config.ts', 'web/files.ts'],
      ...['web/display/..%2f..%2fconfig.ts', 'web/display/%2e%2e/%2e%2e/config.ts', '__proto__', 'constructor'],
    ])
      expect([name, (await get(`/assets/${name}`)).status]).toEqual([name, 404]);
    expect((await get('/assets/displays/state.ts', {}, 'DELETE')).status).toBe(405);
  });

  test('every file of the pages is served, and is loaded by one of them', async () => {
    const loaded = new Set<string>();
    for (const page of ['/school/door-sign/1', '/school/board/1'])
      for (const address of (await follow(page)).keys()) loaded.add(address.replace(/\?.*/, ''));
    const files = fs.readdirSync(folder).filter((name) => !name.endsWith('.html'));
    for (const name of files) expect([...loaded]).toContain(`/assets/web/display/${name}`);
  });
});
