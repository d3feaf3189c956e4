import { afterAll, beforeAll, expect, test } from '@jest/globals';
import { sql } from 'kysely';
import type { Browser } from 'playwright-core';
import { hold, releaseAll } from '../../_util/hold.ts';
import { lessonClient } from '../../_util/lessons.ts';
import { until } from '../../_util/process.ts';
import { type Service, startService } from '../../_util/service.ts';
import { launchBrowser } from '../_util/browser.ts';
import { openConsole } from '../_util/consoles.ts';
import { describeInBrowser } from '../_util/in-browser.ts';

const lesson = (LektionId: string, RessourceName: string) => ({
  LektionId,
  RessourceName,
  Beginn: '2031-01-06T08:00:00Z',
  Ende: '2031-01-06T08:45:00Z',
});

/** In the page: how many faults the draft has that this browser keeps. */
const readFaultsKept = () =>
  new Promise<number>((resolve, reject) => {
    const opening = indexedDB.open('roomgate timetables');
    opening.onerror = () => reject(opening.error);
    opening.onsuccess = () => {
      const drafts = opening.result.transaction('work').objectStore('work').getAll();
      drafts.onsuccess = () => {
        opening.result.close();
        resolve(drafts.result[0]?.faults.length);
      };
    };
  });

describeInBrowser('The screen of timetables', () => {
  let service: Service;
  let browser: Browser;
  let client: ReturnType<typeof lessonClient>;

  beforeAll(async () => {
    [service, browser] = await Promise.all([startService({}, ['HS 101', 'HS 102']), launchBrowser()]);
    client = lessonClient(service, await service.signIn(service.tenant, 'Importer'));
  });
  afterAll(async () => {
    await releaseAll();
    await browser?.close();
    await service?.stop();
  });

  test('the list of batches is live and filtered in the address; a batch has its story, with its errors as CSV', async () => {
    const { open, signIn, page, violations, complaints, close } = await openConsole(browser, service);
    await open('?screen=timetables');
    await signIn();
    await page.getByText('Nothing has been imported yet.').waitFor();
    await client.importJobs([{ JobID: 'right', LektionList: [lesson('1', 'HS 101')] }]);
    await page.getByRole('cell', { name: 'done', exact: true }).waitFor();
    await client.importJobs([{ JobID: '=1+1', LektionList: [lesson('1', 'HS 101'), lesson('2', 'No such room')] }]);
    await page.getByRole('cell', { name: 'failed: faults in the data' }).waitFor();
    await page.getByLabel('State').selectOption({ label: 'failed' });
    await page.getByText('1 row', { exact: true }).waitFor();
    await page.getByLabel('JobID').fill('right');
    await page.getByText('No import matches the filters.').waitFor();
    expect(new URL(page.url()).search).toBe('?screen=timetables&state=failed&job=right');
    await page.getByLabel('JobID').fill('=1+1');
    expect(await violations()).toEqual([]);
    await page.getByRole('table').getByRole('link').focus();
    await page.keyboard.press('Enter');
    await page.getByRole('cell', { name: 'Unknown resource: No such room' }).waitFor();
    await page.getByRole('cell', { name: 'ResourceConflict' }).waitFor();
    expect(await violations()).toEqual([]);
    const saved = page.waitForEvent('download');
    await page.getByRole('button', { name: 'As CSV' }).click();
    const chunks: Buffer[] = [];
    for await (const chunk of await (await saved).createReadStream()) chunks.push(chunk as Buffer);
    const csv = Buffer.concat(chunks).toString();
    expect(csv.split('\r\n')[0]).toBe('\ufeffKind;JobID;Lesson;Field;Code;What is wrong');
    expect(csv).toContain("Error;'=1+1;2;Room;UnknownResource;Unknown resource: No such room");
    await page.goBack();
    await page.getByRole('heading', { name: 'Timetables' }).waitFor();
    expect(complaints).toEqual([]);
    await close();
  });

  test('a CSV whose first heading is in brackets is a CSV, as on the command line', async () => {
    const { open, signIn, page, complaints, close } = await openConsole(browser, service);
    await open('?screen=timetables&file=new');
    await signIn();
    await page
      .getByLabel('Choose a file')
      .setInputFiles({ name: 'plan.csv', mimeType: 'text/plain', buffer: Buffer.from('[Datum];Raum\n1;HS 101\n') });
    await page.getByRole('heading', { name: 'plan.csv' }).waitFor();
    expect(complaints).toEqual([]);
    await close();
  });

  /** 1,000 lessons in two rooms; the rows of `wrong` have a fault each. */
  function csvOf(count: number, wrong: ReadonlyMap<number, Record<string, string>> = new Map()): string {
    const rows = Array.from({ length: count }, (_, n) => {
      const day = new Date(Date.UTC(2031, 5, 2 + Math.floor(n / 20))).toISOString().slice(0, 10);
      const [year, month, date] = day.split('-');
      const hour = 8 + Math.floor((n % 20) / 2);
      const row = {
        Datum: `${date}.${month}.${year}`,
        Von: `${hour}:00`,
        Bis: `${hour}:45`,
        Raum: n % 2 ? 'HS 101' : 'HS 102',
        Fach: 'Mathematik; Übung',
        Klasse: n % 2 ? '1A' : '1B',
        ...wrong.get(n),
      };
      return Object.values(row)
        .map((cell) => (cell.includes(';') ? `"${cell}"` : cell))
        .join(';');
    });
    return `${['Datum;Von;Bis;Raum;Fach;Klasse', ...rows].join('\r\n')}\r\n`;
  }
  const faults = new Map<number, Record<string, string>>([
    ...[3, 103, 203, 303].map((n) => [n, { Raum: 'Nirgends' }] as const),
    ...[403, 503, 603].map((n) => [n, { Datum: '31.02.2031' }] as const),
    ...[703, 803, 903].map((n) => [n, { Bis: '7:00' }] as const),
  ]);

  test('a CSV of 1,000 lessons with 10 faults is checked, corrected by keyboard and imported, though the connection is cut', async () => {
    const { open, signIn, context, page, violations, complaints, close } = await openConsole(browser, service, {
      language: 'de',
    });
    await open('?screen=timetables&file=new');
    await signIn();
    await page.getByText('Ziehen Sie Dateien hierher').waitFor();
    expect(await violations()).toEqual([]);
    const sent = csvOf(1_000, faults);
    // As Windows writes it: without a mark, and not in UTF-8.
    await page.getByLabel('Datei wählen').setInputFiles({
      name: 'Plan.csv',
      mimeType: 'text/csv',
      buffer: Buffer.from(sent, 'latin1'),
    });
    await page.getByText('1.000 von 1.000 Zeilen').waitFor();
    await page.getByRole('gridcell', { name: 'Mathematik; Übung' }).first().waitFor();
    await page.getByRole('button', { name: 'Prüfen' }).focus();
    await page.keyboard.press('Enter');
    await page.getByText('10 Zeilen haben Fehler.').waitFor();
    expect(await violations()).toEqual([]);
    const right = csvOf(1_000).split('\r\n').slice(1);
    for (const [n, members] of faults) {
      const [name = ''] = Object.keys(members);
      const column = ['Datum', 'Von', 'Bis', 'Raum', 'Fach', 'Klasse'].indexOf(name);
      const row = page
        .getByRole('row')
        .filter({ has: page.getByRole('rowheader', { name: String(n + 2), exact: true }) });
      const cell = row.getByRole('gridcell').nth(column);
      expect(await cell.getAttribute('aria-invalid')).toBe('true');
      await cell.focus();
      await page.keyboard.press('F2');
      await page
        .getByLabel(`${name}, Zeile ${n + 2}`)
        .fill((right[n] ?? '').replaceAll('"', '').split(';')[column] ?? '');
      await page.keyboard.press('Enter');
      await row.getByText('(geändert)').waitFor();
    }
    await page.getByText('keine mit bekanntem Fehler').waitFor();
    // What is shown is about to be kept.
    await until('the browser has kept it', () => page.evaluate(readFaultsKept).then((faults) => faults === 0));
    await page.reload();
    await page.getByText('keine mit bekanntem Fehler').waitFor();
    await page.getByRole('button', { name: 'Prüfen' }).click();
    await page.getByText('1000 neu, 0 geändert, 0 verlegt, 0 entfernt').waitFor();
    expect(await violations()).toEqual([]);
    // The answer is lost, though the batch is stored.
    await page.route(
      /v2\.0\/timetables/,
      async (route) => {
        expect((await route.fetch()).status()).toBe(202);
        await route.abort();
      },
      { times: 1 },
    );
    const { db } = service.context;
    const release = await hold(db, (trx) => sql`select from resource for update`.execute(trx));
    await page.getByRole('button', { name: 'Importieren' }).click();
    await page.getByText('Das Senden wurde unterbrochen.').waitFor();
    await page.getByRole('button', { name: 'Importieren' }).click();
    await page.getByText('0 von 1.000 Lektionen').waitFor();
    expect(await violations()).toEqual([]);
    await context.setOffline(true);
    await page.getByText('Ohne Verbindung.').waitFor();
    const { Items } = await client.get<{ Items: { BatchId: string }[] }>('/batches');
    await release();
    expect(await client.end(Items[0]?.BatchId ?? '')).toMatchObject({ CreatedCount: 1_000 });
    await context.setOffline(false);
    await page.getByText('Der Stundenplan ist importiert.').first().waitFor();
    expect(Items).toHaveLength(1);
    expect(
      (await client.lessons(`JobID=${encodeURIComponent('csv-Mathematik; Übung-1A')}&Limit=1`)).Items,
    ).toMatchObject([{ Beginn: '2031-06-02T06:00:00.000Z', Fach: 'Mathematik; Übung' }]);
    expect(complaints).toEqual([]);
    await close();
  });

  test('files of Untis and a calendar are read by the server: faults at their cells, corrected there; limits are reported before', async () => {
    const { open, signIn, page, violations, complaints, close } = await openConsole(browser, service);
    await open('?screen=timetables&file=new');
    await signIn();
    const drop = (...files: [name: string, content: string | Buffer][]) =>
      page
        .getByLabel('Choose a file')
        .setInputFiles(
          files.map(([name, content]) => ({ name, mimeType: 'text/plain', buffer: Buffer.from(content as string) })),
        );
    const calendar = (room: string) =>
      ['BEGIN:VCALENDAR', 'VERSION:2.0', 'BEGIN:VEVENT', 'UID:a', 'DTSTART:20310310T090000Z', 'DTEND:20310310T100000Z']
        .concat(`SUMMARY:Chor`, `LOCATION:${room}`, 'END:VEVENT', 'END:VCALENDAR', '')
        .join('\r\n');
    await drop(['a.ics', calendar('HS 101')], ['b.csv', 'Datum;Von\n1;2\n']);
    await page.getByText('These files are of different kinds.').waitFor();
    // It is called so, as on the command line.
    await drop(['plan.json', 'no JSON']);
    await page.getByText('This JSON is not a list of jobs').waitFor();
    // Decoded otherwise than by the server, it would be corrected and sent with other letters.
    await drop(['dos.csv', Buffer.from('Raum;Fach\r\nHS 101;\x9abung\r\nHS 102;M\x81sik\r\n', 'latin1')]);
    await page.getByText('Line 3, dos.csv: the line is neither UTF-8 nor Windows-1252').waitFor();
    await drop(['long.csv', `Datum;Von\n${'1;2\n'.repeat(100_001)}`]);
    await page.getByText('The file has more than 100,000 lessons. Split it').waitFor();
    expect(await violations()).toEqual([]);

    const rows = [
      '1,"1A","Noe","M","HS 101",1,1,,',
      '1,"1A","Noe","M","HS 101",1,9,,',
      '2,"1B","Abt","D","Nowhere",1,2,,',
      '3,"1B","Abt","Sp","",1,2,,',
    ];
    await drop(['GPU001.TXT', `${rows.join('\r\n')}\r\n`], ['GPU014.TXT', '']);
    await page.getByText('Read as Untis: 4 rows.').waitFor();
    await page.getByLabel('Name of the term').fill('31-1');
    await page.getByLabel('First day').fill('2031-02-03');
    await page.getByLabel('Last day').fill('2031-02-14');
    await page.getByLabel('Time grid', { exact: true }).fill('1 08:00');
    await page.getByText('Line 1 is not understood; write it').waitFor();
    const check = page.getByRole('button', { name: 'Check' });
    expect(await check.isDisabled()).toBe(true);
    const reason = page.locator(`#${await check.getAttribute('aria-describedby')}`);
    expect(await reason.textContent()).toContain('the text in “Time grid”, line 1 is not understood');
    await page.getByLabel('Time grid', { exact: true }).fill('1 08:00 08:45\n2 08:50 09:35');
    expect(await violations()).toEqual([]);
    await page.getByRole('button', { name: 'Check' }).click();
    await page.getByText('2 rows have faults.').waitFor();
    await page
      .getByText('or say under “Columns and settings”, “Other names of rooms”, what it is called here')
      .waitFor();
    expect(await violations()).toEqual([]);
    const correct = async (line: number, title: string, column: number, text: string) => {
      const row = page
        .getByRole('row')
        .filter({ has: page.getByRole('rowheader', { name: String(line), exact: true }) });
      const cell = row.getByRole('gridcell').nth(column);
      expect(await cell.getAttribute('aria-invalid')).toBe('true');
      await cell.focus();
      await page.keyboard.press('F2');
      await page.getByLabel(`${title}, row ${line}`).fill(text);
      await page.keyboard.press('Enter');
      await row.getByText('(changed)').waitFor();
    };
    await correct(2, 'Period', 6, '2');
    await correct(3, 'Room', 4, 'HS 102');
    await page.getByRole('button', { name: 'Check' }).click();
    await page.getByText('6 new, 0 changed, 0 moved, 0 removed').waitFor();
    await page.getByText('One line is left out').click();
    await page.getByText('Line 4, GPU001.TXT: Lesson 3 has no room and is left out').waitFor();
    await page.getByRole('button', { name: 'Import', exact: true }).click();
    await page.getByText('The timetable is imported.').first().waitFor();
    expect((await client.lessons('JobID=untis-2-31-1')).Items).toHaveLength(2);
    const facts = page.locator('dl.facts');
    await facts.getByText('Removed lessons').waitFor();
    const told = (await facts.locator('dt, dd').allTextContents()).join(' ');
    expect(told).toContain('Source untis 31-1 New lessons 6 Changed lessons 0 Moved lessons 0 Removed lessons 0');

    await page.getByRole('link', { name: '← All imports' }).click();
    await page.getByRole('cell', { name: 'untis 31-1' }).first().waitFor();
    await page.getByRole('link', { name: 'Import a file …' }).click();
    await drop(['a.ics', calendar('HS 101, HS 102, Nowhere')]);
    await page.getByText('Read as iCalendar').waitFor();
    await page.getByRole('button', { name: 'Check' }).click();
    await page
      .getByText(/1 row|row has faults|One row has faults/)
      .first()
      .waitFor();
    await page.getByRole('button', { name: 'Discard' }).click();
    await page.getByText('Drop files here').waitFor();
    expect(complaints).toEqual([]);
    await close();
  });

  test('the warnings of a check lead to its story, with the lines of the file, local times and the booking in the way', async () => {
    const there = { LektionId: '1', RessourceName: 'HS 102', Titel: 'In the way' };
    await client.importJobs([
      { JobID: 'there', LektionList: [{ ...there, Beginn: '2034-01-09T08:00:00Z', Ende: '2034-01-09T08:45:00Z' }] },
    ]);
    const { open, signIn, page, violations, complaints, close } = await openConsole(browser, service);
    await open('?screen=timetables&file=new');
    await signIn();
    const rows = ['Datum;Von;Bis;Raum', '04.01.2021;8:00;8:45;HS 101', '09.01.2034;6:00;12:00;HS 102', ''];
    await page
      .getByLabel('Choose a file')
      .setInputFiles({ name: 'wish.csv', mimeType: 'text/plain', buffer: Buffer.from(rows.join('\r\n')) });
    await page.getByLabel('Source').fill('wish');
    await page.getByRole('button', { name: 'Check' }).click();
    await page.getByText('One row has faults.').waitFor();
    await page.getByRole('link', { name: 'One warning' }).click();
    const finding = (code: string) => page.getByRole('row').filter({ has: page.getByRole('cell', { name: code }) });
    await finding('PastLesson').getByRole('cell', { name: '2', exact: true }).waitFor();
    const conflict = finding('ResourceConflict');
    await conflict.getByRole('cell', { name: '3', exact: true }).waitFor();
    // 8 o'clock in UTC, in the zone of the browser.
    await conflict.getByText(/HS 102 is occupied .*09:00–09:45 by booking/).waitFor();
    expect(await violations()).toEqual([]);
    await conflict.getByRole('link', { name: 'Open the booking' }).click();
    await page.getByRole('dialog').getByText('In the way').first().waitFor();
    await page.goBack();
    await page.goBack();
    await page.getByText('One row has faults.').waitFor();
    expect(complaints).toEqual([]);
    await close();
  });

  test('a conflict of a lesson that a substitution moves is shown in the file of substitutions, at the new room', async () => {
    const there = { LektionId: '1', RessourceName: 'HS 102', Titel: 'In the way' };
    await client.importJobs([
      { JobID: 'moved', LektionList: [{ ...there, Beginn: '2035-02-05T07:00:00Z', Ende: '2035-02-05T07:45:00Z' }] },
    ]);
    const { open, signIn, page, complaints, close } = await openConsole(browser, service);
    await open('?screen=timetables&file=new');
    await signIn();
    const files = {
      'GPU001.TXT': '1,"1A","Noe","M","HS 101",1,1,,',
      'GPU014.TXT': '7;"20350205";1;;1;"Noe";"Noe";"M";;"M";;"HS 101";"HS 102";;"1A";"";"";0',
    };
    await page.getByLabel('Choose a file').setInputFiles(
      Object.entries(files).map(([name, text]) => ({
        name,
        mimeType: 'text/plain',
        buffer: Buffer.from(`${text}\r\n`),
      })),
    );
    await page.getByLabel('Name of the term').fill('35-1');
    await page.getByLabel('First day').fill('2035-02-05');
    await page.getByLabel('Last day').fill('2035-02-09');
    await page.getByLabel('Time grid', { exact: true }).fill('1 08:00 08:45');
    await page.getByRole('button', { name: 'Check' }).click();
    await page.getByText('One row has faults.').waitFor();
    const wrong = page.locator('[role=gridcell][aria-invalid=true]');
    await wrong.getByText(/^HS 102 is occupied/).waitFor();
    expect(await wrong.allTextContents()).toEqual([expect.stringMatching(/^\s*HS 102\s*HS 102 is occupied/)]);
    await wrong.dblclick();
    await page.getByLabel('New room, row 1').fill('HS 101');
    await page.keyboard.press('Enter');
    await page.getByRole('gridcell').getByText('(changed)').waitFor();
    await page.getByRole('button', { name: 'Check' }).click();
    await page.getByText('1 new, 0 changed, 0 moved, 0 removed').waitFor();
    expect(complaints).toEqual([]);
    await close();
  });

  test('missing settings are listed above the form, which stays open until they are there; a room may be shared', async () => {
    const { open, signIn, page, violations, complaints, close } = await openConsole(browser, service);
    await open('?screen=timetables&file=new');
    await signIn();
    const drop = (name: string, text: string) =>
      page.getByLabel('Choose a file').setInputFiles({ name, mimeType: 'text/plain', buffer: Buffer.from(text) });
    const check = () => page.getByRole('button', { name: 'Check' }).click();
    await drop('GPU001.TXT', '1,"1A","Noe","Sp","HS 101",1,1,,\r\n2,"1B","Abt","Sp","HS 101",1,1,,\r\n');
    // The browser may remember a term of an earlier file.
    for (const name of ['Name of the term', 'First day', 'Last day', 'Time grid', 'Source'])
      await page.getByLabel(name, { exact: true }).fill('');
    await check();
    await page.getByText('Something is missing under “Columns and settings”').waitFor();
    await page.getByText('Untis files have weekdays but no dates; send a term').waitFor();
    expect(await page.getByLabel('Name of the term').isVisible()).toBe(true);
    expect(await violations()).toEqual([]);
    await page.getByLabel('Name of the term').fill('33-1');
    await page.getByLabel('First day').fill('2033-02-07');
    await page.getByLabel('Last day').fill('2032-02-11');
    await page.getByText('The last day is before the first.').waitFor();
    await check();
    await page.getByText('Term: it ends on 2032-02-11, before it begins on 2033-02-07.').waitFor();
    await page.getByLabel('Last day').fill('2033-02-11');
    await check();
    await page.getByText('the file has periods but no times; send a time grid').waitFor();
    await page.getByLabel('Time grid', { exact: true }).fill('1 08:00');
    await page.getByText('Line 1 is not understood; write it').waitFor();
    await page.getByLabel('Time grid', { exact: true }).fill('1 08:00 08:45');
    expect(await page.getByLabel('Time grid', { exact: true }).isVisible()).toBe(true);
    await check();
    // Two lessons in one room are faults in their rows: the settings make way for these.
    await page.getByText(/rows? (has|have) faults/).waitFor();
    await page.getByText(/^HS 101 is needed twice: .*2033, 08:00–08:45$/).waitFor();
    await page.getByLabel('Shared rooms').waitFor({ state: 'hidden' });
    await page.getByText('Columns and settings').click();
    await page.getByLabel('Shared rooms').fill('HS 101');
    await page.getByLabel('Keep under this name').fill('Gym');
    await page.getByRole('button', { name: 'Keep as a profile' }).click();
    await page.getByText('The profile Gym is kept.').first().waitFor();
    expect(await violations()).toEqual([]);
    await page.getByLabel('Shared rooms').fill('');
    await page.getByLabel('Profile', { exact: true }).selectOption('(none)');
    await page.getByLabel('Profile', { exact: true }).selectOption('Gym');
    expect(await page.getByLabel('Shared rooms').inputValue()).toBe('HS 101');
    await check();
    await page.getByText('2 new, 0 changed, 0 moved, 0 removed').waitFor();
    await page.getByRole('button', { name: 'Discard' }).click();
    await drop('a.csv', 'Datum|Von|Bis|Raum\n01.02.2033|8:00|8:45|HS 101\n');
    await check();
    await page.getByText('fields must be separated by semicolon, comma or tab').waitFor();
    await page.getByRole('button', { name: 'Discard' }).click();
    await page.getByText('Drop files here').waitFor();
    expect(complaints).toEqual([]);
    await close();
  });

  test('German says of a date that its weekday is another one, and of weekdays with clock times what these need', async () => {
    const { open, signIn, page, violations, complaints, close } = await openConsole(browser, service, {
      language: 'de',
    });
    await open('?screen=timetables&file=new');
    await signIn();
    const check = async (text: string) => {
      const file = { name: 'a.csv', mimeType: 'text/csv', buffer: Buffer.from(text) };
      await page.getByLabel('Datei wählen').setInputFiles(file);
      await page.getByRole('button', { name: 'Prüfen' }).click();
    };
    await check('Datum;Von;Bis;Raum;Fach\nDi, 15.03.2027;08:00;08:45;HS 101;M\n');
    await page.getByText('Das Datum fällt auf einen anderen Wochentag ("15.03.2027" is a Monday, not "Di"').waitFor();
    expect(await violations()).toEqual([]);
    await page.getByRole('button', { name: 'Verwerfen' }).click();
    await check('Tag;Von;Bis;Raum;Fach\nMontag;08:00;08:45;HS 101;M\n');
    await page.getByText('Uhrzeiten brauchen ein Datum, Wochentage eine Stunde des Stundenrasters').waitFor();
    expect(await page.getByText('Eine Spalte fehlt').count()).toBe(0);
    expect(await violations()).toEqual([]);
    expect(complaints).toEqual([]);
    await close();
  });

  test('what a proxy answers is the same refusal of a file as of a query, and says whether it may have been carried out', async () => {
    const { open, signIn, page, close } = await openConsole(browser, service);
    await open('?screen=timetables');
    await signIn();
    await page.getByRole('heading', { name: 'Timetables' }).waitFor();
    let status = 0;
    const headers = { 'Retry-After': '40', 'X-Request-Id': 'trace' };
    await page.route(/\/(jobs\/update|graphql)$/, (route) =>
      route.fulfill({ status, headers, contentType: 'text/html', body: '<h1>Later</h1>' }),
    );
    const refusals = `(async () => {
      const load = (name) => import(new URL(name, document.querySelector('script[src]').src));
      const [client, { sendJobs }, { MeDocument }] = await Promise.all(
        ['client.ts', 'timetables/send.ts', 'generated/graphql.ts'].map(load));
      const { refused } = await sendJobs('api/v2.0/jobs/update', '[]', 'one');
      const { refusal } = await client.ask(MeDocument, {}).then(() => ({}), (error) => error);
      return [refused, refusal].map((one) => [one.code, one.message, one.retryAfterSeconds, one.traceId, client.isUnanswered(one)]);
    })()`;
    for (const [answered, code, isUnanswered] of [
      [413, 'TooLarge', false],
      [429, 'LimitExceeded', false],
      [502, 'Unavailable', true],
      [503, 'Unavailable', true],
      [500, 'InternalError', true],
    ] as const) {
      status = answered;
      const expected = [code, `HTTP ${answered}`, 40, 'trace', isUnanswered];
      expect(await page.evaluate(refusals)).toEqual([expected, expected]);
    }
    await close();
  });

  test('how a file is read is kept as a profile, which another browser chooses; deleted, it is gone', async () => {
    const csv = { name: 'ag.csv', mimeType: 'text/csv', buffer: Buffer.from('Tag;Anfang;Schluss;Saal;Kurs\n') };
    csv.buffer = Buffer.concat([csv.buffer, Buffer.from('03.03.2031;8:00;8:45;Turnh.;Yoga\n')]);
    const ask = async () => {
      const opened = await openConsole(browser, service);
      await opened.open('?screen=timetables&file=new');
      await opened.signIn();
      await opened.page.getByLabel('Choose a file').setInputFiles(csv);
      return opened;
    };
    const first = await ask();
    for (const [column, heading] of Object.entries({ Date: 'Tag', Start: 'Anfang', End: 'Schluss', Room: 'Saal' }))
      await first.page.getByLabel(column, { exact: true }).selectOption(heading);
    await first.page.getByLabel('Source', { exact: true }).fill('clubs');
    await first.page.getByLabel('Keep under this name').fill('Clubs');
    const keep = first.page.getByRole('button', { name: 'Keep as a profile' });
    for (const line of ['2 08:50 25:00', '2 08:60 09:35', '2 08:50']) {
      await first.page.getByLabel('Time grid').fill(`1 08:00 08:45\n${line}`);
      await first.page
        .locator('.field.wrong', { hasText: 'Time grid' })
        .getByText('Line 2 is not understood')
        .waitFor();
      expect(await keep.isDisabled()).toBe(true);
    }
    await first.page.getByLabel('Time grid').fill('1 08:00 08:45\n2 08:50 09:35');
    await first.page.getByText('Term and time grid').click();
    await first.page.getByLabel('Other names of rooms').fill('Turnh. = HS 101');
    await keep.click();
    await first.page.getByText('The profile Clubs is kept.').first().waitFor();
    expect(await first.violations()).toEqual([]);
    expect(first.complaints).toEqual([]);
    await first.close();

    const { page, complaints, close } = await ask();
    await page.getByLabel('Profile', { exact: true }).selectOption('Clubs');
    expect(await page.getByLabel('Other names of rooms').inputValue()).toBe('Turnh. = HS 101');
    await page.getByRole('button', { name: 'Check' }).click();
    await page.getByText('1 new, 0 changed, 0 moved, 0 removed').waitFor();
    await page.getByText('Columns and settings').click();
    await page.getByRole('button', { name: 'Replace the profile' }).click();
    await page.getByRole('button', { name: 'Delete the profile' }).click();
    await page.getByText('The profile is deleted.').first().waitFor();
    const options = page.getByLabel('Profile', { exact: true }).locator('option');
    await options.filter({ hasText: 'Clubs' }).waitFor({ state: 'detached' });
    await page.getByRole('button', { name: 'Discard' }).click();
    await page.getByText('Drop files here').waitFor();
    expect(complaints).toEqual([]);
    await close();
  });

  test('by keys alone: a file is chosen, a column named, checked, corrected in place, checked again and imported', async () => {
    const { open, signIn, tabTo, page, complaints, close } = await openConsole(browser, service);
    const press = async (...keys: string[]) => {
      for (const key of keys) await page.keyboard.press(key);
    };
    // Asked for in time: the browser is told to hand choosers over, which takes it a moment.
    const asked = page.waitForEvent('filechooser');
    asked.catch(() => {});
    await open('?screen=timetables');
    await signIn();
    await tabTo('Import a file …');
    await press('Enter');
    await page.getByText('Drop files here').waitFor();
    await tabTo('Choose a file');
    await press('Enter');
    await (await asked).setFiles({
      name: 'keys.csv',
      mimeType: 'text/csv',
      // Of where it is no name tells that it is the room.
      buffer: Buffer.from(
        'Datum;Von;Bis;Wo;Fach;Klasse\r\n10.06.2032;8:00;8:45;HS 101;Chor;K1\r\n10.06.2032;9:00;9:45;Nirgends;Chor;K1\r\n',
      ),
    });
    await page.getByText('2 of 2 rows').waitFor();
    await tabTo('Source');
    await page.keyboard.type('keys');
    await tabTo('Room');
    await page.keyboard.type('Wo');
    await page.getByRole('gridcell', { name: 'Nirgends' }).waitFor();
    await tabTo('Check');
    await press('Enter');
    await page.getByText('One row has faults.').waitFor();
    // The third line of the file, with its titles.
    const cells = page.getByRole('row').filter({ has: page.getByRole('rowheader', { name: '3', exact: true }) });
    await cells.getByRole('gridcell').nth(3).and(page.locator('[aria-invalid="true"]')).waitFor();
    await tabTo(/^10\.06\.2032/);
    for (const column of [1, 2, 3]) {
      await press('ArrowRight');
      await cells.getByRole('gridcell').nth(column).and(page.locator(':focus')).waitFor();
    }
    await press('Enter');
    await page.locator('td input:focus').waitFor();
    await press('Control+A');
    await page.keyboard.type('HS 102');
    await press('Enter');
    await page.getByText('(changed)').waitFor();
    await tabTo('Check');
    await press('Enter');
    await page.getByText('2 new, 0 changed, 0 moved, 0 removed').waitFor();
    await tabTo('Import');
    await press('Enter');
    await page.getByText('The timetable is imported.').first().waitFor();
    expect((await client.lessons('JobID=keys-Chor-K1')).Items).toHaveLength(2);
    expect(complaints).toEqual([]);
    await close();
  });
});
