/** The subscriptions of one tenant. Their background work runs only when the test says so; the service only answers. */
import { sql } from 'kysely';
import { openTurns, type Turns } from '../../../src/flow/turns.ts';
import { openLog } from '../../../src/log.ts';
import { alignCalendars } from '../../../src/mail/calendars.ts';
import { synchroniseCalendar } from '../../../src/mail/sync.ts';
import { manageSubscriptions, manageTask, sweepSubscriptions } from '../../../src/mail-subscriptions/management.ts';
import { provisionSubscription, provisionTask } from '../../../src/mail-subscriptions/provisioning.ts';
import type { LogLine } from '../../_util/process.ts';
import { startService, testConfig } from '../../_util/service.ts';

export type Row = {
  id: number;
  calendarId: number | null;
  state: string;
  fault: string | null;
  text: string | null;
  externalId: string | null;
  callbackUrl: string;
  /** Seconds from now. */
  due: number;
  renew: number | null;
  failures: number;
};

/** @param rooms each has the mailbox `<its name>@rooms.test`, in lower case */
export async function openSubscriptionDesk(settings: Record<string, string>, rooms = ['R001']) {
  const service = await startService({ Role: 'Web', ...settings }, rooms);
  const { context, tenant } = service;
  const { db } = context;
  const { mandatorId } = tenant;
  const stop = new AbortController();
  let { config } = context;
  await sql`update resource set mailbox = lower(name) || '@rooms.test'`.execute(db);

  const lines: LogLine[] = [];
  const log = openLog('info', { write: (line: string) => void lines.push(JSON.parse(line)) });
  const job: { runner: string; turns: Turns } = { runner: 'desk', turns: openTurns(8) };
  const work = () => ({ ...context, ...job, config, log, work: db, signal: stop.signal });
  const tasks: Record<string, (payload: { mandatorId: number; calendarId: number }) => Promise<void>> = {
    [provisionTask]: (payload) => provisionSubscription(work(), payload),
    [manageTask]: (payload) => manageSubscriptions(work(), payload.mandatorId),
  };

  /** The pauses that a process keeps in memory are over: settings of their own have connectors of their own. */
  function endPauses(): void {
    const copies = Object.entries(config.MailServer).map(([mandator, server]) => [mandator, { ...server }]);
    config = Object.freeze({ ...config, MailServer: Object.fromEntries(copies) });
  }

  /** Reads the calendars that were marked, at once. */
  async function readMarked(): Promise<void> {
    const { rows } = await sql<{ mandatorId: number; calendarId: number }>`
      select mandator_id as "mandatorId", id as "calendarId" from mail_calendar where dirty_since is not null`.execute(
      db,
    );
    for (const calendar of rows) await synchroniseCalendar(work(), calendar);
  }

  /** Takes what is queued; jobs for readings stay where they are. */
  async function takeJobs() {
    const { rows } = await sql<{ task: string; payload: { mandatorId: number; calendarId: number } }>`
      delete from graphile_worker._private_jobs as job using graphile_worker._private_tasks as task
      where task.id = job.task_id and task.identifier = any (${Object.keys(tasks)}::text[]) and run_at <= now()
      returning task.identifier as task, job.payload`.execute(db);
    return rows;
  }

  return {
    service,
    /** How its work gets its turns. */
    setTurns(turns: Turns): void {
      job.turns = turns;
    },
    db,
    mandatorId,
    /** The warnings and errors in the log since the last call. */
    takeLines: () => lines.splice(0).filter(({ level }) => level !== 'info'),
    takeJobs,
    readMarked,
    /** As a restart with other settings would. */
    set(changed: Record<string, string> = {}): void {
      const { Port, BaseUrl, IdpUrl, RoomsHost } = context.config;
      const read = testConfig(service.databaseUrl, { Role: 'Web', ...changed });
      const roots = {
        BaseUrl,
        IdpUrl: changed['IdpUrl'] ?? IdpUrl,
        RoomsHost: changed['RoomsHost'] ?? RoomsHost,
      };
      config = Object.freeze({ ...read, Port, ...roots });
    },
    alignRooms: () => alignCalendars(db, config),
    sweep: () => sweepSubscriptions(work()),
    run: (task: string, payload: { mandatorId: number; calendarId: number }) => tasks[task]!(payload),
    /** Runs sweeps and jobs until there is nothing to do. */
    async settle(): Promise<void> {
      await alignCalendars(db, config);
      for (let round = 0; round < 50; round += 1) {
        await sweepSubscriptions(work());
        const jobs = await takeJobs();
        if (jobs.length === 0) return;
        await Promise.all(jobs.map(({ task, payload }) => tasks[task]!(payload)));
      }
      throw new Error('there is always something to do');
    },
    /** Lets so much time pass for the stored rows. */
    async pass(minutes: number): Promise<void> {
      endPauses();
      const by = sql`make_interval(secs => ${minutes * 60})`;
      await sql`
        update mail_subscription set created_at = created_at - ${by}, state_since = state_since - ${by},
          seen_at = seen_at - ${by}, due_at = due_at - ${by}, renew_at = renew_at - ${by}, expires_at = expires_at - ${by}`.execute(
        db,
      );
      await sql`update mail_server set listed_at = listed_at - ${by}, tried_at = tried_at - ${by}`.execute(db);
      await sql`update mail_calendar set read_at = read_at - ${by}, pushed_at = pushed_at - ${by}`.execute(db);
    },
    /** As the webhook does for an accepted notification. */
    async hear(id: number): Promise<void> {
      await sql`
        update mail_subscription set seen_at = now(),
          state = case when state in ('AwaitingFirstPush', 'Suspect') then 'Active' else state end where id = ${id}`.execute(
        db,
      );
    },
    async rows(): Promise<Row[]> {
      const { rows } = await sql<Row>`
        select id, calendar_id as "calendarId", state, fault, fault_text as text, external_id as "externalId",
          callback_url as "callbackUrl", extract(epoch from due_at - now())::float8 as due,
          extract(epoch from renew_at - now())::float8 as renew, failures
        from mail_subscription where mandator_id = ${mandatorId} order by id`.execute(db);
      return rows;
    },
    states: async () =>
      (await sql<{ state: string }>`select state from mail_subscription order by id`.execute(db)).rows.map(
        ({ state }) => state,
      ),
    async history(id: number): Promise<string[]> {
      const { rows } = await sql<{ to: string }>`
        select to_state as "to" from mail_subscription_history where subscription_id = ${id} order by id`.execute(db);
      return rows.map(({ to }) => to);
    },
    /** How often each calendar was marked, by the names of their rooms. */
    async marks(): Promise<number[]> {
      const { rows } = await sql<{ marks: number }>`select marks from mail_calendar order by id`.execute(db);
      return rows.map(({ marks }) => marks);
    },
    /** Nothing was ever subscribed, and the settings are those that it was opened with. */
    async reset(): Promise<void> {
      config = context.config;
      endPauses();
      lines.length = 0;
      await sql`delete from mail_subscription`.execute(db);
      await sql`delete from mail_server`.execute(db);
      await sql`delete from mail_calendar`.execute(db);
      await sql`delete from graphile_worker._private_jobs`.execute(db);
    },
    async close(): Promise<void> {
      stop.abort();
      await service.stop();
    },
  };
}

export type SubscriptionDesk = Awaited<ReturnType<typeof openSubscriptionDesk>>;
