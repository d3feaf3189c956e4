/**
 * A client of roomgate's own REST API that follows the advice to clients (specification 7 and 8). It retries transient errors
 * after growing pauses, so a POST must carry an Idempotency-Key.
 */
import { setTimeout as sleep } from 'node:timers/promises';
import { backOff } from '../flow/retry.ts';
import { readRetryAfter } from '../http/retry-after.ts';
import { fetchBounded, type Outgoing } from '../http/safe-fetch.ts';
import { whyUnanswered } from '../http/unanswered.ts';
import { CommandFailed, type Output } from './command.ts';
import type { Credential } from './credential.ts';

type RequestParts = Outgoing & { headers?: Record<string, string> };

/** An answer with a status from 200 to 299. */
export type ApiAnswer<T> = {
  body: T;
  /** From the header `Retry-After`. */
  retryAfterMs: number | undefined;
};

/** A client of one tenant's REST API. */
export type ApiClient = {
  /**
   * @param path below `/{mandator}/api`, with the version
   * @param request makes the request of each attempt, because a streamed body can be sent only once; a GET if left out
   * @param options.repeatOn a further status that counts as transient
   */
  call<T>(
    path: string,
    request?: () => RequestParts,
    options?: { timeout?: number; repeatOn?: number },
  ): Promise<ApiAnswer<T>>;
  /** All items of a list, page by page. */
  pages<T>(path: string, query?: Record<string, string>): AsyncGenerator<T>;
  /** Waits for `ms`. @throws when the command is aborted */
  wait(ms: number): Promise<void>;
};

export type Account = {
  baseUrl: string;
  mandator: string;
  credential: Credential;
  signal?: AbortSignal;
  /** Milliseconds after which a call gives up its retries. */
  giveUpAfterMs?: number;
};

export type SignIn = {
  /** May be left out on a machine that reaches the database, if that has only one tenant. */
  mandator?: string | undefined;
  /** An empty PIN or token counts as left out, because environment variables may be empty. */
  pin?: string | undefined;
  /** An access token of an outside identity provider, instead of a PIN. */
  token?: string | undefined;
  baseUrl?: string | undefined;
};

/** The tools of a command that works through the REST API, as any client does. */
export type Remote = Output & {
  /**
   * Signs in to a tenant. Without PIN and token this machine must reach the database: then a PIN of the tenant's first
   * Admin is made for the duration of the command.
   */
  signIn(options: SignIn): Promise<ApiClient>;
};

/** `Action` for commands that work through the REST API. */
export type RemoteAction = <Args extends unknown[]>(
  work: (remote: Remote, ...args: Args) => Promise<void>,
) => (...args: Args) => Promise<void>;

type Reply = { url: URL; status: number; headers: Headers; text: string };

/** Far more than the largest page of a list. */
const mostBytes = 16 * 1_048_576;
const answerTimeout = 60_000;
const longestAskedMs = 60_000;
const transientStatus = new Set([429, 502, 503, 504]);

function retryAfterOf({ headers }: Reply): number | undefined {
  const asked = readRetryAfter(headers);
  return asked === undefined ? undefined : Math.min(asked, longestAskedMs);
}

async function ask(address: string, init: Outgoing, timeout: number): Promise<Reply> {
  const limits = [AbortSignal.timeout(timeout), ...(init.signal ? [init.signal] : [])];
  const url = new URL(address);
  const answer = await fetchBounded(url, { ...init, signal: AbortSignal.any(limits) }, mostBytes);
  return { url, status: answer.status, headers: answer.headers, text: answer.bytes.toString('utf8') };
}

const isOk = ({ status }: Reply) => status >= 200 && status < 300;

const notThere = (why: string) =>
  new CommandFailed(`${why}. Start the server with "./roomgate serve", or name another one with --base-url URL.`);

const unreachable = (url: string, error: unknown) => notThere(whyUnanswered(error, url, answerTimeout));

/**
 * Checks that a server answers.
 * @throws CommandFailed with the URL and how to start a server
 */
export async function reach(idpUrl: string): Promise<void> {
  await ask(`${idpUrl}/healthz`, {}, answerTimeout).catch((error) => {
    throw unreachable(idpUrl, error);
  });
}

type Problem = {
  detail?: string;
  TraceId?: string;
  Errors?: { Message: string; Line?: number }[];
  error_description?: string;
};

const mostFaultsShown = 100;

/** One line from problem+json (RFC 9457) or a token endpoint's error (RFC 6749). */
function describeProblem({ url, status, headers, text }: Reply): string {
  const location = status >= 300 && status < 400 && URL.parse(headers.get('location') ?? '', url);
  if (location)
    return `${url.origin} answered ${status} and redirects to ${location.origin}; give the URL that it redirects to.`;
  let problem: Problem = {};
  try {
    problem = JSON.parse(text) ?? {};
  } catch {
    return `${url.origin} answered ${status}, but not as roomgate does; check the URL.`;
  }
  const faults = (problem.Errors ?? []).filter(({ Line }) => Line !== undefined).map(({ Message }) => Message);
  if (faults.length > 1) {
    const shown = faults.slice(0, mostFaultsShown);
    const more = faults.length > shown.length ? [`... and ${faults.length - shown.length} more`] : [];
    return [`${faults.length} faults, and nothing was written:`, ...shown, ...more].join('\n');
  }
  const said = problem.detail ?? problem.error_description ?? `The server answered ${status}.`;
  return status >= 500 && problem.TraceId ? `${said} TraceId: ${problem.TraceId}` : said;
}

/**
 * Signs in (specification 5) and returns a client of the tenant. It renews the token for a PIN when that expires.
 * @throws CommandFailed when no server answers, or with the server's refusal of the PIN
 */
export async function connect(account: Account): Promise<ApiClient> {
  const { baseUrl, mandator, credential, signal, giveUpAfterMs = 120_000 } = account;
  const root = `${baseUrl}/${encodeURIComponent(mandator)}/api`;

  const askHere = (address: string, init: Outgoing, timeout: number) => ask(address, { ...init, signal }, timeout);

  async function authorize(): Promise<Record<string, string>> {
    if ('apiKey' in credential) return { APIKEY: credential.apiKey };
    if ('token' in credential) return { Authorization: `Bearer ${credential.token}` };
    const { pin, idpUrl, clientId } = credential;
    const form = { grant_type: 'apikey', scope: 'service_api', client_id: clientId, apikey: pin };
    const reply = await askHere(
      `${idpUrl}/connect/token`,
      { method: 'POST', body: new URLSearchParams(form) },
      answerTimeout,
    );
    if (reply.status === 404 && reply.headers.get('content-type')?.startsWith('application/problem+json'))
      throw notThere(`${idpUrl} makes no tokens; a server with Role=Worker does not`);
    if (!isOk(reply)) throw new CommandFailed(describeProblem(reply));
    return { Authorization: `Bearer ${(JSON.parse(reply.text) as { access_token: string }).access_token}` };
  }

  let authorization = await authorize().catch((error: Error) => {
    if (error instanceof CommandFailed || signal?.aborted) throw error;
    throw unreachable('idpUrl' in credential ? credential.idpUrl : baseUrl, error);
  });

  const wait = (ms: number) => sleep(ms, undefined, signal ? { signal } : {});

  async function call<T>(
    path: string,
    request: () => RequestParts = () => ({}),
    options: { timeout?: number; repeatOn?: number } = {},
  ): Promise<ApiAnswer<T>> {
    const giveUpAt = performance.now() + giveUpAfterMs;
    const timeout = options.timeout ?? answerTimeout;
    for (let attempt = 0, renewed = false; ; attempt++) {
      let pauseMs = backOff(attempt, { firstMs: 200, longestMs: 8_000 });
      let failure: string;
      try {
        const { headers, ...rest } = request();
        const reply = await askHere(
          `${root}${path}`,
          { ...rest, headers: { ...headers, ...authorization, Accept: 'application/json' } },
          timeout,
        );
        if (isOk(reply)) return { body: JSON.parse(reply.text) as T, retryAfterMs: retryAfterOf(reply) };
        failure = describeProblem(reply);
        if (reply.status === 401 && !renewed && 'pin' in credential) {
          renewed = true;
          authorization = await authorize();
          continue;
        }
        if (!transientStatus.has(reply.status) && reply.status !== options.repeatOn) throw new CommandFailed(failure);
        pauseMs = retryAfterOf(reply) ?? pauseMs;
      } catch (error) {
        if (error instanceof CommandFailed || signal?.aborted) throw error;
        failure = `${whyUnanswered(error, baseUrl, timeout)}.`;
      }
      if (performance.now() + pauseMs > giveUpAt)
        throw new CommandFailed(`${failure} Gave up after ${attempt + 1} attempts.`);
      await wait(pauseMs);
    }
  }

  async function* pages<T>(path: string, query: Record<string, string> = {}): AsyncGenerator<T> {
    let cursor: string | null = null;
    do {
      const parameters = new URLSearchParams({
        ...query,
        Limit: '200',
        ...(cursor ? { Cursor: cursor } : {}),
      });
      const { body }: ApiAnswer<{ Items: T[]; NextCursor: string | null }> = await call(`${path}?${parameters}`);
      yield* body.Items;
      cursor = body.NextCursor;
    } while (cursor);
  }

  return { call, pages, wait };
}
