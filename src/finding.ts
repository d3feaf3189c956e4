/** Each fault has a remedy. */
export type Judgment = { text: string } & (
  | { level: 'ok' | 'warning'; remedy?: string }
  | { level: 'fault'; remedy: string }
);

/** One line of `roomgate doctor`. */
export type Finding = Judgment & { check: string };

export const ok = (check: string, text: string): Finding => ({ check, level: 'ok', text });

/** Runs an examination. If it throws, the error becomes a fault, so that other findings are still reported. */
export async function findingsOf(check: string, examine: () => Promise<Finding | Finding[]>): Promise<Finding[]> {
  try {
    return [await examine()].flat();
  } catch (error) {
    const text = `cannot be examined: ${(error as Error).message}`;
    const remedy =
      'Fix what the message names, and run "roomgate doctor" again; if it persists, see the log of PostgreSQL.';
    return [{ check, level: 'fault', text, remedy }];
  }
}

/** A table that a migration locks. `rows` is PostgreSQL's estimate; null if it has none. */
export type Locked = {
  table: string;
  mode: string;
  holdsUp: 'all' | 'writers' | 'nobody';
  rows: number | null;
  bytes: number;
};
export type Rehearsed = { migration: string; locks: Locked[] };
