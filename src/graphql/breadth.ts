/** Counts the fields of a document before it is validated, as the time of validation grows with their square. */
import { type DocumentNode, Kind, type SelectionSetNode } from 'graphql';
import { fragmentsOf } from './selections.ts';

/**
 * The number of fields of the largest operation or fragment; a fragment counts wherever it is spread. Below `__schema`
 * and `__type` each fragment counts once, because introspection queries repeat theirs.
 */
export function mostFieldsOf(document: DocumentNode): number {
  const fragments = new Map(fragmentsOf(document).map(({ name, selectionSet }) => [name.value, selectionSet]));
  const counts = new Map<string, number>();

  function countOf(name: string): number {
    const known = counts.get(name);
    if (known !== undefined) return known;
    // A fragment that contains itself is refused by validation.
    counts.set(name, 0);
    const count = fieldsOf(fragments.get(name));
    counts.set(name, count);
    return count;
  }

  /** @param introspected the fragments that were counted in the same introspection; absent outside of one */
  function fieldsOf(selectionSet: SelectionSetNode | undefined, introspected?: Set<string>): number {
    let count = 0;
    for (const selection of selectionSet?.selections ?? [])
      if (selection.kind === Kind.FIELD) {
        const begins = introspected === undefined && selection.name.value.startsWith('__');
        count += 1 + fieldsOf(selection.selectionSet, begins ? new Set() : introspected);
      } else if (selection.kind === Kind.INLINE_FRAGMENT) count += fieldsOf(selection.selectionSet, introspected);
      else {
        const { value } = selection.name;
        if (introspected === undefined) count += countOf(value);
        else if (!introspected.has(value)) count += fieldsOf(fragments.get(value), introspected.add(value));
      }
    return count;
  }

  const counted = document.definitions.map((definition) => {
    if (!('selectionSet' in definition)) return 0;
    const isIntrospection = 'typeCondition' in definition && definition.typeCondition.name.value.startsWith('__');
    return fieldsOf(definition.selectionSet, isIntrospection ? new Set() : undefined);
  });
  return Math.max(0, ...counted);
}
