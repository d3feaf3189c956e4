/**
 * Sends requests to mail servers: only to the origin of the settings, within bounds of time and size. The contents of requests
 * and answers are never logged.
 */
import pLimit from 'p-limit';
import type { MailServerSettings } from '../config.ts';
import { fetchBounded } from '../http/safe-fetch.ts';
import type { Log } from '../log.ts';
import { ServerFault } from './connector.ts';
import { openCredentials } from './credentials.ts';
import { AccountRefused, faultOf, networkFault, quote } from './faults.ts';
import { openLockout } from './lockout.ts';

export type ServerQuestion = {
  method?: string;
  /** Absolute, or relative to the Url of the settings. */
  address: string;
  headers?: Record<string, string>;
  body?: string;
  /** Statuses besides 2xx (never 401) whose answers the caller handles itself; every other one is a fault. */
  reads?: readonly number[];
  /** Extracts the server's own explanation of a refused account. */
  words?: (bytes: Buffer) => string;
  /** Whether a redirect is followed even though the method writes. The redirecting server has not written anything. */
  isFollowed?: boolean;
  /** Names the request in messages about timeouts and refusals; its method if left out. */
  what?: string;
  /** 15 s if left out. */
  deadlineMs?: number;
};

export type ServerAnswer = {
  status: number;
  headers: Headers;
  bytes: Buffer;
  address: string;
  /** Names the request in faults. */
  request: string;
};
export type AskServer = (question: ServerQuestion, signal: AbortSignal) => Promise<ServerAnswer>;

const mostBytes = 16 * 1_048_576;
const usualDeadlineMs = 15_000;
/** The deadline of requests that read many items, which a server may be slow to find. */
export const readDeadlineMs = 30_000;
/** Concurrent requests to one mail server; Exchange allows an account 27. */
const mostAtOnce = 8;
/** Of these, requests that each write one item: the others are left to readings. */
const mostWritesAtOnce = 6;
const writing = ['PUT', 'PATCH', 'DELETE'];
const mostRedirects = 3;
/** Methods whose redirects are followed, as they change nothing. */
const followed = ['GET', 'PROPFIND', 'REPORT', 'OPTIONS'];

/** Names a request without its query, which may have secrets. */
const requestOf = ({ method = 'GET', what = method }: ServerQuestion, { pathname }: URL) =>
  `${what} ${quote(pathname)}`;

/** Opens a client for the mail server of these settings, with the account that they name. Sends no request yet. */
export function openHttp(settings: MailServerSettings, log: Log): AskServer {
  const base = new URL(settings.Url);
  const credentials = openCredentials(settings);
  const lockout = openLockout(settings);
  const limit = pLimit(mostAtOnce);
  const limitWrites = pLimit(mostWritesAtOnce);

  /** Checks the origin, as addresses also come from the server: links, references, redirects. */
  function pinned(address: string, from: URL): URL {
    const url = URL.parse(address, from);
    if (url?.origin !== base.origin || url.username || url.password)
      throw new ServerFault('Unreadable', `${base.origin} refers to a URL of another server, which is not followed.`);
    return url;
  }

  async function send(url: URL, question: ServerQuestion, authorization: string, signal: AbortSignal) {
    const { method = 'GET', headers, body, what = method, deadlineMs = usualDeadlineMs } = question;
    const since = performance.now();
    const init = {
      method,
      headers: { ...headers, authorization },
      ...(body !== undefined && { body }),
      signal: AbortSignal.any([signal, AbortSignal.timeout(deadlineMs)]),
    };
    try {
      const answer = await fetchBounded(url, init, mostBytes);
      const { status, bytes } = answer;
      const ms = Math.round(performance.now() - since);
      log.debug({ server: base.origin, method, status, bytes: bytes.length, ms }, 'mail server answered');
      return answer;
    } catch (error) {
      const seconds = (performance.now() - since) / 1_000;
      throw networkFault(error, base.origin, `${what} took ${seconds.toFixed(1)} s`);
    }
  }

  /** Sends again with another token if the server refuses the first. */
  async function sendAs(url: URL, question: ServerQuestion, signal: AbortSignal) {
    const authorization = await credentials.authorization();
    const answer = await send(url, question, authorization, signal);
    if (answer.status !== 401 || !credentials.isRenewable(authorization)) return answer;
    return send(url, question, await credentials.authorization(), signal);
  }

  /** Sends nothing while the account is locked out. */
  async function sendCarefully(url: URL, question: ServerQuestion, signal: AbortSignal) {
    const entered = lockout.enter();
    try {
      const answer = await sendAs(url, question, signal);
      if (answer.status === 401)
        throw faultOf({ ...answer, request: requestOf(question, url) }, base.origin, question.words?.(answer.bytes));
      lockout.end();
      return answer;
    } catch (error) {
      throw error instanceof AccountRefused ? lockout.refuse(error, entered) : error;
    }
  }

  async function ask(question: ServerQuestion, signal: AbortSignal): Promise<ServerAnswer> {
    const { method = 'GET', reads = [], isFollowed = followed.includes(method) } = question;
    let url = pinned(question.address, base);
    for (let redirects = 0; ; redirects += 1) {
      const sent = await sendCarefully(url, question, signal);
      const answer = { ...sent, address: url.href, request: requestOf(question, url) };
      const { status, headers } = answer;
      if ((status >= 200 && status < 300) || reads.includes(status)) return answer;
      const location = status >= 300 && status < 400 && headers.get('location');
      if (!location || !isFollowed || redirects === mostRedirects) throw faultOf(answer, base.origin);
      url = pinned(location, url);
    }
  }

  return async (question, signal) => {
    // An abort also ends the wait for other requests, or for a token.
    const { promise: aborted, reject } = Promise.withResolvers<never>();
    const end = () => reject(networkFault(signal.reason, base.origin));
    signal.addEventListener('abort', end, { once: true });
    if (signal.aborted) end();
    try {
      const begin = () => limit(() => ask(question, signal));
      return await Promise.race([aborted, writing.includes(question.method ?? 'GET') ? limitWrites(begin) : begin()]);
    } finally {
      signal.removeEventListener('abort', end);
    }
  };
}
