/** Reads dropped files into rows: files of timetable programs, or the JSON of the API. Limits are checked before anything is sent. */
import { isJsonFile } from '../../../names.ts';
import { BadText, hasNoSubstitutions } from '../../../timetable-files/text.ts';
import { limits } from '../client.ts';
import { openSlices } from '../parts/slices.ts';
import { bytesOf, readText } from '../parts/text-file.ts';
import { faultIn } from '../texts/timetable-files.ts';
import { type Mapping, mappingOf } from './columns.ts';
import { parseCsv, TooManyRows } from './csv-reader.ts';
import type { Draft, Format, JobMembers, KeptFile, Sheet, Work } from './draft.ts';
import { jsonColumns } from './jobs.ts';
import { completeReading, lastReading } from './reading.ts';

/** Base64 makes four characters of three bytes; a mebibyte is left for how the files are read. */
const mostFileBytes = Math.floor(((limits.jobBodyBytes - 1_048_576) * 3) / 4);
export const most = { bytes: mostFileBytes, rows: limits.lessonsPerBatch, columns: 200, lines: 200_000, files: 8 };

export class Unreadable extends Error {
  readonly reason:
    | 'tooLarge'
    | 'tooManyRows'
    | 'tooManyColumns'
    | 'tooManyFiles'
    | 'empty'
    | 'noJobs'
    | 'mixed'
    | 'noText';
  /** What is wrong with the text of a file. */
  readonly detail: string;
  constructor(reason: Unreadable['reason'], detail = '') {
    super(reason);
    this.reason = reason;
    this.detail = detail;
  }
}

type Read = { sheet: Sheet; format: Format; jobs?: Record<string, JobMembers> | undefined };

const isObject = (value: unknown): value is Record<string, unknown> =>
  typeof value === 'object' && value !== null && !Array.isArray(value);

/** A member whose first letter is in either case, as the API accepts it. */
const memberOf = (object: Record<string, unknown>, name: string): unknown =>
  object[name] ??
  object[name.charAt(0).toLowerCase() + name.slice(1)] ??
  (name === 'JobID' ? (object['JobId'] ?? object['jobId']) : undefined);

function cellOf(value: unknown): string {
  if (value === null || value === undefined) return '';
  if (Array.isArray(value)) return value.map(String).join(' | ');
  return typeof value === 'object' ? JSON.stringify(value) : String(value);
}

async function readJobs(name: string, text: string): Promise<Pick<Read, 'sheet' | 'jobs'>> {
  let jobs: unknown;
  try {
    jobs = JSON.parse(text.replace(/^\ufeff/, ''));
  } catch {
    throw new Unreadable('noJobs');
  }
  if (!Array.isArray(jobs)) throw new Unreadable('noJobs');
  const giveWay = openSlices();
  const rows: string[][] = [];
  const members: Record<string, JobMembers> = Object.create(null);
  for (const job of jobs) {
    const lessons = isObject(job) ? memberOf(job, 'LektionList') : undefined;
    if (!isObject(job) || !Array.isArray(lessons)) throw new Unreadable('noJobs');
    const jobKey = cellOf(memberOf(job, 'JobID'));
    members[jobKey] = Object.fromEntries(
      ['Bezeichnung', 'Quelle', 'Standort', 'Bemerkung'].flatMap((member) => {
        const value = memberOf(job, member);
        return value === undefined ? [] : [[member, value]];
      }),
    );
    for (const lesson of lessons) {
      if (!isObject(lesson)) throw new Unreadable('noJobs');
      rows.push(jsonColumns.map((column) => (column === 'JobID' ? jobKey : cellOf(memberOf(lesson, column)))));
      if (rows.length > most.rows) throw new Unreadable('tooManyRows');
    }
    await giveWay();
  }
  if (rows.length === 0) throw new Unreadable('empty');
  return { sheet: { name, headers: jsonColumns, rows, lines: [], separator: null, headLine: 0 }, jobs: { ...members } };
}

const looksLikeUntis = (row: readonly string[]) => row.length >= 7 && /^\d{1,9}$/.test(row[0]?.trim() ?? '');

async function readTable(name: string, text: string): Promise<Read> {
  const parsed = await parseCsv(text, most.lines).catch((error: unknown) => {
    throw error instanceof TooManyRows ? new Unreadable('tooManyRows') : error;
  });
  const [first = []] = parsed.rows;
  if (first.length > most.columns) throw new Unreadable('tooManyColumns');
  const { separator } = parsed;
  if (looksLikeUntis(first)) return { format: 'Untis', sheet: { name, headers: [], ...parsed, headLine: 0 } };
  const [headers = [], ...rows] = parsed.rows;
  const [headLine = 1, ...lines] = parsed.lines;
  if (rows.length === 0) throw new Unreadable('empty');
  return {
    format: 'Csv',
    sheet: { name, headers: headers.map((header) => header.trim()), rows, lines, separator, headLine },
  };
}

function readCalendar(name: string, text: string): Read {
  const rows = text.split(/\r\n|\n|\r/).map((line) => [line]);
  if (rows.length > most.lines) throw new Unreadable('tooManyRows');
  const lines = rows.map((_, at) => at + 1);
  return { format: 'ICalendar', sheet: { name, headers: [], rows, lines, separator: null, headLine: 0 } };
}

async function readOne({ name, content }: KeptFile): Promise<Read> {
  if (await hasNoSubstitutions(name, bytesOf(content)))
    return { format: 'Untis', sheet: { name, headers: [], rows: [], lines: [], separator: null, headLine: 0 } };
  const text = await readText(content).catch((error: unknown) => {
    throw error instanceof BadText ? new Unreadable('noText', faultIn(name, error)) : error;
  });
  if (isJsonFile(name, text)) return { format: 'Json', ...(await readJobs(name, text)) };
  return /^\ufeff?\s*BEGIN:VCALENDAR/i.test(text) ? readCalendar(name, text) : await readTable(name, text);
}

/** @throws Unreadable */
async function readFiles(files: readonly KeptFile[]): Promise<Omit<Draft, 'work'>> {
  const bytes = files.reduce((sum, { content }) => sum + content.size, 0);
  if (files.length > most.files) throw new Unreadable('tooManyFiles');
  if (bytes > most.bytes) throw new Unreadable('tooLarge');
  const read: Read[] = [];
  for (const file of files) read.push(await readOne(file));
  const [{ format, jobs } = { format: 'Csv' as const, jobs: undefined }] = read;
  const isOne = read.every((each) => each.format === format) && (format !== 'Json' || read.length === 1);
  if (!isOne) throw new Unreadable('mixed');
  const sheets = read.map(({ sheet }) => sheet);
  // A row of Untis, or of a CSV without dates, is a lesson in many weeks: only the server can count those.
  const rows = sheets.reduce((sum, each) => sum + each.rows.length, 0);
  if (format === 'Csv' && rows > most.rows) throw new Unreadable('tooManyRows');
  return { format, files, sheets, jobs };
}

/** @throws Unreadable */
export async function readDropped(dropped: readonly File[], locationId: string): Promise<Draft> {
  const files = dropped.map((file) => ({ name: file.name.slice(0, 200), content: file }));
  const read = await readFiles(files);
  const mapping: Mapping = mappingOf(read.format === 'Csv' ? (read.sheets[0]?.headers ?? []) : []);
  return {
    ...read,
    work: { mapping, reading: lastReading(), locationId, corrected: {}, version: 1, faults: [], touched: [] },
  };
}

/** A draft that was kept. @throws Unreadable */
export const reopen = async ({ files, work }: { files: readonly KeptFile[]; work: Work }): Promise<Draft> => ({
  ...(await readFiles(files)),
  work: { ...work, reading: completeReading(work.reading) },
});
