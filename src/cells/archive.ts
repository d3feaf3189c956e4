/**
 * A tenant as a file: all its rows as they stood at one moment, one JSON text a line, compressed. The first line says what it is,
 * a line before the rows of each table how they are called, the last one that nothing is missing. Secrets are in it as they are
 * stored: hashed or sealed with the Pepper, which is not in it.
 */
import fs from 'node:fs';
import { Readable } from 'node:stream';
import { pipeline } from 'node:stream/promises';
import { createGunzip, createGzip } from 'node:zlib';
import { sql } from 'kysely';
import { z } from 'zod';
import type { Database, Transaction } from '../db/database.ts';
import { linesOf } from '../db/lines.ts';
import { Conflict, InvalidInput } from '../errors.ts';
import { codeOf } from '../flow/database-errors.ts';
import { getTenant, unguarded } from './resting.ts';
import { insertRows, listTenantTables } from './tables.ts';

const rowsAtOnce = 1_000;

const head = z.object({
  Roomgate: z.literal('tenant'),
  Version: z.literal(1),
  Migrations: z.string(),
  Mandator: z.string(),
  Id: z.int(),
  WrittenAt: z.string(),
});
const table = z.object({ Table: z.string(), Rows: z.int() });
const end = z.object({ End: z.literal(true), Rows: z.int() });

export type Archived = { mandator: string; rows: number };

async function readMigrations(db: Database | Transaction): Promise<string> {
  const { rows } = await sql<{ names: string }>`
    select string_agg(name, ' ' order by name) as names from kysely_migration`.execute(db);
  return rows[0]?.names ?? '';
}

/** The lines of an archive. @param told gets the number of rows */
async function* textOf(db: Database, code: string, told: (rows: number) => void): AsyncGenerator<string> {
  const { id } = await getTenant(db, code);
  const trx = await db.startTransaction().setIsolationLevel('repeatable read').setAccessMode('read only').execute();
  try {
    const Migrations = await readMigrations(trx);
    const first: z.input<typeof head> = {
      Roomgate: 'tenant',
      Version: 1,
      Migrations,
      Mandator: code,
      Id: id,
      WrittenAt: new Date().toISOString(),
    };
    yield `${JSON.stringify(first)}\n`;
    let written = 0;
    const tables = (await listTenantTables(trx)).map(({ name }) => ({ name, key: 'mandator_id' }));
    for (const { name, key } of [...tables, { name: 'mandator', key: 'id' }]) {
      const ofTenant = sql`${sql.table(name)} as found where ${sql.ref(key)} = ${sql.lit(id)}`;
      const { rows } = await sql<{ rows: number }>`select count(*) as rows from ${ofTenant}`.execute(trx);
      const count = rows[0]?.rows ?? 0;
      yield `${JSON.stringify({ Table: name, Rows: count })}\n`;
      await sql`declare archived cursor for select to_jsonb(found)::text as row from ${ofTenant}`.execute(trx);
      for (let left = true; left; ) {
        const some = await sql<{ row: string }>`fetch ${sql.lit(rowsAtOnce)} from archived`.execute(trx);
        written += some.rows.length;
        left = some.rows.length === rowsAtOnce;
        if (some.rows.length > 0) yield some.rows.map(({ row }) => `${row}\n`).join('');
      }
      await sql`close archived`.execute(trx);
    }
    yield `${JSON.stringify({ End: true, Rows: written })}\n`;
    told(written);
  } finally {
    await trx.rollback().execute();
  }
}

/** Writes all of a tenant into a file, which is there completely or not at all. @throws NotFound; Conflict when it is there */
export async function writeArchive(db: Database, code: string, file: string): Promise<Archived> {
  if (fs.existsSync(file)) throw new Conflict(`${file} is there already; name another file, or remove it.`);
  let rows = 0;
  const part = `${file}.part`;
  const lines = textOf(db, code, (count) => (rows = count));
  try {
    await pipeline(Readable.from(lines), createGzip(), fs.createWriteStream(part, { mode: 0o600, flush: true }));
    fs.renameSync(part, file);
  } catch (error) {
    fs.rmSync(part, { force: true });
    throw error;
  }
  return { mandator: code, rows };
}

/**
 * Makes the tenant of an archive here, with all that was of it.
 * @throws InvalidInput when the file is damaged or not an archive; Conflict when it does not fit this installation
 */
export async function readArchive(db: Database, file: string): Promise<Archived> {
  const damaged = (what: string) => new InvalidInput(`${file}: ${what}. Nothing was written.`);
  const source = fs.createReadStream(file);
  const input = source.pipe(createGunzip());
  source.on('error', (error) => input.destroy(error));
  const lines = linesOf(input);
  const next = async (): Promise<string | undefined> => {
    const { value, done } = await lines.next().catch((error: Error) => {
      throw damaged(`it cannot be read, or is cut off or damaged: ${error.message}`);
    });
    return done ? undefined : (value as string);
  };
  const read = <Shape extends z.ZodType>(shape: Shape, line: string | undefined): z.output<Shape> | undefined => {
    try {
      return shape.safeParse(JSON.parse(line ?? '')).data;
    } catch {
      return undefined;
    }
  };
  try {
    const first = read(head, await next());
    if (!first) throw damaged('it is not the archive of a tenant');
    return await db.transaction().execute(async (trx) => {
      if ((await readMigrations(trx)) !== first.Migrations)
        throw new Conflict(`${file} was written by another release; import it with that one, then upgrade.`);
      const known = new Set(['mandator', ...(await listTenantTables(trx)).map(({ name }) => name)]);
      await unguarded(trx);
      let written = 0;
      for (let line = await next(); ; line = await next()) {
        const last = read(end, line);
        if (last) {
          if (last.Rows !== written) throw damaged(`${last.Rows} rows were written into it, ${written} are left`);
          return { mandator: first.Mandator, rows: written };
        }
        const part = read(table, line);
        if (!part || !known.has(part.Table)) throw damaged('it is cut off or damaged');
        for (let left = part.Rows; left > 0; ) {
          const rows: string[] = [];
          while (rows.length < Math.min(left, rowsAtOnce)) {
            const row = await next();
            if (row === undefined) throw damaged('it is cut off');
            rows.push(row);
          }
          await insertRows(trx, part.Table, rows).catch((error: Error & { detail?: string }) => {
            if (codeOf(error) === '23505' || codeOf(error) === '23P01')
              throw new Conflict(
                `${part.Table}: ${error.detail ?? error.message} The tenant, or another with its ids or PINs, is here already.`,
              );
            if (codeOf(error).startsWith('22')) throw damaged(`a row of ${part.Table} is damaged`);
            throw error;
          });
          left -= rows.length;
          written += rows.length;
        }
      }
    });
  } finally {
    input.destroy();
  }
}
