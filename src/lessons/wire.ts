/** The records of lessons, jobs and batches as clients see them: REST in Pascal case, GraphQL in camel case. */
import { z } from 'zod';
import { lessonOrigin, lessonStatus, questions, toLessonOrigin } from '../bookings/service.ts';
import { batchId, count, id, instant, maybeCount, maybeInstant, maybeText, noted, recordOf, text } from '../fields.ts';
import { lessonLimits } from '../names.ts';
import * as parameters from '../query-parameters.ts';
import { personReference, toPersonReference } from '../tenants/service.ts';
import { type Batch, conflictRules, failureKinds, importStatuses, type LessonError, operations } from './batch.ts';
import { type Difference, differenceKinds, mostDifferences } from './difference.ts';
import { type Field, jobFields, lessonFields } from './fields.ts';
import { mostKept } from './findings.ts';
import { valueSchemas } from './job-wire.ts';
import type { LessonJob } from './jobs.ts';
import type { Lesson } from './timetable.ts';

export * as examples from './examples.ts';
export { asBody, bodies, jobSchemas, lessonSchemas } from './job-wire.ts';
export { mostKept };

export const importStatus = z.enum(importStatuses).meta({
  id: 'ImportStatus',
  description: 'The state of a batch; LessonsCreated and LessonsImportFailed are final.',
});
export const operation = z
  .enum(operations)
  .meta({ id: 'JobOperation', description: 'What a batch does with its jobs.' });
export const failureKind = z.enum(failureKinds).meta({
  id: 'FailureKind',
  description: 'Why a batch failed: its data, something technical, or it was cancelled.',
});
export const conflictRule = z.enum(conflictRules).meta({
  id: 'ConflictRule',
  description:
    'What happens to lessons whose room is occupied: Fail fails the batch, Skip leaves them out with a warning, Displace cancels the manual bookings in their way, never other lessons.',
});
export const severity = z
  .enum(['Error', 'Warning'])
  .meta({ id: 'Severity', description: 'An error fails the batch, a warning does not.' });

const aBatch = batchId('The id of the batch, a UUIDv7.');

/** The answer to a POST of jobs. */
export const acceptedBatch = z
  .object({
    BatchId: aBatch,
    ImportStatus: z.literal('AwaitingLessonCreation').meta({ description: 'Stored and queued.' }),
  })
  .meta({ id: 'AcceptedBatch', description: 'A batch that was accepted.' });

export const batchEntry = z
  .object({
    BatchId: aBatch,
    Operation: operation.meta({ description: 'What it does with its jobs.' }),
    ImportStatus: importStatus.meta({ description: 'Its state.' }),
    JobCount: count('How many jobs were sent.'),
    LessonCount: maybeCount('How many lessons; known from AwaitingLessonProcessing on.'),
    ProcessedCount: count('Lessons done so far; never falls.'),
    CreatedCount: count(
      'Lessons that are new: 0 after a deletion or ValidateOnly, and of an update only those that ReplaceLektionList has added.',
    ),
    ChangedCount: maybeCount(
      'Lessons that have changed in something other than room and time; null unless it has written to the timetable.',
    ),
    MovedCount: maybeCount('Lessons that have got another room or time; null as ChangedCount.'),
    RemovedCount: maybeCount('Lessons that were removed; null as ChangedCount.'),
    ErrorCount: count('How many errors.'),
    WarningCount: count('How many warnings.'),
    FailureKind: failureKind.nullable().meta({ description: 'Why it failed; null unless it did.' }),
    ValidateOnly: z.boolean().meta({ description: 'Whether it only checks.' }),
    Quelle: maybeText(200, 'What the files of a timetable replace, as their jobs have it; null for a batch of jobs.'),
    CreatedAt: instant('When it was accepted.'),
    StartedAt: maybeInstant('When its work began.'),
    FinishedAt: maybeInstant('When it reached a final state.'),
    CreatedBy: personReference,
    QueuePosition: maybeCount('1 for the batch that runs or is next; null once it has ended.'),
  })
  .meta({ id: 'BatchEntry', description: 'A batch in a list.' });

export const lessonError = z
  .object({
    Severity: severity.meta({ description: 'Error or warning.' }),
    Index: maybeCount('Which job, counted from 0.'),
    JobID: maybeText(lessonLimits.key, 'The JobID, when it has one.'),
    LektionIndex: maybeCount('Which lesson of its job, counted from 0.'),
    LektionId: maybeText(lessonLimits.key, 'The LektionId, when it has one.'),
    Field: maybeText(200, 'The faulty member, as REST names it.'),
    Code: text(40, 'The kind of fault, for programs: for example DuplicateJobId or ResourceConflict.'),
    Message: text(4_000, 'For people.'),
    Pointer: maybeText(500, 'JSON pointer (RFC 6901) into the body that was sent.'),
    Line: maybeCount('The line of the file of a timetable that `Pointer` leads to.'),
  })
  .meta({ id: 'LessonError', description: 'One error or warning of a batch.' });

export const errorsInline = 100;

export const omittedErrors = z
  .object({
    Severity: severity.meta({ description: 'Errors or warnings.' }),
    Code: text(40, 'Their kind of fault.'),
    Count: count('How many.'),
  })
  .meta({ id: 'OmittedErrors', description: 'How many errors or warnings of one code are not kept.' });

const omissions = z
  .array(omittedErrors)
  .max(100)
  .meta({
    description: `What is counted but not kept, by code: empty unless there are more than ${mostKept} errors, or warnings.`,
  });

/** The fields of an answer: nullable where they may have no value. */
function answered(fields: readonly Field[]): Record<string, z.core.$ZodType> {
  const hasAlways = ({ kind, required }: Field) => required || ['integer', 'status', 'boolean'].includes(kind);
  return Object.fromEntries(
    fields.map((field) => {
      const value = field.kind === 'time' ? z.date() : valueSchemas[field.kind];
      const { description } = field;
      return [field.name, noted(hasAlways(field) ? value : z.nullable(value), { description })];
    }),
  );
}

const { LektionId, ...otherLessonFields } = answered(lessonFields) as Record<string, z.core.$ZodType> & {
  LektionId: z.core.$ZodType;
};
const { JobID } = answered(jobFields) as { JobID: z.core.$ZodType };

const lessonPlace = z
  .object({
    RessourceName: maybeText(200, 'The name of the room.'),
    Beginn: instant('Start.'),
    Ende: instant('End.'),
  })
  .meta({ id: 'LessonPlace', description: 'Where and when a lesson takes place.' });

export const differenceKind = z.enum(differenceKinds).meta({
  id: 'DifferenceKind',
  description: 'Removed, Moved (another room or time), Changed (anything else) or Added.',
});

const lessonDifference = z
  .object({
    Kind: differenceKind.meta({ description: 'The kind of change.' }),
    Index: count('Which job, counted from 0.'),
    JobID,
    LektionIndex: maybeCount('Which lesson of its job, counted from 0; null for one that is removed.'),
    LektionId,
    Fields: z
      .array(text(40, 'A member, as REST names it.'))
      .max(lessonFields.length)
      .meta({ description: 'Which members would change; none of one that is added or removed.' }),
    Before: lessonPlace.nullable().meta({ description: 'Where and when it is; null for one that is added.' }),
    After: lessonPlace.nullable().meta({ description: 'Where and when it would be; null for one that is removed.' }),
  })
  .meta({ id: 'LessonDifference', description: 'How a lesson would change.' });

const batchDifference = z
  .object({
    Added: count('Lessons that are new.'),
    Changed: count('Lessons of which something other than room and time changes.'),
    Moved: count('Lessons that get another room or time.'),
    Removed: count('Lessons that are removed.'),
    Unchanged: count('Lessons that do not change.'),
    Lessons: z
      .array(lessonDifference)
      .max(mostDifferences)
      .meta({ description: `The first ${mostDifferences}: those removed, then moved, changed and added.` }),
  })
  .meta({ id: 'BatchDifference', description: 'What a batch would change in the timetable.' });

/** For GraphQL: each is a type of its own. */
export const differences = { lessonPlace, lessonDifference, batchDifference };

export const batchRecord = z
  .object({
    ...batchEntry.shape,
    ErrorMessages: maybeText(
      500_000,
      'The first 50 errors, one in a line; null unless it failed. A repeated job reads `Duplicate JobId: J-17`, and more where it is stored already.',
    ),
    Errors: z
      .array(lessonError)
      .max(errorsInline)
      .meta({ description: `The first ${errorsInline} errors; if there are fewer, followed by the first warnings.` }),
    OmittedErrors: omissions,
    Difference: batchDifference.nullable().meta({
      description: 'What a `ValidateOnly` batch without errors would change; null for any other.',
    }),
  })
  .meta({ id: 'Batch', description: 'One import request: all of its jobs, or nothing.' });

export const lessonRecord = z
  .object({
    LektionId,
    JobID,
    ...otherLessonFields,
    BookingId: id('booking', 'The id of its booking, which coupled lessons share.'),
    Ursprung: lessonOrigin.nullable().meta({ description: 'Null while the lesson is as it was created.' }),
  })
  .meta({ id: 'Lesson', description: 'A lesson as it stands in the timetable.' });

export const jobRecord = z
  .object({
    ...answered(jobFields),
    LessonCount: count('How many lessons it has.'),
    BatchId: batchId('The batch that created it.'),
    CreatedAt: instant('When it was created.'),
    ChangedAt: instant('When it was last changed.'),
    CreatedBy: personReference,
  })
  .meta({ id: 'Job', description: 'A named group of lessons, without them.' });

const entryOf = recordOf(batchEntry);
const recordOfBatch = recordOf(batchRecord);
const entryFields = (batch: Batch) => ({ ...batch, batchId: batch.id, createdBy: toPersonReference(batch.createdBy) });

/** The batch record of contract 4.4 as a list entry, without its errors. */
export const toBatchEntry = (batch: Batch) => entryOf(entryFields(batch));

/** The whole record; `errors` are the first hundred. */
export const toBatchRecord = (batch: Batch, errors: LessonError[], difference: Difference | null = null) =>
  recordOfBatch({
    ...entryFields(batch),
    difference: difference && toDifference(difference),
    errors: errors.map(toErrorEntry),
    omittedErrors: batch.omitted.map(toOmissionEntry),
  });

const placeOf = recordOf(lessonPlace);
const lessonDifferenceOf = recordOf(lessonDifference);
const differenceOf = recordOf(batchDifference);
export const toDifference = (difference: Difference) =>
  differenceOf({
    ...difference,
    lessons: difference.lessons.map((lesson) =>
      lessonDifferenceOf({
        ...lesson,
        before: lesson.before && placeOf(lesson.before),
        after: lesson.after && placeOf(lesson.after),
      }),
    ),
  });
export const toOmissionEntry = recordOf(omittedErrors);
export const toErrorEntry = recordOf(lessonError);

const recordOfJob = recordOf(jobRecord);
export const toJobRecord = (job: LessonJob) => recordOfJob({ ...job, createdBy: toPersonReference(job.createdBy) });

const recordOfLesson = recordOf(lessonRecord);
export const toLessonRecord = (lesson: Omit<Lesson, 'beginn' | 'ende'> & Record<'beginn' | 'ende', Date | string>) =>
  recordOfLesson({ ...lesson, ursprung: lesson.ursprung && toLessonOrigin(lesson.ursprung) });

const name = (description: string, most = lessonLimits.key) =>
  z.string().min(1).max(most).optional().meta({ description });

const ofContent = '`Changed`, `Klasse`, `Lehrperson`, `Fach` or `Search`';

/** Which lessons a list has. */
export const lessonFilter = z.strictObject({
  JobID: name('Only those of the job of this JobID.'),
  RessourceName: name('Only those in rooms of this name, in whatever case.', lessonLimits.name),
  From: parameters.instant(`Only those that end after this instant; with ${ofContent} now when left out.`).optional(),
  To: parameters
    .instant(
      `Only those that begin before this instant; with ${ofContent} at most 366 days after \`From\`, and 31 days after it when left out.`,
    )
    .optional(),
  Status: parameters.oneOf(lessonStatus, 'Only those of these statuses.'),
  Changed: parameters.flag(
    'Only those that are cancelled, substituted or otherwise not as they were created; unless asked by content, also those that were to be within `From` and `To` and have moved to another time.',
  ),
  ...questions,
});

export const lessonOrder = parameters.sortOrder
  .optional()
  .meta({ description: 'Ascending by their beginning when left out.' });

/** Which jobs a list has. */
export const jobFilter = z.strictObject({ JobID: name('Only the job of this JobID.') });

const running = 'the two states of a running batch when left out.';
/** Which batches a list has. */
export const batchFilter = z.strictObject({
  ImportStatus: parameters.oneOf(importStatus, `Only those in one of these states; ${running}`, 1),
  Operation: operation.optional().meta({ description: 'Only those of this operation.' }),
  JobID: name(
    'Only those that name a job of this JobID, whatever became of it; the ended ones too, where `ImportStatus` lets them in.',
  ),
  CreatedAfter: parameters.instant('Only those accepted after this instant.').optional(),
  CreatedBefore: parameters.instant('Only those accepted before this instant.').optional(),
  Mine: parameters.flag('Only those of the person who asks.'),
});
/** In REST, `All` stands for all states. */
export const batchQuery = batchFilter.extend({
  ImportStatus: parameters.oneOf(
    z.enum([...importStatuses, 'All']),
    `Only those in one of these states, or All; ${running}`,
  ),
});
