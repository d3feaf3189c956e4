import { afterAll, beforeAll, describe, expect, test } from '@jest/globals';
import { sql } from 'kysely';
import type { Booking, BookingChanges, ConflictHandling, Scope } from '../../src/bookings/booking.ts';
import { cancelBooking } from '../../src/bookings/cancellation.ts';
import { changeBooking } from '../../src/bookings/change.ts';
import type { Viewer } from '../../src/context.ts';
import { at, openFrontDesk } from '../_util/front-desk.ts';

let desk: Awaited<ReturnType<typeof openFrontDesk>>;
type Tenant = Awaited<ReturnType<typeof desk.openTenant>>;
let school: Tenant;
let foreign: Tenant;

beforeAll(async () => {
  desk = await openFrontDesk();
  school = await desk.openTenant(['A', 'B', 'C', 'retired']);
  foreign = await desk.openTenant();
});
afterAll(() => desk.close());

/** Each test has a day of its own. */
let day = 10;
const today = () => day;
const nextDay = () => ++day;
const hours = (from: number, to: number, days = today()) => ({ start: at(days, from), end: at(days, to) });

type Options = { scope?: Scope; conflictHandling?: ConflictHandling; viewer?: Viewer };
const change = (booking: Booking, changes: BookingChanges, options: Options = {}, version = booking.version) =>
  changeBooking(desk.db, options.viewer ?? school.user, booking.id, [version], changes, {
    scope: options.scope ?? 'This',
    conflictHandling: options.conflictHandling ?? 'Fail',
  });
const cancel = (booking: Booking, scope: Scope = 'This', viewer = school.user, versions?: number[]) =>
  cancelBooking(desk.db, viewer, booking.id, versions, scope);

const fails = (code: string, message: RegExp, more: object = {}) =>
  expect.objectContaining({ code, message: expect.stringMatching(message), ...more });
const invalid = (code: string, field = 'End') =>
  expect.objectContaining({ code: 'InvalidInput', errors: [expect.objectContaining({ code, field })] });

/** Reads the stored state of these bookings. */
const readAll = (bookings: readonly Booking[]) => Promise.all(bookings.map(({ id }) => school.read(id)));
const startsOf = (bookings: readonly Booking[]) => bookings.map(({ start }) => start.toISOString());

describe('who may change and cancel', () => {
  test('its organizer, who made it, and an Admin', async () => {
    nextDay();
    const own = await school.book(hours(8, 9));
    const given = await school.book({ ...hours(9, 10), organizerId: school.user.personId }, school.admin);
    const made = await school.book({ ...hours(10, 11), organizerId: school.colleague.personId }, school.admin);
    for (const [booking, viewer] of [
      [own, school.user],
      [own, school.admin],
      [given, school.user],
      [made, school.colleague],
      // Its creator, who is no Admin any more.
      [made, { ...school.admin, role: 'User' }],
    ] as const) {
      const { version } = await school.read(booking.id);
      const changed = await change(booking, { subject: `by ${viewer.personId} ${version}` }, { viewer }, version);
      expect([changed.subject, changed.version]).toEqual([`by ${viewer.personId} ${version}`, version + 1]);
    }
  });

  test('403 for another person of the tenant and for a display, whatever the version', async () => {
    nextDay();
    const booking = await school.book({ ...hours(8, 9), isPrivate: true });
    for (const viewer of [school.colleague, school.display]) {
      for (const call of [
        () => change(booking, { subject: 'mine' }, { viewer }, 99),
        () => cancel(booking, 'This', viewer),
      ])
        await expect(call()).rejects.toEqual(fails('Forbidden', /PIN of a user|another person/));
    }
    expect(await school.read(booking.id)).toEqual(booking);
  });

  test('404 for an unknown one and for another tenant’s, in the same words', async () => {
    nextDay();
    const theirs = await foreign.book(hours(8, 9));
    for (const id of [theirs.id, 2_000_000_000, 9_007_199_254_740_991])
      for (const scope of ['This', 'All'] as const)
        for (const call of [
          () => change({ ...theirs, id }, { resourceId: 0, subject: 'mine' }, { scope }),
          () => cancel({ ...theirs, id }, scope),
        ])
          await expect(call()).rejects.toEqual(fails('NotFound', /^There is no booking of this id\.$/));
  });

  test('nobody changes a lesson or what comes from the mail server: 409 with the remedy', async () => {
    nextDay();
    const lesson = await school.book(hours(8, 9));
    await school.makeLesson(lesson.id, 'J-1', 'L-1');
    const mail = await school.book(hours(9, 10));
    await school.setKind(mail.id, 'MailItem');
    for (const viewer of [school.user, school.admin])
      for (const [booking, remedy] of [
        [lesson, /is lesson L-1 of job J-1; change the lesson by updating its job/],
        [mail, /calendar of its mailbox/],
      ] as const)
        for (const call of [() => change(booking, { subject: 'x' }, { viewer }), () => cancel(booking, 'This', viewer)])
          await expect(call()).rejects.toEqual(fails('Conflict', remedy));
  });
});

describe('a change of one booking', () => {
  test('changes what it names and nothing else; null clears', async () => {
    nextDay();
    const booking = await school.book({ ...hours(8, 9), description: 'Themen', setupMinutes: 5 });
    const changed = await change(booking, { subject: 'Neu', description: null, status: 'Tentative' });
    expect(changed).toEqual({
      ...booking,
      subject: 'Neu',
      description: null,
      status: 'Tentative',
      version: 2,
      changedAt: expect.any(Date),
    });
    expect(changed.changedAt.getTime()).toBeGreaterThan(booking.changedAt.getTime());
    const moved = await change(changed, {
      ...hours(10, 12),
      resourceId: school.roomId('B'),
      setupMinutes: 0,
      isPrivate: true,
    });
    expect(moved).toMatchObject({
      ...hours(10, 12),
      resourceName: 'B',
      setupMinutes: 0,
      isPrivate: true,
      subject: 'Neu',
      description: null,
      status: 'Tentative',
      version: 3,
    });
  });

  test('to the present values changes nothing: the version stays, and the feed gets no row', async () => {
    nextDay();
    const booking = await school.book(hours(8, 9));
    const count = async () =>
      (await sql`select from change where subject_id = ${String(booking.id)}`.execute(desk.db)).rows.length;
    const before = await count();
    const { subject, start, end, resourceId, setupMinutes, isPrivate } = booking;
    for (const same of [{}, { subject: subject as string, start, end, resourceId, setupMinutes, isPrivate }])
      expect(await change(booking, same)).toEqual(booking);
    expect(await count()).toBe(before);
  });

  test('412 for another version; of two changes of one version one is made', async () => {
    nextDay();
    const booking = await school.book(hours(8, 9));
    await expect(change(booking, { subject: 'x' }, {}, 2)).rejects.toEqual(
      fails('PreconditionFailed', /read it again/),
    );
    const race = await Promise.allSettled([hours(9, 10), hours(10, 11)].map((times) => change(booking, times)));
    expect(race.map(({ status }) => status).sort()).toEqual(['fulfilled', 'rejected']);
    expect((await school.read(booking.id)).version).toBe(2);
  });

  test('409 for what is cancelled or released', async () => {
    nextDay();
    for (const status of ['Cancelled', 'Released']) {
      const booking = await school.book(hours(8, 9));
      await school.setStatus(booking.id, status);
      for (const changes of [{ subject: 'x' }, { status: 'Confirmed' as const }])
        await expect(change(booking, changes)).rejects.toEqual(fails('Conflict', new RegExp(status.toLowerCase())));
    }
  });

  test('of what is over the text may be corrected, and its place by an Admin', async () => {
    const booking = await school.book(hours(8, 9, nextDay()));
    await school.shift(booking.id, { from: -120, to: -60 });
    const { start, end } = await school.read(booking.id);
    const corrected = await change(booking, { subject: 'Protokoll' });
    expect(corrected).toMatchObject({ subject: 'Protokoll', start, end });
    const places = [
      { end: new Date(end.getTime() - 60_000) },
      // The change would occupy the room again, and a booking that is over cannot be cancelled.
      { teardownMinutes: 600 },
      { resourceId: school.roomId('B') },
    ];
    for (const place of places)
      await expect(change(corrected, place)).rejects.toEqual(fails('Conflict', /This booking is over/));
    const [shorter = {}] = places;
    expect(await change(corrected, shorter, { viewer: school.admin })).toMatchObject(shorter);
  });

  test('a series that reaches further than three years can get another time', async () => {
    const yearly = await school.series({ ...hours(8, 9, nextDay()), recurrenceRule: 'FREQ=YEARLY;COUNT=5' });
    const changed = await change(yearly[0] as Booking, hours(10, 11), { scope: 'All' });
    expect(changed).toMatchObject(hours(10, 11));
    expect((await school.read((yearly[4] as Booking).id)).version).toBe(2);
  });

  test.each([
    ['InvalidTime', 'End', () => ({ end: at(today(), 8) })],
    ['InvalidTime', 'End', () => ({ start: at(today(), 9) })],
    ['TooLong', 'End', () => ({ end: at(today() + 1, 9) })],
    ['InPast', 'End', () => ({ start: new Date(Date.now() - 7_200_000), end: new Date(Date.now() - 1_000) })],
    ['InvalidTime', 'Start', () => hours(8, 9, today() + 4 * 366)],
    ['UnknownResource', 'ResourceId', () => ({ resourceId: foreign.roomId('A') })],
  ] as const)('422 %s for its %s', async (code, field, changes) => {
    nextDay();
    const booking = await school.book(hours(8, 9));
    await expect(change(booking, changes())).rejects.toEqual(invalid(code, field));
  });

  test('422 outside opening hours, but not for an Admin; 409 for an inactive resource', async () => {
    nextDay();
    const open = await desk.openTenant();
    const booking = await open.book(hours(8, 9));
    await sql`
      insert into opening_rule (mandator_id, location_id, weekdays, opens, closes)
      values (${open.mandatorId}, ${open.tenant.locationId}, '{1,2,3,4,5,6,7}', '09:00', '18:00')`.execute(desk.db);
    const late = { end: at(today(), 20) };
    await expect(change(booking, late, { viewer: open.user })).rejects.toEqual(invalid('OutsideOpeningHours', 'Start'));
    expect(await change(booking, { setupMinutes: 600 }, { viewer: open.user })).toMatchObject({
      setupMinutes: 600,
    });
    expect(await change(booking, late, { viewer: open.admin }, 2)).toMatchObject(late);

    await sql`update resource set active = false where id = ${school.roomId('retired')}`.execute(desk.db);
    const other = await school.book(hours(8, 9));
    const retired = { resourceId: school.roomId('retired') };
    await expect(change(other, retired, { viewer: school.admin })).rejects.toEqual(
      fails('Conflict', /retired is not active/),
    );
  });

  test('409 with what is in the way, setup and teardown included, and what would be possible', async () => {
    nextDay();
    const booking = await school.book({ ...hours(8, 9), setupMinutes: 15, teardownMinutes: 15 });
    const way = await school.book({ ...hours(10, 11), subject: 'Geheim', isPrivate: true }, school.colleague);
    const inTheWay = {
      bookingId: way.id,
      resourceId: school.roomId('A'),
      kind: 'Booking',
      subject: 'Belegt',
      ...hours(10, 11),
    };
    for (const changes of [
      { end: new Date(at(today(), 10).getTime() - 60_000) },
      hours(11, 12),
      { teardownMinutes: 61 },
    ]) {
      const wantedStart = 'start' in changes ? changes.start : booking.start;
      await expect(change(booking, changes)).rejects.toEqual(
        fails('Conflict', /a booking is in the way/, {
          conflicts: [{ ...inTheWay, wantedStart }],
          alternatives: expect.arrayContaining([expect.objectContaining({ resourceName: 'B', start: wantedStart })]),
        }),
      );
    }
    expect(await school.read(booking.id)).toEqual(booking);
  });

  test('its own old place is not in its way, and is free afterwards', async () => {
    nextDay();
    const booking = await school.book(hours(8, 10));
    expect(await change(booking, hours(9, 11))).toMatchObject({ ...hours(9, 11), version: 2 });
    expect(await school.book(hours(8, 9))).toMatchObject({ status: 'Confirmed' });
  });

  test('Start alone moves the start, not the end', async () => {
    nextDay();
    const booking = await school.book(hours(8, 10));
    expect(await change(booking, { start: at(today(), 9) })).toMatchObject(hours(9, 10));
  });
});

describe('the check-in of a booking that is changed', () => {
  const minutes = (time: Date, count: number) => new Date(time.getTime() + count * 60_000);
  test('moves with its start, and ends with its end', async () => {
    const room = await desk.openTenant();
    await room.setCheckIn('A', 20);
    const booking = await room.book(hours(8, 9, nextDay()));
    const as = { viewer: room.user };
    const moved = await change(booking, hours(10, 11), as);
    const from = minutes(moved.start, -15);
    expect(moved.checkIn).toEqual({
      required: true,
      from,
      until: minutes(moved.start, 20),
      checkedInAt: null,
    });
    const short = await change(moved, { end: minutes(moved.start, 10) }, as);
    expect(short.checkIn).toMatchObject({ from, until: short.end });
    const inRoomB = await change(short, { resourceId: room.roomId('B') }, as);
    expect(inRoomB.checkIn).toBeNull();
  });

  test('stays once somebody has come', async () => {
    const room = await desk.openTenant();
    await room.setCheckIn('A', 20);
    const booking = await room.book(hours(8, 9, nextDay()));
    await sql`update booking set checked_in_at = now() where id = ${booking.id}`.execute(desk.db);
    const { checkIn } = await room.read(booking.id);
    expect(checkIn?.checkedInAt).toBeInstanceOf(Date);
    expect((await change(booking, hours(10, 11), { viewer: room.user })).checkIn).toEqual(checkIn);
  });
});

// Weekly on the weekday after the change of the clocks: 10:00 in Berlin is 09:00Z in winter and 08:00Z from then on.
describe('a series over a change of the clocks', () => {
  const weekly = { recurrenceRule: 'FREQ=WEEKLY;COUNT=4' };
  let made = 0;
  /** At 10:00 in Berlin, two of them in winter, on a day and at an hour of the tests' own. */
  async function makeSeries(): Promise<{ tenant: Tenant; series: Booking[]; base: number }> {
    const tenant = await desk.openTenant();
    const base = -13 + (made++ % 5);
    const series = await tenant.series({ ...weekly, start: at(base, 9), end: at(base, 10) });
    expect(startsOf(series)).toEqual(
      [at(base, 9), at(base + 7, 9), at(base + 14, 8), at(base + 21, 8)].map((start) => start.toISOString()),
    );
    return { tenant, series, base };
  }
  const pick = (series: Booking[], index: number) => series[index] as Booking;

  test('Following: this one and those that start later keep the new clock time on their dates', async () => {
    const { tenant, series, base } = await makeSeries();
    const second = pick(series, 1);
    // 14:00 to 16:30 in Berlin.
    const changed = await change(
      second,
      { start: at(base + 7, 13), end: at(base + 7, 15.5), subject: 'Nachmittag' },
      { viewer: tenant.user, scope: 'Following' },
    );
    expect(changed).toMatchObject({ id: second.id, version: 2, subject: 'Nachmittag' });
    const now = await Promise.all(series.map(({ id }) => tenant.read(id)));
    expect(now[0]).toEqual(series[0]);
    expect(now.map(({ start, end, version }) => [start, end, version])).toEqual([
      [at(base, 9), at(base, 10), 1],
      [at(base + 7, 13), at(base + 7, 15.5), 2],
      [at(base + 14, 12), at(base + 14, 14.5), 2],
      [at(base + 21, 12), at(base + 21, 14.5), 2],
    ]);
  });

  test('All: what is over, cancelled or released stays as it is', async () => {
    const { tenant, series, base } = await makeSeries();
    await tenant.shift(pick(series, 0).id, { from: -90, to: -30 });
    await tenant.setStatus(pick(series, 1).id, 'Cancelled');
    const before = await Promise.all(series.map(({ id }) => tenant.read(id)));
    await change(pick(series, 3), { resourceId: tenant.roomId('B') }, { viewer: tenant.user, scope: 'All' });
    const after = await Promise.all(series.map(({ id }) => tenant.read(id)));
    expect(after.slice(0, 2)).toEqual(before.slice(0, 2));
    expect(after.map(({ resourceName, start }) => [resourceName, start]).slice(2)).toEqual([
      ['B', at(base + 14, 8)],
      ['B', at(base + 21, 8)],
    ]);
  });

  test('All, named by one that is over, changes what is left; 409 when nothing is left', async () => {
    const { tenant, series } = await makeSeries();
    const first = pick(series, 0);
    const as = { viewer: tenant.user, scope: 'All' as const };
    await tenant.shift(first.id, { from: -90, to: -30 });
    expect(await change(first, { subject: 'Rest' }, as)).toMatchObject({ subject: 'Sitzung', version: 1 });
    expect((await tenant.read(pick(series, 1).id)).subject).toBe('Rest');
    for (const { id } of series.slice(1)) await tenant.setStatus(id, 'Cancelled');
    await expect(change(first, { subject: 'x' }, as)).rejects.toEqual(fails('Conflict', /is over/));
  });

  test('a time that the clocks skip on one date is later on that date; bookings that were moved alone come along', async () => {
    const tenant = await desk.openTenant();
    const series = await tenant.series({
      recurrenceRule: 'FREQ=DAILY;COUNT=4',
      start: at(-2, 9),
      end: at(-2, 10),
    });
    const as = { viewer: tenant.user };
    await change(pick(series, 3), { start: at(1, 15), end: at(1, 18) }, as);
    // 02:30 to 03:00 in Berlin.
    await change(pick(series, 0), { start: at(-2, 1.5), end: at(-2, 2) }, { ...as, scope: 'All' });
    const after = await Promise.all(series.map(({ id }) => tenant.read(id)));
    expect(after.map(({ start, end }) => [start, end])).toEqual([
      [at(-2, 1.5), at(-2, 2)],
      [at(-1, 1.5), at(-1, 2)],
      [at(0, 1.5), at(0, 2)],
      [at(1, 0.5), at(1, 1)],
    ]);
  });

  test('This: one alone, on another day as well', async () => {
    const { tenant, series, base } = await makeSeries();
    const second = pick(series, 1);
    const times = { start: at(base + 8, 5), end: at(base + 8, 6) };
    expect(await change(second, times, { viewer: tenant.user })).toMatchObject(times);
    const others = series.filter(({ id }) => id !== second.id);
    expect(await Promise.all(others.map(({ id }) => tenant.read(id)))).toEqual(others);
  });

  test.each(['Following', 'All'] as const)('422 for another local date with %s', async (scope) => {
    const { tenant, series, base } = await makeSeries();
    // The clocks show the day before until 22:00Z in summer.
    const as = { viewer: tenant.user, scope };
    await expect(change(pick(series, 2), { start: at(base + 14, 22), end: at(base + 14, 23) }, as)).rejects.toEqual(
      invalid('OtherDate', 'Start'),
    );
    expect(await change(pick(series, 2), { start: at(base + 13, 22), end: at(base + 13, 23) }, as)).toMatchObject({
      version: 2,
    });
  });

  test('Fail: one that is in the way keeps all where they are; Skip: that one stays', async () => {
    const { tenant, series, base } = await makeSeries();
    const way = await tenant.book({ start: at(base + 21, 12.5), end: at(base + 21, 13) });
    const third = pick(series, 2);
    const wanted = { start: at(base + 14, 12), end: at(base + 14, 13), subject: 'Neu' };
    const as = { viewer: tenant.user, scope: 'All' as const };
    await expect(change(third, wanted, as)).rejects.toEqual(
      fails('Conflict', /in the way/, {
        conflicts: [expect.objectContaining({ bookingId: way.id, wantedStart: at(base + 21, 12) })],
      }),
    );
    expect(await Promise.all(series.map(({ id }) => tenant.read(id)))).toEqual(series);

    await change(third, wanted, { ...as, conflictHandling: 'Skip' });
    const after = await Promise.all(series.map(({ id }) => tenant.read(id)));
    expect(after[3]).toEqual(series[3]);
    expect(startsOf(after.slice(0, 3))).toEqual(
      startsOf([at(base, 13), at(base + 7, 13), at(base + 14, 12)].map((start) => ({ start }) as Booking)),
    );
  });

  test('Skip: 409 when all are in the way', async () => {
    const { tenant, series, base } = await makeSeries();
    for (const start of [at(base + 14, 12), at(base + 21, 12)])
      await tenant.book({ start, end: new Date(start.getTime() + 60_000) });
    const as = { viewer: tenant.user, scope: 'Following', conflictHandling: 'Skip' } as const;
    const wanted = { start: at(base + 14, 12), end: at(base + 14, 13) };
    await expect(change(pick(series, 2), wanted, as)).rejects.toMatchObject({
      code: 'Conflict',
      conflicts: [{}, {}],
    });
  });
});

describe('a series of nights', () => {
  // From 22:00 to 18:00 of the next day in Berlin, where it is summer.
  const makeNights = async (tenant: Tenant) =>
    tenant.series({ recurrenceRule: 'FREQ=DAILY;COUNT=4', start: at(40, 20), end: at(41, 16) });

  test('its bookings take each other’s places', async () => {
    const tenant = await desk.openTenant();
    const [first, ...others] = (await makeNights(tenant)) as [Booking, ...Booking[]];
    const times = { start: at(40, 12), end: at(41, 8) };
    await change(first, times, { viewer: tenant.user, scope: 'All' });
    expect(startsOf(await Promise.all(others.map(({ id }) => tenant.read(id))))).toEqual(
      [41, 42, 43].map((days) => at(days, 12).toISOString()),
    );
  });

  test('Skip: a booking that stays may block others, which then stay too', async () => {
    const tenant = await desk.openTenant();
    const series = await makeNights(tenant);
    await tenant.book({ start: at(42, 16), end: at(42, 16.5) });
    const as = { viewer: tenant.user, scope: 'All', conflictHandling: 'Skip' } as const;
    await change(series[0] as Booking, { start: at(40, 12), end: at(41, 8) }, as);
    // The new place of the third, 12:00Z on day 42, is occupied; it stays, and so is in the way of the fourth.
    const after = await Promise.all(series.map(({ id }) => tenant.read(id)));
    expect(startsOf(after)).toEqual(
      [at(40, 12), at(41, 12), at(42, 20), at(43, 20)].map((start) => start.toISOString()),
    );
  });

  test('422 when they would overlap each other', async () => {
    const tenant = await desk.openTenant();
    const [first] = (await makeNights(tenant)) as [Booking];
    await expect(change(first, { setupMinutes: 241 }, { viewer: tenant.user, scope: 'All' })).rejects.toEqual(
      invalid('OverlapsItself'),
    );
    expect(await change(first, { setupMinutes: 240 }, { viewer: tenant.user, scope: 'All' })).toMatchObject({
      version: 2,
    });
  });
});

describe('a cancellation', () => {
  test('gives the room free; again it changes nothing, whatever version it is meant for', async () => {
    nextDay();
    const booking = await school.book(hours(8, 9));
    await expect(cancel(booking, 'This', school.user, [7])).rejects.toEqual(
      fails('PreconditionFailed', /read it again/),
    );
    const cancelled = await cancel(booking, 'This', school.user, [1]);
    expect(cancelled).toEqual({ ...booking, status: 'Cancelled', version: 2, changedAt: expect.any(Date) });
    expect(await school.book(hours(8, 9))).toMatchObject({ status: 'Confirmed' });
    for (const versions of [undefined, [2], [1]])
      expect(await cancel(booking, 'This', school.user, versions)).toEqual(cancelled);
    expect(await cancel(booking, 'All')).toEqual(cancelled);
  });

  test('409 for what is released or over', async () => {
    nextDay();
    const released = await school.book(hours(8, 9));
    await school.setStatus(released.id, 'Released');
    const over = await school.book({ ...hours(10, 11), resourceId: school.roomId('B') });
    await school.shift(over.id, { from: -90, to: -30 });
    for (const scope of ['This', 'Following', 'All'] as const) {
      await expect(cancel(released, scope)).rejects.toEqual(fails('Conflict', /is released/));
      await expect(cancel(over, scope)).rejects.toEqual(fails('Conflict', /This booking is over/));
    }
  });

  test('of what has begun ends it', async () => {
    nextDay();
    const booking = await school.book(hours(8, 9));
    await school.shift(booking.id, { from: -30, to: 30 });
    expect(await cancel(booking)).toMatchObject({ status: 'Cancelled' });
  });

  const statuses = async (scope: Scope, index: number) => {
    const tenant = await desk.openTenant();
    const series = await tenant.series({
      recurrenceRule: 'FREQ=DAILY;COUNT=5',
      start: at(50, 8),
      end: at(50, 9),
    });
    await tenant.shift((series[0] as Booking).id, { from: -90, to: -30 });
    await tenant.setStatus((series[4] as Booking).id, 'Released');
    const named = series[index] as Booking;
    const answer = await cancelBooking(desk.db, tenant.user, named.id, undefined, scope);
    expect(answer.id).toBe(named.id);
    const after = await Promise.all(series.map(({ id }) => tenant.read(id)));
    return after.map(({ status, version }) => `${status} ${version}`);
  };
  const [as, gone, released] = ['Confirmed 1', 'Cancelled 2', 'Released 1'];
  test.each([
    ['This', 2, [as, as, gone, as, released]],
    ['Following', 2, [as, as, gone, gone, released]],
    ['All', 2, [as, gone, gone, gone, released]],
    ['All', 0, [as, gone, gone, gone, released]],
    ['Following', 0, [as, gone, gone, gone, released]],
    ['All', 4, [as, gone, gone, gone, released]],
  ] as const)('%s from number %i leaves what is over or released as it is', async (scope, index, expected) => {
    expect(await statuses(scope, index)).toEqual(expected);
  });

  test('All again, when some are cancelled, cancels the rest', async () => {
    nextDay();
    const series = await school.series({ recurrenceRule: 'FREQ=DAILY;COUNT=3', ...hours(8, 9, 60) });
    await cancel(series[1] as Booking);
    expect(await cancel(series[1] as Booking, 'All')).toMatchObject({ status: 'Cancelled', version: 2 });
    expect((await readAll(series)).map(({ status }) => status)).toEqual(series.map(() => 'Cancelled'));
  });
});
