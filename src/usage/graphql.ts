import type { AddTypes } from '../graphql/builder.ts';
import { filterType } from '../graphql/filters.ts';
import { given } from '../graphql/given.ts';
import { recordType } from '../graphql/record.ts';
import * as usage from './service.ts';
import * as wire from './wire.ts';

/** Each list is computed as a whole. */
const cost = { field: 2_000, multiplier: 50 };

export const addTypes: AddTypes = (builder) => {
  recordType(builder, 'Use', wire.use);
  const resource = recordType(builder, 'ResourceUse', wire.resourceUse, wire.toResourceUse);
  const hour = recordType(builder, 'HourUse', wire.hourUse, wire.toHourUse);
  const week = recordType(builder, 'WeekUse', wire.weekUse, wire.toWeekUse);
  const whole = builder.objectRef<usage.UsageOf>('Usage').implement({
    description:
      'How much resources are used, in the local dates and hours of each location, relative to its present opening hours.',
    fields: (t) => ({
      resources: t.field({
        type: [resource],
        complexity: cost,
        description: 'For each resource, by id.',
        resolve: (of, _args, { context, viewer }) => usage.listResourceUse(context.db, viewer, of),
      }),
      hours: t.field({
        type: [hour],
        complexity: cost,
        description: 'For all these resources together, by weekday and hour: always 168 entries, from Monday on.',
        resolve: (of, _args, { context, viewer }) => usage.listHourUse(context.db, viewer, of),
      }),
      weeks: t.field({
        type: [week],
        complexity: cost,
        description:
          'For all these resources of each location, by week; the first and the last week may be incomplete.',
        resolve: (of, _args, { context, viewer }) => usage.listWeekUse(context.db, viewer, of),
      }),
    }),
  });
  const input = filterType(builder, 'UsageInput', 'The resources and the period', wire.usageQuery);
  builder.queryField('usage', (t) =>
    t.field({
      type: whole,
      args: { input: t.arg({ type: input, required: true, description: 'The resources and the period.' }) },
      description: 'Usage figures of resources; for Admins.',
      resolve: (_root, { input: { from, to, ...others } }, { context, viewer }) =>
        usage.findUsageOf(context.db, viewer, { from, to, ...given(others) }),
    }),
  );
};
