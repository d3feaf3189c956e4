/** The file of a tenant's master data (contract 1): its shape, and one line for each fault in it. */
import { z } from 'zod';
import { type FieldError, InvalidInput } from '../errors.ts';
import { reservedNames } from '../names.ts';
import { locationFields, personFields, resourceFields, text } from './fields.ts';
import { remedyFor } from './nearest.ts';
import { parameterTypes } from './parameters.ts';

/** The messages of this schema say what is allowed; for an unknown member they list the known ones. */
const record = <Shape extends z.core.$ZodShape>(shape: Shape) =>
  z.strictObject(shape, {
    error: ({ code }) => (code === 'unrecognized_keys' ? Object.keys(shape).join(' ') : 'must be an object in braces'),
  });

const list = <Item extends z.ZodType>(item: Item) => z.array(item, 'must be a list in brackets');

const flag = z.boolean('must be true or false');

const date = text(10)
  .pipe(z.iso.date('must be a date such as 2026-12-24'))
  .refine((value) => value >= '1900', 'must be a date of 1900 or later');
const period = {
  Opens: text(5).regex(/^([01]\d|2[0-3]):[0-5]\d$/, 'must be a time from 00:00 to 23:59'),
  Closes: text(5).regex(/^(([01]\d|2[0-3]):[0-5]\d|24:00)$/, 'must be a time from 00:00 to 24:00'),
};

const openingRule = record({
  Weekdays: list(
    z.int('must be a weekday from 1 (Monday) to 7').min(1, 'must be 1 or more').max(7, 'must be 7 or less'),
  ).min(1, 'must name a weekday'),
  ...period,
  ValidFrom: date.nullable().default(null),
  ValidTo: date.nullable().default(null),
}).refine(({ ValidFrom, ValidTo }) => !ValidFrom || !ValidTo || ValidFrom <= ValidTo, {
  path: ['ValidTo'],
  error: 'must not be before ValidFrom',
});

const openingException = record({
  FromDate: date,
  ToDate: date,
  Closed: flag.default(false),
  Periods: list(record(period)).default([]),
  Reason: text(500).nullable().default(null),
})
  .refine(({ FromDate, ToDate }) => FromDate <= ToDate, {
    path: ['ToDate'],
    error: 'must not be before FromDate',
  })
  .refine(({ Closed, Periods }) => Closed === (Periods.length === 0), {
    path: ['Periods'],
    error: 'must hold at least one period, or none when Closed is true',
  });

const hours = {
  OpeningRules: list(openingRule).default([]),
  OpeningExceptions: list(openingException).default([]),
};

const resource = record({
  ...resourceFields,
  Kind: resourceFields.Kind.default('Room'),
  Capacity: resourceFields.Capacity.default(null),
  Equipment: resourceFields.Equipment.default([]),
  Mailbox: resourceFields.Mailbox.default(null),
  CheckInMinutes: resourceFields.CheckInMinutes.default(null),
  ...hours,
});

const location = record({ ...locationFields, ...hours, Resources: list(resource).default([]) });

const person = record(personFields);

const tenantFile = record({
  Mandator: text(64)
    .toLowerCase()
    .refine((code) => !reservedNames.has(code), {
      error: 'is reserved; choose another name',
      abort: true,
    })
    .regex(/^[a-z0-9_-]+$/, 'must consist of a-z, 0-9, - and _'),
  Name: text(200),
  Parameters: record(parameterTypes).partial().default({}),
  Locations: list(location).default([]),
  Persons: list(person).default([]),
});

export type TenantFile = z.output<typeof tenantFile>;

const pathOf = (keys: readonly PropertyKey[]) =>
  keys
    .map((key) => (typeof key === 'number' ? `[${key}]` : `.${String(key)}`))
    .join('')
    .replace(/^\./, '');
const pointerOf = (keys: readonly PropertyKey[]) =>
  keys.map((key) => `/${String(key).replaceAll('~', '~0').replaceAll('/', '~1')}`).join('');

const valueAt = (input: unknown, keys: readonly PropertyKey[]) =>
  keys.reduce<unknown>((parent, key) => (parent as Record<PropertyKey, unknown> | undefined)?.[key], input);

/** One fault of a file, by where it stands. */
export function fault(keys: readonly PropertyKey[], code: string, text: string): FieldError {
  const field = keys.findLast((key) => typeof key === 'string');
  return {
    field: field === undefined ? null : String(field),
    pointer: pointerOf(keys),
    code,
    message: `${pathOf(keys) || 'the file'}: ${text}`,
  };
}

function listFaults(issue: z.core.$ZodIssue, input: unknown): FieldError[] {
  if (issue.code === 'unrecognized_keys')
    return issue.keys.map((key) => {
      const remedy = remedyFor(key, issue.message.split(' '), 'members here');
      return fault([...issue.path, key], 'UnknownField', `is not known here; ${remedy}`);
    });
  const value = valueAt(input, issue.path);
  if (value === undefined) return [fault(issue.path, 'MissingField', `is missing; ${issue.message}`)];
  const code = issue.code === 'invalid_type' ? 'InvalidType' : 'InvalidValue';
  return [fault(issue.path, code, `is ${shown(value)}; ${issue.message}`)];
}

function shown(value: unknown): string {
  const written = JSON.stringify(value);
  return written.length > 80 ? `${written.slice(0, 80)}…` : written;
}

/** Items of the list at `keys` that an earlier one equals in `member`: trimmed, Unicode NFC, case-insensitively. */
function listDuplicates(input: unknown, keys: readonly PropertyKey[], member: string): FieldError[] {
  const items = valueAt(input, keys);
  const names = (Array.isArray(items) ? items : []).map((item) => item?.[member]);
  const alike = (name: unknown) => (typeof name === 'string' ? name.trim().normalize('NFC').toLowerCase() : name);
  const nameKeys = names.map(alike);
  return names.flatMap((name, index) => {
    const first = nameKeys.indexOf(alike(name));
    if (typeof name !== 'string' || first === index) return [];
    const path = [...keys, index, member];
    return [fault(path, 'DuplicateName', `is ${shown(name)}; ${pathOf([...keys, first])} has the same ${member}`)];
  });
}

/**
 * Checks the content of a tenant file. Names come back trimmed and in Unicode NFC, the tenant's in lower case, and what
 * is left out has its default.
 * @throws InvalidInput with every fault at once: path, value, and what is allowed
 */
export function readTenantFile(json: unknown): TenantFile {
  const result = tenantFile.safeParse(json);
  const locations = valueAt(json, ['Locations']);
  const errors = [
    ...(result.error?.issues ?? []).flatMap((issue) => listFaults(issue, json)),
    ...listDuplicates(json, ['Locations'], 'Name'),
    ...(Array.isArray(locations) ? locations : []).flatMap((_, index) =>
      listDuplicates(json, ['Locations', index, 'Resources'], 'Name'),
    ),
    ...listDuplicates(json, ['Persons'], 'Email'),
  ];
  if (result.success && errors.length === 0) return result.data;
  throw new InvalidInput(errors.map(({ message }) => message).join('\n'), errors);
}
