/** The selections of documents, as plans are made of them. */
import {
  type DocumentNode,
  type FieldNode,
  type FragmentDefinitionNode,
  type GraphQLObjectType,
  type GraphQLSchema,
  isObjectType,
  Kind,
  type NamedTypeNode,
  type SelectionSetNode,
} from 'graphql';

/** The definitions that a document may refer to. */
export type References = { schema: GraphQLSchema; fragments: ReadonlyMap<string, FragmentDefinitionNode> };

/** Throws, to leave a document to GraphQL's own executor. */
export function giveUp(): never {
  throw new Error('This is for the executor.');
}

export function fragmentsOf({ definitions }: DocumentNode): FragmentDefinitionNode[] {
  return definitions.filter(({ kind }) => kind === Kind.FRAGMENT_DEFINITION) as FragmentDefinitionNode[];
}

export const scopeOf = (schema: GraphQLSchema, document: DocumentNode): References => ({
  schema,
  fragments: new Map(fragmentsOf(document).map((fragment) => [fragment.name.value, fragment])),
});

/** Whether a fragment applies to a type. Fragments on abstract types are left to the executor. */
function isFor({ name }: GraphQLObjectType, condition: NamedTypeNode | undefined, { schema }: References): boolean {
  if (!condition || condition.name.value === name) return true;
  return isObjectType(schema.getType(condition.name.value)) ? false : giveUp();
}

/** The fields of a type by their names in the answer, with fragments expanded. */
export function collectFields(
  type: GraphQLObjectType,
  selectionSets: readonly SelectionSetNode[],
  scope: References,
): Map<string, FieldNode[]> {
  const fields = new Map<string, FieldNode[]>();
  function collect({ selections }: SelectionSetNode): void {
    for (const selection of selections) {
      if (selection.directives?.length) giveUp();
      if (selection.kind === Kind.FIELD) {
        const key = (selection.alias ?? selection.name).value;
        fields.set(key, [...(fields.get(key) ?? []), selection]);
        continue;
      }
      const isSpread = selection.kind === Kind.FRAGMENT_SPREAD;
      const fragment = isSpread ? (scope.fragments.get(selection.name.value) ?? giveUp()) : selection;
      if (isFor(type, fragment.typeCondition, scope)) collect(fragment.selectionSet);
    }
  }
  selectionSets.forEach(collect);
  return fields;
}

export const selectionsOf = (nodes: readonly FieldNode[]): SelectionSetNode[] =>
  nodes.flatMap(({ selectionSet }) => selectionSet ?? []);
