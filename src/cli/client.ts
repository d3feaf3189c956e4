/**
 * A client of roomgate's own REST API: what a careful caller does, by the specification's sections 7 and 8. Transient
 * errors are retried with a growing pause and a cap, and a POST is repeated under its Idempotency-Key only.
 */
import { randomUUID } from 'node:crypto';
import { setTimeout as sleep } from 'node:timers/promises';
import { fetchBounded, type Outgoing } from '../http/safe-fetch.ts';
import { CommandFailed, type Output } from './command.ts';
import type { Credential } from './credential.ts';

export type ImportStatus =
  | 'AwaitingLessonCreation'
  | 'AwaitingLessonProcessing'
  | 'LessonsCreated'
  | 'LessonsImportFailed';

/** The batch record of contract 4.4, as far as it is used here. */
export type BatchRecord = {
  BatchId: string;
  Operation: string;
  ImportStatus: ImportStatus;
  JobCount: number;
  LessonCount?: number | null;
  ProcessedCount: number;
  CreatedCount: number;
  ErrorCount: number;
  WarningCount: number;
  FailureKind: string | null;
  ValidateOnly: boolean;
  CreatedAt: string;
  FinishedAt: string | null;
  QueuePosition?: number | null;
  /** Counted, but not kept; absent where the server is of an earlier release. */
  OmittedErrors?: { Severity: ErrorRecord['Severity']; Code: string; Count: number }[];
};

export type ErrorRecord = {
  Severity: 'Error' | 'Warning';
  Index: number | null;
  JobID: string | null;
  LektionIndex: number | null;
  LektionId: string | null;
  Field: string | null;
  Code: string;
  Message: string;
  Pointer: string | null;
};

export type Operation = 'create' | 'update' | 'delete';

export type PostOptions = {
  idempotencyKey?: string;
  /** Query parameters by name, as contract 4.2 has them. */
  query?: Record<string, string>;
  onProgress?: (sent: number, total: number) => void;
};

export type Client = {
  /** Sends a JSON array of jobs; repeats after a transient error cannot make a second batch. */
  postJobs(
    operation: Operation,
    body: Blob,
    options?: PostOptions,
  ): Promise<{ BatchId: string; ImportStatus: ImportStatus }>;
  getBatch(batchId: string): Promise<BatchRecord>;
  /** Reports the present state, then each change, and is fulfilled with the ended batch. Survives a restart of the server. */
  followBatch(batchId: string, onChange?: (batch: BatchRecord) => void): Promise<BatchRecord>;
  listErrors(batchId: string): AsyncGenerator<ErrorRecord>;
  /** Newest first: the running ones, or all. */
  listBatches(options: { all: boolean }): AsyncGenerator<BatchRecord>;
};

export type Account = {
  baseUrl: string;
  mandator: string;
  credential: Credential;
  signal?: AbortSignal;
  /** Milliseconds without any useful answer after which a call gives up. */
  patience?: number;
};

export type SignIn = {
  /** May be left out on a machine that reaches the database, where that has one tenant only. */
  mandator?: string | undefined;
  /** Empty counts as left out, and so does an empty token: variables may be set to nothing. */
  pin?: string | undefined;
  /** Of an outside identity provider; instead of a PIN. */
  token?: string | undefined;
  baseUrl?: string | undefined;
};

/** What a command works with that goes through the REST API, as any client does. */
export type Remote = Output & {
  /**
   * Signs in to a tenant. Without PIN and token this machine must reach the database: then a PIN of the tenant's first
   * Admin is made for the duration of the command.
   */
  signIn(options: SignIn): Promise<Client>;
};

/** As `Action`, for commands that need no context of their own. */
export type RemoteAction = <Args extends unknown[]>(
  work: (remote: Remote, ...args: Args) => Promise<void>,
) => (...args: Args) => Promise<void>;

/** An answer of the API. */
type Reply = { url: URL; status: number; headers: Headers; text: string };

const longPollSeconds = 25;
/** Far more than a page of anything. */
const mostBytes = 16 * 1_048_576;
const answerTimeout = 60_000;
const uploadTimeout = 600_000;
const transientStatus = new Set([429, 502, 503, 504]);

export function hasEnded({ ImportStatus }: Pick<BatchRecord, 'ImportStatus'>): boolean {
  return ImportStatus === 'LessonsCreated' || ImportStatus === 'LessonsImportFailed';
}

/** Seconds to wait by the answer's header, as milliseconds. */
function retryAfter({ headers }: Reply): number | undefined {
  const seconds = Number(headers.get('retry-after') ?? Number.NaN);
  return Number.isFinite(seconds) ? Math.min(seconds, 60) * 1_000 : undefined;
}

/** Why a fetch failed, in as few words as there are. */
function reasonOf(error: unknown): string {
  const { name, message, code } = error as NodeJS.ErrnoException;
  return name === 'TimeoutError' ? message : (code ?? message);
}

async function ask(address: string, init: Outgoing, timeout: number): Promise<Reply> {
  const limits = [AbortSignal.timeout(timeout), ...(init.signal ? [init.signal] : [])];
  const url = new URL(address);
  const answer = await fetchBounded(url, { ...init, signal: AbortSignal.any(limits) }, mostBytes);
  return { url, status: answer.status, headers: answer.headers, text: answer.bytes.toString('utf8') };
}

const isOk = ({ status }: Reply) => status >= 200 && status < 300;

function unreachable(url: string, error: unknown): CommandFailed {
  return new CommandFailed(
    `No server answers at ${url} (${reasonOf(error)}). Start it with "./roomgate serve", or name another with --base-url URL.`,
  );
}

/**
 * Looks whether a server answers, before anything is prepared for it.
 * @throws CommandFailed naming the URL and how to start one
 */
export async function reach(idpUrl: string): Promise<void> {
  await ask(`${idpUrl}/healthz`, {}, answerTimeout).catch((error) => {
    throw unreachable(idpUrl, error);
  });
}

type Problem = {
  detail?: string;
  TraceId?: string;
  Errors?: { Message: string }[];
  error_description?: string;
};

/** One line out of problem+json (RFC 9457) or a token endpoint's error (RFC 6749). */
function describeProblem({ url, status, headers, text }: Reply): string {
  const location = status >= 300 && status < 400 && URL.parse(headers.get('location') ?? '', url);
  if (location)
    return `${url.origin} answered ${status} and leads to ${location.origin}; give the URL that it leads to.`;
  let problem: Problem = {};
  try {
    problem = JSON.parse(text) ?? {};
  } catch {
    return `${url.origin} answered ${status} and does not speak like roomgate; is the URL right?`;
  }
  const said = problem.detail ?? problem.error_description ?? `The server answered ${status}.`;
  return status >= 500 && problem.TraceId ? `${said} TraceId: ${problem.TraceId}` : said;
}

/**
 * Signs in (specification 5) and gives a client of the tenant; a token that was got for a PIN is renewed when it runs
 * out.
 * @throws CommandFailed when no server answers, or with what the server says against the PIN
 */
export async function connect(account: Account): Promise<Client> {
  const { baseUrl, mandator, credential, signal, patience = 120_000 } = account;
  const root = `${baseUrl}/${encodeURIComponent(mandator)}/api/v2.0`;

  const askHere = (address: string, init: Outgoing, timeout: number) => ask(address, { ...init, signal }, timeout);

  /** The header that carries the credential. */
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
    if (!isOk(reply)) throw new CommandFailed(describeProblem(reply));
    return { Authorization: `Bearer ${(JSON.parse(reply.text) as { access_token: string }).access_token}` };
  }

  let authorization = await authorize().catch((error: Error) => {
    if (error instanceof CommandFailed || signal?.aborted) throw error;
    throw unreachable('idpUrl' in credential ? credential.idpUrl : baseUrl, error);
  });

  /** `init` is asked again for each attempt, because a body can be sent only once. */
  async function call<T>(
    path: string,
    init: () => Outgoing & { headers?: Record<string, string> } = () => ({}),
    options: { timeout?: number; repeatOn?: number } = {},
  ): Promise<{ body: T; reply: Reply }> {
    const giveUpAt = performance.now() + patience;
    for (let attempt = 0, renewed = false; ; attempt++) {
      let pause = Math.min(10_000, 250 * 2 ** attempt) * (0.5 + Math.random() / 2);
      let failure: string;
      try {
        const { headers, ...rest } = init();
        const reply = await askHere(
          `${root}${path}`,
          { ...rest, headers: { ...headers, ...authorization, Accept: 'application/json' } },
          options.timeout ?? answerTimeout,
        );
        if (isOk(reply)) return { body: JSON.parse(reply.text) as T, reply };
        failure = describeProblem(reply);
        if (reply.status === 401 && !renewed && 'pin' in credential) {
          renewed = true;
          authorization = await authorize();
          continue;
        }
        if (!transientStatus.has(reply.status) && reply.status !== options.repeatOn) throw new CommandFailed(failure);
        pause = retryAfter(reply) ?? pause;
      } catch (error) {
        if (error instanceof CommandFailed || signal?.aborted) throw error;
        failure = `${baseUrl} has stopped answering (${reasonOf(error)}).`;
      }
      if (performance.now() + pause > giveUpAt)
        throw new CommandFailed(`${failure} Gave up after ${attempt + 1} attempts.`);
      await sleep(pause, undefined, signal ? { signal } : {});
    }
  }

  async function* pages<T>(path: string, query: Record<string, string>): AsyncGenerator<T> {
    let cursor: string | null = null;
    do {
      const parameters = new URLSearchParams({
        ...query,
        Limit: '200',
        ...(cursor ? { Cursor: cursor } : {}),
      });
      const page: { body: { Items: T[]; NextCursor: string | null } } = await call(`${path}?${parameters}`);
      yield* page.body.Items;
      cursor = page.body.NextCursor;
    } while (cursor);
  }

  return {
    async postJobs(operation, body, { idempotencyKey = randomUUID(), query = {}, onProgress } = {}) {
      const upload = () => {
        let sent = 0;
        return body.stream().pipeThrough(
          new TransformStream<Uint8Array, Uint8Array>({
            transform(chunk, controller) {
              onProgress?.((sent += chunk.byteLength), body.size);
              controller.enqueue(chunk);
            },
          }),
        );
      };
      const init = () => ({
        method: 'POST',
        body: upload(),
        headers: { 'Content-Type': 'application/json', 'Idempotency-Key': idempotencyKey },
      });
      // 409: an earlier attempt of ours is still being stored under this key.
      const options = { timeout: uploadTimeout, repeatOn: 409 };
      const asked = new URLSearchParams(query).toString();
      const path = `/jobs/${operation}${asked && `?${asked}`}`;
      return (await call<{ BatchId: string; ImportStatus: ImportStatus }>(path, init, options)).body;
    },

    async getBatch(batchId) {
      return (await call<BatchRecord>(`/jobs/batches/${batchId}`)).body;
    },

    async followBatch(batchId, onChange) {
      let seen = '';
      for (;;) {
        const wait = seen ? `?WaitSeconds=${longPollSeconds}` : '';
        const asked = performance.now();
        const { body: batch, reply } = await call<BatchRecord>(`/jobs/batches/${batchId}${wait}`);
        const state = JSON.stringify(batch);
        const changed = state !== seen;
        seen = state;
        if (changed) onChange?.(batch);
        if (hasEnded(batch)) return batch;
        // Answered early and with nothing new: something on the way does not hold the poll.
        if (!changed && performance.now() - asked < (longPollSeconds - 5) * 1_000)
          await sleep(retryAfter(reply) ?? 2_000, undefined, signal ? { signal } : {});
      }
    },

    listErrors: (batchId) => pages<ErrorRecord>(`/jobs/batches/${batchId}/errors`, {}),

    listBatches: ({ all }) => pages<BatchRecord>('/jobs/batches', all ? { ImportStatus: 'All' } : {}),
  };
}
