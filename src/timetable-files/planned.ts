/** The lessons that are made from entries, and the data that the rules need. */
import { createHash } from 'node:crypto';
import { lessonLimits } from '../names.ts';
import type { DaySearch } from '../time/rule.ts';
import type { FaultReport } from './faults.ts';
import { compactDate, type TermDays } from './term.ts';

/** A lesson to send; `slot` is its day and period, if it has one. */
export type PlannedLesson = {
  id: string;
  line: number;
  file: number;
  start: number;
  end: number;
  room: string;
  subject: string;
  title?: string | undefined;
  classes: string[];
  teachers: string[];
  remark?: string | undefined;
  status: string;
  coupling?: string | undefined;
  slot?: { day: number; period: number };
};

export type Rules = {
  term: TermDays;
  /** Which of the timetables of the tenant this is. */
  source: string;
  report: FaultReport;
  /** The tenant's room for a name in a file; null: its lessons are left out. */
  roomOf: (name: string) => string | null;
  isShared: (room: string) => boolean;
  /** The most lessons of a batch; a job that exceeds them need not be planned to its end. */
  mostLessons: number;
  /** For the series of all jobs together. */
  search: DaySearch;
  /** To be called between two steps, so that the event loop can do other work. */
  nextSlice: () => Promise<void> | undefined;
};

const { key: longestKey } = lessonLimits;

/** Shortens a text to the length of a key; different texts still give different keys. */
export function keyOf(text: string): string {
  if (text.length <= longestKey) return text;
  return `${text.slice(0, longestKey - 17).toWellFormed()}-${createHash('sha256').update(text).digest('hex').slice(0, 16)}`;
}

export const placeKey = (day: number, period: number) => `${compactDate(day)}-${period}`;

/** The coupling of lessons that may share a room at one time. @param source if only lessons of this timetable may */
export const couplingIn = (room: string, place: string, source?: string) =>
  keyOf(`raum-${room}-${place}${source === undefined ? '' : `-${source}`}`);
