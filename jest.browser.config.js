import usual from './jest.config.js';

/** `npm run test:browser`: the pages in chromium, where it is installed. */
export default {
  ...usual,
  testMatch: ['<rootDir>/test/**/*.browser.test.ts'],
  testPathIgnorePatterns: ['/node_modules/'],
};
