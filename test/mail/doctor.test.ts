/** What `roomgate doctor` and /metrics tell of mail servers. */
import { createServer, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { afterAll, afterEach, beforeAll, describe, expect, test } from '@jest/globals';
import { sql } from 'kysely';
import type { Config } from '../../src/config.ts';
import { type Database, openDatabase } from '../../src/db/database.ts';
import type { Finding } from '../../src/finding.ts';
import { openLog } from '../../src/log.ts';
import { mailFigures } from '../../src/mail/figures.ts';
import { examineMail } from '../../src/mail/health.ts';
import { writtenStates } from '../../src/mail/written.ts';
import { makeTenant } from '../_util/factories.ts';
import { cloneDatabase } from '../_util/postgres.ts';
import { testConfig } from '../_util/service.ts';
import { makeCalendar, makeConflicts, makeSubscription, makeUnreadable } from './_util/rows.ts';

let database: Awaited<ReturnType<typeof cloneDatabase>>;
let db: Database;
let tenant: Awaited<ReturnType<typeof makeTenant>>;
/** What answers at the callback URL. */
let proxy: Server;
let answer: { status: number; type: string };
let here: string;

beforeAll(async () => {
  database = await cloneDatabase();
  db = openDatabase(database.url, { max: 2, log: openLog('silent'), statementTimeout: 5_000 });
  tenant = await makeTenant(db, { rooms: ['Aula', 'Bibliothek'] });
  proxy = createServer((_request, response) => {
    response.writeHead(answer.status, { 'Content-Type': answer.type }).end('{}');
  }).listen(0, '127.0.0.1');
  await new Promise((resolve) => proxy.once('listening', resolve));
  here = `http://127.0.0.1:${(proxy.address() as AddressInfo).port}`;
  answer = { status: 405, type: 'application/problem+json' };
});
afterAll(async () => {
  proxy.closeAllConnections();
  await new Promise((resolve) => proxy.close(resolve));
  await db.destroy();
  await database.drop();
});

const ews = { Kind: 'Ews', Url: 'http://localhost/EWS/Exchange.asmx', User: 'rooms', Password: 'hunter2' };
function config(MailServer: Record<string, object>, settings: Record<string, string> = {}): Config {
  const read = testConfig(database.url, { IdpUrl: here, RoomsHost: here, ...settings });
  return { ...read, MailServer: MailServer as Config['MailServer'] };
}
const examine = (...given: Parameters<typeof config>) => examineMail({ config: config(...given), db });
const line = ({ check, level, text }: Finding) => `${level} ${check}: ${text}`;
const ofCheck = (findings: Finding[], check: string) => findings.filter((one) => one.check === check);

test('without a mail server there is one line, and nothing is wrong', async () => {
  expect(await examine({})).toEqual([{ check: 'Mail', level: 'ok', text: 'no mail server is set' }]);
});

test('calendars of a tenant whose mail server is not set here: the shell of the doctor has other settings', async () => {
  const calendars = await Promise.all(
    tenant.resources.map(({ id: resourceId }, index) =>
      makeCalendar(db, { mandatorId: tenant.mandatorId, resourceId }, { mailbox: `room-${index}@mail.example` }),
    ),
  );
  const text = 'school: 2 calendars are stored for a mail server that is not set here';
  const warning = { check: 'Mail', level: 'warning', text, remedy: expect.stringMatching(/same variables/) };
  expect(await examine({})).toEqual([warning]);
  expect(await examine({ other: ews })).toContainEqual(warning);
  expect(await examine({ school: ews })).not.toContainEqual(warning);
  await db.updateTable('mail_calendar').set({ retired_at: new Date() }).execute();
  expect((await examine({})).map(line)).toEqual(['ok Mail: no mail server is set']);
  await db.deleteFrom('mail_calendar').where('id', 'in', calendars).execute();
});

describe('settings', () => {
  test.each<[Record<string, object>, string, RegExp]>([
    [{ nobody: ews }, 'fault Mail settings: MailServer.nobody: there is no such tenant', /roomgate apply/],
    [
      { school: { ...ews, Calendars: [{ Mailbox: 'a@x.example', ResourceName: 'Kapelle' }] } },
      'fault Mail settings: MailServer.school.Calendars: "Kapelle" is not a resource',
      /ResourceName/,
    ],
    [{ school: ews }, 'warning Mail: school: Ews, no calendar is read', /Mailbox/],
  ])('%j', async (MailServer, expected, remedy) => {
    const found = (await examine(MailServer)).find((finding) => line(finding) === expected);
    expect(found?.remedy).toMatch(remedy);
  });
});

describe('the callback URL', () => {
  const path = '/api/webhooks/mailserver';
  const look = async (server: object, settings: Record<string, string> = {}) => {
    const [finding] = ofCheck(await examine({ school: { ...ews, ...server } }, settings), 'Mail callback');
    return finding!;
  };
  const remote = { Url: 'https://mail.example/EWS/Exchange.asmx' };
  const graph = { Kind: 'Graph', Url: 'https://graph.microsoft.com/v1.0' };
  const own = (url: string) => ({ MailServerPushNotificationEndpointUrl: url });

  test.each<[Record<string, string>, string]>([
    [{}, `${path}, by IdpUrl, answers`],
    [
      { MailServerPushNotificationUseLegacyEndpoint: 'true' },
      '/WebServices/SyncNotification.svc, by RoomsHost, answers',
    ],
  ])('%j: which setting has decided, and whether it leads here', async (settings, expected) => {
    expect(line(await look({}, settings))).toBe(`ok Mail callback: school: ${here}${expected}`);
    expect(line(await look({}, own(`${here}/x?y`)))).toBe(
      `ok Mail callback: school: ${here}/x, by MailServerPushNotificationEndpointUrl, answers`,
    );
  });

  test.each<[object, string, string, RegExp]>([
    [remote, 'http://localhost:8080', 'fault', /means this machine/],
    [remote, 'https://[::1]/', 'fault', /means this machine/],
    [remote, 'http://rooms.example', 'warning', /is not an https URL/],
    [graph, 'http://rooms.example', 'fault', /is not an https URL/],
    [graph, 'https://192.168.1.4/', 'fault', /private network/],
    [remote, 'https://127.0.0.1:9/', 'fault', /means this machine/],
    [{}, 'http://127.0.0.1:59999/', 'warning', /does not answer from here \(ECONNREFUSED\)/],
  ])('%j %s is a %s', async (server, url, level, text) => {
    const finding = await look(server, own(url));
    expect(finding).toMatchObject({ level, text: expect.stringMatching(text) });
    expect(finding.remedy).toMatch(/MailServerPushNotificationEndpointUrl|Publish/);
  });

  test.each([
    [404, 'application/problem+json'],
    [405, 'text/html'],
    [302, 'text/html'],
  ])('something else answers there: %s %s', async (status, type) => {
    answer = { status, type };
    expect(await look({})).toMatchObject({
      level: 'fault',
      text: expect.stringMatching(`does not lead here: a GET is answered ${status}`),
      remedy: expect.stringContaining(path),
    });
    answer = { status: 405, type: 'application/problem+json' };
  });
});

describe('a calendar', () => {
  afterEach(() => sql`delete from mail_calendar`.execute(db));
  const place = (index = 0) => ({
    mandatorId: tenant.mandatorId,
    resourceId: tenant.resources[index]!.id,
  });
  const active = ['AwaitingFirstPush', 'Active'] as const;

  /** The lines of the calendars, and that of the tenant. */
  async function look(server: object = {}) {
    const findings = await examine({ school: { ...ews, ...server } });
    return { calendars: ofCheck(findings, 'Calendar'), tenant: ofCheck(findings, 'Mail')[0]! };
  }

  test('without a fault has no line of its own', async () => {
    const id = await makeCalendar(
      db,
      place(),
      {},
      `read_at = '2026-11-20T08:00:30Z', found_by_push = 12, found_by_poll = 3`,
    );
    await makeSubscription(db, { mandatorId: tenant.mandatorId, calendarId: id }, active, {
      columns: `state_since = '2026-11-20T06:00:00Z', expires_at = now() + interval '1 hour', renew_at = now() + interval '30 minutes'`,
    });
    const { calendars, tenant: own } = await look();
    expect(calendars).toEqual([]);
    expect(line(own)).toBe(
      'ok Mail: school: Ews, 1 calendar, push works for 1, for all of these since 2026-11-20T06:00Z, all read since 2026-11-20T08:00Z, changes by push 12, by polling 3',
    );
  });

  test.each<[string, object, string, readonly ('AwaitingFirstPush' | 'Active' | 'Failed')[], string, RegExp]>([
    [
      `fault = 'AccessLost', fault_text = 'not yours', read_at = now()`,
      {},
      '',
      active,
      'fault .* cannot be read \\(AccessLost: not yours\\), last read: 20',
      /ApplicationImpersonation.*mail read/,
    ],
    [
      `fault = 'Unreachable', fault_text = 'no route', read_at = now()`,
      {},
      '',
      active,
      'warning .* cannot be read \\(Unreachable: no route\\)',
      /Url of MailServer.*mail read/,
    ],
    [
      `fault = 'AccessLost', read_at = now(),
          fault_text = 'x answers 401.', fault_until = now() + interval '1 minute'`,
      {},
      '',
      active,
      'fault .* cannot be read \\(AccessLost: x answers 401',
      /^(?!.*at once with).*restart the workers.*"roomgate mail read" does not shorten it/,
    ],
    [
      `fault = 'Unreachable', fault_status = 404, fault_text = 'x answers 404 for /dav', read_at = now()`,
      {},
      '',
      active,
      'warning .* cannot be read \\(Unreachable: x answers 404',
      /^(?!.*this machine reaches).*correct Url of MailServer, or the Mailbox/,
    ],
    [
      `fault = 'Unreachable', fault_status = 502, fault_text = 'x answers 502', read_at = now()`,
      {},
      '',
      active,
      'warning .* cannot be read \\(Unreachable: x answers 502',
      /^(?!.*this machine reaches).*answers with a failure/,
    ],
    [
      `fault = 'Unreachable', fault_text = 'no route', read_at = now() - interval '2 hours'`,
      {},
      '',
      active,
      'fault .* cannot be read',
      /Url of MailServer/,
    ],
    [
      `dirty_since = now() - interval '6 minutes', dirty_by = 'Push', read_at = now()`,
      {},
      '',
      active,
      'warning .* changes since .* have not been read',
      /worker/,
    ],
    [
      `dirty_since = now() - interval '6 minutes', dirty_by = 'Push', read_at = now(), continuation = '{}',
          continuation_since = now() - interval '5 minutes', continuation_items = 2000`,
      {},
      '',
      active,
      'warning .* is still being read: the reading began at .* and has 2000 items so far',
      /No action is needed/,
    ],
    [
      'read_at = now()',
      {},
      '',
      ['AwaitingFirstPush', 'Failed'],
      'warning .* push does not work \\(Failed since .*: Failed now\\)',
      /web\.config.*6 and 7.*mail read/,
    ],
    [
      `read_at = now(), writing_fault = 'It refuses.'`,
      {},
      '',
      ['AwaitingFirstPush', 'Failed'],
      'warning .* cannot be written: It refuses\\.; push does not work',
      /CalendarWriting/,
    ],
    ['read_at = now()', {}, '', [], 'warning .* has no push yet \\(Provisioning', /worker/],
    [
      'read_at = now(), found_by_poll = 9, found_by_push = 8',
      {},
      '',
      active,
      'warning .* 9 changes were found by polling and 8 by push',
      /callback URL/,
    ],
    [
      'read_at = now()',
      {},
      `expires_at = now() + interval '20 hours', renew_at = now() - interval '1 minute'`,
      active,
      'warning .* its subscription ends at .* and is not renewed',
      /ApplicationImpersonation/,
    ],
  ])('%s', async (columns, server, subscription, states, expected, remedy) => {
    const id = await makeCalendar(db, place(), {}, columns);
    await makeSubscription(db, { mandatorId: tenant.mandatorId, calendarId: id }, states, {
      columns: subscription,
    });
    const { calendars, tenant: own } = await look(server);
    expect(calendars).toHaveLength(1);
    expect(line(calendars[0]!)).toMatch(
      new RegExp(`^${expected.replace(' .* ', ' Calendar: school/Aula \\(aula@mail.example\\): (.*; )?')}`),
    );
    expect(calendars[0]!.remedy).toMatch(remedy);
    expect(own.level).toBe('warning');
  });

  test('all that is wrong with it is one line, the worst first; conflicts are counted', async () => {
    const id = await makeCalendar(db, place(), {}, `fault = 'AccessLost', fault_text = 'Failed now'`);
    await makeSubscription(db, { mandatorId: tenant.mandatorId, calendarId: id }, ['Failed'], {
      columns: `state_since = '2026-11-20T06:00:00Z'`,
    });
    await makeConflicts(db, { mandatorId: tenant.mandatorId, calendarId: id }, new Date(Date.now() + 1e8), 2);
    const { calendars } = await look();
    expect(calendars.map(line)).toEqual([
      'fault Calendar: school/Aula (aula@mail.example): cannot be read (AccessLost: Failed now), last read: never; push does not work (Failed since 2026-11-20T06:00Z); changes are found by polling; 2 items are not booked, because the room is taken',
    ]);
  });

  test('what cannot be read is counted, and the newest of it named with the reason and since when', async () => {
    const id = await makeCalendar(db, place(), {}, 'read_at = now()');
    const calendar = { mandatorId: tenant.mandatorId, calendarId: id };
    await makeSubscription(db, calendar, active);
    await makeUnreadable(db, calendar, '2026-11-20T07:00:00Z');
    const why = 'It has no valid times.';
    expect((await look()).calendars).toEqual([
      {
        check: 'Calendar',
        level: 'warning',
        text: `school/Aula (aula@mail.example): 1 item is not booked, because it cannot be read: item 0 since 2026-11-20T07:00Z (${why})`,
        remedy: expect.stringMatching(/^"roomgate mail list" lists them\. .* booked automatically\.$/),
      },
    ]);
    await sql`delete from mail_item`.execute(db);
    await makeUnreadable(db, calendar, '2026-11-20T07:00:00Z', 133);
    const { text } = (await look()).calendars[0]!;
    expect(text).toContain(
      `133 items are not booked, because they cannot be read: uid 132 since 2026-11-20T09:12Z (${why}), uid 131 since`,
    );
    expect(text).toMatch(/, and 130 more$/);
  });

  test('of many the first are listed one by one, faults first', async () => {
    const { rows } = await sql<{ id: number }>`
      insert into resource (mandator_id, location_id, name)
      select ${tenant.mandatorId}, ${tenant.locationId}, 'Many ' || n from generate_series(1, 30) as n returning id`.execute(
      db,
    );
    for (const [index, { id: resourceId }] of rows.entries())
      await makeCalendar(
        db,
        { mandatorId: tenant.mandatorId, resourceId },
        { mailbox: `many${index}@x.example` },
        index === 29 ? `fault = 'AccessLost', fault_text = 'no'` : '',
      );
    const { calendars } = await look();
    expect(calendars.map(({ level }) => level)).toEqual(['fault', ...Array(20).fill('warning')]);
    expect(calendars.at(-1)?.text).toBe('school: 10 more have problems');
  });

  test('/metrics: calendars by fault, subscriptions by state, changes, waiting, conflicts and what cannot be read', async () => {
    const first = await makeCalendar(
      db,
      place(),
      {},
      `dirty_since = now() - interval '90 seconds', dirty_by = 'Push', found_by_push = 5, found_by_poll = 2`,
    );
    await makeCalendar(
      db,
      place(1),
      { mailbox: 'b@x.example' },
      `fault = 'Throttled', fault_text = 'x', found_by_poll = 1`,
    );
    await makeSubscription(db, { mandatorId: tenant.mandatorId, calendarId: first }, active);
    await makeConflicts(db, { mandatorId: tenant.mandatorId, calendarId: first }, new Date(Date.now() + 1e8), 3);
    await makeUnreadable(db, { mandatorId: tenant.mandatorId, calendarId: first }, '2026-11-20T07:00:00Z', 4);
    const figures = Object.fromEntries(
      await Promise.all(
        Object.entries(mailFigures).map(async ([name, figure]) => [name, await figure.read(db)] as const),
      ),
    );
    expect(figures).toEqual({
      roomgate_mail_calendars: {
        None: 1,
        Unreachable: 0,
        AccessLost: 0,
        Throttled: 1,
        StateLost: 0,
        Unreadable: 0,
        TooLarge: 0,
      },
      roomgate_mail_subscriptions: {
        None: 1,
        Provisioning: 0,
        AwaitingFirstPush: 0,
        Active: 1,
        Suspect: 0,
        Dead: 0,
        Failed: 0,
        Replaced: 0,
        Disabled: 0,
      },
      roomgate_mail_changes_found: { Push: 5, Poll: 3 },
      roomgate_mail_oldest_change_seconds: expect.any(Number),
      roomgate_mail_conflicts: 3,
      roomgate_mail_unreadable_items: 4,
      roomgate_mail_subscriptions_expiring: 0,
      roomgate_mail_subscriptions_silent_seconds: 0,
      roomgate_mail_written_items: Object.fromEntries(writtenStates.map((state) => [state, 0])),
      roomgate_mail_declined_items: { Telling: 0, Told: 0, Nobody: 0, Impossible: 0, Refused: 0 },
      roomgate_mail_writes: { Written: 0, PutBack: 0, TakenOver: 0 },
      roomgate_mail_echoes: 0,
    });
    expect(figures['roomgate_mail_oldest_change_seconds']).toBeCloseTo(90, -1);
  });
});

test('a database that cannot be asked is a fault with a remedy, and not the end of the doctor', async () => {
  const broken = openDatabase('postgres://nobody@127.0.0.1:9/x', {
    max: 1,
    log: openLog('silent'),
    statementTimeout: 1_000,
  });
  const findings = await examineMail({ config: config({ school: ews }), db: broken });
  await broken.destroy();
  expect(findings).toMatchObject([
    {
      check: 'Mail',
      level: 'fault',
      text: expect.stringMatching(/^cannot be examined: /),
      remedy: expect.stringContaining('the log of PostgreSQL'),
    },
  ]);
});
