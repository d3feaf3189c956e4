/**
 * Rows of tables as a compressed file. The first line is JSON and describes the file. Each table begins with a line of JSON
 * about it, and ends with `\.`. The last line has the number of rows and a SHA-256 of everything before it.
 */
import { createHash } from 'node:crypto';
import fs from 'node:fs';
import { Readable, type Writable } from 'node:stream';
import { pipeline } from 'node:stream/promises';
import { getSystemErrorMessage } from 'node:util';
import { createGunzip, createGzip } from 'node:zlib';
import { z } from 'zod';
import { Conflict, InvalidInput } from '../errors.ts';
import { linesOf } from './lines.ts';

/** How PostgreSQL's COPY ends the rows of a table in a file. */
const endOfRows = '\\.';
/** The size of the rows that a reader gets at once. */
const mostRows = 1_000;
const mostCharacters = 65_536;

const end = z.object({ End: z.literal(true), Rows: z.int(), Sum: z.string() });

/** One table: the JSON of its line, and its rows as whole lines with line ends. */
export type TablePart = { table: object; rows: AsyncIterable<string | Buffer> };
/** The content of a file to write: its head, then its tables. `rows`, called at the end, returns the number of rows. */
export type TableText = { head: object; tables: AsyncIterable<TablePart>; rows(): number };

const lineOf = (record: object) => `${JSON.stringify(record)}\n`;

async function* textOf(
  content: AsyncIterable<TableText>,
  told: (rows: number) => void,
): AsyncGenerator<string | Buffer> {
  const sum = createHash('sha256');
  const summed = (text: string | Buffer) => {
    sum.update(text);
    return text;
  };
  for await (const { head, tables, rows } of content) {
    yield summed(lineOf(head));
    for await (const part of tables) {
      yield summed(lineOf(part.table));
      for await (const text of part.rows) yield summed(text);
      yield summed(`${endOfRows}\n`);
    }
    told(rows());
    yield lineOf({ End: true, Rows: rows(), Sum: sum.digest('hex') } satisfies z.input<typeof end>);
  }
}

/**
 * Writes to `target`: a file, which appears complete or not at all, or a stream, which stays open.
 * @param content yields once, and keeps its transaction open until it is resumed
 * @returns the number of rows
 * @throws Conflict when the file exists or cannot be written
 */
export async function writeTableFile(target: string | Writable, content: AsyncIterable<TableText>): Promise<number> {
  let rows = 0;
  const text = Readable.from(textOf(content, (count) => (rows = count)));
  if (typeof target !== 'string') {
    // Standard output does not keep its error, as other streams do.
    let fault: Error | undefined;
    target.once('error', (error) => (fault = error));
    await pipeline(text, createGzip(), target, { end: false }).catch((error: Error) => {
      throw error === fault ? new Conflict(`The output cannot be written: ${whyOf(error)}.`) : error;
    });
    return rows;
  }
  const taken = new Conflict(`${target} already exists; name another file, or remove it.`);
  if (fs.existsSync(target)) throw taken;
  const part = `${target}.${process.pid}.part`;
  try {
    await pipeline(text, createGzip(), fs.createWriteStream(part, { mode: 0o600, flush: true }));
    // Unlike a rename it replaces nothing that has appeared meanwhile.
    fs.linkSync(part, target);
    return rows;
  } catch (error) {
    const { code, syscall } = error as NodeJS.ErrnoException;
    if (code === 'EEXIST') throw taken;
    throw /^(open|write|fsync|close|link)$/.test(syscall ?? '')
      ? new Conflict(`${target} cannot be written: ${whyOf(error as Error)}.`)
      : error;
  } finally {
    fs.rmSync(part, { force: true });
  }
}

/** The system's message, without the names of the call and the file. */
const whyOf = ({ errno, message }: NodeJS.ErrnoException): string =>
  errno === undefined ? message : getSystemErrorMessage(errno);

export const damaged = (file: string, what: string) => new InvalidInput(`${file}: ${what}. Nothing was changed.`);

/** A kind of file: its name, and the schemas of its head and of the lines before tables. */
export type Shapes<Head, Table> = { head: z.core.$ZodType<Head>; table: z.core.$ZodType<Table>; name: string };

/** `tables` is read in order; at its end the whole file has been verified, otherwise it throws InvalidInput. */
export type TableFile<Head, Table> = {
  head: Head;
  tables: AsyncGenerator<{ table: Table; rows: AsyncGenerator<string[]> }>;
};

async function* readLines(file: string, name: string): AsyncGenerator<string> {
  const source = fs.createReadStream(file);
  const input = createGunzip();
  source.on('error', (error) => input.destroy(error)).pipe(input);
  try {
    yield* linesOf(input);
  } catch (error) {
    if ((error as NodeJS.ErrnoException).syscall)
      throw new InvalidInput(`${file} cannot be read: ${whyOf(error as Error)}. Nothing was changed.`);
    throw damaged(file, `it cannot be read, is truncated or damaged, or is not ${name}: ${(error as Error).message}`);
  } finally {
    source.destroy();
    input.destroy();
  }
}

function read<T>(shape: z.core.$ZodType<T>, line: string): T | undefined {
  try {
    return z.safeParse(shape, JSON.parse(line)).data;
  } catch {
    return undefined;
  }
}

/**
 * Works with a file. The caller must not commit anything before the tables have ended.
 * @throws InvalidInput when the file is of another kind, truncated or damaged
 */
export async function withTableFile<Head, Table, Result>(
  file: string,
  { head: headShape, table: tableShape, name }: Shapes<Head, Table>,
  work: (content: TableFile<Head, Table>) => Promise<Result>,
): Promise<Result> {
  const lines = readLines(file, name);
  const sum = createHash('sha256');
  let count = 0;
  const next = async (): Promise<string> => {
    const { value, done } = await lines.next();
    if (done) throw damaged(file, 'it is truncated');
    return value;
  };

  async function* rowsOf(): AsyncGenerator<string[]> {
    let rows: string[] = [];
    let characters = 0;
    for (let line = await next(); ; line = await next()) {
      sum.update(line).update('\n');
      if (line === endOfRows) break;
      count++;
      characters += line.length;
      if (rows.push(line) < mostRows && characters < mostCharacters) continue;
      yield rows;
      [rows, characters] = [[], 0];
    }
    if (rows.length > 0) yield rows;
  }

  async function* tablesOf(): AsyncGenerator<{ table: Table; rows: AsyncGenerator<string[]> }> {
    for (let line = await next(); ; line = await next()) {
      const last = read(end, line);
      if (last) {
        if (!(await lines.next()).done || last.Rows !== count || last.Sum !== sum.digest('hex'))
          throw damaged(file, 'it has been changed');
        return;
      }
      const table = read(tableShape, line);
      if (!table) throw damaged(file, 'it is truncated or damaged');
      sum.update(line).update('\n');
      yield { table, rows: rowsOf() };
    }
  }

  try {
    const { value: first, done } = await lines.next();
    if (done) throw damaged(file, 'it is empty');
    const head = read(headShape, first);
    if (!head) throw damaged(file, `it is not ${name} of roomgate`);
    sum.update(first).update('\n');
    return await work({ head, tables: tablesOf() });
  } finally {
    await lines.return(undefined);
  }
}

/** Reads the whole file once. @throws InvalidInput when it is of another kind, truncated or damaged */
export async function inspectTableFile<Head, Table>(file: string, shapes: Shapes<Head, Table>): Promise<Head> {
  return await withTableFile(file, shapes, async ({ head, tables }) => {
    for await (const { rows } of tables) for await (const _ of rows);
    return head;
  });
}
