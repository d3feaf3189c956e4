/** The worker releases what nobody has come for, whatever happens to it. */
import { afterAll, afterEach, beforeAll, expect, test } from '@jest/globals';
import { sql } from 'kysely';
import { countNoShows } from '../../src/bookings/attendance.ts';
import type { Booking } from '../../src/bookings/booking.ts';
import { openFrontDesk } from '../_util/front-desk.ts';
import { hold, releaseAll } from '../_util/hold.ts';
import { killPrograms, startProgram, until } from '../_util/process.ts';

let desk: Awaited<ReturnType<typeof openFrontDesk>>;
let school: Awaited<ReturnType<typeof desk.openTenant>>;

beforeAll(async () => {
  desk = await openFrontDesk();
  school = await desk.openTenant();
});
afterEach(async () => {
  await releaseAll();
  await killPrograms();
  // Each test has the room for itself.
  await sql`update booking set status = 'Cancelled'`.execute(desk.db);
});
afterAll(() => desk.close());

const minutes = (time: Date, count: number) => new Date(time.getTime() + count * 60_000);
/** A booking of an hour around now, with the time to check in, in minutes from now. */
async function bookNow(checkIn: [number, number]): Promise<Booking> {
  const { id } = await school.book();
  await school.shift(id, { from: -30, to: 30, checkIn });
  return await school.read(id);
}

const releaseOf = async (id: number) =>
  await until('it is released', async () => {
    const { rows } = await sql<{ status: string; seconds: number }>`
        select status, extract(epoch from changed_at - check_in_until)::float8 as seconds
        from booking where id = ${id}`.execute(desk.db);
    return rows[0]?.status === 'Released' && rows[0];
  });

test('a no-show is released by a worker after its limit, also by one that was killed and started again meanwhile; the room is bookable', async () => {
  const start = () => startProgram(desk.url);
  const first = start();
  await first.ready;
  const watched = await bookNow([-45, 1 / 60]);
  expect((await releaseOf(watched.id)).seconds).toBeGreaterThanOrEqual(0);

  await first.end('SIGKILL');
  const missed = await bookNow([-45, 1 / 60]);
  await until('its limit has come', async () => (await countNoShows(desk.db)) === 1);
  const restarted = start();
  await restarted.ready;
  await releaseOf(missed.id);
  expect(await school.read(missed.id)).toMatchObject({ status: 'Released', version: 2 });
  const now = new Date();
  expect(await school.book({ start: now, end: minutes(now, 20) })).toMatchObject({ status: 'Confirmed' });
  expect(restarted.lines.filter(({ msg }) => msg === 'sweep failed')).toEqual([]);
});

test('a no-show is released as soon as possible: a sweep that fails runs again, and one that hangs delays no other', async () => {
  await hold(desk.db, (trx) => sql`lock table idempotent_request`.execute(trx));
  await sql`create function refuse() returns trigger language plpgsql as $$ begin raise 'not now'; end $$`.execute(
    desk.db,
  );
  await sql`create trigger refused before update on booking for each row execute function refuse()`.execute(desk.db);
  const program = startProgram(desk.url, { Role: 'Worker' });
  const { id } = await school.book();
  await sql`alter table booking disable trigger refused`.execute(desk.db);
  await school.shift(id, { from: -30, to: 30, checkIn: [-45, -1] });
  await sql`alter table booking enable trigger refused`.execute(desk.db);
  const failures = () => program.lines.filter(({ msg }) => msg === 'sweep failed');
  await until('it has failed twice', () => failures().length >= 2);
  expect(new Set(failures().map(({ sweep }) => sweep))).toEqual(new Set(['release no-shows']));
  await sql`drop trigger refused on booking`.execute(desk.db);
  await releaseOf(id);
  expect(program.lines.filter(({ msg }) => /worker stopped/.test(msg))).toEqual([]);
});
