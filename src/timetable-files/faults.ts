/** Collects the faults of timetable files: each with its file, line and column, and what to do. */
import { type FieldError, InvalidInput } from '../errors.ts';

/**
 * A place in a file. `column` counts the fields of a line from 1; in iCalendar, its characters. `field` names the field, unless
 * the file has a heading for it.
 */
export type FilePlace = { file: number; line: number; column?: number | undefined; field?: string | undefined };

export type Notice = { file: string; line: number; code: string; message: string };

/** The most faults, and notices of each kind, that are listed; the others are only counted. */
const mostListed = 1_000;
const mostNotices = 100;
const longestShown = 80;

/** Quotes a text of a file in a message. */
export const shown = (text: string): string =>
  JSON.stringify(text.length > longestShown ? `${text.slice(0, longestShown)}…`.toWellFormed() : text);

const asSentence = (message: string): string => (message.endsWith('?') ? message : `${message}.`);

/** The rest of the file cannot be read. */
export class UnreadableFile extends Error {}

export type FaultReport = ReturnType<typeof openReport>;

export function openReport(names: readonly string[]) {
  const faults: (FieldError & { file: number })[] = [];
  const notices: (Notice & { at: number })[] = [];
  /** The notices as faults, for when nothing else is left. */
  const leftOut: FieldError[] = [];
  let [faultCount, noticeCount] = [0, 0];
  const headings = new Map<number, readonly string[]>();
  const nameOf = (file: number) => names[file] ?? '';
  return {
    /** Sets the headings of the columns of a file, which faults then name. */
    headings(file: number, cells: readonly string[]): void {
      headings.set(file, cells);
    },
    fault(place: FilePlace, code: string, message: string): void {
      faultCount++;
      if (faults.length >= mostListed) return;
      const { file, line, column } = place;
      const field = headings.get(file)?.[(column ?? 0) - 1]?.trim() || place.field;
      const at = `${nameOf(file)} line ${line}${column === undefined ? '' : `, column ${column}`}${field ? ` (${field})` : ''}`;
      const error = { field: field ?? null, pointer: `/Files/${file}`, code, message: `${at}: ${asSentence(message)}` };
      faults.push({ ...error, line, column: column ?? null, file });
    },
    notice({ file, line }: FilePlace, code: string, message: string): void {
      noticeCount++;
      if (notices.length >= mostNotices) return;
      notices.push({ at: file, file: nameOf(file), line, code, message: asSentence(message) });
      const told = `${nameOf(file)} line ${line}: ${asSentence(message)}`;
      leftOut.push({ field: null, pointer: `/Files/${file}`, code, message: told, line, column: null });
    },
    get isFaulty() {
      return faultCount > 0;
    },
    /** In the order of the files. */
    notices: () => ({
      count: noticeCount,
      listed: notices
        .toSorted((one, other) => one.at - other.at || one.line - other.line)
        .map(({ at: _, ...notice }) => notice),
    }),
    /** @throws InvalidInput with what was left out, as no lesson is left: an empty timetable would delete the stored one */
    refuseEmpty(): never {
      const [first] = leftOut;
      const more = noticeCount > 1 ? ` ${noticeCount - 1} more were left out.` : '';
      throw new InvalidInput(
        `The files have no lesson in the term: an empty timetable would delete the stored one. ${
          first ? `${first.message}${more}` : 'Check Term, and delete jobs with jobs/delete.'
        }`,
        leftOut,
      );
    },
    /** @throws InvalidInput with all faults in the order of the files */
    check(): void {
      if (faultCount === 0) return;
      const errors = faults
        .sort((one, other) => one.file - other.file || (one.line ?? 0) - (other.line ?? 0))
        .map(({ file: _, ...error }) => error);
      const more = faultCount > errors.length ? ` The first ${errors.length} are listed.` : '';
      const first = errors[0]?.message ?? '';
      throw new InvalidInput(
        faultCount === 1 ? first : `${faultCount} faults, and nothing was written. The first: ${first}${more}`,
        errors,
        faultCount,
      );
    },
  };
}
