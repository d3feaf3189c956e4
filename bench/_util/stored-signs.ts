/** Stores door signs and what they show directly in the tables. */
import path from 'node:path';
import { readConfig } from '../../src/config.ts';
import { hashDisplayToken, makeDisplayToken } from '../../src/identity/service.ts';
import { pepper } from '../../test/_util/pepper.ts';
import type { Bench } from './harness.ts';
import type { Sign } from './sign-readers.ts';

const eight = () => new Date(new Date().setHours(8, 0, 0, 0));

/**
 * Five a day in each room for three days, of which two are lessons. All rooms change at the same instants, as at full hours.
 * @param first when the first begins, and the minutes from one to the next, of which it takes three quarters
 */
export async function storeMeetings({ client, tenant }: Bench, first = { at: eight(), minutes: 120 }): Promise<void> {
  const { mandatorId, resources } = tenant;
  const booking = `
    select n + 1 as id, $2::int + n % $3::int as resource_id, n / $3 % 5 as number, n / $3 / 5 as day,
      $4::timestamptz + n / $3 / 5 * interval '1 day' + n / $3 % 5 * $5::float8 * interval '1 minute' as start
    from generate_series(0, 15 * $3::int - 1) as n`;
  const values = [mandatorId, resources[0]?.id, resources.length, first.at, first.minutes];
  const user = tenant.person('User').id;
  await client.query('begin');
  await client.query('set local session_replication_role = replica');
  await client.query(
    `insert into booking (mandator_id, id, resource_id, kind, status, origin, subject, is_private, occupied, batch_id,
       created_by, organizer_id, check_in_from, check_in_until)
     overriding system value
     select $1, id, resource_id, case when number < 3 then 'Booking' else 'Lesson' end, 'Confirmed',
       case when number < 3 then 'Api' else 'Import' end, 'Meeting number ' || id, number = 2,
       tstzrange(start, start + $5 * interval '45 seconds'), case when number >= 3 then gen_random_uuid() end,
       case when number < 3 then $6::int end, case when number < 3 then $6::int end,
       case when number = 1 then start end, case when number = 1 then start + interval '15 minutes' end
     from (${booking}) as booking`,
    [...values, user],
  );
  await client.query(
    `insert into lesson_job (mandator_id, id, job_id, batch_id, created_by) overriding system value
     values ($1, 1, 'Timetable', gen_random_uuid(), $2)`,
    [mandatorId, user],
  );
  await client.query(
    `insert into lesson (mandator_id, job, lektion_id, booking_id, resource_id, beginn, ende, status, fach, klassen, lehrpersonen)
     select $1, 1, id::text, id, resource_id, start, start + $5 * interval '45 seconds', 'Geplant', 'Mathematik', array['1a', '1b'], array['Anna Muster']
     from (${booking}) as booking where number >= 3`,
    values,
  );
  await client.query('commit');
  await client.query(`select setval(pg_get_serial_sequence('booking', 'id'), (select max(id) from booking))`);
}

/** Paired devices, one room each, as an Admin's confirmation leaves them. */
export async function storeSigns({ client, tenant, databaseUrl }: Bench, count: number): Promise<Sign[]> {
  const { mandatorId, resources } = tenant;
  const config = readConfig({ DatabaseUrl: databaseUrl, Pepper: pepper }, path.join(import.meta.dirname, '..', '..'));
  const signs = Array.from({ length: count }, (_, number) => ({
    room: resources[Math.floor((number * resources.length) / count)]?.id as number,
    token: makeDisplayToken(),
  }));
  await client.query(
    `with sent as (
       select * from unnest($3::int[], $4::bytea[]) with ordinality as sent (room, hash, number)
     ), person as (
       insert into person (mandator_id, name, role, email, time_zone)
       select $1, 'Sign ' || number, 'Display', number || '@displays.invalid', 'Europe/Berlin' from sent
       returning id, split_part(email, '@', 1)::int as number
     ), made as (
       insert into display (mandator_id, person_id, may_book, privacy, token_hash, created_by, expires_at, due_at)
       select $1, person.id, true, 'Title', hash, $2, now() + interval '90 days', now() from sent join person using (number)
       returning id, token_hash
     )
     insert into display_resource (mandator_id, display_id, resource_id)
     select $1, made.id, room from sent join made on made.token_hash = sent.hash`,
    [
      ...[mandatorId, tenant.person('Admin').id, signs.map(({ room }) => room)],
      signs.map(({ token }) => hashDisplayToken(config, token)),
    ],
  );
  return signs;
}
