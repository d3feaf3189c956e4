import { inItsLines } from '../printing.ts';

/** The stream that shows progress: standard error, so that a command's output stays clean. */
export type Terminal = { isTTY?: boolean; columns?: number; write(text: string): unknown };

export type Progress = {
  /** Prints a line that stays. */
  say(line: string): void;
  /** Draws the bar over the earlier one. It does nothing without a total, or off a terminal. */
  bar(label: string, done: number, total: number | null): void;
  /** Removes the bar. */
  end(): void;
};

const redrawEvery = 100;
const clearLine = '\r\u001b[K';

function draw(label: string, done: number, total: number, columns: number): string {
  const share = total === 0 ? 1 : Math.min(1, done / total);
  const figures = `${String(Math.floor(share * 100)).padStart(3)} %  ${done} of ${total}`;
  const width = Math.min(40, columns - label.length - figures.length - 6);
  if (width < 5) return `${label} ${figures}`;
  const filled = Math.round(share * width);
  return `${label} [${'#'.repeat(filled)}${' '.repeat(width - filled)}] ${figures}`;
}

export function openProgress(terminal: Terminal): Progress {
  let drawnAt = Number.NEGATIVE_INFINITY;
  let shown = false;
  const end = () => {
    if (shown) terminal.write(clearLine);
    shown = false;
  };
  return {
    say(line) {
      end();
      terminal.write(`${inItsLines(line)}\n`);
    },
    bar(label, done, total) {
      if (!terminal.isTTY || total === null) return;
      const now = performance.now();
      if (now - drawnAt < redrawEvery && done < total) return;
      drawnAt = now;
      shown = true;
      terminal.write(`${clearLine}${draw(label, done, total, terminal.columns || 80)}`);
    },
    end,
  };
}
