/** The body of POST timetables: the files, with corrections if there are any, in Base64. */

import { openSlices } from '../parts/slices.ts';
import { nameColumns } from './columns.ts';
import type { Draft } from './draft.ts';
import { writeJobs } from './jobs.ts';
import { describeReading } from './reading.ts';

const quoted = /["\r\n]/;
const asCell = (text: string, separator: string) =>
  quoted.test(text) || text.includes(separator) ? `"${text.replaceAll('"', '""')}"` : text;

/** A file with its corrections. Each row keeps its line, so that faults name the lines of the person's own file. */
async function writeSheet({ sheets, work }: Draft, at: number): Promise<Blob> {
  const giveWay = openSlices();
  const sheet = sheets[at];
  const parts: string[] = [];
  if (!sheet) return new Blob();
  const { separator, headers, headLine, rows, lines } = sheet;
  let line = 1;
  const write = (cells: readonly string[], wanted: number) => {
    const text = separator === null ? cells.join('') : cells.map((cell) => asCell(cell, separator)).join(separator);
    parts.push(`${'\n'.repeat(Math.max(0, wanted - line))}${text}\n`);
    line = Math.max(line, wanted) + text.split(/\r\n|\r|\n/).length;
  };
  if (headLine > 0) write(headers, headLine);
  for (const [row, cells] of rows.entries()) {
    const corrected = cells.map((cell, column) => work.corrected[`${at} ${row} ${column}`] ?? cell);
    write(corrected, lines[row] ?? line);
    await giveWay();
  }
  return new Blob(parts);
}

/** A multiple of three bytes, which Base64 writes without padding. */
const piece = 3 * 8_192;

async function* inBase64(content: Blob): AsyncGenerator<string> {
  for (let from = 0; from < content.size; from += piece) {
    const bytes = new Uint8Array(await content.slice(from, from + piece).arrayBuffer());
    yield btoa(String.fromCharCode(...bytes));
  }
}

function describe({ format, sheets, work }: Draft, location: { name: string }): object {
  const [{ headers } = { headers: [] }] = sheets;
  return {
    Standort: location.name,
    ...describeReading(work.reading),
    ...(format === 'Csv' && { Mapping: nameColumns(headers, work.mapping) }),
  };
}

/** @param location the location of the rooms in the files, whose time zone their times are in */
async function writeFiles(draft: Draft, location: { name: string }): Promise<Blob> {
  const parts: string[] = [`${JSON.stringify(describe(draft, location)).slice(0, -1)},"Files":[`];
  for (const [at, { name, content }] of draft.files.entries()) {
    const isCorrected = Object.keys(draft.work.corrected).some((cell) => cell.startsWith(`${at} `));
    parts.push(`${at === 0 ? '' : ','}{"Name":${JSON.stringify(name)},"Content":"`);
    for await (const text of inBase64(isCorrected ? await writeSheet(draft, at) : content)) parts.push(text);
    parts.push('"}');
  }
  return new Blob([...parts, ']}']);
}

export async function writeRequest(
  draft: Draft,
  location: { name: string },
  isCheck: boolean,
): Promise<{ path: string; body: Blob }> {
  const check = isCheck ? 'ValidateOnly=true' : '';
  if (draft.format === 'Json')
    return { path: `api/v2.0/jobs/update?CreateMissing=true&${check}`, body: await writeJobs(draft) };
  return { path: `api/v2.0/timetables?Format=${draft.format}&${check}`, body: await writeFiles(draft, location) };
}
