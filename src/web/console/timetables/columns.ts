/** Which column of a file is what: guessed by its name, and remembered for files with the same columns. */
import { mandator } from '../client.ts';

/** As `Mapping` of POST timetables names them. */
export const columnNames = [
  ...['Key', 'Date', 'Day', 'Period', 'Weeks', 'Begin', 'End', 'Room'],
  ...['Subject', 'Title', 'Classes', 'Teachers', 'Remark', 'Status'],
] as const;
export type ColumnName = (typeof columnNames)[number];

/** The column of each; -1: none. */
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

/** What people have said of these columns before, or else what their names suggest. */
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

export function rememberMapping(headers: readonly string[], mapping: Mapping): void {
  const others = remembered().filter(([key]) => key !== keyOf(headers));
  localStorage.setItem(storageKey, JSON.stringify([[keyOf(headers), mapping], ...others].slice(0, mostRemembered)));
}
