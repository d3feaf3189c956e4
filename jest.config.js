export default {
  testEnvironment: 'node',
  extensionsToTreatAsEsm: ['.ts'],
  transform: { '^.+\\.ts$': '<rootDir>/test/_util/strip-types.js' },
  testMatch: ['<rootDir>/test/**/*.test.ts'],
  testPathIgnorePatterns: ['/node_modules/', '<rootDir>/test/real/', '\\.long\\.test\\.ts$'],
  globalSetup: '<rootDir>/test/_util/global-setup.ts',
  globalTeardown: '<rootDir>/test/_util/global-teardown.ts',
  testSequencer: '<rootDir>/test/_util/longest-first.js',
  // More than the two cores they are meant for: many of them wait for processes that start and stop.
  maxWorkers: 3,
  // Jest keeps the modules of every file that a worker has run: past this a fresh worker is cheaper than collecting garbage,
  // and one that is larger takes longer to end than Jest waits.
  workerIdleMemoryLimit: '500MB',
  // Longer than the busiest machine needs: tests wait for conditions, and only a hang reaches it.
  testTimeout: 120_000,
};
