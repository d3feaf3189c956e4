/** Recognises the Untis file of a row, and finds the column of its room. */

export type UntisFile = 'timetable' | 'lessons' | 'substitutions';

/** The most fields of GPU001; the others have more. */
const mostOfTimetable = 12;

export function untisFileOf(row: readonly string[]): UntisFile {
  if (row.length <= mostOfTimetable) return 'timetable';
  return /^\d{8}$/.test(row[1]?.trim() ?? '') ? 'substitutions' : 'lessons';
}

/** The columns of the rooms that lessons get, from 0. */
export const untisRooms: Record<UntisFile, number> = { timetable: 4, lessons: -1, substitutions: 12 };
