/** Zones of locations and persons: those that PostgreSQL knows too, so that reports in SQL can compute with them. */
import { sql } from 'kysely';
import { LRUCache } from 'lru-cache';
import type { Database } from '../db/database.ts';
import { InvalidInput } from '../errors.ts';
import { currentNameOf } from '../zones.ts';

/** Asking reads the files of all zones there. */
const known = new LRUCache<string, true>({ max: 1_000 });

/** Those of these zones, which Node.js knows, that PostgreSQL does not; each with what is wrong with it. */
export async function findUnknownZones(
  db: Database,
  names: readonly string[],
): Promise<ReadonlyMap<string, string>> {
  const asked = names.filter((name) => !known.has(name));
  if (asked.length === 0) return new Map();
  const currentNames = asked.map(currentNameOf);
  const { rows } = await sql<{ name: string }>`
    select lower(name) as name from pg_timezone_names
    where lower(name) = any (array(select lower(unnest(${[...asked, ...currentNames]}::text[]))))`.execute(
    db,
  );
  const found = new Set(rows.map(({ name }) => name));
  const unknown = new Map<string, string>();
  for (const name of asked) {
    const current = currentNameOf(name);
    if (found.has(name.toLowerCase())) known.set(name, true);
    else
      unknown.set(
        name,
        `must be a time zone that PostgreSQL knows too${found.has(current.toLowerCase()) ? `; write ${current}` : ''}`,
      );
  }
  return unknown;
}

/** @throws InvalidInput for a zone that PostgreSQL does not know */
export async function checkTimeZone(db: Database, name: string | undefined): Promise<void> {
  if (name === undefined) return;
  const wrong = (await findUnknownZones(db, [name])).get(name);
  if (wrong === undefined) return;
  const message = `TimeZone: ${wrong}.`;
  throw new InvalidInput(message, [
    { field: 'TimeZone', pointer: '/TimeZone', code: 'InvalidValue', message },
  ]);
}
