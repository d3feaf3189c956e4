import { expect, test } from '@jest/globals';
import fc from 'fast-check';
import { cutSlices } from '../../src/lessons/import.ts';

test('slices take each lesson of the body exactly once, in order, and none is larger than asked for', () => {
  fc.assert(
    fc.property(fc.array(fc.nat(25), { maxLength: 40 }), fc.integer({ min: 1, max: 12 }), (counts, size) => {
      const slices = [...cutSlices(counts, size)];
      const taken = slices.flatMap(({ firstJob, lastJob, firstLesson, lastLesson }) =>
        counts.slice(firstJob, lastJob + 1).flatMap((count, job) =>
          Array.from({ length: count }, (_, lesson) => lesson)
            .filter((lesson) => lesson >= firstLesson && lesson < lastLesson)
            .map((lesson) => [firstJob + job, lesson]),
        ),
      );
      const all = counts.flatMap((count, job) => Array.from({ length: count }, (_, lesson) => [job, lesson]));
      expect(taken).toEqual(all);
      expect(slices.every(({ lessons }) => lessons <= size)).toBe(true);
      expect(slices.reduce((sum, { lessons }) => sum + lessons, 0)).toBe(all.length);
    }),
  );
});
