/** The steps of every GraphQL call, over HTTP and WebSocket: parse, validate, check limits, execute, present errors. */
import { type DocumentNode, type ExecutionArgs, execute, GraphQLError, getOperationAST, subscribe } from 'graphql';
import { createYoga, isAsyncIterable, type Plugin } from 'graphql-yoga';
import { LRUCache } from 'lru-cache';
import { reading, type Viewer } from '../context.ts';
import { NotAcceptable, Unavailable } from '../errors.ts';
import { isOutage } from '../flow/database-errors.ts';
import { openCallPlace, openLargeAnswers } from '../flow/large-answers.ts';
import { workFor } from '../flow/working.ts';
import { isLarge, LargeJson } from '../http/large-json.ts';
import type { Log } from '../log.ts';
import type { GraphqlCall } from './builder.ts';
import { presentError, shortenMessage } from './errors.ts';
import type { Result } from './execution.ts';
import { createSubscriptions, type Opened } from './frames.ts';
import { createLimits, explainVariables } from './limits.ts';
import { type Plan, planQuery } from './plan.ts';
import { Resolved } from './resolved.ts';
import { wholeSchema } from './schema.ts';
import { WrittenLists } from './written-lists.ts';

/** An answer that is ready, which Yoga only writes: the result of a call, or the refusal of a subscription. */
type Known = { result?: Result; refusal?: Result };

/** Answers a valid query within its limits by a plan; undefined if the executor must run it. */
type RunPlanned = (document: DocumentNode) => Promise<Result | undefined>;

function executeHere(args: ExecutionArgs): Result | Promise<Result> {
  const lists = new WrittenLists();
  const contextValue = { ...(args.contextValue as GraphqlCall), lists };
  const result = execute({ ...args, contextValue, hideSuggestions: true });
  if (result instanceof Promise) return result.then((found) => lists.putInto(found));
  // Only faulty variables fail at once and without data.
  const isRefused = 'errors' in result && !('data' in result);
  return isRefused ? { errors: explainVariables(args) ?? result.errors ?? [] } : lists.putInto(result);
}

/** Executes a query, which may be read at a standby. @throws an outage of the standby, which would otherwise be in the result */
function executeReading(args: ExecutionArgs, call: GraphqlCall): Promise<Result> {
  return reading(call.context, async (context) => {
    const result = await executeHere({ ...args, contextValue: { ...call, context } });
    if (context === call.context) return result;
    const outage = result.errors?.find(({ originalError }) => isOutage(originalError));
    if (outage) throw outage.originalError;
    return result;
  });
}

/** GraphQL's own executor. It tells a source at once that the client has left, even while the source waits. */
const engine: Plugin = {
  onExecute({ setExecuteFn }) {
    setExecuteFn((args) => {
      const { runPlanned, ...call } = args.contextValue as GraphqlCall & { runPlanned?: RunPlanned };
      const operation = getOperationAST(args.document, args.operationName)?.operation;
      const run = () =>
        call.context.standbys && operation === 'query' ? executeReading(args, call) : executeHere(args);
      return runPlanned && operation === 'query'
        ? runPlanned(args.document).then((planned) => planned ?? run())
        : run();
    });
  },
  onSubscribe({ args, setSubscribeFn }) {
    const { refusal } = args.contextValue as Known;
    setSubscribeFn((args) => refusal ?? subscribe({ ...args, hideSuggestions: true }));
  },
};

/** Presents errors to the client. A result without data is answered 400. */
function present(result: Result, { requestId }: GraphqlCall, log: Log): Result {
  if (!result.errors) return result;
  const errors = result.errors.map((error) => presentError(error, requestId, log));
  if (!('data' in result)) for (const error of errors) error.extensions['http'] ??= { status: 400, spec: true };
  return { ...result, errors };
}

function presentErrors(log: Log): Plugin<GraphqlCall> {
  return {
    onExecute: ({ args }) => ({
      onExecuteDone({ result, setResult }) {
        if (!isAsyncIterable(result)) setResult(present(result as Result, args.contextValue, log) as never);
      },
    }),
    onSubscribe: ({ args }) => ({
      onSubscribeResult({ result, setResult }) {
        if (!isAsyncIterable(result)) setResult(present(result as Result, args.contextValue, log) as never);
        return {
          onNext: ({ result: frame, setResult: setFrame }) =>
            setFrame(present(frame as Result, args.contextValue, log) as never),
        };
      },
    }),
  };
}

/** A copy with the request's id in the log. Errors of documents are cached and shared by requests. */
const traced = (
  { message, nodes, source, positions, path, originalError, extensions }: GraphQLError,
  traceId: string,
) =>
  new GraphQLError(message, { nodes, source, positions, path, originalError, extensions: { ...extensions, traceId } });

/** Errors as they are answered over HTTP. */
export const completeErrors = (errors: readonly GraphQLError[], requestId: string): GraphQLError[] =>
  errors.map((error) => traced(shortenMessage(error), requestId));

/** Completes the errors of the answers that Yoga writes, those of parsing and validation too, which no other plugin sees. */
const completesErrors: Plugin<GraphqlCall> = {
  onResultProcess({ result, setResult, serverContext }) {
    if (Array.isArray(result) || isAsyncIterable(result) || !result.errors) return;
    const { requestId } = serverContext as unknown as GraphqlCall;
    setResult({ ...result, errors: completeErrors(result.errors, requestId) });
  },
};

const knownResults: Plugin = {
  onParams({ context, setResult }) {
    const { result } = context as Known;
    if (result) setResult(result);
  },
};

/** The body of a call over HTTP. */
export type PlainCall = {
  query: string;
  variables?: Record<string, unknown>;
  operationName?: string;
};

/** No operation has an empty name. Some clients send one with a document that has just one operation. */
export const namedOperation = <Name>(sent: Name): Name | undefined => (sent === '' ? undefined : sent);

/** Bounds of caches by document text. A syntax tree is up to a hundred times as large as its text. */
const remembered = {
  max: 1_000,
  maxSize: 500_000,
  sizeCalculation: (_remembered: unknown, text: string) => text.length + 1,
};

export type Pipeline = ReturnType<typeof createPipeline>;

/** @param countRequest counts further requests of the viewer; throws LimitExceeded */
export function createPipeline(log: Log, countRequest: (viewer: Viewer, uses: number) => void) {
  const schema = wholeSchema();
  const limits = createLimits(countRequest);
  const yoga = createYoga<GraphqlCall>({
    schema,
    graphqlEndpoint: '/:mandator/graphql',
    plugins: [engine, presentErrors(log), limits.plugin, knownResults, completesErrors],
    parserAndValidationCache: {
      documentCache: new LRUCache<string, DocumentNode>(remembered),
      errorCache: new LRUCache<string, GraphQLError>(remembered),
    },
    // Yoga gets the body already read and within its limit.
    maxRequestBodySize: false,
    cors: false,
    multipart: false,
    batching: false,
    graphiql: false,
    landingPage: false,
    // For errors that were thrown outside of execution.
    maskedErrors: { isDev: false, errorMessage: 'Something went wrong on our side.' },
    logging: {
      debug() {},
      info() {},
      warn: (...parts: unknown[]) => log.warn({ err: parts.map(String).join(' ') }, 'GraphQL'),
      error: (...parts: unknown[]) => log.error({ err: parts.map(String).join(' ') }, 'GraphQL'),
    },
  });
  const subscriptions = createSubscriptions(log, limits.refuse);
  const open = (args: ExecutionArgs): Promise<Opened> =>
    workFor((args.contextValue as GraphqlCall).viewer.mandatorId, () => subscriptions.open(args));
  /** Of valid queries that were within the limits. */
  const plans = new LRUCache<string, { plan: Plan | undefined }>(remembered);

  async function runPlan(
    plan: Plan | undefined,
    params: PlainCall,
    call: GraphqlCall,
    resolved: Resolved,
  ): Promise<Result | undefined> {
    const data = plan && (await reading(call.context, (context) => plan(params, { ...call, context }, resolved)));
    return data && { data };
  }

  async function runHere(params: PlainCall, call: GraphqlCall): Promise<Result> {
    const { query } = params;
    const resolved = new Resolved();
    const known = plans.get(query);
    const again = known && (await runPlan(known.plan, params, call, resolved));
    if (again) return again;
    // The executor would make records of all spans of availability in one turn of the event loop.
    const runPlanned: RunPlanned = (document) => {
      const plan = planQuery(schema, document, limits);
      plans.set(query, { plan });
      return runPlan(plan, params, call, resolved);
    };
    // Plugins read only the method of the request.
    const request = { method: 'POST' } as unknown as Request;
    const context = { ...call, resolved, ...(!known && { runPlanned }) };
    return (await yoga.getResultForParams({ params, request }, context as never)) as Result;
  }

  return {
    yoga,
    open,
    /**
     * Opens a subscription; undefined for a query, a mutation or a faulty document.
     * @throws NotAcceptable for a subscription of a client that takes no stream
     */
    async subscribe(
      { query, variables, operationName }: PlainCall,
      call: GraphqlCall,
      { mayStream }: { mayStream: boolean },
    ): Promise<Opened | undefined> {
      const { parse, validate } = yoga.getEnveloped({ ...call, params: { query } });
      let document: DocumentNode;
      try {
        document = parse(query);
      } catch {
        return undefined;
      }
      if (validate(schema, document).length > 0) return undefined;
      if (getOperationAST(document, operationName)?.operation !== 'subscription') return undefined;
      if (!mayStream)
        throw new NotAcceptable(
          'A subscription is answered with a stream: send Accept: text/event-stream, or open a WebSocket for graphql-transport-ws at this address.',
        );
      return await open({
        schema,
        document,
        contextValue: call,
        variableValues: variables ?? {},
        operationName: operationName ?? null,
      });
    },
    /**
     * Runs a query or a mutation with Yoga's caches, plugins and masking, but without its HTTP handling, and sends its
     * result. While a large result is sent, the call holds a place. A mutation gets its place even if none is free: if it
     * were refused, its client would repeat it.
     * @param isGone whether nobody waits for the answer any more, which then gets no place
     * @throws LimitExceeded for a query without a place; Unavailable if the client has gone
     */
    async answer<T>(
      params: PlainCall,
      call: GraphqlCall,
      send: (result: Result, isLarge: boolean) => Promise<T>,
      isGone = () => call.client.closed,
    ): Promise<T> {
      const { query, operationName } = params;
      const { mandatorId } = call.viewer;
      const places = () => call.context.once(openLargeAnswers);
      const place = openCallPlace({
        takeIfFree() {
          const { parse } = yoga.getEnveloped({ ...call, params: { query } });
          const isMutation = getOperationAST(parse(query), operationName)?.operation === 'mutation';
          return isMutation ? places().takeAtOnce(call.viewer) : places().takeIfFree(call.viewer);
        },
        take: () => places().take(call.viewer),
      });
      let result: Result = {};
      const drop = () => {
        if (result.data instanceof LargeJson) result.data.giveBack();
        result = {};
      };
      async function make(): Promise<boolean> {
        result = await workFor(mandatorId, () => runHere(params, { ...call, place }));
        return isLarge(result.data) && place.takeIfFree();
      }
      try {
        let large = await make();
        if (place.isRefused()) {
          // While a call waits for its place, it holds no answer, which would take memory.
          drop();
          await place.wait();
          if (isGone()) throw new Unavailable('The client has gone.');
          large = await make();
        }
        return await workFor(mandatorId, () => send(result, large));
      } finally {
        drop();
        place.giveBack();
      }
    },
  };
}
