import { afterAll, beforeAll, describe, expect, test } from '@jest/globals';
import type { Browser, Page } from 'playwright-core';
import { createPin } from '../../src/identity/service.ts';
import { lessonClient, makeJobs } from '../_util/lessons.ts';
import { pepper } from '../_util/pepper.ts';
import { type Service, startService } from '../_util/service.ts';
import { launchBrowser } from './_util/browser.ts';
import { describeInBrowser } from './_util/in-browser.ts';

const asBrowser = { headers: { Accept: 'text/html,application/xhtml+xml,*/*;q=0.8' } };

let service: Service;
const started: Service[] = [];

async function start(settings: Record<string, string> = {}): Promise<Service> {
  const made = await startService({ GraphiQLEnabled: 'true', ...settings });
  started.push(made);
  return made;
}

const pinOf = async ({ context, tenant }: Service, role = 'Importer') =>
  (await createPin(context.db, pepper, { mandatorId: tenant.mandatorId, personId: tenant.person(role).id })).pin;

beforeAll(async () => {
  service = await start();
});
afterAll(async () => {
  for (const each of started) await each.stop();
});

describe('GET /{mandator}/graphql of a browser', () => {
  test('200: a page whose parts all come from here, and which lets no inline script run', async () => {
    const answer = await fetch(`${service.url}/school/graphql`, asBrowser);
    const policy = answer.headers.get('content-security-policy') ?? '';
    expect(answer.status).toBe(200);
    expect(policy).toContain("default-src 'none'; script-src 'self';");
    expect(policy).toContain("connect-src 'self'");
    expect(policy).toContain("frame-ancestors 'none'");
    expect(policy).not.toMatch(/script-src[^;]*unsafe|unsafe-eval|blob:/);
    const parts = [...(await answer.text()).matchAll(/(?:src|href)="(\.[^"]*)"/g)].map(([, part]) => part!);
    expect(parts).toHaveLength(4);
    const workers = ['editor', 'graphql', 'json'].map((name) => `../assets/graphiql/${name}-worker.js`);
    for (const part of [...parts, ...workers, '../assets/sign-in.js', '../assets/graphiql/event-stream.js']) {
      const asset = await fetch(new URL(part, answer.url));
      expect([part, asset.status]).toEqual([part, 200]);
      expect(asset.headers.get('content-type')).toMatch(/^text\/(javascript|css)/);
    }
  });

  test('also with a slash at its end; a program without a credential gets 401, and 405 with one', async () => {
    const slashed = await fetch(`${service.url}/school/graphql/`, asBrowser);
    expect([slashed.status, slashed.url]).toEqual([200, `${service.url}/school/graphql`]);
    expect((await fetch(`${service.url}/school/graphql`)).status).toBe(401);
    const headers = { Authorization: `Bearer ${await service.signIn()}` };
    const refused = await fetch(`${service.url}/school/graphql`, { headers });
    expect([refused.status, refused.headers.get('vary')]).toEqual([405, expect.stringMatching(/\bAccept\b/)]);
    expect(slashed.headers.get('vary')).toMatch(/\bAccept\b(?!-)/);
  });

  test('OPTIONS names the methods that are answered to the same Accept', async () => {
    const authorization = { Authorization: `Bearer ${await service.signIn()}` };
    const ask = (method: string, accept: object) =>
      fetch(`${service.url}/school/graphql`, { method, headers: { ...authorization, ...accept } });
    for (const [accept, allow, status] of [
      [asBrowser.headers, 'GET, HEAD, POST', 200],
      [{}, 'POST', 405],
    ] as const) {
      const options = await ask('OPTIONS', accept);
      expect([options.status, options.headers.get('allow')]).toEqual([204, allow]);
      expect(options.headers.get('vary')).toMatch(/\bAccept\b/);
      for (const method of ['GET', 'HEAD']) expect((await ask(method, accept)).status).toBe(status);
    }
  });

  test('is what the mode asks for: a PIN for a token, a PIN as it is, or a token', async () => {
    const formOf = async (of: Service) =>
      /<form [^>]*>\s*<label[^>]*>[^<]*/.exec(await (await fetch(`${of.url}/school/graphql`, asBrowser)).text())?.[0];
    expect(await formOf(service)).toMatch(/data-scheme="Bearer" data-client="timetable-import">.*>PIN$/s);
    expect(await formOf(await start({ IdentityProvider__Mode: 'None' }))).toMatch(/data-scheme="APIKEY".*>PIN$/s);
    const outside = { IdentityProvider__Mode: 'External', IdentityProvider__Authority: 'https://idp.example' };
    expect(await formOf(await start(outside))).toMatch(/data-scheme="" data-client="">.*>Access token$/s);
  });

  test('is nothing when GraphiQLEnabled is false', async () => {
    const without = await start({ GraphiQLEnabled: 'false' });
    expect((await fetch(`${without.url}/school/graphql`, asBrowser)).status).toBe(401);
    expect((await fetch(`${without.url}/assets/graphiql/page.js`)).status).toBe(404);
  });
});

describeInBrowser('GraphiQL in a browser without any other network', () => {
  let browser: Browser;
  let page: Page;
  const foreign: string[] = [];
  const complaints: string[] = [];

  async function open({ url }: Service): Promise<Page> {
    const context = await browser.newContext({ viewport: { width: 1400, height: 900 } });
    context.setDefaultTimeout(100_000);
    await context.route(
      (asked) => asked.host !== new URL(url).host && asked.protocol !== 'data:',
      (route) => {
        foreign.push(route.request().url());
        return route.abort();
      },
    );
    const opened = await context.newPage();
    opened.on('pageerror', (error) => complaints.push(error.message));
    opened.on('console', (line) => {
      if (line.type() === 'error' || line.type() === 'warning') complaints.push(line.text());
    });
    await opened.goto(`${url}/school/graphql`);
    return opened;
  }

  async function signIn(on: Page, given: string): Promise<string> {
    await on.locator('#credential').fill(given);
    await on.getByRole('button', { name: 'Sign in' }).click();
    const said = on.locator('#said[data-kind="right"], #said[data-kind="wrong"]');
    await said.waitFor();
    return (await said.textContent()) ?? '';
  }
  const shot = async (name: string) => {
    const folder = process.env['SCREENSHOTS'];
    if (folder) await page.screenshot({ path: `${folder}/${name}.png` });
  };
  const result = (on: Page) => on.locator('.graphiql-response .view-lines');
  const run = (on: Page) => on.locator('.graphiql-execute-button').click();

  beforeAll(async () => {
    browser = await launchBrowser();
    page = await open(service);
  });
  afterAll(() => browser?.close());

  test('a wrong PIN is reported, and shows nothing', async () => {
    expect(await signIn(page, 'AAAAA-AAAAA-AAAAA-AAAAA')).toMatch(/PIN is not valid/);
    expect(await page.locator('.graphiql-container').count()).toBe(0);
    await shot('wrong-pin');
    expect(complaints.splice(0)).toEqual([expect.stringMatching(/status of 400/)]);
  });

  test('a PIN signs in, and the schema is there at once', async () => {
    await page.locator('#credential').fill('');
    await page.evaluate(() => document.querySelector('#said')!.removeAttribute('data-kind'));
    expect(await signIn(page, await pinOf(service))).toBe('Signed in as Importer of school (Importer).');
    await page.locator('.graphiql-sessions').waitFor();
    await page
      .getByRole('button', { name: /Documentation Explorer/i })
      .first()
      .click();
    await page.getByText('Root Types').first().waitFor();
    await shot('schema');
  });

  test('the first query shows something', async () => {
    await run(page);
    await page.locator('.graphiql-response').getByText('Importer of school').waitFor();
    expect(await result(page).textContent()).toMatch(/R001/);
    await shot('query');
  });

  test('the second tab watches imports, until it is stopped', async () => {
    await page.locator('.graphiql-tab').nth(1).locator('.graphiql-tab-button').first().click();
    await run(page);
    await page.locator('.graphiql-execute-button[aria-label*="Stop" i]').waitFor();
    const client = lessonClient(service, await service.signIn(service.tenant, 'Importer'));
    await client.post(makeJobs(3));
    await page.locator('.graphiql-response').getByText('LessonsCreated').waitFor();
    await shot('subscription');
    await run(page);
    await page.locator('.graphiql-execute-button[aria-label*="Execute" i]').waitFor();
  });

  test('the credential is stored nowhere, and gone with the page', async () => {
    const kept = await page.evaluate(() =>
      JSON.stringify([{ ...localStorage }, { ...sessionStorage }, document.cookie]),
    );
    expect(kept).not.toMatch(/Bearer|eyJ|APIKEY/);
    expect(await page.locator('#credential').inputValue()).toBe('');
    await page.getByRole('button', { name: 'Sign out' }).click();
    await page.getByRole('button', { name: 'Sign in' }).waitFor();
    expect(await page.locator('.graphiql-container').count()).toBe(0);
  });

  test('without an identity provider the PIN goes with each call', async () => {
    const legacy = await start({ IdentityProvider__Mode: 'None' });
    const opened = await open(legacy);
    expect(await signIn(opened, await pinOf(legacy, 'User'))).toBe('Signed in as User of school (User).');
    await opened.locator('.graphiql-sessions').waitFor();
    await run(opened);
    await opened.locator('.graphiql-response').getByText('User of school').waitFor();
    await opened.context().close();
  });

  test('nothing was asked for elsewhere, and no policy was broken', () => {
    expect(foreign).toEqual([]);
    expect(complaints).toEqual([]);
  });
});
