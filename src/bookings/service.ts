/**
 * Bookings of resources (contract 5.2).
 *
 * Terms: while a booking is **active** (Requested, Confirmed or Tentative), it **occupies** its resource from Start minus setup to End
 * plus teardown, half-open. A **lesson** is a booking of Kind Lesson, which only the import writes; a **block** keeps a
 * resource from being booked. A **series** is a set of bookings that were created by one recurrence rule and are
 * independent afterwards. A **request** is a booking that waits for approval. A **no-show** is a booking that has not been checked in by its limit.
 *
 * Invariants:
 * - No two active bookings of a resource overlap; an exclusion constraint of the database guards every write.
 * - A write that may occupy more of a resource first locks the rows of its resources, in the order of their ids.
 * - Cancelled, Declined and Released are final, with two exceptions: a cancelled lesson may take place again, and a display may undo
 *   its own release within a minute if the place is still free.
 * - `version` grows with every change and with nothing else; every change leaves a row in the feed of changes.
 * - Only the organizer, the creator, Admins and those who decide about it see the content of a private booking; a display sees
 *   only the content of bookings that it made.
 */
export { checkIn, countNoShows, hasNoShows, releaseBooking, releaseNoShows } from './attendance.ts';
export { type Booking, type BookingFilter, type BookingKind, busySubject, isActive } from './booking.ts';
export { cancelBooking } from './cancellation.ts';
export { changeBooking, extendBooking } from './change.ts';
export {
  type CoupledLesson,
  changeOfPlan,
  mostCoupled,
  mostOctets,
  orderOfLessons,
  type PlanChange,
  together,
} from './coupled.ts';
export { type Created, createBooking } from './creation.ts';
export { decideBooking, declineOverdue, hasOverdue } from './decision.ts';
export { type LessonOrigin, lessonOrigin, lessonStatus, longestLesson, toLessonOrigin } from './lektion.ts';
export {
  bookMailItems,
  cancelMailItems,
  type InTheWay,
  type MailBooking,
  type MailOutcome,
  type MailWish,
} from './mail-items.ts';
export {
  type BookableRoom,
  type BookingPolicy,
  lockRooms,
  policyOf,
  roomOccupied,
  writeBookings,
} from './occupation.ts';
export { Occupied, type RoomConflict } from './occupied.ts';
export { roomConflict, toConflictRecord } from './occupied-wire.ts';
export { forgetOrganizer, isOrganizer, type OrganizerNames } from './persons.ts';
export { filtersByContent, type Questions, questions } from './questions.ts';
export {
  bookingList,
  findBooking,
  findLocationOf,
  findOrganizer,
  getBooking,
  getResourceOf,
  hashForFeed,
  listBookings,
  listBookingsOf,
  listForFeed,
  windowOf,
} from './reading.ts';
export { forgetBookings, forgetOldBookings, type RetentionWork } from './retention.ts';
export { listLimitFaults, listTimeFaults } from './rules.ts';
export { lessonMatches, namesTeacher } from './search.ts';
export { endOfBooking, occupies, occupiesAs, startOfBooking } from './status.ts';
export { filterOfTimetable } from './timetable.ts';
export { forgetOldUndos, undoBooking } from './undo.ts';
export { cancelUpcoming, countUpcoming, moveUpcoming, type Upcoming } from './upcoming.ts';
export { type BookingFrame, bookingTopic, frameLength, watchBookings } from './watch.ts';
export { bookingKind, checkIn as checkInRecord, conflictHandling, toBookingRecord } from './wire.ts';
