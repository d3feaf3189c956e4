/** Stores identical tenants with bookings of some months directly in the tables: the neighbours of the measured one. */
import type pg from 'pg';
import type { Bench } from './harness.ts';

const [hour, day] = [3_600_000, 86_400_000];
/** Bookings of a tenant that lie beside one another in the table; then come those of the next, as their imports come. */
const atOnce = 1_000;
/** Persons of each tenant who book. */
const teachers = 20;

/** The Monday, in milliseconds of Unix time, around which the stored bookings lie. */
export const middle = Date.UTC(2027, 2, 1);

/** The first day of the stored bookings, and how many days there are. */
export function storedDays(bookings: number, rooms: number): { first: number; days: number } {
  const days = Math.ceil(bookings / rooms / 3);
  return { first: middle - Math.floor(days / 2) * day, days };
}

/** Drops the indexes that no constraint needs. @returns the statements that recreate them, which is faster than filling them row by row */
async function dropIndexes(client: pg.Client, ...tables: string[]): Promise<string[]> {
  const { rows } = await client.query<{ name: string; again: string }>(
    `select indexrelid::regclass::text as name, pg_get_indexdef(indexrelid) as again from pg_index
     where indrelid::regclass::text = any ($1) and not exists (select from pg_constraint where conindid = indexrelid)`,
    [tables],
  );
  for (const { name } of rows) await client.query(`drop index ${name}`);
  return rows.map(({ again }) => again);
}

/**
 * Makes as many tenants as there are to be, each like that of the bench: a location with as many rooms, teachers, a display, a
 * webhook that is up to date, acts and batches; and three bookings of an hour and a half for each room and day, of which a
 * third are lessons, and a third belong to series. Of each tenth booking the feed of changes tells still.
 */
export async function storeTenants(
  { client, tenant, rooms }: Pick<Bench, 'client' | 'tenant' | 'rooms'>,
  count: number,
  bookings: number,
): Promise<void> {
  const user = tenant.person('User').id;
  const booking = `
    select n, n + 1 as id, $1::int + tenant as mandator_id, $2::int + tenant * $3::int + own % $3 as resource_id,
      own % 3 = 1 as is_lesson, own, $4::int + tenant * ${teachers} + own % ${teachers} as teacher,
      to_timestamp($5::bigint / 1000 + own / $3 / 3 * 86400 + (8 + own / $3 % 3 * 3) * 3600) as start
    from generate_series(0, $6::bigint * $7::int - 1) as n
    cross join lateral (select (n / $8::int % $6)::int as tenant, (n / $8 / $6 * $8 + n % $8)::int as own) as placed`;
  await client.query(`set session_replication_role = replica`);
  await client.query(`set maintenance_work_mem = '512MB'`);
  await client.query(`set synchronous_commit = off`);
  await client.query(
    `insert into mandator (id, code, name, parameters) overriding system value
     select $1::int + n, 'neighbour-' || n, 'Neighbour ' || n, parameters
     from mandator, generate_series(1, $2::int - 1) as n where id = $1`,
    [tenant.mandatorId, count],
  );
  await client.query(
    `insert into location (mandator_id, name, time_zone)
     select id, 'Campus', 'Europe/Berlin' from mandator where id > $1 order by id`,
    [tenant.mandatorId],
  );
  await client.query(
    `insert into opening_rule (mandator_id, location_id, weekdays, opens, closes)
     select mandator_id, id, '{1,2,3,4,5,6,7}', '06:00', '23:00' from location where mandator_id > $1`,
    [tenant.mandatorId],
  );
  await client.query(
    `insert into resource (mandator_id, location_id, name)
     select mandator_id, location.id, 'Room ' || n from location, generate_series(1, $2::int) as n
     where mandator_id > $1 order by mandator_id, n`,
    [tenant.mandatorId, rooms.length],
  );
  const { rows: persons } = await client.query<{ id: number }>(
    `insert into person (mandator_id, name, email, time_zone, role)
     select id, 'Teacher ' || n, 'teacher' || n || '@' || code || '.example', 'Europe/Berlin', 'User'
     from mandator, generate_series(1, ${teachers}) as n order by mandator.id, n returning id`,
  );
  const teacher = Math.min(...persons.map(({ id }) => id));
  const chunk = Math.min(atOnce, bookings);
  const { first } = storedDays(bookings, rooms.length);
  const values = [tenant.mandatorId, tenant.resources[0]?.id, rooms.length, teacher, first, count, bookings, chunk];
  const indexes = await dropIndexes(client, 'booking', 'lesson', 'change');
  await client.query(
    `insert into booking_series (mandator_id, id, recurrence_rule) overriding system value
     select $1::int + tenant, series, 'FREQ=WEEKLY;COUNT=10'
     from generate_series(0, $2::int - 1) as tenant, generate_series(0, $3::int / 30) as series`,
    [tenant.mandatorId, count, bookings],
  );
  await client.query(`select setval('booking_series_id_seq', $1::bigint)`, [bookings]);
  await client.query(
    `insert into booking (mandator_id, id, resource_id, kind, status, origin, subject, occupied, batch_id, created_by, organizer_id,
       series_id, created_at, changed_at)
     overriding system value
     select mandator_id, id, resource_id, case when is_lesson then 'Lesson' else 'Booking' end,
       case when own % 30 = 29 then 'Cancelled' else 'Confirmed' end, case when is_lesson then 'Import' else 'Api' end,
       'Number ' || own, tstzrange(start, start + interval '90 minutes'), case when is_lesson then gen_random_uuid() end, person, person,
       case when own % 3 = 0 then own / 30 end, now() - interval '10 days', now() - interval '10 days'
     from (${booking}) as booking
     cross join lateral (select case when is_lesson then null when teacher = $4 then $9::int else teacher end as person) as by
     order by n`,
    [...values, user],
  );
  await client.query(`select setval('booking_id_seq', $1::bigint)`, [count * bookings]);
  await client.query(
    `insert into lesson_job (mandator_id, id, job_id, batch_id, created_by) overriding system value
     select $1::int + tenant, job, 'Job ' || job, gen_random_uuid(), $2::int
     from generate_series(0, $3::int - 1) as tenant, generate_series(1, $4::int / 45 + 1) as job`,
    [tenant.mandatorId, user, count, bookings],
  );
  await client.query(`select setval('lesson_job_id_seq', $1::bigint)`, [bookings]);
  await client.query(
    `insert into lesson (mandator_id, job, lektion_id, booking_id, resource_id, beginn, ende, status, fach, klassen, lehrpersonen)
     select mandator_id, own / 45 + 1, own::text, id, resource_id, start, start + interval '90 minutes', 'Geplant', 'Mathematik',
       array['1a', '1b'], array['Anna Muster']
     from (${booking}) as booking where is_lesson order by n`,
    values,
  );
  // Those of the tenant's own rooms, which have their places or not yet.
  await client.query('truncate change');
  await client.query(
    `insert into change (mandator_id, position, kind, action, subject_id, resource_id, at)
     select mandator_id, own / 10 + 1, 'Booking', 'Created', id::text, resource_id, now() - interval '10 days'
     from (${booking}) as booking where own % 10 = 0 order by n`,
    values,
  );
  await client.query(
    `insert into batch (mandator_id, id, operation, import_status, job_count, request_id, created_by, finished_at)
     select id, gen_random_uuid(), 'Create', 'LessonsCreated', 1, 'bench', $1::int, now()
     from mandator, generate_series(1, 20)`,
    [user],
  );
  await client.query(
    `insert into audit (mandator_id, action, subject_id, request_id)
     select id, 'changeParameters', id, 'bench' from mandator, generate_series(1, 50)`,
  );
  await client.query(
    `insert into display (mandator_id, person_id, privacy, token_hash, created_by, expires_at, heard_at, due_at)
     select mandator_id, min(id), 'Title', sha256(mandator_id::text::bytea), min(id), now() + interval '90 days', now(), now() + interval '1 day'
     from person where role = 'User' group by mandator_id`,
  );
  await client.query(
    `insert into webhook (mandator_id, name, url, kinds, secret, seen_position, seen_micros)
     select mandator_id, 'Neighbour', 'http://127.0.0.1:9/', '{BookingCreated}', '\\x00', max(position),
       max(extract(epoch from at) * 1000000)
     from change where position is not null and mandator_id > $1 group by mandator_id`,
    [tenant.mandatorId],
  );
  for (const again of indexes) await client.query(again);
  await client.query('reset session_replication_role');
  await client.query('vacuum analyze');
  await client.query('checkpoint');
}

/** Where nothing is stored yet: past all stored bookings, the `n`th hour, a room after the other. */
export function freeSlot(bookings: number, rooms: number, n: number): { room: number; start: Date; end: Date } {
  const { first, days } = storedDays(bookings, rooms);
  const slot = Math.floor(n / rooms);
  const start = first + (days + 1 + Math.floor(slot / 12)) * day + (7 + (slot % 12)) * hour;
  return { room: n % rooms, start: new Date(start), end: new Date(start + hour) };
}
