/**
 * Full-text search of bookings and lessons, by the terms that `search_terms` makes of their content
 * (sql/000036_search_terms.sql). Each term belongs to a span of thirty days, so a query reads only those of its window.
 */
import { type RawBuilder, sql } from 'kysely';
import type { Viewer } from '../context.ts';
import { longestLesson } from './lektion.ts';
import type { Questions } from './questions.ts';
import { amongVisible } from './sight.ts';
import { isInactive, occupies } from './status.ts';

type Window = { from: Date; to: Date };

const query = (
  mandatorId: number,
  first: RawBuilder<unknown>,
  last: RawBuilder<unknown>,
  {
    klasse = null,
    lehrperson = null,
    fach = null,
    search = null,
  }: {
    [Name in Exclude<keyof Questions, 'attendee'>]?: string | null | undefined;
  },
) => sql`search_query(${mandatorId}, ${first}, ${last}, ${klasse}, ${lehrperson}, ${fach}, ${search})`;

const termsOfLesson = sql`search_terms(lesson.mandator_id, lesson.beginn, lesson.klassen, lesson.lehrpersonen, lesson.fach, lesson.titel, lesson.bemerkung)`;

/** The condition that a lesson in the window matches. */
export const lessonMatches = (
  { mandatorId }: Viewer,
  { from, to }: Window,
  questions: Questions,
): RawBuilder<boolean> => sql`
  ${termsOfLesson}
    @@ ${query(mandatorId, sql`${from}::timestamptz - ${longestLesson}`, sql`${to}::timestamptz`, questions)}
  and lesson.beginn > ${from}::timestamptz - ${longestLesson} and lesson.beginn < ${to} and lesson.ende > ${from}`;

/** The condition that a lesson which begins between the two instants names the teacher, in any case. */
export const namesTeacher = (
  mandatorId: number,
  first: RawBuilder<unknown>,
  last: RawBuilder<unknown>,
  name: RawBuilder<string>,
): RawBuilder<boolean> => sql`
  ${termsOfLesson} @@ search_query(${mandatorId}, ${first}, ${last}, null, ${name}, null, null)`;

const termsOfBooking = sql`
  search_terms(booking.mandator_id, lower(booking.occupied), null, null, null, booking.subject, booking.description)`;

/** The filter for the lessons of a person; empty for a person without a TeacherCode. */
const asTeacher = (attendee: NonNullable<Questions['attendee']>): Questions => ({
  lehrperson: attendee.teacherCode ?? undefined,
});

/** Selects the ids of the matching bookings in the window. */
export function selectMatches(viewer: Viewer, window: Window, questions: Questions): RawBuilder<unknown> {
  const { mandatorId } = viewer;
  const { from, to } = window;
  const { klasse, lehrperson, fach, search, attendee } = questions;
  const begin = sql`lower(booking.occupied)`;
  if (attendee)
    return sql`
      select booking.id from booking
      where booking.mandator_id = ${mandatorId} and booking.organizer_id = ${attendee.personId}
        and ${begin} < ${to} and upper(booking.occupied) > ${from}
      ${attendee.teacherCode === null ? sql`` : sql`union all ${selectMatches(viewer, window, asTeacher(attendee))}`}`;
  const lessons = sql`
    select lesson.booking_id from lesson
    where lesson.mandator_id = ${mandatorId} and ${lessonMatches(viewer, window, questions)}`;
  if (search === undefined || (klasse ?? lehrperson ?? fach) !== undefined) return lessons;
  const others = sql`booking.mandator_id = ${mandatorId} and booking.kind <> 'Lesson'`;
  // Few bookings reach into the window from before it. They are found room by room: a join might search all tenants.
  const reaching = (condition: RawBuilder<boolean>) => sql`(
    select * from booking where booking.resource_id = room.id and booking.occupied @> ${from}::timestamptz
      and ${condition} offset 0)`;
  return sql`${lessons}
    union all
    select booking.id from booking
    where ${others} and ${begin} >= ${from} and ${begin} < ${to}
      and ${termsOfBooking} @@ ${query(mandatorId, sql`${from}::timestamptz`, sql`${to}::timestamptz`, { search })}
    union all
    select booking.id from resource as room cross join lateral (${reaching(occupies)}
      union all ${reaching(isInactive)}) as booking
    where room.mandator_id = ${mandatorId} and ${others} and ${begin} < ${from}
      and ${termsOfBooking} @@ ${query(mandatorId, begin, begin, { search })}`;
}

/** Selects the matching bookings among `ids`, whenever they take place. */
export function selectMatchesAmong(viewer: Viewer, ids: readonly number[], questions: Questions) {
  const { mandatorId } = viewer;
  const { attendee } = questions;
  const asked = attendee ? asTeacher(attendee) : questions;
  const at = (instant: RawBuilder<unknown>) => query(mandatorId, instant, instant, asked);
  return sql<{ id: number }>`
    select booking.id from booking left join lesson
      on lesson.mandator_id = booking.mandator_id and lesson.booking_id = booking.id and booking.kind = 'Lesson'
    where booking.mandator_id = ${mandatorId} and booking.id = any(${[...ids]})
      and case
        when booking.kind = 'Lesson' then ${termsOfLesson} @@ ${at(sql`lesson.beginn`)}
        else ${attendee ? sql`booking.organizer_id = ${attendee.personId}` : sql`${termsOfBooking} @@ ${at(sql`lower(booking.occupied)`)}`}
      end
      ${attendee?.personId === viewer.personId ? sql`` : sql`and ${amongVisible(viewer)}`}`;
}
