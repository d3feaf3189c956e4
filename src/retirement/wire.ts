/** Retirement on the wire: REST in Pascal case, GraphQL in camel case. */
import { z } from 'zod';
import { conflictHandling, roomConflict, toConflictRecord } from '../bookings/service.ts';
import { count, flag, maybeInstant, positive, recordOf, sentId } from '../fields.ts';
import { resourceRecord, toResourceRecord } from '../tenants/service.ts';
import { futures, type Preview, type Retired } from './service.ts';

export const mostConflicts = 100;

const upcomingMembers = {
  Bookings: count('Bookings by persons that have not begun.'),
  Series: count('Series of which at least one booking has not begun.'),
  Blocks: count('Blocks that have not begun.'),
  Lessons: count(
    'Lessons that have not begun. They stay: the timetable owns them, and an import moves or deletes them.',
  ),
  MailItems: count('Items of the mailbox that have not begun. They are cancelled when its calendar is no longer read.'),
  LastEnd: maybeInstant('When the last of all these ends, teardown included; null where there is none.'),
};

export const upcoming = z
  .object(upcomingMembers)
  .meta({ id: 'UpcomingBookings', description: 'What occupies a resource and has not begun.' });

export const preview = z
  .object({
    Resource: resourceRecord,
    ...upcomingMembers,
    Displays: count('Displays that name it themselves, besides those of its whole location.'),
    HasMailCalendar: flag('Whether its mailbox is read.'),
    Version: positive('The version of the resource, for If-Match of its retirement.'),
    Digest: z.string().meta({
      description: 'Changes with everything that is told here. The ETag is made of the version and of it.',
    }),
  })
  .meta({ id: 'RetirementPreview', description: 'What the retirement of a resource would affect as of now.' });

export const retired = z
  .object({
    Resource: resourceRecord,
    Kept: upcoming,
    Cancelled: count('Bookings and blocks that were cancelled.'),
    Moved: count('Bookings that were moved.'),
    Conflicts: z
      .array(roomConflict)
      .max(mostConflicts)
      .meta({ description: 'What was in the way of bookings that were skipped, the first 100.' }),
    Version: positive('The version of the resource; its ETag.'),
  })
  .meta({ id: 'Retired', description: 'A resource that was retired, and what became of its bookings.' });

export const futureBookings = z.enum(futures).meta({
  id: 'FutureBookings',
  description: 'What becomes of the bookings of a retired resource: they stay, are cancelled, or move to another one.',
});

export const retirement = z
  .strictObject({
    FutureBookings: futureBookings.meta({
      description: 'Keep, Cancel (blocks too) or Move (blocks stay) what persons have booked and has not begun.',
    }),
    ResourceId: sentId('resource').nullable().default(null).meta({
      description: 'With Move: the resource that takes the bookings, each at its time.',
    }),
    ConflictHandling: conflictHandling.default('Fail').meta({
      description:
        'With Move: with Skip the bookings that meet others stay at the retired resource, with Fail nothing is done then.',
    }),
  })
  .meta({ id: 'Retirement', description: 'How to retire a resource.' });

const toUpcoming = recordOf(upcoming);
const previewRecord = recordOf(preview);
const retiredRecord = recordOf(retired);

export const toPreview = ({ resource, ...others }: Preview) =>
  previewRecord({ ...others, resource: toResourceRecord(resource), version: resource.version });

export const toRetired = ({ resource, kept, conflicts, ...others }: Retired) =>
  retiredRecord({
    ...others,
    resource: toResourceRecord(resource),
    kept: toUpcoming(kept),
    conflicts: conflicts.slice(0, mostConflicts).map(toConflictRecord),
    version: resource.version,
  });
