/** Reads the rows of a timetable file, and tells what is wrong with them. */
import { BadRow, findSeparator, headLength, openRows, refuseRow, type Separator, type TextRow } from './cells.ts';
import { type FaultReport, UnreadableFile } from './faults.ts';

const mostRows = 200_000;

export type OpenRows = { separator: Separator; rows: AsyncGenerator<TextRow> };

/** @throws UnreadableFile once a fault is reported, also while the rows are read */
export async function readRows(text: AsyncGenerator<string>, file: number, report: FaultReport): Promise<OpenRows> {
  let head = '';
  while (head.length < headLength) {
    const next = await text.next();
    if (next.done) break;
    head += next.value;
  }
  const { separator, naming } = findSeparator(head);
  const shift = naming ? 1 : 0;
  async function* rows(): AsyncGenerator<TextRow> {
    const reading = openRows(separator, refuseRow);
    let count = 0;
    try {
      const pieces = (async function* () {
        yield head.slice(naming.length);
        yield* text;
      })();
      for await (const piece of pieces)
        for (const row of reading.take(piece)) {
          if (++count > mostRows)
            throw new BadRow(
              'TooManyLines',
              row.line,
              undefined,
              `more than ${mostRows} lines; send a file for each term`,
            );
          yield shift ? { ...row, line: row.line + shift } : row;
        }
      for (const row of reading.end()) {
        count++;
        yield shift ? { ...row, line: row.line + shift } : row;
      }
    } catch (error) {
      if (!(error instanceof BadRow)) throw error;
      report.fault({ file, line: error.line + shift, column: error.column }, error.code, error.message);
      throw new UnreadableFile();
    }
    if (count === 0) {
      report.fault({ file, line: 1 }, 'EmptyFile', 'the file has no lines; export the timetable again');
      throw new UnreadableFile();
    }
  }
  return { separator, rows: rows() };
}
