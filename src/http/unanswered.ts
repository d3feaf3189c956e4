import { AnswerTooLarge } from './safe-fetch.ts';

/** Why a request of `fetchBounded` has no answer that can be used, as a clause. @param server its subject */
export function whyUnanswered(error: unknown, server: string, patienceMs?: number): string {
  if (error instanceof AnswerTooLarge) return error.message;
  const { name, code } = error as NodeJS.ErrnoException;
  if (name === 'TimeoutError' || name === 'AbortError')
    return `${server} did not answer ${patienceMs === undefined ? 'in time' : `within ${patienceMs / 1_000} seconds`}`;
  // An error of the HTTP parser, or of what inflates an answer.
  const isReached = code === undefined || /^(HPE|Z)_/.test(code);
  return isReached ? `${server} did not send a valid HTTP answer` : `${server} cannot be reached: ${code}`;
}
