import { type RawBuilder, sql } from 'kysely';

/** The fields of contract 4.1 and, for each, how SQL reads and judges it: staging and diagnosis ask the same. */
type Kind = 'text' | 'key' | 'time' | 'integer' | 'boolean' | 'texts' | 'status';

export type Field = { name: string; column: string; kind: Kind; required: boolean };

const field = (name: string, column: string, kind: Kind, required = false): Field => ({
  name,
  column,
  kind,
  required,
});

export const jobFields: readonly Field[] = [
  field('JobID', 'job_id', 'key', true),
  field('Bezeichnung', 'bezeichnung', 'text'),
  field('Quelle', 'quelle', 'text'),
  field('Standort', 'standort', 'text'),
  field('Bemerkung', 'bemerkung', 'text'),
];

export const lessonFields: readonly Field[] = [
  field('LektionId', 'lektion_id', 'key', true),
  field('Beginn', 'beginn', 'time', true),
  field('Ende', 'ende', 'time', true),
  field('RessourceName', 'ressource_name', 'key', true),
  field('RessourceId', 'ressource_id', 'integer'),
  field('Titel', 'titel', 'text'),
  field('Fach', 'fach', 'text'),
  field('Bemerkung', 'bemerkung', 'text'),
  field('Klassen', 'klassen', 'texts'),
  field('Lehrpersonen', 'lehrpersonen', 'texts'),
  field('Status', 'status', 'status'),
  field('KopplungId', 'kopplung_id', 'key'),
  field('Privat', 'privat', 'boolean'),
];

const listField = 'LektionList';

/** The spellings that a request may use: the first letter in either case; JobId also reads as JobID. */
function spellings(name: string): string[] {
  const names = name === 'JobID' ? ['JobID', 'JobId'] : [name];
  return names.flatMap((spelling) => [spelling, spelling.charAt(0).toLowerCase() + spelling.slice(1)]);
}

const known = (fields: readonly Field[], ...more: string[]) =>
  [...fields.map(({ name }) => name), ...more].flatMap(spellings);

export const knownJobMembers = known(jobFields, listField);
export const knownLessonMembers = known(lessonFields);

/** The member of a jsonb object, in whichever spelling it was sent. */
export function member(object: RawBuilder<unknown>, name: string): RawBuilder<unknown> {
  return sql`coalesce(${sql.join(spellings(name).map((spelling) => sql`${object} -> ${sql.lit(spelling)}`))})`;
}

/** The spelling in which the member named by the column `name` was sent; its first one when it is not there. */
export function sentName(object: RawBuilder<unknown>, name: RawBuilder<unknown>): RawBuilder<unknown> {
  return sql`coalesce((
    select spelling from unnest(case ${name}
      when 'JobID' then ${sql.lit(`{${spellings('JobID').join(',')}}`)}::text[]
      else array[${name}, lower(left(${name}, 1)) || substr(${name}, 2)] end) as spelling
    where ${object} ? spelling limit 1), ${name})`;
}

/** `fields` of a jsonb object as columns that still are jsonb. */
export function rawColumns(object: RawBuilder<unknown>, fields: readonly Field[]): RawBuilder<unknown> {
  return sql.join(fields.map(({ name, column }) => sql`${member(object, name)} as ${sql.id(column)}`));
}

export const lessonList = member(sql`body`, listField);

const text = (column: RawBuilder<unknown>) => sql`(${column} #>> '{}')`;

/** Longest texts: keys go into indexes. */
const longestKey = 128;
const longestText = 4_000;

function isType(kind: Kind, column: RawBuilder<unknown>): RawBuilder<boolean> {
  const typeIs = (type: string) => sql`jsonb_typeof(${column}) = ${sql.lit(type)}`;
  switch (kind) {
    case 'key':
      return sql`(${typeIs('string')} and length(${text(column)}) between 1 and ${sql.lit(longestKey)})`;
    case 'text':
      return sql`(${typeIs('string')} and length(${text(column)}) <= ${sql.lit(longestText)})`;
    case 'time':
      return sql`(${typeIs('string')})`;
    case 'integer':
      return sql`(${typeIs('number')} and ${text(column)} ~ '^[1-9][0-9]{0,8}$')`;
    case 'boolean':
      return sql`(${typeIs('boolean')})`;
    case 'texts':
      return sql`(${typeIs('array')} and not jsonb_path_exists(${column}, '$[*] ? (@.type() != "string")'))`;
    case 'status':
      return sql`(${column} in ('"Geplant"', '"Vertretung"', '"Entfaellt"'))`;
  }
}

const wanted: Record<Kind, string> = {
  key: `a text of 1 to ${longestKey} characters`,
  text: `a text of at most ${longestText} characters`,
  time: 'a text with an ISO 8601 date-time such as 2027-02-01T08:00:00Z',
  integer: 'a whole number from 1 to 999999999',
  boolean: 'true or false',
  texts: 'an array of texts',
  status: '"Geplant", "Vertretung" or "Entfaellt"',
};

const isAbsent = (column: RawBuilder<unknown>) => sql`coalesce(${column}, 'null') = 'null'`;

const isTextual = ({ kind }: Field) =>
  kind === 'key' || kind === 'text' || kind === 'time' || kind === 'status';

/** Second step: the texts of the raw columns, as `…_text`; null where there is none. */
export function textColumns(fields: readonly Field[], table: string): RawBuilder<unknown> {
  return sql.join(
    fields.filter(isTextual).map(({ column }) => {
      const raw = sql.ref(`${table}.${column}`);
      return sql`case when jsonb_typeof(${raw}) = 'string' then ${text(raw)} end as ${sql.id(`${column}_text`)}`;
    }),
  );
}

function typedValue({ column, kind }: Field, table: string): RawBuilder<unknown> {
  const raw = sql.ref(`${table}.${column}`);
  const written = sql.ref(`${table}.${column}_text`);
  switch (kind) {
    case 'key':
      return sql`case when length(${written}) between 1 and ${sql.lit(longestKey)} then ${written} end`;
    case 'text':
      return sql`case when length(${written}) <= ${sql.lit(longestText)} then ${written} end`;
    case 'time':
      return sql`case when pg_input_is_valid(${written}, 'timestamptz') then ${written}::timestamptz end`;
    case 'status':
      return sql`case when ${written} in ('Geplant', 'Vertretung', 'Entfaellt') then ${written} end`;
    case 'integer':
      return sql`case when ${isType(kind, raw)} then ${text(raw)}::int end`;
    case 'boolean':
      return sql`case when ${isType(kind, raw)} then ${text(raw)}::boolean end`;
    case 'texts':
      return sql`case when ${isType(kind, raw)} then array(select jsonb_array_elements_text(${raw})) end`;
  }
}

/** Third step: the values, as `…_value`; null where the field is absent or of another type. */
export function valueColumns(fields: readonly Field[], table: string): RawBuilder<unknown> {
  return sql.join(
    fields.map((field) => sql`${typedValue(field, table)} as ${sql.id(`${field.column}_value`)}`),
  );
}

/** Last step: the values under their own names; of a time only what is a date-time of ISO 8601. */
export function finalColumns(fields: readonly Field[], table: string): RawBuilder<unknown> {
  return sql.join(
    fields.map(({ column, kind }) => {
      const value = sql.ref(`${table}.${column}_value`);
      const final =
        kind === 'time' ? sql`iso_instant(${sql.ref(`${table}.${column}_text`)}, ${value})` : value;
      return sql`${final} as ${sql.id(column)}`;
    }),
  );
}

/** Whether a field was sent but has no value, or must have one and has none; times show it by being null at the end. */
export function anyFault(fields: readonly Field[], table: string): RawBuilder<boolean> {
  const faults = fields
    .filter(({ kind }) => kind !== 'time')
    .map(({ column, required }) => {
      const value = sql.ref(`${table}.${column}_value`);
      const raw = sql.ref(`${table}.${column}`);
      return required
        ? sql`${value} is null`
        : sql`(${raw} is not null and ${value} is null and ${raw} <> 'null')`;
    });
  return sql`(${sql.join(faults, sql` or `)})`;
}

/** Rows (rank, field, code, message) of one object's fields; code is null where nothing is wrong. */
export function fieldFindings(fields: readonly Field[], table: string): RawBuilder<unknown> {
  const rows = fields.map(({ name, column, kind, required }, rank) => {
    const raw = sql.ref(`${table}.${column}`);
    const missing = sql`${isAbsent(raw)}`;
    const instant = sql`case when pg_input_is_valid(${text(raw)}, 'timestamptz') then ${text(raw)}::timestamptz end`;
    const wrongTime =
      kind === 'time' ? sql`when iso_instant(${text(raw)}, ${instant}) is null then 'InvalidTime'` : sql``;
    const shown = sql`left(${raw}::text, 80)`;
    return sql`(${sql.lit(rank)}, ${sql.lit(name)},
      case when ${missing} then ${required ? sql`'MissingField'` : sql`null`}
           when not ${isType(kind, raw)} then 'InvalidType' ${wrongTime} end,
      case when ${missing} then ${sql.lit(`${name} is missing`)}
           else ${sql.lit(`${name} must be ${wanted[kind]}, not `)} || ${shown} end)`;
  });
  return sql`(values ${sql.join(rows)}) as finding (rank, field, code, message)`;
}
