import { afterAll, beforeAll, describe, expect, test } from '@jest/globals';
import { sql } from 'kysely';
import type { Browser, Route } from 'playwright-core';
import { createPin } from '../../../src/identity/service.ts';
import { hold, releaseAll } from '../../_util/hold.ts';
import { lessonClient, makeJobs } from '../../_util/lessons.ts';
import { pepper } from '../../_util/pepper.ts';
import { until } from '../../_util/process.ts';
import { type Service, startService } from '../../_util/service.ts';
import { tokenFor } from '../../_util/token.ts';
import { launchBrowser } from '../_util/browser.ts';
import { openConsole } from '../_util/consoles.ts';
import { describeInBrowser } from '../_util/in-browser.ts';

/** Messages stay until they are closed, however slow the machine is. */
const patience =
  'const wait = setTimeout; setTimeout = (run, ms) => ([5_000, 8_000].includes(ms) ? 0 : wait(run, ms));';

describeInBrowser('The master data of the console', () => {
  let service: Service;
  let browser: Browser;
  let admin: Awaited<ReturnType<typeof openConsole>>;

  /** What another Admin does meanwhile. */
  async function call(method: string, path: string, body?: object, by?: string): Promise<unknown> {
    const { url, tenant } = service;
    const token = by ?? (await service.signIn(tenant, 'Admin'));
    const answer = await fetch(`${url}/${tenant.code}/api/v1.0/${path}`, {
      method,
      headers: { Authorization: `Bearer ${token}`, 'Content-Type': 'application/json', 'If-Match': '*' },
      ...(body && { body: JSON.stringify(body) }),
    });
    expect([200, 201, 204]).toContain(answer.status);
    return answer.status === 204 ? undefined : await answer.json();
  }
  const button = (name: string) => admin.page.getByRole('button', { name, exact: true });
  /** Of the dialog where one is open. */
  const field = (name: string) =>
    admin.page.locator('dialog, body:not(:has(dialog)) main').getByLabel(name, { exact: true });
  const row = (name: string) => admin.page.getByRole('row', { name });
  const said = (text: string | RegExp) => admin.page.locator('.toast', { hasText: text }).last().waitFor();
  const tab = (name: string) =>
    admin.page.getByRole('navigation', { name: 'Master data' }).getByRole('link', { name }).click();
  const closed = () => admin.page.locator('dialog').waitFor({ state: 'detached' });
  const sound = async () =>
    expect({ violations: await admin.violations(), complaints: admin.complaints }).toEqual({
      violations: [],
      complaints: [],
    });

  beforeAll(async () => {
    [service, browser] = await Promise.all([startService(), launchBrowser()]);
    // High enough that no message lies over what is dragged.
    admin = await openConsole(browser, service, { height: 2000 });
    await admin.context.addInitScript(patience);
    await admin.open('?screen=master');
    await admin.signIn();
  });
  afterAll(async () => {
    await releaseAll();
    await browser?.close();
    await service?.stop();
  });

  test('a location and a room are made by keyboard alone', async () => {
    const { page } = admin;
    await tab('Locations');
    await button('New location').press('Enter');
    await page.locator('dialog[open] input:focus').waitFor();
    await page.keyboard.type('Tokyo');
    await field('Time zone').fill('Asia/Tokyo');
    await sound();
    await page.keyboard.press('Enter');
    await row('Tokyo Asia/Tokyo 0 rooms in use').waitFor();
    await closed();
    expect(await button('New location').evaluate((self) => self === self.ownerDocument.activeElement)).toBe(true);

    await tab('Rooms');
    await button('New room').press('Enter');
    await page.locator('dialog[open] input:focus').waitFor();
    await page.keyboard.type('Lab 1');
    await field('Seats').fill('24');
    await field('Equipment').fill('Beamer, Piano, Beamer');
    await page.keyboard.press('Enter');
    await row('Lab 1 Campus Room 24 Beamer, Piano in use').waitFor();
    await sound();
  });

  test('the form of a room has the address of its sign, where a code is shown, and that of a location of its board', async () => {
    for (const [part, name, link] of [
      ['Locations', 'Tokyo', /\/board\/\d+$/],
      ['Rooms', 'Lab 1', /\/door-sign\/\d+$/],
    ] as const) {
      await tab(part);
      await button(name).click();
      const address = await admin.page.getByRole('dialog').getByRole('link', { name: link }).getAttribute('href');
      const device = await admin.context.newPage();
      await device.goto(String(address));
      await device.getByText('An Admin confirms this code in the console under “Door signs”').waitFor();
      await device.close();
      await sound();
      await admin.page.keyboard.press('Escape');
      await closed();
    }
  });

  test('changes by somebody else are shown, the input stays, and a change is undone', async () => {
    const { page } = admin;
    const [room] = service.tenant.resources;
    await button('R001').click();
    await field('Seats').fill('30');
    await call('PATCH', `resources/${room?.id}`, { Name: 'Red', Kind: 'Hall' });
    await button('Save').click();
    const alert = page.getByRole('alert').filter({ hasText: 'Admin of school has changed this' });
    await alert.getByText('Name: R001 → Red').waitFor();
    await sound();
    expect([await field('Seats').inputValue(), await field('Name').inputValue()]).toEqual(['30', 'Red']);
    await button('Save').click();
    await row('Red Campus Hall 30').waitFor();
    await button('Undo').click();
    await row('Red Campus Hall in use').waitFor();
  });

  test('all that others have changed since the form was opened is told, each with who it was, and nothing of before', async () => {
    const { page } = admin;
    const mandatorId = service.tenant.mandatorId;
    const made = { Name: 'Beate', Email: 'beate@school.example', Role: 'Admin', TimeZone: 'Europe/Berlin' };
    const { Id: personId } = (await call('POST', 'persons', made)) as { Id: number };
    const { pin } = await createPin(service.context.db, pepper, { mandatorId, personId });
    const beate = await tokenFor(service.url, pin);
    const path = `resources/${service.tenant.resources[0]?.id}`;
    await call('PATCH', path, { CheckInMinutes: 5 });
    await admin.open('?screen=master');
    await button('Red').click();
    await field('Seats').fill('31');
    await call('PATCH', path, { Kind: 'Studio' });
    // Hours have versions of their own.
    const rules = `opening-hours/${service.tenant.resources[0]?.id}/rules`;
    await call('PUT', rules, { Items: [{ Weekdays: [1], Opens: '09:00', Closes: '17:00' }] }, beate);
    await call('PUT', rules, { Items: [] }, beate);
    await call('PATCH', path, { Equipment: ['Piano'] }, beate);
    await button('Save').click();
    const alert = page.getByRole('alert');
    await alert.getByText('Kind: Hall → Studio').waitFor();
    expect((await alert.innerText()).replaceAll(/\d\d:\d\d/g, 'hh:mm').split(/\n+/)).toEqual([
      'Admin of school has changed this at hh:mm:',
      'Kind: Hall → Studio',
      'Beate has changed this at hh:mm:',
      'Equipment: empty → Piano',
      'The new state is loaded; your input is still here. Check it and save again.',
    ]);
    await sound();
    await call('PATCH', path, { Kind: 'Hall', Equipment: [], CheckInMinutes: null }, beate);
    await button('Save').click();
    await alert.getByText('Kind: Studio → Hall').waitFor();
    expect(await alert.getByText('has changed this').allInnerTexts()).toHaveLength(1);
    await button('Save').click();
    await row('Red Campus Hall 31').waitFor();
    await call('PATCH', path, { Capacity: null });
  });

  test('of a room that was retired meanwhile it is said that it is no longer in use', async () => {
    const { page } = admin;
    const alert = page.getByRole('alert').filter({ hasText: 'Admin of school has changed this' });
    const LocationId = service.tenant.locationId;
    const { Id } = (await call('POST', 'resources', { LocationId, Name: 'Attic' })) as { Id: number };
    await admin.open('?screen=master');
    await button('Attic').click();
    await field('Seats').fill('8');
    await call('POST', `resources/${Id}/retirement`, { FutureBookings: 'Keep' });
    await button('Save').click();
    await alert.waitFor();
    expect(await alert.locator('li').allInnerTexts()).toEqual(['In use: yes → no']);
    await sound();
    await page.keyboard.press('Escape');
    await closed();
  });

  test('the new state is said to be loaded if it is, though the audit cannot be read', async () => {
    const { page } = admin;
    const { Id } = (await call('POST', 'locations', { Name: 'Outpost', TimeZone: 'Europe/Berlin' })) as { Id: number };
    await admin.open('?screen=master&part=locations');
    await button('Outpost').click();
    await field('Name').fill('Outposts');
    await call('PATCH', `locations/${Id}`, { TimeZone: 'Asia/Tokyo' });
    const saveWithout = async (query: string, said: string) => {
      const lose = (route: Route) =>
        route.request().postData()?.includes(`query ${query}(`) ? route.abort() : route.fallback();
      await page.route(/graphql$/, lose);
      await button('Save').click();
      await page.getByRole('dialog').getByText(said).waitFor();
      await page.unroute(/graphql$/, lose);
    };
    const alerts = () => page.getByRole('dialog').getByRole('alert').allInnerTexts();
    await saveWithout('MasterLocation', 'The server cannot be reached.');
    expect([await field('Time zone').inputValue(), await alerts()]).toEqual([
      'Europe/Berlin',
      [expect.not.stringContaining('is loaded')],
    ]);
    await saveWithout('LatestActs', 'Somebody has changed this meanwhile.');
    expect([await field('Name').inputValue(), await field('Time zone').inputValue()]).toEqual([
      'Outposts',
      'Asia/Tokyo',
    ]);
    expect(await alerts()).toEqual([expect.stringContaining('The new state is loaded')]);
    await sound();
    await button('Save').click();
    await row('Outposts Asia/Tokyo').waitFor();
    await closed();
    await admin.open('?screen=master');
  });

  test('after a refused save the focus is in the faulty field, whose fault ends with its value; the form says no more', async () => {
    await button('Lab 1').click();
    await field('Name').fill('Red');
    await button('Save').click();
    const fault = admin.page.locator('dialog .fault');
    await fault.waitFor();
    await field('Name').and(admin.page.locator(':focus')).waitFor();
    expect(await admin.page.locator('dialog .refused').count()).toBe(0);
    await sound();
    await admin.page.keyboard.type('s');
    await fault.waitFor({ state: 'detached' });
    await admin.page.keyboard.press('Escape');
    await closed();
  });

  test('a fault is shown at its field, and a room moves to another location', async () => {
    await button('Lab 1').click();
    await field('Name').fill('Red');
    await button('Save').click();
    await admin.page.locator('dialog .refused, dialog .fault').first().waitFor();
    await field('Name').fill('Lab 2');
    await field('Location').selectOption({ label: 'Tokyo' });
    await field('If somebody changes it there,').selectOption('the booking here is changed, too');
    await field('Organizers are told that the room is taken').selectOption('no');
    await admin.page.getByText('The room moves from Campus to Tokyo.').waitFor();
    await button('Save').click();
    await row('Lab 2 Tokyo Room 24').waitFor();
    const { Items } = (await call('GET', 'resources?Name=lab%202')) as { Items: object[] };
    expect(Items).toMatchObject([{ CalendarWriting: null, CalendarEdits: 'TakeOver', DeclineConflicts: false }]);
  });

  test('a room is retired after what is still to come there was shown', async () => {
    const { page } = admin;
    const [room, other] = service.tenant.resources;
    const tomorrow = (Math.floor(Date.now() / 3_600_000) + 24) * 3_600_000;
    await call('POST', 'bookings', {
      ResourceId: room?.id,
      Subject: 'Chess',
      Start: new Date(tomorrow).toISOString(),
      End: new Date(tomorrow + 3_600_000).toISOString(),
    });
    await button('Red').click();
    await button('Retire …').click();
    await page.getByText('1 booking', { exact: true }).waitFor();
    await field('What shall happen to the bookings?').selectOption('Move');
    // Lab 2 is in Tokyo, and the first by name.
    expect(await field('To').locator('option').allTextContents()).toEqual([`${other!.name} · Campus`, 'Lab 2 · Tokyo']);
    await sound();
    await button('Retire').click();
    await said('Red is retired. 1 moved.');
    await row('Red Campus Hall retired').waitFor();
    await button('Red').click();
    await button('Take back into use').click();
    await row('Red Campus Hall in use').waitFor();
  });

  test('of a room that is retired it is said how many bookings stay there, and these are moved later', async () => {
    const [room, other] = service.tenant.resources;
    const tomorrow = (Math.floor(Date.now() / 3_600_000) + 26) * 3_600_000;
    const places = [room, other, room].map((at, index) => ({
      ResourceId: at?.id,
      Subject: `Chess ${index}`,
      Start: new Date(tomorrow + Math.floor(index / 2) * 3_600_000).toISOString(),
      End: new Date(tomorrow + (Math.floor(index / 2) + 1) * 3_600_000).toISOString(),
    }));
    const [, inTheWay] = await Promise.all(places.map((place) => call('POST', 'bookings', place)));
    await button('Red').click();
    await button('Retire …').click();
    await field('What shall happen to the bookings?').selectOption('Move');
    await button('Retire').click();
    const refused = admin.page.locator('dialog').getByRole('alert');
    await refused.getByText('Tick “What does not fit there stays in Red”, or choose another room.').waitFor();
    expect(await refused.getByRole('listitem').allInnerTexts()).toEqual([
      expect.stringMatching(/^Chess 1 \(.*\), for the booking that begins on .*\d\d:\d\d$/),
    ]);
    await sound();
    await field('What does not fit there stays in Red').check();
    await button('Retire').click();
    await said('Red is retired. 1 moved. 1 stays there.');
    await call('DELETE', `bookings/${(inTheWay as { Id: number }).Id}`);

    await button('Red').click();
    await button('What is still to come …').click();
    await admin.page.getByText('1 booking', { exact: true }).waitFor();
    expect(await admin.page.locator('dialog :is(h2, h3)').allTextContents()).toEqual(['What is still to come in Red']);
    await sound();
    await button('Cancel or move').click();
    await closed();
    expect(await call('GET', `bookings?ResourceId=${room?.id}&Occupying=true`)).toMatchObject({ Items: [] });
    await button('Red').click();
    await button('Take back into use').click();
    await row('Red Campus Hall in use').waitFor();
  });

  test('a week of opening hours is typed, moved by keys, dragged, saved and undone', async () => {
    const { page } = admin;
    await tab('Opening hours');
    await page.locator('.panel:has(.week-grid)').getByText('Without weekly hours it is always open.').waitFor();
    expect(await page.locator('.week-grid').getByText('closed', { exact: true }).count()).toBe(0);
    await sound();
    await button('New hours …').press('Enter');
    await page.locator('dialog[open] input:focus').waitFor();
    await page.keyboard.type('0900AM');
    await field('Closes').fill('17:00');
    await sound();
    await page.keyboard.press('Enter');
    const bar = (name: string) => page.getByRole('button', { name, exact: true });
    await bar('Monday 09:00–17:00').focus();
    await page.keyboard.press('ArrowLeft');
    await page.keyboard.press('Alt+ArrowRight');
    await page.keyboard.press('Shift+ArrowRight');
    await bar('Monday 09:00–17:00').waitFor();
    await page.keyboard.press('Alt+ArrowRight');
    await bar('Monday 09:00–17:15').waitFor();
    expect(await page.locator('.week-grid').getByText('closed', { exact: true }).count()).toBe(2);
    await bar('Tuesday 09:00–17:00').press('Delete');
    const track = (await page.getByRole('group', { name: 'Saturday' }).locator('.track').boundingBox())!;
    const [y, at] = [track.y + track.height / 2, (hour: number) => track.x + (track.width * hour) / 24];
    await page.mouse.move(at(10.1), y);
    await page.mouse.down();
    await page.mouse.move(at(11), y);
    await page.mouse.move(at(14.02), y);
    await page.mouse.up();
    await bar('Saturday 10:00–14:00').waitFor();
    await sound();
    // A click of the mouse is no drag.
    await bar('Saturday 10:00–14:00').click();
    const saturday = page.getByRole('dialog', { name: 'Saturday 10:00–14:00' });
    await saturday.waitFor();
    await page.keyboard.press('Escape');
    await saturday.waitFor({ state: 'detached' });
    await button('Save').click();
    await said('The opening hours of Campus are saved.');
    const rules = `opening-hours/locations/${service.tenant.locationId}/rules`;
    expect(await call('GET', rules)).toMatchObject({
      Items: [
        { Weekdays: [1], Opens: '09:00', Closes: '17:15' },
        { Weekdays: [3, 4, 5], Opens: '09:00', Closes: '17:00' },
        { Weekdays: [6], Opens: '10:00', Closes: '14:00' },
      ],
    });
    await page.locator('.weeks td').first().getByText('09:00–17:15').waitFor();

    await call('PUT', rules, { Items: [{ Weekdays: [7], Opens: '12:00', Closes: '02:00' }] });
    await bar('Saturday 10:00–14:00').press('Delete');
    await button('Save').click();
    const alert = page.getByRole('alert');
    await alert.getByText(/^Admin of school has changed this at \d\d:\d\d:$/).waitFor();
    // What this page has saved before is no news.
    expect(await alert.getByText('has changed this').count()).toBe(1);
    // Nobody would read both lists as one text.
    await alert.getByText('Weekly hours', { exact: true }).waitFor();
    await button('Discard').click();
    await bar('Sunday 12:00–02:00').waitFor();
  });

  test('an exception replaces the week, and is undone', async () => {
    const { page } = admin;
    await button('New exception …').press('Enter');
    await field('Reason').fill('Summer party');
    await field('To').fill('2099-01-01');
    await sound();
    await page.keyboard.press('Enter');
    await row('closed Summer party').waitFor();
    await page.locator('.weeks').getByText('Summer party').last().waitFor();
    await sound();
    await button('Undo').last().click();
    await page.getByText('No exception. On days off').waitFor();
  });

  test('an exception names the bookings that it leaves outside of the hours, before it is saved', async () => {
    const { page } = admin;
    const [one, other] = service.tenant.resources.map(({ id }) => id);
    const day = new Date(Date.now() + 5 * 86_400_000).toISOString().slice(0, 10);
    const book = (ResourceId: number | undefined, Subject: string, hour: string) =>
      call('POST', 'bookings', { ResourceId, Subject, Start: `${day}T${hour}:00:00Z`, End: `${day}T${hour}:45:00Z` });
    await book(one, 'Early', '06');
    await book(one, 'Late', '13');
    await book(other, 'Elsewhere', '06');
    const own = (Items: object[]) => call('PUT', `opening-hours/${other}/exceptions`, { Items });
    const allDay = { Closed: false, Periods: [{ Opens: '00:00', Closes: '24:00' }], Reason: null };
    await own([{ FromDate: day, ToDate: day, ...allDay }]);
    const listed = () => page.locator('dialog li').allInnerTexts();
    await button('New exception …').press('Enter');
    await field('From').fill(day);
    await page.getByText('2 bookings are outside of these hours then.').waitFor();
    expect(await listed()).toEqual([expect.stringMatching(/Early$/), expect.stringMatching(/Late$/)]);
    await sound();
    await field('Closed throughout').press('Space');
    await field('Opens').fill('12:00');
    await page.getByText('1 booking is outside of these hours then.').waitFor();
    expect(await listed()).toEqual([expect.stringMatching(/Early$/)]);
    await field('Opens').fill('06:00');
    await page.getByText('No booking is outside of these hours then.').waitFor();
    await page.keyboard.press('Escape');
    await closed();
    await own([]);
  });

  test('an exception says which others share its days and which of them applies, and that equal times are 24 hours', async () => {
    const { page } = admin;
    const path = `opening-hours/locations/${service.tenant.locationId}/exceptions`;
    const [from, to] = ['2099-03-02', '2099-03-06'];
    await call('PUT', path, { Items: [{ FromDate: from, ToDate: to, Closed: true }] });
    await admin.open('?screen=master&part=hours');
    await button('New exception …').press('Enter');
    await field('From').fill('2099-03-06');
    const shared = page.getByText(/^There is an exception for this time already: .*2099, closed\. /);
    await shared.and(page.getByText(/this one applies\.$/)).waitFor();
    await field('From').fill('2099-02-01');
    await field('To').fill('2099-03-02');
    await shared.and(page.getByText(/the other one still applies, as it has fewer days\.$/)).waitFor();
    await field('To').fill('2099-03-01');
    await shared.waitFor({ state: 'detached' });
    await field('Closed throughout').press('Space');
    await field('Opens').fill('10:00');
    await field('Closes').fill('10:00');
    await page.getByText('Open for 24 hours, until 10:00 on the next day, unless that is closed.').waitFor();
    await field('Closes').fill('02:00');
    await page.getByText('Until 02:00 on the next day, unless that is closed.').waitFor();
    await sound();
    await page.keyboard.press('Escape');
    await closed();
    await call('PUT', path, { Items: [] });
    await admin.open('?screen=master&part=hours');
  });

  test('the next weeks show when it really closes, and of several exceptions the one that applies', async () => {
    const path = `opening-hours/locations/${service.tenant.locationId}/exceptions`;
    const [day, later] = [3, 5].map((days) => new Date(Date.now() + days * 86_400_000).toISOString().slice(0, 10));
    const allDay = { Closed: false, Periods: [{ Opens: '10:00', Closes: '10:00' }] };
    await call('PUT', path, {
      Items: [
        { FromDate: day, ToDate: later, Closed: true, Reason: 'Festival' },
        { FromDate: day, ToDate: day, ...allDay },
      ],
    });
    await admin.open('?screen=master&part=hours');
    const cell = admin.page.locator('.weeks td', { hasText: '10:00–24:00' });
    expect((await cell.innerText()).split('\n').slice(1)).toEqual(['10:00–24:00', 'exception']);
    await call('PUT', path, { Items: [] });
    await admin.open('?screen=master&part=hours');
  });

  test('of many exceptions that share its days five are named, and the others are counted', async () => {
    const { page } = admin;
    const path = `opening-hours/locations/${service.tenant.locationId}/exceptions`;
    const days = [1, 2, 3, 4, 5, 6, 7].map((date) => `2099-05-0${date}`);
    await call('PUT', path, { Items: days.map((day) => ({ FromDate: day, ToDate: day, Closed: true })) });
    await admin.open('?screen=master&part=hours');
    await button('New exception …').press('Enter');
    await field('From').fill('2099-05-01');
    await field('To').fill('2099-05-07');
    const shared = page.getByRole('status').filter({ hasText: 'There is an exception for this time already' });
    await shared.getByText('2 more exceptions share days.').waitFor();
    expect([await shared.count(), await shared.getByRole('paragraph').count()]).toEqual([1, 6]);
    await field('To').fill('2099-05-06');
    await shared.getByText('1 more exception shares days.').waitFor();
    await field('To').fill('2099-05-05');
    await shared.getByText('more exception').waitFor({ state: 'detached' });
    await sound();
    await page.keyboard.press('Escape');
    await closed();
    await call('PUT', path, { Items: [] });
    await admin.open('?screen=master&part=hours');
  });

  test('an exception names a booking that it leaves outside after hundreds that are inside, unless a shorter one applies', async () => {
    const { page } = admin;
    const { tenant, url } = service;
    const { Name: RessourceName } = (await call('GET', `resources/${tenant.resources[0]?.id}`)) as { Name: string };
    const midnight = Math.floor(Date.now() / 86_400_000 + 7) * 86_400_000;
    const day = new Date(midnight).toISOString().slice(0, 10);
    const at = (minutes: number) => new Date(midnight + minutes * 60_000).toISOString();
    const lesson = (Titel: string, minutes: number) => ({
      LektionId: Titel,
      RessourceName,
      Titel,
      Beginn: at(minutes),
      Ende: at(minutes + 1),
    });
    const inside = Array.from({ length: 201 }, (_, minute) => lesson(String(minute), 480 + minute));
    await lessonClient({ url, tenant }, await service.signIn(tenant, 'Admin')).importJobs([
      { JobID: 'many', LektionList: [...inside, lesson('Last', 840)] },
    ]);
    await button('New exception …').press('Enter');
    await field('From').fill(day);
    await field('Closed throughout').press('Space');
    await field('Closes').fill('14:00');
    await page.getByText('1 booking is outside of these hours then.').waitFor();
    const Closed = { Closed: true, Periods: [], Reason: null };
    const list = `opening-hours/locations/${tenant.locationId}/exceptions`;
    await call('PUT', list, { Items: [{ FromDate: day, ToDate: day, ...Closed }] });
    await field('To').fill(new Date(midnight + 86_400_000).toISOString().slice(0, 10));
    await page.getByText('No booking is outside of these hours then.').waitFor();
    await call('PUT', list, { Items: [] });
    await page.keyboard.press('Escape');
    await closed();
  });

  test('a holiday calendar is made from a file, shows its errors and the bookings on its days, and is deleted', async () => {
    const { page } = admin;
    const [day, next] = [2, 3].map((days) => new Date(Date.now() + days * 86_400_000).toISOString().slice(0, 10));
    const dayOf = (date = '') => date.replaceAll('-', '');
    const event = `BEGIN:VEVENT\r\nUID:1\r\nDTSTART;VALUE=DATE:${dayOf(day)}\r\nDTEND;VALUE=DATE:${dayOf(next)}\r\nSUMMARY:Gründer\r\nEND:VEVENT`;
    // Each has a name of its own, by which the page says that it has read it.
    const file = (name: string, content: string | Buffer) => ({
      name,
      mimeType: 'text/calendar',
      buffer: Buffer.from(content as string),
    });
    await call('POST', 'bookings', {
      ResourceId: service.tenant.resources[1]?.id,
      Subject: 'Choir',
      Start: `${day}T12:00:00Z`,
      End: `${day}T13:00:00Z`,
    });
    await tab('Holidays');
    await button('New holiday calendar').press('Enter');
    await page.locator('dialog[open] input:focus').waitFor();
    await page.keyboard.type('Days off');
    await field('File (.ics)').setInputFiles(file('old.ics', Buffer.from('BEGIN:VCALENDAR\r\nX-1:F\x81nf', 'latin1')));
    await page.getByText('Line 2, old.ics: the line is neither UTF-8 nor Windows-1252').waitFor();
    await sound();
    await field('File (.ics)').setInputFiles(file('none.ics', 'no calendar'));
    await page.getByText('Chosen: none.ics').waitFor();
    await sound();
    await button('Create').click();
    await page.locator('dialog .fault, dialog .refused').first().waitFor();
    await field('File (.ics)').setInputFiles(
      // As Windows writes it.
      file(
        'days.ics',
        Buffer.from(`BEGIN:VCALENDAR\r\nVERSION:2.0\r\nPRODID:test\r\n${event}\r\nEND:VCALENDAR\r\n`, 'latin1'),
      ),
    );
    await page.getByText('Chosen: days.ics').waitFor();
    await button('Create').click();
    await row('Days off all locations closes').waitFor();
    await sound();
    await button('Days off').click();
    await page.getByText('Choir (Gründer)').waitFor();
    await sound();
    await button('Delete').click();
    await page.locator('.toast', { hasText: 'Deleting Days off' }).getByLabel('Do it now').click();
    await page.getByText('There is no holiday calendar yet.').waitFor();
  });

  test('what somebody else changed of a person has the labels of its form, and nothing in place of values that the audit hides', async () => {
    const { Id } = (await call('POST', 'persons', {
      Name: 'Ada',
      Email: 'ada@school.example',
      Role: 'User',
      TimeZone: 'Europe/Berlin',
    })) as {
      Id: number;
    };
    await tab('Persons');
    await button('Ada').click();
    await field('Name').fill('Ada King');
    await call('PATCH', `persons/${Id}`, { Active: false, TeacherCode: 'AK' });
    await button('Save').click();
    const alert = admin.page.getByRole('alert').filter({ hasText: 'Admin of school has changed this' });
    await alert.getByText('Active: yes → no').waitFor();
    await alert.getByText('Teacher code', { exact: true }).waitFor();
    await button('Save').click();
    await row('Ada King ada@school.example User AK not active').waitFor();
  });

  test('a person gets a PIN that is shown once, revoked, and is erased only when that is typed', async () => {
    const { page } = admin;
    await tab('Persons');
    await button('New person').press('Enter');
    await page.locator('dialog[open] input:focus').waitFor();
    await page.keyboard.type('Grace Hopper');
    await field('E-mail').fill('grace@school.example');
    await field('Role').selectOption('Importer');
    await page.getByText('imports, changes and deletes lessons').waitFor();
    await sound();
    await button('Create').click();
    await row('Grace Hopper grace@school.example Importer active').waitFor();
    await sound();

    await button('Grace Hopper').click();
    await button('PINs …').click();
    await field('What for').fill('tablet');
    await button('Make a PIN').click();
    const pin = await page.getByLabel('The new PIN').inputValue();
    expect(pin.length).toBeGreaterThan(5);
    await row('tablet').waitFor();
    await sound();
    await button('Revoke tablet').click();
    await row('tablet').waitFor({ state: 'detached' });
    // The dialog is open, and its messages can be reached.
    await page.locator('.toast', { hasText: 'Revoking the PIN' }).getByRole('button', { name: 'Undo' }).click();
    await row('tablet').waitFor();
    await page
      .locator('dialog')
      .getByRole('status')
      .getByText('Undone', { exact: false })
      .waitFor({ state: 'attached' });
    await sound();
    await button('Revoke tablet').click();
    await page.locator('.toast', { hasText: 'Revoking the PIN' }).getByLabel('Do it now').click();
    await row('tablet').getByText('revoked').waitFor();
    await page.keyboard.press('Escape');

    const { tenant } = service;
    const { importJobs, lessons } = lessonClient(service, await service.signIn(tenant, 'Admin'));
    // An earlier test has renamed the room.
    const { Name } = (await call('GET', `resources/${tenant.resources[0]!.id}`)) as { Name: string };
    const [job] = makeJobs(1, { rooms: [Name], prefix: 'taught-' });
    Object.assign(job!.LektionList[0]!, { Lehrpersonen: ['Hopper, Grace', 'GH', 'E. Noether'] });
    expect(await importJobs([job])).toMatchObject({ CreatedCount: 1 });
    await button('Grace Hopper').click();
    await button('Erase …').click();
    await page.getByText('Lessons keep a name that another person has too, unless it is typed below.').waitFor();
    await sound();
    expect(await button('Erase for good').isDisabled()).toBe(true);
    await field('Other names and addresses').fill('Hopper, Grace; GH');
    await field('To confirm, type grace@school.example').fill('grace@school.example');
    await page.keyboard.press('Enter');
    await row('erased').waitFor();
    await page.locator('#main').getByText('Grace Hopper').first().waitFor({ state: 'detached' });
    expect((await lessons('JobID=taught-0')).Items).toMatchObject([{ Lehrpersonen: ['E. Noether'] }]);

    await page.getByRole('button', { name: /^Erased person \d+$/ }).click();
    await page.getByText('they are erased in the same way').waitFor();
    await sound();
    expect(await button('Erase for good').isDisabled()).toBe(true);
    await field('Other names and addresses').fill('E. Noether');
    await page.keyboard.press('Enter');
    await page.locator('.toast', { hasText: 'The names are erased.' }).waitFor();
    expect((await lessons('JobID=taught-0')).Items).toMatchObject([{ Lehrpersonen: [] }]);
  });

  test('of many persons the first page is shown, more on demand; the server searches all of them', async () => {
    const { page } = admin;
    const { db } = service.context;
    const { mandatorId } = service.tenant;
    const many = Array.from({ length: 201 }, (_, n) => ({
      mandator_id: mandatorId,
      name: `Äbbe ${n + 1}`,
      email: `many-${n + 1}@school.example`,
      time_zone: 'UTC',
      role: 'User' as const,
    }));
    await db.insertInto('person').values(many).execute();
    await tab('Locations');
    await tab('Persons');
    await page.getByText('200 rows', { exact: true }).waitFor();
    await field('Filter').fill('abbe 201');
    await row('Äbbe 201').waitFor();
    await page.getByText('1 row', { exact: true }).waitFor();
    await field('Filter').fill('nobody of this name');
    await page.getByText('No row matches the filter.').waitFor();
    await sound();
    await field('Filter').fill('');
    await button('Load more').click();
    await page.getByText('200 rows', { exact: true }).waitFor({ state: 'detached' });
    await button('Load more').waitFor({ state: 'detached' });
    await db.deleteFrom('person').where('mandator_id', '=', mandatorId).where('email', 'like', 'many-%').execute();
  });

  test('a policy says in sentences what it means, and names groups with members', async () => {
    const { page } = admin;
    await tab('Groups');
    // A form that comes, goes and comes again would lose what is typed meanwhile.
    const opened = await page.evaluateHandle<{ dialogs: number }>(`(() => {
      const opened = { dialogs: 0 };
      new MutationObserver(() => (opened.dialogs += document.querySelectorAll('dialog:not([data-seen])').length,
        document.querySelectorAll('dialog').forEach((each) => (each.dataset.seen = ''))))
        .observe(document.body, { childList: true, subtree: true });
      return opened;
    })()`);
    await button('New group').press('Enter');
    await page.locator('dialog[open] input:focus').waitFor();
    await page.keyboard.type('Office');
    await field('Add').selectOption({ label: 'User of school' });
    await page.getByText('1 member', { exact: true }).waitFor();
    expect(await opened.jsonValue()).toEqual({ dialogs: 1 });
    await sound();
    await button('Create').click();
    await button('Office').click();
    await button('Take User of school out').click();
    await button('Save').click();
    await said('Office is changed.');

    await tab('Policies');
    await button('New policy').press('Enter');
    await page.locator('dialog[open] input:focus').waitFor();
    await page.keyboard.type('Staff rooms');
    await page.getByLabel('Bookings need approval').check();
    await page.getByRole('group', { name: 'Who decides, besides Admins?' }).getByLabel('Office').check();
    await field('Longest booking (minutes)').fill('120');
    await page.getByText('A booking waits until Admins or Office decide.').waitFor();
    await sound();
    await button('Create').click();
    await row('Staff rooms').getByText('A booking lasts at most 2 hours.').waitFor();
    await sound();

    await tab('Groups');
    await button('Office').click();
    await button('Delete').click();
    const stays = /^The group “Office” stays: the policy “Staff rooms” names it\. Take it out there first\./;
    const fault = page.locator('dialog .toast.fault, body:not(:has(dialog)) .toast.fault', { hasText: stays });
    await fault.getByLabel('Close').click();
    await page.keyboard.press('Escape');
    await closed();
    await button('Office').waitFor();

    const { Items } = (await call('GET', 'policies')) as { Items: { Id: number; Name: string; MayDecide: number[] }[] };
    const { Id, MayDecide } = Items.find(({ Name }) => Name === 'Staff rooms')!;
    await call('PATCH', `policies/${Id}`, { MayDecide: [] });
    await button('Office').click();
    await button('Delete').click();
    const deleting = page.locator('.toast', { hasText: 'Deleting Office' });
    await deleting.waitFor();
    await call('PATCH', `policies/${Id}`, { MayDecide });
    await deleting.getByLabel('Do it now').click();
    await fault.getByLabel('Close').click();
    await button('Office').waitFor();

    const room = `resources/${service.tenant.resources[0]?.id}`;
    await call('PATCH', room, { PolicyId: Id });
    await tab('Policies');
    await button('Staff rooms').click();
    await button('Delete').click();
    await said(/^The policy “Staff rooms” stays: “Red” has it\. Choose another there first, or none\./);
    await call('PATCH', room, { PolicyId: null });
    await page.locator('.toast.fault').getByLabel('Close').click();
    await page.keyboard.press('Escape');
    await closed();
  });

  test('the name and the parameters of the school are changed', async () => {
    await tab('School');
    await field('Name').fill('Upper School');
    await field('Users may also import, change and delete lessons').uncheck();
    await field('Written into the mail calendar of the room').selectOption('only when it is taken');
    await field('The mail server declines items for a room that is taken here, which tells the organizer').check();
    await button('Save').click();
    await admin.page.locator('#top .brand', { hasText: 'Upper School' }).waitFor();
    await sound();
    expect(await call('GET', 'tenant')).toMatchObject({
      Name: 'Upper School',
      Parameters: { UsersMayImport: false, CalendarWriting: 'Busy', CalendarEdits: 'PutBack', DeclineConflicts: true },
    });
  });

  test('the colour and the logo of the school are chosen, seen before they are saved, and removed', async () => {
    const { page } = admin;
    type Look = { Colour: string | null; Logo: string | null };
    const stored = async () => (await call('GET', 'tenant')) as Look;
    const preview = page.getByRole('img', { name: 'How a sign looks: by day' });
    /** Of the preview: where its head is plain, and where a logo stands, above the name. */
    const seen = () =>
      page.evaluate<string[]>(`[[620, 4], [83, 30]].map(([x, y]) => {
        const pen = document.querySelector('.looks canvas').getContext('2d');
        return [...pen.getImageData(x, y, 1, 1).data.slice(0, 3)].join();
      })`);
    const [paper, yellow, red] = ['246,244,239', '255,224,0', '255,0,0'];
    const logo = await page.evaluate<string>(`{
      const canvas = document.createElement('canvas');
      [canvas.width, canvas.height] = [60, 40];
      const pen = canvas.getContext('2d');
      pen.fillStyle = '#ff0000';
      pen.fillRect(0, 0, 60, 40);
      canvas.toDataURL('image/png');
    }`);
    const buffer = Buffer.from(logo.replace(/.*,/, ''), 'base64');
    const choose = (name: string, mimeType: string, bytes: Buffer) =>
      field('Logo').setInputFiles({ name, mimeType, buffer: bytes });
    await preview.waitFor();
    await until(async () => String(await seen()) === String([paper, paper]));
    for (const [name, type, bytes] of [
      ['large.png', 'image/png', Buffer.concat([buffer, Buffer.alloc(65_536)])],
      ['logo.svg', 'image/svg+xml', Buffer.from('<svg xmlns="http://www.w3.org/2000/svg"/>')],
      ['none.png', 'image/png', Buffer.alloc(100)],
    ] as const) {
      await choose(name, type, bytes);
      await page
        .getByRole('alert')
        .filter({ hasText: `${name} cannot be used` })
        .waitFor();
    }
    await sound();
    await choose('logo.png', 'image/png', buffer);
    await field('Colour').fill('#ffe000');
    await until(async () => String(await seen()) === String([yellow, red]));
    await sound();
    // Somebody else is faster: what was chosen stays.
    await call('PATCH', 'tenant', { Colour: '#123456' });
    await button('Save').click();
    const alert = page.getByRole('alert').filter({ hasText: 'Admin of school has changed this' });
    await alert.getByText('Colour: empty → #123456').waitFor();
    expect(await seen()).toEqual([yellow, red]);
    await button('Save').click();
    await said('Upper School is changed.');
    await alert.waitFor({ state: 'detached' });
    await until('it is stored', async () => (await stored()).Colour === '#ffe000');
    expect(await stored()).toMatchObject({ Colour: '#ffe000', Logo: logo });
    await button('Remove: Colour').press('Enter');
    await button('Remove: Logo').press('Enter');
    await until(async () => String(await seen()) === String([paper, paper]));
    await button('Save').click();
    await button('Remove: Logo').waitFor({ state: 'detached' });
    await until(async () => (await stored()).Logo === null);
    expect(await stored()).toMatchObject({ Colour: null, Logo: null });
  });

  test('the part that was opened last is shown, though the one before comes later', async () => {
    const { page, open } = admin;
    const held = Promise.withResolvers<void>();
    let address = '';
    await page.route('**/master/rooms.ts', async (route) => {
      address = route.request().url();
      await held.promise;
      await route.continue();
    });
    await open('?screen=master');
    await tab('Locations');
    await button('New location').waitFor();
    held.resolve();
    // Until it has come, and what it changes is drawn.
    await page.evaluate(
      `import('${address}').then(() => new Promise((drawn) => requestAnimationFrame(() => requestAnimationFrame(drawn))))`,
    );
    expect(await button('New location').isVisible()).toBe(true);
    await page.unrouteAll({ behavior: 'wait' });
  });

  test('a PIN whose answer is lost is made once, even if its call was said to be still running', async () => {
    const { page, open, signIn, complaints, close } = await openConsole(browser, service, { language: 'de' });
    const { db } = service.context;
    const { mandatorId } = service.tenant;
    const { Id } = (await call('POST', 'persons', {
      Name: 'Ada',
      Email: 'ada.lost@school.example',
      Role: 'User',
      TimeZone: 'Europe/Berlin',
    })) as { Id: number };
    await open('?screen=master&part=persons');
    await signIn();
    await page.getByRole('button', { name: 'Ada', exact: true }).click();
    await page.getByRole('button', { name: 'PINs …' }).click();
    await page.getByText('Noch keine PIN').waitFor();
    let key = '';
    const lose = async (route: Route) => {
      key = route.request().postDataJSON().variables.idempotencyKey;
      await route.fetch();
      await route.abort();
    };
    const make = () => page.getByRole('button', { name: 'PIN machen' }).click();
    await page.route(/graphql$/, lose, { times: 1 });
    await make();
    await page.getByText('Der Server ist nicht zu erreichen.').first().waitFor();
    const name = `idempotency:${mandatorId}:${service.tenant.person('Admin').id}:${key}`;
    const release = await hold(db, (trx) =>
      sql`select pg_advisory_xact_lock(hashtextextended(${name}, 0))`.execute(trx),
    );
    await make();
    await page.getByText('Ihr voriger Versuch läuft noch.').waitFor();
    await release();
    await make();
    await page.getByText('Ihr voriger Versuch ist doch angekommen.').waitFor();
    await page.getByRole('button', { name: 'PIN widerrufen' }).waitFor();
    const { length } = await db.selectFrom('pin').select('id').where('person_id', '=', Id).execute();
    expect({ length, complaints }).toEqual({ length: 1, complaints: [] });
    await close();
  });

  test('a User has no master data, and makes and revokes calendar addresses of its own', async () => {
    const { page, open, signIn, violations, complaints, context, close } = await openConsole(browser, service, {
      role: 'User',
      language: 'de',
      theme: 'dark',
      width: 390,
    });
    await context.addInitScript(patience);
    await open('?screen=master');
    await signIn();
    await page.getByRole('link', { name: 'Kalender' }).click();
    await page.getByText('Noch keine Adresse.').waitFor();
    expect(await page.getByRole('link', { name: 'Stammdaten' }).count()).toBe(0);
    // The first answer is lost: what it was about cannot be shown any more, and there is no second one of it.
    await page.route(
      /graphql$/,
      async (route) => {
        await route.fetch();
        await route.abort();
      },
      { times: 1 },
    );
    await page.getByLabel('Wofür').fill('Verloren');
    await page.keyboard.press('Enter');
    await page.getByText('Der Server ist nicht zu erreichen.').first().waitFor();
    await page.keyboard.press('Enter');
    await page.getByText('Ihr voriger Versuch ist doch angekommen.').waitFor();
    await page.getByRole('row', { name: 'Verloren' }).waitFor();
    expect(await page.getByRole('row').count()).toBe(2);
    await page.getByLabel('Wofür').fill('Handy');
    await page.keyboard.press('Enter');
    const address = await page.getByLabel('Die neue Adresse').inputValue();
    expect([address.startsWith(service.url), (await fetch(address)).status]).toEqual([true, 200]);
    await page.getByRole('row', { name: 'Handy' }).waitFor();
    expect({ violations: await violations(), complaints }).toEqual({ violations: [], complaints: [] });
    await page.getByRole('button', { name: 'Handy widerrufen' }).click();
    await page.getByRole('button', { name: 'Sofort ausführen' }).click();
    await page.getByRole('row', { name: 'Handy' }).getByText('widerrufen').waitFor();
    expect((await fetch(address)).status).not.toBe(200);
    await page.getByLabel('Kalender von').selectOption('room');
    await page.getByText('Noch keine Adresse.').waitFor();
    await close();
  });

  describe('in German', () => {
    let german: Awaited<ReturnType<typeof openConsole>>;
    const press = (name: string) => german.page.getByRole('button', { name, exact: true }).click();
    const name = () => german.page.locator('dialog').getByLabel('Name', { exact: true });
    const made = async (path: string, body: object) =>
      `${path}/${((await call('POST', path, body)) as { Id: number }).Id}`;
    const Ics =
      'BEGIN:VCALENDAR\r\nBEGIN:VEVENT\r\nSUMMARY:Advent\r\nDTSTART;VALUE=DATE:20991201\r\nEND:VEVENT\r\nEND:VCALENDAR\r\n';
    beforeAll(async () => {
      german = await openConsole(browser, service, { language: 'de' });
      await german.context.addInitScript(patience);
      await german.open('?screen=master');
      await german.signIn();
    });
    afterAll(async () => {
      await german?.close();
    });
    const isSound = async () =>
      expect({ violations: await german.violations(), complaints: german.complaints }).toEqual({
        violations: [],
        complaints: [],
      });

    test('whatever somebody else has changed is said in the words of the form', async () => {
      const { page, open } = german;
      const LocationId = service.tenant.locationId;
      await call('PATCH', 'tenant', { Parameters: { UsersMayImport: false } });
      const group = (await made('groups', { Name: 'Technik' })).replace('groups/', '');
      const cases = [
        {
          part: 'rooms',
          path: await made('resources', { Name: 'Werkraum', LocationId }),
          was: 'Werkraum',
          changes: { CalendarWriting: 'Busy', CalendarEdits: 'TakeOver', Active: false },
          said: [
            'In Betrieb: „ja“ → „nein“',
            'Im Mailkalender des Raums steht: leer → „nur, wann er belegt ist“',
            'Ändert es dort jemand: leer → „wird die Buchung hier auch geändert“',
          ],
        },
        {
          part: 'policies',
          path: await made('policies', { Name: 'Streng' }),
          was: 'Streng',
          changes: { NeedsApproval: true, LeadMinutes: 60, MayDecide: [Number(group)] },
          said: [
            'Buchungen brauchen eine Genehmigung: „nein“ → „ja“',
            'Spätestens so viele Minuten vorher: leer → „60“',
            'Wer entscheidet: leer → „Technik“',
          ],
        },
        {
          part: 'holidays',
          path: await made('holiday-calendars', { Name: 'Advent', Ics }),
          was: 'Advent',
          changes: { LocationId },
          said: ['Standort: leer → „Campus“'],
        },
        {
          part: 'school',
          path: 'tenant',
          was: '',
          changes: { Parameters: { UsersMayImport: true } },
          said: ['Benutzer dürfen importieren: „nein“ → „ja“'],
        },
      ];
      for (const { part, path, was, changes, said: words } of cases) {
        await open(`?screen=master&part=${part}`);
        if (was) await press(was);
        await page.locator('dialog, main').getByLabel('Name', { exact: true }).last().fill(`${was} neu`);
        await call('PATCH', path, changes);
        await press('Speichern');
        const alert = page.getByRole('alert').filter({ hasText: 'Admin of school hat das um' });
        await alert.waitFor();
        expect((await alert.locator('li').allInnerTexts()).toSorted()).toEqual(words.toSorted());
        await isSound();
      }
    });

    test('an erased person has a German name, with its number', async () => {
      await german.open('?screen=master&part=persons');
      await german.page.getByRole('button', { name: /^Gelöschte Person \d+$/ }).waitFor();
      expect(await german.page.getByText('Erased person').count()).toBe(0);
      await isSound();
    });

    test('a record that somebody else has deleted is gone, also after a change', async () => {
      const { page, open } = german;
      for (const [part, path, body] of [
        ['groups', 'groups', {}],
        ['policies', 'policies', {}],
        ['holidays', 'holiday-calendars', { Ics }],
      ] as const)
        for (const isChanged of [false, true]) {
          const record = await made(path, { Name: `Bald weg: ${isChanged}`, ...body });
          await open(`?screen=master&part=${part}`);
          await press(`Bald weg: ${isChanged}`);
          await name().fill('Meins');
          if (isChanged) {
            await call('PATCH', record, { Name: 'Ihres' });
            await press('Speichern');
            await page.getByRole('alert').filter({ hasText: 'hat das um' }).waitFor();
          }
          await call('DELETE', record);
          await press('Speichern');
          await page.getByText('Das gibt es nicht mehr. Schließen Sie das Fenster.').waitFor();
          expect(await page.locator('dialog').getByRole('alert').count()).toBe(1);
          expect(await page.getByRole('button', { name: 'Speichern' }).isDisabled()).toBe(true);
          await isSound();
        }
    });
  });

  test('a name that is as long as the service allows can be changed', async () => {
    const name = 'Aula '.padEnd(200, 'a');
    await call('POST', 'resources', { LocationId: service.tenant.locationId, Name: name });
    await admin.open('?screen=master');
    await tab('Rooms');
    await button(name).click();
    await field('Name').press('End');
    await field('Name').press('Backspace');
    await button('Save').click();
    await button(name.slice(0, -1)).waitFor();
    await closed();
    await sound();
  });
});
