export default {
  testEnvironment: 'node',
  extensionsToTreatAsEsm: ['.ts'],
  transform: { '^.+\\.ts$': '<rootDir>/test/_util/strip-types.js' },
  testMatch: ['<rootDir>/test/**/*.test.ts'],
  testPathIgnorePatterns: ['/node_modules/', '<rootDir>/test/real/'],
  globalSetup: '<rootDir>/test/_util/global-setup.ts',
  globalTeardown: '<rootDir>/test/_util/global-teardown.ts',
  // More than the two cores they are meant for: many of them wait for processes that start and stop.
  maxWorkers: 3,
  testTimeout: 30_000,
};
