/** What lists of bookings are asked for. */
import { z } from 'zod';
import * as parameters from '../query-parameters.ts';
import { questions } from './questions.ts';
import { bookingKind, bookingStatus } from './wire.ts';

export const bookingOrder = parameters.sortOrder.optional().meta({
  description: 'Ascending by when they begin to occupy their resources when left out.',
});

/** Resources that a list names. */
const mostResources = 200;

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
