import { expect, test } from '@jest/globals';
import { LRUCache } from 'lru-cache';
import { atMost } from '../../src/flow/caches.ts';

test('a cache keeps as many entries as it may, those that were used last', () => {
  const cache = new LRUCache<string, number>(atMost(3));
  for (const [value, key] of ['a', 'b', 'c'].entries()) cache.set(key, value);
  expect(cache.get('a')).toBe(0);
  cache.set('d', 3);
  expect([...cache.keys()].sort()).toEqual(['a', 'c', 'd']);
});
