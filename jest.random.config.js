import usual from './jest.config.js';

/** `npm run test:random`: a few rounds of the randomized tests; `npm run test:long` runs many. */
export default {
  ...usual,
  testMatch: ['<rootDir>/test/**/*.random.test.ts'],
  testPathIgnorePatterns: ['/node_modules/'],
};
