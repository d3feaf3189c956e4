/** Changes on the wire: REST in Pascal case, GraphQL in camel case. */
import { z } from 'zod';
import { longestCursor, mostPerPage } from '../db/paging.ts';
import { maybeId, recordOf } from '../fields.ts';
import { type ChangePage, changeActions, changeKinds, type FeedChange } from './service.ts';

export const changeKind = z.enum(changeKinds).meta({ id: 'ChangeKind', description: 'What has changed.' });
export const changeAction = z
  .enum(changeActions)
  .meta({ id: 'ChangeAction', description: 'Whether it is new or was there before.' });

export const changeRecord = z
  .object({
    Kind: changeKind.meta({ description: 'What has changed.' }),
    Id: z
      .union([z.int().min(1), z.uuid()])
      .meta({ description: 'The id of the booking, resource, location or display; of a batch its BatchId.' }),
    Action: changeAction.meta({ description: 'Whether it is new or was there before.' }),
    ResourceId: maybeId(
      'resource',
      'Of a booking: its resource at that time; one that moves to another resource is told for both. Null otherwise.',
    ),
    At: z.date().meta({ description: 'When the change began; it could be seen when it was complete.' }),
  })
  .meta({ id: 'Change', description: 'That something has changed; read it to know how it is now.' });

const toRecord = recordOf(changeRecord);
export const toChangeRecord = (change: FeedChange) => ({
  ...toRecord(change),
  Id: change.kind === 'Batch' ? change.id : Number(change.id),
});

export const changePage = z
  .object({
    Items: z.array(changeRecord).max(mostPerPage).meta({ description: 'The changes in their order.' }),
    NextCursor: z
      .string()
      .max(longestCursor)
      .meta({ description: '`Cursor` of what comes next, also when there is nothing more yet.' }),
    HasMore: z.boolean().meta({ description: 'Whether there is more already.' }),
  })
  .meta({ id: 'ChangePage', description: 'A stretch of the feed of changes.' });

export const toChangePage = ({ items, nextCursor, hasMore }: ChangePage) => ({
  Items: items.map(toChangeRecord),
  NextCursor: nextCursor,
  HasMore: hasMore,
});
