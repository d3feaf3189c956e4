/** Problems of rooms on the wire: REST in Pascal case, GraphQL in camel case. */
import { z } from 'zod';
import {
  id,
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
  .meta({ id: 'RoomProblemKind', description: 'What is wrong with a room.' });
export const problemState = z
  .enum(problemStates, 'must be Open or Done')
  .meta({ id: 'RoomProblemState', description: 'Whether an Admin has settled it.' });

const told = {
  Kind: 'What is wrong.',
  Text: 'In the words of whoever has reported it; null for none.',
  State: 'Whether it is settled.',
};

export const problemRecord = z
  .object({
    Id: id('roomProblem', 'The id of the problem.'),
    ResourceId: id('resource', 'The room.'),
    ResourceName: live(text(200, 'Its name.')),
    DisplayId: id('display', 'The display at which it was reported.'),
    DisplayName: live(text(200, 'Its name.')),
    Kind: problemKind.meta({ description: told.Kind }),
    Text: maybeText(longestText, told.Text),
    ReportedAt: instant('When it was reported; a display without network sends it later.'),
    State: problemState.meta({ description: told.State }),
    DoneAt: maybeInstant('When it was settled; null while it is open.'),
    DoneBy: live(personReference.nullable().meta({ description: 'Who has settled it; null while it is open.' })),
    Version: positive('Counts the changes of the state; its ETag.'),
  })
  .meta({ id: 'RoomProblem', description: 'What somebody has reported of a room at a door sign.' });

export const newProblem = z
  .strictObject({
    ResourceId: sentId('resource').meta({ description: 'The room, one of those that the display shows.' }),
    Kind: problemKind.meta({ description: told.Kind }),
    Text: sentText(longestText).nullable().default(null).meta({ description: told.Text }),
    ReportedAt: sentInstant().nullable().default(null).meta({
      description:
        'When somebody has reported it, where it is sent later; null for now. What is to come counts as now.',
    }),
    Key: z
      .string()
      .regex(/^[\x21-\x7e]{1,255}$/, 'must have 1 to 255 printable ASCII characters without spaces')
      .nullable()
      .default(null)
      .meta({ description: 'Sent again with the same one, whenever that is, it is stored once.' }),
  })
  .meta({ id: 'NewRoomProblem', description: 'What is reported of a room.' });

export const problemChanges = z
  .strictObject({ State: problemState.meta({ description: told.State }) })
  .partial()
  .meta({ id: 'RoomProblemChanges', description: 'What to change.' });

export const problemFilter = z.strictObject({
  State: problemState.optional().meta({ description: 'Only those that are open, or settled.' }),
  Kind: problemKind.optional().meta({ description: 'Only those of this kind.' }),
  ResourceId: parameters.id('resource', 'Only those of this room.').optional(),
  DisplayId: parameters.id('display', 'Only those that were reported at this display.').optional(),
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
