import { afterAll, beforeAll, beforeEach, describe, expect, test } from '@jest/globals';
import { sql } from 'kysely';
import type { Config } from '../../src/config.ts';
import type { Context } from '../../src/context.ts';
import { type Database, openDatabase } from '../../src/db/database.ts';
import { openLog } from '../../src/log.ts';
import { alignCalendars, listSettingsFaults, openFaultLog } from '../../src/mail/calendars.ts';
import { pollCalendars, requestReadings } from '../../src/mail/polling.ts';
import { sweeps } from '../../src/mail/tasks.ts';
import { markCalendars } from '../../src/mail-subscriptions/marks.ts';
import type { TaskContext } from '../../src/worker/task.ts';
import { makeTenant } from '../_util/factories.ts';
import { hold, releaseAll } from '../_util/hold.ts';
import { cloneDatabase } from '../_util/postgres.ts';
import { testConfig } from '../_util/service.ts';
import { makeSubscription, makeUnwritten } from './_util/rows.ts';

let database: Awaited<ReturnType<typeof cloneDatabase>>;
let db: Database;
let tenant: Awaited<ReturnType<typeof makeTenant>>;
let count = 0;

beforeAll(async () => {
  database = await cloneDatabase();
  db = openDatabase(database.url, { max: 4, log: openLog('silent'), statementTimeout: 0 });
});
afterAll(async () => {
  await releaseAll();
  await db.destroy();
  await database.drop();
});
beforeEach(async () => {
  tenant = await makeTenant(db, { code: `t${++count}`, rooms: ['Aula', 'Labor', 'Turnhalle'] });
  await mailboxes('aula@x.example', 'labor@x.example', null);
});

/** Of the three rooms in turn. */
async function mailboxes(...addresses: (string | null)[]): Promise<void> {
  for (const [index, mailbox] of addresses.entries())
    await db.updateTable('resource').set({ mailbox }).where('id', '=', tenant.resources[index]!.id).execute();
}

type Named = { Mailbox: string; ResourceName: string; LocationName?: string };

/** Settings with a mail server for the tenant; with none of its calendars all that have a mailbox. */
function settings(calendars?: Named[], mandator = tenant.code): Config {
  return testConfig(database.url, {
    [`MailServer__${mandator}__Kind`]: 'CalDav',
    [`MailServer__${mandator}__Url`]: 'http://127.0.0.1:9/dav/',
    [`MailServer__${mandator}__User`]: 'roomgate',
    [`MailServer__${mandator}__Password`]: 'secret',
    ...(calendars && { [`MailServer__${mandator}__Calendars`]: JSON.stringify(calendars) }),
  });
}
const noServer = () => testConfig(database.url);

/** The calendars that are read: room, mailbox. */
async function live(): Promise<[string, string][]> {
  const rows = await db
    .selectFrom('mail_calendar')
    .innerJoin('resource', 'resource.id', 'mail_calendar.resource_id')
    .where('mail_calendar.mandator_id', '=', tenant.mandatorId)
    .where('retired_at', 'is', null)
    .orderBy('resource.name')
    .select(['resource.name', 'mail_calendar.mailbox'])
    .execute();
  return rows.map(({ name, mailbox }) => [name, mailbox]);
}

const calendarOf = (index: number) =>
  db
    .selectFrom('mail_calendar')
    .where('resource_id', '=', tenant.resources[index]!.id)
    .selectAll()
    .executeTakeFirstOrThrow();

/** An item that is booked in the first room; it begins so many hours from now and lasts two. */
async function bookItem(group: string, hours: number): Promise<number> {
  const { id: calendarId } = await calendarOf(0);
  const { rows } = await sql<{ id: number }>`
    with made as (
      insert into booking (mandator_id, resource_id, kind, status, origin, subject, occupied)
      values (${tenant.mandatorId}, ${tenant.resources[0]!.id}, 'MailItem', 'Confirmed', 'Mail', ${group},
        tstzrange(now() + make_interval(hours => ${hours}), now() + make_interval(hours => ${hours + 2})))
      returning *
    )
    insert into mail_item (mandator_id, calendar_id, group_id, occurrence, item_id, content_hash, state, booking_id, occupied)
    select mandator_id, ${calendarId}, ${group}, '', ${group}, 'x', 'Booked', id, occupied from made returning booking_id as id`.execute(
    db,
  );
  return rows[0]!.id;
}

/** Of the bookings in the first room. */
async function statuses(): Promise<Record<string, string>> {
  const { rows } = await sql<{ subject: string; status: string }>`
    select subject, status from booking where resource_id = ${tenant.resources[0]!.id}`.execute(db);
  return Object.fromEntries(rows.map(({ subject, status }) => [subject, status]));
}

/** Whether a subscription that has failed is not asked for again yet. */
async function waits(subscription: number): Promise<boolean> {
  const { rows } = await sql<{ waits: boolean }>`
    select due_at > now() as waits from mail_subscription where id = ${subscription}`.execute(db);
  return rows[0]!.waits;
}

/** A worker that has started, or one that is just starting. */
const poll = (isStarting = false) =>
  pollCalendars({ work: db, config: settings(), once: (() => ({ isStarting })) as Context['once'] });

describe('which calendars there are', () => {
  test('without a list those of all active resources with a mailbox; once more changes nothing', async () => {
    await alignCalendars(db, settings());
    expect(await listSettingsFaults(db, settings())).toEqual([]);
    expect(await live()).toEqual([
      ['Aula', 'aula@x.example'],
      ['Labor', 'labor@x.example'],
    ]);
    const before = await calendarOf(0);
    expect(before).toMatchObject({ kind: 'CalDav', dirty_by: 'Request', cursor: null, marks: 1 });
    await alignCalendars(db, settings());
    expect(await calendarOf(0)).toEqual(before);
  });

  test('with a list those that it names, in any case', async () => {
    const { code } = tenant;
    const list = [{ Mailbox: 'hall@x.example', ResourceName: 'TURNHALLE', LocationName: 'campus' }];
    const config = settings(list, code.toUpperCase());
    await alignCalendars(db, config);
    expect(await listSettingsFaults(db, config)).toEqual([]);
    expect(await live()).toEqual([['Turnhalle', 'hall@x.example']]);
  });

  test.each([
    ['no such resource', [{ Mailbox: 'a@x.example', ResourceName: 'Keller' }], /"Keller" is not a resource/],
    [
      'not at this location',
      [{ Mailbox: 'a@x.example', ResourceName: 'Aula', LocationName: 'Elsewhere' }],
      /"Aula" at "Elsewhere" is not a resource/,
    ],
    ['several resources', [{ Mailbox: 'a@x.example', ResourceName: 'Double' }], /"Double" is 2 resources/],
    ['not active', [{ Mailbox: 'a@x.example', ResourceName: 'Retired' }], /"Retired" is not active/],
    [
      'named twice',
      [
        { Mailbox: 'b@x.example', ResourceName: 'Labor' },
        { Mailbox: 'a@x.example', ResourceName: 'Labor' },
      ],
      /"Labor" is named twice/,
    ],
    [
      'a mailbox twice',
      [
        { Mailbox: 'b@x.example', ResourceName: 'Labor' },
        { Mailbox: 'B@X.example', ResourceName: 'Turnhalle' },
      ],
      /B@X.example belongs to several/,
    ],
  ])('a fault, %s, is told and stops no other', async (_what, wrong, text) => {
    const { id } = await db
      .insertInto('location')
      .values({ mandator_id: tenant.mandatorId, name: 'Annex', time_zone: 'UTC' })
      .returning('id')
      .executeTakeFirstOrThrow();
    for (const [name, location, active] of [
      ['Double', tenant.locationId, true],
      ['Double', id, true],
      ['Retired', id, false],
    ] as const)
      await db
        .insertInto('resource')
        .values({ mandator_id: tenant.mandatorId, location_id: location, name, active })
        .execute();
    const config = settings([{ Mailbox: 'aula@x.example', ResourceName: 'Aula' }, ...wrong]);
    await alignCalendars(db, config);
    const faults = await listSettingsFaults(db, config);
    expect(faults).toEqual([{ text: expect.stringMatching(text), remedy: expect.stringMatching(/^[A-Z].*\.$/) }]);
    expect(faults[0]!.text).toContain(`MailServer.${tenant.code}`);
    expect((await live())[0]).toEqual(['Aula', 'aula@x.example']);
  });

  test('a tenant that does not exist is reported once', async () => {
    const faults = await listSettingsFaults(
      db,
      settings(
        [
          { Mailbox: 'a@x.example', ResourceName: 'A' },
          { Mailbox: 'b@x.example', ResourceName: 'B' },
        ],
        'nobody',
      ),
    );
    expect(faults).toEqual([{ text: 'MailServer.nobody: there is no such tenant', remedy: expect.any(String) }]);
  });

  test('a tenant that is being moved keeps its calendars while its rooms are not all here, and is no fault', async () => {
    await alignCalendars(db, settings());
    const isHere = await live();
    const rest = (mandatorId: number, code: string) =>
      sql`insert into resting_tenant (mandator_id, code, state) values (${mandatorId}, ${code}, 'Coming')`.execute(db);
    await rest(tenant.mandatorId, tenant.code);
    await rest(1_000_000, 'expected');
    await mailboxes(null, null, 'turnhalle@x.example');
    await alignCalendars(db, settings());
    expect(await live()).toEqual(isHere);
    expect(await listSettingsFaults(db, settings(undefined, 'expected'))).toEqual([]);

    await sql`delete from resting_tenant`.execute(db);
    await alignCalendars(db, settings());
    expect(await live()).toEqual([['Turnhalle', 'turnhalle@x.example']]);
  });

  test('an error is logged once, and again when it returns', async () => {
    const lines: string[] = [];
    const log = openLog('info', { write: (line: string) => lines.push(line) });
    const tell = openFaultLog({ log });
    const wrong = settings([{ Mailbox: 'a@x.example', ResourceName: 'Keller' }]);
    for (const config of [wrong, wrong, settings(), wrong]) await alignCalendars(db, config, tell);
    expect(lines.map((line) => JSON.parse(line))).toEqual(
      Array(2).fill(
        expect.objectContaining({
          level: 'warn',
          remedy: expect.any(String),
          fault: `MailServer.${tenant.code}.Calendars: "Keller" is not a resource`,
        }),
      ),
    );
  });

  test('no mail server and no calendars: the sweeps write and say nothing', async () => {
    await db.deleteFrom('mail_calendar').execute();
    await sql`delete from graphile_worker._private_jobs`.execute(db);
    const lines: string[] = [];
    const log = openLog('trace', { write: (line: string) => lines.push(line) });
    const config = noServer();
    const context: TaskContext = {
      ...({} as TaskContext),
      config,
      log,
      db,
      work: db,
      signal: new AbortController().signal,
      once: (open) => open({ log } as Context),
    };
    for (const { run } of sweeps) await run(context);
    const { rows } = await sql<{ n: number }>`
      select (select count(*) from mail_calendar) + (select count(*) from mail_subscription) + (select count(*) from mail_server)
        + (select count(*) from graphile_worker._private_jobs) as n`.execute(db);
    expect([rows, lines]).toEqual([[{ n: 0 }], []]);
  });
});

describe('a calendar that the settings no longer name', () => {
  test('its mailbox is gone: what has not begun is cancelled, what has stays', async () => {
    await alignCalendars(db, settings());
    await bookItem('later', 5);
    await bookItem('now', -1);
    await bookItem('past', -30);
    await mailboxes(null);
    await alignCalendars(db, settings());
    expect(await live()).toEqual([['Labor', 'labor@x.example']]);
    expect(await statuses()).toEqual({ later: 'Cancelled', now: 'Confirmed', past: 'Confirmed' });
    expect(await calendarOf(0)).toMatchObject({ dirty_since: null, cursor: null });
    await mailboxes('aula@x.example');
    await alignCalendars(db, settings());
    expect(await calendarOf(0)).toMatchObject({ retired_at: null, dirty_by: 'Request' });
  });

  test('another mailbox: it begins anew', async () => {
    await alignCalendars(db, settings());
    await bookItem('later', 5);
    await sql`update mail_calendar set cursor = 'c', fault = 'Unreachable', fault_text = 'x', failures = 3, not_before = now() + interval '1 hour',
      found_by_push = 1, found_by_poll = 2
      where resource_id = ${tenant.resources[0]!.id}`.execute(db);
    await mailboxes('other@x.example');
    await alignCalendars(db, settings());
    expect(await statuses()).toEqual({ later: 'Cancelled' });
    expect(await calendarOf(0)).toMatchObject({
      mailbox: 'other@x.example',
      cursor: null,
      fault: null,
      failures: 0,
      not_before: null,
      dirty_by: 'Request',
      found_by_push: 0,
      found_by_poll: 0,
    });
  });

  test('its mailbox in another case is the same one: nothing is cancelled or forgotten, and it is read at once', async () => {
    await alignCalendars(db, settings());
    const bookingId = await bookItem('later', 5);
    await sql`update mail_calendar set cursor = 'c', dirty_since = null, dirty_by = null, found_by_push = 1,
      not_before = now() + interval '1 hour' where resource_id = ${tenant.resources[0]!.id}`.execute(db);
    const { id } = await calendarOf(0);
    await makeUnwritten(db, { mandatorId: tenant.mandatorId, calendarId: id }, new Date(), [bookingId]);
    const written = () => db.selectFrom('mail_writing').where('calendar_id', '=', id).select('booking_id').execute();
    await mailboxes('AULA@x.example');
    await alignCalendars(db, settings());
    expect(await calendarOf(0)).toMatchObject({
      mailbox: 'AULA@x.example',
      cursor: 'c',
      found_by_push: 1,
      dirty_by: 'Request',
      not_before: null,
    });
    expect(await statuses()).toEqual({ later: 'Confirmed' });
    expect(await written()).toEqual([{ booking_id: bookingId }]);
    await alignCalendars(db, settings([]));
    await mailboxes('aula@X.example');
    await alignCalendars(db, settings());
    expect(await calendarOf(0)).toMatchObject({ mailbox: 'aula@X.example', retired_at: null });
    expect(await written()).toEqual([{ booking_id: bookingId }]);
  });

  test('a calendar that is wanted again is subscribed at once, though it has failed before', async () => {
    await alignCalendars(db, settings());
    const { mandatorId } = tenant;
    const subscription = await makeSubscription(db, { mandatorId, calendarId: (await calendarOf(0)).id }, ['Failed'], {
      columns: "due_at = now() + interval '6 hours'",
    });
    await alignCalendars(db, settings([]));
    expect(await waits(subscription)).toBe(true);
    await alignCalendars(db, settings());
    expect(await waits(subscription)).toBe(false);
  });

  test('the tenant has no mail server any more: nothing is cancelled', async () => {
    await alignCalendars(db, settings());
    await bookItem('later', 5);
    await alignCalendars(db, noServer());
    expect([await live(), await statuses()]).toEqual([[], { later: 'Confirmed' }]);
  });

  test('its resource is not active any more: nothing is cancelled', async () => {
    await alignCalendars(db, settings());
    await bookItem('later', 5);
    await db.updateTable('resource').set({ active: false }).where('id', '=', tenant.resources[0]!.id).execute();
    await alignCalendars(db, settings());
    expect([(await live()).length, await statuses()]).toEqual([1, { later: 'Confirmed' }]);
  });

  test('its resource has another name now: it stays, and the fault is reported', async () => {
    const config = settings([{ Mailbox: 'aula@x.example', ResourceName: 'Aula' }]);
    await alignCalendars(db, config);
    await bookItem('later', 5);
    await db.updateTable('resource').set({ name: 'Festsaal' }).where('id', '=', tenant.resources[0]!.id).execute();
    await alignCalendars(db, config);
    expect(await listSettingsFaults(db, config)).toHaveLength(1);
    expect([await live(), await statuses()]).toEqual([[['Festsaal', 'aula@x.example']], { later: 'Confirmed' }]);
  });

  test('its room is held by an import: the others do not wait, and it follows', async () => {
    await alignCalendars(db, settings());
    const release = await hold(db, (trx) =>
      sql`select from resource where id = ${tenant.resources[0]!.id} for no key update`.execute(trx),
    );
    const lists = settings([{ Mailbox: 'hall@x.example', ResourceName: 'Turnhalle' }]);
    await alignCalendars(db, lists);
    expect((await live()).map(([name]) => name)).toEqual(['Aula', 'Turnhalle']);
    await release();
    await alignCalendars(db, lists);
    expect((await live()).map(([name]) => name)).toEqual(['Turnhalle']);
  });
});

describe('changes that are found without a notification', () => {
  const key = async () => `mail calendar ${(await calendarOf(0)).id}`;
  async function setCalendar(columns: string): Promise<number> {
    const { id } = await calendarOf(0);
    await sql`delete from graphile_worker._private_jobs where key = ${await key()}`.execute(db);
    await sql`update mail_calendar set dirty_since = null, dirty_by = null, read_at = now(), read_whole_at = now(), cursor = 'c',
      window_end = now() + interval '365 days', queued_for = null`.execute(db);
    await sql`update mail_calendar set ${sql.raw(columns)} where id = ${id}`.execute(db);
    return id;
  }
  const isQueued = async () => {
    const { rows } = await sql`select from graphile_worker._private_jobs where key = ${await key()}`.execute(db);
    return rows.length === 1;
  };
  const read = (minutes: number) => `read_at = now() - interval '${minutes} minutes 5 seconds'`;
  const pushed = (minutes: number) => `${read(minutes)}, pushed_at = now()`;

  beforeEach(async () => {
    await alignCalendars(db, settings());
    await poll();
  });

  test.each([
    ['no push', [], 0, false, read(0)],
    ['no push', [], 0, true, read(1)],
    ['a new push', ['Active'], 1, false, pushed(1)],
    ['a new push', ['Active'], 1, true, pushed(15)],
    ['a push that has worked for a day', ['Active'], 25, false, pushed(15)],
    ['a push that has worked for a day', ['Active'], 25, true, pushed(60)],
    ['a push that works for other calendars', ['Active'], 25, true, read(1)],
    ['a push that is in doubt', ['Active', 'Suspect'], 25, true, pushed(1)],
  ] as const)('%s: %#', async (_what, states, hours, isDue, columns) => {
    await setCalendar(columns);
    const { mandatorId } = tenant;
    if (states.length > 0)
      await makeSubscription(db, { mandatorId, calendarId: null }, states, {
        kind: 'CalDav',
        columns: `state_since = now() - interval '${hours} hours'`,
      });
    await poll();
    expect(await isQueued()).toBe(isDue);
    expect((await calendarOf(0)).dirty_by).toBe(isDue ? 'Poll' : null);
  });

  test('a mark whose job was lost is queued again, still with its origin', async () => {
    await setCalendar("dirty_since = now(), dirty_by = 'Push'");
    await poll();
    expect([await isQueued(), (await calendarOf(0)).dirty_by]).toEqual([true, 'Push']);
  });

  test('a calendar that is to be left alone for a while is not read', async () => {
    await setCalendar("dirty_since = now(), dirty_by = 'Push', not_before = now() + interval '1 minute'");
    await poll();
    expect(await isQueued()).toBe(false);
  });

  test.each([
    ['AccessLost', true],
    ['Throttled', false],
  ])('after %s a process that starts tries again at once: %s', async (fault, isAgain) => {
    const pause = "now() + interval '30 minutes'";
    const calendarId = await setCalendar(
      `dirty_since = now(), dirty_by = 'Poll', fault = '${fault}', fault_text = 'x', failures = 9, not_before = ${pause}`,
    );
    const subscription = await makeSubscription(db, { mandatorId: tenant.mandatorId, calendarId }, ['Failed'], {
      columns: `fault = '${fault}', due_at = ${pause}`,
    });
    await poll(true);
    expect((await calendarOf(0)).not_before === null).toBe(isAgain);
    expect(await waits(subscription)).toBe(!isAgain);
  });

  test.each([
    ['a day after it was', "read_whole_at = now() - interval '24 hours 1 minute'"],
    ['when the window has moved on', "window_end = now() + interval '363 days'"],
  ])('all of a calendar is, %s', async (_when, columns) => {
    await setCalendar(columns);
    await poll();
    expect(await calendarOf(0)).toMatchObject({ cursor: null, dirty_by: 'Request' });
  });

  test('an operator has it read at once, despite any pause', async () => {
    const id = await setCalendar("not_before = now() + interval '1 hour'");
    await requestReadings(db, tenant.mandatorId, [id], { whole: false });
    expect(await calendarOf(0)).toMatchObject({ not_before: null, cursor: 'c', dirty_by: 'Request' });
    await requestReadings(db, tenant.mandatorId + 1, [id], { whole: true });
    expect((await calendarOf(0)).cursor).toBe('c');
    await requestReadings(db, tenant.mandatorId, [id], { whole: true });
    expect((await calendarOf(0)).cursor).toBe(null);
  });

  /** Milliseconds from the beginning of `since` to its job. */
  async function jobAfter(since: string): Promise<number> {
    const { rows } = await sql<{ ms: number }>`
      select (extract(epoch from run_at - ${since}::timestamptz) * 1000)::float8 as ms
      from graphile_worker._private_jobs where key = ${await key()}`.execute(db);
    return rows[0]!.ms;
  }
  /** With its microseconds. */
  const nowThere = async () =>
    (await sql<{ now: string }>`select clock_timestamp()::text as now`.execute(db)).rows[0]!.now;

  test('a reading that is about to begin is not put off by a process that starts', async () => {
    const id = await setCalendar('marks = 0');
    await markCalendars(db, [id], 'Push');
    await sql`update graphile_worker._private_jobs set run_at = now() - interval '1 second' where key = ${await key()}`.execute(
      db,
    );
    const since = await nowThere();
    await poll(true);
    expect(await jobAfter(since)).toBeLessThan(0);
  });

  test('a push counts, and brings a reading earlier that nobody waited for', async () => {
    const id = await setCalendar("dirty_since = now() - interval '1 hour', dirty_by = 'Poll'");
    const since = await nowThere();
    await markCalendars(db, [id], 'Poll', 100_000);
    // However long it has been dirty, it is spread from now on; less than a second is as likely as winning a lottery.
    expect(await jobAfter(since)).toBeGreaterThan(1_000);
    await markCalendars(db, [id], 'Push');
    const marked = await nowThere();
    expect(await jobAfter(marked)).toBeLessThanOrEqual(300);
    expect((await calendarOf(0)).dirty_by).toBe('Push');
    await markCalendars(db, [id], 'Poll');
    expect((await calendarOf(0)).dirty_by).toBe('Push');
  });

  test('a notified calendar is not delayed by a later mark of all calendars, unless its mail server is paused', async () => {
    const id = await setCalendar("dirty_since = now(), dirty_by = 'Push', queued_for = now() - interval '1 second'");
    await markCalendars(db, [id], 'Poll', 100_000);
    expect(await jobAfter(await nowThere())).toBeLessThanOrEqual(300);
    await setCalendar("queued_for = now() - interval '1 second', not_before = now() + interval '1 hour'");
    const since = await nowThere();
    await markCalendars(db, [id], 'Poll', 100_000);
    expect(await jobAfter(since)).toBeGreaterThan(3_601_000);
  });

  test('however many notifications come, it is queued once, 300 ms after the last and 1.5 s after the first', async () => {
    const id = await setCalendar('marks = 0');
    for (let times = 0; times < 20; times++) await markCalendars(db, [id], 'Push');
    const { rows } = await sql<{ n: number; late: boolean }>`
      select count(*)::int as n, bool_and(run_at <= (select dirty_since + interval '1.5 s' from mail_calendar where id = ${id})) as late
      from graphile_worker._private_jobs where key = ${await key()}`.execute(db);
    expect(rows).toEqual([{ n: 1, late: true }]);
    await setCalendar(
      "dirty_since = now() - interval '2 seconds', dirty_by = 'Push', queued_for = now() - interval '1 second'",
    );
    await markCalendars(db, [id], 'Push');
    expect(await jobAfter(await nowThere())).toBeLessThanOrEqual(0);
  });

  test('a job that is due keeps its turn when more notifications come, and one that runs is followed by another', async () => {
    const id = await setCalendar("dirty_since = now() - interval '2 seconds', dirty_by = 'Push', marks = 0");
    await markCalendars(db, [id], 'Push');
    const since = await nowThere();
    const before = await jobAfter(since);
    await markCalendars(db, [id], 'Push');
    expect(await jobAfter(since)).toBe(before);
    expect((await calendarOf(0)).marks).toBe(2);
    const job = await key();
    await sql`update graphile_worker._private_jobs set locked_at = now(), locked_by = 'a worker' where key = ${job}`.execute(
      db,
    );
    await markCalendars(db, [id], 'Push');
    expect(await jobAfter(since)).toBeGreaterThan(0);
  });
});
