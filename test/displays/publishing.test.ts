import { setImmediate as nextTurn } from 'node:timers/promises';
import { expect, test } from '@jest/globals';
import { openPublishing } from '../../src/displays/publishing.ts';

test('rooms that change at one instant are told in order, some in each turn of the event loop', async () => {
  let now = 0;
  const publish = openPublishing(() => now);
  const told: number[] = [];
  const all = Array.from({ length: 7 }, (_, room) =>
    publish(() => {
      told.push(room);
      now += 8;
    }),
  );
  expect(told).toEqual([]);
  await nextTurn();
  expect(told).toEqual([0, 1, 2]);
  const late = publish(() => void told.push(7));
  await nextTurn();
  expect(told).toEqual([0, 1, 2, 3, 4, 5]);
  await Promise.all([...all, late]);
  expect(told).toEqual([0, 1, 2, 3, 4, 5, 6, 7]);
});

test('a room that cannot be told holds no other', async () => {
  const publish = openPublishing();
  const failing = publish(() => {
    throw new Error('no such plan');
  });
  const other = publish(() => {});
  await expect(failing).rejects.toThrow('no such plan');
  await other;
  await publish(() => {});
});
