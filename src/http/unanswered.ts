import { AnswerTooLarge } from './safe-fetch.ts';

/** Why a request of `fetchBounded` has no usable answer, as a clause. @param server its subject */
export function whyUnanswered(error: unknown, server: string, patienceMs?: number): string {
  if (error instanceof AnswerTooLarge) return error.message;
  const { name, code, message } = error as NodeJS.ErrnoException;
  if (name === 'TimeoutError' || name === 'AbortError')
    return `${server} did not answer ${patienceMs === undefined ? 'in time' : `within ${patienceMs / 1_000} seconds`}`;
  const isInvalid = `${server} did not send a valid HTTP answer`;
  if (code === undefined) return `${isInvalid}: ${message}`;
  // Codes of the HTTP parser and of decompression, Brotli included.
  return /^(HPE_|Z_|ERR__ERROR_)/.test(code) ? isInvalid : `${server} cannot be reached: ${code}`;
}
