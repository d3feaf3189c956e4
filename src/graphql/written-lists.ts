/**
 * Lists that write themselves, in the results of GraphQL's own executor. It would make a record of each of their items, all in one
 * turn of the event loop, so it completes an empty list in the place of each; the result then gets the lists themselves.
 */
import { type FieldNode, type GraphQLResolveInfo, getNullableType, isListType, responsePathAsArray } from 'graphql';
import { LargeJson, TextList } from '../http/large-json.ts';
import type { Result } from './execution.ts';
import { giveUp, membersOf, type Selecting, selectingOf, selectionsOf } from './selections.ts';

type Place = { path: readonly (string | number)[]; list: TextList };
type Known = { nodes: readonly FieldNode[]; select: Selecting };

function selectingFor({ returnType, fieldNodes, schema, fragments, variableValues }: GraphQLResolveInfo): Selecting {
  const scope = { schema, fragments: new Map(Object.entries(fragments)), variables: variableValues };
  const type = getNullableType(returnType);
  try {
    return selectingOf(membersOf(isListType(type) ? type.ofType : giveUp(), selectionsOf(fieldNodes), scope));
  } catch {
    return () => undefined;
  }
}

/** Of one execution. */
export class WrittenLists {
  readonly #places: Place[] = [];
  /** By the first of the nodes of a field: nearly always the others are the same, too. */
  readonly #known = new Map<FieldNode | undefined, Known>();

  #selectingFor(info: GraphQLResolveInfo): Selecting {
    const { fieldNodes: nodes } = info;
    const known = this.#known.get(nodes[0]);
    if (known?.nodes.length === nodes.length && nodes.every((node, at) => node === known.nodes[at]))
      return known.select;
    const select = selectingFor(info);
    this.#known.set(nodes[0], { nodes, select });
    return select;
  }

  /** What the executor completes in the place of a value. */
  replace(value: unknown, info: GraphQLResolveInfo): unknown {
    if (!(value instanceof TextList)) return value;
    const list = this.#selectingFor(info)(value);
    if (!list) return value;
    this.#places.push({ path: responsePathAsArray(info.path), list });
    return [];
  }

  /** Puts the lists into the data of the result, unless an error has taken what was around them. */
  putInto(result: Result): Result {
    const { data } = result;
    if (this.#places.length === 0 || typeof data !== 'object' || data === null) return result;
    for (const { path, list } of this.#places) {
      let around: Record<string | number, unknown> | null | undefined = data as Record<string | number, unknown>;
      for (const key of path.slice(0, -1)) around = around?.[key] as typeof around;
      if (around) around[path.at(-1) as string | number] = list;
    }
    const giveBack = () => {
      for (const { list } of this.#places) list.giveBack();
    };
    return { ...result, data: new LargeJson(data, giveBack) };
  }
}
