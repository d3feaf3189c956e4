/**
 * Holidays: whole-day events of **holiday calendars**, which come from an .ics file that an Admin sends, or whose address the
 * worker reads again and again. A calendar is of one location or of all, and closes them on its days or only shows these.
 * What a location or a resource has of exceptions wins over holidays; `src/opening-hours/stored.ts` reads both.
 *
 * A reading that fails leaves the holidays of the last one, and says why. The removal of a calendar removes its holidays.
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
export { applyCalendars, readSources, tellSource } from './files.ts';
export type { HolidayReading } from './reading.ts';
export { sourceMembers, type WrittenSource } from './schema.ts';
export { type HolidayCalendar, mostCalendars, originOf } from './stored.ts';
