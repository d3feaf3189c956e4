/**
 * Keeps the calendars of rooms on mail servers and the bookings here in step (specification 6).
 *
 * Terms: a **calendar** is a room's folder on the mail server; a **reading** fetches its content with our own credentials; a
 * **mail item** is an appointment in it; a **conflict** is a mail item whose room is occupied.
 *
 * Invariants:
 * - No connection to the database is held while a mail server is asked.
 * - Items, bookings and the cursor of a reading are written in one transaction, under the lock of the room.
 * - Each version of an item is declined at most once, and only while its room is taken.
 * - An item that was written from here never becomes a booking, unless somebody copies it or moves it to another room's calendar,
 *   and is written again only if somebody has changed it.
 * - A calendar stays marked as changed until a reading that began after the mark has succeeded.
 */
export { alignCalendars, followedSettings, hasCalendars, mayDeviate, openFaultLog } from './calendars.ts';
export { openCallback } from './callback.ts';
export { findConflictEvent } from './conflict-event.ts';
export { bookConflicts, hasConflicts } from './conflicts.ts';
export { mailFigures } from './figures.ts';
export { examineMail } from './health.ts';
export {
  type ListedItems,
  listConflictsOf,
  listDeclinedOf,
  listItems,
  listUnreadableOf,
  listUnwrittenOf,
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
  listCalendarsOf,
  listStateChangesOf,
  overseeCalendars,
  pushWorks,
  type StateChange,
  statusValues,
} from './status.ts';
export { forgetMailOrganizer } from './stored-items.ts';
export { synchroniseCalendar } from './sync.ts';
export { calendarTopic, watchCalendars } from './watch.ts';
export { queueWritings, writeCalendar } from './writing.ts';
