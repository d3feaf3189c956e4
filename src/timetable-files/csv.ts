/** Reads a CSV with a header: lessons with a date, or weekly lessons with a weekday and a period. */

import { isoWeekdayOf, readCompactDate } from '../time/days.ts';
import { separatorsInWords, type TextRow } from './cells.ts';
import { listOf, type TakeEntry, type TimetableEntry } from './entries.ts';
import { type FaultReport, shown, UnreadableFile } from './faults.ts';
import { type ColumnName, columnNames, findColumn } from './headings.ts';
import { compactDate, type TermDays } from './term.ts';
import { checkPeriod } from './untis.ts';
import type { TimetableRequest } from './wire.ts';

const weekdays = [
  ['mo', 'mon', 'montag', 'monday'],
  ['di', 'tue', 'dienstag', 'tuesday'],
  ['mi', 'wed', 'mittwoch', 'wednesday'],
  ['do', 'thu', 'donnerstag', 'thursday'],
  ['fr', 'fri', 'freitag', 'friday'],
  ['sa', 'sat', 'samstag', 'saturday', 'sonnabend'],
  ['so', 'sun', 'sonntag', 'sunday'],
];
const statuses: Record<string, string> = {
  geplant: 'Geplant',
  planned: 'Geplant',
  vertretung: 'Vertretung',
  substituted: 'Vertretung',
  entfaellt: 'Entfaellt',
  entfällt: 'Entfaellt',
  cancelled: 'Entfaellt',
  ausfall: 'Entfaellt',
};
const parts = /[,;+~\n]/;

/** Reads `15.03.2027`, `15.3.27`, `2027-03-15` or `20270315`; undefined if there is no such day. */
function readDay(text: string): number | undefined {
  const german = /^(\d{1,2})\.\s?(\d{1,2})\.\s?(\d{2}|[1-9]\d{3})$/.exec(text);
  if (!german) return readCompactDate(text.replaceAll('-', ''));
  const [date = '', month = '', year = ''] = german.slice(1);
  return readCompactDate(`${year.padStart(4, '20')}${month.padStart(2, '0')}${date.padStart(2, '0')}`);
}

/** Reads `8:00`, `08.00` or `0800` as minutes of the day, and `24:00` as its end. */
function readClock(text: string): number | undefined {
  const found = /^(\d{1,2})[:.]?(\d\d)(?:[:.]00)?(?: ?uhr)?$/i.exec(text);
  const [hours, minutes] = [Number(found?.[1]), Number(found?.[2])];
  const isTime = found && ((hours < 24 && minutes < 60) || (hours === 24 && minutes === 0));
  return isTime ? hours * 60 + minutes : undefined;
}

/** Reads `3`, `1-2`, `4+5` or `1, 2`. */
function readPeriods(text: string): number[] | undefined {
  const range = /^(\d{1,2})\.?\s?[-–]\s?(\d{1,2})\.?$/.exec(text);
  if (range) {
    const [from, to] = [Number(range[1]), Number(range[2])];
    return from <= to ? Array.from({ length: to - from + 1 }, (_, at) => from + at) : undefined;
  }
  const list = text.split(/[+,/]/).map((part) => part.trim().replace(/\.$/, ''));
  return list.length <= 20 && list.every((part) => /^\d{1,2}$/.test(part)) ? [...new Set(list.map(Number))] : undefined;
}

/** Finds the columns in a header. @throws UnreadableFile once a fault is reported */
function readHeader({ line, cells }: TextRow, mapping: TimetableRequest['Mapping'], file: number, report: FaultReport) {
  if (cells.length === 1) {
    report.fault(
      { file, line },
      'TooFewFields',
      `the line is a single field: fields must be separated by ${separatorsInWords}, and it has none of these; export the file with one of them`,
    );
    throw new UnreadableFile();
  }
  const found = new Map<string, number>();
  for (const [at, cell] of cells.entries()) {
    const name = cell.trim().toLowerCase();
    if (name !== '' && found.has(name)) {
      report.fault(
        { file, line, column: at + 1 },
        'RepeatedColumn',
        `two columns are called ${shown(cell)}; rename one`,
      );
      throw new UnreadableFile();
    }
    found.set(name, at);
  }
  const columns = new Map<ColumnName, number>();
  const taken = new Set<number>();
  for (const name of columnNames) {
    const wanted = mapping?.[name];
    if (wanted === null) continue;
    const at = wanted ? (found.get(wanted.trim().toLowerCase()) ?? -1) : findColumn(name, cells, taken);
    if (at >= 0) {
      columns.set(name, at);
      taken.add(at);
    } else if (wanted) {
      report.fault(
        { file, line, field: name },
        'UnknownColumn',
        `no column is called ${shown(wanted)}; the columns are ${shown(cells.join(', '))}`,
      );
      throw new UnreadableFile();
    }
  }
  const isDated = columns.has('Date');
  const needed: ColumnName[] = isDated ? ['Room', 'Begin', 'End'] : ['Room', 'Day', 'Period'];
  const missing = needed.filter((name) => !columns.has(name) && !(isDated && columns.has('Period')));
  if (!columns.has('Room') || missing.length > 0) {
    const names = columns.has('Room') ? missing : ['Room', ...missing.filter((name) => name !== 'Room')];
    report.fault(
      { file, line },
      'UnknownColumn',
      `no column was recognised as ${names.join(' or ')}; the first line must name the columns: delete lines above it, or name the columns in Mapping. They are ${shown(cells.join(', '))}`,
    );
    throw new UnreadableFile();
  }
  return columns;
}

export function openCsv(
  file: number,
  term: TermDays,
  mapping: TimetableRequest['Mapping'],
  report: FaultReport,
  take: TakeEntry,
) {
  let columns: Map<ColumnName, number> | undefined;
  let width = 0;
  return async (row: TextRow): Promise<void> => {
    if (!columns) {
      columns = readHeader(row, mapping, file, report);
      report.headings(file, row.cells);
      width = row.cells.length;
      return;
    }
    const known = columns;
    const { line, cells } = row;
    const surplus = cells.slice(width).find((text) => text.trim() !== '');
    if (surplus !== undefined) {
      report.fault(
        { file, line },
        'TooManyFields',
        `the line has more fields than the header has columns, the first of them ${shown(surplus)}; put a text that contains a separator into quotes, or name the column`,
      );
      return;
    }
    const cell = (name: ColumnName) => (known.has(name) ? (cells[known.get(name) as number] ?? '').trim() : '');
    const fault = (name: ColumnName, code: string, message: string): undefined => {
      report.fault({ file, line, column: (known.get(name) ?? 0) + 1 }, code, message);
    };
    const content = {
      subject: cell('Subject'),
      classes: listOf(cell('Classes'), parts),
      teachers: listOf(cell('Teachers'), parts),
      ...(cell('Title') && { title: cell('Title') }),
      ...(cell('Remark') && { remark: cell('Remark') }),
    };
    const status = cell('Status') === '' ? undefined : statuses[cell('Status').toLowerCase()];
    if (cell('Status') !== '' && !status)
      return fault('Status', 'InvalidStatus', `${shown(cell('Status'))} is not Geplant, Vertretung or Entfaellt`);
    const rooms = listOf(cell('Room'), /~/);
    const roomColumn = (known.get('Room') as number) + 1;
    const group = [content.subject, content.classes.join('+')].filter(Boolean).join('-') || 'lessons';
    const entries: [key: string, entry: TimetableEntry][] = [];
    if (known.has('Date')) {
      const day = readDay(cell('Date'));
      if (day === undefined)
        return fault('Date', 'InvalidDate', `${shown(cell('Date'))} is not a date such as 15.03.2027 or 2027-03-15`);
      if (day < term.first) return;
      const clocks =
        known.has('Begin') && known.has('End')
          ? (['Begin', 'End'] as const).map(
              (name) =>
                readClock(cell(name)) ?? fault(name, 'InvalidTime', `${shown(cell(name))} is not a time such as 08:00`),
            )
          : timesOfPeriods();
      const [begin, end] = clocks;
      if (begin === undefined || end === undefined) return;
      if (end <= begin)
        return fault(
          'End',
          'InvalidTime',
          `${shown(cell('End'))} is not after the beginning; divide a lesson across midnight into two lines, the first until 24:00`,
        );
      const hasOwnId = cell('Key') !== '';
      const clock = `${String(Math.floor(begin / 60)).padStart(2, '0')}${String(begin % 60).padStart(2, '0')}`;
      const id = hasOwnId ? cell('Key') : `${compactDate(day)}-${clock}`;
      const times = { start: term.instantOf(day, begin), end: term.instantOf(day, end) };
      if (times.end <= times.start)
        return fault(
          'Begin',
          'InvalidTime',
          `the clocks skip ${shown(cell('Begin') || cell('Period'))} on this day; correct it`,
        );
      const idColumn = known.has('Key') ? { idColumn: (known.get('Key') as number) + 1 } : {};
      for (const room of rooms)
        entries.push([
          group,
          { kind: 'dated', file, line, id, hasOwnId, ...idColumn, ...times, room, roomColumn, status, ...content },
        ]);
      function timesOfPeriods(): (number | undefined)[] {
        const periods = readPeriods(cell('Period'));
        if (!periods) return [fault('Period', 'UnknownPeriod', `${shown(cell('Period'))} is not a period`)];
        const weekday = isoWeekdayOf(day as number);
        const complain = (code: string, message: string) => fault('Period', code, message);
        if (!periods.every((period) => checkPeriod(term, weekday, period, complain))) return [];
        const all = periods.map((period) => term.timesOf(weekday, period));
        return [Math.min(...all.map((times) => times?.begin ?? 0)), Math.max(...all.map((times) => times?.end ?? 0))];
      }
    } else {
      const day = /^[1-7]$/.test(cell('Day'))
        ? Number(cell('Day'))
        : weekdays.findIndex((each) => each.includes(cell('Day').toLowerCase().replace(/\.$/, ''))) + 1;
      if (day === 0)
        return fault('Day', 'InvalidDay', `${shown(cell('Day'))} is not a weekday such as Mo, Montag or 1`);
      const periods = readPeriods(cell('Period'));
      if (!periods)
        return fault('Period', 'UnknownPeriod', `${shown(cell('Period'))} is not a period such as 3 or 1-2`);
      const weeks = cell('Weeks') || undefined;
      if (weeks && !term.knowsWeeks(weeks))
        return fault(
          'Weeks',
          'UnknownWeeks',
          `${shown(weeks)} is not a name of weeks; add it to the groups of the term`,
        );
      const complain = (code: string, message: string) => fault('Period', code, message);
      for (const period of periods)
        if (checkPeriod(term, day, period, complain))
          for (const room of rooms)
            entries.push([
              cell('Key') || group,
              { kind: 'slot', file, line, day, period, weeks, room, roomColumn, ...content },
            ]);
    }
    if (rooms.length === 0) report.notice({ file, line }, 'WithoutRoom', 'The line has no room and is left out');
    for (const [key, entry] of entries) await take(key, entry);
  };
}
