/** The stored plans of rooms for three days, read for many rooms at once, before any level of privacy is applied. */
import { sql } from 'kysely';
import { type BookingKind, type CoupledLesson, mostOctets, orderOfLessons } from '../bookings/service.ts';
import { boundedList, octetsBefore } from '../db/bounded-list.ts';
import type { Database } from '../db/database.ts';
import { runPrepared, type Statement } from '../db/prepared.ts';
import { addDays } from '../time/days.ts';
import { localDateOf, startOfDate } from '../time/zones.ts';

/** A booking in a room's plan; instants are milliseconds since 1970. */
export type StoredSlot = {
  bookingId: number;
  version: number;
  kind: BookingKind;
  isActive: boolean;
  isTentative: boolean;
  isRequested: boolean;
  /** The lesson has moved to another room; the instants are those at which it was planned here. */
  isAway: boolean;
  from: number;
  to: number;
  start: number;
  end: number;
  isPrivate: boolean;
  subject: string | null;
  organizer: string | null;
  organizerId: number | null;
  checkInFrom: number | null;
  checkInUntil: number;
  checkedInAt: number | null;
  /** Its present time, which differs from `start` and `end` if it has moved away. */
  startNow: number;
  endNow: number;
  /** Where it is now. */
  roomId: number;
  roomName: string;
  lessons: CoupledLesson[] | null;
};

export type StoredPlan = {
  resourceId: number;
  name: string;
  kind: string;
  capacity: number | null;
  equipment: string[];
  isActive: boolean;
  locationId: number;
  locationName: string;
  /** IANA zone of the location. */
  timeZone: string;
  /** Three days at the location: where today begins, where tomorrow does, and where the third day ends. */
  start: number;
  midnight: number;
  end: number;
  /** In order of `from`. */
  slots: StoredSlot[];
};

const millis = (instant: string) => `(extract(epoch from ${instant}) * 1000)::float8`;
/** In the format of the instants of an Ursprung. */
const text = (instant: string) => `to_char((${instant}) at time zone 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS.MS"Z"')`;

/** Around $3, wide enough for the three days of any zone with changes of the clocks. */
const [windowStart, windowEnd] = ["($3::timestamptz - interval '28 hours')", "($3::timestamptz + interval '76 hours')"];

/** The lessons of `booking` as the plan of `resource` shows it. */
const lessons = `
select lesson.job, lesson.lektion_id, json_build_object(
  'status', lesson.status, 'klassen', lesson.klassen, 'lehrpersonen', lesson.lehrpersonen,
  'ursprung', lesson.ursprung, 'originRoom', lesson.origin_resource_id,
  'originName', case when lesson.origin_resource_id is not null then (
    select name from resource as origin where origin.mandator_id = $1 and origin.id = lesson.origin_resource_id) end
) as content
from lesson
where lesson.mandator_id = $1 and lesson.booking_id = booking.id and booking.kind = 'Lesson'
  and (not booking.away or lesson.origin_resource_id = resource.id)`;

/**
 * The slots of `resource`: three index scans, of its active bookings, its cancelled lessons (with the statuses of
 * booking_inactive, so that PostgreSQL uses this partial index), and the lessons that have moved away from it. No lesson lasts
 * longer than a day.
 */
const slots = `
select booking.from, booking.to, booking.away, booking.id, json_build_object(
  'bookingId', booking.id, 'version', booking.version, 'kind', booking.kind,
  'isActive', booking.status in ('Confirmed', 'Tentative'), 'isTentative', booking.status = 'Tentative',
  'isRequested', booking.status = 'Tentative' and booking.approval is not distinct from 'Requested', 'isAway', booking.away,
  'from', ${millis('booking.from')}, 'to', ${millis('booking.to')},
  'start', ${millis('booking.from + make_interval(mins => booking.setup_minutes)')},
  'end', ${millis('booking.to - make_interval(mins => booking.teardown_minutes)')},
  'startNow', ${millis('lower(booking.occupied) + make_interval(mins => booking.setup_minutes)')},
  'endNow', ${millis('upper(booking.occupied) - make_interval(mins => booking.teardown_minutes)')},
  'isPrivate', booking.is_private, 'subject', booking.subject, 'organizer', coalesce(organizer.name, booking.organizer_name), 'organizerId', booking.organizer_id,
  'checkInFrom', ${millis('booking.check_in_from')}, 'checkInUntil', ${millis('booking.check_in_until')},
  'checkedInAt', ${millis('booking.checked_in_at')}, 'roomId', booking.resource_id, 'roomName', case when booking.away then (
    select name from resource as room where room.mandator_id = $1 and room.id = booking.resource_id) else resource.name end, 'lessons', lesson.list
) as content
from (
  select booking.*, lower(booking.occupied) as "from", upper(booking.occupied) as "to", false as away from booking
  where booking.resource_id = resource.id and booking.occupied && tstzrange(${windowStart}, ${windowEnd})
    and booking.status in ('Confirmed', 'Tentative')
  union all
  select booking.*, lower(booking.occupied), upper(booking.occupied), false from booking
  where booking.resource_id = resource.id and booking.occupied && tstzrange(${windowStart}, ${windowEnd})
    and booking.status in ('Cancelled', 'Released') and booking.status = 'Cancelled' and booking.kind = 'Lesson'
  union all
  select booking.*, gone.begins, gone.ends, true
  from (
    select distinct lesson.booking_id, (lesson.ursprung ->> 'Beginn')::timestamptz as begins,
      (lesson.ursprung ->> 'Ende')::timestamptz as ends
    from lesson
    where lesson.mandator_id = $1 and lesson.origin_resource_id = resource.id and lesson.resource_id <> resource.id
      and lesson.ursprung ->> 'Beginn' > ${text(`${windowStart} - interval '1 day'`)}
      and lesson.ursprung ->> 'Beginn' < ${text(windowEnd)} and lesson.ursprung ->> 'Ende' > ${text(windowStart)}
  ) as gone
  join booking on booking.mandator_id = $1 and booking.id = gone.booking_id
) as booking
left join person as organizer on organizer.mandator_id = $1 and organizer.id = booking.organizer_id
left join lateral (
  select ${boundedList(orderOfLessons, mostOctets)} as list
  from (select lesson.*, ${octetsBefore(orderOfLessons)} from (${lessons} offset 0) as lesson) as lesson
) as lesson on true`;

const orderOfSlots = 'booking.from, booking.away, booking.id';
/** The size of the slots of a room, as JSON. */
const mostOctetsOfRoom = 1_000_000;

/**
 * $1 tenant, $2 resources, $3 now. Zones are not computed here: a zone that PostgreSQL does not know would fail the rooms of
 * all locations. If not all slots of a room fit, those that are over are left out first.
 */
const plans = `
select resource.id as "resourceId", resource.name, resource.kind, resource.capacity, resource.equipment,
  resource.active as "isActive", location.id as "locationId", location.name as "locationName",
  location.time_zone as "timeZone", coalesce(slots.list, '[]') as slots
from unnest((select $2::integer[])) as asked(id)
join resource on resource.mandator_id = $1 and resource.id = asked.id
join location on location.mandator_id = $1 and location.id = resource.location_id
left join lateral (
  select ${boundedList(orderOfSlots, mostOctetsOfRoom)} as list
  from (
    select booking.*, ${octetsBefore(`booking.to <= $3, ${orderOfSlots}`)} from (${slots} offset 0) as booking
  ) as booking
) as slots on true`;

export const readsPlans: Statement = { name: 'plans of rooms', sql: plans };

/** The plans of these resources, active or not, in no order; resources that the tenant does not have are left out. */
export async function readPlans(
  db: Database,
  mandatorId: number,
  resourceIds: readonly number[],
  now: Date,
): Promise<StoredPlan[]> {
  const rows = await runPrepared<Omit<StoredPlan, keyof Days>>(db, readsPlans, [mandatorId, resourceIds, now]);
  const known = new Map<string, Days>();
  return rows.map((row) => {
    const days = known.get(row.timeZone) ?? daysOf(row.timeZone, now);
    known.set(row.timeZone, days);
    return { ...row, ...days, slots: row.slots.filter(({ from, to }) => from < days.end && to > days.start) };
  });
}

type Days = Pick<StoredPlan, 'start' | 'midnight' | 'end'>;

function daysOf(timeZone: string, now: Date): Days {
  const today = localDateOf(now, timeZone);
  const startOf = (days: number) => startOfDate(addDays(today, days), timeZone).getTime();
  return { start: startOf(0), midnight: startOf(1), end: startOf(3) };
}

/** The active resources of each of these locations of the tenant, in order of their names. */
export async function readMembers(
  db: Database,
  mandatorId: number,
  locationIds: readonly number[],
): Promise<Map<number, number[]>> {
  const rows = await db
    .selectFrom('location')
    .leftJoin('resource', (join) =>
      join
        .onRef('resource.mandator_id', '=', 'location.mandator_id')
        .onRef('resource.location_id', '=', 'location.id')
        .on('resource.active', '=', true),
    )
    .where('location.mandator_id', '=', mandatorId)
    .where('location.id', '=', sql<number>`any(${locationIds})`)
    .groupBy('location.id')
    .select([
      'location.id',
      sql<
        number[]
      >`coalesce(array_agg(resource.id order by resource.name_key) filter (where resource.id is not null), '{}')`.as(
        'members',
      ),
    ])
    .execute();
  return new Map(rows.map(({ id, members }) => [id, members]));
}
