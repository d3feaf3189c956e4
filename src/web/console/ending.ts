/** Calls end by themselves, as a form would stay locked while its call waits for an answer that never comes. */

/** Milliseconds within which the answer to a short call begins: no proxy waits longer. */
const answersWithin = 60_000;

/** Whether so much is sent that it may take minutes, and that browsers do not send it once the page is left. */
export const isMuch = (body: string | Blob = ''): boolean => typeof body !== 'string' || body.length >= 16_000;

/** @returns the signal for a call, which the caller's own also aborts; call `begins` when the answer begins */
export function endLate(body?: string | Blob, own?: AbortSignal): { signal: AbortSignal; begins(): void } {
  const ending = new AbortController();
  const end = () => ending.abort();
  if (own?.aborted) end();
  own?.addEventListener('abort', end);
  const late = isMuch(body) ? undefined : setTimeout(end, answersWithin);
  return { signal: ending.signal, begins: () => clearTimeout(late) };
}
