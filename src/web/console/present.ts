/** The present time by the server's clock, as that of a machine may be wrong. */

let ahead = 0;

export const present = (): number => Date.now() + ahead;

/**
 * Corrects the clock by an answer, unless the machine's clock may be right: an answer has whole seconds, and was made
 * at some instant since the call.
 */
export function compareClocks({ headers }: Response, calledAt: number): void {
  const told = Date.parse(headers.get('date') ?? '');
  const [low, high] = [told - Date.now(), told + 1_000 - calledAt];
  if (ahead < low || ahead > high) ahead = (low + high) / 2;
}
