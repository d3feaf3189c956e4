/** The messages for zod's issues, each saying what is allowed. The message of a schema takes precedence. */
import { z } from 'zod';

const kinds: Record<string, string> = {
  array: 'must be a list in brackets',
  boolean: 'must be true or false',
  date: 'must be a date-time such as 2027-02-01T08:00:00Z',
  int: 'must be a whole number',
  null: 'must be null',
  number: 'must be a number',
  object: 'must be an object in braces',
  record: 'must be an object in braces',
  string: 'must be a text in quotes',
};

const forms: Record<string, string> = {
  base64: 'must be Base64',
  date: 'must be a date such as 2027-02-01',
  datetime: 'must be a date-time such as 2027-02-01T08:00:00Z',
  email: 'must be an e-mail address',
  safeint: 'must be a whole number',
  time: 'must be a time such as 08:00',
  url: 'must be an address such as https://school.example',
  uuid: 'must be a UUID',
};

type Size = { origin: string; inclusive?: boolean | undefined };

/** @param most whether the bound is a maximum rather than a minimum */
function sizeOf({ origin, inclusive = true }: Size, bound: number | bigint, most: boolean): string {
  // Of all whole numbers.
  if (Math.abs(Number(bound)) === Number.MAX_SAFE_INTEGER) return 'must be a whole number';
  if (origin === 'string' || origin === 'array' || origin === 'set') {
    if (!most && Number(bound) === 1) return 'must not be empty';
    const unit = origin === 'string' ? 'character' : Number(bound) === 1 ? 'entry' : 'entries';
    const units = origin === 'string' && Number(bound) !== 1 ? `${unit}s` : unit;
    return `must have at ${most ? 'most' : 'least'} ${bound} ${units}`;
  }
  if (!inclusive) return `must be ${most ? 'less' : 'more'} than ${bound}`;
  return most ? `must be at most ${bound}` : `must be ${bound} or more`;
}

/** What a text or number must look like, which says more than its type. Only raw issues name their schema. */
function formOf(issue: z.core.$ZodRawIssue | z.core.$ZodIssue): string | undefined {
  const definition = 'inst' in issue ? issue.inst?._zod.def : undefined;
  return definition && 'format' in definition ? forms[String(definition.format)] : undefined;
}

/** Says what is allowed in the place of the issue. */
export function wordingOf(issue: z.core.$ZodRawIssue | z.core.$ZodIssue): string {
  switch (issue.code) {
    case 'invalid_type':
      return formOf(issue) ?? kinds[issue.expected] ?? 'must be a value of another type';
    case 'too_small':
      return sizeOf(issue, issue.minimum, false);
    case 'too_big':
      return sizeOf(issue, issue.maximum, true);
    case 'invalid_value':
      return `must be ${issue.values.length > 1 ? 'one of ' : ''}${issue.values.map(String).join(', ')}`;
    case 'invalid_format':
      return forms[issue.format] ?? (issue.pattern ? `must have the form ${issue.pattern}` : 'must have another form');
    case 'not_multiple_of':
      return `must be a multiple of ${issue.divisor}`;
    case 'unrecognized_keys':
      return `must not have ${issue.keys.join(', ')}`;
    case 'invalid_key':
      return 'has a name that is not allowed here';
    default:
      return 'is not allowed here';
  }
}

z.config({ customError: wordingOf });
