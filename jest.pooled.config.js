import usual from './jest.config.js';

/** `npm run test:pooled`: the tests of both APIs, with requests that go through PgBouncer (PooledDatabaseUrl). */
export default {
  ...usual,
  testMatch: ['rest', 'graphql', 'api', 'bookings', 'lessons', 'opening-hours', 'changes'].map(
    (room) => `<rootDir>/test/${room}/**/*.test.ts`,
  ),
  testPathIgnorePatterns: ['/node_modules/', '\\.(?:browser|long)\\.test\\.ts$'],
  globalSetup: '<rootDir>/test/_util/pooled-setup.ts',
};
