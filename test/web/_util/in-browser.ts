import { describe } from '@jest/globals';
import { findBrowser } from './browser.ts';

/** `describe` if there is a browser; otherwise the tests are skipped, with the reason. */
export function describeInBrowser(name: string, tests: () => void): void {
  const isThere = findBrowser() !== undefined;
  if (!isThere) process.stdout.write(`${name}: there is no chromium here; its tests are skipped\n`);
  (isThere ? describe : describe.skip)(name, tests);
}
