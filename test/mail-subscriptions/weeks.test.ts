/** Against the mail server of the tests, whose own clock is moved on as the times in the tables are moved back. */
import { once } from 'node:events';
import http from 'node:http';
import type { AddressInfo } from 'node:net';
import { afterAll, afterEach, beforeAll, describe, expect, test } from '@jest/globals';
import { sql } from 'kysely';
import { releaseClock, setClock } from '../_util/clock.ts';
import { times } from '../_util/long.ts';
import { until } from '../_util/process.ts';
import { type MailServer, startMailServer } from '../mail/_util/mail-server.ts';
import { openSubscriptionDesk, type SubscriptionDesk } from '../mail/_util/subscription-desk.ts';

const renewals = times(2, 40);
const [room, day] = ['r001@rooms.test', 24 * 60];
let server: MailServer;
let desk: SubscriptionDesk;

beforeAll(async () => {
  server = await startMailServer();
  await server.addRoom(room);
});
afterAll(() => server.stop());
afterEach(async () => {
  releaseClock();
  await desk.close();
  await server.comeBack();
  await server.restart();
});

const hour = 3_600_000;
const nextHour = Math.ceil(Date.now() / hour) * hour;
let appointed = 0;
/** A change there, and what comes of it has come. */
async function change(): Promise<void> {
  const start = new Date(nextHour + ++appointed * hour);
  await server.appoint(room, {
    subject: `Appointment ${appointed}`,
    start: start.toISOString(),
    end: new Date(start.getTime() + hour / 2).toISOString(),
  });
  await server.quiesce();
}
async function count(what: 'found_by_push' | 'found_by_poll'): Promise<number> {
  const { rows } = await sql<{ n: number }>`select ${sql.ref(what)}::int as n from mail_calendar`.execute(desk.db);
  return rows[0]!.n;
}
async function bookings(): Promise<number> {
  const { rows } = await sql<{ n: number }>`
    select count(*)::int as n from booking where kind = 'MailItem' and status in ('Confirmed', 'Tentative')`.execute(
    desk.db,
  );
  return rows[0]!.n;
}
/** What is due is done, and what the mail server sends of it has come. */
async function settle(): Promise<void> {
  await desk.settle();
  await server.quiesce();
  await desk.settle();
}

describe('Exchange', () => {
  const settings = () => ({
    MailServer__school__Kind: 'Ews',
    MailServer__school__Url: server.ews,
    MailServer__school__User: server.user,
    MailServer__school__Password: server.password,
  });
  const newest = async () => (await desk.rows()).at(-1)!;
  async function open() {
    desk = await openSubscriptionDesk(settings());
    await settle();
    await until('the first status event', async () => (await newest()).state === 'Active');
    await desk.readMarked();
  }
  /** Both clocks go on by so much; the mail server's own may send something meanwhile. */
  async function pass(minutes: number): Promise<void> {
    await desk.pass(minutes);
    await server.advance({ minutes });
    await settle();
  }

  test('that is heard of every ten minutes stays Active, and what changes there is pushed', async () => {
    await open();
    for (let round = 0; round < 6; round += 1) await pass(10);
    expect(await desk.rows()).toMatchObject([{ state: 'Active', text: null }]);
    await change();
    await desk.readMarked();
    expect([await count('found_by_push'), await count('found_by_poll')]).toEqual([1, 0]);
  });

  test('that loses its subscriptions silently is found out by its silence, and caught up with', async () => {
    await open();
    const before = await bookings();
    await server.restart();
    await change();
    await pass(11);
    expect((await newest()).state).toBe('Active');
    await pass(1.1);
    await until('another one', async () => (await desk.states()).join() === 'Replaced,Active');
    await desk.readMarked();
    expect(await bookings()).toBe(before + 1);
    await change();
    await desk.readMarked();
    expect([await bookings(), await count('found_by_push')]).toEqual([before + 2, 1]);
    expect(await server.subscriptions()).toHaveLength(1);
  });

  test('of which a reading finds what should have been pushed long before is doubted at once', async () => {
    await open();
    await server.restart();
    await change();
    await sql`select mark_mail_calendars(array_agg(id), 'Poll') from mail_calendar`.execute(desk.db);
    setClock(Date.parse((await server.advance({ ms: 0 })).now) + 4 * 60_000);
    await desk.readMarked();
    expect((await newest()).state).toBe('Active');
    await change();
    await sql`select mark_mail_calendars(array_agg(id), 'Poll') from mail_calendar`.execute(desk.db);
    setClock(Date.parse((await server.advance({ ms: 0 })).now) + 6 * 60_000);
    await desk.readMarked();
    expect(await newest()).toMatchObject({ state: 'Suspect', text: expect.stringMatching(/been pushed/) });
  });

  test('that is down for hours is subscribed again when it is back, and nothing is missing', async () => {
    await open();
    const before = await bookings();
    await change();
    await desk.readMarked();
    await server.goDown();
    for (const minutes of [12.1, 8, 1, 60, 60, 60]) await pass(minutes);
    expect((await newest()).state).toBe('Failed');
    expect((await desk.rows()).length).toBeLessThan(9);
    // A reading fails, and is tried again; when one succeeds, so does the rest.
    await desk.readMarked();
    await server.comeBack();
    await change();
    await sql`update mail_calendar set not_before = null`.execute(desk.db);
    await desk.readMarked();
    await settle();
    await until('another one', async () => (await newest()).state === 'Active');
    await desk.readMarked();
    expect(await bookings()).toBe(before + 2);
  });

  test('is asked for another one after a week; the first is ended by the answer to its next push', async () => {
    await open();
    await sql`update mail_subscription set renew_at = now()`.execute(desk.db);
    await settle();
    await until('another one', async () => (await newest()).state === 'Active');
    await settle();
    expect(await desk.states()).toEqual(['Replaced', 'Active']);
    expect(await server.subscriptions()).toHaveLength(2);
    await change();
    expect(await server.subscriptions()).toMatchObject([{ id: (await newest()).externalId }]);
  });
});

describe('Graph', () => {
  /**
   * The way to the mail server, on which its clock looks as if it had not been moved: with `ahead` it is ahead of everybody
   * else's, and what it says of expiries is brought back by so much.
   */
  async function openWay() {
    const way = { ahead: 0, url: '', renewals: 0 };
    const shifted = (text: string, by: number) =>
      text.replace(
        /("expirationDateTime":\s*")([^"]+)/g,
        (_all, name: string, time: string) => name + new Date(Date.parse(time) + by).toISOString(),
      );
    const proxy = http.createServer(async (request, response) => {
      let body = '';
      for await (const chunk of request) body += chunk;
      const { authorization = '', prefer = '' } = request.headers as Record<string, string>;
      const answer = await fetch(new URL(request.url!, server.url), {
        method: request.method!,
        headers: { authorization, prefer, 'content-type': 'application/json' },
        ...(body !== '' && { body: shifted(body, way.ahead) }),
      });
      // The first with a token that has expired meanwhile is refused.
      if (request.method === 'PATCH' && answer.ok) way.renewals += 1;
      const text = shifted(await answer.text(), -way.ahead).replaceAll(server.url, way.url);
      response.writeHead(answer.status, { 'content-type': 'application/json' }).end(text);
    });
    proxy.listen(0, '127.0.0.1');
    await once(proxy, 'listening');
    way.url = `http://127.0.0.1:${(proxy.address() as AddressInfo).port}`;
    const close = () => {
      proxy.closeAllConnections();
      proxy.close();
    };
    return Object.assign(way, { close });
  }

  test(`is renewed ${renewals} times in ${3 * renewals} days without an orphan or a gap`, async () => {
    const way = await openWay();
    const setting = (name: string, value: string) => [`MailServer__school__${name}`, value];
    desk = await openSubscriptionDesk(
      Object.fromEntries([
        ...[setting('Kind', 'Graph'), setting('Url', server.graph.replace(server.url, way.url))],
        ...[setting('TokenUrl', server.token), setting('ClientId', server.clientId)],
        setting('ClientSecret', server.clientSecret),
      ]),
    );
    try {
      await settle();
      await desk.readMarked();
      const [first] = await desk.rows();
      const before = [await bookings(), await count('found_by_push')] as const;
      for (let days = 0; days < 3 * renewals; days += 1.5) {
        await server.advance({ minutes: 1.5 * day });
        way.ahead += 1.5 * day * 60_000;
        await desk.pass(1.5 * day);
        await desk.settle();
        expect(await desk.rows()).toMatchObject([{ id: first!.id, state: 'Active', failures: 0 }]);
        expect(await server.subscriptions()).toMatchObject([{ id: first!.externalId }]);
        if (days % 30 !== 0) continue;
        await change();
        await desk.readMarked();
      }
      expect(way.renewals).toBe(renewals);
      const changes = Math.ceil(renewals / 10);
      expect([await bookings(), await count('found_by_push')]).toEqual([before[0] + changes, before[1] + changes]);
      expect(await desk.history(first!.id)).toEqual(['Provisioning', 'Active']);
    } finally {
      way.close();
    }
  });
});
