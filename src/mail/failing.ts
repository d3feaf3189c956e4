/** Items that the mail server fails at: whether they rest, or their calendar does. */
import { backOff } from '../flow/retry.ts';
import { ServerFault } from '../mail-servers/service.ts';
import type { MailWork } from '../mail-subscriptions/service.ts';
import { minute } from '../time/durations.ts';

/** After so many failing items, and none that succeeded, a job gives up: the server fails. */
export const fewFailing = 3;
/** After so many failures in a row, an item rests by itself, even if nothing else succeeded. */
export const mostFailures = 5;
const pauses = { firstMs: minute, longestMs: 15 * minute };

/** The milliseconds for which an item rests that has failed once more, after `failures` others. */
export const restOfFailing = (failures: number): number => backOff(failures, pauses);

/** Why something was not written, for people. */
export const reasonOf = (error: unknown): string =>
  error instanceof ServerFault ? error.message : 'It could not be written; the log of this service says why.';

export function logFailing({ log }: MailWork, what: object, error: unknown, message: string): void {
  const isOurs = !(error instanceof ServerFault);
  log[isOurs ? 'error' : 'warn'](
    { ...what, err: isOurs && error instanceof Error ? error.stack : reasonOf(error) },
    message,
  );
}
