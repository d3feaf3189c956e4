/** What a booking is, here and on the wire (contract 5.2). */
import { maySee, mayShow } from '../access.ts';
import type { Viewer } from '../context.ts';
import type { CoupledLesson } from './coupled.ts';
import type { Lektion } from './lektion.ts';
import type { Questions } from './questions.ts';

export const bookingStatuses = ['Requested', 'Confirmed', 'Tentative', 'Declined', 'Cancelled', 'Released'] as const;
export type BookingStatus = (typeof bookingStatuses)[number];
export const bookingKinds = ['Booking', 'Lesson', 'MailItem', 'Block'] as const;
export type BookingKind = (typeof bookingKinds)[number];
export const originSystems = ['Api', 'Import', 'Mail', 'Display'] as const;
export type OriginSystem = (typeof originSystems)[number];
/** Which bookings of a series a change applies to, relative to the named one. */
export const scopes = ['This', 'Following', 'All'] as const;
export type Scope = (typeof scopes)[number];
/** What a request for a series with conflicts creates: nothing, or the bookings without conflict. */
export const conflictHandlings = ['Fail', 'Skip'] as const;
export type ConflictHandling = (typeof conflictHandlings)[number];
export const verdicts = ['Approved', 'Declined'] as const;
export type DecisionVerdict = (typeof verdicts)[number];

export type Booking = {
  id: number;
  /** RFC 5545. */
  uid: string;
  resourceId: number;
  resourceName: string;
  locationId: number;
  subject: string | null;
  description: string | null;
  start: Date;
  end: Date;
  /** IANA zone of the location. */
  timeZone: string;
  status: BookingStatus;
  kind: BookingKind;
  /**
   * Null for a lesson, and for a viewer who may not see a private booking. A mail item may have an organizer from outside
   * the tenant: without a person id, and without an address if the mail server gives none.
   */
  organizer: { personId: number | null; displayName: string; email: string | null } | null;
  isPrivate: boolean;
  seriesId: number | null;
  recurrenceRule: string | null;
  setupMinutes: number;
  teardownMinutes: number;
  /** Null when the booking needs no check-in. */
  checkIn: { required: boolean; from: Date; until: Date; checkedInAt: Date | null } | null;
  origin: {
    system: OriginSystem;
    batchId: string | null;
    jobId: string | null;
    lektionId: string | null;
    mailItemId: string | null;
  };
  /** The lesson of the booking; the first of coupled ones, with the classes and teachers of all. `lessons` are all of them. */
  lektion: (Lektion & { lessons: readonly CoupledLesson[] }) | null;
  createdAt: Date;
  createdBy: { personId: number; displayName: string } | null;
  /** Null for an undecided booking. `by` is null when it was declined because it began undecided. */
  decision: {
    verdict: DecisionVerdict;
    at: Date;
    by: { personId: number; displayName: string } | null;
    reason: string | null;
  } | null;
  changedAt: Date;
  version: number;
};

/**
 * A booking with all its content, before `asSeenBy` hides what the viewer may not see. `deciders` are the groups that may
 * decide about it; null when it is not requested.
 */
export type StoredBooking = Booking & { deciders: readonly number[] | null };

/** The statuses of bookings that occupy their resources. */
const occupyingStatuses: readonly BookingStatus[] = ['Requested', 'Confirmed', 'Tentative'];

/** Whether a booking occupies its resource. */
export const isActive = ({ status }: { status: BookingStatus }) => occupyingStatuses.includes(status);

/** Written where a subject is missing, or the viewer may not see it. */
export const busySubject = 'Belegt';

/** The values that replace the content of a booking that the viewer may not see; lessons have their own. */
const occupiedOnly = {
  subject: busySubject,
  description: null,
  organizer: null,
  // Either member would reveal which private bookings belong together.
  seriesId: null,
  recurrenceRule: null,
  lektion: null,
  createdBy: null,
  decision: null,
} as const;

export function asSeenBy<Stored extends StoredBooking>(viewer: Viewer, stored: Stored): Stored {
  if (!maySee(viewer, stored)) return { ...stored, ...occupiedOnly, origin: { ...stored.origin, mailItemId: null } };
  const { lektion } = stored;
  const isFromHidden = ({ originRoom }: CoupledLesson) => originRoom !== null && !mayShow(viewer, originRoom);
  if (!lektion?.lessons.some(isFromHidden)) return stored;
  const lessons = lektion.lessons.map((lesson) => (isFromHidden(lesson) ? { ...lesson, ursprung: null } : lesson));
  return { ...stored, lektion: { ...lektion, ursprung: lessons[0]?.ursprung ?? null, lessons } };
}

/** Selects bookings of a tenant for a list or a stream; an absent member does not restrict. */
export type BookingFilter = Questions & {
  /** Bookings that overlap [from, to). */
  from?: Date | undefined;
  to?: Date | undefined;
  /** Any of these, as with every list here. */
  resourceId?: readonly number[] | undefined;
  locationId?: number | undefined;
  /** The organizer. */
  personId?: number | undefined;
  seriesId?: number | undefined;
  /** Requests about which the viewer may decide. */
  toDecide?: boolean | undefined;
  status?: readonly BookingStatus[] | undefined;
  /** Whether they occupy their resources. */
  occupying?: boolean | undefined;
  kind?: readonly BookingKind[] | undefined;
  changedAfter?: Date | undefined;
};

export type NewBooking = {
  resourceId: number;
  subject: string;
  description: string | null;
  start: Date;
  end: Date;
  kind: 'Booking' | 'Block';
  status: 'Confirmed' | 'Tentative';
  isPrivate: boolean;
  setupMinutes: number;
  teardownMinutes: number;
  /** The person the booking is for; the viewer when undefined. */
  organizerId: number | undefined;
  /** RFC 5545, without `RRULE:`; undefined for a single booking. */
  recurrenceRule: string | undefined;
  conflictHandling: ConflictHandling;
};

/** Absent members stay as they are; null clears the description. */
export type BookingChanges = Partial<
  Pick<
    NewBooking,
    | 'resourceId'
    | 'subject'
    | 'description'
    | 'start'
    | 'end'
    | 'status'
    | 'isPrivate'
    | 'setupMinutes'
    | 'teardownMinutes'
  >
>;
