/** Observations in the database: the progress of each tenant's batches, and violations of invariants. */
import { sql } from 'kysely';
import type { Ledger, Round } from './ledger.ts';
import type { Site } from './site.ts';

const openStatuses = ['AwaitingLessonCreation', 'AwaitingLessonProcessing'];
const isOpen = sql`import_status in ('AwaitingLessonCreation', 'AwaitingLessonProcessing')`;

export type Monitor = Awaited<ReturnType<typeof openMonitor>>;

/** A batch that was under way when a fault began. */
type Hit = { id: string; mandatorId: number };

export async function openMonitor({ db, ask }: Pick<Site, 'db' | 'ask'>, ledger: Ledger) {
  // Each committed step of a batch, and when it was taken.
  await sql`create table step_of_batch (
    batch_id uuid, mandator_id int, import_status text, at timestamptz)`.execute(db);
  await sql`create index on step_of_batch (mandator_id, at)`.execute(db);
  await sql`
    create function record_step_of_batch() returns trigger language plpgsql as $$
    begin
      insert into step_of_batch values (new.id, new.mandator_id, new.import_status, clock_timestamp());
      return null;
    end $$`.execute(db);
  await sql`create trigger step_taken after insert or update of attempts, import_status, processed_count on batch
    for each row execute function record_step_of_batch()`.execute(db);
  let endsCheckedAt = new Date(0);

  const findOpen = async (): Promise<Hit[]> =>
    await ask(async (db) => {
      const { rows } = await sql<Hit>`select id, mandator_id as "mandatorId" from batch where ${isOpen}`.execute(db);
      return rows;
    });

  return {
    findOpen,
    /** Whether a process has a transaction that lasts, as an import has. */
    async isImporting(session: string): Promise<boolean> {
      const { rows } = await sql`
        select from pg_stat_activity where application_name = ${session} and datname = current_database()
          and xact_start < clock_timestamp() - interval '250 milliseconds' and backend_xid is not null`.execute(db);
      return rows.length > 0;
    },
    /** How many of these have not ended. */
    async countOpen(hits: readonly Hit[]): Promise<number> {
      const ids = hits.map(({ id }) => id);
      return await ask(async (db) => {
        const { rows } = await sql<{ n: number }>`
          select count(*)::int as n from batch where id = any (${ids}::uuid[]) and ${isOpen}`.execute(db);
        return rows[0]!.n;
      });
    },
    /** The longest time, from the fault until all that it hit have ended or now, in which a tenant saw nothing happen. */
    async measureSilence(round: Round, hits: readonly Hit[]): Promise<number> {
      const ids = hits.map(({ id }) => id);
      return await ask(async (db) => {
        const { rows } = await sql<{ ms: number | null }>`
          with hit as (
            select mandator_id, greatest(min(created_at), to_timestamp(${round.begin / 1_000}::float8)) as since,
              case when bool_or(finished_at is null) then clock_timestamp() else max(finished_at) end as until
            from batch where id = any (${ids}::uuid[]) group by 1
          ), moment as (
            select mandator_id, since as at from hit
            union all select mandator_id, until from hit
            union all select step.mandator_id, at from step_of_batch as step join hit using (mandator_id)
              where at between since and until)
          select extract(epoch from max(pause)) * 1000 as ms
          from (select at - lag(at) over (partition by mandator_id order by at) as pause from moment) as pauses`.execute(
          db,
        );
        return Math.round(Number(rows[0]?.ms ?? 0));
      });
    },
    /** The invariants that must hold at any time, read in one snapshot. */
    async check(): Promise<void> {
      const from = endsCheckedAt;
      const { ends, torn, overlaps, now } = await ask(async (db) => {
        const { rows: ends } = await sql<{ id: string; what: string }>`
          select batch_id as id, string_agg(import_status, ', ' order by at) as what from step_of_batch
          where batch_id in (select id from batch where created_at > ${from}::timestamptz - interval '5 minutes')
          group by 1 having count(*) filter (where import_status like 'Lessons%') > 1
            or (array_agg(import_status order by at desc, import_status desc))[1] = any (${openStatuses}::text[])
              and bool_or(import_status like 'Lessons%')`.execute(db);
        const { rows: torn } = await sql<{ id: string; what: string }>`
          select id, concat(import_status, ', created ', created_count, ': ', lessons, ' lessons, ', booked, ' in their rooms, ', titles, ' titles') as what
          from batch cross join lateral (
            select count(*) as lessons, count(distinct coalesce(titel, '')) as titles,
              count(*) filter (where booking.status = 'Confirmed' and booking.resource_id = lesson.resource_id
                and booking.occupied = tstzrange(beginn, ende)) as booked
            from lesson_job join lesson on lesson.mandator_id = lesson_job.mandator_id and lesson.job = lesson_job.id
            left join booking on booking.mandator_id = lesson.mandator_id and booking.id = lesson.booking_id
            where lesson_job.mandator_id = batch.mandator_id and lesson_job.batch_id = batch.id) as content
          where created_at > ${from}::timestamptz - interval '5 minutes' and operation = 'Create'
            and (lessons <> booked or titles > 1
              or lessons not in (0, case import_status when 'LessonsCreated' then created_count else 0 end))`.execute(
          db,
        );
        const { rows: overlaps } = await sql<{ what: string }>`
          select concat(mandator_id, ': room ', resource_id, ' ', occupied) as what from (
            select mandator_id, resource_id, occupied,
              lower(occupied) < max(upper(occupied)) over (partition by resource_id order by lower(occupied), id
                rows between unbounded preceding and 1 preceding) as is_early
            from booking where status in ('Confirmed', 'Tentative')) as one
          where is_early`.execute(db);
        const { rows: clock } = await sql<{ now: Date }>`select now()`.execute(db);
        return { ends, torn, overlaps, now: clock[0]!.now };
      });
      endsCheckedAt = now;
      for (const { id, what } of ends) ledger.blame('doubled', `batch ${id} changed after its end: ${what}`);
      for (const { id, what } of torn) ledger.blame('half-applied', `batch ${id}: ${what}`);
      for (const { what } of overlaps) ledger.blame('doubled', `overlap: ${what}`);
    },
  };
}
