import { spawnSync } from 'node:child_process';
import usual from './jest.config.js';

const { testSequencer, maxWorkers, maxConcurrency, workerIdleMemoryLimit, testTimeout, ...ofProject } = usual;
const versions = { caddy: 'version', nginx: '-v' };
const missing = Object.keys(versions).filter((proxy) => spawnSync(proxy, [versions[proxy]]).error);
for (const proxy of missing) process.stderr.write(`SKIPPED: ${proxy} is not installed\n`);

/** `npm run test:proxied`: the scenarios of both APIs and more, with each proxy of deploy/ in front of every service that they start. */
export default {
  testSequencer,
  maxWorkers,
  maxConcurrency,
  workerIdleMemoryLimit,
  testTimeout,
  passWithNoTests: missing.length > 0,
  projects: Object.keys(versions).map((proxy) => ({
    ...ofProject,
    displayName: proxy,
    globals: { proxy },
    testMatch: ['api/*', 'graphql/{batches,bookings,subscriptions}', 'rest/{cors,entry,health}'].map(
      (files) => `<rootDir>/test/${files}.test.ts`,
    ),
    // nginx itself answers 400 to U+0000 in an address.
    testPathIgnorePatterns: missing.includes(proxy) ? ['.'] : [...usual.testPathIgnorePatterns, 'api/storable'],
  })),
};
