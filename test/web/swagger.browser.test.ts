import { afterAll, beforeAll, describe, expect, test } from '@jest/globals';
import type { Browser, Page } from 'playwright-core';
import { createPin } from '../../src/identity/service.ts';
import { makeTenant } from '../_util/factories.ts';
import { pepper } from '../_util/pepper.ts';
import { type Service, startService } from '../_util/service.ts';
import { launchBrowser } from './_util/browser.ts';
import { describeInBrowser } from './_util/in-browser.ts';

/** A service with the tenant of the examples, and a PIN of its importer. */
async function startDemo(settings: Record<string, string>) {
  const service = await startService({ SwaggerEnabled: 'true', ...settings });
  const { db } = service.context;
  const { mandatorId, person } = await makeTenant(db, { code: 'demo', rooms: ['HS 101'] });
  const { pin } = await createPin(db, pepper, { mandatorId, personId: person('User').id });
  return { service, pin };
}

let service: Service;
let pin = '';

beforeAll(async () => {
  ({ service, pin } = await startDemo({}));
});
afterAll(() => service.stop());

describe('GET /swagger', () => {
  test('200: a page whose parts all come from here', async () => {
    const answer = await fetch(`${service.url}/swagger`);
    const page = await answer.text();
    expect(answer.status).toBe(200);
    expect(answer.headers.get('content-security-policy')).toMatch(
      /default-src 'none'; script-src 'self';.*connect-src 'self'/,
    );
    const parts = [...page.matchAll(/(?:src|href)="([^"]*)"/g)].map(([, part]) => part!);
    expect(parts).toHaveLength(6);
    for (const part of parts) {
      const url = new URL(part, answer.url);
      expect(url.origin).toBe(service.url);
      expect((await fetch(url)).status).toBe(200);
    }
  });

  test('200 also with a slash at its end', async () => {
    const answer = await fetch(`${service.url}/swagger/`);
    expect([answer.status, answer.url]).toEqual([200, `${service.url}/swagger`]);
  });

  test('404 for what the page does not need, 405 for another method', async () => {
    for (const name of ['package.json', '..%2fswagger.ts', 'constructor', 'toString', '__proto__'])
      expect((await fetch(`${service.url}/swagger/${name}`)).status).toBe(404);
    for (const address of ['/swagger', '/swagger/openapi.json']) {
      const posted = await fetch(service.url + address, { method: 'POST' });
      expect([posted.status, posted.headers.get('allow')]).toEqual([405, 'GET, HEAD']);
    }
  });

  test("without a form for a PIN where tokens are an outside provider's", async () => {
    const outside = await startService({
      SwaggerEnabled: 'true',
      IdentityProvider__Mode: 'External',
      IdentityProvider__Authority: 'https://idp.example',
    });
    expect(await (await fetch(`${outside.url}/swagger`)).text()).toContain('data-scheme="" data-client=""');
    await outside.stop();
  });

  test('404 for all of it when SwaggerEnabled is false', async () => {
    const without = await startService({ SwaggerEnabled: 'false' });
    for (const address of ['/swagger', '/swagger/', '/swagger/openapi.json', '/swagger/page.js'])
      expect((await fetch(without.url + address)).status).toBe(404);
    await without.stop();
  });
});

describeInBrowser('Swagger UI in a browser without any other network', () => {
  let browser: Browser;
  let page: Page;
  let legacy: Awaited<ReturnType<typeof startDemo>> | undefined;
  const foreign: string[] = [];
  const complaints: string[] = [];

  /**
   * The page under another name than the BaseUrl, which clients may use as well.
   * @param wanted the operations, all of which take seconds to draw, and are drawn again at each change
   */
  async function open({ url }: Service, wanted = /\/jobs\/create$/): Promise<Page> {
    const { port } = new URL(url);
    const context = await browser.newContext({ viewport: { width: 1280, height: 1400 } });
    context.setDefaultTimeout(100_000);
    await context.route(
      (asked) => asked.host !== `localhost:${port}` && asked.protocol !== 'data:',
      (route) => {
        foreign.push(route.request().url());
        return route.abort();
      },
    );
    await context.route('**/swagger/openapi.json', async (route) => {
      const response = await route.fetch();
      const document = (await response.json()) as Record<'paths' | 'webhooks', Record<string, object>>;
      for (const items of [document.paths, document.webhooks])
        for (const name of Object.keys(items)) if (!wanted.test(name)) delete items[name];
      await route.fulfill({ response, json: document });
    });
    const opened = await context.newPage();
    opened.on('pageerror', (error) => complaints.push(error.message));
    opened.on('console', (line) => {
      if (line.type() === 'error' || line.type() === 'warning') complaints.push(line.text());
    });
    await opened.goto(`http://localhost:${port}/swagger`);
    await opened.locator('.opblock').first().waitFor();
    return opened;
  }

  beforeAll(async () => {
    browser = await launchBrowser();
    page = await open(service);
  });
  afterAll(async () => {
    await browser?.close();
    await legacy?.service.stop();
  });

  async function signIn(on: Page, given: string, until: RegExp): Promise<void> {
    await on.getByLabel('PIN', { exact: true }).fill(given);
    await on.getByRole('button', { name: 'Sign in', exact: true }).click();
    await on.getByText(until).waitFor();
  }

  const signedIn = (on: Page) => on.locator('.authorize.locked').count();

  /** What "Try it out" of jobs/create shows with nothing filled in. */
  async function tryCreate(on: Page): Promise<string> {
    const operation = on.locator('.opblock[id$="-postJobsCreate"]');
    await operation.locator('.opblock-summary-control').click();
    await operation.getByRole('button', { name: 'Try it out' }).click();
    await operation.getByRole('button', { name: 'Execute' }).click();
    const shown = operation.locator('.live-responses-table tbody');
    await shown.locator('.response-col_status').first().waitFor();
    return (await shown.textContent()) ?? '';
  }

  test('it shows every operation', async () => {
    const document = await fetch(`${service.url}/swagger/openapi.json`);
    type Items = Record<string, object>;
    const { paths, webhooks } = (await document.json()) as { paths: Items; webhooks: Items };
    const operations = Object.values({ ...paths, ...webhooks }).flatMap((item) => Object.keys(item));
    const whole = await open(service, /(?:)/);
    await whole
      .locator('.opblock')
      .nth(operations.length - 1)
      .waitFor();
    expect(await whole.locator('.opblock').count()).toBe(operations.length);
    await whole.context().close();
  });

  test('a wrong PIN is reported, and signs nobody in', async () => {
    await signIn(page, 'AAAAA-AAAAA-AAAAA-AAAAA', /PIN is not valid/);
    expect(await page.getByRole('status').textContent()).toBe('This PIN is not valid. Check it, or make another one.');
    expect(await page.getByLabel('PIN', { exact: true }).evaluate((input) => input.matches(':focus'))).toBe(true);
    expect(await signedIn(page)).toBe(0);
    // What the browser itself says of a 400.
    expect(complaints.splice(0)).toEqual([expect.stringMatching(/status of 400/)]);
  });

  test('a PIN signs in, and "Try it out" of jobs/create shows 202', async () => {
    await signIn(page, pin, /Signed in/);
    await page.locator('.authorize.locked').first().waitFor();
    expect(await signedIn(page)).toBe(1);
    expect(await tryCreate(page)).toMatch(/^202.*"BatchId":.*"AwaitingLessonCreation"/s);
  });

  test('the dialog takes a bearer token and an APIKEY, and names the session of the console', async () => {
    await page.locator('.scheme-container .authorize').click();
    const dialog = page.locator('.dialog-ux');
    expect(await dialog.locator('h4').allTextContents()).toEqual([
      expect.stringMatching(/^Bearer/),
      expect.stringMatching(/^APIKEY/),
      expect.stringMatching(/^Session/),
    ]);
    await dialog.locator('.close-modal').click();
  });

  test('without an identity provider the PIN goes with each call, and shows 202 as well', async () => {
    legacy = await startDemo({ IdentityProvider__Mode: 'None' });
    const opened = await open(legacy.service);
    await signIn(opened, legacy.pin, /goes with each call/);
    expect(await tryCreate(opened)).toMatch(/^202/);
    await opened.context().close();
  });

  test('nothing was asked for elsewhere, and no policy was broken', () => {
    expect(foreign).toEqual([]);
    expect(complaints).toEqual([]);
  });
});
