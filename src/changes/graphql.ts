import type { z } from 'zod';
import { type AddTypes, type Builder, typeNamed } from '../graphql/builder.ts';
import { pageArguments, pageCost } from '../graphql/connection.ts';
import { enumType, type MemberType, recordFields } from '../graphql/record.ts';
import { type Change, type ChangePage, listChanges, readChangePage } from './service.ts';
import {
  type Batch,
  type Booking,
  findBatch,
  findBooking,
  getLocation,
  getResource,
  type Location,
  type Resource,
} from './subjects.ts';
import { changeAction, changeKind, changePage, changeRecord, toChangeRecord } from './wire.ts';

function addChange(builder: Builder) {
  const members = new Map<z.ZodType, MemberType>([
    [changeKind, enumType(builder, changeKind)],
    [changeAction, enumType(builder, changeAction)],
  ]);
  return builder.objectRef<Change>('Change').implement({
    description: changeRecord.description ?? '',
    fields: (t) => ({
      id: t.exposeID('id', { description: changeRecord.shape.Id.description ?? '' }),
      ...recordFields(t, changeRecord.omit({ Id: true }), toChangeRecord, members),
      booking: t.field({
        type: typeNamed<Booking>('Booking'),
        nullable: true,
        description: 'Of a booking: how it is now.',
        resolve: async ({ kind, id }, _args, { context, viewer }) =>
          kind === 'Booking' ? ((await findBooking(context.db, viewer, Number(id))) ?? null) : null,
      }),
      batch: t.field({
        type: typeNamed<Batch>('Batch'),
        nullable: true,
        complexity: 10,
        description: 'Of a batch: how it is now; null once it is forgotten.',
        resolve: ({ kind, id }, _args, { context, viewer }) =>
          kind === 'Batch' ? findBatch(context.db, viewer, id) : null,
      }),
      resource: t.field({
        type: typeNamed<Resource>('Resource'),
        nullable: true,
        description: 'Of a resource: how it is now; of a booking the one at that time.',
        resolve: ({ kind, id, resourceId }, _args, { context, viewer }) => {
          const wanted = kind === 'Resource' ? Number(id) : resourceId;
          return wanted === null ? null : getResource(context.db, viewer, wanted);
        },
      }),
      location: t.field({
        type: typeNamed<Location>('Location'),
        nullable: true,
        description: 'Of a location: how it is now.',
        resolve: ({ kind, id }, _args, { context, viewer }) =>
          kind === 'Location' ? getLocation(context.db, viewer, Number(id)) : null,
      }),
    }),
  });
}

export const addTypes: AddTypes = (builder) => {
  const change = addChange(builder);
  const page = builder.objectRef<ChangePage>('ChangePage').implement({
    description: changePage.description ?? '',
    fields: (t) => ({
      items: t.field({
        type: [change],
        complexity: { field: 1, multiplier: 1 },
        description: 'The changes in their order.',
        resolve: ({ items }) => items,
      }),
      nextCursor: t.exposeString('nextCursor', {
        description: 'For `after`: what comes next, also when there is nothing more yet.',
      }),
      hasMore: t.exposeBoolean('hasMore', { description: 'Whether there is more already.' }),
    }),
  });
  builder.queryField('changes', (t) =>
    t.field({
      type: page,
      args: {
        ...pageArguments(t.arg),
        after: t.arg.string({
          description:
            'The `nextCursor` of the page before, or `now` for the present end; the oldest that is kept when left out.',
        }),
      },
      complexity: pageCost,
      description:
        'What has changed of bookings, batches, resources, locations and displays, in the order in which it came to be seen; kept for 30 days.',
      resolve: (_root, { after, first }, { context, viewer }) =>
        listChanges(context.db, viewer, readChangePage(first ?? undefined, after)),
    }),
  );
};
