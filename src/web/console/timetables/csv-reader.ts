/** Reads what spreadsheets and timetable programs write into rows, as the server does, to show and to correct. */
import { findSeparator, openRows, type TextRow } from '../../../timetable-files/cells.ts';
import { openSlices } from '../parts/slices.ts';

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
