import usual from './jest.config.js';

/** `npm run test:random`: a few rounds of what throws dice; `npm run test:long` does many. */
export default {
  ...usual,
  testMatch: ['<rootDir>/test/**/*.random.test.ts'],
  testPathIgnorePatterns: ['/node_modules/'],
};
