import { type RawBuilder, sql } from 'kysely';
import { mostCoupled } from '../bookings/service.ts';
import { lowerFirst } from '../fields.ts';
import { lessonLimits } from '../names.ts';
import type { JobOperation } from './batch.ts';

/** The condition that a lesson does not take place, so that it occupies nothing. @param row of the table or the staged one */
export const isCancelled = (row: RawBuilder<unknown>): RawBuilder<boolean> =>
  sql`${row}.status is not distinct from 'Entfaellt'`;

/**
 * The fields of contract 4.1, and the SQL that reads and checks each of them. Staging, error messages and the
 * documentation of REST and GraphQL are all derived from this table.
 */
export type Kind = 'text' | 'key' | 'name' | 'time' | 'integer' | 'boolean' | 'texts' | 'status';

/** `always`: the field identifies its record. `new`: only a new record needs it. */
type Required = 'always' | 'new' | false;

export type Field = { name: string; column: string; kind: Kind; required: Required; description: string };

const field = (name: string, column: string, kind: Kind, description: string, required: Required = false): Field => ({
  name,
  column,
  kind,
  required,
  description,
});

export const jobFields: readonly Field[] = [
  field('JobID', 'job_id', 'key', 'Names the job; unique in the tenant.', 'always'),
  field('Bezeichnung', 'bezeichnung', 'text', 'Designation.'),
  field('Quelle', 'quelle', 'text', 'Where the job comes from.'),
  field('Standort', 'standort', 'text', 'The location of its rooms, where two locations have a room of the same name.'),
  field('Bemerkung', 'bemerkung', 'text', 'Remark.'),
];

export const lessonFields: readonly Field[] = [
  field('LektionId', 'lektion_id', 'key', 'Names the lesson; unique inside its job.', 'always'),
  field('Beginn', 'beginn', 'time', 'Start, ISO 8601; without an offset it is UTC.', 'new'),
  field('Ende', 'ende', 'time', 'End, after Beginn by at most 24 hours.', 'new'),
  field(
    'RessourceName',
    'ressource_name',
    'name',
    'The name of the room; case and spaces around it do not count.',
    'new',
  ),
  field('RessourceId', 'ressource_id', 'integer', 'The id of the room, which must agree with its name.'),
  field('Titel', 'titel', 'text', 'Title.'),
  field('Fach', 'fach', 'text', 'Subject.'),
  field('Bemerkung', 'bemerkung', 'text', 'Remark.'),
  field('Klassen', 'klassen', 'texts', 'Classes.'),
  field('Lehrpersonen', 'lehrpersonen', 'texts', 'Teachers.'),
  field('Status', 'status', 'status', 'Geplant when left out; Entfaellt occupies no room.'),
  field(
    'KopplungId',
    'kopplung_id',
    'key',
    `Lessons that share it, their room and their time share one booking, at most ${mostCoupled}.`,
  ),
  field('Privat', 'privat', 'boolean', 'Whether others than its sender and Admins see only that the room is taken.'),
];

const listField = 'LektionList';
export const replaceField = field(
  'ReplaceLektionList',
  'replace_list',
  'boolean',
  'Whether LektionList is complete: the other lessons of the job are deleted.',
);

/** The fields that an operation reads. */
export const fieldsOf: Record<JobOperation, { job: readonly Field[]; lesson: readonly Field[] }> = {
  Create: { job: jobFields, lesson: lessonFields },
  Update: { job: [...jobFields, replaceField], lesson: lessonFields },
  Delete: { job: jobFields.slice(0, 1), lesson: lessonFields.slice(0, 1) },
};

/** The spellings that a request may use: the first letter in either case, and JobId for JobID. */
function spellings(name: string): string[] {
  const names = name === 'JobID' ? ['JobID', 'JobId'] : [name];
  return names.flatMap((spelling) => [spelling, lowerFirst(spelling)]);
}

const known = (fields: readonly Field[], ...more: string[]) =>
  [...fields.map(({ name }) => name), ...more].flatMap(spellings);

export const knownJobMembers = (operation: JobOperation) =>
  known(jobFields, listField, ...(operation === 'Update' ? [replaceField.name] : []));
/** The place of a lesson in the timetable files, `[file, line]`; only in batches that replace their source. */
export const fileLineMember = 'Zeile';

export const knownLessonMembers = ({ replacesQuelle }: { replacesQuelle: string | null }) =>
  known(lessonFields, ...(replacesQuelle === null ? [] : [fileLineMember]));

/** The member of a jsonb object, in any spelling. */
export function member(object: RawBuilder<unknown>, name: string): RawBuilder<unknown> {
  return sql`coalesce(${sql.join(spellings(name).map((spelling) => sql`${object} -> ${sql.lit(spelling)}`))})`;
}

/** The spelling in which the member `name` was sent; the first one when it is missing. */
export function sentName(object: RawBuilder<unknown>, name: RawBuilder<unknown>): RawBuilder<unknown> {
  return sql`coalesce((
    select spelling from unnest(case ${name}
      when 'JobID' then ${sql.lit(`{${spellings('JobID').join(',')}}`)}::text[]
      else array[${name}, lower(left(${name}, 1)) || substr(${name}, 2)] end) as spelling
    where ${object} ? spelling limit 1), ${name})`;
}

/** First step: the fields of a jsonb object as jsonb columns. */
export function rawColumns(object: RawBuilder<unknown>, fields: readonly Field[]): RawBuilder<unknown> {
  return sql.join(fields.map(({ name, column }) => sql`${member(object, name)} as ${sql.id(column)}`));
}

export const lessonList = member(sql`body`, listField);
/** The body of a job without its lessons. */
export const withoutList = sql`body - ${sql.lit(`{${spellings(listField).join(',')}}`)}::text[]`;
export const listOrEmpty = sql`case when jsonb_typeof(${lessonList}) = 'array' then ${lessonList} else '[]' end`;

/**
 * A sent value if it is a text, otherwise null. Values of other types must not be converted to text unchecked: a number
 * of 8 bytes, such as `1e131071`, may have 131,072 digits, and an array thousands of them.
 */
export const textOf = (value: RawBuilder<unknown>): RawBuilder<string | null> =>
  sql`(case when jsonb_typeof(${value}) = 'string' then ${value} #>> '{}' end)`;

/** A sent value as messages show it; numbers only where they have few digits. */
export const shown = (value: RawBuilder<unknown>): RawBuilder<string> => sql`case
  when jsonb_typeof(${value}) = 'number' then
    case when abs(${value}::numeric) < 1e20 and scale(${value}::numeric) <= 20 then ${value}::text else 'a number of many digits' end
  when jsonb_typeof(${value}) in ('array', 'object') and jsonb_path_exists(${value}, '$.** ? (@.type() == "number")')
    then 'an ' || jsonb_typeof(${value}) || ' with numbers'
  else left(${value}::text, 80) end`;

function isType(kind: Kind, column: RawBuilder<unknown>): RawBuilder<boolean> {
  const typeIs = (type: string) => sql`jsonb_typeof(${column}) = ${sql.lit(type)}`;
  switch (kind) {
    case 'key':
    case 'name':
      return sql`(${typeIs('string')} and length(${textOf(column)}) between 1 and ${sql.lit(lessonLimits[kind])})`;
    case 'text':
      return sql`(${typeIs('string')} and length(${textOf(column)}) <= ${sql.lit(lessonLimits.text)})`;
    case 'time':
      return sql`(${typeIs('string')})`;
    case 'integer':
      return sql`(case when ${typeIs('number')}
        then scale(${column}::numeric) = 0 and ${column}::numeric between 1 and 999999999 else false end)`;
    case 'boolean':
      return sql`(${typeIs('boolean')})`;
    case 'texts':
      return sql`(${typeIs('array')} and jsonb_array_length(${column}) <= ${sql.lit(lessonLimits.names)}
        and not jsonb_path_exists(${column}, ${sql.lit(`$[*] ? (@.type() != "string" || @ like_regex "^.{${lessonLimits.name + 1}}" flag "s")`)}))`;
    case 'status':
      return sql`(${column} in ('"Geplant"', '"Vertretung"', '"Entfaellt"'))`;
  }
}

const wanted: Record<Kind, string> = {
  key: `a text of 1 to ${lessonLimits.key} characters`,
  name: `a text of 1 to ${lessonLimits.name} characters`,
  text: `a text of at most ${lessonLimits.text} characters`,
  time: 'a text with an ISO 8601 date-time such as 2027-02-01T08:00:00Z',
  integer: 'a whole number from 1 to 999999999',
  boolean: 'true or false',
  texts: `an array of at most ${lessonLimits.names} texts of at most ${lessonLimits.name} characters`,
  status: '"Geplant", "Vertretung" or "Entfaellt"',
};

const isAbsent = (column: RawBuilder<unknown>) => sql`coalesce(${column}, 'null') = 'null'`;

const isTextual = ({ kind }: Field) => ['key', 'name', 'text', 'time', 'status'].includes(kind);

/** Second step: the texts of the raw columns, as `…_text`; null where the value is no text. */
export function textColumns(fields: readonly Field[], table: string): RawBuilder<unknown> {
  return sql.join(
    fields.filter(isTextual).map(({ column }) => {
      const raw = sql.ref(`${table}.${column}`);
      return sql`${textOf(raw)} as ${sql.id(`${column}_text`)}`;
    }),
  );
}

function typedValue({ column, kind }: Field, table: string): RawBuilder<unknown> {
  const raw = sql.ref(`${table}.${column}`);
  const written = sql.ref(`${table}.${column}_text`);
  switch (kind) {
    case 'key':
    case 'name':
      return sql`case when length(${written}) between 1 and ${sql.lit(lessonLimits[kind])} then ${written} end`;
    case 'text':
      return sql`case when length(${written}) <= ${sql.lit(lessonLimits.text)} then ${written} end`;
    case 'time':
      return sql`case when pg_input_is_valid(${written}, 'timestamptz') then ${written}::timestamptz end`;
    case 'status':
      return sql`case when ${written} in ('Geplant', 'Vertretung', 'Entfaellt') then ${written} end`;
    case 'integer':
      return sql`case when ${isType(kind, raw)} then ${raw}::int end`;
    case 'boolean':
      return sql`case when ${isType(kind, raw)} then ${raw}::boolean end`;
    case 'texts':
      return sql`case when ${isType(kind, raw)} then array(select jsonb_array_elements_text(${raw})) end`;
  }
}

/** Third step: the values, as `…_value`; null where the field is absent or of another type. */
export function valueColumns(fields: readonly Field[], table: string): RawBuilder<unknown> {
  return sql.join(fields.map((field) => sql`${typedValue(field, table)} as ${sql.id(`${field.column}_value`)}`));
}

/** Last step: the values under their own names; a time must be a date-time of ISO 8601. */
export function finalColumns(fields: readonly Field[], table: string): RawBuilder<unknown> {
  return sql.join(fields.map((field) => sql`${finalValue(field, table)} as ${sql.id(field.column)}`));
}

function finalValue({ column, kind }: Field, table: string): RawBuilder<unknown> {
  const value = sql.ref(`${table}.${column}_value`);
  return kind === 'time' ? sql`iso_instant(${sql.ref(`${table}.${column}_text`)}, ${value})` : value;
}

/** Last step of an update: a field that was not sent keeps its stored value. */
export function mergedColumns(fields: readonly Field[], table: string, stored: string): RawBuilder<unknown> {
  return sql.join(
    fields.map((field) => {
      const kept = sql.ref(`${stored}.${field.column}`);
      const raw = sql.ref(`${table}.${field.column}`);
      return sql`case when ${raw} is null then ${kept} else ${finalValue(field, table)} end as ${sql.id(field.column)}`;
    }),
  );
}

/**
 * Whether any field was sent without a usable value, or is required and missing. Times are checked by `finalValue`.
 * @param isNew whether the record is a new one
 */
export function anyFault(
  fields: readonly Field[],
  table: string,
  isNew: RawBuilder<unknown> = sql`true`,
): RawBuilder<boolean> {
  const faults = fields
    .filter(({ kind }) => kind !== 'time')
    .map(({ column, required }) => {
      const value = sql.ref(`${table}.${column}_value`);
      const raw = sql.ref(`${table}.${column}`);
      if (required === 'always') return sql`${value} is null`;
      if (required === 'new') return sql`(${value} is null and (${raw} is not null or ${isNew}))`;
      return sql`(${raw} is not null and ${value} is null and ${raw} <> 'null')`;
    });
  return sql`(${sql.join(faults, sql` or `)})`;
}

/** Rows (rank, field, code, message) of one object's fields; code is null where nothing is wrong. */
export function fieldFindings(
  fields: readonly Field[],
  table: string,
  isNew: RawBuilder<unknown>,
): RawBuilder<unknown> {
  const missingCode = (required: Required, raw: RawBuilder<unknown>) => {
    if (required === 'always') return sql`'MissingField'`;
    return required === 'new' ? sql`case when ${raw} is not null or ${isNew} then 'MissingField' end` : sql`null`;
  };
  const rows = fields.map(({ name, column, kind, required }, rank) => {
    const raw = sql.ref(`${table}.${column}`);
    const missing = sql`${isAbsent(raw)}`;
    const instant = sql`case when pg_input_is_valid(${textOf(raw)}, 'timestamptz') then ${textOf(raw)}::timestamptz end`;
    const wrongTime =
      kind === 'time' ? sql`when iso_instant(${textOf(raw)}, ${instant}) is null then 'InvalidTime'` : sql``;
    return sql`(${sql.lit(rank)}, ${sql.lit(name)},
      case when ${missing} then ${missingCode(required, raw)}
           when not ${isType(kind, raw)} then 'InvalidType' ${wrongTime} end,
      case when ${missing} then ${sql.lit(`${name} is missing`)}
           else ${sql.lit(`${name} must be ${wanted[kind]}, not `)} || ${shown(raw)} end)`;
  });
  return sql`(values ${sql.join(rows)}) as finding (rank, field, code, message)`;
}
