/** Tenants that rest while they are moved to another installation: who asks whether one does. */
import { type RawBuilder, sql } from 'kysely';
import { type Database, stateIn } from './database.ts';

/** Milliseconds for which a process believes what it has read. */
const believedMs = 1_000;

/** SQL: whether the tenant of a row rests. Sweeps pass it over, so that it holds up no other, and starts no job. */
export const rests = (mandatorId: RawBuilder<unknown>) => sql<boolean>`exists (
  select from resting_tenant as rest
  where rest.mandator_id = ${mandatorId} and coalesce(rest.until > clock_timestamp(), true))`;

/** Whether nothing may be done for the tenant now: its jobs are queued again when it is served. */
export async function isResting(db: Database, mandatorId: number): Promise<boolean> {
  const { rows } = await sql`select where ${rests(sql`${mandatorId}::integer`)}`.execute(db);
  return rows.length > 0;
}

function openAway(db: Database) {
  let read: Promise<Set<string>> | undefined;
  let readAt = 0;
  return async (code: string): Promise<boolean> => {
    if (Date.now() - readAt >= believedMs) {
      readAt = Date.now();
      // A caller hears of an outage by what it asks next.
      read = sql<{ code: string }>`select code from resting_tenant where state <> 'Frozen'`.execute(db).then(
        ({ rows }) => new Set(rows.map(({ code: of }) => of)),
        () => new Set(),
      );
    }
    return (await read)?.has(code) === true;
  };
}

/** Whether the tenant of this code is not served here: it comes, or has left. Costs a statement a second at most. */
export const isAway = (db: Database, code: string): Promise<boolean> => stateIn(db, openAway)(code.toLowerCase());
