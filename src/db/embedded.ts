/**
 * A private PostgreSQL server from npm packages, for `npm start` without `DatabaseUrl` and for the tests.
 *
 * Processes need no lock file of ours. Each creates a cluster in a folder of its own and renames it into place, so one wins.
 * `postmaster.pid` then is the lock: a process that loses the race for it adopts the winner's server. Each process holds a
 * connection, its claim, with a shared advisory lock. The last one to leave takes that lock exclusively and stops the server;
 * a process that arrives meanwhile waits for the lock, and starts the server again.
 *
 * The server may be killed like any other program. A process whose claim ends before it leaves claims the server again,
 * and restarts it if it has ended, at the same port.
 */
import { spawn, spawnSync } from 'node:child_process';
import { createHash } from 'node:crypto';
import fs from 'node:fs';
import net from 'node:net';
import path from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import pg from 'pg';
import { ConfigError } from '../config.ts';
import { codeOf, isDuplicate } from '../flow/database-errors.ts';
import { localServerLock } from '../flow/locks.ts';
import type { Log } from '../log.ts';
import { type ClusterPlace, installBinaries, makeCluster, type SystemAccount } from './local-cluster.ts';
import { faultOf, isAlive, isServerOf, lastWords, pidFileOf, readPidFile } from './postmaster.ts';

export type EmbeddedPostgres = { url: string; directory: string; stop(): Promise<void> };

const isRoot = process.getuid?.() === 0;
const startTimeout = 60_000;
/** A server that is suspended accepts connections and never answers. */
const connectTimeout = 10_000;

/** PostgreSQL refuses to run as root: root runs it as `postgres`, or else `nobody` (initdb needs an entry in passwd). */
export function serverAccount(): SystemAccount {
  if (!isRoot) return {};
  const accounts = fs
    .readFileSync('/etc/passwd', 'utf8')
    .split('\n')
    .map((line) => line.split(':'));
  const account = accounts.find(([name]) => name === 'postgres') ?? accounts.find(([name]) => name === 'nobody');
  if (!account)
    throw new ConfigError(
      'running as root, but there is no account "postgres" or "nobody" to run PostgreSQL: set DatabaseUrl',
    );
  return { uid: Number(account[2]), gid: Number(account[3]) };
}

const rootsDirectory = '/var/lib/roomgate';

/** The folder of data, binaries and secrets: `.data/` of the project; for root, one that the server's account can enter. */
export function dataDirectory(projectDirectory: string): string {
  if (!isRoot) return path.join(projectDirectory, '.data');
  const project = createHash('sha256').update(projectDirectory).digest('hex').slice(0, 12);
  return path.join(rootsDirectory, project);
}

/** A former release has made the folders with the umask of root. */
function letOthersIn(folder: string): void {
  const parent = path.dirname(folder);
  for (const own of parent === rootsDirectory ? [parent, folder] : [folder]) {
    const { mode } = fs.statSync(own);
    if ((mode & 0o055) !== 0o055) fs.chmodSync(own, (mode & 0o7777) | 0o755);
  }
}

/** @throws ConfigError if this account cannot make the folder or write there */
function makeFolder(folder: string): void {
  // For root, PostgreSQL's account enters it.
  const restore = isRoot ? process.umask(0o022) : undefined;
  try {
    fs.mkdirSync(folder, { recursive: true, mode: 0o755 });
    fs.accessSync(folder, fs.constants.W_OK);
    if (isRoot) letOthersIn(folder);
  } catch (error) {
    throw new ConfigError(
      `DatabaseUrl: is empty, and ${folder}, for the local PostgreSQL, cannot be written (${(error as NodeJS.ErrnoException).code}): set DatabaseUrl`,
    );
  } finally {
    if (restore !== undefined) process.umask(restore);
  }
}

/** Removes half-made clusters that killed processes have left. */
function sweep(directory: string): void {
  for (const name of fs.readdirSync(directory)) {
    const [, maker] = /^(?:init-|bin-.+\.)(\d+)[-.][0-9a-f]{8}$/.exec(name) ?? [];
    if (maker && !isAlive(Number(maker))) fs.rmSync(path.join(directory, name), { recursive: true, force: true });
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

/**
 * @param port 0: any that is free
 * @returns why it has ended instead
 */
async function startServer(
  { binaries, data, account, meanwhile }: ClusterPlace,
  logFile: string,
  port: number,
): Promise<string | undefined> {
  const output = fs.openSync(logFile, 'a', 0o600);
  const { size } = fs.fstatSync(output);
  // Detached: Ctrl-C at the terminal must not stop the database before the application has drained.
  const server = spawn(
    path.join(binaries, 'postgres'),
    [
      ['-D', data, '-p', String(port || (await freePort())), '-c', 'listen_addresses=127.0.0.1'],
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
    if (file?.pid === server.pid && file?.ready) return undefined;
    await sleep(15);
  }
  // The port was taken, another process started the server, or old backends are still ending: the caller tries again.
  await sleep(100);
  return exited ? lastWords(logFile, size) : undefined;
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
    makeFolder(folder);
    sweep(folder);
  }
  const binaries = await installBinaries(directory, account);
  const data = path.join(clusterIn, 'postgres');
  const place = { binaries, data, account, meanwhile };
  const logFile = path.join(directory, 'postgres.log');
  if (!fs.existsSync(path.join(data, 'PG_VERSION'))) await makeCluster(place, clusterIn);
  const password = fs.readFileSync(path.join(data, 'password'), 'utf8').trim();
  const urlOf = (port: number, name: string) => `postgres://roomgate:${password}@127.0.0.1:${port}/${name}`;

  async function connect(port: number): Promise<pg.Client> {
    const client = new pg.Client({
      connectionString: urlOf(port, 'postgres'),
      application_name: 'roomgate claim',
      connectionTimeoutMillis: connectTimeout,
    });
    client.on('error', () => {});
    try {
      await client.connect();
      await client.query('select pg_advisory_lock_shared($1)', [localServerLock]);
      return client;
    } catch (error) {
      client.end().catch(() => {});
      throw error;
    }
  }

  let isLeaving = false;
  /** 0: any that is free. */
  let port = 0;

  /** @throws Error if there is no server after a minute, or if this process is leaving and would have to start it */
  async function claimServer(): Promise<pg.Client> {
    let failure: string | undefined;
    let refusal: string | undefined;
    let told: string | undefined;
    for (const deadline = Date.now() + startTimeout; ; ) {
      if (Date.now() > deadline)
        throw new Error(
          `the local PostgreSQL did not become ready: ${refusal ?? failure ?? 'it is starting'}; its log is ${logFile}`,
        );
      const file = readPidFile(data);
      if (file && isServerOf(file.pid, data)) {
        if (port !== 0 && file.port !== port && file.ready)
          throw new Error(
            `the local PostgreSQL has the port ${file.port} now, no longer ${port}: restart this process`,
          );
        const admitted = file.ready
          ? await connect(file.port).catch((error: Error) => error)
          : new Error('it is starting');
        if (!(admitted instanceof Error)) {
          port = file.port;
          return admitted;
        }
        refusal = `its process ${file.pid} admits nobody: ${admitted.message}`;
        await sleep(25);
        continue;
      }
      refusal = undefined;
      // A server that was started meanwhile is still claimed, so that it is stopped.
      if (isLeaving) throw new Error('this process leaves');
      if (failure && failure !== told) {
        told = failure;
        log.warn({ log: logFile }, `the local PostgreSQL does not start, and is tried again: ${failure}`);
      }
      const fault = file && faultOf(file);
      if (fault) {
        log.warn({ pid: file.pid }, `postmaster.pid ${fault}, and is removed`);
        fs.rmSync(pidFileOf(data), { force: true });
      }
      failure = await startServer(place, logFile, port);
    }
  }

  let claim = await claimServer();
  let claiming: Promise<void> | undefined;
  function keepClaim(): void {
    claim.once('end', () => {
      if (!isLeaving) claiming = claimAgain();
    });
  }
  async function claimAgain(): Promise<void> {
    log.error({ log: logFile }, 'the local PostgreSQL has ended, and is started again');
    while (!isLeaving)
      try {
        claim = await claimServer();
        keepClaim();
        return log.info('the local PostgreSQL is ready again');
      } catch (error) {
        if (isLeaving) return;
        log.error({ err: (error as Error).message }, 'the local PostgreSQL cannot be started again');
        await sleep(1_000);
      }
  }
  keepClaim();

  await claim.query(`create database ${claim.escapeIdentifier(database)}`).catch((error: unknown) => {
    // It exists, or another process is making it.
    if (codeOf(error) !== '42P04' && !isDuplicate(error)) throw error;
  });
  log.debug({ port, data }, 'local PostgreSQL is ready');

  return {
    url: urlOf(port, database),
    directory,
    async stop() {
      isLeaving = true;
      await claiming;
      const alone = await isLastOut(claim).catch(() => false);
      if (alone)
        spawnSync(path.join(binaries, 'pg_ctl'), ['stop', '-D', data, '-m', 'fast', '-w', '-t', '30'], {
          ...account,
          cwd: '/',
        });
      await claim.end().catch(() => {});
    },
  };
}
