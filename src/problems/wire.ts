/** Problems of rooms on the wire: REST in Pascal case, GraphQL in camel case. */
import { z } from 'zod';
import {
  id,
  idempotencyKey,
  instant,
  live,
  maybeInstant,
  maybeText,
  positive,
  recordOf,
  sentId,
  sentInstant,
  sentText,
  text,
} from '../fields.ts';
import * as parameters from '../query-parameters.ts';
import { personReference, toPersonReference } from '../tenants/service.ts';
import { longestText, problemKinds, problemStates, type RoomProblem } from './stored.ts';

export const problemKind = z
  .enum(problemKinds, `must be ${problemKinds.slice(0, -1).join(', ')} or Other`)
  .meta({ id: 'RoomProblemKind', description: 'The kind of problem.' });
export const problemState = z
  .enum(problemStates, 'must be Open or Done')
  .meta({ id: 'RoomProblemState', description: 'Whether an Admin has settled it.' });

const descriptions = {
  Kind: 'The kind of problem.',
  Text: 'A description by the person who reported it; null if there is none.',
  State: 'Whether it is settled.',
};

export const problemRecord = z
  .object({
    Id: id('roomProblem', 'The id of the problem.'),
    ResourceId: id('resource', 'The room.'),
    ResourceName: live(text(200, 'Its name.')),
    DisplayId: id('display', 'The display at which it was reported.'),
    DisplayName: live(text(200, 'Its name.')),
    Kind: problemKind.meta({ description: descriptions.Kind }),
    Text: maybeText(longestText, descriptions.Text),
    ReportedAt: instant('When it was reported; a display without network sends it later.'),
    State: problemState.meta({ description: descriptions.State }),
    DoneAt: maybeInstant('When it was settled; null while it is open.'),
    DoneBy: live(personReference.nullable().meta({ description: 'Who settled it; null while it is open.' })),
    Version: positive('Increases with each change of the state; its ETag.'),
  })
  .meta({ id: 'RoomProblem', description: 'A problem of a room that somebody has reported at a door sign.' });

export const newProblem = z
  .strictObject({
    ResourceId: sentId('resource').meta({ description: 'The room, which the display must show.' }),
    Kind: problemKind.meta({ description: descriptions.Kind }),
    Text: sentText(longestText).nullable().default(null).meta({ description: descriptions.Text }),
    ReportedAt: sentInstant().nullable().default(null).meta({
      description: 'When it was reported, if it is sent later; null for now. An instant in the future counts as now.',
    }),
    Key: idempotencyKey
      .nullable()
      .default(null)
      .meta({ description: 'A report that is repeated with the same key, however late, is stored once.' }),
  })
  .meta({ id: 'NewRoomProblem', description: 'A report about a room.' });

export const problemChanges = z
  .strictObject({ State: problemState.meta({ description: descriptions.State }) })
  .partial()
  .meta({ id: 'RoomProblemChanges', description: 'Changes.' });

export const problemFilter = z.strictObject({
  State: problemState.optional().meta({ description: 'Only open, or only settled problems.' }),
  Kind: problemKind.optional().meta({ description: 'Only problems of this kind.' }),
  ResourceId: parameters.id('resource', 'Only problems of this room.').optional(),
  DisplayId: parameters.id('display', 'Only problems that were reported at this display.').optional(),
});

const toRecord = recordOf(problemRecord);
export const toProblemRecord = ({ doneBy, ...problem }: RoomProblem) =>
  toRecord({ ...problem, doneBy: doneBy && toPersonReference(doneBy) });

export const example = {
  Id: 7,
  ResourceId: 2,
  ResourceName: 'HS 101',
  DisplayId: 3,
  DisplayName: 'HS 101',
  Kind: 'Projector',
  Text: 'Das Bild flackert',
  ReportedAt: '2026-11-20T08:00:00.000Z',
  State: 'Open',
  DoneAt: null,
  DoneBy: null,
  Version: 1,
};
export const settled = {
  ...example,
  State: 'Done',
  DoneAt: '2026-11-20T09:30:00.000Z',
  DoneBy: { PersonId: 1, DisplayName: 'Ada Admin' },
  Version: 2,
};
export const newExample = { ResourceId: 1, Kind: 'Projector', Text: 'Das Bild flackert', Key: '3f1c7a52' };
