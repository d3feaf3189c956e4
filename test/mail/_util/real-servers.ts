/** Shared by the tests against real mail servers: whether one is installed, and how its processes start and end. */
import { type ChildProcess, spawn, spawnSync } from 'node:child_process';
import { once } from 'node:events';
import fs from 'node:fs';
import os from 'node:os';
import path from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { describe } from '@jest/globals';

const project = path.join(import.meta.dirname, '..', '..', '..');

/** Tests of a server, or one that is skipped and says why. */
export function describeReal(name: string, missing: string | undefined, tests: () => void): void {
  if (missing === undefined) {
    describe(name, tests);
    return;
  }
  process.stderr.write(`SKIPPED: ${name}: ${missing}\n`);
  describe.skip(`SKIPPED: ${name}: ${missing}`, tests);
}

/** Which of these programs is not installed, and the packages of Debian that hold them; undefined when all are. */
export function findMissing(programs: readonly string[], packages: string): string | undefined {
  const missing = programs.filter((program) => spawnSync('sh', ['-c', `command -v ${program}`]).status !== 0);
  if (missing.length === 0) return undefined;
  return `${missing.join(', ')} not found; apt-get install --no-install-recommends ${packages}`;
}

/** The account under which a server runs: its own when we are root, else ours. */
export function accountOf(user: string): { uid?: number; gid?: number } {
  if (process.getuid?.() !== 0) return {};
  const id = (option: string) => Number(spawnSync('id', [option, user], { encoding: 'utf8' }).stdout);
  return { uid: id('-u'), gid: id('-g') };
}

/** A directory in which that account may write. */
export function makeDirectory(name: string, { uid, gid }: { uid?: number; gid?: number }): string {
  const directory = fs.mkdtempSync(path.join(os.tmpdir(), `roomgate-${name}-`));
  fs.chmodSync(directory, 0o755);
  if (uid !== undefined && gid !== undefined) fs.chownSync(directory, uid, gid);
  return directory;
}

const running = new Set<ChildProcess>();
process.on('exit', () => {
  for (const child of running) killGroup(child, 'SIGKILL');
});

function killGroup({ pid }: ChildProcess, signal: NodeJS.Signals): void {
  try {
    if (pid !== undefined) process.kill(-pid, signal);
  } catch {
    // All of them have ended.
  }
}

/** A server with all that it starts; `stop` ends them. */
export function startReal(command: string, args: readonly string[], account: { uid?: number; gid?: number }) {
  const child = spawn(command, args, {
    ...account,
    cwd: '/',
    detached: true,
    stdio: 'ignore',
    env: { PATH: process.env['PATH'] },
  });
  running.add(child);
  const exited = once(child, 'exit');
  return async function stop(): Promise<void> {
    killGroup(child, 'SIGTERM');
    await Promise.race([exited, sleep(5_000, undefined, { ref: false })]);
    killGroup(child, 'SIGKILL');
    running.delete(child);
  };
}

/** What tells us of changes, as operators install it, beside the URL that it calls. */
export function installForwarder(directory: string, { uid, gid }: { uid?: number; gid?: number }) {
  const script = path.join(directory, 'calendar-changed');
  fs.copyFileSync(path.join(project, 'deploy', 'calendar-changed'), script);
  return {
    script,
    tell(callback: string) {
      const file = path.join(directory, 'callback');
      fs.writeFileSync(file, `${callback}\n`, { mode: 0o600 });
      if (uid !== undefined && gid !== undefined) fs.chownSync(file, uid, gid);
    },
  };
}

/** Waits until `check` is fulfilled, at most `limit` milliseconds, and returns how long that took. */
export async function timeUntil(what: string, limit: number, check: () => Promise<boolean>): Promise<number> {
  const begin = performance.now();
  while (!(await check())) {
    if (performance.now() - begin > limit) throw new Error(`${what}: not within ${limit} ms`);
    await sleep(5);
  }
  return performance.now() - begin;
}
