import usual from './jest.config.js';

/** `npm run test:real`: tests with real mail servers, where they are installed. */
export default {
  ...usual,
  testMatch: ['<rootDir>/test/real/**/*.test.ts'],
  testPathIgnorePatterns: ['/node_modules/'],
  maxWorkers: 1,
};
