/** The steps of every GraphQL call, over HTTP and WebSocket: parse, validate, check limits, execute, present errors. */
import {
  type DocumentNode,
  type ExecutionArgs,
  execute,
  GraphQLError,
  getOperationAST,
  parse,
  subscribe,
} from 'graphql';
import { createYoga, isAsyncIterable, type Plugin } from 'graphql-yoga';
import { LRUCache } from 'lru-cache';
import { reading, type Viewer } from '../context.ts';
import { NotAcceptable } from '../errors.ts';
import { isOutage } from '../flow/database-errors.ts';
import type { Log } from '../log.ts';
import type { GraphqlCall } from './builder.ts';
import { presentError, shortenMessage } from './errors.ts';
import type { Result } from './execution.ts';
import { createSubscriptions, type Opened } from './frames.ts';
import { createLimits, explainVariables } from './limits.ts';
import { type Plan, planQuery } from './plan.ts';
import { createSchema } from './schema.ts';

/** An answer that is ready, which Yoga only writes: the result of a call, or the refusal of a subscription. */
type Known = { result?: Result; refusal?: Result };

function executeHere(args: ExecutionArgs): Result | Promise<Result> {
  const result = execute({ ...args, hideSuggestions: true });
  // Only variables fail at once and without data.
  const isRefused = 'errors' in result && !('data' in result);
  return isRefused ? { errors: explainVariables(args) ?? result.errors ?? [] } : result;
}

/** Executes a query, which may be read at a standby. @throws an outage of the standby, in place of a result with it */
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
      const call = args.contextValue as GraphqlCall;
      const operation = getOperationAST(args.document, args.operationName)?.operation;
      return call.context.standbys && operation === 'query' ? executeReading(args, call) : executeHere(args);
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

/** A copy with the id under which the log has the request: errors of documents are remembered for other requests. */
const traced = (
  { message, nodes, source, positions, path, originalError, extensions }: GraphQLError,
  traceId: string,
) =>
  new GraphQLError(message, { nodes, source, positions, path, originalError, extensions: { ...extensions, traceId } });

/** Completes the errors of every answer over HTTP, those of parsing and validation too, which no other plugin sees. */
const completeErrors: Plugin<GraphqlCall> = {
  onResultProcess({ result, setResult, serverContext }) {
    if (Array.isArray(result) || isAsyncIterable(result) || !result.errors) return;
    const { requestId } = serverContext as unknown as GraphqlCall;
    setResult({ ...result, errors: result.errors.map((error) => traced(shortenMessage(error), requestId)) });
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

/** Bounds of caches by document text. A syntax tree is up to a hundred times as large as its text. */
const remembered = {
  max: 1_000,
  maxSize: 500_000,
  sizeCalculation: (_remembered: unknown, text: string) => text.length + 1,
};

export type Pipeline = ReturnType<typeof createPipeline>;

/** @param countRequest counts further requests of the viewer; throws LimitExceeded */
export function createPipeline(log: Log, countRequest: (viewer: Viewer, uses: number) => void) {
  const schema = createSchema();
  const limits = createLimits(countRequest);
  const documents = new LRUCache<string, DocumentNode>(remembered);
  const yoga = createYoga<GraphqlCall>({
    schema,
    graphqlEndpoint: '/:mandator/graphql',
    plugins: [engine, presentErrors(log), limits.plugin, knownResults, completeErrors],
    parserAndValidationCache: {
      documentCache: documents,
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
  /** Queries that have been answered; the plan of one is made when it comes again. */
  const plans = new LRUCache<string, { plan?: Plan | undefined }>(remembered);

  /** Answers a query that has come before; undefined if it needs the whole pipeline. */
  async function runAgain(params: PlainCall, call: GraphqlCall): Promise<Result | undefined> {
    const known = plans.get(params.query);
    if (!known) return undefined;
    if (!('plan' in known)) known.plan = planQuery(schema, documents.get(params.query) ?? parse(params.query), limits);
    const { plan } = known;
    const data = plan && (await reading(call.context, (context) => plan(params, { ...call, context })));
    return data && { data };
  }

  return {
    yoga,
    open: subscriptions.open,
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
      return await subscriptions.open({
        schema,
        document,
        contextValue: call,
        variableValues: variables ?? {},
        operationName: operationName ?? null,
      });
    },
    /** Runs a query or a mutation with Yoga's caches, plugins and masking, but without its HTTP handling. */
    async runPlain(params: PlainCall, call: GraphqlCall): Promise<Result> {
      const again = await runAgain(params, call);
      if (again) return again;
      // Plugins read only the method of the request.
      const request = { method: 'POST' } as unknown as Request;
      const result = (await yoga.getResultForParams({ params, request }, { ...call } as never)) as Result;
      if (!result.errors && !plans.has(params.query)) plans.set(params.query, {});
      return result;
    },
  };
}
