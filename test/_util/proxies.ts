/** The proxies of deploy/, as their programs run them. */
import { spawn, spawnSync } from 'node:child_process';
import { once } from 'node:events';
import fs from 'node:fs';
import os from 'node:os';
import path from 'node:path';
import { until } from './process.ts';

const deploy = path.join(import.meta.dirname, '../../deploy');
const read = (file: string) => fs.readFileSync(path.join(deploy, file), 'utf8');

/** `host:port` of the cells `a` and `b`, and the port on which the proxy listens. */
type Places = { port: number; a: string; b: string };
type Proxy = {
  args: string[];
  files: Record<string, string>;
  environment?: Record<string, string>;
  /** What ends it with all of its processes, whatever streams are open. */
  end: NodeJS.Signals;
};

function caddy(directory: string, { port, a, b }: Places): Proxy {
  return {
    args: ['run', '--adapter', 'caddyfile', '--config', path.join(directory, 'Caddyfile')],
    files: { Caddyfile: read('caddy/Caddyfile') },
    environment: { SITE: `http://:${port}`, ROOMS_A: a, ROOMS_B: b, ADMIN: 'off', HOME: directory },
    end: 'SIGKILL',
  };
}

function nginx(directory: string, { port, a, b }: Places): Proxy {
  // The places that an operator fills in; without TLS.
  const conf = read('nginx/roomgate.conf')
    .replace(/server 10\.0\.0\.[12]:8080;/g, `server ${a};`)
    .replace(/server 10\.0\.1\.1:8080;/, `server ${b};`)
    .replace(/server \{\s+listen 80;[^}]*\}/, '')
    .replace(/listen 443 ssl http2;/, `listen 127.0.0.1:${port};`)
    .replaceAll('/var/log/nginx/', `${directory}/`)
    .replace(/^ *ssl_.*\n/gm, '');
  const temporary = ['client_body', 'proxy', 'fastcgi', 'uwsgi', 'scgi']
    .map((name) => `${name}_temp_path ${directory}/${name};`)
    .join(' ');
  return {
    args: ['-c', path.join(directory, 'nginx.conf'), '-e', path.join(directory, 'error.log'), '-g', 'daemon off;'],
    files: {
      'roomgate.conf': conf,
      'nginx.conf': `pid ${directory}/pid;
worker_processes 1;
events { worker_connections 256; }
http { access_log off; ${temporary} include ${directory}/roomgate.conf; }
`,
    },
    end: 'SIGTERM',
  };
}

const proxies = { caddy, nginx };
export type ProxyName = keyof typeof proxies;

export const hasProxy = (name: ProxyName) => !spawnSync(name, [name === 'nginx' ? '-v' : 'version']).error;

/** Starts a proxy on 127.0.0.1 before the cells, of which the first runs. */
export async function startProxy(name: ProxyName, places: Places) {
  const directory = fs.mkdtempSync(path.join(os.tmpdir(), 'roomgate-proxy-'));
  // For workers of nginx, which run as an account of their own.
  fs.chmodSync(directory, 0o755);
  const url = `http://127.0.0.1:${places.port}`;
  const { args, files, environment, end } = proxies[name](directory, places);
  for (const [file, text] of Object.entries(files)) fs.writeFileSync(path.join(directory, file), text);
  const env = { PATH: process.env['PATH'] ?? '', ...environment };
  const child = spawn(name, args, { env, cwd: directory, stdio: 'ignore' });
  const kill = () => child.kill(end);
  process.on('exit', kill);
  await until(`${name} passes requests`, async () => {
    if (child.exitCode !== null) throw new Error(`${name} ended with ${child.exitCode}`);
    return (await fetch(`${url}/healthz`).catch(() => undefined))?.ok;
  });
  return {
    url,
    directory,
    async stop() {
      process.off('exit', kill);
      const exited = child.exitCode === null ? once(child, 'exit') : undefined;
      kill();
      await exited;
      fs.rmSync(directory, { recursive: true, force: true });
    },
  };
}
