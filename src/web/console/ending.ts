/** Ends calls after a time-out, because a form stays locked while its call waits for an answer. */

/** Milliseconds within which the answer to a short call begins: no proxy waits longer. */
const answersWithin = 60_000;

/** Whether a body is so large that sending it may take minutes, and browsers do not send it after the page is left. */
export const isMuch = (body: string | Blob = ''): boolean => typeof body !== 'string' || body.length >= 16_000;

/** @returns the signal for a call, which the caller's own also aborts; call `end` once the answer begins, or the call has failed */
export function endLate(body?: string | Blob, own?: AbortSignal): { signal: AbortSignal; end(): void } {
  const ending = new AbortController();
  const abort = () => ending.abort();
  if (own?.aborted) abort();
  own?.addEventListener('abort', abort);
  const late = isMuch(body) ? undefined : setTimeout(abort, answersWithin);
  return { signal: ending.signal, end: () => clearTimeout(late) };
}
