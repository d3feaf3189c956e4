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

/** The origin of an interval: a rule or an exception. */
export type IntervalSource =
  | 'Exception'
  | 'Weekly';

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

/** A lesson. */
export type LessonInput = {
  /** Classes. REST: `Klassen`. */
  classes?: Array<string> | null | undefined;
  /** Lessons that share it, their room and their time share one booking, at most 200. REST: `KopplungId`. */
  couplingKey?: string | null | undefined;
  /** End, after `start` by at most 24 hours. REST: `Ende`. */
  end: string;
  /** Whether others than its sender and Admins see only that the room is taken. REST: `Privat`. */
  isPrivate?: boolean | null | undefined;
  /** Names the lesson; unique inside its job. REST: `LektionId`. */
  lessonKey: string;
  /** Remark. REST: `Bemerkung`. */
  remark?: string | null | undefined;
  /** The id of the room, which must agree with its name. REST: `RessourceId`. */
  resourceId?: string | number | null | undefined;
  /** The name of the room; case and spaces around it do not count. REST: `RessourceName`. */
  resourceName: string;
  /** Start, ISO 8601; without an offset it is UTC. REST: `Beginn`. */
  start: string;
  /** Geplant when left out; Entfaellt occupies no room. */
  status?: LessonStatus | null | undefined;
  /** Subject. REST: `Fach`. */
  subject?: string | null | undefined;
  /** Teachers. REST: `Lehrpersonen`. */
  teachers?: Array<string> | null | undefined;
  /** Title. REST: `Titel`. */
  title?: string | null | undefined;
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

/** What to delete of a job. */
export type LessonJobDeletionInput = {
  /** Names the job; unique in the tenant. REST: `JobID`. */
  jobKey: string;
  /** The lessons to delete; left out, the whole job. A batch may have as many lessons as the setting LessonsPerBatch says, 100,000 by default. REST: `LektionList`. */
  lessons?: Array<LessonKeyInput> | null | undefined;
};

/** A named group of lessons. */
export type LessonJobInput = {
  /** Designation. REST: `Bezeichnung`. */
  designation?: string | null | undefined;
  /** Names the job; unique in the tenant. REST: `JobID`. */
  jobKey: string;
  /** The lessons of the job. A batch may have as many lessons as the setting LessonsPerBatch says, 100,000 by default. REST: `LektionList`. */
  lessons: Array<LessonInput>;
  /** The location of its rooms, where two locations have a room of the same name. REST: `Standort`. */
  locationName?: string | null | undefined;
  /** Remark. REST: `Bemerkung`. */
  remark?: string | null | undefined;
  /** Where the job comes from. REST: `Quelle`. */
  source?: string | null | undefined;
};

/** A lesson. */
export type LessonKeyInput = {
  /** Names the lesson; unique inside its job. REST: `LektionId`. */
  lessonKey: string;
};

/** Whether a lesson takes place as planned, is taught by a substitute, or is cancelled. */
export type LessonStatus =
  | 'Entfaellt'
  | 'Geplant'
  | 'Vertretung';

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

/** The channel through which a booking was created. */
export type OriginSystem =
  | 'Api'
  | 'Display'
  | 'Import'
  | 'Mail';

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

/** Which bookings of a series: only the named one, it and those that start later, or all that have not ended. */
export type Scope =
  | 'All'
  | 'Following'
  | 'This';

/** An error fails the batch, a warning does not. */
export type Severity =
  | 'Error'
  | 'Warning';

/** From the earliest to the latest, or the reverse. */
export type SortOrder =
  | 'Ascending'
  | 'Descending';

/** Whose time zone was used. */
export type TimeZoneSource =
  | 'Location'
  | 'Person';

/** A file as the timetable program wrote it. */
export type TimetableFileInput = {
  /** The bytes in Base64. */
  content: string;
  /** The name, for messages. */
  name: string;
};

/** A timetable as a timetable program writes it, and how to read it. */
export type TimetableFilesInput = {
  /** Whether more than a fifth of the stored lessons may be deleted; otherwise such a batch fails. */
  allowRemoval?: boolean | null | undefined;
  /** The files, in any order. */
  files: Array<TimetableFileInput>;
  /** The location, if two locations have rooms with the same name; it also determines the time zone. REST: `Standort`. */
  locationName?: string | null | undefined;
  /** The columns of the file. A column that is left out is found by its usual headings; null: there is none. */
  mapping?: TimetableMappingInput | null | undefined;
  /** The times of the periods; needed for lessons that have a period instead of times. */
  periods?: Array<TimetablePeriodInput> | null | undefined;
  /** The name of a profile, which provides the members from Source to Mapping that are not sent. A member that is sent replaces that of the profile as a whole. */
  profile?: string | null | undefined;
  /** Rooms that have other names in the file. */
  rooms?: Array<TimetableRoomInput> | null | undefined;
  /** Rooms, such as a gym, that several lessons may use at the same time. */
  sharedRooms?: Array<string> | null | undefined;
  /** Lessons that begin before this day are left unchanged. */
  since?: string | null | undefined;
  /** The name of the timetable's source, with which JobIDs begin; untis, csv or ics if left out. Lessons that this source has written for the same term and no longer lists are deleted. */
  source?: string | null | undefined;
  /** The days on which weekly lessons take place. */
  term?: TimetableTermInput | null | undefined;
  /** The IANA time zone of the clock times; that of the location if left out. */
  timeZone?: string | null | undefined;
};

/** The owner of the timetable; your own if none is named; members that are left out do not count. */
export type TimetableFilter = {
  /** The timetable of this class, regardless of case. REST: `Klasse`. */
  class?: string | null | undefined;
  /** Only bookings that end after this instant; now by default. */
  from?: string | null | undefined;
  /** The timetable of this person; that of another person only for Admins. */
  personId?: string | number | null | undefined;
  /** The timetable of this resource. */
  resourceId?: string | number | null | undefined;
  /** The timetable of this teacher, named as in lessons, regardless of case. REST: `Lehrperson`. */
  teacher?: string | null | undefined;
  /** Only bookings that begin before this instant, at most 366 days after `from`; by default 31 days after it. */
  to?: string | null | undefined;
};

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

/** How the batch of a timetable is processed. */
export type TimetableOptions = {
  /** The format of the files; detected if left out. */
  format?: TimetableFormat | null | undefined;
  /** The same key with the same files within 24 hours returns the same batch again. */
  idempotencyKey?: string | null | undefined;
  /** What happens to lessons whose room is occupied; Fail if left out. */
  onConflict?: ConflictRule | null | undefined;
  /** Only runs the checks: nothing is written, and `difference` of the batch says what would be. */
  validateOnly?: boolean | null | undefined;
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

export type BatchStateFragment = { id: string, importStatus: ImportStatus, jobCount: number, lessonCount: number | null, processedCount: number, progress: number | null, queuePosition: number | null, failureKind: FailureKind | null, errorMessages: string | null };

export type NowQueryVariables = Exact<{ [key: string]: never; }>;


export type NowQuery = { serverTime: string, me: { id: string, name: string, email: string, timeZone: string, role: Role } };

export type GetBatchQueryVariables = Exact<{
  id: string | number;
  first?: number | null | undefined;
  after?: string | null | undefined;
}>;


export type GetBatchQuery = { batch: { operation: JobOperation, createdCount: number, errorCount: number, warningCount: number, validateOnly: boolean, createdAt: string, startedAt: string | null, finishedAt: string | null, id: string, importStatus: ImportStatus, jobCount: number, lessonCount: number | null, processedCount: number, progress: number | null, queuePosition: number | null, failureKind: FailureKind | null, errorMessages: string | null, createdBy: { personId: string, displayName: string }, errors: { nodes: Array<{ severity: Severity, index: number | null, field: string | null, code: string, message: string, pointer: string | null, jobID: string | null, lektionIndex: number | null, lektionId: string | null }>, pageInfo: { hasNextPage: boolean, endCursor: string | null } } } | null };

export type ListBatchesQueryVariables = Exact<{
  filter?: BatchFilter | null | undefined;
  first?: number | null | undefined;
  after?: string | null | undefined;
}>;


export type ListBatchesQuery = { batches: { nodes: Array<{ id: string, importStatus: ImportStatus }>, edges: Array<{ cursor: string, node: { id: string } }>, pageInfo: { hasNextPage: boolean, endCursor: string | null } } | null };

export type CreateLessonJobsMutationVariables = Exact<{
  jobs: Array<LessonJobInput> | LessonJobInput;
  options?: BatchOptions | null | undefined;
}>;


export type CreateLessonJobsMutation = { createLessonJobs:
    | { __typename: 'BatchAccepted', batch: { id: string, importStatus: ImportStatus, jobCount: number } }
    | { __typename: 'ConflictProblem', code: string, message: string }
    | { __typename: 'ForbiddenProblem', code: string, message: string }
    | { __typename: 'LimitProblem', code: string, message: string, retryAfterSeconds: number | null }
    | { __typename: 'ValidationProblem', code: string, message: string, errors: Array<{ field: string | null, pointer: string | null, code: string, message: string }> }
   };

export type CancelBatchMutationVariables = Exact<{
  id: string | number;
}>;


export type CancelBatchMutation = { cancelBatch:
    | { __typename: 'BatchCancelled', batch: { id: string, importStatus: ImportStatus, failureKind: FailureKind | null } }
    | { __typename: 'ConflictProblem', code: string, message: string }
    | { __typename: 'ForbiddenProblem', code: string, message: string }
    | { __typename: 'NotFoundProblem', code: string, message: string }
   };

export type BatchStatusSubscriptionVariables = Exact<{
  batchId: string | number;
}>;


export type BatchStatusSubscription = { batchStatus: { id: string, importStatus: ImportStatus, jobCount: number, lessonCount: number | null, processedCount: number, progress: number | null, queuePosition: number | null, failureKind: FailureKind | null, errorMessages: string | null } };

export type WatchBatchesSubscriptionVariables = Exact<{
  states?: Array<ImportStatus> | ImportStatus | null | undefined;
}>;


export type WatchBatchesSubscription = { batches: { id: string, importStatus: ImportStatus, queuePosition: number | null } };

export type BookingMembersFragment = { id: string, uid: string, resourceId: string, resourceName: string, locationId: string, subject: string | null, description: string | null, start: string, end: string, timeZone: string, status: BookingStatus, kind: BookingKind, isPrivate: boolean, seriesId: string | null, recurrenceRule: string | null, setupMinutes: number, teardownMinutes: number, createdAt: string, changedAt: string, version: number, organizer: { personId: string | null, displayName: string, email: string | null } | null, checkIn: { required: boolean, from: string, until: string, checkedInAt: string | null } | null, origin: { system: OriginSystem, batchId: string | null, mailItemId: string | null, jobID: string | null, lektionId: string | null }, lektion: { status: LessonStatus, fach: string | null, klassen: Array<string> | null, lehrpersonen: Array<string> | null, ursprung: { ressourceName: string, lehrpersonen: Array<string> | null, fach: string | null, beginn: string, ende: string } | null } | null, createdBy: { personId: string, displayName: string } | null, decision: { verdict: Verdict, decidedAt: string, reason: string | null, decidedBy: { personId: string, displayName: string } | null } | null };

export type ConflictMembersFragment = { bookingId: string, resourceId: string, kind: BookingKind, subject: string | null, start: string, end: string, wantedStart: string };

type BookingProblem_ConflictProblem_Fragment = { code: string, message: string, conflicts: Array<{ bookingId: string, resourceId: string, kind: BookingKind, subject: string | null, start: string, end: string, wantedStart: string }>, alternatives: Array<{ resourceId: string, resourceName: string, start: string, end: string }> };

type BookingProblem_ForbiddenProblem_Fragment = { code: string, message: string };

type BookingProblem_LimitProblem_Fragment = { code: string, message: string };

type BookingProblem_NotFoundProblem_Fragment = { code: string, message: string };

type BookingProblem_ValidationProblem_Fragment = { code: string, message: string };

type BookingProblem_VersionProblem_Fragment = { code: string, message: string };

export type BookingProblemFragment =
  | BookingProblem_ConflictProblem_Fragment
  | BookingProblem_ForbiddenProblem_Fragment
  | BookingProblem_LimitProblem_Fragment
  | BookingProblem_NotFoundProblem_Fragment
  | BookingProblem_ValidationProblem_Fragment
  | BookingProblem_VersionProblem_Fragment
;

export type MakeBookingMutationVariables = Exact<{
  input: CreateBookingInput;
}>;


export type MakeBookingMutation = { result:
    | { booking: { id: string, uid: string, resourceId: string, resourceName: string, locationId: string, subject: string | null, description: string | null, start: string, end: string, timeZone: string, status: BookingStatus, kind: BookingKind, isPrivate: boolean, seriesId: string | null, recurrenceRule: string | null, setupMinutes: number, teardownMinutes: number, createdAt: string, changedAt: string, version: number, organizer: { personId: string | null, displayName: string, email: string | null } | null, checkIn: { required: boolean, from: string, until: string, checkedInAt: string | null } | null, origin: { system: OriginSystem, batchId: string | null, mailItemId: string | null, jobID: string | null, lektionId: string | null }, lektion: { status: LessonStatus, fach: string | null, klassen: Array<string> | null, lehrpersonen: Array<string> | null, ursprung: { ressourceName: string, lehrpersonen: Array<string> | null, fach: string | null, beginn: string, ende: string } | null } | null, createdBy: { personId: string, displayName: string } | null, decision: { verdict: Verdict, decidedAt: string, reason: string | null, decidedBy: { personId: string, displayName: string } | null } | null } }
    | { code: string, message: string, conflicts: Array<{ bookingId: string, resourceId: string, kind: BookingKind, subject: string | null, start: string, end: string, wantedStart: string }>, alternatives: Array<{ resourceId: string, resourceName: string, start: string, end: string }> }
    | { code: string, message: string }
    | { seriesId: string, recurrenceRule: string, bookingIds: Array<string>, booking: { id: string, uid: string, resourceId: string, resourceName: string, locationId: string, subject: string | null, description: string | null, start: string, end: string, timeZone: string, status: BookingStatus, kind: BookingKind, isPrivate: boolean, seriesId: string | null, recurrenceRule: string | null, setupMinutes: number, teardownMinutes: number, createdAt: string, changedAt: string, version: number, organizer: { personId: string | null, displayName: string, email: string | null } | null, checkIn: { required: boolean, from: string, until: string, checkedInAt: string | null } | null, origin: { system: OriginSystem, batchId: string | null, mailItemId: string | null, jobID: string | null, lektionId: string | null }, lektion: { status: LessonStatus, fach: string | null, klassen: Array<string> | null, lehrpersonen: Array<string> | null, ursprung: { ressourceName: string, lehrpersonen: Array<string> | null, fach: string | null, beginn: string, ende: string } | null } | null, createdBy: { personId: string, displayName: string } | null, decision: { verdict: Verdict, decidedAt: string, reason: string | null, decidedBy: { personId: string, displayName: string } | null } | null }, skipped: Array<{ start: string, end: string, conflicts: Array<{ bookingId: string, resourceId: string, kind: BookingKind, subject: string | null, start: string, end: string, wantedStart: string }> }> }
    | { code: string, message: string }
   };

export type ReadBookingQueryVariables = Exact<{
  id: string | number;
}>;


export type ReadBookingQuery = { booking: { id: string, uid: string, resourceId: string, resourceName: string, locationId: string, subject: string | null, description: string | null, start: string, end: string, timeZone: string, status: BookingStatus, kind: BookingKind, isPrivate: boolean, seriesId: string | null, recurrenceRule: string | null, setupMinutes: number, teardownMinutes: number, createdAt: string, changedAt: string, version: number, organizer: { personId: string | null, displayName: string, email: string | null } | null, checkIn: { required: boolean, from: string, until: string, checkedInAt: string | null } | null, origin: { system: OriginSystem, batchId: string | null, mailItemId: string | null, jobID: string | null, lektionId: string | null }, lektion: { status: LessonStatus, fach: string | null, klassen: Array<string> | null, lehrpersonen: Array<string> | null, ursprung: { ressourceName: string, lehrpersonen: Array<string> | null, fach: string | null, beginn: string, ende: string } | null } | null, createdBy: { personId: string, displayName: string } | null, decision: { verdict: Verdict, decidedAt: string, reason: string | null, decidedBy: { personId: string, displayName: string } | null } | null } | null };

export type ListBookingsQueryVariables = Exact<{
  filter: BookingFilter;
  order?: SortOrder | null | undefined;
  first?: number | null | undefined;
  after?: string | null | undefined;
  last?: number | null | undefined;
  before?: string | null | undefined;
}>;


export type ListBookingsQuery = { bookings: { nodes: Array<{ id: string, uid: string, resourceId: string, resourceName: string, locationId: string, subject: string | null, description: string | null, start: string, end: string, timeZone: string, status: BookingStatus, kind: BookingKind, isPrivate: boolean, seriesId: string | null, recurrenceRule: string | null, setupMinutes: number, teardownMinutes: number, createdAt: string, changedAt: string, version: number, organizer: { personId: string | null, displayName: string, email: string | null } | null, checkIn: { required: boolean, from: string, until: string, checkedInAt: string | null } | null, origin: { system: OriginSystem, batchId: string | null, mailItemId: string | null, jobID: string | null, lektionId: string | null }, lektion: { status: LessonStatus, fach: string | null, klassen: Array<string> | null, lehrpersonen: Array<string> | null, ursprung: { ressourceName: string, lehrpersonen: Array<string> | null, fach: string | null, beginn: string, ende: string } | null } | null, createdBy: { personId: string, displayName: string } | null, decision: { verdict: Verdict, decidedAt: string, reason: string | null, decidedBy: { personId: string, displayName: string } | null } | null }>, pageInfo: { hasNextPage: boolean, endCursor: string | null, hasPreviousPage: boolean, startCursor: string | null } } | null };

export type ReadTimetableQueryVariables = Exact<{
  filter?: TimetableFilter | null | undefined;
  order?: SortOrder | null | undefined;
  first?: number | null | undefined;
  after?: string | null | undefined;
  last?: number | null | undefined;
  before?: string | null | undefined;
}>;


export type ReadTimetableQuery = { timetable: { nodes: Array<{ id: string, uid: string, resourceId: string, resourceName: string, locationId: string, subject: string | null, description: string | null, start: string, end: string, timeZone: string, status: BookingStatus, kind: BookingKind, isPrivate: boolean, seriesId: string | null, recurrenceRule: string | null, setupMinutes: number, teardownMinutes: number, createdAt: string, changedAt: string, version: number, organizer: { personId: string | null, displayName: string, email: string | null } | null, checkIn: { required: boolean, from: string, until: string, checkedInAt: string | null } | null, origin: { system: OriginSystem, batchId: string | null, mailItemId: string | null, jobID: string | null, lektionId: string | null }, lektion: { status: LessonStatus, fach: string | null, klassen: Array<string> | null, lehrpersonen: Array<string> | null, ursprung: { ressourceName: string, lehrpersonen: Array<string> | null, fach: string | null, beginn: string, ende: string } | null } | null, createdBy: { personId: string, displayName: string } | null, decision: { verdict: Verdict, decidedAt: string, reason: string | null, decidedBy: { personId: string, displayName: string } | null } | null }>, pageInfo: { hasNextPage: boolean, endCursor: string | null, hasPreviousPage: boolean, startCursor: string | null } } | null };

export type ChangeBookingMutationVariables = Exact<{
  id: string | number;
  version: number;
  input: ChangeBookingInput;
  scope?: Scope | null | undefined;
  conflictHandling?: ConflictHandling | null | undefined;
}>;


export type ChangeBookingMutation = { result:
    | { id: string, uid: string, resourceId: string, resourceName: string, locationId: string, subject: string | null, description: string | null, start: string, end: string, timeZone: string, status: BookingStatus, kind: BookingKind, isPrivate: boolean, seriesId: string | null, recurrenceRule: string | null, setupMinutes: number, teardownMinutes: number, createdAt: string, changedAt: string, version: number, organizer: { personId: string | null, displayName: string, email: string | null } | null, checkIn: { required: boolean, from: string, until: string, checkedInAt: string | null } | null, origin: { system: OriginSystem, batchId: string | null, mailItemId: string | null, jobID: string | null, lektionId: string | null }, lektion: { status: LessonStatus, fach: string | null, klassen: Array<string> | null, lehrpersonen: Array<string> | null, ursprung: { ressourceName: string, lehrpersonen: Array<string> | null, fach: string | null, beginn: string, ende: string } | null } | null, createdBy: { personId: string, displayName: string } | null, decision: { verdict: Verdict, decidedAt: string, reason: string | null, decidedBy: { personId: string, displayName: string } | null } | null }
    | { code: string, message: string, conflicts: Array<{ bookingId: string, resourceId: string, kind: BookingKind, subject: string | null, start: string, end: string, wantedStart: string }>, alternatives: Array<{ resourceId: string, resourceName: string, start: string, end: string }> }
    | { code: string, message: string }
    | { code: string, message: string }
    | { code: string, message: string }
    | { code: string, message: string }
   };

export type CancelBookingMutationVariables = Exact<{
  id: string | number;
  version?: number | null | undefined;
  scope?: Scope | null | undefined;
}>;


export type CancelBookingMutation = { result:
    | { id: string, uid: string, resourceId: string, resourceName: string, locationId: string, subject: string | null, description: string | null, start: string, end: string, timeZone: string, status: BookingStatus, kind: BookingKind, isPrivate: boolean, seriesId: string | null, recurrenceRule: string | null, setupMinutes: number, teardownMinutes: number, createdAt: string, changedAt: string, version: number, organizer: { personId: string | null, displayName: string, email: string | null } | null, checkIn: { required: boolean, from: string, until: string, checkedInAt: string | null } | null, origin: { system: OriginSystem, batchId: string | null, mailItemId: string | null, jobID: string | null, lektionId: string | null }, lektion: { status: LessonStatus, fach: string | null, klassen: Array<string> | null, lehrpersonen: Array<string> | null, ursprung: { ressourceName: string, lehrpersonen: Array<string> | null, fach: string | null, beginn: string, ende: string } | null } | null, createdBy: { personId: string, displayName: string } | null, decision: { verdict: Verdict, decidedAt: string, reason: string | null, decidedBy: { personId: string, displayName: string } | null } | null }
    | { code: string, message: string, conflicts: Array<{ bookingId: string, resourceId: string, kind: BookingKind, subject: string | null, start: string, end: string, wantedStart: string }>, alternatives: Array<{ resourceId: string, resourceName: string, start: string, end: string }> }
    | { code: string, message: string }
    | { code: string, message: string }
    | { code: string, message: string }
   };

export type DecideBookingMutationVariables = Exact<{
  id: string | number;
  version: number;
  input: DecisionInput;
  scope?: Scope | null | undefined;
}>;


export type DecideBookingMutation = { result:
    | { id: string, uid: string, resourceId: string, resourceName: string, locationId: string, subject: string | null, description: string | null, start: string, end: string, timeZone: string, status: BookingStatus, kind: BookingKind, isPrivate: boolean, seriesId: string | null, recurrenceRule: string | null, setupMinutes: number, teardownMinutes: number, createdAt: string, changedAt: string, version: number, organizer: { personId: string | null, displayName: string, email: string | null } | null, checkIn: { required: boolean, from: string, until: string, checkedInAt: string | null } | null, origin: { system: OriginSystem, batchId: string | null, mailItemId: string | null, jobID: string | null, lektionId: string | null }, lektion: { status: LessonStatus, fach: string | null, klassen: Array<string> | null, lehrpersonen: Array<string> | null, ursprung: { ressourceName: string, lehrpersonen: Array<string> | null, fach: string | null, beginn: string, ende: string } | null } | null, createdBy: { personId: string, displayName: string } | null, decision: { verdict: Verdict, decidedAt: string, reason: string | null, decidedBy: { personId: string, displayName: string } | null } | null }
    | { code: string, message: string, conflicts: Array<{ bookingId: string, resourceId: string, kind: BookingKind, subject: string | null, start: string, end: string, wantedStart: string }>, alternatives: Array<{ resourceId: string, resourceName: string, start: string, end: string }> }
    | { code: string, message: string }
    | { code: string, message: string }
    | { code: string, message: string }
    | { code: string, message: string }
   };

export type CheckInMutationVariables = Exact<{
  id: string | number;
}>;


export type CheckInMutation = { result:
    | { id: string, uid: string, resourceId: string, resourceName: string, locationId: string, subject: string | null, description: string | null, start: string, end: string, timeZone: string, status: BookingStatus, kind: BookingKind, isPrivate: boolean, seriesId: string | null, recurrenceRule: string | null, setupMinutes: number, teardownMinutes: number, createdAt: string, changedAt: string, version: number, organizer: { personId: string | null, displayName: string, email: string | null } | null, checkIn: { required: boolean, from: string, until: string, checkedInAt: string | null } | null, origin: { system: OriginSystem, batchId: string | null, mailItemId: string | null, jobID: string | null, lektionId: string | null }, lektion: { status: LessonStatus, fach: string | null, klassen: Array<string> | null, lehrpersonen: Array<string> | null, ursprung: { ressourceName: string, lehrpersonen: Array<string> | null, fach: string | null, beginn: string, ende: string } | null } | null, createdBy: { personId: string, displayName: string } | null, decision: { verdict: Verdict, decidedAt: string, reason: string | null, decidedBy: { personId: string, displayName: string } | null } | null }
    | { code: string, message: string, conflicts: Array<{ bookingId: string, resourceId: string, kind: BookingKind, subject: string | null, start: string, end: string, wantedStart: string }>, alternatives: Array<{ resourceId: string, resourceName: string, start: string, end: string }> }
    | { code: string, message: string }
    | { code: string, message: string }
    | { code: string, message: string }
    | { code: string, message: string }
   };

export type ReleaseBookingMutationVariables = Exact<{
  id: string | number;
}>;


export type ReleaseBookingMutation = { result:
    | { id: string, uid: string, resourceId: string, resourceName: string, locationId: string, subject: string | null, description: string | null, start: string, end: string, timeZone: string, status: BookingStatus, kind: BookingKind, isPrivate: boolean, seriesId: string | null, recurrenceRule: string | null, setupMinutes: number, teardownMinutes: number, createdAt: string, changedAt: string, version: number, organizer: { personId: string | null, displayName: string, email: string | null } | null, checkIn: { required: boolean, from: string, until: string, checkedInAt: string | null } | null, origin: { system: OriginSystem, batchId: string | null, mailItemId: string | null, jobID: string | null, lektionId: string | null }, lektion: { status: LessonStatus, fach: string | null, klassen: Array<string> | null, lehrpersonen: Array<string> | null, ursprung: { ressourceName: string, lehrpersonen: Array<string> | null, fach: string | null, beginn: string, ende: string } | null } | null, createdBy: { personId: string, displayName: string } | null, decision: { verdict: Verdict, decidedAt: string, reason: string | null, decidedBy: { personId: string, displayName: string } | null } | null }
    | { code: string, message: string, conflicts: Array<{ bookingId: string, resourceId: string, kind: BookingKind, subject: string | null, start: string, end: string, wantedStart: string }>, alternatives: Array<{ resourceId: string, resourceName: string, start: string, end: string }> }
    | { code: string, message: string }
    | { code: string, message: string }
    | { code: string, message: string }
    | { code: string, message: string }
   };

export type ExtendBookingMutationVariables = Exact<{
  id: string | number;
  version?: number | null | undefined;
  minutes: number;
}>;


export type ExtendBookingMutation = { result:
    | { id: string, uid: string, resourceId: string, resourceName: string, locationId: string, subject: string | null, description: string | null, start: string, end: string, timeZone: string, status: BookingStatus, kind: BookingKind, isPrivate: boolean, seriesId: string | null, recurrenceRule: string | null, setupMinutes: number, teardownMinutes: number, createdAt: string, changedAt: string, version: number, organizer: { personId: string | null, displayName: string, email: string | null } | null, checkIn: { required: boolean, from: string, until: string, checkedInAt: string | null } | null, origin: { system: OriginSystem, batchId: string | null, mailItemId: string | null, jobID: string | null, lektionId: string | null }, lektion: { status: LessonStatus, fach: string | null, klassen: Array<string> | null, lehrpersonen: Array<string> | null, ursprung: { ressourceName: string, lehrpersonen: Array<string> | null, fach: string | null, beginn: string, ende: string } | null } | null, createdBy: { personId: string, displayName: string } | null, decision: { verdict: Verdict, decidedAt: string, reason: string | null, decidedBy: { personId: string, displayName: string } | null } | null }
    | { code: string, message: string, conflicts: Array<{ bookingId: string, resourceId: string, kind: BookingKind, subject: string | null, start: string, end: string, wantedStart: string }>, alternatives: Array<{ resourceId: string, resourceName: string, start: string, end: string }> }
    | { code: string, message: string }
    | { code: string, message: string }
    | { code: string, message: string }
    | { code: string, message: string }
   };

export type UndoBookingMutationVariables = Exact<{
  id: string | number;
  version: number;
}>;


export type UndoBookingMutation = { result:
    | { id: string, uid: string, resourceId: string, resourceName: string, locationId: string, subject: string | null, description: string | null, start: string, end: string, timeZone: string, status: BookingStatus, kind: BookingKind, isPrivate: boolean, seriesId: string | null, recurrenceRule: string | null, setupMinutes: number, teardownMinutes: number, createdAt: string, changedAt: string, version: number, organizer: { personId: string | null, displayName: string, email: string | null } | null, checkIn: { required: boolean, from: string, until: string, checkedInAt: string | null } | null, origin: { system: OriginSystem, batchId: string | null, mailItemId: string | null, jobID: string | null, lektionId: string | null }, lektion: { status: LessonStatus, fach: string | null, klassen: Array<string> | null, lehrpersonen: Array<string> | null, ursprung: { ressourceName: string, lehrpersonen: Array<string> | null, fach: string | null, beginn: string, ende: string } | null } | null, createdBy: { personId: string, displayName: string } | null, decision: { verdict: Verdict, decidedAt: string, reason: string | null, decidedBy: { personId: string, displayName: string } | null } | null }
    | { code: string, message: string, conflicts: Array<{ bookingId: string, resourceId: string, kind: BookingKind, subject: string | null, start: string, end: string, wantedStart: string }>, alternatives: Array<{ resourceId: string, resourceName: string, start: string, end: string }> }
    | { code: string, message: string }
    | { code: string, message: string }
    | { code: string, message: string }
    | { code: string, message: string }
   };

export type UpdateLessonJobsMutationVariables = Exact<{
  jobs: Array<LessonJobChangeInput> | LessonJobChangeInput;
  options?: BatchOptions | null | undefined;
}>;


export type UpdateLessonJobsMutation = { updateLessonJobs:
    | { __typename: 'BatchAccepted', batch: { id: string, operation: JobOperation, validateOnly: boolean, onConflict: ConflictRule } }
    | { __typename: 'ConflictProblem', code: string, message: string }
    | { __typename: 'ForbiddenProblem', code: string, message: string }
    | { __typename: 'LimitProblem', code: string, message: string }
    | { __typename: 'ValidationProblem', code: string, message: string }
   };

export type DeleteLessonJobsMutationVariables = Exact<{
  jobs: Array<LessonJobDeletionInput> | LessonJobDeletionInput;
  options?: BatchOptions | null | undefined;
}>;


export type DeleteLessonJobsMutation = { deleteLessonJobs:
    | { __typename: 'BatchAccepted', batch: { id: string, operation: JobOperation, validateOnly: boolean, onConflict: ConflictRule } }
    | { __typename: 'ConflictProblem', code: string, message: string }
    | { __typename: 'ForbiddenProblem', code: string, message: string }
    | { __typename: 'LimitProblem', code: string, message: string }
    | { __typename: 'ValidationProblem', code: string, message: string }
   };

export type LessonJobMembersFragment = { lessonCount: number, batchId: string, createdAt: string, changedAt: string, jobID: string, bezeichnung: string | null, quelle: string | null, standort: string | null, bemerkung: string | null, createdBy: { personId: string, displayName: string } };

export type LessonMembersFragment = { status: LessonStatus, bookingId: string, lektionId: string, jobID: string, beginn: string, ende: string, ressourceName: string, ressourceId: string, titel: string | null, fach: string | null, bemerkung: string | null, klassen: Array<string> | null, lehrpersonen: Array<string> | null, kopplungId: string | null, privat: boolean, ursprung: { ressourceName: string, lehrpersonen: Array<string> | null, fach: string | null, beginn: string, ende: string } | null };

export type ListLessonJobsQueryVariables = Exact<{
  jobKey?: string | null | undefined;
  first?: number | null | undefined;
  after?: string | null | undefined;
  last?: number | null | undefined;
  before?: string | null | undefined;
}>;


export type ListLessonJobsQuery = { lessonJobs: { nodes: Array<{ lessonCount: number, batchId: string, createdAt: string, changedAt: string, jobID: string, bezeichnung: string | null, quelle: string | null, standort: string | null, bemerkung: string | null, createdBy: { personId: string, displayName: string } }>, pageInfo: { hasNextPage: boolean, endCursor: string | null, hasPreviousPage: boolean, startCursor: string | null } } | null };

export type ListLessonsQueryVariables = Exact<{
  filter?: LessonFilter | null | undefined;
  order?: SortOrder | null | undefined;
  first?: number | null | undefined;
  after?: string | null | undefined;
  last?: number | null | undefined;
  before?: string | null | undefined;
}>;


export type ListLessonsQuery = { lessons: { nodes: Array<{ status: LessonStatus, bookingId: string, lektionId: string, jobID: string, beginn: string, ende: string, ressourceName: string, ressourceId: string, titel: string | null, fach: string | null, bemerkung: string | null, klassen: Array<string> | null, lehrpersonen: Array<string> | null, kopplungId: string | null, privat: boolean, ursprung: { ressourceName: string, lehrpersonen: Array<string> | null, fach: string | null, beginn: string, ende: string } | null }>, pageInfo: { hasNextPage: boolean, endCursor: string | null, hasPreviousPage: boolean, startCursor: string | null } } | null };

export type ReadLessonJobQueryVariables = Exact<{
  jobKey: string;
}>;


export type ReadLessonJobQuery = { lessonJob: { lessonCount: number, batchId: string, createdAt: string, changedAt: string, jobID: string, bezeichnung: string | null, quelle: string | null, standort: string | null, bemerkung: string | null, createdBy: { personId: string, displayName: string } } | null };

export type ReadLessonQueryVariables = Exact<{
  jobKey: string;
  lessonKey: string;
}>;


export type ReadLessonQuery = { lesson: { status: LessonStatus, bookingId: string, lektionId: string, jobID: string, beginn: string, ende: string, ressourceName: string, ressourceId: string, titel: string | null, fach: string | null, bemerkung: string | null, klassen: Array<string> | null, lehrpersonen: Array<string> | null, kopplungId: string | null, privat: boolean, ursprung: { ressourceName: string, lehrpersonen: Array<string> | null, fach: string | null, beginn: string, ende: string } | null } | null };

export type ReadLessonJobByIdQueryVariables = Exact<{
  id: string | number;
}>;


export type ReadLessonJobByIdQuery = { lessonJob: { lessonCount: number, batchId: string, createdAt: string, changedAt: string, jobID: string, bezeichnung: string | null, quelle: string | null, standort: string | null, bemerkung: string | null, createdBy: { personId: string, displayName: string } } | null };

export type FindLessonQueryVariables = Exact<{
  jobKey: string;
  lessonKey: string;
}>;


export type FindLessonQuery = { lesson: { id: string } | null };

export type ReadLessonByIdQueryVariables = Exact<{
  id: string | number;
}>;


export type ReadLessonByIdQuery = { lesson: { status: LessonStatus, bookingId: string, lektionId: string, jobID: string, beginn: string, ende: string, ressourceName: string, ressourceId: string, titel: string | null, fach: string | null, bemerkung: string | null, klassen: Array<string> | null, lehrpersonen: Array<string> | null, kopplungId: string | null, privat: boolean, ursprung: { ressourceName: string, lehrpersonen: Array<string> | null, fach: string | null, beginn: string, ende: string } | null } | null };

export type ResourceMembersFragment = { id: string, locationId: string, name: string, kind: string, capacity: number | null, equipment: Array<string>, mailbox: string | null, checkInMinutes: number | null, calendarWriting: CalendarWriting | null, calendarEdits: CalendarEdits | null, declineConflicts: boolean | null, policyId: string | null, active: boolean, version: number };

export type UpcomingMembersFragment = { bookings: number, series: number, blocks: number, lessons: number, mailItems: number, lastEnd: string | null };

export type TenantMembersFragment = { mandator: string, name: string, colour: string | null, logo: string | null, version: number, parameters: { pinAuthenticationAllowed: boolean, usersMayImport: boolean, calendarWriting: CalendarWriting, calendarEdits: CalendarEdits, declineConflicts: boolean } };

export type ReadTenantQueryVariables = Exact<{ [key: string]: never; }>;


export type ReadTenantQuery = { tenant: { mandator: string, name: string, colour: string | null, logo: string | null, version: number, parameters: { pinAuthenticationAllowed: boolean, usersMayImport: boolean, calendarWriting: CalendarWriting, calendarEdits: CalendarEdits, declineConflicts: boolean } } };

export type ChangeTenantMutationVariables = Exact<{
  version: number;
  input: ChangeTenantInput;
}>;


export type ChangeTenantMutation = { result:
    | { code: string, message: string }
    | { mandator: string, name: string, colour: string | null, logo: string | null, version: number, parameters: { pinAuthenticationAllowed: boolean, usersMayImport: boolean, calendarWriting: CalendarWriting, calendarEdits: CalendarEdits, declineConflicts: boolean } }
    | { code: string, message: string }
    | { code: string, message: string }
   };

export type ErasePersonMutationVariables = Exact<{
  id: string | number;
  version?: number | null | undefined;
  alsoKnownAs?: Array<string> | string | null | undefined;
}>;


export type ErasePersonMutation = { result:
    | { code: string, message: string }
    | { code: string, message: string }
    | { code: string, message: string }
    | { id: string, name: string, email: string, timeZone: string, role: Role, active: boolean, erasedAt: string | null, teacherCode: string | null, version: number }
    | { code: string, message: string }
    | { code: string, message: string }
   };

export type PreviewRetirementQueryVariables = Exact<{
  id: string | number;
}>;


export type PreviewRetirementQuery = { retirementPreview: { bookings: number, series: number, blocks: number, lessons: number, mailItems: number, lastEnd: string | null, displays: number, hasMailCalendar: boolean, version: number, digest: string, resource: { id: string, locationId: string, name: string, kind: string, capacity: number | null, equipment: Array<string>, mailbox: string | null, checkInMinutes: number | null, calendarWriting: CalendarWriting | null, calendarEdits: CalendarEdits | null, declineConflicts: boolean | null, policyId: string | null, active: boolean, version: number } } | null };

export type RetireResourceMutationVariables = Exact<{
  id: string | number;
  version: number;
  input: RetireResourceInput;
}>;


export type RetireResourceMutation = { result:
    | { code: string, message: string }
    | { code: string, message: string }
    | { code: string, message: string }
    | { cancelled: number, moved: number, version: number, resource: { id: string, locationId: string, name: string, kind: string, capacity: number | null, equipment: Array<string>, mailbox: string | null, checkInMinutes: number | null, calendarWriting: CalendarWriting | null, calendarEdits: CalendarEdits | null, declineConflicts: boolean | null, policyId: string | null, active: boolean, version: number }, kept: { bookings: number, series: number, blocks: number, lessons: number, mailItems: number, lastEnd: string | null }, conflicts: Array<{ bookingId: string, resourceId: string, kind: BookingKind, subject: string | null, start: string, end: string, wantedStart: string }> }
    | { code: string, message: string }
    | { code: string, message: string }
   };

export type OwnRulesFragment = { locationId: string, resourceId: string | null, version: number, items: Array<{ id: string, locationId: string, resourceId: string | null, weekdays: Array<number>, opens: string, closes: string, validFrom: string | null, validTo: string | null }> };

export type OwnExceptionsFragment = { locationId: string, resourceId: string | null, version: number, items: Array<{ id: string, locationId: string, resourceId: string | null, fromDate: string, toDate: string, closed: boolean, reason: string | null, periods: Array<{ opens: string, closes: string }> }> };

export type OpeningHoursQueryVariables = Exact<{
  locationId: string | number;
  from?: string | null | undefined;
  to?: string | null | undefined;
  timezoneLocationId?: string | number | null | undefined;
}>;


export type OpeningHoursQuery = { openingHours: { locationId: string, locationName: string, timeZone: string, timeZoneSource: TimeZoneSource, from: string, to: string, resources: Array<{ resourceId: string, resourceName: string, weekly: Array<{ id: string, locationId: string, resourceId: string | null, weekdays: Array<number>, opens: string, closes: string, validFrom: string | null, validTo: string | null }>, exceptions: Array<{ id: string, locationId: string, resourceId: string | null, fromDate: string, toDate: string, closed: boolean, reason: string | null, periods: Array<{ opens: string, closes: string }> }>, intervals: Array<{ localDate: string, opens: string, closes: string, start: string, end: string, source: IntervalSource, clockChange: boolean }> }> } | null };

export type OwnHoursQueryVariables = Exact<{
  resourceId: string | number;
}>;


export type OwnHoursQuery = { openingRules: { locationId: string, resourceId: string | null, version: number, items: Array<{ id: string, locationId: string, resourceId: string | null, weekdays: Array<number>, opens: string, closes: string, validFrom: string | null, validTo: string | null }> } | null, openingExceptions: { locationId: string, resourceId: string | null, version: number, items: Array<{ id: string, locationId: string, resourceId: string | null, fromDate: string, toDate: string, closed: boolean, reason: string | null, periods: Array<{ opens: string, closes: string }> }> } | null };

export type SetOpeningRulesMutationVariables = Exact<{
  resourceId: string | number;
  version: number;
  items: Array<OpeningRuleInput> | OpeningRuleInput;
}>;


export type SetOpeningRulesMutation = { result:
    | { __typename: 'ForbiddenProblem', code: string, message: string }
    | { __typename: 'NotFoundProblem', code: string, message: string }
    | { __typename: 'OpeningRuleList', locationId: string, resourceId: string | null, version: number, items: Array<{ id: string, locationId: string, resourceId: string | null, weekdays: Array<number>, opens: string, closes: string, validFrom: string | null, validTo: string | null }> }
    | { __typename: 'ValidationProblem', code: string, message: string, errors: Array<{ field: string | null, pointer: string | null, otherPointer: string | null, code: string }> }
    | { __typename: 'VersionProblem', code: string, message: string }
   };

export type SetOpeningExceptionsMutationVariables = Exact<{
  resourceId: string | number;
  version: number;
  items: Array<OpeningExceptionInput> | OpeningExceptionInput;
}>;


export type SetOpeningExceptionsMutation = { result:
    | { __typename: 'ForbiddenProblem', code: string, message: string }
    | { __typename: 'NotFoundProblem', code: string, message: string }
    | { __typename: 'OpeningExceptionList', locationId: string, resourceId: string | null, version: number, items: Array<{ id: string, locationId: string, resourceId: string | null, fromDate: string, toDate: string, closed: boolean, reason: string | null, periods: Array<{ opens: string, closes: string }> }> }
    | { __typename: 'ValidationProblem', code: string, message: string, errors: Array<{ field: string | null, pointer: string | null, otherPointer: string | null, code: string }> }
    | { __typename: 'VersionProblem', code: string, message: string }
   };

export type OwnHoursOfLocationQueryVariables = Exact<{
  locationId: string | number;
}>;


export type OwnHoursOfLocationQuery = { rules: { locationId: string, resourceId: string | null, version: number, items: Array<{ id: string, locationId: string, resourceId: string | null, weekdays: Array<number>, opens: string, closes: string, validFrom: string | null, validTo: string | null }> } | null, exceptions: { locationId: string, resourceId: string | null, version: number, items: Array<{ id: string, locationId: string, resourceId: string | null, fromDate: string, toDate: string, closed: boolean, reason: string | null, periods: Array<{ opens: string, closes: string }> }> } | null };

export type SetHoursOfLocationMutationVariables = Exact<{
  locationId: string | number;
  rulesVersion: number;
  rules: Array<OpeningRuleInput> | OpeningRuleInput;
  exceptionsVersion: number;
  exceptions: Array<OpeningExceptionInput> | OpeningExceptionInput;
}>;


export type SetHoursOfLocationMutation = { rules:
    | { __typename: 'ForbiddenProblem' }
    | { __typename: 'NotFoundProblem' }
    | { __typename: 'OpeningRuleList', locationId: string, resourceId: string | null, version: number, items: Array<{ id: string, locationId: string, resourceId: string | null, weekdays: Array<number>, opens: string, closes: string, validFrom: string | null, validTo: string | null }> }
    | { __typename: 'ValidationProblem' }
    | { __typename: 'VersionProblem' }
  , exceptions:
    | { __typename: 'ForbiddenProblem' }
    | { __typename: 'NotFoundProblem' }
    | { __typename: 'OpeningExceptionList', locationId: string, resourceId: string | null, version: number, items: Array<{ id: string, locationId: string, resourceId: string | null, fromDate: string, toDate: string, closed: boolean, reason: string | null, periods: Array<{ opens: string, closes: string }> }> }
    | { __typename: 'ValidationProblem' }
    | { __typename: 'VersionProblem' }
   };

export type ListActsQueryVariables = Exact<{
  filter?: ActFilter | null | undefined;
  first?: number | null | undefined;
  after?: string | null | undefined;
}>;


export type ListActsQuery = { audit: { nodes: Array<{ at: string, action: string, subject: AuditSubject | null, subjectId: string | null, subjectName: string | null, requestId: string, person: { personId: string, displayName: string } | null, changes: Array<{ member: string, from: string | null, to: string | null }> }>, pageInfo: { hasNextPage: boolean, endCursor: string | null } } | null };

export type ListFreeResourcesQueryVariables = Exact<{
  input?: FreeInput | null | undefined;
}>;


export type ListFreeResourcesQuery = { freeResources: Array<{ resourceId: string, resourceName: string, locationId: string, locationName: string, timeZone: string, kind: string, capacity: number | null, equipment: Array<string>, freeUntil: string }> | null };

export type UseMembersFragment = { openMinutes: number, occupiedMinutes: number, occupancyPercent: number | null, outsideMinutes: number, unusedMinutes: number, bookings: number, noShows: number, releasedEarly: number };

export type ReadUsageQueryVariables = Exact<{
  input: UsageInput;
  resources: boolean;
  hours: boolean;
  weeks: boolean;
}>;


export type ReadUsageQuery = { usage: { resources?: Array<{ resourceId: string, resourceName: string, locationId: string, use: { openMinutes: number, occupiedMinutes: number, occupancyPercent: number | null, outsideMinutes: number, unusedMinutes: number, bookings: number, noShows: number, releasedEarly: number } }>, hours?: Array<{ weekday: number, hour: number, use: { openMinutes: number, occupiedMinutes: number, occupancyPercent: number | null, outsideMinutes: number, unusedMinutes: number, bookings: number, noShows: number, releasedEarly: number } }>, weeks?: Array<{ locationId: string, locationName: string, week: string, use: { openMinutes: number, occupiedMinutes: number, occupancyPercent: number | null, outsideMinutes: number, unusedMinutes: number, bookings: number, noShows: number, releasedEarly: number } }> } | null };

export type ListOrganizersQueryVariables = Exact<{
  filter?: OrganizerFilter | null | undefined;
  first?: number | null | undefined;
  after?: string | null | undefined;
}>;


export type ListOrganizersQuery = { organizers: { nodes: Array<{ personId: string, displayName: string }>, pageInfo: { hasNextPage: boolean, endCursor: string | null } } | null };

export type BatchEntryMembersFragment = { id: string, operation: JobOperation, importStatus: ImportStatus, jobCount: number, lessonCount: number | null, processedCount: number, createdCount: number, changedCount: number | null, movedCount: number | null, removedCount: number | null, errorCount: number, warningCount: number, failureKind: FailureKind | null, validateOnly: boolean, createdAt: string, startedAt: string | null, finishedAt: string | null, queuePosition: number | null, quelle: string | null, createdBy: { personId: string, displayName: string } };

export type LessonErrorPageFragment = { nodes: Array<{ severity: Severity, index: number | null, field: string | null, code: string, message: string, line: number | null, pointer: string | null, jobID: string | null, lektionIndex: number | null, lektionId: string | null }>, pageInfo: { hasNextPage: boolean, endCursor: string | null } };

export type BatchMembersFragment = { errorMessages: string | null, id: string, operation: JobOperation, importStatus: ImportStatus, jobCount: number, lessonCount: number | null, processedCount: number, createdCount: number, changedCount: number | null, movedCount: number | null, removedCount: number | null, errorCount: number, warningCount: number, failureKind: FailureKind | null, validateOnly: boolean, createdAt: string, startedAt: string | null, finishedAt: string | null, queuePosition: number | null, quelle: string | null, omittedErrors: Array<{ severity: Severity, code: string, count: number }>, difference: { added: number, changed: number, moved: number, removed: number, unchanged: number, lessons: Array<{ kind: DifferenceKind, index: number, fields: Array<string>, jobID: string, lektionIndex: number | null, lektionId: string, before: { ressourceName: string | null, beginn: string, ende: string } | null, after: { ressourceName: string | null, beginn: string, ende: string } | null }> } | null, errors: { nodes: Array<{ severity: Severity, index: number | null, field: string | null, code: string, message: string, line: number | null, pointer: string | null, jobID: string | null, lektionIndex: number | null, lektionId: string | null }>, pageInfo: { hasNextPage: boolean, endCursor: string | null } }, createdBy: { personId: string, displayName: string } };

type Submitted_BatchAccepted_Fragment = { batch: { id: string, importStatus: ImportStatus } };

type Submitted_ConflictProblem_Fragment = { code: string, message: string };

type Submitted_ForbiddenProblem_Fragment = { code: string, message: string };

type Submitted_LimitProblem_Fragment = { code: string, message: string, retryAfterSeconds: number | null };

type Submitted_ValidationProblem_Fragment = { code: string, message: string };

export type SubmittedFragment =
  | Submitted_BatchAccepted_Fragment
  | Submitted_ConflictProblem_Fragment
  | Submitted_ForbiddenProblem_Fragment
  | Submitted_LimitProblem_Fragment
  | Submitted_ValidationProblem_Fragment
;

export type SubmitCreateMutationVariables = Exact<{
  jobs: Array<LessonJobInput> | LessonJobInput;
  options?: BatchOptions | null | undefined;
}>;


export type SubmitCreateMutation = { result:
    | { batch: { id: string, importStatus: ImportStatus } }
    | { code: string, message: string }
    | { code: string, message: string }
    | { code: string, message: string, retryAfterSeconds: number | null }
    | { code: string, message: string }
   };

export type SubmitUpdateMutationVariables = Exact<{
  jobs: Array<LessonJobChangeInput> | LessonJobChangeInput;
  options?: BatchOptions | null | undefined;
}>;


export type SubmitUpdateMutation = { result:
    | { batch: { id: string, importStatus: ImportStatus } }
    | { code: string, message: string }
    | { code: string, message: string }
    | { code: string, message: string, retryAfterSeconds: number | null }
    | { code: string, message: string }
   };

export type SubmitDeleteMutationVariables = Exact<{
  jobs: Array<LessonJobDeletionInput> | LessonJobDeletionInput;
  options?: BatchOptions | null | undefined;
}>;


export type SubmitDeleteMutation = { result:
    | { batch: { id: string, importStatus: ImportStatus } }
    | { code: string, message: string }
    | { code: string, message: string }
    | { code: string, message: string, retryAfterSeconds: number | null }
    | { code: string, message: string }
   };

export type SendTimetableMutationVariables = Exact<{
  input: TimetableFilesInput;
  options?: TimetableOptions | null | undefined;
}>;


export type SendTimetableMutation = { result:
    | { code: string, message: string }
    | { code: string, message: string }
    | { code: string, message: string }
    | { jobCount: number, lessonCount: number, noticeCount: number, batch: { id: string, importStatus: ImportStatus }, files: Array<{ name: string, format: string, encoding: string, separator: string | null, lines: number }>, notices: Array<{ file: string, line: number, code: string, message: string }> }
    | { code: string, message: string }
   };

export type CancelWholeMutationVariables = Exact<{
  id: string | number;
}>;


export type CancelWholeMutation = { result:
    | { batch: { errorMessages: string | null, id: string, operation: JobOperation, importStatus: ImportStatus, jobCount: number, lessonCount: number | null, processedCount: number, createdCount: number, changedCount: number | null, movedCount: number | null, removedCount: number | null, errorCount: number, warningCount: number, failureKind: FailureKind | null, validateOnly: boolean, createdAt: string, startedAt: string | null, finishedAt: string | null, queuePosition: number | null, quelle: string | null, omittedErrors: Array<{ severity: Severity, code: string, count: number }>, difference: { added: number, changed: number, moved: number, removed: number, unchanged: number, lessons: Array<{ kind: DifferenceKind, index: number, fields: Array<string>, jobID: string, lektionIndex: number | null, lektionId: string, before: { ressourceName: string | null, beginn: string, ende: string } | null, after: { ressourceName: string | null, beginn: string, ende: string } | null }> } | null, errors: { nodes: Array<{ severity: Severity, index: number | null, field: string | null, code: string, message: string, line: number | null, pointer: string | null, jobID: string | null, lektionIndex: number | null, lektionId: string | null }>, pageInfo: { hasNextPage: boolean, endCursor: string | null } }, createdBy: { personId: string, displayName: string } } }
    | { code: string, message: string }
    | { code: string, message: string }
    | { code: string, message: string }
   };

export type ReadBatchQueryVariables = Exact<{
  id: string | number;
}>;


export type ReadBatchQuery = { batch: { errorMessages: string | null, id: string, operation: JobOperation, importStatus: ImportStatus, jobCount: number, lessonCount: number | null, processedCount: number, createdCount: number, changedCount: number | null, movedCount: number | null, removedCount: number | null, errorCount: number, warningCount: number, failureKind: FailureKind | null, validateOnly: boolean, createdAt: string, startedAt: string | null, finishedAt: string | null, queuePosition: number | null, quelle: string | null, omittedErrors: Array<{ severity: Severity, code: string, count: number }>, difference: { added: number, changed: number, moved: number, removed: number, unchanged: number, lessons: Array<{ kind: DifferenceKind, index: number, fields: Array<string>, jobID: string, lektionIndex: number | null, lektionId: string, before: { ressourceName: string | null, beginn: string, ende: string } | null, after: { ressourceName: string | null, beginn: string, ende: string } | null }> } | null, errors: { nodes: Array<{ severity: Severity, index: number | null, field: string | null, code: string, message: string, line: number | null, pointer: string | null, jobID: string | null, lektionIndex: number | null, lektionId: string | null }>, pageInfo: { hasNextPage: boolean, endCursor: string | null } }, createdBy: { personId: string, displayName: string } } | null };

export type ReadErrorsQueryVariables = Exact<{
  id: string | number;
  first?: number | null | undefined;
  after?: string | null | undefined;
}>;


export type ReadErrorsQuery = { batch: { omittedErrors: Array<{ severity: Severity, code: string, count: number }>, errors: { nodes: Array<{ severity: Severity, index: number | null, field: string | null, code: string, message: string, line: number | null, pointer: string | null, jobID: string | null, lektionIndex: number | null, lektionId: string | null }>, pageInfo: { hasNextPage: boolean, endCursor: string | null } } } | null };

export type ReadBatchesQueryVariables = Exact<{
  filter?: BatchFilter | null | undefined;
  first?: number | null | undefined;
  after?: string | null | undefined;
  last?: number | null | undefined;
  before?: string | null | undefined;
}>;


export type ReadBatchesQuery = { batches: { nodes: Array<{ id: string, operation: JobOperation, importStatus: ImportStatus, jobCount: number, lessonCount: number | null, processedCount: number, createdCount: number, changedCount: number | null, movedCount: number | null, removedCount: number | null, errorCount: number, warningCount: number, failureKind: FailureKind | null, validateOnly: boolean, createdAt: string, startedAt: string | null, finishedAt: string | null, queuePosition: number | null, quelle: string | null, createdBy: { personId: string, displayName: string } }>, pageInfo: { hasNextPage: boolean, endCursor: string | null, hasPreviousPage: boolean, startCursor: string | null } } | null };

export type FollowBatchSubscriptionVariables = Exact<{
  batchId: string | number;
}>;


export type FollowBatchSubscription = { batchStatus: { importStatus: ImportStatus } };

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
export const BatchStateFragmentDoc = new TypedDocumentString(`
    fragment BatchState on Batch {
  id
  importStatus
  jobCount
  lessonCount
  processedCount
  progress
  queuePosition
  failureKind
  errorMessages
}
    `, {"fragmentName":"BatchState"}) as unknown as TypedDocumentString<BatchStateFragment, unknown>;
export const BookingMembersFragmentDoc = new TypedDocumentString(`
    fragment BookingMembers on Booking {
  id
  uid
  resourceId
  resourceName
  locationId
  subject
  description
  start
  end
  timeZone
  status
  kind
  organizer {
    personId
    displayName
    email
  }
  isPrivate
  seriesId
  recurrenceRule
  setupMinutes
  teardownMinutes
  checkIn {
    required
    from
    until
    checkedInAt
  }
  origin {
    system
    batchId
    jobID: jobKey
    lektionId: lessonKey
    mailItemId
  }
  lektion: lessonSummary {
    fach: subject
    klassen: classes
    lehrpersonen: teachers
    status
    ursprung: origin {
      ressourceName: resourceName
      lehrpersonen: teachers
      fach: subject
      beginn: start
      ende: end
    }
  }
  createdAt
  createdBy {
    personId
    displayName
  }
  decision {
    verdict
    decidedAt
    decidedBy {
      personId
      displayName
    }
    reason
  }
  changedAt
  version
}
    `, {"fragmentName":"BookingMembers"}) as unknown as TypedDocumentString<BookingMembersFragment, unknown>;
export const ConflictMembersFragmentDoc = new TypedDocumentString(`
    fragment ConflictMembers on RoomConflict {
  bookingId
  resourceId
  kind
  subject
  start
  end
  wantedStart
}
    `, {"fragmentName":"ConflictMembers"}) as unknown as TypedDocumentString<ConflictMembersFragment, unknown>;
export const BookingProblemFragmentDoc = new TypedDocumentString(`
    fragment BookingProblem on Problem {
  code
  message
  ... on ConflictProblem {
    conflicts {
      ...ConflictMembers
    }
    alternatives {
      resourceId
      resourceName
      start
      end
    }
  }
}
    fragment ConflictMembers on RoomConflict {
  bookingId
  resourceId
  kind
  subject
  start
  end
  wantedStart
}`, {"fragmentName":"BookingProblem"}) as unknown as TypedDocumentString<BookingProblemFragment, unknown>;
export const LessonJobMembersFragmentDoc = new TypedDocumentString(`
    fragment LessonJobMembers on LessonJob {
  jobID: jobKey
  bezeichnung: designation
  quelle: source
  standort: locationName
  bemerkung: remark
  lessonCount
  batchId
  createdAt
  changedAt
  createdBy {
    personId
    displayName
  }
}
    `, {"fragmentName":"LessonJobMembers"}) as unknown as TypedDocumentString<LessonJobMembersFragment, unknown>;
export const LessonMembersFragmentDoc = new TypedDocumentString(`
    fragment LessonMembers on Lesson {
  lektionId: lessonKey
  jobID: jobKey
  beginn: start
  ende: end
  ressourceName: resourceName
  ressourceId: resourceId
  titel: title
  fach: subject
  bemerkung: remark
  klassen: classes
  lehrpersonen: teachers
  status
  kopplungId: couplingKey
  privat: isPrivate
  bookingId
  ursprung: origin {
    ressourceName: resourceName
    lehrpersonen: teachers
    fach: subject
    beginn: start
    ende: end
  }
}
    `, {"fragmentName":"LessonMembers"}) as unknown as TypedDocumentString<LessonMembersFragment, unknown>;
export const ResourceMembersFragmentDoc = new TypedDocumentString(`
    fragment ResourceMembers on Resource {
  id
  locationId
  name
  kind
  capacity
  equipment
  mailbox
  checkInMinutes
  calendarWriting
  calendarEdits
  declineConflicts
  policyId
  active
  version
}
    `, {"fragmentName":"ResourceMembers"}) as unknown as TypedDocumentString<ResourceMembersFragment, unknown>;
export const UpcomingMembersFragmentDoc = new TypedDocumentString(`
    fragment UpcomingMembers on UpcomingBookings {
  bookings
  series
  blocks
  lessons
  mailItems
  lastEnd
}
    `, {"fragmentName":"UpcomingMembers"}) as unknown as TypedDocumentString<UpcomingMembersFragment, unknown>;
export const TenantMembersFragmentDoc = new TypedDocumentString(`
    fragment TenantMembers on Tenant {
  mandator
  name
  parameters {
    pinAuthenticationAllowed
    usersMayImport
    calendarWriting
    calendarEdits
    declineConflicts
  }
  colour
  logo
  version
}
    `, {"fragmentName":"TenantMembers"}) as unknown as TypedDocumentString<TenantMembersFragment, unknown>;
export const OwnRulesFragmentDoc = new TypedDocumentString(`
    fragment OwnRules on OpeningRuleList {
  locationId
  resourceId
  version
  items {
    id
    locationId
    resourceId
    weekdays
    opens
    closes
    validFrom
    validTo
  }
}
    `, {"fragmentName":"OwnRules"}) as unknown as TypedDocumentString<OwnRulesFragment, unknown>;
export const OwnExceptionsFragmentDoc = new TypedDocumentString(`
    fragment OwnExceptions on OpeningExceptionList {
  locationId
  resourceId
  version
  items {
    id
    locationId
    resourceId
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
    `, {"fragmentName":"OwnExceptions"}) as unknown as TypedDocumentString<OwnExceptionsFragment, unknown>;
export const UseMembersFragmentDoc = new TypedDocumentString(`
    fragment UseMembers on Use {
  openMinutes
  occupiedMinutes
  occupancyPercent
  outsideMinutes
  unusedMinutes
  bookings
  noShows
  releasedEarly
}
    `, {"fragmentName":"UseMembers"}) as unknown as TypedDocumentString<UseMembersFragment, unknown>;
export const BatchEntryMembersFragmentDoc = new TypedDocumentString(`
    fragment BatchEntryMembers on Batch {
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
  quelle: source
  createdAt
  startedAt
  finishedAt
  createdBy {
    personId
    displayName
  }
  queuePosition
}
    `, {"fragmentName":"BatchEntryMembers"}) as unknown as TypedDocumentString<BatchEntryMembersFragment, unknown>;
export const LessonErrorPageFragmentDoc = new TypedDocumentString(`
    fragment LessonErrorPage on LessonErrorConnection {
  nodes {
    severity
    index
    jobID: jobKey
    lektionIndex: lessonIndex
    lektionId: lessonKey
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
    `, {"fragmentName":"LessonErrorPage"}) as unknown as TypedDocumentString<LessonErrorPageFragment, unknown>;
export const BatchMembersFragmentDoc = new TypedDocumentString(`
    fragment BatchMembers on Batch {
  ...BatchEntryMembers
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
      index
      jobID: jobKey
      lektionIndex: lessonIndex
      lektionId: lessonKey
      fields
      before {
        ressourceName: resourceName
        beginn: start
        ende: end
      }
      after {
        ressourceName: resourceName
        beginn: start
        ende: end
      }
    }
  }
  errors(first: 100) {
    ...LessonErrorPage
  }
}
    fragment BatchEntryMembers on Batch {
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
  quelle: source
  createdAt
  startedAt
  finishedAt
  createdBy {
    personId
    displayName
  }
  queuePosition
}
fragment LessonErrorPage on LessonErrorConnection {
  nodes {
    severity
    index
    jobID: jobKey
    lektionIndex: lessonIndex
    lektionId: lessonKey
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
}`, {"fragmentName":"BatchMembers"}) as unknown as TypedDocumentString<BatchMembersFragment, unknown>;
export const SubmittedFragmentDoc = new TypedDocumentString(`
    fragment Submitted on SubmitBatchResult {
  ... on BatchAccepted {
    batch {
      id
      importStatus
    }
  }
  ... on Problem {
    code
    message
  }
  ... on LimitProblem {
    retryAfterSeconds
  }
}
    `, {"fragmentName":"Submitted"}) as unknown as TypedDocumentString<SubmittedFragment, unknown>;
export const NowDocument = new TypedDocumentString(`
    query Now {
  serverTime
  me {
    id
    name
    email
    timeZone
    role
  }
}
    `) as unknown as TypedDocumentString<NowQuery, NowQueryVariables>;
export const GetBatchDocument = new TypedDocumentString(`
    query GetBatch($id: ID!, $first: Int, $after: String) {
  batch(id: $id) {
    ...BatchState
    operation
    createdCount
    errorCount
    warningCount
    validateOnly
    createdAt
    startedAt
    finishedAt
    createdBy {
      personId
      displayName
    }
    errors(first: $first, after: $after) {
      nodes {
        severity
        index
        jobID: jobKey
        lektionIndex: lessonIndex
        lektionId: lessonKey
        field
        code
        message
        pointer
      }
      pageInfo {
        hasNextPage
        endCursor
      }
    }
  }
}
    fragment BatchState on Batch {
  id
  importStatus
  jobCount
  lessonCount
  processedCount
  progress
  queuePosition
  failureKind
  errorMessages
}`) as unknown as TypedDocumentString<GetBatchQuery, GetBatchQueryVariables>;
export const ListBatchesDocument = new TypedDocumentString(`
    query ListBatches($filter: BatchFilter, $first: Int, $after: String) {
  batches(filter: $filter, first: $first, after: $after) {
    nodes {
      id
      importStatus
    }
    edges {
      cursor
      node {
        id
      }
    }
    pageInfo {
      hasNextPage
      endCursor
    }
  }
}
    `) as unknown as TypedDocumentString<ListBatchesQuery, ListBatchesQueryVariables>;
export const CreateLessonJobsDocument = new TypedDocumentString(`
    mutation CreateLessonJobs($jobs: [LessonJobInput!]!, $options: BatchOptions) {
  createLessonJobs(jobs: $jobs, options: $options) {
    __typename
    ... on BatchAccepted {
      batch {
        id
        importStatus
        jobCount
      }
    }
    ... on Problem {
      code
      message
    }
    ... on ValidationProblem {
      errors {
        field
        pointer
        code
        message
      }
    }
    ... on LimitProblem {
      retryAfterSeconds
    }
  }
}
    `) as unknown as TypedDocumentString<CreateLessonJobsMutation, CreateLessonJobsMutationVariables>;
export const CancelBatchDocument = new TypedDocumentString(`
    mutation CancelBatch($id: ID!) {
  cancelBatch(id: $id) {
    __typename
    ... on BatchCancelled {
      batch {
        id
        importStatus
        failureKind
      }
    }
    ... on Problem {
      code
      message
    }
  }
}
    `) as unknown as TypedDocumentString<CancelBatchMutation, CancelBatchMutationVariables>;
export const BatchStatusDocument = new TypedDocumentString(`
    subscription BatchStatus($batchId: ID!) {
  batchStatus(batchId: $batchId) {
    ...BatchState
  }
}
    fragment BatchState on Batch {
  id
  importStatus
  jobCount
  lessonCount
  processedCount
  progress
  queuePosition
  failureKind
  errorMessages
}`) as unknown as TypedDocumentString<BatchStatusSubscription, BatchStatusSubscriptionVariables>;
export const WatchBatchesDocument = new TypedDocumentString(`
    subscription WatchBatches($states: [ImportStatus!]) {
  batches(states: $states) {
    id
    importStatus
    queuePosition
  }
}
    `) as unknown as TypedDocumentString<WatchBatchesSubscription, WatchBatchesSubscriptionVariables>;
export const MakeBookingDocument = new TypedDocumentString(`
    mutation MakeBooking($input: CreateBookingInput!) {
  result: createBooking(input: $input) {
    ... on BookingCreated {
      booking {
        ...BookingMembers
      }
    }
    ... on SeriesCreated {
      booking {
        ...BookingMembers
      }
      seriesId
      recurrenceRule
      bookingIds
      skipped {
        start
        end
        conflicts {
          ...ConflictMembers
        }
      }
    }
    ...BookingProblem
  }
}
    fragment BookingMembers on Booking {
  id
  uid
  resourceId
  resourceName
  locationId
  subject
  description
  start
  end
  timeZone
  status
  kind
  organizer {
    personId
    displayName
    email
  }
  isPrivate
  seriesId
  recurrenceRule
  setupMinutes
  teardownMinutes
  checkIn {
    required
    from
    until
    checkedInAt
  }
  origin {
    system
    batchId
    jobID: jobKey
    lektionId: lessonKey
    mailItemId
  }
  lektion: lessonSummary {
    fach: subject
    klassen: classes
    lehrpersonen: teachers
    status
    ursprung: origin {
      ressourceName: resourceName
      lehrpersonen: teachers
      fach: subject
      beginn: start
      ende: end
    }
  }
  createdAt
  createdBy {
    personId
    displayName
  }
  decision {
    verdict
    decidedAt
    decidedBy {
      personId
      displayName
    }
    reason
  }
  changedAt
  version
}
fragment ConflictMembers on RoomConflict {
  bookingId
  resourceId
  kind
  subject
  start
  end
  wantedStart
}
fragment BookingProblem on Problem {
  code
  message
  ... on ConflictProblem {
    conflicts {
      ...ConflictMembers
    }
    alternatives {
      resourceId
      resourceName
      start
      end
    }
  }
}`) as unknown as TypedDocumentString<MakeBookingMutation, MakeBookingMutationVariables>;
export const ReadBookingDocument = new TypedDocumentString(`
    query ReadBooking($id: ID!) {
  booking(id: $id) {
    ...BookingMembers
  }
}
    fragment BookingMembers on Booking {
  id
  uid
  resourceId
  resourceName
  locationId
  subject
  description
  start
  end
  timeZone
  status
  kind
  organizer {
    personId
    displayName
    email
  }
  isPrivate
  seriesId
  recurrenceRule
  setupMinutes
  teardownMinutes
  checkIn {
    required
    from
    until
    checkedInAt
  }
  origin {
    system
    batchId
    jobID: jobKey
    lektionId: lessonKey
    mailItemId
  }
  lektion: lessonSummary {
    fach: subject
    klassen: classes
    lehrpersonen: teachers
    status
    ursprung: origin {
      ressourceName: resourceName
      lehrpersonen: teachers
      fach: subject
      beginn: start
      ende: end
    }
  }
  createdAt
  createdBy {
    personId
    displayName
  }
  decision {
    verdict
    decidedAt
    decidedBy {
      personId
      displayName
    }
    reason
  }
  changedAt
  version
}`) as unknown as TypedDocumentString<ReadBookingQuery, ReadBookingQueryVariables>;
export const ListBookingsDocument = new TypedDocumentString(`
    query ListBookings($filter: BookingFilter!, $order: SortOrder, $first: Int, $after: String, $last: Int, $before: String) {
  bookings(
    filter: $filter
    order: $order
    first: $first
    after: $after
    last: $last
    before: $before
  ) {
    nodes {
      ...BookingMembers
    }
    pageInfo {
      hasNextPage
      endCursor
      hasPreviousPage
      startCursor
    }
  }
}
    fragment BookingMembers on Booking {
  id
  uid
  resourceId
  resourceName
  locationId
  subject
  description
  start
  end
  timeZone
  status
  kind
  organizer {
    personId
    displayName
    email
  }
  isPrivate
  seriesId
  recurrenceRule
  setupMinutes
  teardownMinutes
  checkIn {
    required
    from
    until
    checkedInAt
  }
  origin {
    system
    batchId
    jobID: jobKey
    lektionId: lessonKey
    mailItemId
  }
  lektion: lessonSummary {
    fach: subject
    klassen: classes
    lehrpersonen: teachers
    status
    ursprung: origin {
      ressourceName: resourceName
      lehrpersonen: teachers
      fach: subject
      beginn: start
      ende: end
    }
  }
  createdAt
  createdBy {
    personId
    displayName
  }
  decision {
    verdict
    decidedAt
    decidedBy {
      personId
      displayName
    }
    reason
  }
  changedAt
  version
}`) as unknown as TypedDocumentString<ListBookingsQuery, ListBookingsQueryVariables>;
export const ReadTimetableDocument = new TypedDocumentString(`
    query ReadTimetable($filter: TimetableFilter, $order: SortOrder, $first: Int, $after: String, $last: Int, $before: String) {
  timetable(
    filter: $filter
    order: $order
    first: $first
    after: $after
    last: $last
    before: $before
  ) {
    nodes {
      ...BookingMembers
    }
    pageInfo {
      hasNextPage
      endCursor
      hasPreviousPage
      startCursor
    }
  }
}
    fragment BookingMembers on Booking {
  id
  uid
  resourceId
  resourceName
  locationId
  subject
  description
  start
  end
  timeZone
  status
  kind
  organizer {
    personId
    displayName
    email
  }
  isPrivate
  seriesId
  recurrenceRule
  setupMinutes
  teardownMinutes
  checkIn {
    required
    from
    until
    checkedInAt
  }
  origin {
    system
    batchId
    jobID: jobKey
    lektionId: lessonKey
    mailItemId
  }
  lektion: lessonSummary {
    fach: subject
    klassen: classes
    lehrpersonen: teachers
    status
    ursprung: origin {
      ressourceName: resourceName
      lehrpersonen: teachers
      fach: subject
      beginn: start
      ende: end
    }
  }
  createdAt
  createdBy {
    personId
    displayName
  }
  decision {
    verdict
    decidedAt
    decidedBy {
      personId
      displayName
    }
    reason
  }
  changedAt
  version
}`) as unknown as TypedDocumentString<ReadTimetableQuery, ReadTimetableQueryVariables>;
export const ChangeBookingDocument = new TypedDocumentString(`
    mutation ChangeBooking($id: ID!, $version: Int!, $input: ChangeBookingInput!, $scope: Scope, $conflictHandling: ConflictHandling) {
  result: changeBooking(
    id: $id
    version: $version
    input: $input
    scope: $scope
    conflictHandling: $conflictHandling
  ) {
    ...BookingMembers
    ...BookingProblem
  }
}
    fragment BookingMembers on Booking {
  id
  uid
  resourceId
  resourceName
  locationId
  subject
  description
  start
  end
  timeZone
  status
  kind
  organizer {
    personId
    displayName
    email
  }
  isPrivate
  seriesId
  recurrenceRule
  setupMinutes
  teardownMinutes
  checkIn {
    required
    from
    until
    checkedInAt
  }
  origin {
    system
    batchId
    jobID: jobKey
    lektionId: lessonKey
    mailItemId
  }
  lektion: lessonSummary {
    fach: subject
    klassen: classes
    lehrpersonen: teachers
    status
    ursprung: origin {
      ressourceName: resourceName
      lehrpersonen: teachers
      fach: subject
      beginn: start
      ende: end
    }
  }
  createdAt
  createdBy {
    personId
    displayName
  }
  decision {
    verdict
    decidedAt
    decidedBy {
      personId
      displayName
    }
    reason
  }
  changedAt
  version
}
fragment ConflictMembers on RoomConflict {
  bookingId
  resourceId
  kind
  subject
  start
  end
  wantedStart
}
fragment BookingProblem on Problem {
  code
  message
  ... on ConflictProblem {
    conflicts {
      ...ConflictMembers
    }
    alternatives {
      resourceId
      resourceName
      start
      end
    }
  }
}`) as unknown as TypedDocumentString<ChangeBookingMutation, ChangeBookingMutationVariables>;
export const CancelBookingDocument = new TypedDocumentString(`
    mutation CancelBooking($id: ID!, $version: Int, $scope: Scope) {
  result: cancelBooking(id: $id, version: $version, scope: $scope) {
    ...BookingMembers
    ...BookingProblem
  }
}
    fragment BookingMembers on Booking {
  id
  uid
  resourceId
  resourceName
  locationId
  subject
  description
  start
  end
  timeZone
  status
  kind
  organizer {
    personId
    displayName
    email
  }
  isPrivate
  seriesId
  recurrenceRule
  setupMinutes
  teardownMinutes
  checkIn {
    required
    from
    until
    checkedInAt
  }
  origin {
    system
    batchId
    jobID: jobKey
    lektionId: lessonKey
    mailItemId
  }
  lektion: lessonSummary {
    fach: subject
    klassen: classes
    lehrpersonen: teachers
    status
    ursprung: origin {
      ressourceName: resourceName
      lehrpersonen: teachers
      fach: subject
      beginn: start
      ende: end
    }
  }
  createdAt
  createdBy {
    personId
    displayName
  }
  decision {
    verdict
    decidedAt
    decidedBy {
      personId
      displayName
    }
    reason
  }
  changedAt
  version
}
fragment ConflictMembers on RoomConflict {
  bookingId
  resourceId
  kind
  subject
  start
  end
  wantedStart
}
fragment BookingProblem on Problem {
  code
  message
  ... on ConflictProblem {
    conflicts {
      ...ConflictMembers
    }
    alternatives {
      resourceId
      resourceName
      start
      end
    }
  }
}`) as unknown as TypedDocumentString<CancelBookingMutation, CancelBookingMutationVariables>;
export const DecideBookingDocument = new TypedDocumentString(`
    mutation DecideBooking($id: ID!, $version: Int!, $input: DecisionInput!, $scope: Scope) {
  result: decideBooking(id: $id, version: $version, input: $input, scope: $scope) {
    ...BookingMembers
    ...BookingProblem
  }
}
    fragment BookingMembers on Booking {
  id
  uid
  resourceId
  resourceName
  locationId
  subject
  description
  start
  end
  timeZone
  status
  kind
  organizer {
    personId
    displayName
    email
  }
  isPrivate
  seriesId
  recurrenceRule
  setupMinutes
  teardownMinutes
  checkIn {
    required
    from
    until
    checkedInAt
  }
  origin {
    system
    batchId
    jobID: jobKey
    lektionId: lessonKey
    mailItemId
  }
  lektion: lessonSummary {
    fach: subject
    klassen: classes
    lehrpersonen: teachers
    status
    ursprung: origin {
      ressourceName: resourceName
      lehrpersonen: teachers
      fach: subject
      beginn: start
      ende: end
    }
  }
  createdAt
  createdBy {
    personId
    displayName
  }
  decision {
    verdict
    decidedAt
    decidedBy {
      personId
      displayName
    }
    reason
  }
  changedAt
  version
}
fragment ConflictMembers on RoomConflict {
  bookingId
  resourceId
  kind
  subject
  start
  end
  wantedStart
}
fragment BookingProblem on Problem {
  code
  message
  ... on ConflictProblem {
    conflicts {
      ...ConflictMembers
    }
    alternatives {
      resourceId
      resourceName
      start
      end
    }
  }
}`) as unknown as TypedDocumentString<DecideBookingMutation, DecideBookingMutationVariables>;
export const CheckInDocument = new TypedDocumentString(`
    mutation CheckIn($id: ID!) {
  result: checkIn(id: $id) {
    ...BookingMembers
    ...BookingProblem
  }
}
    fragment BookingMembers on Booking {
  id
  uid
  resourceId
  resourceName
  locationId
  subject
  description
  start
  end
  timeZone
  status
  kind
  organizer {
    personId
    displayName
    email
  }
  isPrivate
  seriesId
  recurrenceRule
  setupMinutes
  teardownMinutes
  checkIn {
    required
    from
    until
    checkedInAt
  }
  origin {
    system
    batchId
    jobID: jobKey
    lektionId: lessonKey
    mailItemId
  }
  lektion: lessonSummary {
    fach: subject
    klassen: classes
    lehrpersonen: teachers
    status
    ursprung: origin {
      ressourceName: resourceName
      lehrpersonen: teachers
      fach: subject
      beginn: start
      ende: end
    }
  }
  createdAt
  createdBy {
    personId
    displayName
  }
  decision {
    verdict
    decidedAt
    decidedBy {
      personId
      displayName
    }
    reason
  }
  changedAt
  version
}
fragment ConflictMembers on RoomConflict {
  bookingId
  resourceId
  kind
  subject
  start
  end
  wantedStart
}
fragment BookingProblem on Problem {
  code
  message
  ... on ConflictProblem {
    conflicts {
      ...ConflictMembers
    }
    alternatives {
      resourceId
      resourceName
      start
      end
    }
  }
}`) as unknown as TypedDocumentString<CheckInMutation, CheckInMutationVariables>;
export const ReleaseBookingDocument = new TypedDocumentString(`
    mutation ReleaseBooking($id: ID!) {
  result: releaseBooking(id: $id) {
    ...BookingMembers
    ...BookingProblem
  }
}
    fragment BookingMembers on Booking {
  id
  uid
  resourceId
  resourceName
  locationId
  subject
  description
  start
  end
  timeZone
  status
  kind
  organizer {
    personId
    displayName
    email
  }
  isPrivate
  seriesId
  recurrenceRule
  setupMinutes
  teardownMinutes
  checkIn {
    required
    from
    until
    checkedInAt
  }
  origin {
    system
    batchId
    jobID: jobKey
    lektionId: lessonKey
    mailItemId
  }
  lektion: lessonSummary {
    fach: subject
    klassen: classes
    lehrpersonen: teachers
    status
    ursprung: origin {
      ressourceName: resourceName
      lehrpersonen: teachers
      fach: subject
      beginn: start
      ende: end
    }
  }
  createdAt
  createdBy {
    personId
    displayName
  }
  decision {
    verdict
    decidedAt
    decidedBy {
      personId
      displayName
    }
    reason
  }
  changedAt
  version
}
fragment ConflictMembers on RoomConflict {
  bookingId
  resourceId
  kind
  subject
  start
  end
  wantedStart
}
fragment BookingProblem on Problem {
  code
  message
  ... on ConflictProblem {
    conflicts {
      ...ConflictMembers
    }
    alternatives {
      resourceId
      resourceName
      start
      end
    }
  }
}`) as unknown as TypedDocumentString<ReleaseBookingMutation, ReleaseBookingMutationVariables>;
export const ExtendBookingDocument = new TypedDocumentString(`
    mutation ExtendBooking($id: ID!, $version: Int, $minutes: Int!) {
  result: extendBooking(id: $id, version: $version, minutes: $minutes) {
    ...BookingMembers
    ...BookingProblem
  }
}
    fragment BookingMembers on Booking {
  id
  uid
  resourceId
  resourceName
  locationId
  subject
  description
  start
  end
  timeZone
  status
  kind
  organizer {
    personId
    displayName
    email
  }
  isPrivate
  seriesId
  recurrenceRule
  setupMinutes
  teardownMinutes
  checkIn {
    required
    from
    until
    checkedInAt
  }
  origin {
    system
    batchId
    jobID: jobKey
    lektionId: lessonKey
    mailItemId
  }
  lektion: lessonSummary {
    fach: subject
    klassen: classes
    lehrpersonen: teachers
    status
    ursprung: origin {
      ressourceName: resourceName
      lehrpersonen: teachers
      fach: subject
      beginn: start
      ende: end
    }
  }
  createdAt
  createdBy {
    personId
    displayName
  }
  decision {
    verdict
    decidedAt
    decidedBy {
      personId
      displayName
    }
    reason
  }
  changedAt
  version
}
fragment ConflictMembers on RoomConflict {
  bookingId
  resourceId
  kind
  subject
  start
  end
  wantedStart
}
fragment BookingProblem on Problem {
  code
  message
  ... on ConflictProblem {
    conflicts {
      ...ConflictMembers
    }
    alternatives {
      resourceId
      resourceName
      start
      end
    }
  }
}`) as unknown as TypedDocumentString<ExtendBookingMutation, ExtendBookingMutationVariables>;
export const UndoBookingDocument = new TypedDocumentString(`
    mutation UndoBooking($id: ID!, $version: Int!) {
  result: undoBooking(id: $id, version: $version) {
    ...BookingMembers
    ...BookingProblem
  }
}
    fragment BookingMembers on Booking {
  id
  uid
  resourceId
  resourceName
  locationId
  subject
  description
  start
  end
  timeZone
  status
  kind
  organizer {
    personId
    displayName
    email
  }
  isPrivate
  seriesId
  recurrenceRule
  setupMinutes
  teardownMinutes
  checkIn {
    required
    from
    until
    checkedInAt
  }
  origin {
    system
    batchId
    jobID: jobKey
    lektionId: lessonKey
    mailItemId
  }
  lektion: lessonSummary {
    fach: subject
    klassen: classes
    lehrpersonen: teachers
    status
    ursprung: origin {
      ressourceName: resourceName
      lehrpersonen: teachers
      fach: subject
      beginn: start
      ende: end
    }
  }
  createdAt
  createdBy {
    personId
    displayName
  }
  decision {
    verdict
    decidedAt
    decidedBy {
      personId
      displayName
    }
    reason
  }
  changedAt
  version
}
fragment ConflictMembers on RoomConflict {
  bookingId
  resourceId
  kind
  subject
  start
  end
  wantedStart
}
fragment BookingProblem on Problem {
  code
  message
  ... on ConflictProblem {
    conflicts {
      ...ConflictMembers
    }
    alternatives {
      resourceId
      resourceName
      start
      end
    }
  }
}`) as unknown as TypedDocumentString<UndoBookingMutation, UndoBookingMutationVariables>;
export const UpdateLessonJobsDocument = new TypedDocumentString(`
    mutation UpdateLessonJobs($jobs: [LessonJobChangeInput!]!, $options: BatchOptions) {
  updateLessonJobs(jobs: $jobs, options: $options) {
    __typename
    ... on BatchAccepted {
      batch {
        id
        operation
        validateOnly
        onConflict
      }
    }
    ... on Problem {
      code
      message
    }
  }
}
    `) as unknown as TypedDocumentString<UpdateLessonJobsMutation, UpdateLessonJobsMutationVariables>;
export const DeleteLessonJobsDocument = new TypedDocumentString(`
    mutation DeleteLessonJobs($jobs: [LessonJobDeletionInput!]!, $options: BatchOptions) {
  deleteLessonJobs(jobs: $jobs, options: $options) {
    __typename
    ... on BatchAccepted {
      batch {
        id
        operation
        validateOnly
        onConflict
      }
    }
    ... on Problem {
      code
      message
    }
  }
}
    `) as unknown as TypedDocumentString<DeleteLessonJobsMutation, DeleteLessonJobsMutationVariables>;
export const ListLessonJobsDocument = new TypedDocumentString(`
    query ListLessonJobs($jobKey: String, $first: Int, $after: String, $last: Int, $before: String) {
  lessonJobs(
    jobKey: $jobKey
    first: $first
    after: $after
    last: $last
    before: $before
  ) {
    nodes {
      ...LessonJobMembers
    }
    pageInfo {
      hasNextPage
      endCursor
      hasPreviousPage
      startCursor
    }
  }
}
    fragment LessonJobMembers on LessonJob {
  jobID: jobKey
  bezeichnung: designation
  quelle: source
  standort: locationName
  bemerkung: remark
  lessonCount
  batchId
  createdAt
  changedAt
  createdBy {
    personId
    displayName
  }
}`) as unknown as TypedDocumentString<ListLessonJobsQuery, ListLessonJobsQueryVariables>;
export const ListLessonsDocument = new TypedDocumentString(`
    query ListLessons($filter: LessonFilter, $order: SortOrder, $first: Int, $after: String, $last: Int, $before: String) {
  lessons(
    filter: $filter
    order: $order
    first: $first
    after: $after
    last: $last
    before: $before
  ) {
    nodes {
      ...LessonMembers
    }
    pageInfo {
      hasNextPage
      endCursor
      hasPreviousPage
      startCursor
    }
  }
}
    fragment LessonMembers on Lesson {
  lektionId: lessonKey
  jobID: jobKey
  beginn: start
  ende: end
  ressourceName: resourceName
  ressourceId: resourceId
  titel: title
  fach: subject
  bemerkung: remark
  klassen: classes
  lehrpersonen: teachers
  status
  kopplungId: couplingKey
  privat: isPrivate
  bookingId
  ursprung: origin {
    ressourceName: resourceName
    lehrpersonen: teachers
    fach: subject
    beginn: start
    ende: end
  }
}`) as unknown as TypedDocumentString<ListLessonsQuery, ListLessonsQueryVariables>;
export const ReadLessonJobDocument = new TypedDocumentString(`
    query ReadLessonJob($jobKey: String!) {
  lessonJob(jobKey: $jobKey) {
    ...LessonJobMembers
  }
}
    fragment LessonJobMembers on LessonJob {
  jobID: jobKey
  bezeichnung: designation
  quelle: source
  standort: locationName
  bemerkung: remark
  lessonCount
  batchId
  createdAt
  changedAt
  createdBy {
    personId
    displayName
  }
}`) as unknown as TypedDocumentString<ReadLessonJobQuery, ReadLessonJobQueryVariables>;
export const ReadLessonDocument = new TypedDocumentString(`
    query ReadLesson($jobKey: String!, $lessonKey: String!) {
  lesson(jobKey: $jobKey, lessonKey: $lessonKey) {
    ...LessonMembers
  }
}
    fragment LessonMembers on Lesson {
  lektionId: lessonKey
  jobID: jobKey
  beginn: start
  ende: end
  ressourceName: resourceName
  ressourceId: resourceId
  titel: title
  fach: subject
  bemerkung: remark
  klassen: classes
  lehrpersonen: teachers
  status
  kopplungId: couplingKey
  privat: isPrivate
  bookingId
  ursprung: origin {
    ressourceName: resourceName
    lehrpersonen: teachers
    fach: subject
    beginn: start
    ende: end
  }
}`) as unknown as TypedDocumentString<ReadLessonQuery, ReadLessonQueryVariables>;
export const ReadLessonJobByIdDocument = new TypedDocumentString(`
    query ReadLessonJobById($id: ID!) {
  lessonJob(id: $id) {
    ...LessonJobMembers
  }
}
    fragment LessonJobMembers on LessonJob {
  jobID: jobKey
  bezeichnung: designation
  quelle: source
  standort: locationName
  bemerkung: remark
  lessonCount
  batchId
  createdAt
  changedAt
  createdBy {
    personId
    displayName
  }
}`) as unknown as TypedDocumentString<ReadLessonJobByIdQuery, ReadLessonJobByIdQueryVariables>;
export const FindLessonDocument = new TypedDocumentString(`
    query FindLesson($jobKey: String!, $lessonKey: String!) {
  lesson(jobKey: $jobKey, lessonKey: $lessonKey) {
    id
  }
}
    `) as unknown as TypedDocumentString<FindLessonQuery, FindLessonQueryVariables>;
export const ReadLessonByIdDocument = new TypedDocumentString(`
    query ReadLessonById($id: ID!) {
  lesson(id: $id) {
    ...LessonMembers
  }
}
    fragment LessonMembers on Lesson {
  lektionId: lessonKey
  jobID: jobKey
  beginn: start
  ende: end
  ressourceName: resourceName
  ressourceId: resourceId
  titel: title
  fach: subject
  bemerkung: remark
  klassen: classes
  lehrpersonen: teachers
  status
  kopplungId: couplingKey
  privat: isPrivate
  bookingId
  ursprung: origin {
    ressourceName: resourceName
    lehrpersonen: teachers
    fach: subject
    beginn: start
    ende: end
  }
}`) as unknown as TypedDocumentString<ReadLessonByIdQuery, ReadLessonByIdQueryVariables>;
export const ReadTenantDocument = new TypedDocumentString(`
    query ReadTenant {
  tenant {
    ...TenantMembers
  }
}
    fragment TenantMembers on Tenant {
  mandator
  name
  parameters {
    pinAuthenticationAllowed
    usersMayImport
    calendarWriting
    calendarEdits
    declineConflicts
  }
  colour
  logo
  version
}`) as unknown as TypedDocumentString<ReadTenantQuery, ReadTenantQueryVariables>;
export const ChangeTenantDocument = new TypedDocumentString(`
    mutation ChangeTenant($version: Int!, $input: ChangeTenantInput!) {
  result: changeTenant(version: $version, input: $input) {
    ... on Tenant {
      ...TenantMembers
    }
    ... on Problem {
      code
      message
    }
  }
}
    fragment TenantMembers on Tenant {
  mandator
  name
  parameters {
    pinAuthenticationAllowed
    usersMayImport
    calendarWriting
    calendarEdits
    declineConflicts
  }
  colour
  logo
  version
}`) as unknown as TypedDocumentString<ChangeTenantMutation, ChangeTenantMutationVariables>;
export const ErasePersonDocument = new TypedDocumentString(`
    mutation ErasePerson($id: ID!, $version: Int, $alsoKnownAs: [String!]) {
  result: erasePerson(id: $id, version: $version, alsoKnownAs: $alsoKnownAs) {
    ... on Person {
      id
      name
      email
      timeZone
      role
      active
      erasedAt
      teacherCode
      version
    }
    ... on Problem {
      code
      message
    }
  }
}
    `) as unknown as TypedDocumentString<ErasePersonMutation, ErasePersonMutationVariables>;
export const PreviewRetirementDocument = new TypedDocumentString(`
    query PreviewRetirement($id: ID!) {
  retirementPreview(resourceId: $id) {
    resource {
      ...ResourceMembers
    }
    bookings
    series
    blocks
    lessons
    mailItems
    lastEnd
    displays
    hasMailCalendar
    version
    digest
  }
}
    fragment ResourceMembers on Resource {
  id
  locationId
  name
  kind
  capacity
  equipment
  mailbox
  checkInMinutes
  calendarWriting
  calendarEdits
  declineConflicts
  policyId
  active
  version
}`) as unknown as TypedDocumentString<PreviewRetirementQuery, PreviewRetirementQueryVariables>;
export const RetireResourceDocument = new TypedDocumentString(`
    mutation RetireResource($id: ID!, $version: Int!, $input: RetireResourceInput!) {
  result: retireResource(id: $id, version: $version, input: $input) {
    ... on Retired {
      resource {
        ...ResourceMembers
      }
      kept {
        ...UpcomingMembers
      }
      cancelled
      moved
      conflicts {
        bookingId
        resourceId
        kind
        subject
        start
        end
        wantedStart
      }
      version
    }
    ... on Problem {
      code
      message
    }
  }
}
    fragment ResourceMembers on Resource {
  id
  locationId
  name
  kind
  capacity
  equipment
  mailbox
  checkInMinutes
  calendarWriting
  calendarEdits
  declineConflicts
  policyId
  active
  version
}
fragment UpcomingMembers on UpcomingBookings {
  bookings
  series
  blocks
  lessons
  mailItems
  lastEnd
}`) as unknown as TypedDocumentString<RetireResourceMutation, RetireResourceMutationVariables>;
export const OpeningHoursDocument = new TypedDocumentString(`
    query OpeningHours($locationId: ID!, $from: Date, $to: Date, $timezoneLocationId: ID) {
  openingHours(
    locationId: $locationId
    from: $from
    to: $to
    timezoneLocationId: $timezoneLocationId
  ) {
    locationId
    locationName
    timeZone
    timeZoneSource
    from
    to
    resources {
      resourceId
      resourceName
      weekly {
        id
        locationId
        resourceId
        weekdays
        opens
        closes
        validFrom
        validTo
      }
      exceptions {
        id
        locationId
        resourceId
        fromDate
        toDate
        closed
        periods {
          opens
          closes
        }
        reason
      }
      intervals {
        localDate
        opens
        closes
        start
        end
        source
        clockChange
      }
    }
  }
}
    `) as unknown as TypedDocumentString<OpeningHoursQuery, OpeningHoursQueryVariables>;
export const OwnHoursDocument = new TypedDocumentString(`
    query OwnHours($resourceId: ID!) {
  openingRules(resourceId: $resourceId) {
    ...OwnRules
  }
  openingExceptions(resourceId: $resourceId) {
    ...OwnExceptions
  }
}
    fragment OwnRules on OpeningRuleList {
  locationId
  resourceId
  version
  items {
    id
    locationId
    resourceId
    weekdays
    opens
    closes
    validFrom
    validTo
  }
}
fragment OwnExceptions on OpeningExceptionList {
  locationId
  resourceId
  version
  items {
    id
    locationId
    resourceId
    fromDate
    toDate
    closed
    periods {
      opens
      closes
    }
    reason
  }
}`) as unknown as TypedDocumentString<OwnHoursQuery, OwnHoursQueryVariables>;
export const SetOpeningRulesDocument = new TypedDocumentString(`
    mutation SetOpeningRules($resourceId: ID!, $version: Int!, $items: [OpeningRuleInput!]!) {
  result: setOpeningRules(
    resourceId: $resourceId
    version: $version
    items: $items
  ) {
    __typename
    ...OwnRules
    ... on Problem {
      code
      message
    }
    ... on ValidationProblem {
      errors {
        field
        pointer
        otherPointer
        code
      }
    }
  }
}
    fragment OwnRules on OpeningRuleList {
  locationId
  resourceId
  version
  items {
    id
    locationId
    resourceId
    weekdays
    opens
    closes
    validFrom
    validTo
  }
}`) as unknown as TypedDocumentString<SetOpeningRulesMutation, SetOpeningRulesMutationVariables>;
export const SetOpeningExceptionsDocument = new TypedDocumentString(`
    mutation SetOpeningExceptions($resourceId: ID!, $version: Int!, $items: [OpeningExceptionInput!]!) {
  result: setOpeningExceptions(
    resourceId: $resourceId
    version: $version
    items: $items
  ) {
    __typename
    ...OwnExceptions
    ... on Problem {
      code
      message
    }
    ... on ValidationProblem {
      errors {
        field
        pointer
        otherPointer
        code
      }
    }
  }
}
    fragment OwnExceptions on OpeningExceptionList {
  locationId
  resourceId
  version
  items {
    id
    locationId
    resourceId
    fromDate
    toDate
    closed
    periods {
      opens
      closes
    }
    reason
  }
}`) as unknown as TypedDocumentString<SetOpeningExceptionsMutation, SetOpeningExceptionsMutationVariables>;
export const OwnHoursOfLocationDocument = new TypedDocumentString(`
    query OwnHoursOfLocation($locationId: ID!) {
  rules: locationOpeningRules(locationId: $locationId) {
    ...OwnRules
  }
  exceptions: locationOpeningExceptions(locationId: $locationId) {
    ...OwnExceptions
  }
}
    fragment OwnRules on OpeningRuleList {
  locationId
  resourceId
  version
  items {
    id
    locationId
    resourceId
    weekdays
    opens
    closes
    validFrom
    validTo
  }
}
fragment OwnExceptions on OpeningExceptionList {
  locationId
  resourceId
  version
  items {
    id
    locationId
    resourceId
    fromDate
    toDate
    closed
    periods {
      opens
      closes
    }
    reason
  }
}`) as unknown as TypedDocumentString<OwnHoursOfLocationQuery, OwnHoursOfLocationQueryVariables>;
export const SetHoursOfLocationDocument = new TypedDocumentString(`
    mutation SetHoursOfLocation($locationId: ID!, $rulesVersion: Int!, $rules: [OpeningRuleInput!]!, $exceptionsVersion: Int!, $exceptions: [OpeningExceptionInput!]!) {
  rules: setLocationOpeningRules(
    locationId: $locationId
    version: $rulesVersion
    items: $rules
  ) {
    __typename
    ...OwnRules
  }
  exceptions: setLocationOpeningExceptions(
    locationId: $locationId
    version: $exceptionsVersion
    items: $exceptions
  ) {
    __typename
    ...OwnExceptions
  }
}
    fragment OwnRules on OpeningRuleList {
  locationId
  resourceId
  version
  items {
    id
    locationId
    resourceId
    weekdays
    opens
    closes
    validFrom
    validTo
  }
}
fragment OwnExceptions on OpeningExceptionList {
  locationId
  resourceId
  version
  items {
    id
    locationId
    resourceId
    fromDate
    toDate
    closed
    periods {
      opens
      closes
    }
    reason
  }
}`) as unknown as TypedDocumentString<SetHoursOfLocationMutation, SetHoursOfLocationMutationVariables>;
export const ListActsDocument = new TypedDocumentString(`
    query ListActs($filter: ActFilter, $first: Int, $after: String) {
  audit(filter: $filter, first: $first, after: $after) {
    nodes {
      at
      person {
        personId
        displayName
      }
      action
      subject
      subjectId
      subjectName
      changes {
        member
        from
        to
      }
      requestId
    }
    pageInfo {
      hasNextPage
      endCursor
    }
  }
}
    `) as unknown as TypedDocumentString<ListActsQuery, ListActsQueryVariables>;
export const ListFreeResourcesDocument = new TypedDocumentString(`
    query ListFreeResources($input: FreeInput) {
  freeResources(input: $input) {
    resourceId
    resourceName
    locationId
    locationName
    timeZone
    kind
    capacity
    equipment
    freeUntil
  }
}
    `) as unknown as TypedDocumentString<ListFreeResourcesQuery, ListFreeResourcesQueryVariables>;
export const ReadUsageDocument = new TypedDocumentString(`
    query ReadUsage($input: UsageInput!, $resources: Boolean!, $hours: Boolean!, $weeks: Boolean!) {
  usage(input: $input) {
    resources @include(if: $resources) {
      resourceId
      resourceName
      locationId
      use {
        ...UseMembers
      }
    }
    hours @include(if: $hours) {
      weekday
      hour
      use {
        ...UseMembers
      }
    }
    weeks @include(if: $weeks) {
      locationId
      locationName
      week
      use {
        ...UseMembers
      }
    }
  }
}
    fragment UseMembers on Use {
  openMinutes
  occupiedMinutes
  occupancyPercent
  outsideMinutes
  unusedMinutes
  bookings
  noShows
  releasedEarly
}`) as unknown as TypedDocumentString<ReadUsageQuery, ReadUsageQueryVariables>;
export const ListOrganizersDocument = new TypedDocumentString(`
    query ListOrganizers($filter: OrganizerFilter, $first: Int, $after: String) {
  organizers(filter: $filter, first: $first, after: $after) {
    nodes {
      personId
      displayName
    }
    pageInfo {
      hasNextPage
      endCursor
    }
  }
}
    `) as unknown as TypedDocumentString<ListOrganizersQuery, ListOrganizersQueryVariables>;
export const SubmitCreateDocument = new TypedDocumentString(`
    mutation SubmitCreate($jobs: [LessonJobInput!]!, $options: BatchOptions) {
  result: createLessonJobs(jobs: $jobs, options: $options) {
    ...Submitted
  }
}
    fragment Submitted on SubmitBatchResult {
  ... on BatchAccepted {
    batch {
      id
      importStatus
    }
  }
  ... on Problem {
    code
    message
  }
  ... on LimitProblem {
    retryAfterSeconds
  }
}`) as unknown as TypedDocumentString<SubmitCreateMutation, SubmitCreateMutationVariables>;
export const SubmitUpdateDocument = new TypedDocumentString(`
    mutation SubmitUpdate($jobs: [LessonJobChangeInput!]!, $options: BatchOptions) {
  result: updateLessonJobs(jobs: $jobs, options: $options) {
    ...Submitted
  }
}
    fragment Submitted on SubmitBatchResult {
  ... on BatchAccepted {
    batch {
      id
      importStatus
    }
  }
  ... on Problem {
    code
    message
  }
  ... on LimitProblem {
    retryAfterSeconds
  }
}`) as unknown as TypedDocumentString<SubmitUpdateMutation, SubmitUpdateMutationVariables>;
export const SubmitDeleteDocument = new TypedDocumentString(`
    mutation SubmitDelete($jobs: [LessonJobDeletionInput!]!, $options: BatchOptions) {
  result: deleteLessonJobs(jobs: $jobs, options: $options) {
    ...Submitted
  }
}
    fragment Submitted on SubmitBatchResult {
  ... on BatchAccepted {
    batch {
      id
      importStatus
    }
  }
  ... on Problem {
    code
    message
  }
  ... on LimitProblem {
    retryAfterSeconds
  }
}`) as unknown as TypedDocumentString<SubmitDeleteMutation, SubmitDeleteMutationVariables>;
export const SendTimetableDocument = new TypedDocumentString(`
    mutation SendTimetable($input: TimetableFilesInput!, $options: TimetableOptions) {
  result: importTimetable(input: $input, options: $options) {
    ... on TimetableAccepted {
      batch {
        id
        importStatus
      }
      files {
        name
        format
        encoding
        separator
        lines
      }
      jobCount
      lessonCount
      noticeCount
      notices {
        file
        line
        code
        message
      }
    }
    ... on Problem {
      code
      message
    }
  }
}
    `) as unknown as TypedDocumentString<SendTimetableMutation, SendTimetableMutationVariables>;
export const CancelWholeDocument = new TypedDocumentString(`
    mutation CancelWhole($id: ID!) {
  result: cancelBatch(id: $id) {
    ... on BatchCancelled {
      batch {
        ...BatchMembers
      }
    }
    ... on Problem {
      code
      message
    }
  }
}
    fragment BatchEntryMembers on Batch {
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
  quelle: source
  createdAt
  startedAt
  finishedAt
  createdBy {
    personId
    displayName
  }
  queuePosition
}
fragment LessonErrorPage on LessonErrorConnection {
  nodes {
    severity
    index
    jobID: jobKey
    lektionIndex: lessonIndex
    lektionId: lessonKey
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
fragment BatchMembers on Batch {
  ...BatchEntryMembers
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
      index
      jobID: jobKey
      lektionIndex: lessonIndex
      lektionId: lessonKey
      fields
      before {
        ressourceName: resourceName
        beginn: start
        ende: end
      }
      after {
        ressourceName: resourceName
        beginn: start
        ende: end
      }
    }
  }
  errors(first: 100) {
    ...LessonErrorPage
  }
}`) as unknown as TypedDocumentString<CancelWholeMutation, CancelWholeMutationVariables>;
export const ReadBatchDocument = new TypedDocumentString(`
    query ReadBatch($id: ID!) {
  batch(id: $id) {
    ...BatchMembers
  }
}
    fragment BatchEntryMembers on Batch {
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
  quelle: source
  createdAt
  startedAt
  finishedAt
  createdBy {
    personId
    displayName
  }
  queuePosition
}
fragment LessonErrorPage on LessonErrorConnection {
  nodes {
    severity
    index
    jobID: jobKey
    lektionIndex: lessonIndex
    lektionId: lessonKey
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
fragment BatchMembers on Batch {
  ...BatchEntryMembers
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
      index
      jobID: jobKey
      lektionIndex: lessonIndex
      lektionId: lessonKey
      fields
      before {
        ressourceName: resourceName
        beginn: start
        ende: end
      }
      after {
        ressourceName: resourceName
        beginn: start
        ende: end
      }
    }
  }
  errors(first: 100) {
    ...LessonErrorPage
  }
}`) as unknown as TypedDocumentString<ReadBatchQuery, ReadBatchQueryVariables>;
export const ReadErrorsDocument = new TypedDocumentString(`
    query ReadErrors($id: ID!, $first: Int, $after: String) {
  batch(id: $id) {
    omittedErrors {
      severity
      code
      count
    }
    errors(first: $first, after: $after) {
      ...LessonErrorPage
    }
  }
}
    fragment LessonErrorPage on LessonErrorConnection {
  nodes {
    severity
    index
    jobID: jobKey
    lektionIndex: lessonIndex
    lektionId: lessonKey
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
}`) as unknown as TypedDocumentString<ReadErrorsQuery, ReadErrorsQueryVariables>;
export const ReadBatchesDocument = new TypedDocumentString(`
    query ReadBatches($filter: BatchFilter, $first: Int, $after: String, $last: Int, $before: String) {
  batches(
    filter: $filter
    first: $first
    after: $after
    last: $last
    before: $before
  ) {
    nodes {
      ...BatchEntryMembers
    }
    pageInfo {
      hasNextPage
      endCursor
      hasPreviousPage
      startCursor
    }
  }
}
    fragment BatchEntryMembers on Batch {
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
  quelle: source
  createdAt
  startedAt
  finishedAt
  createdBy {
    personId
    displayName
  }
  queuePosition
}`) as unknown as TypedDocumentString<ReadBatchesQuery, ReadBatchesQueryVariables>;
export const FollowBatchDocument = new TypedDocumentString(`
    subscription FollowBatch($batchId: ID!) {
  batchStatus(batchId: $batchId) {
    importStatus
  }
}
    `) as unknown as TypedDocumentString<FollowBatchSubscription, FollowBatchSubscriptionVariables>;