/**
 * A tenant as a file (db/table-file.ts): all its rows in one snapshot, one JSON text per line. It contains secrets as they are
 * stored: hashed or sealed with the Pepper, which it does not contain.
 */
import { sql } from 'kysely';
import { z } from 'zod';
import type { Database, Transaction } from '../db/database.ts';
import { passIdsOf } from '../db/id-ranges.ts';
import { openSnapshot } from '../db/snapshot.ts';
import { damaged, type TablePart, type TableText, withTableFile, writeTableFile } from '../db/table-file.ts';
import { Conflict } from '../errors.ts';
import { codeOf, isDuplicate, isExcluded } from '../flow/database-errors.ts';
import { ownIdsRemedy } from './checks.ts';
import { unguarded } from './guards.ts';
import { aloneIn, findRest, getServed } from './resting.ts';
import { insertRows, listTenantTables, type TenantRow } from './tables.ts';

/** Tables whose rows may have megabytes each, and so are read one by one. */
const largeRows = new Set(['batch_job', 'mail_reading_page']);
/** About how many characters of rows are written at once. */
const writtenAtOnce = 65_536;

const head = z.object({
  Roomgate: z.literal('tenant'),
  Version: z.literal(1),
  Migrations: z.string(),
  Mandator: z.string(),
  Id: z.int(),
  WrittenAt: z.string(),
});
const table = z.object({ Table: z.string() });

const shapes = { head, table, name: 'the archive of a tenant' };

export type Archived = { mandator: string; rows: number };

async function readMigrations(db: Database | Transaction): Promise<string> {
  const { rows } = await sql<{ names: string }>`
    select string_agg(name, ' ' order by name) as names from kysely_migration`.execute(db);
  return rows[0]?.names ?? '';
}

/** The tables of a tenant, and the column of each with the tenant's Id; the tenant's own row comes last. */
async function listAll(trx: Transaction): Promise<{ name: string; key: string }[]> {
  const tables = (await listTenantTables(trx)).map(({ name }) => ({ name, key: 'mandator_id' }));
  return [...tables, { name: 'mandator', key: 'id' }];
}

async function* contentOf(db: Database, code: string): AsyncGenerator<TableText> {
  const trx = await openSnapshot(db);
  let written = 0;
  async function* rowsOf(ofTenant: { name: string; key: string }, id: number): AsyncGenerator<string> {
    await sql`
      declare archived cursor for select to_jsonb(found)::text as row
      from ${sql.table(ofTenant.name)} as found where ${sql.ref(ofTenant.key)} = ${sql.lit(id)}`.execute(trx);
    const rowsAtOnce = largeRows.has(ofTenant.name) ? 1 : 1_000;
    let text = '';
    for (let left = true; left; ) {
      const some = await sql<{ row: string }>`fetch ${sql.lit(rowsAtOnce)} from archived`.execute(trx);
      written += some.rows.length;
      left = some.rows.length === rowsAtOnce;
      for (const { row } of some.rows) {
        text += `${row}\n`;
        if (text.length < writtenAtOnce) continue;
        yield text;
        text = '';
      }
    }
    if (text !== '') yield text;
    await sql`close archived`.execute(trx);
  }
  async function* tablesOf(id: number): AsyncGenerator<TablePart> {
    for (const ofTenant of await listAll(trx)) yield { table: { Table: ofTenant.name }, rows: rowsOf(ofTenant, id) };
  }
  try {
    const { id } = await getServed(trx, code);
    const first: z.input<typeof head> = {
      Roomgate: 'tenant',
      Version: 1,
      Migrations: await readMigrations(trx),
      Mandator: code,
      Id: id,
      WrittenAt: new Date().toISOString(),
    };
    yield { head: first, tables: tablesOf(id), rows: () => written };
  } finally {
    await trx.rollback().execute();
  }
}

/**
 * Writes a whole tenant into a file, which appears complete or not at all.
 * @throws NotFound; Conflict when the file exists, or the tenant has moved to another installation
 */
export async function writeArchive(db: Database, code: string, file: string): Promise<Archived> {
  return { mandator: code, rows: await writeTableFile(file, contentOf(db, code)) };
}

/** @throws Conflict when the tenant exists here, or another one has its Id */
async function insistOnNew(trx: Transaction, { id, code }: TenantRow): Promise<void> {
  const found = await trx
    .selectFrom('mandator')
    .where(({ or, eb }) => or([eb('id', '=', id), eb('code', '=', code)]))
    .select('code')
    .executeTakeFirst();
  if (!found) return;
  throw new Conflict(
    found.code === code
      ? `The tenant ${code} exists here already. Nothing was changed. To replace it by the one in the file, remove it first ("roomgate tenant delete").`
      : `The tenant ${found.code} here has the Id ${id} of ${code}. Nothing was changed. ${ownIdsRemedy}`,
  );
}

/**
 * Creates the tenant of an archive here, with all its rows.
 * @throws InvalidInput when the file is damaged, has rows of other tenants or is not an archive; Conflict when it does not fit this
 * installation, or the tenant exists here, or is being moved or removed here
 */
export async function readArchive(db: Database, file: string): Promise<Archived> {
  return await withTableFile(file, shapes, ({ head: { Mandator: code, Id: id, Migrations }, tables }) =>
    db.transaction().execute(async (trx) => {
      if ((await readMigrations(trx)) !== Migrations)
        throw new Conflict(`${file} was written by another release; import it with that one, then upgrade.`);
      await aloneIn(trx, { id, code });
      if (await findRest(trx, { id, code }))
        throw new Conflict(
          `The tenant ${code}, or one with its Id, is being moved or removed here; end that first. Nothing was changed.`,
        );
      await insistOnNew(trx, { id, code });
      const known = new Map((await listAll(trx)).map(({ name, key }) => [name, key]));
      await unguarded(trx);
      let written = 0;
      for await (const part of tables) {
        const { Table: name } = part.table;
        const key = known.get(name);
        if (!key) throw damaged(file, `it has the table ${name}, which tenants do not have`);
        for await (const rows of part.rows) {
          const inserted = await insertRows(trx, name, rows, { where: sql`${sql.ref(key)} = ${id}` }).catch(
            (error: Error & { detail?: string }) => {
              if (isDuplicate(error) || isExcluded(error))
                throw new Conflict(
                  `Another tenant here uses a value that must be unique to ${code}, such as the same PIN. Nothing was changed. PostgreSQL says of ${name}: ${error.detail ?? error.message}`,
                );
              if (/^2[23]/.test(codeOf(error))) throw damaged(file, `a row of ${name} is damaged`);
              throw error;
            },
          );
          if (inserted !== rows.length)
            throw damaged(file, `it has rows of ${name} that do not belong to the tenant ${code}`);
          written += inserted;
        }
      }
      const made = await trx.selectFrom('mandator').where('id', '=', id).select('code').executeTakeFirst();
      if (made?.code !== code) throw damaged(file, `it does not contain the tenant ${code} itself`);
      // Numbers the changes now: the sweep here skips all ids up to the last one that it has numbered.
      await sql`select place_changes(${id}, 2147483647)`.execute(trx);
      await passIdsOf(trx, id);
      return { mandator: code, rows: written };
    }),
  );
}
