/** Scenarios of free rooms, usage, audit and the like, for both fronts; run by `api.scenarios`. */
import {
  audit,
  book,
  freeResources,
  has,
  hourOf,
  items,
  organizers,
  page,
  type Row,
  refused,
  release,
  slot,
  usage,
} from './scenarios.ts';

const date = slot(0).slice(0, 10);
const day = { from: date, to: date };
const none = {
  openMinutes: 0,
  occupiedMinutes: 0,
  occupancyPercent: null,
  outsideMinutes: 0,
  unusedMinutes: 0,
  bookings: 0,
  noShows: 0,
  releasedEarly: 0,
};
const open = { ...none, openMinutes: 600, occupancyPercent: 0 };

/** One call of each kind. */
export const everyReport = [
  ...[audit(), freeResources(), usage('resources', day), usage('hours', day), usage('weeks', day), organizers()],
];

export const reportScenarios: Record<string, Row[]> = {
  'rooms that are free, the nearest fit first': [
    [book(hourOf('room R001', 12)), has({ id: 'booking 1' })],
    [
      freeResources({ from: slot(10), locationId: 'campus', search: 'r00' }),
      items(
        { resourceId: 'room R001', resourceName: 'R001', locationName: 'Campus', freeUntil: slot(12) },
        { resourceId: 'room R002', kind: 'Room', capacity: null, equipment: [] },
        { resourceId: 'room R003' },
      ),
    ],
    [
      freeResources({ from: slot(10), minutes: 100, setupMinutes: 10, teardownMinutes: 15, search: 'R001 camp' }),
      items({ freeUntil: slot(11.75) }),
    ],
    [freeResources({ from: slot(10), minutes: 100, teardownMinutes: 21, search: 'R001' }), items()],
    [freeResources({ from: slot(10), kind: 'ROOM', search: 'r', limit: 1 }), items({ resourceId: 'room R001' })],
    [freeResources({ from: slot(10), minCapacity: 1 }), items()],
    [freeResources({ from: slot(10), equipment: 'Beamer' }), items()],
    [freeResources({ from: slot(2), locationId: 'campus' }), items()],
    ...[{ minutes: 0 }, { limit: 201 }, { from: 'now' }, { search: '...' }, { locationId: 'x' }].map(
      (query): Row => [freeResources(query), refused('BAD_USER_INPUT')],
    ),
  ],

  'how rooms are used, for Admins': [
    [book(hourOf('room R001', 9, { setupMinutes: 15 })), has({ id: 'booking 1' })],
    [book(hourOf('room R002', 9)), has({ id: 'booking 2' })],
    [release('booking 2'), has({ status: 'Released' })],
    [
      usage('resources', { ...day, locationId: 'campus', search: 'r00' }),
      items(
        {
          resourceId: 'room R001',
          resourceName: 'R001',
          locationId: 'campus',
          use: { ...open, occupiedMinutes: 75, occupancyPercent: 13, bookings: 1 },
        },
        { resourceId: 'room R002', use: { ...open, unusedMinutes: 60, bookings: 1, releasedEarly: 1 } },
        { resourceId: 'room R003', use: open },
      ),
      'admin',
    ],
    [
      usage('weeks', { ...day, resourceIds: 'room R001' }),
      items({ locationId: 'campus', locationName: 'Campus', use: { openMinutes: 600, occupiedMinutes: 75 } }),
      'admin',
    ],
    [usage('hours', { ...day, resourceIds: 'room R001' }), has({ nextCursor: null }), 'admin'],
    ...(['resources', 'hours', 'weeks'] as const).flatMap((list): Row[] => [
      [usage(list, day), refused('FORBIDDEN')],
      [usage(list, { from: date }), refused('BAD_USER_INPUT'), 'admin'],
      [usage(list, { from: date, to: '2000-01-01' }), refused('BAD_USER_INPUT'), 'admin'],
    ]),
  ],

  'the audit, for Admins': [
    [audit({ subject: 'Location', from: slot(0), to: slot(1) }), page(null), 'admin'],
    [audit({ personId: 'admin', action: 'change location', subjectId: '1', limit: 1 }), page(null), 'admin'],
    [audit(), refused('FORBIDDEN')],
    [audit({ subject: 'Nonsense' }), refused('BAD_USER_INPUT'), 'admin'],
    [audit({ from: slot(1), to: slot(0) }), refused('BAD_USER_INPUT'), 'admin'],
  ],

  'whom a booking may be for': [
    [organizers({ search: 'coll' }), items({ personId: 'colleague', displayName: 'Colleague' }), 'admin'],
    [
      organizers({ limit: 3 }),
      page('cursor 1', { personId: 'admin' }, { personId: 'user' }, { personId: 'importer' }),
      'admin',
    ],
    [organizers({ limit: 3, cursor: 'cursor 1' }), page(null, { personId: 'colleague' }), 'admin'],
    [organizers(), refused('FORBIDDEN')],
    [organizers({ search: '?' }), refused('BAD_USER_INPUT'), 'admin'],
  ],
};
