/** Parses the rows of a text with separators as it arrives (RFC 4180, and common deviations from it). */
import { type FaultReport, UnreadableFile } from './faults.ts';

/** A row; `line` is the number of its first line, from 1. */
export type TextRow = { line: number; cells: readonly string[] };

export const separators = [';', ',', '\t'] as const;
export type Separator = (typeof separators)[number];
export const separatorsInWords = 'semicolon, comma or tab';

const longestRow = 65_536;
const mostCells = 200;
const mostRows = 200_000;
/** The most characters and rows from which the separator is guessed. */
const headLength = 65_536;
const headRows = 20;

class BadRow extends Error {
  readonly line: number;
  readonly column: number | undefined;
  readonly code: string;
  constructor(code: string, line: number, column: number | undefined, message: string) {
    super(message);
    this.code = code;
    this.line = line;
    this.column = column;
  }
}

/** `take` returns the rows that end within a piece of the text, `end` the last one. Blank rows are left out. @throws BadRow */
function openRows(separator: string) {
  let cells: string[] = [];
  let cell = '';
  let state: 'start' | 'plain' | 'quoted' | 'closed' = 'start';
  let [line, startLine, size] = [1, 1, 0];
  /** Whether the last character was a carriage return. */
  let returned = false;

  const column = () => cells.length + 1;
  function endCell(): void {
    if (cells.length === mostCells)
      throw new BadRow('TooManyFields', startLine, mostCells, `more than ${mostCells} fields; is this the right file?`);
    cells.push(cell);
    cell = '';
    state = 'start';
  }
  function endRow(rows: TextRow[]): void {
    endCell();
    if (cells.some((text) => text.trim() !== '')) rows.push({ line: startLine, cells });
    cells = [];
    size = 0;
  }
  function take(text: string): TextRow[] {
    const rows: TextRow[] = [];
    for (let at = 0; at < text.length; at++) {
      const character = text[at] as string;
      const isLineFeed = character === '\n';
      if (isLineFeed && returned) {
        returned = false;
        // The carriage return before it has already ended the line.
        if (state !== 'quoted') startLine = line;
        continue;
      }
      returned = character === '\r';
      if (isLineFeed || returned) line++;
      if (state === 'quoted') {
        if (character === '"') state = 'closed';
        else cell += returned ? '\n' : character;
      } else if (isLineFeed || returned) {
        endRow(rows);
        startLine = line;
        continue;
      } else if (character === separator) endCell();
      else if (character === '"' && state === 'closed') {
        cell += '"';
        state = 'quoted';
      } else if (character === '"' && state === 'start') state = 'quoted';
      else if (state === 'closed') {
        if (character !== ' ')
          throw new BadRow(
            'TextAfterQuote',
            line,
            column(),
            'text follows a closing quote; write a quote inside of a text twice',
          );
      } else {
        cell += character;
        state = 'plain';
      }
      if (++size > longestRow)
        throw new BadRow(
          state === 'quoted' ? 'UnclosedQuote' : 'LineTooLong',
          startLine,
          column(),
          state === 'quoted'
            ? 'a quote is opened and not closed; write it twice, or export the file again'
            : `more than ${longestRow} characters; is this the right file?`,
        );
    }
    return rows;
  }
  return {
    take,
    end(): TextRow[] {
      if (state === 'quoted')
        throw new BadRow(
          'CutOff',
          startLine,
          column(),
          'the file ends inside of quotes; it was cut off, so export it again',
        );
      const rows: TextRow[] = [];
      if (cells.length > 0 || cell !== '') endRow(rows);
      return rows;
    },
  };
}

/** Chooses the candidate that splits the first rows into the most fields, the same number in each. */
function chooseSeparator(head: string): Separator {
  let best: { separator: Separator; score: number } = { separator: ',', score: 0 };
  for (const separator of separators) {
    const rows: TextRow[] = [];
    const reading = openRows(separator);
    try {
      // Line by line, so that a bad line does not spoil the others.
      for (const line of `${head}\n`.split(/(?<=\n|\r(?!\n))/)) {
        rows.push(...reading.take(line));
        if (rows.length >= headRows) break;
      }
    } catch (error) {
      if (!(error instanceof BadRow)) throw error;
    }
    const counts = rows.map(({ cells }) => cells.length);
    const usual = Math.max(
      0,
      ...counts.filter((count) => counts.filter((other) => other === count).length * 2 > counts.length),
    );
    const score = usual > 1 ? usual : Math.max(0, ...counts) / 1_000;
    if (score > best.score) best = { separator, score };
  }
  return best.separator;
}

/** A line such as `sep=;`, which spreadsheets write before the header. */
const named = /^sep=([;,\t])(?:\r\n|\n|\r)/i;

export type OpenRows = { separator: Separator; rows: AsyncGenerator<TextRow> };

/** @throws UnreadableFile once a fault is reported, also while the rows are read */
export async function readRows(text: AsyncGenerator<string>, file: number, report: FaultReport): Promise<OpenRows> {
  let head = '';
  while (head.length < headLength) {
    const next = await text.next();
    if (next.done) break;
    head += next.value;
  }
  const said = named.exec(head);
  // Cut after the last complete line.
  const whole = head.length < headLength ? head : head.slice(0, Math.max(head.lastIndexOf('\n'), 0));
  const separator = (said?.[1] as Separator | undefined) ?? chooseSeparator(whole.slice(0, headLength));
  const shift = said ? 1 : 0;
  async function* rows(): AsyncGenerator<TextRow> {
    const reading = openRows(separator);
    let count = 0;
    try {
      const pieces = (async function* () {
        yield head.slice(said?.[0].length ?? 0);
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
