/** Members of inputs that several rooms share. */
import { z } from 'zod';
import { readLongId } from '../input.ts';
import type { Types } from './builder.ts';
import { given } from './given.ts';
import { idArgument } from './ids.ts';
import { textArgument } from './texts.ts';

/** Filters of resources. */
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

type Filter<Sent> = { [Name in keyof Sent]?: Name extends `${string}Id` ? number : NonNullable<Sent[Name]> };

/** Reads a filter: null counts as left out, and a member whose name ends with `Id` becomes a number. */
export const readFilter = <Sent extends object>(sent: Sent | null | undefined): Filter<Sent> =>
  Object.fromEntries(
    Object.entries(given(sent)).map(([name, value]) => [name, name.endsWith('Id') ? readLongId(String(value)) : value]),
  ) as Filter<Sent>;
