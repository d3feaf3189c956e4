import { afterAll, beforeAll, beforeEach, describe, expect, test } from '@jest/globals';
import { sql } from 'kysely';
import { openTurns } from '../../src/flow/turns.ts';
import { mailFigures } from '../../src/mail/figures.ts';
import { requestReadings } from '../../src/mail/polling.ts';
import { forgetOldSubscriptions } from '../../src/mail-subscriptions/management.ts';
import { provisionTask } from '../../src/mail-subscriptions/provisioning.ts';
import { openSecrets } from '../../src/mail-subscriptions/secrets.ts';
import { doubtSubscription } from '../../src/mail-subscriptions/states.ts';
import { type ScriptedMailServer, startScriptedMailServer } from '../mail/_util/scripted-mail-server.ts';
import { openSubscriptionDesk, type SubscriptionDesk } from '../mail/_util/subscription-desk.ts';

let server: ScriptedMailServer;
let desk: SubscriptionDesk;
const day = 24 * 60;

beforeAll(async () => {
  server = await startScriptedMailServer();
  desk = await openSubscriptionDesk(server.settings('Graph'));
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
const only = async () => {
  const rows = await desk.rows();
  expect(rows).toHaveLength(1);
  return rows[0]!;
};
/** Lets so much time pass everywhere, and does the work that is due. */
async function pass(minutes: number): Promise<void> {
  await desk.pass(minutes);
  server.age(minutes);
  await desk.settle();
}
/** Until the newest row says that there is something to do. */
const passUntilDue = async () => await pass((await newest()).due / 60 + 0.01);
const doubt = (calendarId: number, minutesAgo: number) =>
  desk.db
    .transaction()
    .execute((trx) => doubtSubscription(trx, desk.mandatorId, calendarId, new Date(Date.now() - minutesAgo * 60_000)));
const refusal = (status: number, code: string, headers: Record<string, string> = {}) => ({
  status,
  headers: { 'content-type': 'application/json', ...headers },
  body: JSON.stringify({ error: { code, message: 'It cannot be.' } }),
});
/** The answer of the mail server to one kind of request from now on. */
const answers = (operation: string, reply: ReturnType<typeof refusal>) => {
  server.script.before = (asked) => (asked === operation ? reply : undefined);
};

describe('a calendar on Graph', () => {
  test('is subscribed: the handshake comes while it is asked for, then it is Active and read again', async () => {
    await desk.settle();
    const row = await only();
    expect(row).toMatchObject({ state: 'Active', externalId: [...server.promises.keys()][0], text: null });
    expect(row.callbackUrl).toBe(`${desk.service.url}/api/webhooks/mailserver`);
    expect(await desk.history(row.id)).toEqual(['Provisioning', 'Active']);
    // Once when the calendar was made, and once when it had a subscription.
    expect(await desk.marks()).toEqual([2]);
    expect(row.due / 60).toBeGreaterThan(53);
    expect(row.due / 60).toBeLessThan(67);
    expect(row.renew! / 60 / day).toBeGreaterThan(2.6);
    expect(row.renew! / 60 / day).toBeLessThanOrEqual(3);
    await desk.settle();
    expect(server.count('subscribe')).toBe(1);
  });

  test('is told why it has none when the handshake fails, without our secrets, and asks again after 30 s, 1, 2, 4 … 30 min', async () => {
    desk.set({ ...server.settings('Graph'), MailServerPushNotificationEndpointUrl: 'http://127.0.0.1:1/x' });
    await desk.settle();
    const { id, text } = await only();
    expect(text).toMatch(/validation request failed.*http:\/\/127\.0\.0\.1:1\/x\?k=\[secret\]/);
    expect(text).not.toContain(openSecrets(desk.service.context.config).make('callback', id).split('.')[1]);
    const pauses: number[] = [];
    for (let attempt = 0; attempt < 8; attempt += 1) {
      pauses.push((await newest()).due);
      await passUntilDue();
    }
    for (const [index, expected] of [30, 60, 120, 240, 480, 960, 1_800, 1_800].entries()) {
      expect(pauses[index]).toBeGreaterThan(0.74 * expected);
      expect(pauses[index]).toBeLessThan(1.26 * expected);
    }
    // People hear of the first alone.
    expect(desk.takeLines()).toMatchObject([{ level: 'warn', mailbox: 'r001@rooms.test' }]);
    desk.set(server.settings('Graph'));
    await passUntilDue();
    expect(await desk.states()).toEqual([...Array(9).fill('Failed'), 'Active']);
    // One that has lived: counting begins anew.
    await pass(20);
    answers('subscribe', refusal(400, 'InvalidRequest'));
    server.promises.clear();
    await pass(70);
    expect((await desk.rows()).slice(-2)).toMatchObject([
      { state: 'Dead', text: 'The mail server no longer knows it.' },
      { state: 'Failed', fault: 'Unreadable' },
    ]);
    expect((await newest()).due).toBeLessThan(38);
  });

  test('of a mail server that does not let us in asks after 5 min … 6 h, and that is an error in the log, once', async () => {
    answers('subscribe', refusal(401, 'InvalidAuthenticationToken'));
    await desk.settle();
    expect(await only()).toMatchObject({ state: 'Failed', fault: 'AccessLost' });
    expect((await newest()).due / 60).toBeGreaterThan(3.7);
    for (let attempt = 0; attempt < 8; attempt += 1) await passUntilDue();
    expect((await newest()).due / 3_600).toBeGreaterThan(4.4);
    expect((await newest()).due / 3_600).toBeLessThan(7.6);
    expect(desk.takeLines()).toMatchObject([{ level: 'error', fault: 'AccessLost' }]);
  });

  test('of a mail server that is throttled waits for as long as that wishes, but no longer than a day', async () => {
    answers('subscribe', refusal(429, 'TooManyRequests', { 'retry-after': '3600' }));
    await desk.settle();
    expect(await only()).toMatchObject({ state: 'Failed', fault: 'Throttled' });
    expect((await newest()).due).toBeGreaterThan(3_500);
    answers('subscribe', refusal(429, 'TooManyRequests', { 'retry-after': '99999999' }));
    await passUntilDue();
    expect((await newest()).due / 3_600).toBeGreaterThan(0.9);
    expect((await newest()).due / 3_600).toBeLessThanOrEqual(24);
  });

  test('does not wait for its time once its mail server can be read again, or an operator wants it read', async () => {
    answers('subscribe', refusal(401, 'InvalidAuthenticationToken'));
    await desk.settle();
    const { calendarId } = await only();
    delete server.script.before;
    await desk.settle();
    expect(await desk.states()).toEqual(['Failed']);
    await requestReadings(desk.db, desk.mandatorId, [calendarId!], { whole: false });
    await desk.pass(0.1);
    await sql`update mail_calendar set read_at = now()`.execute(desk.db);
    await desk.settle();
    expect(await desk.states()).toEqual(['Failed', 'Active']);
  });

  test('whose mail server takes no more of them is told so, and it asks again later', async () => {
    answers('subscribe', refusal(403, 'ExtensionError'));
    await desk.settle();
    const { state, text, due } = await only();
    expect([state, text]).toEqual(['Failed', expect.stringMatching(/ExtensionError|It cannot be/)]);
    expect(due).toBeGreaterThan(20);
  });
});

describe('renewal', () => {
  test('comes at half of its life, and changes nothing else', async () => {
    await desk.settle();
    const before = await only();
    await pass(2.5 * day);
    expect(server.count('renew')).toBe(0);
    await pass(0.6 * day);
    const after = await only();
    expect(server.count('renew')).toBe(1);
    expect(after).toMatchObject({ id: before.id, state: 'Active', externalId: before.externalId });
    expect(after.renew! / 60 / day).toBeGreaterThan(2.6);
    expect(await desk.history(after.id)).toEqual(['Provisioning', 'Active']);
  });

  test('is tried again after 1, 5, 15, 15 … min; people hear of the first failure, and of the last day', async () => {
    await desk.settle();
    answers('renew', refusal(503, 'ServiceUnavailable'));
    await pass(3 * day);
    const pauses: number[] = [];
    for (let attempt = 0; attempt < 4; attempt += 1) {
      pauses.push((await only()).due / 60);
      await passUntilDue();
    }
    for (const [index, expected] of [1, 5, 15, 15].entries())
      expect(Math.abs(pauses[index]! / expected - 1)).toBeLessThan(0.11);
    expect(desk.takeLines()).toMatchObject([{ level: 'warn', endsWithinADay: false }]);
    await pass(2.5 * day);
    await passUntilDue();
    expect(await only()).toMatchObject({
      state: 'Active',
      text: expect.stringMatching(/^It ends within a day/),
    });
    expect(desk.takeLines()).toMatchObject([{ level: 'error', endsWithinADay: true }]);
    expect(await mailFigures.roomgate_mail_subscriptions_expiring.read(desk.db)).toBe(1);
    delete server.script.before;
    await passUntilDue();
    expect(await only()).toMatchObject({ state: 'Active', text: null, fault: null, failures: 0 });
  });

  test('that never succeeds ends with its life, and another takes its place at once', async () => {
    await desk.settle();
    answers('renew', refusal(503, 'ServiceUnavailable'));
    await pass(3 * day);
    await pass(3.1 * day);
    expect(await desk.rows()).toMatchObject([
      { state: 'Dead', text: expect.stringMatching(/^It has expired; .*answers 503/) },
      { state: 'Active' },
    ]);
    expect((await desk.marks())[0]).toBeGreaterThan(2);
  });

  test('of one that lives ten minutes is tried again and again before its end, and what failed before it was granted is forgotten', async () => {
    server.script.lifeMinutes = 10;
    answers('subscribe', refusal(400, 'InvalidRequest'));
    await desk.settle();
    for (let attempt = 0; attempt < 3; attempt += 1) await passUntilDue();
    delete server.script.before;
    await passUntilDue();
    expect((await desk.states()).slice(-2)).toEqual(['Failed', 'Active']);
    answers('renew', refusal(400, 'InvalidRequest'));
    await pass(5.1);
    const tried = server.count('renew');
    let passed = 5.1;
    for (; passed < 9; passed += (await newest()).due / 60 + 0.01) {
      expect((await newest()).due / 60).toBeLessThan(1.2);
      await passUntilDue();
    }
    expect(server.count('renew')).toBeGreaterThanOrEqual(tried + 3);
    expect((await newest()).state).toBe('Active');
    // It ends a little before ten minutes after it was asked for.
    await sql`update mail_subscription set expires_at = now() + interval '6 seconds' where state = 'Active'`.execute(
      desk.db,
    );
    await passUntilDue();
    expect((await desk.states()).slice(-2)).toEqual(['Dead', 'Active']);
  });

  test('comes at once when the mail server wants to know again that we are allowed to', async () => {
    await desk.settle();
    const { id, externalId } = await only();
    const { callback, clientState } = server.promises.get(externalId!)!;
    const value = [
      {
        subscriptionId: externalId,
        clientState,
        lifecycleEvent: 'reauthorizationRequired',
        subscriptionExpirationDateTime: new Date().toISOString(),
      },
    ];
    const answer = await fetch(callback, {
      method: 'POST',
      headers: { 'content-type': 'application/json' },
      body: JSON.stringify({ value }),
    });
    expect(answer.status).toBe(202);
    await desk.settle();
    expect([server.count('renew'), (await only()).id]).toEqual([1, id]);
  });

  test('of a server that gives it no time is not asked for again and again', async () => {
    await desk.settle();
    const expired = { id: 'x', expirationDateTime: new Date(Date.now() - 60_000).toISOString() };
    server.script.before = (operation) =>
      operation === 'renew' || operation === 'subscribe'
        ? { status: 200, headers: { 'content-type': 'application/json' }, body: JSON.stringify(expired) }
        : undefined;
    await pass(3 * day);
    await desk.settle();
    await passUntilDue();
    await passUntilDue();
    expect(server.count('renew')).toBeLessThan(3);
    expect(server.count('subscribe')).toBeLessThan(5);
  });
});

describe('a probe', () => {
  test('every hour finds one that the mail server has lost, and another is asked for', async () => {
    await desk.settle();
    await pass(70);
    expect([server.count('probe'), (await only()).state]).toEqual([1, 'Active']);
    server.promises.clear();
    await pass(70);
    expect(await desk.rows()).toMatchObject([
      { state: 'Dead', text: 'The mail server no longer knows it.' },
      { state: 'Active' },
    ]);
  });
});

describe('a change that was found by reading and not by push', () => {
  test('makes its subscription Suspect: it is probed at once, and Active again when a notification comes', async () => {
    await desk.settle();
    const { calendarId, id } = await only();
    await desk.pass(30);
    await doubt(calendarId!, 31);
    expect((await only()).state).toBe('Active');
    await doubt(calendarId!, 6);
    expect(await only()).toMatchObject({
      state: 'Suspect',
      text: expect.stringMatching(/should have been pushed/),
    });
    expect(await mailFigures.roomgate_mail_subscriptions.read(desk.db)).toMatchObject({ Suspect: 1 });
    await desk.settle();
    expect([server.count('probe'), (await only()).state]).toEqual([1, 'Suspect']);
    await desk.hear(id);
    expect(await only()).toMatchObject({ state: 'Active', text: null });
  });

  test('ends it when nothing comes for 20 minutes', async () => {
    await desk.settle();
    const { calendarId } = await only();
    await desk.pass(30);
    await doubt(calendarId!, 6);
    await desk.settle();
    await pass(19);
    expect((await only()).state).toBe('Suspect');
    await pass(6);
    expect(await desk.states()).toEqual(['Dead', 'Active']);
  });
});

describe('what the mail server holds for us', () => {
  const held = (id: string, callback: string) =>
    server.promises.set(id, {
      id,
      callback,
      mailbox: 'r001@rooms.test',
      clientState: '',
      expiresAt: Date.now() + 86_400_000,
    });

  test('and we do not have is ended; what may be of another installation is not', async () => {
    const own = `${desk.service.url}/api/webhooks/mailserver`;
    const { config } = desk.service.context;
    held('unknown', `${own}?k=${openSecrets(config).make('callback', 2_000_000_000)}`);
    held('bare', `${own}?k=none`);
    held('foreign', 'https://staging.example/api/webhooks/mailserver?k=1.x');
    await desk.settle();
    expect([...server.promises.keys()]).toEqual(['foreign', (await only()).externalId]);
    held('twice', server.promises.get((await only()).externalId!)!.callback);
    await pass(61);
    expect([...server.promises.keys()]).toEqual(['foreign', (await only()).externalId]);
  });

  test('and grants too late is ended', async () => {
    server.script.after = async (operation) => {
      if (operation !== 'subscribe') return;
      expect(server.promises.size).toBe(1);
      await sql`update mail_subscription set state = 'Failed', due_at = now() + interval '9 minutes'`.execute(desk.db);
    };
    await desk.settle();
    await pass(1.1);
    expect(await only()).toMatchObject({ state: 'Failed', externalId: null });
    expect(server.promises.size).toBe(0);
  });

  test('is left alone while it is just being asked for', async () => {
    let listed = {};
    server.script.before = async (operation) => {
      if (operation !== 'subscribe') return undefined;
      const { id } = await only();
      const { config } = desk.service.context;
      held('granted', `${desk.service.url}/api/webhooks/mailserver?k=${openSecrets(config).make('callback', id)}`);
      await desk.sweep();
      for (const { task, payload } of await desk.takeJobs()) await desk.run(task, payload);
      listed = { times: server.count('list'), left: server.promises.size };
      return undefined;
    };
    await desk.alignRooms();
    await desk.sweep();
    // The listing that was queued with it is left to those inside: beside it, it would come at any time.
    for (const { task, payload } of await desk.takeJobs()) if (task === provisionTask) await desk.run(task, payload);
    expect(listed).toEqual({ times: 1, left: 1 });
  });
});

describe('another callback URL', () => {
  const moved = () => ({
    ...server.settings('Graph'),
    IdpUrl: desk.service.url.replace('127.0.0.1', 'localhost'),
  });

  test('brings a new one; the old one stands until that is Active, then it is Replaced and ended', async () => {
    await desk.settle();
    const old = await only();
    desk.set(moved());
    await desk.settle();
    // Not while another worker may still have the former settings.
    expect(await desk.states()).toEqual(['Active']);
    answers('subscribe', refusal(503, 'ServiceUnavailable'));
    await pass(2);
    expect(await desk.states()).toEqual(['Active', 'Failed']);
    expect(await mailFigures.roomgate_mail_subscriptions.read(desk.db)).toMatchObject({ Active: 1 });
    delete server.script.before;
    await passUntilDue();
    expect(await desk.states()).toEqual(['Replaced', 'Failed', 'Active']);
    expect((await newest()).callbackUrl).toMatch(/^http:\/\/localhost:\d+\/api\/webhooks\/mailserver$/);
    await pass(2);
    expect([...server.promises.keys()]).toEqual([(await newest()).externalId]);
    expect(server.promises.has(old.externalId!)).toBe(false);
  });
});

describe('what the settings do not ask for any more', () => {
  test.each<[string, () => Promise<unknown> | unknown]>([
    ['a retired calendar', () => sql`update mail_calendar set retired_at = now()`.execute(desk.db)],
    ['another mailbox', () => sql`update mail_calendar set mailbox = 'other@rooms.test'`.execute(desk.db)],
  ])('%s: it is Disabled and ended', async (_name, change) => {
    await desk.settle();
    await desk.pass(2);
    await change();
    await desk.sweep();
    expect((await desk.rows())[0]).toMatchObject({
      state: 'Disabled',
      text: expect.stringMatching(/settings/),
    });
    const { externalId } = (await desk.rows())[0]!;
    for (const { task, payload } of await desk.takeJobs()) await desk.run(task, payload);
    expect(server.promises.has(externalId!)).toBe(false);
  });

  test('the mailbox in another case is the same one: it stays', async () => {
    await desk.settle();
    await sql`update mail_calendar set mailbox = 'R001@rooms.test'`.execute(desk.db);
    await desk.sweep();
    expect(await desk.states()).toEqual(['Active']);
  });

  test('no mail server at all: it is Disabled, quietly, and nothing is asked of anybody', async () => {
    await desk.settle();
    const asked = server.asked.length;
    desk.set();
    await desk.sweep();
    expect(await desk.states()).toEqual(['Disabled']);
    await desk.sweep();
    expect([await desk.takeJobs(), server.asked.length, desk.takeLines()]).toEqual([[], asked, []]);
  });

  test('another kind of mail server: it is Disabled, and one of the new kind asked for', async () => {
    await desk.settle();
    desk.set(server.settings('Ews'));
    await desk.settle();
    expect(await desk.states()).toEqual(['Disabled', 'AwaitingFirstPush']);
  });
});

test('without a mail server nothing is done or logged', async () => {
  desk.set();
  await desk.settle();
  expect([await desk.rows(), desk.takeLines(), server.asked]).toEqual([[], [], []]);
});

test('two workers that take the same calendar at once ask once', async () => {
  await desk.settle();
  const { calendarId } = await only();
  await sql`delete from mail_subscription`.execute(desk.db);
  server.asked.length = 0;
  const payload = { mandatorId: desk.mandatorId, calendarId: calendarId! };
  await Promise.all(Array.from({ length: 6 }, () => desk.run('ProvisionMailSubscription', payload)));
  expect([server.count('subscribe'), await desk.states()]).toEqual([1, ['Active']]);
});

test('an attempt that had to make room for others is as if it had not been made', async () => {
  const end = new AbortController();
  const cut = {
    begin: () => end.abort(new Error('over')),
    answered: () => {},
    throttled: () => {},
    isCutShort: () => true,
  };
  desk.setTurns({
    async take(_of, ask) {
      await ask({ ...cut, signal: end.signal });
      return undefined;
    },
  });
  await desk.alignRooms();
  await desk.sweep();
  for (const { task, payload } of await desk.takeJobs()) await desk.run(task, payload);
  expect(await desk.rows()).toEqual([]);
  desk.setTurns(openTurns(8));
  await desk.settle();
  expect(await desk.states()).toEqual(['Active']);
});

test('an attempt that nobody finishes is Failed after two minutes, and another follows', async () => {
  await desk.settle();
  const { calendarId } = await only();
  await sql`delete from mail_subscription`.execute(desk.db);
  await sql`
    insert into mail_subscription (mandator_id, calendar_id, kind, server_url, mailbox, callback_url, due_at)
    values (${desk.mandatorId}, ${calendarId}, 'Graph', ${`${server.url}/v1.0`}, 'r001@rooms.test', 'x', now() + interval '2 minutes')`.execute(
    desk.db,
  );
  await pass(1.9);
  expect(await desk.states()).toEqual(['Provisioning']);
  await pass(0.2);
  expect(await only()).toMatchObject({
    state: 'Failed',
    text: expect.stringMatching(/ended while it requested/),
  });
  await passUntilDue();
  expect(await desk.states()).toEqual(['Failed', 'Active']);
});

test('what ended 30 days ago is forgotten, but not the newest of a calendar', async () => {
  answers('subscribe', refusal(400, 'InvalidRequest'));
  await desk.settle();
  await passUntilDue();
  await passUntilDue();
  await forgetOldSubscriptions(desk.db);
  expect(await desk.states()).toHaveLength(3);
  await desk.pass(31 * day);
  await forgetOldSubscriptions(desk.db);
  expect(await desk.states()).toHaveLength(1);
});

test('attempts that fail for weeks leave the newest of them, and those of a day', async () => {
  answers('subscribe', refusal(400, 'InvalidRequest'));
  await desk.settle();
  const { calendarId } = await only();
  await sql`
    insert into mail_subscription (mandator_id, calendar_id, kind, server_url, callback_url, state, due_at)
    select ${desk.mandatorId}, ${calendarId}, 'Graph', 'x', 'x', 'Failed', now() from generate_series(1, 40)`.execute(
    desk.db,
  );
  await passUntilDue();
  expect(await desk.states()).toHaveLength(42);
  await pass(day);
  expect(await desk.states()).toHaveLength(21);
  // And the pause is the longest still.
  expect((await newest()).due / 60).toBeGreaterThan(22);
});
