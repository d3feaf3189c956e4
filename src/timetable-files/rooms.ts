/** Matches the names of rooms in files with the rooms of the tenant, and finds the time zone of the timetable. */
import { sql } from 'kysely';
import { closestMatch } from 'leven';
import type { Viewer } from '../context.ts';
import type { Database } from '../db/database.ts';
import { InvalidInput } from '../errors.ts';
import type { EntrySource } from './entries.ts';
import { type FaultReport, shown } from './faults.ts';
import type { CompleteRequest } from './profiles.ts';

/** The most unknown rooms for which a similar name is suggested, and the most rooms that are compared for it. */
const mostSuggested = 20;
const mostCompared = 5_000;

/** The form in which names of rooms are compared: trimmed, in NFC and in lower case. */
export const comparedName = (name: string) => name.trim().normalize('NFC').toLowerCase();

/** A room with a similar name, or whose name begins with the other or vice versa; undefined if there is none. */
function findSimilar(name: string, rooms: readonly string[]): string | undefined {
  const key = comparedName(name.slice(0, 64));
  const byKey = new Map(rooms.map((room) => [comparedName(room), room]));
  const keys = [...byKey.keys()];
  const near =
    closestMatch(key, keys, { maxDistance: Math.floor(key.length / 2) }) ??
    keys.find((other) => other.startsWith(key) || key.startsWith(other));
  return near === undefined ? undefined : byKey.get(near);
}

type NamedRoom = EntrySource & { name: string; count: number };

/** The rooms that files name, each with its first place and how often it occurs. */
export function openRooms({ Rooms }: Pick<CompleteRequest, 'Rooms'>) {
  const renamed = new Map(Rooms.map(({ Name, RessourceName }) => [comparedName(Name), RessourceName]));
  const named = new Map<string, NamedRoom>();
  /** The tenant's spelling of each name, which a file may spell in several ways. */
  const spelled = new Map<string, string>();
  const roomOf = (name: string): string | null => {
    const found = renamed.get(comparedName(name));
    const room = found === undefined ? name.trim() : found;
    return room === null ? null : (spelled.get(room) ?? room);
  };
  return {
    roomOf,
    note({ file, line, roomColumn }: EntrySource, name: string): void {
      const room = roomOf(name);
      if (room === null) return;
      const before = named.get(room);
      if (before) before.count++;
      else named.set(room, { file, line, ...(roomColumn && { roomColumn }), name, count: 1 });
    },
    /** Reports each room that the tenant does not have once. From then on `roomOf` returns the tenant's spelling of the others. */
    async check(db: Database, viewer: Viewer, standort: string | null, report: FaultReport): Promise<void> {
      const isSeen = sql`resource.mandator_id = ${viewer.mandatorId} and resource.id <> all (${viewer.hiddenRooms}::integer[])`;
      const ofTenant = sql`${isSeen} and (${standort}::text is null or resource.location_id in (
          select id from location where location.mandator_id = ${viewer.mandatorId} and location.name_key = name_key(${standort})))`;
      const found = await sql<{ name: string; matches: number; spelling: string; retired: number }>`
        select wanted.name, count(*) filter (where resource.active)::int as matches,
          min(resource.name) filter (where resource.active) as spelling,
          count(*) filter (where not resource.active)::int as retired
        from unnest(${[...named.keys()]}::text[]) as wanted (name)
        left join resource on resource.name_key = name_key(wanted.name) and ${ofTenant}
        group by 1`.execute(db);
      for (const { name, matches, spelling } of found.rows) if (matches === 1) spelled.set(name, spelling);
      const rows = found.rows.filter(({ matches }) => matches !== 1);
      if (rows.length === 0) return;
      const known = await sql<{ name: string }>`
        select name from resource where ${ofTenant} and active order by name limit ${mostCompared}`.execute(db);
      const names = known.rows.map(({ name }) => name);
      const elsewhere = await sql<{ name: string; location: string }>`
        select wanted.name, min(location.name) as location
        from unnest(${rows.map(({ name }) => name)}::text[]) as wanted (name)
        join resource on resource.name_key = name_key(wanted.name) and resource.active and ${isSeen}
        join location on location.mandator_id = resource.mandator_id and location.id = resource.location_id
        group by 1`.execute(db);
      const locations = new Map(elsewhere.rows.map(({ name, location }) => [name, location]));
      for (const [at, { name: room, matches, retired }] of rows.entries()) {
        const { file, line, roomColumn: column, name, count } = named.get(room) as NamedRoom;
        const times = count === 1 ? '' : ` (in ${count} lines)`;
        const place = { file, line, column, field: 'Raum' };
        if (matches > 1) {
          report.fault(
            place,
            'AmbiguousRoom',
            `more than one location has a room ${shown(name)}${times}; name the location in Standort, or rename a room if the files have rooms of several locations`,
          );
          continue;
        }
        const said =
          comparedName(name) === comparedName(room) ? shown(name) : `${shown(room)}, as Rooms calls ${shown(name)},`;
        if (retired > 0) {
          report.fault(
            place,
            'UnknownRoom',
            `${said} is a retired room${times}; correct it, or map it in Rooms to another room`,
          );
          continue;
        }
        const location = locations.get(room);
        if (location !== undefined) {
          report.fault(
            place,
            'UnknownRoom',
            `${said} is a room of ${shown(location)}, not of ${shown(standort ?? '')}${times}; map it in Rooms to a room of that location, or send no Standort`,
          );
          continue;
        }
        const near = at < mostSuggested ? findSimilar(room, names) : undefined;
        const separated = /[,;+/&]/.test(name) ? '; two rooms in one field are separated by ~' : '';
        report.fault(
          place,
          'UnknownRoom',
          `${said} is not a room${times}${near === undefined ? '' : ` (${near}?)`}; correct it, or map it in Rooms to its name here${separated}`,
        );
      }
    },
  };
}

/** Finds the name of the time zone. @throws InvalidInput for an unknown location, or when nothing determines the zone */
export async function findZoneName(
  db: Database,
  { mandatorId }: Viewer,
  { TimeZone, Standort }: CompleteRequest,
): Promise<string> {
  if (TimeZone && !Standort) return TimeZone;
  const { rows } = await sql<{ zone: string }>`
    select distinct time_zone as zone from location
    where mandator_id = ${mandatorId} and active and (${Standort ?? null}::text is null or name_key = name_key(${Standort ?? ''}))
    limit 2`.execute(db);
  const [zone] = rows;
  if (!zone) throw new InvalidInput(`Standort: there is no location ${Standort ?? ''}.`);
  if (TimeZone) return TimeZone;
  if (rows.length === 1) return zone.zone;
  throw new InvalidInput(
    'TimeZone: the locations have different time zones; send that of the timetable, or name the location in Standort.',
  );
}
