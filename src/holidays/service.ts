/**
 * Holidays: whole-day events of **holiday calendars**. The events come from an .ics file that an Admin sends, or from an address
 * that the worker reads every few hours. A calendar is for one location or for all; its holidays close them, or are only shown.
 * Exceptions of a location or a resource take precedence over holidays; `src/opening-hours/stored.ts` reads both.
 *
 * If a reading fails, the holidays of the last successful one stay, and the reason is stored. Deleting a calendar deletes its
 * holidays.
 */
export {
  calendarList,
  changeCalendar,
  createCalendar,
  deleteCalendar,
  findCalendar,
  getCalendar,
  type HolidayCalendarChanges,
  holidayList,
  type ListedHoliday,
  listCalendars,
  listHolidays,
  type NewCalendar,
} from './calendars.ts';
export { type ClosedBooking, closedBookingList, listClosedBookings } from './closed-bookings.ts';
export { hasDueCalendars, readDueCalendars } from './fetching.ts';
export { applyCalendars, readingOf, readSources } from './files.ts';
export type { HolidayReading } from './reading.ts';
export { sourceMembers, type WrittenSource } from './schema.ts';
export { type HolidayCalendar, mostCalendars, originOf } from './stored.ts';
