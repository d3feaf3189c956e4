import type { AddTypes } from '../graphql/builder.ts';
import { filterType } from '../graphql/filters.ts';
import { given } from '../graphql/given.ts';
import { recordType } from '../graphql/record.ts';
import { listAvailability, mostResources } from './service.ts';
import * as wire from './wire.ts';

export const addTypes: AddTypes = (builder) => {
  recordType(builder, 'TimeSpan', wire.timeSpan);
  const availability = recordType(builder, 'ResourceAvailability', wire.resourceAvailability);
  const input = filterType(
    builder,
    'AvailabilityInput',
    'Which resources, and when; members that are left out do not count.',
    wire.availabilityQuery,
  );
  builder.queryField('availability', (t) =>
    t.field({
      type: [availability],
      args: { input: t.arg({ type: input, required: true, description: 'Which resources, and when.' }) },
      // The whole answer is computed, whichever members the query selects.
      complexity: { field: 3_000, multiplier: 60 },
      description: `When the active resources can be booked, by their ids; at most ${mostResources} of them.`,
      resolve: async (_root, { input: { from, to, ...others } }, { context, viewer }) =>
        wire.toAvailabilityRecords(await listAvailability(context.db, viewer, { from, to, ...given(others) })),
    }),
  );
};
