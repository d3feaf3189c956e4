import { randomBytes } from 'node:crypto';
import { afterAll, beforeEach, describe, expect, test } from '@jest/globals';
import { sql } from 'kysely';
import pg from 'pg';
import { forgetOldBookings } from '../../src/bookings/retention.ts';
import { findEnd } from '../../src/changes/service.ts';
import type { Config } from '../../src/config.ts';
import { insertBookings } from '../_util/bookings-table.ts';
import { openFrontDesk } from '../_util/front-desk.ts';
import { makeCalendar } from '../mail/_util/rows.ts';

let desk: Awaited<ReturnType<typeof openFrontDesk>>;
let school: Awaited<ReturnType<typeof desk.openTenant>>;
beforeEach(async () => {
  desk ??= await openFrontDesk();
  school = await desk.openTenant();
});
afterAll(() => desk.close());

const forget = (limits: Partial<Config['Limits']> = { BookingDays: 100 }) => {
  const config = { Limits: { BookingDays: 0, LessonDays: 0, ChangeDays: 30, ...limits } } as Pick<Config, 'Limits'>;
  return forgetOldBookings({ work: desk.db, config });
};
/** Moves bookings, so that they ended so many days ago, and have not changed since `changed` days ago. */
async function age(ids: readonly number[], ended: number, changed = ended): Promise<void> {
  await sql`
    update booking set changed_at = now() - make_interval(days => ${changed}),
      occupied = tstzrange(now() - make_interval(days => ${ended}, hours => 1), now() - make_interval(days => ${ended}))
    where mandator_id = ${school.mandatorId} and id = any(${[...ids]}::bigint[])`.execute(desk.db);
}
async function bookOld(days: number, changed = days): Promise<number> {
  const [id] = await insertBookings(desk.db, school.mandatorId, school.roomId('A'));
  await age([id!], days, changed);
  return id!;
}
async function left(): Promise<number[]> {
  const { rows } = await sql<{ id: number }>`
    select id from booking where mandator_id = ${school.mandatorId} order by id`.execute(desk.db);
  return rows.map(({ id }) => id);
}

describe('forgetOldBookings', () => {
  test('keeps all forever where BookingDays is 0', async () => {
    const id = await bookOld(20_000);
    expect(await forget({})).toBe(0);
    expect(await left()).toEqual([id]);
    expect(await forget({ BookingDays: 10_000 })).toBe(1);
  });

  test('deletes what ended longer ago, whatever its status; not what ended later, continues or is to come', async () => {
    const old = [await bookOld(101), await bookOld(102), await bookOld(103)];
    await school.setStatus(old[0]!, 'Cancelled');
    await school.setStatus(old[1]!, 'Released');
    await age(old.slice(0, 1), 105);
    await age(old.slice(1, 2), 106);
    const later = await bookOld(99);
    const { id: next } = await school.book();
    const [long] = await insertBookings(desk.db, school.mandatorId, school.roomId('B'));
    await sql`update booking set changed_at = now() - interval '200 days', occupied = tstzrange(now() - interval '200 days', now() + interval '1 day')
      where id = ${long}`.execute(desk.db);
    expect(await forget()).toBe(3);
    expect(await left()).toEqual([later, next, long]);
    await expect(school.read(old[2]!)).rejects.toMatchObject({ code: 'NotFound' });
  });

  test('waits until the feed of changes tells no more of a booking', async () => {
    const id = await bookOld(101, 29);
    expect(await forget()).toBe(0);
    expect(await forget({ BookingDays: 100, ChangeDays: 28 })).toBe(1);
    expect(await left()).not.toContain(id);
  });

  test('leaves lessons to LessonDays, and those of a job to their job', async () => {
    const [lesson, orphan] = [await bookOld(101), await bookOld(102)];
    await school.makeLesson(lesson, 'J', '1');
    await school.setKind(orphan, 'Lesson');
    await age([lesson], 103);
    await age([orphan], 104);
    expect(await forget()).toBe(0);
    expect(await forget({ LessonDays: 100 })).toBe(1);
    expect(await left()).toEqual([lesson]);
    await sql`delete from lesson`.execute(desk.db);
    expect(await forget({ LessonDays: 100 })).toBe(1);
  });

  test('keeps a series until its last booking is old, and then forgets the series as well', async () => {
    const series = await school.series({ recurrenceRule: 'FREQ=DAILY;COUNT=3' });
    const ids = series.map(({ id }) => id);
    for (const [n, id] of ids.slice(0, 2).entries()) await age([id], 110 + n);
    expect(await forget()).toBe(0);
    await age(ids.slice(2), 101);
    expect(await forget()).toBe(3);
    const { rows } = await sql`select from booking_series where mandator_id = ${school.mandatorId}`.execute(desk.db);
    expect(rows).toEqual([]);
  });

  test('keeps what an item of a mail server was booked for, and what stands in the calendar of the room', async () => {
    const [read, written] = [await bookOld(101), await bookOld(102)];
    const { mandatorId } = school;
    const calendarId = await makeCalendar(desk.db, { mandatorId, resourceId: school.roomId('A') });
    await sql`
      insert into mail_item (mandator_id, calendar_id, group_id, occurrence, item_id, content_hash, state, booking_id)
      values (${mandatorId}, ${calendarId}, 'g', '', 'i', ${randomBytes(32)}, 'Gone', ${read})`.execute(desk.db);
    await sql`
      insert into mail_writing (mandator_id, calendar_id, booking_id, state, starts_at, ends_at, subject_hash, is_private)
      values (${mandatorId}, ${calendarId}, ${written}, 'Written', now(), now(), ${randomBytes(32)}, false)`.execute(
      desk.db,
    );
    expect(await forget()).toBe(0);
    await sql`delete from mail_item`.execute(desk.db);
    await sql`delete from mail_writing`.execute(desk.db);
    expect(await forget()).toBe(2);
  });

  test('passes over tenants that are being moved', async () => {
    await bookOld(101);
    await sql`insert into resting_tenant (mandator_id, code, state) values (${school.mandatorId}, 'x', 'Away')`.execute(
      desk.db,
    );
    expect(await forget()).toBe(0);
    await sql`delete from resting_tenant`.execute(desk.db);
    expect(await forget()).toBe(1);
  });

  test('deletes thousands, in portions, and of several rooms and tenants', async () => {
    const other = await desk.openTenant();
    const [a, b] = await Promise.all([
      insertBookings(desk.db, school.mandatorId, school.roomId('A'), { count: 1_500 }),
      insertBookings(desk.db, other.mandatorId, other.roomId('B'), { count: 700 }),
    ]);
    await sql`update booking set changed_at = '2000-01-01', occupied = tstzrange(lower(occupied) - interval '20 years', upper(occupied) - interval '20 years')
      where id = any(${[...a, ...b]}::bigint[])`.execute(desk.db);
    expect(await forget()).toBe(2_200);
    expect(await left()).toEqual([]);
  });

  test('tells nobody: no change, so nothing for webhooks, and no notice for signs, calendars and subscriptions', async () => {
    await bookOld(101);
    const listener = new pg.Client(desk.url);
    await listener.connect();
    const heard: (string | undefined)[] = [];
    listener.on('notification', ({ payload }) => heard.push(payload));
    await listener.query('listen roomgate');
    const end = await findEnd(desk.db, school.mandatorId);
    const jobs = () => sql`select id from graphile_worker._private_jobs order by id`.execute(desk.db);
    const before = (await jobs()).rows;
    expect(await forget()).toBe(1);
    // What is heard comes in the order of the commits.
    await sql`select pg_notify('roomgate', 'last')`.execute(desk.db);
    while (heard.at(-1) !== 'last') await listener.query('select');
    expect(heard).toEqual(['last']);
    expect(await findEnd(desk.db, school.mandatorId)).toEqual(end);
    expect((await jobs()).rows).toEqual(before);
    await listener.end();
  });
});
