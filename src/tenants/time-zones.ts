/** Time zones of locations and persons. PostgreSQL must know them too, so that reports in SQL can use them. */
import { sql } from 'kysely';
import type { Database } from '../db/database.ts';
import { InvalidInput } from '../errors.ts';
import { currentNameOf } from '../time/zones.ts';

/** The names in lower case, cached because PostgreSQL reads the files of all zones for each query. */
let names: { known: ReadonlySet<string>; until: number } | undefined;
const keptMs = 10 * 60_000;

async function namesOf(db: Database): Promise<ReadonlySet<string>> {
  if (names && performance.now() < names.until) return names.known;
  const { rows } = await sql<{ name: string }>`select lower(name) as name from pg_timezone_names`.execute(db);
  names = { known: new Set(rows.map(({ name }) => name)), until: performance.now() + keptMs };
  return names.known;
}

/** Finds the zones that Node.js knows and PostgreSQL does not. @returns the message for each */
export async function findUnknownZones(db: Database, zones: readonly string[]): Promise<ReadonlyMap<string, string>> {
  const known = await namesOf(db);
  const isKnown = (zone: string) => known.has(zone.toLowerCase());
  const wrong = (zone: string) => {
    const current = currentNameOf(zone);
    return `must be a time zone that PostgreSQL knows too${isKnown(current) ? `; write ${current}` : ''}`;
  };
  return new Map(zones.filter((zone) => !isKnown(zone)).map((zone) => [zone, wrong(zone)]));
}

/** @throws InvalidInput for a zone that PostgreSQL does not know */
export async function checkTimeZone(db: Database, name: string | undefined): Promise<void> {
  if (name === undefined) return;
  const wrong = (await findUnknownZones(db, [name])).get(name);
  if (wrong === undefined) return;
  const message = `TimeZone: ${wrong}.`;
  throw new InvalidInput(message, [{ field: 'TimeZone', pointer: '/TimeZone', code: 'InvalidValue', message }]);
}
