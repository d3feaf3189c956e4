/** How the files of a timetable are read besides their columns: the term, the time grid, and what rooms are called. */
import { mandator } from '../client.ts';

const isClockTime = (text: string) => /^([01]\d|2[0-3]):[0-5]\d$/.test(text);

/** Lists that people type as lines of text. */
export const lists = {
  grid: {
    member: 'Periods',
    parse: (line: string) => {
      const found = /^(?:([1-7])\/)?(\d{1,2})\s+(\d\d:\d\d)\s*[-–]?\s*(\d\d:\d\d)$/.exec(line);
      const [, day, period, Begin = '', End = ''] = found ?? [];
      return (
        isClockTime(Begin) &&
        isClockTime(End) &&
        Begin < End && { ...(day && { Day: Number(day) }), Period: Number(period), Begin, End }
      );
    },
  },
  holidays: {
    member: 'Holidays',
    parse: (line: string) => {
      const found = /^(\d{4}-\d\d-\d\d)(?:\s+(\d{4}-\d\d-\d\d))?(?:\s+(.*))?$/.exec(line);
      const [, From, To = From, Name = ''] = found ?? [];
      return found && { From, To, Name };
    },
  },
  weeks: {
    member: 'Weeks',
    parse: (line: string) => {
      const found = /^(\d{4}-\d\d-\d\d)\s+(\S.*)$/.exec(line);
      return found && { Monday: found[1], Name: found[2] };
    },
  },
  groups: {
    member: 'Groups',
    parse: (line: string) => {
      const found = /^([^=]+)=(.+)$/.exec(line);
      const weeks = (found?.[2] ?? '').split(/[\s,]+/).filter(Boolean);
      return found && weeks.length > 0 && { Name: found[1]?.trim(), Weeks: weeks };
    },
  },
  rooms: {
    member: 'Rooms',
    parse: (line: string) => {
      const found = /^([^=]+)=(.*)$/.exec(line);
      return found && { Name: found[1]?.trim(), RessourceName: found[2]?.trim() || null };
    },
  },
  sharedRooms: { member: 'SharedRooms', parse: (line: string) => line },
} as const;
export type ListName = keyof typeof lists;

const without = {
  profile: '',
  source: '',
  term: '',
  from: '',
  to: '',
  grid: '',
  holidays: '',
  weeks: '',
  groups: '',
  rooms: '',
  sharedRooms: '',
};
export type Reading = typeof without & { since: string; allowRemoval: boolean };

const linesOf = (text: string) => text.split('\n').map((line) => line.trim());

/** The number of the first line that is not understood, from 1; undefined if all are. */
export function wrongLine(name: ListName, text: string): number | undefined {
  const at = linesOf(text).findIndex((line) => line !== '' && !lists[name].parse(line));
  return at < 0 ? undefined : at + 1;
}

/** The lists that are not understood, each with its first wrong line. */
export const wrongLists = (reading: Reading): { name: ListName; line: number }[] =>
  (Object.keys(lists) as ListName[]).flatMap((name) => {
    const line = wrongLine(name, reading[name]);
    return line === undefined ? [] : [{ name, line }];
  });

/** The members of the request for it. */
export function describeReading(reading: Reading): Record<string, unknown> {
  const { profile, source, term, from, to, since, allowRemoval } = reading;
  const read = (name: ListName) => ({
    [lists[name].member]: linesOf(reading[name])
      .filter(Boolean)
      .map((line) => lists[name].parse(line)),
  });
  const hasTerm = term !== '' || from !== '' || to !== '';
  return {
    // An empty value here overrides that of the profile.
    ...(profile && { Profile: profile, Source: null, Term: null }),
    ...(source && { Source: source }),
    ...(hasTerm && {
      Term: { Name: term, From: from, To: to, ...read('holidays'), ...read('weeks'), ...read('groups') },
    }),
    ...read('grid'),
    ...read('rooms'),
    ...read('sharedRooms'),
    ...(since && { Since: since }),
    ...(allowRemoval && { AllowRemoval: true }),
  };
}

const storageKey = `roomgate reading of ${mandator}`;

/** Adds members that an earlier release of the page did not know. */
export const completeReading = (kept: Partial<Reading>): Reading => ({
  ...without,
  since: '',
  allowRemoval: false,
  ...kept,
});

/** The reading of the last file. */
export function lastReading(): Reading {
  try {
    const kept: unknown = JSON.parse(localStorage.getItem(storageKey) ?? '{}');
    return completeReading({ ...(kept as Partial<Reading>), since: '', allowRemoval: false });
  } catch {
    return completeReading({});
  }
}

export const rememberReading = (reading: Reading): void => localStorage.setItem(storageKey, JSON.stringify(reading));
