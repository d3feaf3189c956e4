/** The audit on the wire: REST in Pascal case, GraphQL in camel case. */
import { z } from 'zod';
import { auditSubjects } from '../acts.ts';
import { id, instant, maybeText, recordOf, text } from '../fields.ts';
import * as parameters from '../query-parameters.ts';
import { personReference, toPersonReference } from '../tenants/service.ts';
import type { RecordedAct } from './service.ts';

export const auditSubject = z
  .enum(auditSubjects)
  .meta({ id: 'AuditSubject', description: 'The kind of record that an act was about.' });

export const memberChange = z
  .object({
    Member: text(100, 'The name of the member.'),
    From: maybeText(1_000, 'The old value as text; null if there was none.'),
    To: maybeText(
      1_000,
      'The new value; null if there is none. For the name, address, zone and labels of a person both values are null.',
    ),
  })
  .meta({ id: 'MemberChange', description: 'A member that an act has changed.' });

export const act = z
  .object({
    Id: id('act', 'The id of the act.'),
    At: instant('When it happened.'),
    Person: personReference
      .nullable()
      .meta({ description: 'Who did it; null: the operator of this server, at the command line, or roomgate itself.' }),
    Action: text(100, 'The kind of act, a verb and a noun: `change resource`.'),
    Subject: auditSubject
      .nullable()
      .meta({ description: 'The kind of record that it was about; null for an act of an earlier release.' }),
    SubjectId: z.int().min(1).meta({ description: 'The id of the record that it was about.' }),
    SubjectName: maybeText(200, 'Its name at that time; for a person, and for its PINs, the present name.'),
    Changes: z.array(memberChange).max(100).meta({ description: 'What it changed; for a new record, all its values.' }),
    RequestId: text(128, 'The id of the request, also in the log.'),
  })
  .meta({ id: 'Act', description: 'Something that a person, the operator or roomgate itself has done.' });

const toChange = recordOf(memberChange);
const toRecord = recordOf(act);
export const toAct = ({ person, changes, ...others }: RecordedAct) =>
  toRecord({ ...others, person: person && toPersonReference(person), changes: changes.map(toChange) });

/** The filter of a list of acts. */
export const actFilter = z.strictObject({
  PersonId: parameters.id('person', 'Only acts of this person.').optional(),
  Action: z
    .string()
    .min(1)
    .max(100)
    .optional()
    .meta({ description: 'Only acts of this kind, regardless of case: `change resource`.' }),
  Subject: auditSubject.optional().meta({ description: 'Only acts about this kind of record.' }),
  SubjectId: parameters.anyId('Only acts about the record with this id; give `Subject` too.').optional(),
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
