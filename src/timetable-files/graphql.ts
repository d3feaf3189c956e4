import type { InputRef } from '@pothos/core';
import type { z } from 'zod';
import { Conflict, Forbidden, InvalidInput, LimitExceeded, Malformed } from '../errors.ts';
import { idempotencyKey } from '../fields.ts';
import { bodyType, partType } from '../graphql/body.ts';
import { type AddTypes, enumNamed, typeNamed } from '../graphql/builder.ts';
import { given } from '../graphql/given.ts';
import { enumType, recordFields, recordType } from '../graphql/record.ts';
import { readInput } from '../input.ts';
import { addProfiles } from './profile-graphql.ts';
import * as timetables from './service.ts';
import * as wire from './wire.ts';

type Parts = ReadonlyMap<z.core.$ZodType, InputRef<object>>;

async function* asBody(request: object): AsyncGenerator<Uint8Array> {
  yield Buffer.from(JSON.stringify(request));
}

export const addTypes: AddTypes = (builder) => {
  const format = enumType(builder, wire.format);
  recordType(builder, 'TimetableFileRead', wire.readFile, wire.toFile);
  recordType(builder, 'TimetableNotice', wire.notice, wire.toNotice);
  const record = wire.acceptedTimetable.omit({ BatchId: true, ImportStatus: true, Files: true, Notices: true });
  const accepted = builder.objectRef<timetables.AcceptedTimetable>('TimetableAccepted').implement({
    description: 'The batch is stored and queued; it is processed in the background.',
    fields: (t) => ({
      batch: t.field({
        type: typeNamed<object>('Batch'),
        description: 'The batch.',
        resolve: (answer, _args, { context, viewer }) => timetables.getImportedBatch(context.db, viewer, answer),
      }),
      files: t.field({
        type: [typeNamed<object>('TimetableFileRead')],
        description: 'The files, and how they were read.',
        resolve: ({ files }) => files,
      }),
      notices: t.field({
        type: [typeNamed<object>('TimetableNotice')],
        description: 'The first hundred notices of what was left out.',
        resolve: ({ notices }) => notices,
      }),
      ...recordFields(t, record, wire.toAcceptedTimetable),
    }),
  });
  const inputs: Parts = new Map<z.core.$ZodType, InputRef<object>>([
    [wire.holiday, partType(builder, 'TimetableHolidayInput', wire.holiday)],
    [wire.week, partType(builder, 'TimetableWeekInput', wire.week)],
    [wire.weekGroup, partType(builder, 'TimetableWeekGroupInput', wire.weekGroup)],
  ]);
  const parts: Parts = new Map<z.core.$ZodType, InputRef<object>>([
    [wire.term, partType(builder, 'TimetableTermInput', wire.term, inputs)],
    [wire.period, partType(builder, 'TimetablePeriodInput', wire.period)],
    [wire.room, partType(builder, 'TimetableRoomInput', wire.room)],
    [wire.mapping, partType(builder, 'TimetableMappingInput', wire.mapping)],
    [wire.file, partType(builder, 'TimetableFileInput', wire.file)],
  ]);
  addProfiles(builder, parts);
  const options = builder.inputType('TimetableOptions', {
    description: 'How the batch of a timetable is processed.',
    fields: (t) => ({
      format: t.field({ type: format, description: 'The format of the files; detected if left out.' }),
      validateOnly: t.boolean({
        description: 'Only runs the checks: nothing is written, and `difference` of the batch says what would be.',
      }),
      onConflict: t.field({
        type: enumNamed<'Fail' | 'Skip' | 'Displace'>('ConflictRule'),
        description: 'What happens to lessons whose room is occupied; Fail if left out.',
      }),
      idempotencyKey: t.string({
        description: 'The same key with the same files within 24 hours returns the same batch again.',
        validate: { schema: idempotencyKey },
      }),
    }),
  });
  builder.mutationField('importTimetable', (t) =>
    t.field({
      type: accepted,
      errors: {
        types: [Conflict, Forbidden, InvalidInput, LimitExceeded],
        union: { name: 'ImportTimetableResult', description: 'The accepted batch, or why it was refused.' },
      },
      args: {
        input: t.arg({
          type: bodyType(builder, 'TimetableFilesInput', wire.timetableFiles, parts),
          required: true,
          description: 'The files, and how they are read.',
        }),
        options: t.arg({ type: options, description: 'How they are processed.' }),
      },
      description:
        'Reads the files of a timetable program and sends the difference to the stored lessons as one batch: lessons to create, to change, and to delete because they are no longer listed. Faults are reported with their lines.',
      resolve: (_root, { input, options }, { context, viewer, requestId }) =>
        timetables
          .importTimetable(context, viewer, {
            body: asBody(input),
            check: (sent) => readInput(wire.timetableFiles, sent),
            ...given(options),
            requestId,
          })
          .catch((error: unknown) => {
            throw error instanceof Malformed ? new InvalidInput(error.message, error.errors) : error;
          }),
    }),
  );
};
