/** Time zones of locations and persons. PostgreSQL must know them too, so that reports in SQL can use them. */
import { sql } from 'kysely';
import type { Database } from '../db/database.ts';
import { InvalidInput, memberFault } from '../errors.ts';
import { minute } from '../time/durations.ts';
import { currentNameOf } from '../time/zones.ts';

/** The names by their lower case, cached because PostgreSQL reads the files of all zones for each query. */
let names: { known: ReadonlyMap<string, string>; until: number } | undefined;
const keptMs = 10 * minute;

async function namesOf(db: Database): Promise<ReadonlyMap<string, string>> {
  if (names && performance.now() < names.until) return names.known;
  const { rows } = await sql<{ name: string }>`select name from pg_timezone_names`.execute(db);
  names = {
    known: new Map(rows.map(({ name }) => [name.toLowerCase(), name])),
    until: performance.now() + keptMs,
  };
  return names.known;
}

/**
 * Finds the stored spelling of a zone's name, given in any case. An older name is kept: Node.js and PostgreSQL do not agree on
 * which of several names is the present one.
 */
export async function openZoneNames(db: Database): Promise<(written: string) => { name: string } | { wrong: string }> {
  const known = await namesOf(db);
  return (written) => {
    const name = known.get(written.toLowerCase());
    if (name !== undefined) return { name };
    const current = known.get(currentNameOf(written).toLowerCase());
    return { wrong: `must be a time zone that PostgreSQL knows too${current ? `; write ${current}` : ''}` };
  };
}

/** The members of a record with the name of their zone as it is stored. @throws InvalidInput for a zone that PostgreSQL does not know */
export async function withZoneName<Members extends { timeZone?: string | undefined }>(
  db: Database,
  members: Members,
): Promise<Members> {
  if (members.timeZone === undefined) return members;
  const found = (await openZoneNames(db))(members.timeZone);
  if ('name' in found) return { ...members, timeZone: found.name };
  throw InvalidInput.of(memberFault('TimeZone', 'InvalidValue', found.wrong));
}
