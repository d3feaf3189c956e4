import { afterAll, beforeAll, expect, test } from '@jest/globals';
import type { Browser } from 'playwright-core';
import { isLong } from '../_util/long.ts';
import { type Service, startService } from '../_util/service.ts';
import { launchBrowser } from './_util/browser.ts';
import { describeInBrowser } from './_util/in-browser.ts';
import { openStates } from './_util/sign-states.ts';

// Both languages and themes, upright and across; `npm run screenshots` looks at all of their combinations.
const looks = [
  { turn: 0, language: 'de', theme: 'day', width: 1280, height: 800 },
  { turn: 1, language: 'en', theme: 'night', width: 480, height: 800 },
] as const;

describeInBrowser('axe finds nothing in any state of the signs', () => {
  let service: Service;
  let browser: Browser;
  let states: Awaited<ReturnType<typeof openStates>>;

  beforeAll(async () => {
    [service, browser] = await Promise.all([startService(), launchBrowser()]);
    states = await openStates(service, browser);
  });
  afterAll(async () => {
    await browser?.close();
    await service?.stop();
  });

  test.each(looks)('$language, $theme, $width x $height', async ({ turn, ...look }) => {
    const seen: string[] = [];
    const found: Record<string, string[]> = {};
    const complaints = await states.visit(look, async (name, sign) => {
      seen.push(name);
      // The looks take turns with the states, and have each only at length.
      if (!isLong && seen.length % 2 !== turn) return;
      const violations = await sign.violations();
      if (violations.length > 0) found[name] = violations;
    });
    expect({ found, complaints }).toEqual({ found: {}, complaints: [] });
    expect(seen).toHaveLength(19);
  });
});
