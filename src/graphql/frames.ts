/**
 * Executes subscriptions: opens the source of frames, and executes the document once for each frame. A field that declares
 * `extensions: { sharesFrames: true }` promises that its frames do not depend on the viewer, that all subscribers get the
 * same frame as the same object, and that a frame is the field's value, or the error that it fails with. Each distinct
 * operation is then executed once per frame, however many subscribers it has, and by a plan where there is one.
 */
import {
  type ASTNode,
  createSourceEventStream,
  type DocumentNode,
  type ExecutionArgs,
  executeSubscriptionEvent,
  GraphQLError,
  type GraphQLSchema,
  Kind,
  type OperationDefinitionNode,
  type SelectionSetNode,
  type ValidatedSubscriptionArgs,
  validateSubscriptionArgs,
  visit,
} from 'graphql';
import { LRUCache } from 'lru-cache';
import { type Latest, latestOf } from '../flow/latest.ts';
import { workFor } from '../flow/working.ts';
import type { Log } from '../log.ts';
import type { GraphqlCall } from './builder.ts';
import { presentError } from './errors.ts';
import type { Execution, Result } from './execution.ts';
import { type FramePlan, planFrames } from './plan.ts';
import { fragmentsOf } from './selections.ts';

/** The results of one subscription. Taking one never fails: an error is delivered as the last frame. */
export type Frames = Latest<Execution> & {
  /** Their tenant. */
  readonly mandatorId: number;
};

/** The reasons for a refusal, or the results. */
export type Opened = { errors: readonly GraphQLError[] } | Frames;

type Operation = {
  args: ValidatedSubscriptionArgs;
  plan?: FramePlan | undefined;
  /** Results by frame; undefined where each subscriber has frames of its own. */
  shared: WeakMap<object, Execution> | undefined;
};

/** The properties of an operation that are the same for all its subscribers. */
type Shape = {
  sharesFrames: boolean;
  /** The variables that are used below the root field. */
  variables: readonly string[];
  plan?: FramePlan | undefined;
};

/** Validation allows a subscription only one root field. */
function rootFieldOf(document: DocumentNode, { selections }: SelectionSetNode): string | undefined {
  const [selection] = selections;
  if (selection?.kind === Kind.FIELD) return selection.name.value;
  const named = selection?.kind === Kind.FRAGMENT_SPREAD ? selection.name.value : undefined;
  const below = named === undefined ? selection : fragmentsOf(document).find(({ name }) => name.value === named);
  return below && 'selectionSet' in below ? rootFieldOf(document, below.selectionSet) : undefined;
}

/**
 * The variables that can change a result. Those in the root field's own arguments only select the frames, and are left out
 * unless the field is in a fragment.
 */
function variablesBelow(document: DocumentNode, operation: OperationDefinitionNode): string[] {
  const names = new Set<string>();
  const collect = (node: ASTNode) => visit(node, { Variable: ({ name }) => void names.add(name.value) });
  for (const directive of operation.directives ?? []) collect(directive);
  for (const selection of operation.selectionSet.selections)
    collect(selection.kind === Kind.FIELD ? { ...selection, arguments: [] } : selection);
  for (const fragment of fragmentsOf(document)) collect(fragment);
  return [...names].sort();
}

function shapeOf(schema: GraphQLSchema, document: DocumentNode, operation: OperationDefinitionNode): Shape {
  const field = rootFieldOf(document, operation.selectionSet);
  const { extensions } = schema.getSubscriptionType()?.getFields()[field ?? ''] ?? {};
  const sharesFrames = extensions?.['sharesFrames'] === true;
  if (!sharesFrames) return { sharesFrames, variables: [] };
  return {
    sharesFrames,
    variables: variablesBelow(document, operation),
    plan: planFrames(schema, document, operation),
  };
}

/** Texts begin with a quotation mark, so that nothing else is written like one. */
function tag(_name: string, value: unknown): unknown {
  if (typeof value === 'string') return `'${value}`;
  if (typeof value === 'number') return Object.is(value, -0) ? '-0' : String(value);
  return value === undefined ? 'undefined' : value;
}

/**
 * Two lists have the same key if and only if their values are identical. Plain JSON writes null, undefined and Infinity alike, and
 * 0 and -0; V8's `serialize` writes one number in several ways.
 */
const exactKey = (values: readonly unknown[]) => JSON.stringify(values, tag);

/** For shared operations, which must not hold a reference to one subscriber's response. */
const nobody = { closed: false, on() {}, off() {} };

/** @param refuse checks an operation against the limits of depth and cost; returns the errors of one that exceeds them */
export function createSubscriptions(log: Log, refuse: (args: ExecutionArgs) => readonly GraphQLError[] | undefined) {
  const shapes = new WeakMap<OperationDefinitionNode, Shape>();
  // By content. An evicted operation lives on in the streams that are open.
  const operations = new LRUCache<string, Operation>({
    max: 1_000,
    maxSize: 1_000_000,
    sizeCalculation: (_operation, key) => key.length,
  });

  /** Returns the operation of an earlier subscriber where it is the same. */
  function operationOf(args: ValidatedSubscriptionArgs): Operation {
    const { schema, document, operation, rawVariableValues: sent } = args;
    let shape = shapes.get(operation);
    if (!shape) shapes.set(operation, (shape = shapeOf(schema, document, operation)));
    if (!shape.sharesFrames) return { args, shared: undefined };
    const { viewer } = args.contextValue as GraphqlCall;
    const text = document.loc?.source.body;
    const values = shape.variables.map((name) => (sent && Object.hasOwn(sent, name) ? [sent[name]] : []));
    const key = exactKey([
      viewer.mandatorId,
      viewer.role,
      viewer.display?.privacy,
      operation.name?.value,
      values,
      text,
    ]);
    const known = operations.get(key);
    if (known) return known;
    const contextValue: GraphqlCall = { ...(args.contextValue as GraphqlCall), client: nobody };
    const made: Operation = { args: { ...args, contextValue }, plan: shape.plan, shared: new WeakMap() };
    if (text !== undefined) operations.set(key, made);
    return made;
  }

  function present<R extends Result>(result: R, contextValue: unknown): R {
    const { requestId } = contextValue as GraphqlCall;
    const { errors } = result;
    return errors ? { ...result, errors: errors.map((error) => presentError(error, requestId, log)) } : result;
  }

  /** The call of one frame: limits for each call apply to each frame. */
  const callOfFrame = ({ contextValue }: ValidatedSubscriptionArgs): GraphqlCall => ({
    ...(contextValue as GraphqlCall),
  });

  const mandatorOf = ({ contextValue }: ValidatedSubscriptionArgs) => (contextValue as GraphqlCall).viewer.mandatorId;

  /** A shared frame belongs to callers of one tenant. */
  const forTenantOf = <T>(args: ValidatedSubscriptionArgs, work: () => T): T => workFor(mandatorOf(args), work);

  function execute(args: ValidatedSubscriptionArgs, rootValue: unknown): Execution {
    const result = executeSubscriptionEvent({ ...args, rootValue, contextValue: callOfFrame(args) });
    const done = (one: Result) => present(one, args.contextValue);
    return { result: result instanceof Promise ? result.then(done) : done(result as Result) };
  }

  function executePlanned({ args, plan }: Operation, frame: object): Execution {
    const data = plan?.(frame, callOfFrame(args), args.variableValues);
    if (data instanceof Promise)
      return { result: data.then((found) => (found ? { data: found } : (execute(args, frame).result as Result))) };
    return data === undefined ? execute(args, frame) : { result: { data } };
  }

  /** @param frame as the source gives it */
  function executeOnce(operation: Operation, frame: unknown): Execution {
    const { args, shared } = operation;
    if (!shared || typeof frame !== 'object' || frame === null) return forTenantOf(args, () => execute(args, frame));
    let execution = shared.get(frame);
    if (!execution) shared.set(frame, (execution = forTenantOf(args, () => executePlanned(operation, frame))));
    return execution;
  }

  const fail = (cause: unknown, { args }: Operation): Execution => {
    const error = new GraphQLError('Failed.', { originalError: cause as Error });
    return { result: present({ errors: [error] }, args.contextValue) };
  };

  /** A class, because there may be thousands. */
  class Executions implements Frames {
    isOver = false;
    readonly #source: Latest<unknown>;
    readonly #operation: Operation;

    constructor(source: Latest<unknown>, operation: Operation) {
      this.#source = source;
      this.#operation = operation;
    }
    get mandatorId(): number {
      return mandatorOf(this.#operation.args);
    }
    get onNews(): (() => void) | undefined {
      return this.#source.onNews;
    }
    set onNews(call: (() => void) | undefined) {
      this.#source.onNews = call;
    }
    take(): Execution | undefined {
      if (this.isOver) return undefined;
      try {
        const frame = this.#source.take();
        if (frame !== undefined) return executeOnce(this.#operation, frame);
        this.isOver = this.#source.isOver;
        return undefined;
      } catch (cause) {
        this.isOver = true;
        return fail(cause, this.#operation);
      }
    }
    close(): void {
      this.isOver = true;
      this.#source.close();
    }
  }

  return {
    /** @param args of a valid document, with the call as its context; the operation is a subscription */
    async open(args: ExecutionArgs): Promise<Opened> {
      const refuseBy = (errors: readonly GraphQLError[] = []) => ({
        errors: present({ errors }, args.contextValue).errors,
      });
      const refused = refuse(args);
      if (refused) return refuseBy(refused);
      const validated = validateSubscriptionArgs({ ...args, hideSuggestions: true });
      if (!('schema' in validated)) return refuseBy(validated);
      const operation = operationOf(validated);
      const source = await createSourceEventStream(validated);
      if (!(Symbol.asyncIterator in source)) return refuseBy(source.errors);
      const isLatest = 'take' in source;
      return new Executions(
        isLatest ? (source as unknown as Latest<unknown>) : latestOf(source[Symbol.asyncIterator]()),
        operation,
      );
    },
  };
}
