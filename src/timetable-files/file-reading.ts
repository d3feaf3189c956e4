/** What the readers of all formats share: what they are given, and the checks of a row against the term. */
import type { TakeEntry } from './entries.ts';
import { type FaultReport, shown, UnreadableFile } from './faults.ts';
import type { TermDays } from './term.ts';

/** A file that is being read; `file` is its index in the request. */
export type FileReading = { file: number; term: TermDays; report: FaultReport; take: TakeEntry };

/** Reports a fault of a field. */
export type Complain = (code: string, message: string) => void;

/**
 * Reports a period that the time grid does not have.
 * @returns whether the grid has it
 * @throws UnreadableFile once a missing grid is reported, as every other line would have the same fault
 */
export function checkPeriod(term: TermDays, weekday: number, period: number, complain: Complain): boolean {
  if (term.timesOf(weekday, period)) return true;
  if (!term.hasGrid) {
    complain('MissingPeriods', 'the file has periods but no times; send a time grid');
    throw new UnreadableFile();
  }
  complain('UnknownPeriod', `the time grid has no period ${period} on day ${weekday}; add it to the time grid`);
  return false;
}

/** Reports a name of weeks that the term does not have. @returns whether it has it; no name means all weeks */
export function checkWeeks(term: TermDays, weeks: string | undefined, complain: Complain): boolean {
  if (!weeks || term.knowsWeeks(weeks)) return true;
  complain('UnknownWeeks', `${shown(weeks)} is not a name of weeks; add it to the groups of the term`);
  return false;
}
