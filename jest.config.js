export default {
  testEnvironment: 'node',
  extensionsToTreatAsEsm: ['.ts'],
  transform: { '^.+\\.ts$': '<rootDir>/test/_util/strip-types.js' },
  testMatch: ['<rootDir>/test/**/*.test.ts'],
  globalSetup: '<rootDir>/test/_util/global-setup.ts',
  globalTeardown: '<rootDir>/test/_util/global-teardown.ts',
  maxWorkers: 2,
  testTimeout: 30_000,
};
