/** All screens, by role: what each person sees and asks; how they look while they fail; and by keyboard alone. */
import { afterAll, beforeAll, describe, expect, test } from '@jest/globals';
import { sql } from 'kysely';
import type { Browser, Page } from 'playwright-core';
import { makeDisplay } from '../../_util/factories.ts';
import { lessonClient } from '../../_util/lessons.ts';
import { isLong } from '../../_util/long.ts';
import { masterData } from '../../_util/master-data.ts';
import { type Service, startService } from '../../_util/service.ts';
import { launchBrowser } from '../_util/browser.ts';
import { openConsole } from '../_util/consoles.ts';
import { describeInBrowser } from '../_util/in-browser.ts';

const day = `${new Date().getUTCFullYear() + 1}-02-10`;

/** Each screen, with what is shown once it is there. */
const screens: Record<string, string[]> = {
  Rooms: [`?screen=rooms&day=${day}`, `?screen=rooms&day=${day}&view=week`, `?screen=rooms&day=${day}&as=list`],
  'My bookings': ['?screen=mine', '?screen=mine&as=past'],
  Changes: [`?screen=changes&day=${day}`, `?screen=changes&day=${day}&as=all&only=1A`],
  Timetables: ['?screen=timetables', '?screen=timetables&file=new'],
  'Master data': [
    ...['rooms', 'locations', 'hours', 'holidays', 'persons', 'groups', 'policies', 'school'].map(
      (part) => `?screen=master&part=${part}`,
    ),
  ],
  Activity: ['?screen=activity'],
  Calendars: ['?screen=calendars', '?screen=calendars&of=room'],
  'Door signs': ['?screen=signs'],
  Mail: ['?screen=mail'],
  Webhooks: ['?screen=webhooks'],
  Use: ['?screen=use'],
};
const everybody = ['Rooms', 'My bookings', 'Changes', 'Calendars'];
const importers = ['Rooms', 'My bookings', 'Changes', 'Timetables', 'Calendars'];
const all = Object.values(screens).flat();

/** What opens a form, by the screen where it stands. */
const forms: [address: string, open: RegExp | undefined][] = [
  [`?screen=rooms&day=${day}`, /^(Book|Buchen) …$/],
  ...['rooms', 'locations', 'holidays', 'persons', 'groups', 'policies'].map((part): [string, undefined] => [
    `?screen=master&part=${part}&record=new`,
    undefined,
  ]),
  ['?screen=webhooks&record=new', undefined],
  ['?screen=signs', /^(Pair a sign|Schild koppeln) …$/],
];

describeInBrowser('All screens of the console', () => {
  let service: Service;
  let browser: Browser;

  beforeAll(async () => {
    [service, browser] = await Promise.all([startService({}, ['Aula', 'Vault']), launchBrowser()]);
    const { tenant, context } = service;
    const { db } = context;
    const { resources } = tenant;
    const [aula, vault] = resources.map(({ id }) => id) as [number, number];
    const admin = masterData(service, await service.signIn(tenant, 'Admin'));
    const { body: group } = await admin.post('/groups', { Name: 'Guards', AddMembers: [tenant.person('Admin').id] });
    const { body: policy } = await admin.post('/policies', { Name: 'Secret', MaySee: [group['Id']] });
    await admin.patch(`/resources/${vault}`, { PolicyId: policy['Id'] });
    const own = await admin.post('/groups', { Name: 'Staff', AddMembers: [tenant.person('User').id] });
    expect(own.status).toBe(201);
    for (const ResourceId of [aula, vault])
      await admin.post('/bookings', {
        ResourceId,
        Subject: ResourceId === vault ? 'Counting gold' : 'Assembly',
        Start: `${day}T09:00:00Z`,
        End: `${day}T10:00:00Z`,
      });
    const client = lessonClient(service, await service.signIn(tenant, 'Importer'));
    const lesson = { LektionId: '1', RessourceName: 'Aula', Beginn: `${day}T11:00:00Z`, Ende: `${day}T12:00:00Z` };
    await client.importJobs([{ JobID: '1A', LektionList: [{ ...lesson, Fach: 'Chemie', Klassen: ['1A'] }] }]);
    await client.importJobs([{ JobID: '1A', LektionList: [{ LektionId: '1', Status: 'Entfaellt' }] }], 'update');
    await makeDisplay(db, tenant, { name: 'Tür Aula' });
  });
  afterAll(async () => {
    await browser?.close();
    await service?.stop();
  });

  /** Whatever is being loaded is there. */
  const isThere = async (page: Page) => {
    await page.locator('#main :is(h1, h2, .tabs, .timeline, .state, table)').first().waitFor({ state: 'attached' });
    await page.locator('[aria-busy="true"]').first().waitFor({ state: 'detached' });
  };

  /** Without loading the page again. */
  const go = (page: Page, address: string) =>
    page.evaluate(`history.pushState(null, '', '${address}'); dispatchEvent(new PopStateEvent('popstate'));`);
  async function visit(page: Page, address: string): Promise<void> {
    await go(page, address);
    await isThere(page);
  }

  describe('by role', () => {
    test.each([
      ['User', false, everybody],
      ['User', true, importers],
      ['Importer', false, importers],
      ['Admin', false, Object.keys(screens)],
    ] as const)('%s, importing as a User: %s', async (role, UsersMayImport, sections) => {
      const { db } = service.context;
      const parameters = JSON.stringify({ UsersMayImport });
      await sql`update mandator set parameters = parameters || ${parameters}::jsonb where code = 'school'`.execute(db);
      const { open, signIn, page, complaints, close } = await openConsole(browser, service, { role });
      const forbidden: string[] = [];
      const answers: Promise<unknown>[] = [];
      page.on('response', (response) => {
        if (response.url().endsWith('/graphql') && response.request().method() === 'POST')
          answers.push(
            response.text().then(
              (text) => /FORBIDDEN|Forbidden/.test(text) && forbidden.push(response.request().postData() ?? ''),
              () => undefined,
            ),
          );
      });
      page.on('websocket', (socket) =>
        socket.on(
          'framereceived',
          ({ payload }) => /FORBIDDEN/.test(String(payload)) && forbidden.push(String(payload)),
        ),
      );
      await open();
      await signIn();
      expect(await page.getByRole('navigation').first().getByRole('link').allInnerTexts()).toEqual([...sections]);
      for (const address of sections.flatMap((name) => screens[name] ?? [])) {
        await visit(page, address);
        expect({ address, told: await page.locator('.refused').allInnerTexts() }).toEqual({ address, told: [] });
        if (role === 'User') expect(await page.getByText(/Vault|Counting gold/).count()).toBe(0);
      }
      await visit(page, `?screen=rooms&day=${day}`);
      await page.getByRole('button', { name: 'Book …' }).click();
      await page.getByLabel('Title').waitFor();
      await isThere(page);
      await page.keyboard.press('Escape');
      // What is not for the role is not there, whoever knows its address.
      for (const [name, [address = '']] of Object.entries(screens))
        if (!(sections as readonly string[]).includes(name)) {
          await go(page, address);
          await page.locator('main[aria-label="Rooms"]').waitFor();
        }
      await Promise.all(answers);
      expect({ forbidden, complaints }).toEqual({ forbidden: [], complaints: [] });
      await close();
    });

    test('Display: it is said that there is nothing to see', async () => {
      const { open, signIn, page, violations, complaints, close } = await openConsole(browser, service, {
        role: 'Display',
      });
      await open();
      await signIn();
      await page.getByText('There is nothing here for your role.').waitFor();
      expect({ violations: await violations(), complaints }).toEqual({ violations: [], complaints: [] });
      await close();
    });
  });

  describe('in all looks', () => {
    let mine: Awaited<ReturnType<typeof openConsole>>;
    let page: Page;
    beforeAll(async () => {
      mine = await openConsole(browser, service);
      page = mine.page;
      await mine.open();
      await mine.signIn();
    });
    afterAll(() => mine?.close());
    const found: unknown[] = [];
    const look = async (theme: string, language: string) => {
      await page.evaluate(`{
        document.documentElement.dataset.theme = '${theme}';
        const [select] = document.querySelectorAll('#account select');
        select.value = '${language}';
        select.dispatchEvent(new Event('change'));
      }`);
      await page.locator(`html[lang="${language}"]`).waitFor();
    };
    async function judge(state: string): Promise<void> {
      const violations = await mine.violations();
      if (violations.length > 0) found.push({ state, violations });
    }
    const isTold = () =>
      expect({ found: found.splice(0), complaints: mine.complaints }).toEqual({ found: [], complaints: [] });

    test('axe finds nothing on any screen', async () => {
      const looks = [
        ['dark', 'de'],
        ['light', 'en'],
      ] as const;
      for (const [at, address] of all.entries()) {
        await visit(page, address);
        // The looks take turns with the screens, and have each only at length.
        for (const [theme, language] of looks.filter((_, turn) => isLong || turn === at % looks.length)) {
          await look(theme, language);
          await judge(`${address}, ${theme}, ${language}`);
        }
      }
      isTold();
    });

    test('a server that cannot answer is reported on every screen, which recovers by itself', async () => {
      let isDown = false;
      await page.route(/\/graphql$/, (route) =>
        isDown
          ? route.fulfill({
              status: 503,
              contentType: 'application/problem+json',
              headers: { 'Retry-After': '1' },
              body: '{}',
            })
          : route.fallback(),
      );
      for (const [name, [address = '']] of Object.entries(screens)) {
        // It only follows a subscription.
        if (name === 'Mail') continue;
        // Another one, so that it is opened anew.
        await visit(page, '?screen=nothing');
        isDown = true;
        await go(page, address);
        await page.locator('main .refused').first().waitFor();
        await judge(`${address}, 503`);
        isDown = false;
        await page.locator('main .refused').first().waitFor({ state: 'detached' });
        await isThere(page);
      }
      await page.unrouteAll();
      isTold();
    });

    test('a form that is refused says why, at its field and as a whole', async () => {
      const refused = {
        errors: [
          {
            message: 'Two things are wrong.',
            extensions: {
              code: 'BAD_USER_INPUT',
              errors: ['name', 'subject', 'code', 'elsewhere'].map((field) => ({
                field,
                pointer: null,
                code: 'MissingField',
                message: `${field} is missing`,
              })),
            },
          },
        ],
      };
      await page.route(/\/graphql$/, (route) =>
        /\bmutation [A-Z]/.test(route.request().postData() ?? '') ? route.fulfill({ json: refused }) : route.fallback(),
      );
      for (const [address, name] of forms) {
        await visit(page, address);
        if (name) await page.getByRole('button', { name }).first().click();
        const dialog = page.locator('dialog[open]');
        await dialog.locator('form').first().waitFor();
        await judge(`${address}, a form`);
        for (const input of await dialog.locator('input[required]').all()) {
          const type = (await input.getAttribute('type')) ?? '';
          const right = { email: 'a@school.example', url: 'https://school.example' }[type] ?? 'x';
          if (!(await input.inputValue())) await input.fill(right);
        }
        await dialog.locator('form button.main').click();
        await dialog.locator('.refused').first().waitFor();
        await judge(`${address}, a form that is refused`);
        await page.keyboard.press('Escape');
        await dialog.waitFor({ state: 'detached' });
      }
      await page.unrouteAll();
      isTold();
    });
  });
});
