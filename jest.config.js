/**
 * Tests that are slow by nature have commands of their own: `*.browser.test.ts` looks at pages in a browser, `*.process.test.ts`
 * starts and kills processes, `*.random.test.ts` is randomized, `*.long.test.ts` takes many minutes.
 */
const lanes = ['browser', 'process', 'random', 'long'].map((lane) => `\\.${lane}\\.test\\.ts$`);

export default {
  testEnvironment: 'node',
  testRunner: '<rootDir>/test/_util/native-runner.js',
  transform: {},
  // Node.js itself needs the real ones.
  fakeTimers: { doNotFake: ['nextTick', 'queueMicrotask'] },
  testMatch: ['<rootDir>/test/**/*.test.ts'],
  testPathIgnorePatterns: ['/node_modules/', '<rootDir>/test/real/', ...lanes],
  globalSetup: '<rootDir>/test/_util/global-setup.ts',
  globalTeardown: '<rootDir>/test/_util/global-teardown.ts',
  testSequencer: '<rootDir>/test/_util/longest-first.js',
  // Twice the cores they are meant for: many of them wait for processes that start and stop, and less than four leave cores idle.
  maxWorkers: 4,
  // Tests that run at the same time are those that wait.
  maxConcurrency: 10,
  // A worker keeps the modules of its test files: past this a fresh one is cheaper than collecting garbage.
  workerIdleMemoryLimit: '500MB',
  // Longer than the busiest machine needs: tests wait for conditions, and only a hang reaches it.
  testTimeout: 300_000,
};
