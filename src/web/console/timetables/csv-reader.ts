/** Reads the CSV of spreadsheets and timetable programs into rows, to show and to correct. Only the server interprets them. */
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

/** The most frequent separator in the first line, outside of quotes. */
function separatorOf(text: string): string {
  const counts = new Map([';', ',', '\t'].map((separator) => [separator, 0]));
  let isQuoted = false;
  for (const character of text.slice(0, 20_000)) {
    if (character === '"') isQuoted = !isQuoted;
    else if (!isQuoted && (character === '\n' || character === '\r')) break;
    else if (!isQuoted && counts.has(character)) counts.set(character, (counts.get(character) ?? 0) + 1);
  }
  return [...counts].reduce((best, one) => (one[1] > best[1] ? one : best))[0];
}

export class TooManyRows extends Error {}

/** The rows that are not empty, and the line of the file in which each begins. */
export type Rows = { separator: string; rows: string[][]; lines: number[] };

/** @throws TooManyRows */
export async function parseCsv(text: string, mostRows: number): Promise<Rows> {
  const said = /^\ufeff?sep=([;,\t])\r?\n/i.exec(text);
  const separator = said?.[1] ?? separatorOf(text);
  const giveWay = openSlices();
  const rows: string[][] = [];
  const lines: number[] = [];
  let [line, firstLine] = said ? [2, 2] : [1, 1];
  let row: string[] = [];
  const endRow = () => {
    if (row.some((cell) => cell.trim() !== '')) {
      rows.push(row);
      lines.push(firstLine);
    }
    row = [];
    firstLine = ++line;
    if (rows.length > mostRows) throw new TooManyRows();
  };
  for (let at = said?.[0].length ?? (text.charCodeAt(0) === 0xfeff ? 1 : 0); at < text.length; ) {
    let cell = '';
    if (text[at] === '"') {
      for (at++; at < text.length; at++) {
        if (text[at] !== '"') {
          const quote = text.indexOf('"', at);
          const end = quote < 0 ? text.length : quote;
          const part = text.slice(at, end);
          line += part.split(/\r\n|\r|\n/).length - 1;
          cell += part;
          at = end - 1;
        } else if (text[at + 1] === '"') cell += text[++at];
        else break;
      }
      at++;
    }
    // Text after a quoted part belongs to the cell as it is.
    const from = at;
    while (at < text.length && text[at] !== separator && text[at] !== '\n' && text[at] !== '\r') at++;
    row.push(cell + text.slice(from, at));
    if (text[at] === separator) {
      at++;
      if (at === text.length || text[at] === '\n' || text[at] === '\r') row.push('');
      else continue;
    }
    endRow();
    if (text[at] === '\r' && text[at + 1] === '\n') at++;
    at++;
    await giveWay();
  }
  return { separator, rows, lines };
}
