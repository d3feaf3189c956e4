/** The meaning of each column of a file: guessed by its name, and remembered for files with the same columns. */
import { type ColumnName, columnNames, findColumn, plainHeading } from '../../../timetable-files/headings.ts';
import { mandator } from '../client.ts';

/** The index of each column; -1 for none. */
export type Mapping = Record<ColumnName, number>;

const storageKey = `roomgate columns of ${mandator}`;
const mostRemembered = 20;

function remembered(): [headers: string, mapping: Mapping][] {
  try {
    const kept: unknown = JSON.parse(localStorage.getItem(storageKey) ?? '[]');
    return Array.isArray(kept) ? kept : [];
  } catch {
    return [];
  }
}

const keyOf = (headers: readonly string[]) => headers.map(plainHeading).join(' ').slice(0, 2_000);

/** The mapping that was last chosen for these columns, or else the one that their names suggest. */
export function mappingOf(headers: readonly string[]): Mapping {
  const known = remembered().find(([key]) => key === keyOf(headers))?.[1];
  const taken = new Set<number>();
  return Object.fromEntries(
    columnNames.map((name) => {
      const kept = known?.[name];
      const at = kept !== undefined && kept < headers.length ? kept : findColumn(name, headers, taken);
      taken.add(at);
      return [name, at];
    }),
  ) as Mapping;
}

/** The headings of the columns, as a request names them; null for none. */
export const nameColumns = (headers: readonly string[], mapping: Mapping): Record<ColumnName, string | null> =>
  Object.fromEntries(columnNames.map((name) => [name, headers[mapping[name]] ?? null])) as Record<
    ColumnName,
    string | null
  >;

type Named = { [Name in Uncapitalize<ColumnName>]?: string | null } | null | undefined;

/** The mapping with the columns that a profile names. The others stay, unless a named one takes their column. */
export function fillMapping(headers: readonly string[], mapping: Mapping, named: Named): Mapping {
  const headingOf = (name: ColumnName) => named?.[name.toLowerCase() as Uncapitalize<ColumnName>];
  const taken = new Set(columnNames.map(headingOf).filter(Boolean));
  return Object.fromEntries(
    columnNames.map((name) => {
      const heading = headingOf(name);
      if (heading) return [name, headers.indexOf(heading)];
      return [name, taken.has(headers[mapping[name]]) ? -1 : mapping[name]];
    }),
  ) as Mapping;
}

export function rememberMapping(headers: readonly string[], mapping: Mapping): void {
  const others = remembered().filter(([key]) => key !== keyOf(headers));
  localStorage.setItem(storageKey, JSON.stringify([[keyOf(headers), mapping], ...others].slice(0, mostRemembered)));
}
