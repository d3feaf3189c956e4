/** Turns the rows of the API's JSON back into jobs. */

import { openSlices } from '../parts/slices.ts';
import { cellAt, type Draft } from './draft.ts';

/** Columns in the order of REST, under the names of GraphQL, which errors use. */
export const jobColumns = {
  JobID: 'jobKey',
  LektionId: 'lessonKey',
  Beginn: 'start',
  Ende: 'end',
  RessourceName: 'resourceName',
  RessourceId: 'resourceId',
  Fach: 'subject',
  Titel: 'title',
  Klassen: 'classes',
  Lehrpersonen: 'teachers',
  Status: 'status',
  KopplungId: 'couplingKey',
  Privat: 'isPrivate',
  Bemerkung: 'remark',
} as const;
export const jsonColumns = Object.keys(jobColumns) as (keyof typeof jobColumns)[];

type Job = { JobID: string; ReplaceLektionList: true; LektionList: Record<string, unknown>[] };

const listed = (text: string) =>
  text
    .split('|')
    .map((part) => part.trim())
    .filter(Boolean);

/** Reads a cell; an empty one clears the member of the lesson. */
const readers: Partial<Record<keyof typeof jobColumns, (text: string) => unknown>> = {
  Klassen: listed,
  Lehrpersonen: listed,
  RessourceId: (text) => (/^\d+$/.test(text) ? Number(text) : text),
  Privat: (text) => (text === 'true' ? true : text === 'false' ? false : text),
};
const mayBeEmpty = new Set(['Fach', 'Titel', 'Klassen', 'Lehrpersonen', 'KopplungId', 'Bemerkung']);

function lessonOf(draft: Draft, row: number): Record<string, unknown> {
  const members = jsonColumns.slice(1).map((name, at): [string, unknown] => {
    const text = cellAt(draft, 0, row, at + 1).trim();
    return [name, text === '' ? null : (readers[name]?.(text) ?? text)];
  });
  return Object.fromEntries(members.filter(([name, value]) => value !== null || mayBeEmpty.has(name)));
}

/** Each job with its rows, in the order of the file. */
async function groupRows(draft: Draft): Promise<Map<string, number[]>> {
  const giveWay = openSlices();
  const jobs = new Map<string, number[]>();
  for (let row = 0; row < (draft.sheets[0]?.rows.length ?? 0); row++) {
    const jobKey = cellAt(draft, 0, row, 0).trim();
    const rows = jobs.get(jobKey);
    if (rows) rows.push(row);
    else jobs.set(jobKey, [row]);
    await giveWay();
  }
  return jobs;
}

export async function writeJobs(draft: Draft): Promise<Blob> {
  const giveWay = openSlices();
  const parts: string[] = [];
  for (const [JobID, rows] of await groupRows(draft)) {
    const job: Job = { JobID, ...draft.jobs?.[JobID], ReplaceLektionList: true, LektionList: [] };
    for (const row of rows) {
      job.LektionList.push(lessonOf(draft, row));
      await giveWay();
    }
    parts.push(`${parts.length === 0 ? '[' : ','}${JSON.stringify(job)}`);
  }
  return new Blob([...parts, ']']);
}

/** The row of each lesson, by job. */
export async function rowsOfJobs(draft: Draft): Promise<(index: number, lessonIndex: number) => number | undefined> {
  const rows = [...(await groupRows(draft)).values()];
  return (index, lessonIndex) => rows[index]?.[lessonIndex];
}
