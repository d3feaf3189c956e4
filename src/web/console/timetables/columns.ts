/** The meaning of each column of a file: guessed by its name, and remembered for files with the same columns. */
import { mandator } from '../client.ts';

/** As `Mapping` of POST timetables names them. */
export const columnNames = [
  ...['Key', 'Date', 'Day', 'Period', 'Weeks', 'Begin', 'End', 'Room'],
  ...['Subject', 'Title', 'Classes', 'Teachers', 'Remark', 'Status'],
] as const;
export type ColumnName = (typeof columnNames)[number];

/** The index of each column; -1 for none. */
export type Mapping = Record<ColumnName, number>;

const guesses: Record<string, string> = {
  Key: 'lektionid lessonkey lessonid id nr nummer number unr lektionsnummer activityid',
  Date: 'datum date',
  Day: 'tag day wochentag weekday',
  Period: 'stunde std unterrichtsstunde period hour',
  Weeks: 'woche wochen week weeks turnus unterrichtsgruppe',
  Begin: 'beginn start von from anfang begin startzeit starttime beginnzeit',
  End: 'ende end bis to until endzeit endtime',
  Room: 'raum room ressourcename resourcename ressource resource zimmer saal ort location',
  Subject: 'fach subject modul module kurs course',
  Title: 'titel title bezeichnung thema name',
  Classes: 'klasse klassen class classes gruppe group studentssets',
  Teachers: 'lehrperson lehrpersonen lehrer lehrkraft lehrkräfte teacher teachers dozent dozentin dozierende lecturer',
  Remark: 'bemerkung bemerkungen remark remarks notiz note kommentar comment comments',
  Status: 'status zustand',
};

const plain = (header: string) => header.toLowerCase().replace(/[^\p{L}\p{N}]/gu, '');

const storageKey = `roomgate columns of ${mandator}`;
const mostRemembered = 20;

function remembered(): [headers: string, mapping: Mapping][] {
  try {
    const kept: unknown = JSON.parse(localStorage.getItem(storageKey) ?? '[]');
    return Array.isArray(kept) ? kept : [];
  } catch {
    return [];
  }
}

const keyOf = (headers: readonly string[]) => headers.map(plain).join(' ').slice(0, 2_000);

/** The mapping that was last chosen for these columns, or else the one that their names suggest. */
export function mappingOf(headers: readonly string[]): Mapping {
  const known = remembered().find(([key]) => key === keyOf(headers))?.[1];
  const names = headers.map(plain);
  return Object.fromEntries(
    columnNames.map((name) => {
      const kept = known?.[name];
      const usual = (guesses[name] ?? '').split(' ');
      const isKept = kept !== undefined && kept < headers.length;
      return [name, isKept ? kept : names.findIndex((each) => usual.includes(each))];
    }),
  ) as Mapping;
}

/** The headings of the columns, as a request names them; null for none. */
export const nameColumns = (headers: readonly string[], mapping: Mapping): Record<ColumnName, string | null> =>
  Object.fromEntries(columnNames.map((name) => [name, headers[mapping[name]] ?? null])) as Record<
    ColumnName,
    string | null
  >;

type Named = { [Name in Uncapitalize<ColumnName>]?: string | null } | null | undefined;

/** The mapping with the columns that a profile names. The others stay, unless a named one takes their column. */
export function fillMapping(headers: readonly string[], mapping: Mapping, named: Named): Mapping {
  const headingOf = (name: ColumnName) => named?.[name.toLowerCase() as Uncapitalize<ColumnName>];
  const taken = new Set(columnNames.map(headingOf).filter(Boolean));
  return Object.fromEntries(
    columnNames.map((name) => {
      const heading = headingOf(name);
      if (heading) return [name, headers.indexOf(heading)];
      return [name, taken.has(headers[mapping[name]]) ? -1 : mapping[name]];
    }),
  ) as Mapping;
}

export function rememberMapping(headers: readonly string[], mapping: Mapping): void {
  const others = remembered().filter(([key]) => key !== keyOf(headers));
  localStorage.setItem(storageKey, JSON.stringify([[keyOf(headers), mapping], ...others].slice(0, mostRemembered)));
}
