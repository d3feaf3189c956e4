/** The record of a mail item in conflict, as webhooks send it. */
import { sql } from 'kysely';
import { checkOverseer } from '../access.ts';
import { occupies } from '../bookings/service.ts';
import type { Viewer } from '../context.ts';
import type { Database } from '../db/database.ts';

/** Members as the record `MailConflict` of REST has them, with the item and its room. */
export type ConflictEvent = {
  Id: number;
  ResourceId: number;
  ResourceName: string;
  Mailbox: string;
  Subject: string | null;
  Start: Date | null;
  End: Date | null;
  Uid: string | null;
  Reason: string | null;
  OrganizerName: string | null;
  OrganizerEmail: string | null;
  BookingId: number | null;
};

/** The current state of a mail item; by now it may have its booking. @throws Forbidden */
export async function findConflictEvent(db: Database, viewer: Viewer, id: number): Promise<ConflictEvent | undefined> {
  checkOverseer(viewer);
  const { rows } = await sql<ConflictEvent>`
    select item.id::float8 as "Id", calendar.resource_id as "ResourceId", resource.name as "ResourceName",
      calendar.mailbox as "Mailbox", item.subject as "Subject", lower(item.occupied) as "Start",
      upper(item.occupied) as "End", item.uid as "Uid", item.reason as "Reason", item.organizer_name as "OrganizerName",
      item.organizer_email as "OrganizerEmail", (
        select booking.id::float8 from booking
        where booking.mandator_id = item.mandator_id and booking.resource_id = calendar.resource_id
          and ${occupies} and booking.occupied && item.occupied
        order by lower(booking.occupied) limit 1) as "BookingId"
    from mail_item as item
    join mail_calendar as calendar on calendar.mandator_id = item.mandator_id and calendar.id = item.calendar_id
    join resource on resource.mandator_id = calendar.mandator_id and resource.id = calendar.resource_id
    where item.mandator_id = ${viewer.mandatorId} and item.id = ${id}`.execute(db);
  return rows[0];
}
