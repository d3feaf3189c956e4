/** The console's screens with the demo tenant, for people to look at. */
import type { Browser } from 'playwright-core';
import { connect } from '../../../src/cli/client.ts';
import { importerEmail, importTimetable, readDemoTenant } from '../../../src/demo/service.ts';
import { createPin } from '../../../src/identity/service.ts';
import { getPerson, writeTenant } from '../../../src/tenants/service.ts';
import { pepper } from '../../_util/pepper.ts';
import type { Service } from '../../_util/service.ts';
import { type ConsoleOptions, openConsole } from './consoles.ts';

/** Addresses below `/console`, by the name of what is seen. */
const places = {
  'rooms-day': 'screen=rooms',
  'rooms-week': 'screen=rooms&view=week',
  'rooms-list': 'screen=rooms&as=list',
  'my-bookings': 'screen=mine',
  changes: 'screen=changes',
  timetables: 'screen=timetables',
  ...Object.fromEntries(
    ['rooms', 'locations', 'hours', 'holidays', 'persons', 'groups', 'policies', 'school'].map((part) => [
      `master-${part}`,
      `screen=master&part=${part}`,
    ]),
  ),
  activity: 'screen=activity',
  calendars: 'screen=calendars',
  signs: 'screen=signs',
  mail: 'screen=mail',
  webhooks: 'screen=webhooks',
  use: 'screen=use',
};

/** Makes the demo tenant, and imports its timetable. */
export async function openScreens(service: Service, browser: Browser) {
  const { context, url } = service;
  const { db } = context;
  const file = readDemoTenant();
  await db.transaction().execute((trx) => writeTenant(trx, file));
  const admin = await getPerson(db, file.Mandator, importerEmail());
  const { pin } = await createPin(db, pepper, admin);
  const credential = { pin, idpUrl: url, clientId: 'timetable-import' };
  const api = await connect({ baseUrl: url, mandator: file.Mandator, credential });
  await importTimetable(api, new Date(), () => {});
  const tenant = { ...service.tenant, code: file.Mandator };

  return async function visit(
    look: ConsoleOptions,
    see: (name: string, screen: Awaited<ReturnType<typeof openConsole>>) => Promise<void>,
  ) {
    const screen = await openConsole(browser, { ...service, tenant }, look);
    const { page } = screen;
    await screen.open();
    await page.getByLabel('PIN').waitFor();
    await see('sign-in', screen);
    await page.getByLabel('PIN').fill(pin);
    await page.keyboard.press('Enter');
    for (const [name, place] of Object.entries(places)) {
      await page.locator('#top').waitFor();
      await screen.open(`?${place}`);
      await page.locator('#main :is(h1, nav, form, [role=grid])').first().waitFor();
      await page.locator('#main [aria-busy=true]').first().waitFor({ state: 'detached' });
      await see(name, screen);
    }
    await screen.close();
    return screen.complaints;
  };
}
