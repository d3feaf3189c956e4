/** Calls Microsoft Graph: JSON over https, with its errors as ServerFaults. */
import { z } from 'zod';
import type { MailServerSettings } from '../config.ts';
import { ServerFault } from './connector.ts';
import { faultOf } from './faults.ts';
import { type AskServer, readDeadlineMs } from './http.ts';
import { checkNextPage } from './pages.ts';
import { readJson } from './values.ts';

export type GraphQuestion = {
  method?: 'GET' | 'POST' | 'PATCH' | 'DELETE';
  /** A path below the Url of the settings, or a link that Graph has sent. */
  address: string;
  prefer?: string;
  body?: object;
  deadlineMs?: number;
  /** Whether the address is a cursor, which Graph may no longer accept. */
  isCursor?: boolean;
  /** Whether the id may belong to another kind of resource: then 400 counts as 404. */
  isGuess?: boolean;
};
export type GraphAnswer = { status: number; body: unknown };

/** A request of a batch; its path lies below the Url of the settings. */
export type GraphStep = {
  method: 'GET' | 'POST' | 'PATCH' | 'DELETE';
  path: string;
  headers: Record<string, string>;
  body?: object;
};
/** `code` is Graph's code for a refusal, '' without one; `fault` is what the refusal means to most callers. */
export type GraphStepAnswer = GraphAnswer & { code: string; fault: ServerFault | null };

export type GraphApi = {
  origin: string;
  /** Resolves with 404 for a missing resource; every other refusal is a fault. */
  call(question: GraphQuestion, signal: AbortSignal): Promise<GraphAnswer>;
  /** Sends at most 20 requests together. Each gets its own answer, in order. If the call fails, some may have been done. */
  batch(steps: readonly GraphStep[], signal: AbortSignal): Promise<GraphStepAnswer[]>;
  /** Reads a page, again with a smaller `pageSize` if it has too many bytes. `page` is undefined when it is missing (404). */
  readPage(
    question: GraphQuestion & { pageSize: number },
    signal: AbortSignal,
  ): Promise<{ page: GraphPage | undefined; pageSize: number }>;
  /**
   * Reads pages by following nextLink. `take` gets the values of each page, and returns whether it wants another.
   * @returns the last page, or undefined when the first is missing (404)
   */
  readPages(
    question: GraphQuestion & { pageSize: number },
    take: (values: unknown[]) => boolean,
    signal: AbortSignal,
  ): Promise<GraphPage | undefined>;
};

const nullable = z.string().nullish();
const pageSchema = z.object({
  value: z.array(z.unknown()),
  '@odata.nextLink': nullable,
  '@odata.deltaLink': nullable,
});
export type GraphPage = z.output<typeof pageSchema>;

const batchSchema = z.object({
  responses: z.array(
    z.object({
      id: z.string(),
      status: z.int(),
      headers: z.record(z.string(), z.string()).nullish().catch(null),
      body: z.unknown().optional(),
    }),
  ),
});

const errorSchema = z.object({
  error: z.object({ code: z.string().catch(''), message: z.string().catch('') }),
});
const errorOf = (told: unknown) => errorSchema.safeParse(told).data?.error ?? { code: '', message: '' };
/** Statuses whose bodies are read here, as Graph's error codes say more than the status. */
const readStatuses = [400, 403, 404, 409, 410, 429];
const lostStates = /^(SyncStateNotFound|SyncStateInvalid|resyncRequired|resync.*|ErrorInvalidSyncState.*)$/i;
/** Codes for a mailbox that is missing or that we may not read. The caller knows what else may be missing. */
const lostMailboxes =
  /^(ErrorInvalidUser|ErrorNonExistentMailbox|MailboxNotEnabledForRESTAPI|MailboxNotSupportedForRESTAPI|ErrorAccessDenied|OrganizationFromTenantGuidNotFound)$/i;

/** Names a request for people, without ids and tokens: `GET calendarView/delta`. */
function whatOf(method: string, address: string): string {
  const [path = ''] = address.split('?', 1);
  const known = /calendarView\/delta|calendarView|instances|subscriptions|\$batch/.exec(path);
  return known ? `${method} ${known[0]}` : method;
}

export function openGraphApi(settings: MailServerSettings, ask: AskServer): GraphApi {
  const base = settings.Url.replace(/\/+$/, '');
  const { origin } = new URL(base);

  async function call(question: GraphQuestion, signal: AbortSignal): Promise<GraphAnswer> {
    const { method = 'GET', address, prefer, body, deadlineMs, isCursor = false, isGuess = false } = question;
    const answer = await ask(
      {
        method,
        address: address.startsWith('/') ? `${base}${address}` : address,
        headers: {
          accept: 'application/json',
          ...(prefer && { prefer }),
          ...(body && { 'content-type': 'application/json' }),
        },
        ...(body && { body: JSON.stringify(body) }),
        what: whatOf(method, address),
        deadlineMs: deadlineMs ?? readDeadlineMs,
        reads: readStatuses,
        words: (bytes) =>
          Object.values(errorOf(readJson(bytes)))
            .join(' ')
            .trim(),
      },
      signal,
    );
    const { status, bytes } = answer;
    const told = status === 204 ? undefined : readJson(bytes);
    if (status < 300) return { status, body: told };
    const { code, message } = errorOf(told);
    const isUnreachable = code === 'ValidationError' && /validation request/i.test(message);
    const hint = isUnreachable ? ` (can Graph reach the callback from the internet, by https?)` : '';
    const words = `${code} ${message}${hint}`.trim();
    const fault = faultOf(answer, origin, words);
    if (status === 410 || lostStates.test(code) || (isCursor && status === 400))
      throw new ServerFault('StateLost', fault.message);
    // A missing subscription does not mean a missing mailbox, whatever the code.
    if (status === 404 && address.startsWith('/subscriptions/')) return { status, body: undefined };
    if (lostMailboxes.test(code)) throw new ServerFault('AccessLost', fault.message);
    if (status === 404 || (isGuess && status === 400)) return { status: 404, body: undefined };
    throw fault;
  }

  async function batch(steps: readonly GraphStep[], signal: AbortSignal): Promise<GraphStepAnswer[]> {
    const requests = steps.map(({ path, ...step }, at) => ({ id: String(at), url: path, ...step }));
    const { body } = await call({ method: 'POST', address: '/$batch', body: { requests } }, signal);
    const { data } = batchSchema.safeParse(body);
    if (!data) throw new ServerFault('Unreadable', `${origin} answers a batch with something that is not a batch.`);
    const answers = new Map(data.responses.map((answer) => [answer.id, answer]));
    return requests.map(({ id }) => {
      const { status = 0, headers, body: told } = answers.get(id) ?? {};
      if (status >= 200 && status < 300) return { status, body: told, code: '', fault: null };
      const { code, message } = errorOf(told);
      const fault = faultOf({ status, headers: new Headers(headers ?? {}) }, origin, `${code} ${message}`.trim());
      const isLost = lostMailboxes.test(code);
      return { status, body: told, code, fault: isLost ? new ServerFault('AccessLost', fault.message) : fault };
    });
  }

  async function readPage(
    { pageSize, ...question }: GraphQuestion & { pageSize: number },
    signal: AbortSignal,
  ): Promise<{ page: GraphPage | undefined; pageSize: number }> {
    const prefer = [question.prefer, `odata.maxpagesize=${pageSize}`].filter(Boolean).join(', ');
    try {
      const { status, body } = await call({ ...question, prefer }, signal);
      if (status === 404) return { page: undefined, pageSize };
      const page = pageSchema.safeParse(body);
      if (page.success) return { page: page.data, pageSize };
      throw new ServerFault('Unreadable', `${origin} answers with something that is not a list.`);
    } catch (error) {
      if (!(error instanceof ServerFault) || error.fault !== 'TooLarge' || pageSize === 1) throw error;
      return readPage({ ...question, pageSize: Math.ceil(pageSize / 8) }, signal);
    }
  }

  return {
    origin,
    call,
    batch,
    readPage,
    async readPages({ pageSize: wanted, ...question }, take, signal) {
      const seen = new Set<string>();
      let [address, pageSize] = [question.address, wanted];
      for (let pages = 0; ; pages += 1) {
        seen.add(address);
        const answer = await readPage({ ...question, address, pageSize }, signal);
        pageSize = answer.pageSize;
        const { page } = answer;
        if (!page && pages > 0) throw new ServerFault('Unreadable', `${origin} refers to a page that does not exist.`);
        if (!page || !take(page.value)) return page;
        const next = page['@odata.nextLink'];
        if (!next) return page;
        checkNextPage(origin, pages + 1, seen.has(next));
        address = next;
      }
    },
  };
}
