import { getSystemErrorMessage } from 'node:util';
import { CommandFailed } from './command.ts';

/**
 * Keeps the faults of standard output and standard error from ending a command, which runs with its clean-up to its end.
 * @returns waits until standard output has taken everything. A reader that stopped reading (`| head -1`) has what it wanted
 * @throws CommandFailed, what is returned, when standard output could not be written
 */
export function watchOutput(): () => Promise<void> {
  let fault: NodeJS.ErrnoException | undefined;
  process.stdout.on('error', (error: NodeJS.ErrnoException) => {
    if (error.code !== 'EPIPE') fault ??= error;
  });
  // Nothing is left to tell it with.
  process.stderr.on('error', () => {});
  return async () => {
    await new Promise((resolve) => process.stdout.write('', resolve));
    if (!fault) return;
    const reason = fault.errno === undefined ? fault.message : getSystemErrorMessage(fault.errno);
    throw new CommandFailed(`Standard output cannot be written: ${reason}.`);
  };
}

/** Line breaks, control characters, and those that turn the text after them around (Unicode Standard Annex 9). */
const disturbing = /[\p{Cc}\u202a-\u202e\u2066-\u2069]+/gu;

/** Formats rows under headings in aligned columns. What would disturb these becomes spaces. */
export function formatTable(headings: readonly string[], rows: readonly (readonly unknown[])[]): string {
  const cells = [headings, ...rows].map((row) => row.map((cell) => String(cell ?? '').replace(disturbing, ' ')));
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
