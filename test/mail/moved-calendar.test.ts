/** A calendar is found at another address: what was written into the former one is written again, and nothing is cancelled. */
import { afterEach, expect, test } from '@jest/globals';
import { sql } from 'kysely';
import { midnight } from './_util/room-desk.ts';
import { startCalDavThere } from './_util/there.ts';
import { openWritingDesk } from './_util/writing-desk.ts';

const [hour, day] = [3_600_000, 86_400_000];
const leaving: (() => Promise<void>)[] = [];
afterEach(async () => {
  for (const leave of leaving.splice(0).reverse()) await leave();
});

async function start() {
  const there = await startCalDavThere();
  leaving.push(there.stop);
  return there;
}

test('another Url of the mail server cancels no booking, even if bookings follow their items', async () => {
  const [former, other] = [await start(), await start()];
  const desk = await openWritingDesk(former.settings(former.url), ['F0']);
  leaving.push(desk.close);
  await desk.admin.patch('/tenant', { Parameters: { CalendarWriting: 'Full', CalendarEdits: 'TakeOver' } });
  const ResourceId = desk.tenant.resources[0]!.id;
  for (const n of [1, 2, 3]) {
    const [Start, End] = [0, hour].map((after) => new Date(midnight + n * day + after).toISOString());
    expect((await desk.user.post('/bookings', { ResourceId, Subject: `Choir ${n}`, Start, End })).status).toBe(201);
  }
  await desk.tell();
  await desk.settle();
  expect(await former.list('f0')).toHaveLength(3);

  const { MailServer, ...settings } = desk.work().config;
  const moved = JSON.parse(JSON.stringify(MailServer).replaceAll(former.url, other.url)) as typeof MailServer;
  const config = Object.freeze({ ...settings, MailServer: moved });
  await desk.tell();
  for (let jobs = await desk.takeJobs(); jobs.length > 0; jobs = await desk.takeJobs()) {
    await desk.endPauses();
    for (const job of jobs) await desk.run(job, { config });
  }
  expect((await other.list('f0')).map(({ subject }) => subject).sort()).toEqual(['Choir 1', 'Choir 2', 'Choir 3']);
  const { rows } = await sql`select status, count(*)::int from booking group by 1`.execute(desk.db);
  expect(rows).toEqual([{ status: 'Confirmed', count: 3 }]);
});
