/** What a tenant consists of, read from the catalogue, so that a table of a later release is not forgotten. */
import { sql } from 'kysely';
import type { Database, Transaction } from '../db/database.ts';
import { ourSchema } from '../db/our-schema.ts';

export type TenantTable = {
  name: string;
  /** The columns of an insert: all but generated ones. */
  columns: readonly string[];
  /** Whether PostgreSQL can filter changes of the table by tenant; if not, only inserts are replicated. */
  sendsChanges: boolean;
};

/** The tables whose `mandator_id` is a row's tenant; `mandator` itself is not included, as it is moved last. */
export async function listTenantTables(db: Database | Transaction): Promise<TenantTable[]> {
  const { rows } = await sql<TenantTable>`
    select class.relname as name,
      array(
        select attname from pg_attribute
        where attrelid = class.oid and attnum > 0 and not attisdropped and attgenerated = '' order by attnum
      )::text[] as columns,
      exists (
        select from pg_index where indrelid = class.oid and indisprimary and tenant.attnum = any (indkey)
      ) as "sendsChanges"
    from pg_class class
    join pg_attribute tenant on tenant.attrelid = class.oid and tenant.attname = 'mandator_id' and not tenant.attisdropped
    where class.relnamespace = ${sql.raw(ourSchema)} and class.relkind = 'r' and class.relpersistence = 'p'
      and class.relname not in ('resting_tenant', 'move_mark')
    order by class.relname`.execute(db);
  return rows;
}

/**
 * Inserts rows of a table as they were in the other installation.
 * @param rows as JSON, with the names of columns
 * @param options.where selects rows: a condition on their columns
 * @returns how many
 */
export async function insertRows(
  trx: Transaction,
  table: string,
  rows: readonly string[],
  { onConflict = sql``, where = sql`true` } = {},
): Promise<number> {
  const { rows: columns } = await sql<{ name: string }>`
    select attname as name from pg_attribute
    where attrelid = ${table}::regclass and attnum > 0 and not attisdropped and attgenerated = ''`.execute(trx);
  const names = sql.join(columns.map(({ name }) => sql.ref(name)));
  const { numAffectedRows = 0n } = await sql`
    insert into ${sql.table(table)} (${names}) overriding system value
    select ${names} from unnest(${rows}::jsonb[]) as given, jsonb_populate_record(null::${sql.table(table)}, given)
    where ${where} ${onConflict}`.execute(trx);
  return Number(numAffectedRows);
}

export type TenantRow = { id: number; code: string };

/** Identifies the database, whatever its address, and the running server that serves it. */
export async function identify(db: Database): Promise<{ database: string; server: string }> {
  const { rows } = await sql<{ database: string; server: string }>`
    select system_identifier || '/' || current_database() as database,
      system_identifier || ' ' || extract(epoch from pg_postmaster_start_time()) as server
    from pg_control_system()`.execute(db);
  return rows[0]!;
}

/** Checksums of a tenant's rows, to compare two installations: the number of rows of each table, and a sum over their content. */
export type Sums = Record<string, { rows: number; sum: string }>;

export async function sumUp(db: Database, tables: readonly TenantTable[], mandatorId: number): Promise<Sums> {
  const each = tables.map(
    ({ name }) => sql`
      select ${name}::text as name, count(*)::float8 as rows,
        coalesce(sum(hashtextextended(part::text, 0)::numeric), 0)::text as sum
      from ${sql.table(name)} as part where mandator_id = ${mandatorId}`,
  );
  const { rows } = await sql<{ name: string; rows: number; sum: string }>`${sql.join(each, sql` union all `)}`.execute(
    db,
  );
  return Object.fromEntries(rows.map(({ name, rows: count, sum }) => [name, { rows: count, sum }]));
}

/** Describes the first table in which two installations differ; undefined if they are equal. */
export function findDifference(here: Sums, there: Sums): string | undefined {
  for (const [name, { rows, sum }] of Object.entries(here)) {
    const other = there[name];
    if (other?.rows !== rows) return `${name} has ${rows} rows here and ${other?.rows ?? 'none'} there`;
    if (other.sum !== sum) return `${name} has ${rows} rows here and there, but with different content`;
  }
  return undefined;
}
