import { sql } from 'kysely';
import type { Database } from '../../src/db/database.ts';
import { ahead } from './ahead.ts';

/** When the booking of hour 0 begins. */
export const firstStored = Date.parse(ahead('2027-03-01T00:00Z'));

/** Inserts consecutive bookings of an hour each in one room, directly into the table; `first` is the first one's hour. */
export async function insertBookings(
  db: Database,
  mandatorId: number,
  resourceId: number,
  options: { count?: number; first?: number; kind?: 'Booking' | 'Block'; isRequested?: boolean } = {},
): Promise<number[]> {
  const { count = 1, first = 0, kind = 'Booking', isRequested = false } = options;
  const { rows } = await sql<{ id: number }>`
    insert into booking (mandator_id, resource_id, kind, status, approval, origin, subject, occupied)
    select ${mandatorId}, ${resourceId}, ${kind}, ${isRequested ? 'Tentative' : 'Confirmed'},
      ${isRequested ? 'Requested' : null}, 'Api', 'Sitzung',
      tstzrange(start, start + interval '1 hour')
    from (select ${new Date(firstStored)}::timestamptz + make_interval(hours => ${first} + hour) as start
      from generate_series(0, ${count} - 1) as hour) as slot
    returning id`.execute(db);
  return rows.map(({ id }) => id);
}
