import { afterAll, beforeAll, describe, expect, test } from '@jest/globals';
import type { Browser } from 'playwright-core';
import { freePort } from '../../_util/free-port.ts';
import { until } from '../../_util/process.ts';
import { type Service, startService } from '../../_util/service.ts';
import { resourceClient, startProvider } from '../../identity/_util/oidc-provider.ts';
import { launchBrowser } from '../_util/browser.ts';
import { openConsole } from '../_util/consoles.ts';
import { describeInBrowser } from '../_util/in-browser.ts';

describeInBrowser('The sign-in of the console', () => {
  let browser: Browser;
  beforeAll(async () => {
    browser = await launchBrowser();
  });
  afterAll(() => browser?.close());

  describe('by PIN', () => {
    let service: Service;
    beforeAll(async () => {
      service = await startService({ Role: 'Web', Limits__WrongPins: '1', Sessions__IdleMinutes: '2' });
    });
    afterAll(() => service?.stop());

    test.each([
      { language: 'de', theme: 'light', width: 1280, button: 'Anmelden' },
      { language: 'en', theme: 'dark', width: 320, button: 'Sign in' },
    ] as const)('$language, $theme, $width wide: axe and the policy find nothing', async ({ button, ...look }) => {
      const { open, page, violations, complaints, close } = await openConsole(browser, service, look);
      await open();
      await page.getByRole('button', { name: button }).waitFor();
      expect({ violations: await violations(), complaints }).toEqual({ violations: [], complaints: [] });
      expect(await page.evaluate('document.activeElement.type')).toBe('password');
      await close();
    });

    test('a sign-in applies to the other tab, which waits at its own', async () => {
      const { open, signIn, page, context, complaints, close } = await openConsole(browser, service);
      await open();
      const other = await context.newPage();
      await other.goto(page.url());
      await other.getByLabel('PIN').waitFor();
      await signIn();
      await other.getByRole('button', { name: 'Admin of school' }).waitFor();
      expect(complaints).toEqual([]);
      await close();
    });

    test('nobody is asked for the PIN again because the server cannot answer', async () => {
      const { open, signIn, page, complaints, close } = await openConsole(browser, service);
      await open();
      await signIn();
      const json = { Code: 'LimitExceeded', detail: 'Too many requests of this session.' };
      await page.route(/\/session$/, (route) => route.fulfill({ status: 429, json }));
      await page.reload();
      await page.getByText('Too many requests of this session.').waitFor();
      expect(await page.getByLabel('PIN').count()).toBe(0);
      await page.unrouteAll();
      await page.getByRole('button', { name: 'Try again' }).click();
      await page.getByRole('button', { name: 'Admin of school' }).waitFor();
      expect(complaints).toEqual([]);
      await close();
    });

    test('nobody can read the page once its session has ended, until somebody has signed in again', async () => {
      const { open, signIn, page, context, complaints, close } = await openConsole(browser, service);
      await open();
      await signIn();
      await page.locator('#main').focus();
      const other = await context.newPage();
      await other.goto(page.url());
      await other.getByRole('button', { name: 'Admin of school' }).click();
      await other.getByRole('button', { name: 'Sign out', exact: true }).click();
      await page.getByText(/Your session has ended/).waitFor();
      // Without a fourth number it is opaque.
      expect(
        await page.evaluate("getComputedStyle(document.querySelector('dialog[open]'), '::backdrop').backgroundColor"),
      ).toMatch(/^rgb\(/);
      expect(await page.locator('#main').isVisible()).toBe(false);
      await signIn();
      await page.getByText(/Your session has ended/).waitFor({ state: 'detached' });
      expect(await page.evaluate('document.activeElement.id')).toBe('main');
      expect(complaints).toEqual([]);
      await close();
    });

    test('signing out everywhere covers the pages of other browsers at once', async () => {
      const [one, other] = await Promise.all([openConsole(browser, service), openConsole(browser, service)]);
      for (const each of [one, other]) {
        await each.open();
        await each.signIn();
      }
      await one.page.getByRole('button', { name: 'Admin of school' }).click();
      await one.page.getByRole('button', { name: 'Sign out everywhere' }).click();
      await one.page.getByLabel('PIN').waitFor();
      await other.page.getByText(/Your session has ended/).waitFor();
      expect([...one.complaints, ...other.complaints]).toEqual([]);
      await Promise.all([one.close(), other.close()]);
    });

    test('a page that is in use tells the server well before the session ends, and offers what its person may do now', async () => {
      const { db } = service.context;
      const { id } = service.tenant.person('User');
      const { open, signIn, page, complaints, close } = await openConsole(browser, service, { role: 'User' });
      await open();
      await signIn();
      await page.getByRole('link', { name: 'Calendars' }).waitFor();
      for (const [role, count] of [
        ['Admin', 1],
        ['User', 0],
      ] as const) {
        await db.updateTable('person').set({ role }).where('id', '=', id).execute();
        // The server may hear of the change only after the first key.
        await until(`${role} in the console`, async () => {
          await page.evaluate('{ const { now } = Date; Date.now = () => now.call(Date) + 31_000; }');
          await Promise.all([page.waitForResponse(/\/session$/), page.keyboard.press('Shift')]);
          return (await page.getByRole('link', { name: 'Master data' }).count()) === count;
        });
      }
      expect(complaints).toEqual([]);
      await close();
    });

    test('another name or address of the person is taken over without loading the page anew', async () => {
      const { db } = service.context;
      const { id } = service.tenant.person('User');
      const { open, signIn, page, complaints, close } = await openConsole(browser, service, { role: 'User' });
      await open();
      await signIn();
      await page.getByRole('button', { name: 'Book …' }).click();
      await page.getByLabel('Title', { exact: true }).fill('Half a sen');
      await db.updateTable('person').set({ email: 'married@school.test' }).where('id', '=', id).execute();
      await page.evaluate(
        '{ const { now } = Date; Date.now = () => now.call(Date) + 31_000; globalThis.isSame = true; }',
      );
      await page.keyboard.type('tence');
      await page.getByText('married@school.test').waitFor({ state: 'attached' });
      expect(await page.getByLabel('Title', { exact: true }).inputValue()).toBe('Half a sentence');
      expect(await page.evaluate('globalThis.isSame')).toBe(true);
      expect(complaints).toEqual([]);
      await close();
    });

    test('after too many wrong PINs it says why, and when to go on', async () => {
      const { open, page, close } = await openConsole(browser, service);
      await open();
      for (const [pin, says] of [
        ['1234', /^This PIN is not valid/],
        ['5678', /^Too many wrong PINs from here; wait \d+ seconds\. Possible again in \d+ seconds\.$/],
      ] as const) {
        await page.getByLabel('PIN').fill(pin);
        await page.keyboard.press('Enter');
        await page.getByText(says).waitFor();
      }
      await close();
    });
  });

  describe('at an outside provider', () => {
    let service: Service;
    let provider: Awaited<ReturnType<typeof startProvider>>;
    beforeAll(async () => {
      const port = await freePort();
      // Another site than the provider's.
      const root = `http://localhost:${port}`;
      const claims = (name: string) => ({ tenant: 'school', email: `${name}@school.example`, email_verified: true });
      provider = await startProvider({ ada: claims('user'), stranger: claims('stranger') }, root);
      service = await startService({
        Role: 'Web',
        Port: String(port),
        BaseUrl: root,
        IdentityProvider__Mode: 'External',
        IdentityProvider__Authority: provider.issuer,
        IdentityProvider__ClientId: resourceClient.ClientId,
        IdentityProvider__ClientSecret: resourceClient.ClientSecret,
        IdentityProvider__SignIn: 'true',
      });
    });
    afterAll(async () => {
      await service?.stop();
      await provider?.stop();
    });

    test('a person returns to the page that was open; a session that ends is renewed in another tab, and the input stays', async () => {
      const { open, context, page, violations, complaints, close } = await openConsole(browser, service);
      const search = `?screen=rooms&day=${new Date().getUTCFullYear() + 1}-02-10`;
      const enter = () => page.getByRole('link', { name: /^Continue with/ }).click();
      await open(search);
      await enter();
      await page.getByRole('link', { name: 'stranger' }).click();
      await page.getByText(/^No person here has this address/).waitFor();
      expect({ violations: await violations(), search: new URL(page.url()).search }).toEqual({
        violations: [],
        search,
      });
      await context.clearCookies();
      await enter();
      await page.getByRole('link', { name: 'ada' }).click();
      await page.getByRole('button', { name: 'User of school' }).waitFor();
      expect(new URL(page.url()).search).toBe(search);
      await page.getByRole('button', { name: 'Book …' }).click();
      await page.getByLabel('Title').fill('Typed before');
      await context.clearCookies({ name: 'roomgate_session' });
      // Whatever else the page asks may have told it before.
      await page.evaluate("document.querySelector('dialog form').requestSubmit()");
      await page.getByText(/Your session has ended/).waitFor();
      expect(await violations()).toEqual([]);
      const beside = context.waitForEvent('page');
      await enter();
      await (await beside).getByRole('button', { name: 'User of school' }).waitFor();
      await page
        .getByText(/^Booked:/)
        .first()
        .waitFor();
      expect(complaints.filter((line) => !line.startsWith(`foreign request: ${provider.issuer}/`))).toEqual([]);
      await close();
    });
  });
});
