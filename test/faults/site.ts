/** The installation that is put to the test: PostgreSQL, Web and Worker processes, and the means to harm them. */
import { setTimeout as sleep } from 'node:timers/promises';
import { sql } from 'kysely';
import { type Database, openDatabase } from '../../src/db/database.ts';
import { migrate } from '../../src/db/migrate.ts';
import { isOutage } from '../../src/flow/database-errors.ts';
import { openLog } from '../../src/log.ts';
import { migrateQueue } from '../../src/worker/queue.ts';
import { startDatabaseServer } from '../_util/database-server.ts';
import { freePort } from '../_util/free-port.ts';
import { openClock } from './clock.ts';
import { openDisk } from './disk.ts';
import { openHost } from './host.ts';
import { openStation, type Station } from './station.ts';

type Options = {
  /** Of each role. */
  processes: number;
  /** A migrated database on a server that stays as it is; without it there is one of our own. */
  databaseUrl?: string | undefined;
  settings: Record<string, string>;
  onCrash(text: string): void;
};

export type Site = Awaited<ReturnType<typeof openSite>>;

const theirs = { missing: 'the database server is not of this run' };

async function openServer() {
  const disk = openDisk();
  const host = openHost();
  const server = await startDatabaseServer('directory' in disk ? disk.directory : undefined);
  if ('near' in host) {
    await server.stop('SIGINT');
    await server.start(host.near);
  }
  return { server, disk, host };
}

export async function openSite({ processes, databaseUrl, settings, onCrash }: Options) {
  const own = databaseUrl === undefined ? await openServer() : undefined;
  const url = databaseUrl ?? own!.server.url;
  const db = openDatabase(url, { max: 6, log: openLog('silent'), statementTimeout: 60_000 });
  if (own) {
    await migrate(db, openLog('silent'));
    await migrateQueue(db);
  }
  const clock = openClock();
  const ports = await Promise.all(Array.from({ length: processes }, freePort));
  // Tokens of one are good for the other, and mail servers call this one.
  const shared = { IdpUrl: `http://127.0.0.1:${ports[0]}`, ...settings };
  const open = async (role: 'Web' | 'Worker', number: number, port: number) =>
    await openStation({
      role,
      port,
      onCrash,
      databaseUrl: url,
      name: `${role} ${number + 1}`,
      settings: shared,
    });
  const webs = await Promise.all(ports.map((port, number) => open('Web', number, port)));
  const workers = await Promise.all(
    Array.from({ length: processes }, async (_, number) => open('Worker', number, await freePort())),
  );
  const stations: readonly Station[] = [...webs, ...workers];

  return {
    url,
    db,
    webs,
    workers,
    stations,
    settings: shared,
    server: own?.server ?? theirs,
    disk: own?.disk ?? theirs,
    host: own?.host ?? theirs,
    clock,
    /** Asks the database itself, again where it cannot answer at the moment. */
    async ask<T>(question: (db: Database) => Promise<T>): Promise<T> {
      for (;;) {
        try {
          return await question(db);
        } catch (error) {
          if (!isOutage(error)) throw error;
          await sleep(100);
        }
      }
    },
    async release(): Promise<void> {
      await sql`select pg_terminate_backend(pid) from pg_stat_activity
        where datname = current_database() and pid <> pg_backend_pid() and application_name like 'program %'`.execute(
        db,
      );
    },
    async close(): Promise<void> {
      await Promise.all(stations.map((station) => station.close()));
      await db.destroy();
      await own?.server.remove();
      for (const part of [own?.disk, own?.host, clock]) if (part && 'remove' in part) part.remove();
    },
  };
}
