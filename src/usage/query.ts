/**
 * The single statement behind all usage figures. It is given opening hours and offsets, because only Node.js computes local
 * times.
 */
import { type RawBuilder, sql } from 'kysely';
import { occupies, startOfBooking } from '../bookings/service.ts';
import type { Database } from '../db/database.ts';
import type { OpenStretch } from '../opening-hours/service.ts';
import type { Offset } from '../time/zone.ts';

export type Use = {
  openMinutes: number;
  occupiedMinutes: number;
  outsideMinutes: number;
  unusedMinutes: number;
  bookings: number;
  noShows: number;
  releasedEarly: number;
};

export const noUse: Use = {
  openMinutes: 0,
  occupiedMinutes: 0,
  outsideMinutes: 0,
  unusedMinutes: 0,
  bookings: 0,
  noShows: 0,
  releasedEarly: 0,
};

/** The period of a query at a location, as stretches with one offset each. */
export type AskedTime = { locationId: number; offsets: readonly Offset[]; ends: Date };

/** How the figures are grouped. */
export type Grouping = 'resource' | 'hour' | 'week';

/** The unit into which local time is cut, the columns that identify a group, and the name of a group. */
const cuts: Record<Grouping, { unit: string; columns: RawBuilder<unknown>; key: RawBuilder<unknown> }> = {
  // Longer than any period of a query.
  resource: { unit: 'millennium', columns: sql`room_id`, key: sql`room_id::text` },
  hour: { unit: 'hour', columns: sql`at`, key: sql`extract(isodow from at) || ' ' || extract(hour from at)` },
  week: { unit: 'week', columns: sql`location_id, at`, key: sql`location_id || ' ' || to_char(at, 'YYYY-MM-DD')` },
};

/** @returns the use by `room`, `weekday hour` or `location Monday`; groups without any are absent */
export async function selectUse(
  db: Database,
  mandatorId: number,
  {
    rooms,
    asked,
    open,
    step,
  }: {
    rooms: readonly { id: number; locationId: number }[];
    asked: readonly AskedTime[];
    /** By resource. Resources that are always open are absent, and resources with the same hours share an array. */
    open: ReadonlyMap<number, OpenStretch[]>;
    step: Grouping;
  },
): Promise<Map<string, Use>> {
  const hours = [...new Set(open.values())];
  const numbers = new Map(hours.map((stretches, index) => [stretches, index + 1]));
  const numberOf = (id: number) => numbers.get(open.get(id) as OpenStretch[]) ?? null;
  const clocks = asked.flatMap(({ locationId, offsets, ends }) =>
    offsets.map(({ from, offset }, index) => ({
      locationId,
      ahead: offset / 1_000,
      begins: new Date(from),
      ends: new Date(offsets[index + 1]?.from ?? ends),
    })),
  );
  const { unit, columns, key } = cuts[step];
  const length = `1 ${unit}`;
  const { rows } = await sql<Use & { key: string }>`
    with hours as (
      select number, open::tstzmultirange
      from unnest(${hours.map(toMultirange)}::text[]) with ordinality as hours(open, number)
    ), clock as (
      select location_id, tstzrange(begins, ends) as during, make_interval(secs => ahead) as ahead
      from unnest(${clocks.map((one) => one.locationId)}::integer[], ${clocks.map((one) => one.begins)}::timestamptz[],
        ${clocks.map((one) => one.ends)}::timestamptz[], ${clocks.map((one) => one.ahead)}::float8[])
        as clock(location_id, begins, ends, ahead)
    ), asked as (
      select location_id, range_agg(during) as asked from clock group by location_id
    ), room as (
      select room.id, location_id, asked, range_merge(asked) as around, coalesce(open, '{(,)}') * asked as open
      from unnest(${rooms.map(({ id }) => id)}::integer[], ${rooms.map(({ locationId }) => locationId)}::integer[],
        ${rooms.map(({ id }) => numberOf(id))}::integer[]) as room(id, location_id, number)
      join asked using (location_id)
      left join hours using (number)
    ), booked as materialized (
      select room.id as room_id, location_id, kind = 'Block' as blocks, occupied, freed,
        ${startOfBooking} as start,
        occupied * tstzrange(null, freed) as held,
        coalesce(checked_in_at is null and check_in_until <= freed, false) as missed
      from room cross join lateral (
        select booking.*, null::timestamptz as freed from booking
        where mandator_id = ${mandatorId} and resource_id = room.id and booking.occupied && around and ${occupies}
        union all
        select booking.*, coalesce(released_at, changed_at) from booking
        where mandator_id = ${mandatorId} and resource_id = room.id and booking.occupied && around
          and booking.status = 'Released'
      ) as booking
    ), taken as (
      select room_id, range_agg(held) filter (where blocks) as blocked, range_agg(held) filter (where not blocks) as held
      from booked group by room_id
    ), use as (
      select room.id as room_id, location_id, open - coalesce(blocked, '{}') as open, coalesce(held, '{}') as held
      from room left join taken on taken.room_id = room.id
    ), piece(room_id, location_id, what, during) as (
      select room_id, location_id, 'open', unnest(open) from use
      union all select room_id, location_id, 'occupied', unnest(held * open) from use
      union all select room_id, location_id, 'outside', unnest(held - open) from use
      union all select room_id, location_id, 'unused', case when missed then occupied else occupied * tstzrange(freed, null) end
      from booked where freed is not null and not blocks
    ), local as (
      select room_id, piece.location_id, what,
        lower(piece.during * clock.during) at time zone 'UTC' + ahead as begins,
        upper(piece.during * clock.during) at time zone 'UTC' + ahead as ends
      from piece join clock on clock.location_id = piece.location_id and clock.during && piece.during
    ), summed as (
      select ${columns}, what,
        sum(date_part('epoch', least(ends, at + ${length}::interval) - greatest(begins, at))) / 60 as minutes
      from local,
        generate_series(date_trunc(${unit}, begins), ends - interval '1 microsecond', ${length}::interval) as at
      group by ${columns}, what
    ), started as (
      select room_id, location_id, date_trunc(${unit}, start at time zone 'UTC' + ahead) as at, missed,
        not missed and freed < upper(occupied) as early
      from booked join clock using (location_id)
      where not blocks and clock.during @> start
    ), counted as (
      select ${columns}, count(*) as bookings, count(*) filter (where missed) as missed, count(*) filter (where early) as early
      from started group by ${columns}
    )
    select key, ${minutesOf('open')} as "openMinutes", ${minutesOf('occupied')} as "occupiedMinutes",
      ${minutesOf('outside')} as "outsideMinutes", ${minutesOf('unused')} as "unusedMinutes",
      coalesce(sum(bookings), 0)::integer as bookings, coalesce(sum(missed), 0)::integer as "noShows",
      coalesce(sum(early), 0)::integer as "releasedEarly"
    from (
      select ${key} as key, what, minutes, null::bigint as bookings, null::bigint as missed, null::bigint as early from summed
      union all select ${key}, null, null, bookings, missed, early from counted
    ) as part
    group by key`.execute(db);
  return new Map(rows.map(({ key: of, ...use }) => [of, use]));
}

const minutesOf = (what: string) =>
  sql`round(coalesce(sum(minutes) filter (where what = ${sql.lit(what)}), 0))::integer`;

const toMultirange = (stretches: readonly OpenStretch[]) =>
  `{${stretches.map(({ start, end }) => `[${start.toISOString()},${end.toISOString()})`).join()}}`;
