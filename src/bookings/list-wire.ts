/** The parameters of lists of bookings. */
import { z } from 'zod';
import * as parameters from '../query-parameters.ts';
import { questions } from './questions.ts';
import { bookingKind, bookingStatus } from './wire.ts';

export const bookingOrder = parameters.sortOrder.optional().meta({
  description: 'Ascending by when they begin to occupy their resources when left out.',
});

/** Resources that a list names. */
const mostResources = 200;

/** Whose timetable, and its window. */
export const timetableFilter = z.strictObject({
  Klasse: questions.Klasse.meta({ description: 'The timetable of this class, in whatever case.' }),
  Lehrperson: questions.Lehrperson.meta({ description: 'That of this teacher, as lessons name it, in whatever case.' }),
  ResourceId: parameters.id('resource', 'That of this resource.').optional(),
  PersonId: parameters.id('person', 'That of this person; of another one for Admins.').optional(),
  From: parameters.instant('Only what ends after this instant; now when left out.').optional(),
  To: parameters
    .instant('Only what begins before this instant, at most 366 days after `From`; 31 days after it when left out.')
    .optional(),
});

/** Which bookings a list has. */
export const bookingFilter = z.strictObject({
  From: parameters.instant('Only those that end after this instant, teardown included; now when left out.').optional(),
  To: parameters
    .instant(
      'Only those that begin before this instant, setup included, at most 366 days after `From`; 31 days after it when left out.',
    )
    .optional(),
  ResourceId: parameters.ids('resource', mostResources, 'Only those of these resources.'),
  LocationId: parameters.id('location', 'Only those at this location.').optional(),
  PersonId: parameters.id('person', 'Only those for this person.').optional(),
  SeriesId: parameters
    .id('series', 'Only those of this series; all of it where `From` and `To` are left out.')
    .optional(),
  ToDecide: parameters.flag(
    'Only those that wait for approval and about which the caller decides; all of them where `From` and `To` are left out.',
  ),
  Status: parameters.oneOf(bookingStatus, 'Only those of these statuses.'),
  Occupying: parameters.flag('Only those that occupy their resources by their status, or only those that do not.'),
  Kind: parameters.oneOf(bookingKind, 'Only those of these kinds.'),
  ...questions,
  ChangedAfter: parameters.instant('Only those that were made or changed after this instant.').optional(),
});
