/** Calendars that are read and written only when the test says so; the service only answers. */
import { expect } from '@jest/globals';
import { type KyselyPlugin, sql } from 'kysely';
import type { Config } from '../../../src/config.ts';
import type { Database } from '../../../src/db/database.ts';
import { openTurns } from '../../../src/flow/turns.ts';
import { openLog } from '../../../src/log.ts';
import { alignCalendars } from '../../../src/mail/calendars.ts';
import { synchroniseCalendar } from '../../../src/mail/sync.ts';
import { queueWritings, writeCalendar } from '../../../src/mail/writing.ts';
import { markCalendars } from '../../../src/mail-subscriptions/marks.ts';
import { masterData } from '../../_util/master-data.ts';
import { startService } from '../../_util/service.ts';

type Key = { mandatorId: number; calendarId: number };
export type MailJob = { task: keyof typeof tasks; payload: Key };
const tasks = { SynchroniseMailCalendar: synchroniseCalendar, WriteMailCalendar: writeCalendar };

type Life = { work: Database; signal: AbortSignal; config: Config };

/** The life of a worker: once it is over, no statement reaches the database, and nothing is committed. */
export function openLife(db: Database, statements = Number.POSITIVE_INFINITY) {
  const death = new AbortController();
  let left = statements;
  const plugin: KyselyPlugin = {
    transformQuery({ node }) {
      left -= 1;
      if (left < 0) death.abort();
      if (death.signal.aborted) throw new Error('The worker is dead.');
      return node;
    },
    transformResult: async ({ result }) => result,
  };
  const { pool, states, pooled } = db as Database & Record<'pool' | 'states' | 'pooled', unknown>;
  const work: Database = Object.assign(db.withPlugin(plugin), { pool, states, pooled });
  return { work, signal: death.signal, end: () => death.abort() };
}

/** @param rooms each has the mailbox `<its name>@rooms.test`, in lower case */
export async function openWritingDesk(settings: Record<string, string>, rooms: string[]) {
  const service = await startService({ Role: 'Web', ...settings }, rooms);
  const { tenant } = service;
  const { db } = service.context;
  const log = openLog('silent');
  let stop = new AbortController();
  const work = () => ({
    ...service.context,
    log,
    work: db,
    runner: 'desk',
    turns: openTurns(8),
    signal: stop.signal,
    // Connectors of its own: the pauses that one keeps in memory are over.
    config: Object.freeze({
      ...service.context.config,
      MailServer: structuredClone(service.context.config.MailServer),
    }),
  });
  await sql`update resource set mailbox = lower(name) || '@rooms.test'`.execute(db);
  await alignCalendars(db, service.context.config);
  const admin = masterData(service, await service.signIn(tenant, 'Admin'));
  const user = masterData(service, await service.signIn());

  async function takeJobs() {
    const { rows } = await sql<MailJob>`
      delete from graphile_worker._private_jobs as job using graphile_worker._private_tasks as task
      where task.id = job.task_id and task.identifier = any (${Object.keys(tasks)}::text[])
      returning task.identifier as task, job.payload`.execute(db);
    return [...new Map(rows.map((row) => [`${row.task} ${row.payload.calendarId}`, row])).values()];
  }

  /** As if all pauses were over. */
  const endPauses = () =>
    sql`update mail_calendar set not_before = null, writing_not_before = null, queued_for = null
      where not_before is not null or writing_not_before is not null or queued_for is not null`.execute(db);

  /** Runs what is queued, once each; those of one calendar one after another, in whatever order. */
  async function runQueued(): Promise<number> {
    await endPauses();
    const jobs = await takeJobs();
    for (const { task, payload } of jobs) await tasks[task](work(), payload);
    return jobs.length;
  }

  return {
    service,
    db,
    admin,
    user,
    tenant,
    takeJobs,
    runQueued,
    endPauses,
    work,
    async countJobs(): Promise<number> {
      const { rows } = await sql<{ count: number }>`
        select count(*)::int as count from graphile_worker._private_jobs as job
          join graphile_worker._private_tasks as task on task.id = job.task_id
        where task.identifier = any (${Object.keys(tasks)}::text[])`.execute(db);
      return rows[0]!.count;
    },
    /** Runs one job, in a worker that may die of it. */
    run: ({ task, payload }: MailJob, life: Partial<Life> = {}) => tasks[task]({ ...work(), ...life }, payload),
    /** Runs jobs until there are none. */
    async settle(most = 60): Promise<void> {
      for (let round = 0; round < most; round += 1) if ((await runQueued()) === 0) return;
      throw new Error('there is always something to do');
    },
    /** Marks calendars as changed; all by default. */
    async tell(ids?: number[]): Promise<void> {
      if (ids) return await markCalendars(db, ids, 'Push');
      const { rows } = await sql<{ id: number }>`select id from mail_calendar where retired_at is null`.execute(db);
      await markCalendars(
        db,
        rows.map(({ id }) => id),
        'Push',
      );
    },
    sweep: () => queueWritings(db),
    write: (key: Key, signal?: AbortSignal) => writeCalendar({ ...work(), ...(signal && { signal }) }, key),
    /** Kills a worker: its work is lost. */
    kill(): void {
      stop.abort();
      stop = new AbortController();
    },
    /** Of the calendars of rooms, in their order. */
    async keys(): Promise<Key[]> {
      const { rows } = await sql<Key>`
        select mandator_id as "mandatorId", id as "calendarId" from mail_calendar order by resource_id`.execute(db);
      return rows;
    },
    async close(): Promise<void> {
      stop.abort();
      await service.stop();
    },
  };
}

export type WritingDesk = Awaited<ReturnType<typeof openWritingDesk>>;

/** A desk whose calendars have been read, and into which all that is booked is written. */
export async function openFullDesk(settings: Record<string, string>, rooms: string[]): Promise<WritingDesk> {
  const desk = await openWritingDesk(settings, rooms);
  const tenant = await desk.admin.patch('/tenant', { Parameters: { CalendarWriting: 'Full' } });
  expect(tenant.status).toBe(200);
  await desk.tell();
  await desk.settle();
  return desk;
}
