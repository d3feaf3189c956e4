/** What the outside sends as one value: every fault of it at once, each with its place in what was sent. */
import { z } from 'zod';
import { DomainError, type FieldError, InvalidInput, Malformed } from './errors.ts';
import { lowerFirst, upperFirst } from './fields.ts';
import { isStorable, mostId, mostLongId } from './storable.ts';

const deepest = 32;
/** What no schema has, and takes long to look through. */
const mostMembers = 2_000;
const mostValues = 50_000;
/** More than anybody reads; the problem body ends there too. */
const mostFaults = 1_000;
const mostInMessage = 20;

type Keys = readonly (string | number)[];

export const shorten = (text: string, most: number): string =>
  text.length > most ? `${text.slice(0, most).toWellFormed()}…` : text;

/** RFC 6901. */
const pointerOf = (keys: Keys) =>
  shorten(keys.map((key) => `/${String(key).replaceAll('~', '~0').replaceAll('/', '~1')}`).join(''), 990);

/** `Periods[0].Opens`. */
const pathOf = (keys: Keys) =>
  keys
    .map((key) => (typeof key === 'number' ? `[${key}]` : `.${shorten(key, 100)}`))
    .join('')
    .replace(/^\./, '');

function unreadable(keys: Keys, text: string): Malformed {
  const message = `${pathOf(keys) || 'The body'}: ${text}.`;
  const field = keys.findLast((key) => typeof key === 'string') ?? null;
  return new Malformed(message, [
    { field: field && shorten(field, 100), pointer: pointerOf(keys), code: 'Malformed', message },
  ]);
}

/** Looks no further than at one too many. */
function hasTooManyMembers(value: object): boolean {
  let members = 0;
  for (const _ in value) if (++members > mostMembers) return true;
  return false;
}

/** The value with its names in Pascal case. @throws Malformed for what no schema may see */
function inPascalCase(sent: unknown): unknown {
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
    if (typeof value === 'string' && !isStorable(value))
      throw unreadable(keys, 'a text must not hold U+0000 or half of a surrogate pair');
    if (typeof value !== 'object' || value === null) return value;
    if (keys.length === deepest) throw unreadable(keys, `nested deeper than ${deepest} levels`);
    if (Array.isArray(value)) return value.map((item, index) => inner(index, item));
    if (hasTooManyMembers(value)) throw unreadable(keys, `has more than ${mostMembers} members`);
    const names = new Set<string>();
    // Defines members, also one called `__proto__`, where an assignment would not.
    return Object.fromEntries(
      Object.entries(value).map(([key, member]) => {
        const name = upperFirst(key);
        if (!isStorable(key)) throw unreadable(keys, 'a name must not hold U+0000 or half of a surrogate pair');
        if (names.has(name)) throw unreadable([...keys, key], `stands there in two spellings; send one`);
        names.add(name);
        return [name, inner(key, member)];
      }),
    );
  }
  return convert(sent);
}

/** How the names of an object were sent. */
type Spelling = {
  /** By their spelling in the schema. */
  names: ReadonlyMap<string, string>;
  /** What was not sent would stand in lower case. */
  isCamel: boolean;
};

/** Where in what was sent a path of the schema leads. */
type Follow = (path: readonly PropertyKey[]) => { keys: Keys; value: unknown };

/** Looks at all names of an object once, however many paths lead through it. */
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
      pointer: pointerOf(follow(path).keys),
      code,
      message: `${pathOf(names) || 'The body'}: ${text}.`,
    };
  };
  if (issue.code === 'unrecognized_keys')
    return issue.keys
      .slice(0, mostFaults)
      .map((key) => fault([...issue.path, key], 'UnknownField', 'is not known here'));
  if (follow(issue.path).value === undefined) return [fault(issue.path, 'MissingField', 'is missing')];
  const named: unknown = issue.code === 'custom' ? issue.params?.['code'] : undefined;
  const code = issue.code === 'invalid_type' ? 'InvalidType' : 'InvalidValue';
  return [fault(issue.path, typeof named === 'string' ? named : code, issue.message)];
}

const upTo = (most: number) => (text: string) => {
  const id = /^[1-9]\d{0,15}$/.test(text) ? Number(text) : 0;
  return id <= most ? id : 0;
};

/** A numeric id as GraphQL or a header writes it; 0, which nothing has, for what can be no id. */
export const readId: (text: string) => number = upTo(mostId);
/** The same for bookings and their series. */
export const readLongId: (text: string) => number = upTo(mostLongId);

/** Idempotency-Key (contract 4.2), the same as a header and as an argument. */
export const idempotencyKey = z
  .string()
  .regex(/^[\x21-\x7e]{1,255}$/, 'must have 1 to 255 printable ASCII characters without spaces');

/** Spells the pointers of what was found wrong with an input, past its schema, as it was sent. */
export function respell(error: unknown, sent: unknown): void {
  if (!(error instanceof DomainError)) return;
  const follow = openSpelling(sent);
  for (const fault of error.errors) {
    const path = fault.pointer?.split('/').slice(1) ?? [];
    const keys = path.map((key) => (/^\d+$/.test(key) ? Number(key) : key));
    if (fault.pointer) fault.pointer = pointerOf(follow(keys).keys);
  }
}

/**
 * Tells the first faults that were found, as many as somebody may read.
 * @param describe told of no more of the issues than that
 */
export function invalidInput(
  { issues }: z.ZodError,
  describe: (issue: z.core.$ZodIssue) => readonly FieldError[],
): InvalidInput {
  const count = issues.reduce((sum, issue) => sum + ('keys' in issue ? issue.keys.length : 1), 0);
  const faults = issues.slice(0, mostFaults).flatMap(describe).slice(0, mostFaults);
  const told = faults.slice(0, mostInMessage).map(({ message }) => message);
  if (count > told.length) told.push(`… and ${count - told.length} more.`);
  return new InvalidInput(told.join(' '), faults);
}

/**
 * Checks what was sent against a schema whose names are in Pascal case; the first letter of a sent name may be in either
 * case, at every depth. The schema's objects are strict, so that an unknown member is a fault; a check of its own may
 * give its fault a code by `params: { code }`.
 * @throws Malformed for nesting, characters and names that cannot be read; InvalidInput with every fault: `field` as the
 * schema spells it, `pointer` as it was sent, `code` MissingField, InvalidType, UnknownField, InvalidValue or the check's
 */
export function readInput<T extends z.ZodType>(schema: T, sent: unknown): z.output<T> {
  const result = schema.safeParse(inPascalCase(sent));
  if (result.success) return result.data;
  const follow = openSpelling(sent);
  throw invalidInput(result.error, (issue) => faultsOf(issue, follow));
}
