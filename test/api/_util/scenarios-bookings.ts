/** What bookings do, whatever the front; run by `api.scenarios`. */
import { expect } from '@jest/globals';
import {
  book,
  booking,
  bookings,
  cancelBooking,
  change,
  checkIn,
  create,
  decide,
  done,
  extend,
  has,
  hourOf,
  items,
  job,
  jobOf,
  lessonOf,
  lessons,
  page,
  type Row,
  refused,
  release,
  slot,
  timetable,
  undo,
} from './scenarios.ts';

const unknown = '2000000000';
const onDay = (days: number) => ({ from: slot(0, days), to: slot(24, days) });
const user = { personId: 'user', displayName: 'User of (mandator)' };
const occupied = (bookingId: string, from: number, to: number, more: object = {}) => ({
  ...{ bookingId, resourceId: 'room R001', kind: 'Booking', subject: 'Sitzung' },
  ...{ start: slot(from), end: slot(to) },
  ...more,
});

/** One call of each kind, none of which is meant to come to anything. */
export const everyBookingCall = [
  ...[book(hourOf('room R001', 9)), booking(unknown), bookings(), timetable(), change(unknown, {}, { version: 1 })],
  ...[cancelBooking(unknown), checkIn(unknown), release(unknown), extend(unknown, 5), undo(unknown, 1)],
  decide(unknown, 'Approved', { version: 1 }),
];

/** A booking of the present moment, made by an Admin: opening hours do not count. */
const now = Date.now();
const minutes = (count: number) => new Date(now + count * 60_000).toISOString();
const presentHour = {
  ...{ resourceId: 'room R003', subject: 'Jetzt', start: minutes(-1), end: minutes(59) },
};

export const bookingScenarios: Record<string, Row[]> = {
  'a booking from its making to its end, and every member of it': [
    [
      book(
        hourOf('room R001', 9, {
          ...{ description: 'D', setupMinutes: 15, teardownMinutes: 10, isPrivate: false },
          ...{ kind: 'Booking', status: 'Tentative', organizerId: 'user', conflictHandling: 'Fail' },
          recurrenceRule: null,
        }),
      ),
      has({
        ...{ id: 'booking 1', uid: '(uid)', resourceId: 'room R001', resourceName: 'R001', series: null },
        ...{ locationId: 'campus', subject: 'Sitzung', description: 'D', start: slot(9), end: slot(10) },
        ...{ timeZone: 'Europe/Berlin', status: 'Tentative', kind: 'Booking', isPrivate: false },
        organizer: { ...user, email: 'user@(mandator).example' },
        ...{ seriesId: null, recurrenceRule: null, setupMinutes: 15, teardownMinutes: 10, checkIn: null },
        origin: { system: 'Api', batchId: null, jobID: null, lektionId: null, mailItemId: null },
        ...{ lektion: null, createdAt: '(instant)', createdBy: user, changedAt: '(instant)', version: 1 },
        decision: null,
      }),
    ],
    [booking('booking 1'), has({ id: 'booking 1', description: 'D' }), 'colleague'],
    [
      change(
        'booking 1',
        {
          ...{ resourceId: 'room R002', subject: 'New', description: null, status: 'Confirmed' },
          ...{ start: slot(10), end: slot(12), isPrivate: true, setupMinutes: 0, teardownMinutes: 0 },
        },
        { version: 1, scope: 'This', conflictHandling: 'Fail' },
      ),
      has({ resourceName: 'R002', subject: 'New', description: null, end: slot(12), version: 2 }),
    ],
    [change('booking 1', { subject: 'New' }, { version: 2 }), has({ version: 2 })],
    [change('booking 1', { subject: 'Late' }, { version: 1 }), refused('CONFLICT')],
    [change('booking 1', { subject: 'Any' }), refused('BAD_USER_INPUT')],
    [cancelBooking('booking 1', { version: 1 }), refused('CONFLICT')],
    [cancelBooking('booking 1', { version: 2 }), has({ status: 'Cancelled', version: 3 })],
    [cancelBooking('booking 1'), has({ status: 'Cancelled', version: 3 })],
    [change('booking 1', { subject: 'Late' }, { version: 3 }), refused('CONFLICT')],
    [release('booking 1'), refused('CONFLICT')],
    [extend('booking 1', 5), refused('CONFLICT')],
    [booking('booking 1'), has({ status: 'Cancelled', end: slot(12) })],
  ],

  'bookings page by page and by filter, stable while others come in': [
    [book(hourOf('room R001', 9)), has({ id: 'booking 1' })],
    [book(hourOf('room R002', 9)), has({ id: 'booking 2' }), 'colleague'],
    [book(hourOf('room R001', 12)), has({ id: 'booking 3' })],
    [bookings({ ...onDay(0), limit: 2 }), page('cursor 1', { id: 'booking 1' }, { id: 'booking 2' })],
    [book(hourOf('room R002', 8)), has({ id: 'booking 4' })],
    [bookings({ ...onDay(0), limit: 2, cursor: 'cursor 1' }), page(null, { id: 'booking 3' })],
    [bookings({ ...onDay(0), resourceId: 'room R002' }), items({ id: 'booking 4' }, { id: 'booking 2' })],
    [bookings({ ...onDay(0), locationId: 'campus', kind: 'Lesson' }), items()],
    [bookings({ ...onDay(0), personId: 'colleague' }), items({ id: 'booking 2' })],
    [bookings({ ...onDay(0), status: 'Confirmed', kind: 'Booking', limit: 1 }), has({ nextCursor: 'cursor 2' })],
    [bookings({ ...onDay(0), changedAfter: '2020-01-01T00:00:00Z', limit: 100 }), page(null, {}, {}, {}, {})],
    [bookings({ ...onDay(0), changedAfter: slot(0) }), items()],
    [bookings({ from: slot(10), to: slot(13) }), items({ id: 'booking 3' })],
    [cancelBooking('booking 3'), has({ status: 'Cancelled' })],
    [bookings({ ...onDay(0), status: 'Cancelled' }), items({ id: 'booking 3', version: 2 })],
    [
      bookings({ ...onDay(0), status: ['Cancelled', 'Tentative'], kind: ['Booking', 'Block'] }),
      items({ id: 'booking 3' }),
    ],
    [bookings({ ...onDay(0), occupying: false }), items({ id: 'booking 3' })],
    [
      bookings({ ...onDay(0), occupying: true, resourceId: ['room R001', 'room R002'] }),
      items({ id: 'booking 4' }, { id: 'booking 1' }, { id: 'booking 2' }),
    ],
    [
      bookings({ ...onDay(0), order: 'Descending', limit: 3 }),
      page('cursor 3', { id: 'booking 3' }, { id: 'booking 2' }, { id: 'booking 1' }),
    ],
    [bookings({ ...onDay(0), order: 'Descending', cursor: 'cursor 3' }), page(null, { id: 'booking 4' })],
    [bookings({ status: ['Confirmed', 'Done'] }), refused('BAD_USER_INPUT')],
    [bookings({ order: 'Sideways' }), refused('BAD_USER_INPUT')],
    [bookings({ from: slot(0), to: slot(0) }), refused('BAD_USER_INPUT')],
    [bookings({ from: slot(0), to: slot(0, 367) }), refused('BAD_USER_INPUT')],
    [bookings({ cursor: 'made up' }), refused('BAD_USER_INPUT')],
    [bookings({ status: 'Done' }), refused('BAD_USER_INPUT')],
  ],

  'a private booking shows its content to whom it is for, who made it, and Admins': [
    [
      book(hourOf('room R001', 9, { isPrivate: true, description: 'D', organizerId: 'user' })),
      has({ subject: 'Sitzung' }),
      'admin',
    ],
    [booking('booking 1'), has({ subject: 'Sitzung', description: 'D', createdBy: { personId: 'admin' } })],
    [
      booking('booking 1'),
      has({ subject: 'Belegt', description: null, organizer: null, createdBy: null, isPrivate: true }),
      'colleague',
    ],
    [bookings(onDay(0)), items({ subject: 'Belegt', organizer: null }), 'colleague'],
    [bookings({ ...onDay(0), personId: 'user' }), items({ subject: 'Sitzung' }), 'admin'],
    [
      book(hourOf('room R001', 9)),
      refused('CONFLICT', { conflicts: [{ bookingId: 'booking 1', subject: 'Belegt' }] }),
      'colleague',
    ],
  ],

  'what is occupied: who is in the way, and what is possible instead': [
    [book(hourOf('room R001', 9, { setupMinutes: 30, teardownMinutes: 30 })), has({ version: 1 })],
    [
      book(hourOf('room R001', 10)),
      refused('CONFLICT', {
        conflicts: [occupied('booking 1', 8.5, 10.5, { wantedStart: slot(10) })],
        alternatives: expect.arrayContaining([
          expect.objectContaining({ resourceId: 'room R002', start: slot(10), end: slot(11) }),
        ]),
      }),
      'colleague',
    ],
    [book(hourOf('room R001', 10.5)), has({ id: 'booking 2' })],
    [
      change('booking 2', { start: slot(10) }, { version: 1 }),
      refused('CONFLICT', { conflicts: [{ bookingId: 'booking 1' }] }),
    ],
    [book(hourOf('room R001', 12)), has({ id: 'booking 3' })],
    [extend('booking 2', 60), refused('CONFLICT', { conflicts: [{ bookingId: 'booking 3' }] })],
    [extend('booking 2', 30, { version: 1 }), has({ end: slot(12), version: 2 })],
    // The answer was lost, and the call comes again.
    [extend('booking 2', 30, { version: 1 }), refused('CONFLICT')],
  ],

  'a series fails or skips, and is changed and cancelled in parts': [
    [book(hourOf('room R001', 9, { start: slot(9, 1), end: slot(10, 1) })), has({ id: 'booking 1' }), 'colleague'],
    [
      book(hourOf('room R001', 9, { recurrenceRule: 'FREQ=DAILY;COUNT=4' })),
      refused('CONFLICT', { conflicts: [{ bookingId: 'booking 1', wantedStart: slot(9, 1) }] }),
    ],
    [
      book(hourOf('room R001', 9, { recurrenceRule: 'FREQ=DAILY;COUNT=4', conflictHandling: 'Skip' })),
      has({
        ...{ id: 'booking 2', seriesId: 'series 1', recurrenceRule: 'FREQ=DAILY;COUNT=4', start: slot(9) },
        series: {
          ...{ seriesId: 'series 1', bookingIds: ['booking 2', 'booking 3', 'booking 4'] },
          skipped: [{ start: slot(9, 1), end: slot(10, 1), conflicts: [{ bookingId: 'booking 1' }] }],
        },
      }),
    ],
    [
      change('booking 3', { start: slot(8, 2), subject: 'Früher' }, { version: 1, scope: 'Following' }),
      has({ start: slot(8, 2), end: slot(10, 2), version: 2 }),
    ],
    [
      bookings({ seriesId: 'series 1' }),
      items(
        { id: 'booking 2', start: slot(9), version: 1 },
        { id: 'booking 3', start: slot(8, 2), subject: 'Früher' },
        { id: 'booking 4', start: slot(8, 3), subject: 'Früher', version: 2 },
      ),
    ],
    [change('booking 2', { start: slot(9, 1) }, { version: 1, scope: 'All' }), refused('BAD_USER_INPUT')],
    [cancelBooking('booking 4'), has({ status: 'Cancelled' })],
    [cancelBooking('booking 2', { scope: 'All' }), has({ status: 'Cancelled', version: 2 })],
    [
      bookings({ seriesId: 'series 1', status: 'Cancelled' }),
      items({ id: 'booking 2' }, { id: 'booking 3' }, { id: 'booking 4' }),
    ],
  ],

  'a key answers the same bookings again, to the same person and the same wishes': [
    [book(hourOf('room R001', 9), 'K'), has({ id: 'booking 1' })],
    [book(hourOf('room R001', 9), 'K'), has({ id: 'booking 1', version: 1 })],
    [book(hourOf('room R001', 10), 'K'), refused('BAD_USER_INPUT')],
    [book(hourOf('room R001', 10), 'K'), has({ id: 'booking 2' }), 'colleague'],
    ...['two words', 'é', 'K'.repeat(256)].map(
      (key): Row => [book(hourOf('room R001', 11), key), refused('BAD_USER_INPUT')],
    ),
    [bookings(onDay(0)), items({ id: 'booking 1' }, { id: 'booking 2' })],
  ],

  'who comes checks in, who goes releases': [
    [
      book(presentHour),
      has({ checkIn: { required: true, from: '(instant)', until: '(instant)', checkedInAt: null } }),
      'admin',
    ],
    [checkIn('booking 1'), refused('FORBIDDEN'), 'colleague'],
    [checkIn('booking 1'), has({ checkIn: { checkedInAt: '(instant)' }, version: 2 }), 'admin'],
    [checkIn('booking 1'), has({ checkIn: { checkedInAt: '(instant)' }, version: 2 }), 'admin'],
    [release('booking 1'), refused('FORBIDDEN'), 'user'],
    [release('booking 1'), has({ status: 'Released', end: minutes(59), version: 3 }), 'admin'],
    [release('booking 1'), has({ status: 'Released', version: 3 }), 'admin'],
    [checkIn('booking 1'), refused('CONFLICT'), 'admin'],
    [cancelBooking('booking 1'), refused('CONFLICT'), 'admin'],
    [book(hourOf('room R003', 9)), has({ id: 'booking 2' })],
    [checkIn('booking 2'), refused('CONFLICT')],
    [book(hourOf('room R001', 9)), has({ checkIn: null })],
    [checkIn('booking 3'), refused('CONFLICT')],
  ],

  'a booking that waits for approval: requested, listed, approved or declined, and requested again': [
    [book(hourOf('room Lab', 9)), has({ id: 'booking 1', status: 'Requested', checkIn: null, decision: null })],
    [book(hourOf('room Lab', 9)), refused('CONFLICT', { conflicts: [{ bookingId: 'booking 1' }] }), 'admin'],
    [bookings({ toDecide: true }), items({ id: 'booking 1', status: 'Requested' }), 'colleague'],
    [bookings({ toDecide: true }), items()],
    [bookings({ ...onDay(0), status: 'Requested', occupying: true }), items({ id: 'booking 1' })],
    [bookings({ ...onDay(0), status: ['Tentative', 'Confirmed'] }), items()],
    [checkIn('booking 1'), refused('CONFLICT')],
    [release('booking 1'), refused('CONFLICT')],
    [change('booking 1', { status: 'Confirmed' }, { version: 1 }), refused('CONFLICT')],
    [decide('booking 1', 'Approved', { version: 1 }), refused('FORBIDDEN')],
    [decide('booking 1', 'Approved', { version: 2 }), refused('CONFLICT'), 'colleague'],
    [decide('booking 1', 'Maybe', { version: 1 }), refused('BAD_USER_INPUT'), 'colleague'],
    [decide('booking 1', 'Approved'), refused('BAD_USER_INPUT'), 'colleague'],
    [
      decide('booking 1', 'Approved', { version: 1, reason: 'Gern' }),
      has({
        ...{ status: 'Confirmed', version: 2 },
        decision: {
          ...{ verdict: 'Approved', decidedAt: '(instant)', reason: 'Gern' },
          decidedBy: { personId: 'colleague', displayName: 'Colleague' },
        },
      }),
      'colleague',
    ],
    [decide('booking 1', 'Approved', { version: 1 }), has({ status: 'Confirmed', version: 2 }), 'colleague'],
    [decide('booking 1', 'Declined', { version: 2 }), refused('CONFLICT'), 'admin'],
    [
      change('booking 1', { start: slot(10), end: slot(11) }, { version: 2 }),
      has({ status: 'Requested', decision: null, version: 3 }),
    ],
    [decide('booking 1', 'Declined', { version: 3 }), has({ status: 'Declined', version: 4 }), 'admin'],
    [cancelBooking('booking 1'), refused('CONFLICT')],
    [
      book(hourOf('room Lab', 9, { recurrenceRule: 'FREQ=DAILY;COUNT=2' })),
      has({ id: 'booking 2', status: 'Requested' }),
    ],
    [decide('booking 2', 'Approved', { version: 1, scope: 'All' }), has({ status: 'Confirmed' }), 'colleague'],
    [bookings({ seriesId: 'series 1', status: 'Confirmed' }), items({ id: 'booking 2' }, { id: 'booking 3' })],
  ],

  'a policy says how long, and who books for others': [
    [book(hourOf('room Lab', 9, { end: slot(11) })), refused('BAD_USER_INPUT')],
    [book(hourOf('room Lab', 9, { organizerId: 'colleague' })), refused('FORBIDDEN')],
    [
      book(hourOf('room Lab', 9, { organizerId: 'user' })),
      has({ status: 'Confirmed', organizer: { personId: 'user' }, createdBy: { personId: 'colleague' } }),
      'colleague',
    ],
    [book(hourOf('room R001', 9, { organizerId: 'user' })), refused('FORBIDDEN'), 'colleague'],
    [book(hourOf('room Lab', 12, { end: slot(15) })), has({ status: 'Confirmed' }), 'admin'],
  ],

  'who may book and change what': [
    [book(hourOf('room R001', 9, { kind: 'Block' })), refused('FORBIDDEN')],
    [book(hourOf('room R001', 9, { organizerId: 'colleague' })), refused('FORBIDDEN')],
    [book(hourOf('room R001', 9)), has({ id: 'booking 1' })],
    ...[change('booking 1', {}, { version: 1 }), cancelBooking('booking 1'), release('booking 1')].map(
      (call): Row => [call, refused('FORBIDDEN'), 'colleague'],
    ),
    [extend('booking 1', 15), refused('FORBIDDEN'), 'colleague'],
    [extend('booking 1', 15), has({ version: 2, createdBy: user }), 'admin'],
    [book(hourOf('room R002', 3)), refused('BAD_USER_INPUT')],
    [book(hourOf('room R002', 3)), has({ start: slot(3) }), 'admin'],
  ],

  'bookings and lessons by class, teacher, subject and words; nobody finds what is hidden': [
    [
      create([
        job(
          'J-1',
          {
            ...{ lektionId: 'L-1', ressourceName: 'R001', beginn: slot(9), ende: slot(10), fach: 'Mathematik' },
            ...{ klassen: ['1a', '1b'], lehrpersonen: ['E. Nöther'], bemerkung: 'Prüfung: Algebra/Zahlen' },
          },
          {
            ...{ lektionId: 'L-2', ressourceName: 'R002', beginn: slot(10), ende: slot(11), fach: 'Mathematik' },
            ...{ klassen: ['1A'], lehrpersonen: ['A. Turing'], privat: true, status: 'Vertretung' },
          },
          {
            ...{ lektionId: 'L-3', ressourceName: 'R001', beginn: slot(11), ende: slot(12), fach: 'Musik' },
            ...{ klassen: ['2a'], status: 'Entfaellt' },
          },
        ),
      ]),
      done(),
    ],
    [
      book(hourOf('room R002', 13, { subject: 'Algebra für alle', description: 'Mit Kaffee' })),
      has({ id: 'booking 1' }),
    ],
    [book(hourOf('room R002', 14, { subject: 'Algebra geheim', isPrivate: true })), has({ id: 'booking 2' })],
    [bookings({ ...onDay(0), klasse: ' 1a' }), items({ subject: 'Mathematik' }, { subject: 'Mathematik' })],
    [bookings({ ...onDay(0), klasse: '1A' }), items({ resourceId: 'room R001' }), 'colleague'],
    [lessons({ ...onDay(0), klasse: '1a', order: 'Descending' }), items({ lektionId: 'L-2' }, { lektionId: 'L-1' })],
    [lessons({ ...onDay(0), klasse: '1a' }), items({ lektionId: 'L-1' }), 'colleague'],
    [lessons({ ...onDay(0), klasse: '1' }), items()],
    [bookings({ ...onDay(0), lehrperson: 'e. no\u0308ther' }), items({ subject: 'Mathematik' }), 'colleague'],
    [bookings({ ...onDay(0), lehrperson: 'A. Turing' }), items(), 'colleague'],
    [lessons({ ...onDay(0), lehrperson: 'A. Turing' }), items(), 'colleague'],
    [lessons({ ...onDay(0), lehrperson: 'A. Turing', fach: 'mathematik' }), items({ lektionId: 'L-2' }), 'admin'],
    [bookings({ ...onDay(0), fach: 'MUSIK' }), items({ status: 'Cancelled' })],
    [bookings({ ...onDay(0), fach: 'Musik', occupying: true }), items()],
    [lessons({ ...onDay(0), status: ['Entfaellt', 'Vertretung'] }), items({ lektionId: 'L-2' }, { lektionId: 'L-3' })],
    [lessons({ ...onDay(0), changed: true }), items({ lektionId: 'L-2' }, { lektionId: 'L-3' })],
    [lessons({ ...onDay(0), changed: true }), items({ lektionId: 'L-3' }), 'colleague'],
    [lessons({ ...onDay(0), order: 'Descending', limit: 1 }), page('cursor 1', { lektionId: 'L-3' })],
    [
      lessons({ ...onDay(0), order: 'Descending', cursor: 'cursor 1', limit: 1 }),
      page('cursor 2', { lektionId: 'L-2' }),
    ],
    [
      bookings({ ...onDay(0), search: 'algebra' }),
      items({ subject: 'Mathematik' }, { id: 'booking 1' }, { id: 'booking 2' }),
    ],
    [bookings({ ...onDay(0), search: 'ALGEBRA' }), items({}, { id: 'booking 1' }), 'colleague'],
    [bookings({ ...onDay(0), search: 'alg fur kaffe' }), items({ id: 'booking 1' }), 'colleague'],
    [bookings({ ...onDay(0), search: 'geheim' }), items(), 'colleague'],
    [bookings({ ...onDay(0), search: 'geheim' }), items({ id: 'booking 2' })],
    [bookings({ ...onDay(0), search: 'noth 1b math' }), items({ subject: 'Mathematik' }), 'colleague'],
    [lessons({ ...onDay(0), search: 'Zahlen, prüf' }), items({ lektionId: 'L-1' }), 'colleague'],
    [bookings({ ...onDay(0), search: 'l' }), items()],
    [bookings({ ...onDay(0), search: 'algebra', klasse: '1b', resourceId: ['room R002'] }), items()],
    [bookings({ ...onDay(1), search: 'algebra' }), items()],
    [bookings({ search: 'a'.repeat(101) }), refused('BAD_USER_INPUT')],
    [bookings({ search: '(!)' }), refused('BAD_USER_INPUT')],
    [lessons({ klasse: '' }), refused('BAD_USER_INPUT')],
    [lessons({ klasse: '1a', from: slot(0), to: slot(0, 367) }), refused('BAD_USER_INPUT')],
  ],

  'timetables of a class, a teacher, a room and a person; one lesson, one job': [
    [
      create([
        job(
          'J-1',
          {
            ...{ lektionId: 'L-1', ressourceName: 'R001', beginn: slot(9), ende: slot(10), fach: 'Mathematik' },
            ...{ klassen: ['1a'], lehrpersonen: ['E. NÖTHER', 'X'] },
          },
          {
            ...{ lektionId: 'L-2', ressourceName: 'R002', beginn: slot(10), ende: slot(11), fach: 'Physik' },
            ...{ klassen: ['1a'], lehrpersonen: ['A. Turing'], status: 'Entfaellt' },
          },
          {
            ...{ lektionId: 'L-3', ressourceName: 'R001', beginn: slot(11), ende: slot(12), fach: 'Chemie' },
            ...{ klassen: ['1a'], lehrpersonen: ['E. Nöther'], privat: true },
          },
        ),
      ]),
      done(),
    ],
    [book(hourOf('room R002', 13)), has({ id: 'booking 1' }), 'colleague'],
    [timetable(onDay(0)), items({ subject: 'Mathematik' }, { subject: 'Belegt' }, { id: 'booking 1' }), 'colleague'],
    [timetable({ ...onDay(0), personId: 'colleague' }), has({ nextCursor: null }), 'colleague'],
    [timetable({ ...onDay(0), personId: 'colleague' }), refused('FORBIDDEN')],
    [
      timetable({ ...onDay(0), personId: 'colleague', order: 'Descending' }),
      items({ id: 'booking 1' }, { subject: 'Chemie' }, { subject: 'Mathematik' }),
      'admin',
    ],
    [timetable({ ...onDay(0), personId: unknown }), refused('NOT_FOUND'), 'admin'],
    [timetable(onDay(0)), items()],
    [
      timetable({ ...onDay(0), klasse: '1A', limit: 1 }),
      page('cursor 1', { subject: 'Mathematik', lektion: { klassen: ['1a'] } }),
      'colleague',
    ],
    [
      timetable({ ...onDay(0), klasse: '1A', cursor: 'cursor 1' }),
      page(null, { subject: 'Physik', status: 'Cancelled', lektion: { status: 'Entfaellt' } }),
      'colleague',
    ],
    [timetable({ ...onDay(0), lehrperson: 'a. turing' }), items({ subject: 'Physik' })],
    [timetable({ ...onDay(0), resourceId: 'room R002' }), items({ subject: 'Physik' }, { id: 'booking 1' })],
    [timetable({ resourceId: unknown }), refused('NOT_FOUND')],
    [timetable({ klasse: '1a', lehrperson: 'X' }), refused('BAD_USER_INPUT')],
    [timetable({ from: slot(0), to: slot(0, 367) }), refused('BAD_USER_INPUT')],
    [lessonOf('J-1', 'L-1'), has({ lektionId: 'L-1', fach: 'Mathematik', ressourceName: 'R001' }), 'colleague'],
    [lessonOf('J-1', 'L-3'), has({ titel: 'Belegt', fach: null, privat: true }), 'colleague'],
    [lessonOf('J-1', 'L-1', { byId: true }), has({ lektionId: 'L-1', fach: 'Mathematik' }), 'colleague'],
    [lessonOf('J-1', 'L-3', { byId: true }), has({ titel: 'Belegt', fach: null, privat: true }), 'colleague'],
    [lessonOf('J-1', 'L-9'), refused('NOT_FOUND')],
    [lessonOf('J-9', 'L-1'), refused('NOT_FOUND')],
    [jobOf('J-1'), has({ jobID: 'J-1', lessonCount: 3 })],
    [jobOf('J-1', { byId: true }), has({ jobID: 'J-1', lessonCount: 3 })],
    [jobOf('J-9'), { has: { failed: 'NOT_FOUND' } }],
    [jobOf('J-9', { byId: true }), { has: { failed: 'NOT_FOUND' } }],
  ],

  'a lesson is a booking that only its job changes': [
    [
      create([
        job('J-1', {
          ...{ lektionId: 'L-1', ressourceName: 'R001', beginn: slot(9), ende: slot(10), fach: 'Math' },
          ...{ klassen: ['1a'], lehrpersonen: ['E. Noether'] },
        }),
      ]),
      done(),
    ],
    [
      bookings(onDay(0)),
      items({
        ...{ id: 'booking 1', kind: 'Lesson', subject: 'Math', organizer: null, createdBy: user },
        origin: { system: 'Import', batchId: 'batch 1', jobID: 'J-1', lektionId: 'L-1' },
        lektion: {
          ...{ fach: 'Math', klassen: ['1a'], lehrpersonen: ['E. Noether'], status: 'Geplant' },
          ursprung: null,
        },
      }),
    ],
    [book(hourOf('room R001', 9)), refused('CONFLICT', { conflicts: [{ kind: 'Lesson', subject: 'Math' }] })],
    ...[
      change('booking 1', { subject: 'X' }, { version: 1 }),
      cancelBooking('booking 1'),
      release('booking 1'),
      extend('booking 1', 5),
    ].map((call): Row => [call, refused('CONFLICT'), 'admin']),
  ],

  'what is wrong with a booking': [
    ...[
      { subject: '' },
      { subject: null },
      { resourceId: unknown },
      { end: slot(9) },
      { start: '2020-01-06T09:00:00Z', end: '2020-01-06T10:00:00Z' },
      { setupMinutes: 1_441 },
      { status: 'Cancelled' },
      { conflictHandling: 'Displace' },
      { recurrenceRule: 'FREQ=DAILY' },
      { recurrenceRule: 'FREQ=SECONDLY;COUNT=2' },
      { color: 'red' },
    ].map((more): Row => [book({ ...hourOf('room R001', 9), ...more }), refused('BAD_USER_INPUT')]),
    [book({}), refused('BAD_USER_INPUT')],
    [book(hourOf('room R001', 9)), has({ id: 'booking 1' })],
    ...[{ subject: null }, { end: slot(8) }, { kind: 'Block' }, { resourceId: unknown }].map(
      (changes): Row => [change('booking 1', changes, { version: 1 }), refused('BAD_USER_INPUT')],
    ),
    [extend('booking 1', 0), refused('BAD_USER_INPUT')],
    [change('booking 1', {}, { version: 1, scope: 'Some' as 'This' }), refused('BAD_USER_INPUT')],
    [booking('booking 1'), has({ version: 1, subject: 'Sitzung' })],
  ],

  'bookings that there are not': [
    ...[unknown, 'nonsense', 'foreign booking'].flatMap((id): Row[] => [
      [booking(id), refused('NOT_FOUND')],
      [change(id, { subject: 'X' }, { version: 1 }), refused('NOT_FOUND')],
      [cancelBooking(id), refused('NOT_FOUND')],
      [checkIn(id), refused('NOT_FOUND')],
      [release(id), refused('NOT_FOUND')],
      [extend(id, 5), refused('NOT_FOUND')],
      [decide(id, 'Approved', { version: 1 }), refused('NOT_FOUND')],
    ]),
  ],

  'where the fronts of bookings differ by their nature': [
    // DateTime is in UTC.
    [
      book(hourOf('room R001', 9, { start: slot(9).replace('Z', '+00:00') })),
      { rest: has({ start: slot(9) }), graphql: refused('BAD_USER_INPUT') },
    ],
  ],
};
