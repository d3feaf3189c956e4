import { spawn } from 'node:child_process';
import fs from 'node:fs';
import os from 'node:os';
import path from 'node:path';
import { startEmbeddedPostgres } from '../../src/db/embedded.ts';
import { openLog } from '../../src/log.ts';
import { isAlive, memory, testDirectory } from './postgres.ts';
import { until } from './process.ts';

/**
 * A PostgreSQL server of one test, which may be stopped and started again on the same port.
 * @param parent of its directory
 */
export async function startDatabaseServer(parent = memory ?? os.tmpdir()) {
  const directory = fs.mkdtempSync(path.join(parent, 'roomgate-faults-'));
  // For root the server runs as another account, which must be able to enter.
  fs.chmodSync(directory, 0o755);
  const made = await startEmbeddedPostgres(testDirectory, 'roomgate', openLog('silent'), { clusterIn: directory });
  // Those who use a local PostgreSQL would start it again.
  await made.stop();
  const data = path.join(directory, 'postgres');
  const pidFile = path.join(data, 'postmaster.pid');
  /** None without the file, which may go between a look and its reading. */
  function pidLines(): string[] {
    try {
      return fs.readFileSync(pidFile, 'utf8').split('\n');
    } catch {
      return [];
    }
  }

  /** Of its first process, whoever started it; NaN once it has ended in order. */
  const pidOf = () => Number(pidLines()[0] ?? Number.NaN);
  const isRunning = () => pidOf() > 0 && isAlive(pidOf());

  // The test run may be killed, and the server's disk may be gone by then.
  process.on('exit', () => {
    if (isRunning()) process.kill(pidOf(), 'SIGQUIT');
    fs.rmSync(directory, { recursive: true, force: true });
  });

  /** `SIGINT`: a fast shutdown; `SIGQUIT`: as in a crash, with a recovery at the next start. */
  async function stop(signal: 'SIGINT' | 'SIGQUIT'): Promise<void> {
    process.kill(pidOf(), signal);
    await until('the server has stopped', () => !isRunning());
  }

  /** If given, the server also listens on `address` of this machine, for clients of `network`. */
  async function start(further?: { address: string; network: string }): Promise<void> {
    const [command = '', ...args] = [
      ...fs.readFileSync(path.join(data, 'postmaster.opts'), 'utf8').matchAll(/[^\s"]+|"([^"]*)"/g),
    ].map(([word, quoted]) => quoted ?? word);
    if (further) {
      args.push('-c', `listen_addresses=127.0.0.1,${further.address}`);
      fs.appendFileSync(path.join(data, 'pg_hba.conf'), `host all all ${further.network} scram-sha-256\n`);
    }
    const { uid, gid } = fs.statSync(data);
    const child = spawn(command, args, {
      ...(process.getuid?.() === 0 ? { uid, gid } : {}),
      cwd: '/',
      detached: true,
      stdio: 'ignore',
    });
    child.unref();
    const isReady = ([first, , , , , , , state]: string[]) => Number(first) === child.pid && state?.trim() === 'ready';
    await until('the server is ready', () => isReady(pidLines()));
  }

  await start();
  return {
    url: made.url,
    directory,
    isRunning,
    stop,
    start,
    async remove() {
      if (isRunning()) await stop('SIGQUIT');
      fs.rmSync(directory, { recursive: true, force: true, maxRetries: 10, retryDelay: 100 });
    },
  };
}

export type DatabaseServer = Awaited<ReturnType<typeof startDatabaseServer>>;
