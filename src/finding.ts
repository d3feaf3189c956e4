/** One line of `roomgate doctor`; it has a remedy where something is to be done. */
export type Finding = {
  check: string;
  level: 'ok' | 'warning' | 'fault';
  text: string;
  remedy?: string;
};

export const ok = (check: string, text: string): Finding => ({ check, level: 'ok', text });

/** The findings of an examination. One that throws becomes a fault, so that the others are still reported. */
export async function findingsOf(check: string, examine: () => Promise<Finding | Finding[]>): Promise<Finding[]> {
  try {
    return [await examine()].flat();
  } catch (error) {
    return [{ check, level: 'fault', text: `cannot be examined: ${(error as Error).message}` }];
  }
}

/** A table that a migration locks. `rows` is an estimate of PostgreSQL's; null where it has none. */
export type Locked = {
  table: string;
  mode: string;
  holdsUp: 'all' | 'writers' | 'nobody';
  rows: number | null;
  bytes: number;
};
export type Rehearsed = { migration: string; locks: Locked[] };
