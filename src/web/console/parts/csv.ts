/** CSV for spreadsheets: with a BOM, and without letting a cell become a formula. */

import { withoutTurns } from '../../bidi.ts';

export type Cell = string | number | null | undefined;

function quote(cell: Cell): string {
  if (cell === null || cell === undefined) return '';
  if (typeof cell === 'number') return String(cell);
  const plain = withoutTurns(cell);
  // Some spreadsheets remove a leading space before they look for a formula.
  const text = /^\s*[=+\-@\t\r]/.test(plain) ? `'${plain}` : plain;
  return /[";,\n\r]/.test(text) || text !== text.trim() ? `"${text.replaceAll('"', '""')}"` : text;
}

export const toCsv = (rows: readonly (readonly Cell[])[]): string =>
  `\ufeff${rows.map((row) => row.map(quote).join(';')).join('\r\n')}\r\n`;

export function download(name: string, text: string): void {
  const url = URL.createObjectURL(new Blob([text], { type: 'text/csv;charset=utf-8' }));
  const link = document.createElement('a');
  link.href = url;
  link.download = name;
  link.click();
  setTimeout(() => URL.revokeObjectURL(url), 60_000);
}
