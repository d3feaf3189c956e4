import { afterAll, beforeAll, expect, test } from '@jest/globals';
import type { Browser } from 'playwright-core';
import { type Service, startService } from '../../_util/service.ts';
import { launchBrowser } from '../_util/browser.ts';
import { openConsole } from '../_util/consoles.ts';
import { describeInBrowser } from '../_util/in-browser.ts';

describeInBrowser('The sign-in of the console', () => {
  let service: Service;
  let browser: Browser;

  beforeAll(async () => {
    [service, browser] = await Promise.all([startService(), launchBrowser()]);
  });
  afterAll(async () => {
    await browser?.close();
    await service?.stop();
  });

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
});
