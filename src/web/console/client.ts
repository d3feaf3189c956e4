/**
 * Queries and mutations. A refused call gives a Refusal, which people can read. A call after the end of the session waits until
 * somebody has signed in again, and is then repeated: no input is lost.
 */
import { signal } from '@preact/signals';
import { retryAfterOf } from '../retry-after.ts';
import { endLate, isMuch } from './ending.ts';
import type { Fault } from './fault.ts';
import type { TypedDocumentString } from './generated/graphql.ts';
import { compareClocks, present } from './present.ts';

export type Conflict = {
  bookingId: string;
  kind: string;
  subject: string | null;
  resourceId: string;
  start: string;
  end: string;
  /** The start of the wanted booking, one of many in a series. */
  wantedStart: string;
};
export type Alternative = { resourceId: string; resourceName: string; start: string; end: string };

export type Refusal = {
  code: string;
  /** The server's message. */
  message: string;
  faults: readonly Fault[];
  /** How many faults there are, if `faults` lists only the first. */
  faultCount?: number | undefined;
  conflicts: readonly Conflict[];
  alternatives: readonly Alternative[];
  traceId?: string | undefined;
  retryAfterSeconds?: number | undefined;
};

export class Refused extends Error {
  readonly refusal: Refusal;
  constructor(refusal: Refusal) {
    super(refusal.message);
    this.refusal = refusal;
  }
}

const page = document.documentElement.dataset;
/** The URL of the service; read before the address changes. */
const root = new URL(page['root'] || '../', location.href);
export const mandator = page['mandator'] ?? '';
/** The limits of files that are sent. */
export const limits = {
  jobBodyBytes: Number(page['jobBodyBytes']),
  lessonsPerBatch: Number(page['lessonsPerBatch']),
};
export const addressOf = (path: string): URL => new URL(`${mandator}/${path}`, root);

const without = { message: '', faults: [], conflicts: [], alternatives: [] };

/** The time since which the server has not answered; undefined while it answers. */
export const lostSince = signal<number | undefined>(undefined);
let heardAt = present();
export function hear(): void {
  heardAt = present();
}
export function lose(): void {
  lostSince.value ??= heardAt;
}
function offline(): Refused {
  lose();
  return new Refused({ ...without, code: 'Offline' });
}

/** Whether the outcome is unknown: the call may have been carried out although no answer has come. */
export const isUnanswered = ({ code }: Pick<Refusal, 'code'>): boolean =>
  code === 'Offline' || code === 'Unavailable' || code === 'InternalError';

export const hasFault = (refusal: Refusal | undefined, code: string): boolean =>
  refusal?.faults.some((fault) => fault.code === code) ?? false;

type CallOptions = {
  signal?: AbortSignal | undefined;
  headers?: Readonly<Record<string, string>>;
  /** Sends the call even if the page is left; browsers limit its size. */
  outlives?: boolean;
};

/** Calls the console's own server. @param body JSON @throws Refused `Offline` when there is no answer */
export async function call(
  method: string,
  path: string,
  body?: string | Blob,
  options: CallOptions = {},
): Promise<Response> {
  const { signal, headers, outlives = false } = options;
  const calledAt = Date.now();
  const waiting = endLate(body, signal);
  try {
    const answer = await fetch(addressOf(path), {
      method,
      headers: { 'X-Roomgate-Console': '1', ...(body && { 'Content-Type': 'application/json' }), ...headers },
      ...(body && { body }),
      signal: waiting.signal,
      keepalive: outlives && !isMuch(body),
    });
    compareClocks(answer, calledAt);
    hear();
    return answer;
  } catch (error) {
    if (signal?.aborted) throw error;
    throw offline();
  } finally {
    waiting.end();
  }
}

/** The parsed answer; empty if it is not JSON. @throws Refused `Offline` when it is cut off */
export async function readAnswer(answer: Response, signal?: AbortSignal): Promise<RestProblem> {
  try {
    return (await answer.json()) as RestProblem;
  } catch (error) {
    if (error instanceof SyntaxError) return {};
    if (signal?.aborted) throw error;
    throw offline();
  }
}

/** Whether there was a session that has ended. */
export const isSessionLost = signal(false);

const untilSignedIn = () =>
  new Promise<void>((resolve) => {
    const end = isSessionLost.subscribe((lost) => {
      if (lost) return;
      resolve();
      // `subscribe` calls at once, before `end` has a value.
      queueMicrotask(() => end());
    });
  });

type TopError = {
  message: string;
  extensions?: { code?: string; traceId?: string; retryAfterSeconds?: number; errors?: Fault[] };
};
type GraphqlAnswer<Result> = { data?: Result | null; errors?: TopError[] };
type RestFault = Record<'Field' | 'Pointer', string | null> &
  Record<'Code' | 'Message', string> & { Line?: number | null; Column?: number | null };
/** An error of REST (RFC 9457); empty for an answer of a proxy. */
type RestProblem = { detail?: string; Code?: string; TraceId?: string; Errors?: RestFault[]; FaultCount?: number };

/** The codes of GraphQL's errors as codes of problems. */
const plainCodes: Record<string, string> = {
  NOT_AUTHENTICATED: 'NotAuthenticated',
  FORBIDDEN: 'Forbidden',
  NOT_FOUND: 'NotFound',
  CONFLICT: 'Conflict',
  LIMIT: 'LimitExceeded',
  UNAVAILABLE: 'Unavailable',
  BAD_USER_INPUT: 'InvalidInput',
  INTERNAL_ERROR: 'InternalError',
};
/** The codes of answers that have none of their own, such as those of proxies. */
const codeOfStatus: Record<number, string> = {
  413: 'TooLarge',
  429: 'LimitExceeded',
  502: 'Unavailable',
  503: 'Unavailable',
  504: 'Unavailable',
};

export function asRefusal({ message, extensions = {} }: TopError, traceId?: string | null): Refusal {
  const { code = 'INTERNAL_ERROR', errors: faults = [], retryAfterSeconds } = extensions;
  return {
    ...without,
    code: plainCodes[code] ?? code,
    message,
    faults,
    retryAfterSeconds,
    traceId: extensions.traceId ?? traceId ?? undefined,
  };
}

/** The refusal for an answer without the expected data. */
export function refusalOf({ status, headers }: Response, problem: RestProblem): Refusal {
  const { Code, detail, TraceId, Errors = [], FaultCount } = problem;
  return {
    ...without,
    code: Code ?? codeOfStatus[status] ?? 'InternalError',
    message: detail ?? `HTTP ${status}`,
    faults: Errors.map(({ Field, Pointer, Code, Message, Line, Column }) => ({
      field: Field,
      pointer: Pointer,
      code: Code,
      message: Message,
      line: Line ?? null,
      column: Column ?? null,
    })),
    faultCount: FaultCount,
    traceId: TraceId ?? headers.get('X-Request-Id') ?? undefined,
    retryAfterSeconds: retryAfterOf(headers),
  };
}

/** Sends a POST, and sends it again when somebody has signed in again. @throws Refused `Offline` */
export async function post<Told extends object>(
  path: string,
  body: string | Blob,
  options: CallOptions,
): Promise<{ answer: Response; told: Told & RestProblem }> {
  for (;;) {
    const answer = await call('POST', path, body, options);
    const told = (await readAnswer(answer, options.signal)) as Told & RestProblem & GraphqlAnswer<unknown>;
    if (answer.status !== 401 && told.errors?.[0]?.extensions?.code !== 'NOT_AUTHENTICATED') return { answer, told };
    isSessionLost.value = true;
    await untilSignedIn();
  }
}

async function send<Result, Variables>(
  document: TypedDocumentString<Result, Variables>,
  variables: Variables,
  signal?: AbortSignal,
  outlives = false,
): Promise<Result> {
  const body = JSON.stringify({ query: document.toString(), variables });
  const { answer, told } = await post<GraphqlAnswer<Result>>('graphql', body, { signal, outlives });
  const [error] = told.errors ?? [];
  if (error) throw new Refused(asRefusal(error, answer.headers.get('X-Request-Id')));
  if (!told.data) throw new Refused(refusalOf(answer, told));
  return told.data;
}

/** The data of a query. @throws Refused */
export const ask = <Result, Variables>(
  document: TypedDocumentString<Result, Variables>,
  variables: Variables,
  signal?: AbortSignal,
): Promise<Result> => send(document, variables, signal);

/** Pages of a list until its end. @param read reads the page after a cursor */
export async function* pages<Node>(
  read: (
    after: string | null,
  ) => Promise<{ nodes: Node[]; pageInfo: { hasNextPage: boolean; endCursor: string | null } } | null | undefined>,
): AsyncGenerator<Node[]> {
  for (let after: string | null = null; ; ) {
    const page = await read(after);
    if (!page) return;
    yield page.nodes;
    if (!page.pageInfo.hasNextPage) return;
    after = page.pageInfo.endCursor;
  }
}

type Problem = { __typename: `${string}Problem` };
type RootField<Result> = Result[keyof Result];
export type Done<Result> = Exclude<RootField<Result>, Problem>;
export type Answer<Done> = { done: Done; refused?: never } | { refused: Refusal; done?: never };
export type Outcome<Result> = Answer<Done<Result>>;

const underWay = new Map<string, Promise<unknown>>();

/**
 * Executes a mutation with one field; the same call while it is under way, as by a double click, executes it only once. Every
 * failure is a Refusal: those in the union of the field, and those of the network.
 */
export function act<Result extends object, Variables>(
  document: TypedDocumentString<Result, Variables>,
  variables: Variables,
): Promise<Outcome<Result>> {
  const what = document.toString() + JSON.stringify(variables);
  const doing = (underWay.get(what) ?? attempt(document, variables)) as Promise<Outcome<Result>>;
  underWay.set(what, doing);
  const end = () => void underWay.delete(what);
  doing.then(end, end);
  return doing;
}

async function attempt<Result extends object, Variables>(
  document: TypedDocumentString<Result, Variables>,
  variables: Variables,
): Promise<Outcome<Result>> {
  try {
    const result = Object.values(await send(document, variables, undefined, true))[0] as {
      __typename: string;
    } & Partial<Refusal> & { errors?: Fault[] };
    if (!result.__typename.endsWith('Problem')) return { done: result as Done<Result> };
    const {
      code = 'Conflict',
      message = '',
      errors: faults = [],
      conflicts = [],
      alternatives = [],
      retryAfterSeconds,
    } = result;
    return { refused: { code, message, faults, conflicts, alternatives, retryAfterSeconds } };
  } catch (error) {
    if (error instanceof Refused) return { refused: error.refusal };
    throw error;
  }
}
