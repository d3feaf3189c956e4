/** A start while the database fails: it continues while the outage may end, and reports faults that will not end by themselves. */
import { spawnSync } from 'node:child_process';
import { once } from 'node:events';
import fs from 'node:fs';
import net, { type AddressInfo, type Socket } from 'node:net';
import os from 'node:os';
import path from 'node:path';
import { afterAll, beforeAll, describe, expect, test } from '@jest/globals';
import { openDatabase } from '../../src/db/database.ts';
import { diagnose } from '../../src/db/diagnosis.ts';
import { serverAccount } from '../../src/db/embedded.ts';
import { migrate } from '../../src/db/migrate.ts';
import { openLog } from '../../src/log.ts';
import { startServer } from '../../src/server.ts';
import { examineWorkers } from '../../src/worker/diagnosis.ts';
import { freePort } from '../_util/free-port.ts';
import { pepper } from '../_util/pepper.ts';
import { cloneDatabase, memory } from '../_util/postgres.ts';
import { testConfig } from '../_util/service.ts';

const log = openLog('silent');
const project = path.join(import.meta.dirname, '..', '..');

describe('what is loaded before a process serves', () => {
  /** Prints the addresses of all modules that `entries` load, and the names of those inside Node.js. */
  const trace = (entries: readonly string[]) => `
    import { registerHooks } from 'node:module';
    const urls = [];
    registerHooks({ load(url, context, next) { urls.push(url); return next(url, context); } });
    for (const entry of ${JSON.stringify(entries)}) await import(entry);
    console.log(JSON.stringify([...urls, ...process.moduleLoadList]));`;

  test.each([
    // Their first use loads them: docs/architecture.md.
    [
      ['src/host.ts', 'src/server.ts', 'src/app.ts'],
      [
        'graphql',
        'graphql-yoga',
        '@pothos/core',
        'graphql-ws',
        'ws',
        '@graphql-tools/utils',
        'amaro',
        'pino-pretty',
        '@opentelemetry/sdk-trace',
      ],
    ],
    [
      ['src/host.ts', 'src/server.ts'],
      ['graphql', 'graphql-yoga', '@pothos/core', 'ws'],
    ],
    [['src/host.ts'], ['express', 'prom-client', 'graphql', 'graphile-worker', 'ws', 'pino-pretty']],
    // PostgreSQL waits for these.
    [['src/beginning.ts'], ['kysely', 'graphile-worker', 'commander', 'jose', 'pino-pretty']],
  ])('%j without %j', (entries, packages) => {
    const urls = entries.map((entry) => new URL(entry, `file://${project}/`).href);
    const { stdout, stderr } = spawnSync(process.execPath, ['--input-type=module', '-e', trace(urls)], {
      encoding: 'utf8',
    });
    expect(stderr).toBe('');
    const names = JSON.parse(stdout) as string[];
    const loaded = new Set(names.map((name) => /.*\/node_modules\/((?:@[^/]+\/)?[^/]+)/.exec(name)?.[1]));
    // Of fetch: src/http/node-http.ts.
    expect(names.filter((name) => name.includes('undici'))).toEqual([]);
    expect(loaded).toContain('zod');
    expect(packages.filter((name) => loaded.has(name))).toEqual([]);
  });
});

test('the first GraphQL call loads what it needs in parts, between which the process has turns for other requests', () => {
  const script = `
    import { registerHooks } from 'node:module';
    const { loadCalls } = await import('./src/graphql/loading.ts');
    const parts = ['graphql-yoga/', 'src/graphql/schema.ts', 'src/graphql/calls.ts'];
    const turns = [];
    let turn = 0;
    const counting = setInterval(() => turn++, 1);
    registerHooks({ load(url, context, next) {
      const part = parts.findIndex((name) => url.includes(name));
      if (part >= 0) turns[part] ??= turn;
      return next(url, context);
    } });
    await loadCalls();
    clearInterval(counting);
    console.log(JSON.stringify(turns));`;
  const { stdout, stderr } = spawnSync(process.execPath, ['--input-type=module', '-e', script], {
    cwd: project,
    encoding: 'utf8',
  });
  expect(stderr).toBe('');
  const turns: number[] = JSON.parse(stdout);
  expect(turns).toEqual([...new Set(turns)].sort((one, other) => one - other));
  expect(turns).toHaveLength(3);
});

describe('a connection that is lost at any step of the start', () => {
  /** A way to the database on which the first connection that gets so far is lost at the message `at` of its client. */
  async function openBrokenWay(to: string, at: number, how: (near: Socket, far: Socket) => void) {
    const { hostname, port } = new URL(to);
    const sockets = new Set<Socket>();
    let isBroken = false;
    const server = net.createServer((near) => {
      const far = net.connect(Number(port), hostname);
      let messages = 0;
      for (const [socket, other] of [
        [near, far],
        [far, near],
      ] as const) {
        sockets.add(socket.on('error', () => {}));
        socket.on('close', () => {
          sockets.delete(socket);
          other.destroy();
        });
      }
      far.pipe(near);
      near.on('data', (chunk) => {
        if (++messages === at && !isBroken) {
          isBroken = true;
          how(near, far);
        } else far.write(chunk);
      });
    });
    await once(server.listen(0, '127.0.0.1'), 'listening');
    const url = new URL(to);
    url.port = String((server.address() as AddressInfo).port);
    return {
      url: url.href,
      get isBroken() {
        return isBroken;
      },
      async close() {
        for (const socket of sockets) socket.destroy();
        await new Promise((resolve) => server.close(resolve));
      },
    };
  }

  test.each([
    ['closed', (near: Socket) => void near.destroy()],
    // What is asked then goes nowhere.
    ['stranded', (near: Socket, far: Socket) => void far.unpipe(near)],
  ])('%s: the start goes on', async (_how, lose) => {
    // Two to log in, one to set the session up, and what the migrations ask.
    const steps = Array.from({ length: 12 }, (_, index) => index + 1);
    const broken = await Promise.all(
      steps.map(async (at) => {
        const database = await cloneDatabase();
        const way = await openBrokenWay(database.url, at, lose);
        const server = await startServer(testConfig(way.url, { Role: 'Web' }), log);
        try {
          await server.ready;
          return way.isBroken;
        } finally {
          await server.stop();
          await way.close();
          await database.drop();
        }
      }),
    );
    expect(broken).toEqual(steps.map(() => true));
  });
});

/** The programs of a PostgreSQL that is too old, where a package of the system has put them. */
const old = ['/usr/lib/postgresql/15/bin', '/usr/lib/postgresql/14/bin'].find((folder) => fs.existsSync(folder));

describe('PostgreSQL below 16', () => {
  if (!old) {
    test.skip('SKIPPED: no PostgreSQL 14 or 15 in /usr/lib/postgresql', () => {});
    return;
  }
  const directory = fs.mkdtempSync(path.join(memory ?? os.tmpdir(), 'roomgate-old-'));
  const account = serverAccount();
  const data = path.join(directory, 'data');
  let url = '';
  const run = (program: string, ...args: string[]) => {
    const { status, stderr } = spawnSync(path.join(old, program), args, {
      ...account,
      cwd: '/',
      encoding: 'utf8',
      stdio: ['ignore', 'ignore', 'pipe'],
    });
    if (status !== 0) throw new Error(`${program}: ${stderr}`);
  };
  beforeAll(async () => {
    const port = await freePort();
    fs.chmodSync(directory, 0o777);
    run('initdb', '-D', data, '-U', 'roomgate', '-A', 'trust', '--no-sync', '--locale=C.UTF-8');
    run(
      'pg_ctl',
      '-D',
      data,
      '-w',
      '-l',
      path.join(directory, 'log'),
      '-o',
      `-p ${port} -k ${directory} -c listen_addresses=127.0.0.1 -c fsync=off`,
      'start',
    );
    url = `postgres://roomgate@127.0.0.1:${port}/postgres`;
  });
  afterAll(() => {
    run('pg_ctl', '-D', data, '-m', 'immediate', 'stop');
    fs.rmSync(directory, { recursive: true, force: true });
  });

  const refusal = expect.stringMatching(
    /^DatabaseUrl: PostgreSQL 1[45] is too old; roomgate needs PostgreSQL 16 or newer$/,
  );

  test('is refused by serve and migrate, with what to do, and doctor says so', async () => {
    const server = await startServer(testConfig(url, { Role: 'Web' }), log);
    await expect(server.ready).rejects.toMatchObject({ name: 'Error', message: refusal });
    await server.stop();
    const db = openDatabase(url, { max: 1, log, statementTimeout: 0 });
    await expect(migrate(db, log)).rejects.toMatchObject({ message: refusal });
    expect(await diagnose(url, db, examineWorkers)).toEqual([
      { check: 'Database', level: 'fault', text: refusal, remedy: 'Use PostgreSQL 16 to 18.' },
    ]);
    await db.destroy();
  });
});

/** Whether every account may enter all folders above a file. */
function isOpenToAll(file: string): boolean {
  const folder = path.dirname(file);
  return (fs.statSync(folder).mode & 0o001) !== 0 && (folder === file || isOpenToAll(folder));
}

describe('an account that is in no list, as a container may give', () => {
  const isPossible =
    process.getuid?.() === 0 && [path.join(project, 'src', 'main.js'), process.execPath].every(isOpenToAll);
  const title = isPossible ? 'needs no HOME' : 'SKIPPED: needs root, and folders that other accounts may enter';
  (isPossible ? test : test.skip)(title, async () => {
    const database = await cloneDatabase();
    const { status, stdout, stderr } = spawnSync(process.execPath, ['src/main.js', 'migrate'], {
      cwd: project,
      uid: 54_321,
      gid: 54_321,
      encoding: 'utf8',
      env: { DatabaseUrl: database.url, Pepper: pepper },
    });
    expect({ status, stdout, stderr }).toEqual({ status: 0, stdout: 'Already current.\n', stderr: '' });
    await database.drop();
  });
});
