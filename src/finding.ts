/** One line of `roomgate doctor`; a remedy where something is to be done. */
export type Finding = {
  check: string;
  level: 'ok' | 'warning' | 'fault';
  text: string;
  remedy?: string;
};

export const ok = (check: string, text: string): Finding => ({ check, level: 'ok', text });

/** What an examination finds, or a fault that says why it cannot look; never throws, because a doctor that dies says nothing. */
export async function findingsOf(check: string, examine: () => Promise<Finding | Finding[]>): Promise<Finding[]> {
  try {
    return [await examine()].flat();
  } catch (error) {
    return [{ check, level: 'fault', text: `cannot be examined: ${(error as Error).message}` }];
  }
}
