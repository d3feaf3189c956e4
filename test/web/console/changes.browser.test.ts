import { afterAll, beforeAll, expect, test } from '@jest/globals';
import { sql } from 'kysely';
import type { Browser } from 'playwright-core';
import { lessonClient } from '../../_util/lessons.ts';
import { type Service, startService } from '../../_util/service.ts';
import { launchBrowser } from '../_util/browser.ts';
import { openConsole } from '../_util/consoles.ts';
import { describeInBrowser } from '../_util/in-browser.ts';

const lesson = (LektionId: string, RessourceName: string, hour: number, Fach: string, Klasse: string) => ({
  LektionId,
  RessourceName,
  Fach,
  Beginn: `2031-01-07T${String(hour).padStart(2, '0')}:00:00Z`,
  Ende: `2031-01-07T${String(hour).padStart(2, '0')}:45:00Z`,
  Klassen: [Klasse],
  Lehrpersonen: ['Curie'],
});

describeInBrowser('The changes of the day', () => {
  let service: Service;
  let browser: Browser;
  let client: ReturnType<typeof lessonClient>;

  beforeAll(async () => {
    [service, browser] = await Promise.all([startService({}, ['HS 101', 'HS 102']), launchBrowser()]);
    client = lessonClient(service, await service.signIn(service.tenant, 'Importer'));
  });
  afterAll(async () => {
    await browser?.close();
    await service?.stop();
  });

  const update = async (...LektionList: object[]) => {
    const { ImportStatus, ErrorMessages } = await client.importJobs([{ JobID: 'plan', LektionList }], 'update');
    expect([ImportStatus, ErrorMessages]).toEqual(['LessonsCreated', null]);
  };

  test('stand beside what was, live, by class, teacher and room; a lesson is changed; both pages print', async () => {
    const { open, signIn, page, violations, complaints, close } = await openConsole(browser, service);
    /** In both languages and themes. */
    const sound = async (): Promise<void> => {
      for (const theme of ['dark', 'light']) {
        await page.evaluate(`document.documentElement.dataset.theme = '${theme}'`);
        expect({ theme, violations: await violations(), complaints }).toEqual({
          theme,
          violations: [],
          complaints: [],
        });
      }
    };
    const group = (name: string) => page.getByRole('region', { name, exact: true });
    const rowsOf = async (name: string) =>
      (await group(name).locator('tbody tr').allInnerTexts()).map((text) => text.replace(/\s+/g, ' ').trim());

    await client.importJobs([
      {
        JobID: 'plan',
        LektionList: [
          lesson('off', 'HS 101', 7, 'Chemie', '5a'),
          lesson('sub', 'HS 101', 8, 'Physik', '5b'),
          lesson('gone', 'HS 102', 9, 'Musik', '5b'),
          lesson('same', 'HS 102', 10, 'Kunst', '5a'),
        ],
      },
    ]);
    await open('?screen=changes&day=2031-01-07');
    await signIn();
    await page.getByText('Nothing is changed on this day.').waitFor();
    await sound();

    // The page hears of each by itself.
    await update(
      { LektionId: 'off', Status: 'Entfaellt' },
      { LektionId: 'sub', Status: 'Vertretung', Lehrpersonen: ['Noether'] },
    );
    await group('5b').getByText('substituted').waitFor();
    await update({
      LektionId: 'gone',
      RessourceName: 'HS 101',
      Beginn: '2031-01-08T09:00:00Z',
      Ende: '2031-01-08T09:45:00Z',
    });
    await group('5b').getByText('moved to another day').waitFor();
    expect(await rowsOf('5a')).toEqual([expect.stringMatching(/^08:00–08:45 Chemie Curie HS 101 cancelled/)]);
    expect(await rowsOf('5b')).toEqual([
      expect.stringMatching(/^09:00–09:45 Physik before Curie now Noether HS 101 substituted/),
      expect.stringMatching(
        /^before 10:00–10:45 now Wed, .*10:00–10:45 Musik Curie before HS 102 now HS 101 moved to another day/,
      ),
    ]);
    expect(await group('5a').locator('del').allInnerTexts()).toEqual(['08:00–08:45', 'Chemie', 'Curie', 'HS 101']);
    await sound();

    // A teacher who is replaced, and a room that is left, have their changes, too.
    await page.getByRole('link', { name: 'Teachers' }).click();
    await group('Noether').waitFor();
    expect(await rowsOf('Curie')).toHaveLength(3);
    await page.getByRole('combobox', { name: 'Teacher' }).fill('noe');
    await group('Curie').waitFor({ state: 'detached' });
    await page.getByRole('link', { name: 'Rooms', exact: true }).last().click();
    await group('HS 102').waitFor();
    expect(await rowsOf('HS 102')).toEqual([expect.stringContaining('Musik')]);

    // By keyboard alone: a lesson without a change is found and cancelled.
    await page.getByRole('link', { name: 'Classes' }).focus();
    await page.keyboard.press('Enter');
    await page.getByLabel('Unchanged lessons, too').focus();
    await page.keyboard.press('Space');
    await page.getByText('Name a class').waitFor();
    await page.getByRole('combobox', { name: 'Class' }).fill('5a');
    await page.getByRole('button', { name: 'Change 11:00–11:45 Kunst 5a' }).focus();
    await page.keyboard.press('Enter');
    await page.getByText('The next import of its timetable takes back whatever its files do not say').waitFor();
    await page.getByLabel('Room', { exact: true }).selectOption('HS 101');
    await page.getByLabel('Start').fill('2031-01-07T09:15');
    await page.getByLabel('End').fill('2031-01-07T10:00');
    await page.getByRole('button', { name: 'Save' }).press('Enter');
    await page.getByText('The change is not saved').waitFor();
    await sound();
    await page.getByLabel('Start').fill('2031-01-07T11:15');
    await page.getByLabel('End').fill('2031-01-07T12:00');
    await page.getByLabel('Status').selectOption('substituted');
    await page.getByRole('button', { name: 'Save' }).press('Enter');
    await page.getByRole('dialog').waitFor({ state: 'detached' });
    await group('5a').getByText('substituted').waitFor();
    expect((await client.lessons('JobID=plan')).Items).toContainEqual(
      expect.objectContaining({
        LektionId: 'same',
        Status: 'Vertretung',
        RessourceName: 'HS 101',
        Beginn: '2031-01-07T10:15:00.000Z',
      }),
    );

    // What is pressed draws the page for the notice board, then prints it.
    await page.evaluate(
      'window.print = () => { document.body.dataset.printed = document.querySelectorAll(".group").length; }',
    );
    await page.getByRole('link', { name: 'Teachers' }).click();
    await page.getByRole('button', { name: 'Print for the notice board' }).click();
    await page.locator('body[data-printed="2"]').waitFor();
    await page.emulateMedia({ media: 'print' });
    for (const hidden of ['#top', '.tabs', '.changes > .tools', '.deed >> nth=0'])
      expect([hidden, await page.locator(hidden).isVisible()]).toEqual([hidden, false]);
    for (const shown of [/^school$/i, /As of \d\d:\d\d/, 'Tuesday'])
      expect(await page.locator('.notice-head').getByText(shown).first().isVisible()).toBe(true);
    const sheets = (pdf: Buffer) => pdf.toString('latin1').match(/\/MediaBox ?\[[^\]]*\]/g);
    expect(sheets(await page.pdf({ preferCSSPageSize: true }))).toEqual([expect.stringMatching(/0 0 59\d.* 84\d/)]);
    await page.emulateMedia({ media: null });

    await page.getByRole('link', { name: 'Rooms', exact: true }).last().click();
    await group('HS 101').getByRole('link', { name: 'Week of the room' }).click();
    await page.getByRole('heading', { name: 'Week of HS 101' }).waitFor();
    const cell = page.getByRole('cell', { name: '11:15–12:00 Kunst' });
    await cell.waitFor();
    await page.getByRole('cell', { name: '10:00–10:45 Musik' }).waitFor();
    expect(await page.getByRole('cell', { name: 'Chemie' }).count()).toBe(0);
    await sound();
    expect(sheets(await page.pdf({ preferCSSPageSize: true }))).toEqual([expect.stringMatching(/0 0 84\d.* 59\d/)]);
    expect(complaints).toEqual([]);
    await close();
  });

  test('a User sees them in German and is told who may change them', async () => {
    const { open, signIn, page, violations, complaints, close } = await openConsole(browser, service, {
      role: 'User',
      language: 'de',
      width: 390,
    });
    await sql`update mandator set parameters = parameters || '{"UsersMayImport": false}'`.execute(service.context.db);
    await open('?screen=changes&day=2031-01-07');
    await signIn();
    await page.getByText('Lektionen ändern Personen mit der Rolle').waitFor();
    await page.getByText('entfällt').first().waitFor();
    expect(await page.getByRole('button', { name: /ändern$/ }).count()).toBe(0);
    expect([await violations(), complaints]).toEqual([[], []]);
    await close();
  });
});
