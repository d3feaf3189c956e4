/** Members of timetable profiles in words: those that are no plain text. */
import { datesText } from '../master/hours-text.ts';
import { t as hours } from '../texts/hours.ts';
import { t as files } from '../texts/timetable-files.ts';

type Term = {
  name?: string;
  from?: string;
  to?: string;
  holidays?: { name?: string; from: string; to: string }[];
  weeks?: { monday: string; name: string }[];
  groups?: { name: string; weeks: string[] }[];
};
type GridPeriod = { day?: number | null; period: number; begin: string; end: string };
type NamedRoom = { name: string; ressourceName: string | null };

const some = (name: string, texts: readonly string[] = []) =>
  texts.length > 0 && `${files().how[name] ?? name}: ${texts.join(', ')}`;

export const termText = ({ name, from, to, holidays, weeks, groups }: Term): string =>
  [
    name,
    from && to && datesText({ fromDate: from, toDate: to }),
    some(
      'holidays',
      holidays?.map((one) => [one.name, datesText({ fromDate: one.from, toDate: one.to })].join(' ').trim()),
    ),
    some(
      'weeks',
      weeks?.map((one) => `${datesText({ fromDate: one.monday, toDate: one.monday })} ${one.name}`),
    ),
    some(
      'groups',
      groups?.map((one) => `${one.name} = ${one.weeks.join(' ')}`),
    ),
  ]
    .filter(Boolean)
    .join('; ');

export const gridText = ({ day, period, begin, end }: GridPeriod): string =>
  [day && hours().days[day], `${period}.`, `${begin}–${end}`].filter(Boolean).join(' ');

export const roomText = ({ name, ressourceName }: NamedRoom): string =>
  `${name} = ${ressourceName ?? files().leavesOut}`;

export const mappingText = (mapping: Record<string, string | null>): string =>
  Object.entries(mapping)
    .map(([member, heading]) => {
      const column = `${member.charAt(0).toUpperCase()}${member.slice(1)}`;
      return `${files().columnNames[column] ?? column} = ${heading ?? files().noColumn}`;
    })
    .join('; ');

export const formatText = (format: string): string => (files().formats as Record<string, string>)[format] ?? format;
