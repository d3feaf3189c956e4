/** The screen of rooms in other conditions: touch, a slow server, several tabs, other time zones, and days of 23 and 25 hours. */
import { afterAll, beforeAll, expect, test } from '@jest/globals';
import { sql } from 'kysely';
import type { Browser } from 'playwright-core';
import { revokePin } from '../../../src/identity/service.ts';
import { nextYear } from '../../_util/ahead.ts';
import { makeTenant } from '../../_util/factories.ts';
import { type Service, startService } from '../../_util/service.ts';
import { launchBrowser } from '../_util/browser.ts';
import { openConsole } from '../_util/consoles.ts';
import { describeInBrowser } from '../_util/in-browser.ts';

const day = `${nextYear}-02-10`;
/** The last Sunday of a month, on which Berlin's clocks change. */
const lastSunday = (month: number) => {
  const last = new Date(Date.UTC(nextYear, month, 0));
  return new Date(last.getTime() - last.getUTCDay() * 86_400_000).toISOString().slice(0, 10);
};

describeInBrowser('The screen of rooms in other hands', () => {
  let service: Service;
  let browser: Browser;
  beforeAll(async () => {
    [service, browser] = await Promise.all([
      startService(
        { Role: 'Web' },
        Array.from({ length: 40 }, (_, index) => `R${101 + index}`),
      ),
      launchBrowser(),
    ]);
    const { mandatorId: mandator_id, locationId: location_id } = service.tenant;
    await service.context.db
      .insertInto('opening_rule')
      .values({ mandator_id, location_id, weekdays: [1, 2, 3, 4, 5, 6, 7], opens: '07:00', closes: '21:00' })
      .execute();
    await book(0, `${day}T08:00:00Z`, 'Choir');
  });
  afterAll(async () => {
    await browser?.close();
    await service?.stop();
  });
  const stored = async (subject: string) =>
    (
      await sql<{ at: string }>`
        select to_char(lower(occupied) at time zone 'UTC', 'YYYY-MM-DD HH24:MI') || ' ' || resource.name as at
        from booking join resource on resource.id = resource_id where subject = ${subject} order by 1`.execute(
        service.context.db,
      )
    ).rows.map(({ at }) => at);
  const book = (room: number, start: string, subject: string) =>
    sql`insert into booking (mandator_id, resource_id, kind, status, origin, subject, occupied, created_by, organizer_id)
      values (${service.tenant.mandatorId}, ${service.tenant.resources[room]?.id}, 'Booking', 'Confirmed', 'Api', ${subject},
        tstzrange(${start}::timestamptz, ${start}::timestamptz + interval '1 hour'),
        ${service.tenant.person('Admin').id}, ${service.tenant.person('Admin').id})`.execute(service.context.db);

  test('fingers scroll, and a tap opens: a swipe books and moves nothing', async () => {
    const { open, signIn, page, context, violations, complaints, close } = await openConsole(browser, service, {
      touch: true,
      width: 390,
    });
    const mutations: string[] = [];
    page.on('request', (request) => {
      const body = request.postData() ?? '';
      if (/mutation /.test(body)) mutations.push(body);
    });
    await open(`?screen=rooms&day=${day}`);
    await signIn();
    const choir = page.getByRole('gridcell', { name: /^Choir/ });
    await choir.waitFor();
    // The hours are drawn that are open, not those that are supposed before.
    const free = page.getByRole('gridcell', { name: /^free 07:00–21:00/ });
    await free.last().waitFor();
    const fingers = await context.newCDPSession(page);
    const touch = (type: string, ...touchPoints: { x: number; y: number }[]) =>
      fingers.send('Input.dispatchTouchEvent', { type: type as 'touchStart', touchPoints });
    const box = await choir.boundingBox();
    if (!box) throw new Error('There is no booking.');
    const from = { x: box.x + box.width / 2, y: box.y + box.height / 2 };
    for (const start of [from, { x: from.x, y: from.y + 90 }]) {
      const to = { x: start.x - 60, y: start.y - 120 };
      await touch('touchStart', start);
      for (const part of [0.25, 0.5, 0.75, 1])
        await touch('touchMove', { x: start.x + (to.x - start.x) * part, y: start.y + (to.y - start.y) * part });
      await touch('touchEnd');
    }
    // They were swipes: it has scrolled.
    await page.evaluate(
      "new Promise((resolve) => (function look() { document.querySelector('.timeline').scrollTop > 0 ? resolve() : requestAnimationFrame(look); })())",
    );
    expect([mutations, await page.getByRole('dialog').count(), await page.locator('.ghost').count()]).toEqual([
      [],
      0,
      0,
    ]);
    await open(`?screen=rooms&day=${day}`);
    await free.last().waitFor();
    await choir.tap();
    await page.getByRole('dialog', { name: 'Choir' }).waitFor();
    await page.goBack();
    await page.getByRole('dialog').waitFor({ state: 'detached' });
    await page.locator('[data-row="2"] .track').tap({ position: { x: 60, y: 20 } });
    await page.getByRole('dialog', { name: 'Book a room' }).waitFor();
    expect({ mutations, violations: await violations(), complaints }).toEqual({
      mutations: [],
      violations: [],
      complaints: [],
    });
    await page.goBack();
    await page.getByRole('dialog').waitFor({ state: 'detached' });
    expect(new URL(page.url()).search).toContain('screen=rooms');
    await close();
  });

  test('a slow server: pressed twice it is booked once, and the button says that it works; a filter outlives the page; a small window holds the form', async () => {
    const { open, signIn, page, violations, complaints, close } = await openConsole(browser, service, {
      zone: 'America/New_York',
      width: 1920,
      height: 1080,
    });
    await open(`?screen=rooms&day=${day}&capacity=&find=`);
    await signIn();
    await page.getByText(/^Times of Europe\/Berlin/).waitFor();
    await page.getByRole('searchbox', { name: 'Search' }).fill('Choir');
    await page.getByText('1 room', { exact: true }).waitFor();
    await page.reload();
    await page.getByText('1 room', { exact: true }).waitFor();
    expect(await page.getByRole('searchbox', { name: 'Search' }).inputValue()).toBe('Choir');
    await page.getByRole('button', { name: 'Clear filters' }).click();
    await page.getByRole('gridcell', { name: /^Choir 09:00–10:00/ }).waitFor();
    await page.getByRole('button', { name: 'Book …' }).click();
    await page.getByLabel('Title').fill('Slow');
    await page.getByLabel('Room', { exact: true }).selectOption({ label: 'R105 · Campus' });
    await page.getByLabel('From', { exact: true }).fill('10:00');
    await page.getByLabel('To', { exact: true }).fill('11:00');
    await page.setViewportSize({ width: 390, height: 700 });
    const fits = await page.evaluate(
      "[document.documentElement.scrollWidth <= innerWidth, (({ left, right, top, bottom }) => left >= 0 && right <= innerWidth && top >= 0 && bottom <= innerHeight)(document.querySelector('dialog[open]').getBoundingClientRect())]",
    );
    expect([fits, await violations()]).toEqual([[true, true], []]);
    const { promise: released, resolve: release } = Promise.withResolvers<void>();
    let sent = 0;
    await page.route(/graphql$/, async (route) => {
      if (!route.request().postData()?.includes('mutation CreateBooking')) return route.fallback();
      sent += 1;
      await released;
      return route.fallback();
    });
    const main = page.locator('dialog[open] form button.main');
    await main.dblclick();
    await page.locator('dialog[open] form button.main:is([disabled], [aria-busy="true"])').waitFor();
    await page.evaluate("document.querySelector('dialog form').requestSubmit()");
    release();
    await page
      .getByText(/^Booked: R105, .*10:00–11:00/)
      .first()
      .waitFor();
    expect([sent, await stored('Slow')]).toEqual([1, [`${day} 09:00 R105`]]);
    expect(complaints).toEqual([]);
    await close();
  });

  test('a sign-out applies to the other tab, and Back leads through screens', async () => {
    const { open, signIn, page, context, complaints, close } = await openConsole(browser, service);
    await open(`?screen=rooms&day=${day}`);
    await signIn();
    await page.getByRole('link', { name: 'Use', exact: true }).click();
    await page.getByRole('heading', { name: 'Use', exact: true }).waitFor();
    await page.goBack();
    await page.getByRole('gridcell', { name: /^Choir/ }).waitFor();
    await page.goForward();
    await page.getByRole('heading', { name: 'Use', exact: true }).waitFor();
    const other = await context.newPage();
    await other.goto(page.url());
    await other.getByRole('button', { name: 'Admin of school' }).click();
    await other.getByRole('button', { name: 'Sign out', exact: true }).click();
    await other.getByLabel('PIN').waitFor();
    // It follows nothing, and asks nothing.
    await page.getByText(/Your session has ended/).waitFor();
    await signIn();
    await page.getByText(/Your session has ended/).waitFor({ state: 'detached' });
    const { db } = service.context;
    for (const { id } of await db.selectFrom('pin').select('id').execute())
      await db.transaction().execute((trx) => revokePin(trx, service.tenant.mandatorId, id));
    await page.goBack();
    await page.getByText(/Your session has ended/).waitFor();
    expect(complaints).toEqual([]);
    await close();
  });

  test('on days of 23 and 25 hours a booking is shown at its hour, and is visible', async () => {
    const [spring, autumn] = [lastSunday(3), lastSunday(10)];
    for (const [room, start] of [
      [1, `${spring}T00:30:00Z`],
      [2, `${spring}T08:00:00Z`],
      [3, `${autumn}T00:30:00Z`],
      [4, `${autumn}T01:30:00Z`],
      [5, `${autumn}T08:00:00Z`],
    ] as const)
      await book(room, start, `At ${start.slice(11, 16)}`);
    const { open, signIn, page, complaints, close } = await openConsole(browser, service);
    await open(`?screen=rooms&day=${spring}`);
    await signIn();
    const seen: Record<string, string[]> = {};
    for (const date of [spring, autumn]) {
      await open(`?screen=rooms&day=${date}`);
      await page.getByLabel('All 24 hours').check();
      for (const name of [/^At 00:30/, /^At 08:00/]) await page.getByRole('gridcell', { name }).waitFor();
      seen[date] = await page.evaluate<string[]>(
        `[...document.querySelectorAll('.rows .booking')].map((cell) => {
          const [hour, width] = [cell.offsetLeft, cell.offsetWidth].map((length) => (24 * length) / cell.parentElement.offsetWidth);
          return [cell.textContent.trim().replace(/\\s/g, ' ').match(/^At \\S+ \\d+:\\d+( CES?T)?–\\d+:\\d+( CES?T)?/)?.[0], hour.toFixed(1), width > 0.2].join(' ');
        })`,
      );
    }
    expect(seen).toEqual({
      [spring]: ['At 00:30 01:30–03:30 1.5 true', 'At 08:00 10:00–11:00 10.0 true'],
      [autumn]: [
        'At 00:30 02:30 CEST–02:30 CET 2.5 true',
        'At 01:30 02:30 CET–03:30 2.5 true',
        'At 08:00 09:00–10:00 9.0 true',
      ],
    });
    expect(complaints).toEqual([]);
    await close();
  });

  test('what is pressed on the timeline and released outside of it drags nothing, and a view of other days has all its days', async () => {
    const { open, signIn, page, complaints, close } = await openConsole(browser, service);
    await open(`?screen=rooms&day=${day}`);
    await signIn();
    await page.getByRole('gridcell', { name: /^Choir/ }).waitFor();
    const box = await page.locator('[data-row="2"] .track').boundingBox();
    if (!box) throw new Error('There is no row.');
    const edge = { x: box.x + box.width - 2, y: box.y + 20 };
    const ghosts = () => page.locator('.ghost').count();
    const days = async () =>
      new Set(await page.evaluate<number[]>("[...document.querySelectorAll('.head b')].map((day) => day.offsetLeft)"))
        .size;
    const view = (name: string) => page.getByRole('button', { name, exact: true });

    await page.mouse.move(edge.x, edge.y);
    await page.mouse.down();
    await page.mouse.move(box.x + 60, 2);
    await page.mouse.up();
    await page.mouse.down();
    await page.mouse.move(edge.x - 90, edge.y, { steps: 3 });
    expect(await ghosts()).toBe(0);
    await page.mouse.up();

    // Nobody tells the page of a release outside of the browser.
    await page.mouse.down();
    await page.locator('.timeline').dispatchEvent('pointermove', { buttons: 0 });
    await page.mouse.move(edge.x - 180, edge.y, { steps: 3 });
    expect(await ghosts()).toBe(0);
    await page.mouse.move(box.x + 60, 2);
    await page.mouse.up();

    await page.mouse.move(edge.x, edge.y);
    await page.mouse.down();
    await view('Week').press('Enter');
    await page.locator('.head b').nth(6).waitFor();
    expect(await days()).toBe(7);
    expect(complaints).toEqual([]);
    await close();
  });

  test('however many locations there are, their hours are asked for in few calls at a time', async () => {
    const { db } = service.context;
    const tenant = await makeTenant(db, { code: 'sites', rooms: ['Hall'] });
    const mandator_id = tenant.mandatorId;
    const added = await db
      .insertInto('location')
      .values(Array.from({ length: 80 }, (_, at) => ({ mandator_id, name: `Site ${at}`, time_zone: 'Europe/Berlin' })))
      .returning(['id as location_id', 'name'])
      .execute();
    await db
      .insertInto('resource')
      .values(added.map(({ location_id, name }) => ({ mandator_id, location_id, name, equipment: [] })))
      .execute();
    await db
      .insertInto('opening_rule')
      .values(
        [{ location_id: tenant.locationId }, ...added].map(({ location_id }) => ({
          mandator_id,
          location_id,
          weekdays: [1],
          opens: '08:00',
          closes: '18:00',
        })),
      )
      .execute();
    const { open, signIn, page, context, complaints, close } = await openConsole(browser, { ...service, tenant });
    await context.addInitScript(`{
      const { fetch } = window;
      const underWay = { RoomHours: 0, NextOpening: 0 };
      window.most = { ...underWay };
      window.fetch = async (...call) => {
        const [, name] = /query (RoomHours|NextOpening)\\b/.exec(call[1]?.body) ?? [];
        if (!name) return fetch(...call);
        underWay[name] += 1;
        most[name] = Math.max(most[name], underWay[name]);
        try {
          return await fetch(...call);
        } finally {
          underWay[name] -= 1;
        }
      };
    }`);
    await open(`?screen=rooms&day=${lastSunday(5)}`);
    await signIn();
    await page.getByRole('link', { name: /^To the next open day: Monday/ }).waitFor();
    expect(await page.evaluate('most')).toEqual({ RoomHours: 6, NextOpening: 6 });
    expect(complaints).toEqual([]);
    await close();
  });
});
