import usual from './jest.config.js';

/** Against real mail servers, where they are installed. */
export default {
  ...usual,
  testMatch: ['<rootDir>/test/real/**/*.test.ts'],
  testPathIgnorePatterns: ['/node_modules/'],
  maxWorkers: 1,
};
