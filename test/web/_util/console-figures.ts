/** `npm run figures:console`: how long the first view and the frames of scrolling take, with 500 rooms and 5,000 bookings a day. */
import { sql } from 'kysely';
import { startTestPostgres } from '../../_util/postgres.ts';
import { startService } from '../../_util/service.ts';
import { launchBrowser } from './browser.ts';
import { openConsole } from './consoles.ts';

const [roomCount, bookingsOfRoom] = [500, 10];
const day = `${new Date().getUTCFullYear() + 1}-02-10`;

/** Scrolls three rows on; the milliseconds until that was drawn, which wait for the screen, too. */
const scroll = `new Promise((resolve) => {
  const box = document.querySelector('[role=grid]');
  const start = performance.now();
  box.scrollTop += 130;
  requestAnimationFrame(() => setTimeout(() => resolve(performance.now() - start)));
})`;

const inMs = (values: number[], share: number) =>
  `${values.toSorted((one, other) => one - other)[Math.floor(values.length * share)]?.toFixed(1)} ms`;

async function measure(): Promise<void> {
  const postgres = await startTestPostgres();
  process.env['ROOMGATE_TEST_TEMPLATE'] = postgres.url;
  const names = Array.from({ length: roomCount }, (_, index) => `R${1001 + index}`);
  const service = await startService({}, names);
  const { tenant, context } = service;
  await sql`
    insert into booking (mandator_id, resource_id, occupied, subject, status, kind, origin, created_by, organizer_id)
    select ${tenant.mandatorId}, room.id, tstzrange(${`${day}T06:00:00Z`}::timestamptz + make_interval(mins => n * 70),
      ${`${day}T07:00:00Z`}::timestamptz + make_interval(mins => n * 70)), 'Lesson ' || n, 'Confirmed', 'Booking', 'Api',
      ${tenant.person('User').id}, ${tenant.person('User').id}
    from resource as room, generate_series(0, ${bookingsOfRoom - 1}) as n where room.mandator_id = ${tenant.mandatorId}`.execute(
    context.db,
  );
  const browser = await launchBrowser();
  const { open, signIn, page } = await openConsole(browser, service);
  await open(`?screen=rooms&day=${day}`);
  await signIn();
  const first = page.getByRole('gridcell', { name: /^Lesson 0/ }).first();
  await first.waitFor();
  const views: number[] = [];
  for (let round = 0; round < 5; round++) {
    await page.reload({ waitUntil: 'commit' });
    await first.waitFor();
    views.push(await page.evaluate<number>('performance.now()'));
  }
  await page.locator('[role=grid][aria-busy=false]').waitFor();
  const session = await page.context().newCDPSession(page);
  await session.send('Performance.enable');
  const scriptTime = async () =>
    ((await session.send('Performance.getMetrics')).metrics.find(({ name }) => name === 'ScriptDuration')?.value ?? 0) *
    1000;
  const [scripts, frames]: [number[], number[]] = [[], []];
  for (let frame = 0; frame < 160; frame++) {
    const before = await scriptTime();
    frames.push(await page.evaluate<number>(scroll));
    scripts.push((await scriptTime()) - before);
  }
  const rows = await page.getByRole('row').count();
  process.stdout.write(
    [
      `first view, warm: ${views.map((view) => Math.round(view)).join(', ')} ms`,
      `rows in the page: ${rows}`,
      `${frames.length} frames of scrolling: script p50 ${inMs(scripts, 0.5)}, p95 ${inMs(scripts, 0.95)}; until drawn p50 ${inMs(frames, 0.5)}, p95 ${inMs(frames, 0.95)}`,
      '',
    ].join('\n'),
  );
  await browser.close();
  await service.stop();
  await postgres.stop();
}

await measure();
