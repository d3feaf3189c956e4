/** What a snapshot holds: the plan of three local days, as a level of privacy shows it. */
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, test } from '@jest/globals';
import { sql } from 'kysely';
import type { Privacy } from '../../src/displays/display.ts';
import { keepLocalDays } from '../../src/displays/local-days.ts';
import { readPlans } from '../../src/displays/plan.ts';
import { toContent, toHeartbeat, toSnapshot } from '../../src/displays/snapshot.ts';
import type { SlotChange } from '../../src/displays/state.ts';
import { makeTenant } from '../_util/factories.ts';
import { at } from '../_util/front-desk.ts';
import { lessonClient } from '../_util/lessons.ts';
import { type Service, startService } from '../_util/service.ts';

let service: Service;
let client: ReturnType<typeof lessonClient>;

beforeAll(async () => {
  service = await startService({}, ['R1', 'R2', 'R3']);
  client = lessonClient(service, await service.signIn(service.tenant, 'Admin'));
});
afterAll(() => service.stop());
afterEach(async () => {
  for (const table of ['lesson', 'lesson_job', 'booking', 'opening_rule', 'opening_exception'])
    await sql`delete from ${sql.table(table)}`.execute(service.context.db);
});

const room = (index: number) => service.tenant.resources[index]!.id;

/** The day before the clocks are set ahead, at 09:00 there. */
const morning = at(-1, 8);

async function contentOf(index: number, level: Privacy = 'Title', now = morning) {
  const { db } = service.context;
  const { mandatorId } = service.tenant;
  const stored = await readPlans(db, mandatorId, [room(index)], now);
  const [plan] = await keepLocalDays(db).complete(mandatorId, stored);
  return toContent(plan!, level, now.getTime());
}

type NewBooking = { from: Date; to: Date } & Partial<
  Record<'room' | 'organizer_id' | 'setup_minutes' | 'teardown_minutes', number>
> &
  Partial<Record<'kind' | 'status' | 'subject' | 'approval', string>> & { is_private?: boolean };

async function book({ from, to, room: index = 0, ...more }: NewBooking): Promise<number> {
  const { id } = await service.context.db
    .insertInto('booking')
    .values({
      mandator_id: service.tenant.mandatorId,
      resource_id: room(index),
      kind: 'Booking',
      status: 'Confirmed',
      origin: 'Api',
      subject: 'Sitzung',
      occupied: sql<string>`tstzrange(${from}, ${to})`,
      ...more,
    })
    .returning('id')
    .executeTakeFirstOrThrow();
  return id;
}

const lesson = (hour: number, more: object = {}) => ({
  LektionId: `L${hour}`,
  RessourceName: 'R1',
  Fach: 'Analysis',
  Klassen: ['1a'],
  Beginn: at(-1, hour).toISOString(),
  Ende: at(-1, hour + 1).toISOString(),
  Lehrpersonen: ['E. Noether'],
  ...more,
});
const importJob = (JobID: string, ...LektionList: object[]) => client.importJobs([{ JobID, LektionList }] as never);
const change = async (JobID: string, LektionId: string, changes: object) => {
  const answer = await client.send('update', [{ JobID, LektionList: [{ LektionId, ...changes }] }]);
  const { BatchId } = (await answer.json()) as { BatchId: string };
  expect((await client.end(BatchId)).ImportStatus).toBe('LessonsCreated');
};
const unchanged: SlotChange = {
  kind: 'Cancelled',
  roomBefore: null,
  roomNow: null,
  startBefore: null,
  endBefore: null,
  startNow: null,
  endNow: null,
  teachersBefore: null,
};

describe('the window', () => {
  test('is three days of the location, with the offsets of its clocks', async () => {
    const { start, end, zoneOffsets, timeZone } = await contentOf(0);
    expect({ start, end, zoneOffsets, timeZone }).toEqual({
      timeZone: 'Europe/Berlin',
      start: at(-2, 23).getTime(),
      end: at(1, 22).getTime(),
      zoneOffsets: [
        { from: at(-2, 23).getTime(), offsetMinutes: 60 },
        { from: at(0, 1).getTime(), offsetMinutes: 120 },
      ],
    });
  });

  test('has the offsets of a booking that began before the clocks changed, or ends after that', async () => {
    const days = 86_400_000;
    const offsetsOf = async (from: Date, to: Date, now: Date) => {
      const id = await book({ from, to, kind: 'Block' });
      const { zoneOffsets } = await contentOf(0, 'Title', now);
      await sql`delete from booking where id = ${id}`.execute(service.context.db);
      return zoneOffsets;
    };
    const afterwards = new Date(morning.getTime() + 7 * days);
    const changed = { from: at(0, 1).getTime(), offsetMinutes: 120 };
    expect(await offsetsOf(morning, new Date(afterwards.getTime() + days), afterwards)).toEqual([
      { from: morning.getTime(), offsetMinutes: 60 },
      changed,
    ]);
    const before = new Date(morning.getTime() - 7 * days);
    expect(await offsetsOf(before, afterwards, before)).toEqual([
      { from: expect.any(Number), offsetMinutes: 60 },
      changed,
    ]);
  });

  test('holds what reaches into it, and nothing that ends or begins at its edges', async () => {
    const { start, end } = await contentOf(0);
    const minutes = (count: number) => count * 60_000;
    await book({ from: new Date(start - minutes(60)), to: new Date(start) });
    const first = await book({ from: new Date(start), to: new Date(start + minutes(1)) });
    const last = await book({ from: new Date(end - minutes(1)), to: new Date(end + minutes(10)) });
    await book({ from: new Date(end + minutes(10)), to: new Date(end + minutes(60)) });
    await book({ from: new Date(start), to: new Date(end), room: 1 });
    expect((await contentOf(0)).schedule.map(({ bookingId }) => bookingId)).toEqual([first, last]);
  });

  test('holds the opening hours within it; a room without any is open throughout', async () => {
    const { start, end, open } = await contentOf(0);
    expect(open).toEqual([{ start, end }]);
    const { db } = service.context;
    const { mandatorId, locationId } = service.tenant;
    const rule = { weekdays: [1, 2, 3, 4, 5, 6, 7], opens: '20:00', closes: '06:00' };
    await db
      .insertInto('opening_rule')
      .values({ mandator_id: mandatorId, location_id: locationId, ...rule })
      .execute();
    const closed = { from_date: at(-1, 0).toISOString().slice(0, 10), closed: true };
    await db
      .insertInto('opening_exception')
      .values({
        mandator_id: mandatorId,
        location_id: locationId,
        resource_id: room(1),
        ...closed,
        to_date: closed.from_date,
      })
      .execute();
    const hours = async (index: number) =>
      (await contentOf(index)).open.map((one) => [one.start, one.end].map((instant) => new Date(instant)));
    // Clipped at both ends; the second night is that of the clock change.
    expect(await hours(0)).toEqual([
      [new Date(start), at(-1, 5)],
      [at(-1, 19), at(0, 4)],
      [at(0, 18), at(1, 4)],
      [at(1, 18), new Date(end)],
    ]);
    expect(await hours(1)).toEqual([
      [at(0, 18), at(1, 4)],
      [at(1, 18), new Date(end)],
    ]);
  });
});

describe('the schedule', () => {
  test('has active bookings of every kind, in their order, with setup and teardown', async () => {
    const block = await book({ from: at(-1, 12), to: at(-1, 13), kind: 'Block' });
    const around = { setup_minutes: 10, teardown_minutes: 5 };
    const own = await book({ from: at(-1, 9), to: at(-1, 10), ...around, status: 'Tentative', approval: 'Requested' });
    const item = await book({ from: at(-1, 10), to: at(-1, 11), kind: 'MailItem' });
    for (const status of ['Cancelled', 'Released']) await book({ from: at(-1, 9), to: at(-1, 10), status });
    const { schedule } = await contentOf(0);
    expect(schedule.map(({ bookingId, kind, isBlock }) => [bookingId, kind, isBlock])).toEqual([
      [own, 'Booking', false],
      [item, 'MailItem', false],
      [block, 'Block', true],
    ]);
    expect(schedule[0]).toMatchObject({
      isTentative: true,
      isRequested: true,
      occupies: true,
      checkIn: null,
      change: null,
      version: 1,
      from: at(-1, 9).getTime(),
      to: at(-1, 10).getTime(),
      start: at(-1, 9).getTime() + 600_000,
      end: at(-1, 10).getTime() - 300_000,
    });
  });

  test('says when to check in, and whether somebody has', async () => {
    const id = await book({ from: at(-1, 9), to: at(-1, 10) });
    const [opens, closes] = [at(-1, 8), at(-1, 9)];
    await sql`update booking set check_in_from = ${opens}, check_in_until = ${closes} where id = ${id}`.execute(
      service.context.db,
    );
    const due = { from: opens.getTime(), until: closes.getTime() };
    const before = await contentOf(0);
    expect([before.status, before.schedule[0]?.checkIn]).toEqual(['CHECK_IN_DUE', { ...due, isDone: false }]);
    await sql`update booking set checked_in_at = ${opens} where id = ${id}`.execute(service.context.db);
    const after = await contentOf(0);
    expect([after.status, after.schedule[0]?.checkedInAt, after.schedule[0]?.checkIn]).toEqual([
      ...['FREE', opens.getTime(), { ...due, isDone: true }],
    ]);
  });
});

describe('a lesson of an import', () => {
  test('that has moved is shown in both rooms, with the old and the new one', async () => {
    await importJob('J', lesson(9), lesson(10));
    await change('J', 'L9', { RessourceName: 'R2' });
    const [there, here] = [await contentOf(1), await contentOf(0)];
    const rooms = { ...unchanged, roomBefore: 'R1', roomNow: 'R2' };
    expect(there.schedule).toMatchObject([
      { occupies: true, change: { ...rooms, kind: 'MovedHere' }, from: at(-1, 9).getTime() },
    ]);
    expect(here.schedule).toMatchObject([
      { occupies: false, change: { ...rooms, kind: 'MovedAway' }, from: at(-1, 9).getTime() },
      { occupies: true, change: null },
    ]);
    expect(here.schedule[0]?.bookingId).toBe(there.schedule[0]?.bookingId);
    expect(here.schedule[0]?.subject).toBe('Analysis');

    await change('J', 'L9', {
      RessourceName: 'R3',
      Beginn: at(-1, 14).toISOString(),
      Ende: at(-1, 15).toISOString(),
    });
    expect((await contentOf(1)).schedule).toEqual([]);
    expect((await contentOf(2)).schedule).toMatchObject([
      {
        from: at(-1, 14).getTime(),
        change: {
          kind: 'MovedHere',
          roomBefore: 'R1',
          roomNow: 'R3',
          startBefore: at(-1, 9).getTime(),
          endBefore: at(-1, 10).getTime(),
        },
      },
    ]);
    expect((await contentOf(0)).schedule[0]).toMatchObject({
      from: at(-1, 9).getTime(),
      to: at(-1, 10).getTime(),
      change: {
        ...rooms,
        kind: 'MovedAway',
        roomNow: 'R3',
        startNow: at(-1, 14).getTime(),
        endNow: at(-1, 15).getTime(),
      },
    });
    // A room has another name, and lessons have been there nevertheless.
    await sql`update resource set name = 'Aula' where id = ${room(0)}`.execute(service.context.db);
    expect((await contentOf(2)).schedule[0]?.change?.roomBefore).toBe('Aula');
    await sql`update resource set name = 'R1' where id = ${room(0)}`.execute(service.context.db);

    await change('J', 'L9', {
      RessourceName: 'R1',
      Beginn: at(-1, 9).toISOString(),
      Ende: at(-1, 10).toISOString(),
    });
    expect((await contentOf(0)).schedule).toMatchObject([{ change: null }, { change: null }]);
  });

  test('that is cancelled, at another time, or taught by others says so', async () => {
    await importJob('J', lesson(9), lesson(11), lesson(13));
    await change('J', 'L9', { Status: 'Entfaellt' });
    await change('J', 'L11', { Beginn: at(-1, 10).toISOString() });
    await change('J', 'L13', { Lehrpersonen: ['D. Hilbert'], Status: 'Vertretung' });
    const { schedule } = await contentOf(0);
    expect(schedule.map(({ occupies, teachers, change }) => [occupies, teachers, change])).toEqual([
      [false, ['E. Noether'], { ...unchanged, kind: 'Cancelled' }],
      [
        ...[true, ['E. Noether']],
        {
          ...unchanged,
          kind: 'Rescheduled',
          startBefore: at(-1, 11).getTime(),
          endBefore: at(-1, 12).getTime(),
        },
      ],
      [true, ['D. Hilbert'], { ...unchanged, kind: 'Substituted', teachersBefore: ['E. Noether'] }],
    ]);
  });

  test('that is coupled is one slot with the classes and teachers of all', async () => {
    await importJob('J', lesson(9, { KopplungId: 'K' }));
    await importJob('I', lesson(9, { KopplungId: 'K', Klassen: ['1b', '1a'], Lehrpersonen: ['D. Hilbert'] }));
    const { schedule } = await contentOf(0);
    expect(schedule).toHaveLength(1);
    expect(new Set(schedule[0]?.classes)).toEqual(new Set(['1a', '1b']));
    expect(new Set(schedule[0]?.teachers)).toEqual(new Set(['E. Noether', 'D. Hilbert']));
  });

  test('that is coupled has moved if any of the coupled lessons has, whatever else has changed of the others', async () => {
    await importJob('I', lesson(9, { KopplungId: 'K' }));
    await importJob('J', lesson(9, { KopplungId: 'K', RessourceName: 'R2', Lehrpersonen: ['D. Hilbert'] }));
    await change('J', 'L9', { RessourceName: 'R1' });
    const moved = { ...unchanged, kind: 'MovedHere', roomBefore: 'R2', roomNow: 'R1' };
    expect((await contentOf(0)).schedule.map((slot) => slot.change)).toEqual([moved]);
    await change('I', 'L9', { Lehrpersonen: ['M. Curie'] });
    expect((await contentOf(0)).schedule.map((slot) => slot.change)).toEqual([
      { ...moved, teachersBefore: ['E. Noether', 'D. Hilbert'] },
    ]);
  });
});

test('of more than fits, what is over is left out first, and then what is farthest', async () => {
  const { db } = service.context;
  await sql`
    insert into booking (mandator_id, resource_id, kind, status, origin, subject, occupied)
    select ${service.tenant.mandatorId}, ${room(0)}, 'Booking', 'Confirmed', 'Api', repeat('x', 4000),
      tstzrange(begin, begin + interval '1 minute')
    from generate_series(-300, 299) as number
    cross join lateral (select ${morning}::timestamptz + number * interval '1 minute' as begin) as slot`.execute(db);
  const { schedule } = await contentOf(0);
  expect(schedule.length).toBeGreaterThan(200);
  expect(schedule.length).toBeLessThan(300);
  expect(schedule.map(({ from }) => from)).toEqual(schedule.map((_, index) => morning.getTime() + index * 60_000));
});

describe('privacy', () => {
  beforeEach(async () => {
    const organizer_id = service.tenant.person('User').id;
    await book({ from: at(-1, 12), to: at(-1, 13), organizer_id });
    await book({ from: at(-1, 13), to: at(-1, 14), organizer_id, is_private: true, subject: 'geheim' });
    await importJob('J', lesson(9), lesson(10, { Privat: true }));
    await change('J', 'L9', { Lehrpersonen: ['D. Hilbert'], RessourceName: 'R2' });
    await change('J', 'L9', { RessourceName: 'R1' });
  });

  test.each<[Privacy, unknown[][]]>([
    [
      'Title',
      [
        ['Analysis', null, ['1a'], ['D. Hilbert'], ['E. Noether']],
        [null, null, null, null, null],
        ['Sitzung', 'User of school', null, null, null],
        [null, null, null, null, null],
      ],
    ],
    [
      'Organizer',
      [
        [null, null, null, ['D. Hilbert'], ['E. Noether']],
        [null, null, null, null, null],
        [null, 'User of school', null, null, null],
        [null, null, null, null, null],
      ],
    ],
    ['BusyOnly', Array.from({ length: 4 }, () => [null, null, null, null, null])],
  ])('%s shows no more than that, and nothing of what is private', async (level, expected) => {
    const content = await contentOf(0, level);
    expect(
      content.schedule.map(({ subject, organizer, classes, teachers, change }) => [
        ...[subject, organizer, classes, teachers, change?.teachersBefore ?? null],
      ]),
    ).toEqual(expected);
    expect(JSON.stringify(content)).not.toMatch(/geheim|@/);
    const times = content.schedule.map(({ from, to, kind }) => [from, to, kind]);
    const atTitle = (await contentOf(0)).schedule.map(({ from, to, kind }) => [from, to, kind]);
    expect(times).toEqual(atTitle);
    expect(content.schedule[0]?.change?.kind).toBe('Substituted');
  });
});

describe('the cursor', () => {
  test('is another for each member of a slot that is different', async () => {
    await book({ from: at(-1, 9), to: at(-1, 10) });
    await book({ from: at(-1, 11), to: at(-1, 12) });
    const { db } = service.context;
    const stored = await readPlans(db, service.tenant.mandatorId, [room(0)], morning);
    const [plan] = await keepLocalDays(db).complete(service.tenant.mandatorId, stored);
    const [first, second] = plan!.stored.slots;
    const changes: Partial<typeof first>[] = [
      {},
      { bookingId: first!.bookingId + 10 },
      { version: first!.version + 1 },
      { kind: 'Block' },
      { isActive: false },
      { isTentative: true },
      { isRequested: true },
      { from: first!.from - 1 },
      { to: first!.to + 1 },
      { start: first!.start + 1 },
      { end: first!.end - 1 },
      { subject: null },
      { subject: 'null' },
      { organizer: 'Sitzung' },
      { checkInFrom: first!.from },
      { checkInFrom: first!.from, checkInUntil: first!.to },
      { checkInFrom: first!.from, checkedInAt: first!.from },
      { checkInFrom: first!.from, checkedInAt: first!.from + 2 ** 31 },
    ];
    const cursors = changes.map((change) => {
      const slots = [{ ...first!, ...change }, second!];
      return toContent({ ...plan!, stored: { ...plan!.stored, slots } }, 'Title', morning.getTime()).cursor;
    });
    expect(new Set(cursors).size).toBe(changes.length);
  });

  test('is the same for the same content, whenever and by whomever it was read', async () => {
    await book({ from: at(-1, 12), to: at(-1, 13) });
    const [one, other] = [await contentOf(0), await contentOf(0, 'Title', new Date(morning.getTime() + 1_000))];
    expect(other.cursor).toBe(one.cursor);
    expect(toSnapshot(one, 5, 4)).toMatchObject({
      cursor: one.cursor,
      serverTime: 5,
      asOf: 4,
      trustUntil: 900_004,
    });
    expect(toHeartbeat(one.cursor, 5, 4)).toMatchObject({ cursor: one.cursor, trustUntil: 900_004 });
  });

  test('is another one when anything is different that is shown, also by itself', async () => {
    const id = await book({ from: at(-1, 12), to: at(-1, 13) });
    const cursors = [(await contentOf(0)).cursor, (await contentOf(0, 'Organizer')).cursor];
    cursors.push((await contentOf(0, 'Title', at(-1, 12))).cursor);
    for (const changed of [
      sql`update booking set subject = 'anders' where id = ${id}`,
      sql`update resource set capacity = 31 where id = ${room(0)}`,
      sql`update location set name = 'Annex' where id = ${service.tenant.locationId}`,
      sql`update resource set active = false where id = ${room(0)}`,
    ]) {
      await changed.execute(service.context.db);
      cursors.push((await contentOf(0)).cursor);
    }
    expect(new Set(cursors).size).toBe(7);
    expect((await contentOf(0)).status).toBe('OUT_OF_SERVICE');
    await sql`update resource set active = true`.execute(service.context.db);
  });
});

test('no tenant reads the rooms of another', async () => {
  const { db } = service.context;
  const { mandatorId } = await makeTenant(db, { code: 'stranger' });
  expect(await readPlans(db, mandatorId, [room(0)], morning)).toEqual([]);
});
