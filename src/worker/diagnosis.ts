/** What `roomgate doctor` reports about the queue and its workers. */
import { sql } from 'kysely';
import { heldLocks } from '../db/advisory-locks.ts';
import type { Database } from '../db/database.ts';
import { type Finding, findingsOf, ok } from '../finding.ts';
import { lockClasses } from '../flow/locks.ts';

/** Finds living workers that follow different settings (see agreement.ts). */
async function examineAgreement(db: Database): Promise<Finding[]> {
  const { rows } = await sql<{ kinds: number }>`
    select count(distinct number)::int as kinds from ${heldLocks(lockClasses.settings)} as followed`.execute(db);
  if (rows[0]!.kinds <= 1) return [];
  return [
    {
      check: 'Workers',
      level: 'fault',
      text: 'have different settings of mail servers: no calendar is added, changed or retired, and no subscription is requested',
      remedy: 'Give all of them the same MailServer settings, in file and variables, and restart them.',
    },
  ];
}

async function examineQueue(db: Database): Promise<Finding[]> {
  const { rows } = await sql<{ workers: number; orphans: number; waiting: number; oldest: number | null }>`
    with worker as (select * from ${heldLocks(lockClasses.runner)} as held)
    select (select count(distinct pid)::int from worker) as workers,
      (count(*) filter (where locked_at < now() - interval '1 minute'
        and not exists (select from worker where number = hashtext(locked_by))))::int as orphans,
      (count(*) filter (where locked_at is null and run_at <= now() and attempts < max_attempts))::int as waiting,
      extract(epoch from now() - min(run_at)
        filter (where locked_at is null and run_at <= now() and attempts < max_attempts))::int as oldest
    from graphile_worker.jobs`.execute(db);
  const { workers, orphans, waiting, oldest } = rows[0]!;
  const worker: Finding =
    workers > 0
      ? ok('Workers', `${workers} alive`)
      : {
          check: 'Workers',
          level: 'warning',
          text: 'no worker is alive: imports wait, and calendars are not read',
          remedy: 'Start one: "roomgate serve" with Role=All or Role=Worker.',
        };
  const queue: Finding =
    (oldest ?? 0) < 60
      ? ok('Queue', `${waiting} jobs wait`)
      : {
          check: 'Queue',
          level: 'warning',
          text: `${waiting} jobs are waiting, the oldest for ${oldest} s`,
          remedy: 'Start a worker (Role=All or Role=Worker), or more of them.',
        };
  if (orphans === 0) return [worker, queue];
  const text = `${orphans} jobs have been locked for more than a minute by dead workers`;
  const remedy = 'A living worker releases them within seconds: start one, or look into its log.';
  return [worker, queue, { check: 'Orphans', level: 'warning', text, remedy }];
}

export async function examineWorkers(db: Database): Promise<Finding[]> {
  const queue = await findingsOf('Queue', () => examineQueue(db));
  return [...queue, ...(await findingsOf('Workers', () => examineAgreement(db)))];
}
