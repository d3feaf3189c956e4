/** Schemas of members that records and bodies of several rooms share: Pascal case in REST, camel case in GraphQL and code. */
import { z } from 'zod';
import { type IdNoun, naming } from './nouns.ts';
import { isStorable, mostId, notStorable } from './storable.ts';

/** The id of a record of the noun. */
export const id = (noun: IdNoun, description: string) => naming(noun, z.int().min(1).meta({ description }));
export const maybeId = (noun: IdNoun, description: string) =>
  naming(noun, z.int().min(1)).nullable().meta({ description });
export const sentId = (noun: IdNoun) => naming(noun, z.int().min(1));
/** The id of a batch, a UUIDv7. */
export const batchId = (description: string) => naming('batch', z.uuid()).meta({ description });
export const maybeBatchId = (description: string) => naming('batch', z.uuid()).nullable().meta({ description });
export const count = (description: string) => z.int().min(0).max(mostId).meta({ description });
export const maybeCount = (description: string) => z.int().min(0).max(mostId).nullable().meta({ description });
export const positive = (description: string) => z.int().min(1).max(mostId).meta({ description });
export const text = (most: number, description: string) => z.string().max(most).meta({ description });
export const maybeText = (most: number, description: string) => z.string().max(most).nullable().meta({ description });
export const flag = (description: string) => z.boolean().meta({ description });
/** A local clock time. */
export const clockTime = z.string().regex(/^([01]\d|2[0-3]):[0-5]\d$/, 'must be a time from 00:00 to 23:59');
/** A local date. */
export const date = (description: string) => z.iso.date().meta({ description });
export const instant = (description: string) => z.date().meta({ description });
export const maybeInstant = (description: string) => z.date().nullable().meta({ description });

/**
 * A copy of a schema with its documentation. Functions for any schema take `$ZodType`, which has few members: comparing
 * full `ZodType`s made two fifths of all types in tsc.
 */
export const noted = <T extends z.core.$ZodType>(schema: T, meta: z.core.GlobalMeta): T =>
  (schema as unknown as z.ZodType).meta(meta) as unknown as T;

const liveMark = 'x-live';
/** Marks a member that changes without a new version of its record: what a client sends back may be older. */
export const live = <T extends z.core.$ZodType>(schema: T): T => noted(schema, { [liveMark]: true });
export const isLive = (schema: z.core.$ZodType | undefined): boolean =>
  (schema && z.globalRegistry.get(schema)?.[liveMark]) === true;

/** A text of a body, or of a tenant file, trimmed and in Unicode NFC. */
export const sentText = (most: number) =>
  z
    .string()
    .trim()
    .refine(isStorable, { error: notStorable, abort: true })
    .normalize('NFC')
    .min(1, { abort: true })
    .max(most, { abort: true });

/** Whether a text has the form of a web address; `http/public-fetch.ts` checks whether requests to it are allowed. */
export const isWebAddress = (written: string): boolean =>
  /^https?:\/\/[^\s/@]+(\/\S*)?$/i.test(written) && URL.canParse(written);
export const wrongWebAddress = 'must be an https address, without a password';

/** A key that names a request, so that repeating it is safe (contract 4.2): a header, an argument or a member. */
export const idempotencyKey = z
  .string()
  .regex(/^[\x21-\x7e]{1,255}$/, 'must have 1 to 255 printable ASCII characters without spaces');

/** An instant of a body, or of a query. */
export const sentInstant = (error?: string) =>
  z.iso
    .datetime({ offset: true, abort: true, ...(error && { error }) })
    .max(40)
    // With an offset, an instant may be in a year that RFC 3339 cannot write.
    .refine((written) => /^\d{4}-/.test(new Date(written).toISOString()), 'must be in a year from 0 to 9999')
    .transform((written) => new Date(written));

/** A number without a documented maximum that is always far below that of GraphQL's Int. */
export const amount = z.int().min(0);
const figure = (description: string) => amount.optional().meta({ description });
const day = (description: string) => z.iso.date().optional().meta({ description });
const dateTime = (description: string) => z.iso.datetime().optional().meta({ description });

/** `LimitFigures` of the domain errors, as they are written. */
export const limitFigures = z
  .object({
    Policy: z.string().max(200).optional().meta({ description: 'The name of the policy that sets the limit.' }),
    Minutes: figure('How many minutes are allowed, or must pass before the start.'),
    Days: figure('How many days ahead may be booked, or how many are allowed.'),
    Bookings: figure('How many bookings of a person are allowed in a week.'),
    Start: dateTime('The wanted start that the limit is about: one of several in a series.'),
    Earliest: dateTime('The earliest start that is allowed at the moment.'),
    BookableFrom: day('The first date on which the wanted start may be booked.'),
    Week: day('The Monday of the week whose quota would be exceeded.'),
    NextWeek: day('The Monday of the week after it.'),
  })
  .meta({ id: 'LimitFigures', description: 'What a limit of bookings allows; only members that concern it.' });

export const upperFirst = (name: string) => name.charAt(0).toUpperCase() + name.slice(1);
export const lowerFirst = (name: string) => name.charAt(0).toLowerCase() + name.slice(1);

/** The members of a body in camel case, as services take them. */
export type Fields<Body> = {
  [Name in keyof Body as Uncapitalize<Name & string>]: Exclude<Body[Name], undefined>;
};

export const toFields = <Body extends object>(body: Body): Fields<Body> =>
  Object.fromEntries(Object.entries(body).map(([name, value]) => [lowerFirst(name), value])) as Fields<Body>;

/** The members with the names of REST. */
export const inPascal = (members: object): { [name: string]: unknown } =>
  Object.fromEntries(Object.entries(members).map(([name, value]) => [upperFirst(name), value]));

/** Returns a function from fields to records of the schema, whose members come in the schema's order. */
export function recordOf<Shape extends z.ZodRawShape>({ shape }: z.ZodObject<Shape>) {
  type Record = z.output<z.ZodObject<Shape>>;
  const names = Object.keys(shape).map((name) => [name, lowerFirst(name)] as const);
  // Copied, because objects that gain their members one by one are slow in V8.
  const empty: { [name: string]: unknown } = JSON.parse(
    `{${names.map(([name]) => `${JSON.stringify(name)}:null`).join()}}`,
  );
  return (fields: { [Name in keyof Shape as Uncapitalize<Name & string>]: unknown }): Record => {
    const record = { ...empty };
    for (const [name, field] of names) record[name] = (fields as { [name: string]: unknown })[field];
    return record as Record;
  };
}
