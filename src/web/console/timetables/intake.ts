/** From a file to rows: the JSON of the API, or CSV. */

import { mappingOf } from './columns.ts';
import { decode, parseCsv, TooManyRows } from './csv-reader.ts';
import type { Draft, DroppedFile, JobMembers } from './draft.ts';
import { openSlices } from './slices.ts';

const most = { bytes: 20 * 1_048_576, rows: 100_000, columns: 200 };

export class Unreadable extends Error {
  readonly reason: 'tooLarge' | 'tooManyRows' | 'tooManyColumns' | 'empty' | 'noJobs';
  constructor(reason: Unreadable['reason']) {
    super(reason);
    this.reason = reason;
  }
}

/** Columns of the JSON of the API, in the order of REST; their names are guessed like those of any file. */
const jsonColumns = [
  'JobID',
  'LektionId',
  'Beginn',
  'Ende',
  'RessourceName',
  'RessourceId',
  'Fach',
  'Titel',
  'Klassen',
  'Lehrpersonen',
  'Status',
  'KopplungId',
  'Privat',
  'Bemerkung',
];

const isObject = (value: unknown): value is Record<string, unknown> =>
  typeof value === 'object' && value !== null && !Array.isArray(value);

/** A member in whatever spelling of its first letter, as the API takes it. */
const memberOf = (object: Record<string, unknown>, name: string): unknown =>
  object[name] ??
  object[name.charAt(0).toLowerCase() + name.slice(1)] ??
  (name === 'JobID' ? (object['JobId'] ?? object['jobId']) : undefined);

function cellOf(value: unknown): string {
  if (value === null || value === undefined) return '';
  if (Array.isArray(value)) return value.map(String).join(' | ');
  return typeof value === 'object' ? JSON.stringify(value) : String(value);
}

async function readJobs(name: string, text: string): Promise<DroppedFile> {
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
  return { name, headers: jsonColumns, rows, jobs: { ...members } };
}

async function readTable(name: string, text: string): Promise<DroppedFile> {
  const [headers = [], ...rows] = await parseCsv(text, most.rows + 1).catch((error: unknown) => {
    throw error instanceof TooManyRows ? new Unreadable('tooManyRows') : error;
  });
  if (rows.length === 0) throw new Unreadable('empty');
  if (headers.length > most.columns) throw new Unreadable('tooManyColumns');
  return { name, headers: headers.map((header) => header.trim()), rows };
}

/** @throws Unreadable */
export async function readDropped(file: File, locationId: string): Promise<Draft> {
  if (file.size > most.bytes) throw new Unreadable('tooLarge');
  const text = decode(new Uint8Array(await file.arrayBuffer()));
  const isJson = /^\ufeff?\s*[[{]/.test(text);
  const dropped = isJson ? await readJobs(file.name, text) : await readTable(file.name, text);
  const mapping = mappingOf(dropped.headers);
  const jobKey = file.name.replace(/\.[^.]*$/, '').slice(0, 128) || 'file';
  return {
    file: dropped,
    work: {
      mapping,
      jobBy: mapping.classes >= 0 ? 'class' : 'file',
      jobKey,
      locationId,
      corrected: {},
      version: 1,
      faults: [],
      touched: [],
    },
  };
}
