/** Finds the cells of the files for the faults that the server reports. */

import type { ColumnName } from '../../../timetable-files/headings.ts';
import type { Fault } from '../fault.ts';
import { openSlices } from '../parts/slices.ts';
import { messageOf } from '../texts/timetables.ts';
import type { BatchError } from './batch.ts';
import { cellAt, type Draft, type RowFault } from './draft.ts';
import { jobColumns, jsonColumns, rowsOfJobs } from './jobs.ts';
import { untisFileOf, untisRooms } from './untis.ts';

/** The column of a CSV for each member of a lesson. */
const columnOf: Record<string, ColumnName> = {
  Raum: 'Room',
  resourceName: 'Room',
  lessonKey: 'Key',
  start: 'Begin',
  end: 'End',
  subject: 'Subject',
  title: 'Title',
  classes: 'Classes',
  teachers: 'Teachers',
  remark: 'Remark',
  status: 'Status',
};
const roomCodes = new Set(['UnknownRoom', 'AmbiguousRoom']);

const isRoom = (field: string | null) => field === 'Raum' || field === 'resourceName';

function columnAt({ format, work }: Draft, { field, column }: Fault, row: readonly string[]): number {
  if (column) return column - 1;
  if (format === 'Untis') return isRoom(field) ? untisRooms[untisFileOf(row)] : -1;
  if (format === 'ICalendar') return 0;
  const name = columnOf[field ?? ''];
  return name ? work.mapping[name] : -1;
}

/** The row that contains a line of a file; undefined before the first. */
function rowAt(lines: readonly number[], line: number): number | undefined {
  let [low, high] = [0, lines.length];
  while (low < high) {
    const middle = (low + high) >> 1;
    if ((lines[middle] ?? 0) <= line) low = middle + 1;
    else high = middle;
  }
  return low === 0 ? undefined : low - 1;
}

/** A message without its place, because it is shown there. */
const withoutPlace = (message: string) => message.replace(/^[^\n]{0,300}? line \d+[^:\n]{0,100}: /, '');

type Found = { faults: RowFault[]; others: string[] };

/** Faults of files that could not be read, and of batches of files: by line. */
export async function atLines(draft: Draft, errors: readonly Fault[]): Promise<Found> {
  const giveWay = openSlices();
  const [faults, others]: [RowFault[], string[]] = [[], []];
  for (const error of errors) {
    const { pointer, line, code, message } = error;
    const sheet = Number(/files\/(\d+)/i.exec(pointer ?? '')?.[1] ?? 0);
    const row = line ? rowAt(draft.sheets[sheet]?.lines ?? [], line) : undefined;
    if (row === undefined) {
      others.push(messageOf({ code, message }));
      continue;
    }
    const place = columnAt(draft, error, draft.sheets[sheet]?.rows[row] ?? []);
    const fault = { sheet, column: place, code, message: withoutPlace(message) };
    faults.push({ ...fault, row });
    // The server reports an unknown room once, with its count; people look for all of its rows.
    const name = cellAt(draft, sheet, row, place).trim().toLowerCase();
    if (!roomCodes.has(code) || place < 0 || draft.format === 'ICalendar') continue;
    for (let other = row + 1; other < (draft.sheets[sheet]?.rows.length ?? 0); other++) {
      if (cellAt(draft, sheet, other, place).trim().toLowerCase() === name) faults.push({ ...fault, row: other });
      await giveWay();
    }
  }
  return { faults, others };
}

/** Faults of a batch of the API's JSON: by job and lesson. */
async function atLessons(draft: Draft, errors: readonly BatchError[]): Promise<Found> {
  const rowOf = await rowsOfJobs(draft);
  const [faults, others]: [RowFault[], string[]] = [[], []];
  for (const { index, lessonIndex, field, code, message } of errors) {
    const row = index === null ? undefined : rowOf(index, lessonIndex ?? 0);
    const column = jsonColumns.findIndex((name) => jobColumns[name] === field);
    if (row === undefined) others.push(messageOf({ code, message }));
    else faults.push({ sheet: 0, row, column, code, message });
  }
  return { faults, others };
}

export const ofBatch = (draft: Draft, errors: readonly BatchError[]): Promise<Found> =>
  draft.format === 'Json' ? atLessons(draft, errors) : atLines(draft, errors);
