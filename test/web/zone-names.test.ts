import { expect, test } from '@jest/globals';
import { zoneName } from '../../src/web/zone-names.ts';

test.each([
  ['de', 'Europe/Berlin', '2026-10-25T00:30:00Z', 'MESZ'],
  ['de-AT', 'Europe/Vienna', '2026-10-25T01:30:00Z', 'MEZ'],
  ['en', 'Europe/Berlin', '2026-10-25T00:30:00Z', 'CEST'],
  ['en-GB', 'America/New_York', '2026-11-01T05:30:00Z', 'EDT'],
  ['en-US', 'Europe/London', '2026-10-25T00:30:00Z', 'BST'],
  ['en', 'Australia/Sydney', '2027-04-03T16:30:00Z', 'AEST'],
  // No name that people there would know.
  ['de', 'America/New_York', '2026-11-01T06:30:00Z', 'GMT-5'],
])('in %s, %s is called at %s: %s', (tag, zone, at, name) => {
  expect(zoneName(tag, zone, Date.parse(at))).toBe(name);
});
