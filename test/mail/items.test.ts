/** How single items of a mail server are read. */
import { describe, expect, test } from '@jest/globals';
import { readItems } from '../../src/mail/items.ts';
import type { RemoteItem } from '../../src/mail-servers/connector.ts';

const mandatorUid = '0d9f3a52-5c1e-4a43-9d5e-0f5a3f0f8d11';
const window = { start: new Date('2026-01-01T00:00Z'), end: new Date('2027-01-01T00:00Z') };

const remote = (more: Partial<RemoteItem> = {}): RemoteItem => ({
  id: 'i',
  occurrence: '',
  uid: 'u',
  days: null,
  subject: 's',
  organizer: null,
  start: new Date('2026-06-01T08:00Z'),
  end: new Date('2026-06-01T09:00Z'),
  isPrivate: false,
  isCancelled: false,
  response: 'Accepted',
  shownAs: 'Busy',
  changedAt: null,
  origin: null,
  changeKey: null,
  ...more,
});

const take = (items: RemoteItem[], { timeZone = 'Europe/Berlin', id = 'g' } = {}) =>
  readItems(
    { whole: false, groups: [{ id, items }], removed: [], cursor: 'c', address: null },
    { window, timeZone, mandatorUid },
  ).items;
const takeOne = (more: Partial<RemoteItem>, options = {}) => take([remote(more)], options)[0];

describe('whole days are those of the room', () => {
  test.each([
    ['Europe/Berlin', '2026-07-01', '2026-07-02', '2026-06-30T22:00:00.000Z', 24],
    ['Europe/Berlin', '2026-03-29', '2026-03-30', '2026-03-28T23:00:00.000Z', 23],
    ['Pacific/Kiritimati', '2026-07-01', '2026-07-03', '2026-06-30T10:00:00.000Z', 48],
    // There the clocks go forward at midnight, which they skip; and go back at midnight, which comes twice.
    ['Africa/Cairo', '2026-04-24', '2026-04-25', '2026-04-23T22:00:00.000Z', 23],
    ['Asia/Beirut', '2026-03-29', '2026-03-30', '2026-03-28T22:00:00.000Z', 23],
    ['America/Havana', '2026-11-01', '2026-11-02', '2026-11-01T04:00:00.000Z', 25],
  ])('%s, from %s to %s', (timeZone, from, to, start, hours) => {
    const item = takeOne({ days: { from, to } }, { timeZone });
    expect(item?.booking?.start.toISOString()).toBe(start);
    expect((item!.end!.getTime() - item!.start!.getTime()) / 3_600_000).toBe(hours);
  });

  test.each(['2026-02-30', 'yesterday', '', '2026-06-01T00:00'])('%j is no date', (from) => {
    const item = takeOne({ days: { from, to: '2026-06-02' } });
    expect(item).toMatchObject({ state: 'Unreadable', booking: null, start: null });
  });
});

test.each<[Partial<RemoteItem>, string | null]>([
  [{ uid: `booking-7@${mandatorUid}` }, 'PassedOver'],
  [{ uid: `booking-7-2@${mandatorUid.toUpperCase()}` }, 'PassedOver'],
  [{ origin: `booking-7@${mandatorUid}` }, 'PassedOver'],
  [{ origin: `booking-7-12@${mandatorUid}`, uid: null }, 'PassedOver'],
  [{ origin: 'booking-7@another' }, null],
  [{ uid: `xbooking-7@${mandatorUid}` }, null],
])('what carries our mark is not booked: %j is %s', (more, state) => {
  expect(takeOne(more)?.state).toBe(state);
});

test('items outside the window are left out; those that reach into it are not', () => {
  const at = (start: string, end: string) => take([remote({ start: new Date(start), end: new Date(end) })]).length;
  expect(at('2025-12-31T22:00Z', '2026-01-01T00:00Z')).toBe(0);
  expect(at('2025-12-31T22:00Z', '2026-01-01T00:01Z')).toBe(1);
  expect(at('2027-01-01T00:00Z', '2027-01-01T01:00Z')).toBe(0);
  expect(at('+012345-01-01T00:00Z', '+012345-01-01T01:00Z')).toBe(0);
});

test.each([
  [`booking-4711@${mandatorUid}`, 'PassedOver'],
  [`BOOKING-4711@${mandatorUid.toUpperCase()}`, 'PassedOver'],
  [`booking-4711@${mandatorUid}.example`, null],
  ['booking-4711@0d9f3a52-5c1e-4a43-9d5e-000000000000', null],
])('the UID %s: %s', (uid, state) => {
  expect(takeOne({ uid })?.state).toBe(state);
});

test.each([
  [{}, 'Confirmed'],
  [{ response: 'Organizer' }, 'Confirmed'],
  [{ response: 'None' }, 'Tentative'],
  [{ response: 'Tentative' }, 'Tentative'],
  [{ shownAs: 'Tentative' }, 'Tentative'],
] as const)('%j is %s', (more, status) => {
  expect(takeOne(more)?.booking?.status).toBe(status);
});

test('the hash depends on all that matters, and on nothing else', () => {
  const hash = (more: Partial<RemoteItem>) => takeOne(more)!.hash.toString('hex');
  const plain = hash({});
  expect(hash({ changedAt: new Date() })).toBe(plain);
  expect(hash({ subject: ' s ' })).toBe(plain);
  const others = [
    ...[{ id: 'j' }, { uid: 'v' }, { subject: 't' }, { subject: null }, { isPrivate: true }, { response: 'None' }],
    ...[{ start: new Date('2026-06-01T07:59Z') }, { end: new Date('2026-06-01T09:01Z') }, { shownAs: 'Free' }],
    ...[{ isCancelled: true }, { organizer: { name: 'n', email: null } }, { organizer: { name: null, email: 'n' } }],
  ] as Partial<RemoteItem>[];
  expect(new Set([plain, ...others.map(hash)]).size).toBe(others.length + 1);
});

test('ids of any length and of any characters are kept apart', () => {
  const ids = ['x'.repeat(501), `${'x'.repeat(500)}y`, '\u0000', '\u0001', '\ud800', 'plain'];
  const kept = ids.map((id) => take([remote({ id, occurrence: id })], { id })[0]!);
  for (const { groupId, itemId, occurrence } of kept) {
    expect([itemId, occurrence]).toEqual([groupId, groupId]);
    expect(groupId.length).toBeLessThanOrEqual(512);
    expect(groupId).toMatch(/^[\w:-]+$/);
  }
  expect(new Set(kept.map(({ groupId }) => groupId)).size).toBe(ids.length);
});

test('a group that cannot be read is reported, and removes nothing', () => {
  const { items, unreadable } = readItems(
    {
      whole: true,
      removed: [],
      cursor: 'c',
      address: null,
      groups: [{ id: 'g', items: [], unreadable: 'A rule\r\nthat nobody knows.' }],
    },
    { window, timeZone: 'UTC', mandatorUid },
  );
  expect([...unreadable]).toEqual(['g']);
  expect(items).toMatchObject([{ groupId: 'g', state: 'Unreadable', reason: 'A rule that nobody knows.' }]);
});
