import { afterAll, afterEach, beforeAll, expect, test } from '@jest/globals';
import type { Browser } from 'playwright-core';
import { type Cable, layCable } from '../_util/cable.ts';
import { until } from '../_util/process.ts';
import { type Service, startService } from '../_util/service.ts';
import { launchBrowser } from './_util/browser.ts';
import { describeInBrowser } from './_util/in-browser.ts';
import { minute, openSchool, type School } from './_util/school.ts';
import { openSign, type Sign } from './_util/signs.ts';

/** What comes past the worker is not what a test has put in its place. */
const noWorker = `Object.defineProperty(navigator, 'serviceWorker', { value: undefined })`;

describeInBrowser('A door sign that hangs for a year', () => {
  let service: Service;
  let school: School;
  let browser: Browser;
  let cable: Cable;
  let sign: Sign;
  let token: string;
  const link = (state: string) => sign.page.locator(`html[data-link="${state}"]`).waitFor({ state: 'attached' });

  beforeAll(async () => {
    [service, browser] = await Promise.all([startService({ Role: 'Web' }), launchBrowser()]);
    cable = await layCable(service.url);
    school = await openSchool(service, 'haus', 12, ['A1', 'A2']);
    ({ token } = await school.pair({ LocationId: school.locationId, MayBook: true }));
    sign = await openSign(browser, cable.url, '/healthz', { token, ahead: 7 * minute });
    await sign.page.addInitScript(noWorker);
  });
  afterEach(() => sign.page.unrouteAll({ behavior: 'ignoreErrors' }));
  afterAll(async () => {
    await browser?.close();
    await cable?.close();
    await service?.stop();
  });

  test('its health reaches the server, and its token has left the address', async () => {
    await sign.open(school.sign('A1'));
    await sign.status('FREE');
    const health = async () =>
      (await school.call<{ Items: { Health: unknown }[] }>('GET', '/displays')).Items[0]?.Health;
    await until(async () => Boolean(await health()));
    const { ClockAheadSeconds, ...others } = (await health()) as Record<string, unknown>;
    // Less what the server's answer took.
    expect(ClockAheadSeconds).toBeGreaterThan(360);
    expect(ClockAheadSeconds).toBeLessThanOrEqual(421);
    expect(others).toMatchObject({
      Program: expect.stringMatching(/^roomgate page \S+$/),
      Screen: '1280 x 800',
      Reconnects: 0,
    });
    expect(sign.page.url()).not.toContain('token');
  });

  test('awake again without the network it does not promise what it knew when it fell asleep', async () => {
    await sign.open(school.sign('A1'));
    await sign.status('FREE');
    cable.cut();
    // Its ticks have stood still, its clock has not.
    await sign.page.evaluate('{ const now = Date.now; Date.now = () => now() + 4 * 3_600_000; }');
    await sign.page.clock.fastForward(1_000);
    await sign.status('UNKNOWN');
    await sign.shows(/^As of \d\d:\d\d$/);
    cable.mend();
    await sign.status('FREE');
    await sign.page.locator('#notice').waitFor({ state: 'hidden' });
  });

  test('what it kept is no promise that the room is free, as its clock may have stood still', async () => {
    await sign.open(school.sign('A1'));
    await sign.status('FREE');
    await until(() => sign.page.evaluate<boolean>('Object.keys(localStorage).length > 1'));
    await sign.page.route(/graphql/, (route) => route.abort());
    await sign.page.reload();
    await sign.status('UNKNOWN');
    await sign.shows(/^As of \d\d:\d\d$/);
  });

  test('a new version of the page is loaded, once', async () => {
    await sign.open(school.sign('A1'));
    await link('live');
    let loaded = 0;
    sign.page.on('load', () => void loaded++);
    await sign.page.route(/door-sign/, async (route) => {
      const response = await route.fetch();
      const page = await response.text();
      await route.fulfill({ response, body: page.replace(/(name="version" content=)"[^"]*"/, '$1"next"') });
    });
    await sign.page.clock.fastForward(16 * minute);
    await until(() => loaded > 0);
    await link('live');
    await sign.page.clock.fastForward(16 * minute);
    await link('live');
    expect(loaded).toBe(1);
  });

  test('a page whose scripts did not all come is loaded anew', async () => {
    let isBroken = true;
    await sign.page.route('**/lines.ts', (route) => (isBroken ? route.fulfill({ status: 404 }) : route.continue()));
    await sign.open(school.sign('A2'));
    expect(await sign.statusNow()).toBe('UNKNOWN');
    isBroken = false;
    await sign.page.clock.fastForward(2 * minute);
    await sign.status('FREE');
  });

  test('a browser that is too old for the page is told so, and what to update', async () => {
    const old = await openSign(browser, service.url, '/healthz', { language: 'de' });
    await old.page.addInitScript('delete Array.prototype.at');
    for (const address of [school.sign('A1'), school.board]) {
      await old.open(address);
      await old.shows(/^Dieser Browser ist zu alt\. .*Android System WebView.*Chrome 92/);
    }
    await old.context.close();
  });

  test('where a proxy holds streams back it polls', async () => {
    let streams = 0;
    await sign.page.route(/graphql$/, (route) => {
      if (route.request().headers()['accept'] !== 'text/event-stream') return route.continue();
      streams += 1;
      return undefined;
    });
    await sign.open(school.sign('A2'));
    await link('connecting');
    await sign.page.clock.fastForward(16_000);
    await link('polling');
    await sign.status('FREE');
    await sign.page.clock.fastForward(1_000);
    await until(async () => streams === 2);
    await school.book('A2', -5, 45);
    await sign.page.clock.fastForward(16_000);
    await sign.status('BUSY');
    await link('polling');
  });

  test('a board of several pages turns them, and pauses for a while when asked to', async () => {
    await sign.page.setViewportSize({ width: 320, height: 160 });
    await sign.open(school.board);
    await sign.shows('Page 1 of 2');
    await sign.page.clock.fastForward(16_000);
    await sign.shows('Page 2 of 2');
    await sign.button('Pause').tap();
    // It may have turned again before it was asked to pause.
    const [, at] = /Page (\d) of 2/.exec(await sign.text()) ?? [];
    await sign.page.clock.fastForward(60_000);
    await sign.shows(`Page ${at} of 2`);
    await sign.page.clock.fastForward(5 * minute);
    await sign.shows(`Page ${3 - Number(at)} of 2`);
    await sign.button('Pause').waitFor();
  });
});
