import { z } from 'zod';
import type { AddTypes } from '../graphql/builder.ts';
import { readFilter, resourceFields } from '../graphql/filters.ts';
import { idArgument } from '../graphql/ids.ts';
import { recordType } from '../graphql/record.ts';
import { readId } from '../input.ts';
import { listAvailability, mostDays, mostResources } from './service.ts';
import * as wire from './wire.ts';

export const addTypes: AddTypes = (builder) => {
  recordType(builder, 'TimeSpan', wire.timeSpan);
  const availability = recordType(builder, 'ResourceAvailability', wire.resourceAvailability);
  const input = builder.inputType('AvailabilityInput', {
    description: 'Which resources, and when; members that are left out do not count.',
    fields: (t) => ({
      from: t.field({
        type: 'DateTime',
        required: true,
        description: 'The beginning of the time asked for.',
      }),
      to: t.field({
        type: 'DateTime',
        required: true,
        description: `Its end, at most ${mostDays} days later.`,
      }),
      ...resourceFields(t),
      resourceIds: t.idList({
        description: 'These; each must be a resource of the tenant.',
        validate: { schema: z.array(idArgument.schema).max(mostResources) },
      }),
      durationMinutes: t.int({
        description: 'Leaves out of `free` what is shorter.',
        validate: { min: 1, max: mostDays * 24 * 60 },
      }),
    }),
  });
  builder.queryField('availability', (t) =>
    t.field({
      type: [availability],
      args: { input: t.arg({ type: input, required: true, description: 'Which resources, and when.' }) },
      // The whole answer is computed, whichever members the query selects.
      complexity: { field: 3_000, multiplier: 60 },
      description: `When the active resources can be booked, by their ids; at most ${mostResources} of them.`,
      resolve: async (_root, { input: { from, to, resourceIds, ...others } }, { context, viewer }) =>
        wire.toAvailabilityRecords(
          await listAvailability(context.db, viewer, {
            ...readFilter(others),
            from,
            to,
            resourceIds: resourceIds ? [...new Set(resourceIds.map(readId))] : undefined,
          }),
        ),
    }),
  );
};
