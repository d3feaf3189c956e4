/** Checks a body or the variables of a call: reports all of its faults at once, each with its place in what was sent. */
import { z } from 'zod';
import {
  codeOfIssue,
  DomainError,
  earlierPathOf,
  type FieldError,
  InvalidInput,
  Malformed,
  pathOf,
  pointerTo,
  shorten,
} from './errors.ts';
import { lowerFirst, upperFirst } from './fields.ts';
import { isStorable, notStorable } from './storable.ts';
import './wording.ts';

const deepest = 32;
/** More members than any schema has: checking more would take long. */
const mostMembers = 2_000;
const mostValues = 50_000;
/** The most faults that are reported, as in a problem body. */
const mostFaults = 1_000;
const mostInMessage = 20;

type Keys = readonly (string | number)[];

function unreadable(keys: Keys, text: string): Malformed {
  const message = `${pathOf(keys) || 'The body'}: ${text}.`;
  const field = keys.findLast((key) => typeof key === 'string') ?? null;
  return new Malformed(message, [
    { field: field && shorten(field, 100), pointer: pointerTo(keys), code: 'Malformed', message },
  ]);
}

/** Stops counting at the first member too many. */
function hasTooManyMembers(value: object): boolean {
  let members = 0;
  for (const _ in value) if (++members > mostMembers) return true;
  return false;
}

/** The value with its names in Pascal case. @throws Malformed for what must not reach a schema */
export function inPascalCase(sent: unknown): unknown {
  let values = 0;
  const keys: (string | number)[] = [];
  function inner(key: string | number, value: unknown): unknown {
    keys.push(key);
    const read = convert(value);
    keys.pop();
    return read;
  }
  function convert(value: unknown): unknown {
    if (++values > mostValues) throw unreadable([], `holds more than ${mostValues} values`);
    if (typeof value === 'string' && !isStorable(value)) throw unreadable(keys, `a text ${notStorable}`);
    if (typeof value !== 'object' || value === null) return value;
    if (keys.length === deepest) throw unreadable(keys, `nested deeper than ${deepest} levels`);
    if (Array.isArray(value)) return value.map((item, index) => inner(index, item));
    if (hasTooManyMembers(value)) throw unreadable(keys, `has more than ${mostMembers} members`);
    const names = new Set<string>();
    // Unlike an assignment, it also defines a member called `__proto__`.
    return Object.fromEntries(
      Object.entries(value).map(([key, member]) => {
        const name = upperFirst(key);
        if (!isStorable(key)) throw unreadable(keys, `a name ${notStorable}`);
        if (names.has(name)) throw unreadable([...keys, key], `is sent in two spellings; send one`);
        names.add(name);
        return [name, inner(key, member)];
      }),
    );
  }
  return convert(sent);
}

/** The names of an object as the client spelled them. */
type Spelling = {
  /** The client's spelling by the schema's. */
  names: ReadonlyMap<string, string>;
  /** Whether a name that is missing would have begun in lower case. */
  isCamel: boolean;
};

/** Finds the place and the value in the input that a path of the schema leads to. */
type Follow = (path: readonly PropertyKey[]) => { keys: Keys; value: unknown };

/** Reads the names of each object once, however many paths lead through it. */
function openSpelling(sent: unknown): Follow {
  const spellings = new Map<object, Spelling>();
  function spellingOf(members: object): Spelling {
    const known = spellings.get(members);
    if (known) return known;
    const names = Object.keys(members);
    const spelling = {
      names: new Map(names.map((name) => [upperFirst(name), name])),
      isCamel: names.length > 0 && names.every((name) => name !== upperFirst(name)),
    };
    spellings.set(members, spelling);
    return spelling;
  }
  return (path) => {
    const keys: (string | number)[] = [];
    let value = sent;
    for (const part of path) {
      const members = typeof value === 'object' && value !== null ? value : {};
      let key = typeof part === 'number' ? part : String(part);
      if (typeof key === 'string') {
        const { names, isCamel } = spellingOf(members);
        key = names.get(key) ?? (isCamel ? lowerFirst(key) : key);
      }
      keys.push(key);
      value = (members as Record<PropertyKey, unknown>)[key];
    }
    return { keys, value };
  };
}

function faultsOf(issue: z.core.$ZodIssue, follow: Follow): FieldError[] {
  const fault = (path: readonly PropertyKey[], code: string, text: string): FieldError => {
    const names = path.map((part) => (typeof part === 'number' ? part : String(part)));
    const field = names.findLast((name) => typeof name === 'string');
    return {
      field: field === undefined ? null : shorten(field, 100),
      pointer: pointerTo(follow(path).keys),
      code,
      message: `${pathOf(names) || 'The body'}: ${text}.`,
    };
  };
  if (issue.code === 'unrecognized_keys')
    return issue.keys
      .slice(0, mostFaults)
      .map((key) => fault([...issue.path, key], 'UnknownField', 'is not known here'));
  const { value } = follow(issue.path);
  if (value === undefined) return [fault(issue.path, 'MissingField', 'is missing')];
  const earlier = earlierPathOf(issue);
  const otherPointer = earlier && { otherPointer: pointerTo(follow(earlier).keys) };
  return [{ ...fault(issue.path, codeOfIssue(issue, value), issue.message), ...otherPointer }];
}

/** Respells the pointers of an error, thrown after the schema's check, as the client spelled the names. */
export function respell(error: unknown, sent: unknown): void {
  if (!(error instanceof DomainError)) return;
  const follow = openSpelling(sent);
  for (const fault of error.errors) {
    const path = fault.pointer?.split('/').slice(1) ?? [];
    const keys = path.map((key) => (/^\d+$/.test(key) ? Number(key) : key));
    if (fault.pointer) fault.pointer = pointerTo(follow(keys).keys);
  }
}

/** zod also counts the characters of a text that stands for a list, and the entries of a list that stands for a text. */
const isSizeOfAnotherType = (issue: z.core.$ZodIssue, before: z.core.$ZodIssue | undefined): boolean =>
  (issue.code === 'too_big' || issue.code === 'too_small') &&
  before?.code === 'invalid_type' &&
  pointerTo(issue.path.map(String)) === pointerTo(before.path.map(String));

/**
 * The error for the first faults of an input, `mostFaults` at most.
 * @param describe is called for the reported issues only
 */
function invalidInput(error: z.ZodError, describe: (issue: z.core.$ZodIssue) => readonly FieldError[]): InvalidInput {
  const issues = error.issues.filter((issue, at) => !isSizeOfAnotherType(issue, error.issues[at - 1]));
  const count = issues.reduce((sum, issue) => sum + ('keys' in issue ? issue.keys.length : 1), 0);
  const faults = issues.slice(0, mostFaults).flatMap(describe).slice(0, mostFaults);
  const told = faults.slice(0, mostInMessage).map(({ message }) => message);
  if (count > told.length) told.push(`… and ${count - told.length} more.`);
  return new InvalidInput(told.join(' '), faults, count);
}

/** The error for arguments of GraphQL, whose names are those of the schema. */
export function invalidArguments(error: z.ZodError, sent: object): InvalidInput {
  const follow: Follow = (path) => ({
    keys: path.map((part) => (typeof part === 'number' ? part : String(part))),
    value: path.reduce<unknown>((value, part) => (value as Record<PropertyKey, unknown> | null)?.[part], sent),
  });
  return invalidInput(error, (issue) => faultsOf(issue, follow));
}

/**
 * Checks an input against a schema whose names are in Pascal case; the client may write the first letter of a name in either
 * case, at every depth. The schema's objects are strict, so that an unknown member is a fault. A custom check of the schema
 * may give its fault a code by `params: { code }`, and the index of the entry that it collides with by `params: { earlier }`.
 * @throws Malformed for nesting, characters and names that cannot be read; InvalidInput with all faults: `field` as the
 * schema spells it, `pointer` as sent, `code` MissingField, InvalidType, UnknownField, InvalidValue or the custom check's
 */
export function readInput<T extends z.core.$ZodType>(schema: T, sent: unknown): z.output<T> {
  const result = z.safeParse(schema, inPascalCase(sent));
  if (result.success) return result.data;
  const follow = openSpelling(sent);
  throw invalidInput(result.error, (issue) => faultsOf(issue, follow));
}
