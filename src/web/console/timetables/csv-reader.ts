/** Reads what spreadsheets and timetable programs write into rows, as the server does, to show and to correct. */
import { findSeparator, openRows, type TextRow } from '../../../timetable-files/cells.ts';
import { openSlices } from './slices.ts';

/** Decodes UTF-8, UTF-16 with a byte order mark, or the code page of Windows in western Europe. */
export function decode(bytes: Uint8Array): string {
  const [first, second] = bytes;
  if (first === 0xff && second === 0xfe) return new TextDecoder('utf-16le').decode(bytes);
  if (first === 0xfe && second === 0xff) return new TextDecoder('utf-16be').decode(bytes);
  try {
    return new TextDecoder('utf-8', { fatal: true }).decode(bytes);
  } catch {
    return new TextDecoder('windows-1252').decode(bytes);
  }
}

export class TooManyRows extends Error {}

/** Rows, without those that are empty, each with the line of the file in which it begins. */
export type Rows = { separator: string; rows: string[][]; lines: number[] };

const piece = 16_384;

/** The server tells the faults of the rows. @throws TooManyRows */
export async function parseCsv(text: string, mostRows: number): Promise<Rows> {
  const { separator, naming } = findSeparator(text);
  const giveWay = openSlices();
  const reading = openRows(separator, () => {});
  const rows: string[][] = [];
  const lines: number[] = [];
  const keep = (read: readonly TextRow[]) => {
    for (const { line, cells } of read) {
      rows.push([...cells]);
      lines.push(naming ? line + 1 : line);
    }
    if (rows.length > mostRows) throw new TooManyRows();
  };
  for (let at = naming.length; at < text.length; at += piece) {
    keep(reading.take(text.slice(at, at + piece)));
    await giveWay();
  }
  keep(reading.end());
  return { separator, rows, lines };
}
