/**
 * Finds which locks the pending migrations will take. They are tried on an empty database made for this, so that no request
 * waits; the sizes of tables are read from the database that is served.
 */
import { randomUUID } from 'node:crypto';
import { sql } from 'kysely';
import { ConfigError } from '../config.ts';
import type { Locked, Rehearsed } from '../finding.ts';
import { isForbidden } from '../flow/database-errors.ts';
import { atDatabase } from '../flow/database-urls.ts';
import type { Log } from '../log.ts';
import { type Database, openDatabase } from './database.ts';
import { likeThis } from './locale.ts';
import { apply, findDisorder, listKnown, migrateTo, pendingMigrations } from './migrate.ts';
import { ourSchema } from './our-schema.ts';

/** In order of strength, from the weakest that writes. */
const modes: Record<string, Locked['holdsUp']> = {
  RowExclusiveLock: 'nobody',
  ShareUpdateExclusiveLock: 'nobody',
  ShareLock: 'writers',
  ShareRowExclusiveLock: 'writers',
  ExclusiveLock: 'writers',
  AccessExclusiveLock: 'all',
};
const strengths = Object.keys(modes);

type Size = { rows: number | null; bytes: number };

async function readSizes(db: Database): Promise<Map<string, Size>> {
  const { rows } = await sql<Size & { name: string }>`
    select relname as name, nullif(reltuples, -1)::float8 as rows, pg_total_relation_size(oid)::float8 as bytes
    from pg_class where relnamespace = ${sql.raw(ourSchema)} and relkind = 'r'`.execute(db);
  return new Map(rows.map(({ name, ...size }) => [name, size]));
}

/** Applies a migration. @returns the strongest lock that it has taken on each table that existed before */
async function tryOut(scratch: Database, migration: string): Promise<Map<string, string>> {
  const before = await readSizes(scratch);
  return await scratch.transaction().execute(async (trx) => {
    await apply(trx, migration);
    const { rows } = await sql<{ name: string; mode: string }>`
      select relname as name, mode from pg_locks join pg_class on pg_class.oid = relation
      where locktype = 'relation' and pid = pg_backend_pid() order by relname`.execute(trx);
    const strongest = new Map<string, string>();
    for (const { name, mode } of rows) {
      const known = strongest.get(name);
      const isStronger = strengths.indexOf(mode) > (known ? strengths.indexOf(known) : -1);
      if (before.has(name) && isStronger) strongest.set(name, mode);
    }
    return strongest;
  });
}

/** Tries the pending migrations of the database at `url`, which is only read. @throws ConfigError as migrate does */
export async function rehearse(url: string, log: Log): Promise<Rehearsed[]> {
  const options = { max: 1, log, statementTimeout: 0 };
  const db = openDatabase(url, options);
  const name = `roomgate_rehearsal_${randomUUID().slice(0, 8)}`;
  try {
    const disorder = await findDisorder(db);
    if (disorder) throw new ConfigError(`DatabaseUrl: ${disorder.text}. ${disorder.remedy}`);
    const pending = await pendingMigrations(db);
    if (pending.length === 0) return [];
    const sizes = await readSizes(db);
    const { rows } = await sql<{ options: string }>`select (${sql.raw(likeThis)}) as options`.execute(db);
    await sql`create database ${sql.id(name)} ${sql.raw(rows[0]!.options)}`.execute(db).catch((error: unknown) => {
      if (!isForbidden(error)) throw error;
      throw new ConfigError(
        'DatabaseUrl: its role may not create the database in which the migrations are tried: "alter role … createdb" lets it',
      );
    });
    const scratch = openDatabase(atDatabase(url, name), options);
    try {
      const applied = listKnown()
        .filter((known) => !pending.includes(known))
        .at(-1);
      if (applied) await migrateTo(scratch, applied);
      const rehearsed: Rehearsed[] = [];
      for (const migration of pending) {
        const locks = [...(await tryOut(scratch, migration))].map(([table, mode]): Locked => {
          const { rows, bytes } = sizes.get(table) ?? { rows: 0, bytes: 0 };
          return { table, mode, holdsUp: modes[mode] ?? 'all', rows, bytes };
        });
        rehearsed.push({ migration, locks });
      }
      return rehearsed;
    } finally {
      await scratch.destroy();
    }
  } finally {
    await sql`drop database if exists ${sql.id(name)}`.execute(db).catch(() => {});
    await db.destroy();
  }
}
