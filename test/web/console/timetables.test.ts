import { afterAll, beforeAll, expect, test } from '@jest/globals';
import type { Browser } from 'playwright-core';
import { lessonClient } from '../../_util/lessons.ts';
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

describeInBrowser('The screen of timetables', () => {
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
    await page.getByText('No import fits the filters.').waitFor();
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
});
