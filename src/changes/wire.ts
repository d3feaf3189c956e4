/** Changes on the wire: REST in Pascal case, GraphQL in camel case. */
import { z } from 'zod';
import { longestCursor, mostPerPage } from '../db/paging.ts';
import { maybeId, recordOf } from '../fields.ts';
import { type ChangePage, changeActions, changeKinds, type FeedChange } from './service.ts';

export const changeKind = z
  .enum(changeKinds)
  .meta({ id: 'ChangeKind', description: 'The kind of record that has changed.' });
export const changeAction = z
  .enum(changeActions)
  .meta({ id: 'ChangeAction', description: 'Whether the record is new.' });

export const changeRecord = z
  .object({
    Kind: changeKind.meta({ description: 'The kind of record that has changed.' }),
    Id: z
      .union([z.int().min(1), z.uuid()])
      .meta({ description: 'The id of the booking, resource, location or display; for a batch its BatchId.' }),
    Action: changeAction.meta({ description: 'Whether the record is new.' }),
    ResourceId: maybeId(
      'resource',
      'For a booking: its resource at that time; a booking that moves to another resource makes a change for each of the two. Null otherwise.',
    ),
    At: z.date().meta({ description: 'When the change began; it became visible when it was complete.' }),
  })
  .meta({ id: 'Change', description: 'The fact that a record has changed; read the record for its present state.' });

const toRecord = recordOf(changeRecord);
export const toChangeRecord = (change: FeedChange) => ({
  ...toRecord(change),
  Id: change.kind === 'Batch' ? change.id : Number(change.id),
});

export const changePage = z
  .object({
    Items: z.array(changeRecord).max(mostPerPage).meta({ description: 'The changes, in order.' }),
    NextCursor: z
      .string()
      .max(longestCursor)
      .meta({ description: '`Cursor` to continue with, even if there are no further changes yet.' }),
    HasMore: z.boolean().meta({ description: 'Whether there are further changes already.' }),
  })
  .meta({ id: 'ChangePage', description: 'A stretch of the feed of changes.' });

export const toChangePage = ({ items, nextCursor, hasMore }: ChangePage) => ({
  Items: items.map(toChangeRecord),
  NextCursor: nextCursor,
  HasMore: hasMore,
});
