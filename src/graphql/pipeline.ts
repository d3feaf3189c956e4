/** What every GraphQL call goes through, over HTTP and WebSocket alike: parse, validate, limits, execution, errors. */
import { type DocumentNode, execute, type GraphQLError, getOperationAST, parse, subscribe } from 'graphql';
import { createYoga, isAsyncIterable, type Plugin } from 'graphql-yoga';
import { LRUCache } from 'lru-cache';
import type { Viewer } from '../context.ts';
import type { Log } from '../log.ts';
import type { GraphqlCall } from './builder.ts';
import { presentError, shortenMessage } from './errors.ts';
import type { Result } from './execution.ts';
import { createSubscriptions, type Opened } from './frames.ts';
import { createLimits } from './limits.ts';
import { type Plan, planQuery } from './plan.ts';
import { createSchema } from './schema.ts';

/** What a call over HTTP has come to already, and what is only to be written: its result, or why it may not subscribe. */
type Known = { result?: Result; refusal?: Result };

/** GraphQL's own executor, which hands a client's leaving to the source at once, even while that waits. */
const engine: Plugin = {
  onExecute({ setExecuteFn }) {
    setExecuteFn((args) => execute({ ...args, hideSuggestions: true }));
  },
  onSubscribe({ args, setSubscribeFn }) {
    const { refusal } = args.contextValue as Known;
    setSubscribeFn((args) => refusal ?? subscribe({ ...args, hideSuggestions: true }));
  },
};

/** Errors as clients may see them; a result without data is the fault of the request. */
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

/** Those of parsing and validation, which no other plugin sees. */
const shortErrors: Plugin = {
  onResultProcess({ result }) {
    if (Array.isArray(result) || isAsyncIterable(result)) return;
    for (const error of result.errors ?? []) shortenMessage(error);
  },
};

const knownResults: Plugin = {
  onParams({ context, setResult }) {
    const { result } = context as Known;
    if (result) setResult(result);
  },
};

/** What a call over HTTP may hold. */
export type PlainCall = {
  query: string;
  variables?: Record<string, unknown>;
  operationName?: string;
};

/** Documents by their texts. A syntax tree is up to a hundred times as large as its text. */
const remembered = {
  max: 1_000,
  maxSize: 500_000,
  sizeCalculation: (_remembered: unknown, text: string) => text.length + 1,
};

export type Pipeline = ReturnType<typeof createPipeline>;

/** @param countRequest counts so many requests more of the viewer; throws LimitExceeded */
export function createPipeline(log: Log, countRequest: (viewer: Viewer, uses: number) => void) {
  const schema = createSchema();
  const limits = createLimits(countRequest);
  const documents = new LRUCache<string, DocumentNode>(remembered);
  const yoga = createYoga<GraphqlCall>({
    schema,
    graphqlEndpoint: '/:mandator/graphql',
    plugins: [engine, presentErrors(log), limits.plugin, knownResults, shortErrors],
    parserAndValidationCache: {
      documentCache: documents,
      errorCache: new LRUCache<string, GraphQLError>(remembered),
    },
    // The body is here already, and within its limit.
    maxRequestBodySize: false,
    cors: false,
    multipart: false,
    batching: false,
    graphiql: false,
    landingPage: false,
    // What reaches this net was thrown outside of execution.
    maskedErrors: { isDev: false, errorMessage: 'Something went wrong on our side.' },
    logging: {
      debug() {},
      info() {},
      warn: (...parts: unknown[]) => log.warn({ err: parts.map(String).join(' ') }, 'GraphQL'),
      error: (...parts: unknown[]) => log.error({ err: parts.map(String).join(' ') }, 'GraphQL'),
    },
  });
  const subscriptions = createSubscriptions(log, limits.refuse);
  /** Of queries that have been answered; made when they come again. */
  const plans = new LRUCache<string, { plan?: Plan | undefined }>(remembered);

  /** The answer to a query that has come before; undefined where all of the pipeline is needed. */
  async function runAgain(params: PlainCall, call: GraphqlCall): Promise<Result | undefined> {
    const known = plans.get(params.query);
    if (!known) return undefined;
    if (!('plan' in known)) known.plan = planQuery(schema, documents.get(params.query) ?? parse(params.query), limits);
    const data = await known.plan?.(params, call);
    return data && { data };
  }

  return {
    yoga,
    open: subscriptions.open,
    /** Opens a subscription; undefined for what is none, and for a faulty document. */
    async subscribe({ query, variables, operationName }: PlainCall, call: GraphqlCall): Promise<Opened | undefined> {
      const { parse, validate } = yoga.getEnveloped({ ...call, params: { query } });
      let document: DocumentNode;
      try {
        document = parse(query);
      } catch {
        return undefined;
      }
      if (validate(schema, document).length > 0) return undefined;
      if (getOperationAST(document, operationName)?.operation !== 'subscription') return undefined;
      return await subscriptions.open({
        schema,
        document,
        contextValue: call,
        variableValues: variables ?? {},
        operationName: operationName ?? null,
      });
    },
    /** Runs a query or a mutation without what Yoga does for HTTP: with its caches, plugins and masking, and nothing else. */
    async runPlain(params: PlainCall, call: GraphqlCall): Promise<Result> {
      const again = await runAgain(params, call);
      if (again) return again;
      // Of the request, plugins look at the method alone.
      const request = { method: 'POST' } as unknown as Request;
      const result = (await yoga.getResultForParams({ params, request }, { ...call } as never)) as Result;
      if (!result.errors && !plans.has(params.query)) plans.set(params.query, {});
      return result;
    },
  };
}
