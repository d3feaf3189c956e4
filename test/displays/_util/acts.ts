/** Random changes to a school while its signs and boards are watched; the same seed gives the same ones. */
import type pg from 'pg';
import type { Database } from '../../../src/db/database.ts';
import type { Dice } from '../../_util/dice.ts';
import { makeTenant } from '../../_util/factories.ts';

export type World = Awaited<ReturnType<typeof makeWorld>>;

/** A tenant of two locations and four rooms. */
export async function makeWorld(db: Database, writer: pg.Client, round: number) {
  const tenant = await makeTenant(db, { code: `round-${round}`, rooms: ['A 1', 'B 1', 'C 1', 'D 1'] });
  const { mandatorId } = tenant;
  const { rows } = await writer.query<{ id: number }>(
    `insert into location (mandator_id, name, time_zone) values ($1, 'Annex', 'Europe/Berlin') returning id`,
    [mandatorId],
  );
  const organizers = [tenant.person('User').id, tenant.person('Admin').id];
  const job = await writer.query<{ id: number }>(
    `with one as (insert into batch (mandator_id, id, operation, job_count, request_id, created_by)
       values ($1, gen_random_uuid(), 'Create', 1, 'model', $2) returning id)
     insert into lesson_job (mandator_id, job_id, batch_id, created_by) select $1, 'J', id, $2 from one returning id`,
    [mandatorId, organizers[1]],
  );
  const rooms = tenant.resources.map(({ id }) => id);
  const locations = [tenant.locationId, rows[0]!.id];
  return { tenant, mandatorId, rooms, locations, organizers, job: job.rows[0]!.id, counter: 1 };
}

/** SQL. */
type Act = (world: World, dice: Dice) => string;
/** Half an hour within the next two days; one that is taken is refused by the database. */
const slotOf = (dice: Dice) => {
  const at = 30 * (4 + dice.below(60));
  return `tstzrange(date_trunc('hour', now()) + interval '${at} min', date_trunc('hour', now()) + interval '${at + 30} min')`;
};
const someBooking = (kind: string, { below }: Dice, { mandatorId }: World) =>
  `(select id from booking where mandator_id = ${mandatorId} and kind = '${kind}'
    and status in ('Confirmed', 'Tentative') order by md5(id::text || '${below(1_000)}') limit 1)`;
const changeBooking = (what: (world: World, dice: Dice) => string): Act =>
  function change(world, dice) {
    return `update booking set ${what(world, dice)}, version = version + 1
      where mandator_id = ${world.mandatorId} and id = ${someBooking('Booking', dice, world)}`;
  };
const kill = (name: string) => `select pg_terminate_backend(pid) from pg_stat_activity
  where application_name = '${name}' and datname = current_database()`;
const changeRoom =
  (what: (world: World, dice: Dice) => string): Act =>
  (world, dice) =>
    `update resource set ${what(world, dice)} where mandator_id = ${world.mandatorId} and id = ${dice.oneOf(world.rooms)}`;
const changePlace =
  (what: (world: World, dice: Dice) => string): Act =>
  (world, dice) =>
    `update location set ${what(world, dice)} where mandator_id = ${world.mandatorId} and id = ${dice.oneOf(world.locations)}`;

const acts: Record<string, [weight: number, act: Act]> = {
  book: [
    8,
    (world, dice) => `insert into booking
      (mandator_id, resource_id, kind, status, origin, subject, is_private, organizer_id, check_in_from, check_in_until, occupied)
      select ${world.mandatorId}, ${dice.oneOf(world.rooms)}, '${dice.oneOf(['Booking', 'Booking', 'Block'])}', 'Confirmed', 'Api', 'S',
        ${dice.roll() < 0.3}, ${dice.oneOf(world.organizers)}, lower(slot) - interval '5 min', lower(slot) + interval '5 min', slot
      from (select ${slotOf(dice)} as slot) as place`,
  ],
  subject: [3, changeBooking(({ counter }) => `subject = 'S${counter}'`)],
  move: [4, changeBooking(({ rooms }, dice) => `resource_id = ${dice.oneOf(rooms)}`)],
  shift: [3, changeBooking((_world, dice) => `occupied = ${slotOf(dice)}`)],
  cancel: [3, changeBooking(() => `status = 'Cancelled'`)],
  release: [1, changeBooking(() => `status = 'Released'`)],
  checkIn: [2, changeBooking(() => 'checked_in_at = now()')],
  import: [
    5,
    (world, dice) => {
      const lessons = 1 + dice.below(8);
      const rows = Array.from({ length: lessons }, () => `(${dice.oneOf(world.rooms)}, ${slotOf(dice)})`);
      return `with wanted as (select row_number() over () as number, room, slot from (values ${rows.join(', ')}) as given (room, slot)),
        free as (select * from wanted where not exists (select from booking where resource_id = room and occupied && slot
            and status in ('Confirmed', 'Tentative'))
          and not exists (select from wanted as other where other.room = wanted.room and other.slot && wanted.slot and other.number < wanted.number)),
        booked as (insert into booking (mandator_id, resource_id, kind, status, origin, subject, occupied)
          select ${world.mandatorId}, room, 'Lesson', 'Confirmed', 'Import', 'Math', slot from free returning id, resource_id, occupied)
        insert into lesson (mandator_id, job, lektion_id, booking_id, resource_id, beginn, ende, status, lehrpersonen, klassen)
          select ${world.mandatorId}, ${world.job}, id::text, id, resource_id, lower(occupied), upper(occupied), 'Geplant', '{N}', '{1a}' from booked`;
    },
  ],
  moveLesson: [
    4,
    (world, dice) => `with meant as (select lesson.*, resource.name from lesson
        join resource on resource.mandator_id = lesson.mandator_id and resource.id = lesson.resource_id
        where lesson.mandator_id = ${world.mandatorId} and booking_id = ${someBooking('Lesson', dice, world)}),
      moved as (update booking set resource_id = ${dice.oneOf(world.rooms)}, version = version + 1
        from meant where booking.mandator_id = meant.mandator_id and booking.id = meant.booking_id returning booking.id, booking.resource_id)
      update lesson set resource_id = moved.resource_id, ursprung = coalesce(lesson.ursprung, jsonb_build_object(
          'RessourceName', meant.name, 'Lehrpersonen', meant.lehrpersonen,
          'Beginn', to_char(meant.beginn at time zone 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS.MS"Z"'),
          'Ende', to_char(meant.ende at time zone 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS.MS"Z"')))
        from moved, meant where lesson.mandator_id = ${world.mandatorId} and lesson.booking_id = moved.id`,
  ],
  teacher: [
    2,
    (world, dice) => `with changed as (update booking set version = version + 1
        where mandator_id = ${world.mandatorId} and id = ${someBooking('Lesson', dice, world)} returning id)
      update lesson set lehrpersonen = '{T${world.counter}}' from changed where mandator_id = ${world.mandatorId} and booking_id = changed.id`,
  ],
  dropLesson: [
    2,
    (world, dice) => `with dropped as (update booking set status = 'Cancelled', version = version + 1
        where mandator_id = ${world.mandatorId} and id = ${someBooking('Lesson', dice, world)} returning id)
      update lesson set status = 'Entfaellt' from dropped where mandator_id = ${world.mandatorId} and booking_id = dropped.id`,
  ],
  roomName: [3, changeRoom(({ counter }) => `name = left(name, 1) || ' ${counter}'`)],
  retire: [2, changeRoom(() => 'active = false')],
  reactivate: [3, changeRoom(() => 'active = true')],
  moveRoom: [3, changeRoom(({ locations }, dice) => `location_id = ${dice.oneOf(locations)}`)],
  placeName: [1, changePlace(({ counter }) => `name = 'P ${counter} ' || id`)],
  zone: [
    2,
    changePlace((_world, dice) => `time_zone = '${dice.oneOf(['Europe/Berlin', 'Asia/Tokyo', 'America/Lima'])}'`),
  ],
  person: [
    2,
    ({ mandatorId, counter, organizers }, dice) =>
      `update person set name = 'N ${counter}' where mandator_id = ${mandatorId} and id = ${dice.oneOf(organizers)}`,
  ],
  open: [
    2,
    ({ mandatorId, locations }, dice) => `insert into opening_rule (mandator_id, location_id, weekdays, opens, closes)
      values (${mandatorId}, ${dice.oneOf(locations)}, '{1,2,3,4,5,6,7}', '0${dice.below(10)}:00', '${20 + dice.below(4)}:00')`,
  ],
  anyHours: [
    1,
    ({ mandatorId, locations }, dice) =>
      `delete from opening_rule where mandator_id = ${mandatorId} and location_id = ${dice.oneOf(locations)}`,
  ],
  loseListen: [1, () => kill('roomgate listen')],
  loseAll: [0.5, () => kill('roomgate')],
};
const bag = Object.entries(acts).flatMap(([name, [weight]]) => Array<string>(weight * 2).fill(name));

/** Ignores what the database refuses, such as two bookings at one time. */
const isRefused = (error: unknown) => /^(23|P0001)/.test((error as { code?: string }).code ?? '');

/** Does one of the acts, or does it and takes it back. */
export async function doSomething(writer: pg.Client, world: World, dice: Dice): Promise<void> {
  const name = dice.oneOf(bag);
  world.counter++;
  const statement = (acts[name] as [number, Act])[1](world, dice);
  await writer.query('begin');
  try {
    await writer.query(statement);
    await writer.query(dice.roll() < 0.1 ? 'rollback' : 'commit');
  } catch (error) {
    await writer.query('rollback');
    if (!isRefused(error)) throw new Error(`${name}: ${(error as Error).message}\n${statement}`);
  }
}
