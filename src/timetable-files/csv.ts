/** Reads a CSV with a header: lessons with a date, or weekly lessons with a weekday and a period. */

import { dayLength, isoWeekdayOf, readCompactDate } from '../time/days.ts';
import { separatorsInWords, type TextRow } from './cells.ts';
import { listOf } from './entries.ts';
import { shown, UnreadableFile } from './faults.ts';
import { type Complain, checkPeriod, checkWeeks, type FileReading } from './file-reading.ts';
import { type ColumnName, columnNames, findColumn } from './headings.ts';
import { compactDate, type TermDays } from './term.ts';
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

const readWeekday = (text: string): number | undefined =>
  /^[1-7]$/.test(text)
    ? Number(text)
    : weekdays.findIndex((names) => names.includes(text.toLowerCase().replace(/\.$/, ''))) + 1 || undefined;

const statuses = new Map<string, string>([
  ['geplant', 'Geplant'],
  ['planned', 'Geplant'],
  ['vertretung', 'Vertretung'],
  ['substituted', 'Vertretung'],
  ['entfaellt', 'Entfaellt'],
  ['entfällt', 'Entfaellt'],
  ['cancelled', 'Entfaellt'],
  ['ausfall', 'Entfaellt'],
]);
const parts = /[,;+~\n]/;

/** Reads `15.03.2027`, `15.3.27`, `2027-03-15` or `20270315`; undefined if there is no such day. */
function readDate(text: string): number | undefined {
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

type Columns = ReadonlyMap<ColumnName, number>;

/** Finds the columns in a header. @throws UnreadableFile once a fault is reported */
function readHeader(
  { line, cells }: TextRow,
  mapping: TimetableRequest['Mapping'],
  { file, report }: FileReading,
): Columns {
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
  const ofDate: ColumnName[] = columns.has('Period') ? [] : ['Begin', 'End'];
  const needed: ColumnName[] = ['Room', ...(columns.has('Date') ? ofDate : (['Day', 'Period'] as const))];
  const missing = needed.filter((name) => !columns.has(name));
  if (missing.length === 0) return columns;
  const present = shown(cells.join(', '));
  const hasClocks = missing.includes('Period') && columns.has('Day') && columns.has('Begin');
  if (hasClocks)
    report.fault(
      { file, line },
      'ClocksWithoutDates',
      `clock times need dates, and weekdays need periods of the time grid: add a column of dates or of periods, or name it in Mapping. The columns are ${present}`,
    );
  const unnamed = missing.filter((name) => !(hasClocks && name === 'Period'));
  if (unnamed.length > 0)
    report.fault(
      { file, line },
      'UnknownColumn',
      `no column was recognised as ${unnamed.join(' or ')}; the first line must name the columns: delete lines above it, or name the columns in Mapping. They are ${present}`,
    );
  throw new UnreadableFile();
}

type RowFields = ReturnType<typeof openFields>;

/** The fields of a row by the names of their columns. */
function openFields({ line, cells }: TextRow, columns: Columns, { file, report }: FileReading) {
  const columnOf = (name: ColumnName) => (columns.get(name) ?? 0) + 1;
  return {
    has: (name: ColumnName) => columns.has(name),
    columnOf,
    /** Empty without such a column. */
    cell: (name: ColumnName) => (columns.has(name) ? (cells[columnOf(name) - 1] ?? '').trim() : ''),
    fault(name: ColumnName, code: string, message: string): undefined {
      report.fault({ file, line, column: columnOf(name) }, code, message);
    },
  };
}

/** Undefined for an empty field, and for an unknown status. */
const readStatus = ({ cell }: RowFields): string | undefined => statuses.get(cell('Status').toLowerCase());

/** What a row says about its lessons besides their times and rooms. */
function readContent({ cell }: RowFields) {
  return {
    subject: cell('Subject'),
    classes: listOf(cell('Classes'), parts),
    teachers: listOf(cell('Teachers'), parts),
    ...(cell('Title') && { title: cell('Title') }),
    ...(cell('Remark') && { remark: cell('Remark') }),
  };
}

/** Minutes of the day; undefined once a fault is reported. */
function readClocks({ cell, fault }: RowFields) {
  const [begin, end] = (['Begin', 'End'] as const).map(
    (name) => readClock(cell(name)) ?? fault(name, 'InvalidTime', `${shown(cell(name))} is not a time such as 08:00`),
  );
  return begin === undefined || end === undefined ? undefined : { begin, end };
}

/** As `readClocks`, from the first of the periods to the last. */
function readTimesOfPeriods({ cell, fault }: RowFields, day: number, term: TermDays) {
  const periods = readPeriods(cell('Period'));
  if (!periods) return fault('Period', 'UnknownPeriod', `${shown(cell('Period'))} is not a period`);
  const weekday = isoWeekdayOf(day);
  const complain: Complain = (code, message) => fault('Period', code, message);
  if (!periods.every((period) => checkPeriod(term, weekday, period, complain))) return undefined;
  const times = periods.map((period) => term.timesOf(weekday, period));
  return {
    begin: Math.min(...times.map((each) => each?.begin ?? 0)),
    end: Math.max(...times.map((each) => each?.end ?? 0)),
  };
}

const twoDigits = (number: number) => String(number).padStart(2, '0');

/**
 * As `readDate`, also with its weekday before it, or midnight behind it, as spreadsheets and databases write dates; undefined once
 * a fault is reported.
 */
function readDay({ cell, fault }: RowFields): number | undefined {
  const text = cell('Date');
  const [, name, date = text] =
    /^(?:(\p{L}+\.?)(?:,\s*|\s+))?(\d[-.\d ]*?)(?:[ T]0?0:00(?::00)?(?:\.0+)?)?$/u.exec(text) ?? [];
  const day = readDate(date);
  const weekday = name && readWeekday(name);
  if (day === undefined || (name && !weekday))
    return fault('Date', 'InvalidDate', `${shown(text)} is not a date such as 15.03.2027 or 2027-03-15`);
  if (!weekday || weekday === isoWeekdayOf(day)) return day;
  const right = new Date(day * dayLength).toLocaleDateString('en', { weekday: 'long', timeZone: 'UTC' });
  return fault('Date', 'OtherWeekday', `${shown(date)} is a ${right}, not ${shown(name)}; correct one of them`);
}

/** The lesson of a row with a date; undefined once a fault is reported, and for a lesson before Since. */
function readDated(fields: RowFields, term: TermDays) {
  const { has, columnOf, cell, fault } = fields;
  const day = readDay(fields);
  if (day === undefined || day < term.first) return undefined;
  const times = has('Begin') && has('End') ? readClocks(fields) : readTimesOfPeriods(fields, day, term);
  if (!times) return undefined;
  const { begin, end } = times;
  if (end <= begin)
    return fault(
      'End',
      'InvalidTime',
      `${shown(cell('End'))} is not after the beginning; divide a lesson across midnight into two lines, the first until 24:00`,
    );
  const instants = { start: term.instantOf(day, begin), end: term.instantOf(day, end) };
  if (instants.end <= instants.start)
    return fault(
      'Begin',
      'InvalidTime',
      `the clocks skip ${shown(cell('Begin') || cell('Period'))} on this day; correct it`,
    );
  const ownId = cell('Key');
  const id = ownId || `${compactDate(day)}-${twoDigits(Math.floor(begin / 60))}${twoDigits(begin % 60)}`;
  const idColumn = has('Key') ? { idColumn: columnOf('Key') } : {};
  const status = readStatus(fields);
  return [{ kind: 'dated' as const, id, hasOwnId: ownId !== '', ...idColumn, ...instants, status }];
}

/** The lessons of a row with a weekday, one for each period; undefined once a fault is reported. */
function readSlots({ cell, fault }: RowFields, term: TermDays) {
  const day = readWeekday(cell('Day'));
  if (!day) return fault('Day', 'InvalidDay', `${shown(cell('Day'))} is not a weekday such as Mo, Montag or 1`);
  const periods = readPeriods(cell('Period'));
  if (!periods) return fault('Period', 'UnknownPeriod', `${shown(cell('Period'))} is not a period such as 3 or 1-2`);
  const weeks = cell('Weeks') || undefined;
  if (!checkWeeks(term, weeks, (code, message) => fault('Weeks', code, message))) return undefined;
  return periods
    .filter((period) => checkPeriod(term, day, period, (code, message) => fault('Period', code, message)))
    .map((period) => ({ kind: 'slot' as const, day, period, weeks }));
}

async function takeRow(fields: RowFields, line: number, { file, term, report, take }: FileReading): Promise<void> {
  const { has, columnOf, cell, fault } = fields;
  if (cell('Status') !== '' && !readStatus(fields))
    return fault('Status', 'InvalidStatus', `${shown(cell('Status'))} is not Geplant, Vertretung or Entfaellt`);
  const lessons = has('Date') ? readDated(fields, term) : readSlots(fields, term);
  if (!lessons) return;
  const rooms = listOf(cell('Room'), /~/);
  if (rooms.length === 0) report.notice({ file, line }, 'WithoutRoom', 'The line has no room and is left out');
  const content = readContent(fields);
  const group = [content.subject, content.classes.join('+')].filter(Boolean).join('-') || 'lessons';
  // The key of a dated lesson is its own, that of a weekly one is its job's.
  const key = (!has('Date') && cell('Key')) || group;
  const roomColumn = columnOf('Room');
  for (const lesson of lessons)
    for (const room of rooms) await take(key, { ...lesson, file, line, room, roomColumn, ...content });
}

export function openCsv(mapping: TimetableRequest['Mapping'], reading: FileReading) {
  const { file, report } = reading;
  let columns: Columns | undefined;
  let width = 0;
  return async (row: TextRow): Promise<void> => {
    const { line, cells } = row;
    if (!columns) {
      columns = readHeader(row, mapping, reading);
      report.headings(file, cells);
      width = cells.length;
      return;
    }
    const surplus = cells.slice(width).find((text) => text.trim() !== '');
    if (surplus === undefined) return await takeRow(openFields(row, columns, reading), line, reading);
    report.fault(
      { file, line },
      'TooManyFields',
      `the line has more fields than the header has columns, the first of them ${shown(surplus)}; put a text that contains a separator into quotes, or name the column`,
    );
  };
}
