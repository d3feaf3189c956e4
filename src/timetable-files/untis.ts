/** Reads the text files of Untis: GPU001 (timetable), GPU002 (lessons, for their weeks) and GPU014 (substitutions). */
import { dateText, readCompactDate } from '../time/days.ts';
import type { TextRow } from './cells.ts';
import { listOf, type TakeEntry } from './entries.ts';
import { type FaultReport, shown, UnreadableFile } from './faults.ts';
import type { TermDays } from './term.ts';

export type UntisKind = 'GPU001' | 'GPU002' | 'GPU014';

const compact = /^\d{8}$/;
const leastFields: Record<UntisKind, number> = { GPU001: 7, GPU002: 16, GPU014: 18 };

/** Recognises the kind of a file by a row of it; undefined if it is none of them. */
export function kindOf(cells: readonly string[]): UntisKind | undefined {
  if (!/^\d{1,9}$/.test(cells[0]?.trim() ?? '')) return undefined;
  if (compact.test(cells[1]?.trim() ?? '') && cells.length >= leastFields.GPU014) return 'GPU014';
  if (cells.length >= leastFields.GPU002) return 'GPU002';
  return cells.length >= leastFields.GPU001 && cells.length <= 12 ? 'GPU001' : undefined;
}

const names = /~/;
/** The bits in the kind of a substitution. */
export const bits = { cancelled: 1, moved: 8, released: 16, movedHere: 128, breakDuty: 1 << 17, noLessons: 1 << 18 };

/**
 * Reports a period that the time grid does not have.
 * @returns whether the grid has it
 * @throws UnreadableFile once a missing grid is reported, as every other line would have the same fault
 */
export function checkPeriod(
  term: TermDays,
  weekday: number,
  period: number,
  complain: (code: string, message: string) => void,
): boolean {
  if (term.timesOf(weekday, period)) return true;
  if (!term.hasGrid) {
    complain('MissingPeriods', 'the file has periods but no times; send a time grid');
    throw new UnreadableFile();
  }
  complain('UnknownPeriod', `the time grid has no period ${period} on day ${weekday}; add it to the time grid`);
  return false;
}

export function openUntis(kind: UntisKind, file: number, term: TermDays, report: FaultReport, take: TakeEntry) {
  return async ({ line, cells }: TextRow): Promise<void> => {
    const cell = (number: number) => (cells[number - 1] ?? '').trim();
    const fault = (column: number, field: string, code: string, message: string) =>
      report.fault({ file, line, column, field }, code, message);
    if (cells.length < leastFields[kind]) {
      fault(
        cells.length,
        kind,
        'TooFewFields',
        `${kind} has at least ${leastFields[kind]} fields in a line, not ${cells.length}; was the file truncated, or does it use another separator?`,
      );
      return;
    }
    function number(column: number, field: string, least: number, most: number): number | undefined {
      const text = cell(column);
      const value = /^\d{1,9}$/.test(text) ? Number(text) : Number.NaN;
      if (value >= least && value <= most) return value;
      fault(column, field, 'InvalidNumber', `${shown(text)} is not a whole number from ${least} to ${most}`);
      return undefined;
    }
    function day(column: number, field: string): number | undefined {
      const found = readCompactDate(cell(column));
      if (found === undefined)
        fault(
          column,
          field,
          'InvalidDate',
          `${shown(cell(column))} is not a date such as ${dateText(20_527).replaceAll('-', '')}`,
        );
      return found;
    }

    if (kind === 'GPU014') {
      const [id, date, period, lesson] = [
        number(1, 'Vertretung', 0, 999_999_999),
        day(2, 'Datum'),
        number(3, 'Stunde', 0, 99),
        number(5, 'Unterricht', 0, 999_999_999),
      ];
      const kindBits = cell(18) === '' ? 0 : number(18, 'Art', 0, 999_999_999);
      if (
        id === undefined ||
        date === undefined ||
        period === undefined ||
        lesson === undefined ||
        kindBits === undefined
      )
        return;
      if ((kindBits & bits.breakDuty) !== 0) {
        report.notice({ file, line }, 'BreakDuty', `Substitution ${id} is a break duty, not a lesson`);
        return;
      }
      const newClasses = listOf(cell(19), names);
      await take(lesson === 0 ? `v${id}` : String(lesson), {
        kind: 'change',
        file,
        line,
        id,
        day: date,
        period,
        bits: kindBits,
        absentTeacher: cell(6),
        teacher: cell(7),
        subject: cell(10),
        oldRooms: listOf(cell(12), names),
        rooms: listOf(cell(13), names),
        roomColumn: 13,
        classes: newClasses.length > 0 ? newClasses : listOf(cell(15), names),
        text: cell(17),
        enteredAt: cell(21),
      });
      return;
    }
    const lesson = number(1, 'Unterricht', 1, 999_999_999);
    if (kind === 'GPU002') {
      const [from, to] = [15, 16].map((column) => (cell(column) === '' ? undefined : day(column, 'Zeitraum')));
      const weeks = cell(12) || undefined;
      if (weeks && !term.knowsWeeks(weeks))
        fault(
          12,
          'Unterrichtsgruppe',
          'UnknownWeeks',
          `${shown(weeks)} is not a name of weeks; add it to the groups of the term`,
        );
      // Untis swaps the ends of a range that crosses the end of the school year.
      const isRange = from === undefined || to === undefined || from <= to;
      if (lesson !== undefined)
        await take(String(lesson), { kind: 'span', file, line, weeks, ...(isRange ? { from, to } : { from }) });
      return;
    }
    const weekday = number(6, 'Tag', 1, 7);
    const period = number(7, 'Stunde', 0, 99);
    if (lesson === undefined || weekday === undefined || period === undefined) return;
    if (!checkPeriod(term, weekday, period, (code, message) => fault(7, 'Stunde', code, message))) return;
    const content = { subject: cell(4), classes: listOf(cell(2), names), teachers: listOf(cell(3), names) };
    const rooms = listOf(cell(5), names);
    if (rooms.length === 0)
      report.notice(
        { file, line },
        'WithoutRoom',
        `Lesson ${lesson} has no room and is left out; give it one to have it booked`,
      );
    for (const room of rooms)
      await take(String(lesson), { kind: 'slot', file, line, day: weekday, period, room, roomColumn: 5, ...content });
  };
}
