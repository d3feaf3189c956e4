import { afterAll, beforeAll, describe, expect, test } from '@jest/globals';
import { sql } from 'kysely';
import type { Config } from '../../src/config.ts';
import { examineCallback } from '../../src/mail-subscriptions/reach.ts';
import { makeTenant } from '../_util/factories.ts';
import { type MasterData, masterData } from '../_util/master-data.ts';
import { type Service, startService } from '../_util/service.ts';
import { makeCalendar, makeConflicts, makeSubscription, makeUnwritten } from './_util/rows.ts';

let service: Service;
let admin: MasterData;
beforeAll(async () => {
  // The rows of this test shall stay as they are.
  service = await startService({ Role: 'Web' }, ['Aula', 'Bibliothek', 'Chor']);
  admin = masterData(service, await service.signIn(service.tenant, 'Admin'));
});
afterAll(() => service.stop());

const everything = `{ mailSubscriptions { id resource { id name } mailbox kind state stateSince stateText pushWorks pushWorksSince
  lastPushAt expiresAt lastReadAt nextReadAt foundByPush foundByPoll fault { kind text } conflictCount
  conflicts { subject start end uid reason organizerName organizerEmail bookingId } history { subscriptionId from to text at } } }`;

type Tree = Record<string, unknown>;
async function ask(who = admin, query = everything): Promise<Tree[]> {
  const { data, errors } = await who.ask(query);
  expect(errors).toBeUndefined();
  return data?.['mailSubscriptions'] as Tree[];
}
const hour = 3_600_000;
const tomorrow = new Date(Math.ceil(Date.now() / hour) * hour + 24 * hour);
const at = (hours: number) => new Date(tomorrow.getTime() + hours * hour).toISOString();

test('without a mail server there are none', async () => {
  expect(await ask()).toEqual([]);
});

describe('with one', () => {
  const ids: number[] = [];
  beforeAll(async () => {
    const { db } = service.context;
    const { mandatorId, resources } = service.tenant;
    const place = (index: number) => ({ mandatorId, resourceId: resources[index]!.id });
    // Not in the order of the rooms.
    ids[1] = await makeCalendar(
      db,
      place(1),
      { mailbox: 'library@mail.example' },
      `fault = 'AccessLost', fault_text = 'The account may not read it.', found_by_poll = 7,
       read_at = '2026-11-20T08:00:00Z', not_before = '2126-11-20T09:00:00Z'`,
    );
    ids[0] = await makeCalendar(
      db,
      place(0),
      {},
      `read_at = '2026-11-20T08:00:00Z', found_by_push = 30, found_by_poll = 1`,
    );
    await makeCalendar(db, place(2), { mailbox: 'choir@mail.example' }, 'retired_at = now()');
    await makeSubscription(db, { mandatorId, calendarId: ids[0] }, ['AwaitingFirstPush', 'Failed']);
    await makeSubscription(db, { mandatorId, calendarId: ids[0] }, ['AwaitingFirstPush', 'Active'], {
      columns: `seen_at = '2026-11-20T07:59:00Z', state_since = '2026-11-02T06:00:00Z', expires_at = '2026-11-27T06:00:00Z', fault_text = null`,
    });
    const other = await makeTenant(db, { code: 'other', rooms: ['Geheim'] });
    const foreign = await makeCalendar(db, {
      mandatorId: other.mandatorId,
      resourceId: other.resources[0]!.id,
    });
    await makeConflicts(db, { mandatorId: other.mandatorId, calendarId: foreign }, tomorrow);
  });

  test('each calendar that is read is there, by the name of its room', async () => {
    const [first, second, ...more] = await ask();
    expect(more).toEqual([]);
    expect(first).toMatchObject({
      id: String(ids[0]),
      resource: { id: String(service.tenant.resources[0]!.id), name: 'Aula' },
      mailbox: 'aula@mail.example',
      kind: 'Ews',
      state: 'Active',
      stateText: null,
      pushWorks: true,
      stateSince: '2026-11-02T06:00:00.000Z',
      pushWorksSince: '2026-11-02T06:00:00.000Z',
      lastPushAt: '2026-11-20T07:59:00.000Z',
      expiresAt: '2026-11-27T06:00:00.000Z',
      lastReadAt: '2026-11-20T08:00:00.000Z',
      foundByPush: 30,
      foundByPoll: 1,
      fault: null,
      conflictCount: 0,
      conflicts: [],
    });
    expect((first!['history'] as Tree[]).map(({ from, to, text }) => [from, to, text])).toEqual([
      ['AwaitingFirstPush', 'Active', null],
      ['Provisioning', 'AwaitingFirstPush', null],
      [null, 'Provisioning', null],
      ['AwaitingFirstPush', 'Failed', 'Failed now'],
      ['Provisioning', 'AwaitingFirstPush', null],
      [null, 'Provisioning', null],
    ]);
    expect(second).toEqual({
      id: String(ids[1]),
      resource: { id: String(service.tenant.resources[1]!.id), name: 'Bibliothek' },
      mailbox: 'library@mail.example',
      kind: 'Ews',
      state: null,
      stateSince: null,
      stateText: null,
      pushWorks: false,
      pushWorksSince: null,
      lastPushAt: null,
      expiresAt: null,
      lastReadAt: '2026-11-20T08:00:00.000Z',
      nextReadAt: '2126-11-20T09:00:00.000Z',
      foundByPush: 0,
      foundByPoll: 7,
      conflictCount: 0,
      conflicts: [],
      history: [],
      fault: { kind: 'AccessLost', text: 'The account may not read it.' },
    });
  });

  test('it is read next when its job is due, or else by how well its push works', async () => {
    const { db } = service.context;
    await db.updateTable('mail_calendar').set({ not_before: null }).where('id', '=', ids[1]!).execute();
    const polled = (await ask()).map(({ lastReadAt, nextReadAt }) =>
      Math.round((Date.parse(String(nextReadAt)) - Date.parse(String(lastReadAt))) / 60_000),
    );
    // The first has had its push for more than a day.
    expect(polled).toEqual([60, 1]);
    await sql`select mark_mail_calendars(array[${ids[1]}]::integer[], 'Request')`.execute(db);
    const [, marked] = await ask();
    const { rows } = await sql<{ due: Date }>`
      select run_at as due from graphile_worker._private_jobs where key = ${`mail calendar ${ids[1]}`}`.execute(db);
    expect(marked!['nextReadAt']).toBe(rows[0]!.due.toISOString());
  });

  test('conflicts: the first hundred that are not over, who called them, what is in the way, and how many there are', async () => {
    const { db } = service.context;
    const { mandatorId } = service.tenant;
    const place = { mandatorId, calendarId: ids[0]! };
    const booked = await admin.post('/bookings', {
      ResourceId: service.tenant.resources[0]!.id,
      Start: at(0.5),
      End: at(1.5),
      Subject: 'Ours',
    });
    expect(booked.status).toBe(201);
    await makeConflicts(db, place, tomorrow, 133);
    await sql`
      update mail_item set occupied = '[2026-11-01T08:00Z,2026-11-01T09:00Z)'
      where group_id in ('group 130', 'group 131', 'group 132')`.execute(db);
    await sql`
      update mail_item set is_private = true, organizer_name = 'Ada Lovelace', organizer_email = 'ada@mail.example'
      where calendar_id = ${ids[0]} and group_id = 'group 0'`.execute(db);
    await makeConflicts(db, { mandatorId, calendarId: ids[1]! }, tomorrow, 2);
    await db
      .updateTable('mail_item')
      .set({ state: 'Gone' })
      .where('calendar_id', '=', ids[1]!)
      .where('group_id', '=', 'group 0')
      .execute();
    const [first, second] = await ask();
    const conflicts = first!['conflicts'] as Tree[];
    expect([first!['conflictCount'], conflicts.length]).toEqual([130, 100]);
    expect(conflicts.slice(0, 2)).toEqual([
      {
        subject: 'Subject 0',
        start: at(0),
        end: at(1),
        uid: 'uid 0',
        reason: 'The room is taken.',
        organizerName: 'Ada Lovelace',
        organizerEmail: 'ada@mail.example',
        bookingId: String(booked.body['Id']),
      },
      {
        subject: 'Subject 1',
        start: at(24),
        end: at(25),
        uid: 'uid 1',
        reason: 'The room is taken.',
        organizerName: null,
        organizerEmail: null,
        bookingId: null,
      },
    ]);
    expect(second).toMatchObject({ conflictCount: 1, conflicts: [{ subject: 'Subject 1' }] });
  });

  describe('what is booked and does not stand there', () => {
    const unwritten = `{ mailSubscriptions { id writingFault unwrittenCount
      unwritten { bookingId start end cause reason nextTryAt booking { subject } } } }`;
    let bookingId: number;
    beforeAll(async () => {
      const { mandatorId, resources } = service.tenant;
      const { body } = await admin.post('/bookings', {
        ResourceId: resources[0]!.id,
        Start: at(2.5),
        End: at(3.5),
        Subject: 'Unseen',
      });
      bookingId = Number(body['Id']);
      const others = Array.from({ length: 102 }, (_, index) => 1_000_000 + index);
      const place = { mandatorId, calendarId: ids[0]! };
      await makeUnwritten(service.context.db, place, tomorrow, [bookingId, ...others]);
      await sql`
        update mail_writing set starts_at = '2026-11-01T08:00Z', ends_at = '2026-11-01T09:00Z'
        where booking_id = 1000101`.execute(service.context.db);
    });

    test('the first hundred that are not over, how many there are, and each with its booking', async () => {
      const [first, second] = await ask(admin, unwritten);
      const items = first!['unwritten'] as Tree[];
      expect([first!['unwrittenCount'], items.length]).toEqual([102, 100]);
      expect(items.slice(0, 2)).toEqual([
        {
          bookingId: String(bookingId),
          start: at(0),
          end: at(1),
          cause: 'Changed',
          reason: 'Reason 1',
          nextTryAt: at(-1),
          booking: { subject: 'Unseen' },
        },
        {
          bookingId: '1000000',
          start: at(24),
          end: at(25),
          cause: 'Refused',
          reason: 'Reason 2',
          nextTryAt: at(23),
          booking: null,
        },
      ]);
      expect(second).toMatchObject({ writingFault: null, unwrittenCount: 0, unwritten: [] });
    });

    test('REST says the same, and refuses anybody but Admins', async () => {
      const { status, body } = await admin.get(`/mail-subscriptions/${ids[0]}`);
      expect([status, body['WritingFault'], body['UnwrittenCount']]).toEqual([200, null, 102]);
      const items = body['Unwritten'] as Tree[];
      expect(items).toHaveLength(100);
      expect(items[0]).toEqual({
        BookingId: bookingId,
        Start: at(0),
        End: at(1),
        Cause: 'Changed',
        Reason: 'Reason 1',
        NextTryAt: at(-1),
      });
      for (const role of ['User', 'Display'] as const) {
        const who = masterData(service, await service.signIn(service.tenant, role));
        expect((await who.get(`/mail-subscriptions/${ids[0]}`)).status).toBe(403);
        const { data, errors } = await who.ask(unwritten);
        expect([data, errors?.[0]?.['extensions']]).toMatchObject([{ mailSubscriptions: null }, { code: 'FORBIDDEN' }]);
      }
      expect((await admin.get('/mail-subscriptions/nothing')).status).toBe(404);
    });

    test('another tenant sees its own items, and never our booking', async () => {
      const { db } = service.context;
      const tenant = await makeTenant(db, { code: 'unseen', rooms: ['Geheim'] });
      const { mandatorId, resources } = tenant;
      const calendarId = await makeCalendar(db, { mandatorId, resourceId: resources[0]!.id });
      await makeUnwritten(db, { mandatorId, calendarId }, tomorrow, [bookingId]);
      const token = await service.signIn(tenant, 'Admin');
      const who = masterData(service, token, 'unseen');
      expect(await ask(who, unwritten)).toMatchObject([{ unwrittenCount: 1, unwritten: [{ booking: null }] }]);
      expect((await who.get(`/mail-subscriptions/${ids[0]}`)).status).toBe(404);
    });

    test('subscribers are notified that an item is there again, and that a calendar cannot be written', async () => {
      const { db, notifications } = service.context;
      const heard = await notifications.subscribe(`mail_calendar:${service.tenant.mandatorId}`);
      const keys = async () => [...((await heard.next())?.keys ?? [])];
      await sql`update mail_writing set state = 'Written', reason = null, not_before = null
        where mandator_id = ${service.tenant.mandatorId} and booking_id = ${bookingId}`.execute(db);
      expect(await keys()).toEqual([String(ids[0])]);
      await sql`update mail_calendar set writing_fault = 'It may not be written.' where id = ${ids[1]}`.execute(db);
      expect(await keys()).toEqual([String(ids[1])]);
      heard.close();
      const [first, second] = await ask(admin, unwritten);
      expect([first!['unwrittenCount'], second!['writingFault']]).toEqual([101, 'It may not be written.']);
    });
  });

  test('the history has twenty changes at most', async () => {
    const { db } = service.context;
    const { mandatorId } = service.tenant;
    for (let attempt = 0; attempt < 12; attempt++)
      await makeSubscription(db, { mandatorId, calendarId: ids[1]! }, ['Failed']);
    const [, second] = await ask();
    expect(second!['history']).toHaveLength(20);
    expect(second).toMatchObject({ state: 'Failed', stateText: 'Failed now', pushWorks: false });
  });

  test('an active subscription counts until another takes its place', async () => {
    const { db } = service.context;
    const { mandatorId } = service.tenant;
    const next = await makeSubscription(db, { mandatorId, calendarId: ids[0]! }, []);
    expect((await ask())[0]).toMatchObject({ state: 'Active', pushWorks: true });
    await db
      .updateTable('mail_subscription')
      .set({ state: 'Replaced' })
      .where('id', '<', next)
      .where('state', '=', 'Active')
      .where('calendar_id', '=', ids[0]!)
      .execute();
    expect((await ask())[0]).toMatchObject({ state: 'Provisioning', pushWorks: false, pushWorksSince: null });
  });

  test('CalDAV: one subscription counts for all calendars of the tenant, and for no other tenant', async () => {
    const { db } = service.context;
    const tenants = await Promise.all(['dav', 'dav2'].map((code) => makeTenant(db, { code, rooms: ['A', 'B'] })));
    for (const [index, { mandatorId, resources }] of tenants.entries()) {
      for (const { id, name } of resources)
        await makeCalendar(db, { mandatorId, resourceId: id }, { kind: 'CalDav', mailbox: `${name}@dav.example` });
      await makeSubscription(db, { mandatorId, calendarId: null }, index === 0 ? ['AwaitingFirstPush', 'Active'] : [], {
        kind: 'CalDav',
      });
    }
    const states = await Promise.all(
      tenants.map(async (tenant) => {
        const who = masterData(service, await service.signIn(tenant, 'Admin'), tenant.code);
        return (await ask(who)).map(({ state, pushWorks, history }) => [
          ...[state, pushWorks, (history as Tree[]).length],
        ]);
      }),
    );
    expect(states).toEqual([
      [
        ['Active', true, 3],
        ['Active', true, 3],
      ],
      [
        ['Provisioning', false, 1],
        ['Provisioning', false, 1],
      ],
    ]);
  });

  test('users and displays are refused, and another tenant sees its own', async () => {
    for (const role of ['User', 'Display'] as const) {
      const { data, errors } = await masterData(service, await service.signIn(service.tenant, role)).ask(everything);
      expect([data, errors?.[0]?.['extensions']]).toMatchObject([{ mailSubscriptions: null }, { code: 'FORBIDDEN' }]);
    }
    const stranger = await makeTenant(service.context.db, { code: 'stranger' });
    const token = await service.signIn(stranger, 'Admin');
    expect(await ask(masterData(service, token, 'stranger'))).toEqual([]);
  });

  test('REST says the same of each calendar, and of its conflicts', async () => {
    const neutral = ({ resource, ...told }: Tree) => told;
    const told = (await ask(admin, everything.replace(/history \{.*?\}/, 'unreadableCount')))
      .map(neutral)
      .map((one) => ({ ...one, id: Number(one['id']) }));
    const { body, status } = await admin.get('/mail-subscriptions', { 'X-JsonPropertyFormat': 'camel' });
    expect([status, (body['items'] as Tree[]).length]).toEqual([200, told.length]);
    for (const [index, one] of (body['items'] as Tree[]).entries()) {
      const { pushWorksSince: _since, nextReadAt: _next, conflicts, ...others } = told[index] as Tree;
      expect(one).toMatchObject(others);
      expect((one['conflicts'] as Tree[]).map(({ subject, reason }) => [subject, reason])).toEqual(
        (conflicts as Tree[]).map(({ subject, reason }) => [subject, reason]),
      );
    }
    expect((await admin.get(`/mail-subscriptions/${ids[1]}`)).body).toMatchObject({
      Id: ids[1],
      Mailbox: 'library@mail.example',
      Fault: { Kind: 'AccessLost' },
    });
    expect((await admin.get('/mail-subscriptions/2000000000')).status).toBe(404);
  });

  test('an Admin has one read at once, which is queued, audited, heard of, and limited', async () => {
    const { db, notifications } = service.context;
    await sql`update mail_calendar set not_before = '2126-11-20T09:00:00Z' where id = ${ids[1]}`.execute(db);
    const heard = await notifications.subscribe(`mail_calendar:${service.tenant.mandatorId}`);
    const read = () => admin.send('POST', `/mail-subscriptions/${ids[1]}/read`);
    const { status, body } = await read();
    expect([status, Date.parse(String(body['NextReadAt'])) < Date.parse('2126-01-01')]).toEqual([200, true]);
    expect((await heard.next())?.keys).toEqual(new Set([String(ids[1])]));
    heard.close();
    const { rows } =
      await sql`select from graphile_worker._private_jobs where key = ${`mail calendar ${ids[1]}`}`.execute(db);
    expect(rows).toHaveLength(1);
    const mutation = 'mutation ($id: ID!) { readMailSubscription(id: $id) { __typename ... on Problem { code } } }';
    expect((await admin.ask(mutation, { id: ids[1] })).data).toMatchObject({
      readMailSubscription: { __typename: 'MailSubscription' },
    });
    expect((await admin.ask(mutation, { id: 2_000_000_000 })).data).toMatchObject({
      readMailSubscription: { code: 'NotFound' },
    });
    for (let more = 0; more < 4; more += 1) expect((await read()).status).toBe(200);
    const refused = await read();
    expect([refused.status, Number(refused.headers.get('retry-after')) > 0]).toEqual([429, true]);
    expect((await admin.ask(mutation, { id: ids[1] })).data).toMatchObject({
      readMailSubscription: { code: 'LimitExceeded' },
    });
    const acts = await admin.get('/audit?Subject=MailSubscription');
    expect((acts.body['Items'] as Tree[]).map(({ Action, SubjectId }) => [Action, SubjectId])).toEqual(
      Array.from({ length: 6 }, () => ['read mail calendar', ids[1]]),
    );
  });

  test('asked for many times over it costs too much', async () => {
    const { errors } = await admin.ask(
      `{ ${Array.from({ length: 14 }, (_, index) => `m${index}`)
        .map((alias) => everything.slice(1, -1).replace('mail', `${alias}: mail`))
        .join(' ')} }`,
    );
    expect(errors).toMatchObject([{ extensions: { code: 'LIMIT' } }]);
  });
});

test('/metrics has each fault, state and verdict; the doctor finds the webhook where it is', async () => {
  const { config } = service.context;
  await fetch(`${service.url}/api/webhooks/mailserver`, { method: 'POST', body: 'not a notification' });
  const text = await (await fetch(`${service.url}/metrics`)).text();
  for (const line of [
    'roomgate_mail_calendars{fault="AccessLost"} 1',
    'roomgate_mail_calendars{fault="TooLarge"} 0',
    'roomgate_mail_changes_found{by="Push"} 30',
    'roomgate_mail_notifications_recorded_total{verdict="Unrecognised"} 1',
    'roomgate_mail_notifications_recorded_total{verdict="Accepted"} 0',
    'roomgate_mail_conflicts 132',
  ])
    expect(text.split('\n')).toContain(line);
  const MailServer = { school: { Kind: 'Ews', Url: 'http://localhost/' } } as unknown as Config['MailServer'];
  for (const MailServerPushNotificationUseLegacyEndpoint of [false, true])
    expect(
      await examineCallback({ ...config, MailServer, MailServerPushNotificationUseLegacyEndpoint }, 'school'),
    ).toMatchObject({ level: 'ok', text: expect.stringMatching(/answers$/) });
});
