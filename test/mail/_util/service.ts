/** This service as processes of its own beside a real CalDAV server, and what it has booked. */
import { execFile } from 'node:child_process';
import path from 'node:path';
import { promisify } from 'node:util';
import { sql } from 'kysely';
import { type Database, openDatabase } from '../../../src/db/database.ts';
import { openLog } from '../../../src/log.ts';
import { makeTenant } from '../../_util/factories.ts';
import { freePort } from '../../_util/free-port.ts';
import { pepper } from '../../_util/pepper.ts';
import { cloneDatabase } from '../../_util/postgres.ts';
import { type Program, startProgram } from '../../_util/process.ts';

const main = path.join(import.meta.dirname, '..', '..', '..', 'src', 'main.js');
const code = 'school';

/** `start/end status subject`, of one that occupies its room. */
export type Booked = string;

/** @param mailboxes of the rooms, in their order */
export async function startMailService(
  server: { Url: string; User: string; Password: string },
  mailboxes: readonly string[],
) {
  const database = await cloneDatabase();
  const db: Database = openDatabase(database.url, { max: 2, log: openLog('silent'), statementTimeout: 0 });
  const rooms = mailboxes.map((_, at) => `R${at}`);
  const tenant = await makeTenant(db, { code, rooms });
  for (const [at, mailbox] of mailboxes.entries())
    await db.updateTable('resource').set({ mailbox }).where('id', '=', tenant.resources[at]!.id).execute();
  const port = await freePort();
  const settings: Record<string, string> = {
    Port: `${port}`,
    MailServer__school__Kind: 'CalDav',
  };
  for (const [name, value] of Object.entries(server)) settings[`MailServer__school__${name}`] = value;
  let program: Program | undefined;

  return {
    db,
    tenant,
    url: `http://127.0.0.1:${port}`,
    async start() {
      program = startProgram(database.url, settings);
      await program.ready;
    },
    async end(signal: NodeJS.Signals) {
      const ended = await program?.end(signal);
      program = undefined;
      return ended;
    },
    /** What `roomgate mail callback` prints. */
    async callback(): Promise<string> {
      const env = {
        PATH: process.env['PATH'],
        DatabaseUrl: database.url,
        Pepper: pepper,
        LogLevel: 'silent',
        ...settings,
      };
      const { stdout } = await promisify(execFile)(process.execPath, [main, 'mail', 'callback', '--mandator', code], {
        env,
      });
      return stdout.split('\n', 1)[0]!;
    },
    /** Of a room, in their order. */
    async booked(room: number): Promise<Booked[]> {
      const { rows } = await sql<{ start: Date; end: Date; status: string; subject: string | null }>`
        select lower(occupied) as start, upper(occupied) as "end", status, subject from booking
        where kind = 'MailItem' and status in ('Confirmed', 'Tentative') and resource_id = ${tenant.resources[room]!.id}
        order by lower(occupied)`.execute(db);
      return rows.map(({ start, end, status, subject }) => describeBooking(start, end, status, subject));
    },
    async stop() {
      await program?.end('SIGKILL');
      await db.destroy();
      await database.drop();
    },
  };
}

export function describeBooking(start: Date, end: Date, status: string, subject: string | null): Booked {
  return `${start.toISOString().slice(0, 16)}/${end.toISOString().slice(0, 16)} ${status} ${subject}`;
}

export type MailService = Awaited<ReturnType<typeof startMailService>>;
