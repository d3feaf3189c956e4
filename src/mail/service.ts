/**
 * What the calendars of rooms on the mail servers hold, as bookings (specification 6).
 *
 * Terms: a **calendar** is a room's folder on the mail server; a **reading** asks the mail server with our own credentials what
 * it holds; a **mail item** is an appointment in it; a **conflict** is a mail item whose room is occupied.
 *
 * Invariants:
 * - No connection to the database is held while a mail server is asked.
 * - Items, bookings and the cursor of a reading are written in one transaction, under the lock of the room.
 * - An organizer is told once of each version of an item that has no room, and only while it has none.
 * - An item that was written from here never becomes a booking, and is written again only where somebody has changed it.
 * - A calendar stays marked as changed until a reading that began after the mark has ended well.
 */
export { alignCalendars, followedSettings, hasCalendars, mayDeviate, openFaultLog } from './calendars.ts';
export { openCallback } from './callback.ts';
export { findConflictEvent } from './conflict-event.ts';
export { bookConflicts, hasConflicts } from './conflicts.ts';
export { mailFigures } from './figures.ts';
export { examineMail } from './health.ts';
export {
  type Decline,
  listConflicts,
  listDeclined,
  listUnreadable,
  listUnwritten,
  type MailConflict,
  most,
  type UnreadableItem,
  type UnwrittenItem,
} from './item-lists.ts';
export { pollCalendars, requestReadings } from './polling.ts';
export { getCalendar, mostReadingsPerMinute, readCalendarNow } from './requests.ts';
export {
  type CalendarRoom,
  type CalendarStatus,
  findCalendar,
  findCalendarOf,
  getRoom,
  type ListedCalendar,
  listCalendarsOf,
  listStateChanges,
  overseeCalendars,
  pushWorks,
  type StateChange,
  statusValues,
} from './status.ts';
export { forgetMailOrganizer } from './stored-items.ts';
export { synchroniseCalendar } from './sync.ts';
export { calendarTopic, watchCalendars } from './watch.ts';
export { queueWritings, writeCalendar } from './writing.ts';
