import fs from 'node:fs';
import usual from './jest.config.js';

/** `npm run test:long`: `*.long.test.ts`, and all test files that have longer versions (test/_util/long.ts). */
const files = fs
  .globSync('test/**/*.test.ts', { cwd: import.meta.dirname })
  .filter((file) => /\.long\.test\.ts$/.test(file) || /_util\/long\.ts'/.test(fs.readFileSync(file, 'utf8')));

export default {
  ...usual,
  testMatch: files.map((file) => `<rootDir>/${file}`),
  testPathIgnorePatterns: ['/node_modules/'],
  globals: { isLong: true },
  testTimeout: 3_600_000,
};
