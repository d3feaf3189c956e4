/**
 * The entries that the reader of a format makes from a file, each with its line. All rules are applied to entries, so they are the
 * same for all formats. The entries of one key become one job of the API.
 */

/** Where an entry stands, and which field of the line has its room, if a line has fields. */
export type EntrySource = { file: number; line: number; roomColumn?: number };

type EntryContent = {
  subject: string;
  classes: readonly string[];
  teachers: readonly string[];
  title?: string | undefined;
  remark?: string | undefined;
};

/** Local dates as days since 1970, inclusive; `weeks` names a group of weeks. */
export type Weeks = { weeks?: string | undefined; from?: number | undefined; to?: number | undefined };

/** A weekly lesson; `day` 1 is Monday. */
export type SlotEntry = EntrySource &
  EntryContent &
  Weeks & { kind: 'slot'; room: string; day: number; period: number };

/** The weeks in which the slots of a job take place (GPU002). */
export type SpanEntry = EntrySource & Weeks & { kind: 'span' };

/** A substitution, cancellation or move of one day (GPU014). Empty texts change nothing. */
export type ChangeEntry = EntrySource & {
  kind: 'change';
  id: number;
  day: number;
  period: number;
  absentTeacher: string;
  teacher: string;
  subject: string;
  oldRooms: readonly string[];
  rooms: readonly string[];
  classes: readonly string[];
  text: string;
  bits: number;
  /** When the change was entered; later changes win. */
  enteredAt: string;
};

/** A lesson with its own date and clock times; instants in milliseconds. */
export type DatedEntry = EntrySource &
  EntryContent & {
    kind: 'dated';
    room: string;
    id: string;
    hasOwnId: boolean;
    /** The column of the id, if there is one. */
    idColumn?: number;
    start: number;
    end: number;
    status?: string | undefined;
  };

/** An event of iCalendar. Times are local times of `zone`, which is UTC for instants. */
export type EventEntry = EntrySource &
  EntryContent & {
    kind: 'event';
    title: string;
    rooms: readonly string[];
    zone: string;
    start: number;
    /** Milliseconds. */
    length: number;
    rule: string | null;
    /** Local times of the zone. */
    excluded: readonly number[];
    added: readonly number[];
    /** The original start of the occurrence that this event replaces, even if it has no room. */
    replaces: number | null;
    status?: string | undefined;
  };

export type TimetableEntry = SlotEntry | SpanEntry | ChangeEntry | DatedEntry | EventEntry;

/** The rooms that an entry names. */
export function roomsOf(entry: TimetableEntry): readonly string[] {
  if (entry.kind === 'change' || entry.kind === 'event') return entry.rooms;
  return entry.kind === 'span' ? [] : [entry.room];
}

/** Takes an entry for the job with this key. */
export type TakeEntry = (key: string, entry: TimetableEntry) => void | Promise<void>;

/** Splits a list in a field and sorts it, as the order in a file has no meaning. */
export const listOf = (text: string, separator: RegExp): string[] =>
  sorted(
    text
      .split(separator)
      .map((part) => part.trim())
      .filter((part) => part !== ''),
  );

/** Sorts by code point and removes duplicates. */
export const sorted = (texts: Iterable<string>): string[] =>
  [...new Set(texts)].sort((one, other) => (one < other ? -1 : 1));
