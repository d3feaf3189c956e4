/** The records in messages, as REST writes them and an Admin sees them. */
import { findBooking, toBookingRecord } from '../bookings/service.ts';
import type { Viewer } from '../context.ts';
import type { Database } from '../db/database.ts';
import { listDevicesById, toDisplayRecord } from '../displays/service.ts';
import { anyAdmin } from '../identity/service.ts';
import { findBatch, toBatchEntry } from '../lessons/service.ts';
import { findConflictEvent } from '../mail/service.ts';

type Read = (db: Database, viewer: Viewer, id: string) => Promise<object | undefined>;

const readers: Record<string, Read> = {
  async Booking(db, viewer, id) {
    const found = await findBooking(db, viewer, Number(id));
    return found && toBookingRecord(found);
  },
  async Batch(db, viewer, id) {
    const found = await findBatch(db, viewer, id);
    return found ? toBatchEntry(found) : undefined;
  },
  async Display(db, viewer, id) {
    const [found] = await listDevicesById(db, viewer, [Number(id)]);
    return found && toDisplayRecord(found);
  },
  async MailItem(db, viewer, id) {
    return await findConflictEvent(db, viewer, Number(id));
  },
};

/** Reads the record of a subject (`Booking 4711`) as it is now; only the id if it no longer exists. */
export async function readSubject(
  db: Database,
  { mandatorId, mandator }: { mandatorId: number; mandator: string },
  subject: string,
): Promise<object> {
  const [noun = '', id = ''] = subject.split(' ');
  const found = await readers[noun]?.(db, anyAdmin(mandatorId, mandator), id);
  return found ?? { Id: noun === 'Batch' ? id : Number(id) };
}
