/**
 * What a reader of a format makes of a file: entries, each with its line. All rules come after them, once for all formats.
 * Entries of one `job` become one job of the API.
 */

/** Where an entry stands, and which field of the line has its room, where a line has fields. */
export type EntrySource = { file: number; line: number; roomColumn?: number };

type EntryContent = {
  room: string;
  subject: string;
  classes: readonly string[];
  teachers: readonly string[];
  title?: string | undefined;
  remark?: string | undefined;
};

/** Local dates as days since 1970, inclusive; `weeks` names a group of weeks. */
export type Weeks = { weeks?: string | undefined; from?: number | undefined; to?: number | undefined };

/** A lesson that comes back each week: `day` 1 is Monday. */
export type SlotEntry = EntrySource & EntryContent & Weeks & { kind: 'slot'; day: number; period: number };

/** In which weeks the slots of a job take place (GPU002). */
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
  oldRoom: string;
  room: string;
  classes: readonly string[];
  text: string;
  bits: number;
  /** When it was entered: later ones win. */
  enteredAt: string;
};

/** A lesson with a date and clock times of its own; instants in milliseconds. */
export type DatedEntry = EntrySource &
  EntryContent & {
    kind: 'dated';
    id: string;
    hasOwnId: boolean;
    /** Of the id, where there is a column for it. */
    idColumn?: number;
    start: number;
    end: number;
    status?: string | undefined;
  };

/** An event of iCalendar. Local times are walls of `zone`; an instant has the zone UTC. */
export type EventEntry = EntrySource &
  EntryContent & {
    kind: 'event';
    title: string;
    zone: string;
    start: number;
    /** Milliseconds. */
    length: number;
    rule: string | null;
    /** Walls of the zone. */
    excluded: readonly number[];
    added: readonly number[];
    /** The start that this one stands for. */
    replaces: number | null;
    status?: string | undefined;
  };

export type TimetableEntry = SlotEntry | SpanEntry | ChangeEntry | DatedEntry | EventEntry;

/** Takes an entry of the job that `key` names. */
export type TakeEntry = (key: string, entry: TimetableEntry) => void | Promise<void>;

/** A list in a field, sorted: the order of a file says nothing. */
export const listOf = (text: string, separator: RegExp): string[] =>
  sorted(
    text
      .split(separator)
      .map((part) => part.trim())
      .filter((part) => part !== ''),
  );

/** By code point, each once. */
export const sorted = (texts: Iterable<string>): string[] =>
  [...new Set(texts)].sort((one, other) => (one < other ? -1 : 1));
