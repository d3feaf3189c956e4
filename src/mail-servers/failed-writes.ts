/** Writes of items that fail, though the calendar may be written. */
import { ServerFault, type WriteOutcome } from './connector.ts';
import { AccountRefused, ServerFailed, TimedOut } from './faults.ts';

/** Whether the failure of a request for one item may concern this item alone: others tell. */
export function mayConcernOneItem(error: unknown): boolean {
  // Our own error, for example in what we send.
  if (!(error instanceof ServerFault)) return true;
  if (error.fault === 'AccessLost') return !(error instanceof AccountRefused);
  return error instanceof ServerFailed || error instanceof TimedOut || error.fault === 'Unreadable';
}

/** Whether the request that looks an item up fails because of this item alone. One that is not answered in time is not repeated. */
export const mayConcernLookup = (error: unknown): boolean => mayConcernOneItem(error) && !(error instanceof TimedOut);

/** @throws the first error if all of the writes have failed */
export function unlessAllFailed(outcomes: WriteOutcome[]): WriteOutcome[] {
  const [first] = outcomes;
  if (first?.is === 'Failed' && outcomes.every(({ is }) => is === 'Failed')) throw first.error;
  return outcomes;
}
