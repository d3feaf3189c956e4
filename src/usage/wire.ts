/** Figures of use on the wire: REST in Pascal case, GraphQL in camel case. */
import { z } from 'zod';
import { count, id, recordOf, text } from '../fields.ts';
import * as parameters from '../query-parameters.ts';
import {
  type HourUse,
  mostDays,
  mostResources,
  mostRoomDays,
  type ResourceUse,
  type Use,
  type WeekUse,
} from './service.ts';

export const use = z
  .object({
    OpenMinutes: count('Minutes in which it could be booked: in its opening hours, less what blocks it.'),
    OccupiedMinutes: count('Those of them that bookings have held, setup and teardown included.'),
    OccupancyPercent: z
      .int()
      .min(0)
      .max(100)
      .nullable()
      .meta({ description: 'OccupiedMinutes of OpenMinutes; null where it was never open.' }),
    OutsideMinutes: count('Minutes that bookings have held outside of the OpenMinutes.'),
    UnusedMinutes: count(
      'Minutes that were booked and not used: no-shows as a whole, and what is left after an early release.',
    ),
    Bookings: count('Bookings that begin here, cancelled ones and blocks aside.'),
    NoShows: count('Those of them that nobody has checked in by their limit.'),
    ReleasedEarly: count('Those of them that were released before their end, no-shows aside.'),
  })
  .meta({ id: 'Use', description: 'How much of a time is used.' });

const figures = { Use: use };

export const resourceUse = z
  .object({
    ResourceId: id('resource', 'The id of the resource.'),
    ResourceName: text(200, 'Its name.'),
    LocationId: id('location', 'The location where it is.'),
    ...figures,
  })
  .meta({ id: 'ResourceUse', description: 'How much a resource is used.' });

export const hourUse = z
  .object({
    Weekday: z.int().min(1).max(7).meta({ description: 'The local weekday: 1 is Monday, 7 Sunday.' }),
    Hour: z.int().min(0).max(23).meta({ description: 'The local hour in which it lies, 0 to 23.' }),
    ...figures,
  })
  .meta({ id: 'HourUse', description: 'How much the resources are used in an hour of the week.' });

export const weekUse = z
  .object({
    LocationId: id('location', 'The id of the location.'),
    LocationName: text(200, 'Its name.'),
    Week: z.iso.date().meta({ description: 'The Monday with which the week begins.' }),
    ...figures,
  })
  .meta({ id: 'WeekUse', description: 'How much the resources of a location are used in a week.' });

const toUse = recordOf(use);
const toFigures = (figures: Use) => {
  const { openMinutes, occupiedMinutes } = figures;
  const occupancyPercent = openMinutes === 0 ? null : Math.round((occupiedMinutes / openMinutes) * 100);
  return toUse({ ...figures, occupancyPercent });
};
const [ofResource, ofHour, ofWeek] = [recordOf(resourceUse), recordOf(hourUse), recordOf(weekUse)];
export const toResourceUse = (found: ResourceUse) => ofResource({ ...found, use: toFigures(found.use) });
export const toHourUse = (found: HourUse) => ofHour({ ...found, use: toFigures(found.use) });
export const toWeekUse = (found: WeekUse) => ofWeek({ ...found, use: toFigures(found.use) });

const date = (description: string) =>
  z.iso.date('must be a date such as 2026-03-28').meta({ description, example: '2027-03-01' });

/** The filter of usage figures. */
export const usageQuery = z.strictObject({
  From: date('The first local date.'),
  To: date(`The last local date, at most the ${mostDays}th; days times resources are at most ${mostRoomDays}.`),
  LocationId: parameters.id('location', 'Only those of this location.').optional(),
  ResourceIds: parameters.ids(
    'resource',
    mostResources,
    'Only these, also if they are retired; the active ones when left out.',
  ),
  ...parameters.resourceFilter,
});

const example = {
  Use: {
    OpenMinutes: 12_000,
    OccupiedMinutes: 7_800,
    OccupancyPercent: 65,
    OutsideMinutes: 90,
    UnusedMinutes: 210,
    Bookings: 84,
    NoShows: 2,
    ReleasedEarly: 3,
  },
};
export const examples = {
  resource: { ResourceId: 2, ResourceName: 'HS 101', LocationId: 1, ...example },
  hour: { Weekday: 1, Hour: 8, ...example },
  week: { LocationId: 1, LocationName: 'Campus Zürich', Week: '2027-03-01', ...example },
};
