/**
 * Splits a text with separators into rows as it arrives (RFC 4180, and common deviations from it): for the server, and for the
 * console, which shows the same rows.
 */

/** A row; `line` is the number of its first line, from 1. */
export type TextRow = { line: number; cells: readonly string[] };

export const separators = [';', ',', '\t'] as const;
export type Separator = (typeof separators)[number];
export const separatorsInWords = 'semicolon, comma or tab';

const longestRow = 65_536;
const mostCells = 200;
/** How much of a text is enough to find its separator. */
export const headLength = 65_536;
/** The most rows from which the separator is guessed. */
const headRows = 20;

/** What is wrong with a row. */
export class BadRow extends Error {
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

/**
 * `take` returns the rows that end within a piece of the text, `end` the last one. Blank rows are left out.
 * @param complain is called with each fault. If it does not throw, the text is read as it is
 */
export function openRows(separator: string, complain: (fault: BadRow) => void) {
  let cells: string[] = [];
  let cell = '';
  let state: 'start' | 'plain' | 'quoted' | 'closed' = 'start';
  let [line, startLine, size] = [1, 1, 0];
  /** Whether the last character was a carriage return. */
  let returned = false;

  const column = () => cells.length + 1;
  function endCell(): void {
    if (cells.length === mostCells)
      complain(
        new BadRow('TooManyFields', startLine, mostCells, `more than ${mostCells} fields; is this the right file?`),
      );
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
        if (character === ' ') continue;
        complain(
          new BadRow(
            'TextAfterQuote',
            line,
            column(),
            'text follows a closing quote; double each quote inside of a quoted text',
          ),
        );
        cell += character;
        state = 'plain';
      } else {
        cell += character;
        state = 'plain';
      }
      if (++size === longestRow + 1)
        complain(
          new BadRow(
            state === 'quoted' ? 'UnclosedQuote' : 'LineTooLong',
            startLine,
            column(),
            state === 'quoted'
              ? 'a quote is opened but not closed; double each quote inside of a text, or export the file again'
              : `more than ${longestRow} characters; is this the right file?`,
          ),
        );
    }
    return rows;
  }
  return {
    take,
    end(): TextRow[] {
      if (state === 'quoted')
        complain(
          new BadRow(
            'CutOff',
            startLine,
            column(),
            'the file ends inside of a quoted text; it was truncated, so export it again',
          ),
        );
      const rows: TextRow[] = [];
      if (cells.length > 0 || cell !== '') endRow(rows);
      return rows;
    },
  };
}

/** Ends a reading with the first fault. @throws BadRow */
export const refuseRow = (fault: BadRow): never => {
  throw fault;
};

/** Chooses the candidate that splits the first rows into the most fields, the same number in each. */
function chooseSeparator(head: string): Separator {
  let best: { separator: Separator; score: number } = { separator: ',', score: 0 };
  for (const separator of separators) {
    const rows: TextRow[] = [];
    const reading = openRows(separator, refuseRow);
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

/**
 * Finds the separator of a text by its beginning.
 * @returns also the line that names it; empty if none does
 */
export function findSeparator(beginning: string): { separator: Separator; naming: string } {
  const [naming = '', said] = named.exec(beginning) ?? [];
  if (said) return { separator: said as Separator, naming };
  const isWhole = beginning.length < headLength;
  const ends = ['\n', '\r'].map((end) => beginning.lastIndexOf(end, headLength));
  const lines = isWhole ? beginning : beginning.slice(0, Math.max(...ends, 0));
  return { separator: chooseSeparator(lines), naming };
}
