import { afterAll, beforeAll, describe, expect, jest, test } from '@jest/globals';
import { sql } from 'kysely';
import type { NewBooking } from '../../src/bookings/booking.ts';
import { writeBookings } from '../../src/bookings/occupation.ts';
import { Occupied } from '../../src/bookings/occupied.ts';
import type { Viewer } from '../../src/context.ts';
import { type DomainError, InvalidInput, type Unavailable } from '../../src/errors.ts';
import { releaseClock, setClock } from '../_util/clock.ts';
import { at, openFrontDesk } from '../_util/front-desk.ts';
import { countWaiting } from '../_util/hold.ts';
import { until } from '../_util/process.ts';

let desk: Awaited<ReturnType<typeof openFrontDesk>>;
type Tenant = Awaited<ReturnType<typeof desk.openTenant>>;
let school: Tenant;
let foreign: Tenant;

beforeAll(async () => {
  desk = await openFrontDesk();
  school = await desk.openTenant(['A', 'B', 'C', 'D', 'E', 'F', 'retired']);
  foreign = await desk.openTenant();
  await setRoom('retired', sql`active = false`);
});
afterAll(() => desk.close());

/** Each test has a week of its own, after the one in which the clocks change. */
let day = 0;
const nextWeek = () => {
  day += 7;
};
const hours = (from: number, to: number, days = 0) => ({
  start: at(day + days, from),
  end: at(day + days, to),
});

const setRoom = (name: string, values: ReturnType<typeof sql>) =>
  sql`update resource set ${values} where mandator_id = ${school.mandatorId} and name = ${name}`.execute(desk.db);

async function setHours(name: string | null, opens: string, closes: string): Promise<void> {
  await sql`
    insert into opening_rule (mandator_id, location_id, resource_id, weekdays, opens, closes)
    values (${school.mandatorId}, ${school.tenant.locationId}, ${name && school.roomId(name)}, '{1,2,3,4,5,6,7}', ${opens}, ${closes})`.execute(
    desk.db,
  );
}

/** Closes a room on days of the test's week. */
async function close(name: string, from: number, to: number): Promise<void> {
  const [first, last] = [from, to].map((days) =>
    at(day + days, 0)
      .toISOString()
      .slice(0, 10),
  );
  await sql`
    insert into opening_exception (mandator_id, location_id, resource_id, from_date, to_date, closed, periods)
    values (${school.mandatorId}, ${school.tenant.locationId}, ${school.roomId(name)}, ${first}, ${last}, true, '[]')`.execute(
    desk.db,
  );
}

const count = async () =>
  (await sql<{ n: number }>`select count(*)::int as n from booking`.execute(desk.db)).rows[0]?.n;

/** The error of a refused call. */
async function refused<Refusal extends DomainError>(call: Promise<unknown>): Promise<Refusal> {
  const before = await count();
  const error = await call.then(
    () => undefined,
    (thrown: unknown) => thrown,
  );
  expect(error).toMatchObject({ code: expect.any(String) });
  expect(await count()).toBe(before);
  return error as Refusal;
}

const conflicting = (wanted: Partial<NewBooking>, viewer?: Viewer) => refused<Occupied>(school.create(wanted, viewer));
const faultsOf = async (wanted: Partial<NewBooking>, viewer?: Viewer) =>
  (await refused<InvalidInput>(school.create(wanted, viewer))).errors.map(({ field, pointer, code }) => {
    expect(pointer).toBe(`/${field}`);
    return `${field} ${code}`;
  });
const idsOf = ({ conflicts }: Occupied) => conflicts.map(({ bookingId }) => bookingId);
const places = ({ alternatives }: Occupied) =>
  alternatives.map(({ resourceName, start }) => `${resourceName} ${(Number(start) - Number(at(day, 0))) / 3_600_000}`);

describe('a booking', () => {
  test('is as it was wanted', async () => {
    nextWeek();
    const { booking, series } = await school.create({
      ...hours(9, 10),
      subject: 'Prüfung',
      description: 'Mathematik',
      isPrivate: true,
      status: 'Tentative',
      setupMinutes: 15,
      teardownMinutes: 30,
    });
    const { personId, displayName, email } = school.user;
    expect(series).toBeNull();
    expect(booking).toMatchObject({
      resourceId: school.roomId('A'),
      resourceName: 'A',
      locationId: school.tenant.locationId,
      subject: 'Prüfung',
      description: 'Mathematik',
      isPrivate: true,
      ...hours(9, 10),
      timeZone: 'Europe/Berlin',
      status: 'Tentative',
      kind: 'Booking',
      version: 1,
      setupMinutes: 15,
      teardownMinutes: 30,
      checkIn: null,
      lektion: null,
      seriesId: null,
      organizer: { personId, displayName, email },
      createdBy: { personId, displayName },
      origin: { system: 'Api', batchId: null, jobId: null, lektionId: null, mailItemId: null },
    });
    const { rows } = await sql`
      select lower(occupied) as from, upper(occupied) as to from booking where id = ${booking.id}`.execute(desk.db);
    expect(rows).toEqual([{ from: at(day, 8.75), to: at(day, 10.5) }]);
  });

  test('by an Admin for somebody else, as a Block, over now and before it', async () => {
    nextWeek();
    const organizerId = school.colleague.personId;
    expect(await school.book({ ...hours(9, 10), organizerId }, school.admin)).toMatchObject({
      organizer: { personId: organizerId },
      createdBy: { personId: school.admin.personId },
    });
    expect(
      (await school.book({ ...hours(24, 24 * 300), kind: 'Block', resourceId: school.roomId('F') }, school.admin)).kind,
    ).toBe('Block');
    const start = new Date(Date.now() - 86_400_000);
    const past = { start, end: new Date(start.getTime() + 3_600_000) };
    expect(await school.book(past, school.admin)).toMatchObject(past);
    const running = { start: new Date(Date.now() - 60_000), end: new Date(Date.now() + 3_600_000) };
    expect(await school.book(running)).toMatchObject(running);
  });

  test('is judged by the clock of the database, also when that of the process is ahead', async () => {
    const soon = { start: new Date(Date.now() + 300_000), end: new Date(Date.now() + 600_000) };
    try {
      setClock(Date.now() + 3_600_000);
      expect(await school.book({ ...soon, resourceId: school.roomId('B') })).toMatchObject(soon);
    } finally {
      releaseClock();
    }
  });

  test('of a resource with check-in: from 15 minutes before its start, for one that runs already from now on', async () => {
    nextWeek();
    const resourceId = school.roomId('E');
    await school.setCheckIn('E', 20);
    const checkIn = async (wanted: Partial<NewBooking>) =>
      (await school.book({ ...wanted, resourceId }, school.admin)).checkIn;
    expect(await checkIn(hours(9, 10))).toEqual({
      required: true,
      from: at(day, 8.75),
      until: new Date(at(day, 9).getTime() + 20 * 60_000),
      checkedInAt: null,
    });
    expect((await checkIn(hours(10, 10.25)))?.until).toEqual(at(day, 10.25));
    expect(await checkIn({ ...hours(11, 12), kind: 'Block' })).toBeNull();
    expect(
      await checkIn({ start: new Date(Date.now() - 7_200_000), end: new Date(Date.now() - 3_600_000) }),
    ).toBeNull();
    const asked = Date.now();
    const now = await checkIn({ start: new Date(asked - 1_800_000), end: new Date(asked + 3_600_000) });
    const limit = Number(now?.until) - 20 * 60_000;
    expect(limit).toBeGreaterThanOrEqual(asked - 1_000);
    expect(limit).toBeLessThanOrEqual(Date.now() + 1_000);
    await school.setCheckIn('E', null);
  });
});

describe('409', () => {
  test('what is occupied is half-open, setup and teardown included', async () => {
    nextWeek();
    const first = await school.book({ ...hours(9, 10), setupMinutes: 30, teardownMinutes: 30 });
    const error = await conflicting({ ...hours(10.25, 11) });
    expect(error).toBeInstanceOf(Occupied);
    expect(error.conflicts).toEqual([
      {
        bookingId: first.id,
        resourceId: school.roomId('A'),
        kind: 'Booking',
        subject: 'Sitzung',
        start: at(day, 8.5),
        end: at(day, 10.5),
        wantedStart: at(day, 10.25),
      },
    ]);
    expect(idsOf(await conflicting({ ...hours(11, 12), setupMinutes: 60 }))).toEqual([first.id]);
    expect(idsOf(await conflicting({ ...hours(7, 8), teardownMinutes: 31 }))).toEqual([first.id]);
    await school.book(hours(10.5, 11));
    await school.book({ ...hours(7, 8), teardownMinutes: 30 });
  });

  test.each([
    ['Tentative', 'Booking', true],
    ['Confirmed', 'Lesson', true],
    ['Confirmed', 'MailItem', true],
    ['Confirmed', 'Block', true],
    ['Cancelled', 'Booking', false],
    ['Released', 'Booking', false],
  ])('a %s %s is in the way: %s', async (status, kind, inTheWay) => {
    nextWeek();
    const { id } = await school.book(hours(9, 11));
    await school.setKind(id, kind);
    await school.setStatus(id, status);
    if (inTheWay) expect((await conflicting(hours(10, 12))).conflicts).toMatchObject([{ bookingId: id, kind }]);
    else await school.book(hours(10, 12));
  });

  test('a private booking shows what it is about to its organizer, who made it, and Admins', async () => {
    nextWeek();
    await school.book({ ...hours(9, 10), isPrivate: true, subject: 'Arzt' });
    await school.book(
      { ...hours(10, 11), isPrivate: true, subject: 'Chef', organizerId: school.user.personId },
      school.admin,
    );
    const lesson = await school.book({ ...hours(11, 12), isPrivate: true, subject: 'Test' });
    await school.makeLesson(lesson.id, 'J-private', 'L-1');
    await sql`update booking set organizer_id = null, created_by = null where id = ${lesson.id}`.execute(desk.db);
    const subjects = async (viewer: Viewer) =>
      (await conflicting(hours(9, 12), viewer)).conflicts.map(({ subject }) => subject);
    expect(await subjects(school.user)).toEqual(['Arzt', 'Chef', 'Belegt']);
    expect(await subjects(school.colleague)).toEqual(['Belegt', 'Belegt', 'Belegt']);
    expect(await subjects(school.admin)).toEqual(['Arzt', 'Chef', 'Test']);
    // The creator of a lesson is the person who sent its job.
    await sql`update lesson_job set created_by = ${school.user.personId} where job_id = 'J-private'`.execute(desk.db);
    expect(await subjects(school.user)).toEqual(['Arzt', 'Chef', 'Test']);
  });

  test('the first 100 of many', async () => {
    nextWeek();
    const ids: number[] = [];
    const { series } = await school.create({ ...hours(0, 0.1), recurrenceRule: 'FREQ=DAILY;COUNT=10' });
    for (let each = 1; each < 13; each++)
      ids.push(
        ...((await school.create({ ...hours(each, each + 0.1), recurrenceRule: 'FREQ=DAILY;COUNT=10' })).series
          ?.bookingIds ?? []),
      );
    const error = await conflicting({ ...hours(0, 24 * 12), kind: 'Block' }, school.admin);
    expect(error.conflicts).toHaveLength(100);
    expect(error.message).toContain('100 bookings are in the way');
    expect(idsOf(error)[0]).toBe(series?.bookingIds[0]);
    const others = await conflicting({ ...hours(0, 23), recurrenceRule: 'FREQ=DAILY;COUNT=11' });
    expect(others.conflicts).toHaveLength(100);
    expect(idsOf(others).slice(0, 10)).toEqual([
      series?.bookingIds[0],
      ...ids.filter((_id, index) => index % 10 === 0).slice(0, 9),
    ]);
  });

  test('an inactive resource takes no booking from anybody', async () => {
    nextWeek();
    for (const viewer of [school.user, school.admin]) {
      const error = await conflicting({ ...hours(9, 10), resourceId: school.roomId('retired') }, viewer);
      expect(error).not.toBeInstanceOf(Occupied);
      expect(error.code).toBe('Conflict');
      expect(error.message).toContain('retired is not active');
    }
  });
});

describe('alternatives', () => {
  let building: Tenant;
  const room = (name: string, values: ReturnType<typeof sql>) =>
    sql`update resource set ${values} where mandator_id = ${building.mandatorId} and name = ${name}`.execute(desk.db);
  const otherwise = async (wanted: Partial<NewBooking>) =>
    places(await refused<Occupied>(building.create(wanted, building.user)));

  beforeAll(async () => {
    building = await desk.openTenant(['A', 'small', 'same', 'next', 'hall', 'beamer', 'retired']);
    await room('A', sql`capacity = 20`);
    await room('small', sql`capacity = 19`);
    await room('same', sql`capacity = 20`);
    await room('next', sql`capacity = 24`);
    await room('hall', sql`capacity = 300`);
    await room('beamer', sql`capacity = 20, kind = 'Device'`);
    await room('retired', sql`capacity = 20, active = false`);
  });

  test('other free resources of the kind, nearest capacity first, then the next times in the gaps', async () => {
    nextWeek();
    await building.book(hours(9, 10));
    await building.book(hours(11, 12));
    await building.book(hours(12.5, 13));
    expect(await otherwise(hours(9.5, 10.5))).toEqual(['same 9.5', 'next 9.5', 'hall 9.5', 'A 10', 'A 13']);
    await building.book({ ...hours(9, 10), resourceId: building.roomId('next') });
    expect(await otherwise({ ...hours(9.5, 10), setupMinutes: 15 })).toEqual([
      'same 9.5',
      'hall 9.5',
      'A 10.25',
      'A 13.25',
    ]);
    expect(await otherwise({ ...hours(9.5, 10), teardownMinutes: 30 })).toEqual([
      'same 9.5',
      'hall 9.5',
      'A 10',
      'A 13',
    ]);
  });

  test('where they are open', async () => {
    nextWeek();
    const rule = (name: string | null, opens: string, closes: string) =>
      sql`
      insert into opening_rule (mandator_id, location_id, resource_id, weekdays, opens, closes)
      values (${building.mandatorId}, ${building.tenant.locationId}, ${name && building.roomId(name)}, '{1,2,3,4,5}', ${opens}, ${closes})`.execute(
        desk.db,
      );
    // Summer time: 06:00Z to 15:00Z. The week begins on a Sunday.
    await rule(null, '08:00', '17:00');
    await rule('same', '08:00', '10:00');
    await building.book(hours(13, 15, 1));
    await building.book(hours(6, 7, 2));
    expect(await otherwise(hours(14, 15, 1))).toEqual([
      `next ${24 + 14}`,
      `hall ${24 + 14}`,
      `A ${48 + 7}`,
      `A ${72 + 6}`,
      `A ${96 + 6}`,
    ]);
  });

  test('of a series: resources that are free at all of its times', async () => {
    nextWeek();
    const wanted = { ...hours(9, 10, 1), recurrenceRule: 'FREQ=DAILY;COUNT=3' };
    await building.book(hours(9, 10, 2));
    await building.book({ ...hours(9, 10, 3), resourceId: building.roomId('next') });
    expect(await otherwise(wanted)).toEqual([`hall ${24 + 9}`]);
  });

  test('none later than 7 days', async () => {
    nextWeek();
    for (const [from, to] of [
      [9, 24 * 7 + 8],
      [24 * 14 + 9, 24 * 21 + 10],
    ] as const)
      await foreign.book({ ...hours(from, to), kind: 'Block' }, foreign.admin);
    const times = async (from: number) =>
      places(await refused<Occupied>(foreign.create(hours(from, from + 1)))).slice(1);
    expect(await times(9)).toEqual([`A ${24 * 7 + 8}`]);
    expect(await times(24 * 14 + 9)).toEqual([]);
  });

  test('none before now', async () => {
    nextWeek();
    const resourceId = building.roomId('hall');
    const { id } = await building.book({ ...hours(9, 10), resourceId }, building.admin);
    // From then on the room is free.
    await building.shift(id, { from: -60, to: -30 });
    const [start, end] = [-60, 30].map((minutes) => new Date(Date.now() + minutes * 60_000)) as [Date, Date];
    const asked = Date.now();
    const error = await refused<Occupied>(building.create({ start, end, resourceId }, building.admin));
    const starts = error.alternatives.filter(({ resourceName }) => resourceName === 'hall').map((one) => one.start);
    expect(starts).not.toEqual([]);
    for (const each of starts) expect(each.getTime()).toBeGreaterThanOrEqual(asked);
  });
});

describe('422', () => {
  test('every fault at once, named as in the body', async () => {
    nextWeek();
    const wanted = {
      resourceId: 2 ** 31,
      organizerId: 2 ** 40,
      start: new Date('1999-12-31T00:00Z'),
      end: new Date('1999-12-30T00:00Z'),
      recurrenceRule: 'FREQ=SOMETIMES',
    };
    expect(await faultsOf(wanted, school.admin)).toEqual([
      'ResourceId UnknownResource',
      'OrganizerId UnknownPerson',
      'Start InvalidTime',
      'End InvalidTime',
      'RecurrenceRule InvalidValue',
    ]);
  });

  test('a resource and a person of another tenant are as unknown as ones that nobody has', async () => {
    nextWeek();
    const messageOf = async (wanted: Partial<NewBooking>) =>
      (await refused(school.create({ ...hours(9, 10), ...wanted }, school.admin))).message;
    expect(await messageOf({ resourceId: foreign.roomId('A') })).toBe(await messageOf({ resourceId: 999_999 }));
    expect(await messageOf({ organizerId: foreign.user.personId })).toBe(await messageOf({ organizerId: 999_999 }));
  });

  test.each<[string, () => Partial<NewBooking>]>([
    ['End InvalidTime', () => hours(9, 9)],
    ['End TooLong', () => hours(0, 24.01)],
    ['Start InvalidTime', () => ({ start: at(4 * 366, 9), end: at(4 * 366, 10) })],
    ['End InPast', () => ({ start: new Date(Date.now() - 7_200_000), end: new Date(Date.now() - 3_600_000) })],
    ['RecurrenceRule InvalidValue', () => ({ ...hours(9, 10), recurrenceRule: 'FREQ=HOURLY;COUNT=2' })],
    ['RecurrenceRule InvalidValue', () => ({ ...hours(9, 10), recurrenceRule: 'FREQ=WEEKLY;BYDAY=MO;COUNT=2' })],
    ['End OverlapsItself', () => ({ ...hours(9, 32), teardownMinutes: 61, recurrenceRule: 'FREQ=DAILY;COUNT=2' })],
  ])('%s', async (fault, wanted) => {
    nextWeek();
    expect(await faultsOf(wanted())).toEqual([fault]);
  });

  test('a Block of more than 366 days, and an organizer who is not active', async () => {
    nextWeek();
    expect(await faultsOf({ ...hours(0, 24 * 366 + 1), kind: 'Block' }, school.admin)).toEqual(['End TooLong']);
    await sql`update person set active = false where id = ${school.colleague.personId}`.execute(desk.db);
    expect(await faultsOf({ ...hours(9, 10), organizerId: school.colleague.personId }, school.admin)).toEqual([
      'OrganizerId InactivePerson',
    ]);
    await sql`update person set active = true where id = ${school.colleague.personId}`.execute(desk.db);
  });

  test('outside opening hours, on the clocks of the location; not for Admins', async () => {
    nextWeek();
    const resourceId = school.roomId('B');
    await setHours('B', '09:00', '18:00');
    // The day before the clocks change and the day on which they do.
    for (const [days, opens] of [
      [-1, 8],
      [0, 7],
    ] as const) {
      const within = (from: number, to: number) => ({ start: at(days, from), end: at(days, to), resourceId });
      expect(await faultsOf(within(opens - 0.25, opens + 1))).toEqual(['Start OutsideOpeningHours']);
      expect(await faultsOf(within(opens + 8, opens + 9.25))).toEqual(['Start OutsideOpeningHours']);
      await school.book({ ...within(opens, opens + 9), setupMinutes: 30, teardownMinutes: 30 });
      await school.book(within(opens + 10, opens + 11), school.admin);
    }
    // At the same local time on both sides of the change.
    const weekly = (from: number, to: number) =>
      school.create({
        start: at(-9, from),
        end: at(-9, to),
        resourceId,
        recurrenceRule: 'FREQ=WEEKLY;COUNT=4',
      });
    expect((await weekly(8, 17)).series?.bookingIds).toHaveLength(4);
    const error = await refused<InvalidInput>(weekly(16.5, 17.5));
    expect(error.errors).toMatchObject([{ code: 'OutsideOpeningHours' }]);
  });

  test('a series of which one is outside', async () => {
    nextWeek();
    const resourceId = school.roomId('C');
    await setHours('C', '00:00', '24:00');
    await close('C', 2, 2);
    const wanted = { ...hours(9, 10), resourceId };
    expect(await faultsOf({ ...wanted, recurrenceRule: 'FREQ=DAILY;COUNT=3' })).toEqual(['Start OutsideOpeningHours']);
    await school.create({ ...wanted, recurrenceRule: 'FREQ=DAILY;COUNT=2' });
  });
});

describe('403', () => {
  test.each<[string, () => Promise<unknown>]>([
    ['a display', () => school.create(hours(9, 10), school.display)],
    ['a User who blocks', () => school.create({ ...hours(9, 10), kind: 'Block' })],
    [
      'a User who books for somebody else',
      () => school.create({ ...hours(9, 10), organizerId: school.colleague.personId }),
    ],
  ])('%s', async (_who, call) => {
    nextWeek();
    expect((await refused(call())).code).toBe('Forbidden');
  });
});

describe('a series', () => {
  test('keeps its local time over a clock change, each booking with its own Uid', async () => {
    const wanted = { start: at(-10, 7), end: at(-10, 9), resourceId: school.roomId('D') };
    const { booking, series } = await school.create({ ...wanted, recurrenceRule: 'FREQ=WEEKLY;COUNT=3' });
    const made = await Promise.all((series?.bookingIds ?? []).map(school.read));
    expect(made.map(({ start, end }) => [start, end])).toEqual([
      [at(-10, 7), at(-10, 9)],
      [at(-3, 7), at(-3, 9)],
      [at(4, 6), at(4, 8)],
    ]);
    expect(made[0]).toEqual(booking);
    expect(series).toMatchObject({ recurrenceRule: 'FREQ=WEEKLY;COUNT=3', skipped: [] });
    for (const each of made)
      expect(each).toMatchObject({ seriesId: series?.seriesId, recurrenceRule: 'FREQ=WEEKLY;COUNT=3' });
    expect(new Set(made.map(({ uid }) => uid)).size).toBe(3);
  });

  test('Fail: nothing is made, and every booking in the way is told', async () => {
    nextWeek();
    const one = await school.book(hours(9, 9.5, 1));
    const other = await school.book(hours(9.5, 10, 3));
    const error = await conflicting({ ...hours(9, 10), recurrenceRule: 'FREQ=DAILY;COUNT=5' });
    expect(error.conflicts).toMatchObject([
      { bookingId: one.id, wantedStart: at(day + 1, 9) },
      { bookingId: other.id, wantedStart: at(day + 3, 9) },
    ]);
    const { rows } = await sql`select from booking_series where recurrence_rule = 'FREQ=DAILY;COUNT=5'`.execute(
      desk.db,
    );
    expect(rows).toEqual([]);
  });

  test('Skip: the others are made; with none to make it is a conflict', async () => {
    nextWeek();
    const recurrenceRule = 'FREQ=DAILY;COUNT=3';
    const wanted = { ...hours(9, 10), recurrenceRule, conflictHandling: 'Skip' } as const;
    const first = await school.book(hours(9, 10));
    const { booking, series } = await school.create(wanted);
    expect(booking.start).toEqual(at(day + 1, 9));
    expect(series?.bookingIds).toHaveLength(2);
    expect(series?.skipped).toMatchObject([{ ...hours(9, 10), conflicts: [{ bookingId: first.id }] }]);
    expect((await conflicting(wanted)).conflicts).toHaveLength(3);
    expect((await conflicting({ ...hours(9, 10), conflictHandling: 'Skip' })).conflicts).toHaveLength(1);
  });

  test('Skip: what is closed is left out, too; with nothing open it is refused, and all that is outside is counted', async () => {
    nextWeek();
    const resourceId = school.roomId('C');
    await setHours('C', '00:00', '24:00');
    await close('C', 1, 2);
    const taken = await school.book({ ...hours(9, 10, 3), resourceId });
    const wanted = { ...hours(9, 10), resourceId, recurrenceRule: 'FREQ=DAILY;COUNT=5' };
    const { errors } = await refused<InvalidInput>(school.create(wanted));
    expect(errors).toMatchObject([
      {
        code: 'OutsideOpeningHours',
        message: expect.stringMatching(/and 1 more of the series are outside .*with ConflictHandling Skip\.$/),
      },
    ]);
    const skipping = { ...wanted, conflictHandling: 'Skip' } as const;
    const { series } = await school.create(skipping, school.user, { idempotencyKey: 'holidays' });
    expect(series?.bookingIds).toHaveLength(2);
    expect(series?.skipped).toMatchObject([
      { ...hours(9, 10, 1), conflicts: [] },
      { ...hours(9, 10, 2), conflicts: [] },
      { ...hours(9, 10, 3), conflicts: [{ bookingId: taken.id }] },
    ]);
    expect((await school.create(skipping, school.user, { idempotencyKey: 'holidays' })).series).toEqual(series);
    await close('C', 0, 4);
    expect(await faultsOf(skipping)).toEqual(['Start OutsideOpeningHours']);
  });

  test('of 366 bookings in one go', async () => {
    const wanted = hours(9, 10);
    const { series } = await foreign.create({ ...wanted, recurrenceRule: 'FREQ=DAILY;COUNT=366' });
    expect(series?.bookingIds).toHaveLength(366);
  });
});

describe('Idempotency-Key', () => {
  const again = { idempotencyKey: 'key' };

  test('the same again gives the same, whatever has happened since; another body 422', async () => {
    nextWeek();
    const wanted = {
      ...hours(9, 10),
      recurrenceRule: 'FREQ=DAILY;COUNT=3',
      conflictHandling: 'Skip',
    } as const;
    await school.book(hours(9, 10));
    const made = await school.create(wanted, school.user, again);
    await setRoom('A', sql`active = false`);
    expect(await school.create(wanted, school.user, again)).toEqual(made);
    const error = await refused(school.create({ ...wanted, subject: 'other' }, school.user, again));
    expect(error).toBeInstanceOf(InvalidInput);
    await setRoom('A', sql`active = true`);
    // Another person's key is another key.
    expect((await refused<Occupied>(school.create(wanted, school.colleague, again))).conflicts).toHaveLength(3);
  });

  test('a refused request is executed again', async () => {
    nextWeek();
    const inTheWay = await school.book(hours(9, 10));
    const key = { idempotencyKey: 'refused' };
    await refused(school.create(hours(9, 10), school.user, key));
    await school.setStatus(inTheWay.id, 'Cancelled');
    await school.create(hours(9, 10), school.user, key);
  });

  test('sent at the same time: one booking', async () => {
    nextWeek();
    const key = { idempotencyKey: 'racing' };
    const answers = await Promise.allSettled(
      Array.from({ length: 8 }, () => school.create(hours(9, 10), school.user, key)),
    );
    const ids = answers.flatMap((answer) => (answer.status === 'fulfilled' ? [answer.value.booking.id] : []));
    expect(new Set(ids).size).toBe(1);
    for (const answer of answers)
      if (answer.status === 'rejected') expect(answer.reason.message).toContain('is still running');
  });
});

describe('writers at the same time', () => {
  test('one of many gets the place; the others are told who has it', async () => {
    nextWeek();
    const answers = await Promise.allSettled(
      Array.from({ length: 30 }, (_each, index) => school.create(hours(9 + (index % 3) / 4, 10))),
    );
    const [winner, ...others] = answers.flatMap((answer) =>
      answer.status === 'fulfilled' ? [answer.value.booking.id] : [],
    );
    expect(others).toEqual([]);
    for (const answer of answers) if (answer.status === 'rejected') expect(idsOf(answer.reason)).toEqual([winner]);
  });

  test('of a writer without locks and ours, the constraint refuses one; ours then sees the conflict', async () => {
    nextWeek();
    const { personId } = school.user;
    const late = await desk.db.transaction().execute(async (trx) => {
      const { rows } = await sql<{ id: number }>`
        insert into booking (mandator_id, resource_id, kind, status, origin, subject, occupied, organizer_id)
        values (${school.mandatorId}, ${school.roomId('A')}, 'Booking', 'Confirmed', 'Api', 'first',
          tstzrange(${at(day, 9)}, ${at(day, 10)}), ${personId}) returning id`.execute(trx);
      const call = school.create(hours(9, 10));
      call.catch(() => {});
      await until('the other waits', async () => (await countWaiting(desk.db)) === 1);
      return { call, id: rows[0]?.id };
    });
    await expect(late.call).rejects.toMatchObject({ conflicts: [{ bookingId: late.id, subject: 'first' }] });
  });

  test.each([
    [1, 'is repeated'],
    [2, 'is given up as not now'],
  ])('a deadlock, %i in a row, %s', async (deadlocks) => {
    nextWeek();
    await sql`create sequence deadlocks`.execute(desk.db);
    await sql`
      create function deadlock() returns trigger language plpgsql as $$ begin
        if nextval('deadlocks') <= ${sql.lit(deadlocks)} then raise exception 'deadlock' using errcode = '40P01'; end if;
        return new;
      end $$`.execute(desk.db);
    await sql`create trigger deadlock before insert on booking for each row execute function deadlock()`.execute(
      desk.db,
    );
    try {
      if (deadlocks === 1) await school.book(hours(9, 10));
      else await expect(school.book(hours(9, 10))).rejects.toMatchObject({ code: '40P01' });
    } finally {
      await sql`drop function deadlock cascade`.execute(desk.db);
      await sql`drop sequence deadlocks`.execute(desk.db);
    }
  });

  test('of a tenant four wait for a resource; the others of it continue, and everybody has a connection', async () => {
    nextWeek();
    const calls = await desk.db.transaction().execute(async (trx) => {
      await sql`select from resource where id = ${school.roomId('A')} for no key update`.execute(trx);
      const waiters = Array.from({ length: 20 }, (_each, index) => school.book(hours(index, index + 1)));
      await until('four wait', async () => (await countWaiting(desk.db)) === 4);
      await school.book({ ...hours(12, 13), resourceId: school.roomId('B') });
      await foreign.book(hours(12, 13));
      expect(await countWaiting(desk.db)).toBeLessThanOrEqual(4);
      return waiters;
    });
    expect(await Promise.all(calls)).toHaveLength(20);
  });

  test('of a tenant 200 wait; the next is refused at once, another tenant’s is not', async () => {
    const letGo = Promise.withResolvers<void>();
    const write = (viewer: Viewer) => writeBookings(desk.db, viewer, () => letGo.promise);
    const taken = Array.from({ length: 204 }, () => write(school.user));
    expect(await refused(write(school.user))).toMatchObject({
      code: 'Unavailable',
      retryAfter: expect.any(Number),
      message: expect.stringMatching(/^200 changes .* are waiting already/),
    });
    taken.push(write(foreign.user));
    letGo.resolve();
    await Promise.all(taken);
    await write(school.user);
  });

  test('after 30 seconds without the lock the answer says who may hold it', async () => {
    nextWeek();
    await desk.db.transaction().execute(async (trx) => {
      await sql`select from resource where id = ${school.roomId('A')} for no key update`.execute(trx);
      const call = refused<Unavailable>(school.create(hours(9, 10)));
      await until('it waits', async () => (await countWaiting(desk.db)) === 1);
      const started = Date.now();
      const clock = jest.spyOn(Date, 'now').mockReturnValue(started + 31_000);
      const error = await call.finally(() => clock.mockRestore());
      expect(error).toMatchObject({ code: 'Unavailable', message: expect.stringContaining('import') });
    });
  });
});
