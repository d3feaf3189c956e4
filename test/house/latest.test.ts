import { expect, test } from '@jest/globals';
import { latestOf, nextOf } from '../../src/flow/latest.ts';

/** An iterator that counts how often it is asked. */
function counted(answers: (() => IteratorResult<number, undefined>)[]) {
  const told = { asked: 0, returned: 0 };
  const iterator: AsyncIterator<number, undefined> = {
    async next() {
      return (answers[told.asked++] ?? (() => ({ value: undefined, done: true })))();
    },
    async return() {
      told.returned++;
      return { value: undefined, done: true };
    },
  };
  return { told, source: latestOf(iterator) };
}
const one = (value: number) => () => ({ value, done: false }) as const;

test('an iterator is asked for the next only when somebody takes', async () => {
  const { told, source } = counted([one(1), one(2)]);
  expect(told.asked).toBe(0);
  expect(await nextOf(source)).toBe(1);
  await new Promise(setImmediate);
  expect(told.asked).toBe(1);
  expect([await nextOf(source), await nextOf(source)]).toEqual([2, undefined]);
  expect([source.isOver, told.asked]).toEqual([true, 3]);
});

test('what an iterator fails with is thrown once, and is the end', async () => {
  const { source } = counted([
    () => {
      throw new Error('down');
    },
  ]);
  await expect(nextOf(source)).rejects.toThrow('down');
  expect([source.take(), source.isOver]).toEqual([undefined, true]);
});

test('a waiting reader is answered when the source is closed, and the iterator is closed once', async () => {
  const { told, source } = counted([]);
  source.take();
  const waiting = nextOf(source);
  source.close();
  source.close();
  expect([await waiting, told.returned]).toEqual([undefined, 1]);
});
