/** What a document may cost, checked before anything of it runs (contract 6). */
import { complexityFromQuery } from '@pothos/plugin-complexity';
import {
  type ExecutionArgs,
  GraphQLError,
  getOperationAST,
  getVariableValues,
  Kind,
  parse,
  type ValidationRule,
  validate,
} from 'graphql';
import type { Plugin } from 'graphql-yoga';

const most = { tokens: 1_000, depth: 10, fields: 200, cost: 10_000 };

const refuse = (message: string) => new GraphQLError(message, { extensions: { code: 'LIMIT' } });

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
        context.reportError(refuse('Introspection takes no aliases: ask for its fields by their own names.'));
    },
  };
}

/** The error of an operation that is too deep, too broad or too costly. */
function checkCost({ schema, document, operationName, variableValues, contextValue }: ExecutionArgs) {
  const operation = getOperationAST(document, operationName);
  // Execution says which operations there are.
  if (!operation) return undefined;
  const fragments = document.definitions.filter(({ kind }) => kind === Kind.FRAGMENT_DEFINITION);
  const { complexity, depth, breadth } = complexityFromQuery(
    { ...document, definitions: [operation, ...fragments] },
    { schema, variables: variableValues ?? {}, ctx: contextValue as object },
  );
  if (depth > most.depth) return refuse(`The query is ${depth} levels deep; ${most.depth} are allowed.`);
  if (breadth > most.fields) return refuse(`The query has ${breadth} fields; ${most.fields} are allowed.`);
  if (complexity > most.cost)
    return refuse(`The query costs ${complexity}; ${most.cost} are allowed. Ask for smaller pages.`);
  return undefined;
}

type Stop = { args: ExecutionArgs; setResultAndStopExecution(result: { errors: GraphQLError[] }): void };

function stopIfTooCostly({ args, setResultAndStopExecution }: Stop): void {
  try {
    const error = checkCost(args);
    if (error) setResultAndStopExecution({ errors: [error] });
  } catch (error) {
    // Variables that do not fit; said again in the words of execution, which suggest no names.
    if (!(error instanceof GraphQLError)) throw error;
    const { schema, document, operationName, variableValues } = args;
    const definitions = getOperationAST(document, operationName)?.variableDefinitions ?? [];
    const read = getVariableValues(schema, definitions, variableValues ?? {}, { hideSuggestions: true });
    setResultAndStopExecution({ errors: [...(read.errors ?? [error])] });
  }
}

export const limits: Plugin = {
  onParse({ setParseFn }) {
    setParseFn((source, options) => parse(source, { ...options, maxTokens: most.tokens }));
  },
  onValidate({ setValidationFn, addValidationRule }) {
    addValidationRule(refuseIntrospectionAliases);
    setValidationFn((schema, document, rules) =>
      validate(schema, document, rules, { maxErrors: 20, hideSuggestions: true }),
    );
  },
  onExecute: (payload) => stopIfTooCostly(payload as Stop),
  onSubscribe: (payload) => stopIfTooCostly(payload as Stop),
};
