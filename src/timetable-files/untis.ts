/** Reads the text files of Untis: GPU001 (timetable), GPU002 (lessons, for their weeks) and GPU014 (substitutions). */
import { readCompactDate } from '../time/days.ts';
import type { TextRow } from './cells.ts';
import { listOf } from './entries.ts';
import { type FaultReport, shown } from './faults.ts';
import { checkPeriod, checkWeeks, type FileReading } from './file-reading.ts';
import { compactDate } from './term.ts';

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

const mostNumber = 999_999_999;

type Row = ReturnType<typeof openRow>;

/** A row whose cells are read by their column, from 1. What cannot be read is reported. */
function openRow({ line, cells }: TextRow, file: number, report: FaultReport) {
  const cell = (column: number) => (cells[column - 1] ?? '').trim();
  const fault = (column: number, field: string, code: string, message: string) =>
    report.fault({ file, line, column, field }, code, message);
  return {
    line,
    cell,
    fault,
    number(column: number, field: string, least: number, most: number): number | undefined {
      const text = cell(column);
      const value = /^\d{1,9}$/.test(text) ? Number(text) : Number.NaN;
      if (value >= least && value <= most) return value;
      fault(column, field, 'InvalidNumber', `${shown(text)} is not a whole number from ${least} to ${most}`);
      return undefined;
    },
    day(column: number, field: string): number | undefined {
      const found = readCompactDate(cell(column));
      const message = () => `${shown(cell(column))} is not a date such as ${compactDate(20_527)}`;
      if (found === undefined) fault(column, field, 'InvalidDate', message());
      return found;
    },
  };
}

/** GPU001: a lesson of the timetable. */
async function takeLesson({ line, cell, fault, number }: Row, { file, term, report, take }: FileReading) {
  const lesson = number(1, 'Unterricht', 1, mostNumber);
  const day = number(6, 'Tag', 1, 7);
  const period = number(7, 'Stunde', 0, 99);
  if (lesson === undefined || day === undefined || period === undefined) return;
  if (!checkPeriod(term, day, period, (code, message) => fault(7, 'Stunde', code, message))) return;
  const content = { subject: cell(4), classes: listOf(cell(2), names), teachers: listOf(cell(3), names) };
  const rooms = listOf(cell(5), names);
  if (rooms.length === 0)
    report.notice(
      { file, line },
      'WithoutRoom',
      `Lesson ${lesson} has no room and is left out; give it one to have it booked`,
    );
  for (const room of rooms)
    await take(String(lesson), { kind: 'slot', file, line, day, period, room, roomColumn: 5, ...content });
}

/** GPU002: the weeks of a lesson. */
async function takeSpan({ line, cell, day, fault, number }: Row, { file, term, take }: FileReading) {
  const lesson = number(1, 'Unterricht', 1, mostNumber);
  const [from, to] = [15, 16].map((column) => (cell(column) === '' ? undefined : day(column, 'Zeitraum')));
  const weeks = cell(12) || undefined;
  checkWeeks(term, weeks, (code, message) => fault(12, 'Unterrichtsgruppe', code, message));
  // Untis swaps the ends of a range that crosses the end of the school year.
  const isRange = from === undefined || to === undefined || from <= to;
  if (lesson !== undefined)
    await take(String(lesson), { kind: 'span', file, line, weeks, ...(isRange ? { from, to } : { from }) });
}

/** GPU014: a substitution. */
async function takeChange({ line, cell, day, number }: Row, { file, report, take }: FileReading) {
  const id = number(1, 'Vertretung', 0, mostNumber);
  const date = day(2, 'Datum');
  const period = number(3, 'Stunde', 0, 99);
  const lesson = number(5, 'Unterricht', 0, mostNumber);
  const kindBits = cell(18) === '' ? 0 : number(18, 'Art', 0, mostNumber);
  if (id === undefined || date === undefined || period === undefined || lesson === undefined || kindBits === undefined)
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
}

const takers = { GPU001: takeLesson, GPU002: takeSpan, GPU014: takeChange };

export function openUntis(kind: UntisKind, reading: FileReading) {
  return async (written: TextRow): Promise<void> => {
    const row = openRow(written, reading.file, reading.report);
    const { length } = written.cells;
    if (length >= leastFields[kind]) return await takers[kind](row, reading);
    row.fault(
      length,
      kind,
      'TooFewFields',
      `${kind} has at least ${leastFields[kind]} fields in a line, not ${length}; was the file truncated, or does it use another separator?`,
    );
  };
}
