/**
 * Inserts lessons and their bookings. The statements select from staged lessons with `booking_id` and `cancelled`; the caller
 * appends the `from`.
 */
import { sql } from 'kysely';
import type { BatchKey } from './batch.ts';

export const bookingStatus = sql`case when cancelled then 'Cancelled' else 'Confirmed' end`;
/** A cancelled lesson shares no booking. */
export const couplingId = sql`case when not cancelled then kopplung_id end`;

export const insertBookings = ({ mandatorId, id }: BatchKey) => sql`
  insert into booking (mandator_id, id, resource_id, kind, status, origin, subject, is_private, occupied, batch_id, coupling_id)
  overriding system value
  select ${mandatorId}, booking_id, resource_id, 'Lesson', ${bookingStatus}, 'Import', coalesce(titel, fach),
    coalesce(privat, false), tstzrange(beginn, ende), ${id}, ${couplingId}`;

export const insertLessonRows = ({ mandatorId }: BatchKey) => sql`
  insert into lesson (mandator_id, job, lektion_id, booking_id, resource_id, beginn, ende, status, titel, fach, klassen,
    lehrpersonen, bemerkung, kopplung_id, privat)
  select ${mandatorId}, job, lektion_id, booking_id, resource_id, beginn, ende, coalesce(status, 'Geplant'), titel, fach,
    klassen, lehrpersonen, bemerkung, kopplung_id, coalesce(privat, false)`;
