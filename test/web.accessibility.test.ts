import { afterAll, beforeAll, expect, test } from '@jest/globals';
import type { Browser } from 'playwright-core';
import { launchBrowser } from './_util/browser.ts';
import { describeInBrowser } from './_util/in-browser.ts';
import { type Service, startService } from './_util/service.ts';
import { openStates } from './_util/sign-states.ts';

// Both languages and themes, upright and across; `npm run screenshots` looks at all of their combinations.
const looks = [
  { language: 'de', theme: 'day', width: 1280, height: 800 },
  { language: 'en', theme: 'night', width: 480, height: 800 },
] as const;

describeInBrowser('axe finds nothing in any state of the signs', () => {
  let service: Service;
  let browser: Browser;
  let all: Awaited<ReturnType<typeof openStates>>;

  beforeAll(async () => {
    [service, browser] = await Promise.all([startService(), launchBrowser()]);
    all = await openStates(service, browser);
  });
  afterAll(async () => {
    await all?.close();
    await browser?.close();
    await service?.stop();
  });

  test.each(looks)(
    '$language, $theme, $width x $height',
    async (look) => {
      const found: Record<string, string[]> = {};
      const judge = async ({ name, show }: (typeof all.states)[number]) => {
        const sign = await show(look);
        const violations = [...(await sign.violations()), ...sign.complaints, ...sign.foreign];
        if (violations.length > 0) found[name] = violations;
        await sign.close();
      };
      const waiting = [...all.states];
      const judgeRest = async () => {
        for (let state = waiting.shift(); state; state = waiting.shift()) await judge(state);
      };
      await Promise.all([judgeRest(), judgeRest(), judgeRest()]);
      expect(found).toEqual({});
    },
    90_000,
  );
});
