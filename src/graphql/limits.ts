/** What a document may cost, checked before anything of it runs (contract 6). */
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
import type { GraphqlCall } from './builder.ts';
import { pageCost } from './connection.ts';

const most = {
  tokens: 1_000,
  depth: 10,
  fields: 200,
  cost: 10_000,
  faults: 20,
  faultsOfVariables: 1,
  values: 50_000,
};

/** The variables of an operation, or their first fault: it quotes what was sent, which may be all of it. */
export const readVariables = (
  schema: GraphQLSchema,
  definitions: readonly VariableDefinitionNode[] = [],
  sent: ExecutionArgs['variableValues'] = {},
) =>
  getVariableValues(schema, definitions, sent ?? {}, {
    maxErrors: most.faultsOfVariables,
    hideSuggestions: true,
  });

const refusal = (message: string) => new GraphQLError(message, { extensions: { code: 'LIMIT' } });

/** Counts no further than it must, of values nested however deep. */
function hasTooManyValues(variables: unknown): boolean {
  const left = [variables];
  for (let counted = 0; left.length > 0; counted++) {
    const value = left.pop();
    if (typeof value !== 'object' || value === null) continue;
    const inner = Object.values(value);
    if (counted + left.length + inner.length > most.values) return true;
    for (const one of inner) left.push(one);
  }
  return false;
}

/**
 * Introspection has no cost of its own: without aliases each of its fields is resolved once, so what it can ask for is no
 * more than the schema holds.
 */
function refuseIntrospectionAliases(context: Parameters<ValidationRule>[0]): ReturnType<ValidationRule> {
  return {
    Field(node) {
      const { value } = node.name;
      const isIntrospection =
        context.getParentType()?.name.startsWith('__') || value === '__schema' || value === '__type';
      if (node.alias && isIntrospection)
        context.reportError(refusal('Introspection takes no aliases: ask for its fields by their own names.'));
    },
  };
}

/** The error of an operation that is too deep, too broad or too costly. */
function checkCost(
  { schema, document, variableValues, contextValue }: ExecutionArgs,
  operation: OperationDefinitionNode,
): GraphQLError | undefined {
  const fragments = document.definitions.filter(({ kind }) => kind === Kind.FRAGMENT_DEFINITION);
  const { complexity, depth, breadth } = complexityFromQuery(
    { ...document, definitions: [operation, ...fragments] },
    { schema, variables: variableValues ?? {}, ctx: contextValue as object },
  );
  if (depth > most.depth) return refusal(`The query is ${depth} levels deep; ${most.depth} are allowed.`);
  if (breadth > most.fields) return refusal(`The query has ${breadth} fields; ${most.fields} are allowed.`);
  if (complexity > most.cost)
    return refusal(`The query costs ${complexity}; ${most.cost} are allowed. Ask for smaller pages.`);
  return undefined;
}

/**
 * The variables that change what the operation costs: those of page sizes. Undefined where the cost depends on another
 * argument that holds variables.
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
      else if (name.value === 'first' && value.kind === Kind.VARIABLE) variables.add(value.name.value);
  }
  visit(document, visitWithTypeInfo(types, { Field }));
  return isKnown ? variables : undefined;
}

const isOperation = ({ kind }: DefinitionNode) => kind === Kind.OPERATION_DEFINITION;

/** How many fields an operation has at its root, as they are answered. */
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
  /** Why an operation is not run; undefined when it may be. */
  refuse(args: ExecutionArgs): GraphQLError[] | undefined;
};

/** What is remembered of a document of one operation: with which values of which variables it is cheap enough. */
type Price = { variables: readonly string[]; affordable: Set<string> };

const mostAffordable = 100;

/** Undefined for values that are no page sizes. */
function sizesOf({ variables }: Price, { variableValues }: ExecutionArgs): string | undefined {
  const sizes = variables.map((name) => variableValues?.[name]);
  const isSize = (value: unknown) => value == null || typeof value === 'number';
  return sizes.every(isSize) ? sizes.map(String).join(' ') : undefined;
}

/** @param countRequest counts so many requests more of the viewer; throws LimitExceeded */
export function createLimits(countRequest: (viewer: Viewer, uses: number) => void): Limits {
  /** The same text has the same document again. */
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
    // Each is read several times, before execution and by it.
    if (hasTooManyValues(variableValues))
      return [refusal(`The variables hold more than ${most.values} values; send larger imports through REST.`)];
    // Execution says which operations there are.
    if (!operation || isAffordable(args)) return undefined;
    // Reckoning the cost reads them again, and would tell each of a million faults.
    const { errors } = readVariables(schema, operation.variableDefinitions, variableValues);
    if (errors) return [...errors];
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

  /** Each field of a mutation is a request, of which the call itself has counted as one: none of them runs past the limit. */
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
      setParseFn((source, options) => parse(source, { ...options, maxTokens: most.tokens }));
    },
    onValidate({ setValidationFn, addValidationRule }) {
      addValidationRule(refuseIntrospectionAliases);
      setValidationFn((schema, document, rules) =>
        validate(schema, document, rules, { maxErrors: most.faults, hideSuggestions: true }),
      );
    },
    onExecute: (payload) => stopIfTooCostly(payload as Stop),
    onSubscribe: (payload) => stopIfTooCostly(payload as Stop),
  };
  return { plugin, refuse };
}
