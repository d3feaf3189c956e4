import fs from 'node:fs';
import { afterAll, beforeAll, expect, test } from '@jest/globals';
import type { Browser, Locator } from 'playwright-core';
import { localTimes } from '../../_util/local-times.ts';
import { type Service, startService } from '../../_util/service.ts';
import { launchBrowser } from '../_util/browser.ts';
import { openConsole } from '../_util/consoles.ts';
import { describeInBrowser } from '../_util/in-browser.ts';

type Opened = Awaited<ReturnType<typeof openConsole>>;

/** Some days ahead, on which it is nowhere past yet; Berlin's clocks do not change around it. */
const day = `${new Date().getUTCFullYear() + 1}-02-10`;
const after = (days: number) => new Date(Date.parse(day) + days * 86_400_000).toISOString().slice(0, 10);
const weekday = (days: number) =>
  new Intl.DateTimeFormat('en', { weekday: 'long', timeZone: 'UTC' }).format(Date.parse(after(days)));
/** What has the focus is not below something else. */
const isInSight = `(() => {
  const { left, top } = document.activeElement.getBoundingClientRect();
  return document.elementFromPoint(Math.max(left + 3, 0), top + 5)?.closest('[data-cell]') === document.activeElement;
})()`;
/** The last one is named in Hebrew. */
const rooms = Array.from({ length: 60 }, (_, index) => `${index === 59 ? 'חדר ' : 'R'}${101 + index}`);

describeInBrowser('The screen of rooms', () => {
  let service: Service;
  let browser: Browser;
  let mine: Opened;
  type Role = 'Admin' | 'User';
  let send: (method: string, path: string, body: unknown, role?: Role) => Promise<Record<string, unknown>>;
  /** A room in another zone, in which one checks in, and which is always open. */
  let sala: number;

  const cell = (name: RegExp, on: Opened = mine): Locator => on.page.getByRole('gridcell', { name });
  const booking = (room: number, hours: [string, string], more: Record<string, unknown>) =>
    send('POST', '/bookings', {
      ResourceId: service.tenant.resources[room]?.id,
      Start: `${day}T${hours[0]}:00Z`,
      End: `${day}T${hours[1]}:00Z`,
      ...more,
    });
  const button = (name: string | RegExp, on: Opened = mine) => on.page.getByRole('button', { name }).last();
  /** Until nothing moves any more: the hours are drawn that are open, and all bookings are there. */
  async function isDrawn(): Promise<void> {
    await cell(/^free 07:00–21:00/)
      .first()
      .waitFor();
    await mine.page.locator('[role=grid][aria-busy=false]').waitFor();
  }
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
    const lisboa = await context.db
      .insertInto('location')
      .values({ mandator_id: tenant.mandatorId, name: 'Lisboa', time_zone: 'Europe/Lisbon' })
      .returning('id')
      .executeTakeFirstOrThrow();
    const room = await context.db
      .insertInto('resource')
      .values({
        mandator_id: tenant.mandatorId,
        location_id: lisboa.id,
        name: 'Sala',
        equipment: ['Beamer'],
        check_in_minutes: 60,
      })
      .returning('id')
      .executeTakeFirstOrThrow();
    sala = room.id;
    const policy = await context.db
      .insertInto('policy')
      .values({ mandator_id: tenant.mandatorId, name: 'Halls', needs_approval: true })
      .returning('id')
      .executeTakeFirstOrThrow();
    await context.db
      .updateTable('resource')
      .set({ policy_id: policy.id })
      .where('id', '=', tenant.resources[10]?.id as number)
      .execute();
    // Nobody but Admins sees the last room but two.
    const group = context.db.insertInto('person_group').values({ mandator_id: tenant.mandatorId, name: 'Nobody' });
    const { id: nobody } = await group.returning('id').executeTakeFirstOrThrow();
    const hidden = { mandator_id: tenant.mandatorId, name: 'Hidden', may_see: [nobody] };
    const hiding = await context.db.insertInto('policy').values(hidden).returning('id').executeTakeFirstOrThrow();
    await context.db
      .updateTable('resource')
      .set({ policy_id: hiding.id })
      .where('id', '=', tenant.resources[57]?.id as number)
      .execute();
    const tokens = { Admin: await service.signIn(tenant, 'Admin'), User: await service.signIn(tenant, 'User') };
    send = async (method, path, body, role = 'Admin') => {
      const headers = {
        Authorization: `Bearer ${tokens[role]}`,
        'Content-Type': 'application/json',
        ...((method === 'PATCH' || method === 'DELETE') && { 'If-Match': '*' }),
      };
      const answer = await fetch(`${url}/${tenant.code}/api/v1.0${path}`, {
        method,
        headers,
        ...(method !== 'GET' && { body: JSON.stringify(body) }),
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

  test('a title with control characters reverses nothing, and does not move the text beside it', async () => {
    const { Id } = await booking(2, ['10:00', '11:00'], { Subject: '\u202eTur\u2069ned' });
    await mine.page.getByText('Turned').first().waitFor();
    expect(await mine.page.evaluate<string>('document.body.innerText')).not.toMatch(/[\u202a-\u202e\u2066-\u2069]/);
    const order = `[...document.querySelectorAll('a, small, span, strong')].map((one) => getComputedStyle(one).unicodeBidi)`;
    expect(new Set(await mine.page.evaluate<string[]>(order))).toEqual(new Set(['isolate']));
    await send('DELETE', `/bookings/${Id}`, undefined);
    await mine.page.getByText('Turned').first().waitFor({ state: 'detached' });
  });

  test('a room named in Hebrew stays apart from the text beside it', async () => {
    const { Id } = await booking(59, ['10:00', '11:00'], { Subject: 'Choir' });
    const own = await openConsole(browser, service);
    await own.open(`?screen=rooms&day=${day}&booking=${Id}`);
    await own.signIn();
    await button('Cancel booking', own).click();
    await own.page.getByText('Cancelling Choir (\u2068חדר 160\u2069, ').last().waitFor();
    expect(own.complaints).toEqual([]);
    await own.close();
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
    await mine.pressAtOnce('Shift+ArrowRight', 'Shift+ArrowRight', 'Alt+ArrowRight');
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
    await cell(/^Choir .*about to be cancelled/).waitFor();
    await seen('about to be cancelled');
    await button('Undo').click();
    await cell(/^Choir .*about to be cancelled/).waitFor({ state: 'detached' });
    await cell(/^Choir 07:00–08:00/).focus();
    await press('Delete');
    await button('Do it now').click();
    await mine.page.getByText('Cancelled.', { exact: true }).first().waitFor();
    await cell(/Choir/).waitFor({ state: 'detached' });
    await seen('after a cancellation');
  });

  test('other messages do not run what can still be undone', async () => {
    await booking(0, ['08:00', '09:00'], { Subject: 'Kept' });
    await cell(/^Kept 09:00–10:00/).focus();
    await press('Delete');
    await cell(/^Kept .*about to be cancelled/).waitFor();
    await cell(/^Conference 09:00–10:00/).focus();
    for (const [key, hours] of [
      ['Shift+ArrowRight', '09:15–10:15'],
      ['Shift+ArrowLeft', '09:00–10:00'],
    ] as const) {
      await press(key);
      await mine.page
        .locator('.toast', { hasText: new RegExp(`^Moved: .*${hours}`) })
        .first()
        .waitFor();
    }
    await mine.page
      .locator('.toast', { hasText: /^Cancelling Kept/ })
      .getByRole('button', { name: 'Undo' })
      .click();
    await cell(/^Kept .*about to be cancelled/).waitFor({ state: 'detached' });
    await cell(/^Kept 09:00–10:00/).focus();
    await press('Delete');
    await button('Do it now').click();
    await cell(/^Kept/).waitFor({ state: 'detached' });
  });

  test('without a clipboard a trace is selected, to be copied by hand', async () => {
    const { page } = mine;
    const errors = [{ message: 'Broken', extensions: { code: 'INTERNAL_ERROR', traceId: 'trace-to-copy' } }];
    await page.route('**/graphql', (route) =>
      route.request().postData()?.includes('createBooking') ? route.fulfill({ json: { errors } }) : route.fallback(),
    );
    // As on a page without https.
    await page.evaluate("Object.defineProperty(navigator, 'clipboard', { value: undefined, configurable: true })");
    await button(/^Book …/).click();
    await page.getByLabel('Title').fill('Broken');
    await press('Enter');
    await button('Copy trace').click();
    expect(await page.evaluate('String(getSelection())')).toBe('trace-to-copy');
    await seen('a trace');
    await page.evaluate('delete navigator.clipboard');
    await page.unroute('**/graphql');
    await press('Escape');
    await page.getByRole('dialog').waitFor({ state: 'detached' });
  });

  test('a booking is made by dragging, and appears in the other browser', async () => {
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
    const { Id } = await booking(8, ['18:00', '19:00'], { Subject: 'Moving' });
    await cell(/^Moving 19:00–20:00/, other).waitFor();
    const move = (room: number) => send('PATCH', `/bookings/${Id}`, { ResourceId: service.tenant.resources[room]?.id });
    await move(57);
    await cell(/^Moving/, other).waitFor({ state: 'detached' });
    await move(8);
    await cell(/^Moving 19:00–20:00/, other).waitFor();
    await send('DELETE', `/bookings/${Id}`, undefined);
    await cell(/^Moving/, other).waitFor({ state: 'detached' });
    expect({ violations: await other.violations(), complaints: other.complaints }).toEqual({
      violations: [],
      complaints: [],
    });
    await other.close();
  });

  test('a page of bookings that arrives after the frames does not restore what they have removed', async () => {
    const at = (room: number, Subject: string) => booking(room, ['19:00', '20:00'], { Subject });
    const [cancelled, hidden] = [await at(12, 'Cancelled'), await at(13, 'Hidden'), await at(14, 'Kept')];
    const { promise: released, resolve: release } = Promise.withResolvers<void>();
    const { promise: read, resolve: hasRead } = Promise.withResolvers<void>();
    await mine.page.route(/graphql$/, async (route) => {
      if (!route.request().postData()?.includes('query RoomBookings')) return route.fallback();
      const response = await route.fetch();
      if ((await response.text()).includes('Hidden')) hasRead();
      await released;
      return await route.fulfill({ response }).catch(() => undefined);
    });
    await mine.open(`?screen=rooms&day=${day}`);
    await read;
    await send('DELETE', `/bookings/${cancelled['Id']}`, undefined);
    await send('PATCH', `/bookings/${hidden['Id']}`, { ResourceId: service.tenant.resources[57]?.id });
    await at(11, 'Behind them');
    await cell(/^Behind them/).waitFor();
    release();
    await cell(/^Kept 20:00–21:00/).waitFor();
    await mine.page.unrouteAll({ behavior: 'wait' });
    expect([await cell(/^Cancelled/).count(), await cell(/^Hidden/).count()]).toEqual([0, 0]);
  });

  test('bookings are read once the subscription is heard, or without it, and then anew', async () => {
    const calls = `import(new URL('rooms/reading.ts', document.querySelector('script[src]').src)).then(async ({ openReading }) => {
      const [own, told, ended] = [setTimeout, [], []];
      const turn = () => new Promise((resolve) => own(resolve, 0));
      const say = async () => (await turn(), told.splice(0));
      let impatience;
      globalThis.setTimeout = (run) => (impatience = run, 0);
      const read = async (ids, stop) => (told.push(ids.join()), new Promise((resolve) => (ended.push(resolve), stop.addEventListener('abort', resolve))).then(() => 0));
      const open = () => openReading({ size: 2, read, forget: () => told.push('forget'), rest: () => told.push('rest') });
      const [one, other] = [open(), open()];
      one.add(['1', '2', '3']);
      other.close();
      const said = [await say()];
      one.heard();
      said.push(await say());
      one.restart();
      said.push(await say());
      impatience();
      said.push(await say());
      one.heard();
      said.push(await say());
      for (const end of ended) end();
      said.push(await say(), one.isLoading.value);
      globalThis.setTimeout = own;
      return said;
    })`;
    expect(await mine.page.evaluate(calls)).toEqual([
      [],
      ['1,2', '3'],
      ['forget', 'rest'],
      ['1,2', '3'],
      ['forget', '1,2', '3'],
      ['rest'],
      false,
    ]);
  });

  test('rooms with few bookings are read in fewer queries than rooms with many', async () => {
    const calls = `import(new URL('rooms/reading.ts', document.querySelector('script[src]').src)).then(async ({ openReading }) => {
      const sizes = async (perRoom) => {
        const told = [];
        const { promise: ended, resolve: end } = Promise.withResolvers();
        const read = async (ids) => (told.push(ids.length), ids.length * perRoom);
        const reading = openReading({ size: 4, read, forget: () => undefined, rest: () => reading.isLoading.subscribe((is) => is || end()) });
        reading.add(Array.from({ length: 300 }, (_, index) => String(index)));
        reading.heard();
        await ended;
        return told;
      };
      return [await sizes(0), await sizes(10), (await sizes(90)).length];
    })`;
    expect(await mine.page.evaluate(calls)).toEqual([
      [4, 4, 4, 100, 100, 88],
      [4, 4, 4, ...Array.from({ length: 14 }, () => 20), 8],
      75,
    ]);
  });

  test('a conflict says what is in the way, and one press takes what is free', async () => {
    await isDrawn();
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
    const places = () =>
      mine.page.evaluate(
        "JSON.stringify([...document.querySelectorAll('#top, #main, [data-row], .bar')].map((each) => each.getBoundingClientRect()))",
      );
    const before = await places();
    await mine.context.setOffline(true);
    await mine.page
      .getByRole('status')
      .getByText(/^No connection/)
      .waitFor();
    await seen('offline');
    expect(await places()).toBe(before);
    // Whatever comes into focus is not below it: the cells at the lower edge, and the sections at the upper one.
    const isClear = `new Promise((resolve) => (function look() {
      const [box, over] = [document.activeElement, document.querySelector('#connection')].map((each) => each.getBoundingClientRect());
      const isCovered = box.bottom > over.top && box.top < over.bottom && box.right > over.left && box.left < over.right;
      if (isCovered || !document.activeElement.matches('a, [data-cell]')) requestAnimationFrame(look); else resolve();
    })())`;
    await mine.page.getByRole('grid').focus();
    for (let row = 0; row < 14; row += 1) {
      await press('ArrowDown');
      await mine.page.evaluate(isClear);
    }
    expect(await mine.page.locator('#connection.above').count()).toBe(1);
    await mine.page.getByRole('link', { name: 'Rooms', exact: true }).focus();
    await mine.page.evaluate(isClear);
    await mine.page.getByRole('grid').focus();
    await press('Control+Home');
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
    await mine.page.getByText('The connection is back.', { exact: true }).waitFor();
    expect(await mine.page.evaluate("document.querySelector('#main').getBoundingClientRect().top")).toBe(
      JSON.parse(String(before))[1].top,
    );
  });

  test('a session that ends is asked for again, over what was typed', async () => {
    await button(/^Book …/).click();
    await mine.page.getByLabel('Title').fill('Typed before');
    await mine.context.clearCookies();
    // Whatever else the page asks may have told it before.
    await mine.page.evaluate("document.querySelector('dialog form').requestSubmit()");
    await mine.page
      .getByRole('dialog', { name: 'Sign in', exact: true })
      .getByText(/Your session has ended/)
      .waitFor();
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
    await mine.page.getByText(/^No room matches/).waitFor();
    await seen('nothing');
    await button('Clear filters').click();
    await mine.page.getByText('61 rooms', { exact: true }).waitFor();
  });

  test('a series is described in words, with weekdays; taken dates are listed and can be left out', async () => {
    await booking(5, ['09:00', '10:00'], { Subject: 'Inspection' });
    await mine.open(`?screen=rooms&day=${day}`);
    await mine.page.getByRole('grid').focus();
    const row = mine.page.locator('[data-row="5"]');
    await row.getByRole('gridcell', { name: /^Inspection/ }).waitFor();
    await button(/^Book …/).click();
    const form = mine.page.getByRole('dialog', { name: 'Book a room' });
    await form.getByLabel('Title').fill('Chess');
    await form.getByLabel('Room', { exact: true }).selectOption({ label: 'R106 · Campus' });
    await form.getByLabel('Date', { exact: true }).fill(day);
    await form.getByLabel('From', { exact: true }).fill('10:00');
    await form.getByLabel('To', { exact: true }).fill('11:00');
    await form.getByLabel('Repeat').selectOption('weekly');
    await form.getByLabel('Last day of the series').fill(after(8));
    await form.getByRole('checkbox', { name: weekday(1) }).check();
    await form.getByText(new RegExp(`^every week on .*${weekday(0)}.*: 4 bookings$`)).waitFor();
    await seen('the form of a series');
    await button('Book').click();
    await form.getByText('One date is taken:').waitFor();
    await form.getByText(/^Inspection.*10:00–11:00/).waitFor();
    await seen('a series in conflict');
    await button('Leave this date out').click();
    await mine.page
      .getByText(/^3 bookings made, 1 left out \(.+\)\.$/)
      .first()
      .waitFor();
  });

  test('of a series of a User what is closed can be left out, and what was left out is told', async () => {
    await service.context.db
      .insertInto('opening_exception')
      .values({
        mandator_id: service.tenant.mandatorId,
        location_id: service.tenant.locationId,
        resource_id: service.tenant.resources[20]?.id as number,
        from_date: after(1),
        to_date: after(2),
        closed: true,
        periods: '[]',
      })
      .execute();
    const own = await openConsole(browser, service, { role: 'User', language: 'de' });
    await own.open(`?screen=rooms&day=${day}`);
    await own.signIn();
    await button(/^Buchen …/, own).click();
    const form = own.page.getByRole('dialog', { name: 'Raum buchen' });
    await form.getByLabel('Titel').fill('Schach');
    await form.getByLabel('Raum', { exact: true }).selectOption({ label: 'R121 · Campus' });
    await form.getByLabel('Von', { exact: true }).fill('10:00');
    await form.getByLabel('Bis', { exact: true }).fill('11:00');
    await form.getByLabel('Wiederholen').selectOption('daily');
    await form.getByLabel('Letzter Tag der Serie').fill(after(3));
    await button('Buchen', own).click();
    await form.getByText('Der Raum ist in dieser Zeit nicht geöffnet.').first().waitFor();
    await button('Auslassen, was geschlossen oder belegt ist', own).click();
    await own.page
      .getByText(/^2 Termine gebucht, 2 ausgelassen \(.+; .+\)\.$/)
      .first()
      .waitFor();
    expect(own.complaints).toEqual([]);
    await own.close();
  });

  test('an Admin is told that the room is closed, and books all the same', async () => {
    const { mandatorId, locationId, resources } = service.tenant;
    const closed = { mandator_id: mandatorId, location_id: locationId, resource_id: resources[21]?.id as number };
    await service.context.db
      .insertInto('opening_exception')
      .values({ ...closed, from_date: after(1), to_date: after(2), closed: true, periods: '[]' })
      .execute();
    await mine.open(`?screen=rooms&day=${day}`);
    await button(/^Book …/).click();
    const form = mine.page.getByRole('dialog', { name: 'Book a room' });
    const hint = form.getByText(/Admins may book all the same\.$/);
    const says = (text: string) => form.getByText(text).waitFor();
    await form.getByLabel('Title').fill('Inventory');
    await form.getByLabel('Room', { exact: true }).selectOption({ label: 'R122 · Campus' });
    await form.getByLabel('Date', { exact: true }).fill(day);
    await form.getByLabel('From', { exact: true }).fill('20:30');
    await form.getByLabel('To', { exact: true }).fill('21:30');
    await says('The room is not open then, on this day only 07:00–21:00. Admins may book all the same.');
    await seen('the form of a booking outside of the hours');
    await form.getByLabel('To', { exact: true }).fill('21:00');
    await hint.waitFor({ state: 'detached' });
    await form.getByLabel('Date', { exact: true }).fill(after(1));
    await says('The room is closed on this day. Admins may book all the same.');
    await form.getByLabel(/^Block/).check();
    await hint.waitFor({ state: 'detached' });
    await form.getByLabel(/^Block/).uncheck();
    await form.getByLabel('Date', { exact: true }).fill(day);
    await form.getByLabel('Repeat').selectOption('daily');
    await form.getByLabel('Last day of the series').fill(after(3));
    await form
      .getByText(/^On 2 of 4 dates the room is not open \(.+; .+\)\. Admins may book all the same\.$/)
      .waitFor();
    await button('Book').click();
    await mine.page.getByText('4 bookings made.').first().waitFor();
    await booking(2, ['18:45', '19:45'], { Subject: 'Vigil' });
    await cell(/^Vigil 19:45–20:45/).focus();
    await press('Alt+ArrowRight', 'Alt+ArrowRight');
    await mine.page
      .getByText(/^Moved: R103, .*19:45–21:15\. The room is not open then\.$/)
      .first()
      .waitFor();
  });

  test('a time that the clocks show twice carries the name of its zone', async () => {
    const calls = `import(new URL('clock.ts', document.querySelector('script[src]').src)).then((clock) => {
      const times = (zone, ...at) => at.map((each) => clock.timeText(zone, Date.parse(each)).replace('\\u00a0', ' '));
      return {
        berlin: times('Europe/Berlin', '2026-10-24T23:59Z', '2026-10-25T00:00Z', '2026-10-25T01:00Z', '2026-10-25T02:00Z'),
        newYork: times('America/New_York', '2026-11-01T05:30Z', '2026-11-01T06:30Z'),
        forward: times('Europe/Berlin', '2027-03-28T00:59Z', '2027-03-28T01:00Z'),
        range: clock.rangeIn('Europe/Berlin', '2026-10-25T00:00:00Z', '2026-10-25T01:00:00Z').split(', ').at(-1),
        input: clock.toInput('Europe/Berlin', Date.parse('2026-10-25T00:30Z')),
        before: clock.clockText(-30),
      };
    })`;
    expect(await mine.page.evaluate(calls)).toEqual({
      berlin: ['01:59', '02:00 CEST', '02:00 CET', '03:00'],
      newYork: ['01:30 EDT', '01:30 EST'],
      forward: ['01:59', '03:00'],
      range: '02:00\u00a0CEST–02:00\u00a0CET',
      input: '2026-10-25T02:30',
      before: '23:30',
    });
  });

  test('a local time that the clocks skip or show twice is the instant that the server means', async () => {
    const calls = `import(new URL('clock.ts', document.querySelector('script[src]').src)).then((clock) =>
      ${JSON.stringify(localTimes)}.map(([zone, local]) => [zone, local, new Date(clock.fromInput(zone, local)).toISOString()]))`;
    expect(await mine.page.evaluate(calls)).toEqual(localTimes);
  });

  test('a fact is listed that has a value, of 0 too, and none without one', async () => {
    const calls = `import(new URL('parts/fact.ts', document.querySelector('script[src]').src)).then(({ fact }) =>
      [0, 'well', null, undefined, false, ''].map((value) => Boolean(fact('Name', value))))`;
    expect(await mine.page.evaluate(calls)).toEqual([true, true, false, false, false, false]);
  });

  test('a block of several days is made, and keeps its days when its title is changed', async () => {
    const block = async () => {
      const { Items } = await send('GET', `/bookings?From=${after(20)}T00:00:00Z&To=${after(25)}T00:00:00Z`, null);
      return (Items as { Subject: string; Start: string; End: string }[]).map(({ Subject, Start, End }) => [
        Subject,
        Start,
        End,
      ]);
    };
    await mine.open(`?screen=rooms&day=${after(20)}`);
    await button(/^Book …/).click();
    await mine.page.getByLabel('Title').fill('Painting');
    await mine.page.getByLabel('From', { exact: true }).fill('08:00');
    await mine.page.getByLabel('To', { exact: true }).fill('18:00');
    await mine.page.getByRole('checkbox', { name: /^Block/ }).check();
    await mine.page.getByLabel('Last day', { exact: true }).fill(after(22));
    await seen('the form of a block');
    await button('Book').click();
    await cell(/^Painting/).waitFor();
    expect(await block()).toEqual([['Painting', `${after(20)}T07:00:00.000Z`, `${after(22)}T17:00:00.000Z`]]);
    const [first] = (await send('GET', `/bookings?From=${after(20)}T00:00:00Z&To=${after(25)}T00:00:00Z`, null))[
      'Items'
    ] as { Id: number }[];
    await send('PATCH', `/bookings/${first?.Id}`, { Start: `${after(20)}T07:07:00Z` });
    await mine.open(`?screen=rooms&day=${after(21)}&booking=${first?.Id}`);
    await button('Change').click();
    await mine.page.getByLabel('Title').fill('Painting it');
    await button('Save').click();
    await mine.page
      .getByText(/^Changed:/)
      .last()
      .waitFor();
    expect(await block()).toEqual([['Painting it', `${after(20)}T07:07:00.000Z`, `${after(22)}T17:00:00.000Z`]]);
    await mine.open(`?screen=rooms&day=${after(21)}&as=list`);
    await mine.page.getByRole('cell', { name: /, 18:00$/ }).waitFor();
    await send('DELETE', `/bookings/${first?.Id}`, undefined);
  });

  test('while a date is typed the form stays', async () => {
    await mine.open(`?screen=rooms&day=${day}`);
    await button(/^Book …/).click();
    await mine.page.getByLabel('Title').fill('Half a date');
    const date = mine.page.getByLabel('Date', { exact: true });
    await date.fill('');
    await mine.page.getByLabel('Remark').fill('Typed on');
    await date.fill(after(1));
    expect(await mine.page.getByLabel('Title').inputValue()).toBe('Half a date');
    expect(mine.complaints).toEqual([]);
    await press('Escape');
  });

  /** The clocks of the machine and of the server show the same time. @param rooms the answer to which rooms are free */
  async function setClocks(own: Awaited<ReturnType<typeof openConsole>>, now: Date, rooms?: object): Promise<void> {
    await own.page.clock.setFixedTime(now);
    await own.page.route(/\/(graphql|session(\/\w+)?)$/, async (route) => {
      const response = await route.fetch();
      const headers = { ...response.headers(), date: now.toUTCString() };
      const json = route.request().postData()?.includes('query FreeRooms') && rooms;
      await route.fulfill({ response, headers, ...(json && { json }) });
    });
  }

  test('a new booking of today begins with the next quarter of an hour, also if that is tomorrow', async () => {
    const own = await openConsole(browser, service);
    await setClocks(own, new Date(`${day}T22:50:00Z`));
    await own.open('?screen=rooms');
    await own.signIn();
    await button(/^Book …/, own).click();
    const times = ['Date', 'From', 'To'].map((label) => own.page.getByLabel(label, { exact: true }).inputValue());
    expect(await Promise.all(times)).toEqual([after(1), '00:00', '01:00']);
    // Answers may still be on their way.
    await own.page.unrouteAll({ behavior: 'ignoreErrors' });
    await own.close();
  });

  test('among the rooms that are free for an hour, one is offered for as long as it is free', async () => {
    const own = await openConsole(browser, service);
    const now = new Date(`${day}T10:05:00Z`);
    const { id } = service.tenant.resources[30] as { id: number };
    const free = { resourceId: `resource_${id}`, freeUntil: `${day}T11:06:00Z` };
    await setClocks(own, now, { data: { freeResources: [{ __typename: 'FreeResource', ...free }] } });
    await own.open('?screen=rooms&free=60');
    await own.signIn();
    await own.page.getByText('1 room', { exact: true }).waitFor();
    await button(/^Book …/, own).click();
    const times = ['From', 'To'].map((label) => own.page.getByLabel(label, { exact: true }).inputValue());
    expect(await Promise.all(times)).toEqual(['11:15', '12:06']);
    // Answers may still be on their way.
    await own.page.unrouteAll({ behavior: 'ignoreErrors' });
    await own.close();
  });

  test('a series is changed and cancelled from one of its bookings on', async () => {
    await mine.open(`?screen=rooms&day=${after(1)}`);
    await cell(/^Chess 10:00–11:00/).click();
    const details = mine.page.getByRole('dialog', { name: 'Chess' });
    await details.getByText(/^every week on .*until/).waitFor();
    await button('Change').click();
    await mine.page.getByLabel('Applies to').selectOption('All');
    expect(await mine.page.getByLabel('Date', { exact: true }).isDisabled()).toBe(true);
    await mine.page.getByLabel('From', { exact: true }).fill('10:30');
    await button('Save').click();
    await mine.page
      .getByText(/^Changed:/)
      .first()
      .waitFor();
    await mine.open(`?screen=rooms&day=${after(8)}`);
    await cell(/^Chess 10:30–11:00/).waitFor();
    await mine.open(`?screen=rooms&day=${after(7)}`);
    await cell(/^Chess 10:30–11:00/).click();
    await mine.page.getByLabel('Applies to').selectOption('Following');
    await button('Cancel booking').click();
    await button('Do it now').click();
    await mine.page.getByText('Cancelled.', { exact: true }).first().waitFor();
    const subjects = async (ahead: number) => {
      const { Items } = await send(
        'GET',
        `/bookings?From=${after(ahead)}T00:00:00Z&To=${after(ahead + 1)}T00:00:00Z&Occupying=true`,
        null,
      );
      return (Items as { Subject: string }[]).map(({ Subject }) => Subject).filter((each) => each === 'Chess');
    };
    expect([await subjects(1), await subjects(7), await subjects(8)]).toEqual([['Chess'], [], []]);
  });

  test('an edge is dragged; the time of another zone is shown beside that of the room', async () => {
    await mine.open(`?screen=rooms&day=${day}`);
    await isDrawn();
    const box = await cell(/^Conference 09:00–10:00/).boundingBox();
    if (!box) throw new Error('There is no booking.');
    const hour = box.width;
    await mine.page.mouse.move(box.x + box.width - 3, box.y + 20);
    await mine.page.locator('.timeline[data-grip="edge"]').waitFor();
    await mine.page.mouse.down();
    await mine.page.mouse.move(box.x + box.width + hour / 4, box.y + 20, { steps: 3 });
    await mine.page.mouse.move(box.x + box.width + hour / 2, box.y + 20, { steps: 3 });
    await mine.page.mouse.up();
    await mine.page
      .getByText(/^Moved: R102, .*09:00–10:30/)
      .first()
      .waitFor();
    await mine.page.getByText('Each row shows the time of its room.').waitFor();
    await send('POST', '/bookings', {
      ResourceId: sala,
      Start: `${day}T12:00:00Z`,
      End: `${day}T13:00:00Z`,
      Subject: '=Fado',
    });
    await mine.page.getByLabel('Equipment').selectOption('Beamer');
    await cell(/^=Fado 12:00–13:00/).click();
    await mine.page.getByText(/13:00–14:00 where you are/).waitFor();
    await press('Escape');
    await mine.page.getByText(/^Times of Europe\/Lisbon/).waitFor();
    await mine.page.getByLabel('Location').selectOption({ label: 'Campus' });
    await mine.page.getByText(/^No room matches/).waitFor();
    await button('Clear filters').click();
    await mine.page.getByLabel('All 24 hours').check();
    await mine.page.getByRole('columnheader').getByText('00:00').waitFor();
    await mine.page.getByLabel('All 24 hours').uncheck();
  });

  test('a room is open by the clocks of its own location', async () => {
    const { db } = service.context;
    const { mandatorId } = service.tenant;
    const rule = { mandator_id: mandatorId, weekdays: [1, 2, 3, 4, 5, 6, 7], opens: '09:00', closes: '18:00' };
    const ofSala = await db
      .selectFrom('resource')
      .where('id', '=', sala)
      .select('location_id')
      .executeTakeFirstOrThrow();
    await db
      .insertInto('opening_rule')
      .values({ ...rule, ...ofSala })
      .execute();
    await mine.open(`?screen=rooms&day=${after(40)}&location=location_${ofSala.location_id}`);
    await cell(/^free 09:00–18:00/).waitFor();
    await db.deleteFrom('opening_rule').where('location_id', '=', ofSala.location_id).execute();
  });

  test('the list is downloaded as CSV without formulas, and printed completely', async () => {
    await mine.open(`?screen=rooms&day=${day}&as=list`);
    await mine.page.getByRole('table').getByText('=Fado').waitFor();
    const [file] = await Promise.all([mine.page.waitForEvent('download'), button('As CSV').click()]);
    const text = fs.readFileSync(await file.path(), 'utf8');
    const [head, ...lines] = text.split('\r\n');
    expect(head).toBe('\ufeffDate;From;To;Room;Title;For;State');
    expect(lines).toContain(`${day};12:00;13:00;Sala;'=Fado;Admin of school;Booking`);
    await mine.page.emulateMedia({ media: 'print' });
    expect([
      await mine.page.getByRole('button', { name: 'As CSV' }).isVisible(),
      await mine.page.locator('.sheet caption').isVisible(),
      await mine.page.getByRole('table').getByText('=Fado').isVisible(),
    ]).toEqual([false, true, true]);
    await mine.page.emulateMedia({ media: 'screen' });
  });

  test('one checks in and releases by keys; a room is free when it has been released', async () => {
    const { Id } = await send('POST', '/bookings', {
      ResourceId: sala,
      Start: new Date(Date.now() - 600_000).toISOString(),
      End: new Date(Date.now() + 7_200_000).toISOString(),
      Subject: 'At present',
    });
    await mine.open(`?screen=rooms&equipment=Beamer&free=60`);
    await mine.page.getByText(/^No room matches/).waitFor();
    await mine.open(`?screen=rooms&equipment=Beamer&booking=${Id}`);
    await button('Check in').press('Enter');
    await mine.page.getByText('Checked in.', { exact: true }).first().waitFor();
    await mine.open(`?screen=rooms&equipment=Beamer&booking=${Id}`);
    await mine.page.getByText(/checked in at/).waitFor();
    await button('Release').press('Enter');
    await button('Undo').press('Enter');
    await mine.open(`?screen=rooms&equipment=Beamer&booking=${Id}`);
    await button('Release').press('Enter');
    await button('Do it now').press('Enter');
    await mine.page.getByText('Released.', { exact: true }).first().waitFor();
    await mine.open(`?screen=rooms&equipment=Beamer&free=60`);
    await mine.page.getByText('1 room', { exact: true }).waitFor();
  });

  test('requests come while one looks; one is approved, one declined with a reason, by keys', async () => {
    await mine.open(`?screen=rooms&day=${day}`);
    const hall = service.tenant.resources[10]?.id;
    const request = (Subject: string, hour: number) =>
      send(
        'POST',
        '/bookings',
        { ResourceId: hall, Start: `${day}T${hour}:00:00Z`, End: `${day}T${hour}:30:00Z`, Subject },
        'User',
      );
    const [, party] = [await request('Concert', 10), await request('Party', 14)];
    await button('2 requests').press('Enter');
    await seen('requests');
    await button('Approve: Concert').press('Enter');
    await mine.page.getByText('Approved.', { exact: true }).first().waitFor();
    await button('Decline …: Party').press('Enter');
    await mine.page.getByLabel('Reason').fill('Too loud');
    await seen('a reason');
    await press('Enter');
    await mine.page.getByText('Declined.', { exact: true }).first().waitFor();
    await mine.page.getByText('No request is waiting.').waitFor();
    await mine.open(`?screen=rooms&day=${day}&booking=${party['Id']}`);
    await mine.page.getByText(/declined by Admin of school: Too loud/).waitFor();
    await request('Opera', 16);
    await request('Ball', 18);
    const decisions: string[] = [];
    const listen = (call: { postData(): string | null }) => {
      const { query, variables } = JSON.parse(call.postData() ?? '{}');
      if (query?.includes('decideBooking')) decisions.push(variables.id);
    };
    mine.page.on('request', listen);
    await mine.open(`?screen=rooms&day=${day}`);
    await button('2 requests').click();
    await button('Approve: Opera').dblclick();
    await button('Approve: Opera').waitFor({ state: 'detached' });
    await mine.page.locator('.toast').first().waitFor();
    expect(await mine.page.locator('.toast').count()).toBe(1);
    await mine.open(`?screen=rooms&day=${day}`);
    await button('1 request').click();
    await button('Decline …: Ball').click();
    await button('Decline: Ball').dblclick();
    await mine.page.getByText('No request is waiting.').waitFor();
    await mine.page.locator('.toast').first().waitFor();
    expect(await mine.page.locator('.toast').count()).toBe(1);
    mine.page.off('request', listen);
    expect({ sent: decisions.length, of: new Set(decisions).size }).toEqual({ sent: 2, of: 2 });
  });

  test('one books for somebody else; a renamed room is seen when the page is looked at again', async () => {
    await mine.open(`?screen=rooms&day=${day}`);
    await button(/^Book …/).click();
    await mine.page.getByLabel('Title').fill('For another');
    await mine.page.getByLabel('Room', { exact: true }).selectOption({ label: 'R113 · Campus' });
    await mine.page.getByLabel('For', { exact: true }).fill('Nobody of');
    await button('Book').click();
    await mine.page.getByText(/^Nobody here has this name/).waitFor();
    await mine.page.getByLabel('For', { exact: true }).fill('user of school');
    await mine.page.getByText(/^Nobody here has this name/).waitFor({ state: 'detached' });
    await button('Book').click();
    await cell(/^For another .*User of school/).waitFor();
    await service.context.db
      .updateTable('resource')
      .set({ name: 'R101 Studio' })
      .where('id', '=', service.tenant.resources[0]?.id as number)
      .execute();
    await mine.page.evaluate('dispatchEvent(new Event("focus"))');
    await mine.page.getByRole('rowheader', { name: /^R101 Studio/ }).waitFor();
  });

  test.each([
    [390, 800],
    [320, 256],
  ])('at %i × %i the timeline is reached and used by keys', async (width, height) => {
    await mine.page.setViewportSize({ width, height });
    await mine.open(`?screen=rooms&day=${day}`);
    await cell(/^Conference/).waitFor();
    await mine.page.getByRole('grid').focus();
    await press('ArrowDown', 'ArrowDown', 'ArrowRight', 'ArrowRight');
    expect(await focused()).toMatch(/^Conference/);
    expect(await mine.page.evaluate(isInSight)).toBe(true);
    expect(await mine.page.evaluate('document.documentElement.scrollWidth <= innerWidth')).toBe(true);
    await seen(`${width} × ${height}`);
    await press('Enter');
    await mine.page.getByRole('dialog', { name: 'Conference' }).waitFor();
    await press('Escape');
    await mine.page.setViewportSize({ width: 1280, height: 800 });
  });

  test('on a closed day a link leads to the next open one, as far ahead as it looks', async () => {
    const { db } = service.context;
    const later = (days: number) => new Date(Date.parse(day) + days * 86_400_000).toISOString().slice(0, 10);
    const [shut, open] = [12, 20].map(later) as [string, string];
    const { mandatorId, locationId } = service.tenant;
    const close = (from_date: string, to_date: string) =>
      db
        .insertInto('opening_exception')
        .values({ mandator_id: mandatorId, location_id: locationId, from_date, to_date, closed: true })
        .execute();
    await close(shut, later(19));
    await close(later(100), later(200));
    await mine.open(`?screen=rooms&location=location_${locationId}&day=${shut}`);
    await mine.page.getByText('It is closed on this day.').waitFor();
    await seen('a closed day');
    await mine.tabTo(/^To the next open day: /);
    await press('Enter');
    await cell(/^free 07:00–21:00/)
      .first()
      .waitFor();
    expect(mine.page.url()).toContain(`day=${open}`);
    expect(await mine.page.getByText('It is closed on this day.').count()).toBe(0);
    await mine.open(`?screen=rooms&location=location_${locationId}&view=week&day=${later(120)}`);
    await mine.page.getByText('It does not open in the 6 weeks after it either.').waitFor();
    // One room has no hours at all, and is always open.
    await mine.open(`?screen=rooms&day=${shut}`);
    await mine.page.getByLabel('Equipment').selectOption('Beamer');
    await cell(/^free/).nth(1).waitFor({ state: 'detached' });
    await cell(/^free/).waitFor();
    expect(await mine.page.getByText('It is closed on this day.').count()).toBe(0);
    await mine.open(`?screen=rooms&day=${day}`);
    await cell(/Conference/).waitFor();
  });

  test('overlapping bookings are in lanes, and rules are described in words', async () => {
    const calls = `Promise.all(['geometry', 'repeat'].map((name) => import(new URL('rooms/' + name + '.ts', document.querySelector('script[src]').src)))).then(([geometry, repeat]) => ({
      lanes: geometry.layInLanes([[0, 4], [1, 2], [2, 3], [5, 6]].map(([start, end]) => ({ start, end }))).map(({ lane, lanes }) => [lane, lanes]),
      words: ['FREQ=WEEKLY;INTERVAL=2;BYDAY=MO,TH;COUNT=4', 'FREQ=DAILY;UNTIL=20270310', 'FREQ=MONTHLY;BYDAY=-1FR;COUNT=3', 'FREQ=YEARLY;COUNT=2'].map(repeat.sayRule),
      monthly: repeat.ruleOf({ repeat: 'monthly', on: [], day: '2027-02-10', until: '2027-05-31' }),
      months: repeat.daysOf({ repeat: 'monthly', on: [], day: '2027-02-10', until: '2027-05-31' }).length,
      biweekly: repeat.daysOf({ repeat: 'biweekly', on: [1], day: '2027-02-10', until: '2027-03-01' }).length,
    }))`;
    expect(await mine.page.evaluate(calls)).toEqual({
      lanes: [
        [0, 2],
        [1, 2],
        [1, 2],
        [0, 1],
      ],
      words: [
        'every 2 weeks on Monday and Thursday, 4 times',
        expect.stringMatching(/^every day, until .*2027/),
        'every month on the last Friday, 3 times',
        'Series, 2 times',
      ],
      monthly: 'FREQ=MONTHLY;BYDAY=2WE;UNTIL=20270531',
      months: 4,
      biweekly: 3,
    });
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
