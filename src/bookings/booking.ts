/** What a booking is, here and on the wire (contract 5.2). */
import { maySee } from '../access.ts';
import type { Viewer } from '../context.ts';
import type { Lektion } from './lektion.ts';

export const bookingStatuses = ['Confirmed', 'Tentative', 'Cancelled', 'Released'] as const;
export type BookingStatus = (typeof bookingStatuses)[number];
export const bookingKinds = ['Booking', 'Lesson', 'MailItem', 'Block'] as const;
export type BookingKind = (typeof bookingKinds)[number];
export const originSystems = ['Api', 'Import', 'Mail', 'Display'] as const;
export type OriginSystem = (typeof originSystems)[number];
/** Which bookings of a series a change is meant for, seen from the one that it names. */
export const scopes = ['This', 'Following', 'All'] as const;
export type Scope = (typeof scopes)[number];
/** What happens to a series of which some bookings meet others: none is made, or those are left out. */
export const conflictHandlings = ['Fail', 'Skip'] as const;
export type ConflictHandling = (typeof conflictHandlings)[number];

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
   * Null for a lesson, and to those who may not see a private booking. Of an item of a mailbox it may be somebody from
   * outside, who has no id here, and no address either where the mail server does not tell it.
   */
  organizer: { personId: number | null; displayName: string; email: string | null } | null;
  isPrivate: boolean;
  seriesId: number | null;
  recurrenceRule: string | null;
  setupMinutes: number;
  teardownMinutes: number;
  /** Null where the resource asks for none. */
  checkIn: { required: boolean; from: Date; until: Date; checkedInAt: Date | null } | null;
  origin: {
    system: OriginSystem;
    batchId: string | null;
    jobId: string | null;
    lektionId: string | null;
    mailItemId: string | null;
  };
  /** Of a lesson; of coupled ones the first, with the classes and teachers of all. */
  lektion: Lektion | null;
  createdAt: Date;
  createdBy: { personId: number; displayName: string } | null;
  changedAt: Date;
  version: number;
};

/** A booking as it is stored, whoever asks: the same for every viewer of the tenant until `asSeenBy`. */
export type StoredBooking = Booking;

/** Occupies its resource. */
export const isActive = ({ status }: { status: string }) => status === 'Confirmed' || status === 'Tentative';

/** What others see of a private booking, and displays of any: that it is there. */
export const occupiedOnly = {
  subject: 'Belegt',
  description: null,
  organizer: null,
  // Either would tell which private bookings belong together.
  seriesId: null,
  recurrenceRule: null,
  lektion: null,
  createdBy: null,
} as const;

export function asSeenBy<Stored extends StoredBooking>(viewer: Viewer, stored: Stored): Stored {
  if (maySee(viewer, stored)) return stored;
  return { ...stored, ...occupiedOnly, origin: { ...stored.origin, mailItemId: null } };
}

/** The bookings of a tenant that a list or a stream is about; members that are left out do not count. */
export type BookingFilter = {
  /** Bookings that overlap [from, to). */
  from?: Date | undefined;
  to?: Date | undefined;
  resourceId?: number | undefined;
  locationId?: number | undefined;
  /** Whom they are organized by. */
  personId?: number | undefined;
  seriesId?: number | undefined;
  status?: BookingStatus | undefined;
  kind?: BookingKind | undefined;
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
  /** Whom it is for; the viewer when undefined. */
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
