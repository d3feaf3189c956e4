import { expect, test } from '@jest/globals';
import { z } from 'zod';
import '../../src/wording.ts';

test.each([
  [z.int(), 1e300, 'must be a whole number'],
  [z.int(), -1e300, 'must be a whole number'],
  [z.int().max(5), 6, 'must be at most 5'],
  [z.int().min(1), 0, 'must be 1 or more'],
])('the bound of all whole numbers is told as their form, others as they are (%#)', (schema, value, message) => {
  expect(schema.safeParse(value).error?.issues.map((issue) => issue.message)).toEqual([message]);
});
