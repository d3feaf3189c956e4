/** Members of inputs that several rooms have. */
import { z } from 'zod';
import { readId } from '../input.ts';
import type { Types } from './builder.ts';
import { idArgument } from './ids.ts';
import { textArgument } from './texts.ts';

/** Which resources. */
export const resourceFields = (t: PothosSchemaTypes.InputFieldBuilder<Types, 'InputObject'>) => ({
  locationId: t.id({ description: 'Of this location.', validate: idArgument }),
  minCapacity: t.int({
    description: 'For at least so many persons.',
    validate: { min: 0, max: 1_000_000 },
  }),
  equipment: t.stringList({
    description: 'That have all of this.',
    validate: { schema: z.array(textArgument(100).schema).max(20) },
  }),
});

/** What was sent of `resourceFields`. */
export const toResourceFilter = (sent: {
  locationId?: string | null | undefined;
  minCapacity?: number | null | undefined;
  equipment?: string[] | null | undefined;
}) => ({
  locationId: sent.locationId == null ? undefined : readId(sent.locationId),
  minCapacity: sent.minCapacity ?? undefined,
  equipment: sent.equipment ?? undefined,
});
