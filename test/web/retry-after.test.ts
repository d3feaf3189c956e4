import { expect, test } from '@jest/globals';
import { retryAfterOf } from '../../src/web/retry-after.ts';

test.each<[string, Record<string, string>, number | undefined]>([
  ['seconds', { 'retry-after': '40' }, 40],
  ['an hour at most, as timers of browsers overflow', { 'retry-after': '99999999' }, 3_600],
  [
    'a date, by the clock of the sender',
    { 'retry-after': 'Fri, 20 Nov 2026 11:01:30 GMT', date: 'Fri, 20 Nov 2026 11:00:00 GMT' },
    90,
  ],
  ['no wait until a date that is over', { 'retry-after': 'Fri, 20 Nov 2015 11:00:00 GMT' }, undefined],
  ['no wait of no seconds', { 'retry-after': '0' }, undefined],
  ['no wait where it cannot be read', { 'retry-after': 'soon' }, undefined],
  ['no wait without the header', {}, undefined],
])('a page waits as Retry-After asks: %s', (_what, headers, seconds) => {
  expect(retryAfterOf(new Headers(headers))).toBe(seconds);
});
