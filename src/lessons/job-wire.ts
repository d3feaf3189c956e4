/**
 * The documented bodies of lesson jobs. They are not validated by these schemas but in SQL that is derived from the
 * same fields; each fault is recorded with the batch.
 */
import { z } from 'zod';
import { lessonStatus } from '../bookings/service.ts';
import { noted } from '../fields.ts';
import { lessonLimits } from '../names.ts';
import { naming } from '../nouns.ts';
import type { JobOperation } from './batch.ts';
import { type Field, fieldsOf, type Kind } from './fields.ts';

/** A first check; staging also refuses dates that do not exist. */
const dateTime = /^\d{4}-\d\d-\d\d[Tt]\d\d:\d\d(:\d\d([.,]\d{1,9})?)?([Zz]|[+-]\d\d(:?\d\d)?)?$/;
/** The upper bounds of the settings. */
const mostLessons = 10_000_000;
const mostJobs = 1_000_000;
const lessonsPerBatch = 'A batch may have as many lessons as the setting LessonsPerBatch says, 100,000 by default.';
const jobsPerBatch = 'As many as the setting JobsPerBatch says, 10,000 by default.';

export const valueSchemas: Record<Kind, z.core.$ZodType> = {
  key: z.string().min(1).max(lessonLimits.key),
  name: z.string().min(1).max(lessonLimits.name),
  text: z.string().max(lessonLimits.text),
  time: z.string().max(40).regex(dateTime),
  // RessourceId is the only one.
  integer: naming('resource', z.int().min(1).max(999_999_999)),
  boolean: z.boolean(),
  texts: z.array(z.string().max(lessonLimits.name)).max(lessonLimits.names),
  status: lessonStatus,
};

/** A member that is not required may be left out or null; in an update null clears it. */
function members(fields: readonly Field[], operation: JobOperation): Record<string, z.core.$ZodType> {
  const asSent = ({ kind, required }: Field) => {
    if (required === 'always' || (required === 'new' && operation === 'Create')) return valueSchemas[kind];
    return required === 'new' ? z.optional(valueSchemas[kind]) : z.nullish(valueSchemas[kind]);
  };
  return Object.fromEntries(
    fields.map((field) => [field.name, noted(asSent(field), { description: field.description })]),
  );
}

const lessonOf = (operation: JobOperation) =>
  z.object(members(fieldsOf[operation].lesson, operation)).meta({ id: `Lesson${operation}`, description: 'A lesson.' });

export const lessonSchemas = {
  Create: lessonOf('Create'),
  Update: lessonOf('Update'),
  Delete: lessonOf('Delete'),
};

const listSchemas: Record<JobOperation, z.core.$ZodType> = {
  Create: z
    .array(lessonSchemas.Create)
    .min(1)
    .max(mostLessons)
    .meta({ description: `The lessons of the job. ${lessonsPerBatch}` }),
  Update: z
    .array(lessonSchemas.Update)
    .min(1)
    .max(mostLessons)
    .optional()
    .meta({
      description: `Lessons to be changed; with ReplaceLektionList also new ones. ${lessonsPerBatch}`,
    }),
  Delete: z
    .array(lessonSchemas.Delete)
    .min(1)
    .max(mostLessons)
    .nullish()
    .meta({ description: `The lessons to delete; left out, the whole job. ${lessonsPerBatch}` }),
};

const jobOf = (operation: JobOperation, description: string) =>
  z
    .object({ ...members(fieldsOf[operation].job, operation), LektionList: listSchemas[operation] })
    .meta({ id: `Job${operation}`, description });

export const jobSchemas = {
  Create: jobOf('Create', 'A named group of lessons.'),
  Update: jobOf('Update', 'What to change of a job: what is left out stays as it is, null clears it.'),
  Delete: jobOf('Delete', 'What to delete of a job.'),
};

const bodyOf = (operation: JobOperation) =>
  z
    .array(jobSchemas[operation])
    .min(1)
    .max(mostJobs)
    .meta({ description: `The jobs of the batch. ${jobsPerBatch}` });

const lesson = {
  LektionId: 'L-1',
  Beginn: '2027-02-01T08:00:00Z',
  Ende: '2027-02-01T08:45:00Z',
  RessourceName: 'HS 101',
};

/** The body of each job route, with an example that works in the demo tenant. */
export const bodies: Record<JobOperation, { schema: z.core.$ZodType; example: unknown }> = {
  Create: {
    schema: bodyOf('Create'),
    example: [
      {
        JobID: 'MA-1A-2027',
        Bezeichnung: 'Mathematik 1A',
        LektionList: [{ ...lesson, Fach: 'Mathematik', Klassen: ['1A'], Lehrpersonen: ['E. Noether'] }],
      },
    ],
  },
  Update: {
    schema: bodyOf('Update'),
    example: [
      {
        JobID: 'MA-1A-2027',
        LektionList: [{ LektionId: 'L-1', Status: 'Vertretung', Lehrpersonen: ['A. Turing'] }],
      },
    ],
  },
  Delete: {
    schema: bodyOf('Delete'),
    example: [{ JobID: 'MA-1A-2027', LektionList: [{ LektionId: 'L-1' }] }],
  },
};

/** Jobs as the bytes of a JSON body. */
export async function* asBody(jobs: unknown): AsyncGenerator<Uint8Array> {
  yield Buffer.from(JSON.stringify(jobs));
}
