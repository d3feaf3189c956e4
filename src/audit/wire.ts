/** The audit on the wire: REST in Pascal case, GraphQL in camel case. */
import { z } from 'zod';
import { auditSubjects } from '../acts.ts';
import { id, instant, maybeText, recordOf, text } from '../fields.ts';
import * as parameters from '../query-parameters.ts';
import { personReference, toPersonReference } from '../tenants/service.ts';
import type { RecordedAct } from './service.ts';

export const auditSubject = z.enum(auditSubjects).meta({ id: 'AuditSubject', description: 'What an act was about.' });

export const memberChange = z
  .object({
    Member: text(100, 'The name of the member.'),
    From: maybeText(1_000, 'Its value before, as text; null where it had none.'),
    To: maybeText(
      1_000,
      'Its value after; null where it has none. Of the name, address, zone and labels of a person both are null.',
    ),
  })
  .meta({ id: 'MemberChange', description: 'A member that an act has changed.' });

export const act = z
  .object({
    Id: id('act', 'The id of the act.'),
    At: instant('When it was done.'),
    Person: personReference
      .nullable()
      .meta({ description: 'Who did it; null: whoever runs this server, with a tenant file.' }),
    Action: text(100, 'What was done: a verb and a noun, such as `change resource`.'),
    Subject: auditSubject
      .nullable()
      .meta({ description: 'What it was about; null for what an earlier release has written.' }),
    SubjectId: z.int().min(1).meta({ description: 'The id of what it was about.' }),
    SubjectName: maybeText(200, 'Its name then; of a person, and of its PINs, the name now.'),
    Changes: z.array(memberChange).max(100).meta({ description: 'What it changed; of a new record all it has.' }),
    RequestId: text(128, 'The id of the request, which the log has too.'),
  })
  .meta({ id: 'Act', description: 'What an Admin has done.' });

const toChange = recordOf(memberChange);
const toRecord = recordOf(act);
export const toAct = ({ person, changes, ...others }: RecordedAct) =>
  toRecord({ ...others, person: person && toPersonReference(person), changes: changes.map(toChange) });

/** The filter of a list of acts. */
export const actFilter = z.strictObject({
  PersonId: parameters.id('person', 'Only what this person has done.').optional(),
  Action: z
    .string()
    .min(1)
    .max(100)
    .optional()
    .meta({ description: 'Only acts of these words, in whatever case: `change resource`.' }),
  Subject: auditSubject.optional().meta({ description: 'Only acts about such a thing.' }),
  SubjectId: parameters.anyId('Only acts about what has this id; best with `Subject`.').optional(),
  From: parameters.instant('Only acts from this instant on.').optional(),
  To: parameters.instant('Only acts before this instant.').optional(),
});

export const example = {
  Id: 42,
  At: '2026-11-20T08:00:00.000Z',
  Person: { PersonId: 1, DisplayName: 'Ada Admin' },
  Action: 'change resource',
  Subject: 'Resource',
  SubjectId: 2,
  SubjectName: 'HS 101',
  Changes: [{ Member: 'Capacity', From: '120', To: '110' }],
  RequestId: '01a1f8da-707e-77b2-927f-0b8eb9707a33',
};
