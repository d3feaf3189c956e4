/** The kinds of records of a tenant file, and how their members are stored. Who adds a member adds it to `fields.ts` alone. */
import { locationFields, personDefaults, personFields, resourceDefaults, resourceFields } from './fields.ts';

/** Members of a record, by their names in the file. */
export type RecordMembers = Readonly<Record<string, unknown>>;

export type Noun = {
  /** In Pascal case, as differences name it. */
  kind: 'Location' | 'Resource' | 'Person';
  table: 'location' | 'resource' | 'person';
  /** The member by which the file names a record. */
  name: 'Name' | 'Email';
  /** What is equal for two spellings of one name: a function of SQL. */
  keyFunction: 'name_key' | 'lower';
  /** The members that are columns of the table. */
  members: readonly string[];
  /** What a new record has where the file says nothing; other members it must have. */
  defaults: RecordMembers;
};

export const locationNoun: Noun = {
  kind: 'Location',
  table: 'location',
  name: 'Name',
  keyFunction: 'name_key',
  members: [...Object.keys(locationFields), 'Active'],
  defaults: { Active: true, OpeningRules: [], OpeningExceptions: [] },
};

export const resourceNoun: Noun = {
  kind: 'Resource',
  table: 'resource',
  name: 'Name',
  keyFunction: 'name_key',
  members: [...Object.keys(resourceFields), 'Active'],
  defaults: { ...resourceDefaults, Active: true, OpeningRules: [], OpeningExceptions: [] },
};

export const personNoun: Noun = {
  kind: 'Person',
  table: 'person',
  name: 'Email',
  keyFunction: 'lower',
  members: [...Object.keys(personFields), 'Active'],
  defaults: { ...personDefaults, Active: true },
};

/** `CheckInMinutes` is kept in `check_in_minutes`. */
export const columnOf = (member: string): string =>
  member.replaceAll(/(?<!^)[A-Z]/g, (letter) => `_${letter}`).toLowerCase();

/** Hours are kept in tables of their own. */
export const isHours = (member: string): boolean => member === 'OpeningRules' || member === 'OpeningExceptions';
