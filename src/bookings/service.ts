/**
 * Bookings: who has a resource when (contract 5.2).
 *
 * Terms: a booking **occupies** its resource from its Start less its setup to its End plus its teardown, half-open, while
 * it is **active**: Confirmed or Tentative. A **lesson** is a booking of Kind Lesson, which the import alone writes; a
 * **block** keeps a resource from being booked. A **series** is bookings that were made together by one recurrence rule and
 * live on their own from then on. A **no-show** is a booking that nobody has checked in by its limit.
 *
 * Invariants:
 * - No two active bookings of a resource overlap; a constraint of the database refuses it, whoever writes.
 * - Whoever takes room locks the rows of the resources first, in the order of their ids; who only gives room free need not.
 * - Cancelled and Released are final, but for two: a lesson that was cancelled may take place again, and a display may take
 *   back a release of its own within a minute, where the place is still free.
 * - `version` grows with every change and with nothing else; every change leaves a row in the outbox.
 * - What a private booking is about leaves this room only for its organizer, who made it, and Admins; what any booking is
 *   about, for a display, only if it made it.
 */
export { checkIn, countNoShows, releaseBooking, releaseNoShows } from './attendance.ts';
export { type Booking, type BookingKind, isActive } from './booking.ts';
export { cancelBooking } from './cancellation.ts';
export { changeBooking, extendBooking } from './change.ts';
export { type Created, createBooking } from './creation.ts';
export { type LessonOrigin, lessonOrigin, lessonStatus, toLessonOrigin } from './lektion.ts';
export {
  bookMailItems,
  cancelMailItems,
  type InTheWay,
  type MailBooking,
  type MailOutcome,
  type MailWish,
} from './mail-items.ts';
export { type BookableRoom, lockRooms } from './occupation.ts';
export { Occupied, type RoomConflict } from './occupied.ts';
export {
  bookingList,
  findBooking,
  getBooking,
  getResourceOf,
  hashForResource,
  listBookings,
  listForResource,
} from './reading.ts';
export { forgetOldUndos, undoBooking } from './undo.ts';
export { type BookingFrame, bookingTopic, frameLength, watchBookings } from './watch.ts';
export { bookingKind, checkIn as checkInRecord } from './wire.ts';
