/** Retirement on the wire: REST in Pascal case, GraphQL in camel case. */
import { z } from 'zod';
import { conflictHandling, roomConflict, toConflictRecord } from '../bookings/service.ts';
import { count, flag, maybeInstant, positive, recordOf, sentId } from '../fields.ts';
import { resourceExample, resourceRecord, toResourceRecord } from '../tenants/service.ts';
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
  LastEnd: maybeInstant('When the last of them ends, teardown included; null if there are none.'),
};

export const upcoming = z
  .object(upcomingMembers)
  .meta({ id: 'UpcomingBookings', description: 'The future bookings of a resource.' });

export const preview = z
  .object({
    Resource: resourceRecord,
    ...upcomingMembers,
    Displays: count('Displays that show it by its id, not because they show its whole location.'),
    HasMailCalendar: flag('Whether its mailbox is read.'),
    Version: positive('The version of the resource, for If-Match of its retirement.'),
    Digest: z.string().meta({
      description: 'Changes with everything in this preview. The ETag consists of the version and this.',
    }),
  })
  .meta({ id: 'RetirementPreview', description: 'What the retirement of a resource would affect now.' });

export const retired = z
  .object({
    Resource: resourceRecord,
    Kept: upcoming,
    Cancelled: count('Bookings and blocks that were cancelled.'),
    Moved: count('Bookings that were moved.'),
    Conflicts: z
      .array(roomConflict)
      .max(mostConflicts)
      .meta({ description: 'The bookings in the way of those that were not moved, the first 100.' }),
    Version: positive('The version of the resource; its ETag.'),
  })
  .meta({ id: 'Retired', description: 'A retired resource, and the outcome for its bookings.' });

export const futureBookings = z.enum(futures).meta({
  id: 'FutureBookings',
  description: 'What happens to the bookings of a retired resource: they stay, are cancelled, or move to another one.',
});

export const retirement = z
  .strictObject({
    FutureBookings: futureBookings.meta({
      description: 'What happens to future bookings of persons: Keep, Cancel (blocks too) or Move (blocks stay).',
    }),
    ResourceId: sentId('resource').nullable().default(null).meta({
      description: 'With Move: the resource that takes the bookings, each at its time.',
    }),
    ConflictHandling: conflictHandling.default('Fail').meta({
      description:
        'With Move: with Skip, bookings with conflicts stay at the retired resource; with Fail, a conflict prevents everything.',
    }),
  })
  .meta({ id: 'Retirement', description: 'How to retire a resource.' });

const upcomingExample = { Blocks: 1, Lessons: 40, MailItems: 0, LastEnd: '2027-02-01T10:00:00Z' };
export const examples = {
  preview: {
    Resource: resourceExample,
    Bookings: 12,
    Series: 2,
    ...upcomingExample,
    Displays: 1,
    HasMailCalendar: true,
    Version: 1,
    Digest: 'd8c43a0f1e2b49c7a6b5f3e2d1c0b9a8',
  },
  retired: {
    Resource: { ...resourceExample, Active: false, Version: 2 },
    Kept: { Bookings: 0, Series: 0, ...upcomingExample },
    Cancelled: 0,
    Moved: 12,
    Conflicts: [],
    Version: 2,
  },
};

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
