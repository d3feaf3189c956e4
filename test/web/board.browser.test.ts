import { afterAll, beforeAll, expect, test } from '@jest/globals';
import type { Browser, Locator } from 'playwright-core';
import { type Cable, layCable } from '../_util/cable.ts';
import { until } from '../_util/process.ts';
import { type Service, startService } from '../_util/service.ts';
import { launchBrowser } from './_util/browser.ts';
import { describeInBrowser } from './_util/in-browser.ts';
import { minute, openSchool, type School } from './_util/school.ts';
import { openSign, type Sign } from './_util/signs.ts';

const rooms = ['Raum 1', 'Raum 2', 'Raum 3', 'Raum 10'];

describeInBrowser('A board in a browser', () => {
  let service: Service;
  let school: School;
  let browser: Browser;
  let cable: Cable;
  let board: Sign;
  const tile = (room: string): Locator =>
    board.page.getByRole('listitem').filter({ has: board.page.getByRole('heading', { name: room, exact: true }) });

  beforeAll(async () => {
    [service, browser] = await Promise.all([startService(), launchBrowser()]);
    school = await openSchool(service, 'haus', 12, rooms);
    const { token } = await school.pair({ LocationId: school.locationId });
    cable = await layCable(service.url);
    board = await openSign(browser, cable.url, school.board, { token, ahead: 0 });
  });
  afterAll(async () => {
    await board?.close();
    await cable?.close();
    await browser?.close();
    await service?.stop();
  });

  test('all rooms of the location, in the order of their names, each with its state', async () => {
    await tile('Raum 10').waitFor();
    expect(await board.page.getByRole('heading', { level: 2 }).allInnerTexts()).toEqual(rooms);
    for (const room of rooms) expect(await tile(room).innerText()).toMatch(/Free/);
  });

  test('a booking is shown in its room only', async () => {
    const { Id } = await school.book('Raum 2', -5, 40, { Subject: 'Notenkonferenz' });
    await tile('Raum 2').getByText('Notenkonferenz').waitFor();
    expect(await tile('Raum 2').innerText()).toMatch(/Busy until \d\d:\d\d/);
    expect(await tile('Raum 1').innerText()).toMatch(/Free/);
    await school.cancel(Id);
    await tile('Raum 2').getByText(/Free/).waitFor();
  });

  test('a lesson that has moved is struck out in its former room, with its new room and time, and the other way round', async () => {
    const lesson = (RessourceName: string, from: number) => [
      {
        JobID: 'J',
        LektionList: [
          { LektionId: '1', RessourceName, Titel: 'Optik', Beginn: school.at(from), Ende: school.at(from + 45) },
        ],
      },
    ];
    await school.importJobs(lesson('Raum 1', 60));
    await school.importJobs(lesson('Raum 10', 120), 'update');
    await tile('Raum 1')
      .getByText(/moved to Raum 10, \d\d:\d\d–\d\d:\d\d/)
      .waitFor();
    expect(await tile('Raum 1').locator('s').innerText()).toMatch(/^\d\d:\d\d–\d\d:\d\d · Optik$/);
    await tile('Raum 10').getByText('moved here').waitFor();
    expect(await tile('Raum 10').locator('s').innerText()).toMatch(/^Raum 1, \d\d:\d\d–\d\d:\d\d$/);
  });

  test('on a small screen its rooms are on pages, what is now or has changed first; with reduced motion none turns by itself', async () => {
    const { token } = await school.pair({ LocationId: school.locationId });
    const { Id } = await school.book('Raum 3', -5, 60);
    const small = await openSign(browser, service.url, school.board, { token, ahead: 0, width: 320, height: 480 });
    await small.page.emulateMedia({ reducedMotion: 'reduce' });
    await small.open(school.board);
    const shown = () => small.page.getByRole('heading', { level: 2 }).allInnerTexts();
    await small.shows('Page 1 of 2');
    await until(async () => (await shown()).join() === 'Raum 1,Raum 3');
    await small.page.clock.fastForward(minute);
    await small.shows('Page 1 of 2');
    await small.button('Next').tap();
    await small.shows('Page 2 of 2');
    expect(await shown()).toEqual(['Raum 2', 'Raum 10']);
    expect(await small.violations()).toEqual([]);
    await small.page.emulateMedia({ reducedMotion: 'no-preference' });
    await small.open(school.board);
    await small.shows('Page 1 of 2');
    await small.page.clock.fastForward(16_000);
    await small.shows('Page 2 of 2');
    await small.close();
    await school.cancel(Id);
  });

  test('a room that is retired says so, or is gone', async () => {
    const { Id } = await school.call('GET', `/resources/${school.roomId('Raum 10')}`);
    await school.call('PATCH', `/resources/${Id}`, { Active: false }, { 'If-Match': '"1"' });
    // Its device is told of its rooms too, and may come back without this one before it has been told of its state.
    await until(async () => !/Free/.test((await tile('Raum 10').allInnerTexts()).join()));
  });

  test('without the network its rooms turn at the minute, and soon promise nothing', async () => {
    await school.book('Raum 3', 3, 63, { Subject: 'Prüfung' });
    await tile('Raum 3').getByText('Prüfung').waitFor();
    cable.cut();
    await board.page.clock.fastForward(4 * minute);
    await tile('Raum 3').getByText(/Busy/).waitFor();
    await board.shows(/^As of \d\d:\d\d$/);
    await board.page.clock.fastForward(20 * minute);
    await tile('Raum 1')
      .getByText(/Unknown/)
      .waitFor();
    expect(await board.text()).not.toMatch(/\bFree\b/);
    await tile('Raum 3').getByText(/Busy/).waitFor();
    // Beyond the plan, whose hours it does not know.
    await board.page.clock.fastForward(4 * 1_440 * minute);
    await until(async () => (await board.page.locator('.bar').count()) === 0);
  });

  test('wears the colour and the logo of the tenant, and its texts stay readable', async () => {
    const { token } = await school.pair({ LocationId: school.locationId });
    const pixel = 'iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg==';
    await school.call(
      'PATCH',
      '/tenant',
      { Colour: '#ffe000', Logo: `data:image/png;base64,${pixel}` },
      { 'If-Match': '*' },
    );
    const branded = await openSign(browser, service.url, school.board, { token });
    await branded.page.locator('html[data-brand]').waitFor({ state: 'attached' });
    await branded.page.locator('#logo img').waitFor();
    const colours = () =>
      branded.page.evaluate<string[]>(
        `['background-color', 'color'].map((name) => getComputedStyle(document.querySelector('header')).getPropertyValue(name))`,
      );
    expect(await colours()).toEqual(['rgb(255, 224, 0)', 'rgb(0, 0, 0)']);
    expect([...(await branded.violations()), ...branded.complaints]).toEqual([]);
    await branded.open(school.sign('Raum 1'));
    await branded.page.locator('html[data-brand]').waitFor({ state: 'attached' });
    expect([...(await branded.violations()), ...branded.complaints]).toEqual([]);
    await branded.close();
  });

  test('a device that was given some of the rooms shows those alone', async () => {
    const { token } = await school.pair({ ResourceIds: [school.roomId('Raum 2')] });
    const some = await openSign(browser, service.url, school.board, { token });
    await some.shows('Raum 2');
    expect(await some.page.getByRole('heading', { level: 2 }).allInnerTexts()).toEqual(['Raum 2']);
    await some.close();
  });

  test('nothing was asked for elsewhere, and nothing was refused', () => {
    expect([...board.foreign, ...board.complaints]).toEqual([]);
  });
});
