import { afterAll, beforeAll, beforeEach, describe, expect, test } from '@jest/globals';
import { sql } from 'kysely';
import { mailFigures } from '../../src/mail/figures.ts';
import { doubtSubscription, subscriptionStates } from '../../src/mail-subscriptions/states.ts';
import { findTenantWideCallback } from '../../src/mail-subscriptions/tenant-wide.ts';
import { makeTenant } from '../_util/factories.ts';
import { type MasterData, masterData } from '../_util/master-data.ts';
import { until } from '../_util/process.ts';
import { type ScriptedMailServer, startScriptedMailServer } from '../mail/_util/scripted-mail-server.ts';
import { openSubscriptionDesk, type SubscriptionDesk } from '../mail/_util/subscription-desk.ts';

let server: ScriptedMailServer;
let desk: SubscriptionDesk;
const day = 24 * 60;

beforeAll(async () => {
  server = await startScriptedMailServer();
  desk = await openSubscriptionDesk(server.settings('Ews'));
});
beforeEach(async () => {
  server.reset();
  await desk.reset();
});
afterAll(async () => {
  await desk.close();
  await server.close();
});

const newest = async () => (await desk.rows()).at(-1)!;
async function pass(minutes: number): Promise<void> {
  await desk.pass(minutes);
  await desk.settle();
}
/** Subscribed, and heard of. */
async function activate() {
  await desk.settle();
  await desk.hear((await newest()).id);
  return await newest();
}
const unreachable = () => {
  server.script.before = () => ({ status: 500, body: '' });
};

describe('a calendar on Exchange', () => {
  test('awaits its first push once it is granted, and is Active when that comes', async () => {
    await desk.settle();
    const row = await newest();
    expect(row).toMatchObject({ state: 'AwaitingFirstPush', externalId: [...server.promises.keys()][0] });
    await pass(1.5);
    await desk.hear(row.id);
    await pass(1);
    expect(await desk.history(row.id)).toEqual(['Provisioning', 'AwaitingFirstPush', 'Active']);
    expect(await desk.marks()).toEqual([2]);
  });

  test('whose first push comes before the answer to Subscribe is stored is Active at once', async () => {
    server.script.before = async (operation) => {
      if (operation === 'subscribe') await desk.hear((await newest()).id);
      return undefined;
    };
    await desk.settle();
    expect(await desk.history((await newest()).id)).toEqual(['Provisioning', 'Active']);
  });

  test('that is pushed nothing within two minutes is Failed and says what to look at; the next attempt waits', async () => {
    await desk.settle();
    await pass(2.1);
    const row = await newest();
    expect(row).toMatchObject({ state: 'Failed', fault: null });
    expect(row.text).toMatch(/^No push received: .*\/api\/webhooks\/mailserver.*proxy.*certificate.*firewalls/);
    expect(row.due).toBeGreaterThan(20);
    await pass(row.due / 60 + 0.1);
    await pass(2.1);
    expect((await newest()).due).toBeGreaterThan(40);
    expect(await desk.states()).toEqual(['Failed', 'Failed']);
    expect(desk.takeLines()).toMatchObject([{ level: 'warn', mailboxes: ['r001@rooms.test'] }]);
  });

  test('is Suspect after 12 minutes without a word, another is asked for, and at the next word it is Active again', async () => {
    const { id } = await activate();
    const marks = (await desk.marks())[0]!;
    await pass(11.9);
    expect((await newest()).state).toBe('Active');
    await pass(0.2);
    expect(await desk.rows()).toMatchObject([
      { id, state: 'Suspect', text: expect.stringMatching(/nothing for 12 min/) },
      { state: 'AwaitingFirstPush' },
    ]);
    // As it is doubted, and as another was granted.
    expect(await desk.marks()).toEqual([marks + 2]);
    expect(await silentFor()).toBeGreaterThan(12 * 60);
    await desk.hear(id);
    await pass(11.9);
    expect((await desk.rows())[0]).toMatchObject({ id, state: 'Active', text: null });
  });

  test('is Dead after 20, and the calendar is read again', async () => {
    await activate();
    await pass(12.1);
    const marks = (await desk.marks())[0]!;
    await pass(8);
    expect(await desk.rows()).toMatchObject([
      { state: 'Dead', text: expect.stringMatching(/nothing for 20 minutes.*every 10/) },
      { state: 'Failed' },
    ]);
    expect(await desk.marks()).toEqual([marks + 1]);
  });

  test('of which the mail server says itself that it is dead gets another within one round', async () => {
    const { id } = await activate();
    await desk.pass(30);
    await desk.hear(id);
    await sql`update mail_subscription set state = 'Dead', fault_text = 'ErrorReadEventsFailed'`.execute(desk.db);
    await desk.settle();
    expect(await desk.states()).toEqual(['Dead', 'AwaitingFirstPush']);
  });

  test('whose subscriptions die as soon as they are granted does not ask again and again', async () => {
    for (let round = 0; round < 5; round += 1) {
      await desk.settle();
      await sql`update mail_subscription set state = 'Dead' where state = 'AwaitingFirstPush'`.execute(desk.db);
    }
    expect(server.count('subscribe')).toBe(1);
    await pass(1.1);
    expect(server.count('subscribe')).toBe(2);
    await sql`update mail_subscription set state = 'Dead' where state = 'AwaitingFirstPush'`.execute(desk.db);
    await pass(1.1);
    expect(server.count('subscribe')).toBe(2);
    await pass(1);
    expect(server.count('subscribe')).toBe(3);
  });

  test('gets a new one after 7 days; the old one pushes until the new one does', async () => {
    const old = await activate();
    for (const days of [6.9, 0.7]) {
      await desk.pass(days * day);
      await desk.hear(old.id);
      await desk.settle();
    }
    expect(await desk.states()).toEqual(['Active', 'AwaitingFirstPush']);
    await desk.hear((await newest()).id);
    await desk.settle();
    expect(await desk.rows()).toMatchObject([
      { state: 'Replaced', text: 'A newer one has replaced it.' },
      { state: 'Active' },
    ]);
  });

  test('keeps the old one while the mail server grants no new one', async () => {
    const old = await activate();
    unreachable();
    await desk.pass(7.6 * day);
    await desk.hear(old.id);
    await desk.settle();
    await desk.settle();
    expect(await desk.states()).toEqual(['Active', 'Failed']);
    expect(await mailFigures.roomgate_mail_subscriptions.read(desk.db)).toMatchObject({ Active: 1 });
  });
});

describe('many calendars of a mail server that is down', () => {
  let large: SubscriptionDesk;
  const rooms = Array.from({ length: 24 }, (_, index) => `R${index}`);
  beforeAll(async () => {
    large = await openSubscriptionDesk(server.settings('Ews'), rooms);
    await sql`truncate mail_calendar cascade`.execute(large.db);
  });
  afterAll(() => large.close());

  test('are not asked for all at once: one tries until it answers, then two of a process at a time', async () => {
    await large.alignRooms();
    unreachable();
    await large.settle();
    const first = server.count('subscribe');
    expect(first).toBeLessThanOrEqual(4);
    await large.settle();
    expect(server.count('subscribe')).toBe(first);
    for (let attempt = 1; attempt <= 3; attempt += 1) {
      await large.pass(0.65);
      await large.settle();
      expect(server.count('subscribe')).toBe(first + attempt);
    }
    let [now, most] = [0, 0];
    server.script.before = async () => {
      most = Math.max(most, (now += 1));
      await new Promise((resolve) => setTimeout(resolve, 5));
      now -= 1;
      return undefined;
    };
    await large.pass(40);
    await large.settle();
    expect(most).toBeLessThanOrEqual(2);
    const { rows } = await sql<{ state: string; count: number }>`
      select state, count(*)::int from mail_subscription where state = 'AwaitingFirstPush' group by state`.execute(
      large.db,
    );
    expect(rows).toEqual([{ state: 'AwaitingFirstPush', count: 24 }]);
  });
});

test('a mail server that does not answer leaves room for that of another tenant', async () => {
  const others = await startScriptedMailServer();
  const settings = { ...server.settings('Ews'), ...others.settings('Ews', 'other') };
  const both = await openSubscriptionDesk(settings, ['R1', 'R2', 'R3', 'R4']);
  await makeTenant(both.db, { code: 'other', rooms: ['Q1'] });
  await sql`update resource set mailbox = lower(name) || '@rooms.test'`.execute(both.db);
  await sql`truncate mail_calendar cascade`.execute(both.db);
  await both.alignRooms();
  const hanging = Promise.withResolvers<undefined>();
  server.script.before = () => hanging.promise;
  await both.sweep();
  const jobs = await both.takeJobs();
  const running = jobs
    .toSorted((one, other) => one.payload.mandatorId - other.payload.mandatorId)
    .map(({ task, payload }) => both.run(task, payload));
  await until(() => Promise.resolve(others.count('subscribe') === 1 && server.count('subscribe') === 2));
  hanging.resolve(undefined);
  await Promise.all(running);
  await both.close();
  await others.close();
});

test('once it answers one calendar, the others do not wait any longer, except those that are to be left alone', async () => {
  const many = await openSubscriptionDesk(server.settings('Graph'), ['R1', 'R2', 'R3', 'R4']);
  await sql`truncate mail_calendar cascade`.execute(many.db);
  server.script.before = (operation) =>
    operation === 'subscribe'
      ? { status: 404, headers: { 'content-type': 'application/json' }, body: '{}' }
      : undefined;
  await many.alignRooms();
  await many.settle();
  for (let attempt = 0; attempt < 6; attempt += 1) {
    await many.pass(60);
    await many.settle();
  }
  const rows = await many.rows();
  const ids = [...new Set(rows.map(({ calendarId }) => calendarId))];
  expect(ids).toHaveLength(4);
  const last = rows.at(-1)!.calendarId;
  const throttled = ids.find((id) => id !== last);
  await sql`update mail_subscription set fault = 'Throttled' where calendar_id = ${throttled}`.execute(many.db);
  // All wait, and the time of the one that was asked for last comes.
  await sql`
    update mail_subscription set due_at = now() + case when calendar_id = ${last} then '0' else interval '20 minutes' end`.execute(
    many.db,
  );
  delete server.script.before;
  await many.settle();
  const active = (await many.rows()).filter(({ state }) => state === 'Active');
  expect(active.map(({ calendarId }) => calendarId).toSorted()).toEqual(
    ids.filter((id) => id !== throttled).toSorted(),
  );
  await many.close();
});

describe('the database', () => {
  const [p, w, a, s, d, f, r, x] = subscriptionStates;
  const allowed = new Map<string, readonly string[]>([
    [p, [w, a, f, r, x]],
    [w, [a, f, d, r, x]],
    [a, [s, d, r, x]],
    [s, [a, d, r, x]],
  ]);

  test('allows the defined transitions, refuses every other, and records each', async () => {
    await desk.settle();
    await sql`delete from mail_subscription`.execute(desk.db);
    for (const from of subscriptionStates)
      for (const to of subscriptionStates) {
        if (from === to) continue;
        const { rows } = await sql<{ id: number }>`
          insert into mail_subscription (mandator_id, kind, server_url, callback_url, state)
          values (${desk.mandatorId}, 'CalDav', 'x', 'x', ${from}) returning id`.execute(desk.db);
        const { id } = rows[0]!;
        const moved = sql`update mail_subscription set state = ${to} where id = ${id}`.execute(desk.db);
        const isAllowed = allowed.get(from)?.includes(to) ?? false;
        if (isAllowed) await moved;
        else await expect(moved).rejects.toMatchObject({ code: 'RG001' });
        expect(await desk.history(id)).toEqual(isAllowed ? [from, to] : [from]);
        await sql`delete from mail_subscription`.execute(desk.db);
      }
  });

  test('lets only one be requested at a time', async () => {
    await desk.settle();
    const { calendarId } = await newest();
    const again = sql`
      insert into mail_subscription (mandator_id, calendar_id, kind, server_url, callback_url)
      values (${desk.mandatorId}, ${calendarId}, 'Ews', 'x', 'x')`.execute(desk.db);
    await expect(again).rejects.toMatchObject({ constraint: 'mail_subscription_coming' });
  });
});

describe('CalDav', () => {
  test('has one for all calendars of the tenant, which waits to be heard of and follows the settings', async () => {
    const settings = server.settings('CalDav');
    desk.set(settings);
    await desk.settle();
    const [row] = await desk.rows();
    expect(await desk.rows()).toMatchObject([{ calendarId: null, state: 'AwaitingFirstPush' }]);
    await pass(3 * day);
    await desk.hear(row!.id);
    await pass(30 * day);
    desk.set({ ...settings, IdpUrl: 'https://rooms.example' });
    await desk.settle();
    expect(await desk.rows()).toMatchObject([
      { id: row!.id, state: 'Active', callbackUrl: 'https://rooms.example/api/webhooks/mailserver' },
    ]);
    expect(server.asked).toEqual([]);
    await sql`update mail_calendar set retired_at = now()`.execute(desk.db);
    await desk.sweep();
    expect(await desk.states()).toEqual(['Disabled']);
  });

  describe('reads a calendar every minute', () => {
    let calendarId: number;
    let states = 0;
    /** A change in the calendar of this account, as the hook reports it. */
    async function report(account: string): Promise<void> {
      const { db, mandatorId, service } = desk;
      const callback = await findTenantWideCallback(db, service.context.config, { mandatorId, mandator: 'school' });
      const { status } = await fetch(callback!, {
        method: 'POST',
        headers: { 'content-type': 'application/json' },
        body: JSON.stringify({ '@type': 'StateChange', changed: { [account]: { CalendarEvent: `s${++states}` } } }),
      });
      expect(status).toBe(202);
      await read();
    }
    const read = () =>
      sql`update mail_calendar set dirty_since = null, dirty_by = null, read_at = now();
        delete from graphile_worker._private_jobs`.execute(desk.db);
    const doubt = (minutesAgo: number) =>
      desk.db
        .transaction()
        .execute((trx) =>
          doubtSubscription(trx, desk.mandatorId, calendarId, new Date(Date.now() - minutesAgo * 60_000)),
        );
    /** The minutes between two polls. */
    async function pause(): Promise<number> {
      const { body } = await admin.get('/mail-subscriptions');
      const [{ LastReadAt, NextReadAt }] = body['Items'] as [Record<string, string>];
      return Math.round((Date.parse(NextReadAt!) - Date.parse(LastReadAt!)) / 60_000);
    }

    let admin: MasterData;
    beforeAll(async () => {
      admin = masterData(desk.service, await desk.service.signIn(desk.service.tenant, 'Admin'));
    });
    beforeEach(async () => {
      desk.set(server.settings('CalDav'));
      await desk.settle();
      await read();
      calendarId = (await sql<{ id: number }>`select id from mail_calendar`.execute(desk.db)).rows[0]!.id;
    });

    test('until a push reports that one: a push that works for others may not work for it', async () => {
      expect(await pause()).toBe(1);
      await report('rooms');
      expect([await desk.states(), await pause()]).toEqual([['Active'], 1]);
      await report('r001');
      expect(await pause()).toBe(15);
      await desk.pass(25 * 60);
      expect(await pause()).toBe(60);
    });

    test('that no push has ever reported, and what a poll finds there casts no doubt on the push of others', async () => {
      await report('rooms');
      await desk.pass(30);
      await doubt(6);
      expect([await desk.states(), await pause()]).toEqual([['Active'], 1]);
    });

    test('after a poll has found a change that was not pushed, for as long as no push reports that calendar', async () => {
      await report('r001');
      await desk.pass(30);
      await doubt(31);
      expect(await desk.states()).toEqual(['Active']);
      await doubt(6);
      expect(await desk.rows()).toMatchObject([{ state: 'Suspect', text: expect.stringMatching(/been pushed/) }]);
      await pass(3 * day);
      expect([await desk.states(), await pause()]).toEqual([['Suspect'], 1]);
      await report('rooms');
      expect([await desk.states(), await pause()]).toEqual([['Active'], 1]);
      await report('r001');
      expect(await pause()).toBe(15);
    });
  });
});

const silentFor = () => mailFigures.roomgate_mail_subscriptions_silent_seconds.read(desk.db);
