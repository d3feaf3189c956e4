/** What people meet at the console every day: an empty school, dates typed by hand, the wrong clock of a machine, paper. */
import { afterAll, beforeAll, expect, test } from '@jest/globals';
import { sql } from 'kysely';
import type { Browser, Page } from 'playwright-core';
import { addDays } from '../../../src/time/days.ts';
import { makeTenant } from '../../_util/factories.ts';
import { lessonClient } from '../../_util/lessons.ts';
import { until } from '../../_util/process.ts';
import { type Service, startService } from '../../_util/service.ts';
import { launchBrowser } from '../_util/browser.ts';
import { openConsole } from '../_util/consoles.ts';
import { describeInBrowser } from '../_util/in-browser.ts';

const tenth = `${new Date().getUTCFullYear() + 1}-02-10`;
/** A Wednesday. */
const day = addDays(tenth, (10 - new Date(tenth).getUTCDay()) % 7);

/** Refusals no longer say in words what is wrong: the console must know it by their codes and places. */
const muteServer = (page: Page) =>
  page.route(/\/graphql$/, async (route) => {
    if (!/\bmutation [A-Z]/.test(route.request().postData() ?? '')) return await route.fallback();
    const response = await route.fetch();
    const body = (await response.text()).replaceAll(/"message":"(?:[^"\\]|\\.)*"/g, '"message":"…"');
    await route.fulfill({ response, body });
  });

describeInBrowser('Every day at the console', () => {
  let service: Service;
  let browser: Browser;
  let book: (room: string, start: string, more?: object) => Promise<void>;

  beforeAll(async () => {
    [service, browser] = await Promise.all([startService({}, ['R101', 'R102']), launchBrowser()]);
    const { tenant, url } = service;
    const { mandatorId: mandator_id, locationId: location_id } = tenant;
    await service.context.db
      .insertInto('opening_rule')
      .values({ mandator_id, location_id, weekdays: [1, 2, 3, 4, 5], opens: '07:00', closes: '20:00' })
      .execute();
    const token = await service.signIn(tenant, 'Admin');
    book = async (room, start, more) => {
      const answer = await fetch(`${url}/${tenant.code}/api/v1.0/bookings`, {
        method: 'POST',
        headers: { Authorization: `Bearer ${token}`, 'Content-Type': 'application/json' },
        body: JSON.stringify({
          ResourceId: tenant.resources.find(({ name }) => name === room)?.id,
          Start: start,
          End: new Date(Date.parse(start) + 3_600_000).toISOString(),
          ...more,
        }),
      });
      expect(answer.status).toBe(201);
    };
  });
  afterAll(async () => {
    await browser?.close();
    await service?.stop();
  });

  test('a school without a room in use is told so', async () => {
    const { db } = service.context;
    const tenant = await makeTenant(db, { code: 'empty', rooms: ['Attic'] });
    await db.updateTable('resource').set({ active: false }).where('mandator_id', '=', tenant.mandatorId).execute();
    const { open, signIn, page, violations, complaints, close } = await openConsole(browser, { ...service, tenant });
    await open();
    await signIn();
    await page.getByText('There is no room yet. Administrators create rooms.').waitFor();
    expect({ violations: await violations(), complaints }).toEqual({ violations: [], complaints: [] });
    await close();
  });

  test('a room is not retired with a booking that was made after the preview, until the preview shows it', async () => {
    const { open, signIn, page, violations, complaints, close } = await openConsole(browser, service);
    const button = (name: string) => page.getByRole('button', { name, exact: true });
    await open('?screen=master');
    await signIn();
    await button('R102').click();
    await button('Retire …').click();
    await page.getByText('Nothing is booked in this room.').waitFor();
    await book('R102', `${day}T08:00:00Z`, { Subject: 'Late' });
    await button('Retire').click();
    await page.getByText(/^Somebody has changed this in the meantime/).waitFor();
    await page.getByText('1 booking', { exact: true }).waitFor();
    await page.getByLabel('What shall happen to the bookings?').selectOption('Cancel');
    await button('Retire').click();
    await page.getByText('R102 is retired. 1 cancelled.').first().waitFor();
    await page.getByRole('row', { name: 'R102 Campus Room retired' }).waitFor();
    await button('R102').click();
    await button('Take back into use').click();
    await page.getByRole('row', { name: 'R102 Campus Room in use' }).waitFor();
    expect({ violations: await violations(), complaints }).toEqual({ violations: [], complaints: [] });
    await close();
  });

  test('a day that is typed is shown once it is whole, and Back leads to the day before it was typed', async () => {
    const { open, signIn, page, complaints, close } = await openConsole(browser, service);
    const asked: string[] = [];
    page.on('request', (request) => asked.push(request.postData() ?? ''));
    for (const [screen, label] of [
      ['rooms', 'Day shown'],
      ['changes', 'Day'],
    ] as const) {
      await open(`?screen=${screen}&day=${day}`);
      if (screen === 'rooms') await signIn();
      const shown = page.getByLabel(label, { exact: true }).and(page.locator('input'));
      await shown.focus();
      await page.keyboard.type('10052028');
      await page.waitForURL(/day=2028-10-05/, { waitUntil: 'commit' });
      await page.goBack();
      await until('the field shows the day before', async () => (await shown.inputValue()) === day);
      expect(new URL(page.url()).searchParams.get('day')).toBe(day);
      // The focus is still there.
      await page.keyboard.press('ArrowUp');
      await page.waitForURL((url) => url.searchParams.get('day') !== day, { waitUntil: 'commit' });
      await page.goBack();
      expect(new URL(page.url()).searchParams.get('day')).toBe(day);
    }
    expect(asked.filter((body) => /"0\d\d\d-/.test(body))).toEqual([]);
    expect(complaints).toEqual([]);
    await close();
  });

  test('a date that is typed into the figures of use stays as it is typed', async () => {
    const { open, signIn, page, complaints, close } = await openConsole(browser, service);
    await open('?screen=use');
    await signIn();
    const from = page.getByLabel('from', { exact: true });
    await from.focus();
    const year = new Date().getUTCFullYear() - 1;
    await page.keyboard.type(`1101${year}`);
    await until('the field shows it', async () => (await from.inputValue()) === `${year}-11-01`);
    expect(complaints).toEqual([]);
    await close();
  });

  test('a date that keys have cleared is no longer asked for', async () => {
    const { open, signIn, page, complaints, close } = await openConsole(browser, service);
    await open('?screen=activity&from=2027-02-01');
    await signIn();
    const from = page.getByLabel('from', { exact: true });
    await from.focus();
    for (const key of ['Backspace', 'ArrowRight', 'Backspace', 'ArrowRight', 'Backspace'])
      await page.keyboard.press(key);
    await page.waitForURL((url) => !url.searchParams.has('from'), { waitUntil: 'commit' });
    await until('the field is empty', async () => (await from.inputValue()) === '');
    expect(complaints).toEqual([]);
    await close();
  });

  test('an exception ends on the day on which it begins, until another end is chosen', async () => {
    const { open, signIn, page, complaints, close } = await openConsole(browser, service);
    const dialog = page.getByRole('dialog');
    const dates = () =>
      Promise.all(['From', 'To'].map((label) => dialog.getByLabel(label, { exact: true }).inputValue()));
    const type = async (label: string, text: string, shown: readonly string[]) => {
      await dialog.getByLabel('Reason').focus();
      await dialog.getByLabel(label, { exact: true }).focus();
      await page.keyboard.type(text);
      await until(`it shows ${shown}`, async () => String(await dates()) === String(shown));
    };
    await open('?screen=master&part=hours');
    await signIn();
    await page.getByRole('button', { name: 'New exception …' }).click();
    await type('From', '12282028', ['2028-12-28', '2028-12-28']);
    await type('From', '12072028', ['2028-12-07', '2028-12-07']);
    await type('To', '12112028', ['2028-12-07', '2028-12-11']);
    await type('From', '12082028', ['2028-12-08', '2028-12-11']);
    expect(complaints).toEqual([]);
    await close();
  });

  test('a machine whose clock is wrong by hours shows the present day and offers the check-in', async () => {
    const { db } = service.context;
    const r101 = service.tenant.resources[0]?.id as number;
    await db.updateTable('resource').set({ check_in_minutes: 60 }).where('id', '=', r101).execute();
    await book('R101', new Date(Math.floor(Date.now() / 300_000) * 300_000).toISOString(), { Subject: 'Now' });
    for (const hours of [-30, 30]) {
      const { context, open, signIn, page, complaints, close } = await openConsole(browser, service);
      await context.addInitScript(`{
        const ahead = ${hours * 3_600_000};
        const now = Date.now;
        Date = class extends Date {
          constructor(...parts) { parts.length > 0 ? super(...parts) : super(now() + ahead); }
          static now() { return now() + ahead; }
        };
      }`);
      await open('?screen=rooms&hours=all');
      await signIn();
      await page.getByRole('gridcell', { name: /^Now/ }).click();
      await page.getByRole('dialog').getByRole('button', { name: 'Check in', exact: true }).waitFor();
      expect(complaints).toEqual([]);
      await close();
    }
  });

  test('a form that Back has closed does not open again when the page is reloaded', async () => {
    const { open, signIn, page, complaints, close } = await openConsole(browser, service);
    const form = page.getByRole('dialog', { name: 'Book a room' });
    await open(`?screen=rooms&day=${day}`);
    await signIn();
    await page.getByRole('button', { name: 'Book …' }).click();
    await page.getByLabel('Title').fill('Chess');
    const isKept = `sessionStorage.getItem('roomgate booking')?.includes('Chess')`;
    await until('the browser has kept it', () => page.evaluate<boolean | undefined>(isKept));
    await page.reload();
    await form.waitFor();
    expect(await page.getByLabel('Title').inputValue()).toBe('Chess');
    const kept = await page.evaluate<string>(`sessionStorage.getItem('roomgate booking')`);
    await page.goBack();
    await form.waitFor({ state: 'detached' });
    // As a browser that has not yet stored the removal.
    await page.evaluate(`sessionStorage.setItem('roomgate booking', ${JSON.stringify(kept)})`);
    await page.reload();
    await page.getByRole('button', { name: 'Book …' }).waitFor();
    expect(await form.count()).toBe(0);
    expect(complaints).toEqual([]);
    await close();
  });

  test('Users are told when a room is open in which they could not book, and which dates of a series are closed', async () => {
    const { open, signIn, page, violations, complaints, close } = await openConsole(browser, service, { role: 'User' });
    const form = page.getByRole('dialog', { name: 'Book a room' });
    const fill = (label: string, text: string) => form.getByLabel(label, { exact: true }).fill(text);
    const book = () => form.getByRole('button', { name: 'Book', exact: true }).click();
    await open(`?screen=rooms&day=${day}`);
    await signIn();
    await page.getByRole('button', { name: 'Book …' }).click();
    await fill('Title', 'Late');
    await fill('From', '19:30');
    await fill('To', '20:30');
    const hint = form.locator('p.hint[role="status"]');
    expect(await hint.count()).toBe(0);
    await book();
    await hint.waitFor();
    await form.getByRole('alert').waitFor();
    expect(await hint.textContent()).toBe('The room is not open then, on this day only 07:00–20:00.');
    expect((await form.getByRole('alert').allTextContents()).map((text) => text.trim())).toEqual([
      'The room is not open at this time.',
    ]);
    await fill('From', '09:00');
    await fill('To', '10:00');
    await form.getByLabel('Repeat').selectOption('daily');
    await fill('Last day of the series', addDays(day, 4));
    await book();
    await hint.filter({ hasText: /^On 2 of 5 dates the room is not open \(Sat.*; Sun.*\)\.$/ }).waitFor();
    expect({ violations: await violations(), complaints }).toEqual({ violations: [], complaints: [] });
    await close();
  });

  test('paper shows which day it is, and what each picture of the figures of use is about', async () => {
    const { open, signIn, page, close } = await openConsole(browser, service);
    await open(`?screen=rooms&day=${day}`);
    await signIn();
    await page.emulateMedia({ media: 'print' });
    await page.getByRole('heading', { name: new RegExp(`^Wednesday, .* ${Number(day.slice(-2))},`) }).waitFor();
    await page.getByRole('navigation').waitFor({ state: 'hidden' });
    await open('?screen=use');
    await page.getByRole('heading', { name: 'Occupancy by room' }).waitFor();
    await close();
  });

  test('with chosen colours, the current section and what is pressed look different from the others', async () => {
    const { open, signIn, page, close } = await openConsole(browser, service);
    await page.emulateMedia({ forcedColors: 'active' });
    await open('?screen=rooms');
    await signIn();
    const look = (name: string, property: string) =>
      page
        .getByText(name, { exact: true })
        .first()
        .evaluate((self, key) => getComputedStyle(self)[key as never], property);
    expect(await look('Rooms', 'borderBottomColor')).not.toBe(await look('Changes', 'borderBottomColor'));
    expect(await look('Day', 'backgroundColor')).not.toBe(await look('Week', 'backgroundColor'));
    await open('?screen=master');
    await page.getByRole('link', { name: 'Holidays' }).waitFor();
    expect(await look('Holidays', 'borderBottomColor')).toBe(await look('Groups', 'borderBottomColor'));
    await close();
  });

  test('a double click saves once and removes once, and says so once', async () => {
    const { open, signIn, page, complaints, close } = await openConsole(browser, service);
    await open('?screen=master&part=hours');
    await signIn();
    await page.getByRole('button', { name: 'New exception …' }).click();
    await page.getByLabel('Reason').fill('Works');
    await page.getByRole('button', { name: 'Save', exact: true }).dblclick();
    await page.getByRole('cell', { name: 'Works', exact: true }).waitFor();
    await page.locator('.toast').first().waitFor();
    expect(await page.locator('.toast').count()).toBe(1);
    await page.reload();
    await page.getByRole('row', { name: 'Works' }).getByRole('button').click();
    await page.getByRole('button', { name: 'Remove', exact: true }).dblclick();
    await page.getByText(/^No exception\./).waitFor();
    await page.locator('.toast').first().waitFor();
    expect(await page.locator('.toast').count()).toBe(1);
    expect(complaints).toEqual([]);
    await close();
  });

  test('a call without an answer ends after a minute: the form can be sent again, and books once', async () => {
    const { open, signIn, page, complaints, close } = await openConsole(browser, service);
    await page.clock.install();
    const held = Promise.withResolvers<void>();
    let isFirst = true;
    await page.route(/\/graphql$/, async (route) => {
      if (!isFirst || !route.request().postData()?.includes('mutation CreateBooking')) return route.fallback();
      isFirst = false;
      await route.fetch();
      held.resolve();
    });
    await open(`?screen=rooms&day=${day}`);
    await signIn();
    await page.getByRole('button', { name: /^Book …/ }).click();
    await page.getByLabel('Title').fill('Held up');
    const send = page.getByRole('dialog').getByRole('button', { name: 'Book', exact: true });
    await send.click();
    await held.promise;
    expect(await send.isDisabled()).toBe(true);
    await page.clock.fastForward(61_000);
    await page
      .getByRole('dialog')
      .getByText(/cannot be reached/)
      .waitFor();
    await send.click();
    await page
      .getByText(/^Booked: /)
      .first()
      .waitFor();
    const { rows } = await sql`select from booking where subject = 'Held up'`.execute(service.context.db);
    expect(rows).toHaveLength(1);
    expect(complaints).toEqual([]);
    await close();
  });

  test('long names beside the bars of use are shortened, and not cut off', async () => {
    const rooms = ['Naturwissenschaftlicher Vorbereitungsraum', 'WC'];
    const tenant = await makeTenant(service.context.db, { code: 'long', rooms });
    const { open, signIn, page, complaints, close } = await openConsole(browser, { ...service, tenant });
    await open('?screen=use');
    await signIn();
    const names = page.locator('svg.bars text');
    await names.first().waitFor();
    const starts = await names.evaluateAll((all) => all.map((one) => (one as SVGTextElement).getBBox().x));
    expect(starts.filter((x) => x < 0)).toEqual([]);
    expect(complaints).toEqual([]);
    await close();
  });

  test('people find what is booked for them in all rooms, upcoming and past, open it and cancel it', async () => {
    const { db } = service.context;
    const tenant = await makeTenant(db, { code: 'mine', rooms: ['M101', 'M102', 'M103'] });
    const token = await service.signIn(tenant, 'Admin');
    const now = Date.now();
    const reserve = async (room: number, hours: number, Subject: string, role: 'User' | 'Admin' = 'User') => {
      const answer = await fetch(`${service.url}/mine/api/v1.0/bookings`, {
        method: 'POST',
        headers: { Authorization: `Bearer ${token}`, 'Content-Type': 'application/json' },
        body: JSON.stringify({
          ResourceId: tenant.resources[room]?.id,
          Start: new Date(now + hours * 3_600_000).toISOString(),
          End: new Date(now + (hours + 1) * 3_600_000).toISOString(),
          OrganizerId: tenant.person(role).id,
          Subject,
        }),
      });
      expect(answer.status).toBe(201);
    };
    await reserve(0, 30, 'Rehearsal');
    await reserve(1, 54, 'Exam');
    // Beyond the window of one list.
    await reserve(2, 24 * 400, 'Graduation');
    await reserve(1, -50, 'Meeting');
    await reserve(0, 60, 'Of somebody else', 'Admin');
    const { open, signIn, page, violations, complaints, close } = await openConsole(
      browser,
      { ...service, tenant },
      { role: 'User' },
    );
    await open();
    await signIn();
    await page.getByRole('link', { name: 'My bookings' }).click();
    await page.getByRole('link', { name: 'Graduation' }).waitFor();
    const subjects = () => page.locator('tbody a').allInnerTexts();
    expect(await subjects()).toEqual(['Rehearsal', 'Exam', 'Graduation']);
    await page.getByRole('row', { name: /M103 Graduation Booking/ }).waitFor();
    expect(await violations()).toEqual([]);
    await page.getByRole('button', { name: /^Cancel Exam \(M102, / }).click();
    await page.getByRole('row', { name: /Exam .*about to be cancelled/ }).waitFor();
    await page.getByRole('button', { name: 'Do it now' }).click();
    await page.getByRole('row', { name: /Exam Booking, cancelled/ }).waitFor();
    await page.getByRole('link', { name: 'Rehearsal' }).click();
    await page.getByRole('dialog').getByText('M101').waitFor();
    await page.goBack();
    await page.getByRole('link', { name: 'Past' }).click();
    await page.getByRole('link', { name: 'Meeting' }).waitFor();
    expect([await subjects(), await page.locator('thead th').allInnerTexts()]).toEqual([
      ['Meeting'],
      ['Date', 'From', 'To', 'Room', 'Title', 'State'],
    ]);
    expect({ violations: await violations(), complaints }).toEqual({ violations: [], complaints: [] });
    await close();
  });

  test('the week of a room is reached from the room, by mouse and keys, and from a booking', async () => {
    const { open, signIn, page, violations, complaints, close } = await openConsole(browser, service);
    await book('R101', `${day}T13:00:00Z`, { Subject: 'Choir' });
    await open(`?screen=rooms&day=${day}`);
    await signIn();
    const week = page.getByRole('heading', { name: 'Week of R101' });
    const row = page.getByRole('rowheader', { name: 'R101' });
    await row.getByRole('link').click();
    await week.waitFor();
    await page.getByRole('cell', { name: 'Choir' }).waitFor();
    await page.goBack();
    await row.focus();
    expect(await violations()).toEqual([]);
    await page.keyboard.press('Enter');
    await week.waitFor();
    await page.goBack();
    await page.getByRole('gridcell', { name: /Choir/ }).click();
    await page.waitForURL(/booking=/, { waitUntil: 'commit' });
    const booking = page.url();
    await page.getByRole('dialog').getByRole('link', { name: 'R101: week' }).click();
    await week.waitFor();
    // The grid itself is reached by Tab, and scrolled by Space.
    await page.goBack();
    await page.getByRole('dialog').waitFor();
    await page.keyboard.press('Escape');
    await page.getByRole('dialog').waitFor({ state: 'detached' });
    await page.getByRole('grid').focus();
    for (const key of ['Space', 'Enter']) await page.keyboard.press(key);
    expect(new URL(page.url()).searchParams.get('screen')).toBe('rooms');
    // A retired room has no week.
    const ofRoom = () => service.context.db.updateTable('resource').where('name', '=', 'R101');
    await ofRoom().set({ active: false }).execute();
    await page.goto(booking);
    await page.getByRole('dialog').getByText('R101', { exact: true }).waitFor();
    expect(await page.getByRole('dialog').getByRole('link').count()).toBe(0);
    await ofRoom().set({ active: true }).execute();
    expect({ violations: await violations(), complaints }).toEqual({ violations: [], complaints: [] });
    await close();
  });

  test('a retired room with only blocks offers to cancel them, not to move them, and what stays includes lessons', async () => {
    const { db } = service.context;
    const tenant = await makeTenant(db, { code: 'retiring', rooms: ['B101', 'B102'] });
    const token = await service.signIn(tenant, 'Admin');
    const answer = await fetch(`${service.url}/retiring/api/v1.0/bookings`, {
      method: 'POST',
      headers: { Authorization: `Bearer ${token}`, 'Content-Type': 'application/json' },
      body: JSON.stringify({
        ResourceId: tenant.resources.find(({ name }) => name === 'B101')?.id,
        Start: `${day}T08:00:00Z`,
        End: `${day}T09:00:00Z`,
        Subject: 'Paint',
        Kind: 'Block',
      }),
    });
    expect(answer.status).toBe(201);
    const lesson = { LektionId: '1', RessourceName: 'B101', Beginn: `${day}T10:00:00Z`, Ende: `${day}T11:00:00Z` };
    await lessonClient({ url: service.url, tenant }, token).importJobs([{ JobID: 'plan', LektionList: [lesson] }]);
    const { open, signIn, page, violations, complaints, close } = await openConsole(browser, { ...service, tenant });
    const button = (name: string) => page.getByRole('button', { name, exact: true });
    await open('?screen=master');
    await signIn();
    await button('B101').click();
    await button('Retire …').click();
    await button('Retire').click();
    // The block and the lesson.
    await page.getByText('B101 is retired. 2 stay there.').first().waitFor();
    await button('B101').click();
    await button('What is still to come …').click();
    const choice = page.getByLabel('What shall happen to the bookings?');
    expect([await choice.inputValue(), await choice.locator('option').allInnerTexts()]).toEqual([
      'Cancel',
      ['cancel them, blocks too'],
    ]);
    expect(await violations()).toEqual([]);
    await button('Cancel or move').click();
    await page.getByText('B101 is retired. 1 cancelled. 1 stays there.').first().waitFor();
    expect(complaints).toEqual([]);
    await close();
  });

  test('changed weekly hours list the bookings that they leave outside, before they are saved', async () => {
    const { db } = service.context;
    // So many that the API refuses their hours of a whole year.
    const rooms = Array.from({ length: 110 }, (_, at) => `W${101 + at}`);
    const tenant = await makeTenant(db, { code: 'weekly', rooms });
    const { mandatorId: mandator_id, locationId: location_id } = tenant;
    const idOf = (room: string) => tenant.resources.find(({ name }) => name === room)?.id as number;
    const all = { mandator_id, location_id, weekdays: [1, 2, 3, 4, 5, 6, 7], opens: '07:00', closes: '20:00' };
    await db
      .insertInto('opening_rule')
      .values([all, { ...all, resource_id: idOf('W103') }])
      .execute();
    const token = await service.signIn(tenant, 'Admin');
    const weekAhead = new Date(Date.now() + 7 * 86_400_000).toISOString().slice(0, 10);
    for (const [room, hour, Subject] of [
      ['W101', 16, 'Late'],
      ['W102', 10, 'Early'],
      ['W103', 16, 'Own hours'],
    ] as const) {
      const answer = await fetch(`${service.url}/weekly/api/v1.0/bookings`, {
        method: 'POST',
        headers: { Authorization: `Bearer ${token}`, 'Content-Type': 'application/json' },
        body: JSON.stringify({
          ResourceId: idOf(room),
          Start: `${weekAhead}T${hour}:00:00Z`,
          End: `${weekAhead}T${hour + 1}:00:00Z`,
          Subject,
        }),
      });
      expect(answer.status).toBe(201);
    }
    const { open, signIn, page, violations, complaints, close } = await openConsole(browser, { ...service, tenant });
    await open('?screen=master&part=hours');
    await signIn();
    const weekday = ((new Date(weekAhead).getUTCDay() + 6) % 7) + 1;
    const name = ['', 'Monday', 'Tuesday', 'Wednesday', 'Thursday', 'Friday', 'Saturday', 'Sunday'][weekday];
    await page.getByRole('button', { name: new RegExp(`^${name},? 07:00–20:00`) }).focus();
    await page.keyboard.press('Enter');
    await page.getByLabel('Closes').fill('15:00');
    await page.getByRole('button', { name: 'Take over' }).click();
    await page.getByText('1 booking is outside of these hours then.').waitFor();
    await page.getByRole('link', { name: /^W101, / }).waitFor();
    expect(await page.getByText(/Early|Own hours/).count()).toBe(0);
    const today = await page.getByText(/^The bookings from/).innerText();
    // Of a room, and of hours that apply only after the booking.
    await page.getByRole('button', { name: 'Discard' }).click();
    await page.getByLabel('Opening hours of').selectOption({ label: 'Campus · W103' });
    await page.getByRole('button', { name: new RegExp(`^${name},? 07:00–20:00`) }).press('Delete');
    await page.getByRole('link', { name: /^W103, / }).waitFor();
    expect(await page.getByText(/^The bookings from/).innerText()).toBe(today);
    await page.getByRole('button', { name: 'Discard' }).click();
    await page.getByRole('button', { name: 'New hours …' }).click();
    await page.getByLabel('Valid from').fill(addDays(weekAhead, 1));
    await page.getByRole('button', { name: 'Take over' }).click();
    await page.getByText('No booking is outside of these hours then.').waitFor();
    expect(await page.getByText(/^The bookings from/).innerText()).not.toBe(today);
    expect({ violations: await violations(), complaints }).toEqual({ violations: [], complaints: [] });
    await close();
  });

  test('a fault names its field as the form does, and no member of the API', async () => {
    const { open, signIn, page, complaints, close } = await openConsole(browser, service, { language: 'de' });
    await open('?screen=master&part=locations&record=new');
    await signIn();
    const dialog = page.getByRole('dialog');
    await dialog.getByLabel('Name').fill('Außenstelle');
    await dialog.getByLabel('Zeitzone').fill('Europe/Nowhere');
    await dialog.getByRole('button', { name: 'Anlegen' }).click();
    await dialog.locator('.field.wrong .fault').waitFor();
    expect(await dialog.locator('.fault').allInnerTexts()).toEqual([expect.not.stringMatching(/^[\w.]+: /)]);
    await dialog.getByText('Diese Angabe ist so nicht möglich').waitFor();
    // One that no input of the form shows, and one that is only in the message.
    for (const [told, ...errors] of [
      ['must be odd.', { field: 'input.name', pointer: null, code: 'Odd', message: 'input.name: must be odd.' }],
      ['must be even.'],
    ] as const) {
      const extensions = { code: 'BAD_USER_INPUT', errors };
      await page.route(/\/graphql$/, (route) =>
        /\bmutation [A-Z]/.test(route.request().postData() ?? '')
          ? route.fulfill({ json: { errors: [{ message: `input.name: ${told}`, extensions }] } })
          : route.fallback(),
      );
      await dialog.getByRole('button', { name: 'Anlegen' }).click();
      await dialog.getByText(`Name: ${told}`).waitFor();
      expect(await dialog.getByText('input.name').count()).toBe(0);
      await page.unrouteAll();
    }
    expect(complaints).toEqual([]);
    await close();
  });

  test.each([
    [
      'de',
      'Diesen Namen gibt es hier schon',
      'Diese E-Mail-Adresse hat schon',
      'So heißt hier schon etwas, das außer Betrieb ist',
    ],
    [
      'en',
      'This name exists here already',
      'Another person has this e-mail address',
      'Something retired has this name',
    ],
  ] as const)('a value that another record has is told at its field: %s', async (language, name, email, retired) => {
    const { open, signIn, page, complaints, close } = await openConsole(browser, service, { language });
    const { db } = service.context;
    const { mandatorId: mandator_id, locationId: location_id } = service.tenant;
    const old = `Old ${language}`;
    await db.insertInto('resource').values({ mandator_id, location_id, name: old, active: false }).execute();
    const held = await db
      .selectFrom('person')
      .where('mandator_id', '=', mandator_id)
      .select('email')
      .executeTakeFirstOrThrow();
    const labels =
      language === 'de'
        ? { name: 'Name', email: 'E-Mail', make: 'Anlegen' }
        : { name: 'Name', email: 'E-mail', make: 'Create' };
    const refused = async (part: string, values: Partial<Record<'name' | 'email', string>>, wrong: string) => {
      await open(`?screen=master&part=${part}&record=new`);
      if (part === 'locations') await signIn();
      await muteServer(page);
      const dialog = page.getByRole('dialog');
      for (const [member, value] of Object.entries(values))
        await dialog.getByLabel(labels[member as 'name'], { exact: true }).fill(value);
      await dialog.getByRole('button', { name: labels.make }).click();
      await dialog.locator('.field.wrong').getByText(wrong).waitFor();
      expect(await dialog.locator('.refused li').count()).toBe(0);
    };
    await refused('locations', { name: 'campus' }, name);
    await refused('rooms', { name: 'r101' }, name);
    await refused('rooms', { name: old }, retired);
    await refused('persons', { name: 'Ada', email: held.email }, email);
    expect(complaints).toEqual([]);
    await close();
  });

  test.each([
    [
      'de',
      /^[^[]*2031: 08:00–18:00 und 13:00–17:00 überschneiden sich\.$/,
      /\d–\d\d:\d\d und Montag 10:00–14:00 überschneiden sich\.$/,
    ],
    ['en', /^[^[]*2031: 08:00–18:00 and 13:00–17:00 overlap\.$/, /\d–\d\d:\d\d and Monday 10:00–14:00 overlap\.$/],
  ] as const)('hours that overlap are named by their day and times: %s', async (language, exception, week) => {
    const { open, signIn, page, complaints, close } = await openConsole(browser, service, { language });
    const words =
      language === 'de'
        ? [
            'Neue Ausnahme …',
            'Von',
            'Bis',
            'Ganz geschlossen',
            'Weitere Zeit',
            'Speichern',
            'Neue Zeit …',
            'Öffnet',
            'Schließt',
            'Übernehmen',
            'Dienstag Mittwoch Donnerstag Freitag',
          ]
        : [
            'New exception …',
            'From',
            'To',
            'Closed throughout',
            'More hours',
            'Save',
            'New hours …',
            'Opens',
            'Closes',
            'Take over',
            'Tuesday Wednesday Thursday Friday',
          ];
    const [anException, from, to, closed, another, save, someHours, opens, closes, take, others] = words as [
      string,
      ...string[],
    ];
    const press = (name = '') => page.getByRole('button', { name, exact: true }).last().click();
    const dialog = page.getByRole('dialog');
    const type = (label = '', text = '') => dialog.getByLabel(label, { exact: true }).fill(text);
    await open('?screen=master&part=hours');
    await signIn();
    await muteServer(page);
    await press(anException);
    await type(from, '2031-01-08');
    await type(to, '2031-01-08');
    await dialog.getByLabel(closed ?? '').uncheck();
    await press(another);
    await press(save);
    await dialog.locator('.refused li', { hasText: exception }).waitFor();
    await page.keyboard.press('Escape');
    for (const [begin, end] of [
      ['08:00', '12:00'],
      ['10:00', '14:00'],
    ]) {
      await press(someHours);
      await type(opens, begin);
      await type(closes, end);
      for (const day of others?.split(' ') ?? []) await dialog.getByLabel(day).uncheck();
      await press(take);
    }
    await press(save);
    await page.locator('.refused li', { hasText: week }).first().waitFor();
    expect(await page.getByText('[').count()).toBe(0);
    expect(complaints).toEqual([]);
    await close();
  });

  test.each([
    ['de', 'Speichern', 'An diesem Standort sind noch Räume in Betrieb. Nehmen Sie zuerst diese außer Betrieb.'],
    ['en', 'Save', 'Rooms of this location are still in use. Retire these first.'],
  ] as const)('a conflict that is about no field is told in its own words: %s', async (language, save, told) => {
    const { open, signIn, page, complaints, close } = await openConsole(browser, service, { language });
    await open(`?screen=master&part=locations&record=location_${service.tenant.locationId}`);
    await signIn();
    await muteServer(page);
    const dialog = page.getByRole('dialog');
    await dialog.getByRole('checkbox').uncheck();
    await dialog.getByRole('button', { name: save, exact: true }).click();
    await dialog.locator('.refused').waitFor();
    expect(await dialog.locator('.refused p, .refused li').allInnerTexts()).toEqual([told]);
    expect(complaints).toEqual([]);
    await close();
  });

  test('Back does not open again what was closed, and leads to what was before it', async () => {
    const { open, signIn, page, complaints, close } = await openConsole(browser, service);
    await open('?screen=master&part=locations');
    await signIn();
    const dialog = page.getByRole('dialog');
    const button = (name: string) => page.getByRole('button', { name, exact: true }).first().click();
    const backFrom = async (what: string) => {
      await dialog.waitFor({ state: 'detached' });
      await page.waitForURL((url) => !/record|dialog/.test(url.search), { waitUntil: 'commit' });
      await page.goBack();
      await page.getByRole('button', { name: 'New location', exact: true }).waitFor();
      expect({ what, left: await dialog.count() }).toEqual({ what, left: 0 });
      await page.getByRole('link', { name: 'Rooms', exact: true }).last().click();
      await page.getByRole('button', { name: 'New room', exact: true }).waitFor();
    };
    await page.getByRole('link', { name: 'Rooms', exact: true }).last().click();
    await button('R102');
    await button('Close');
    await backFrom('a form that was closed');
    await button('R102');
    await button('Retire …');
    await button('Close');
    await backFrom('a dialog within a form');
    await button('R102');
    await button('Retire …');
    await button('Retire');
    await backFrom('the form of a room that was retired');
    await button('R102');
    await button('Take back into use');
    await backFrom('the form of a room that was taken back into use');
    expect(complaints).toEqual([]);
    await close();
  });

  test('Back after the erasure of a person, or of further names, opens no dialog and leads to what was before it', async () => {
    const { db } = service.context;
    const email = 'leaving@school.example';
    await db
      .insertInto('person')
      .values({ mandator_id: service.tenant.mandatorId, name: 'Leaving', email, time_zone: 'UTC', role: 'User' })
      .execute();
    const { open, signIn, page, complaints, close } = await openConsole(browser, service);
    await open('?screen=master&part=locations');
    await signIn();
    const dialog = page.getByRole('dialog');
    const button = (name: string | RegExp) => page.getByRole('button', { name, exact: true }).first().click();
    const erased = /^Erased person \d+$/;
    let opened = '';
    for (const [name, ...fields] of [
      ['Leaving', `To confirm, type ${email}`, email],
      [erased, 'Other names and addresses', 'L. Leaving'],
    ] as const) {
      await page.getByRole('link', { name: 'Persons', exact: true }).click();
      await button(name);
      if (name === 'Leaving') await button('Erase …');
      await dialog.getByLabel(fields[0], { exact: true }).fill(fields[1]);
      opened = new URL(page.url()).search;
      await button('Erase for good');
      await dialog.waitFor({ state: 'detached' });
      await page.waitForURL((url) => !/record|dialog/.test(url.search), { waitUntil: 'commit' });
      await page.getByRole('button', { name: erased }).waitFor();
      await page.goBack();
      await page.getByRole('button', { name: 'New location', exact: true }).waitFor();
      expect({ name, left: await dialog.count() }).toEqual({ name, left: 0 });
    }
    // The address of a form from before the erasure.
    await open(`${opened}&dialog=within`);
    await dialog.getByText('they are erased in the same way').waitFor();
    await button('Close');
    await dialog.waitFor({ state: 'detached' });
    await page.waitForURL((url) => !/record|dialog/.test(url.search), { waitUntil: 'commit' });
    expect(complaints).toEqual([]);
    await close();
  });

  test('Back closes a dialog and stays on its screen', async () => {
    const { open, signIn, page, complaints, close } = await openConsole(browser, service);
    await open('?screen=master');
    await signIn();
    const dialog = page.getByRole('dialog');
    const link = (name: string) => page.getByRole('link', { name, exact: true }).click();
    const button = (name: string) => page.locator('#main').getByRole('button', { name, exact: true }).first().click();
    const backFrom = async (title: string | RegExp, rest: number) => {
      await page.getByRole('dialog', { name: title }).waitFor();
      await page.goBack();
      await page.getByRole('dialog', { name: title }).waitFor({ state: 'detached' });
      expect({ title, left: await dialog.count() }).toEqual({ title, left: rest });
    };
    // What was opened from the form of a record leads back to the form.
    await button('R101');
    await button('Retire …');
    await backFrom('Retire R101', 1);
    await backFrom('R101', 0);
    await link('Opening hours');
    await button('New hours …');
    await backFrom('New hours', 0);
    await button('New exception …');
    await backFrom('New exception', 0);
    await page.getByText('Opening hours of').first().waitFor();
    await link('Persons');
    await button('Admin of school');
    await button('PINs …');
    await backFrom(/^PINs/, 1);
    await backFrom('Admin of school', 0);
    await link('Door signs');
    await button('Pair a sign …');
    await backFrom('Pair a sign', 0);
    await page.getByRole('heading', { name: 'Door signs' }).waitFor();
    await page.keyboard.press('?');
    await backFrom('What the keys do', 0);
    await page.getByRole('heading', { name: 'Door signs' }).waitFor();
    expect(complaints).toEqual([]);
    await close();
  });
});
