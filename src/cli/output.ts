import { getSystemErrorMessage } from 'node:util';
import { inItsLines, inOneLine, printedJson } from '../printing.ts';
import { CommandFailed, type Output } from './command.ts';

/**
 * Handles errors of standard output and standard error, so that they do not end a command before its clean-up.
 * @returns a function that waits until standard output has been written, and throws CommandFailed if it could not be. A reader
 * that stopped reading (`| head -1`) is not an error
 */
export function watchOutput(): () => Promise<void> {
  let fault: NodeJS.ErrnoException | undefined;
  process.stdout.on('error', (error: NodeJS.ErrnoException) => {
    if (error.code !== 'EPIPE') fault ??= error;
  });
  // There is no other stream on which to report it.
  process.stderr.on('error', () => {});
  return async () => {
    await new Promise((resolve) => process.stdout.write('', resolve));
    if (!fault) return;
    const reason = fault.errno === undefined ? fault.message : getSystemErrorMessage(fault.errno);
    throw new CommandFailed(`Standard output cannot be written: ${reason}.`);
  };
}

/** Standard error, for what is not the result of a command. */
export const tell = (text: string): void => void process.stderr.write(`${inItsLines(text)}\n`);

export const openOutput = (json: boolean): Output => ({
  json,
  print: (text, record) => void process.stdout.write(`${json ? printedJson(record) : inItsLines(text)}\n`),
});

/** An instant to the minute: 2026-11-27T13:45Z; '' for none. */
export const formatMinute = (at: Date | null): string => at?.toISOString().replace(/:\d\d\.\d+Z$/, 'Z') ?? '';

/** Formats rows under headings in aligned columns. Characters that would disturb these become spaces. */
export function formatTable(headings: readonly string[], rows: readonly (readonly unknown[])[]): string {
  const cells = [headings, ...rows].map((row) => row.map((cell) => inOneLine(String(cell ?? ''))));
  const widths = headings.map((_, column) => Math.max(...cells.map((row) => row[column]?.length ?? 0)));
  return cells
    .map((row) =>
      row
        .map((cell, column) => cell.padEnd(widths[column] ?? 0))
        .join('  ')
        .trimEnd(),
    )
    .join('\n');
}
