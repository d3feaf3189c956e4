/** The parameters of lists of bookings. */
import { z } from 'zod';
import * as parameters from '../query-parameters.ts';
import { questions } from './questions.ts';
import { bookingKind, bookingStatus } from './wire.ts';

export const bookingOrder = parameters.sortOrder.optional().meta({
  description: 'The order by the beginning of the occupied time; ascending by default.',
});

/** Resources that a list names. */
const mostResources = 200;

/** Whose timetable, and its window. */
export const timetableFilter = z.strictObject({
  Klasse: questions.Klasse.meta({ description: 'The timetable of this class, regardless of case.' }),
  Lehrperson: questions.Lehrperson.meta({
    description: 'The timetable of this teacher, named as in lessons, regardless of case.',
  }),
  ResourceId: parameters.id('resource', 'The timetable of this resource.').optional(),
  PersonId: parameters.id('person', 'The timetable of this person; that of another person only for Admins.').optional(),
  From: parameters.instant('Only bookings that end after this instant; now by default.').optional(),
  To: parameters
    .instant(
      'Only bookings that begin before this instant, at most 366 days after `From`; by default 31 days after it.',
    )
    .optional(),
});

/** Which bookings a list has. */
export const bookingFilter = z.strictObject({
  From: parameters.instant('Only bookings that end after this instant, teardown included; now by default.').optional(),
  To: parameters
    .instant(
      'Only bookings that begin before this instant, setup included, at most 366 days after `From`; by default 31 days after it.',
    )
    .optional(),
  ResourceId: parameters.ids('resource', mostResources, 'Only bookings of these resources.'),
  LocationId: parameters.id('location', 'Only bookings at this location.').optional(),
  PersonId: parameters.id('person', 'Only bookings for this person.').optional(),
  SeriesId: parameters
    .id('series', 'Only bookings of this series; all of them if `From` and `To` are left out.')
    .optional(),
  ToDecide: parameters.flag(
    'Only requests about which the caller may decide; all of them if `From` and `To` are left out.',
  ),
  Status: parameters.oneOf(bookingStatus, 'Only bookings with these statuses.'),
  Occupying: parameters.flag('Only bookings whose status occupies their resource, or only the others.'),
  Kind: parameters.oneOf(bookingKind, 'Only bookings of these kinds.'),
  ...questions,
  ChangedAfter: parameters
    .instant(
      'Only bookings that were created or changed after this instant. To follow all changes read `changes`: a change may appear later than its instant says, those of an import by seconds.',
    )
    .optional(),
});
