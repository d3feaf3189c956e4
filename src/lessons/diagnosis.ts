/** What `roomgate doctor` reports about the batches of all tenants. */
import { sql } from 'kysely';
import type { Database } from '../db/database.ts';
import { type Finding, findingsOf } from '../finding.ts';
import { toSecond } from '../log.ts';
import { openStatuses } from './batch.ts';
import { isWorkedOn } from './next.ts';
import { remedyFor } from './setbacks.ts';

const check = 'Batches';
/** The most tenants that are reported one by one, as an outage affects all of them. */
const mostTold = 5;

/** The first open batch of a tenant, if one of its starts has failed; `next` is null while a worker runs it. */
type Troubled = {
  batch: string;
  starts: number;
  trouble: string;
  since: Date;
  next: Date | null;
  isWorkedOn: boolean;
  behind: number;
};

function describe({ batch, starts, trouble, since, next, isWorkedOn, behind }: Troubled): Finding {
  const again = isWorkedOn
    ? 'it is being tried again now'
    : next
      ? `it is tried again at ${toSecond(next)}`
      : 'it is tried again as soon as a worker is free';
  const others = behind === 0 ? '' : `; ${behind} more of this tenant wait behind it`;
  return {
    check,
    level: 'warning',
    // A start that is under way has replaced the reason of the one before.
    text: `${batch} was tried without success ${starts} ${starts === 1 ? 'time' : 'times'} since ${toSecond(since)}${isWorkedOn ? '' : `, the last time because ${trouble}`}; ${again}${others}`,
    remedy: `${isWorkedOn ? remedyFor() : remedyFor(trouble)} It is retried automatically; cancel it to let the others run.`,
  };
}

async function listTroubled(db: Database): Promise<Troubled[]> {
  const { rows } = await sql<Troubled>`
    with open as (
      select batch.*, row_number() over turns as turn, count(*) over (partition by mandator_id) - 1 as behind
      from batch where import_status = any (${openStatuses}::text[])
      window turns as (partition by mandator_id order by arrival)
    ),
    first as (select *, ${isWorkedOn} as is_worked_on from open where turn = 1)
    select mandator.code || '/' || first.id as batch, trouble, behind, is_worked_on as "isWorkedOn",
      -- The start that is under way has been counted already.
      attempts + setbacks - is_worked_on::int as starts,
      coalesce(troubled_since, started_at) as since,
      case when not_before > now() then not_before end as next
    from first join mandator on mandator.id = first.mandator_id
    where attempts + setbacks > is_worked_on::int
    order by since`.execute(db);
  return rows;
}

/** Batches that have been open for a long time, except those of tenants whose first batch has failed starts. */
async function examineAge(db: Database, troubled: readonly Troubled[]): Promise<Finding> {
  const tenants = troubled.map(({ batch }) => batch.slice(0, batch.indexOf('/')));
  const { rows } = await sql<{ open: number; old: string[] | null }>`
    select count(*)::int as open,
      array_agg(mandator.code || '/' || batch.id order by batch.created_at)
        filter (where batch.created_at < now() - interval '15 minutes' and mandator.code <> all (${tenants}::text[])) as old
    from batch join mandator on mandator.id = batch.mandator_id
    where import_status = any (${openStatuses}::text[])`.execute(db);
  const { open, old } = rows[0]!;
  if (!old) {
    const others = troubled.length > 0 ? ' of the others' : '';
    return { check, level: 'ok', text: `${open} are open, none${others} for more than 15 minutes` };
  }
  const named = old.slice(0, 3).join(', ');
  return {
    check,
    level: 'warning',
    text: `${old.length} have been open for more than 15 minutes: ${named}${old.length > 3 ? ', ...' : ''}`,
    remedy: 'Check that a worker runs, and look for their BatchId in its log.',
  };
}

export const examineBatches = (db: Database): Promise<Finding[]> =>
  findingsOf(check, async () => {
    const troubled = await listTroubled(db);
    const told = troubled.slice(0, mostTold).map(describe);
    const left = troubled.length - told.length;
    if (left > 0)
      told.push({
        check,
        level: 'warning',
        text: `${left} more tenants have such a batch`,
        remedy: 'Fix the problems above first; /metrics counts them as roomgate_batches_held_back.',
      });
    return [await examineAge(db, troubled), ...told];
  });
