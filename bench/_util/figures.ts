/** What the benches measure and print. */
import fs from 'node:fs';
import type pg from 'pg';

export const say = (line: string) => void process.stdout.write(`${line}\n`);
export const median = (values: readonly number[]) => values.toSorted((a, b) => a - b)[values.length >> 1] as number;

/** The quantile `part` of the sorted values. */
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

/** The processes that a process has started and that still run. */
export function childrenOf(pid: number): number[] {
  try {
    return (fs.readFileSync(`/proc/${pid}/task/${pid}/children`, 'utf8').match(/\d+/g) ?? []).map(Number);
  } catch {
    return [];
  }
}

/** CPU microseconds of a process and those that it has started (setting `Processes`). */
export const cpuOf = (pid: number): number =>
  childrenOf(pid).reduce((sum, child) => sum + cpuOf(child), spent(statOf(pid), 2));

/** Resident kilobytes of a process. */
export const memoryOf = (pid: number) =>
  Number(/VmRSS:\s+(\d+)/.exec(fs.readFileSync(`/proc/${pid}/status`, 'utf8'))?.[1]);

/** CPU microseconds of a local PostgreSQL server, including ended connections. */
export async function cpuOfPostgres(client: pg.Client): Promise<number> {
  const { rows } = await client.query<{ pid: number }>('select pg_backend_pid() as pid');
  const server = statOf(rows[0]?.pid ?? 0)?.[1];
  const living = fs.readdirSync('/proc').map((pid) => (/^\d+$/.test(pid) ? statOf(pid) : undefined));
  return living
    .filter((stat) => stat?.[1] === server)
    .reduce((sum, stat) => sum + spent(stat, 2), spent(statOf(server ?? 0), 4));
}

/** Prints cells in columns. */
export function print(table: readonly (readonly string[])[]): void {
  const widths = table[0]?.map((_, at) => Math.max(...table.map((line) => line[at]?.length ?? 0))) ?? [];
  for (const [first = '', ...cells] of table)
    say([first.padEnd(widths[0] ?? 0), ...cells.map((cell, at) => cell.padStart((widths[at + 1] ?? 0) + 2))].join(''));
}

/** The comparison of a bench; the first cell of each row names a side. */
export type Table = { what: string; headings: string[]; rows: string[][] };

/**
 * Prints a table, and sends it to the process that started this one to collect them, if there is one.
 * @param what the heading of its first column, which names the rows
 * @param columns digits behind the point by heading
 * @throws if a figure is not a number: readers of the table rely on all of them
 */
export function show(
  what: string,
  columns: Record<string, number>,
  figures: readonly (readonly [string, ...number[]])[],
): void {
  const headings = Object.keys(columns);
  const rows = figures.map(([name, ...own]) => [
    name,
    ...Object.entries(columns).map(([heading, digits], at) => {
      const figure = own[at] ?? Number.NaN;
      if (!Number.isFinite(figure)) throw new Error(`${what}, ${name}: ${heading} is ${figure}`);
      return figure.toFixed(digits);
    }),
  ]);
  print([[what, ...headings], ...rows]);
  process.send?.({ what, headings, rows } satisfies Table);
}
