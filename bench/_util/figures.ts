/** What the benches measure and print. */
import fs from 'node:fs';
import type pg from 'pg';

export const say = (line: string) => void process.stdout.write(`${line}\n`);
export const median = (values: readonly number[]) => values.toSorted((a, b) => a - b)[values.length >> 1] as number;

/** The value that `part` of the sorted ones do not exceed. */
export const quantile = (sorted: readonly number[], part: number) =>
  sorted[Math.min(sorted.length - 1, Math.floor(sorted.length * part))] as number;

/** The fields of /proc/PID/stat from the state on; undefined once the process has ended. */
function statOf(pid: number | string): string[] | undefined {
  try {
    return fs.readFileSync(`/proc/${pid}/stat`, 'utf8').split(') ').at(-1)?.split(' ');
  } catch {
    return undefined;
  }
}

/** Microseconds of the clock ticks of so many fields: its own in user and system mode, then those of its ended children. */
const spent = (stat: string[] | undefined, fields: number) =>
  (stat ?? []).slice(11, 11 + fields).reduce((sum, ticks) => sum + Number(ticks) * 10_000, 0);

/** Microseconds that a process has spent. */
export const cpuOf = (pid: number) => spent(statOf(pid), 2);

/** Microseconds that a PostgreSQL server of this machine has spent, with those of its connections that have ended. */
export async function cpuOfPostgres(client: pg.Client): Promise<number> {
  const { rows } = await client.query<{ pid: number }>('select pg_backend_pid() as pid');
  const server = statOf(rows[0]?.pid ?? 0)?.[1];
  const living = fs.readdirSync('/proc').map((pid) => (/^\d+$/.test(pid) ? statOf(pid) : undefined));
  return living
    .filter((stat) => stat?.[1] === server)
    .reduce((sum, stat) => sum + spent(stat, 2), spent(statOf(server ?? 0), 4));
}

/**
 * Prints a table.
 * @param what the heading of its first column, which names the rows
 * @param columns digits behind the point by heading
 * @throws when a figure is none: whoever reads the table relies on all of them
 */
export function show(
  what: string,
  columns: Record<string, number>,
  rows: readonly (readonly [string, ...number[]])[],
): void {
  const headings = Object.entries(columns);
  const lines = rows.map(([name, ...figures]) => [
    name,
    ...headings.map(([heading, digits], at) => {
      const figure = figures[at] ?? Number.NaN;
      if (!Number.isFinite(figure)) throw new Error(`${what}, ${name}: ${heading} is ${figure}`);
      return figure.toFixed(digits);
    }),
  ]);
  const table = [[what, ...headings.map(([heading]) => heading)], ...lines];
  const widths = table[0]?.map((_, at) => Math.max(...table.map((line) => line[at]?.length ?? 0))) ?? [];
  for (const [first = '', ...cells] of table)
    say([first.padEnd(widths[0] ?? 0), ...cells.map((cell, at) => cell.padStart((widths[at + 1] ?? 0) + 2))].join(''));
}
