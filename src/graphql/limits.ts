/** What a document may cost, checked before anything of it runs (contract 6). */
import { complexityFromQuery } from '@pothos/plugin-complexity';
import {
  type DefinitionNode,
  type DocumentNode,
  type ExecutionArgs,
  type FieldNode,
  GraphQLError,
  getOperationAST,
  getVariableValues,
  Kind,
  parse,
  print,
  TypeInfo,
  type ValidationRule,
  validate,
  visit,
  visitWithTypeInfo,
} from 'graphql';
import type { Plugin } from 'graphql-yoga';

const most = { tokens: 1_000, depth: 10, fields: 200, cost: 10_000 };

const refusal = (message: string) => new GraphQLError(message, { extensions: { code: 'LIMIT' } });

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
        context.reportError(
          refusal('Introspection takes no aliases: ask for its fields by their own names.'),
        );
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
  if (depth > most.depth) return refusal(`The query is ${depth} levels deep; ${most.depth} are allowed.`);
  if (breadth > most.fields) return refusal(`The query has ${breadth} fields; ${most.fields} are allowed.`);
  if (complexity > most.cost)
    return refusal(`The query costs ${complexity}; ${most.cost} are allowed. Ask for smaller pages.`);
  return undefined;
}

/** Whether variables change what the operation costs: as arguments of a field whose cost is a function of its arguments. */
function dependsOnVariables({ schema, document }: ExecutionArgs): boolean {
  const types = new TypeInfo(schema);
  let depends = false;
  function Field({ arguments: sent = [] }: FieldNode): void {
    const isFunction = typeof types.getFieldDef()?.extensions['complexity'] === 'function';
    depends ||= isFunction && sent.some((argument) => print(argument).includes('$'));
  }
  visit(document, visitWithTypeInfo(types, { Field }));
  return depends;
}

const isOperation = ({ kind }: DefinitionNode) => kind === Kind.OPERATION_DEFINITION;

type Stop = { args: ExecutionArgs; setResultAndStopExecution(result: { errors: GraphQLError[] }): void };

export type Limits = {
  plugin: Plugin;
  /** Why an operation is not run; undefined when it may be. */
  refuse(args: ExecutionArgs): GraphQLError[] | undefined;
};

export function createLimits(): Limits {
  /** Documents of one operation that is cheap enough with whatever variables; the same text has the same document again. */
  const affordable = new WeakSet<DocumentNode>();

  function refuseCostly(args: ExecutionArgs): GraphQLError[] | undefined {
    const { schema, document, operationName, variableValues } = args;
    if (affordable.has(document)) return undefined;
    try {
      const error = checkCost(args);
      if (error) return [error];
      if (document.definitions.filter(isOperation).length === 1 && !dependsOnVariables(args))
        affordable.add(document);
      return undefined;
    } catch (error) {
      // Variables that do not fit; said again in the words of execution, which suggest no names.
      if (!(error instanceof GraphQLError)) throw error;
      const definitions = getOperationAST(document, operationName)?.variableDefinitions ?? [];
      const read = getVariableValues(schema, definitions, variableValues ?? {}, { hideSuggestions: true });
      return [...(read.errors ?? [error])];
    }
  }

  function stopIfTooCostly({ args, setResultAndStopExecution }: Stop): void {
    const errors = refuseCostly(args);
    if (errors) setResultAndStopExecution({ errors });
  }

  const plugin: Plugin = {
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
  return { plugin, refuse: refuseCostly };
}
