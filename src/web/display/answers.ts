/** Interprets answers, which may come from a proxy or a captive portal. */
import { retryAfterOf } from '../retry-after.ts';

const longestWait = 60;

export type Judgement =
  | { kind: 'lost' }
  /** The credential is not valid. */
  | { kind: 'refused' }
  /** It gives access to no such room or location. */
  | { kind: 'missing' }
  /** The wait that was asked for. */
  | { kind: 'later'; seconds: number };

/** The code of an error of ours, in GraphQL or REST. Pages of others have none. */
export const codeOf = (text: string): string | undefined => /"code":\s*"(\w+)"/i.exec(text)?.[1];

/** The meaning of an answer without the expected data. */
export function judge({ status, headers }: Response, text: string): Judgement {
  const code = codeOf(text);
  if (code && /^(NOT_FOUND|FORBIDDEN|NotFound|Forbidden)$/.test(code)) return { kind: 'missing' };
  if (code === 'NOT_AUTHENTICATED' || (status === 401 && code)) return { kind: 'refused' };
  const seconds = retryAfterOf(headers);
  return seconds ? { kind: 'later', seconds: Math.min(seconds, longestWait) } : { kind: 'lost' };
}
