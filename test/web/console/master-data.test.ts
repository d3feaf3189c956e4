import { afterAll, beforeAll, expect, test } from '@jest/globals';
import type { Browser } from 'playwright-core';
import { type Service, startService } from '../../_util/service.ts';
import { launchBrowser } from '../_util/browser.ts';
import { openConsole } from '../_util/consoles.ts';
import { describeInBrowser } from '../_util/in-browser.ts';

describeInBrowser('The master data of the console', () => {
  let service: Service;
  let browser: Browser;
  let admin: Awaited<ReturnType<typeof openConsole>>;

  /** What another Admin does meanwhile. */
  async function call(method: string, path: string, body?: object): Promise<unknown> {
    const { url, tenant } = service;
    const token = await service.signIn(tenant, 'Admin');
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
    admin = await openConsole(browser, service);
    // Messages stay until they are closed, however slow the machine is.
    await admin.context.addInitScript(
      'const wait = setTimeout; setTimeout = (run, ms) => ([5_000, 8_000].includes(ms) ? 0 : wait(run, ms));',
    );
    await admin.open('?screen=master');
    await admin.signIn();
  });
  afterAll(async () => {
    await browser?.close();
    await service?.stop();
  });

  test('a location and a room are made by keyboard alone', async () => {
    const { page } = admin;
    await tab('Locations');
    await button('New location').press('Enter');
    await page.keyboard.type('Tokyo');
    await field('Time zone').fill('Asia/Tokyo');
    await sound();
    await page.keyboard.press('Enter');
    await row('Tokyo Asia/Tokyo 0 rooms in use').waitFor();
    await closed();
    expect(await button('New location').evaluate((self) => self === self.ownerDocument.activeElement)).toBe(true);

    await tab('Rooms');
    await button('New room').press('Enter');
    await page.keyboard.type('Lab 1');
    await field('Seats').fill('24');
    await field('Equipment').fill('Beamer, Piano, Beamer');
    await page.keyboard.press('Enter');
    await row('Lab 1 Campus Room 24 Beamer, Piano in use').waitFor();
    await sound();
  });

  test('what somebody else has changed meanwhile is told, what was typed stays, and a change is undone', async () => {
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

  test('a fault stands at its field, and a room moves to another location', async () => {
    await button('Lab 1').click();
    await field('Name').fill('Red');
    await button('Save').click();
    await admin.page.locator('dialog .refused, dialog .fault').first().waitFor();
    await field('Name').fill('Lab 2');
    await field('Location').selectOption({ label: 'Tokyo' });
    await admin.page.getByText('The room moves from Campus to Tokyo.').waitFor();
    await button('Save').click();
    await row('Lab 2 Tokyo Room 24').waitFor();
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
    await field('What shall become of the bookings?').selectOption('Move');
    await field('To').selectOption({ label: other!.name });
    await sound();
    await button('Retire').click();
    await said('Red is retired. 1 moved.');
    await row('Red Campus Hall retired').waitFor();
    await button('Red').click();
    await button('Take back into use').click();
    await row('Red Campus Hall in use').waitFor();
  });
});
