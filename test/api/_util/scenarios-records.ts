/** Groups, policies, holiday calendars, a room that moves and a person with another address, whatever the front. */
import { nextYear } from '../../_util/ahead.ts';
import type { RecordCalls } from '../../_util/fronts-records.ts';
import { book, has, hourOf, items, on, type Row, refused } from './scenarios.ts';

type Noun = RecordCalls['record']['noun'];
const unknown = '2000000000';
const list = (noun: Noun, filter: Record<string, unknown> = {}) => on('records', { noun, filter });
const read = (noun: Noun, id: string) => on('record', { noun, id });
const make = (noun: Noun, input: object) => on('makeRecord', { noun, input });
const change = (noun: Noun, id: string, version: number, input: object) =>
  on('changeRecord', { noun, id, version, input });
const drop = (noun: Noun, id: string, version: number) => on('deleteRecord', { noun, id, version });

/** What each noun refuses alike: names that are taken, versions that are past, ids that there are not, callers. */
const refusals = (noun: Noun, id: string, stale: number, newOne: object): Row[] => [
  [make(noun, newOne), refused('CONFLICT'), 'admin'],
  [make(noun, newOne), refused('FORBIDDEN')],
  [change(noun, id, stale, { name: 'Andere' }), refused('CONFLICT'), 'admin'],
  [change(noun, unknown, 1, { name: 'Andere' }), refused('NOT_FOUND'), 'admin'],
  [change(noun, id, stale, { name: 'Andere' }), refused('FORBIDDEN')],
  [drop(noun, id, stale), refused('CONFLICT'), 'admin'],
  [drop(noun, unknown, 1), refused('NOT_FOUND'), 'admin'],
  [drop(noun, id, stale), refused('FORBIDDEN')],
];

const cold = { resourceId: 'room R003', kind: 'Heating', text: 'zu kalt', key: 'cold' };

const christmas = [
  ...['BEGIN:VCALENDAR', 'BEGIN:VEVENT', `DTSTART:${nextYear}1224`, `DTEND:${nextYear}1227`, 'SUMMARY:Weihnachten'],
  ...['END:VEVENT', 'END:VCALENDAR'],
].join('\r\n');
const ferien = { name: 'Ferien', locationId: 'campus', ics: christmas };
const holiday = {
  name: 'Weihnachten',
  fromDate: `${nextYear}-12-24`,
  toDate: `${nextYear}-12-26`,
  locationId: 'campus',
};

const noRule = {
  leadMinutes: null,
  aheadDays: null,
  longestMinutes: null,
  quotaMinutesPerWeek: null,
  quotaBookingsPerWeek: null,
};
const mapping = {
  key: null,
  date: 'Tag',
  day: null,
  period: null,
  weeks: null,
  begin: 'Anfang',
  end: 'Ende',
  room: 'Saal',
  subject: 'Kurs',
  title: null,
  classes: null,
  teachers: null,
  remark: null,
  status: null,
};
const noList = { maySee: [], mayBook: [], maySkipApproval: [], mayDecide: [], mayBookForOthers: [] };

/** Each leaves what it has found. */
export const recordScenarios: Record<string, Row[]> = {
  'a group, its members, and the policy that names it': [
    [make('group', { name: 'Chor', addMembers: ['user'] }), has({ groupId: 'group 1', version: 1 }), 'admin'],
    [read('group', 'group 1'), has({ groupId: 'group 1', name: 'Chor', version: 1 }), 'admin'],
    [list('group'), items({ name: 'Deciders' }, { name: 'Chor' }), 'admin'],
    [list('group', { name: 'CHOR' }), items({ groupId: 'group 1' }), 'admin'],
    [list('group'), refused('FORBIDDEN')],
    [list('group', { personId: 'user' }), items({ groupId: 'group 1' })],
    [list('person', { groupId: 'group 1' }), items({ personId: 'user' }), 'admin'],
    [
      change('group', 'group 1', 1, { addMembers: ['colleague', 'importer'], removeMembers: ['user'] }),
      has({ name: 'Chor', version: 2 }),
      'admin',
    ],
    [list('person', { groupId: 'group 1' }), items({ personId: 'importer' }, { personId: 'colleague' }), 'admin'],
    [list('group', { personId: 'user' }), items()],
    [change('group', 'group 1', 2, { addMembers: ['importer'] }), has({ version: 2 }), 'admin'],
    [change('group', 'group 1', 2, { addMembers: [unknown] }), refused('BAD_USER_INPUT'), 'admin'],
    [change('group', 'group 1', 2, { name: 'chor (groß)' }), has({ name: 'chor (groß)', version: 3 }), 'admin'],
    ...refusals('group', 'group 1', 2, { name: 'Chor (Groß)' }),
    [make('policy', { name: 'Proben', mayBook: ['group 1'] }), has({ mayBook: ['group 1'] }), 'admin'],
    [drop('group', 'group 1', 3), refused('CONFLICT'), 'admin'],
    [drop('policy', 'policy 1', 1), has({}), 'admin'],
    [drop('group', 'group 1', 3), has({}), 'admin'],
    [read('group', 'group 1'), refused('NOT_FOUND'), 'admin'],
  ],

  'a policy, and the room that has it': [
    [make('group', { name: 'Chor', addMembers: ['colleague'] }), has({ groupId: 'group 1' }), 'admin'],
    [
      make('policy', { name: 'Proben', maySee: ['group 1'], needsApproval: true, longestMinutes: 30 }),
      has({
        policyId: 'policy 1',
        name: 'Proben',
        ...noList,
        maySee: ['group 1'],
        needsApproval: true,
        ...noRule,
        longestMinutes: 30,
        version: 1,
      }),
      'admin',
    ],
    [list('policy'), items({ name: 'Labs' }, { name: 'Proben' }), 'admin'],
    [list('policy', { name: 'proben' }), items({ policyId: 'policy 1' }), 'colleague'],
    [list('policy', { name: 'proben' }), items()],
    [read('policy', 'policy 1'), has({ name: 'Proben' }), 'colleague'],
    [read('policy', 'policy 1'), refused('NOT_FOUND')],
    ...refusals('policy', 'policy 1', 7, { name: 'PROBEN' }),
    [make('policy', { name: 'P', mayDecide: [unknown] }), refused('BAD_USER_INPUT'), 'admin'],
    [change('resource', 'room R002', 1, { policyId: 'policy 1' }), has({ policyId: 'policy 1', version: 2 }), 'admin'],
    [read('resource', 'room R002'), refused('NOT_FOUND')],
    [read('resource', 'room R002'), has({ policyId: 'policy 1' }), 'colleague'],
    [
      change('policy', 'policy 1', 1, { maySee: [], mayBook: ['group 1'], needsApproval: false, longestMinutes: null }),
      has({ ...noList, mayBook: ['group 1'], needsApproval: false, ...noRule, version: 2 }),
      'admin',
    ],
    [read('resource', 'room R002'), has({ policyId: 'policy 1' })],
    [book(hourOf('room R002', 9)), refused('FORBIDDEN')],
    [book(hourOf('room R002', 9)), has({ id: 'booking 1', status: 'Confirmed' }), 'colleague'],
    [drop('policy', 'policy 1', 2), refused('CONFLICT'), 'admin'],
    [change('resource', 'room R002', 2, { policyId: null }), has({ policyId: null, version: 3 }), 'admin'],
    [drop('policy', 'policy 1', 2), has({}), 'admin'],
    [drop('group', 'group 1', 1), has({}), 'admin'],
  ],

  'a room at another location, with its bookings': [
    [book(hourOf('room R002', 9)), has({ id: 'booking 1', locationId: 'campus' })],
    [change('resource', 'room R002', 1, { locationId: 'annex' }), refused('FORBIDDEN')],
    [change('resource', 'room R002', 1, { locationId: unknown }), refused('BAD_USER_INPUT'), 'admin'],
    [change('resource', 'room Hall', 1, { locationId: 'annex' }), refused('CONFLICT'), 'admin'],
    [
      change('resource', 'room R002', 1, { locationId: 'annex' }),
      has({ resourceId: 'room R002', name: 'R002', locationId: 'annex', version: 2 }),
      'admin',
    ],
    [on('booking', { id: 'booking 1' }), has({ locationId: 'annex', version: 1 })],
    [list('resource', { locationId: 'annex', name: 'r002' }), items({ resourceId: 'room R002' })],
    [change('resource', 'room R002', 2, { locationId: 'campus' }), has({ locationId: 'campus', version: 3 }), 'admin'],
  ],

  'a location': [
    [
      make('location', { name: 'Hafen', timeZone: 'europe/berlin' }),
      has({ locationId: 'location 1', name: 'Hafen', timeZone: 'Europe/Berlin', active: true, version: 1 }),
      'admin',
    ],
    [make('location', { name: 'HAFEN', timeZone: 'UTC' }), refused('CONFLICT'), 'admin'],
    [make('location', { name: 'H', timeZone: 'Berlin' }), refused('BAD_USER_INPUT'), 'admin'],
    [make('location', { name: 'H', timeZone: 'UTC' }), refused('FORBIDDEN')],
    [read('location', 'location 1'), has({ name: 'Hafen' })],
    [list('location'), items({ name: 'Campus' }, { name: 'Annex' }, { name: 'Hafen', active: true })],
    [change('location', 'location 1', 2, { active: false }), refused('CONFLICT'), 'admin'],
    [change('location', 'location 1', 1, { active: false }), has({ active: false, version: 2 }), 'admin'],
    [list('location'), items({ name: 'Campus' }, { name: 'Annex' }, { name: 'Hafen', active: false })],
    [read('location', unknown), refused('NOT_FOUND')],
    [list('location'), refused('FORBIDDEN'), 'display'],
  ],

  'a person with another address': [
    [change('person', 'importer', 1, { email: 'New@c.example' }), refused('FORBIDDEN')],
    [change('person', 'importer', 1, { email: 'new' }), refused('BAD_USER_INPUT'), 'admin'],
    [
      change('person', 'importer', 1, { email: 'New@c.example' }),
      has({ personId: 'importer', email: 'New@c.example', role: 'Importer', version: 2 }),
      'admin',
    ],
    [change('person', 'user', 1, { email: 'new@C.example' }), refused('CONFLICT'), 'admin'],
    [on('tenant', {}), has({ version: 1 }), 'importer'],
  ],

  'a holiday calendar from a file': [
    [
      make('holidayCalendar', ferien),
      has({
        holidayCalendarId: 'calendar 1',
        name: 'Ferien',
        locationId: 'campus',
        closes: true,
        url: null,
        readAt: '(instant)',
        fault: null,
        faultAt: null,
        version: 1,
        reading: { events: 1, unused: [] },
      }),
      'admin',
    ],
    ...refusals('holidayCalendar', 'calendar 1', 7, { ...ferien, name: 'FERIEN' }),
    [make('holidayCalendar', { ...ferien, name: 'F', ics: 'x' }), refused('BAD_USER_INPUT'), 'admin'],
    [list('holidayCalendar'), items({ holidayCalendarId: 'calendar 1' }), 'admin'],
    [list('holidayCalendar', { locationId: 'annex' }), items(), 'admin'],
    [list('holidayCalendar'), refused('FORBIDDEN')],
    [list('holiday'), items({ holidayId: 'holiday 1', calendarId: 'calendar 1', ...holiday, closes: true })],
    [list('holiday', { from: `${nextYear}-12-27` }), items()],
    [
      change('holidayCalendar', 'calendar 1', 1, { name: 'Feste', closes: false }),
      has({ name: 'Feste', closes: false, locationId: 'campus', version: 2 }),
      'admin',
    ],
    [list('holiday', { calendarId: 'calendar 1' }), items({ ...holiday, closes: false })],
    [drop('holidayCalendar', 'calendar 1', 2), has({}), 'admin'],
    [list('holiday'), items()],
  ],

  'a profile of timetable files': [
    [
      make('timetableProfile', { name: 'AGs', source: 'ag', mapping }),
      has({
        timetableProfileId: 'profile 1',
        name: 'AGs',
        format: null,
        source: 'ag',
        term: null,
        version: 1,
        periods: [],
        rooms: [],
        sharedRooms: [],
        mapping,
      }),
      'importer',
    ],
    [make('timetableProfile', { name: 'ags' }), refused('CONFLICT'), 'importer'],
    [make('timetableProfile', { name: 'P' }), refused('FORBIDDEN'), 'display'],
    [change('timetableProfile', unknown, 1, { name: 'P' }), refused('NOT_FOUND'), 'importer'],
    [drop('timetableProfile', 'profile 1', 1), refused('FORBIDDEN'), 'display'],
    [make('timetableProfile', { name: 'P', source: 'a b' }), refused('BAD_USER_INPUT'), 'importer'],
    [list('timetableProfile'), items({ timetableProfileId: 'profile 1' }), 'importer'],
    [read('timetableProfile', 'profile 1'), has({ name: 'AGs' }), 'admin'],
    [list('timetableProfile'), refused('FORBIDDEN'), 'display'],
    [
      change('timetableProfile', 'profile 1', 1, { name: 'Kurse', source: null, sharedRooms: ['Hall'] }),
      has({ name: 'Kurse', source: null, sharedRooms: ['Hall'], mapping, version: 2 }),
      'importer',
    ],
    [drop('timetableProfile', 'profile 1', 1), refused('CONFLICT'), 'importer'],
    [drop('timetableProfile', 'profile 1', 2), has({}), 'importer'],
    [read('timetableProfile', 'profile 1'), refused('NOT_FOUND'), 'importer'],
  ],

  'a problem that is reported at a door, and settled': [
    [
      make('roomProblem', cold),
      has({
        roomProblemId: 'problem 1',
        resourceId: 'room R003',
        displayId: 'device 1',
        kind: 'Heating',
        text: 'zu kalt',
        reportedAt: '(instant)',
        state: 'Open',
        doneAt: null,
        doneBy: null,
        version: 1,
      }),
      'device',
    ],
    [make('roomProblem', cold), has({ roomProblemId: 'problem 1', version: 1 }), 'device'],
    [make('roomProblem', { ...cold, text: 'zu warm' }), refused('BAD_USER_INPUT'), 'device'],
    [make('roomProblem', { ...cold, resourceId: 'room R002', key: 'two' }), refused('BAD_USER_INPUT'), 'device'],
    [make('roomProblem', cold), refused('FORBIDDEN'), 'admin'],
    [list('roomProblem', { state: 'Open', resourceId: 'room R003' }), items({ roomProblemId: 'problem 1' }), 'admin'],
    [list('roomProblem', { resourceId: 'room R002' }), items(), 'admin'],
    [list('roomProblem'), refused('FORBIDDEN')],
    [read('roomProblem', 'problem 1'), has({ kind: 'Heating', state: 'Open' }), 'admin'],
    [read('roomProblem', unknown), refused('NOT_FOUND'), 'admin'],
    [
      change('roomProblem', 'problem 1', 1, { state: 'Done' }),
      has({
        state: 'Done',
        doneAt: '(instant)',
        doneBy: { personId: 'admin', displayName: 'Admin of (mandator)' },
        version: 2,
      }),
      'admin',
    ],
    [change('roomProblem', 'problem 1', 1, { state: 'Open' }), refused('CONFLICT'), 'admin'],
    [change('roomProblem', unknown, 1, { state: 'Open' }), refused('NOT_FOUND'), 'admin'],
    [change('roomProblem', 'problem 1', 2, { state: 'Open' }), refused('FORBIDDEN')],
    [list('roomProblem', { state: 'Open' }), items(), 'admin'],
  ],
};
