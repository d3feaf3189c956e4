/** The tenant, a room that is retired and a person who is erased, whatever the front. They stay so: these scenarios come last. */
import { book, has, hourOf, on, type Row, refused, slot } from './scenarios.ts';

const unknown = '2000000000';
const tenant = () => on('tenant', {});
const changeTenant = (version: number, input: object) => on('changeTenant', { version, input });
const erase = (id: string, alsoKnownAs?: string[]) => on('erasePerson', { id, ...(alsoKnownAs && { alsoKnownAs }) });
const retirement = (id: string) => on('retirement', { id });
const retire = (id: string, version: number, input: object) => on('retireResource', { id, version, input });

const parameters = { pinAuthenticationAllowed: true, usersMayImport: true };
const nothing = { bookings: 0, series: 0, blocks: 0, lessons: 0, mailItems: 0, lastEnd: null };

export const masterDataScenarios: Record<string, Row[]> = {
  'the tenant, its name and its parameters': [
    [tenant(), has({ mandator: '(mandator)', name: '(mandator)', parameters, version: 1 })],
    [tenant(), refused('FORBIDDEN'), 'display'],
    [changeTenant(1, { name: 'Nord' }), refused('FORBIDDEN')],
    [changeTenant(2, { name: 'Nord' }), refused('CONFLICT'), 'admin'],
    [changeTenant(1, { parameters: { pinAuthenticationAllowed: false } }), refused('BAD_USER_INPUT'), 'admin'],
    [
      changeTenant(1, { name: 'Nord', colour: '#1E6B47', parameters: { usersMayImport: false } }),
      has({ name: 'Nord', colour: '#1e6b47', parameters: { ...parameters, usersMayImport: false }, version: 2 }),
      'admin',
    ],
  ],
  'a room that is retired, with its bookings moved': [
    [book(hourOf('room R001', 9)), has({ id: 'booking 1' })],
    [book(hourOf('room R002', 12)), has({ id: 'booking 2' })],
    [book(hourOf('room R001', 12)), has({ id: 'booking 3' })],
    [retirement(unknown), refused('NOT_FOUND'), 'admin'],
    [
      retirement('room R001'),
      has({ bookings: 2, series: 0, lessons: 0, lastEnd: slot(13), displays: 0, hasMailCalendar: false, version: 1 }),
      'admin',
    ],
    [retire('room R001', 1, { futureBookings: 'Move' }), refused('BAD_USER_INPUT'), 'admin'],
    [retire('room R001', 1, { futureBookings: 'Keep' }), refused('FORBIDDEN')],
    [
      retire('room R001', 1, { futureBookings: 'Move', resourceId: 'room R002', conflictHandling: 'Skip' }),
      has({
        moved: 1,
        cancelled: 0,
        kept: { ...nothing, bookings: 1, lastEnd: slot(13) },
        version: 2,
        conflicts: [
          {
            bookingId: 'booking 2',
            resourceId: 'room R002',
            kind: 'Booking',
            subject: 'Sitzung',
            start: slot(12),
            end: slot(13),
            wantedStart: slot(12),
          },
        ],
      }),
      'admin',
    ],
    [retire('room R001', 2, { futureBookings: 'Cancel' }), has({ cancelled: 1, kept: nothing, version: 2 }), 'admin'],
    [book(hourOf('room R001', 14)), refused('CONFLICT')],
  ],
  'a person who is erased': [
    [erase('colleague'), refused('FORBIDDEN')],
    [erase(unknown), refused('NOT_FOUND'), 'admin'],
    [erase('admin'), refused('CONFLICT'), 'admin'],
    [
      erase('colleague', ['C.']),
      has({ name: 'Erased person', active: false, erasedAt: '(instant)', role: 'User', timeZone: 'UTC', version: 2 }),
      'admin',
    ],
    [erase('colleague'), has({ version: 2 }), 'admin'],
    [tenant(), refused('NOT_AUTHENTICATED'), 'colleague'],
  ],
};
