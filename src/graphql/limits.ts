/** Limits the depth, breadth and cost of a document before it runs (contract 6). */
import { complexityFromQuery } from '@pothos/plugin-complexity';
import {
  type DefinitionNode,
  type DocumentNode,
  type ExecutionArgs,
  type FieldNode,
  GraphQLError,
  type GraphQLSchema,
  getOperationAST,
  getVariableValues,
  Kind,
  type OperationDefinitionNode,
  OperationTypeNode,
  parse,
  print,
  type SelectionSetNode,
  TypeInfo,
  type ValidationRule,
  type VariableDefinitionNode,
  validate,
  visit,
  visitWithTypeInfo,
} from 'graphql';
import type { Plugin } from 'graphql-yoga';
import type { Viewer } from '../context.ts';
import { mostFieldsOf } from './breadth.ts';
import type { GraphqlCall } from './builder.ts';
import { pageCost, pageSizes } from './connection.ts';
import { refusal } from './errors.ts';
import type { GraphqlCode } from './failures.ts';

const most = {
  tokens: 1_000,
  depth: 10,
  fields: 200,
  cost: 10_000,
  faults: 20,
  values: 50_000,
  /** The size up to which a call gets suggestions for wrong names, and more than the first fault of its variables. */
  explained: { characters: 10_000, values: 200, faults: 3 },
};

/** The variables of an operation, or their first fault. Only one, because a fault may quote all of the input. */
export const readVariables = (
  schema: GraphQLSchema,
  definitions: readonly VariableDefinitionNode[] = [],
  sent: ExecutionArgs['variableValues'] = {},
) => getVariableValues(schema, definitions, sent ?? {}, { maxErrors: 1, hideSuggestions: true });

/** Every fault of an operation's variables, with suggestions; undefined unless they are few and short. */
export function explainVariables(args: ExecutionArgs): readonly GraphQLError[] | undefined {
  const { schema, document, operationName, variableValues } = args;
  const { values, characters } = most.explained;
  const operation = getOperationAST(document, operationName);
  if (!operation || exceeds(variableValues, values, characters)) return undefined;
  const definitions = operation.variableDefinitions ?? [];
  return getVariableValues(schema, definitions, variableValues ?? {}, { maxErrors: most.faults }).errors;
}

/** Parses a document. Its error is complete: Yoga caches it for later calls, whichever way the first one has come. */
function readDocument(...[source, options]: Parameters<typeof parse>): DocumentNode {
  try {
    return parse(source, { ...options, maxTokens: most.tokens });
  } catch (error) {
    if (error instanceof GraphQLError)
      Object.assign(error.extensions, {
        code: 'GRAPHQL_PARSE_FAILED' satisfies GraphqlCode,
        http: { status: 400, spec: true },
      });
    throw error;
  }
}

/**
 * The faults of a document: that it is too broad, or all others. Finding a suggestion compares all names, so only a few
 * faults of a short document get one.
 */
function findFaults(...[schema, document, rules]: Parameters<typeof validate>): readonly GraphQLError[] {
  const fields = mostFieldsOf(document);
  if (fields > most.fields) return [overLimit(`The query has ${fields} fields; ${most.fields} are allowed.`)];
  const faults = validate(schema, document, rules, { maxErrors: most.faults, hideSuggestions: true });
  const length = document.loc?.source.body.length ?? Infinity;
  const { characters, faults: few } = most.explained;
  return faults.length > 0 && faults.length <= few && length <= characters ? validate(schema, document, rules) : faults;
}

const overLimit = (message: string) => refusal(message, 'LIMIT');

/** Stops counting at the first value or character too many. Not recursive, because values may be nested to any depth. */
function exceeds(variables: unknown, mostValues: number, mostCharacters = Infinity): boolean {
  const left = [variables];
  let characters = 0;
  for (let counted = 0; left.length > 0; counted++) {
    const value = left.pop();
    if (typeof value === 'string') characters += value.length;
    if (typeof value === 'object' && value !== null) {
      const names = Object.keys(value);
      if (counted + left.length + names.length > mostValues) return true;
      for (const name of names) {
        characters += name.length;
        left.push((value as Record<string, unknown>)[name]);
      }
    }
    if (characters > mostCharacters) return true;
  }
  return false;
}

/** Introspection costs nothing: without aliases each field is resolved once, so its answer is bounded by the schema. */
function refuseIntrospectionAliases(context: Parameters<ValidationRule>[0]): ReturnType<ValidationRule> {
  return {
    Field(node) {
      const { value } = node.name;
      const isIntrospection =
        context.getParentType()?.name.startsWith('__') || value === '__schema' || value === '__type';
      if (node.alias && isIntrospection)
        context.reportError(overLimit('Introspection takes no aliases: ask for its fields by their own names.'));
    },
  };
}

/** The error of an operation that is too deep or too costly; undefined for others. */
function checkCost(
  { schema, document, variableValues, contextValue }: ExecutionArgs,
  operation: OperationDefinitionNode,
): GraphQLError | undefined {
  const fragments = document.definitions.filter(({ kind }) => kind === Kind.FRAGMENT_DEFINITION);
  const { complexity, depth } = complexityFromQuery(
    { ...document, definitions: [operation, ...fragments] },
    { schema, variables: variableValues ?? {}, ctx: contextValue as object },
  );
  if (depth > most.depth) return overLimit(`The query is ${depth} levels deep; ${most.depth} are allowed.`);
  if (complexity > most.cost)
    return overLimit(`The query costs ${Math.ceil(complexity)}; ${most.cost} are allowed. Ask for smaller pages.`);
  return undefined;
}

/**
 * The variables that change the cost of the operation, which are page sizes. Undefined if the cost depends on another argument
 * with variables.
 */
function pageVariables({ schema, document }: ExecutionArgs): Set<string> | undefined {
  const types = new TypeInfo(schema);
  const variables = new Set<string>();
  let isKnown = true;
  function Field({ arguments: sent = [] }: FieldNode): void {
    const cost = types.getFieldDef()?.extensions['complexity'];
    if (typeof cost !== 'function') return;
    for (const { name, value } of sent)
      if (cost !== pageCost) isKnown &&= !print(value).includes('$');
      else if (pageSizes.includes(name.value) && value.kind === Kind.VARIABLE) variables.add(value.name.value);
  }
  visit(document, visitWithTypeInfo(types, { Field }));
  return isKnown ? variables : undefined;
}

const isOperation = ({ kind }: DefinitionNode) => kind === Kind.OPERATION_DEFINITION;

/** The number of root fields in an operation's answer. */
function countRootFields({ definitions }: DocumentNode, operation: OperationDefinitionNode): number {
  const names = new Set<string>();
  const spread = new Set<string>();
  function collect({ selections }: SelectionSetNode): void {
    for (const selection of selections)
      if (selection.kind === Kind.FIELD) names.add((selection.alias ?? selection.name).value);
      else if (selection.kind === Kind.INLINE_FRAGMENT) collect(selection.selectionSet);
      else if (!spread.has(selection.name.value)) {
        spread.add(selection.name.value);
        for (const one of definitions)
          if (one.kind === Kind.FRAGMENT_DEFINITION && one.name.value === selection.name.value)
            collect(one.selectionSet);
      }
  }
  collect(operation.selectionSet);
  return names.size;
}

type Stop = { args: ExecutionArgs; setResultAndStopExecution(result: { errors: GraphQLError[] }): void };

export type Limits = {
  plugin: Plugin;
  /** The errors of an operation that exceeds a limit; undefined for others. */
  refuse(args: ExecutionArgs): GraphQLError[] | undefined;
};

/** A cache for a document of one operation: the page sizes with which it is within the limits. */
type Price = { variables: readonly string[]; affordable: Set<string> };

const mostAffordable = 100;

/** The page sizes as a key; undefined for values that are not page sizes. */
function sizesOf({ variables }: Price, { variableValues }: ExecutionArgs): string | undefined {
  const sizes = variables.map((name) => variableValues?.[name]);
  const isSize = (value: unknown) => value == null || typeof value === 'number';
  return sizes.every(isSize) ? sizes.map(String).join(' ') : undefined;
}

/** @param countRequest counts further requests of the viewer; throws LimitExceeded */
export function createLimits(countRequest: (viewer: Viewer, uses: number) => void): Limits {
  /** The pipeline's cache returns the same document for the same text. */
  const prices = new WeakMap<DocumentNode, Price>();

  function isAffordable(args: ExecutionArgs): boolean {
    const price = prices.get(args.document);
    return price?.affordable.has(sizesOf(price, args) ?? '?') ?? false;
  }

  function remember(args: ExecutionArgs): void {
    const { document } = args;
    if (document.definitions.filter(isOperation).length > 1) return;
    let price = prices.get(document);
    if (!price) {
      const variables = pageVariables(args);
      if (!variables) return;
      prices.set(document, (price = { variables: [...variables], affordable: new Set() }));
    }
    const sizes = sizesOf(price, args);
    if (sizes !== undefined && price.affordable.size < mostAffordable) price.affordable.add(sizes);
  }

  function refuse(args: ExecutionArgs): GraphQLError[] | undefined {
    const { schema, document, operationName, variableValues } = args;
    const operation = getOperationAST(document, operationName);
    // Checked first, because each value is read several times, before and during execution.
    if (exceeds(variableValues, most.values))
      return [overLimit(`The variables hold more than ${most.values} values; send larger imports through REST.`)];
    // Without an operation, execution reports the error.
    if (!operation || isAffordable(args)) return undefined;
    // Checked here, because the cost calculation would report every one of a million faults.
    const { errors } = readVariables(schema, operation.variableDefinitions, variableValues);
    if (errors) return [...(explainVariables(args) ?? errors)];
    try {
      const error = checkCost(args, operation);
      if (error) return [error];
      remember(args);
      return undefined;
    } catch (error) {
      if (!(error instanceof GraphQLError)) throw error;
      return [error];
    }
  }

  /** Counts each field of a mutation as a request. The call has counted as one; no field runs beyond the limit. */
  function countMutations({ document, operationName, contextValue }: ExecutionArgs): GraphQLError[] | undefined {
    const operation = getOperationAST(document, operationName);
    if (operation?.operation !== OperationTypeNode.MUTATION) return undefined;
    const more = countRootFields(document, operation) - 1;
    try {
      if (more > 0) countRequest((contextValue as GraphqlCall).viewer, more);
      return undefined;
    } catch (error) {
      return [new GraphQLError('Failed.', { originalError: error as Error })];
    }
  }

  function stopIfTooCostly({ args, setResultAndStopExecution }: Stop): void {
    const errors = refuse(args) ?? countMutations(args);
    if (errors) setResultAndStopExecution({ errors });
  }

  const plugin: Plugin = {
    onParse({ setParseFn }) {
      setParseFn(readDocument);
    },
    onValidate({ setValidationFn, addValidationRule }) {
      addValidationRule(refuseIntrospectionAliases);
      setValidationFn(findFaults);
    },
    onExecute: (payload) => stopIfTooCostly(payload as Stop),
    onSubscribe: (payload) => stopIfTooCostly(payload as Stop),
  };
  return { plugin, refuse };
}
