/** The selections of documents, as plans are made of them. */
import {
  type DocumentNode,
  type FieldNode,
  type FragmentDefinitionNode,
  GraphQLIncludeDirective,
  type GraphQLObjectType,
  type GraphQLOutputType,
  type GraphQLSchema,
  GraphQLSkipDirective,
  getDirectiveValues,
  isNonNullType,
  isObjectType,
  Kind,
  type NamedTypeNode,
  type SelectionNode,
  type SelectionSetNode,
  type VariableValues,
} from 'graphql';
import { lowerFirst } from '../fields.ts';
import type { TextList, WrittenMember } from '../http/large-json.ts';

/** The definitions that a document may refer to. Without variables, directives are left to the executor. */
export type References = {
  schema: GraphQLSchema;
  fragments: ReadonlyMap<string, FragmentDefinitionNode>;
  variables?: VariableValues;
};

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

function isIncluded(selection: SelectionNode, { variables = giveUp() }: References): boolean {
  const skip = getDirectiveValues(GraphQLSkipDirective, selection, variables);
  const include = getDirectiveValues(GraphQLIncludeDirective, selection, variables);
  return skip?.['if'] !== true && include?.['if'] !== false;
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
      if (selection.directives?.length && !isIncluded(selection, scope)) continue;
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

/** The fields that are selected of a list's items, if these are objects, as members of a list that writes itself. */
export function membersOf(
  type: GraphQLOutputType,
  selectionSets: readonly SelectionSetNode[],
  scope: References,
): WrittenMember[] | undefined {
  const item = isNonNullType(type) ? type.ofType : type;
  if (!isObjectType(item)) return undefined;
  return [...collectFields(item, selectionSets, scope)].map(([name, [node = giveUp()]]) =>
    node.name.value === '__typename' ? { name, text: item.name } : { name, of: node.name.value },
  );
}

/** Returns a list with what is selected of its items; undefined if that is more than it has. */
export type Selecting = (list: TextList) => TextList | undefined;

/** The lists of a field nearly always have the same members: those of the last one are kept. */
export function selectingOf(members: readonly WrittenMember[] | undefined): Selecting {
  let last: { own: readonly WrittenMember[]; selected: readonly WrittenMember[] } | undefined;
  return (list) => {
    if (!members) return undefined;
    if (last?.own === list.members) return list.writing(last.selected);
    const found = list.renamed(lowerFirst).selecting(members);
    if (found) last = { own: list.members, selected: found.members };
    return found;
  };
}
