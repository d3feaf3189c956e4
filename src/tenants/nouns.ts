/** The kinds of records of a tenant file, and how their members are stored. New members are added only in `fields.ts`. */
import {
  groupFields,
  locationFields,
  mostRules,
  personDefaults,
  personFields,
  policyLists,
  resourceDefaults,
  resourceFields,
} from './fields.ts';

/** Members of a record, by their names in the file. */
export type RecordMembers = Readonly<Record<string, unknown>>;

export type Noun = {
  /** In Pascal case, as differences name it. */
  kind: 'Location' | 'Resource' | 'Person' | 'Group' | 'Policy' | 'HolidayCalendar';
  table: 'location' | 'resource' | 'person' | 'person_group' | 'policy' | 'holiday_calendar';
  /** The member by which the file names a record. */
  name: 'Name' | 'Email';
  /** The SQL function that maps all spellings of a name to one key. */
  keyFunction: 'name_key' | 'lower';
  /** The members that are columns of the table. */
  members: readonly string[];
  /** The members that name other records: one, or a list of them. Columns have their ids. */
  references: Readonly<Record<string, Noun>>;
  /** Defaults of a new record; members without a default are required. */
  defaults: RecordMembers;
};

export const locationNoun: Noun = {
  kind: 'Location',
  table: 'location',
  name: 'Name',
  keyFunction: 'name_key',
  members: [...Object.keys(locationFields), 'Active'],
  references: {},
  defaults: { Active: true, OpeningRules: [], OpeningExceptions: [] },
};

export const personNoun: Noun = {
  kind: 'Person',
  table: 'person',
  name: 'Email',
  keyFunction: 'lower',
  members: [...Object.keys(personFields), 'Active'],
  references: {},
  defaults: { ...personDefaults, Active: true },
};

export const groupNoun: Noun = {
  kind: 'Group',
  table: 'person_group',
  name: 'Name',
  keyFunction: 'name_key',
  members: Object.keys(groupFields),
  references: { Members: personNoun },
  defaults: { Members: [] },
};

export const policyNoun: Noun = {
  kind: 'Policy',
  table: 'policy',
  name: 'Name',
  keyFunction: 'name_key',
  members: ['Name', ...policyLists, 'NeedsApproval', ...Object.keys(mostRules)],
  references: Object.fromEntries(policyLists.map((list) => [list, groupNoun])),
  defaults: {
    ...Object.fromEntries(policyLists.map((list) => [list, []])),
    NeedsApproval: false,
    ...Object.fromEntries(Object.keys(mostRules).map((rule) => [rule, null])),
  },
};

export const resourceNoun: Noun = {
  kind: 'Resource',
  table: 'resource',
  name: 'Name',
  keyFunction: 'name_key',
  members: [...Object.keys(resourceFields), 'Policy', 'Active'],
  references: { Policy: policyNoun },
  defaults: { ...resourceDefaults, Policy: null, Active: true, OpeningRules: [], OpeningExceptions: [] },
};

/** `src/holidays` writes these. The source of their holidays is handled separately. */
export const calendarNoun: Noun = {
  kind: 'HolidayCalendar',
  table: 'holiday_calendar',
  name: 'Name',
  keyFunction: 'name_key',
  members: ['Name', 'Location', 'Closes'],
  references: { Location: locationNoun },
  defaults: { Location: null, Closes: true },
};

/** The API names one other record by its id, in a member of this name. */
export const idMemberOf = (member: string): string =>
  member === 'Policy' || member === 'Location' ? `${member}Id` : member;

/** `CheckInMinutes` is kept in `check_in_minutes`. */
export const columnOf = (member: string): string =>
  idMemberOf(member)
    .replaceAll(/(?<!^)[A-Z]/g, (letter) => `_${letter}`)
    .toLowerCase();

/** Hours are kept in tables of their own. */
export const isHours = (member: string): boolean => member === 'OpeningRules' || member === 'OpeningExceptions';
