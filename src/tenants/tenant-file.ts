/** The schema of a tenant file, which holds the master data of a tenant (contract 1), and the messages for its faults. */
import { z } from 'zod';
import { codeOfIssue, type FieldError, InvalidInput, pathOf, pointerTo } from '../errors.ts';
import { sentText } from '../fields.ts';
import { mostCalendars, sourceMembers } from '../holidays/service.ts';
import { longest, mandatorForm, reservedNames } from '../names.ts';
import { hoursMembers } from '../opening-hours/service.ts';
import {
  groupFields,
  locationFields,
  mostGroups,
  personFields,
  policyFields,
  policyLists,
  resourceFields,
} from './fields.ts';
import { lookFields } from './look.ts';
import { remedyFor } from './nearest.ts';
import { type ParameterName, parameterTypes } from './parameters.ts';

const active = z.boolean();

/** A list that null empties. */
const emptied = <Item extends z.core.$ZodType>(list: z.ZodArray<Item>) =>
  list.nullable().transform((items) => items ?? []);

/** Null puts a parameter back to its default. */
const parameters = Object.fromEntries(
  Object.entries(parameterTypes).map(([name, type]) => [name, type.nullable()]),
) as { [Name in ParameterName]: z.ZodNullable<(typeof parameterTypes)[Name]> };

/** Only the name of a record is required: members that the file leaves out stay as they are. */
const resource = z
  .strictObject({
    ...resourceFields,
    Equipment: emptied(resourceFields.Equipment),
    Policy: policyFields.Name.nullable(),
    Active: active,
    ...hoursMembers,
  })
  .partial()
  .extend({ Name: resourceFields.Name });

const location = z
  .strictObject({ ...locationFields, Active: active, ...hoursMembers })
  .partial()
  .extend({ Name: locationFields.Name, Resources: z.array(resource).default([]) });

const person = z
  .strictObject({ ...personFields, Active: active })
  .partial()
  .extend({ Email: personFields.Email });

const group = z.strictObject({
  Name: groupFields.Name,
  Members: emptied(z.array(personFields.Email)).optional(),
});

const groupNames = emptied(z.array(groupFields.Name).max(mostGroups));
const policy = z
  .strictObject({
    ...policyFields,
    ...(Object.fromEntries(policyLists.map((list) => [list, groupNames])) as Record<
      (typeof policyLists)[number],
      typeof groupNames
    >),
  })
  .partial()
  .extend({ Name: policyFields.Name });

const calendar = z
  .strictObject({
    Name: sentText(longest.name),
    Location: locationFields.Name.nullable(),
    Closes: active,
    ...sourceMembers,
  })
  .partial()
  .extend({ Name: sentText(longest.name) })
  .superRefine(({ Url, Holidays }, { addIssue }) => {
    if (Url !== undefined && Holidays !== undefined)
      addIssue({
        code: 'custom',
        path: ['Holidays'],
        message: 'cannot be combined with Url; give the dates or the address',
      });
  });

const tenantFile = z.strictObject({
  Mandator: sentText(64)
    .toLowerCase()
    .refine((code) => !reservedNames.has(code), {
      error: 'is reserved; choose another name',
      abort: true,
    })
    .regex(mandatorForm, 'must consist of a-z, 0-9, - and _'),
  Name: sentText(longest.name).optional(),
  Parameters: z.strictObject(parameters).partial().default({}),
  Colour: lookFields.Colour.optional(),
  Logo: lookFields.Logo.optional(),
  Locations: z.array(location).default([]),
  Persons: z.array(person).default([]),
  Groups: z.array(group).default([]),
  Policies: z.array(policy).default([]),
  HolidayCalendars: z.array(calendar).max(mostCalendars).default([]),
});

export type TenantFile = z.output<typeof tenantFile>;

/** Lists the known members where one is unknown. */
const allowed = (issue: z.core.$ZodRawIssue): string | undefined =>
  issue.code === 'unrecognized_keys' ? Object.keys((issue.inst as z.ZodObject).shape).join(' ') : undefined;

const valueAt = (input: unknown, keys: readonly PropertyKey[]) =>
  keys.reduce<unknown>((parent, key) => (parent as Record<PropertyKey, unknown> | undefined)?.[key], input);

/** A fault of a file, at the path `keys`. */
export function fault(keys: readonly PropertyKey[], code: string, text: string): FieldError {
  const field = keys.findLast((key) => typeof key === 'string');
  return {
    field: field === undefined ? null : String(field),
    pointer: pointerTo(keys),
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
  if (value === null && typeof issue.path.at(-1) === 'string')
    return [fault(issue.path, codeOfIssue(issue, value), `is null, but cannot be cleared; ${issue.message}`)];
  if (value === undefined) return [fault(issue.path, 'MissingField', `is missing; ${issue.message}`)];
  // An address may be a secret, or contain a password although that is not allowed.
  const told = issue.path.at(-1) === 'Url' ? issue.message : `is ${shown(value)}; ${issue.message}`;
  return [fault(issue.path, codeOfIssue(issue, value), told)];
}

function shown(value: unknown): string {
  const written = JSON.stringify(value);
  return written.length > 80 ? `${written.slice(0, 80)}…` : written;
}

/** Faults of items whose `member` equals that of an earlier item, after trimming, in Unicode NFC and any case. */
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
 * Validates a tenant file. Trims names and converts them to Unicode NFC, the code of the tenant to lower case. A member that
 * is left out is undefined.
 * @throws InvalidInput with every fault: path, value, and what is allowed
 */
export function readTenantFile(json: unknown): TenantFile {
  const result = tenantFile.safeParse(json, { error: allowed });
  const locations = valueAt(json, ['Locations']);
  const errors = [
    ...(result.error?.issues ?? []).flatMap((issue) => listFaults(issue, json)),
    ...listDuplicates(json, ['Locations'], 'Name'),
    ...(Array.isArray(locations) ? locations : []).flatMap((_, index) =>
      listDuplicates(json, ['Locations', index, 'Resources'], 'Name'),
    ),
    ...listDuplicates(json, ['Persons'], 'Email'),
    ...listDuplicates(json, ['Persons'], 'TeacherCode'),
    ...listDuplicates(json, ['Groups'], 'Name'),
    ...listDuplicates(json, ['Policies'], 'Name'),
    ...listDuplicates(json, ['HolidayCalendars'], 'Name'),
  ];
  if (result.success && errors.length === 0) return result.data;
  throw new InvalidInput(errors.map(({ message }) => message).join('\n'), errors);
}
