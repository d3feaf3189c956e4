import { setTimeout as sleep } from 'node:timers/promises';

/** Waits for a condition. @returns false if it does not hold after so many milliseconds */
export async function comesTrue(isSo: () => boolean | Promise<boolean>, most: number): Promise<boolean> {
  for (const end = Date.now() + most; ; await sleep(100)) {
    if (await isSo()) return true;
    if (Date.now() > end) return false;
  }
}
