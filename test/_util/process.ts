import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import path from 'node:path';
import { createInterface } from 'node:readline';
import { setTimeout as sleep } from 'node:timers/promises';
import type { Database } from '../../src/db/database.ts';
import { createPin } from '../../src/identity/service.ts';
import type { makeTenant } from './factories.ts';
import { type LessonClient, lessonClient } from './lessons.ts';
import { pepper } from './pepper.ts';
import { tokenFor } from './token.ts';

const project = path.join(import.meta.dirname, '..', '..');

export type LogLine = { level: string; msg: string; err?: string } & Record<string, unknown>;
export type Exit = { code: number | null; signal: NodeJS.Signals | null };

/** The program as a process of its own. */
export type Program = {
  /** The application_name of its connections in pg_stat_activity. */
  readonly name: string;
  readonly pid: number;
  /** The root of its URLs, once it says that it is ready; rejected when it ends before. */
  readonly ready: Promise<string>;
  readonly exited: Promise<Exit>;
  /** Its log so far. */
  readonly lines: readonly LogLine[];
  /** Its standard error without log lines: warnings of Node.js, stacks of crashes. */
  readonly noise: readonly string[];
  signal(signal: NodeJS.Signals): void;
  /** Sends the signal and waits for the end. */
  end(signal: NodeJS.Signals): Promise<Exit>;
};

/** Longer than the busiest machine needs. */
const patienceMs = 200_000;

const programs = new Map<Program, ChildProcess>();
let started = 0;

// Jest may give this process up without running any hook.
process.on('exit', () => {
  for (const child of programs.values()) child.kill('SIGKILL');
});

/**
 * Starts `roomgate serve` on a free port; `settings` is written like the environment.
 * @param release the folder of another release than this
 * @param within a command that runs another one in its own place, such as `ip netns exec NAME`
 */
export function startProgram(
  databaseUrl: string,
  settings: Record<string, string> = {},
  within: readonly string[] = [],
  release = project,
): Program {
  const name = `program ${++started}`;
  // Of several hosts it is none that could be parsed.
  const named = `${databaseUrl}${databaseUrl.includes('?') ? '&' : '?'}application_name=${encodeURIComponent(name)}`;
  const [command = '', ...args] = [...within, process.execPath, path.join(release, 'src', 'main.js'), 'serve'];
  const child = spawn(command, args, {
    env: {
      PATH: process.env['PATH'],
      Port: '0',
      LogLevel: 'debug',
      DatabaseUrl: named,
      Pepper: pepper,
      Limits__TokenRequestsPerMinute: '10000',
      Limits__RequestsPerMinute: '100000',
      Limits__OpenBatches: '1000',
      ...settings,
    },
    stdio: ['ignore', 'pipe', 'pipe'],
  });
  const lines: LogLine[] = [];
  const noise: string[] = [];
  const errors = createInterface(child.stderr).on('line', (line) => {
    if (line.startsWith('{')) lines.push(JSON.parse(line));
    else noise.push(line);
  });
  const exited = once(child, 'exit').then(async ([code, signal]) => {
    programs.delete(program);
    if (!child.stderr.closed) await once(errors, 'close');
    return { code, signal } as Exit;
  });
  const ready = Promise.withResolvers<string>();
  createInterface(child.stdout).on('line', (line) => {
    const [, url] = /^roomgate is ready at (\S+)/.exec(line) ?? [];
    if (url) ready.resolve(url);
  });
  exited.then((exit) => ready.reject(new Error(`${name} ended: ${JSON.stringify([exit, lines.slice(-5), noise])}`)));
  ready.promise.catch(() => {});
  const program: Program = {
    name,
    pid: child.pid ?? 0,
    ready: ready.promise,
    exited,
    lines,
    noise,
    signal: (signal) => void child.kill(signal),
    async end(signal) {
      child.kill(signal);
      const exit = await Promise.race([exited, sleep(patienceMs, undefined, { ref: false })]);
      if (!exit) throw new Error(`${name} still runs ${patienceMs} ms after ${signal}`);
      return exit;
    },
  };
  programs.set(program, child);
  return program;
}

/** The lesson API of the program at `url`, as a person of the tenant. */
export async function visit(
  url: string,
  db: Database,
  tenant: Awaited<ReturnType<typeof makeTenant>>,
): Promise<LessonClient & { token: string }> {
  const { mandatorId } = tenant;
  const { pin } = await createPin(db, pepper, { mandatorId, personId: tenant.person('User').id });
  const token = await tokenFor(url, pin);
  return { ...lessonClient({ url, tenant }, token), token };
}

/** For afterAll: ends the processes that a test has left running. */
export async function killPrograms(): Promise<void> {
  await Promise.all([...programs.keys()].map((program) => program.end('SIGKILL')));
}

type Look<T> = () => T | Promise<T>;
/** Waits for a condition, with growing pauses. An error names it as `what`, or else quotes it. */
export async function until<T>(
  ...condition: [look: Look<T>] | [what: string, look: Look<T>]
): Promise<NonNullable<Exclude<T, false>>> {
  const look = condition.at(-1) as Look<T>;
  const start = performance.now();
  for (;;) {
    const waited = performance.now() - start;
    const seen = await look();
    if (seen) return seen as NonNullable<Exclude<T, false>>;
    // The last look begins after that: a pause may have ended far too late, on a machine that was stopped itself.
    if (waited >= patienceMs) throw new Error(`not within ${patienceMs} ms: ${condition[0]}`);
    await sleep(Math.min(10 + waited / 20, 50));
  }
}
