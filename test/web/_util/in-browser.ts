import { describe } from '@jest/globals';
import { findBrowser } from './browser.ts';

/** `describe` where there is a browser; elsewhere the tests are skipped, and it is said why. */
export function describeInBrowser(name: string, tests: () => void): void {
  const isThere = findBrowser() !== undefined;
  if (!isThere) process.stdout.write(`${name}: there is no chromium here; its tests are skipped\n`);
  (isThere ? describe : describe.skip)(name, tests);
}
