/** Timetables: the lessons and bookings of a class, a teacher, a resource or a person, whatever their status. */
import { checkPersonReader, checkReader } from '../access.ts';
import type { Viewer } from '../context.ts';
import type { Database } from '../db/database.ts';
import { Malformed } from '../errors.ts';
import { getResource, getTeacherCode } from '../tenants/service.ts';
import type { BookingFilter } from './booking.ts';
import type { ListFilter } from './selection.ts';

/** Whose timetable: that of the viewer when all members are absent; at most one is present. */
type TimetableOf = {
  klasse?: string | undefined;
  lehrperson?: string | undefined;
  resourceId?: number | undefined;
  personId?: number | undefined;
};

type When = Pick<BookingFilter, 'from' | 'to'> & Pick<ListFilter, 'order'>;

/**
 * The filter for the bookings of a timetable. A person's are those for the person, and lessons that name its TeacherCode.
 * @throws Forbidden for a display, and for another person unless the viewer is an Admin; NotFound, also for a resource or
 * person of another tenant; Malformed for more than one
 */
export async function filterOfTimetable(
  db: Database,
  viewer: Viewer,
  { from, to, order, ...of }: TimetableOf & When,
): Promise<BookingFilter & When> {
  checkReader(viewer);
  const when = { from, to, order };
  const { klasse, lehrperson, resourceId, personId = viewer.personId } = of;
  if ([klasse, lehrperson, resourceId, of.personId].filter((one) => one !== undefined).length > 1)
    throw new Malformed('Klasse, Lehrperson, ResourceId, PersonId: name one of them, or none for your own timetable.');
  if (klasse !== undefined) return { ...when, klasse };
  if (lehrperson !== undefined) return { ...when, lehrperson };
  if (resourceId !== undefined) return { ...when, resourceId: [(await getResource(db, viewer, resourceId)).id] };
  checkPersonReader(viewer, personId);
  return { ...when, attendee: { personId, teacherCode: await getTeacherCode(db, viewer, personId) } };
}
