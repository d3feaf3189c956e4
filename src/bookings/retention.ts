/**
 * Deletes bookings that ended long ago, if the operator has set an age limit. A deletion is not in the feed of changes,
 * so webhooks, signs and mail servers are not notified: a forgotten booking was not cancelled.
 */
import { type RawBuilder, sql } from 'kysely';
import type { Config } from '../config.ts';
import type { Database, Transaction } from '../db/database.ts';
import { daysAgo } from '../db/days-ago.ts';
import { rests } from '../db/resting.ts';

type Retention = Pick<Config['Limits'], 'BookingDays' | 'LessonDays' | 'ChangeDays'>;

/** What the work of deleting old rows needs. */
export type RetentionWork = { work: Database; config: Pick<Config, 'Limits'>; signal?: AbortSignal };

/** The most bookings that one statement deletes. */
const forgottenAtOnce = 1_000;

/**
 * SQL: whether `booking` ended more than `days` ago and nothing refers to it: neither the feed of changes, nor a lesson, nor a
 * mail item, nor a written item in the calendar of its room.
 */
const isForgettable = (days: number, { ChangeDays }: Retention) => sql<boolean>`
  upper(booking.occupied) < ${daysAgo(days)} and booking.changed_at < ${daysAgo(ChangeDays)}
  and not exists (
    select from lesson where lesson.mandator_id = booking.mandator_id and lesson.booking_id = booking.id)
  and not exists (
    select from mail_item as item where item.mandator_id = booking.mandator_id and item.booking_id = booking.id)
  and not exists (
    select from mail_calendar as calendar
    join mail_writing as written on written.mandator_id = calendar.mandator_id and written.calendar_id = calendar.id
    where calendar.mandator_id = booking.mandator_id and calendar.resource_id = booking.resource_id
      and written.booking_id = booking.id)`;

/** SQL: whether the series of `booking`, if it has one, is over as well: a series is forgotten as a whole. */
const isSeriesOver = (days: number, { ChangeDays }: Retention) => sql<boolean>`(
  booking.series_id is null or not exists (
    select from booking as other
    where other.mandator_id = booking.mandator_id and other.series_id = booking.series_id
      and (upper(other.occupied) >= ${daysAgo(days)} or other.changed_at >= ${daysAgo(ChangeDays)})))`;

/** Selects old bookings room by room, as the index has the oldest of a room first; skips tenants that are being moved. */
const oldOfRooms = (isOld: RawBuilder<boolean>, days: number) => sql`
  select old.* from resource as room cross join lateral (
    select booking.mandator_id, booking.id, booking.series_id from booking
    where booking.mandator_id = room.mandator_id and booking.resource_id = room.id
      and lower(booking.occupied) < ${daysAgo(days)} and ${isOld}
    order by lower(booking.occupied) limit ${forgottenAtOnce} for update skip locked) as old
  where not ${rests(sql`room.mandator_id`)}
  limit ${forgottenAtOnce}`;

async function forget(trx: Transaction, chosen: RawBuilder<unknown>): Promise<number> {
  const { rows } = await sql<{ mandatorId: number; seriesId: number | null }>`
    with old as materialized (${chosen})
    delete from booking using old where booking.mandator_id = old.mandator_id and booking.id = old.id
    returning booking.mandator_id as "mandatorId", booking.series_id as "seriesId"`.execute(trx);
  const ofSeries = rows.filter(({ seriesId }) => seriesId !== null);
  if (ofSeries.length > 0)
    await sql`
      delete from booking_series as series
      using (select distinct * from unnest(${ofSeries.map(({ mandatorId }) => mandatorId)}::integer[],
        ${ofSeries.map(({ seriesId }) => seriesId)}::bigint[]) as left_by(mandator_id, id)) as left_by
      where series.mandator_id = left_by.mandator_id and series.id = left_by.id and not exists (
        select from booking where booking.mandator_id = series.mandator_id and booking.series_id = series.id)`.execute(
      trx,
    );
  return rows.length;
}

/** Deletes the bookings of lessons that were just forgotten, unless something else refers to them. */
export async function forgetBookings(
  trx: Transaction,
  mandatorId: number,
  ids: readonly number[],
  retention: Retention,
): Promise<number> {
  return await forget(
    trx,
    sql`
      select mandator_id, id from booking
      where mandator_id = ${mandatorId} and id = any(${[...ids]}::bigint[]) and ${isForgettable(retention.LessonDays, retention)}`,
  );
}

/**
 * Deletes bookings that ended more than `BookingDays` ago, and bookings whose lessons are deleted and that ended more
 * than `LessonDays` ago. With 0 days they are kept for ever.
 * @returns how many
 */
export async function forgetOldBookings({ work, config, signal }: RetentionWork): Promise<number> {
  const { Limits: retention } = config;
  const kinds = [
    { days: retention.BookingDays, kind: sql`booking.kind <> 'Lesson'` },
    { days: retention.LessonDays, kind: sql`booking.kind = 'Lesson'` },
  ];
  let forgotten = 0;
  for (const { days, kind } of kinds) {
    if (days === 0) continue;
    const isOld = sql<boolean>`${kind} and ${isForgettable(days, retention)} and ${isSeriesOver(days, retention)}`;
    for (let some = forgottenAtOnce; some === forgottenAtOnce && !signal?.aborted; forgotten += some)
      some = await work.transaction().execute((trx) => forget(trx, oldOfRooms(isOld, days)));
  }
  return forgotten;
}
