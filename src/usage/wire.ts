/** Figures of use on the wire: REST in Pascal case, GraphQL in camel case. */
import { z } from 'zod';
import { count, date, id, recordOf, text } from '../fields.ts';
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
    OpenMinutes: count('Minutes in which it could be booked: its opening hours, less blocks.'),
    OccupiedMinutes: count('Minutes of these in which bookings held it, setup and teardown included.'),
    OccupancyPercent: z
      .int()
      .min(0)
      .max(100)
      .nullable()
      .meta({ description: 'OccupiedMinutes divided by OpenMinutes; null if it was never open.' }),
    OutsideMinutes: count('Minutes in which bookings held it outside of its OpenMinutes.'),
    UnusedMinutes: count('Minutes that were booked but not used: no-shows, and the time after an early release.'),
    Bookings: count('Bookings that begin in this time, without cancelled ones and blocks.'),
    NoShows: count('Bookings of these that nobody checked in by their limit.'),
    ReleasedEarly: count('Bookings of these that were released before their end, without no-shows.'),
  })
  .meta({ id: 'Use', description: 'The use in a period.' });

const figures = { Use: use };

export const resourceUse = z
  .object({
    ResourceId: id('resource', 'The id of the resource.'),
    ResourceName: text(200, 'Its name.'),
    LocationId: id('location', 'The location of the resource.'),
    ...figures,
  })
  .meta({ id: 'ResourceUse', description: 'The use of a resource.' });

export const hourUse = z
  .object({
    Weekday: z.int().min(1).max(7).meta({ description: 'The local weekday: 1 is Monday, 7 Sunday.' }),
    Hour: z.int().min(0).max(23).meta({ description: 'The local hour, 0 to 23.' }),
    ...figures,
  })
  .meta({ id: 'HourUse', description: 'The use of the resources in an hour of the week.' });

export const weekUse = z
  .object({
    LocationId: id('location', 'The id of the location.'),
    LocationName: text(200, 'Its name.'),
    Week: date('The Monday of the week.'),
    ...figures,
  })
  .meta({ id: 'WeekUse', description: 'The use of the resources of a location in a week.' });

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

const day = (description: string) => date(description).meta({ example: '2027-03-01' });

/** The filter of usage figures. */
export const usageQuery = z.strictObject({
  From: day('The first local date.'),
  To: day(`The last local date, at most ${mostDays} days in all; days times resources are at most ${mostRoomDays}.`),
  LocationId: parameters.id('location', 'Only resources of this location.').optional(),
  ResourceIds: parameters.ids(
    'resource',
    mostResources,
    'Only these resources, also retired ones; all active ones if left out.',
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
