/**
 * Plans of queries, and of the frames of subscriptions: their fields, arguments and types are resolved once, not at each execution.
 *
 * A plan handles only success. On any error it gives up: GraphQL's own executor then runs the query with what has been
 * resolved, and reports the error. Queries change nothing, so this is safe. Unlike graphql-jit, which runs certain
 * literals as code, a plan compiles no text of a document.
 */
import {
  type DocumentNode,
  type FieldNode,
  type GraphQLObjectType,
  type GraphQLOutputType,
  type GraphQLResolveInfo,
  type GraphQLSchema,
  type GraphQLUnionType,
  getArgumentValues,
  isLeafType,
  isListType,
  isNonNullType,
  isObjectType,
  isUnionType,
  Kind,
  type OperationDefinitionNode,
  OperationTypeNode,
  type SelectionSetNode,
  type VariableValues,
} from 'graphql';
import { openSlices } from '../flow/slices.ts';
import { LargeJson, TextList } from '../http/large-json.ts';
import type { GraphqlCall } from './builder.ts';
import { completeLeaf } from './leaves.ts';
import { type Limits, readVariables } from './limits.ts';
import { readsRecord } from './record.ts';
import { isLasting, type Resolved } from './resolved.ts';
import { collectFields, giveUp, membersOf, type References, scopeOf, selectingOf, selectionsOf } from './selections.ts';

/**
 * Returns the data of one execution, as `LargeJson` if it contains lists that write themselves; undefined if GraphQL's
 * own executor must run it, with what has been resolved.
 */
export type Plan = (params: Params, call: GraphqlCall, resolved: Resolved) => Promise<object | undefined>;

type Params = { variables?: Record<string, unknown> | null; operationName?: string | null };

type Run = {
  call: GraphqlCall;
  variables: VariableValues;
  resolved: Resolved | undefined;
  pending: Promise<void>[];
  failed: boolean;
  /** The lists in it that write themselves. */
  large: TextList[];
  /** Made for the first long list. */
  pause: ReturnType<typeof openSlices> | undefined;
};
/** Converts a resolver's value to its value in the answer. */
type Complete = (value: unknown, run: Run) => unknown;
type FieldStep = { key: string; node: FieldNode; find(parent: unknown, run: Run): unknown; complete: Complete };
const noArguments = Object.freeze({});
/** GraphQL's default resolver, except that it gives up on functions. */
function memberOf(name: string): (parent: Record<string, unknown>) => unknown {
  return (parent) => {
    const value = parent[name];
    return typeof value === 'function' ? giveUp() : value;
  };
}

function planField(type: GraphQLObjectType, key: string, nodes: readonly FieldNode[], scope: References): FieldStep {
  const [node = giveUp()] = nodes;
  if (node.name.value === '__typename') return { key, node, find: () => type.name, complete: (name) => name };
  const field = type.getFields()[node.name.value] ?? giveUp();
  const { resolve = memberOf(field.name), extensions } = field;
  // Our resolvers use only these members. One that needed more would fail here, and the executor would run it.
  const info = { fieldName: field.name, parentType: type } as GraphQLResolveInfo;
  return {
    key,
    node,
    find:
      (extensions[readsRecord] as ((parent: unknown) => unknown) | undefined) ??
      (field.args.length === 0
        ? (parent, { call }) => resolve(parent, noArguments, call, info)
        : (parent, { call, variables }) => resolve(parent, getArgumentValues(field, node, variables), call, info)),
    complete: planType(field.type, selectionsOf(nodes), scope),
  };
}

/** A separate function: with closures in the calling loop, V8 would allocate variables for each of its steps. */
async function settle(
  value: PromiseLike<unknown>,
  run: Run,
  { key, node, complete }: FieldStep,
  { parent, answer }: { parent: unknown; answer: Record<string, unknown> },
): Promise<void> {
  const keep = () => run.resolved?.keep(node, parent, value);
  try {
    const found = await value;
    keep();
    answer[key] = complete(found, run);
  } catch (error) {
    run.failed = true;
    if (isLasting(error)) keep();
  }
}

function planObject(type: GraphQLObjectType, selectionSets: readonly SelectionSetNode[], scope: References): Complete {
  const steps = [...collectFields(type, selectionSets, scope)].map(([key, nodes]) =>
    planField(type, key, nodes, scope),
  );
  // A template with all keys in order: objects that gain their keys one by one are slow in V8.
  const empty: Record<string, unknown> = JSON.parse(
    JSON.stringify(Object.fromEntries(steps.map(({ key }) => [key, null]))),
  );
  return (parent, run) => {
    const answer = { ...empty };
    for (const step of steps) {
      const { key, find, complete } = step;
      const value = find(parent, run);
      if (isPromise(value)) run.pending.push(settle(value, run, step, { parent, answer }));
      else answer[key] = complete(value, run);
    }
    return answer;
  };
}

const isPromise = (value: unknown): value is PromiseLike<unknown> =>
  typeof value === 'object' && typeof (value as { then?: unknown } | null)?.then === 'function';

/** Items of a list that are completed at once. */
const mostAtOnce = 100;

/** Pauses only while no item has sent a query: the queries of one turn share one statement (flow/gather.ts). */
async function completeInSlices(values: readonly unknown[], answers: unknown[], complete: Complete, run: Run) {
  let hasAsked = false;
  const pause = (run.pause ??= openSlices());
  try {
    for (const value of values) {
      const before = run.pending.length;
      answers.push(complete(value, run));
      hasAsked ||= run.pending.length > before;
      const paused = hasAsked ? undefined : pause();
      if (paused !== undefined) await paused;
    }
  } catch {
    run.failed = true;
  }
}

/** @param select makes a list write what is selected of its items */
function planList(complete: Complete, select: ReturnType<typeof selectingOf>): Complete {
  return (values, run) => {
    if (values instanceof TextList) {
      const list = select(values);
      if (!list) return [...values].map((value) => complete(value, run));
      run.large.push(list);
      return list;
    }
    if (!Array.isArray(values) || values.some(isPromise)) giveUp();
    if (values.length <= mostAtOnce) return values.map((value) => complete(value, run));
    const answers: unknown[] = [];
    run.pending.push(completeInSlices(values, answers, complete, run));
    return answers;
  };
}

/** Plans a value that is neither null nor an error. */
function planValue(type: GraphQLOutputType, selectionSets: readonly SelectionSetNode[], scope: References): Complete {
  if (isListType(type)) {
    const complete = planType(type.ofType, selectionSets, scope);
    return planList(complete, selectingOf(membersOf(type.ofType, selectionSets, scope)));
  }
  if (isObjectType(type) && !type.isTypeOf) return planObject(type, selectionSets, scope);
  // The executor handles interfaces.
  return isUnionType(type) ? planUnion(type, selectionSets, scope) : giveUp();
}

function planUnion(type: GraphQLUnionType, selectionSets: readonly SelectionSetNode[], scope: References): Complete {
  const resolveType = type.resolveType ?? giveUp();
  const plans = new Map(type.getTypes().map((one) => [one.name, planValue(one, selectionSets, scope)]));
  return (value, run) => {
    const name = resolveType(value, run.call, undefined as never, type);
    const complete = typeof name === 'string' ? plans.get(name) : undefined;
    return (complete ?? giveUp())(value, run);
  };
}

function planType(type: GraphQLOutputType, selectionSets: readonly SelectionSetNode[], scope: References): Complete {
  if (isLeafType(type)) return completeLeaf(type, () => null);
  if (isNonNullType(type) && isLeafType(type.ofType)) return completeLeaf(type.ofType, giveUp);
  if (isNonNullType(type)) {
    const complete = planType(type.ofType, selectionSets, scope);
    return (value, run) => complete(value ?? giveUp(), run);
  }
  const complete = planValue(type, selectionSets, scope);
  return (value, run) => {
    if (value == null) return null;
    if (typeof value === 'object' && value instanceof Error) giveUp();
    return complete(value, run);
  };
}

const startRun = (call: GraphqlCall, variables: VariableValues, resolved?: Resolved): Run => ({
  call,
  variables,
  resolved,
  pending: [],
  failed: false,
  large: [],
  pause: undefined,
});

/** If one field fails at once, the executor still needs those that are being resolved. */
function begin(complete: Complete, run: Run): object {
  try {
    return complete(undefined, run) as object;
  } catch {
    run.failed = true;
    return {};
  }
}

/** Waits for the promises that a run has started. */
async function succeeds(run: Run): Promise<boolean> {
  // Not Promise.all: each may add further ones.
  for (const one of run.pending) await one;
  return !run.failed;
}

/** @param document a valid one. @returns undefined unless the document is one query over plain records */
export function planQuery(schema: GraphQLSchema, document: DocumentNode, limits: Limits): Plan | undefined {
  const [operation, ...others] = document.definitions.filter(({ kind }) => kind === Kind.OPERATION_DEFINITION);
  const type = schema.getQueryType();
  if (!type || operation?.kind !== Kind.OPERATION_DEFINITION || others.length > 0) return undefined;
  if (operation.operation !== OperationTypeNode.QUERY || operation.directives?.length) return undefined;
  const { name, variableDefinitions = [] } = operation;
  let complete: Complete;
  try {
    complete = planObject(type, [operation.selectionSet], scopeOf(schema, document));
  } catch {
    return undefined;
  }
  return async (params, call, resolved) => {
    const sent = params.variables ?? {};
    if ((params.operationName ?? name?.value) !== name?.value) return undefined;
    try {
      if (limits.refuse({ schema, document, variableValues: sent, contextValue: call })) return undefined;
      const { variableValues: variables } = readVariables(schema, variableDefinitions, sent);
      if (!variables) return undefined;
      resolved.startAt(call.context);
      const run = startRun(call, variables, resolved);
      const data = begin(complete, run);
      if (!(await succeeds(run))) return undefined;
      if (run.large.length === 0) return data;
      return new LargeJson(data, () => {
        for (const list of run.large) list.giveBack();
      });
    } catch {
      return undefined;
    }
  };
}

/** The data of a frame; undefined if GraphQL's own executor must run it. */
export type FramePlan = (
  frame: object,
  call: GraphqlCall,
  variables: VariableValues,
) => object | undefined | Promise<object | undefined>;

/**
 * @param operation a valid subscription, of a field whose frames are its values
 * @returns undefined unless these are plain records
 */
export function planFrames(
  schema: GraphQLSchema,
  document: DocumentNode,
  { directives = [], selectionSet }: OperationDefinitionNode,
): FramePlan | undefined {
  const type = schema.getSubscriptionType();
  if (!type || directives.length > 0) return undefined;
  let key: string;
  let complete: Complete;
  try {
    const scope = scopeOf(schema, document);
    const [[name, nodes] = giveUp()] = collectFields(type, [selectionSet], scope);
    const field = type.getFields()[nodes[0]?.name.value ?? ''] ?? giveUp();
    [key, complete] = [name, planType(field.type, selectionsOf(nodes), scope)];
  } catch {
    return undefined;
  }
  return (frame, call, variables) => {
    try {
      const run = startRun(call, variables);
      const data = Object.fromEntries([[key, complete(frame, run)]]);
      if (run.large.length > 0) return undefined;
      return run.pending.length > 0 ? succeeds(run).then((isWhole) => (isWhole ? data : undefined)) : data;
    } catch {
      return undefined;
    }
  };
}
