/** Completes the values of scalars and enumerations in plans. */
import type { GraphQLLeafType } from 'graphql';
import { giveUp } from './selections.ts';

/** The types of values that scalars write as they are: most of an answer, so that they are not even passed to the scalar. */
const writtenAsIs: Record<string, string> = {
  Boolean: 'boolean',
  DateTime: 'string',
  ID: 'string',
  String: 'string',
};

/** @param whenNull gives the answer for null, or throws where there must be a value */
export function completeLeaf(type: GraphQLLeafType, whenNull: () => unknown): (value: unknown) => unknown {
  const asIs = writtenAsIs[type.name];
  return (value) => {
    if (typeof value === asIs) return value;
    if (value == null) return whenNull();
    if (value instanceof Error) giveUp();
    return type.coerceOutputValue(value) ?? giveUp();
  };
}
