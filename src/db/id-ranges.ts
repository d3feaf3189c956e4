/** Gives each cell (setting Cell) its own range of ids, so that the ids of a tenant that moves in are free. */
import { sql } from 'kysely';
import { ConfigError } from '../config.ts';
import type { Database, Transaction } from './database.ts';
import { isOurSequence } from './our-schema.ts';

/** A margin for ids that other sessions take while a sequence is being changed. */
const givenMeanwhile = 1_000;

/** How many ids a cell has, by the type of the column: there is room for 200 cells. */
const ranges = { integer: 10_000_000, bigint: 1_000_000_000_000 } as const;

/**
 * Lets the ids of new rows begin with the range of this cell. Cell 0, the default, has the first range.
 * @throws ConfigError when the database is that of a later cell
 */
export async function startIdsOf(db: Database, cell: number): Promise<void> {
  if (cell === 0) return;
  const { rows } = await sql<{ sequence: string; last: number | null; type: keyof typeof ranges }>`
    select quote_ident(sequencename) as sequence, last_value::float8 as last, data_type::text as type
    from pg_sequences where ${sql.raw(isOurSequence)}`.execute(db);
  for (const { sequence, last, type } of rows) {
    const first = cell * ranges[type];
    if ((last ?? 0) >= first + ranges[type])
      throw new ConfigError(
        `Cell: is ${cell}, but the database has given ids of cell ${Math.floor((last ?? 0) / ranges[type])}; set it to that`,
      );
    if ((last ?? 0) < first) await sql`select setval(${sequence}::regclass, ${first})`.execute(db);
  }
}

/**
 * Moves the sequences past those ids of an arriving tenant that are in this cell's range: the tenant was here before,
 * or in a database that this one replaces. The cell is derived from the last ids that were assigned.
 * @param rowsIn where the rows are
 */
export async function passIdsOf(
  db: Database | Transaction,
  mandatorId: number,
  { rowsIn = db }: { rowsIn?: Database | Transaction } = {},
): Promise<void> {
  const { rows: sequences } = await sql<{
    sequence: string;
    last: number;
    type: keyof typeof ranges;
    table: string;
    column: string;
    tenant: string;
  }>`
    select quote_ident(sequencename) as sequence, coalesce(last_value, 0)::float8 as last, data_type::text as type,
      owner.relname as table, attname as column, case owner.relname when 'mandator' then 'id' else 'mandator_id' end as tenant
    from pg_sequences
    join pg_depend on classid = 'pg_class'::regclass and objid = quote_ident(sequencename)::regclass and deptype in ('a', 'i')
    join pg_class owner on owner.oid = refobjid
    join pg_attribute on attrelid = refobjid and attnum = refobjsubid
    where ${sql.raw(isOurSequence)} and (owner.relname = 'mandator' or exists (
      select from pg_attribute as other
      where other.attrelid = owner.oid and other.attname = 'mandator_id' and not other.attisdropped))`.execute(db);
  for (const { sequence, last, type, table, column, tenant } of sequences) {
    const first = Math.floor(last / ranges[type]) * ranges[type];
    const { rows } = await sql<{ highest: number | null }>`
      select max(${sql.ref(column)})::float8 as highest from ${sql.table(table)}
      where ${sql.ref(tenant)} = ${mandatorId} and ${sql.ref(column)} between ${first} and ${first + ranges[type] - 1}`.execute(
      rowsIn,
    );
    const highest = rows[0]?.highest ?? 0;
    if (highest > last) await sql`select setval(${sequence}::regclass, ${highest + givenMeanwhile})`.execute(db);
  }
}
