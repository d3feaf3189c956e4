import { afterAll, afterEach, beforeAll, describe, expect, test } from '@jest/globals';
import { sql } from 'kysely';
import { checkIn, countNoShows, isNoShow, releaseBooking, releaseNoShows } from '../../src/bookings/attendance.ts';
import type { Booking } from '../../src/bookings/booking.ts';
import { extendBooking } from '../../src/bookings/change.ts';
import { at, openFrontDesk } from '../_util/front-desk.ts';
import { hold, releaseAll } from '../_util/hold.ts';

let desk: Awaited<ReturnType<typeof openFrontDesk>>;
let school: Awaited<ReturnType<typeof desk.openTenant>>;

beforeAll(async () => {
  desk = await openFrontDesk();
  school = await desk.openTenant();
});
afterEach(async () => {
  await releaseAll();
  // Each test has the rooms for itself.
  await sql`update booking set status = 'Cancelled'`.execute(desk.db);
});
afterAll(() => desk.close());

const fails = (code: string, message: RegExp, more: object = {}) =>
  expect.objectContaining({ code, message: expect.stringMatching(message), ...more });
const acts = {
  checkIn,
  releaseBooking,
  extendBooking: (...args: Parameters<typeof checkIn>) => extendBooking(...args, undefined, 15),
};
type Act = keyof typeof acts;
const act = (name: Act, { id }: { id: number }, viewer = school.user) => acts[name](desk.db, viewer, id);

const minutes = (time: Date, count: number) => new Date(time.getTime() + count * 60_000);
/** A booking and its check-in time, both in minutes from now. */
async function bookNow(from = -5, to = 55, within: [number, number] = [-20, 10]): Promise<Booking> {
  const { id } = await school.book();
  await school.shift(id, { from, to, checkIn: within });
  return await school.read(id);
}

describe.each(['checkIn', 'releaseBooking', 'extendBooking'] as const)('%s', (name) => {
  test('is for the organizer, who made it, and an Admin; 403 for others, 404 for what there is not', async () => {
    for (const viewer of [school.colleague, school.admin]) {
      const { id } = await school.book({ organizerId: school.colleague.personId }, school.admin);
      await school.shift(id, { from: -5, to: 55, checkIn: [-20, 10] });
      expect(await act(name, { id }, viewer)).toMatchObject({ id, version: 2 });
      for (const other of [school.user, school.display])
        await expect(act(name, { id }, other)).rejects.toEqual(fails('Forbidden', /another person|PIN of a user/));
      await school.setStatus(id, 'Cancelled');
    }
    const foreign = await desk.openTenant();
    const theirs = await foreign.book();
    for (const id of [theirs.id, 2_000_000_000])
      await expect(act(name, { id })).rejects.toEqual(fails('NotFound', /^There is no booking of this id\.$/));
  });

  test('409 for a lesson and for what comes from the mail server, with the remedy', async () => {
    const lesson = await bookNow();
    await school.makeLesson(lesson.id, `J-${name}`, 'L-1');
    await expect(act(name, lesson, school.admin)).rejects.toEqual(fails('Conflict', /lesson L-1 of job J-/));
    await school.setKind(lesson.id, 'MailItem');
    await expect(act(name, lesson, school.admin)).rejects.toEqual(fails('Conflict', /calendar of its mailbox/));
  });

  test('409 for what is cancelled', async () => {
    const booking = await bookNow();
    await school.setStatus(booking.id, 'Cancelled');
    await expect(act(name, booking)).rejects.toEqual(fails('Conflict', /is cancelled/));
  });

  test('409 for what is over', async () => {
    const booking = await bookNow(-120, -60, [-135, -110]);
    await expect(act(name, booking)).rejects.toEqual(fails('Conflict', /ended at|closed at/));
  });
});

describe.each(['checkIn', 'releaseBooking'] as const)('%s', (name) => {
  test('of two at once both succeed, and only the first changes it', async () => {
    const booking = await bookNow();
    const [one, other] = await Promise.all([act(name, booking), act(name, booking)]);
    expect([one.version, other]).toEqual([2, one]);
  });
});

describe('a check-in', () => {
  test('keeps when somebody has come; again it changes nothing', async () => {
    const booking = await bookNow();
    const done = await act('checkIn', booking);
    expect(done).toEqual({
      ...booking,
      checkIn: { ...booking.checkIn, checkedInAt: expect.any(Date) },
      version: 2,
      changedAt: expect.any(Date),
    });
    expect(await act('checkIn', booking)).toEqual(done);
    await school.shift(booking.id, { from: -120, to: -60, checkIn: [-135, -100] });
    expect(await act('checkIn', booking)).toMatchObject({ version: 2 });
  });

  test('409 before and after the time for it says when', async () => {
    const early = await bookNow(30, 60, [15, 40]);
    await expect(act('checkIn', early)).rejects.toEqual(
      fails('Conflict', new RegExp(`opens at ${early.checkIn?.from.toISOString()}`)),
    );
    await school.setStatus(early.id, 'Cancelled');
    const late = await bookNow(-30, 60, [-45, -1]);
    await expect(act('checkIn', late)).rejects.toEqual(
      fails('Conflict', new RegExp(`closed at ${late.checkIn?.until.toISOString()}`)),
    );
  });

  test('409 where nobody checks in, and for what is released', async () => {
    const free = await school.book();
    await expect(act('checkIn', free)).rejects.toEqual(fails('Conflict', /needs no check-in/));
    await school.setStatus(free.id, 'Cancelled');
    const released = await bookNow();
    await school.setStatus(released.id, 'Released');
    await expect(act('checkIn', released)).rejects.toEqual(fails('Conflict', /is released/));
  });

  test('waits for no import that holds the room', async () => {
    const booking = await bookNow();
    await hold(desk.db, (trx) => sql`select from resource for no key update`.execute(trx));
    expect(await act('checkIn', booking)).toMatchObject({ version: 2 });
    expect(await act('releaseBooking', booking)).toMatchObject({ version: 3 });
  });
});

test('without a queue for the room, it learns within seconds that an import cancels the booking', async () => {
  const [one, other] = [await bookNow(), await bookNow(60, 90)];
  await hold(desk.db, (trx) => sql`select from booking for no key update`.execute(trx));
  const told = fails('Unavailable', /^The booking is locked by another change, such as an import/);
  await Promise.all([
    expect(act('checkIn', one)).rejects.toEqual(told),
    expect(act('releaseBooking', other)).rejects.toEqual(told),
  ]);
});

describe('a release', () => {
  test('gives the room free, and leaves the times as they were planned; again it changes nothing', async () => {
    const booking = await school.book();
    const released = await act('releaseBooking', booking);
    expect(released).toEqual({ ...booking, status: 'Released', version: 2, changedAt: expect.any(Date) });
    expect(await act('releaseBooking', booking)).toEqual(released);
    expect(await school.book({}, school.colleague)).toMatchObject({ status: 'Confirmed' });
  });
});

describe('an extension', () => {
  test('ends it later, and nothing else', async () => {
    const booking = await bookNow();
    expect(await act('extendBooking', booking)).toEqual({
      ...booking,
      end: minutes(booking.end, 15),
      version: 2,
      changedAt: expect.any(Date),
    });
  });

  test('a check-in time that the end has cut short is restored, from the start, or from the creation if that is later', async () => {
    const limitAfter = async (booking: Booking, longer: number) => {
      const { checkIn } = await extendBooking(desk.db, school.user, booking.id, undefined, longer);
      return checkIn?.until;
    };
    await school.setCheckIn('A', 30);
    const running = await bookNow(-5, 5, [-20, 5]);
    const short = await school.book({ end: minutes(at(-1, 9), 10) });
    expect(short.checkIn?.until).toEqual(short.end);
    expect(await limitAfter(short, 10)).toEqual(minutes(short.start, 20));
    expect(await limitAfter(short, 120)).toEqual(minutes(short.start, 30));
    expect(await limitAfter(running, 60)).toEqual(minutes(running.createdAt, 30));
    await school.setCheckIn('A', null);
    expect(await limitAfter(running, 60)).toEqual(minutes(running.createdAt, 30));
  });

  test('409 with what is in the way, teardown included', async () => {
    const booking = await school.book({ teardownMinutes: 10 });
    const way = await school.book({ start: minutes(booking.end, 20), end: minutes(booking.end, 30) });
    await expect(act('extendBooking', booking)).rejects.toEqual(
      fails('Conflict', /in the way/, { conflicts: [expect.objectContaining({ bookingId: way.id })] }),
    );
    expect(await extendBooking(desk.db, school.user, booking.id, undefined, 10)).toMatchObject({
      version: 2,
    });
  });

  test('422 beyond 24 hours; 409 for what is released', async () => {
    const booking = await school.book();
    await expect(extendBooking(desk.db, school.user, booking.id, undefined, 23 * 60 + 1)).rejects.toMatchObject({
      errors: [{ code: 'TooLong', field: 'End' }],
    });
    await act('releaseBooking', booking);
    await expect(act('extendBooking', booking)).rejects.toEqual(fails('Conflict', /is released/));
  });
});

describe('a no-show', () => {
  test('is released, and nobody else is', async () => {
    const gone = await bookNow(-30, 30, [-45, -1]);
    const over = await bookNow(-120, -60, [-135, -100]);
    const tentative = await bookNow(-180, -150, [-195, -170]);
    await school.setStatus(tentative.id, 'Tentative');
    const there = await bookNow(40, 50, [-10, -1]);
    await sql`update booking set checked_in_at = now() where id = ${there.id}`.execute(desk.db);
    const cancelled = await bookNow(60, 70, [-10, -1]);
    await school.setStatus(cancelled.id, 'Cancelled');
    const inTime = await bookNow(80, 90, [-10, 1]);
    const free = await school.book();
    expect(await countNoShows(desk.db)).toBe(3);
    expect(await releaseNoShows(desk.db)).toBe(3);
    const statuses = async (...bookings: Booking[]) =>
      (await Promise.all(bookings.map(({ id }) => school.read(id)))).map(
        ({ status, version }) => `${status} ${version}`,
      );
    expect(await statuses(gone, over, tentative)).toEqual(Array(3).fill('Released 2'));
    expect(await statuses(there, cancelled, inTime, free)).toEqual([
      ...['Confirmed 1', 'Cancelled 1', 'Confirmed 1', 'Confirmed 1'],
    ]);
    expect([await countNoShows(desk.db), await releaseNoShows(desk.db)]).toEqual([0, 0]);
  });

  test('is not waited for while somebody has it locked, nor its room', async () => {
    const [held, other] = [await bookNow(-30, 0, [-45, -2]), await bookNow(1, 30, [-45, -1])];
    const release = await hold(desk.db, (trx) =>
      sql`select from booking where id = ${held.id} for no key update`.execute(trx),
    );
    await hold(desk.db, (trx) => sql`select from resource for no key update`.execute(trx));
    expect(await releaseNoShows(desk.db)).toBe(1);
    expect((await school.read(other.id)).status).toBe('Released');
    await release();
    expect(await releaseNoShows(desk.db)).toBe(1);
  });

  test('is found by its index among thousands of bookings, whose pages it does not read', async () => {
    await bookNow(-30, 30, [-45, -1]);
    const trx = await desk.db.startTransaction().execute();
    try {
      await sql`
        insert into booking (mandator_id, resource_id, kind, status, origin, subject, occupied)
        select ${school.mandatorId}, ${school.roomId('A')}, 'Lesson', 'Confirmed', 'Import', 'No. ' || n,
          tstzrange(start, start + interval '1 hour')
        from generate_series(0, 4999) as n
        cross join lateral (select timestamptz '2001-01-01' + interval '2 hours' * n as start) as slot`.execute(trx);
      await sql`analyze booking`.execute(trx);
      const { rows } = await sql<{ 'QUERY PLAN': string }>`
        explain (analyze, buffers) select from booking where ${isNoShow}`.execute(trx);
      const plan = rows.map((row) => row['QUERY PLAN']).join('\n');
      expect(plan).toContain('booking_no_show');
      // The bookings lie on more than a hundred pages.
      expect(Number(/shared hit=(\d+)/.exec(plan)?.[1])).toBeLessThan(20);
    } finally {
      await trx.rollback().execute();
    }
  });
});

test('a booking that begins at once may be checked in, within the full time', async () => {
  await school.setCheckIn('A', 10);
  const start = minutes(new Date(), -20);
  const booking = await school.book({ start, end: minutes(start, 60) });
  expect(booking.checkIn?.until.getTime()).toBeGreaterThan(Date.now() + 9 * 60_000);
  expect(await releaseNoShows(desk.db)).toBe(0);
  expect(await act('checkIn', booking)).toMatchObject({ version: 2 });
});
