/** Runs a command line: reads the settings, and opens what the command needs. */
import { flushCompileCache } from 'node:module';
import v8 from 'node:v8';
import vm from 'node:vm';
import {
  beginServing,
  isLocal,
  localDirectory,
  orStop,
  pepperFile,
  readSettings,
  type ServingBegun,
  type Settled,
  settle,
} from './beginning.ts';
import { watchOutput } from './cli/output.ts';
import { createProgram, type Host, runProgram } from './cli/program.ts';
import { type Config, listeningOn } from './config.ts';
import { openContext, version } from './context.ts';
import { writeBackup } from './db/backup.ts';
import { openDatabase } from './db/database.ts';
import { diagnose } from './db/diagnosis.ts';
import { findPrimary, insistOnDirect } from './db/direct.ts';
import { announceServer, findServer } from './db/local-server.ts';
import { rehearse } from './db/rehearsal.ts';
import { restoreBackup } from './db/restore.ts';
import { examineStandbys } from './db/standbys.ts';
import { outlast } from './flow/retry.ts';
import { type Log, openLog } from './log.ts';
import { examineWorkers } from './worker/diagnosis.ts';
import { migrateQueue } from './worker/queue.ts';
import { bringUp } from './worker/schema.ts';

/** The settings for a command. With the local PostgreSQL, the running server may listen on another port than the settings say. */
function readClientSettings(): Config {
  const config = readSettings();
  const server = isLocal(config) ? findServer(localDirectory()) : undefined;
  return server ? listeningOn(config, server.Port) : config;
}

async function migrateAll(config: Config, log: Log): Promise<string[]> {
  const db = openDatabase(config.DatabaseUrl, { max: 1, log, statementTimeout: 0 });
  try {
    return await bringUp(db, config, log);
  } finally {
    await db.destroy();
  }
}

/** The settings and database of a command, which does not retry, unlike a server, if the first host takes no writes. */
async function settleOnPrimary(written: Config, log: Log): Promise<Settled> {
  const settled = await settle(written, log);
  const { DatabaseUrl, PooledDatabaseUrl } = settled.config;
  await findPrimary(DatabaseUrl);
  if (PooledDatabaseUrl !== undefined) await findPrimary(PooledDatabaseUrl);
  return settled;
}

/** `settleOnPrimary` for a command that needs its own sessions. @throws ConfigError if DatabaseUrl leads to a pooler */
async function settleDirectly(written: Config, log: Log): Promise<Settled> {
  const settled = await settleOnPrimary(written, log);
  if (!settled.local) await insistOnDirect(settled.config.DatabaseUrl);
  return settled;
}

/**
 * Frees the memory that loading took, two thirds of the heap, in 100 ms; V8 would keep it for later garbage. Only this function
 * makes the collector shrink the heap, and Node.js hides it behind a flag.
 */
function giveBackMemory(): void {
  v8.setFlagsFromString('--expose-gc');
  const collect = vm.runInNewContext('gc') as (how: object) => void;
  collect({ type: 'major', flavor: 'last-resort' });
}

/** Runs several processes until the signal aborts. Commands find them by the supervisor, which outlives each of them. */
async function superviseServers(config: Config, log: Log, stop: AbortSignal): Promise<void> {
  // A single process has no supervisor.
  const { supervise } = await import('./supervisor.ts');
  let withdraw: (() => void) | undefined;
  try {
    await supervise(config, log, stop, (port) => {
      if (isLocal(config)) withdraw = announceServer(localDirectory(), { ...config, Port: port });
      giveBackMemory();
    });
  } finally {
    withdraw?.();
  }
}

/** The server with what it serves, which no other command needs. */
async function loadServer({ Role }: Config) {
  const server = await import('./server.ts');
  await server.loadApp(Role);
  return server;
}

async function serve(started: Parameters<Host['serve']>[0], begun?: Promise<ServingBegun>): Promise<void> {
  const { written, log, stop, stopped, siblings, settled } = await (begun ?? beginServing());
  if (!settled) return await superviseServers(written, log, stop);
  // Loads while PostgreSQL starts. An error is reported below, where the module is needed.
  void loadServer(written).catch(() => {});
  const { config, local } = await settled;
  try {
    const { startServer } = await loadServer(written);
    const server = await startServer(config, log, { siblings });
    const { Port } = server.context.config;
    const withdraw = local && !siblings ? announceServer(local.directory, server.context.config) : undefined;
    // Writes the cache now, so that the next start has it even if this process is killed.
    flushCompileCache();
    const announced = server.ready.then(async () => {
      log.info({ release: version, role: config.Role, port: Port }, 'the server is ready');
      siblings?.announce(Port);
      if (siblings?.isFirst !== false) await outlast(stop, () => started(server.context, local !== undefined), log);
      giveBackMemory();
    });
    // Work that hangs must not keep the process alive; everything that was answered is in the database.
    const leave = (code: number) =>
      setTimeout(
        () => {
          log.warn('the process ends although some work has not ended');
          process.exit(code);
        },
        written.DrainSeconds * 1_000 + 9_500,
      ).unref();
    try {
      await Promise.race([stopped, announced.then(() => stopped)]);
      leave(0);
    } catch (error) {
      leave(1);
      throw error;
    } finally {
      withdraw?.();
      await server.stop();
      log.info('the server has ended');
    }
  } finally {
    await local?.stop();
  }
}

const host: Omit<Host, 'serve'> = {
  config: readClientSettings,
  async open() {
    const written = readSettings();
    const log = openLog('warn');
    const { config, local } = await settleOnPrimary(written, log);
    const context = await orStop(local, async () => {
      if (local) await migrateAll(config, log);
      return await openContext(config, log);
    });
    return {
      context,
      async close() {
        await context.close();
        await local?.stop();
      },
    };
  },
  async migrate() {
    const log = openLog('warn');
    const { config, local } = await settleDirectly(readSettings(), log);
    try {
      return await migrateAll(config, log);
    } finally {
      await local?.stop();
    }
  },
  async rehearse() {
    const log = openLog('warn');
    const { config, local } = await settleDirectly(readSettings(), log);
    try {
      return await rehearse(config.DatabaseUrl, log);
    } finally {
      await local?.stop();
    }
  },
  async backup(version, target, judge) {
    const written = readSettings();
    const log = openLog('warn');
    const { config, local } = await settleDirectly(written, log);
    const db = openDatabase(config.DatabaseUrl, { max: 1, log, statementTimeout: 0 });
    try {
      const rows = await writeBackup(config.DatabaseUrl, version, target);
      const pepper = local && !written.Pepper ? pepperFile(local.directory) : undefined;
      // The backup is written already, also that of a database that has no Pepper yet.
      return { rows, pepper, isRight: await judge({ db, config }).catch(() => true) };
    } finally {
      await db.destroy();
      await local?.stop();
    }
  },
  async restore({ file, force, check }) {
    const log = openLog('warn');
    const { config, local } = await settleOnPrimary(readSettings(), log);
    try {
      return await restoreBackup(config.DatabaseUrl, {
        file,
        force,
        log,
        prepareQueue: migrateQueue,
        async finish(db) {
          await bringUp(db, config, log);
          await check({ db, config });
        },
      });
    } finally {
      await local?.stop();
    }
  },
  diagnose: async ({ config, db }) => [
    ...(await diagnose(config.DatabaseUrl, db, examineWorkers)),
    ...(await examineStandbys(config)),
  ],
};

/**
 * @param begun the `serve` that main.js has begun, if any
 * @returns the exit code
 */
export async function run(argv: readonly string[], begun?: Promise<ServingBegun>): Promise<number> {
  const program = createProgram({ ...host, serve: (started) => serve(started, begun) });
  const code = await runProgram(program, argv, watchOutput());
  // The channel to a supervisor must not keep a finished process alive.
  process.channel?.unref();
  return code;
}
