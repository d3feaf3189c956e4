import usual from './jest.config.js';

/** `npm run test:processes`: tests in which processes of the program, of PostgreSQL and of proxies start, stop, hang and are killed. */
export default {
  ...usual,
  testMatch: ['<rootDir>/test/**/*.process.test.ts'],
  testPathIgnorePatterns: ['/node_modules/'],
};
