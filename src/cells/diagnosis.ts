/** What `roomgate doctor` reports about tenants that rest, and about moves that no command continues. */
import { sql } from 'kysely';
import { heldLocks } from '../db/advisory-locks.ts';
import type { Database } from '../db/database.ts';
import { type Finding, type Judgment, ok } from '../finding.ts';
import { lockClasses } from '../flow/locks.ts';
import { moveName } from './replication.ts';

type Rest = {
  code: string;
  /** `Copied`: it is served here, while PostgreSQL keeps what its copy has not read. */
  state: 'Coming' | 'Frozen' | 'Leaving' | 'Leftover' | 'Copied';
  isBusy: boolean;
  /** Until a freeze ends. */
  seconds: number | null;
  /** WAL that is kept for the copy. */
  megabytes: number | null;
};

const again = 'Run the same "roomgate tenant move" again';
const abandon = (code: string) =>
  `${again}, or abandon it with --undo; if the other installation is lost for good: "roomgate tenant thaw --mandator ${code} --lost".`;

function judge({ code, state, seconds, megabytes }: Rest): Judgment {
  switch (state) {
    case 'Leaving':
      return {
        level: 'fault',
        text: `${code} has left, and no command continues its move: it may be served nowhere`,
        remedy: abandon(code),
      };
    case 'Leftover':
      return {
        level: 'warning',
        text: `what is left of ${code} here is not removed yet, and no command does it`,
        remedy: `${again}; if it was deleted: "roomgate tenant delete --mandator ${code} --yes".`,
      };
    case 'Copied':
      return {
        level: 'warning',
        text: `${code} is served here, and no command continues its move; PostgreSQL keeps ${megabytes} MB of WAL for its copy, and more if that does not read`,
        remedy: abandon(code),
      };
    case 'Coming':
      return {
        level: 'warning',
        text: `a copy of ${code} arrives from another installation, and is not served here yet`,
        remedy: 'If no move runs there, run it there again, or abandon it there with --undo.',
      };
    case 'Frozen':
      return {
        level: 'warning',
        text: `${code} is frozen for another ${seconds} s: its writes are answered 503`,
        remedy: `That ends by itself, or by "roomgate tenant thaw --mandator ${code}".`,
      };
  }
}

export async function examineRests(db: Database): Promise<Finding[]> {
  const check = 'Moves';
  const { rows } = await sql<Rest>`
    with rest as (
      select mandator_id, code, extract(epoch from until - now())::int as seconds,
        case when state <> 'Away' then state when destination is null then 'Leftover' else 'Leaving' end as state
      from resting_tenant where state <> 'Frozen' or until > now()
    ), slot as (
      select id as mandator_id, code, coalesce((pg_current_wal_lsn() - restart_lsn) / 1048576, 0)::int as megabytes
      from pg_replication_slots join mandator on slot_name = ${moveName} || mandator.id::text
      where database = current_database()
    )
    select coalesce(rest.code, slot.code) as code, coalesce(state, 'Copied') as state, seconds, megabytes,
      mandator_id in (select number from ${heldLocks(lockClasses.rest)} as held) as "isBusy"
    from rest full join slot using (mandator_id) order by 1`.execute(db);
  if (rows.length === 0) return [ok(check, 'no tenant is being moved, frozen or removed')];
  return rows.map((rest) =>
    rest.isBusy ? ok(check, `${rest.code} is being moved, frozen or removed by a command`) : { check, ...judge(rest) },
  );
}
