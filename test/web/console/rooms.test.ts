import { afterAll, beforeAll, expect, test } from '@jest/globals';
import type { Browser, Locator } from 'playwright-core';
import { type Service, startService } from '../../_util/service.ts';
import { launchBrowser } from '../_util/browser.ts';
import { openConsole } from '../_util/consoles.ts';
import { describeInBrowser } from '../_util/in-browser.ts';

type Opened = Awaited<ReturnType<typeof openConsole>>;

/** Some days ahead, on which it is nowhere past yet; Berlin's clocks do not change around it. */
const day = `${new Date().getUTCFullYear() + 1}-02-10`;
const rooms = Array.from({ length: 60 }, (_, index) => `R${101 + index}`);

describeInBrowser('The screen of rooms', () => {
  let service: Service;
  let browser: Browser;
  let mine: Opened;
  let send: (method: string, path: string, body: unknown) => Promise<Record<string, unknown>>;

  const cell = (name: RegExp, on: Opened = mine): Locator => on.page.getByRole('gridcell', { name });
  const booking = (room: number, hours: [string, string], more: Record<string, unknown>) =>
    send('POST', '/bookings', {
      ResourceId: service.tenant.resources[room]?.id,
      Start: `${day}T${hours[0]}:00Z`,
      End: `${day}T${hours[1]}:00Z`,
      ...more,
    });
  const button = (name: string | RegExp, on: Opened = mine) => on.page.getByRole('button', { name }).last();
  /** Of the element that has the focus. */
  const focused = () =>
    mine.page.evaluate<string | null>(
      'document.activeElement.ariaLabel ?? document.activeElement.textContent.replace(/\\s+/g, " ").trim()',
    );
  const press = (...keys: string[]) =>
    keys.reduce((done, key) => done.then(() => mine.page.keyboard.press(key)), Promise.resolve());
  async function seen(state: string): Promise<void> {
    expect({ state, violations: await mine.violations(), complaints: mine.complaints }).toEqual({
      state,
      violations: [],
      complaints: [],
    });
  }

  beforeAll(async () => {
    [service, browser] = await Promise.all([startService({}, rooms), launchBrowser()]);
    const { context, tenant, url } = service;
    await context.db
      .insertInto('opening_rule')
      .values({
        mandator_id: tenant.mandatorId,
        location_id: tenant.locationId,
        weekdays: [1, 2, 3, 4, 5, 6, 7],
        opens: '07:00',
        closes: '21:00',
      })
      .execute();
    const token = await service.signIn(tenant, 'Admin');
    send = async (method, path, body) => {
      const headers = { Authorization: `Bearer ${token}`, 'Content-Type': 'application/json' };
      const answer = await fetch(`${url}/${tenant.code}/api/v1.0${path}`, {
        method,
        headers,
        body: JSON.stringify(body),
      });
      const read = (await answer.json()) as Record<string, unknown>;
      if (!answer.ok) throw new Error(`${method} ${path}: ${answer.status} ${JSON.stringify(read)}`);
      return read;
    };
    await booking(1, ['08:00', '09:00'], { Subject: 'Conference' });
    mine = await openConsole(browser, service);
  });
  afterAll(async () => {
    await browser?.close();
    await service?.stop();
  });

  test('somebody signs in by keyboard, and sees the day that the address names', async () => {
    await mine.open(`?screen=rooms&day=${day}`);
    await mine.signIn();
    await cell(/^Conference 09:00–10:00/).waitFor();
    await cell(/^free 07:00–21:00/)
      .first()
      .waitFor();
    expect(await mine.page.getByRole('row').count()).toBeLessThanOrEqual(50);
    await seen('a day');
  });

  test('a free time is booked, moved, lengthened and cancelled by keys; undo takes it back', async () => {
    await mine.page.getByRole('grid').focus();
    await press('ArrowDown', 'ArrowRight');
    expect(await focused()).toBe('free 07:00–21:00');
    await press('Enter');
    await mine.page.getByLabel('Title').fill('Choir');
    await seen('the form');
    await press('Enter');
    await cell(/^Choir 07:00–08:00/).waitFor();
    await mine.page.getByRole('dialog').waitFor({ state: 'detached' });
    await cell(/Choir/).focus();
    await press('Shift+ArrowRight', 'Shift+ArrowRight', 'Alt+ArrowRight');
    await mine.page
      .getByText(/^Moved: R101, .*07:30–08:45/)
      .first()
      .waitFor();
    expect(await focused()).toMatch(/^Choir 07:30–08:45/);
    await button('Undo').click();
    await mine.page
      .getByText(/^Moved: R101, .*07:00–08:00/)
      .first()
      .waitFor();
    await cell(/^Choir 07:00–08:00/).focus();
    await press('Delete');
    await cell(/Choir/).waitFor({ state: 'detached' });
    await button('Undo').click();
    await cell(/^Choir 07:00–08:00/).waitFor();
    await cell(/Choir/).focus();
    await press('Delete');
    await button('Do it now').click();
    await mine.page.getByText('Cancelled.', { exact: true }).first().waitFor();
    await seen('after a cancellation');
  });

  test('a booking is made by dragging, and stands in the other browser', async () => {
    const other = await openConsole(browser, service, { role: 'User', language: 'de', theme: 'dark' });
    await other.open(`?screen=rooms&day=${day}`);
    await other.signIn();
    await cell(/Conference/, other).waitFor();
    const box = await mine.page.locator('[data-row="3"] .track').boundingBox();
    if (!box) throw new Error('There is no row.');
    const at = (hour: number) => box.x + (box.width * (hour - 7)) / 14;
    await mine.page.mouse.move(at(10) + 2, box.y + 20);
    await mine.page.mouse.down();
    await mine.page.mouse.move(at(11), box.y + 20, { steps: 3 });
    await mine.page.mouse.move(at(11.5) - 3, box.y + 20, { steps: 3 });
    await mine.page.mouse.up();
    await mine.page.getByLabel('Title').fill('Rehearsal');
    await button('Book').click();
    await cell(/^Rehearsal 10:00–11:30/, other).waitFor();
    expect({ violations: await other.violations(), complaints: other.complaints }).toEqual({
      violations: [],
      complaints: [],
    });
    await other.close();
  });

  test('a conflict says what is in the way, and one press takes what is free', async () => {
    const from = await cell(/Rehearsal/).boundingBox();
    const to = await cell(/Conference/).boundingBox();
    if (!from || !to) throw new Error('A booking is missing.');
    await mine.page.mouse.move(from.x + 30, from.y + 20);
    await mine.page.mouse.down();
    await mine.page.mouse.move(to.x + 40, to.y + 10, { steps: 4 });
    await mine.page.mouse.move(to.x + 30, to.y + 20, { steps: 2 });
    await mine.page.mouse.up();
    await mine.page.getByRole('dialog', { name: 'This is taken already' }).waitFor();
    await cell(/^Rehearsal 10:00–11:30/).waitFor();
    await seen('a conflict');
    await button(/^Take R101/).click();
    await mine.page
      .locator('[data-row="0"]')
      .getByRole('gridcell', { name: /^Rehearsal 09:00–10:30/ })
      .waitFor();
  });

  test('the opened booking is in the address: Back closes it', async () => {
    await cell(/Conference/).click();
    await mine.page.getByRole('dialog', { name: 'Conference' }).waitFor();
    expect(mine.page.url()).toMatch(/booking=/);
    await seen('a booking');
    await mine.page.goBack();
    await mine.page.getByRole('dialog').waitFor({ state: 'detached' });
  });

  test('without a network it says so and refuses; what was missed is drawn when it is back', async () => {
    await mine.context.setOffline(true);
    await mine.page.getByText(/^No connection/).waitFor();
    await seen('offline');
    await cell(/Rehearsal/).focus();
    await press('Shift+ArrowRight');
    await mine.page
      .getByText(/cannot be reached/)
      .first()
      .waitFor();
    await cell(/^Rehearsal 09:00–10:30/).waitFor();
    await booking(2, ['12:00', '13:00'], { Subject: 'Meanwhile' });
    await mine.context.setOffline(false);
    await cell(/^Meanwhile 13:00–14:00/).waitFor();
    await mine.page.getByText(/^No connection/).waitFor({ state: 'detached' });
  });

  test('a session that ends is asked for again, over what was typed', async () => {
    await button(/^Book …/).click();
    await mine.page.getByLabel('Title').fill('Typed before');
    await mine.context.clearCookies();
    await button('Book').click();
    await mine.page.getByText(/Your session has ended/).waitFor();
    await seen('a lost session');
    await mine.signIn();
    await mine.page
      .getByText(/^Booked:/)
      .first()
      .waitFor();
  });

  test('filters and search find rooms; what nothing fits says what to do', async () => {
    await mine.page.getByRole('searchbox', { name: 'Search' }).fill('Confer');
    await mine.page.getByText('1 room', { exact: true }).waitFor();
    await mine.page.getByRole('spinbutton').fill('500');
    await mine.page.getByText(/^No room fits/).waitFor();
    await seen('nothing');
    await button('Clear filters').click();
    await mine.page.getByText('60 rooms', { exact: true }).waitFor();
  });

  test('the week, the list and the keys; German and dark', async () => {
    await button('Week').click();
    await cell(/Conference/).waitFor();
    await seen('a week');
    await button('List').click();
    await mine.page.getByRole('table').getByText('Conference').waitFor();
    await seen('a list');
    await press('?');
    await mine.page.getByRole('dialog', { name: 'What the keys do' }).waitFor();
    await press('Escape');
    await button('Admin of school').click();
    await mine.page.getByLabel('Language').selectOption('de');
    await mine.page.getByLabel('Aussehen').selectOption('dark');
    await seen('the menu');
    await button('Abmelden').click();
    await mine.page.getByRole('button', { name: 'Anmelden' }).waitFor();
    await seen('signed out');
  });
});
