import { Malformed } from '../errors.ts';
import { lowerFirst } from '../fields.ts';
import { type AddTypes, type Builder, typeNamed } from '../graphql/builder.ts';
import { pageArguments, pageCost } from '../graphql/connection.ts';
import { globalId } from '../graphql/ids.ts';
import { enumType, recordFields } from '../graphql/record.ts';
import * as changes from './service.ts';
import { changeAction, changeKind, changePage, changeRecord, toChangeRecord } from './wire.ts';

/** The record that a function finds. */
type Found<Find extends (...args: never[]) => unknown> = NonNullable<Awaited<ReturnType<Find>>>;

/** Other rooms add fields for their own records: `booking`, `batch`. */
function addChange(builder: Builder) {
  enumType(builder, changeKind);
  enumType(builder, changeAction);
  return builder.objectRef<changes.FeedChange>('Change').implement({
    description: changeRecord.description ?? '',
    fields: (t) => ({
      id: t.id({
        description: 'The id of the change itself.',
        resolve: ({ position }) => globalId('change', position),
      }),
      subjectId: t.id({
        description: 'The id of the booking, batch, resource, location or display that has changed.',
        resolve: ({ kind, id }) => globalId(lowerFirst(kind) as Lowercase<typeof kind>, id),
      }),
      ...recordFields(t, changeRecord.omit({ Id: true }), toChangeRecord),
      resource: t.field({
        type: typeNamed<Found<typeof changes.findResourceOf>>('Resource'),
        nullable: true,
        description: 'The resource of the change in its present state; for a booking, its resource at that time.',
        resolve: (change, _args, { context, viewer }) => changes.findResourceOf(context.db, viewer, change),
      }),
      location: t.field({
        type: typeNamed<Found<typeof changes.findLocationOf>>('Location'),
        nullable: true,
        description: 'The location of the change in its present state.',
        resolve: (change, _args, { context, viewer }) => changes.findLocationOf(context.db, viewer, change),
      }),
    }),
  });
}

export const addTypes: AddTypes = (builder) => {
  const change = addChange(builder);
  const page = builder.objectRef<changes.ChangePage>('ChangePage').implement({
    description: changePage.description ?? '',
    fields: (t) => ({
      items: t.field({
        type: [change],
        complexity: { field: 1, multiplier: 1 },
        description: 'The changes, in order.',
        resolve: ({ items }) => items,
      }),
      nextCursor: t.exposeString('nextCursor', {
        description: 'A cursor for `after`; it continues the feed even if there are no further changes yet.',
      }),
      hasMore: t.exposeBoolean('hasMore', { description: 'Whether there are further changes already.' }),
    }),
  });
  builder.queryField('changes', (t) =>
    t.field({
      type: page,
      args: {
        ...pageArguments(t.arg),
        after: t.arg.string({
          description:
            'The `nextCursor` of the previous page, or `now` for the present end; without it, the page begins with the oldest change that is kept.',
        }),
        last: t.arg.int({ description: 'Refused: the feed is read forward only.' }),
        before: t.arg.string({ description: 'Refused: the feed is read forward only.' }),
      },
      complexity: pageCost,
      description:
        'Changes of bookings, batches, resources, locations and displays, in the order in which they became visible; kept for 30 days by default.',
      resolve: (_root, { first, after, last, before }, { context, viewer }) => {
        if ((last ?? before ?? undefined) !== undefined)
          throw new Malformed('last, before: leave them out; changes are read forward only.');
        return changes.listChanges(context.db, viewer, changes.readChangePage(first ?? undefined, after));
      },
    }),
  );
};
