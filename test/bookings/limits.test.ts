import { afterAll, beforeAll, describe, expect, test } from '@jest/globals';
import { sql } from 'kysely';
import type { NewBooking } from '../../src/bookings/booking.ts';
import { createBooking } from '../../src/bookings/creation.ts';
import type { Occupied } from '../../src/bookings/occupied.ts';
import {
  cancelBooking,
  changeBooking,
  extendBooking,
  releaseBooking,
  undoBooking,
} from '../../src/bookings/service.ts';
import type { Viewer } from '../../src/context.ts';
import { openDatabase } from '../../src/db/database.ts';
import type { InvalidInput } from '../../src/errors.ts';
import { openLog } from '../../src/log.ts';
import { makeDisplay } from '../_util/factories.ts';
import { at, openFrontDesk } from '../_util/front-desk.ts';
import { times } from '../_util/long.ts';

const minute = 60_000;

let desk: Awaited<ReturnType<typeof openFrontDesk>>;
type School = Awaited<ReturnType<typeof desk.openTenant>>;
beforeAll(async () => {
  desk = await openFrontDesk();
});
afterAll(() => desk.close());

const inMinutes = (from: number, to: number) => {
  const now = Date.now();
  return { start: new Date(now + from * minute), end: new Date(now + to * minute) };
};
const hours = (from: number, to: number, days = 0) => ({ start: at(days, from), end: at(days, to) });

const refusal = async (act: Promise<unknown>) =>
  await act.then(
    () => 'done',
    (error) =>
      error.errors?.map(({ field, code }: { field: string; code: string }) => `${field} ${code}`).join() || error.code,
  );
const change = (viewer: Viewer, id: number, changes: object) =>
  changeBooking(desk.db, viewer, id, undefined, changes, { scope: 'This', conflictHandling: 'Fail' });

describe('who books', () => {
  let school: School;
  let member: Viewer;
  let assistant: Viewer;
  beforeAll(async () => {
    school = await desk.openTenant(['closed', 'open', 'also closed', 'listed']);
    const [teachers, office] = [await school.makeGroup('Teachers'), await school.makeGroup('Office')];
    member = { ...school.user, groupIds: [teachers] };
    assistant = { ...school.user, groupIds: [office] };
    await school.setPolicy(['closed', 'also closed'], { may_book: [teachers], may_book_for_others: [office] });
    await school.setPolicy(['listed'], { may_decide: [teachers] });
  });
  const closed = () => ({ ...hours(9, 10), resourceId: school.roomId('closed') });

  test('are the groups of the policy, Admins, and displays that may book; others learn what to do', async () => {
    await expect(school.book(closed())).rejects.toThrow(
      /^Under the policy Policy \d+, only certain groups may book closed; choose/,
    );
    expect((await school.book(closed(), member)).status).toBe('Confirmed');
    expect((await school.book({ ...closed(), ...hours(10, 11) }, school.admin)).status).toBe('Confirmed');
    const { viewer } = await makeDisplay(desk.db, school.tenant);
    const now = { ...inMinutes(0, 30), resourceId: school.roomId('closed') };
    expect((await school.book(now, viewer)).status).toBe('Confirmed');
    // Whoever has lost the right may still cancel and shorten, but takes nothing more.
    const { id } = await school.book({ ...closed(), ...hours(12, 13) }, member);
    expect((await change(school.user, id, { end: at(0, 12.5) })).end).toEqual(at(0, 12.5));
    expect(await refusal(change(school.user, id, { end: at(0, 13) }))).toBe('Forbidden');
    const { id: elsewhere } = await school.book({ ...hours(9, 10), resourceId: school.roomId('open') });
    expect(await refusal(change(school.user, elsewhere, { resourceId: school.roomId('closed') }))).toBe('Forbidden');
    expect((await cancelBooking(desk.db, school.user, id, undefined, 'This')).status).toBe('Cancelled');
  });

  test('are offered the rooms alone that they may book', async () => {
    const offered = async (viewer: Viewer) => {
      const error = await school
        .book({ ...hours(20, 21), resourceId: school.roomId('open') }, viewer)
        .catch((thrown) => thrown);
      return [...new Set((error as Occupied).alternatives.map(({ resourceName }) => resourceName))];
    };
    await school.book({ ...hours(20, 21), resourceId: school.roomId('open') }, school.admin);
    expect(await offered(school.colleague)).toEqual(['listed', 'open']);
    expect(await offered(member)).toEqual(['closed', 'also closed', 'listed', 'open']);
    expect(await offered(school.admin)).toEqual(['closed', 'also closed', 'listed', 'open']);
  });

  test('book for others where the policy lets one of their groups do so', async () => {
    const forColleague = { ...closed(), ...hours(14, 15), organizerId: school.colleague.personId };
    expect(await refusal(school.book(forColleague, member))).toBe('Forbidden');
    const { personId } = school.colleague;
    expect(await school.book(forColleague, assistant)).toMatchObject({
      organizer: { personId },
      createdBy: { personId: assistant.personId },
    });
    const inOpen = { ...forColleague, resourceId: school.roomId('open') };
    expect(await refusal(school.book(inOpen, assistant))).toBe('Forbidden');
    expect(await refusal(school.book({ ...forColleague, kind: 'Block' }, assistant))).toBe('Forbidden');
    const unknown = { ...forColleague, ...hours(16, 17), organizerId: 2_000_000_000 };
    expect(await refusal(school.book(unknown, assistant))).toBe('OrganizerId UnknownPerson');
  });
});

describe('how early, how far ahead, and how long', () => {
  let school: School;
  beforeAll(async () => {
    school = await desk.openTenant(['lead', 'ahead', 'short', 'free']);
    await school.setPolicy(['lead'], { lead_minutes: 1_440 });
    await school.setPolicy(['ahead'], { ahead_days: 10 });
    await school.setPolicy(['short'], { longest_minutes: 90 });
  });
  const book = (room: string, wanted: Partial<NewBooking>, viewer = school.user) =>
    school.book({ ...wanted, resourceId: school.roomId(room) }, viewer);

  test.each<[what: string, room: string, wanted: () => Partial<NewBooking>, outcome: string]>([
    ['a start within the lead time', 'lead', () => inMinutes(1_439, 1_500), 'Start TooSoon'],
    ['a start after it', 'lead', () => inMinutes(1_441, 1_500), 'done'],
    ['a start too far ahead', 'ahead', () => inMinutes(11 * 1_440, 11 * 1_440 + 30), 'Start TooFarAhead'],
    ['a start on the last day', 'ahead', () => inMinutes(10 * 1_440 - 30, 10 * 1_440 - 10), 'done'],
    ['what lasts too long', 'short', () => hours(9, 10.75), 'End TooLong'],
    ['what lasts as long as it may, with setup', 'short', () => ({ ...hours(9, 10.5), setupMinutes: 60 }), 'done'],
    [
      'a series of which the last is too far ahead',
      'ahead',
      () => ({ ...inMinutes(2_000, 2_010), recurrenceRule: 'FREQ=WEEKLY;COUNT=3' }),
      'Start TooFarAhead',
    ],
    [
      'a series of which the first is too early',
      'lead',
      () => ({ ...inMinutes(300, 310), recurrenceRule: 'FREQ=DAILY;COUNT=3' }),
      'Start TooSoon',
    ],
  ])('%s', async (_what, room, wanted, outcome) => {
    expect(await refusal(book(room, wanted()))).toBe(outcome);
    if (outcome !== 'done') expect(await refusal(book(room, wanted(), school.admin))).toBe('done');
    await sql`update booking set status = 'Cancelled' where mandator_id = ${school.mandatorId}`.execute(desk.db);
  });

  test('apply to changes of the limited values, and to moves to other rooms', async () => {
    const { id } = await book('lead', inMinutes(60, 90), school.admin);
    await sql`update booking set organizer_id = ${school.user.personId} where id = ${id}`.execute(desk.db);
    expect((await extendBooking(desk.db, school.user, id, undefined, 10)).version).toBe(2);
    expect(await refusal(change(school.user, id, inMinutes(70, 90)))).toBe('Start TooSoon');
    expect((await change(school.user, id, inMinutes(1_500, 1_530))).version).toBe(3);
    const { id: free } = await book('free', inMinutes(60, 180));
    expect(await refusal(change(school.user, free, { resourceId: school.roomId('lead') }))).toBe('Start TooSoon');
    expect(await refusal(change(school.user, free, { resourceId: school.roomId('short') }))).toBe('End TooLong');
    const { id: short } = await book('short', inMinutes(60, 140));
    expect(await refusal(extendBooking(desk.db, school.user, short, undefined, 11))).toBe('End TooLong');
    expect((await extendBooking(desk.db, school.user, short, undefined, 10)).version).toBe(2);
    const { viewer } = await makeDisplay(desk.db, school.tenant);
    await school.shift(short, { from: -30, to: 60 });
    expect(await refusal(extendBooking(desk.db, viewer, short, undefined, 5))).toBe('End TooLong');
  });

  test('do not keep a display from booking now, but for as long as others', async () => {
    const { viewer } = await makeDisplay(desk.db, school.tenant);
    expect(await refusal(book('lead', inMinutes(0, 30), viewer))).toBe('done');
    expect(await refusal(book('short', inMinutes(100, 130), viewer))).toBe('Start NotNow');
    await sql`update booking set status = 'Cancelled' where mandator_id = ${school.mandatorId}`.execute(desk.db);
    expect(await refusal(book('short', inMinutes(0, 120), viewer))).toBe('End TooLong');
    expect(await refusal(book('short', inMinutes(0, 90), viewer))).toBe('done');
  });

  test('are told with when it would be possible, and alternatives keep to them', async () => {
    const error = await book('ahead', inMinutes(20 * 1_440, 20 * 1_440 + 60)).catch((thrown) => thrown);
    expect(error.message).toMatch(
      /must be at most 10 days ahead under the policy Policy \d+; it can be booked from \d{4}-\d\d-\d\d\.$/,
    );
    const policy = expect.stringMatching(/^Policy \d+$/);
    const limitOf = async (refused: Promise<unknown>) =>
      ((await refused.catch((thrown) => thrown)) as InvalidInput).errors[0]?.limit;
    expect(error.errors[0].limit).toEqual({
      policy,
      days: 10,
      start: new Date(error.message.split(' ')[1]),
      bookableFrom: error.message.slice(-11, -1),
    });
    const early = await limitOf(book('lead', inMinutes(60, 90)));
    expect(early).toEqual({ policy, minutes: 1_440, start: expect.any(Date), earliest: expect.any(Date) });
    expect(await limitOf(book('short', hours(9, 12)))).toEqual({ policy, minutes: 90 });
    const taken = inMinutes(1_500, 1_620);
    await book('free', taken, school.admin);
    const conflict = await book('free', taken).catch((thrown) => thrown);
    const names = (conflict as Occupied).alternatives.map(({ resourceName }) => resourceName);
    expect(names).toEqual(expect.arrayContaining(['lead', 'ahead', 'free']));
    expect(names).not.toContain('short');
  });
});

describe('a quota', () => {
  let school: School;
  const rooms = Array.from({ length: 12 }, (_, index) => `R${index}`);
  beforeAll(async () => {
    school = await desk.openTenant([...rooms, 'minutes', 'elsewhere']);
    await school.setPolicy(rooms, { quota_bookings_per_week: 3 });
    await school.setPolicy(['minutes'], { quota_minutes_per_week: 120 });
  });
  /** Monday of a week of its own for each test, at 09:00 UTC. */
  let weeks = 0;
  const nextWeek = () => {
    weeks += 3;
  };
  const on = (days: number, from: number, to = from + 1, room = 'R0') => ({
    ...hours(from, to, 1 + weeks * 7 + days),
    resourceId: school.roomId(room),
  });

  test('counts what occupies any room of the policy in the week, requests too, and no more', async () => {
    nextWeek();
    const first = await school.book(on(0, 9));
    await school.book(on(6, 20, 21, 'R1'));
    await school.setPolicy(['R2'], {});
    await sql`update resource set policy_id = (select policy_id from resource where id = ${school.roomId('R0')})
      where id = ${school.roomId('R2')}`.execute(desk.db);
    await school.book(on(3, 9, 10, 'R2'));
    const refused = await school.book(on(4, 9)).catch((thrown) => thrown);
    const date = expect.stringMatching(/^\d{4}-\d\d-\d\d$/);
    const limit = { policy: expect.stringMatching(/^Policy \d+$/), bookings: 3, week: date, nextWeek: date };
    expect(refused).toMatchObject({ code: 'InvalidInput', errors: [{ field: 'Start', code: 'QuotaReached', limit }] });
    expect(refused.message).toMatch(
      /under the policy Policy \d+ a person may have at most 3 bookings a week; in the week from (\d{4}-\d\d-\d\d) there are 3, and this would make 4\. Choose another week, the next begins on \d{4}-\d\d-\d\d, or cancel/,
    );
    // The Sunday before, the Monday after, another person, another room, and an Admin.
    expect(await refusal(school.book(on(-1, 9)))).toBe('done');
    expect(await refusal(school.book(on(7, 9)))).toBe('done');
    // On Sunday in UTC, on Monday in Berlin.
    expect(await refusal(school.book(on(6, 22.5, 23)))).toBe('done');
    expect(await refusal(school.book(on(6, 21, 21.5)))).toBe('Start QuotaReached');
    expect(await refusal(school.book(on(4, 9), school.colleague))).toBe('done');
    expect(await refusal(school.book(on(4, 9, 10, 'elsewhere')))).toBe('done');
    expect(await refusal(school.book({ ...on(4, 11), organizerId: school.user.personId }, school.admin))).toBe('done');
    await cancelBooking(desk.db, school.user, first.id, undefined, 'This');
    expect(await refusal(school.book(on(4, 13)))).toBe('Start QuotaReached');
    const [extra] = (
      await sql<{ id: number }>`select id from booking where lower(occupied) = ${on(4, 11).start}`.execute(desk.db)
    ).rows;
    await school.setStatus(extra!.id, 'Released');
    expect(await refusal(school.book(on(4, 13)))).toBe('done');
  });

  test('counts a series week by week, and the minutes without setup', async () => {
    nextWeek();
    const series = (rule: string) => school.book({ ...on(0, 7, 8, 'R3'), recurrenceRule: rule });
    expect(await refusal(series('FREQ=DAILY;COUNT=4'))).toBe('Start QuotaReached');
    expect(await refusal(series('FREQ=WEEKLY;COUNT=2'))).toBe('done');
    const long = { ...on(0, 10, 11.5, 'minutes'), setupMinutes: 60 };
    const { id } = await school.book(long);
    expect(await refusal(school.book(on(1, 10, 11, 'minutes')))).toBe('Start QuotaReached');
    expect(await refusal(school.book(on(1, 10, 10.5, 'minutes')))).toBe('done');
    expect(await refusal(extendBooking(desk.db, school.user, id, undefined, 1))).toBe('Start QuotaReached');
    expect((await change(school.user, id, { end: at(1 + weeks * 7, 11) })).version).toBe(2);
    expect((await extendBooking(desk.db, school.user, id, undefined, 30)).version).toBe(3);
  });

  test('counts where a booking is moved to; what is no more than before may be moved within its week', async () => {
    nextWeek();
    const made = await Promise.all([0, 1, 2].map((day) => school.book(on(day, 9))));
    await school.book({ ...on(3, 9), organizerId: school.user.personId }, school.admin);
    const { id } = made[0]!;
    const to = (days: number) => ({ start: on(days, 15).start, end: on(days, 16).end });
    expect((await change(school.user, id, to(4))).version).toBe(2);
    expect((await change(school.user, id, to(8))).version).toBe(3);
    expect(await refusal(change(school.user, id, to(4)))).toBe('Start QuotaReached');
    const { id: other } = await school.book(on(5, 9, 10, 'elsewhere'));
    expect(await refusal(change(school.user, other, { resourceId: school.roomId('R4') }))).toBe('Start QuotaReached');
  });

  test('holds at a display that takes back a release, or extends', async () => {
    const own = await desk.openTenant(['minutes']);
    await own.setPolicy(['minutes'], { quota_minutes_per_week: 120 });
    // Where no week begins meanwhile.
    const hour = (new Date().getUTCDay() || 7) * 24 + new Date().getUTCHours();
    const zone = hour >= 7 * 24 + 12 || hour < 24 + 6 ? 'Pacific/Pago_Pago' : 'UTC';
    await sql`update location set time_zone = ${zone} where mandator_id = ${own.mandatorId}`.execute(desk.db);
    const { viewer } = await makeDisplay(desk.db, own.tenant);
    const { id } = await own.book({ ...inMinutes(-10, 50), resourceId: own.roomId('minutes') });
    const released = await releaseBooking(desk.db, viewer, id);
    const { id: other } = await own.book({ ...inMinutes(60, 150), resourceId: own.roomId('minutes') });
    expect(await refusal(undoBooking(desk.db, viewer, id, [released.version]))).toBe('Start QuotaReached');
    await cancelBooking(desk.db, own.user, other, undefined, 'This');
    expect((await undoBooking(desk.db, viewer, id, [released.version])).status).toBe('Confirmed');
    expect(await refusal(extendBooking(desk.db, viewer, id, undefined, 65))).toBe('Start QuotaReached');
  });

  test('is never passed, however many ask at once through several processes', async () => {
    nextWeek();
    const asking = times(60, 200);
    const pools = Array.from({ length: 4 }, () =>
      openDatabase(desk.url, { max: 10, log: openLog('silent'), statementTimeout: 10_000 }),
    );
    const results = await Promise.all(
      Array.from({ length: asking }, async (_, index) => {
        const wanted: NewBooking = {
          ...on(index % 7, 1 + (index % 20), 2 + (index % 20), rooms[index % rooms.length]),
          subject: 'Race',
          description: null,
          kind: 'Booking',
          status: 'Confirmed',
          isPrivate: false,
          setupMinutes: 0,
          teardownMinutes: 0,
          organizerId: undefined,
          recurrenceRule: undefined,
          conflictHandling: 'Fail',
        };
        // Persons take turns, so that quotas of several are asked for in the same rooms.
        const viewer = index % 3 === 0 ? school.colleague : school.user;
        return await refusal(createBooking(pools[index % pools.length]!, viewer, wanted, {}));
      }),
    );
    await Promise.all(pools.map((pool) => pool.destroy()));
    const { rows } = await sql<{ n: number }>`
      select count(*)::int as n from booking
      where mandator_id = ${school.mandatorId} and subject = 'Race' and status = 'Confirmed' group by organizer_id`.execute(
      desk.db,
    );
    expect(rows).toEqual([{ n: 3 }, { n: 3 }]);
    expect(results.filter((result) => result === 'done')).toHaveLength(6);
    expect(new Set(results)).toEqual(
      new Set(['done', 'Start QuotaReached', 'Conflict'].filter((one) => results.includes(one))),
    );
  });
});
