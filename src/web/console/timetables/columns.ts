/** Which column of a file is what: guessed by its name, and remembered for files with the same columns. */
import { mandator } from '../client.ts';

/** As GraphQL names them, but for `date`, which is a part of `start` and `end`. */
export const fields = [
  'jobKey',
  'lessonKey',
  'date',
  'start',
  'end',
  'resourceName',
  'subject',
  'title',
  'classes',
  'teachers',
  'status',
  'remark',
  'couplingKey',
  'isPrivate',
  'resourceId',
] as const;
export type FieldName = (typeof fields)[number];

/** The column of each field; -1: none. */
export type Mapping = Record<FieldName, number>;

const guesses: Record<FieldName, string[]> = {
  jobKey: ['jobid', 'jobkey', 'job'],
  lessonKey: ['lektionid', 'lessonkey', 'lessonid', 'id', 'nr', 'nummer', 'number', 'unr', 'lektionsnummer'],
  date: ['datum', 'date', 'tag', 'day'],
  start: ['beginn', 'start', 'von', 'from', 'anfang', 'begin', 'startzeit', 'starttime', 'beginnzeit'],
  end: ['ende', 'end', 'bis', 'to', 'until', 'endzeit', 'endtime'],
  resourceName: ['raum', 'room', 'ressourcename', 'resourcename', 'ressource', 'resource', 'zimmer', 'saal'],
  subject: ['fach', 'subject', 'modul', 'module', 'kurs', 'course'],
  title: ['titel', 'title', 'bezeichnung', 'thema', 'name'],
  classes: ['klasse', 'klassen', 'class', 'classes', 'gruppe', 'group'],
  teachers: [
    'lehrperson',
    'lehrpersonen',
    'lehrer',
    'lehrkraft',
    'teacher',
    'teachers',
    'dozent',
    'dozentin',
    'dozierende',
    'lecturer',
  ],
  status: ['status', 'zustand'],
  remark: ['bemerkung', 'bemerkungen', 'remark', 'remarks', 'notiz', 'note', 'kommentar', 'comment'],
  couplingKey: ['kopplungid', 'couplingkey', 'kopplung', 'coupling'],
  isPrivate: ['privat', 'private', 'isprivate'],
  resourceId: ['ressourceid', 'resourceid'],
};

const plain = (header: string) => header.toLowerCase().replace(/[^\p{L}\p{N}]/gu, '');

const storageKey = `roomgate columns ${mandator}`;
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
    fields.map((field) => {
      const kept = known?.[field];
      return [
        field,
        kept !== undefined && kept < headers.length ? kept : names.findIndex((name) => guesses[field].includes(name)),
      ];
    }),
  ) as Mapping;
}

export function rememberMapping(headers: readonly string[], mapping: Mapping): void {
  const others = remembered().filter(([key]) => key !== keyOf(headers));
  localStorage.setItem(storageKey, JSON.stringify([[keyOf(headers), mapping], ...others].slice(0, mostRemembered)));
}
