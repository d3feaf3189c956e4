/**
 * The first part of `serve`, and the settings of every command. It loads little, so that the local PostgreSQL starts while the
 * rest of the program is loaded.
 */
import { randomBytes } from 'node:crypto';
import { once } from 'node:events';
import fs from 'node:fs';
import path from 'node:path';
import { type Config, ConfigError, readConfig } from './config.ts';
import { watchForUncaught } from './containment.ts';
import { dataDirectory, type EmbeddedPostgres, startEmbeddedPostgres } from './db/embedded.ts';
import { type Log, logPrinted, openLog } from './log.ts';
import { openSiblings, type Siblings } from './siblings.ts';

const project = path.join(import.meta.dirname, '..');

export const readSettings = () => readConfig(process.env, project);

/** The folder of the local PostgreSQL. */
export const localDirectory = () => dataDirectory(project);

/** Whether the settings name no database, so that the local PostgreSQL from npm packages is used. */
export const isLocal = (config: Config) => config.DatabaseUrl === '';

export const pepperFile = (directory: string) => path.join(directory, 'pepper');

/** The Pepper of the local PostgreSQL, created once. The file is linked into place, so that it never appears half written. */
function localPepper(directory: string): string {
  const file = pepperFile(directory);
  if (!fs.existsSync(file)) {
    const own = `${file}.${process.pid}`;
    fs.writeFileSync(own, randomBytes(32).toString('base64url'), { mode: 0o600, flush: true });
    try {
      fs.linkSync(own, file);
    } catch (error) {
      if ((error as NodeJS.ErrnoException).code !== 'EEXIST') throw error;
    } finally {
      fs.rmSync(own);
    }
  }
  const pepper = fs.readFileSync(file, 'utf8').trim();
  if (pepper === '')
    throw new ConfigError(`Pepper: ${file} is empty; restore it, or delete it if nothing is kept beside it`);
  return pepper;
}

export type Settled = { config: Config; local?: EmbeddedPostgres };

/**
 * Completes the settings with a database and a Pepper: starts or joins the local PostgreSQL if the settings name no database.
 * @param meanwhile called when PostgreSQL takes a while
 */
export async function settle(config: Config, log: Log, meanwhile = () => {}): Promise<Settled> {
  if (!isLocal(config)) {
    if (!config.Pepper)
      throw new ConfigError('Pepper: is missing; with DatabaseUrl it must be set, to at least 32 random characters');
    return { config };
  }
  const local = await startEmbeddedPostgres(localDirectory(), 'roomgate', log, { meanwhile });
  return await orStop(local, async () => {
    const Pepper = config.Pepper ?? localPepper(local.directory);
    return { config: Object.freeze({ ...config, DatabaseUrl: local.url, Pepper }), local };
  });
}

/** Runs `begin`. If it fails, leaves the local PostgreSQL, whose open connection would keep the process alive. */
export async function orStop<T>(local: EmbeddedPostgres | undefined, begin: () => Promise<T>): Promise<T> {
  try {
    return await begin();
  } catch (error) {
    await local?.stop();
    throw error;
  }
}

/**
 * Aborts at the first SIGTERM, SIGINT or SIGHUP, which a terminal sends as it is closed. Later ones are ignored, as npm sends Ctrl-C to
 * the process a second time.
 */
function onSignal(log: Log): AbortSignal {
  const stop = new AbortController();
  for (const signal of ['SIGTERM', 'SIGINT', 'SIGHUP'] as const)
    process.on(signal, () => {
      if (!stop.signal.aborted) log.info({ signal }, 'the server is told to end');
      stop.abort();
    });
  return stop.signal;
}

export type ServingBegun = {
  written: Config;
  log: Log;
  stop: AbortSignal;
  stopped: Promise<unknown>;
  siblings: Siblings | undefined;
  /** Undefined for a supervisor, which opens no database. */
  settled: Promise<Settled> | undefined;
};

/**
 * Begins `serve`. Returns once the local PostgreSQL is starting, or has failed to.
 * @throws ConfigError
 */
export async function beginServing(): Promise<ServingBegun> {
  const written = readSettings();
  const log = openLog(written.LogLevel);
  watchForUncaught(log);
  logPrinted(log);
  const stop = onSignal(log);
  // A signal that comes while the server starts ends it too.
  const stopped = once(stop, 'abort');
  const siblings = openSiblings();
  if (!siblings && written.Processes !== 1) return { written, log, stop, stopped, siblings, settled: undefined };
  const starting = Promise.withResolvers<void>();
  const settled = settle(written, log, starting.resolve);
  // The error is handled where `settled` is awaited.
  await Promise.race([starting.promise, settled.catch(() => {})]);
  return { written, log, stop, stopped, siblings, settled };
}
