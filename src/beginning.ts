/**
 * What a command begins with: the settings, and the local PostgreSQL where they name no database. Of the program it loads only this:
 * PostgreSQL starts while the rest is loaded.
 */
import { randomBytes } from 'node:crypto';
import { once } from 'node:events';
import fs from 'node:fs';
import path from 'node:path';
import { type Config, ConfigError, readConfig } from './config.ts';
import { watchForUncaught } from './containment.ts';
import { dataDirectory, type EmbeddedPostgres, startEmbeddedPostgres } from './db/embedded.ts';
import { type Log, openLog } from './log.ts';
import { openSiblings, type Siblings } from './siblings.ts';

const project = path.join(import.meta.dirname, '..');

export const readSettings = () => readConfig(process.env, project);

/** The folder of the local PostgreSQL. */
export const localDirectory = () => dataDirectory(project);

/** Whether the settings name no database, so that the local PostgreSQL from npm packages is used. */
export const isLocal = (config: Config) => config.DatabaseUrl === '';

export const pepperFile = (directory: string) => path.join(directory, 'pepper');

/** The Pepper of the local PostgreSQL, created once. The link makes its file appear with its whole content. */
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
 * Completes the settings with a database and a Pepper: starts or joins the local PostgreSQL where none is named.
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

/** Runs `begin`, and leaves the local PostgreSQL when it fails: the open connection would keep the process alive. */
export async function orStop<T>(local: EmbeddedPostgres | undefined, begin: () => Promise<T>): Promise<T> {
  try {
    return await begin();
  } catch (error) {
    await local?.stop();
    throw error;
  }
}

/** Aborts at the first SIGTERM or SIGINT. npm repeats Ctrl-C to a process that has received it, so later ones are ignored. */
function onSignal(): AbortSignal {
  const stop = new AbortController();
  for (const signal of ['SIGTERM', 'SIGINT'] as const) process.on(signal, () => stop.abort());
  return stop.signal;
}

export type ServingBegun = {
  written: Config;
  log: Log;
  stop: AbortSignal;
  stopped: Promise<unknown>;
  siblings: Siblings | undefined;
  /** Of a supervisor, which opens no database, there is none. */
  settled: Promise<Settled> | undefined;
};

/**
 * Begins what `serve` goes on with. It returns once the local PostgreSQL is starting, or has failed to.
 * @throws ConfigError
 */
export async function beginServing(): Promise<ServingBegun> {
  const written = readSettings();
  const log = openLog(written.LogLevel);
  watchForUncaught(log);
  const stop = onSignal();
  // From here on: a signal that comes while the server starts ends it, too.
  const stopped = once(stop, 'abort');
  const siblings = openSiblings();
  if (!siblings && written.Processes !== 1) return { written, log, stop, stopped, siblings, settled: undefined };
  const starting = Promise.withResolvers<void>();
  const settled = settle(written, log, starting.resolve);
  // Who awaits it is told.
  await Promise.race([starting.promise, settled.catch(() => {})]);
  return { written, log, stop, stopped, siblings, settled };
}
