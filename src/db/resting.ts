/** Tells whether a tenant rests, as it does while it is moved to another installation. */
import { type RawBuilder, sql } from 'kysely';
import { type Database, stateIn } from './database.ts';

/** Milliseconds for which a process caches the answer. */
const believedMs = 1_000;

/** SQL: whether `rest` is not over. */
const isOn = sql`coalesce(rest.until > clock_timestamp(), true)`;

/** SQL: whether the tenant of a row rests. Sweeps skip such tenants, so that these start no jobs and do not delay others. */
export const rests = (mandatorId: RawBuilder<unknown>) => sql<boolean>`exists (
  select from resting_tenant as rest
  where rest.mandator_id = ${mandatorId} and ${isOn})`;

/** The same for the code of a tenant, of which nothing may be here yet. */
export const restsByCode = (code: RawBuilder<unknown>) => sql<boolean>`exists (
  select from resting_tenant as rest where rest.code = ${code} and ${isOn})`;

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
      // The caller's next statement reports an outage.
      read = sql<{ code: string }>`select code from resting_tenant where state <> 'Frozen'`.execute(db).then(
        ({ rows }) => new Set(rows.map(({ code: of }) => of)),
        () => new Set(),
      );
    }
    return (await read)?.has(code) === true;
  };
}

/** Whether the tenant of this code is not served here: it is arriving or has left. Costs at most one statement a second. */
export const isAway = (db: Database, code: string): Promise<boolean> => stateIn(db, openAway)(code.toLowerCase());
