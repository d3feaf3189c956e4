import { type AddTypes, typeNamed } from '../graphql/builder.ts';
import { filterType } from '../graphql/filters.ts';
import { given } from '../graphql/given.ts';
import { recordType } from '../graphql/record.ts';
import {
  type FreeResource,
  findAvailability,
  listAvailability,
  listFree,
  mostResources,
  openSlabs,
  roomDaysOf,
  SpanWriter,
} from './service.ts';
import * as wire from './wire.ts';

export const addTypes: AddTypes = (builder) => {
  recordType(builder, 'TimeSpan', wire.timeSpan);
  const availability = recordType(builder, 'ResourceAvailability', wire.resourceAvailability);
  const input = filterType(builder, 'AvailabilityInput', 'The resources and the window', wire.availabilityQuery);
  builder.queryField('availability', (t) =>
    t.field({
      type: [availability],
      args: { input: t.arg({ type: input, required: true, description: 'The resources and the window.' }) },
      // The whole answer is computed, whatever the query selects; a document asks for it once.
      complexity: { field: 5_100, multiplier: 60 },
      description: `When the active resources can be booked, by id; at most ${mostResources} of them.`,
      resolve: async (_root, { input: { from, to, ...others } }, { context, viewer, place }) => {
        place?.take(roomDaysOf({ from, to, ...given(others) }));
        const writer = new SpanWriter(context.once(openSlabs));
        const found = await listAvailability(context.db, viewer, { from, to, ...given(others) }, writer);
        return wire.toAvailabilityRecords({ from, to }, found, writer);
      },
    }),
  );
  const when = filterType(
    builder,
    'ResourceAvailabilityInput',
    'When',
    wire.availabilityQuery.pick({ From: true, To: true, DurationMinutes: true }),
  );
  builder.objectField(typeNamed<{ id: number }>('Resource'), 'availability', (t) =>
    t.field({
      type: availability,
      nullable: true,
      args: { input: t.arg({ type: when, required: true, description: 'When.' }) },
      complexity: { field: 20, multiplier: 1 },
      description: 'When it can be booked; null if it is not active.',
      resolve: async ({ id }, { input: { from, to, ...others } }, { context, viewer, place }) => {
        place?.take(roomDaysOf({ from, to, resourceIds: [id] }));
        const found = await findAvailability(context.db, viewer, id, { from, to, ...given(others) });
        return found ? wire.toAvailabilityRecords({ from, to }, [found])[0] : null;
      },
    }),
  );
  const free = recordType<FreeResource>(builder, 'FreeResource', wire.freeResource, wire.toFreeRecord);
  const wanted = filterType(builder, 'FreeInput', 'The resources, the start and the duration', wire.freeQuery);
  builder.queryField('freeResources', (t) =>
    t.field({
      type: [free],
      args: { input: t.arg({ type: wanted, description: 'The resources, the start and the duration.' }) },
      complexity: { field: 500, multiplier: 50 },
      description:
        'The active resources that are open and not booked from now or another instant on, and that the caller can book then, quotas aside; none for a time at which the caller cannot book at all. The best fit comes first.',
      resolve: (_root, { input }, { context, viewer }) =>
        listFree(context.db, viewer, wire.toFreeQuery(given(input ?? {}))),
    }),
  );
};
