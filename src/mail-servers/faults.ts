/** Turns refusals and failures of mail servers into faults. */

import { readRetryAfter } from '../http/retry-after.ts';
import { AnswerTooLarge } from '../http/safe-fetch.ts';
import { whyUnanswered } from '../http/unanswered.ts';
import { beginningOf, withoutSecrets } from '../log.ts';
import { hour } from '../time/durations.ts';
import { ServerFault } from './connector.ts';

/**
 * The server failed (5xx). Repeated failures at the same cursor may mean that the server cannot read the cursor: see
 * `cursors.ts`.
 */
export class ServerFailed extends ServerFault {
  constructor(message: string, status: number | null = null) {
    super('Unreachable', message, null, status);
  }
}

/** A request was not answered in time. */
export class TimedOut extends ServerFault {
  constructor(message: string) {
    super('Unreachable', message);
  }
}

/** The server refuses the account (401), and may lock it out after repeated attempts. */
export class AccountRefused extends ServerFault {
  constructor(message: string, retryAt: Date | null = null) {
    super('AccessLost', message, retryAt);
  }
}

const secondMs = 1_000;
const longestQuote = 200;

/** When a pause of `milliseconds` that a server asks for is over: at least a second and at most an hour from now. */
export function restUntil(milliseconds: number): Date {
  return new Date(Date.now() + Math.min(hour, Math.max(secondMs, milliseconds)));
}

function retryAtOf(headers: Headers): Date | null {
  const asked = readRetryAfter(headers);
  return asked === undefined ? null : restUntil(asked);
}

/** Quotes a text of a mail server for people: on one line, short, without secrets. */
export function quote(text: string): string {
  // Cut first, as the text may have megabytes.
  const beginning = beginningOf(text, 8 * longestQuote).toWellFormed();
  const cleaned = withoutSecrets(beginning.replace(/[\p{Cc}\p{Cf}\s]+/gu, ' ')).trim();
  return cleaned.length > longestQuote ? `${cleaned.slice(0, longestQuote - 1).toWellFormed()}…` : cleaned;
}

/** `request` names the request: whoever runs the server finds it in its log. */
type UnexpectedAnswer = { status: number; headers: Headers; request?: string };

/**
 * The fault of an answer that the caller does not handle itself.
 * @param words the server's own
 */
export function faultOf({ status, headers, request }: UnexpectedAnswer, origin: string, words = ''): ServerFault {
  const said = `${origin} answers ${status}${request ? ` to ${request}` : ''}${words && `: ${quote(words)}`}`;
  const unreachable = (text: string) => new ServerFault('Unreachable', text, null, status);
  if (status === 401) return new AccountRefused(said);
  if (status === 403) return new ServerFault('AccessLost', `${said}; does the account have the right to do this?`);
  if (status === 429 || status === 503) return new ServerFault('Throttled', said, retryAtOf(headers));
  if (status >= 500) return new ServerFailed(said, status);
  if (status >= 300 && status < 400) return unreachable(`${said}, a redirect; is the Url of the settings right?`);
  if (status === 404) return unreachable(`${said}; are the Url of the settings and the mailbox right?`);
  return new ServerFault('Unreadable', said);
}

/**
 * The fault of a request that got no answer, or no complete one.
 * @param what names the request and how long it took
 */
export function networkFault(error: unknown, origin: string, what = ''): ServerFault {
  if (error instanceof ServerFault) return error;
  if (error instanceof AnswerTooLarge) return new ServerFault('TooLarge', `${error.message}.`);
  const why = whyUnanswered(error, origin);
  const { name } = error as Error;
  if (name === 'TimeoutError' || name === 'AbortError') return new TimedOut(`${why}${what && `: ${what}`}.`);
  return new ServerFault('Unreachable', `${why}.`);
}
