/** The network is cut, and the server killed, in the middle of what people do: what they see, and that all is done once. */
import { afterAll, beforeAll, expect, test } from '@jest/globals';
import { sql } from 'kysely';
import type { Browser, Page } from 'playwright-core';
import { type Database, openDatabase } from '../../../src/db/database.ts';
import { openLog } from '../../../src/log.ts';
import { nextYear } from '../../_util/ahead.ts';
import { makeTenant } from '../../_util/factories.ts';
import { freePort } from '../../_util/free-port.ts';
import { countWaiting, hold, releaseAll } from '../../_util/hold.ts';
import { cloneDatabase } from '../../_util/postgres.ts';
import { killPrograms, type Program, startProgram, until } from '../../_util/process.ts';
import { launchBrowser } from '../_util/browser.ts';
import { openConsole } from '../_util/consoles.ts';
import { describeInBrowser } from '../_util/in-browser.ts';

/** Some days ahead, on which it is nowhere past yet; Berlin's clocks do not change around it. */
const day = `${nextYear}-02-10`;
const opens = 7;
const closes = 21;

describeInBrowser('A cut in the middle', () => {
  let database: Awaited<ReturnType<typeof cloneDatabase>>;
  let db: Database;
  let port: number;
  let program: Program;
  let browser: Browser;
  let mine: Awaited<ReturnType<typeof openConsole>>;
  let page: Page;

  const start = () => {
    program = startProgram(database.url, { Port: String(port) });
    return program.ready;
  };
  beforeAll(async () => {
    [database, port, browser] = await Promise.all([cloneDatabase(), freePort(), launchBrowser()]);
    db = openDatabase(database.url, { max: 4, log: openLog('silent'), statementTimeout: 90_000 });
    const tenant = await makeTenant(db, { rooms: ['R101', 'R102', 'R103'] });
    const of = { mandator_id: tenant.mandatorId, location_id: tenant.locationId };
    const hours = { weekdays: [1, 2, 3, 4, 5, 6, 7], opens: `0${opens}:00`, closes: `${closes}:00` };
    await db
      .insertInto('opening_rule')
      .values({ ...of, ...hours })
      .execute();
    const url = await start();
    mine = await openConsole(browser, { url, tenant, context: { db } });
    page = mine.page;
    await page.route(/\/graphql$/, async (route) => {
      if (!losing?.test(route.request().postData() ?? '')) return route.fallback();
      losing = undefined;
      await route.fetch();
      await route.abort();
    });
    await mine.open(`?screen=rooms&day=${day}`);
    await mine.signIn();
  });
  afterAll(async () => {
    await releaseAll();
    await browser?.close();
    await killPrograms();
    await db?.destroy();
    await database?.drop();
  });

  const cell = (name: RegExp) => page.getByRole('gridcell', { name });
  const fault = () => page.locator('.toast.fault').getByText(/cannot be reached/);
  const banner = () => page.getByText(/^No connection\. You see the state of/);
  const isBack = () => banner().waitFor({ state: 'detached' });
  const stored = async (subject: string) =>
    (
      await sql<{ room: string; from: string; version: number }>`
        select resource.name as room, to_char(lower(occupied) at time zone 'Europe/Berlin', 'HH24:MI') as from, booking.version
        from booking join resource on resource.id = resource_id where subject = ${subject}`.execute(db)
    ).rows;

  /** Presses on a row at an hour, drags to another place, and does not let go. */
  async function dragTo(from: { row: number; hour: number }, to: { row: number; hour: number }): Promise<void> {
    const at = async ({ row, hour }: typeof from) => {
      const box = await page.locator(`[data-row="${row}"] .track`).boundingBox();
      if (!box) throw new Error(`There is no row ${row}.`);
      return [box.x + (box.width * (hour - opens)) / (closes - opens), box.y + 20] as const;
    };
    await isBack();
    // The hours are drawn that are open, not those that are supposed before.
    await cell(/^free 07:00–21:00/)
      .last()
      .waitFor();
    const [x, y] = await at(from);
    const [toX, toY] = await at(to);
    await page.mouse.move(x, y);
    await page.mouse.down();
    await page.mouse.move((x + toX) / 2, (y + toY) / 2, { steps: 3 });
    await page.mouse.move(toX, toY, { steps: 3 });
  }
  async function dragForm(hour: number, subject: string): Promise<void> {
    await dragTo({ row: 0, hour: hour + 0.02 }, { row: 0, hour: hour + 0.95 });
    await page.mouse.up();
    await page.getByLabel('Title').fill(subject);
  }
  const book = () => page.getByRole('button', { name: 'Book', exact: true }).last().click();
  /** The next request like this is done by the server, and its answer never arrives. */
  let losing: RegExp | undefined;
  const loseAnswer = (what: RegExp) => {
    losing = what;
  };
  /** Until the server waits for a lock in the middle of its work. */
  const isAtWork = () => until('a statement waits', async () => (await countWaiting(db)) > 0);
  const holdRooms = () => hold(db, (trx) => sql`select from resource for update`.execute(trx));
  async function kill(): Promise<void> {
    await program.end('SIGKILL');
    await banner().waitFor();
  }

  test('booking by a drag: the answer is lost, the page is loaded again, and it is booked once', async () => {
    await dragForm(8, 'Choir');
    loseAnswer(/mutation CreateBooking/);
    await book();
    await page
      .getByRole('dialog')
      .getByText(/cannot be reached. What you have typed stays/)
      .waitFor();
    await page.reload();
    expect(await page.getByLabel('Title').inputValue()).toBe('Choir');
    await book();
    await page
      .getByText(/^Booked: R101, .*08:00–09:00/)
      .first()
      .waitFor();
    expect(await stored('Choir')).toEqual([{ room: 'R101', from: '08:00', version: 1 }]);
  });

  test('what was changed after a lost answer is not booked beside it, and the form says so', async () => {
    await dragForm(10, 'Band');
    loseAnswer(/mutation CreateBooking/);
    await book();
    await page
      .getByRole('dialog')
      .getByText(/cannot be reached/)
      .waitFor();
    await page.getByLabel('Title').fill('Big band');
    await book();
    await page.getByText(/^Your earlier attempt has arrived/).waitFor();
    await page.keyboard.press('Escape');
    await cell(/^Band 10:00–11:00/).waitFor();
    expect([await stored('Band'), await stored('Big band')]).toEqual([[expect.anything()], []]);
  });

  test('booking by a drag: the server is killed in the middle and restarted, and it is booked once', async () => {
    await dragForm(12, 'Theatre');
    const release = await holdRooms();
    await book();
    await isAtWork();
    await kill();
    await page
      .getByRole('dialog')
      .getByText(/cannot be reached/)
      .waitFor();
    expect(await page.getByLabel('Title').inputValue()).toBe('Theatre');
    await release();
    await start();
    await isBack();
    await book();
    await page
      .getByText(/^Booked: R101, .*12:00–13:00/)
      .first()
      .waitFor();
    expect(await stored('Theatre')).toEqual([{ room: 'R101', from: '12:00', version: 1 }]);
  });

  test('a move whose answer is lost is drawn where it is, once the server is heard', async () => {
    await cell(/^Choir 08:00–09:00/).waitFor();
    loseAnswer(/mutation ChangeBooking/);
    await dragTo({ row: 0, hour: 8.5 }, { row: 1, hour: 9.5 });
    await page.mouse.up();
    await fault().waitFor();
    await page
      .locator('[data-row="1"]')
      .getByRole('gridcell', { name: /^Choir 09:00–10:00/ })
      .waitFor();
    await isBack();
    await page.getByRole('button', { name: 'Close' }).last().click();
    expect(await stored('Choir')).toEqual([{ room: 'R102', from: '09:00', version: 2 }]);
  });

  test('the network fails while a booking is dragged: it stays where it was, and missed changes are drawn', async () => {
    await dragTo({ row: 1, hour: 9.5 }, { row: 2, hour: 9.5 });
    await mine.context.setOffline(true);
    await banner().waitFor();
    await page.mouse.up();
    await fault().waitFor();
    await page
      .locator('[data-row="1"]')
      .getByRole('gridcell', { name: /^Choir 09:00–10:00/ })
      .waitFor();
    await sql`update booking set subject = 'Opera', version = version + 1 where subject = 'Band'`.execute(db);
    await mine.context.setOffline(false);
    await isBack();
    await cell(/^Opera 10:00–11:00/).waitFor();
    await page.getByRole('button', { name: 'Close' }).last().click();
    expect(await stored('Choir')).toEqual([{ room: 'R102', from: '09:00', version: 2 }]);
  });

  test('the server is killed in the middle of a move: reverted, live again by itself, and moved at the second attempt', async () => {
    const release = await holdRooms();
    await dragTo({ row: 1, hour: 9.5 }, { row: 1, hour: 14.5 });
    await page.mouse.up();
    await cell(/^Choir 14:00–15:00.*/).waitFor();
    await isAtWork();
    await kill();
    await fault().waitFor();
    await cell(/^Choir 09:00–10:00/).waitFor();
    await release();
    await start();
    await isBack();
    await dragTo({ row: 1, hour: 9.5 }, { row: 1, hour: 15.5 });
    await page.mouse.up();
    await page
      .getByText(/^Moved: R102, .*15:00–16:00/)
      .first()
      .waitFor();
    expect(await stored('Choir')).toEqual([{ room: 'R102', from: '15:00', version: 3 }]);
  });

  const fileOf = (JobID: string, date: string) => ({
    name: `${JobID}.json`,
    mimeType: 'application/json',
    buffer: Buffer.from(
      JSON.stringify([
        {
          JobID,
          LektionList: Array.from({ length: 20 }, (_, n) => ({
            LektionId: String(n),
            Beginn: `${date}T${String(n).padStart(2, '0')}:00:00Z`,
            Ende: `${date}T${String(n).padStart(2, '0')}:45:00Z`,
            RessourceName: 'R103',
            Fach: JobID,
          })),
        },
      ]),
    ),
  });
  async function check(JobID: string, date: string): Promise<void> {
    await mine.open('?screen=timetables&file=new');
    await page.getByLabel('Choose a file').setInputFiles(fileOf(JobID, date));
    await page.getByRole('button', { name: 'Check' }).click();
    await page.getByText('20 new, 0 changed, 0 moved, 0 removed').waitFor();
  }
  const batches = async () =>
    (await sql`select import_status, failure_kind from batch where not validate_only order by created_at`.execute(db))
      .rows;

  test('an import of a JSON file: the server is killed in its middle, and all of it arrives once', async () => {
    await check('plan', day);
    const release = await holdRooms();
    await page.getByRole('button', { name: 'Import', exact: true }).click();
    await page.getByText('0 of 20 lessons').waitFor();
    await isAtWork();
    await kill();
    await release();
    await start();
    await page.getByText('The timetable is imported.').first().waitFor();
    await isBack();
    expect(await batches()).toEqual([{ import_status: 'LessonsCreated', failure_kind: null }]);
    const { rows } = await sql`select count(*)::int as count from lesson`.execute(db);
    expect(rows).toEqual([{ count: 20 }]);
  });

  test('an import is cancelled in its middle: nothing of it is stored, and the file stays', async () => {
    await check('other', day.replace('-10', '-17'));
    const release = await holdRooms();
    await page.getByRole('button', { name: 'Import', exact: true }).click();
    await page.getByText('0 of 20 lessons').waitFor();
    await page.getByRole('button', { name: 'Cancel import' }).click();
    await page.getByText('The import is being cancelled').first().waitFor();
    await release();
    await page.getByText('cancelled', { exact: true }).first().waitFor();
    await page.getByRole('button', { name: 'Check' }).waitFor();
    expect(await batches()).toEqual([
      expect.anything(),
      { import_status: 'LessonsImportFailed', failure_kind: 'Cancelled' },
    ]);
    expect(mine.complaints).toEqual([]);
  });
});
