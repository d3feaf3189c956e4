/** Stores a tenant's bookings of some years directly in the tables, for measurements in a full database. */
import type { Bench } from './harness.ts';

const day = 86_400_000;

/** The days, in milliseconds of Unix time, on which `stored` bookings lie: around a day in the near future. */
export function daysOf(stored: number, rooms: number): { first: number; days: number } {
  const days = Math.ceil(stored / rooms / 3);
  return { first: Date.UTC(2027, 2, 1) - Math.floor(days / 2) * day, days };
}

/**
 * Three times an hour and a half in each room and day, with ids from 1 on. A third are lessons, 15 to a job; the others are
 * for one of two persons, some in a series, private, to be checked in, with a setup, or cancelled.
 */
export async function storeBookings({ client, tenant, rooms, settle }: Bench, stored: number): Promise<void> {
  const from = new Date(daysOf(stored, rooms.length).first);
  const [user, admin] = [tenant.person('User').id, tenant.person('Admin').id];
  const booking = `
    select n + 1 as id, $2::int + n % $3::int as resource_id, n % 3 = 1 as is_lesson, n / 3 as other,
      $4::timestamptz + n / $3 / 3 * interval '1 day' + (8 + n / $3 % 3 * 3) * interval '1 hour' as start
    from generate_series(0, $5::int - 1) as n`;
  const values = [tenant.mandatorId, tenant.resources[0]?.id, rooms.length, from, stored];
  await client.query('begin');
  // Correct rows need no checks, and nobody follows their creation; constraints that are indexes are kept.
  await client.query('set local session_replication_role = replica');
  await client.query(
    `insert into booking_series (mandator_id, id, recurrence_rule) overriding system value
     select $1, series, 'FREQ=WEEKLY;COUNT=10' from generate_series(0, $2::int / 10) as series`,
    [tenant.mandatorId, stored],
  );
  await client.query(
    `insert into booking (mandator_id, id, resource_id, kind, status, origin, subject, description, is_private, occupied,
       batch_id, created_by, organizer_id, series_id, setup_minutes, check_in_from, check_in_until, checked_in_at)
     overriding system value
     select $1, id, resource_id, case when is_lesson then 'Lesson' else 'Booking' end,
       case when not is_lesson and other % 10 = 9 then 'Cancelled' else 'Confirmed' end,
       case when is_lesson then 'Import' else 'Api' end, 'Number ' || id, case when other % 4 = 0 then 'With coffee' end,
       not is_lesson and other % 8 = 7, tstzrange(start, start + interval '90 minutes'),
       case when is_lesson then gen_random_uuid() end, person, person, case when not is_lesson and other % 5 = 1 then other / 10 end,
       case when other % 6 = 5 then 15 else 0 end,
       case when other % 7 = 3 then start end, case when other % 7 = 3 then start + interval '15 minutes' end,
       case when other % 7 = 3 then start end
     from (${booking}) as booking
     cross join lateral (
       select case when not is_lesson then case when other % 2 = 0 then $6::int else $7::int end end as person) as by`,
    [...values, user, admin],
  );
  await client.query(
    `insert into lesson_job (mandator_id, id, job_id, batch_id, created_by) overriding system value
     select $1, job, 'Job ' || job, gen_random_uuid(), $2 from generate_series(0, $3::int / 45) as job`,
    [tenant.mandatorId, user, stored],
  );
  await client.query(
    `insert into lesson (mandator_id, job, lektion_id, booking_id, resource_id, beginn, ende, status, fach, klassen, lehrpersonen)
     select $1, other / 15, other::text, id, resource_id, start, start + interval '90 minutes', 'Geplant', 'Mathematik',
       array['1a', '1b'], array['Anna Muster']
     from (${booking}) as booking where is_lesson`,
    values,
  );
  await client.query('commit');
  await settle();
}
