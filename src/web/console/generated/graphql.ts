/* eslint-disable */
/** Internal type. DO NOT USE DIRECTLY. */
type Exact<T extends { [key: string]: unknown }> = { [K in keyof T]: T[K] };
/** Internal type. DO NOT USE DIRECTLY. */
export type Incremental<T> = T | { [P in keyof T]?: P extends ' $fragmentName' | '__typename' ? T[P] : never };
import type { DocumentTypeDecoration } from '@graphql-typed-document-node/core';
/** Which acts; members that are left out do not count. */
export type ActFilter = {
  /** Only acts of this kind, regardless of case: `change resource`. */
  action?: string | null | undefined;
  /** Only acts from this instant on. */
  from?: string | null | undefined;
  /** Only acts of this person. */
  personId?: string | number | null | undefined;
  /** Only acts about this kind of record. */
  subject?: AuditSubject | null | undefined;
  /** Only acts about the record with this id; if it is an id of REST, name the `subject` too. */
  subjectId?: string | number | null | undefined;
  /** Only acts before this instant. */
  to?: string | null | undefined;
};

/** The kind of record that an act was about. */
export type AuditSubject =
  | 'Booking'
  | 'Display'
  | 'Group'
  | 'HolidayCalendar'
  | 'Location'
  | 'MailSubscription'
  | 'Person'
  | 'Pin'
  | 'Policy'
  | 'Resource'
  | 'RoomProblem'
  | 'Tenant'
  | 'TimetableProfile'
  | 'Webhook';

/** Which batches; members that are left out do not count. */
export type BatchFilter = {
  /** Only those accepted after this instant. */
  createdAfter?: string | null | undefined;
  /** Only those accepted before this instant. */
  createdBefore?: string | null | undefined;
  /** Only those in one of these states; the two states of a running batch when left out. */
  importStatus?: Array<ImportStatus> | null | undefined;
  /** Only those that name a job of this `jobKey`, whatever became of it; the ended ones too, where `importStatus` lets them in. REST: `JobID`. */
  jobKey?: string | null | undefined;
  /** Only those of the person who asks. */
  mine?: boolean | null | undefined;
  /** Only those of this operation. */
  operation?: JobOperation | null | undefined;
};

/** How a batch is processed. */
export type BatchOptions = {
  /** For updates only: whether jobs that do not exist yet are created, if their `replaceLessons` is true. */
  createMissing?: boolean | null | undefined;
  /** The same key and jobs within 24 hours return the same batch again. */
  idempotencyKey?: string | null | undefined;
  /** Fail if left out; refused for deletions, which have no conflicts. */
  onConflict?: ConflictRule | null | undefined;
  /** For creations only: whether a lesson takes over a booking of the sender with the same room, start and end. */
  takeOverBookings?: boolean | null | undefined;
  /** Whether to report the same errors as a real run, but write nothing. */
  validateOnly?: boolean | null | undefined;
};

/** Which ones; members that are left out do not count. */
export type BookingFilter = {
  /** Only bookings that were created or changed after this instant. To follow all changes read `changes`: a change may appear later than its instant says, those of an import by seconds. */
  changedAfter?: string | null | undefined;
  /** Only lessons of this class, regardless of case. REST: `Klasse`. */
  class?: string | null | undefined;
  /** Only bookings that end after this instant, teardown included; now by default. */
  from?: string | null | undefined;
  /** Only bookings of these kinds. */
  kind?: Array<BookingKind> | null | undefined;
  /** Only bookings at this location. */
  locationId?: string | number | null | undefined;
  /** Only bookings whose status occupies their resource, or only the others. */
  occupying?: boolean | null | undefined;
  /** Only bookings for this person. */
  personId?: string | number | null | undefined;
  /** Only bookings of these resources. */
  resourceId?: Array<string | number> | null | undefined;
  /** Only bookings whose subject and description, and lessons whose title, subject, classes, teachers and remark, contain these words. Each word must be the beginning of a word there, regardless of case and accents. */
  search?: string | null | undefined;
  /** Only bookings of this series; all of them if `from` and `to` are left out. */
  seriesId?: string | number | null | undefined;
  /** Only bookings with these statuses. */
  status?: Array<BookingStatus> | null | undefined;
  /** Only lessons of this subject, regardless of case. REST: `Fach`. */
  subject?: string | null | undefined;
  /** Only lessons of this teacher, regardless of case. REST: `Lehrperson`. */
  teacher?: string | null | undefined;
  /** Only bookings that begin before this instant, setup included, at most 366 days after `from`; by default 31 days after it. */
  to?: string | null | undefined;
  /** Only requests about which the caller may decide; all of them if `from` and `to` are left out. */
  toDecide?: boolean | null | undefined;
};

/** A booking by a person, a lesson of the timetable, an item of a mailbox, or a block. */
export type BookingKind =
  | 'Block'
  | 'Booking'
  | 'Lesson'
  | 'MailItem';

/** Requested (until it is approved), Confirmed and Tentative occupy the resource; Declined, Cancelled and Released do not. */
export type BookingStatus =
  | 'Cancelled'
  | 'Confirmed'
  | 'Declined'
  | 'Released'
  | 'Requested'
  | 'Tentative';

/** What happens if somebody changes a booking in that calendar: it is put back as it was, or the booking is changed too. Lessons and blocks are always put back. */
export type CalendarEdits =
  | 'PutBack'
  | 'TakeOver';

/** What is written of a booking into the calendar of its room on the mail server: nothing, its time, or its subject too. */
export type CalendarWriting =
  | 'Busy'
  | 'Full'
  | 'Off';

/** Changes; null clears a description. */
export type ChangeBookingInput = {
  /** The description. */
  description?: string | null | undefined;
  /** When it ends, before its teardown. */
  end?: string | null | undefined;
  /** Whether only its organizer, its creator and Admins see its content. */
  isPrivate?: boolean | null | undefined;
  /** The resource that it occupies. */
  resourceId?: string | number | null | undefined;
  /** Minutes before its start in which it also occupies the resource. */
  setupMinutes?: number | null | undefined;
  /** When it begins, after its setup. */
  start?: string | null | undefined;
  /** Confirmed or Tentative; both occupy the resource. A booking that needs approval becomes Requested in any case. */
  status?: NewBookingStatus | null | undefined;
  /** The subject. */
  subject?: string | null | undefined;
  /** Minutes after its end in which it also occupies the resource. */
  teardownMinutes?: number | null | undefined;
};

/** Changes; null removes the location. */
export type ChangeDisplayInput = {
  /** The location whose active rooms it also shows; null for none. */
  locationId?: string | number | null | undefined;
  /** Whether it also books, checks in, extends and releases. */
  mayBook?: boolean | null | undefined;
  /** The display name. */
  name?: string | null | undefined;
  /** The content of bookings that it shows. */
  privacy?: DisplayPrivacy | null | undefined;
  /** The rooms that it was given one by one. */
  resourceIds?: Array<string | number> | null | undefined;
};

/** Changes. */
export type ChangeGroupInput = {
  /** Who joins. Ids of persons, at most 1000 at a time. */
  addMembers?: Array<string | number> | null | undefined;
  /** Unique in the tenant, regardless of case. */
  name?: string | null | undefined;
  /** Who leaves. Ids of persons, at most 1000 at a time. */
  removeMembers?: Array<string | number> | null | undefined;
};

/** Changes; a file replaces all holidays. */
export type ChangeHolidayCalendarInput = {
  /** Whether its holidays close the location; otherwise they are only shown. */
  closes?: boolean | null | undefined;
  /** The text of an .ics file: its whole-day events are holidays. Instead of Url. */
  ics?: string | null | undefined;
  /** The location that it applies to; null: all locations. */
  locationId?: string | number | null | undefined;
  /** Unique in the tenant, regardless of case. */
  name?: string | null | undefined;
  /** The https address of an .ics file: a public address, or a server that the operator trusts. */
  url?: string | null | undefined;
};

/** Changes. */
export type ChangeLocationInput = {
  /** Whether it is in use; locations are retired, never deleted. */
  active?: boolean | null | undefined;
  /** Unique in the tenant, regardless of case. */
  name?: string | null | undefined;
  /** The IANA time zone. */
  timeZone?: string | null | undefined;
};

/** Changes. */
export type ChangePersonInput = {
  /** Whether the credentials of the person are valid; persons are retired, never deleted. */
  active?: boolean | null | undefined;
  /** Unique in the tenant, regardless of case. */
  email?: string | null | undefined;
  /** The display name. */
  name?: string | null | undefined;
  /** The role. */
  role?: Role | null | undefined;
  /** The name of the person among the `teachers` of lessons; unique in the tenant, regardless of case; null for a person who does not teach. */
  teacherCode?: string | null | undefined;
  /** The IANA time zone of the person. */
  timeZone?: string | null | undefined;
};

/** Changes; null clears a limit. */
export type ChangePolicyInput = {
  /** How many days ahead a booking may be made; null: no limit. */
  aheadDays?: number | null | undefined;
  /** How many minutes before its start a booking must be made; null: no limit. */
  leadMinutes?: number | null | undefined;
  /** How many minutes a booking may last; null: no limit. */
  longestMinutes?: number | null | undefined;
  /** The groups that may book its resources, among those who see them: ids. Empty: everybody. */
  mayBook?: Array<string | number> | null | undefined;
  /** The groups that may book for other persons, besides Admins: ids. They may also book for themselves. */
  mayBookForOthers?: Array<string | number> | null | undefined;
  /** The groups that decide, besides Admins: ids. They may also book, without waiting. */
  mayDecide?: Array<string | number> | null | undefined;
  /** The groups that may see its resources and their bookings: ids. Empty: everybody. */
  maySee?: Array<string | number> | null | undefined;
  /** The groups that book without waiting for a decision: ids. */
  maySkipApproval?: Array<string | number> | null | undefined;
  /** Unique in the tenant, regardless of case. */
  name?: string | null | undefined;
  /** Whether a booking waits for a decision. */
  needsApproval?: boolean | null | undefined;
  /** How many bookings a person may have in a calendar week; null: no limit. */
  quotaBookingsPerWeek?: number | null | undefined;
  /** How many minutes a person may book in a calendar week; null: no limit. */
  quotaMinutesPerWeek?: number | null | undefined;
};

/** Changes; null clears a capacity, a mailbox, the check-in, the policy, or a value that replaces the setting of the tenant. */
export type ChangeResourceInput = {
  /** Whether it can be booked; resources are retired, never deleted. */
  active?: boolean | null | undefined;
  /** What happens if somebody changes a booking in that calendar; null: the setting of the tenant applies. */
  calendarEdits?: CalendarEdits | null | undefined;
  /** What is written of its bookings into its calendar on the mail server; null: the setting of the tenant applies. */
  calendarWriting?: CalendarWriting | null | undefined;
  /** For how many persons; null if unknown. */
  capacity?: number | null | undefined;
  /** Minutes after its start by which a booking must be checked in to avoid its release; null if no check-in is needed. */
  checkInMinutes?: number | null | undefined;
  /** Whether items of that calendar are declined there if the resource is taken here; null: the setting of the tenant applies. */
  declineConflicts?: boolean | null | undefined;
  /** The equipment. */
  equipment?: Array<string> | null | undefined;
  /** The kind: Room, Hall, Laboratory, … */
  kind?: string | null | undefined;
  /** The location of the resource. */
  locationId?: string | number | null | undefined;
  /** The address of its calendar on the mail server; null if it has none. */
  mailbox?: string | null | undefined;
  /** Unique at its location, regardless of case. */
  name?: string | null | undefined;
  /** The policy that says who may see and book it; null: everybody may. */
  policyId?: string | number | null | undefined;
};

/** Changes. */
export type ChangeTenantInput = {
  /** The colour of its signs and boards, such as #1e6b47, with text in black or white. Null for none. */
  colour?: string | null | undefined;
  /** The logo of its signs and boards: a PNG, JPEG or WebP as a data URL, which is public at `/{mandator}/logo`. Null for none. */
  logo?: string | null | undefined;
  /** The display name. */
  name?: string | null | undefined;
  /** The parameters to set; those that are left out stay. */
  parameters?: ChangeTenantParametersInput | null | undefined;
};

/** The parameters to set; those that are left out stay. */
export type ChangeTenantParametersInput = {
  /** What happens if somebody changes a booking in that calendar: it is put back as it was, or the booking is changed too. Lessons and blocks are always put back. */
  calendarEdits?: CalendarEdits | null | undefined;
  /** What is written of a booking into the calendar of its room on the mail server: nothing, its time, or its subject too. */
  calendarWriting?: CalendarWriting | null | undefined;
  /** Whether an item in the calendar of a room on the mail server is declined there if the room is taken here, so that its organizer is told. */
  declineConflicts?: boolean | null | undefined;
  /** Whether PINs are accepted. Only the operator of the server changes it. */
  pinAuthenticationAllowed?: boolean | null | undefined;
  /** Whether Users may also send, change and delete lessons. */
  usersMayImport?: boolean | null | undefined;
};

/** Changes of a profile: a member that is left out stays, and one that is sent is replaced as a whole. */
export type ChangeTimetableProfileInput = {
  /** The format of the files; null: detected from their content. */
  format?: TimetableFormat | null | undefined;
  /** The location, if two locations have rooms with the same name; it also determines the time zone. REST: `Standort`. */
  locationName?: string | null | undefined;
  /** The columns of the file. A column that is left out is found by its usual headings; null: there is none. */
  mapping?: TimetableMappingInput | null | undefined;
  /** Unique in the tenant, regardless of case. */
  name?: string | null | undefined;
  /** The times of the periods; needed for lessons that have a period instead of times. */
  periods?: Array<TimetablePeriodInput> | null | undefined;
  /** Rooms that have other names in the file. */
  rooms?: Array<TimetableRoomInput> | null | undefined;
  /** Rooms, such as a gym, that several lessons may use at the same time. */
  sharedRooms?: Array<string> | null | undefined;
  /** The name of the timetable's source, with which JobIDs begin; untis, csv or ics if left out. Lessons that this source has written for the same term and no longer lists are deleted. */
  source?: string | null | undefined;
  /** The days on which weekly lessons take place. */
  term?: TimetableTermInput | null | undefined;
  /** The IANA time zone of the clock times; that of the location if left out. */
  timeZone?: string | null | undefined;
};

/** What to change of a webhook. */
export type ChangeWebhookInput = {
  /** Whether events are sent. When it is enabled again, it continues where it was. */
  enabled?: boolean | null | undefined;
  /** Which events are sent. */
  kinds?: Array<EventKind> | null | undefined;
  /** Unique in the tenant, regardless of case. */
  name?: string | null | undefined;
  /** An https address on the internet, or of a server that the operator trusts. Redirects are not followed. */
  url?: string | null | undefined;
};

/** What happens if some bookings of a series have conflicts: nothing is done at all, or these are left out. */
export type ConflictHandling =
  | 'Fail'
  | 'Skip';

/** What happens to lessons whose room is occupied: Fail fails the batch, Skip leaves them out with a warning, Displace cancels the manual bookings in their way, never other lessons. */
export type ConflictRule =
  | 'Displace'
  | 'Fail'
  | 'Skip';

/** A booking or a series to create. */
export type CreateBookingInput = {
  /** For a series: with Skip, bookings with conflicts, or outside of the opening hours if these apply to the caller, are left out; with Fail, none is created then. */
  conflictHandling?: ConflictHandling | null | undefined;
  /** The description. */
  description?: string | null | undefined;
  /** When it ends, before its teardown. */
  end: string;
  /** The same key and input within 24 hours return the same bookings again. */
  idempotencyKey?: string | null | undefined;
  /** Whether only its organizer, its creator and Admins see its content. */
  isPrivate?: boolean | null | undefined;
  /** Booking, or Block to keep the resource from being booked, for Admins. */
  kind?: NewBookingKind | null | undefined;
  /** The person whom it is for; the caller if left out or null. Another person only for Admins, and for groups that the policy of the resource allows to book for others. */
  organizerId?: string | number | null | undefined;
  /** The recurrence rule of its series: an RRULE of RFC 5545. With COUNT or UNTIL, without RRULE:, at most 366 bookings; null for a single booking. */
  recurrenceRule?: string | null | undefined;
  /** The resource that it occupies. */
  resourceId: string | number;
  /** Minutes before its start in which it also occupies the resource. */
  setupMinutes?: number | null | undefined;
  /** When it begins, after its setup. */
  start: string;
  /** Confirmed or Tentative; both occupy the resource. A booking that needs approval becomes Requested in any case. */
  status?: NewBookingStatus | null | undefined;
  /** The subject. */
  subject: string;
  /** Minutes after its end in which it also occupies the resource. */
  teardownMinutes?: number | null | undefined;
};

/** A group to create. */
export type CreateGroupInput = {
  /** Who joins. Ids of persons, at most 1000 at a time. */
  addMembers?: Array<string | number> | null | undefined;
  /** Unique in the tenant, regardless of case. */
  name: string;
};

/** A holiday calendar to create: with the file, or its address. */
export type CreateHolidayCalendarInput = {
  /** Whether its holidays close the location; otherwise they are only shown. */
  closes?: boolean | null | undefined;
  /** The text of an .ics file: its whole-day events are holidays. Instead of Url. */
  ics?: string | null | undefined;
  /** The location that it applies to; null: all locations. */
  locationId?: string | number | null | undefined;
  /** Unique in the tenant, regardless of case. */
  name: string;
  /** The https address of an .ics file: a public address, or a server that the operator trusts. */
  url?: string | null | undefined;
};

/** A location to create. */
export type CreateLocationInput = {
  /** Unique in the tenant, regardless of case. */
  name: string;
  /** The IANA time zone. */
  timeZone: string;
};

/** A person to create. */
export type CreatePersonInput = {
  /** Unique in the tenant, regardless of case. */
  email: string;
  /** The display name. */
  name: string;
  /** The role. */
  role: Role;
  /** The name of the person among the `teachers` of lessons; unique in the tenant, regardless of case; null for a person who does not teach. */
  teacherCode?: string | null | undefined;
  /** The IANA time zone of the person. */
  timeZone: string;
};

/** A policy to create. */
export type CreatePolicyInput = {
  /** How many days ahead a booking may be made; null: no limit. */
  aheadDays?: number | null | undefined;
  /** How many minutes before its start a booking must be made; null: no limit. */
  leadMinutes?: number | null | undefined;
  /** How many minutes a booking may last; null: no limit. */
  longestMinutes?: number | null | undefined;
  /** The groups that may book its resources, among those who see them: ids. Empty: everybody. */
  mayBook?: Array<string | number> | null | undefined;
  /** The groups that may book for other persons, besides Admins: ids. They may also book for themselves. */
  mayBookForOthers?: Array<string | number> | null | undefined;
  /** The groups that decide, besides Admins: ids. They may also book, without waiting. */
  mayDecide?: Array<string | number> | null | undefined;
  /** The groups that may see its resources and their bookings: ids. Empty: everybody. */
  maySee?: Array<string | number> | null | undefined;
  /** The groups that book without waiting for a decision: ids. */
  maySkipApproval?: Array<string | number> | null | undefined;
  /** Unique in the tenant, regardless of case. */
  name: string;
  /** Whether a booking waits for a decision. */
  needsApproval?: boolean | null | undefined;
  /** How many bookings a person may have in a calendar week; null: no limit. */
  quotaBookingsPerWeek?: number | null | undefined;
  /** How many minutes a person may book in a calendar week; null: no limit. */
  quotaMinutesPerWeek?: number | null | undefined;
};

/** A resource to create. */
export type CreateResourceInput = {
  /** What happens if somebody changes a booking in that calendar; null: the setting of the tenant applies. */
  calendarEdits?: CalendarEdits | null | undefined;
  /** What is written of its bookings into its calendar on the mail server; null: the setting of the tenant applies. */
  calendarWriting?: CalendarWriting | null | undefined;
  /** For how many persons; null if unknown. */
  capacity?: number | null | undefined;
  /** Minutes after its start by which a booking must be checked in to avoid its release; null if no check-in is needed. */
  checkInMinutes?: number | null | undefined;
  /** Whether items of that calendar are declined there if the resource is taken here; null: the setting of the tenant applies. */
  declineConflicts?: boolean | null | undefined;
  /** The equipment. */
  equipment?: Array<string> | null | undefined;
  /** The kind: Room, Hall, Laboratory, … */
  kind?: string | null | undefined;
  /** The location of the resource. */
  locationId: string | number;
  /** The address of its calendar on the mail server; null if it has none. */
  mailbox?: string | null | undefined;
  /** Unique at its location, regardless of case. */
  name: string;
  /** The policy that says who may see and book it; null: everybody may. */
  policyId?: string | number | null | undefined;
};

/** A profile to create. */
export type CreateTimetableProfileInput = {
  /** The format of the files; null: detected from their content. */
  format?: TimetableFormat | null | undefined;
  /** The location, if two locations have rooms with the same name; it also determines the time zone. REST: `Standort`. */
  locationName?: string | null | undefined;
  /** The columns of the file. A column that is left out is found by its usual headings; null: there is none. */
  mapping?: TimetableMappingInput | null | undefined;
  /** Unique in the tenant, regardless of case. */
  name: string;
  /** The times of the periods; needed for lessons that have a period instead of times. */
  periods?: Array<TimetablePeriodInput> | null | undefined;
  /** Rooms that have other names in the file. */
  rooms?: Array<TimetableRoomInput> | null | undefined;
  /** Rooms, such as a gym, that several lessons may use at the same time. */
  sharedRooms?: Array<string> | null | undefined;
  /** The name of the timetable's source, with which JobIDs begin; untis, csv or ics if left out. Lessons that this source has written for the same term and no longer lists are deleted. */
  source?: string | null | undefined;
  /** The days on which weekly lessons take place. */
  term?: TimetableTermInput | null | undefined;
  /** The IANA time zone of the clock times; that of the location if left out. */
  timeZone?: string | null | undefined;
};

/** A webhook to create: all events from now on are sent to it. */
export type CreateWebhookInput = {
  /** Which events are sent. */
  kinds: Array<EventKind>;
  /** Unique in the tenant, regardless of case. */
  name: string;
  /** An https address on the internet, or of a server that the operator trusts. Redirects are not followed. */
  url: string;
};

/** A decision about a booking that waits for approval. */
export type DecisionInput = {
  /** The reason, which others can read in the booking. */
  reason?: string | null | undefined;
  /** The decision. */
  verdict: Verdict;
};

/** Removed, Moved (another room or time), Changed (anything else) or Added. */
export type DifferenceKind =
  | 'Added'
  | 'Changed'
  | 'Moved'
  | 'Removed';

/** The content of bookings that a display shows: everything, only their organizers, or only that the room is taken. Of private bookings it only shows that the room is taken. */
export type DisplayPrivacy =
  | 'BusyOnly'
  | 'Organizer'
  | 'Title';

/** The kind of event: a batch has ended; a booking was created, changed, cancelled or declined, or released; a display is silent, or is back; an item of a mail server has no booking because its room is taken. */
export type EventKind =
  | 'BatchEnded'
  | 'BookingCancelled'
  | 'BookingChanged'
  | 'BookingCreated'
  | 'BookingReleased'
  | 'DisplayBack'
  | 'DisplaySilent'
  | 'MailConflict';

/** Why a batch failed: its data, something technical, or it was cancelled. */
export type FailureKind =
  | 'Cancelled'
  | 'Data'
  | 'Technical';

/** The resources, the start and the duration; members that are left out do not count. */
export type FreeInput = {
  /** Only resources with all of this equipment. */
  equipment?: Array<string> | null | undefined;
  /** The start; now if left out. */
  from?: string | null | undefined;
  /** Only resources of this kind, regardless of case. */
  kind?: string | null | undefined;
  /** The most resources in the answer; 50 if left out. */
  limit?: number | null | undefined;
  /** Only resources of this location. */
  locationId?: string | number | null | undefined;
  /** Only resources for at least this many persons. */
  minCapacity?: number | null | undefined;
  /** The least number of free minutes; 30 if left out. */
  minutes?: number | null | undefined;
  /** Only resources whose name, location, kind and equipment contain these words. Each word must be the beginning of a word there, regardless of case and accents. */
  search?: string | null | undefined;
  /** Minutes before the start that must be free too; 0 if left out. */
  setupMinutes?: number | null | undefined;
  /** Minutes after the end that must be free too; 0 if left out. */
  teardownMinutes?: number | null | undefined;
};

/** What happens to the bookings of a retired resource: they stay, are cancelled, or move to another one. */
export type FutureBookings =
  | 'Cancel'
  | 'Keep'
  | 'Move';

/** The state of a batch; LessonsCreated and LessonsImportFailed are final. */
export type ImportStatus =
  | 'AwaitingLessonCreation'
  | 'AwaitingLessonProcessing'
  | 'LessonsCreated'
  | 'LessonsImportFailed';

/** What a batch does with its jobs. */
export type JobOperation =
  | 'Create'
  | 'Delete'
  | 'Update';

/** A lesson. */
export type LessonChangeInput = {
  /** Classes. REST: `Klassen`. */
  classes?: Array<string> | null | undefined;
  /** Lessons that share it, their room and their time share one booking, at most 200. REST: `KopplungId`. */
  couplingKey?: string | null | undefined;
  /** End, after `start` by at most 24 hours. REST: `Ende`. */
  end?: string | null | undefined;
  /** Whether others than its sender and Admins see only that the room is taken. REST: `Privat`. */
  isPrivate?: boolean | null | undefined;
  /** Names the lesson; unique inside its job. REST: `LektionId`. */
  lessonKey: string;
  /** Remark. REST: `Bemerkung`. */
  remark?: string | null | undefined;
  /** The id of the room, which must agree with its name. REST: `RessourceId`. */
  resourceId?: string | number | null | undefined;
  /** The name of the room; case and spaces around it do not count. REST: `RessourceName`. */
  resourceName?: string | null | undefined;
  /** Start, ISO 8601; without an offset it is UTC. REST: `Beginn`. */
  start?: string | null | undefined;
  /** Geplant when left out; Entfaellt occupies no room. */
  status?: LessonStatus | null | undefined;
  /** Subject. REST: `Fach`. */
  subject?: string | null | undefined;
  /** Teachers. REST: `Lehrpersonen`. */
  teachers?: Array<string> | null | undefined;
  /** Title. REST: `Titel`. */
  title?: string | null | undefined;
};

/** Which lessons; members that are left out do not count. */
export type LessonFilter = {
  /** Only those that are cancelled, substituted or otherwise not as they were created; unless asked by content, also those that were to be within `from` and `to` and have moved to another time. */
  changed?: boolean | null | undefined;
  /** Only lessons of this class, regardless of case. REST: `Klasse`. */
  class?: string | null | undefined;
  /** Only those that end after this instant; with `changed`, `class`, `teacher`, `subject` or `search` now when left out. */
  from?: string | null | undefined;
  /** Only those of the job of this `jobKey`. REST: `JobID`. */
  jobKey?: string | null | undefined;
  /** Only those in rooms of this name, in whatever case. REST: `RessourceName`. */
  resourceName?: string | null | undefined;
  /** Only bookings whose subject and description, and lessons whose title, subject, classes, teachers and remark, contain these words. Each word must be the beginning of a word there, regardless of case and accents. */
  search?: string | null | undefined;
  /** Only those of these statuses. */
  status?: Array<LessonStatus> | null | undefined;
  /** Only lessons of this subject, regardless of case. REST: `Fach`. */
  subject?: string | null | undefined;
  /** Only lessons of this teacher, regardless of case. REST: `Lehrperson`. */
  teacher?: string | null | undefined;
  /** Only those that begin before this instant; with `changed`, `class`, `teacher`, `subject` or `search` at most 366 days after `from`, and 31 days after it when left out. */
  to?: string | null | undefined;
};

/** What to change of a job: what is left out stays as it is, null clears it. */
export type LessonJobChangeInput = {
  /** Designation. REST: `Bezeichnung`. */
  designation?: string | null | undefined;
  /** Names the job; unique in the tenant. REST: `JobID`. */
  jobKey: string;
  /** Lessons to be changed; with `replaceLessons` also new ones. A batch may have as many lessons as the setting LessonsPerBatch says, 100,000 by default. REST: `LektionList`. */
  lessons?: Array<LessonChangeInput> | null | undefined;
  /** The location of its rooms, where two locations have a room of the same name. REST: `Standort`. */
  locationName?: string | null | undefined;
  /** Remark. REST: `Bemerkung`. */
  remark?: string | null | undefined;
  /** Whether `lessons` is complete: the other lessons of the job are deleted. REST: `ReplaceLektionList`. */
  replaceLessons?: boolean | null | undefined;
  /** Where the job comes from. REST: `Quelle`. */
  source?: string | null | undefined;
};

/** Whether a lesson takes place as planned, is taught by a substitute, or is cancelled. */
export type LessonStatus =
  | 'Entfaellt'
  | 'Geplant'
  | 'Vertretung';

/** It waits to be declined; its organizer was told; nobody has invited the room; the mail server cannot decline; the mail server refuses. */
export type MailDeclineState =
  | 'Impossible'
  | 'Nobody'
  | 'Refused'
  | 'Told'
  | 'Waiting';

/** Why a request to a mail server failed. */
export type MailFaultKind =
  | 'AccessLost'
  | 'StateLost'
  | 'Throttled'
  | 'TooLarge'
  | 'Unreachable'
  | 'Unreadable';

/** The protocol of a mail server. */
export type MailServerKind =
  | 'CalDav'
  | 'Ews'
  | 'Google'
  | 'Graph'
  | 'ICalendar';

/** The state of a subscription: requested; granted, but no notification has arrived yet; active; silent; ended; never granted; replaced by another; no longer wanted. */
export type MailSubscriptionState =
  | 'Active'
  | 'AwaitingFirstPush'
  | 'Dead'
  | 'Disabled'
  | 'Failed'
  | 'Provisioning'
  | 'Replaced'
  | 'Suspect';

/** It is changed or deleted there again and again, the mail server refuses it, or requests for it fail. */
export type MailUnwrittenCause =
  | 'Changed'
  | 'Refused';

/** The kind of a new booking. */
export type NewBookingKind =
  | 'Block'
  | 'Booking';

/** Whether a new booking is certain; both values occupy the resource. */
export type NewBookingStatus =
  | 'Confirmed'
  | 'Tentative';

/** Other hours, or none, on these dates. */
export type OpeningExceptionInput = {
  /** Whether it closes its dates; the previous night then ends at 00:00 of the first. */
  closed?: boolean | null | undefined;
  /** The first date. */
  fromDate: string;
  /** When it is open on each of the dates, whatever the rules say; empty if Closed. */
  periods?: Array<OpeningPeriodInput> | null | undefined;
  /** The reason, for people. */
  reason?: string | null | undefined;
  /** The last date. */
  toDate: string;
};

/** From one local clock time to another. */
export type OpeningPeriodInput = {
  /** Local clock time; at or before Opens, it is on the next day. */
  closes: string;
  /** Local clock time. */
  opens: string;
};

/** Open on these weekdays, in local clock times. */
export type OpeningRuleInput = {
  /** Local clock time; at or before Opens, it is on the next day. */
  closes: string;
  /** Local clock time. */
  opens: string;
  /** The first date on which it applies; null: there is none. */
  validFrom?: string | null | undefined;
  /** The last date on which it applies; null: there is none. */
  validTo?: string | null | undefined;
  /** The days on which it opens: 1 is Monday, 7 is Sunday. */
  weekdays: Array<number>;
};

/** Which persons; members that are left out do not count. */
export type OrganizerFilter = {
  /** Only persons whose name contains these words. Each word must be the beginning of a word there, regardless of case and accents. */
  search?: string | null | undefined;
};

/** A device to pair. */
export type PairDisplayInput = {
  /** The code on the screen of the device, regardless of case. */
  code: string;
  /** The location whose active rooms it also shows; null for none. */
  locationId?: string | number | null | undefined;
  /** Whether it also books, checks in, extends and releases. */
  mayBook?: boolean | null | undefined;
  /** The display name; after its rooms if left out. */
  name?: string | null | undefined;
  /** The content of bookings that it shows. */
  privacy?: DisplayPrivacy | null | undefined;
  /** The rooms that it shows; without any, and without a location, those of the page that the device has open. */
  resourceIds?: Array<string | number> | null | undefined;
};

/** Which persons; members that are left out do not count. */
export type PersonFilter = {
  /** Only active ones, or only inactive ones; both if left out. */
  active?: boolean | null | undefined;
  /** Only the person with this e-mail address, regardless of case. */
  email?: string | null | undefined;
  /** Only members of this group. */
  groupId?: string | number | null | undefined;
  /** Only persons with this role. */
  role?: Role | null | undefined;
  /** Only persons whose name and e-mail address contain these words. Each word must be the beginning of a word there, regardless of case and accents. */
  search?: string | null | undefined;
};

/** The place in the feed from which events are sent again. */
export type ReplayWebhookInput = {
  /** A `cursor` of a delivery or of the feed of changes: events after it are sent again; `now`: only events from now on; null: all events that are kept. */
  cursor?: string | null | undefined;
};

/** Which resources; members that are left out do not count. */
export type ResourceFilter = {
  /** Only active ones, or only inactive ones; both if left out. */
  active?: boolean | null | undefined;
  /** Only resources with all of this equipment. */
  equipment?: Array<string> | null | undefined;
  /** Only resources of this kind, regardless of case. */
  kind?: string | null | undefined;
  /** Only resources of this location. */
  locationId?: string | number | null | undefined;
  /** Only resources for at least this many persons. */
  minCapacity?: number | null | undefined;
  /** Only resources with this name, regardless of case. */
  name?: string | null | undefined;
  /** Only resources whose name, location, kind and equipment contain these words. Each word must be the beginning of a word there, regardless of case and accents. */
  search?: string | null | undefined;
};

/** How to retire a resource. */
export type RetireResourceInput = {
  /** With Move: with Skip, bookings with conflicts stay at the retired resource; with Fail, a conflict prevents everything. */
  conflictHandling?: ConflictHandling | null | undefined;
  /** What happens to future bookings of persons: Keep, Cancel (blocks too) or Move (blocks stay). */
  futureBookings: FutureBookings;
  /** With Move: the resource that takes the bookings, each at its time. */
  resourceId?: string | number | null | undefined;
};

/** The role of a person (contract 3). */
export type Role =
  | 'Admin'
  | 'Display'
  | 'Importer'
  | 'User';

/** The kind of problem. */
export type RoomProblemKind =
  | 'Cleaning'
  | 'Furniture'
  | 'Heating'
  | 'Light'
  | 'Network'
  | 'Other'
  | 'Projector';

/** Whether a room can be used now: free; free, but for at most fifteen more minutes; taken; waiting for a check-in; taken, but for at most ten more minutes; outside of its opening hours; blocked or retired. */
export type RoomStatus =
  | 'BUSY'
  | 'CHECK_IN_DUE'
  | 'CLOSED'
  | 'ENDING_SOON'
  | 'FREE'
  | 'OUT_OF_SERVICE'
  | 'STARTING_SOON';

/** How a secret is replaced. */
export type RotateWebhookSecretInput = {
  /** For how many hours the previous secret also signs; use 0 if it has leaked. */
  overlapHours?: number | null | undefined;
};

/** Which bookings of a series: only the named one, it and those that start later, or all that have not ended. */
export type Scope =
  | 'All'
  | 'Following'
  | 'This';

/** An error fails the batch, a warning does not. */
export type Severity =
  | 'Error'
  | 'Warning';

/** The format of timetable files: Untis, CSV or iCalendar. */
export type TimetableFormat =
  | 'Csv'
  | 'ICalendar'
  | 'Untis';

/** Days without lessons. */
export type TimetableHolidayInput = {
  /** The first day without lessons. */
  from: string;
  /** Its name. */
  name?: string | null | undefined;
  /** The last day without lessons. */
  to: string;
};

/** The columns of the file. A column that is left out is found by its usual headings; null: there is none. */
export type TimetableMappingInput = {
  /** The heading of the column with the time at which it begins. */
  begin?: string | null | undefined;
  /** The heading of the column with the classes. */
  classes?: string | null | undefined;
  /** The heading of the column with the date. */
  date?: string | null | undefined;
  /** The heading of the column with the weekday, if lessons are weekly. */
  day?: string | null | undefined;
  /** The heading of the column with the time at which it ends. */
  end?: string | null | undefined;
  /** The heading of the column with the id of the lesson. */
  key?: string | null | undefined;
  /** The heading of the column with the period of the time grid. */
  period?: string | null | undefined;
  /** The heading of the column with the remark. */
  remark?: string | null | undefined;
  /** The heading of the column with the room. */
  room?: string | null | undefined;
  /** The heading of the column with the status. */
  status?: string | null | undefined;
  /** The heading of the column with the subject. */
  subject?: string | null | undefined;
  /** The heading of the column with the teachers. */
  teachers?: string | null | undefined;
  /** The heading of the column with the title. */
  title?: string | null | undefined;
  /** The heading of the column with the name of the week or group of weeks. */
  weeks?: string | null | undefined;
};

/** A period of the time grid. */
export type TimetablePeriodInput = {
  /** When it begins, in local time. */
  begin: string;
  /** 1 is Monday; if left out, the period is for all days without periods of their own. */
  day?: number | null | undefined;
  /** When it ends. */
  end: string;
  /** Its number in the file. */
  period: number;
};

/** The room that a name in the file stands for. */
export type TimetableRoomInput = {
  /** The name in the file. */
  name: string;
  /** The room; null: its lessons are left out. REST: `RessourceName`. */
  resourceName?: string | null | undefined;
};

/** The days on which weekly lessons take place. */
export type TimetableTermInput = {
  /** Its first day. */
  from: string;
  /** Groups of lessons, if a file uses names other than those of weeks. */
  groups?: Array<TimetableWeekGroupInput> | null | undefined;
  /** Days without lessons. */
  holidays?: Array<TimetableHolidayInput> | null | undefined;
  /** The name of the term in JobIDs, such as 2627-2. */
  name: string;
  /** Its last day, at most 400 days later. */
  to: string;
  /** The names of weeks, if some lessons do not take place in all of them. */
  weeks?: Array<TimetableWeekInput> | null | undefined;
};

/** A group of lessons that takes place in some weeks only. */
export type TimetableWeekGroupInput = {
  /** The name in the file. */
  name: string;
  /** The weeks in which it takes place. */
  weeks: Array<string>;
};

/** A named week of the term. */
export type TimetableWeekInput = {
  /** Its Monday. */
  monday: string;
  /** The name, such as A. */
  name: string;
};

/** The resources and the period; members that are left out do not count. */
export type UsageInput = {
  /** Only resources with all of this equipment. */
  equipment?: Array<string> | null | undefined;
  /** The first local date. */
  from: string;
  /** Only resources of this kind, regardless of case. */
  kind?: string | null | undefined;
  /** Only resources of this location. */
  locationId?: string | number | null | undefined;
  /** Only resources for at least this many persons. */
  minCapacity?: number | null | undefined;
  /** Only these resources, also retired ones; all active ones if left out. */
  resourceIds?: Array<string | number> | null | undefined;
  /** Only resources whose name, location, kind and equipment contain these words. Each word must be the beginning of a word there, regardless of case and accents. */
  search?: string | null | undefined;
  /** The last local date, at most 366 days in all; days times resources are at most 30000. */
  to: string;
};

/** The decision about a request. */
export type Verdict =
  | 'Approved'
  | 'Declined';

/** Which deliveries; members that are left out do not count. */
export type WebhookDeliveryFilter = {
  /** Only deliveries that failed, or only those that succeeded. */
  failed?: boolean | null | undefined;
};

/** An Admin has disabled it; the receiver has answered 410; an event could not be delivered for three days; the feed no longer keeps the next changes. */
export type WebhookDisabledReason =
  | 'Admin'
  | 'Failing'
  | 'Gone'
  | 'HistoryLost';

/** An event, or a test message. */
export type WebhookMessageKind =
  | 'BatchEnded'
  | 'BookingCancelled'
  | 'BookingChanged'
  | 'BookingCreated'
  | 'BookingReleased'
  | 'DisplayBack'
  | 'DisplaySilent'
  | 'MailConflict'
  | 'Test';

export type SignsToMindQueryVariables = Exact<{
  after?: string | null | undefined;
}>;


export type SignsToMindQuery = { displays: { __typename: 'DisplayConnection', nodes: Array<{ __typename: 'Display', id: string, name: string, createdAt: string, expiresAt: string, revokedAt: string | null, heardAt: string | null, silentSince: string | null, health: { __typename: 'DisplayHealth', battery: number | null, note: string | null } | null }>, pageInfo: { __typename: 'PageInfo', hasNextPage: boolean, endCursor: string | null } } | null };

export type MailToMindQueryVariables = Exact<{ [key: string]: never; }>;


export type MailToMindQuery = { mailSubscriptions: Array<{ __typename: 'MailSubscription', id: string, mailbox: string, lastReadAt: string | null, conflictCount: number, unreadableCount: number, unwrittenCount: number, writingFault: string | null, resource: { __typename: 'Resource', id: string, name: string }, fault: { __typename: 'MailFault', kind: MailFaultKind, text: string } | null }> | null };

export type WorkToMindQueryVariables = Exact<{
  since: string;
}>;


export type WorkToMindQuery = { batches: { __typename: 'BatchConnection', nodes: Array<{ __typename: 'Batch', id: string, restId: string, createdAt: string, operation: JobOperation, validateOnly: boolean, failureKind: FailureKind | null, errorCount: number, createdBy: { __typename: 'PersonReference', displayName: string } }> } | null, bookings: { __typename: 'BookingConnection', nodes: Array<{ __typename: 'Booking', id: string }>, pageInfo: { __typename: 'PageInfo', hasNextPage: boolean } } | null };

export type WebhooksToMindQueryVariables = Exact<{ [key: string]: never; }>;


export type WebhooksToMindQuery = { webhooks: { __typename: 'WebhookConnection', nodes: Array<{ __typename: 'Webhook', id: string, name: string, version: number, failures: number, failingSince: string | null, disabledAt: string | null, disabledBecause: WebhookDisabledReason | null }> } | null };

export type PinsToMindQueryVariables = Exact<{ [key: string]: never; }>;


export type PinsToMindQuery = { admins: { __typename: 'PersonConnection', nodes: Array<{ __typename: 'Person', id: string, name: string, pins: { __typename: 'PinConnection', nodes: Array<{ __typename: 'Pin', id: string, label: string | null, expiresAt: string | null, revokedAt: string | null }> } | null }> } | null, importers: { __typename: 'PersonConnection', nodes: Array<{ __typename: 'Person', id: string, name: string, pins: { __typename: 'PinConnection', nodes: Array<{ __typename: 'Pin', id: string, label: string | null, expiresAt: string | null, revokedAt: string | null }> } | null }> } | null };

export type PersonToMindFragment = { __typename: 'Person', id: string, name: string, pins: { __typename: 'PinConnection', nodes: Array<{ __typename: 'Pin', id: string, label: string | null, expiresAt: string | null, revokedAt: string | null }> } | null };

export type ActsQueryVariables = Exact<{
  filter: ActFilter;
  after?: string | null | undefined;
}>;


export type ActsQuery = { audit: { __typename: 'ActConnection', nodes: Array<{ __typename: 'Act', id: string, at: string, action: string, subject: AuditSubject | null, subjectId: string | null, subjectName: string | null, requestId: string, person: { __typename: 'PersonReference', personId: string, displayName: string } | null, changes: Array<{ __typename: 'MemberChange', member: string, from: string | null, to: string | null }> }>, pageInfo: { __typename: 'PageInfo', hasNextPage: boolean, endCursor: string | null } } | null };

export type ActingPersonsQueryVariables = Exact<{ [key: string]: never; }>;


export type ActingPersonsQuery = { persons: { __typename: 'PersonConnection', nodes: Array<{ __typename: 'Person', id: string, name: string }> } | null };

export type FailedBatchesSubscriptionVariables = Exact<{ [key: string]: never; }>;


export type FailedBatchesSubscription = { batches: { __typename: 'Batch', id: string } };

export type OpenProblemsQueryVariables = Exact<{
  after?: string | null | undefined;
}>;


export type OpenProblemsQuery = { roomProblems: { __typename: 'RoomProblemConnection', nodes: Array<{ __typename: 'RoomProblem', id: string, version: number, kind: RoomProblemKind, text: string | null, reportedAt: string, resourceId: string, resourceName: string, displayId: string }>, pageInfo: { __typename: 'PageInfo', hasNextPage: boolean, endCursor: string | null } } | null };

export type SettleProblemMutationVariables = Exact<{
  id: string | number;
  version: number;
}>;


export type SettleProblemMutation = { done:
    | { __typename: 'ForbiddenProblem', code: string, message: string }
    | { __typename: 'NotFoundProblem', code: string, message: string }
    | { __typename: 'RoomProblem', id: string }
    | { __typename: 'ValidationProblem', code: string, message: string, errors: Array<{ __typename: 'FieldError', field: string | null, pointer: string | null, otherPointer: string | null, code: string, message: string, limit: { __typename: 'LimitFigures', policy: string | null, minutes: number | null, days: number | null, bookings: number | null, start: string | null, earliest: string | null, bookableFrom: string | null, week: string | null, nextWeek: string | null } | null }> }
    | { __typename: 'VersionProblem', code: string, message: string }
   };

export type ProblemNewsSubscriptionVariables = Exact<{ [key: string]: never; }>;


export type ProblemNewsSubscription = { roomProblems: Array<{ __typename: 'RoomProblem', id: string }> };

export type SignNewsSubscriptionVariables = Exact<{ [key: string]: never; }>;


export type SignNewsSubscription = { displays: Array<{ __typename: 'Display', id: string }> };

export type MailNewsSubscriptionVariables = Exact<{ [key: string]: never; }>;


export type MailNewsSubscription = { mailSubscriptions: Array<{ __typename: 'MailSubscription', id: string }> };

export type NamesOfRecordsQueryVariables = Exact<{
  ids: Array<string | number> | string | number;
}>;


export type NamesOfRecordsQuery = { nodes: Array<
    | { __typename: 'Act', id: string }
    | { __typename: 'Batch', id: string }
    | { __typename: 'Booking', id: string }
    | { __typename: 'CalendarToken', id: string }
    | { __typename: 'Display', id: string }
    | { __typename: 'Group', name: string, id: string }
    | { __typename: 'HolidayCalendar', id: string }
    | { __typename: 'Lesson', id: string }
    | { __typename: 'LessonJob', id: string }
    | { __typename: 'Location', name: string, id: string }
    | { __typename: 'MailSubscription', id: string }
    | { __typename: 'Person', name: string, id: string }
    | { __typename: 'Pin', id: string }
    | { __typename: 'Policy', name: string, id: string }
    | { __typename: 'Resource', name: string, id: string }
    | { __typename: 'RoomProblem', id: string }
    | { __typename: 'Series', id: string }
    | { __typename: 'Tenant', id: string }
    | { __typename: 'TimetableProfile', id: string }
    | { __typename: 'Webhook', id: string }
   | null> | null };

export type FeedFragment = { __typename: 'CalendarToken', id: string, label: string | null, class: string | null, teacher: string | null, resourceId: string | null, createdAt: string, lastUsedAt: string | null, revokedAt: string | null, person: { __typename: 'Person', id: string, name: string } | null };

export type TimetableFeedsQueryVariables = Exact<{
  after?: string | null | undefined;
}>;


export type TimetableFeedsQuery = { timetableTokens: { __typename: 'CalendarTokenConnection', nodes: Array<{ __typename: 'CalendarToken', id: string, label: string | null, class: string | null, teacher: string | null, resourceId: string | null, createdAt: string, lastUsedAt: string | null, revokedAt: string | null, person: { __typename: 'Person', id: string, name: string } | null }>, pageInfo: { __typename: 'PageInfo', hasNextPage: boolean, endCursor: string | null } } | null };

export type RoomFeedsQueryVariables = Exact<{
  resourceId: string | number;
  after?: string | null | undefined;
}>;


export type RoomFeedsQuery = { calendarTokens: { __typename: 'CalendarTokenConnection', nodes: Array<{ __typename: 'CalendarToken', id: string, label: string | null, class: string | null, teacher: string | null, resourceId: string | null, createdAt: string, lastUsedAt: string | null, revokedAt: string | null, person: { __typename: 'Person', id: string, name: string } | null }>, pageInfo: { __typename: 'PageInfo', hasNextPage: boolean, endCursor: string | null } } | null };

export type CreateTimetableFeedMutationVariables = Exact<{
  label?: string | null | undefined;
  class?: string | null | undefined;
  teacher?: string | null | undefined;
  idempotencyKey?: string | null | undefined;
}>;


export type CreateTimetableFeedMutation = { createTimetableToken:
    | { __typename: 'CalendarTokenCreated', url: string }
    | { __typename: 'ConflictProblem', code: string, message: string, errors: Array<{ __typename: 'FieldError', field: string | null, pointer: string | null, otherPointer: string | null, code: string, message: string, limit: { __typename: 'LimitFigures', policy: string | null, minutes: number | null, days: number | null, bookings: number | null, start: string | null, earliest: string | null, bookableFrom: string | null, week: string | null, nextWeek: string | null } | null }>, conflicts: Array<{ __typename: 'RoomConflict', bookingId: string, kind: BookingKind, subject: string | null, resourceId: string, start: string, end: string, wantedStart: string }>, alternatives: Array<{ __typename: 'Alternative', resourceId: string, resourceName: string, start: string, end: string }> }
    | { __typename: 'ForbiddenProblem', code: string, message: string }
    | { __typename: 'ValidationProblem', code: string, message: string, errors: Array<{ __typename: 'FieldError', field: string | null, pointer: string | null, otherPointer: string | null, code: string, message: string, limit: { __typename: 'LimitFigures', policy: string | null, minutes: number | null, days: number | null, bookings: number | null, start: string | null, earliest: string | null, bookableFrom: string | null, week: string | null, nextWeek: string | null } | null }> }
   };

export type CreateRoomFeedMutationVariables = Exact<{
  label?: string | null | undefined;
  resourceId: string | number;
  idempotencyKey?: string | null | undefined;
}>;


export type CreateRoomFeedMutation = { createCalendarToken:
    | { __typename: 'CalendarTokenCreated', url: string }
    | { __typename: 'ConflictProblem', code: string, message: string, errors: Array<{ __typename: 'FieldError', field: string | null, pointer: string | null, otherPointer: string | null, code: string, message: string, limit: { __typename: 'LimitFigures', policy: string | null, minutes: number | null, days: number | null, bookings: number | null, start: string | null, earliest: string | null, bookableFrom: string | null, week: string | null, nextWeek: string | null } | null }>, conflicts: Array<{ __typename: 'RoomConflict', bookingId: string, kind: BookingKind, subject: string | null, resourceId: string, start: string, end: string, wantedStart: string }>, alternatives: Array<{ __typename: 'Alternative', resourceId: string, resourceName: string, start: string, end: string }> }
    | { __typename: 'ForbiddenProblem', code: string, message: string }
    | { __typename: 'NotFoundProblem', code: string, message: string }
    | { __typename: 'ValidationProblem', code: string, message: string, errors: Array<{ __typename: 'FieldError', field: string | null, pointer: string | null, otherPointer: string | null, code: string, message: string, limit: { __typename: 'LimitFigures', policy: string | null, minutes: number | null, days: number | null, bookings: number | null, start: string | null, earliest: string | null, bookableFrom: string | null, week: string | null, nextWeek: string | null } | null }> }
   };

export type RevokeFeedMutationVariables = Exact<{
  id: string | number;
}>;


export type RevokeFeedMutation = { revokeCalendarToken:
    | { __typename: 'CalendarToken', id: string, label: string | null, class: string | null, teacher: string | null, resourceId: string | null, createdAt: string, lastUsedAt: string | null, revokedAt: string | null, person: { __typename: 'Person', id: string, name: string } | null }
    | { __typename: 'ForbiddenProblem', code: string, message: string }
    | { __typename: 'NotFoundProblem', code: string, message: string }
   };

export type DayLessonFragment = { __typename: 'Lesson', id: string, jobKey: string, lessonKey: string, start: string, end: string, resourceId: string, resourceName: string, subject: string | null, title: string | null, classes: Array<string> | null, teachers: Array<string> | null, remark: string | null, status: LessonStatus, origin: { __typename: 'LessonOrigin', start: string, end: string, resourceName: string, subject: string | null, teachers: Array<string> | null } | null };

export type DayLessonsQueryVariables = Exact<{
  filter: LessonFilter;
  after?: string | null | undefined;
}>;


export type DayLessonsQuery = { lessons: { __typename: 'LessonConnection', nodes: Array<{ __typename: 'Lesson', id: string, jobKey: string, lessonKey: string, start: string, end: string, resourceId: string, resourceName: string, subject: string | null, title: string | null, classes: Array<string> | null, teachers: Array<string> | null, remark: string | null, status: LessonStatus, origin: { __typename: 'LessonOrigin', start: string, end: string, resourceName: string, subject: string | null, teachers: Array<string> | null } | null }>, pageInfo: { __typename: 'PageInfo', hasNextPage: boolean, endCursor: string | null } } | null };

export type FollowLessonsSubscriptionVariables = Exact<{ [key: string]: never; }>;


export type FollowLessonsSubscription = { bookings: { __typename: 'BookingFrame', cursor: string } };

export type ChangeLessonMutationVariables = Exact<{
  jobs: Array<LessonJobChangeInput> | LessonJobChangeInput;
  options?: BatchOptions | null | undefined;
}>;


export type ChangeLessonMutation = { updateLessonJobs:
    | { __typename: 'BatchAccepted', batch: { __typename: 'Batch', id: string } }
    | { __typename: 'ConflictProblem', code: string, message: string, errors: Array<{ __typename: 'FieldError', field: string | null, pointer: string | null, otherPointer: string | null, code: string, message: string, limit: { __typename: 'LimitFigures', policy: string | null, minutes: number | null, days: number | null, bookings: number | null, start: string | null, earliest: string | null, bookableFrom: string | null, week: string | null, nextWeek: string | null } | null }>, conflicts: Array<{ __typename: 'RoomConflict', bookingId: string, kind: BookingKind, subject: string | null, resourceId: string, start: string, end: string, wantedStart: string }>, alternatives: Array<{ __typename: 'Alternative', resourceId: string, resourceName: string, start: string, end: string }> }
    | { __typename: 'ForbiddenProblem', code: string, message: string }
    | { __typename: 'LimitProblem', retryAfterSeconds: number | null, code: string, message: string }
    | { __typename: 'ValidationProblem', code: string, message: string, errors: Array<{ __typename: 'FieldError', field: string | null, pointer: string | null, otherPointer: string | null, code: string, message: string, limit: { __typename: 'LimitFigures', policy: string | null, minutes: number | null, days: number | null, bookings: number | null, start: string | null, earliest: string | null, bookableFrom: string | null, week: string | null, nextWeek: string | null } | null }> }
   };

export type FollowAllBookingsSubscriptionVariables = Exact<{ [key: string]: never; }>;


export type FollowAllBookingsSubscription = { bookings: { __typename: 'BookingFrame', cursor: string } };

export type MasterHolidaysFragment = { __typename: 'HolidayCalendar', id: string, name: string, locationId: string | null, closes: boolean, url: string | null, readAt: string | null, fault: string | null, faultAt: string | null, version: number };

export type MasterHolidayCalendarsQueryVariables = Exact<{
  after?: string | null | undefined;
}>;


export type MasterHolidayCalendarsQuery = { holidayCalendars: { __typename: 'HolidayCalendarConnection', nodes: Array<{ __typename: 'HolidayCalendar', id: string, name: string, locationId: string | null, closes: boolean, url: string | null, readAt: string | null, fault: string | null, faultAt: string | null, version: number }>, pageInfo: { __typename: 'PageInfo', hasNextPage: boolean, endCursor: string | null } } | null };

export type BookingsInHolidaysQueryVariables = Exact<{
  calendarId: string | number;
}>;


export type BookingsInHolidaysQuery = { bookingsInHolidays: { __typename: 'BookingInHolidayConnection', nodes: Array<{ __typename: 'BookingInHoliday', bookingId: string, resourceName: string, start: string, subject: string | null, holiday: string }>, pageInfo: { __typename: 'PageInfo', hasNextPage: boolean } } | null };

export type CreateHolidaysMutationVariables = Exact<{
  input: CreateHolidayCalendarInput;
}>;


export type CreateHolidaysMutation = { createHolidayCalendar:
    | { __typename: 'ConflictProblem', code: string, message: string, errors: Array<{ __typename: 'FieldError', field: string | null, pointer: string | null, otherPointer: string | null, code: string, message: string, limit: { __typename: 'LimitFigures', policy: string | null, minutes: number | null, days: number | null, bookings: number | null, start: string | null, earliest: string | null, bookableFrom: string | null, week: string | null, nextWeek: string | null } | null }>, conflicts: Array<{ __typename: 'RoomConflict', bookingId: string, kind: BookingKind, subject: string | null, resourceId: string, start: string, end: string, wantedStart: string }>, alternatives: Array<{ __typename: 'Alternative', resourceId: string, resourceName: string, start: string, end: string }> }
    | { __typename: 'ForbiddenProblem', code: string, message: string }
    | { __typename: 'HolidayCalendar', id: string, name: string, locationId: string | null, closes: boolean, url: string | null, readAt: string | null, fault: string | null, faultAt: string | null, version: number }
    | { __typename: 'ValidationProblem', code: string, message: string, errors: Array<{ __typename: 'FieldError', field: string | null, pointer: string | null, otherPointer: string | null, code: string, message: string, limit: { __typename: 'LimitFigures', policy: string | null, minutes: number | null, days: number | null, bookings: number | null, start: string | null, earliest: string | null, bookableFrom: string | null, week: string | null, nextWeek: string | null } | null }> }
   };

export type ChangeHolidaysMutationVariables = Exact<{
  id: string | number;
  version: number;
  input: ChangeHolidayCalendarInput;
}>;


export type ChangeHolidaysMutation = { changeHolidayCalendar:
    | { __typename: 'ConflictProblem', code: string, message: string, errors: Array<{ __typename: 'FieldError', field: string | null, pointer: string | null, otherPointer: string | null, code: string, message: string, limit: { __typename: 'LimitFigures', policy: string | null, minutes: number | null, days: number | null, bookings: number | null, start: string | null, earliest: string | null, bookableFrom: string | null, week: string | null, nextWeek: string | null } | null }>, conflicts: Array<{ __typename: 'RoomConflict', bookingId: string, kind: BookingKind, subject: string | null, resourceId: string, start: string, end: string, wantedStart: string }>, alternatives: Array<{ __typename: 'Alternative', resourceId: string, resourceName: string, start: string, end: string }> }
    | { __typename: 'ForbiddenProblem', code: string, message: string }
    | { __typename: 'HolidayCalendar', id: string, name: string, locationId: string | null, closes: boolean, url: string | null, readAt: string | null, fault: string | null, faultAt: string | null, version: number }
    | { __typename: 'NotFoundProblem', code: string, message: string }
    | { __typename: 'ValidationProblem', code: string, message: string, errors: Array<{ __typename: 'FieldError', field: string | null, pointer: string | null, otherPointer: string | null, code: string, message: string, limit: { __typename: 'LimitFigures', policy: string | null, minutes: number | null, days: number | null, bookings: number | null, start: string | null, earliest: string | null, bookableFrom: string | null, week: string | null, nextWeek: string | null } | null }> }
    | { __typename: 'VersionProblem', code: string, message: string }
   };

export type DeleteHolidaysMutationVariables = Exact<{
  id: string | number;
  version: number;
}>;


export type DeleteHolidaysMutation = { deleteHolidayCalendar:
    | { __typename: 'ForbiddenProblem', code: string, message: string }
    | { __typename: 'HolidayCalendar', id: string, name: string, locationId: string | null, closes: boolean, url: string | null, readAt: string | null, fault: string | null, faultAt: string | null, version: number }
    | { __typename: 'NotFoundProblem', code: string, message: string }
    | { __typename: 'VersionProblem', code: string, message: string }
   };

export type RulesFragment = { __typename: 'OpeningRuleList', version: number, items: Array<{ __typename: 'OpeningRule', weekdays: Array<number>, opens: string, closes: string, validFrom: string | null, validTo: string | null }> };

export type ExceptionsFragment = { __typename: 'OpeningExceptionList', version: number, items: Array<{ __typename: 'OpeningException', fromDate: string, toDate: string, closed: boolean, reason: string | null, periods: Array<{ __typename: 'OpeningPeriod', opens: string, closes: string }> }> };

export type LocationListsQueryVariables = Exact<{
  id: string | number;
}>;


export type LocationListsQuery = { rules: { __typename: 'OpeningRuleList', version: number, items: Array<{ __typename: 'OpeningRule', weekdays: Array<number>, opens: string, closes: string, validFrom: string | null, validTo: string | null }> } | null, exceptions: { __typename: 'OpeningExceptionList', version: number, items: Array<{ __typename: 'OpeningException', fromDate: string, toDate: string, closed: boolean, reason: string | null, periods: Array<{ __typename: 'OpeningPeriod', opens: string, closes: string }> }> } | null, ruleActs: { __typename: 'ActConnection', nodes: Array<{ __typename: 'Act', id: string }> } | null, exceptionActs: { __typename: 'ActConnection', nodes: Array<{ __typename: 'Act', id: string }> } | null };

export type RoomListsQueryVariables = Exact<{
  id: string | number;
}>;


export type RoomListsQuery = { rules: { __typename: 'OpeningRuleList', version: number, items: Array<{ __typename: 'OpeningRule', weekdays: Array<number>, opens: string, closes: string, validFrom: string | null, validTo: string | null }> } | null, exceptions: { __typename: 'OpeningExceptionList', version: number, items: Array<{ __typename: 'OpeningException', fromDate: string, toDate: string, closed: boolean, reason: string | null, periods: Array<{ __typename: 'OpeningPeriod', opens: string, closes: string }> }> } | null, ruleActs: { __typename: 'ActConnection', nodes: Array<{ __typename: 'Act', id: string }> } | null, exceptionActs: { __typename: 'ActConnection', nodes: Array<{ __typename: 'Act', id: string }> } | null };

export type ReallyOpenQueryVariables = Exact<{
  roomId: string | number;
  locationId: string | number;
  from: string;
  to: string;
}>;


export type ReallyOpenQuery = { resource: { __typename: 'Resource', openingHours: { __typename: 'ResourceHours', weekly: Array<{ __typename: 'OpeningRule', resourceId: string | null }>, intervals: Array<{ __typename: 'OpenInterval', localDate: string, opens: string, end: string }>, exceptions: Array<{ __typename: 'OpeningException', fromDate: string, toDate: string, reason: string | null }> } } | null, holidays: { __typename: 'HolidayConnection', nodes: Array<{ __typename: 'Holiday', name: string, fromDate: string, toDate: string, closes: boolean }> } | null };

export type SetLocationRulesMutationVariables = Exact<{
  id: string | number;
  version: number;
  items: Array<OpeningRuleInput> | OpeningRuleInput;
}>;


export type SetLocationRulesMutation = { setLocationOpeningRules:
    | { __typename: 'ForbiddenProblem', code: string, message: string }
    | { __typename: 'NotFoundProblem', code: string, message: string }
    | { __typename: 'OpeningRuleList', version: number, items: Array<{ __typename: 'OpeningRule', weekdays: Array<number>, opens: string, closes: string, validFrom: string | null, validTo: string | null }> }
    | { __typename: 'ValidationProblem', code: string, message: string, errors: Array<{ __typename: 'FieldError', field: string | null, pointer: string | null, otherPointer: string | null, code: string, message: string, limit: { __typename: 'LimitFigures', policy: string | null, minutes: number | null, days: number | null, bookings: number | null, start: string | null, earliest: string | null, bookableFrom: string | null, week: string | null, nextWeek: string | null } | null }> }
    | { __typename: 'VersionProblem', code: string, message: string }
   };

export type SetRoomRulesMutationVariables = Exact<{
  id: string | number;
  version: number;
  items: Array<OpeningRuleInput> | OpeningRuleInput;
}>;


export type SetRoomRulesMutation = { setOpeningRules:
    | { __typename: 'ForbiddenProblem', code: string, message: string }
    | { __typename: 'NotFoundProblem', code: string, message: string }
    | { __typename: 'OpeningRuleList', version: number, items: Array<{ __typename: 'OpeningRule', weekdays: Array<number>, opens: string, closes: string, validFrom: string | null, validTo: string | null }> }
    | { __typename: 'ValidationProblem', code: string, message: string, errors: Array<{ __typename: 'FieldError', field: string | null, pointer: string | null, otherPointer: string | null, code: string, message: string, limit: { __typename: 'LimitFigures', policy: string | null, minutes: number | null, days: number | null, bookings: number | null, start: string | null, earliest: string | null, bookableFrom: string | null, week: string | null, nextWeek: string | null } | null }> }
    | { __typename: 'VersionProblem', code: string, message: string }
   };

export type SetLocationExceptionsMutationVariables = Exact<{
  id: string | number;
  version: number;
  items: Array<OpeningExceptionInput> | OpeningExceptionInput;
}>;


export type SetLocationExceptionsMutation = { setLocationOpeningExceptions:
    | { __typename: 'ForbiddenProblem', code: string, message: string }
    | { __typename: 'NotFoundProblem', code: string, message: string }
    | { __typename: 'OpeningExceptionList', version: number, items: Array<{ __typename: 'OpeningException', fromDate: string, toDate: string, closed: boolean, reason: string | null, periods: Array<{ __typename: 'OpeningPeriod', opens: string, closes: string }> }> }
    | { __typename: 'ValidationProblem', code: string, message: string, errors: Array<{ __typename: 'FieldError', field: string | null, pointer: string | null, otherPointer: string | null, code: string, message: string, limit: { __typename: 'LimitFigures', policy: string | null, minutes: number | null, days: number | null, bookings: number | null, start: string | null, earliest: string | null, bookableFrom: string | null, week: string | null, nextWeek: string | null } | null }> }
    | { __typename: 'VersionProblem', code: string, message: string }
   };

export type SetRoomExceptionsMutationVariables = Exact<{
  id: string | number;
  version: number;
  items: Array<OpeningExceptionInput> | OpeningExceptionInput;
}>;


export type SetRoomExceptionsMutation = { setOpeningExceptions:
    | { __typename: 'ForbiddenProblem', code: string, message: string }
    | { __typename: 'NotFoundProblem', code: string, message: string }
    | { __typename: 'OpeningExceptionList', version: number, items: Array<{ __typename: 'OpeningException', fromDate: string, toDate: string, closed: boolean, reason: string | null, periods: Array<{ __typename: 'OpeningPeriod', opens: string, closes: string }> }> }
    | { __typename: 'ValidationProblem', code: string, message: string, errors: Array<{ __typename: 'FieldError', field: string | null, pointer: string | null, otherPointer: string | null, code: string, message: string, limit: { __typename: 'LimitFigures', policy: string | null, minutes: number | null, days: number | null, bookings: number | null, start: string | null, earliest: string | null, bookableFrom: string | null, week: string | null, nextWeek: string | null } | null }> }
    | { __typename: 'VersionProblem', code: string, message: string }
   };

export type BookingsOnDaysQueryVariables = Exact<{
  filter: BookingFilter;
  after?: string | null | undefined;
}>;


export type BookingsOnDaysQuery = { bookings: { __typename: 'BookingConnection', nodes: Array<{ __typename: 'Booking', id: string, resourceId: string, resourceName: string, start: string, end: string, subject: string | null, kind: BookingKind }>, pageInfo: { __typename: 'PageInfo', hasNextPage: boolean, endCursor: string | null } } | null };

export type HoursOnDaysFragment = { __typename: 'ResourceHours', resourceId: string, weekly: Array<{ __typename: 'OpeningRule', resourceId: string | null }>, exceptions: Array<{ __typename: 'OpeningException', resourceId: string | null, fromDate: string, toDate: string }> };

export type HoursOnDaysQueryVariables = Exact<{
  locationId: string | number;
  from: string;
  to: string;
}>;


export type HoursOnDaysQuery = { openingHours: { __typename: 'OpeningHours', resources: Array<{ __typename: 'ResourceHours', resourceId: string, weekly: Array<{ __typename: 'OpeningRule', resourceId: string | null }>, exceptions: Array<{ __typename: 'OpeningException', resourceId: string | null, fromDate: string, toDate: string }> }> } | null };

export type RoomHoursOnDaysQueryVariables = Exact<{
  id: string | number;
  zoneOf: string | number;
  from: string;
  to: string;
}>;


export type RoomHoursOnDaysQuery = { resource: { __typename: 'Resource', openingHours: { __typename: 'ResourceHours', resourceId: string, weekly: Array<{ __typename: 'OpeningRule', resourceId: string | null }>, exceptions: Array<{ __typename: 'OpeningException', resourceId: string | null, fromDate: string, toDate: string }> } } | null };

export type ConflictFragment = { __typename: 'MailConflict', subject: string | null, start: string, end: string, organizerName: string | null, organizerEmail: string | null, decline: { __typename: 'MailDecline', state: MailDeclineState, at: string | null, reason: string | null } | null };

export type CalendarFragment = { __typename: 'MailSubscription', id: string, mailbox: string, kind: MailServerKind, state: MailSubscriptionState | null, stateText: string | null, pushWorks: boolean, lastPushAt: string | null, expiresAt: string | null, lastReadAt: string | null, nextReadAt: string, conflictCount: number, declinedCount: number, unreadableCount: number, unwrittenCount: number, writingFault: string | null, resource: { __typename: 'Resource', id: string, name: string }, fault: { __typename: 'MailFault', kind: MailFaultKind, text: string } | null };

export type FollowCalendarsSubscriptionVariables = Exact<{ [key: string]: never; }>;


export type FollowCalendarsSubscription = { mailSubscriptions: Array<{ __typename: 'MailSubscription', id: string, mailbox: string, kind: MailServerKind, state: MailSubscriptionState | null, stateText: string | null, pushWorks: boolean, lastPushAt: string | null, expiresAt: string | null, lastReadAt: string | null, nextReadAt: string, conflictCount: number, declinedCount: number, unreadableCount: number, unwrittenCount: number, writingFault: string | null, resource: { __typename: 'Resource', id: string, name: string }, fault: { __typename: 'MailFault', kind: MailFaultKind, text: string } | null }> };

export type CalendarTroublesQueryVariables = Exact<{
  id: string | number;
}>;


export type CalendarTroublesQuery = { node:
    | { __typename: 'Act' }
    | { __typename: 'Batch' }
    | { __typename: 'Booking' }
    | { __typename: 'CalendarToken' }
    | { __typename: 'Display' }
    | { __typename: 'Group' }
    | { __typename: 'HolidayCalendar' }
    | { __typename: 'Lesson' }
    | { __typename: 'LessonJob' }
    | { __typename: 'Location' }
    | { __typename: 'MailSubscription', id: string, conflicts: Array<{ __typename: 'MailConflict', bookingId: string | null, subject: string | null, start: string, end: string, organizerName: string | null, organizerEmail: string | null, booking: { __typename: 'Booking', id: string, subject: string | null, kind: BookingKind, start: string, end: string, timeZone: string, organizer: { __typename: 'Organizer', displayName: string } | null } | null, decline: { __typename: 'MailDecline', state: MailDeclineState, at: string | null, reason: string | null } | null }>, declined: Array<{ __typename: 'MailConflict', subject: string | null, start: string, end: string, organizerName: string | null, organizerEmail: string | null, decline: { __typename: 'MailDecline', state: MailDeclineState, at: string | null, reason: string | null } | null }>, unreadable: Array<{ __typename: 'MailUnreadableItem', itemId: string, uid: string | null, reason: string | null, since: string }>, unwritten: Array<{ __typename: 'MailUnwrittenItem', bookingId: string, start: string, end: string, cause: MailUnwrittenCause, reason: string, nextTryAt: string, booking: { __typename: 'Booking', id: string, subject: string | null, kind: BookingKind, timeZone: string, organizer: { __typename: 'Organizer', displayName: string } | null } | null }> }
    | { __typename: 'Person' }
    | { __typename: 'Pin' }
    | { __typename: 'Policy' }
    | { __typename: 'Resource' }
    | { __typename: 'RoomProblem' }
    | { __typename: 'Series' }
    | { __typename: 'Tenant' }
    | { __typename: 'TimetableProfile' }
    | { __typename: 'Webhook' }
   | null };

export type ReadCalendarMutationVariables = Exact<{
  id: string | number;
}>;


export type ReadCalendarMutation = { readMailSubscription:
    | { __typename: 'ForbiddenProblem', code: string, message: string }
    | { __typename: 'LimitProblem', retryAfterSeconds: number | null, code: string, message: string }
    | { __typename: 'MailSubscription', id: string, mailbox: string, kind: MailServerKind, state: MailSubscriptionState | null, stateText: string | null, pushWorks: boolean, lastPushAt: string | null, expiresAt: string | null, lastReadAt: string | null, nextReadAt: string, conflictCount: number, declinedCount: number, unreadableCount: number, unwrittenCount: number, writingFault: string | null, resource: { __typename: 'Resource', id: string, name: string }, fault: { __typename: 'MailFault', kind: MailFaultKind, text: string } | null }
    | { __typename: 'NotFoundProblem', code: string, message: string }
   };

export type MasterLocationFragment = { __typename: 'Location', id: string, restId: string, name: string, timeZone: string, active: boolean, version: number };

export type MasterRoomFragment = { __typename: 'Resource', id: string, restId: string, name: string, locationId: string, kind: string, capacity: number | null, equipment: Array<string>, mailbox: string | null, calendarWriting: CalendarWriting | null, calendarEdits: CalendarEdits | null, declineConflicts: boolean | null, checkInMinutes: number | null, policyId: string | null, active: boolean, version: number };

export type MasterLocationsQueryVariables = Exact<{ [key: string]: never; }>;


export type MasterLocationsQuery = { locations: Array<{ __typename: 'Location', id: string, restId: string, name: string, timeZone: string, active: boolean, version: number }> | null };

export type MasterLocationQueryVariables = Exact<{
  id: string | number;
}>;


export type MasterLocationQuery = { location: { __typename: 'Location', id: string, restId: string, name: string, timeZone: string, active: boolean, version: number } | null };

export type MasterRoomsQueryVariables = Exact<{
  after?: string | null | undefined;
}>;


export type MasterRoomsQuery = { resources: { __typename: 'ResourceConnection', nodes: Array<{ __typename: 'Resource', id: string, restId: string, name: string, locationId: string, kind: string, capacity: number | null, equipment: Array<string>, mailbox: string | null, calendarWriting: CalendarWriting | null, calendarEdits: CalendarEdits | null, declineConflicts: boolean | null, checkInMinutes: number | null, policyId: string | null, active: boolean, version: number }>, pageInfo: { __typename: 'PageInfo', hasNextPage: boolean, endCursor: string | null } } | null };

export type MasterRoomQueryVariables = Exact<{
  id: string | number;
}>;


export type MasterRoomQuery = { resource: { __typename: 'Resource', id: string, restId: string, name: string, locationId: string, kind: string, capacity: number | null, equipment: Array<string>, mailbox: string | null, calendarWriting: CalendarWriting | null, calendarEdits: CalendarEdits | null, declineConflicts: boolean | null, checkInMinutes: number | null, policyId: string | null, active: boolean, version: number } | null };

export type PolicyNamesQueryVariables = Exact<{
  after?: string | null | undefined;
}>;


export type PolicyNamesQuery = { policies: { __typename: 'PolicyConnection', nodes: Array<{ __typename: 'Policy', id: string, name: string }>, pageInfo: { __typename: 'PageInfo', hasNextPage: boolean, endCursor: string | null } } | null };

export type LatestActsQueryVariables = Exact<{
  filter: ActFilter;
}>;


export type LatestActsQuery = { audit: { __typename: 'ActConnection', nodes: Array<{ __typename: 'Act', id: string, at: string, action: string, person: { __typename: 'PersonReference', displayName: string } | null, changes: Array<{ __typename: 'MemberChange', member: string, from: string | null, to: string | null }> }> } | null };

export type RetirementPreviewQueryVariables = Exact<{
  id: string | number;
}>;


export type RetirementPreviewQuery = { retirementPreview: { __typename: 'RetirementPreview', version: number, digest: string, bookings: number, series: number, blocks: number, lessons: number, mailItems: number, displays: number, hasMailCalendar: boolean, lastEnd: string | null } | null };

export type CreateLocationMutationVariables = Exact<{
  input: CreateLocationInput;
}>;


export type CreateLocationMutation = { createLocation:
    | { __typename: 'ConflictProblem', code: string, message: string, errors: Array<{ __typename: 'FieldError', field: string | null, pointer: string | null, otherPointer: string | null, code: string, message: string, limit: { __typename: 'LimitFigures', policy: string | null, minutes: number | null, days: number | null, bookings: number | null, start: string | null, earliest: string | null, bookableFrom: string | null, week: string | null, nextWeek: string | null } | null }>, conflicts: Array<{ __typename: 'RoomConflict', bookingId: string, kind: BookingKind, subject: string | null, resourceId: string, start: string, end: string, wantedStart: string }>, alternatives: Array<{ __typename: 'Alternative', resourceId: string, resourceName: string, start: string, end: string }> }
    | { __typename: 'ForbiddenProblem', code: string, message: string }
    | { __typename: 'Location', id: string, restId: string, name: string, timeZone: string, active: boolean, version: number }
    | { __typename: 'ValidationProblem', code: string, message: string, errors: Array<{ __typename: 'FieldError', field: string | null, pointer: string | null, otherPointer: string | null, code: string, message: string, limit: { __typename: 'LimitFigures', policy: string | null, minutes: number | null, days: number | null, bookings: number | null, start: string | null, earliest: string | null, bookableFrom: string | null, week: string | null, nextWeek: string | null } | null }> }
   };

export type ChangeLocationMutationVariables = Exact<{
  id: string | number;
  version: number;
  input: ChangeLocationInput;
}>;


export type ChangeLocationMutation = { changeLocation:
    | { __typename: 'ConflictProblem', code: string, message: string, errors: Array<{ __typename: 'FieldError', field: string | null, pointer: string | null, otherPointer: string | null, code: string, message: string, limit: { __typename: 'LimitFigures', policy: string | null, minutes: number | null, days: number | null, bookings: number | null, start: string | null, earliest: string | null, bookableFrom: string | null, week: string | null, nextWeek: string | null } | null }>, conflicts: Array<{ __typename: 'RoomConflict', bookingId: string, kind: BookingKind, subject: string | null, resourceId: string, start: string, end: string, wantedStart: string }>, alternatives: Array<{ __typename: 'Alternative', resourceId: string, resourceName: string, start: string, end: string }> }
    | { __typename: 'ForbiddenProblem', code: string, message: string }
    | { __typename: 'Location', id: string, restId: string, name: string, timeZone: string, active: boolean, version: number }
    | { __typename: 'NotFoundProblem', code: string, message: string }
    | { __typename: 'ValidationProblem', code: string, message: string, errors: Array<{ __typename: 'FieldError', field: string | null, pointer: string | null, otherPointer: string | null, code: string, message: string, limit: { __typename: 'LimitFigures', policy: string | null, minutes: number | null, days: number | null, bookings: number | null, start: string | null, earliest: string | null, bookableFrom: string | null, week: string | null, nextWeek: string | null } | null }> }
    | { __typename: 'VersionProblem', code: string, message: string }
   };

export type CreateResourceMutationVariables = Exact<{
  input: CreateResourceInput;
}>;


export type CreateResourceMutation = { createResource:
    | { __typename: 'ConflictProblem', code: string, message: string, errors: Array<{ __typename: 'FieldError', field: string | null, pointer: string | null, otherPointer: string | null, code: string, message: string, limit: { __typename: 'LimitFigures', policy: string | null, minutes: number | null, days: number | null, bookings: number | null, start: string | null, earliest: string | null, bookableFrom: string | null, week: string | null, nextWeek: string | null } | null }>, conflicts: Array<{ __typename: 'RoomConflict', bookingId: string, kind: BookingKind, subject: string | null, resourceId: string, start: string, end: string, wantedStart: string }>, alternatives: Array<{ __typename: 'Alternative', resourceId: string, resourceName: string, start: string, end: string }> }
    | { __typename: 'ForbiddenProblem', code: string, message: string }
    | { __typename: 'Resource', id: string, restId: string, name: string, locationId: string, kind: string, capacity: number | null, equipment: Array<string>, mailbox: string | null, calendarWriting: CalendarWriting | null, calendarEdits: CalendarEdits | null, declineConflicts: boolean | null, checkInMinutes: number | null, policyId: string | null, active: boolean, version: number }
    | { __typename: 'ValidationProblem', code: string, message: string, errors: Array<{ __typename: 'FieldError', field: string | null, pointer: string | null, otherPointer: string | null, code: string, message: string, limit: { __typename: 'LimitFigures', policy: string | null, minutes: number | null, days: number | null, bookings: number | null, start: string | null, earliest: string | null, bookableFrom: string | null, week: string | null, nextWeek: string | null } | null }> }
   };

export type ChangeResourceMutationVariables = Exact<{
  id: string | number;
  version: number;
  input: ChangeResourceInput;
}>;


export type ChangeResourceMutation = { changeResource:
    | { __typename: 'ConflictProblem', code: string, message: string, errors: Array<{ __typename: 'FieldError', field: string | null, pointer: string | null, otherPointer: string | null, code: string, message: string, limit: { __typename: 'LimitFigures', policy: string | null, minutes: number | null, days: number | null, bookings: number | null, start: string | null, earliest: string | null, bookableFrom: string | null, week: string | null, nextWeek: string | null } | null }>, conflicts: Array<{ __typename: 'RoomConflict', bookingId: string, kind: BookingKind, subject: string | null, resourceId: string, start: string, end: string, wantedStart: string }>, alternatives: Array<{ __typename: 'Alternative', resourceId: string, resourceName: string, start: string, end: string }> }
    | { __typename: 'ForbiddenProblem', code: string, message: string }
    | { __typename: 'NotFoundProblem', code: string, message: string }
    | { __typename: 'Resource', id: string, restId: string, name: string, locationId: string, kind: string, capacity: number | null, equipment: Array<string>, mailbox: string | null, calendarWriting: CalendarWriting | null, calendarEdits: CalendarEdits | null, declineConflicts: boolean | null, checkInMinutes: number | null, policyId: string | null, active: boolean, version: number }
    | { __typename: 'ValidationProblem', code: string, message: string, errors: Array<{ __typename: 'FieldError', field: string | null, pointer: string | null, otherPointer: string | null, code: string, message: string, limit: { __typename: 'LimitFigures', policy: string | null, minutes: number | null, days: number | null, bookings: number | null, start: string | null, earliest: string | null, bookableFrom: string | null, week: string | null, nextWeek: string | null } | null }> }
    | { __typename: 'VersionProblem', code: string, message: string }
   };

export type RetireResourceMutationVariables = Exact<{
  id: string | number;
  version: number;
  digest: string;
  input: RetireResourceInput;
}>;


export type RetireResourceMutation = { retireResource:
    | { __typename: 'ConflictProblem', code: string, message: string, errors: Array<{ __typename: 'FieldError', field: string | null, pointer: string | null, otherPointer: string | null, code: string, message: string, limit: { __typename: 'LimitFigures', policy: string | null, minutes: number | null, days: number | null, bookings: number | null, start: string | null, earliest: string | null, bookableFrom: string | null, week: string | null, nextWeek: string | null } | null }>, conflicts: Array<{ __typename: 'RoomConflict', bookingId: string, kind: BookingKind, subject: string | null, resourceId: string, start: string, end: string, wantedStart: string }>, alternatives: Array<{ __typename: 'Alternative', resourceId: string, resourceName: string, start: string, end: string }> }
    | { __typename: 'ForbiddenProblem', code: string, message: string }
    | { __typename: 'NotFoundProblem', code: string, message: string }
    | { __typename: 'Retired', cancelled: number, moved: number, version: number, kept: { __typename: 'UpcomingBookings', bookings: number, blocks: number, lessons: number }, conflicts: Array<{ __typename: 'RoomConflict', bookingId: string }> }
    | { __typename: 'ValidationProblem', code: string, message: string, errors: Array<{ __typename: 'FieldError', field: string | null, pointer: string | null, otherPointer: string | null, code: string, message: string, limit: { __typename: 'LimitFigures', policy: string | null, minutes: number | null, days: number | null, bookings: number | null, start: string | null, earliest: string | null, bookableFrom: string | null, week: string | null, nextWeek: string | null } | null }> }
    | { __typename: 'VersionProblem', code: string, message: string }
   };

export type MyBookingsQueryVariables = Exact<{
  filter: BookingFilter;
  after?: string | null | undefined;
}>;


export type MyBookingsQuery = { bookings: { __typename: 'BookingConnection', nodes: Array<{ __typename: 'Booking', id: string, resourceName: string, timeZone: string, start: string, end: string, subject: string | null, status: BookingStatus, kind: BookingKind, version: number }>, pageInfo: { __typename: 'PageInfo', hasNextPage: boolean, endCursor: string | null } } | null };

export type MasterPersonFragment = { __typename: 'Person', id: string, name: string, email: string, role: Role, teacherCode: string | null, timeZone: string, active: boolean, erasedAt: string | null, version: number };

export type MasterGroupFragment = { __typename: 'Group', id: string, name: string, version: number };

export type MasterPolicyFragment = { __typename: 'Policy', id: string, name: string, maySee: Array<string>, mayBook: Array<string>, mayBookForOthers: Array<string>, mayDecide: Array<string>, maySkipApproval: Array<string>, needsApproval: boolean, leadMinutes: number | null, aheadDays: number | null, longestMinutes: number | null, quotaBookingsPerWeek: number | null, quotaMinutesPerWeek: number | null, version: number };

export type MasterPinFragment = { __typename: 'Pin', id: string, label: string | null, createdAt: string, expiresAt: string | null, lastUsedAt: string | null, revokedAt: string | null };

export type MasterPersonsQueryVariables = Exact<{
  filter?: PersonFilter | null | undefined;
  after?: string | null | undefined;
}>;


export type MasterPersonsQuery = { persons: { __typename: 'PersonConnection', nodes: Array<{ __typename: 'Person', id: string, name: string, email: string, role: Role, teacherCode: string | null, timeZone: string, active: boolean, erasedAt: string | null, version: number }>, pageInfo: { __typename: 'PageInfo', hasNextPage: boolean, endCursor: string | null } } | null };

export type MasterPersonQueryVariables = Exact<{
  id: string | number;
}>;


export type MasterPersonQuery = { person: { __typename: 'Person', id: string, name: string, email: string, role: Role, teacherCode: string | null, timeZone: string, active: boolean, erasedAt: string | null, version: number } | null };

export type MasterGroupsQueryVariables = Exact<{
  after?: string | null | undefined;
}>;


export type MasterGroupsQuery = { groups: { __typename: 'GroupConnection', nodes: Array<{ __typename: 'Group', id: string, name: string, version: number }>, pageInfo: { __typename: 'PageInfo', hasNextPage: boolean, endCursor: string | null } } | null };

export type MasterGroupQueryVariables = Exact<{
  id: string | number;
}>;


export type MasterGroupQuery = { group: { __typename: 'Group', id: string, name: string, version: number } | null };

export type MasterPoliciesQueryVariables = Exact<{
  after?: string | null | undefined;
}>;


export type MasterPoliciesQuery = { policies: { __typename: 'PolicyConnection', nodes: Array<{ __typename: 'Policy', id: string, name: string, maySee: Array<string>, mayBook: Array<string>, mayBookForOthers: Array<string>, mayDecide: Array<string>, maySkipApproval: Array<string>, needsApproval: boolean, leadMinutes: number | null, aheadDays: number | null, longestMinutes: number | null, quotaBookingsPerWeek: number | null, quotaMinutesPerWeek: number | null, version: number }>, pageInfo: { __typename: 'PageInfo', hasNextPage: boolean, endCursor: string | null } } | null };

export type MasterPolicyQueryVariables = Exact<{
  id: string | number;
}>;


export type MasterPolicyQuery = { policy: { __typename: 'Policy', id: string, name: string, maySee: Array<string>, mayBook: Array<string>, mayBookForOthers: Array<string>, mayDecide: Array<string>, maySkipApproval: Array<string>, needsApproval: boolean, leadMinutes: number | null, aheadDays: number | null, longestMinutes: number | null, quotaBookingsPerWeek: number | null, quotaMinutesPerWeek: number | null, version: number } | null };

export type MasterPinsQueryVariables = Exact<{
  personId: string | number;
}>;


export type MasterPinsQuery = { pins: { __typename: 'PinConnection', nodes: Array<{ __typename: 'Pin', id: string, label: string | null, createdAt: string, expiresAt: string | null, lastUsedAt: string | null, revokedAt: string | null }> } | null };

export type CreatePersonMutationVariables = Exact<{
  input: CreatePersonInput;
}>;


export type CreatePersonMutation = { createPerson:
    | { __typename: 'ConflictProblem', code: string, message: string, errors: Array<{ __typename: 'FieldError', field: string | null, pointer: string | null, otherPointer: string | null, code: string, message: string, limit: { __typename: 'LimitFigures', policy: string | null, minutes: number | null, days: number | null, bookings: number | null, start: string | null, earliest: string | null, bookableFrom: string | null, week: string | null, nextWeek: string | null } | null }>, conflicts: Array<{ __typename: 'RoomConflict', bookingId: string, kind: BookingKind, subject: string | null, resourceId: string, start: string, end: string, wantedStart: string }>, alternatives: Array<{ __typename: 'Alternative', resourceId: string, resourceName: string, start: string, end: string }> }
    | { __typename: 'ForbiddenProblem', code: string, message: string }
    | { __typename: 'Person', id: string, name: string, email: string, role: Role, teacherCode: string | null, timeZone: string, active: boolean, erasedAt: string | null, version: number }
    | { __typename: 'ValidationProblem', code: string, message: string, errors: Array<{ __typename: 'FieldError', field: string | null, pointer: string | null, otherPointer: string | null, code: string, message: string, limit: { __typename: 'LimitFigures', policy: string | null, minutes: number | null, days: number | null, bookings: number | null, start: string | null, earliest: string | null, bookableFrom: string | null, week: string | null, nextWeek: string | null } | null }> }
   };

export type ChangePersonMutationVariables = Exact<{
  id: string | number;
  version: number;
  input: ChangePersonInput;
}>;


export type ChangePersonMutation = { changePerson:
    | { __typename: 'ConflictProblem', code: string, message: string, errors: Array<{ __typename: 'FieldError', field: string | null, pointer: string | null, otherPointer: string | null, code: string, message: string, limit: { __typename: 'LimitFigures', policy: string | null, minutes: number | null, days: number | null, bookings: number | null, start: string | null, earliest: string | null, bookableFrom: string | null, week: string | null, nextWeek: string | null } | null }>, conflicts: Array<{ __typename: 'RoomConflict', bookingId: string, kind: BookingKind, subject: string | null, resourceId: string, start: string, end: string, wantedStart: string }>, alternatives: Array<{ __typename: 'Alternative', resourceId: string, resourceName: string, start: string, end: string }> }
    | { __typename: 'ForbiddenProblem', code: string, message: string }
    | { __typename: 'NotFoundProblem', code: string, message: string }
    | { __typename: 'Person', id: string, name: string, email: string, role: Role, teacherCode: string | null, timeZone: string, active: boolean, erasedAt: string | null, version: number }
    | { __typename: 'ValidationProblem', code: string, message: string, errors: Array<{ __typename: 'FieldError', field: string | null, pointer: string | null, otherPointer: string | null, code: string, message: string, limit: { __typename: 'LimitFigures', policy: string | null, minutes: number | null, days: number | null, bookings: number | null, start: string | null, earliest: string | null, bookableFrom: string | null, week: string | null, nextWeek: string | null } | null }> }
    | { __typename: 'VersionProblem', code: string, message: string }
   };

export type ErasePersonMutationVariables = Exact<{
  id: string | number;
  version?: number | null | undefined;
  alsoKnownAs?: Array<string> | string | null | undefined;
}>;


export type ErasePersonMutation = { erasePerson:
    | { __typename: 'ConflictProblem', code: string, message: string, errors: Array<{ __typename: 'FieldError', field: string | null, pointer: string | null, otherPointer: string | null, code: string, message: string, limit: { __typename: 'LimitFigures', policy: string | null, minutes: number | null, days: number | null, bookings: number | null, start: string | null, earliest: string | null, bookableFrom: string | null, week: string | null, nextWeek: string | null } | null }>, conflicts: Array<{ __typename: 'RoomConflict', bookingId: string, kind: BookingKind, subject: string | null, resourceId: string, start: string, end: string, wantedStart: string }>, alternatives: Array<{ __typename: 'Alternative', resourceId: string, resourceName: string, start: string, end: string }> }
    | { __typename: 'ForbiddenProblem', code: string, message: string }
    | { __typename: 'NotFoundProblem', code: string, message: string }
    | { __typename: 'Person', id: string, name: string, email: string, role: Role, teacherCode: string | null, timeZone: string, active: boolean, erasedAt: string | null, version: number }
    | { __typename: 'ValidationProblem', code: string, message: string, errors: Array<{ __typename: 'FieldError', field: string | null, pointer: string | null, otherPointer: string | null, code: string, message: string, limit: { __typename: 'LimitFigures', policy: string | null, minutes: number | null, days: number | null, bookings: number | null, start: string | null, earliest: string | null, bookableFrom: string | null, week: string | null, nextWeek: string | null } | null }> }
    | { __typename: 'VersionProblem', code: string, message: string }
   };

export type CreatePinMutationVariables = Exact<{
  personId: string | number;
  label?: string | null | undefined;
  expiresAt?: string | null | undefined;
  idempotencyKey?: string | null | undefined;
}>;


export type CreatePinMutation = { createPin:
    | { __typename: 'ConflictProblem', code: string, message: string, errors: Array<{ __typename: 'FieldError', field: string | null, pointer: string | null, otherPointer: string | null, code: string, message: string, limit: { __typename: 'LimitFigures', policy: string | null, minutes: number | null, days: number | null, bookings: number | null, start: string | null, earliest: string | null, bookableFrom: string | null, week: string | null, nextWeek: string | null } | null }>, conflicts: Array<{ __typename: 'RoomConflict', bookingId: string, kind: BookingKind, subject: string | null, resourceId: string, start: string, end: string, wantedStart: string }>, alternatives: Array<{ __typename: 'Alternative', resourceId: string, resourceName: string, start: string, end: string }> }
    | { __typename: 'ForbiddenProblem', code: string, message: string }
    | { __typename: 'NotFoundProblem', code: string, message: string }
    | { __typename: 'PinCreated', pin: string }
    | { __typename: 'ValidationProblem', code: string, message: string, errors: Array<{ __typename: 'FieldError', field: string | null, pointer: string | null, otherPointer: string | null, code: string, message: string, limit: { __typename: 'LimitFigures', policy: string | null, minutes: number | null, days: number | null, bookings: number | null, start: string | null, earliest: string | null, bookableFrom: string | null, week: string | null, nextWeek: string | null } | null }> }
   };

export type RevokePinMutationVariables = Exact<{
  id: string | number;
}>;


export type RevokePinMutation = { revokePin:
    | { __typename: 'ForbiddenProblem', code: string, message: string }
    | { __typename: 'NotFoundProblem', code: string, message: string }
    | { __typename: 'Pin', id: string, label: string | null, createdAt: string, expiresAt: string | null, lastUsedAt: string | null, revokedAt: string | null }
   };

export type CreateGroupMutationVariables = Exact<{
  input: CreateGroupInput;
}>;


export type CreateGroupMutation = { createGroup:
    | { __typename: 'ConflictProblem', code: string, message: string, errors: Array<{ __typename: 'FieldError', field: string | null, pointer: string | null, otherPointer: string | null, code: string, message: string, limit: { __typename: 'LimitFigures', policy: string | null, minutes: number | null, days: number | null, bookings: number | null, start: string | null, earliest: string | null, bookableFrom: string | null, week: string | null, nextWeek: string | null } | null }>, conflicts: Array<{ __typename: 'RoomConflict', bookingId: string, kind: BookingKind, subject: string | null, resourceId: string, start: string, end: string, wantedStart: string }>, alternatives: Array<{ __typename: 'Alternative', resourceId: string, resourceName: string, start: string, end: string }> }
    | { __typename: 'ForbiddenProblem', code: string, message: string }
    | { __typename: 'Group', id: string, name: string, version: number }
    | { __typename: 'ValidationProblem', code: string, message: string, errors: Array<{ __typename: 'FieldError', field: string | null, pointer: string | null, otherPointer: string | null, code: string, message: string, limit: { __typename: 'LimitFigures', policy: string | null, minutes: number | null, days: number | null, bookings: number | null, start: string | null, earliest: string | null, bookableFrom: string | null, week: string | null, nextWeek: string | null } | null }> }
   };

export type ChangeGroupMutationVariables = Exact<{
  id: string | number;
  version: number;
  input: ChangeGroupInput;
}>;


export type ChangeGroupMutation = { changeGroup:
    | { __typename: 'ConflictProblem', code: string, message: string, errors: Array<{ __typename: 'FieldError', field: string | null, pointer: string | null, otherPointer: string | null, code: string, message: string, limit: { __typename: 'LimitFigures', policy: string | null, minutes: number | null, days: number | null, bookings: number | null, start: string | null, earliest: string | null, bookableFrom: string | null, week: string | null, nextWeek: string | null } | null }>, conflicts: Array<{ __typename: 'RoomConflict', bookingId: string, kind: BookingKind, subject: string | null, resourceId: string, start: string, end: string, wantedStart: string }>, alternatives: Array<{ __typename: 'Alternative', resourceId: string, resourceName: string, start: string, end: string }> }
    | { __typename: 'ForbiddenProblem', code: string, message: string }
    | { __typename: 'Group', id: string, name: string, version: number }
    | { __typename: 'NotFoundProblem', code: string, message: string }
    | { __typename: 'ValidationProblem', code: string, message: string, errors: Array<{ __typename: 'FieldError', field: string | null, pointer: string | null, otherPointer: string | null, code: string, message: string, limit: { __typename: 'LimitFigures', policy: string | null, minutes: number | null, days: number | null, bookings: number | null, start: string | null, earliest: string | null, bookableFrom: string | null, week: string | null, nextWeek: string | null } | null }> }
    | { __typename: 'VersionProblem', code: string, message: string }
   };

export type DeleteGroupMutationVariables = Exact<{
  id: string | number;
  version: number;
}>;


export type DeleteGroupMutation = { deleteGroup:
    | { __typename: 'ConflictProblem', code: string, message: string, errors: Array<{ __typename: 'FieldError', field: string | null, pointer: string | null, otherPointer: string | null, code: string, message: string, limit: { __typename: 'LimitFigures', policy: string | null, minutes: number | null, days: number | null, bookings: number | null, start: string | null, earliest: string | null, bookableFrom: string | null, week: string | null, nextWeek: string | null } | null }>, conflicts: Array<{ __typename: 'RoomConflict', bookingId: string, kind: BookingKind, subject: string | null, resourceId: string, start: string, end: string, wantedStart: string }>, alternatives: Array<{ __typename: 'Alternative', resourceId: string, resourceName: string, start: string, end: string }> }
    | { __typename: 'ForbiddenProblem', code: string, message: string }
    | { __typename: 'Group', id: string, name: string, version: number }
    | { __typename: 'NotFoundProblem', code: string, message: string }
    | { __typename: 'VersionProblem', code: string, message: string }
   };

export type CreatePolicyMutationVariables = Exact<{
  input: CreatePolicyInput;
}>;


export type CreatePolicyMutation = { createPolicy:
    | { __typename: 'ConflictProblem', code: string, message: string, errors: Array<{ __typename: 'FieldError', field: string | null, pointer: string | null, otherPointer: string | null, code: string, message: string, limit: { __typename: 'LimitFigures', policy: string | null, minutes: number | null, days: number | null, bookings: number | null, start: string | null, earliest: string | null, bookableFrom: string | null, week: string | null, nextWeek: string | null } | null }>, conflicts: Array<{ __typename: 'RoomConflict', bookingId: string, kind: BookingKind, subject: string | null, resourceId: string, start: string, end: string, wantedStart: string }>, alternatives: Array<{ __typename: 'Alternative', resourceId: string, resourceName: string, start: string, end: string }> }
    | { __typename: 'ForbiddenProblem', code: string, message: string }
    | { __typename: 'Policy', id: string, name: string, maySee: Array<string>, mayBook: Array<string>, mayBookForOthers: Array<string>, mayDecide: Array<string>, maySkipApproval: Array<string>, needsApproval: boolean, leadMinutes: number | null, aheadDays: number | null, longestMinutes: number | null, quotaBookingsPerWeek: number | null, quotaMinutesPerWeek: number | null, version: number }
    | { __typename: 'ValidationProblem', code: string, message: string, errors: Array<{ __typename: 'FieldError', field: string | null, pointer: string | null, otherPointer: string | null, code: string, message: string, limit: { __typename: 'LimitFigures', policy: string | null, minutes: number | null, days: number | null, bookings: number | null, start: string | null, earliest: string | null, bookableFrom: string | null, week: string | null, nextWeek: string | null } | null }> }
   };

export type ChangePolicyMutationVariables = Exact<{
  id: string | number;
  version: number;
  input: ChangePolicyInput;
}>;


export type ChangePolicyMutation = { changePolicy:
    | { __typename: 'ConflictProblem', code: string, message: string, errors: Array<{ __typename: 'FieldError', field: string | null, pointer: string | null, otherPointer: string | null, code: string, message: string, limit: { __typename: 'LimitFigures', policy: string | null, minutes: number | null, days: number | null, bookings: number | null, start: string | null, earliest: string | null, bookableFrom: string | null, week: string | null, nextWeek: string | null } | null }>, conflicts: Array<{ __typename: 'RoomConflict', bookingId: string, kind: BookingKind, subject: string | null, resourceId: string, start: string, end: string, wantedStart: string }>, alternatives: Array<{ __typename: 'Alternative', resourceId: string, resourceName: string, start: string, end: string }> }
    | { __typename: 'ForbiddenProblem', code: string, message: string }
    | { __typename: 'NotFoundProblem', code: string, message: string }
    | { __typename: 'Policy', id: string, name: string, maySee: Array<string>, mayBook: Array<string>, mayBookForOthers: Array<string>, mayDecide: Array<string>, maySkipApproval: Array<string>, needsApproval: boolean, leadMinutes: number | null, aheadDays: number | null, longestMinutes: number | null, quotaBookingsPerWeek: number | null, quotaMinutesPerWeek: number | null, version: number }
    | { __typename: 'ValidationProblem', code: string, message: string, errors: Array<{ __typename: 'FieldError', field: string | null, pointer: string | null, otherPointer: string | null, code: string, message: string, limit: { __typename: 'LimitFigures', policy: string | null, minutes: number | null, days: number | null, bookings: number | null, start: string | null, earliest: string | null, bookableFrom: string | null, week: string | null, nextWeek: string | null } | null }> }
    | { __typename: 'VersionProblem', code: string, message: string }
   };

export type DeletePolicyMutationVariables = Exact<{
  id: string | number;
  version: number;
}>;


export type DeletePolicyMutation = { deletePolicy:
    | { __typename: 'ConflictProblem', code: string, message: string, errors: Array<{ __typename: 'FieldError', field: string | null, pointer: string | null, otherPointer: string | null, code: string, message: string, limit: { __typename: 'LimitFigures', policy: string | null, minutes: number | null, days: number | null, bookings: number | null, start: string | null, earliest: string | null, bookableFrom: string | null, week: string | null, nextWeek: string | null } | null }>, conflicts: Array<{ __typename: 'RoomConflict', bookingId: string, kind: BookingKind, subject: string | null, resourceId: string, start: string, end: string, wantedStart: string }>, alternatives: Array<{ __typename: 'Alternative', resourceId: string, resourceName: string, start: string, end: string }> }
    | { __typename: 'ForbiddenProblem', code: string, message: string }
    | { __typename: 'NotFoundProblem', code: string, message: string }
    | { __typename: 'Policy', id: string, name: string, maySee: Array<string>, mayBook: Array<string>, mayBookForOthers: Array<string>, mayDecide: Array<string>, maySkipApproval: Array<string>, needsApproval: boolean, leadMinutes: number | null, aheadDays: number | null, longestMinutes: number | null, quotaBookingsPerWeek: number | null, quotaMinutesPerWeek: number | null, version: number }
    | { __typename: 'VersionProblem', code: string, message: string }
   };

type Refused_ConflictProblem_Fragment = { __typename: 'ConflictProblem', code: string, message: string, errors: Array<{ __typename: 'FieldError', field: string | null, pointer: string | null, otherPointer: string | null, code: string, message: string, limit: { __typename: 'LimitFigures', policy: string | null, minutes: number | null, days: number | null, bookings: number | null, start: string | null, earliest: string | null, bookableFrom: string | null, week: string | null, nextWeek: string | null } | null }>, conflicts: Array<{ __typename: 'RoomConflict', bookingId: string, kind: BookingKind, subject: string | null, resourceId: string, start: string, end: string, wantedStart: string }>, alternatives: Array<{ __typename: 'Alternative', resourceId: string, resourceName: string, start: string, end: string }> };

type Refused_ForbiddenProblem_Fragment = { __typename: 'ForbiddenProblem', code: string, message: string };

type Refused_LimitProblem_Fragment = { __typename: 'LimitProblem', retryAfterSeconds: number | null, code: string, message: string };

type Refused_NotFoundProblem_Fragment = { __typename: 'NotFoundProblem', code: string, message: string };

type Refused_ValidationProblem_Fragment = { __typename: 'ValidationProblem', code: string, message: string, errors: Array<{ __typename: 'FieldError', field: string | null, pointer: string | null, otherPointer: string | null, code: string, message: string, limit: { __typename: 'LimitFigures', policy: string | null, minutes: number | null, days: number | null, bookings: number | null, start: string | null, earliest: string | null, bookableFrom: string | null, week: string | null, nextWeek: string | null } | null }> };

type Refused_VersionProblem_Fragment = { __typename: 'VersionProblem', code: string, message: string };

export type RefusedFragment =
  | Refused_ConflictProblem_Fragment
  | Refused_ForbiddenProblem_Fragment
  | Refused_LimitProblem_Fragment
  | Refused_NotFoundProblem_Fragment
  | Refused_ValidationProblem_Fragment
  | Refused_VersionProblem_Fragment
;

export type SingleFaultFragment = { __typename: 'FieldError', field: string | null, pointer: string | null, otherPointer: string | null, code: string, message: string, limit: { __typename: 'LimitFigures', policy: string | null, minutes: number | null, days: number | null, bookings: number | null, start: string | null, earliest: string | null, bookableFrom: string | null, week: string | null, nextWeek: string | null } | null };

export type RoomBookingFragment = { __typename: 'Booking', id: string, resourceId: string, resourceName: string, subject: string | null, description: string | null, start: string, end: string, status: BookingStatus, kind: BookingKind, isPrivate: boolean, setupMinutes: number, teardownMinutes: number, seriesId: string | null, timeZone: string, version: number, organizer: { __typename: 'Organizer', personId: string | null, displayName: string } | null, createdBy: { __typename: 'PersonReference', personId: string } | null, lessonSummary: { __typename: 'LessonSummary', classes: Array<string> | null, teachers: Array<string> | null, subject: string | null, status: LessonStatus } | null, checkIn: { __typename: 'CheckIn', from: string, until: string, checkedInAt: string | null } | null };

export type LocationsQueryVariables = Exact<{ [key: string]: never; }>;


export type LocationsQuery = { locations: Array<{ __typename: 'Location', id: string, name: string, timeZone: string, active: boolean }> | null };

export type RoomsQueryVariables = Exact<{
  filter?: ResourceFilter | null | undefined;
  after?: string | null | undefined;
}>;


export type RoomsQuery = { resources: { __typename: 'ResourceConnection', nodes: Array<{ __typename: 'Resource', id: string, name: string, locationId: string, kind: string, capacity: number | null, equipment: Array<string>, checkInMinutes: number | null }>, pageInfo: { __typename: 'PageInfo', hasNextPage: boolean, endCursor: string | null } } | null };

export type RoomBookingsQueryVariables = Exact<{
  filter: BookingFilter;
  after?: string | null | undefined;
}>;


export type RoomBookingsQuery = { bookings: { __typename: 'BookingConnection', nodes: Array<{ __typename: 'Booking', id: string, resourceId: string, resourceName: string, subject: string | null, description: string | null, start: string, end: string, status: BookingStatus, kind: BookingKind, isPrivate: boolean, setupMinutes: number, teardownMinutes: number, seriesId: string | null, timeZone: string, version: number, organizer: { __typename: 'Organizer', personId: string | null, displayName: string } | null, createdBy: { __typename: 'PersonReference', personId: string } | null, lessonSummary: { __typename: 'LessonSummary', classes: Array<string> | null, teachers: Array<string> | null, subject: string | null, status: LessonStatus } | null, checkIn: { __typename: 'CheckIn', from: string, until: string, checkedInAt: string | null } | null }>, pageInfo: { __typename: 'PageInfo', hasNextPage: boolean, endCursor: string | null } } | null };

export type FoundBookingsQueryVariables = Exact<{
  filter: BookingFilter;
  after?: string | null | undefined;
}>;


export type FoundBookingsQuery = { bookings: { __typename: 'BookingConnection', nodes: Array<{ __typename: 'Booking', id: string, resourceId: string }>, pageInfo: { __typename: 'PageInfo', hasNextPage: boolean, endCursor: string | null } } | null };

export type BookingDetailsQueryVariables = Exact<{
  id: string | number;
}>;


export type BookingDetailsQuery = { booking: { __typename: 'Booking', recurrenceRule: string | null, createdAt: string, changedAt: string, id: string, resourceId: string, resourceName: string, subject: string | null, description: string | null, start: string, end: string, status: BookingStatus, kind: BookingKind, isPrivate: boolean, setupMinutes: number, teardownMinutes: number, seriesId: string | null, timeZone: string, version: number, decision: { __typename: 'Decision', verdict: Verdict, reason: string | null, decidedAt: string, decidedBy: { __typename: 'PersonReference', displayName: string } | null } | null, organizer: { __typename: 'Organizer', personId: string | null, displayName: string } | null, createdBy: { __typename: 'PersonReference', personId: string } | null, lessonSummary: { __typename: 'LessonSummary', classes: Array<string> | null, teachers: Array<string> | null, subject: string | null, status: LessonStatus } | null, checkIn: { __typename: 'CheckIn', from: string, until: string, checkedInAt: string | null } | null } | null };

export type RoomHoursQueryVariables = Exact<{
  locationId: string | number;
  from: string;
  to: string;
}>;


export type RoomHoursQuery = { openingHours: { __typename: 'OpeningHours', resources: Array<{ __typename: 'ResourceHours', resourceId: string, weekly: Array<{ __typename: 'OpeningRule', resourceId: string | null }>, intervals: Array<{ __typename: 'OpenInterval', start: string, end: string }> }> } | null };

export type OpenTimesQueryVariables = Exact<{
  id: string | number;
  zoneOf: string | number;
  from: string;
  to: string;
}>;


export type OpenTimesQuery = { resource: { __typename: 'Resource', openingHours: { __typename: 'ResourceHours', weekly: Array<{ __typename: 'OpeningRule', resourceId: string | null }>, intervals: Array<{ __typename: 'OpenInterval', start: string, end: string }> } } | null };

export type NextOpeningQueryVariables = Exact<{
  locationId: string | number;
  from: string;
  to: string;
}>;


export type NextOpeningQuery = { openingHours: { __typename: 'OpeningHours', resources: Array<{ __typename: 'ResourceHours', resourceId: string, intervals: Array<{ __typename: 'OpenInterval', localDate: string }> }> } | null };

export type FreeRoomsQueryVariables = Exact<{
  input?: FreeInput | null | undefined;
}>;


export type FreeRoomsQuery = { freeResources: Array<{ __typename: 'FreeResource', resourceId: string, freeUntil: string }> | null };

export type RequestsQueryVariables = Exact<{ [key: string]: never; }>;


export type RequestsQuery = { bookings: { __typename: 'BookingConnection', nodes: Array<{ __typename: 'Booking', id: string, resourceId: string, resourceName: string, subject: string | null, description: string | null, start: string, end: string, status: BookingStatus, kind: BookingKind, isPrivate: boolean, setupMinutes: number, teardownMinutes: number, seriesId: string | null, timeZone: string, version: number, organizer: { __typename: 'Organizer', personId: string | null, displayName: string } | null, createdBy: { __typename: 'PersonReference', personId: string } | null, lessonSummary: { __typename: 'LessonSummary', classes: Array<string> | null, teachers: Array<string> | null, subject: string | null, status: LessonStatus } | null, checkIn: { __typename: 'CheckIn', from: string, until: string, checkedInAt: string | null } | null }>, pageInfo: { __typename: 'PageInfo', hasNextPage: boolean } } | null };

export type OrganizersQueryVariables = Exact<{
  filter?: OrganizerFilter | null | undefined;
}>;


export type OrganizersQuery = { organizers: { __typename: 'PersonReferenceConnection', nodes: Array<{ __typename: 'PersonReference', personId: string, displayName: string }> } | null };

export type FollowRequestsSubscriptionVariables = Exact<{ [key: string]: never; }>;


export type FollowRequestsSubscription = { bookings: { __typename: 'BookingFrame', cursor: string, bookings: Array<{ __typename: 'Booking', id: string, status: BookingStatus }> } };

export type FollowBookingsSubscriptionVariables = Exact<{
  filter: BookingFilter;
  after?: string | null | undefined;
}>;


export type FollowBookingsSubscription = { bookings: { __typename: 'BookingFrame', cursor: string, gone: Array<string>, serverTime: string, bookings: Array<{ __typename: 'Booking', id: string, resourceId: string, resourceName: string, subject: string | null, description: string | null, start: string, end: string, status: BookingStatus, kind: BookingKind, isPrivate: boolean, setupMinutes: number, teardownMinutes: number, seriesId: string | null, timeZone: string, version: number, organizer: { __typename: 'Organizer', personId: string | null, displayName: string } | null, createdBy: { __typename: 'PersonReference', personId: string } | null, lessonSummary: { __typename: 'LessonSummary', classes: Array<string> | null, teachers: Array<string> | null, subject: string | null, status: LessonStatus } | null, checkIn: { __typename: 'CheckIn', from: string, until: string, checkedInAt: string | null } | null }> } };

export type CreateBookingMutationVariables = Exact<{
  input: CreateBookingInput;
}>;


export type CreateBookingMutation = { createBooking:
    | { __typename: 'BookingCreated', booking: { __typename: 'Booking', id: string, resourceId: string, resourceName: string, subject: string | null, description: string | null, start: string, end: string, status: BookingStatus, kind: BookingKind, isPrivate: boolean, setupMinutes: number, teardownMinutes: number, seriesId: string | null, timeZone: string, version: number, organizer: { __typename: 'Organizer', personId: string | null, displayName: string } | null, createdBy: { __typename: 'PersonReference', personId: string } | null, lessonSummary: { __typename: 'LessonSummary', classes: Array<string> | null, teachers: Array<string> | null, subject: string | null, status: LessonStatus } | null, checkIn: { __typename: 'CheckIn', from: string, until: string, checkedInAt: string | null } | null } }
    | { __typename: 'ConflictProblem', code: string, message: string, errors: Array<{ __typename: 'FieldError', field: string | null, pointer: string | null, otherPointer: string | null, code: string, message: string, limit: { __typename: 'LimitFigures', policy: string | null, minutes: number | null, days: number | null, bookings: number | null, start: string | null, earliest: string | null, bookableFrom: string | null, week: string | null, nextWeek: string | null } | null }>, conflicts: Array<{ __typename: 'RoomConflict', bookingId: string, kind: BookingKind, subject: string | null, resourceId: string, start: string, end: string, wantedStart: string }>, alternatives: Array<{ __typename: 'Alternative', resourceId: string, resourceName: string, start: string, end: string }> }
    | { __typename: 'ForbiddenProblem', code: string, message: string }
    | { __typename: 'SeriesCreated', bookingIds: Array<string>, booking: { __typename: 'Booking', id: string, resourceId: string, resourceName: string, subject: string | null, description: string | null, start: string, end: string, status: BookingStatus, kind: BookingKind, isPrivate: boolean, setupMinutes: number, teardownMinutes: number, seriesId: string | null, timeZone: string, version: number, organizer: { __typename: 'Organizer', personId: string | null, displayName: string } | null, createdBy: { __typename: 'PersonReference', personId: string } | null, lessonSummary: { __typename: 'LessonSummary', classes: Array<string> | null, teachers: Array<string> | null, subject: string | null, status: LessonStatus } | null, checkIn: { __typename: 'CheckIn', from: string, until: string, checkedInAt: string | null } | null }, skipped: Array<{ __typename: 'SkippedBooking', start: string, end: string }> }
    | { __typename: 'ValidationProblem', code: string, message: string, errors: Array<{ __typename: 'FieldError', field: string | null, pointer: string | null, otherPointer: string | null, code: string, message: string, limit: { __typename: 'LimitFigures', policy: string | null, minutes: number | null, days: number | null, bookings: number | null, start: string | null, earliest: string | null, bookableFrom: string | null, week: string | null, nextWeek: string | null } | null }> }
   };

export type ChangeBookingMutationVariables = Exact<{
  id: string | number;
  version: number;
  scope: Scope;
  conflictHandling?: ConflictHandling | null | undefined;
  input: ChangeBookingInput;
}>;


export type ChangeBookingMutation = { changeBooking:
    | { __typename: 'Booking', id: string, resourceId: string, resourceName: string, subject: string | null, description: string | null, start: string, end: string, status: BookingStatus, kind: BookingKind, isPrivate: boolean, setupMinutes: number, teardownMinutes: number, seriesId: string | null, timeZone: string, version: number, organizer: { __typename: 'Organizer', personId: string | null, displayName: string } | null, createdBy: { __typename: 'PersonReference', personId: string } | null, lessonSummary: { __typename: 'LessonSummary', classes: Array<string> | null, teachers: Array<string> | null, subject: string | null, status: LessonStatus } | null, checkIn: { __typename: 'CheckIn', from: string, until: string, checkedInAt: string | null } | null }
    | { __typename: 'ConflictProblem', code: string, message: string, errors: Array<{ __typename: 'FieldError', field: string | null, pointer: string | null, otherPointer: string | null, code: string, message: string, limit: { __typename: 'LimitFigures', policy: string | null, minutes: number | null, days: number | null, bookings: number | null, start: string | null, earliest: string | null, bookableFrom: string | null, week: string | null, nextWeek: string | null } | null }>, conflicts: Array<{ __typename: 'RoomConflict', bookingId: string, kind: BookingKind, subject: string | null, resourceId: string, start: string, end: string, wantedStart: string }>, alternatives: Array<{ __typename: 'Alternative', resourceId: string, resourceName: string, start: string, end: string }> }
    | { __typename: 'ForbiddenProblem', code: string, message: string }
    | { __typename: 'NotFoundProblem', code: string, message: string }
    | { __typename: 'ValidationProblem', code: string, message: string, errors: Array<{ __typename: 'FieldError', field: string | null, pointer: string | null, otherPointer: string | null, code: string, message: string, limit: { __typename: 'LimitFigures', policy: string | null, minutes: number | null, days: number | null, bookings: number | null, start: string | null, earliest: string | null, bookableFrom: string | null, week: string | null, nextWeek: string | null } | null }> }
    | { __typename: 'VersionProblem', code: string, message: string }
   };

export type CancelBookingMutationVariables = Exact<{
  id: string | number;
  version?: number | null | undefined;
  scope: Scope;
}>;


export type CancelBookingMutation = { cancelBooking:
    | { __typename: 'Booking', id: string, resourceId: string, resourceName: string, subject: string | null, description: string | null, start: string, end: string, status: BookingStatus, kind: BookingKind, isPrivate: boolean, setupMinutes: number, teardownMinutes: number, seriesId: string | null, timeZone: string, version: number, organizer: { __typename: 'Organizer', personId: string | null, displayName: string } | null, createdBy: { __typename: 'PersonReference', personId: string } | null, lessonSummary: { __typename: 'LessonSummary', classes: Array<string> | null, teachers: Array<string> | null, subject: string | null, status: LessonStatus } | null, checkIn: { __typename: 'CheckIn', from: string, until: string, checkedInAt: string | null } | null }
    | { __typename: 'ConflictProblem', code: string, message: string, errors: Array<{ __typename: 'FieldError', field: string | null, pointer: string | null, otherPointer: string | null, code: string, message: string, limit: { __typename: 'LimitFigures', policy: string | null, minutes: number | null, days: number | null, bookings: number | null, start: string | null, earliest: string | null, bookableFrom: string | null, week: string | null, nextWeek: string | null } | null }>, conflicts: Array<{ __typename: 'RoomConflict', bookingId: string, kind: BookingKind, subject: string | null, resourceId: string, start: string, end: string, wantedStart: string }>, alternatives: Array<{ __typename: 'Alternative', resourceId: string, resourceName: string, start: string, end: string }> }
    | { __typename: 'ForbiddenProblem', code: string, message: string }
    | { __typename: 'NotFoundProblem', code: string, message: string }
    | { __typename: 'VersionProblem', code: string, message: string }
   };

export type CheckInMutationVariables = Exact<{
  id: string | number;
}>;


export type CheckInMutation = { checkIn:
    | { __typename: 'Booking', id: string, resourceId: string, resourceName: string, subject: string | null, description: string | null, start: string, end: string, status: BookingStatus, kind: BookingKind, isPrivate: boolean, setupMinutes: number, teardownMinutes: number, seriesId: string | null, timeZone: string, version: number, organizer: { __typename: 'Organizer', personId: string | null, displayName: string } | null, createdBy: { __typename: 'PersonReference', personId: string } | null, lessonSummary: { __typename: 'LessonSummary', classes: Array<string> | null, teachers: Array<string> | null, subject: string | null, status: LessonStatus } | null, checkIn: { __typename: 'CheckIn', from: string, until: string, checkedInAt: string | null } | null }
    | { __typename: 'ConflictProblem', code: string, message: string, errors: Array<{ __typename: 'FieldError', field: string | null, pointer: string | null, otherPointer: string | null, code: string, message: string, limit: { __typename: 'LimitFigures', policy: string | null, minutes: number | null, days: number | null, bookings: number | null, start: string | null, earliest: string | null, bookableFrom: string | null, week: string | null, nextWeek: string | null } | null }>, conflicts: Array<{ __typename: 'RoomConflict', bookingId: string, kind: BookingKind, subject: string | null, resourceId: string, start: string, end: string, wantedStart: string }>, alternatives: Array<{ __typename: 'Alternative', resourceId: string, resourceName: string, start: string, end: string }> }
    | { __typename: 'ForbiddenProblem', code: string, message: string }
    | { __typename: 'NotFoundProblem', code: string, message: string }
    | { __typename: 'ValidationProblem', code: string, message: string, errors: Array<{ __typename: 'FieldError', field: string | null, pointer: string | null, otherPointer: string | null, code: string, message: string, limit: { __typename: 'LimitFigures', policy: string | null, minutes: number | null, days: number | null, bookings: number | null, start: string | null, earliest: string | null, bookableFrom: string | null, week: string | null, nextWeek: string | null } | null }> }
    | { __typename: 'VersionProblem', code: string, message: string }
   };

export type ReleaseBookingMutationVariables = Exact<{
  id: string | number;
}>;


export type ReleaseBookingMutation = { releaseBooking:
    | { __typename: 'Booking', id: string, resourceId: string, resourceName: string, subject: string | null, description: string | null, start: string, end: string, status: BookingStatus, kind: BookingKind, isPrivate: boolean, setupMinutes: number, teardownMinutes: number, seriesId: string | null, timeZone: string, version: number, organizer: { __typename: 'Organizer', personId: string | null, displayName: string } | null, createdBy: { __typename: 'PersonReference', personId: string } | null, lessonSummary: { __typename: 'LessonSummary', classes: Array<string> | null, teachers: Array<string> | null, subject: string | null, status: LessonStatus } | null, checkIn: { __typename: 'CheckIn', from: string, until: string, checkedInAt: string | null } | null }
    | { __typename: 'ConflictProblem', code: string, message: string, errors: Array<{ __typename: 'FieldError', field: string | null, pointer: string | null, otherPointer: string | null, code: string, message: string, limit: { __typename: 'LimitFigures', policy: string | null, minutes: number | null, days: number | null, bookings: number | null, start: string | null, earliest: string | null, bookableFrom: string | null, week: string | null, nextWeek: string | null } | null }>, conflicts: Array<{ __typename: 'RoomConflict', bookingId: string, kind: BookingKind, subject: string | null, resourceId: string, start: string, end: string, wantedStart: string }>, alternatives: Array<{ __typename: 'Alternative', resourceId: string, resourceName: string, start: string, end: string }> }
    | { __typename: 'ForbiddenProblem', code: string, message: string }
    | { __typename: 'NotFoundProblem', code: string, message: string }
    | { __typename: 'ValidationProblem', code: string, message: string, errors: Array<{ __typename: 'FieldError', field: string | null, pointer: string | null, otherPointer: string | null, code: string, message: string, limit: { __typename: 'LimitFigures', policy: string | null, minutes: number | null, days: number | null, bookings: number | null, start: string | null, earliest: string | null, bookableFrom: string | null, week: string | null, nextWeek: string | null } | null }> }
    | { __typename: 'VersionProblem', code: string, message: string }
   };

export type DecideBookingMutationVariables = Exact<{
  id: string | number;
  version: number;
  scope: Scope;
  input: DecisionInput;
}>;


export type DecideBookingMutation = { decideBooking:
    | { __typename: 'Booking', id: string, resourceId: string, resourceName: string, subject: string | null, description: string | null, start: string, end: string, status: BookingStatus, kind: BookingKind, isPrivate: boolean, setupMinutes: number, teardownMinutes: number, seriesId: string | null, timeZone: string, version: number, organizer: { __typename: 'Organizer', personId: string | null, displayName: string } | null, createdBy: { __typename: 'PersonReference', personId: string } | null, lessonSummary: { __typename: 'LessonSummary', classes: Array<string> | null, teachers: Array<string> | null, subject: string | null, status: LessonStatus } | null, checkIn: { __typename: 'CheckIn', from: string, until: string, checkedInAt: string | null } | null }
    | { __typename: 'ConflictProblem', code: string, message: string, errors: Array<{ __typename: 'FieldError', field: string | null, pointer: string | null, otherPointer: string | null, code: string, message: string, limit: { __typename: 'LimitFigures', policy: string | null, minutes: number | null, days: number | null, bookings: number | null, start: string | null, earliest: string | null, bookableFrom: string | null, week: string | null, nextWeek: string | null } | null }>, conflicts: Array<{ __typename: 'RoomConflict', bookingId: string, kind: BookingKind, subject: string | null, resourceId: string, start: string, end: string, wantedStart: string }>, alternatives: Array<{ __typename: 'Alternative', resourceId: string, resourceName: string, start: string, end: string }> }
    | { __typename: 'ForbiddenProblem', code: string, message: string }
    | { __typename: 'NotFoundProblem', code: string, message: string }
    | { __typename: 'ValidationProblem', code: string, message: string, errors: Array<{ __typename: 'FieldError', field: string | null, pointer: string | null, otherPointer: string | null, code: string, message: string, limit: { __typename: 'LimitFigures', policy: string | null, minutes: number | null, days: number | null, bookings: number | null, start: string | null, earliest: string | null, bookableFrom: string | null, week: string | null, nextWeek: string | null } | null }> }
    | { __typename: 'VersionProblem', code: string, message: string }
   };

export type BookersForOthersQueryVariables = Exact<{
  after?: string | null | undefined;
}>;


export type BookersForOthersQuery = { policies: { __typename: 'PolicyConnection', nodes: Array<{ __typename: 'Policy', mayBookForOthers: Array<string> }>, pageInfo: { __typename: 'PageInfo', hasNextPage: boolean, endCursor: string | null } } | null };

export type SchoolFragment = { __typename: 'Tenant', id: string, name: string, mandator: string, version: number, colour: string | null, logo: string | null, parameters: { __typename: 'TenantParameters', pinAuthenticationAllowed: boolean, usersMayImport: boolean, calendarWriting: CalendarWriting, calendarEdits: CalendarEdits, declineConflicts: boolean } };

export type SchoolQueryVariables = Exact<{ [key: string]: never; }>;


export type SchoolQuery = { tenant: { __typename: 'Tenant', id: string, name: string, mandator: string, version: number, colour: string | null, logo: string | null, parameters: { __typename: 'TenantParameters', pinAuthenticationAllowed: boolean, usersMayImport: boolean, calendarWriting: CalendarWriting, calendarEdits: CalendarEdits, declineConflicts: boolean } } };

export type ChangeSchoolMutationVariables = Exact<{
  version: number;
  input: ChangeTenantInput;
}>;


export type ChangeSchoolMutation = { changeTenant:
    | { __typename: 'ForbiddenProblem', code: string, message: string }
    | { __typename: 'Tenant', id: string, name: string, mandator: string, version: number, colour: string | null, logo: string | null, parameters: { __typename: 'TenantParameters', pinAuthenticationAllowed: boolean, usersMayImport: boolean, calendarWriting: CalendarWriting, calendarEdits: CalendarEdits, declineConflicts: boolean } }
    | { __typename: 'ValidationProblem', code: string, message: string, errors: Array<{ __typename: 'FieldError', field: string | null, pointer: string | null, otherPointer: string | null, code: string, message: string, limit: { __typename: 'LimitFigures', policy: string | null, minutes: number | null, days: number | null, bookings: number | null, start: string | null, earliest: string | null, bookableFrom: string | null, week: string | null, nextWeek: string | null } | null }> }
    | { __typename: 'VersionProblem', code: string, message: string }
   };

export type MeQueryVariables = Exact<{ [key: string]: never; }>;


export type MeQuery = { me: { __typename: 'Person', id: string, name: string, email: string, role: Role, timeZone: string, teacherCode: string | null, groups: { __typename: 'GroupConnection', nodes: Array<{ __typename: 'Group', id: string }> } }, tenant: { __typename: 'Tenant', name: string, mandator: string, parameters: { __typename: 'TenantParameters', usersMayImport: boolean } } };

export type SignFragment = { __typename: 'Display', id: string, name: string, version: number, resourceIds: Array<string>, locationId: string | null, mayBook: boolean, privacy: DisplayPrivacy, createdAt: string, expiresAt: string, revokedAt: string | null, heardAt: string | null, silentSince: string | null, resources: Array<{ __typename: 'DisplayRoom', resourceId: string, name: string }>, health: { __typename: 'DisplayHealth', program: string, screen: string | null, clockAheadSeconds: number | null, battery: number | null, reconnects: number | null, startedAt: string | null, note: string | null } | null };

export type OneSignQueryVariables = Exact<{
  id: string | number;
}>;


export type OneSignQuery = { displayDevice: { __typename: 'Display', id: string, name: string, version: number, resourceIds: Array<string>, locationId: string | null, mayBook: boolean, privacy: DisplayPrivacy, createdAt: string, expiresAt: string, revokedAt: string | null, heardAt: string | null, silentSince: string | null, resources: Array<{ __typename: 'DisplayRoom', resourceId: string, name: string }>, health: { __typename: 'DisplayHealth', program: string, screen: string | null, clockAheadSeconds: number | null, battery: number | null, reconnects: number | null, startedAt: string | null, note: string | null } | null } | null };

export type FollowSignsSubscriptionVariables = Exact<{ [key: string]: never; }>;


export type FollowSignsSubscription = { displays: Array<{ __typename: 'Display', id: string, name: string, version: number, resourceIds: Array<string>, locationId: string | null, mayBook: boolean, privacy: DisplayPrivacy, createdAt: string, expiresAt: string, revokedAt: string | null, heardAt: string | null, silentSince: string | null, resources: Array<{ __typename: 'DisplayRoom', resourceId: string, name: string }>, health: { __typename: 'DisplayHealth', program: string, screen: string | null, clockAheadSeconds: number | null, battery: number | null, reconnects: number | null, startedAt: string | null, note: string | null } | null }> };

export type SignPreviewsSubscriptionVariables = Exact<{
  locationId: string | number;
}>;


export type SignPreviewsSubscription = { board:
    | { __typename: 'DisplayEnded' }
    | { __typename: 'DisplayHeartbeat' }
    | { __typename: 'DisplaySnapshot', serverTime: string, timeZone: string, status: RoomStatus, until: string | null, resource: { __typename: 'DisplayResource', resourceId: string, name: string }, schedule: Array<{ __typename: 'DisplaySlot', bookingId: string, occupies: boolean, from: string, to: string, start: string, end: string, kind: BookingKind, subject: string | null, organizer: string | null, classes: Array<string> | null }> }
   };

export type PreviewFragment = { __typename: 'DisplaySnapshot', serverTime: string, timeZone: string, status: RoomStatus, until: string | null, resource: { __typename: 'DisplayResource', resourceId: string, name: string }, schedule: Array<{ __typename: 'DisplaySlot', bookingId: string, occupies: boolean, from: string, to: string, start: string, end: string, kind: BookingKind, subject: string | null, organizer: string | null, classes: Array<string> | null }> };

export type PairSignMutationVariables = Exact<{
  input: PairDisplayInput;
}>;


export type PairSignMutation = { pairDisplay:
    | { __typename: 'ConflictProblem', code: string, message: string, errors: Array<{ __typename: 'FieldError', field: string | null, pointer: string | null, otherPointer: string | null, code: string, message: string, limit: { __typename: 'LimitFigures', policy: string | null, minutes: number | null, days: number | null, bookings: number | null, start: string | null, earliest: string | null, bookableFrom: string | null, week: string | null, nextWeek: string | null } | null }>, conflicts: Array<{ __typename: 'RoomConflict', bookingId: string, kind: BookingKind, subject: string | null, resourceId: string, start: string, end: string, wantedStart: string }>, alternatives: Array<{ __typename: 'Alternative', resourceId: string, resourceName: string, start: string, end: string }> }
    | { __typename: 'Display', id: string, name: string, version: number, resourceIds: Array<string>, locationId: string | null, mayBook: boolean, privacy: DisplayPrivacy, createdAt: string, expiresAt: string, revokedAt: string | null, heardAt: string | null, silentSince: string | null, resources: Array<{ __typename: 'DisplayRoom', resourceId: string, name: string }>, health: { __typename: 'DisplayHealth', program: string, screen: string | null, clockAheadSeconds: number | null, battery: number | null, reconnects: number | null, startedAt: string | null, note: string | null } | null }
    | { __typename: 'ForbiddenProblem', code: string, message: string }
    | { __typename: 'ValidationProblem', code: string, message: string, errors: Array<{ __typename: 'FieldError', field: string | null, pointer: string | null, otherPointer: string | null, code: string, message: string, limit: { __typename: 'LimitFigures', policy: string | null, minutes: number | null, days: number | null, bookings: number | null, start: string | null, earliest: string | null, bookableFrom: string | null, week: string | null, nextWeek: string | null } | null }> }
   };

export type ChangeSignMutationVariables = Exact<{
  id: string | number;
  version: number;
  input: ChangeDisplayInput;
}>;


export type ChangeSignMutation = { changeDisplay:
    | { __typename: 'ConflictProblem', code: string, message: string, errors: Array<{ __typename: 'FieldError', field: string | null, pointer: string | null, otherPointer: string | null, code: string, message: string, limit: { __typename: 'LimitFigures', policy: string | null, minutes: number | null, days: number | null, bookings: number | null, start: string | null, earliest: string | null, bookableFrom: string | null, week: string | null, nextWeek: string | null } | null }>, conflicts: Array<{ __typename: 'RoomConflict', bookingId: string, kind: BookingKind, subject: string | null, resourceId: string, start: string, end: string, wantedStart: string }>, alternatives: Array<{ __typename: 'Alternative', resourceId: string, resourceName: string, start: string, end: string }> }
    | { __typename: 'Display', id: string, name: string, version: number, resourceIds: Array<string>, locationId: string | null, mayBook: boolean, privacy: DisplayPrivacy, createdAt: string, expiresAt: string, revokedAt: string | null, heardAt: string | null, silentSince: string | null, resources: Array<{ __typename: 'DisplayRoom', resourceId: string, name: string }>, health: { __typename: 'DisplayHealth', program: string, screen: string | null, clockAheadSeconds: number | null, battery: number | null, reconnects: number | null, startedAt: string | null, note: string | null } | null }
    | { __typename: 'ForbiddenProblem', code: string, message: string }
    | { __typename: 'NotFoundProblem', code: string, message: string }
    | { __typename: 'ValidationProblem', code: string, message: string, errors: Array<{ __typename: 'FieldError', field: string | null, pointer: string | null, otherPointer: string | null, code: string, message: string, limit: { __typename: 'LimitFigures', policy: string | null, minutes: number | null, days: number | null, bookings: number | null, start: string | null, earliest: string | null, bookableFrom: string | null, week: string | null, nextWeek: string | null } | null }> }
    | { __typename: 'VersionProblem', code: string, message: string }
   };

export type RevokeSignMutationVariables = Exact<{
  id: string | number;
}>;


export type RevokeSignMutation = { revokeDisplay:
    | { __typename: 'Display', id: string, name: string, version: number, resourceIds: Array<string>, locationId: string | null, mayBook: boolean, privacy: DisplayPrivacy, createdAt: string, expiresAt: string, revokedAt: string | null, heardAt: string | null, silentSince: string | null, resources: Array<{ __typename: 'DisplayRoom', resourceId: string, name: string }>, health: { __typename: 'DisplayHealth', program: string, screen: string | null, clockAheadSeconds: number | null, battery: number | null, reconnects: number | null, startedAt: string | null, note: string | null } | null }
    | { __typename: 'ForbiddenProblem', code: string, message: string }
    | { __typename: 'NotFoundProblem', code: string, message: string }
   };

export type BatchStoryFragment = { __typename: 'Batch', id: string, operation: JobOperation, importStatus: ImportStatus, jobCount: number, lessonCount: number | null, processedCount: number, createdCount: number, changedCount: number | null, movedCount: number | null, removedCount: number | null, errorCount: number, warningCount: number, failureKind: FailureKind | null, validateOnly: boolean, source: string | null, onConflict: ConflictRule, createdAt: string, startedAt: string | null, finishedAt: string | null, queuePosition: number | null, createdBy: { __typename: 'PersonReference', personId: string, displayName: string } };

export type BatchesQueryVariables = Exact<{
  filter?: BatchFilter | null | undefined;
  after?: string | null | undefined;
}>;


export type BatchesQuery = { batches: { __typename: 'BatchConnection', nodes: Array<{ __typename: 'Batch', id: string, operation: JobOperation, importStatus: ImportStatus, jobCount: number, lessonCount: number | null, processedCount: number, createdCount: number, changedCount: number | null, movedCount: number | null, removedCount: number | null, errorCount: number, warningCount: number, failureKind: FailureKind | null, validateOnly: boolean, source: string | null, onConflict: ConflictRule, createdAt: string, startedAt: string | null, finishedAt: string | null, queuePosition: number | null, createdBy: { __typename: 'PersonReference', personId: string, displayName: string } }>, pageInfo: { __typename: 'PageInfo', hasNextPage: boolean, endCursor: string | null } } | null };

export type FollowBatchesSubscriptionVariables = Exact<{
  states?: Array<ImportStatus> | ImportStatus | null | undefined;
}>;


export type FollowBatchesSubscription = { batches: { __typename: 'Batch', id: string, operation: JobOperation, importStatus: ImportStatus, jobCount: number, lessonCount: number | null, processedCount: number, createdCount: number, changedCount: number | null, movedCount: number | null, removedCount: number | null, errorCount: number, warningCount: number, failureKind: FailureKind | null, validateOnly: boolean, source: string | null, onConflict: ConflictRule, createdAt: string, startedAt: string | null, finishedAt: string | null, queuePosition: number | null, createdBy: { __typename: 'PersonReference', personId: string, displayName: string } } };

export type BatchDetailsQueryVariables = Exact<{
  id: string | number;
}>;


export type BatchDetailsQuery = { batch: { __typename: 'Batch', errorMessages: string | null, id: string, operation: JobOperation, importStatus: ImportStatus, jobCount: number, lessonCount: number | null, processedCount: number, createdCount: number, changedCount: number | null, movedCount: number | null, removedCount: number | null, errorCount: number, warningCount: number, failureKind: FailureKind | null, validateOnly: boolean, source: string | null, onConflict: ConflictRule, createdAt: string, startedAt: string | null, finishedAt: string | null, queuePosition: number | null, omittedErrors: Array<{ __typename: 'OmittedErrors', severity: Severity, code: string, count: number }>, difference: { __typename: 'BatchDifference', added: number, changed: number, moved: number, removed: number, unchanged: number, lessons: Array<{ __typename: 'LessonDifference', kind: DifferenceKind, jobKey: string, lessonKey: string, fields: Array<string>, before: { __typename: 'LessonPlace', resourceName: string | null, start: string, end: string } | null, after: { __typename: 'LessonPlace', resourceName: string | null, start: string, end: string } | null }> } | null, createdBy: { __typename: 'PersonReference', personId: string, displayName: string } } | null };

export type BatchErrorsQueryVariables = Exact<{
  id: string | number;
  after?: string | null | undefined;
}>;


export type BatchErrorsQuery = { batch: { __typename: 'Batch', id: string, errors: { __typename: 'LessonErrorConnection', nodes: Array<{ __typename: 'LessonError', severity: Severity, index: number | null, jobKey: string | null, lessonIndex: number | null, lessonKey: string | null, field: string | null, code: string, message: string, line: number | null, pointer: string | null }>, pageInfo: { __typename: 'PageInfo', hasNextPage: boolean, endCursor: string | null } } } | null };

export type FollowBatchSubscriptionVariables = Exact<{
  batchId: string | number;
}>;


export type FollowBatchSubscription = { batchStatus: { __typename: 'Batch', id: string, operation: JobOperation, importStatus: ImportStatus, jobCount: number, lessonCount: number | null, processedCount: number, createdCount: number, changedCount: number | null, movedCount: number | null, removedCount: number | null, errorCount: number, warningCount: number, failureKind: FailureKind | null, validateOnly: boolean, source: string | null, onConflict: ConflictRule, createdAt: string, startedAt: string | null, finishedAt: string | null, queuePosition: number | null, createdBy: { __typename: 'PersonReference', personId: string, displayName: string } } };

export type CancelBatchMutationVariables = Exact<{
  id: string | number;
}>;


export type CancelBatchMutation = { cancelBatch:
    | { __typename: 'BatchCancelled', batch: { __typename: 'Batch', id: string, operation: JobOperation, importStatus: ImportStatus, jobCount: number, lessonCount: number | null, processedCount: number, createdCount: number, changedCount: number | null, movedCount: number | null, removedCount: number | null, errorCount: number, warningCount: number, failureKind: FailureKind | null, validateOnly: boolean, source: string | null, onConflict: ConflictRule, createdAt: string, startedAt: string | null, finishedAt: string | null, queuePosition: number | null, createdBy: { __typename: 'PersonReference', personId: string, displayName: string } } }
    | { __typename: 'ConflictProblem', code: string, message: string, errors: Array<{ __typename: 'FieldError', field: string | null, pointer: string | null, otherPointer: string | null, code: string, message: string, limit: { __typename: 'LimitFigures', policy: string | null, minutes: number | null, days: number | null, bookings: number | null, start: string | null, earliest: string | null, bookableFrom: string | null, week: string | null, nextWeek: string | null } | null }>, conflicts: Array<{ __typename: 'RoomConflict', bookingId: string, kind: BookingKind, subject: string | null, resourceId: string, start: string, end: string, wantedStart: string }>, alternatives: Array<{ __typename: 'Alternative', resourceId: string, resourceName: string, start: string, end: string }> }
    | { __typename: 'ForbiddenProblem', code: string, message: string }
    | { __typename: 'NotFoundProblem', code: string, message: string }
   };

export type ProfileFragment = { __typename: 'TimetableProfile', id: string, name: string, source: string | null, locationName: string | null, version: number, sharedRooms: Array<string>, term: { __typename: 'TimetableTerm', name: string, from: string, to: string, holidays: Array<{ __typename: 'TimetableHoliday', name: string, from: string, to: string }>, weeks: Array<{ __typename: 'TimetableWeek', monday: string, name: string }>, groups: Array<{ __typename: 'TimetableWeekGroup', name: string, weeks: Array<string> }> } | null, periods: Array<{ __typename: 'TimetablePeriod', day: number | null, period: number, begin: string, end: string }>, rooms: Array<{ __typename: 'TimetableRoom', name: string, resourceName: string | null }>, mapping: { __typename: 'TimetableMapping', key: string | null, date: string | null, day: string | null, period: string | null, weeks: string | null, begin: string | null, end: string | null, room: string | null, subject: string | null, title: string | null, classes: string | null, teachers: string | null, remark: string | null, status: string | null } | null };

export type TimetableProfilesQueryVariables = Exact<{ [key: string]: never; }>;


export type TimetableProfilesQuery = { timetableProfiles: { __typename: 'TimetableProfileConnection', nodes: Array<{ __typename: 'TimetableProfile', id: string, name: string, source: string | null, locationName: string | null, version: number, sharedRooms: Array<string>, term: { __typename: 'TimetableTerm', name: string, from: string, to: string, holidays: Array<{ __typename: 'TimetableHoliday', name: string, from: string, to: string }>, weeks: Array<{ __typename: 'TimetableWeek', monday: string, name: string }>, groups: Array<{ __typename: 'TimetableWeekGroup', name: string, weeks: Array<string> }> } | null, periods: Array<{ __typename: 'TimetablePeriod', day: number | null, period: number, begin: string, end: string }>, rooms: Array<{ __typename: 'TimetableRoom', name: string, resourceName: string | null }>, mapping: { __typename: 'TimetableMapping', key: string | null, date: string | null, day: string | null, period: string | null, weeks: string | null, begin: string | null, end: string | null, room: string | null, subject: string | null, title: string | null, classes: string | null, teachers: string | null, remark: string | null, status: string | null } | null }> } | null };

export type CreateTimetableProfileMutationVariables = Exact<{
  input: CreateTimetableProfileInput;
}>;


export type CreateTimetableProfileMutation = { createTimetableProfile:
    | { __typename: 'ConflictProblem', code: string, message: string, errors: Array<{ __typename: 'FieldError', field: string | null, pointer: string | null, otherPointer: string | null, code: string, message: string, limit: { __typename: 'LimitFigures', policy: string | null, minutes: number | null, days: number | null, bookings: number | null, start: string | null, earliest: string | null, bookableFrom: string | null, week: string | null, nextWeek: string | null } | null }>, conflicts: Array<{ __typename: 'RoomConflict', bookingId: string, kind: BookingKind, subject: string | null, resourceId: string, start: string, end: string, wantedStart: string }>, alternatives: Array<{ __typename: 'Alternative', resourceId: string, resourceName: string, start: string, end: string }> }
    | { __typename: 'ForbiddenProblem', code: string, message: string }
    | { __typename: 'TimetableProfile', id: string, name: string, source: string | null, locationName: string | null, version: number, sharedRooms: Array<string>, term: { __typename: 'TimetableTerm', name: string, from: string, to: string, holidays: Array<{ __typename: 'TimetableHoliday', name: string, from: string, to: string }>, weeks: Array<{ __typename: 'TimetableWeek', monday: string, name: string }>, groups: Array<{ __typename: 'TimetableWeekGroup', name: string, weeks: Array<string> }> } | null, periods: Array<{ __typename: 'TimetablePeriod', day: number | null, period: number, begin: string, end: string }>, rooms: Array<{ __typename: 'TimetableRoom', name: string, resourceName: string | null }>, mapping: { __typename: 'TimetableMapping', key: string | null, date: string | null, day: string | null, period: string | null, weeks: string | null, begin: string | null, end: string | null, room: string | null, subject: string | null, title: string | null, classes: string | null, teachers: string | null, remark: string | null, status: string | null } | null }
    | { __typename: 'ValidationProblem', code: string, message: string, errors: Array<{ __typename: 'FieldError', field: string | null, pointer: string | null, otherPointer: string | null, code: string, message: string, limit: { __typename: 'LimitFigures', policy: string | null, minutes: number | null, days: number | null, bookings: number | null, start: string | null, earliest: string | null, bookableFrom: string | null, week: string | null, nextWeek: string | null } | null }> }
   };

export type ChangeTimetableProfileMutationVariables = Exact<{
  id: string | number;
  version: number;
  input: ChangeTimetableProfileInput;
}>;


export type ChangeTimetableProfileMutation = { changeTimetableProfile:
    | { __typename: 'ConflictProblem', code: string, message: string, errors: Array<{ __typename: 'FieldError', field: string | null, pointer: string | null, otherPointer: string | null, code: string, message: string, limit: { __typename: 'LimitFigures', policy: string | null, minutes: number | null, days: number | null, bookings: number | null, start: string | null, earliest: string | null, bookableFrom: string | null, week: string | null, nextWeek: string | null } | null }>, conflicts: Array<{ __typename: 'RoomConflict', bookingId: string, kind: BookingKind, subject: string | null, resourceId: string, start: string, end: string, wantedStart: string }>, alternatives: Array<{ __typename: 'Alternative', resourceId: string, resourceName: string, start: string, end: string }> }
    | { __typename: 'ForbiddenProblem', code: string, message: string }
    | { __typename: 'NotFoundProblem', code: string, message: string }
    | { __typename: 'TimetableProfile', id: string, name: string, source: string | null, locationName: string | null, version: number, sharedRooms: Array<string>, term: { __typename: 'TimetableTerm', name: string, from: string, to: string, holidays: Array<{ __typename: 'TimetableHoliday', name: string, from: string, to: string }>, weeks: Array<{ __typename: 'TimetableWeek', monday: string, name: string }>, groups: Array<{ __typename: 'TimetableWeekGroup', name: string, weeks: Array<string> }> } | null, periods: Array<{ __typename: 'TimetablePeriod', day: number | null, period: number, begin: string, end: string }>, rooms: Array<{ __typename: 'TimetableRoom', name: string, resourceName: string | null }>, mapping: { __typename: 'TimetableMapping', key: string | null, date: string | null, day: string | null, period: string | null, weeks: string | null, begin: string | null, end: string | null, room: string | null, subject: string | null, title: string | null, classes: string | null, teachers: string | null, remark: string | null, status: string | null } | null }
    | { __typename: 'ValidationProblem', code: string, message: string, errors: Array<{ __typename: 'FieldError', field: string | null, pointer: string | null, otherPointer: string | null, code: string, message: string, limit: { __typename: 'LimitFigures', policy: string | null, minutes: number | null, days: number | null, bookings: number | null, start: string | null, earliest: string | null, bookableFrom: string | null, week: string | null, nextWeek: string | null } | null }> }
    | { __typename: 'VersionProblem', code: string, message: string }
   };

export type DeleteTimetableProfileMutationVariables = Exact<{
  id: string | number;
  version: number;
}>;


export type DeleteTimetableProfileMutation = { deleteTimetableProfile:
    | { __typename: 'ForbiddenProblem', code: string, message: string }
    | { __typename: 'NotFoundProblem', code: string, message: string }
    | { __typename: 'TimetableProfile', id: string }
    | { __typename: 'VersionProblem', code: string, message: string }
   };

export type FiguresFragment = { __typename: 'Use', openMinutes: number, occupiedMinutes: number, occupancyPercent: number | null, outsideMinutes: number, unusedMinutes: number, bookings: number, noShows: number, releasedEarly: number };

export type UsageQueryVariables = Exact<{
  input: UsageInput;
}>;


export type UsageQuery = { usage: { __typename: 'Usage', resources: Array<{ __typename: 'ResourceUse', resourceId: string, resourceName: string, use: { __typename: 'Use', openMinutes: number, occupiedMinutes: number, occupancyPercent: number | null, outsideMinutes: number, unusedMinutes: number, bookings: number, noShows: number, releasedEarly: number } }> } | null };

export type UsageHoursQueryVariables = Exact<{
  input: UsageInput;
}>;


export type UsageHoursQuery = { usage: { __typename: 'Usage', hours: Array<{ __typename: 'HourUse', weekday: number, hour: number, use: { __typename: 'Use', openMinutes: number, occupiedMinutes: number, occupancyPercent: number | null, outsideMinutes: number, unusedMinutes: number, bookings: number, noShows: number, releasedEarly: number } }> } | null };

export type UsageWeeksQueryVariables = Exact<{
  input: UsageInput;
}>;


export type UsageWeeksQuery = { usage: { __typename: 'Usage', weeks: Array<{ __typename: 'WeekUse', locationId: string, locationName: string, week: string, use: { __typename: 'Use', openMinutes: number, occupiedMinutes: number, occupancyPercent: number | null, outsideMinutes: number, unusedMinutes: number, bookings: number, noShows: number, releasedEarly: number } }> } | null };

export type HookFragment = { __typename: 'Webhook', id: string, name: string, url: string, kinds: Array<EventKind>, enabled: boolean, disabledAt: string | null, disabledBecause: WebhookDisabledReason | null, waiting: number, failures: number, failingSince: string | null, succeededAt: string | null, nextAttemptAt: string | null, formerSecretUntil: string | null, version: number };

export type HookDeliveryFragment = { __typename: 'WebhookDelivery', id: string, kind: WebhookMessageKind, subject: string | null, attempt: number, at: string, milliseconds: number, status: number | null, answer: string | null, fault: string | null, cursor: string | null };

export type HooksQueryVariables = Exact<{ [key: string]: never; }>;


export type HooksQuery = { webhooks: { __typename: 'WebhookConnection', nodes: Array<{ __typename: 'Webhook', id: string, name: string, url: string, kinds: Array<EventKind>, enabled: boolean, disabledAt: string | null, disabledBecause: WebhookDisabledReason | null, waiting: number, failures: number, failingSince: string | null, succeededAt: string | null, nextAttemptAt: string | null, formerSecretUntil: string | null, version: number }> } | null };

export type OneHookQueryVariables = Exact<{
  id: string | number;
}>;


export type OneHookQuery = { node:
    | { __typename: 'Act' }
    | { __typename: 'Batch' }
    | { __typename: 'Booking' }
    | { __typename: 'CalendarToken' }
    | { __typename: 'Display' }
    | { __typename: 'Group' }
    | { __typename: 'HolidayCalendar' }
    | { __typename: 'Lesson' }
    | { __typename: 'LessonJob' }
    | { __typename: 'Location' }
    | { __typename: 'MailSubscription' }
    | { __typename: 'Person' }
    | { __typename: 'Pin' }
    | { __typename: 'Policy' }
    | { __typename: 'Resource' }
    | { __typename: 'RoomProblem' }
    | { __typename: 'Series' }
    | { __typename: 'Tenant' }
    | { __typename: 'TimetableProfile' }
    | { __typename: 'Webhook', id: string, name: string, url: string, kinds: Array<EventKind>, enabled: boolean, disabledAt: string | null, disabledBecause: WebhookDisabledReason | null, waiting: number, failures: number, failingSince: string | null, succeededAt: string | null, nextAttemptAt: string | null, formerSecretUntil: string | null, version: number }
   | null };

export type HookDeliveriesQueryVariables = Exact<{
  id: string | number;
  filter?: WebhookDeliveryFilter | null | undefined;
  after?: string | null | undefined;
}>;


export type HookDeliveriesQuery = { node:
    | { __typename: 'Act' }
    | { __typename: 'Batch' }
    | { __typename: 'Booking' }
    | { __typename: 'CalendarToken' }
    | { __typename: 'Display' }
    | { __typename: 'Group' }
    | { __typename: 'HolidayCalendar' }
    | { __typename: 'Lesson' }
    | { __typename: 'LessonJob' }
    | { __typename: 'Location' }
    | { __typename: 'MailSubscription' }
    | { __typename: 'Person' }
    | { __typename: 'Pin' }
    | { __typename: 'Policy' }
    | { __typename: 'Resource' }
    | { __typename: 'RoomProblem' }
    | { __typename: 'Series' }
    | { __typename: 'Tenant' }
    | { __typename: 'TimetableProfile' }
    | { __typename: 'Webhook', deliveries: { __typename: 'WebhookDeliveryConnection', nodes: Array<{ __typename: 'WebhookDelivery', id: string, kind: WebhookMessageKind, subject: string | null, attempt: number, at: string, milliseconds: number, status: number | null, answer: string | null, fault: string | null, cursor: string | null }>, pageInfo: { __typename: 'PageInfo', hasNextPage: boolean, endCursor: string | null } } }
   | null };

export type CreateHookMutationVariables = Exact<{
  input: CreateWebhookInput;
}>;


export type CreateHookMutation = { createWebhook:
    | { __typename: 'ConflictProblem', code: string, message: string, errors: Array<{ __typename: 'FieldError', field: string | null, pointer: string | null, otherPointer: string | null, code: string, message: string, limit: { __typename: 'LimitFigures', policy: string | null, minutes: number | null, days: number | null, bookings: number | null, start: string | null, earliest: string | null, bookableFrom: string | null, week: string | null, nextWeek: string | null } | null }>, conflicts: Array<{ __typename: 'RoomConflict', bookingId: string, kind: BookingKind, subject: string | null, resourceId: string, start: string, end: string, wantedStart: string }>, alternatives: Array<{ __typename: 'Alternative', resourceId: string, resourceName: string, start: string, end: string }> }
    | { __typename: 'ForbiddenProblem', code: string, message: string }
    | { __typename: 'ValidationProblem', code: string, message: string, errors: Array<{ __typename: 'FieldError', field: string | null, pointer: string | null, otherPointer: string | null, code: string, message: string, limit: { __typename: 'LimitFigures', policy: string | null, minutes: number | null, days: number | null, bookings: number | null, start: string | null, earliest: string | null, bookableFrom: string | null, week: string | null, nextWeek: string | null } | null }> }
    | { __typename: 'WebhookWithSecret', secret: string, webhook: { __typename: 'Webhook', id: string, name: string, url: string, kinds: Array<EventKind>, enabled: boolean, disabledAt: string | null, disabledBecause: WebhookDisabledReason | null, waiting: number, failures: number, failingSince: string | null, succeededAt: string | null, nextAttemptAt: string | null, formerSecretUntil: string | null, version: number } }
   };

export type ChangeHookMutationVariables = Exact<{
  id: string | number;
  version: number;
  input: ChangeWebhookInput;
}>;


export type ChangeHookMutation = { changeWebhook:
    | { __typename: 'ConflictProblem', code: string, message: string, errors: Array<{ __typename: 'FieldError', field: string | null, pointer: string | null, otherPointer: string | null, code: string, message: string, limit: { __typename: 'LimitFigures', policy: string | null, minutes: number | null, days: number | null, bookings: number | null, start: string | null, earliest: string | null, bookableFrom: string | null, week: string | null, nextWeek: string | null } | null }>, conflicts: Array<{ __typename: 'RoomConflict', bookingId: string, kind: BookingKind, subject: string | null, resourceId: string, start: string, end: string, wantedStart: string }>, alternatives: Array<{ __typename: 'Alternative', resourceId: string, resourceName: string, start: string, end: string }> }
    | { __typename: 'ForbiddenProblem', code: string, message: string }
    | { __typename: 'NotFoundProblem', code: string, message: string }
    | { __typename: 'ValidationProblem', code: string, message: string, errors: Array<{ __typename: 'FieldError', field: string | null, pointer: string | null, otherPointer: string | null, code: string, message: string, limit: { __typename: 'LimitFigures', policy: string | null, minutes: number | null, days: number | null, bookings: number | null, start: string | null, earliest: string | null, bookableFrom: string | null, week: string | null, nextWeek: string | null } | null }> }
    | { __typename: 'VersionProblem', code: string, message: string }
    | { __typename: 'Webhook', id: string, name: string, url: string, kinds: Array<EventKind>, enabled: boolean, disabledAt: string | null, disabledBecause: WebhookDisabledReason | null, waiting: number, failures: number, failingSince: string | null, succeededAt: string | null, nextAttemptAt: string | null, formerSecretUntil: string | null, version: number }
   };

export type DeleteHookMutationVariables = Exact<{
  id: string | number;
  version: number;
}>;


export type DeleteHookMutation = { deleteWebhook:
    | { __typename: 'ForbiddenProblem', code: string, message: string }
    | { __typename: 'NotFoundProblem', code: string, message: string }
    | { __typename: 'VersionProblem', code: string, message: string }
    | { __typename: 'Webhook', id: string }
   };

export type RotateHookSecretMutationVariables = Exact<{
  id: string | number;
  version: number;
  input: RotateWebhookSecretInput;
}>;


export type RotateHookSecretMutation = { rotateWebhookSecret:
    | { __typename: 'ForbiddenProblem', code: string, message: string }
    | { __typename: 'NotFoundProblem', code: string, message: string }
    | { __typename: 'ValidationProblem', code: string, message: string, errors: Array<{ __typename: 'FieldError', field: string | null, pointer: string | null, otherPointer: string | null, code: string, message: string, limit: { __typename: 'LimitFigures', policy: string | null, minutes: number | null, days: number | null, bookings: number | null, start: string | null, earliest: string | null, bookableFrom: string | null, week: string | null, nextWeek: string | null } | null }> }
    | { __typename: 'VersionProblem', code: string, message: string }
    | { __typename: 'WebhookWithSecret', secret: string, webhook: { __typename: 'Webhook', id: string, name: string, url: string, kinds: Array<EventKind>, enabled: boolean, disabledAt: string | null, disabledBecause: WebhookDisabledReason | null, waiting: number, failures: number, failingSince: string | null, succeededAt: string | null, nextAttemptAt: string | null, formerSecretUntil: string | null, version: number } }
   };

export type TestHookMutationVariables = Exact<{
  id: string | number;
}>;


export type TestHookMutation = { testWebhook:
    | { __typename: 'ForbiddenProblem', code: string, message: string }
    | { __typename: 'LimitProblem', retryAfterSeconds: number | null, code: string, message: string }
    | { __typename: 'NotFoundProblem', code: string, message: string }
    | { __typename: 'WebhookDelivery', id: string, kind: WebhookMessageKind, subject: string | null, attempt: number, at: string, milliseconds: number, status: number | null, answer: string | null, fault: string | null, cursor: string | null }
   };

export type ReplayHookMutationVariables = Exact<{
  id: string | number;
  version: number;
  input: ReplayWebhookInput;
}>;


export type ReplayHookMutation = { replayWebhook:
    | { __typename: 'ConflictProblem', code: string, message: string, errors: Array<{ __typename: 'FieldError', field: string | null, pointer: string | null, otherPointer: string | null, code: string, message: string, limit: { __typename: 'LimitFigures', policy: string | null, minutes: number | null, days: number | null, bookings: number | null, start: string | null, earliest: string | null, bookableFrom: string | null, week: string | null, nextWeek: string | null } | null }>, conflicts: Array<{ __typename: 'RoomConflict', bookingId: string, kind: BookingKind, subject: string | null, resourceId: string, start: string, end: string, wantedStart: string }>, alternatives: Array<{ __typename: 'Alternative', resourceId: string, resourceName: string, start: string, end: string }> }
    | { __typename: 'ForbiddenProblem', code: string, message: string }
    | { __typename: 'NotFoundProblem', code: string, message: string }
    | { __typename: 'ValidationProblem', code: string, message: string, errors: Array<{ __typename: 'FieldError', field: string | null, pointer: string | null, otherPointer: string | null, code: string, message: string, limit: { __typename: 'LimitFigures', policy: string | null, minutes: number | null, days: number | null, bookings: number | null, start: string | null, earliest: string | null, bookableFrom: string | null, week: string | null, nextWeek: string | null } | null }> }
    | { __typename: 'VersionProblem', code: string, message: string }
    | { __typename: 'Webhook', id: string, name: string, url: string, kinds: Array<EventKind>, enabled: boolean, disabledAt: string | null, disabledBecause: WebhookDisabledReason | null, waiting: number, failures: number, failingSince: string | null, succeededAt: string | null, nextAttemptAt: string | null, formerSecretUntil: string | null, version: number }
   };

export class TypedDocumentString<TResult, TVariables>
  extends String
  implements DocumentTypeDecoration<TResult, TVariables>
{
  __apiType?: NonNullable<DocumentTypeDecoration<TResult, TVariables>['__apiType']>;
  private value: string;
  public __meta__?: Record<string, any> | undefined;

  constructor(value: string, __meta__?: Record<string, any> | undefined) {
    super(value);
    this.value = value;
    this.__meta__ = __meta__;
  }

  override toString(): string & DocumentTypeDecoration<TResult, TVariables> {
    return this.value;
  }
}
export const PersonToMindFragmentDoc = new TypedDocumentString(`
    fragment PersonToMind on Person {
  id
  name
  pins(first: 20) {
    nodes {
      id
      label
      expiresAt
      revokedAt
    }
  }
}
    `, {"fragmentName":"PersonToMind"}) as unknown as TypedDocumentString<PersonToMindFragment, unknown>;
export const FeedFragmentDoc = new TypedDocumentString(`
    fragment Feed on CalendarToken {
  id
  label
  class
  teacher
  resourceId
  createdAt
  lastUsedAt
  revokedAt
  person {
    id
    name
  }
}
    `, {"fragmentName":"Feed"}) as unknown as TypedDocumentString<FeedFragment, unknown>;
export const DayLessonFragmentDoc = new TypedDocumentString(`
    fragment DayLesson on Lesson {
  id
  jobKey
  lessonKey
  start
  end
  resourceId
  resourceName
  subject
  title
  classes
  teachers
  remark
  status
  origin {
    start
    end
    resourceName
    subject
    teachers
  }
}
    `, {"fragmentName":"DayLesson"}) as unknown as TypedDocumentString<DayLessonFragment, unknown>;
export const MasterHolidaysFragmentDoc = new TypedDocumentString(`
    fragment MasterHolidays on HolidayCalendar {
  id
  name
  locationId
  closes
  url
  readAt
  fault
  faultAt
  version
}
    `, {"fragmentName":"MasterHolidays"}) as unknown as TypedDocumentString<MasterHolidaysFragment, unknown>;
export const RulesFragmentDoc = new TypedDocumentString(`
    fragment Rules on OpeningRuleList {
  version
  items {
    weekdays
    opens
    closes
    validFrom
    validTo
  }
}
    `, {"fragmentName":"Rules"}) as unknown as TypedDocumentString<RulesFragment, unknown>;
export const ExceptionsFragmentDoc = new TypedDocumentString(`
    fragment Exceptions on OpeningExceptionList {
  version
  items {
    fromDate
    toDate
    closed
    periods {
      opens
      closes
    }
    reason
  }
}
    `, {"fragmentName":"Exceptions"}) as unknown as TypedDocumentString<ExceptionsFragment, unknown>;
export const HoursOnDaysFragmentDoc = new TypedDocumentString(`
    fragment HoursOnDays on ResourceHours {
  resourceId
  weekly {
    resourceId
  }
  exceptions {
    resourceId
    fromDate
    toDate
  }
}
    `, {"fragmentName":"HoursOnDays"}) as unknown as TypedDocumentString<HoursOnDaysFragment, unknown>;
export const ConflictFragmentDoc = new TypedDocumentString(`
    fragment Conflict on MailConflict {
  subject
  start
  end
  organizerName
  organizerEmail
  decline {
    state
    at
    reason
  }
}
    `, {"fragmentName":"Conflict"}) as unknown as TypedDocumentString<ConflictFragment, unknown>;
export const CalendarFragmentDoc = new TypedDocumentString(`
    fragment Calendar on MailSubscription {
  id
  mailbox
  kind
  state
  stateText
  pushWorks
  lastPushAt
  expiresAt
  lastReadAt
  nextReadAt
  conflictCount
  declinedCount
  unreadableCount
  unwrittenCount
  writingFault
  resource {
    id
    name
  }
  fault {
    kind
    text
  }
}
    `, {"fragmentName":"Calendar"}) as unknown as TypedDocumentString<CalendarFragment, unknown>;
export const MasterLocationFragmentDoc = new TypedDocumentString(`
    fragment MasterLocation on Location {
  id
  restId
  name
  timeZone
  active
  version
}
    `, {"fragmentName":"MasterLocation"}) as unknown as TypedDocumentString<MasterLocationFragment, unknown>;
export const MasterRoomFragmentDoc = new TypedDocumentString(`
    fragment MasterRoom on Resource {
  id
  restId
  name
  locationId
  kind
  capacity
  equipment
  mailbox
  calendarWriting
  calendarEdits
  declineConflicts
  checkInMinutes
  policyId
  active
  version
}
    `, {"fragmentName":"MasterRoom"}) as unknown as TypedDocumentString<MasterRoomFragment, unknown>;
export const MasterPersonFragmentDoc = new TypedDocumentString(`
    fragment MasterPerson on Person {
  id
  name
  email
  role
  teacherCode
  timeZone
  active
  erasedAt
  version
}
    `, {"fragmentName":"MasterPerson"}) as unknown as TypedDocumentString<MasterPersonFragment, unknown>;
export const MasterGroupFragmentDoc = new TypedDocumentString(`
    fragment MasterGroup on Group {
  id
  name
  version
}
    `, {"fragmentName":"MasterGroup"}) as unknown as TypedDocumentString<MasterGroupFragment, unknown>;
export const MasterPolicyFragmentDoc = new TypedDocumentString(`
    fragment MasterPolicy on Policy {
  id
  name
  maySee
  mayBook
  mayBookForOthers
  mayDecide
  maySkipApproval
  needsApproval
  leadMinutes
  aheadDays
  longestMinutes
  quotaBookingsPerWeek
  quotaMinutesPerWeek
  version
}
    `, {"fragmentName":"MasterPolicy"}) as unknown as TypedDocumentString<MasterPolicyFragment, unknown>;
export const MasterPinFragmentDoc = new TypedDocumentString(`
    fragment MasterPin on Pin {
  id
  label
  createdAt
  expiresAt
  lastUsedAt
  revokedAt
}
    `, {"fragmentName":"MasterPin"}) as unknown as TypedDocumentString<MasterPinFragment, unknown>;
export const SingleFaultFragmentDoc = new TypedDocumentString(`
    fragment SingleFault on FieldError {
  field
  pointer
  otherPointer
  code
  message
  limit {
    policy
    minutes
    days
    bookings
    start
    earliest
    bookableFrom
    week
    nextWeek
  }
}
    `, {"fragmentName":"SingleFault"}) as unknown as TypedDocumentString<SingleFaultFragment, unknown>;
export const RefusedFragmentDoc = new TypedDocumentString(`
    fragment Refused on Problem {
  __typename
  code
  message
  ... on ValidationProblem {
    errors {
      ...SingleFault
    }
  }
  ... on ConflictProblem {
    errors {
      ...SingleFault
    }
    conflicts {
      bookingId
      kind
      subject
      resourceId
      start
      end
      wantedStart
    }
    alternatives {
      resourceId
      resourceName
      start
      end
    }
  }
  ... on LimitProblem {
    retryAfterSeconds
  }
}
    fragment SingleFault on FieldError {
  field
  pointer
  otherPointer
  code
  message
  limit {
    policy
    minutes
    days
    bookings
    start
    earliest
    bookableFrom
    week
    nextWeek
  }
}`, {"fragmentName":"Refused"}) as unknown as TypedDocumentString<RefusedFragment, unknown>;
export const RoomBookingFragmentDoc = new TypedDocumentString(`
    fragment RoomBooking on Booking {
  id
  resourceId
  resourceName
  subject
  description
  start
  end
  status
  kind
  isPrivate
  setupMinutes
  teardownMinutes
  seriesId
  timeZone
  version
  organizer {
    personId
    displayName
  }
  createdBy {
    personId
  }
  lessonSummary {
    classes
    teachers
    subject
    status
  }
  checkIn {
    from
    until
    checkedInAt
  }
}
    `, {"fragmentName":"RoomBooking"}) as unknown as TypedDocumentString<RoomBookingFragment, unknown>;
export const SchoolFragmentDoc = new TypedDocumentString(`
    fragment School on Tenant {
  id
  name
  mandator
  version
  colour
  logo
  parameters {
    pinAuthenticationAllowed
    usersMayImport
    calendarWriting
    calendarEdits
    declineConflicts
  }
}
    `, {"fragmentName":"School"}) as unknown as TypedDocumentString<SchoolFragment, unknown>;
export const SignFragmentDoc = new TypedDocumentString(`
    fragment Sign on Display {
  id
  name
  version
  resourceIds
  locationId
  mayBook
  privacy
  createdAt
  expiresAt
  revokedAt
  heardAt
  silentSince
  resources {
    resourceId
    name
  }
  health {
    program
    screen
    clockAheadSeconds
    battery
    reconnects
    startedAt
    note
  }
}
    `, {"fragmentName":"Sign"}) as unknown as TypedDocumentString<SignFragment, unknown>;
export const PreviewFragmentDoc = new TypedDocumentString(`
    fragment Preview on DisplaySnapshot {
  serverTime
  timeZone
  status
  until
  resource {
    resourceId
    name
  }
  schedule {
    bookingId
    occupies
    from
    to
    start
    end
    kind
    subject
    organizer
    classes
  }
}
    `, {"fragmentName":"Preview"}) as unknown as TypedDocumentString<PreviewFragment, unknown>;
export const BatchStoryFragmentDoc = new TypedDocumentString(`
    fragment BatchStory on Batch {
  id
  operation
  importStatus
  jobCount
  lessonCount
  processedCount
  createdCount
  changedCount
  movedCount
  removedCount
  errorCount
  warningCount
  failureKind
  validateOnly
  source
  onConflict
  createdAt
  startedAt
  finishedAt
  queuePosition
  createdBy {
    personId
    displayName
  }
}
    `, {"fragmentName":"BatchStory"}) as unknown as TypedDocumentString<BatchStoryFragment, unknown>;
export const ProfileFragmentDoc = new TypedDocumentString(`
    fragment Profile on TimetableProfile {
  id
  name
  source
  locationName
  version
  term {
    name
    from
    to
    holidays {
      name
      from
      to
    }
    weeks {
      monday
      name
    }
    groups {
      name
      weeks
    }
  }
  periods {
    day
    period
    begin
    end
  }
  rooms {
    name
    resourceName
  }
  sharedRooms
  mapping {
    key
    date
    day
    period
    weeks
    begin
    end
    room
    subject
    title
    classes
    teachers
    remark
    status
  }
}
    `, {"fragmentName":"Profile"}) as unknown as TypedDocumentString<ProfileFragment, unknown>;
export const FiguresFragmentDoc = new TypedDocumentString(`
    fragment Figures on Use {
  openMinutes
  occupiedMinutes
  occupancyPercent
  outsideMinutes
  unusedMinutes
  bookings
  noShows
  releasedEarly
}
    `, {"fragmentName":"Figures"}) as unknown as TypedDocumentString<FiguresFragment, unknown>;
export const HookFragmentDoc = new TypedDocumentString(`
    fragment Hook on Webhook {
  id
  name
  url
  kinds
  enabled
  disabledAt
  disabledBecause
  waiting
  failures
  failingSince
  succeededAt
  nextAttemptAt
  formerSecretUntil
  version
}
    `, {"fragmentName":"Hook"}) as unknown as TypedDocumentString<HookFragment, unknown>;
export const HookDeliveryFragmentDoc = new TypedDocumentString(`
    fragment HookDelivery on WebhookDelivery {
  id
  kind
  subject
  attempt
  at
  milliseconds
  status
  answer
  fault
  cursor
}
    `, {"fragmentName":"HookDelivery"}) as unknown as TypedDocumentString<HookDeliveryFragment, unknown>;
export const SignsToMindDocument = new TypedDocumentString(`
    query SignsToMind($after: String) {
  displays(first: 200, after: $after) {
    nodes {
      id
      name
      createdAt
      expiresAt
      revokedAt
      heardAt
      silentSince
      health {
        battery
        note
      }
    }
    pageInfo {
      hasNextPage
      endCursor
    }
  }
}
    `) as unknown as TypedDocumentString<SignsToMindQuery, SignsToMindQueryVariables>;
export const MailToMindDocument = new TypedDocumentString(`
    query MailToMind {
  mailSubscriptions {
    id
    mailbox
    lastReadAt
    resource {
      id
      name
    }
    fault {
      kind
      text
    }
    conflictCount
    unreadableCount
    unwrittenCount
    writingFault
  }
}
    `) as unknown as TypedDocumentString<MailToMindQuery, MailToMindQueryVariables>;
export const WorkToMindDocument = new TypedDocumentString(`
    query WorkToMind($since: DateTime!) {
  batches(
    filter: { importStatus: [LessonsImportFailed], createdAfter: $since }
    first: 50
  ) {
    nodes {
      id
      restId
      createdAt
      operation
      validateOnly
      failureKind
      errorCount
      createdBy {
        displayName
      }
    }
  }
  bookings(filter: { toDecide: true }, first: 50) {
    nodes {
      id
    }
    pageInfo {
      hasNextPage
    }
  }
}
    `) as unknown as TypedDocumentString<WorkToMindQuery, WorkToMindQueryVariables>;
export const WebhooksToMindDocument = new TypedDocumentString(`
    query WebhooksToMind {
  webhooks(first: 50) {
    nodes {
      id
      name
      version
      failures
      failingSince
      disabledAt
      disabledBecause
    }
  }
}
    `) as unknown as TypedDocumentString<WebhooksToMindQuery, WebhooksToMindQueryVariables>;
export const PinsToMindDocument = new TypedDocumentString(`
    query PinsToMind {
  admins: persons(filter: { role: Admin, active: true }, first: 25) {
    nodes {
      ...PersonToMind
    }
  }
  importers: persons(filter: { role: Importer, active: true }, first: 25) {
    nodes {
      ...PersonToMind
    }
  }
}
    fragment PersonToMind on Person {
  id
  name
  pins(first: 20) {
    nodes {
      id
      label
      expiresAt
      revokedAt
    }
  }
}`) as unknown as TypedDocumentString<PinsToMindQuery, PinsToMindQueryVariables>;
export const ActsDocument = new TypedDocumentString(`
    query Acts($filter: ActFilter!, $after: String) {
  audit(filter: $filter, first: 100, after: $after) {
    nodes {
      id
      at
      action
      subject
      subjectId
      subjectName
      requestId
      person {
        personId
        displayName
      }
      changes {
        member
        from
        to
      }
    }
    pageInfo {
      hasNextPage
      endCursor
    }
  }
}
    `) as unknown as TypedDocumentString<ActsQuery, ActsQueryVariables>;
export const ActingPersonsDocument = new TypedDocumentString(`
    query ActingPersons {
  persons(filter: { role: Admin }, first: 200) {
    nodes {
      id
      name
    }
  }
}
    `) as unknown as TypedDocumentString<ActingPersonsQuery, ActingPersonsQueryVariables>;
export const FailedBatchesDocument = new TypedDocumentString(`
    subscription FailedBatches {
  batches(states: [LessonsImportFailed]) {
    id
  }
}
    `) as unknown as TypedDocumentString<FailedBatchesSubscription, FailedBatchesSubscriptionVariables>;
export const OpenProblemsDocument = new TypedDocumentString(`
    query OpenProblems($after: String) {
  roomProblems(filter: { state: Open }, first: 200, after: $after) {
    nodes {
      id
      version
      kind
      text
      reportedAt
      resourceId
      resourceName
      displayId
    }
    pageInfo {
      hasNextPage
      endCursor
    }
  }
}
    `) as unknown as TypedDocumentString<OpenProblemsQuery, OpenProblemsQueryVariables>;
export const SettleProblemDocument = new TypedDocumentString(`
    mutation SettleProblem($id: ID!, $version: Int!) {
  done: changeRoomProblem(id: $id, version: $version, input: { state: Done }) {
    __typename
    ... on RoomProblem {
      id
    }
    ...Refused
  }
}
    fragment Refused on Problem {
  __typename
  code
  message
  ... on ValidationProblem {
    errors {
      ...SingleFault
    }
  }
  ... on ConflictProblem {
    errors {
      ...SingleFault
    }
    conflicts {
      bookingId
      kind
      subject
      resourceId
      start
      end
      wantedStart
    }
    alternatives {
      resourceId
      resourceName
      start
      end
    }
  }
  ... on LimitProblem {
    retryAfterSeconds
  }
}
fragment SingleFault on FieldError {
  field
  pointer
  otherPointer
  code
  message
  limit {
    policy
    minutes
    days
    bookings
    start
    earliest
    bookableFrom
    week
    nextWeek
  }
}`) as unknown as TypedDocumentString<SettleProblemMutation, SettleProblemMutationVariables>;
export const ProblemNewsDocument = new TypedDocumentString(`
    subscription ProblemNews {
  roomProblems {
    id
  }
}
    `) as unknown as TypedDocumentString<ProblemNewsSubscription, ProblemNewsSubscriptionVariables>;
export const SignNewsDocument = new TypedDocumentString(`
    subscription SignNews {
  displays {
    id
  }
}
    `) as unknown as TypedDocumentString<SignNewsSubscription, SignNewsSubscriptionVariables>;
export const MailNewsDocument = new TypedDocumentString(`
    subscription MailNews {
  mailSubscriptions {
    id
  }
}
    `) as unknown as TypedDocumentString<MailNewsSubscription, MailNewsSubscriptionVariables>;
export const NamesOfRecordsDocument = new TypedDocumentString(`
    query NamesOfRecords($ids: [ID!]!) {
  nodes(ids: $ids) {
    id
    ... on Group {
      name
    }
    ... on Location {
      name
    }
    ... on Person {
      name
    }
    ... on Policy {
      name
    }
    ... on Resource {
      name
    }
  }
}
    `) as unknown as TypedDocumentString<NamesOfRecordsQuery, NamesOfRecordsQueryVariables>;
export const TimetableFeedsDocument = new TypedDocumentString(`
    query TimetableFeeds($after: String) {
  timetableTokens(first: 200, after: $after) {
    nodes {
      ...Feed
    }
    pageInfo {
      hasNextPage
      endCursor
    }
  }
}
    fragment Feed on CalendarToken {
  id
  label
  class
  teacher
  resourceId
  createdAt
  lastUsedAt
  revokedAt
  person {
    id
    name
  }
}`) as unknown as TypedDocumentString<TimetableFeedsQuery, TimetableFeedsQueryVariables>;
export const RoomFeedsDocument = new TypedDocumentString(`
    query RoomFeeds($resourceId: ID!, $after: String) {
  calendarTokens(resourceId: $resourceId, first: 200, after: $after) {
    nodes {
      ...Feed
    }
    pageInfo {
      hasNextPage
      endCursor
    }
  }
}
    fragment Feed on CalendarToken {
  id
  label
  class
  teacher
  resourceId
  createdAt
  lastUsedAt
  revokedAt
  person {
    id
    name
  }
}`) as unknown as TypedDocumentString<RoomFeedsQuery, RoomFeedsQueryVariables>;
export const CreateTimetableFeedDocument = new TypedDocumentString(`
    mutation CreateTimetableFeed($label: String, $class: String, $teacher: String, $idempotencyKey: String) {
  createTimetableToken(
    label: $label
    class: $class
    teacher: $teacher
    idempotencyKey: $idempotencyKey
  ) {
    __typename
    ... on CalendarTokenCreated {
      url
    }
    ...Refused
  }
}
    fragment Refused on Problem {
  __typename
  code
  message
  ... on ValidationProblem {
    errors {
      ...SingleFault
    }
  }
  ... on ConflictProblem {
    errors {
      ...SingleFault
    }
    conflicts {
      bookingId
      kind
      subject
      resourceId
      start
      end
      wantedStart
    }
    alternatives {
      resourceId
      resourceName
      start
      end
    }
  }
  ... on LimitProblem {
    retryAfterSeconds
  }
}
fragment SingleFault on FieldError {
  field
  pointer
  otherPointer
  code
  message
  limit {
    policy
    minutes
    days
    bookings
    start
    earliest
    bookableFrom
    week
    nextWeek
  }
}`) as unknown as TypedDocumentString<CreateTimetableFeedMutation, CreateTimetableFeedMutationVariables>;
export const CreateRoomFeedDocument = new TypedDocumentString(`
    mutation CreateRoomFeed($label: String, $resourceId: ID!, $idempotencyKey: String) {
  createCalendarToken(
    label: $label
    resourceId: $resourceId
    idempotencyKey: $idempotencyKey
  ) {
    __typename
    ... on CalendarTokenCreated {
      url
    }
    ...Refused
  }
}
    fragment Refused on Problem {
  __typename
  code
  message
  ... on ValidationProblem {
    errors {
      ...SingleFault
    }
  }
  ... on ConflictProblem {
    errors {
      ...SingleFault
    }
    conflicts {
      bookingId
      kind
      subject
      resourceId
      start
      end
      wantedStart
    }
    alternatives {
      resourceId
      resourceName
      start
      end
    }
  }
  ... on LimitProblem {
    retryAfterSeconds
  }
}
fragment SingleFault on FieldError {
  field
  pointer
  otherPointer
  code
  message
  limit {
    policy
    minutes
    days
    bookings
    start
    earliest
    bookableFrom
    week
    nextWeek
  }
}`) as unknown as TypedDocumentString<CreateRoomFeedMutation, CreateRoomFeedMutationVariables>;
export const RevokeFeedDocument = new TypedDocumentString(`
    mutation RevokeFeed($id: ID!) {
  revokeCalendarToken(id: $id) {
    __typename
    ...Feed
    ...Refused
  }
}
    fragment Feed on CalendarToken {
  id
  label
  class
  teacher
  resourceId
  createdAt
  lastUsedAt
  revokedAt
  person {
    id
    name
  }
}
fragment Refused on Problem {
  __typename
  code
  message
  ... on ValidationProblem {
    errors {
      ...SingleFault
    }
  }
  ... on ConflictProblem {
    errors {
      ...SingleFault
    }
    conflicts {
      bookingId
      kind
      subject
      resourceId
      start
      end
      wantedStart
    }
    alternatives {
      resourceId
      resourceName
      start
      end
    }
  }
  ... on LimitProblem {
    retryAfterSeconds
  }
}
fragment SingleFault on FieldError {
  field
  pointer
  otherPointer
  code
  message
  limit {
    policy
    minutes
    days
    bookings
    start
    earliest
    bookableFrom
    week
    nextWeek
  }
}`) as unknown as TypedDocumentString<RevokeFeedMutation, RevokeFeedMutationVariables>;
export const DayLessonsDocument = new TypedDocumentString(`
    query DayLessons($filter: LessonFilter!, $after: String) {
  lessons(filter: $filter, first: 200, after: $after) {
    nodes {
      ...DayLesson
    }
    pageInfo {
      hasNextPage
      endCursor
    }
  }
}
    fragment DayLesson on Lesson {
  id
  jobKey
  lessonKey
  start
  end
  resourceId
  resourceName
  subject
  title
  classes
  teachers
  remark
  status
  origin {
    start
    end
    resourceName
    subject
    teachers
  }
}`) as unknown as TypedDocumentString<DayLessonsQuery, DayLessonsQueryVariables>;
export const FollowLessonsDocument = new TypedDocumentString(`
    subscription FollowLessons {
  bookings(filter: { kind: [Lesson] }) {
    cursor
  }
}
    `) as unknown as TypedDocumentString<FollowLessonsSubscription, FollowLessonsSubscriptionVariables>;
export const ChangeLessonDocument = new TypedDocumentString(`
    mutation ChangeLesson($jobs: [LessonJobChangeInput!]!, $options: BatchOptions) {
  updateLessonJobs(jobs: $jobs, options: $options) {
    __typename
    ... on BatchAccepted {
      batch {
        id
      }
    }
    ...Refused
  }
}
    fragment Refused on Problem {
  __typename
  code
  message
  ... on ValidationProblem {
    errors {
      ...SingleFault
    }
  }
  ... on ConflictProblem {
    errors {
      ...SingleFault
    }
    conflicts {
      bookingId
      kind
      subject
      resourceId
      start
      end
      wantedStart
    }
    alternatives {
      resourceId
      resourceName
      start
      end
    }
  }
  ... on LimitProblem {
    retryAfterSeconds
  }
}
fragment SingleFault on FieldError {
  field
  pointer
  otherPointer
  code
  message
  limit {
    policy
    minutes
    days
    bookings
    start
    earliest
    bookableFrom
    week
    nextWeek
  }
}`) as unknown as TypedDocumentString<ChangeLessonMutation, ChangeLessonMutationVariables>;
export const FollowAllBookingsDocument = new TypedDocumentString(`
    subscription FollowAllBookings {
  bookings(filter: {  }) {
    cursor
  }
}
    `) as unknown as TypedDocumentString<FollowAllBookingsSubscription, FollowAllBookingsSubscriptionVariables>;
export const MasterHolidayCalendarsDocument = new TypedDocumentString(`
    query MasterHolidayCalendars($after: String) {
  holidayCalendars(first: 200, after: $after) {
    nodes {
      ...MasterHolidays
    }
    pageInfo {
      hasNextPage
      endCursor
    }
  }
}
    fragment MasterHolidays on HolidayCalendar {
  id
  name
  locationId
  closes
  url
  readAt
  fault
  faultAt
  version
}`) as unknown as TypedDocumentString<MasterHolidayCalendarsQuery, MasterHolidayCalendarsQueryVariables>;
export const BookingsInHolidaysDocument = new TypedDocumentString(`
    query BookingsInHolidays($calendarId: ID!) {
  bookingsInHolidays(calendarId: $calendarId, first: 100) {
    nodes {
      bookingId
      resourceName
      start
      subject
      holiday
    }
    pageInfo {
      hasNextPage
    }
  }
}
    `) as unknown as TypedDocumentString<BookingsInHolidaysQuery, BookingsInHolidaysQueryVariables>;
export const CreateHolidaysDocument = new TypedDocumentString(`
    mutation CreateHolidays($input: CreateHolidayCalendarInput!) {
  createHolidayCalendar(input: $input) {
    __typename
    ...MasterHolidays
    ...Refused
  }
}
    fragment MasterHolidays on HolidayCalendar {
  id
  name
  locationId
  closes
  url
  readAt
  fault
  faultAt
  version
}
fragment Refused on Problem {
  __typename
  code
  message
  ... on ValidationProblem {
    errors {
      ...SingleFault
    }
  }
  ... on ConflictProblem {
    errors {
      ...SingleFault
    }
    conflicts {
      bookingId
      kind
      subject
      resourceId
      start
      end
      wantedStart
    }
    alternatives {
      resourceId
      resourceName
      start
      end
    }
  }
  ... on LimitProblem {
    retryAfterSeconds
  }
}
fragment SingleFault on FieldError {
  field
  pointer
  otherPointer
  code
  message
  limit {
    policy
    minutes
    days
    bookings
    start
    earliest
    bookableFrom
    week
    nextWeek
  }
}`) as unknown as TypedDocumentString<CreateHolidaysMutation, CreateHolidaysMutationVariables>;
export const ChangeHolidaysDocument = new TypedDocumentString(`
    mutation ChangeHolidays($id: ID!, $version: Int!, $input: ChangeHolidayCalendarInput!) {
  changeHolidayCalendar(id: $id, version: $version, input: $input) {
    __typename
    ...MasterHolidays
    ...Refused
  }
}
    fragment MasterHolidays on HolidayCalendar {
  id
  name
  locationId
  closes
  url
  readAt
  fault
  faultAt
  version
}
fragment Refused on Problem {
  __typename
  code
  message
  ... on ValidationProblem {
    errors {
      ...SingleFault
    }
  }
  ... on ConflictProblem {
    errors {
      ...SingleFault
    }
    conflicts {
      bookingId
      kind
      subject
      resourceId
      start
      end
      wantedStart
    }
    alternatives {
      resourceId
      resourceName
      start
      end
    }
  }
  ... on LimitProblem {
    retryAfterSeconds
  }
}
fragment SingleFault on FieldError {
  field
  pointer
  otherPointer
  code
  message
  limit {
    policy
    minutes
    days
    bookings
    start
    earliest
    bookableFrom
    week
    nextWeek
  }
}`) as unknown as TypedDocumentString<ChangeHolidaysMutation, ChangeHolidaysMutationVariables>;
export const DeleteHolidaysDocument = new TypedDocumentString(`
    mutation DeleteHolidays($id: ID!, $version: Int!) {
  deleteHolidayCalendar(id: $id, version: $version) {
    __typename
    ...MasterHolidays
    ...Refused
  }
}
    fragment MasterHolidays on HolidayCalendar {
  id
  name
  locationId
  closes
  url
  readAt
  fault
  faultAt
  version
}
fragment Refused on Problem {
  __typename
  code
  message
  ... on ValidationProblem {
    errors {
      ...SingleFault
    }
  }
  ... on ConflictProblem {
    errors {
      ...SingleFault
    }
    conflicts {
      bookingId
      kind
      subject
      resourceId
      start
      end
      wantedStart
    }
    alternatives {
      resourceId
      resourceName
      start
      end
    }
  }
  ... on LimitProblem {
    retryAfterSeconds
  }
}
fragment SingleFault on FieldError {
  field
  pointer
  otherPointer
  code
  message
  limit {
    policy
    minutes
    days
    bookings
    start
    earliest
    bookableFrom
    week
    nextWeek
  }
}`) as unknown as TypedDocumentString<DeleteHolidaysMutation, DeleteHolidaysMutationVariables>;
export const LocationListsDocument = new TypedDocumentString(`
    query LocationLists($id: ID!) {
  rules: locationOpeningRules(locationId: $id) {
    ...Rules
  }
  exceptions: locationOpeningExceptions(locationId: $id) {
    ...Exceptions
  }
  ruleActs: audit(
    filter: { subject: Location, subjectId: $id, action: "replace opening rules" }
    first: 1
  ) {
    nodes {
      id
    }
  }
  exceptionActs: audit(
    filter: { subject: Location, subjectId: $id, action: "replace opening exceptions" }
    first: 1
  ) {
    nodes {
      id
    }
  }
}
    fragment Rules on OpeningRuleList {
  version
  items {
    weekdays
    opens
    closes
    validFrom
    validTo
  }
}
fragment Exceptions on OpeningExceptionList {
  version
  items {
    fromDate
    toDate
    closed
    periods {
      opens
      closes
    }
    reason
  }
}`) as unknown as TypedDocumentString<LocationListsQuery, LocationListsQueryVariables>;
export const RoomListsDocument = new TypedDocumentString(`
    query RoomLists($id: ID!) {
  rules: openingRules(resourceId: $id) {
    ...Rules
  }
  exceptions: openingExceptions(resourceId: $id) {
    ...Exceptions
  }
  ruleActs: audit(
    filter: { subject: Resource, subjectId: $id, action: "replace opening rules" }
    first: 1
  ) {
    nodes {
      id
    }
  }
  exceptionActs: audit(
    filter: { subject: Resource, subjectId: $id, action: "replace opening exceptions" }
    first: 1
  ) {
    nodes {
      id
    }
  }
}
    fragment Rules on OpeningRuleList {
  version
  items {
    weekdays
    opens
    closes
    validFrom
    validTo
  }
}
fragment Exceptions on OpeningExceptionList {
  version
  items {
    fromDate
    toDate
    closed
    periods {
      opens
      closes
    }
    reason
  }
}`) as unknown as TypedDocumentString<RoomListsQuery, RoomListsQueryVariables>;
export const ReallyOpenDocument = new TypedDocumentString(`
    query ReallyOpen($roomId: ID!, $locationId: ID!, $from: Date!, $to: Date!) {
  resource(id: $roomId) {
    openingHours(timezoneLocationId: $locationId, from: $from, to: $to) {
      weekly {
        resourceId
      }
      intervals {
        localDate
        opens
        end
      }
      exceptions {
        fromDate
        toDate
        reason
      }
    }
  }
  holidays(filter: { locationId: $locationId, from: $from, to: $to }, first: 200) {
    nodes {
      name
      fromDate
      toDate
      closes
    }
  }
}
    `) as unknown as TypedDocumentString<ReallyOpenQuery, ReallyOpenQueryVariables>;
export const SetLocationRulesDocument = new TypedDocumentString(`
    mutation SetLocationRules($id: ID!, $version: Int!, $items: [OpeningRuleInput!]!) {
  setLocationOpeningRules(locationId: $id, version: $version, items: $items) {
    __typename
    ...Rules
    ...Refused
  }
}
    fragment Rules on OpeningRuleList {
  version
  items {
    weekdays
    opens
    closes
    validFrom
    validTo
  }
}
fragment Refused on Problem {
  __typename
  code
  message
  ... on ValidationProblem {
    errors {
      ...SingleFault
    }
  }
  ... on ConflictProblem {
    errors {
      ...SingleFault
    }
    conflicts {
      bookingId
      kind
      subject
      resourceId
      start
      end
      wantedStart
    }
    alternatives {
      resourceId
      resourceName
      start
      end
    }
  }
  ... on LimitProblem {
    retryAfterSeconds
  }
}
fragment SingleFault on FieldError {
  field
  pointer
  otherPointer
  code
  message
  limit {
    policy
    minutes
    days
    bookings
    start
    earliest
    bookableFrom
    week
    nextWeek
  }
}`) as unknown as TypedDocumentString<SetLocationRulesMutation, SetLocationRulesMutationVariables>;
export const SetRoomRulesDocument = new TypedDocumentString(`
    mutation SetRoomRules($id: ID!, $version: Int!, $items: [OpeningRuleInput!]!) {
  setOpeningRules(resourceId: $id, version: $version, items: $items) {
    __typename
    ...Rules
    ...Refused
  }
}
    fragment Rules on OpeningRuleList {
  version
  items {
    weekdays
    opens
    closes
    validFrom
    validTo
  }
}
fragment Refused on Problem {
  __typename
  code
  message
  ... on ValidationProblem {
    errors {
      ...SingleFault
    }
  }
  ... on ConflictProblem {
    errors {
      ...SingleFault
    }
    conflicts {
      bookingId
      kind
      subject
      resourceId
      start
      end
      wantedStart
    }
    alternatives {
      resourceId
      resourceName
      start
      end
    }
  }
  ... on LimitProblem {
    retryAfterSeconds
  }
}
fragment SingleFault on FieldError {
  field
  pointer
  otherPointer
  code
  message
  limit {
    policy
    minutes
    days
    bookings
    start
    earliest
    bookableFrom
    week
    nextWeek
  }
}`) as unknown as TypedDocumentString<SetRoomRulesMutation, SetRoomRulesMutationVariables>;
export const SetLocationExceptionsDocument = new TypedDocumentString(`
    mutation SetLocationExceptions($id: ID!, $version: Int!, $items: [OpeningExceptionInput!]!) {
  setLocationOpeningExceptions(locationId: $id, version: $version, items: $items) {
    __typename
    ...Exceptions
    ...Refused
  }
}
    fragment Exceptions on OpeningExceptionList {
  version
  items {
    fromDate
    toDate
    closed
    periods {
      opens
      closes
    }
    reason
  }
}
fragment Refused on Problem {
  __typename
  code
  message
  ... on ValidationProblem {
    errors {
      ...SingleFault
    }
  }
  ... on ConflictProblem {
    errors {
      ...SingleFault
    }
    conflicts {
      bookingId
      kind
      subject
      resourceId
      start
      end
      wantedStart
    }
    alternatives {
      resourceId
      resourceName
      start
      end
    }
  }
  ... on LimitProblem {
    retryAfterSeconds
  }
}
fragment SingleFault on FieldError {
  field
  pointer
  otherPointer
  code
  message
  limit {
    policy
    minutes
    days
    bookings
    start
    earliest
    bookableFrom
    week
    nextWeek
  }
}`) as unknown as TypedDocumentString<SetLocationExceptionsMutation, SetLocationExceptionsMutationVariables>;
export const SetRoomExceptionsDocument = new TypedDocumentString(`
    mutation SetRoomExceptions($id: ID!, $version: Int!, $items: [OpeningExceptionInput!]!) {
  setOpeningExceptions(resourceId: $id, version: $version, items: $items) {
    __typename
    ...Exceptions
    ...Refused
  }
}
    fragment Exceptions on OpeningExceptionList {
  version
  items {
    fromDate
    toDate
    closed
    periods {
      opens
      closes
    }
    reason
  }
}
fragment Refused on Problem {
  __typename
  code
  message
  ... on ValidationProblem {
    errors {
      ...SingleFault
    }
  }
  ... on ConflictProblem {
    errors {
      ...SingleFault
    }
    conflicts {
      bookingId
      kind
      subject
      resourceId
      start
      end
      wantedStart
    }
    alternatives {
      resourceId
      resourceName
      start
      end
    }
  }
  ... on LimitProblem {
    retryAfterSeconds
  }
}
fragment SingleFault on FieldError {
  field
  pointer
  otherPointer
  code
  message
  limit {
    policy
    minutes
    days
    bookings
    start
    earliest
    bookableFrom
    week
    nextWeek
  }
}`) as unknown as TypedDocumentString<SetRoomExceptionsMutation, SetRoomExceptionsMutationVariables>;
export const BookingsOnDaysDocument = new TypedDocumentString(`
    query BookingsOnDays($filter: BookingFilter!, $after: String) {
  bookings(filter: $filter, first: 200, after: $after) {
    nodes {
      id
      resourceId
      resourceName
      start
      end
      subject
      kind
    }
    pageInfo {
      hasNextPage
      endCursor
    }
  }
}
    `) as unknown as TypedDocumentString<BookingsOnDaysQuery, BookingsOnDaysQueryVariables>;
export const HoursOnDaysDocument = new TypedDocumentString(`
    query HoursOnDays($locationId: ID!, $from: Date!, $to: Date!) {
  openingHours(
    locationId: $locationId
    timezoneLocationId: $locationId
    from: $from
    to: $to
  ) {
    resources {
      ...HoursOnDays
    }
  }
}
    fragment HoursOnDays on ResourceHours {
  resourceId
  weekly {
    resourceId
  }
  exceptions {
    resourceId
    fromDate
    toDate
  }
}`) as unknown as TypedDocumentString<HoursOnDaysQuery, HoursOnDaysQueryVariables>;
export const RoomHoursOnDaysDocument = new TypedDocumentString(`
    query RoomHoursOnDays($id: ID!, $zoneOf: ID!, $from: Date!, $to: Date!) {
  resource(id: $id) {
    openingHours(timezoneLocationId: $zoneOf, from: $from, to: $to) {
      ...HoursOnDays
    }
  }
}
    fragment HoursOnDays on ResourceHours {
  resourceId
  weekly {
    resourceId
  }
  exceptions {
    resourceId
    fromDate
    toDate
  }
}`) as unknown as TypedDocumentString<RoomHoursOnDaysQuery, RoomHoursOnDaysQueryVariables>;
export const FollowCalendarsDocument = new TypedDocumentString(`
    subscription FollowCalendars {
  mailSubscriptions {
    ...Calendar
  }
}
    fragment Calendar on MailSubscription {
  id
  mailbox
  kind
  state
  stateText
  pushWorks
  lastPushAt
  expiresAt
  lastReadAt
  nextReadAt
  conflictCount
  declinedCount
  unreadableCount
  unwrittenCount
  writingFault
  resource {
    id
    name
  }
  fault {
    kind
    text
  }
}`) as unknown as TypedDocumentString<FollowCalendarsSubscription, FollowCalendarsSubscriptionVariables>;
export const CalendarTroublesDocument = new TypedDocumentString(`
    query CalendarTroubles($id: ID!) {
  node(id: $id) {
    __typename
    ... on MailSubscription {
      id
      conflicts {
        ...Conflict
        bookingId
        booking {
          id
          subject
          kind
          start
          end
          timeZone
          organizer {
            displayName
          }
        }
      }
      declined {
        ...Conflict
      }
      unreadable {
        itemId
        uid
        reason
        since
      }
      unwritten {
        bookingId
        start
        end
        cause
        reason
        nextTryAt
        booking {
          id
          subject
          kind
          timeZone
          organizer {
            displayName
          }
        }
      }
    }
  }
}
    fragment Conflict on MailConflict {
  subject
  start
  end
  organizerName
  organizerEmail
  decline {
    state
    at
    reason
  }
}`) as unknown as TypedDocumentString<CalendarTroublesQuery, CalendarTroublesQueryVariables>;
export const ReadCalendarDocument = new TypedDocumentString(`
    mutation ReadCalendar($id: ID!) {
  readMailSubscription(id: $id) {
    __typename
    ... on MailSubscription {
      ...Calendar
    }
    ...Refused
  }
}
    fragment Calendar on MailSubscription {
  id
  mailbox
  kind
  state
  stateText
  pushWorks
  lastPushAt
  expiresAt
  lastReadAt
  nextReadAt
  conflictCount
  declinedCount
  unreadableCount
  unwrittenCount
  writingFault
  resource {
    id
    name
  }
  fault {
    kind
    text
  }
}
fragment Refused on Problem {
  __typename
  code
  message
  ... on ValidationProblem {
    errors {
      ...SingleFault
    }
  }
  ... on ConflictProblem {
    errors {
      ...SingleFault
    }
    conflicts {
      bookingId
      kind
      subject
      resourceId
      start
      end
      wantedStart
    }
    alternatives {
      resourceId
      resourceName
      start
      end
    }
  }
  ... on LimitProblem {
    retryAfterSeconds
  }
}
fragment SingleFault on FieldError {
  field
  pointer
  otherPointer
  code
  message
  limit {
    policy
    minutes
    days
    bookings
    start
    earliest
    bookableFrom
    week
    nextWeek
  }
}`) as unknown as TypedDocumentString<ReadCalendarMutation, ReadCalendarMutationVariables>;
export const MasterLocationsDocument = new TypedDocumentString(`
    query MasterLocations {
  locations {
    ...MasterLocation
  }
}
    fragment MasterLocation on Location {
  id
  restId
  name
  timeZone
  active
  version
}`) as unknown as TypedDocumentString<MasterLocationsQuery, MasterLocationsQueryVariables>;
export const MasterLocationDocument = new TypedDocumentString(`
    query MasterLocation($id: ID!) {
  location(id: $id) {
    ...MasterLocation
  }
}
    fragment MasterLocation on Location {
  id
  restId
  name
  timeZone
  active
  version
}`) as unknown as TypedDocumentString<MasterLocationQuery, MasterLocationQueryVariables>;
export const MasterRoomsDocument = new TypedDocumentString(`
    query MasterRooms($after: String) {
  resources(first: 200, after: $after) {
    nodes {
      ...MasterRoom
    }
    pageInfo {
      hasNextPage
      endCursor
    }
  }
}
    fragment MasterRoom on Resource {
  id
  restId
  name
  locationId
  kind
  capacity
  equipment
  mailbox
  calendarWriting
  calendarEdits
  declineConflicts
  checkInMinutes
  policyId
  active
  version
}`) as unknown as TypedDocumentString<MasterRoomsQuery, MasterRoomsQueryVariables>;
export const MasterRoomDocument = new TypedDocumentString(`
    query MasterRoom($id: ID!) {
  resource(id: $id) {
    ...MasterRoom
  }
}
    fragment MasterRoom on Resource {
  id
  restId
  name
  locationId
  kind
  capacity
  equipment
  mailbox
  calendarWriting
  calendarEdits
  declineConflicts
  checkInMinutes
  policyId
  active
  version
}`) as unknown as TypedDocumentString<MasterRoomQuery, MasterRoomQueryVariables>;
export const PolicyNamesDocument = new TypedDocumentString(`
    query PolicyNames($after: String) {
  policies(first: 200, after: $after) {
    nodes {
      id
      name
    }
    pageInfo {
      hasNextPage
      endCursor
    }
  }
}
    `) as unknown as TypedDocumentString<PolicyNamesQuery, PolicyNamesQueryVariables>;
export const LatestActsDocument = new TypedDocumentString(`
    query LatestActs($filter: ActFilter!) {
  audit(filter: $filter, first: 50) {
    nodes {
      id
      at
      action
      person {
        displayName
      }
      changes {
        member
        from
        to
      }
    }
  }
}
    `) as unknown as TypedDocumentString<LatestActsQuery, LatestActsQueryVariables>;
export const RetirementPreviewDocument = new TypedDocumentString(`
    query RetirementPreview($id: ID!) {
  retirementPreview(resourceId: $id) {
    version
    digest
    bookings
    series
    blocks
    lessons
    mailItems
    displays
    hasMailCalendar
    lastEnd
  }
}
    `) as unknown as TypedDocumentString<RetirementPreviewQuery, RetirementPreviewQueryVariables>;
export const CreateLocationDocument = new TypedDocumentString(`
    mutation CreateLocation($input: CreateLocationInput!) {
  createLocation(input: $input) {
    __typename
    ... on Location {
      ...MasterLocation
    }
    ...Refused
  }
}
    fragment MasterLocation on Location {
  id
  restId
  name
  timeZone
  active
  version
}
fragment Refused on Problem {
  __typename
  code
  message
  ... on ValidationProblem {
    errors {
      ...SingleFault
    }
  }
  ... on ConflictProblem {
    errors {
      ...SingleFault
    }
    conflicts {
      bookingId
      kind
      subject
      resourceId
      start
      end
      wantedStart
    }
    alternatives {
      resourceId
      resourceName
      start
      end
    }
  }
  ... on LimitProblem {
    retryAfterSeconds
  }
}
fragment SingleFault on FieldError {
  field
  pointer
  otherPointer
  code
  message
  limit {
    policy
    minutes
    days
    bookings
    start
    earliest
    bookableFrom
    week
    nextWeek
  }
}`) as unknown as TypedDocumentString<CreateLocationMutation, CreateLocationMutationVariables>;
export const ChangeLocationDocument = new TypedDocumentString(`
    mutation ChangeLocation($id: ID!, $version: Int!, $input: ChangeLocationInput!) {
  changeLocation(id: $id, version: $version, input: $input) {
    __typename
    ... on Location {
      ...MasterLocation
    }
    ...Refused
  }
}
    fragment MasterLocation on Location {
  id
  restId
  name
  timeZone
  active
  version
}
fragment Refused on Problem {
  __typename
  code
  message
  ... on ValidationProblem {
    errors {
      ...SingleFault
    }
  }
  ... on ConflictProblem {
    errors {
      ...SingleFault
    }
    conflicts {
      bookingId
      kind
      subject
      resourceId
      start
      end
      wantedStart
    }
    alternatives {
      resourceId
      resourceName
      start
      end
    }
  }
  ... on LimitProblem {
    retryAfterSeconds
  }
}
fragment SingleFault on FieldError {
  field
  pointer
  otherPointer
  code
  message
  limit {
    policy
    minutes
    days
    bookings
    start
    earliest
    bookableFrom
    week
    nextWeek
  }
}`) as unknown as TypedDocumentString<ChangeLocationMutation, ChangeLocationMutationVariables>;
export const CreateResourceDocument = new TypedDocumentString(`
    mutation CreateResource($input: CreateResourceInput!) {
  createResource(input: $input) {
    __typename
    ... on Resource {
      ...MasterRoom
    }
    ...Refused
  }
}
    fragment MasterRoom on Resource {
  id
  restId
  name
  locationId
  kind
  capacity
  equipment
  mailbox
  calendarWriting
  calendarEdits
  declineConflicts
  checkInMinutes
  policyId
  active
  version
}
fragment Refused on Problem {
  __typename
  code
  message
  ... on ValidationProblem {
    errors {
      ...SingleFault
    }
  }
  ... on ConflictProblem {
    errors {
      ...SingleFault
    }
    conflicts {
      bookingId
      kind
      subject
      resourceId
      start
      end
      wantedStart
    }
    alternatives {
      resourceId
      resourceName
      start
      end
    }
  }
  ... on LimitProblem {
    retryAfterSeconds
  }
}
fragment SingleFault on FieldError {
  field
  pointer
  otherPointer
  code
  message
  limit {
    policy
    minutes
    days
    bookings
    start
    earliest
    bookableFrom
    week
    nextWeek
  }
}`) as unknown as TypedDocumentString<CreateResourceMutation, CreateResourceMutationVariables>;
export const ChangeResourceDocument = new TypedDocumentString(`
    mutation ChangeResource($id: ID!, $version: Int!, $input: ChangeResourceInput!) {
  changeResource(id: $id, version: $version, input: $input) {
    __typename
    ... on Resource {
      ...MasterRoom
    }
    ...Refused
  }
}
    fragment MasterRoom on Resource {
  id
  restId
  name
  locationId
  kind
  capacity
  equipment
  mailbox
  calendarWriting
  calendarEdits
  declineConflicts
  checkInMinutes
  policyId
  active
  version
}
fragment Refused on Problem {
  __typename
  code
  message
  ... on ValidationProblem {
    errors {
      ...SingleFault
    }
  }
  ... on ConflictProblem {
    errors {
      ...SingleFault
    }
    conflicts {
      bookingId
      kind
      subject
      resourceId
      start
      end
      wantedStart
    }
    alternatives {
      resourceId
      resourceName
      start
      end
    }
  }
  ... on LimitProblem {
    retryAfterSeconds
  }
}
fragment SingleFault on FieldError {
  field
  pointer
  otherPointer
  code
  message
  limit {
    policy
    minutes
    days
    bookings
    start
    earliest
    bookableFrom
    week
    nextWeek
  }
}`) as unknown as TypedDocumentString<ChangeResourceMutation, ChangeResourceMutationVariables>;
export const RetireResourceDocument = new TypedDocumentString(`
    mutation RetireResource($id: ID!, $version: Int!, $digest: String!, $input: RetireResourceInput!) {
  retireResource(id: $id, version: $version, digest: $digest, input: $input) {
    __typename
    ... on Retired {
      cancelled
      moved
      version
      kept {
        bookings
        blocks
        lessons
      }
      conflicts {
        bookingId
      }
    }
    ...Refused
  }
}
    fragment Refused on Problem {
  __typename
  code
  message
  ... on ValidationProblem {
    errors {
      ...SingleFault
    }
  }
  ... on ConflictProblem {
    errors {
      ...SingleFault
    }
    conflicts {
      bookingId
      kind
      subject
      resourceId
      start
      end
      wantedStart
    }
    alternatives {
      resourceId
      resourceName
      start
      end
    }
  }
  ... on LimitProblem {
    retryAfterSeconds
  }
}
fragment SingleFault on FieldError {
  field
  pointer
  otherPointer
  code
  message
  limit {
    policy
    minutes
    days
    bookings
    start
    earliest
    bookableFrom
    week
    nextWeek
  }
}`) as unknown as TypedDocumentString<RetireResourceMutation, RetireResourceMutationVariables>;
export const MyBookingsDocument = new TypedDocumentString(`
    query MyBookings($filter: BookingFilter!, $after: String) {
  bookings(filter: $filter, first: 200, after: $after) {
    nodes {
      id
      resourceName
      timeZone
      start
      end
      subject
      status
      kind
      version
    }
    pageInfo {
      hasNextPage
      endCursor
    }
  }
}
    `) as unknown as TypedDocumentString<MyBookingsQuery, MyBookingsQueryVariables>;
export const MasterPersonsDocument = new TypedDocumentString(`
    query MasterPersons($filter: PersonFilter, $after: String) {
  persons(filter: $filter, first: 200, after: $after) {
    nodes {
      ...MasterPerson
    }
    pageInfo {
      hasNextPage
      endCursor
    }
  }
}
    fragment MasterPerson on Person {
  id
  name
  email
  role
  teacherCode
  timeZone
  active
  erasedAt
  version
}`) as unknown as TypedDocumentString<MasterPersonsQuery, MasterPersonsQueryVariables>;
export const MasterPersonDocument = new TypedDocumentString(`
    query MasterPerson($id: ID!) {
  person(id: $id) {
    ...MasterPerson
  }
}
    fragment MasterPerson on Person {
  id
  name
  email
  role
  teacherCode
  timeZone
  active
  erasedAt
  version
}`) as unknown as TypedDocumentString<MasterPersonQuery, MasterPersonQueryVariables>;
export const MasterGroupsDocument = new TypedDocumentString(`
    query MasterGroups($after: String) {
  groups(first: 200, after: $after) {
    nodes {
      ...MasterGroup
    }
    pageInfo {
      hasNextPage
      endCursor
    }
  }
}
    fragment MasterGroup on Group {
  id
  name
  version
}`) as unknown as TypedDocumentString<MasterGroupsQuery, MasterGroupsQueryVariables>;
export const MasterGroupDocument = new TypedDocumentString(`
    query MasterGroup($id: ID!) {
  group(id: $id) {
    ...MasterGroup
  }
}
    fragment MasterGroup on Group {
  id
  name
  version
}`) as unknown as TypedDocumentString<MasterGroupQuery, MasterGroupQueryVariables>;
export const MasterPoliciesDocument = new TypedDocumentString(`
    query MasterPolicies($after: String) {
  policies(first: 200, after: $after) {
    nodes {
      ...MasterPolicy
    }
    pageInfo {
      hasNextPage
      endCursor
    }
  }
}
    fragment MasterPolicy on Policy {
  id
  name
  maySee
  mayBook
  mayBookForOthers
  mayDecide
  maySkipApproval
  needsApproval
  leadMinutes
  aheadDays
  longestMinutes
  quotaBookingsPerWeek
  quotaMinutesPerWeek
  version
}`) as unknown as TypedDocumentString<MasterPoliciesQuery, MasterPoliciesQueryVariables>;
export const MasterPolicyDocument = new TypedDocumentString(`
    query MasterPolicy($id: ID!) {
  policy(id: $id) {
    ...MasterPolicy
  }
}
    fragment MasterPolicy on Policy {
  id
  name
  maySee
  mayBook
  mayBookForOthers
  mayDecide
  maySkipApproval
  needsApproval
  leadMinutes
  aheadDays
  longestMinutes
  quotaBookingsPerWeek
  quotaMinutesPerWeek
  version
}`) as unknown as TypedDocumentString<MasterPolicyQuery, MasterPolicyQueryVariables>;
export const MasterPinsDocument = new TypedDocumentString(`
    query MasterPins($personId: ID!) {
  pins(personId: $personId, first: 200) {
    nodes {
      ...MasterPin
    }
  }
}
    fragment MasterPin on Pin {
  id
  label
  createdAt
  expiresAt
  lastUsedAt
  revokedAt
}`) as unknown as TypedDocumentString<MasterPinsQuery, MasterPinsQueryVariables>;
export const CreatePersonDocument = new TypedDocumentString(`
    mutation CreatePerson($input: CreatePersonInput!) {
  createPerson(input: $input) {
    __typename
    ...MasterPerson
    ...Refused
  }
}
    fragment MasterPerson on Person {
  id
  name
  email
  role
  teacherCode
  timeZone
  active
  erasedAt
  version
}
fragment Refused on Problem {
  __typename
  code
  message
  ... on ValidationProblem {
    errors {
      ...SingleFault
    }
  }
  ... on ConflictProblem {
    errors {
      ...SingleFault
    }
    conflicts {
      bookingId
      kind
      subject
      resourceId
      start
      end
      wantedStart
    }
    alternatives {
      resourceId
      resourceName
      start
      end
    }
  }
  ... on LimitProblem {
    retryAfterSeconds
  }
}
fragment SingleFault on FieldError {
  field
  pointer
  otherPointer
  code
  message
  limit {
    policy
    minutes
    days
    bookings
    start
    earliest
    bookableFrom
    week
    nextWeek
  }
}`) as unknown as TypedDocumentString<CreatePersonMutation, CreatePersonMutationVariables>;
export const ChangePersonDocument = new TypedDocumentString(`
    mutation ChangePerson($id: ID!, $version: Int!, $input: ChangePersonInput!) {
  changePerson(id: $id, version: $version, input: $input) {
    __typename
    ...MasterPerson
    ...Refused
  }
}
    fragment MasterPerson on Person {
  id
  name
  email
  role
  teacherCode
  timeZone
  active
  erasedAt
  version
}
fragment Refused on Problem {
  __typename
  code
  message
  ... on ValidationProblem {
    errors {
      ...SingleFault
    }
  }
  ... on ConflictProblem {
    errors {
      ...SingleFault
    }
    conflicts {
      bookingId
      kind
      subject
      resourceId
      start
      end
      wantedStart
    }
    alternatives {
      resourceId
      resourceName
      start
      end
    }
  }
  ... on LimitProblem {
    retryAfterSeconds
  }
}
fragment SingleFault on FieldError {
  field
  pointer
  otherPointer
  code
  message
  limit {
    policy
    minutes
    days
    bookings
    start
    earliest
    bookableFrom
    week
    nextWeek
  }
}`) as unknown as TypedDocumentString<ChangePersonMutation, ChangePersonMutationVariables>;
export const ErasePersonDocument = new TypedDocumentString(`
    mutation ErasePerson($id: ID!, $version: Int, $alsoKnownAs: [String!]) {
  erasePerson(id: $id, version: $version, alsoKnownAs: $alsoKnownAs) {
    __typename
    ...MasterPerson
    ...Refused
  }
}
    fragment MasterPerson on Person {
  id
  name
  email
  role
  teacherCode
  timeZone
  active
  erasedAt
  version
}
fragment Refused on Problem {
  __typename
  code
  message
  ... on ValidationProblem {
    errors {
      ...SingleFault
    }
  }
  ... on ConflictProblem {
    errors {
      ...SingleFault
    }
    conflicts {
      bookingId
      kind
      subject
      resourceId
      start
      end
      wantedStart
    }
    alternatives {
      resourceId
      resourceName
      start
      end
    }
  }
  ... on LimitProblem {
    retryAfterSeconds
  }
}
fragment SingleFault on FieldError {
  field
  pointer
  otherPointer
  code
  message
  limit {
    policy
    minutes
    days
    bookings
    start
    earliest
    bookableFrom
    week
    nextWeek
  }
}`) as unknown as TypedDocumentString<ErasePersonMutation, ErasePersonMutationVariables>;
export const CreatePinDocument = new TypedDocumentString(`
    mutation CreatePin($personId: ID!, $label: String, $expiresAt: DateTime, $idempotencyKey: String) {
  createPin(
    personId: $personId
    label: $label
    expiresAt: $expiresAt
    idempotencyKey: $idempotencyKey
  ) {
    __typename
    ... on PinCreated {
      pin
    }
    ...Refused
  }
}
    fragment Refused on Problem {
  __typename
  code
  message
  ... on ValidationProblem {
    errors {
      ...SingleFault
    }
  }
  ... on ConflictProblem {
    errors {
      ...SingleFault
    }
    conflicts {
      bookingId
      kind
      subject
      resourceId
      start
      end
      wantedStart
    }
    alternatives {
      resourceId
      resourceName
      start
      end
    }
  }
  ... on LimitProblem {
    retryAfterSeconds
  }
}
fragment SingleFault on FieldError {
  field
  pointer
  otherPointer
  code
  message
  limit {
    policy
    minutes
    days
    bookings
    start
    earliest
    bookableFrom
    week
    nextWeek
  }
}`) as unknown as TypedDocumentString<CreatePinMutation, CreatePinMutationVariables>;
export const RevokePinDocument = new TypedDocumentString(`
    mutation RevokePin($id: ID!) {
  revokePin(id: $id) {
    __typename
    ...MasterPin
    ...Refused
  }
}
    fragment MasterPin on Pin {
  id
  label
  createdAt
  expiresAt
  lastUsedAt
  revokedAt
}
fragment Refused on Problem {
  __typename
  code
  message
  ... on ValidationProblem {
    errors {
      ...SingleFault
    }
  }
  ... on ConflictProblem {
    errors {
      ...SingleFault
    }
    conflicts {
      bookingId
      kind
      subject
      resourceId
      start
      end
      wantedStart
    }
    alternatives {
      resourceId
      resourceName
      start
      end
    }
  }
  ... on LimitProblem {
    retryAfterSeconds
  }
}
fragment SingleFault on FieldError {
  field
  pointer
  otherPointer
  code
  message
  limit {
    policy
    minutes
    days
    bookings
    start
    earliest
    bookableFrom
    week
    nextWeek
  }
}`) as unknown as TypedDocumentString<RevokePinMutation, RevokePinMutationVariables>;
export const CreateGroupDocument = new TypedDocumentString(`
    mutation CreateGroup($input: CreateGroupInput!) {
  createGroup(input: $input) {
    __typename
    ...MasterGroup
    ...Refused
  }
}
    fragment MasterGroup on Group {
  id
  name
  version
}
fragment Refused on Problem {
  __typename
  code
  message
  ... on ValidationProblem {
    errors {
      ...SingleFault
    }
  }
  ... on ConflictProblem {
    errors {
      ...SingleFault
    }
    conflicts {
      bookingId
      kind
      subject
      resourceId
      start
      end
      wantedStart
    }
    alternatives {
      resourceId
      resourceName
      start
      end
    }
  }
  ... on LimitProblem {
    retryAfterSeconds
  }
}
fragment SingleFault on FieldError {
  field
  pointer
  otherPointer
  code
  message
  limit {
    policy
    minutes
    days
    bookings
    start
    earliest
    bookableFrom
    week
    nextWeek
  }
}`) as unknown as TypedDocumentString<CreateGroupMutation, CreateGroupMutationVariables>;
export const ChangeGroupDocument = new TypedDocumentString(`
    mutation ChangeGroup($id: ID!, $version: Int!, $input: ChangeGroupInput!) {
  changeGroup(id: $id, version: $version, input: $input) {
    __typename
    ...MasterGroup
    ...Refused
  }
}
    fragment MasterGroup on Group {
  id
  name
  version
}
fragment Refused on Problem {
  __typename
  code
  message
  ... on ValidationProblem {
    errors {
      ...SingleFault
    }
  }
  ... on ConflictProblem {
    errors {
      ...SingleFault
    }
    conflicts {
      bookingId
      kind
      subject
      resourceId
      start
      end
      wantedStart
    }
    alternatives {
      resourceId
      resourceName
      start
      end
    }
  }
  ... on LimitProblem {
    retryAfterSeconds
  }
}
fragment SingleFault on FieldError {
  field
  pointer
  otherPointer
  code
  message
  limit {
    policy
    minutes
    days
    bookings
    start
    earliest
    bookableFrom
    week
    nextWeek
  }
}`) as unknown as TypedDocumentString<ChangeGroupMutation, ChangeGroupMutationVariables>;
export const DeleteGroupDocument = new TypedDocumentString(`
    mutation DeleteGroup($id: ID!, $version: Int!) {
  deleteGroup(id: $id, version: $version) {
    __typename
    ...MasterGroup
    ...Refused
  }
}
    fragment MasterGroup on Group {
  id
  name
  version
}
fragment Refused on Problem {
  __typename
  code
  message
  ... on ValidationProblem {
    errors {
      ...SingleFault
    }
  }
  ... on ConflictProblem {
    errors {
      ...SingleFault
    }
    conflicts {
      bookingId
      kind
      subject
      resourceId
      start
      end
      wantedStart
    }
    alternatives {
      resourceId
      resourceName
      start
      end
    }
  }
  ... on LimitProblem {
    retryAfterSeconds
  }
}
fragment SingleFault on FieldError {
  field
  pointer
  otherPointer
  code
  message
  limit {
    policy
    minutes
    days
    bookings
    start
    earliest
    bookableFrom
    week
    nextWeek
  }
}`) as unknown as TypedDocumentString<DeleteGroupMutation, DeleteGroupMutationVariables>;
export const CreatePolicyDocument = new TypedDocumentString(`
    mutation CreatePolicy($input: CreatePolicyInput!) {
  createPolicy(input: $input) {
    __typename
    ...MasterPolicy
    ...Refused
  }
}
    fragment MasterPolicy on Policy {
  id
  name
  maySee
  mayBook
  mayBookForOthers
  mayDecide
  maySkipApproval
  needsApproval
  leadMinutes
  aheadDays
  longestMinutes
  quotaBookingsPerWeek
  quotaMinutesPerWeek
  version
}
fragment Refused on Problem {
  __typename
  code
  message
  ... on ValidationProblem {
    errors {
      ...SingleFault
    }
  }
  ... on ConflictProblem {
    errors {
      ...SingleFault
    }
    conflicts {
      bookingId
      kind
      subject
      resourceId
      start
      end
      wantedStart
    }
    alternatives {
      resourceId
      resourceName
      start
      end
    }
  }
  ... on LimitProblem {
    retryAfterSeconds
  }
}
fragment SingleFault on FieldError {
  field
  pointer
  otherPointer
  code
  message
  limit {
    policy
    minutes
    days
    bookings
    start
    earliest
    bookableFrom
    week
    nextWeek
  }
}`) as unknown as TypedDocumentString<CreatePolicyMutation, CreatePolicyMutationVariables>;
export const ChangePolicyDocument = new TypedDocumentString(`
    mutation ChangePolicy($id: ID!, $version: Int!, $input: ChangePolicyInput!) {
  changePolicy(id: $id, version: $version, input: $input) {
    __typename
    ...MasterPolicy
    ...Refused
  }
}
    fragment MasterPolicy on Policy {
  id
  name
  maySee
  mayBook
  mayBookForOthers
  mayDecide
  maySkipApproval
  needsApproval
  leadMinutes
  aheadDays
  longestMinutes
  quotaBookingsPerWeek
  quotaMinutesPerWeek
  version
}
fragment Refused on Problem {
  __typename
  code
  message
  ... on ValidationProblem {
    errors {
      ...SingleFault
    }
  }
  ... on ConflictProblem {
    errors {
      ...SingleFault
    }
    conflicts {
      bookingId
      kind
      subject
      resourceId
      start
      end
      wantedStart
    }
    alternatives {
      resourceId
      resourceName
      start
      end
    }
  }
  ... on LimitProblem {
    retryAfterSeconds
  }
}
fragment SingleFault on FieldError {
  field
  pointer
  otherPointer
  code
  message
  limit {
    policy
    minutes
    days
    bookings
    start
    earliest
    bookableFrom
    week
    nextWeek
  }
}`) as unknown as TypedDocumentString<ChangePolicyMutation, ChangePolicyMutationVariables>;
export const DeletePolicyDocument = new TypedDocumentString(`
    mutation DeletePolicy($id: ID!, $version: Int!) {
  deletePolicy(id: $id, version: $version) {
    __typename
    ...MasterPolicy
    ...Refused
  }
}
    fragment MasterPolicy on Policy {
  id
  name
  maySee
  mayBook
  mayBookForOthers
  mayDecide
  maySkipApproval
  needsApproval
  leadMinutes
  aheadDays
  longestMinutes
  quotaBookingsPerWeek
  quotaMinutesPerWeek
  version
}
fragment Refused on Problem {
  __typename
  code
  message
  ... on ValidationProblem {
    errors {
      ...SingleFault
    }
  }
  ... on ConflictProblem {
    errors {
      ...SingleFault
    }
    conflicts {
      bookingId
      kind
      subject
      resourceId
      start
      end
      wantedStart
    }
    alternatives {
      resourceId
      resourceName
      start
      end
    }
  }
  ... on LimitProblem {
    retryAfterSeconds
  }
}
fragment SingleFault on FieldError {
  field
  pointer
  otherPointer
  code
  message
  limit {
    policy
    minutes
    days
    bookings
    start
    earliest
    bookableFrom
    week
    nextWeek
  }
}`) as unknown as TypedDocumentString<DeletePolicyMutation, DeletePolicyMutationVariables>;
export const LocationsDocument = new TypedDocumentString(`
    query Locations {
  locations {
    id
    name
    timeZone
    active
  }
}
    `) as unknown as TypedDocumentString<LocationsQuery, LocationsQueryVariables>;
export const RoomsDocument = new TypedDocumentString(`
    query Rooms($filter: ResourceFilter, $after: String) {
  resources(filter: $filter, first: 200, after: $after) {
    nodes {
      id
      name
      locationId
      kind
      capacity
      equipment
      checkInMinutes
    }
    pageInfo {
      hasNextPage
      endCursor
    }
  }
}
    `) as unknown as TypedDocumentString<RoomsQuery, RoomsQueryVariables>;
export const RoomBookingsDocument = new TypedDocumentString(`
    query RoomBookings($filter: BookingFilter!, $after: String) {
  bookings(filter: $filter, first: 200, after: $after) {
    nodes {
      ...RoomBooking
    }
    pageInfo {
      hasNextPage
      endCursor
    }
  }
}
    fragment RoomBooking on Booking {
  id
  resourceId
  resourceName
  subject
  description
  start
  end
  status
  kind
  isPrivate
  setupMinutes
  teardownMinutes
  seriesId
  timeZone
  version
  organizer {
    personId
    displayName
  }
  createdBy {
    personId
  }
  lessonSummary {
    classes
    teachers
    subject
    status
  }
  checkIn {
    from
    until
    checkedInAt
  }
}`) as unknown as TypedDocumentString<RoomBookingsQuery, RoomBookingsQueryVariables>;
export const FoundBookingsDocument = new TypedDocumentString(`
    query FoundBookings($filter: BookingFilter!, $after: String) {
  bookings(filter: $filter, first: 200, after: $after) {
    nodes {
      id
      resourceId
    }
    pageInfo {
      hasNextPage
      endCursor
    }
  }
}
    `) as unknown as TypedDocumentString<FoundBookingsQuery, FoundBookingsQueryVariables>;
export const BookingDetailsDocument = new TypedDocumentString(`
    query BookingDetails($id: ID!) {
  booking(id: $id) {
    ...RoomBooking
    recurrenceRule
    createdAt
    changedAt
    decision {
      verdict
      reason
      decidedAt
      decidedBy {
        displayName
      }
    }
  }
}
    fragment RoomBooking on Booking {
  id
  resourceId
  resourceName
  subject
  description
  start
  end
  status
  kind
  isPrivate
  setupMinutes
  teardownMinutes
  seriesId
  timeZone
  version
  organizer {
    personId
    displayName
  }
  createdBy {
    personId
  }
  lessonSummary {
    classes
    teachers
    subject
    status
  }
  checkIn {
    from
    until
    checkedInAt
  }
}`) as unknown as TypedDocumentString<BookingDetailsQuery, BookingDetailsQueryVariables>;
export const RoomHoursDocument = new TypedDocumentString(`
    query RoomHours($locationId: ID!, $from: Date!, $to: Date!) {
  openingHours(
    locationId: $locationId
    timezoneLocationId: $locationId
    from: $from
    to: $to
  ) {
    resources {
      resourceId
      weekly {
        resourceId
      }
      intervals {
        start
        end
      }
    }
  }
}
    `) as unknown as TypedDocumentString<RoomHoursQuery, RoomHoursQueryVariables>;
export const OpenTimesDocument = new TypedDocumentString(`
    query OpenTimes($id: ID!, $zoneOf: ID!, $from: Date!, $to: Date!) {
  resource(id: $id) {
    openingHours(timezoneLocationId: $zoneOf, from: $from, to: $to) {
      weekly {
        resourceId
      }
      intervals {
        start
        end
      }
    }
  }
}
    `) as unknown as TypedDocumentString<OpenTimesQuery, OpenTimesQueryVariables>;
export const NextOpeningDocument = new TypedDocumentString(`
    query NextOpening($locationId: ID!, $from: Date!, $to: Date!) {
  openingHours(
    locationId: $locationId
    timezoneLocationId: $locationId
    from: $from
    to: $to
  ) {
    resources {
      resourceId
      intervals {
        localDate
      }
    }
  }
}
    `) as unknown as TypedDocumentString<NextOpeningQuery, NextOpeningQueryVariables>;
export const FreeRoomsDocument = new TypedDocumentString(`
    query FreeRooms($input: FreeInput) {
  freeResources(input: $input) {
    resourceId
    freeUntil
  }
}
    `) as unknown as TypedDocumentString<FreeRoomsQuery, FreeRoomsQueryVariables>;
export const RequestsDocument = new TypedDocumentString(`
    query Requests {
  bookings(filter: { toDecide: true }, first: 50) {
    nodes {
      ...RoomBooking
    }
    pageInfo {
      hasNextPage
    }
  }
}
    fragment RoomBooking on Booking {
  id
  resourceId
  resourceName
  subject
  description
  start
  end
  status
  kind
  isPrivate
  setupMinutes
  teardownMinutes
  seriesId
  timeZone
  version
  organizer {
    personId
    displayName
  }
  createdBy {
    personId
  }
  lessonSummary {
    classes
    teachers
    subject
    status
  }
  checkIn {
    from
    until
    checkedInAt
  }
}`) as unknown as TypedDocumentString<RequestsQuery, RequestsQueryVariables>;
export const OrganizersDocument = new TypedDocumentString(`
    query Organizers($filter: OrganizerFilter) {
  organizers(filter: $filter, first: 20) {
    nodes {
      personId
      displayName
    }
  }
}
    `) as unknown as TypedDocumentString<OrganizersQuery, OrganizersQueryVariables>;
export const FollowRequestsDocument = new TypedDocumentString(`
    subscription FollowRequests {
  bookings(filter: { toDecide: true, kind: Booking }) {
    bookings {
      id
      status
    }
    cursor
  }
}
    `) as unknown as TypedDocumentString<FollowRequestsSubscription, FollowRequestsSubscriptionVariables>;
export const FollowBookingsDocument = new TypedDocumentString(`
    subscription FollowBookings($filter: BookingFilter!, $after: String) {
  bookings(filter: $filter, after: $after) {
    bookings {
      ...RoomBooking
    }
    cursor
    gone
    serverTime
  }
}
    fragment RoomBooking on Booking {
  id
  resourceId
  resourceName
  subject
  description
  start
  end
  status
  kind
  isPrivate
  setupMinutes
  teardownMinutes
  seriesId
  timeZone
  version
  organizer {
    personId
    displayName
  }
  createdBy {
    personId
  }
  lessonSummary {
    classes
    teachers
    subject
    status
  }
  checkIn {
    from
    until
    checkedInAt
  }
}`) as unknown as TypedDocumentString<FollowBookingsSubscription, FollowBookingsSubscriptionVariables>;
export const CreateBookingDocument = new TypedDocumentString(`
    mutation CreateBooking($input: CreateBookingInput!) {
  createBooking(input: $input) {
    __typename
    ... on BookingCreated {
      booking {
        ...RoomBooking
      }
    }
    ... on SeriesCreated {
      booking {
        ...RoomBooking
      }
      bookingIds
      skipped {
        start
        end
      }
    }
    ...Refused
  }
}
    fragment Refused on Problem {
  __typename
  code
  message
  ... on ValidationProblem {
    errors {
      ...SingleFault
    }
  }
  ... on ConflictProblem {
    errors {
      ...SingleFault
    }
    conflicts {
      bookingId
      kind
      subject
      resourceId
      start
      end
      wantedStart
    }
    alternatives {
      resourceId
      resourceName
      start
      end
    }
  }
  ... on LimitProblem {
    retryAfterSeconds
  }
}
fragment SingleFault on FieldError {
  field
  pointer
  otherPointer
  code
  message
  limit {
    policy
    minutes
    days
    bookings
    start
    earliest
    bookableFrom
    week
    nextWeek
  }
}
fragment RoomBooking on Booking {
  id
  resourceId
  resourceName
  subject
  description
  start
  end
  status
  kind
  isPrivate
  setupMinutes
  teardownMinutes
  seriesId
  timeZone
  version
  organizer {
    personId
    displayName
  }
  createdBy {
    personId
  }
  lessonSummary {
    classes
    teachers
    subject
    status
  }
  checkIn {
    from
    until
    checkedInAt
  }
}`) as unknown as TypedDocumentString<CreateBookingMutation, CreateBookingMutationVariables>;
export const ChangeBookingDocument = new TypedDocumentString(`
    mutation ChangeBooking($id: ID!, $version: Int!, $scope: Scope!, $conflictHandling: ConflictHandling, $input: ChangeBookingInput!) {
  changeBooking(
    id: $id
    version: $version
    scope: $scope
    conflictHandling: $conflictHandling
    input: $input
  ) {
    __typename
    ... on Booking {
      ...RoomBooking
    }
    ...Refused
  }
}
    fragment Refused on Problem {
  __typename
  code
  message
  ... on ValidationProblem {
    errors {
      ...SingleFault
    }
  }
  ... on ConflictProblem {
    errors {
      ...SingleFault
    }
    conflicts {
      bookingId
      kind
      subject
      resourceId
      start
      end
      wantedStart
    }
    alternatives {
      resourceId
      resourceName
      start
      end
    }
  }
  ... on LimitProblem {
    retryAfterSeconds
  }
}
fragment SingleFault on FieldError {
  field
  pointer
  otherPointer
  code
  message
  limit {
    policy
    minutes
    days
    bookings
    start
    earliest
    bookableFrom
    week
    nextWeek
  }
}
fragment RoomBooking on Booking {
  id
  resourceId
  resourceName
  subject
  description
  start
  end
  status
  kind
  isPrivate
  setupMinutes
  teardownMinutes
  seriesId
  timeZone
  version
  organizer {
    personId
    displayName
  }
  createdBy {
    personId
  }
  lessonSummary {
    classes
    teachers
    subject
    status
  }
  checkIn {
    from
    until
    checkedInAt
  }
}`) as unknown as TypedDocumentString<ChangeBookingMutation, ChangeBookingMutationVariables>;
export const CancelBookingDocument = new TypedDocumentString(`
    mutation CancelBooking($id: ID!, $version: Int, $scope: Scope!) {
  cancelBooking(id: $id, version: $version, scope: $scope) {
    __typename
    ... on Booking {
      ...RoomBooking
    }
    ...Refused
  }
}
    fragment Refused on Problem {
  __typename
  code
  message
  ... on ValidationProblem {
    errors {
      ...SingleFault
    }
  }
  ... on ConflictProblem {
    errors {
      ...SingleFault
    }
    conflicts {
      bookingId
      kind
      subject
      resourceId
      start
      end
      wantedStart
    }
    alternatives {
      resourceId
      resourceName
      start
      end
    }
  }
  ... on LimitProblem {
    retryAfterSeconds
  }
}
fragment SingleFault on FieldError {
  field
  pointer
  otherPointer
  code
  message
  limit {
    policy
    minutes
    days
    bookings
    start
    earliest
    bookableFrom
    week
    nextWeek
  }
}
fragment RoomBooking on Booking {
  id
  resourceId
  resourceName
  subject
  description
  start
  end
  status
  kind
  isPrivate
  setupMinutes
  teardownMinutes
  seriesId
  timeZone
  version
  organizer {
    personId
    displayName
  }
  createdBy {
    personId
  }
  lessonSummary {
    classes
    teachers
    subject
    status
  }
  checkIn {
    from
    until
    checkedInAt
  }
}`) as unknown as TypedDocumentString<CancelBookingMutation, CancelBookingMutationVariables>;
export const CheckInDocument = new TypedDocumentString(`
    mutation CheckIn($id: ID!) {
  checkIn(id: $id) {
    __typename
    ... on Booking {
      ...RoomBooking
    }
    ...Refused
  }
}
    fragment Refused on Problem {
  __typename
  code
  message
  ... on ValidationProblem {
    errors {
      ...SingleFault
    }
  }
  ... on ConflictProblem {
    errors {
      ...SingleFault
    }
    conflicts {
      bookingId
      kind
      subject
      resourceId
      start
      end
      wantedStart
    }
    alternatives {
      resourceId
      resourceName
      start
      end
    }
  }
  ... on LimitProblem {
    retryAfterSeconds
  }
}
fragment SingleFault on FieldError {
  field
  pointer
  otherPointer
  code
  message
  limit {
    policy
    minutes
    days
    bookings
    start
    earliest
    bookableFrom
    week
    nextWeek
  }
}
fragment RoomBooking on Booking {
  id
  resourceId
  resourceName
  subject
  description
  start
  end
  status
  kind
  isPrivate
  setupMinutes
  teardownMinutes
  seriesId
  timeZone
  version
  organizer {
    personId
    displayName
  }
  createdBy {
    personId
  }
  lessonSummary {
    classes
    teachers
    subject
    status
  }
  checkIn {
    from
    until
    checkedInAt
  }
}`) as unknown as TypedDocumentString<CheckInMutation, CheckInMutationVariables>;
export const ReleaseBookingDocument = new TypedDocumentString(`
    mutation ReleaseBooking($id: ID!) {
  releaseBooking(id: $id) {
    __typename
    ... on Booking {
      ...RoomBooking
    }
    ...Refused
  }
}
    fragment Refused on Problem {
  __typename
  code
  message
  ... on ValidationProblem {
    errors {
      ...SingleFault
    }
  }
  ... on ConflictProblem {
    errors {
      ...SingleFault
    }
    conflicts {
      bookingId
      kind
      subject
      resourceId
      start
      end
      wantedStart
    }
    alternatives {
      resourceId
      resourceName
      start
      end
    }
  }
  ... on LimitProblem {
    retryAfterSeconds
  }
}
fragment SingleFault on FieldError {
  field
  pointer
  otherPointer
  code
  message
  limit {
    policy
    minutes
    days
    bookings
    start
    earliest
    bookableFrom
    week
    nextWeek
  }
}
fragment RoomBooking on Booking {
  id
  resourceId
  resourceName
  subject
  description
  start
  end
  status
  kind
  isPrivate
  setupMinutes
  teardownMinutes
  seriesId
  timeZone
  version
  organizer {
    personId
    displayName
  }
  createdBy {
    personId
  }
  lessonSummary {
    classes
    teachers
    subject
    status
  }
  checkIn {
    from
    until
    checkedInAt
  }
}`) as unknown as TypedDocumentString<ReleaseBookingMutation, ReleaseBookingMutationVariables>;
export const DecideBookingDocument = new TypedDocumentString(`
    mutation DecideBooking($id: ID!, $version: Int!, $scope: Scope!, $input: DecisionInput!) {
  decideBooking(id: $id, version: $version, scope: $scope, input: $input) {
    __typename
    ... on Booking {
      ...RoomBooking
    }
    ...Refused
  }
}
    fragment Refused on Problem {
  __typename
  code
  message
  ... on ValidationProblem {
    errors {
      ...SingleFault
    }
  }
  ... on ConflictProblem {
    errors {
      ...SingleFault
    }
    conflicts {
      bookingId
      kind
      subject
      resourceId
      start
      end
      wantedStart
    }
    alternatives {
      resourceId
      resourceName
      start
      end
    }
  }
  ... on LimitProblem {
    retryAfterSeconds
  }
}
fragment SingleFault on FieldError {
  field
  pointer
  otherPointer
  code
  message
  limit {
    policy
    minutes
    days
    bookings
    start
    earliest
    bookableFrom
    week
    nextWeek
  }
}
fragment RoomBooking on Booking {
  id
  resourceId
  resourceName
  subject
  description
  start
  end
  status
  kind
  isPrivate
  setupMinutes
  teardownMinutes
  seriesId
  timeZone
  version
  organizer {
    personId
    displayName
  }
  createdBy {
    personId
  }
  lessonSummary {
    classes
    teachers
    subject
    status
  }
  checkIn {
    from
    until
    checkedInAt
  }
}`) as unknown as TypedDocumentString<DecideBookingMutation, DecideBookingMutationVariables>;
export const BookersForOthersDocument = new TypedDocumentString(`
    query BookersForOthers($after: String) {
  policies(first: 200, after: $after) {
    nodes {
      mayBookForOthers
    }
    pageInfo {
      hasNextPage
      endCursor
    }
  }
}
    `) as unknown as TypedDocumentString<BookersForOthersQuery, BookersForOthersQueryVariables>;
export const SchoolDocument = new TypedDocumentString(`
    query School {
  tenant {
    ...School
  }
}
    fragment School on Tenant {
  id
  name
  mandator
  version
  colour
  logo
  parameters {
    pinAuthenticationAllowed
    usersMayImport
    calendarWriting
    calendarEdits
    declineConflicts
  }
}`) as unknown as TypedDocumentString<SchoolQuery, SchoolQueryVariables>;
export const ChangeSchoolDocument = new TypedDocumentString(`
    mutation ChangeSchool($version: Int!, $input: ChangeTenantInput!) {
  changeTenant(version: $version, input: $input) {
    __typename
    ...School
    ...Refused
  }
}
    fragment Refused on Problem {
  __typename
  code
  message
  ... on ValidationProblem {
    errors {
      ...SingleFault
    }
  }
  ... on ConflictProblem {
    errors {
      ...SingleFault
    }
    conflicts {
      bookingId
      kind
      subject
      resourceId
      start
      end
      wantedStart
    }
    alternatives {
      resourceId
      resourceName
      start
      end
    }
  }
  ... on LimitProblem {
    retryAfterSeconds
  }
}
fragment SingleFault on FieldError {
  field
  pointer
  otherPointer
  code
  message
  limit {
    policy
    minutes
    days
    bookings
    start
    earliest
    bookableFrom
    week
    nextWeek
  }
}
fragment School on Tenant {
  id
  name
  mandator
  version
  colour
  logo
  parameters {
    pinAuthenticationAllowed
    usersMayImport
    calendarWriting
    calendarEdits
    declineConflicts
  }
}`) as unknown as TypedDocumentString<ChangeSchoolMutation, ChangeSchoolMutationVariables>;
export const MeDocument = new TypedDocumentString(`
    query Me {
  me {
    id
    name
    email
    role
    timeZone
    teacherCode
    groups(first: 200) {
      nodes {
        id
      }
    }
  }
  tenant {
    name
    mandator
    parameters {
      usersMayImport
    }
  }
}
    `) as unknown as TypedDocumentString<MeQuery, MeQueryVariables>;
export const OneSignDocument = new TypedDocumentString(`
    query OneSign($id: ID!) {
  displayDevice(id: $id) {
    ...Sign
  }
}
    fragment Sign on Display {
  id
  name
  version
  resourceIds
  locationId
  mayBook
  privacy
  createdAt
  expiresAt
  revokedAt
  heardAt
  silentSince
  resources {
    resourceId
    name
  }
  health {
    program
    screen
    clockAheadSeconds
    battery
    reconnects
    startedAt
    note
  }
}`) as unknown as TypedDocumentString<OneSignQuery, OneSignQueryVariables>;
export const FollowSignsDocument = new TypedDocumentString(`
    subscription FollowSigns {
  displays {
    ...Sign
  }
}
    fragment Sign on Display {
  id
  name
  version
  resourceIds
  locationId
  mayBook
  privacy
  createdAt
  expiresAt
  revokedAt
  heardAt
  silentSince
  resources {
    resourceId
    name
  }
  health {
    program
    screen
    clockAheadSeconds
    battery
    reconnects
    startedAt
    note
  }
}`) as unknown as TypedDocumentString<FollowSignsSubscription, FollowSignsSubscriptionVariables>;
export const SignPreviewsDocument = new TypedDocumentString(`
    subscription SignPreviews($locationId: ID!) {
  board(locationId: $locationId) {
    __typename
    ... on DisplaySnapshot {
      ...Preview
    }
  }
}
    fragment Preview on DisplaySnapshot {
  serverTime
  timeZone
  status
  until
  resource {
    resourceId
    name
  }
  schedule {
    bookingId
    occupies
    from
    to
    start
    end
    kind
    subject
    organizer
    classes
  }
}`) as unknown as TypedDocumentString<SignPreviewsSubscription, SignPreviewsSubscriptionVariables>;
export const PairSignDocument = new TypedDocumentString(`
    mutation PairSign($input: PairDisplayInput!) {
  pairDisplay(input: $input) {
    __typename
    ... on Display {
      ...Sign
    }
    ...Refused
  }
}
    fragment Refused on Problem {
  __typename
  code
  message
  ... on ValidationProblem {
    errors {
      ...SingleFault
    }
  }
  ... on ConflictProblem {
    errors {
      ...SingleFault
    }
    conflicts {
      bookingId
      kind
      subject
      resourceId
      start
      end
      wantedStart
    }
    alternatives {
      resourceId
      resourceName
      start
      end
    }
  }
  ... on LimitProblem {
    retryAfterSeconds
  }
}
fragment SingleFault on FieldError {
  field
  pointer
  otherPointer
  code
  message
  limit {
    policy
    minutes
    days
    bookings
    start
    earliest
    bookableFrom
    week
    nextWeek
  }
}
fragment Sign on Display {
  id
  name
  version
  resourceIds
  locationId
  mayBook
  privacy
  createdAt
  expiresAt
  revokedAt
  heardAt
  silentSince
  resources {
    resourceId
    name
  }
  health {
    program
    screen
    clockAheadSeconds
    battery
    reconnects
    startedAt
    note
  }
}`) as unknown as TypedDocumentString<PairSignMutation, PairSignMutationVariables>;
export const ChangeSignDocument = new TypedDocumentString(`
    mutation ChangeSign($id: ID!, $version: Int!, $input: ChangeDisplayInput!) {
  changeDisplay(id: $id, version: $version, input: $input) {
    __typename
    ... on Display {
      ...Sign
    }
    ...Refused
  }
}
    fragment Refused on Problem {
  __typename
  code
  message
  ... on ValidationProblem {
    errors {
      ...SingleFault
    }
  }
  ... on ConflictProblem {
    errors {
      ...SingleFault
    }
    conflicts {
      bookingId
      kind
      subject
      resourceId
      start
      end
      wantedStart
    }
    alternatives {
      resourceId
      resourceName
      start
      end
    }
  }
  ... on LimitProblem {
    retryAfterSeconds
  }
}
fragment SingleFault on FieldError {
  field
  pointer
  otherPointer
  code
  message
  limit {
    policy
    minutes
    days
    bookings
    start
    earliest
    bookableFrom
    week
    nextWeek
  }
}
fragment Sign on Display {
  id
  name
  version
  resourceIds
  locationId
  mayBook
  privacy
  createdAt
  expiresAt
  revokedAt
  heardAt
  silentSince
  resources {
    resourceId
    name
  }
  health {
    program
    screen
    clockAheadSeconds
    battery
    reconnects
    startedAt
    note
  }
}`) as unknown as TypedDocumentString<ChangeSignMutation, ChangeSignMutationVariables>;
export const RevokeSignDocument = new TypedDocumentString(`
    mutation RevokeSign($id: ID!) {
  revokeDisplay(id: $id) {
    __typename
    ... on Display {
      ...Sign
    }
    ...Refused
  }
}
    fragment Refused on Problem {
  __typename
  code
  message
  ... on ValidationProblem {
    errors {
      ...SingleFault
    }
  }
  ... on ConflictProblem {
    errors {
      ...SingleFault
    }
    conflicts {
      bookingId
      kind
      subject
      resourceId
      start
      end
      wantedStart
    }
    alternatives {
      resourceId
      resourceName
      start
      end
    }
  }
  ... on LimitProblem {
    retryAfterSeconds
  }
}
fragment SingleFault on FieldError {
  field
  pointer
  otherPointer
  code
  message
  limit {
    policy
    minutes
    days
    bookings
    start
    earliest
    bookableFrom
    week
    nextWeek
  }
}
fragment Sign on Display {
  id
  name
  version
  resourceIds
  locationId
  mayBook
  privacy
  createdAt
  expiresAt
  revokedAt
  heardAt
  silentSince
  resources {
    resourceId
    name
  }
  health {
    program
    screen
    clockAheadSeconds
    battery
    reconnects
    startedAt
    note
  }
}`) as unknown as TypedDocumentString<RevokeSignMutation, RevokeSignMutationVariables>;
export const BatchesDocument = new TypedDocumentString(`
    query Batches($filter: BatchFilter, $after: String) {
  batches(filter: $filter, first: 200, after: $after) {
    nodes {
      ...BatchStory
    }
    pageInfo {
      hasNextPage
      endCursor
    }
  }
}
    fragment BatchStory on Batch {
  id
  operation
  importStatus
  jobCount
  lessonCount
  processedCount
  createdCount
  changedCount
  movedCount
  removedCount
  errorCount
  warningCount
  failureKind
  validateOnly
  source
  onConflict
  createdAt
  startedAt
  finishedAt
  queuePosition
  createdBy {
    personId
    displayName
  }
}`) as unknown as TypedDocumentString<BatchesQuery, BatchesQueryVariables>;
export const FollowBatchesDocument = new TypedDocumentString(`
    subscription FollowBatches($states: [ImportStatus!]) {
  batches(states: $states) {
    ...BatchStory
  }
}
    fragment BatchStory on Batch {
  id
  operation
  importStatus
  jobCount
  lessonCount
  processedCount
  createdCount
  changedCount
  movedCount
  removedCount
  errorCount
  warningCount
  failureKind
  validateOnly
  source
  onConflict
  createdAt
  startedAt
  finishedAt
  queuePosition
  createdBy {
    personId
    displayName
  }
}`) as unknown as TypedDocumentString<FollowBatchesSubscription, FollowBatchesSubscriptionVariables>;
export const BatchDetailsDocument = new TypedDocumentString(`
    query BatchDetails($id: ID!) {
  batch(id: $id) {
    ...BatchStory
    errorMessages
    omittedErrors {
      severity
      code
      count
    }
    difference {
      added
      changed
      moved
      removed
      unchanged
      lessons {
        kind
        jobKey
        lessonKey
        fields
        before {
          resourceName
          start
          end
        }
        after {
          resourceName
          start
          end
        }
      }
    }
  }
}
    fragment BatchStory on Batch {
  id
  operation
  importStatus
  jobCount
  lessonCount
  processedCount
  createdCount
  changedCount
  movedCount
  removedCount
  errorCount
  warningCount
  failureKind
  validateOnly
  source
  onConflict
  createdAt
  startedAt
  finishedAt
  queuePosition
  createdBy {
    personId
    displayName
  }
}`) as unknown as TypedDocumentString<BatchDetailsQuery, BatchDetailsQueryVariables>;
export const BatchErrorsDocument = new TypedDocumentString(`
    query BatchErrors($id: ID!, $after: String) {
  batch(id: $id) {
    id
    errors(first: 200, after: $after) {
      nodes {
        severity
        index
        jobKey
        lessonIndex
        lessonKey
        field
        code
        message
        line
        pointer
      }
      pageInfo {
        hasNextPage
        endCursor
      }
    }
  }
}
    `) as unknown as TypedDocumentString<BatchErrorsQuery, BatchErrorsQueryVariables>;
export const FollowBatchDocument = new TypedDocumentString(`
    subscription FollowBatch($batchId: ID!) {
  batchStatus(batchId: $batchId) {
    ...BatchStory
  }
}
    fragment BatchStory on Batch {
  id
  operation
  importStatus
  jobCount
  lessonCount
  processedCount
  createdCount
  changedCount
  movedCount
  removedCount
  errorCount
  warningCount
  failureKind
  validateOnly
  source
  onConflict
  createdAt
  startedAt
  finishedAt
  queuePosition
  createdBy {
    personId
    displayName
  }
}`) as unknown as TypedDocumentString<FollowBatchSubscription, FollowBatchSubscriptionVariables>;
export const CancelBatchDocument = new TypedDocumentString(`
    mutation CancelBatch($id: ID!) {
  cancelBatch(id: $id) {
    __typename
    ... on BatchCancelled {
      batch {
        ...BatchStory
      }
    }
    ...Refused
  }
}
    fragment Refused on Problem {
  __typename
  code
  message
  ... on ValidationProblem {
    errors {
      ...SingleFault
    }
  }
  ... on ConflictProblem {
    errors {
      ...SingleFault
    }
    conflicts {
      bookingId
      kind
      subject
      resourceId
      start
      end
      wantedStart
    }
    alternatives {
      resourceId
      resourceName
      start
      end
    }
  }
  ... on LimitProblem {
    retryAfterSeconds
  }
}
fragment SingleFault on FieldError {
  field
  pointer
  otherPointer
  code
  message
  limit {
    policy
    minutes
    days
    bookings
    start
    earliest
    bookableFrom
    week
    nextWeek
  }
}
fragment BatchStory on Batch {
  id
  operation
  importStatus
  jobCount
  lessonCount
  processedCount
  createdCount
  changedCount
  movedCount
  removedCount
  errorCount
  warningCount
  failureKind
  validateOnly
  source
  onConflict
  createdAt
  startedAt
  finishedAt
  queuePosition
  createdBy {
    personId
    displayName
  }
}`) as unknown as TypedDocumentString<CancelBatchMutation, CancelBatchMutationVariables>;
export const TimetableProfilesDocument = new TypedDocumentString(`
    query TimetableProfiles {
  timetableProfiles(first: 50) {
    nodes {
      ...Profile
    }
  }
}
    fragment Profile on TimetableProfile {
  id
  name
  source
  locationName
  version
  term {
    name
    from
    to
    holidays {
      name
      from
      to
    }
    weeks {
      monday
      name
    }
    groups {
      name
      weeks
    }
  }
  periods {
    day
    period
    begin
    end
  }
  rooms {
    name
    resourceName
  }
  sharedRooms
  mapping {
    key
    date
    day
    period
    weeks
    begin
    end
    room
    subject
    title
    classes
    teachers
    remark
    status
  }
}`) as unknown as TypedDocumentString<TimetableProfilesQuery, TimetableProfilesQueryVariables>;
export const CreateTimetableProfileDocument = new TypedDocumentString(`
    mutation CreateTimetableProfile($input: CreateTimetableProfileInput!) {
  createTimetableProfile(input: $input) {
    __typename
    ... on TimetableProfile {
      ...Profile
    }
    ...Refused
  }
}
    fragment Refused on Problem {
  __typename
  code
  message
  ... on ValidationProblem {
    errors {
      ...SingleFault
    }
  }
  ... on ConflictProblem {
    errors {
      ...SingleFault
    }
    conflicts {
      bookingId
      kind
      subject
      resourceId
      start
      end
      wantedStart
    }
    alternatives {
      resourceId
      resourceName
      start
      end
    }
  }
  ... on LimitProblem {
    retryAfterSeconds
  }
}
fragment SingleFault on FieldError {
  field
  pointer
  otherPointer
  code
  message
  limit {
    policy
    minutes
    days
    bookings
    start
    earliest
    bookableFrom
    week
    nextWeek
  }
}
fragment Profile on TimetableProfile {
  id
  name
  source
  locationName
  version
  term {
    name
    from
    to
    holidays {
      name
      from
      to
    }
    weeks {
      monday
      name
    }
    groups {
      name
      weeks
    }
  }
  periods {
    day
    period
    begin
    end
  }
  rooms {
    name
    resourceName
  }
  sharedRooms
  mapping {
    key
    date
    day
    period
    weeks
    begin
    end
    room
    subject
    title
    classes
    teachers
    remark
    status
  }
}`) as unknown as TypedDocumentString<CreateTimetableProfileMutation, CreateTimetableProfileMutationVariables>;
export const ChangeTimetableProfileDocument = new TypedDocumentString(`
    mutation ChangeTimetableProfile($id: ID!, $version: Int!, $input: ChangeTimetableProfileInput!) {
  changeTimetableProfile(id: $id, version: $version, input: $input) {
    __typename
    ... on TimetableProfile {
      ...Profile
    }
    ...Refused
  }
}
    fragment Refused on Problem {
  __typename
  code
  message
  ... on ValidationProblem {
    errors {
      ...SingleFault
    }
  }
  ... on ConflictProblem {
    errors {
      ...SingleFault
    }
    conflicts {
      bookingId
      kind
      subject
      resourceId
      start
      end
      wantedStart
    }
    alternatives {
      resourceId
      resourceName
      start
      end
    }
  }
  ... on LimitProblem {
    retryAfterSeconds
  }
}
fragment SingleFault on FieldError {
  field
  pointer
  otherPointer
  code
  message
  limit {
    policy
    minutes
    days
    bookings
    start
    earliest
    bookableFrom
    week
    nextWeek
  }
}
fragment Profile on TimetableProfile {
  id
  name
  source
  locationName
  version
  term {
    name
    from
    to
    holidays {
      name
      from
      to
    }
    weeks {
      monday
      name
    }
    groups {
      name
      weeks
    }
  }
  periods {
    day
    period
    begin
    end
  }
  rooms {
    name
    resourceName
  }
  sharedRooms
  mapping {
    key
    date
    day
    period
    weeks
    begin
    end
    room
    subject
    title
    classes
    teachers
    remark
    status
  }
}`) as unknown as TypedDocumentString<ChangeTimetableProfileMutation, ChangeTimetableProfileMutationVariables>;
export const DeleteTimetableProfileDocument = new TypedDocumentString(`
    mutation DeleteTimetableProfile($id: ID!, $version: Int!) {
  deleteTimetableProfile(id: $id, version: $version) {
    __typename
    ... on TimetableProfile {
      id
    }
    ...Refused
  }
}
    fragment Refused on Problem {
  __typename
  code
  message
  ... on ValidationProblem {
    errors {
      ...SingleFault
    }
  }
  ... on ConflictProblem {
    errors {
      ...SingleFault
    }
    conflicts {
      bookingId
      kind
      subject
      resourceId
      start
      end
      wantedStart
    }
    alternatives {
      resourceId
      resourceName
      start
      end
    }
  }
  ... on LimitProblem {
    retryAfterSeconds
  }
}
fragment SingleFault on FieldError {
  field
  pointer
  otherPointer
  code
  message
  limit {
    policy
    minutes
    days
    bookings
    start
    earliest
    bookableFrom
    week
    nextWeek
  }
}`) as unknown as TypedDocumentString<DeleteTimetableProfileMutation, DeleteTimetableProfileMutationVariables>;
export const UsageDocument = new TypedDocumentString(`
    query Usage($input: UsageInput!) {
  usage(input: $input) {
    resources {
      resourceId
      resourceName
      use {
        ...Figures
      }
    }
  }
}
    fragment Figures on Use {
  openMinutes
  occupiedMinutes
  occupancyPercent
  outsideMinutes
  unusedMinutes
  bookings
  noShows
  releasedEarly
}`) as unknown as TypedDocumentString<UsageQuery, UsageQueryVariables>;
export const UsageHoursDocument = new TypedDocumentString(`
    query UsageHours($input: UsageInput!) {
  usage(input: $input) {
    hours {
      weekday
      hour
      use {
        ...Figures
      }
    }
  }
}
    fragment Figures on Use {
  openMinutes
  occupiedMinutes
  occupancyPercent
  outsideMinutes
  unusedMinutes
  bookings
  noShows
  releasedEarly
}`) as unknown as TypedDocumentString<UsageHoursQuery, UsageHoursQueryVariables>;
export const UsageWeeksDocument = new TypedDocumentString(`
    query UsageWeeks($input: UsageInput!) {
  usage(input: $input) {
    weeks {
      locationId
      locationName
      week
      use {
        ...Figures
      }
    }
  }
}
    fragment Figures on Use {
  openMinutes
  occupiedMinutes
  occupancyPercent
  outsideMinutes
  unusedMinutes
  bookings
  noShows
  releasedEarly
}`) as unknown as TypedDocumentString<UsageWeeksQuery, UsageWeeksQueryVariables>;
export const HooksDocument = new TypedDocumentString(`
    query Hooks {
  webhooks(first: 50) {
    nodes {
      ...Hook
    }
  }
}
    fragment Hook on Webhook {
  id
  name
  url
  kinds
  enabled
  disabledAt
  disabledBecause
  waiting
  failures
  failingSince
  succeededAt
  nextAttemptAt
  formerSecretUntil
  version
}`) as unknown as TypedDocumentString<HooksQuery, HooksQueryVariables>;
export const OneHookDocument = new TypedDocumentString(`
    query OneHook($id: ID!) {
  node(id: $id) {
    __typename
    ... on Webhook {
      ...Hook
    }
  }
}
    fragment Hook on Webhook {
  id
  name
  url
  kinds
  enabled
  disabledAt
  disabledBecause
  waiting
  failures
  failingSince
  succeededAt
  nextAttemptAt
  formerSecretUntil
  version
}`) as unknown as TypedDocumentString<OneHookQuery, OneHookQueryVariables>;
export const HookDeliveriesDocument = new TypedDocumentString(`
    query HookDeliveries($id: ID!, $filter: WebhookDeliveryFilter, $after: String) {
  node(id: $id) {
    __typename
    ... on Webhook {
      deliveries(filter: $filter, first: 50, after: $after) {
        nodes {
          ...HookDelivery
        }
        pageInfo {
          hasNextPage
          endCursor
        }
      }
    }
  }
}
    fragment HookDelivery on WebhookDelivery {
  id
  kind
  subject
  attempt
  at
  milliseconds
  status
  answer
  fault
  cursor
}`) as unknown as TypedDocumentString<HookDeliveriesQuery, HookDeliveriesQueryVariables>;
export const CreateHookDocument = new TypedDocumentString(`
    mutation CreateHook($input: CreateWebhookInput!) {
  createWebhook(input: $input) {
    __typename
    ... on WebhookWithSecret {
      secret
      webhook {
        ...Hook
      }
    }
    ...Refused
  }
}
    fragment Refused on Problem {
  __typename
  code
  message
  ... on ValidationProblem {
    errors {
      ...SingleFault
    }
  }
  ... on ConflictProblem {
    errors {
      ...SingleFault
    }
    conflicts {
      bookingId
      kind
      subject
      resourceId
      start
      end
      wantedStart
    }
    alternatives {
      resourceId
      resourceName
      start
      end
    }
  }
  ... on LimitProblem {
    retryAfterSeconds
  }
}
fragment SingleFault on FieldError {
  field
  pointer
  otherPointer
  code
  message
  limit {
    policy
    minutes
    days
    bookings
    start
    earliest
    bookableFrom
    week
    nextWeek
  }
}
fragment Hook on Webhook {
  id
  name
  url
  kinds
  enabled
  disabledAt
  disabledBecause
  waiting
  failures
  failingSince
  succeededAt
  nextAttemptAt
  formerSecretUntil
  version
}`) as unknown as TypedDocumentString<CreateHookMutation, CreateHookMutationVariables>;
export const ChangeHookDocument = new TypedDocumentString(`
    mutation ChangeHook($id: ID!, $version: Int!, $input: ChangeWebhookInput!) {
  changeWebhook(id: $id, version: $version, input: $input) {
    __typename
    ...Hook
    ...Refused
  }
}
    fragment Refused on Problem {
  __typename
  code
  message
  ... on ValidationProblem {
    errors {
      ...SingleFault
    }
  }
  ... on ConflictProblem {
    errors {
      ...SingleFault
    }
    conflicts {
      bookingId
      kind
      subject
      resourceId
      start
      end
      wantedStart
    }
    alternatives {
      resourceId
      resourceName
      start
      end
    }
  }
  ... on LimitProblem {
    retryAfterSeconds
  }
}
fragment SingleFault on FieldError {
  field
  pointer
  otherPointer
  code
  message
  limit {
    policy
    minutes
    days
    bookings
    start
    earliest
    bookableFrom
    week
    nextWeek
  }
}
fragment Hook on Webhook {
  id
  name
  url
  kinds
  enabled
  disabledAt
  disabledBecause
  waiting
  failures
  failingSince
  succeededAt
  nextAttemptAt
  formerSecretUntil
  version
}`) as unknown as TypedDocumentString<ChangeHookMutation, ChangeHookMutationVariables>;
export const DeleteHookDocument = new TypedDocumentString(`
    mutation DeleteHook($id: ID!, $version: Int!) {
  deleteWebhook(id: $id, version: $version) {
    __typename
    ... on Webhook {
      id
    }
    ...Refused
  }
}
    fragment Refused on Problem {
  __typename
  code
  message
  ... on ValidationProblem {
    errors {
      ...SingleFault
    }
  }
  ... on ConflictProblem {
    errors {
      ...SingleFault
    }
    conflicts {
      bookingId
      kind
      subject
      resourceId
      start
      end
      wantedStart
    }
    alternatives {
      resourceId
      resourceName
      start
      end
    }
  }
  ... on LimitProblem {
    retryAfterSeconds
  }
}
fragment SingleFault on FieldError {
  field
  pointer
  otherPointer
  code
  message
  limit {
    policy
    minutes
    days
    bookings
    start
    earliest
    bookableFrom
    week
    nextWeek
  }
}`) as unknown as TypedDocumentString<DeleteHookMutation, DeleteHookMutationVariables>;
export const RotateHookSecretDocument = new TypedDocumentString(`
    mutation RotateHookSecret($id: ID!, $version: Int!, $input: RotateWebhookSecretInput!) {
  rotateWebhookSecret(id: $id, version: $version, input: $input) {
    __typename
    ... on WebhookWithSecret {
      secret
      webhook {
        ...Hook
      }
    }
    ...Refused
  }
}
    fragment Refused on Problem {
  __typename
  code
  message
  ... on ValidationProblem {
    errors {
      ...SingleFault
    }
  }
  ... on ConflictProblem {
    errors {
      ...SingleFault
    }
    conflicts {
      bookingId
      kind
      subject
      resourceId
      start
      end
      wantedStart
    }
    alternatives {
      resourceId
      resourceName
      start
      end
    }
  }
  ... on LimitProblem {
    retryAfterSeconds
  }
}
fragment SingleFault on FieldError {
  field
  pointer
  otherPointer
  code
  message
  limit {
    policy
    minutes
    days
    bookings
    start
    earliest
    bookableFrom
    week
    nextWeek
  }
}
fragment Hook on Webhook {
  id
  name
  url
  kinds
  enabled
  disabledAt
  disabledBecause
  waiting
  failures
  failingSince
  succeededAt
  nextAttemptAt
  formerSecretUntil
  version
}`) as unknown as TypedDocumentString<RotateHookSecretMutation, RotateHookSecretMutationVariables>;
export const TestHookDocument = new TypedDocumentString(`
    mutation TestHook($id: ID!) {
  testWebhook(id: $id) {
    __typename
    ...HookDelivery
    ...Refused
  }
}
    fragment Refused on Problem {
  __typename
  code
  message
  ... on ValidationProblem {
    errors {
      ...SingleFault
    }
  }
  ... on ConflictProblem {
    errors {
      ...SingleFault
    }
    conflicts {
      bookingId
      kind
      subject
      resourceId
      start
      end
      wantedStart
    }
    alternatives {
      resourceId
      resourceName
      start
      end
    }
  }
  ... on LimitProblem {
    retryAfterSeconds
  }
}
fragment SingleFault on FieldError {
  field
  pointer
  otherPointer
  code
  message
  limit {
    policy
    minutes
    days
    bookings
    start
    earliest
    bookableFrom
    week
    nextWeek
  }
}
fragment HookDelivery on WebhookDelivery {
  id
  kind
  subject
  attempt
  at
  milliseconds
  status
  answer
  fault
  cursor
}`) as unknown as TypedDocumentString<TestHookMutation, TestHookMutationVariables>;
export const ReplayHookDocument = new TypedDocumentString(`
    mutation ReplayHook($id: ID!, $version: Int!, $input: ReplayWebhookInput!) {
  replayWebhook(id: $id, version: $version, input: $input) {
    __typename
    ...Hook
    ...Refused
  }
}
    fragment Refused on Problem {
  __typename
  code
  message
  ... on ValidationProblem {
    errors {
      ...SingleFault
    }
  }
  ... on ConflictProblem {
    errors {
      ...SingleFault
    }
    conflicts {
      bookingId
      kind
      subject
      resourceId
      start
      end
      wantedStart
    }
    alternatives {
      resourceId
      resourceName
      start
      end
    }
  }
  ... on LimitProblem {
    retryAfterSeconds
  }
}
fragment SingleFault on FieldError {
  field
  pointer
  otherPointer
  code
  message
  limit {
    policy
    minutes
    days
    bookings
    start
    earliest
    bookableFrom
    week
    nextWeek
  }
}
fragment Hook on Webhook {
  id
  name
  url
  kinds
  enabled
  disabledAt
  disabledBecause
  waiting
  failures
  failingSince
  succeededAt
  nextAttemptAt
  formerSecretUntil
  version
}`) as unknown as TypedDocumentString<ReplayHookMutation, ReplayHookMutationVariables>;