import http from 'node:http';
import type { AddressInfo } from 'node:net';
import { afterAll, afterEach, beforeAll, expect, test } from '@jest/globals';
import type { Browser, Request, Route } from 'playwright-core';
import { type Cable, layCable } from '../_util/cable.ts';
import { until } from '../_util/process.ts';
import { type Service, startService } from '../_util/service.ts';
import { launchBrowser } from './_util/browser.ts';
import { describeInBrowser } from './_util/in-browser.ts';
import { leftsOf } from './_util/order.ts';
import { minute, openSchool, type School } from './_util/school.ts';
import { openSign, type Sign, type SignOptions } from './_util/signs.ts';

const markup = '<img src=x onerror=alert(1)><b>Raum</b>';
const rooms = [
  'A1',
  'A2',
  'A3',
  'A4',
  'A5',
  'A6',
  'A7',
  'A8',
  'A9',
  'B1',
  'B2',
  'B3',
  'B4',
  'B5',
  'B6',
  'B7',
  'B8',
  'חדר 12',
  markup,
];

describeInBrowser('A door sign in a browser', () => {
  let service: Service;
  let school: School;
  let browser: Browser;
  /** Of a device that shows all rooms, and books. */
  let token: string;
  let cable: Cable;
  /** Browsers of earlier tests, by what cannot be changed of them; new ones cost a second each. */
  const idle = new Map<string, Sign[]>();
  const used: { kind: string; sign: Sign }[] = [];

  /** @param origin where the browser believes the service to be */
  async function visit(address: string, options: SignOptions = {}, origin = service.url): Promise<Sign> {
    const { token: as = token, ...others } = options;
    const kind = JSON.stringify([origin, others]);
    let sign = idle.get(kind)?.pop();
    if (sign) await sign.open(address, as);
    else sign = await openSign(browser, origin, address, { token: as, ...others });
    used.push({ kind, sign });
    return sign;
  }
  const show = (room: string, options?: SignOptions, origin?: string) => visit(school.sign(room), options, origin);
  beforeAll(async () => {
    [service, browser] = await Promise.all([startService(), launchBrowser()]);
    cable = await layCable(service.url);
    school = await openSchool(service, 'haus', 12, rooms);
    ({ token } = await school.pair({ LocationId: school.locationId, MayBook: true }));
  });
  afterEach(async () => {
    cable.mend();
    const told: string[] = [];
    for (const { kind, sign } of used.splice(0)) {
      // A page that is not looked at costs time as well.
      await sign.page.goto('about:blank');
      told.push(...sign.complaints.splice(0), ...sign.foreign.splice(0));
      idle.set(kind, [...(idle.get(kind) ?? []), sign]);
    }
    expect(told).toEqual([]);
  });
  afterAll(async () => {
    await browser?.close();
    await cable?.close();
    await service?.stop();
  });

  test('a booking made over REST is on it while its own clock stands still, and its cancellation too', async () => {
    const sign = await show('A1');
    await sign.status('FREE');
    const { Id } = await school.book('A1', -5, 45, { Subject: 'Kolloquium' });
    await sign.shows('Kolloquium');
    await sign.status('BUSY');
    await school.cancel(Id);
    await sign.status('FREE');
    expect(await sign.text()).not.toContain('Kolloquium');
  });

  test('a subject with control characters reverses nothing, and does not move the text beside it', async () => {
    const sign = await show('B6');
    const { Id } = await school.book('B6', -5, 45, { Subject: '\u202eKollo\u2069quium' });
    await sign.shows('Kolloquium');
    expect(await sign.text()).not.toMatch(/[\u202a-\u202e\u2066-\u2069]/);
    const order = `[...document.querySelectorAll('h1, b, s, span, strong')].map((one) => getComputedStyle(one).unicodeBidi)`;
    expect(new Set(await sign.page.evaluate<string[]>(order))).toEqual(new Set(['isolate', 'plaintext']));
    await school.cancel(Id);
  });

  test('a lesson that an import has moved is on both signs, each naming the other room', async () => {
    const [before, after] = await Promise.all([show('A2'), show('A3')]);
    const planned = { Beginn: school.at(10), Ende: school.at(55) };
    const lesson = (room: string) => [
      { JobID: 'J', LektionList: [{ LektionId: '1', RessourceName: room, Titel: 'Harmonielehre', ...planned }] },
    ];
    await school.importJobs(lesson('A2'));
    await before.shows('Harmonielehre');
    await school.importJobs(lesson('A3'), 'update');
    await Promise.all([before.shows(/moved to A3, \d\d:\d\d–\d\d:\d\d/), after.shows('was A2')]);
    const [times, title] = await before.page.locator('.gone').allInnerTexts();
    expect([times, title]).toEqual([expect.stringMatching(/^\d\d:\d\d–\d\d:\d\d$/), 'Harmonielehre']);
    expect(await after.page.locator('s').allInnerTexts()).toEqual(['A2']);
    await Promise.all([before.shows('Harmonielehre'), after.shows('Harmonielehre')]);
  });

  test('a room named in Hebrew, with digits, leaves the times beside it in their order', async () => {
    const sign = await show('B7');
    const planned = { Beginn: school.at(10), Ende: school.at(55) };
    const lesson = (room: string) => [
      { JobID: 'K', LektionList: [{ LektionId: '1', RessourceName: room, Titel: 'Fuge', ...planned }] },
    ];
    await school.importJobs(lesson('B7'));
    await sign.shows('Fuge');
    await school.importJobs(lesson('חדר 12'), 'update');
    await sign.shows(/moved to .*12/);
    const [, start = '', end = ''] = /(\d\d:\d\d)–(\d\d:\d\d)/.exec(await sign.text()) ?? [];
    const lefts = await leftsOf(sign.page, ' 12', start, end);
    expect(lefts).toEqual(lefts.toSorted((one, other) => one - other));
  });

  test('a device is paired with the code that it shows', async () => {
    const sign = await show('A1', { token: '', ahead: 0, language: 'en' });
    const code = await sign.page.locator('.code').innerText();
    expect(code).toMatch(/^[0-9A-Z]{4}-[0-9A-Z]{4}$/);
    await school.confirm(code, { ResourceIds: [school.roomId('A1')] });
    await sign.page.clock.fastForward(60_000);
    await sign.status('FREE');
    await sign.button('Report a problem').waitFor();
    expect(await sign.button(/.*/).allInnerTexts()).toEqual(['Report a problem']);
  });

  test('an address without such a tenant, room or location says so, and what to do', async () => {
    for (const [address, says] of [
      ['/nobody/door-sign/1', /no tenant “nobody”.*code of the tenant.*\/nobody\/door-sign\/1/],
      [school.url('door-sign', 999_999), /no room of the number 999999 here.*correct the address/],
      [school.url('board', 999_999), /no location of the number 999999 here.*correct the address/],
    ] as const) {
      const sign = await visit(address, { token: '', width: 1_000 });
      await sign.shows(/correct the address/);
      expect(await sign.text()).toMatch(says);
      expect(await sign.page.locator('.code').count()).toBe(0);
    }
  });

  test('a sign that is revoked asks to be paired', async () => {
    const device = await school.pair({ ResourceIds: [school.roomId('A1')] });
    const sign = await show('A1', { token: device.token });
    await sign.status('FREE');
    await school.revoke(device.id);
    await sign.page.locator('.code').waitFor();
    await sign.page.reload();
    await sign.page.locator('.code').waitFor();
  });

  test('without the network it changes at the minute, shows the age of its data, and soon promises nothing', async () => {
    const sign = await show('A4', { ahead: 0 }, cable.url);
    await school.book('A4', 5, 35, { Subject: 'Konferenz' });
    await sign.shows('Konferenz');
    cable.cut();
    await sign.page.clock.fastForward(95_000);
    await sign.shows(/^As of \d\d:\d\d$/);
    await sign.status('STARTING_SOON');
    await sign.page.clock.fastForward(4 * minute);
    await sign.status('BUSY');
    await sign.page.clock.fastForward(8 * minute);
    await sign.status('BUSY');
    // Past the end of the booking and of all trust.
    await sign.page.clock.fastForward(22 * minute);
    await sign.status('UNKNOWN');
    expect(await sign.text()).not.toMatch(/\bFree\b/);
    cable.mend();
  });

  test('days without the network it says that it does not know the plan of the day, and draws none', async () => {
    const sign = await show('A4', { ahead: 0 }, cable.url);
    await sign.page.locator('#day .bar').waitFor();
    cable.cut();
    await sign.page.clock.fastForward(4 * 1_440 * minute);
    await sign.shows('Today’s plan is not known');
    expect(await sign.page.locator('#day .bar').count()).toBe(0);
    cable.mend();
  });

  test('back on the network it is right again', async () => {
    const sign = await show('A5', {}, cable.url);
    await sign.status('FREE');
    // A worker is told of the network too, and hears nothing before its script has come.
    await until(sign.isKept);
    cable.cut();
    await sign.context.setOffline(true);
    await sign.shows('Offline');
    await school.book('A5', -1, 30);
    cable.mend();
    await sign.context.setOffline(false);
    await sign.status('BUSY');
  });

  test('a tablet that is started without the network shows what it knew', async () => {
    const sign = await show('A5');
    await sign.status('BUSY');
    await until(sign.isKept);
    await sign.context.setOffline(true);
    await sign.page.reload();
    await sign.shows('Offline');
    await sign.status('BUSY');
    await sign.shows(/^As of \d\d:\d\d$/);
    await sign.context.setOffline(false);
  });

  test('what could not be kept for a start without the network is kept later', async () => {
    const sign = await visit('/healthz', { ahead: 0, width: 1024 });
    await sign.context.route(/\/worker\.ts/, (route) => route.abort(), { times: 1 });
    await sign.open(school.sign('A5'));
    // What the browser itself says of it.
    await until(async () => sign.complaints.splice(0).some((line) => line.includes('fetching the script')));
    expect(await sign.isKept()).toBe(false);
    await sign.page.clock.fastForward(2 * minute);
    await until(sign.isKept);
  });

  test('a clock that is seven minutes wrong changes nothing', async () => {
    await school.book('A6', 6, 36, { Subject: 'Gleich' });
    const ahead = [undefined, 7 * minute, -7 * minute];
    const signs = await Promise.all(ahead.map((by) => show('A6', by === undefined ? {} : { ahead: by })));
    await Promise.all(signs.map((sign) => sign.shows('Gleich')));
    const texts = async () => new Set(await Promise.all(signs.map((sign) => sign.text())));
    let seen = await texts();
    // The minute may turn between two of them.
    await until('all show the same', async () => (seen = await texts()).size === 1);
    expect(seen).toEqual(new Set([expect.stringMatching(/free until \d\d:\d\d/)]));
  });

  test('"book now" by touch, pressed twice, books once, and is undone', async () => {
    const sign = await show('A7', { patient: true });
    await sign.status('FREE');
    const button = sign.button(/Book now.*30/);
    const calls: string[] = [];
    const listen = (request: Request) => {
      if (request.postData()?.includes('createBooking')) calls.push(request.url());
    };
    sign.page.on('request', listen);
    await button.waitFor();
    // Two events before anything is drawn; a finger that comes later meets other buttons.
    await sign.page.evaluate(
      `{ const button = document.querySelector('button[aria-label*="30"]'); button.click(); button.click(); }`,
    );
    await sign.shows(/^Booked until \d\d:\d\d$/);
    await sign.status('BUSY');
    const booked = () =>
      school.call<{ Items: { Status: string }[] }>(
        'GET',
        `/bookings?ResourceId=${school.roomId('A7')}&From=${school.at(-60)}&To=${school.at(120)}&Status=Confirmed`,
      );
    expect((await booked()).Items).toHaveLength(1);
    expect(calls).toHaveLength(1);
    sign.page.off('request', listen);
    await sign.button('Undo').tap();
    await sign.status('FREE');
    expect((await booked()).Items).toHaveLength(0);
  });

  test('check in, extend and end early by touch', async () => {
    await school.call(
      ...(['PATCH', `/resources/${school.roomId('A8')}`, { CheckInMinutes: 15 }, { 'If-Match': '"1"' }] as const),
    );
    const { Id } = await school.book('A8', -2, 28);
    const sign = await show('A8', { ahead: 0 });
    // What came of a touch, and its undo, stand in the place of the buttons for some seconds.
    const later = () => sign.page.clock.fastForward(15_000);
    const ends = async () => Date.parse(String((await school.call('GET', `/bookings/${Id}`))['End']));
    const end = await ends();
    await sign.status('CHECK_IN_DUE');
    await sign.button('Check in').tap();
    await sign.status('BUSY');
    await sign.shows('Checked in');
    await later();
    await sign.button(/Extend.*15/).tap();
    await sign.shows(/^Extended until/);
    expect(await ends()).toBe(end + 15 * minute);
    await later();
    await sign.button(/^End$/).tap();
    await sign.button('Really end?').tap();
    await sign.status('FREE');
    expect((await school.call('GET', `/bookings/${Id}`))['Status']).toBe('Released');
  });

  test('from a busy room another one is found by touch, booked there, and given back; a code leads phones to the room', async () => {
    await school.book('B5', -5, 55);
    const sign = await show('B5', { patient: true });
    await sign.status('BUSY');
    await sign.page.getByAltText('Book on your own phone').waitFor();
    await sign.button('Find a free room').tap();
    await sign.shows('Book for 30 minutes');
    const first = sign.page.locator('.found button').first();
    const name = await first.locator('strong').innerText();
    expect(name).not.toBe('B5');
    await first.tap();
    await sign.shows(new RegExp(`^${name.replaceAll(/[<>=/()]/g, '.')} booked until`));
    await sign.button('Undo').tap();
    await sign.shows('Undone');
    const { token: mute } = await school.pair({ LocationId: school.locationId });
    const other = await show('B5', { token: mute });
    await other.status('BUSY');
    await other.button('Find a free room').tap();
    await other.shows('Free now');
    expect(await other.page.locator('.found button').count()).toBe(0);
    expect(await other.page.locator('.found li').count()).toBe(3);
  });

  test('a sign that shows no other room does not offer to find one', async () => {
    await school.book('B8', -5, 55);
    const { token: single } = await school.pair({ ResourceIds: [school.roomId('B8')], MayBook: true });
    const sign = await show('B8', { token: single });
    await sign.status('BUSY');
    // Both buttons come with what the sign learns of its rights.
    await sign.button(/^End$/).waitFor();
    expect(await sign.button('Find a free room').count()).toBe(0);
  });

  test('a problem is reported by touch, by keys, and without the network, each once', async () => {
    const sign = await show('B6', { ahead: 0 });
    await sign.status('FREE');
    const problems = async () =>
      (
        await school.call<{ Items: { Kind: string }[] }>('GET', `/room-problems?ResourceId=${school.roomId('B6')}`)
      ).Items.map(({ Kind }) => Kind);
    await sign.button('Report a problem').tap();
    await sign.button('Projector, screen').tap();
    await sign.shows('Reported, thank you.');
    expect(await problems()).toEqual(['Projector']);
    const later = () => sign.page.clock.fastForward(40_000);
    await later();
    await sign.button('Report a problem').press('Enter');
    await sign.page.keyboard.press('Enter');
    await sign.shows('Reported, thank you.');
    expect(await problems()).toEqual(['Heating', 'Projector']);
    await later();
    // Its answer is lost, and that of the second try: it is sent again when the sign is.
    const answers: Promise<unknown>[] = [];
    await sign.page.route('**/graphql', async (route) => {
      if (!route.request().postData()?.includes('reportRoomProblem')) return await route.continue();
      answers.push(route.fetch());
      await answers.at(-1);
      await route.abort();
    });
    await sign.button('Report a problem').tap();
    await sign.button('Cleaning').tap();
    await sign.shows('Kept: it is reported as soon as possible.');
    expect(answers).toHaveLength(1);
    await sign.page.unroute('**/graphql');
    const repeated = sign.page.waitForResponse((answer) =>
      Boolean(answer.request().postData()?.includes('"Cleaning"')),
    );
    await sign.page.reload();
    await repeated;
    expect(await problems()).toEqual(['Cleaning', 'Heating', 'Projector']);
  });

  test('of two signs that book at one moment one wins, and the other shows so', async () => {
    const other = await school.pair({ ResourceIds: [school.roomId('A9')], MayBook: true });
    const signs = await Promise.all([show('A9', { patient: true }), show('A9', { patient: true, token: other.token })]);
    await Promise.all(signs.map((sign) => sign.status('FREE')));
    // Of the two calls none is sent before both are made: who hears of the other's booking has nothing left to press.
    const held: Route[] = [];
    for (const { page } of signs)
      await page.route(/graphql$/, (route) => {
        if (route.request().postData()?.includes('createBooking')) held.push(route);
        else void route.continue();
      });
    await Promise.all(signs.map((sign) => sign.button(/Book now.*15/).tap()));
    await until(() => held.length === 2);
    await Promise.all(held.map((route) => route.continue()));
    await Promise.all(signs.map((sign) => sign.status('BUSY')));
    await Promise.all(signs.map((sign) => sign.shows(/^(Booked until|Already taken)/)));
    const texts = await Promise.all(signs.map((sign) => sign.text()));
    expect(texts.filter((text) => text.includes('Booked until'))).toHaveLength(1);
    expect(texts.filter((text) => text.includes('Already taken'))).toHaveLength(1);
    await Promise.all(signs.map(({ page }) => page.unrouteAll({ behavior: 'ignoreErrors' })));
  });

  test('behind a proxy that puts all of it below a path it finds what it needs', async () => {
    const proxy = http.createServer((request, response) => {
      const { method, headers, url = '' } = request;
      if (!url.startsWith('/rooms/')) return void response.writeHead(404).end();
      const passed = http.request(service.url + url.slice('/rooms'.length), { method, headers }, (answer) => {
        response.writeHead(answer.statusCode ?? 502, answer.headers);
        answer.pipe(response);
      });
      passed.on('error', () => response.destroy());
      response.on('close', () => passed.destroy());
      request.pipe(passed);
    });
    await new Promise<void>((resolve) => proxy.listen(0, '127.0.0.1', resolve));
    const { port } = proxy.address() as AddressInfo;
    const sign = await show('B3', {}, `http://127.0.0.1:${port}/rooms`);
    await sign.page.locator('html[data-link="live"]').waitFor({ state: 'attached' });
    await sign.button(/Book now.*15/).waitFor();
    proxy.closeAllConnections();
    await new Promise((resolve) => proxy.close(resolve));
  });

  test('markup in names stays text', async () => {
    await school.book(markup, -5, 55, { Subject: '<script>alert(2)</script>' });
    const sign = await show(markup);
    await sign.shows('<script>alert(2)</script>');
    await sign.shows(markup);
    expect(await sign.page.locator('img:not(#phone img), b').count()).toBe(0);
  });

  test('a level of privacy holds on the screen, and private bookings show nothing', async () => {
    await school.book('B1', -5, 25, { Subject: 'Geheimes Treffen', IsPrivate: true });
    await school.book('B1', 30, 55, { Subject: 'Offenes Treffen' });
    const only = await school.pair({ ResourceIds: [school.roomId('B1')], Privacy: 'BusyOnly' });
    const [titled, silent] = await Promise.all([show('B1'), show('B1', { token: only.token })]);
    await Promise.all([titled.status('BUSY'), silent.status('BUSY')]);
    await titled.shows('Offenes Treffen');
    expect(await titled.page.content()).not.toContain('Geheimes');
    expect(await silent.page.content()).not.toMatch(/Treffen|Admin of/);
  });

  test('rooms of another tenant, and those that it was not given, are not shown', async () => {
    const foreign = await openSchool(service, 'nebenan', 12, ['Fremder Raum']);
    await foreign.book('Fremder Raum', -5, 55, { Subject: 'Fremdes' });
    const one = await school.pair({ ResourceIds: [school.roomId('B2')] });
    for (const address of [
      school.url('door-sign', foreign.roomId('Fremder Raum')),
      school.sign('B3'),
      foreign.sign('Fremder Raum'),
    ]) {
      const sign = await visit(address, { token: one.token });
      await sign.shows(/^B2$|This device may not show this/);
      // The version of the page may be any letters.
      expect(await sign.page.locator('body').innerHTML()).not.toMatch(/Fremde|B3/);
    }
  });

  /** As it does by itself, but not as soon as a test wants. */
  const askNow = (sign: Sign) => sign.page.evaluate("dispatchEvent(new Event('online'))");

  test('given to another room it goes there by itself, and shows links if it was given several', async () => {
    const { id, token: own } = await school.pair({ ResourceIds: [school.roomId('B2')] });
    const give = async (...names: string[]) => {
      const { Version } = await school.call<{ Version: number }>('GET', `/displays/${id}`);
      const body = { ResourceIds: names.map(school.roomId) };
      await school.call('PATCH', `/displays/${id}`, body, { 'If-Match': `"${Version}"` });
    };
    const sign = await show('B2', { token: own });
    await sign.shows('B2');
    await give('B3');
    await sign.page.waitForURL((url) => url.pathname === school.sign('B3'));
    await sign.shows('B3');
    await give('A8', 'A9');
    await sign.shows('This device may not show this');
    expect(await sign.page.getByRole('link').allInnerTexts()).toEqual(['A8', 'A9']);
    await give('A9');
    await askNow(sign);
    await sign.page.waitForURL((url) => url.pathname === school.sign('A9'));
    await sign.shows('A9');
  });

  test('while it may not show its room it asks only which it may, and comes back by itself', async () => {
    const { id, token: own } = await school.pair({ ResourceIds: [school.roomId('B2')] });
    const give = (...names: string[]) =>
      school.call('PATCH', `/displays/${id}`, { ResourceIds: names.map(school.roomId) }, { 'If-Match': '*' });
    const sign = await show('B2', { token: own, ahead: 0 });
    await sign.shows('B2');
    await give('A8', 'A9');
    await sign.shows('This device may not show this');
    const asked: string[] = [];
    sign.page.on('request', (request) => void asked.push(new URL(request.url()).pathname.split('/').at(-1) as string));
    for (let time = 0; time < 3; time++) {
      const answered = sign.page.waitForResponse((response) => response.url().endsWith('/self'));
      await sign.page.clock.fastForward(30_000);
      await answered;
    }
    expect(new Set(asked)).toEqual(new Set(['self']));
    await give('A8', 'B2');
    const streamed = sign.page.waitForRequest((request) => request.url().endsWith('/graphql'));
    await sign.page.clock.fastForward(30_000);
    await streamed;
    await sign.status('FREE');
  });

  test('a sign that may no longer book takes its buttons back, and has them again when it may', async () => {
    const { id, token: own } = await school.pair({ ResourceIds: [school.roomId('B3')], MayBook: true });
    const change = (MayBook: boolean) => school.call('PATCH', `/displays/${id}`, { MayBook }, { 'If-Match': '*' });
    const sign = await show('B3', { token: own });
    await sign.button(/30 min/).waitFor();
    await change(false);
    await sign.button(/30 min/).waitFor({ state: 'detached' });
    await change(true);
    await sign.button(/30 min/).waitFor();
  });

  test('whose room is not in use for a time does not go to the only other one of its location, and comes back', async () => {
    const { Id: LocationId } = await school.call('POST', '/locations', { Name: 'Annex', TimeZone: 'UTC' });
    const add = (Name: string) => school.call('POST', '/resources', { Name, LocationId });
    const [{ Id: own }] = [await add('X1'), await add('X2')];
    const setUse = (Active: boolean) =>
      school.call('PATCH', `/resources/${own}`, { Active }, { 'If-Match': `"${Active ? 2 : 1}"` });
    const device = await school.pair({ LocationId });
    const sign = await visit(school.url('door-sign', own), device);
    await sign.status('FREE');
    await setUse(false);
    await askNow(sign);
    await sign.shows('This device may not show this');
    expect(await sign.page.getByRole('link').allInnerTexts()).toEqual(['X2']);
    await setUse(true);
    await askNow(sign);
    await sign.status('FREE');
    expect(new URL(sign.page.url()).pathname).toBe(school.url('door-sign', own));
  });

  test('e-paper asks with what it knows, and is painted again only when that has changed', async () => {
    const sign = await show('B4', { ahead: 0, query: { mode: 'epaper' } });
    await sign.status('FREE');
    const asked: { etag: string | undefined; status: number }[] = [];
    sign.page.on('response', async (response) => {
      if (!response.url().endsWith('/snapshot')) return;
      asked.push({
        etag: (await response.request().allHeaders())['if-none-match'],
        status: response.status(),
      });
    });
    await sign.page.evaluate(`
      window.painted = 0;
      new MutationObserver((all) => { painted += all.length; })
        .observe(document.getElementById('page'), { childList: true, characterData: true, attributes: true, subtree: true });
    `);
    const painted = () => sign.page.evaluate<number>('painted');
    const answered = sign.page.waitForResponse((response) => response.url().endsWith('/snapshot'));
    await sign.page.clock.fastForward(10 * minute);
    await answered;
    await until(() => asked.length > 0);
    expect(await painted()).toBe(0);
    await school.book('B4', -5, 40, { Subject: 'Papier' });
    const changed = sign.page.waitForResponse((response) => response.status() === 200);
    await sign.page.clock.fastForward(10 * minute);
    await changed;
    await sign.shows('Papier');
    expect(asked[0]).toEqual({ etag: expect.stringMatching(/^"/), status: 304 });
    expect(await painted()).toBeGreaterThan(0);
  });

  test('behind a captive portal that refuses all calls e-paper stays paired, and shows the room again afterwards', async () => {
    const sign = await show('B3', { ahead: 0, query: { mode: 'epaper' } });
    await sign.status('FREE');
    const portal = (route: Route) =>
      route.fulfill({ status: 401, contentType: 'text/html', body: '<h1>Please sign in to the guest network</h1>' });
    await sign.page.route('**/api/**', portal);
    // It would believe the second one.
    for (let times = 0; times < 2; times += 1) {
      const refused = sign.page.waitForResponse((response) => response.status() === 401);
      await sign.page.clock.fastForward(10 * minute);
      await refused;
    }
    await sign.page.unroute('**/api/**', portal);
    await school.book('B3', -5, 40, { Subject: 'Wieder da' });
    await sign.page.clock.fastForward(minute);
    await sign.shows('Wieder da');
  });

  test('a sign whose token a stream refuses stays paired while a portal answers in place of REST', async () => {
    const sign = await show('B2', { ahead: 0 });
    await sign.status('FREE');
    await sign.page.route(/\/(graphql|self)$/, (route) =>
      route.request().url().endsWith('/graphql')
        ? route.fulfill({
            status: 401,
            json: { errors: [{ message: 'No.', extensions: { code: 'NOT_AUTHENTICATED' } }] },
          })
        : route.fulfill({ status: 401, contentType: 'text/html', body: '<h1>Guests</h1>' }),
    );
    const refused = sign.page.waitForResponse((response) => response.url().endsWith('/self'));
    await sign.page.reload();
    await refused;
    await sign.page.unrouteAll();
    await sign.page.clock.fastForward(15_000);
    await sign.status('FREE');
  });

  test('a page that a portal sends in place of a code says nothing about the address', async () => {
    // Of a width of its own: browsers of other tests may be paired.
    const sign = await show('A1', { token: '', ahead: 0, width: 1_001 });
    await sign.page.locator('.code').waitFor();
    const portal = (route: Route) => route.fulfill({ status: 404, contentType: 'text/html', body: '<h1>Guests</h1>' });
    await sign.page.route('**/pairings', portal);
    await sign.page.reload();
    await sign.shows('The server does not answer. Still trying.');
    await sign.page.unroute('**/pairings', portal);
    await sign.page.clock.fastForward(minute);
    await sign.page.locator('.code').waitFor();
  });
});
