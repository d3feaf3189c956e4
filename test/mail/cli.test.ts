/** `roomgate mail list`, `callback` and `read`, and what `doctor` adds to them. */
import { afterAll, beforeAll, beforeEach, describe, expect, test } from '@jest/globals';
import { sql } from 'kysely';
import type { Config } from '../../src/config.ts';
import { type Context, openContext } from '../../src/context.ts';
import { openLog } from '../../src/log.ts';
import { openCallback } from '../../src/mail/callback.ts';
import { calendarRecord } from '../../src/mail/wire.ts';
import { openSecrets } from '../../src/mail-subscriptions/secrets.ts';
import { runCommand } from '../_util/command-line.ts';
import { makeTenant } from '../_util/factories.ts';
import { cloneDatabase } from '../_util/postgres.ts';
import { testConfig } from '../_util/service.ts';
import { makeCalendar, makeConflicts, makeSubscription, makeUnreadable, makeUnwritten } from './_util/rows.ts';

let database: Awaited<ReturnType<typeof cloneDatabase>>;
let context: Context & { close(): Promise<void> };
const ids: number[] = [];

const account = { User: 'rooms', Password: 'hunter2', PastDays: 1, FutureDays: 7 };
const servers = {
  school: { ...account, Kind: 'Ews', Url: 'http://localhost/EWS/Exchange.asmx' },
  dav: { ...account, Kind: 'CalDav', Url: 'http://localhost/dav/' },
  bare: { ...account, Kind: 'CalDav', Url: 'http://localhost/dav/' },
} as Config['MailServer'];

beforeAll(async () => {
  database = await cloneDatabase();
  const config = { ...testConfig(database.url, { IdpUrl: 'https://rooms.example' }), MailServer: servers };
  context = await openContext(config, openLog('silent'));
  const { db } = context;
  const school = await makeTenant(db, { rooms: ['Aula', 'Bibliothek'] });
  const dav = await makeTenant(db, { code: 'dav', rooms: ['Raum'] });
  await makeTenant(db, { code: 'bare' });
  await makeTenant(db, { code: 'without' });
  await sql`update resource set mailbox = 'room@dav.example' where mandator_id = ${dav.mandatorId}`.execute(db);
  for (const [index, { id: resourceId }] of school.resources.entries()) {
    const mailbox = `${'ab'[index]}@mail.example`;
    await db.updateTable('resource').set({ mailbox }).where('id', '=', resourceId).execute();
    ids.push(await makeCalendar(db, { mandatorId: school.mandatorId, resourceId }, { mailbox }));
  }
  await makeSubscription(db, { mandatorId: school.mandatorId, calendarId: ids[0]! }, ['AwaitingFirstPush', 'Active'], {
    columns: `state_since = '2026-11-20T06:00Z', seen_at = '2026-11-20T08:00Z', fault_text = null`,
  });
  await sql`update mail_calendar set read_at = '2026-11-20T08:01Z', found_by_push = 3 where id = ${ids[0]}`.execute(db);
  await makeConflicts(db, { mandatorId: school.mandatorId, calendarId: ids[0]! }, new Date('2126-11-20T09:00Z'));
  await makeUnreadable(db, { mandatorId: school.mandatorId, calendarId: ids[0]! }, '2026-11-20T07:00:00Z', 2);
});
afterAll(async () => {
  await context.close();
  await database.drop();
});

const run = (...args: string[]) => runCommand(context, ...args);
const failure = (err: string) => ({ code: 1, out: '', err: `${err}\n` });

describe('mail list', () => {
  test('a line for each calendar', async () => {
    const { code, out } = await run('mail', 'list', '--mandator', 'School');
    expect(code).toBe(0);
    expect(out.trimEnd().split('\n')).toEqual([
      'Mandator  Resource    Mailbox         Kind  Push    Since              Server heard       Last read          By push  By poll  Conflicts  Unreadable  Unwritten  Fault',
      'school    Aula        a@mail.example  Ews   Active  2026-11-20T06:00Z  2026-11-20T08:00Z  2026-11-20T08:01Z  3        0        1          2           0',
      'school    Bibliothek  b@mail.example  Ews   none                                          never              0        0        0          0           0',
      '',
      'Mandator  Mailbox         Unreadable item  Since              Why',
      'school    a@mail.example  uid 1            2026-11-20T07:01Z  It has no valid times.',
      'school    a@mail.example  item 0           2026-11-20T07:00Z  It has no valid times.',
    ]);
  });

  test('--json: the record of REST, with each conflict and each unreadable item, and the tenant', async () => {
    const { out } = await run('mail', 'list', '--json');
    const [first] = JSON.parse(out) as Record<string, unknown>[];
    expect(Object.keys(first ?? {})).toEqual(['Mandator', ...Object.keys(calendarRecord.shape)]);
    expect(first).toMatchObject({
      Mandator: 'school',
      Id: ids[0],
      ResourceName: 'Aula',
      Mailbox: 'a@mail.example',
      Kind: 'Ews',
      State: 'Active',
      PushWorks: true,
      FoundByPush: 3,
      Fault: null,
      ConflictCount: 1,
      Conflicts: [
        {
          Subject: 'Subject 0',
          Start: '2126-11-20T09:00:00.000Z',
          Uid: 'uid 0',
          OrganizerName: null,
          OrganizerEmail: null,
          BookingId: null,
        },
      ],
      UnreadableCount: 2,
      Unreadable: [
        {
          Uid: 'uid 1',
          ItemId: 'item 1',
          Reason: 'It has no valid times.',
          Since: '2026-11-20T07:01:00.000Z',
        },
        {
          Uid: null,
          ItemId: 'item 0',
          Reason: 'It has no valid times.',
          Since: '2026-11-20T07:00:00.000Z',
        },
      ],
    });
  });

  test('missing bookings are counted, and with --json each is listed with its reason', async () => {
    const { db } = context;
    const { mandator_id: mandatorId } = await db
      .selectFrom('mail_calendar')
      .select('mandator_id')
      .where('id', '=', ids[1]!)
      .executeTakeFirstOrThrow();
    await makeUnwritten(db, { mandatorId, calendarId: ids[1]! }, new Date('2126-11-20T09:00Z'), [4711, 4712]);
    await sql`update mail_calendar set writing_fault = 'It may not be written.' where id = ${ids[1]}`.execute(db);
    const [, second] = JSON.parse((await run('mail', 'list', '--json')).out) as Record<string, unknown>[];
    const { out } = await run('mail', 'list');
    await sql`delete from mail_writing`.execute(db);
    await sql`update mail_calendar set writing_fault = null`.execute(db);
    expect(second).toMatchObject({
      ResourceName: 'Bibliothek',
      WritingFault: 'It may not be written.',
      UnwrittenCount: 2,
      Unwritten: [
        {
          BookingId: 4711,
          Start: '2126-11-20T09:00:00.000Z',
          End: '2126-11-20T10:00:00.000Z',
          Cause: 'Changed',
          Reason: 'Reason 1',
          NextTryAt: '2126-11-20T08:00:00.000Z',
        },
        { BookingId: 4712, Start: '2126-11-21T09:00:00.000Z', Cause: 'Refused', Reason: 'Reason 2' },
      ],
    });
    expect(out).toMatch(/Bibliothek .* 0 {10}0 {11}2 {10}CannotWrite$/m);
  });

  test('none: says what to set; a tenant that there is not is named', async () => {
    expect(await run('mail', 'list', '--mandator', 'without')).toEqual({
      code: 0,
      err: '',
      out: 'No calendar of without is read: set MailServer, give resources a Mailbox, and check that a worker runs.\n',
    });
    expect((await run('mail', 'list', '--mandator', 'without', '--json')).out).toBe('[]\n');
    expect(await run('mail', 'list', '--mandator', 'nobody')).toEqual(
      failure('There is no tenant "nobody"; create it with: roomgate apply FILE'),
    );
  });
});

describe('mail callback', () => {
  test('CalDAV: the URL with its secret, the same each time, also before a worker has run', async () => {
    const { code, out } = await run('mail', 'callback', '--mandator', 'dav', '--json');
    expect(code).toBe(0);
    const { Url, ...told } = JSON.parse(out) as { Url: string };
    expect(told).toEqual({ Kind: 'CalDav', GivenByService: false });
    const [, secret = ''] = /^https:\/\/rooms\.example\/api\/webhooks\/mailserver\?k=(.*)$/.exec(Url) ?? [];
    const subscription = await context.db
      .selectFrom('mail_subscription')
      .where('kind', '=', 'CalDav')
      .select(['id', 'state', 'callback_url'])
      .execute();
    expect(subscription).toEqual([
      {
        id: openSecrets(context.config).read('callback', secret),
        state: 'AwaitingFirstPush',
        callback_url: 'https://rooms.example/api/webhooks/mailserver',
      },
    ]);
    const again = await run('mail', 'callback', '--mandator', 'DAV');
    expect(again.out.split('\n')[0]).toBe(Url);
  });

  test('CalDAV: once it is there, nothing else is touched, whatever the settings of the shell leave out', async () => {
    const config = { ...context.config, MailServer: { dav: servers['dav']! } };
    await openCallback({ config, db: context.db }, 'dav');
    const retired = context.db.selectFrom('mail_calendar').where('retired_at', 'is not', null).selectAll();
    expect(await retired.execute()).toEqual([]);
  });

  test('EWS: the URL without a secret, and that nothing is to be done', async () => {
    const { out } = await run('mail', 'callback', '--mandator', 'school');
    expect(out).toMatch(/^https:\/\/rooms\.example\/api\/webhooks\/mailserver\nNo action is needed/);
  });

  test.each([
    ['bare', /^Tenant bare has no calendar yet; give its resources a Mailbox/],
    [
      'without',
      /^Tenant without has no mail server; set MailServer\.without .*, restart roomgate, and run this again\./,
    ],
    ['nobody', /^There is no tenant "nobody"/],
  ])('%s has none, and what to do', async (mandator, message) => {
    const { code, out, err } = await run('mail', 'callback', '--mandator', mandator);
    expect([code, out]).toEqual([1, '']);
    expect(err).toMatch(message);
  });
});

describe('mail read', () => {
  const states = async () => {
    const { rows } = await sql<{
      id: number;
      cursor: string | null;
      by: string | null;
      waits: boolean;
      queued: boolean;
    }>`
      select id, cursor, dirty_by as by, not_before is not null as waits,
        exists (select from graphile_worker._private_jobs where key = 'mail calendar ' || calendar.id) as queued
      from mail_calendar as calendar where mailbox like '%@mail.example' order by id`.execute(context.db);
    return rows.map(({ cursor, by, waits, queued }) => [cursor, by, waits, queued]);
  };
  beforeEach(async () => {
    await sql`select graphile_worker.remove_job(key) from graphile_worker._private_jobs`.execute(context.db);
    await sql`
      update mail_calendar set cursor = 'c', dirty_since = null, dirty_by = null, not_before = now() + interval '1 hour',
        fault = 'Unreachable', fault_text = 'x'`.execute(context.db);
  });

  test('queues all of a tenant, also those that wait after a fault; cursors stay', async () => {
    expect(await run('mail', 'read', '--mandator', 'school')).toEqual({
      code: 0,
      err: '',
      out: '2 calendars are read by the worker within seconds.\n',
    });
    expect(await states()).toEqual(Array(2).fill(['c', 'Request', false, true]));
  });

  test('--mailbox: one, in any case; --whole: from the beginning; who throttles us is left alone', async () => {
    await sql`update mail_calendar set fault = 'Throttled' where mailbox = 'b@mail.example'`.execute(context.db);
    expect((await run('mail', 'read', '--mailbox', 'B@mail.example', '--whole', '--json')).out).toEqual(
      expect.stringMatching(
        /^\{"Calendars":1,"Whole":true,"Waiting":\[\{"Mandator":"school","Mailbox":"b@mail.example","Until":"[^"]+","Why":"the mail server has asked/,
      ),
    );
    expect(await states()).toEqual([
      ['c', null, true, false],
      [null, 'Request', true, true],
    ]);
  });

  test('those that wait all the same are named, until when and why', async () => {
    const told = async (until: string) => {
      await sql`update mail_calendar set fault = 'AccessLost', fault_text = 'x answers 401.', fault_until = ${until}
        where mailbox = 'a@mail.example'`.execute(context.db);
      return (await run('mail', 'read', '--mandator', 'school', '--whole')).out.split('\n');
    };
    expect(await told('2126-11-20T08:00:00Z')).toEqual([
      '1 calendar is read by the worker within seconds, as a whole.',
      'school/Aula (a@mail.example) waits until 2126-11-20T08:00:00Z: the mail server has refused the account (401).',
      'Correct the account in MailServer and restart the workers: they then try at once.',
      '',
    ]);
    expect(await told('2026-01-01T08:00:00Z')).toEqual([
      '2 calendars are read by the worker within seconds, as a whole.',
      '',
    ]);
  });

  test('none is an error that says what to do', async () => {
    expect(await run('mail', 'read', '--mailbox', 'c@mail.example')).toEqual(
      failure('No calendar has the mailbox c@mail.example; "roomgate mail list" lists those that are read.'),
    );
    expect((await run('mail', 'read', '--mandator', 'without')).err).toMatch(/^No calendar of without is read/);
  });
});

test('doctor reports mail servers after the database', async () => {
  const { out } = await run('doctor', '--json');
  const checks = (JSON.parse(out) as { Check: string }[]).map(({ Check }) => Check);
  expect(checks.slice(checks.indexOf('Database')).filter((check) => check !== 'Calendar')).toEqual([
    ...[
      'Database',
      'Temporary files',
      'Batches',
      'Moves',
      'Secrets',
      'Mail callback',
      'Mail callback',
      'Mail callback',
    ],
    ...['Mail', 'Mail', 'Mail', 'Webhooks', 'Server'],
  ]);
});
