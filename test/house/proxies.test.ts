/** The proxies of deploy/, as their programs run them. */
import { spawn, spawnSync } from 'node:child_process';
import { once } from 'node:events';
import fs from 'node:fs';
import http from 'node:http';
import type { AddressInfo } from 'node:net';
import os from 'node:os';
import path from 'node:path';
import { afterAll, beforeAll, describe, expect, test } from '@jest/globals';
import { freePort } from '../_util/free-port.ts';
import { travel } from '../_util/journey.ts';
import { until } from '../_util/process.ts';
import { type Service, startService } from '../_util/service.ts';

const deploy = path.join(import.meta.dirname, '../../deploy');
const read = (file: string) => fs.readFileSync(path.join(deploy, file), 'utf8');

type Proxy = { program: string; args: string[]; files: Record<string, string>; environment?: Record<string, string> };
/** What starts a proxy on `port` in `directory`, before the cells `a` and `b`. */
type Describe = (at: { directory: string; port: number; a: string; b: string }) => Proxy;

const caddy: Describe = ({ directory, port, a, b }) => ({
  program: 'caddy',
  args: ['run', '--adapter', 'caddyfile', '--config', path.join(directory, 'Caddyfile')],
  files: { Caddyfile: read('caddy/Caddyfile') },
  environment: { SITE: `http://:${port}`, ROOMS_A: a, ROOMS_B: b, ADMIN: 'off', HOME: directory },
});

const nginx: Describe = ({ directory, port, a, b }) => {
  // The places that an operator fills in; without TLS.
  const conf = read('nginx/roomgate.conf')
    .replace(/server 10\.0\.0\.[12]:8080;/g, `server ${a};`)
    .replace(/server 10\.0\.1\.1:8080;/, `server ${b};`)
    .replace(/server \{\s+listen 80;[^}]*\}/, '')
    .replace(/listen 443 ssl http2;/, `listen 127.0.0.1:${port};`)
    .replace(/^ *ssl_.*\n/gm, '');
  const temporary = ['client_body', 'proxy', 'fastcgi', 'uwsgi', 'scgi']
    .map((name) => `${name}_temp_path ${directory}/${name};`)
    .join(' ');
  return {
    program: 'nginx',
    args: ['-c', path.join(directory, 'nginx.conf'), '-e', path.join(directory, 'error.log'), '-g', 'daemon off;'],
    files: {
      'roomgate.conf': conf,
      'nginx.conf': `pid ${directory}/pid;
worker_processes 1;
events { worker_connections 256; }
http { access_log off; ${temporary} include ${directory}/roomgate.conf; }
`,
    },
  };
};

let service: Service;
/** The second cell. */
const cell = http.createServer((_request, response) => response.writeHead(418).end());
beforeAll(async () => {
  service = await startService({ TrustProxy: 'loopback' });
  await once(cell.listen(0, '127.0.0.1'), 'listening');
});
afterAll(async () => {
  cell.closeAllConnections();
  cell.close();
  await service.stop();
});

describe.each<[string, string, Describe]>([
  ['Caddy', 'caddy', caddy],
  ['nginx', 'nginx', nginx],
])('%s', (_name, program, describeProxy) => {
  const { error } = spawnSync(program, program === 'nginx' ? ['-v'] : ['version']);
  if (error) {
    test.skip(`SKIPPED: ${program} is not installed`, () => {});
    return;
  }
  let stop = async () => {};
  let url = '';

  beforeAll(async () => {
    const directory = fs.mkdtempSync(path.join(os.tmpdir(), 'roomgate-proxy-'));
    const port = await freePort();
    url = `http://127.0.0.1:${port}`;
    const b = `127.0.0.1:${(cell.address() as AddressInfo).port}`;
    const { args, files, environment } = describeProxy({ directory, port, a: new URL(service.url).host, b });
    for (const [name, text] of Object.entries(files)) fs.writeFileSync(path.join(directory, name), text);
    const env = { PATH: process.env['PATH'] ?? '', ...environment };
    const child = spawn(program, args, { env, cwd: directory, stdio: 'ignore' });
    const kill = () => child.kill('SIGTERM');
    process.on('exit', kill);
    stop = async () => {
      process.off('exit', kill);
      const exited = child.exitCode === null ? once(child, 'exit') : undefined;
      kill();
      await exited;
      fs.rmSync(directory, { recursive: true, force: true });
    };
    await until(`${program} passes requests`, async () => {
      if (child.exitCode !== null) throw new Error(`${program} ended with ${child.exitCode}`);
      return (await fetch(`${url}/healthz`).catch(() => undefined))?.ok;
    });
  });
  afterAll(() => stop());

  test('passes REST, GraphQL, SSE and WebSocket', () => travel(service, url));

  test.each([
    ...['/metrics', '/readyz', '/METRICS', '/Readyz/', '/%6Detrics', '/metrics/', '/metrics//', '/metrics?x=1'],
    ...['//metrics', '/./readyz'],
  ])('hides %s', async (hidden) => {
    const answer = await fetch(url + hidden);
    expect(answer.status).toBe(404);
    expect(await answer.text()).not.toMatch(/process_cpu|Checks/);
  });

  test('leads tenants of the second cell there, in any case, and no others', async () => {
    const isThere = async (at: string) => (await fetch(url + at)).status === 418;
    expect(await isThere('/tenant-of-cell-b/graphql')).toBe(true);
    expect(await isThere('/Another-Of-Cell-B/api/v2.0/lessons')).toBe(true);
    expect(await isThere('/tenant-of-cell-bb/graphql')).toBe(false);
  });
});
