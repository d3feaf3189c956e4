import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import fs from 'node:fs';
import os from 'node:os';
import path from 'node:path';
import { createInterface } from 'node:readline';
import { setTimeout as sleep } from 'node:timers/promises';
import { afterAll, describe, expect, test } from '@jest/globals';
import pg from 'pg';

const source = path.join(import.meta.dirname, '..', '..', 'src');
// As root the server runs as another account: it must be able to enter.
const directory = fs.mkdtempSync(path.join(os.tmpdir(), 'roomgate-embedded-'));
fs.chmodSync(directory, 0o755);
const pidFile = path.join(directory, 'postgres', 'postmaster.pid');

/** Says its URL once it has started, and stops when its standard input ends. */
const program = `
  import { startEmbeddedPostgres } from '${source}/db/embedded.ts';
  import { openLog } from '${source}/log.ts';
  const server = await startEmbeddedPostgres('${directory}', 'roomgate', openLog('warn'));
  console.log(server.url);
  for await (const _ of process.stdin);
  await server.stop();
`;

type User = { process: ChildProcess; url: Promise<string>; warnings(): string; leave(): Promise<void> };
const users = new Set<User>();

/** A process of its own that uses the server. */
function startUser(): User {
  const child = spawn(process.execPath, ['--input-type=module', '--eval', program], { cwd: directory });
  let warnings = '';
  child.stderr.on('data', (text) => (warnings += text));
  const exited = once(child, 'exit').then(() => users.delete(user));
  const user: User = {
    process: child,
    url: Promise.race([
      once(createInterface(child.stdout), 'line').then(([line]) => line as string),
      exited.then(() => Promise.reject(new Error(`ended before it had a server: ${warnings}`))),
    ]),
    warnings: () => warnings,
    async leave() {
      child.stdin.end();
      await exited;
    },
  };
  users.add(user);
  return user;
}

const serverPid = () => Number(fs.readFileSync(pidFile, 'utf8').split('\n')[0]);
/** The server removes the file last. */
const serverRuns = () => fs.existsSync(pidFile);

async function connect(url: string): Promise<pg.Client> {
  const client = new pg.Client({ connectionString: url });
  client.on('error', () => {});
  await client.connect();
  return client;
}

async function query(url: string, text: string): Promise<unknown[]> {
  const client = await connect(url);
  try {
    return (await client.query(text)).rows;
  } finally {
    await client.end();
  }
}

afterAll(async () => {
  await Promise.all([...users].map((user) => user.leave()));
  if (serverRuns() && serverPid() !== process.pid) process.kill(serverPid(), 'SIGKILL');
  fs.rmSync(directory, { recursive: true, force: true, maxRetries: 10, retryDelay: 100 });
});

describe('the local PostgreSQL', () => {
  test('is made once by two that start at the same time, and swept of what a killed start left', async () => {
    const gone = spawn('true');
    await once(gone, 'exit');
    const litter = [`init-${gone.pid}-0123abcd`, `bin-18.4.0.${gone.pid}.0123abcd`].map((name) =>
      path.join(directory, name),
    );
    for (const folder of litter) fs.mkdirSync(folder);
    const [one, two] = [startUser(), startUser()];
    expect(await one.url).toBe(await two.url);
    await query(await one.url, 'create table kept as select 1 as value');
    expect(fs.readdirSync(directory).sort()).toEqual([
      expect.stringMatching(/^bin-[\w.-]+$/),
      'postgres',
      'postgres.log',
    ]);
    expect(litter.filter((folder) => fs.existsSync(folder))).toEqual([]);

    await one.leave();
    expect(await query(await two.url, 'select value from kept')).toEqual([{ value: 1 }]);
    await two.leave();
    expect(serverRuns()).toBe(false);
  });

  test('is stopped when its last two users leave at the same time', async () => {
    const both = [startUser(), startUser()];
    await Promise.all(both.map(({ url }) => url));
    await Promise.all(both.map((user) => user.leave()));
    expect(serverRuns()).toBe(false);
  });

  test('stays while a connection is open that is nobody’s claim', async () => {
    const user = startUser();
    const client = await connect(await user.url);
    await user.leave();
    expect((await client.query('select 1')).rowCount).toBe(1);
    await client.end();
  });

  test('is adopted where the last user was killed, and stopped by the one who adopted it', async () => {
    const killed = startUser();
    await killed.url;
    const pid = serverPid();
    killed.process.kill('SIGKILL');
    const user = startUser();
    expect(await query(await user.url, 'select value from kept')).toEqual([{ value: 1 }]);
    expect(serverPid()).toBe(pid);
    await user.leave();
    expect(serverRuns()).toBe(false);
  });

  test('recovers from the kill of its server', async () => {
    const before = startUser();
    await before.url;
    const pid = serverPid();
    process.kill(pid, 'SIGKILL');
    const after = startUser();
    expect(await query(await after.url, 'select value from kept')).toEqual([{ value: 1 }]);
    expect(serverPid()).not.toBe(pid);
    await before.leave();
    await after.leave();
  });

  test('starts where the pid file of a killed server names another program by now', async () => {
    fs.writeFileSync(pidFile, `${process.pid}\n${path.dirname(pidFile)}\n1\n1\n\n127.0.0.1\n1 1\nready\n`);
    const user = startUser();
    expect(await query(await user.url, 'select value from kept')).toEqual([{ value: 1 }]);
    expect(user.warnings()).toContain('postmaster.pid names another program, and is removed');
    await user.leave();
  });

  test('is started anew by one who comes while the last user stops it', async () => {
    const last = startUser();
    const client = await connect((await last.url).replace(/roomgate$/, 'postgres'));
    const pid = serverPid();
    last.process.kill('SIGKILL');
    await client.query('select pg_advisory_lock(1)');
    const user = startUser();
    const waiting = `select from pg_locks where locktype = 'advisory' and not granted`;
    while ((await client.query(waiting)).rowCount === 0) await sleep(5);
    process.kill(pid, 'SIGINT');
    expect(await query(await user.url, 'select value from kept')).toEqual([{ value: 1 }]);
    expect(serverPid()).not.toBe(pid);
    await user.leave();
    await client.end();
  });
});
