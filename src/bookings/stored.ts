/** The query for stored bookings with the names they refer to, and bookings by their ids. */
import { type RawBuilder, sql } from 'kysely';
import { boundedList, octetsBefore } from '../db/bounded-list.ts';
import type { Database } from '../db/database.ts';
import { type Asked, readById } from '../db/read-by-id.ts';
import type { DecisionVerdict, StoredBooking } from './booking.ts';
import { type CoupledLesson, mostOctets, orderOfLessons, together } from './coupled.ts';
import type { BookingKey } from './selection.ts';
import { senderOfLessons } from './sight.ts';
import { endOfBooking, isRequested, startOfBooking, statusOf } from './status.ts';

export type StoredWithKey = StoredBooking & { key: BookingKey };

export type StoredRow = Omit<
  StoredBooking,
  'uid' | 'organizer' | 'checkIn' | 'origin' | 'lektion' | 'createdBy' | 'decision'
> & {
  mandatorUid: string;
  organizerId: number | null;
  organizerName: string | null;
  organizerEmail: string | null;
  checkInFrom: Date | null;
  checkInUntil: Date;
  checkedInAt: Date | null;
  system: StoredBooking['origin']['system'];
  batchId: string | null;
  mailItemId: string | null;
  /** The coupled lessons of a booking of kind Lesson, in their order. */
  lessons: (CoupledLesson & { jobId: string; lektionId: string; fach: string | null })[] | null;
  creatorId: number | null;
  creatorName: string;
  approval: 'Requested' | DecisionVerdict | null;
  decidedAt: Date | null;
  deciderId: number | null;
  deciderName: string;
  decisionReason: string | null;
  micros: string;
};

/**
 * Joins the bookings of `found`, a query of rows of the table, with the names they refer to. Every join uses a primary key;
 * only bookings of kind Lesson look for lessons.
 */
export const describeBookings = <More = unknown>(
  found: RawBuilder<unknown>,
  more: RawBuilder<unknown> = sql``,
): RawBuilder<StoredRow & More> => sql<StoredRow & More>`
  select booking.id, mandator.uid as "mandatorUid", booking.resource_id as "resourceId", resource.name as "resourceName",
    resource.location_id as "locationId", booking.subject, booking.description,
    ${startOfBooking} as start,
    ${endOfBooking} as "end",
    location.time_zone as "timeZone", ${statusOf} as status, booking.kind,
    organizer.id as "organizerId", coalesce(organizer.name, booking.organizer_name) as "organizerName",
    case when organizer.erased_at is null then coalesce(organizer.email, booking.organizer_email) end as "organizerEmail",
    booking.is_private as "isPrivate", booking.series_id as "seriesId",
    (select recurrence_rule from booking_series as series
      where series.mandator_id = booking.mandator_id and series.id = booking.series_id) as "recurrenceRule",
    booking.setup_minutes as "setupMinutes", booking.teardown_minutes as "teardownMinutes",
    booking.check_in_from as "checkInFrom", booking.check_in_until as "checkInUntil",
    booking.checked_in_at as "checkedInAt", booking.origin as system, booking.batch_id as "batchId",
    booking.mail_item_id as "mailItemId",
    lesson.list as lessons, creator.id as "creatorId", creator.name as "creatorName",
    booking.approval, booking.decided_at as "decidedAt", booking.decided_by as "deciderId", decider.name as "deciderName",
    booking.decision_reason as "decisionReason", case when ${isRequested} then coalesce((
      select may_decide from policy where policy.mandator_id = booking.mandator_id and policy.id = resource.policy_id), '{}')
    end as deciders,
    booking.created_at as "createdAt", booking.changed_at as "changedAt", booking.version,
    (extract(epoch from lower(booking.occupied)) * 1000000)::bigint::text as micros
    ${more}
  from (${found}) as booking
  join mandator on mandator.id = booking.mandator_id
  join resource on resource.mandator_id = booking.mandator_id and resource.id = booking.resource_id
  join location on location.mandator_id = booking.mandator_id and location.id = resource.location_id
  left join person as organizer on organizer.mandator_id = booking.mandator_id and organizer.id = booking.organizer_id
  left join lateral (
    select ${senderOfLessons} as created_by, ${sql.raw(boundedList(orderOfLessons, mostOctets))} as list from (
      select lesson.*, ${sql.raw(octetsBefore(orderOfLessons))} from (
        select lesson.privat, lesson.job, lesson.lektion_id, job.created_by as sender, json_build_object(
          'jobId', job.job_id, 'lektionId', lesson.lektion_id, 'fach', lesson.fach, 'klassen', lesson.klassen,
          'lehrpersonen', lesson.lehrpersonen, 'status', lesson.status, 'ursprung', lesson.ursprung,
          'originRoom', lesson.origin_resource_id, 'originName', case when lesson.origin_resource_id is not null then (
            select name from resource as origin
            where origin.mandator_id = lesson.mandator_id and origin.id = lesson.origin_resource_id) end) as content
        from lesson
        join lesson_job as job on job.mandator_id = lesson.mandator_id and job.id = lesson.job
        where lesson.mandator_id = booking.mandator_id and lesson.booking_id = booking.id and booking.kind = 'Lesson'
        offset 0
      ) as lesson
    ) as lesson
  ) as lesson on true
  left join person as creator
    on creator.mandator_id = booking.mandator_id and creator.id = coalesce(booking.created_by, lesson.created_by)
  left join person as decider on decider.mandator_id = booking.mandator_id and decider.id = booking.decided_by`;

/** The organizer: a person of the tenant, or a name or address from outside that a mail server has reported. */
function toOrganizer({ organizerId, organizerName, organizerEmail }: StoredRow): StoredBooking['organizer'] {
  const displayName = organizerName ?? organizerEmail;
  return displayName === null ? null : { personId: organizerId, displayName, email: organizerEmail };
}

function toDecision({
  approval,
  decidedAt,
  deciderId,
  deciderName,
  decisionReason,
}: StoredRow): StoredBooking['decision'] {
  if (decidedAt === null) return null;
  const by = deciderId === null ? null : { personId: deciderId, displayName: deciderName };
  return { verdict: approval as DecisionVerdict, at: decidedAt, by, reason: decisionReason };
}

/** Copies member by member: rest and spread of so many members cost more than all other work on a booking. */
export function toStored(row: StoredRow): StoredWithKey {
  const { lessons, checkInFrom } = row;
  const [first] = lessons ?? [];
  return {
    key: [row.micros, row.id],
    id: row.id,
    uid: `booking-${row.id}@${row.mandatorUid}`,
    resourceId: row.resourceId,
    resourceName: row.resourceName,
    locationId: row.locationId,
    subject: row.subject,
    description: row.description,
    start: row.start,
    end: row.end,
    timeZone: row.timeZone,
    status: row.status,
    kind: row.kind,
    organizer: toOrganizer(row),
    isPrivate: row.isPrivate,
    seriesId: row.seriesId,
    recurrenceRule: row.recurrenceRule,
    setupMinutes: row.setupMinutes,
    teardownMinutes: row.teardownMinutes,
    checkIn:
      checkInFrom === null
        ? null
        : { required: true, from: checkInFrom, until: row.checkInUntil, checkedInAt: row.checkedInAt },
    origin: {
      system: row.system,
      batchId: row.batchId,
      jobId: first?.jobId ?? null,
      lektionId: first?.lektionId ?? null,
      mailItemId: row.mailItemId,
    },
    lektion:
      lessons && first
        ? {
            fach: first.fach,
            status: first.status,
            ursprung: first.ursprung,
            klassen: together(lessons.map(({ klassen }) => klassen)),
            lehrpersonen: together(lessons.map(({ lehrpersonen }) => lehrpersonen)),
            lessons,
          }
        : null,
    createdAt: row.createdAt,
    createdBy: row.creatorId === null ? null : { personId: row.creatorId, displayName: row.creatorName },
    decision: toDecision(row),
    deciders: row.deciders,
    changedAt: row.changedAt,
    version: row.version,
  };
}

export const selectStored = (asked: RawBuilder<unknown> | Asked) =>
  describeBookings<{ position: number }>(
    sql`select booking.*, asked.position from ${asked}
      join booking on booking.mandator_id = asked."askedMandator" and booking.id = asked."askedId"`,
    sql`, booking.position`,
  );

const bookingById = readById<StoredRow>('booking by id', (_from, db, asked) => ({
  compile: () => selectStored(asked).compile(db),
}));

export async function findStored(db: Database, mandatorId: number, id: number): Promise<StoredBooking | undefined> {
  const row = await bookingById(db, mandatorId, id);
  return row && toStored(row);
}
