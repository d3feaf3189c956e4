import { spawn } from 'node:child_process';
import fs from 'node:fs';
import os from 'node:os';
import path from 'node:path';
import { startEmbeddedPostgres } from '../../src/db/embedded.ts';
import { openLog } from '../../src/log.ts';
import { memory, testDirectory } from './postgres.ts';
import { until } from './process.ts';

/** A PostgreSQL server of a test's own, which may be stopped and started again on the same port. */
export async function startDatabaseServer() {
  const directory = fs.mkdtempSync(path.join(memory ?? os.tmpdir(), 'roomgate-faults-'));
  // As root the server runs as another account: it must be able to enter.
  fs.chmodSync(directory, 0o755);
  const { url } = await startEmbeddedPostgres(testDirectory, 'roomgate', openLog('silent'), directory);
  const data = path.join(directory, 'postgres');
  const pidFile = path.join(data, 'postmaster.pid');
  const pidLines = () => (fs.existsSync(pidFile) ? fs.readFileSync(pidFile, 'utf8').split('\n') : []);

  /** `SIGINT`: a fast shutdown; `SIGQUIT`: as in a crash, with a recovery at the next start. */
  async function stop(signal: 'SIGINT' | 'SIGQUIT'): Promise<void> {
    process.kill(Number(pidLines()[0]), signal);
    await until('the server has stopped', () => !fs.existsSync(pidFile));
  }

  return {
    url,
    stop,
    async start() {
      const [command = '', ...args] = [
        ...fs.readFileSync(path.join(data, 'postmaster.opts'), 'utf8').matchAll(/[^\s"]+|"([^"]*)"/g),
      ].map(([word, quoted]) => quoted ?? word);
      const { uid, gid } = fs.statSync(data);
      spawn(command, args, {
        ...(process.getuid?.() === 0 ? { uid, gid } : {}),
        cwd: '/',
        detached: true,
        stdio: 'ignore',
      }).unref();
      await until('the server is ready', () => pidLines()[7]?.trim() === 'ready');
    },
    async remove() {
      if (pidLines().length > 0) await stop('SIGQUIT');
      fs.rmSync(directory, { recursive: true, force: true, maxRetries: 10, retryDelay: 100 });
    },
  };
}
