/** Reads holiday calendars at their addresses, in the worker. */
import { sql } from 'kysely';
import type { Config } from '../config.ts';
import type { Database } from '../db/database.ts';
import { rests } from '../db/resting.ts';
import { fetchPublic, NotPublic } from '../http/public-fetch.ts';
import type { FetchedAnswer } from '../http/safe-fetch.ts';
import { whyUnanswered } from '../http/unanswered.ts';
import { Unreadable } from '../time/ical-lines.ts';
import { readHolidays } from './reading.ts';
import { readingColumns, writeHolidays } from './stored.ts';

const mostBytes = 1024 * 1024;
const patienceMs = 15_000;
/** The calendars of one round. */
const mostAtOnce = 20;
/** The rounds of one sweep; the rest waits for the next sweep. */
const mostRounds = 20;

type Due = { mandatorId: number; id: number; url: string; etag: string | null };

const isDue = sql<boolean>`due_at <= now() and not ${rests(sql`holiday_calendar.mandator_id`)}`;
/** SQL: whether there are calendars to read. */
export const hasDueCalendars = sql<boolean>`exists (select from holiday_calendar where ${isDue})`;

/**
 * Takes due calendars, one of each tenant, so that a tenant whose servers hang delays no others. Calendars that were not read
 * within a minute are due again.
 */
async function takeDue(db: Database): Promise<Due[]> {
  const { rows } = await sql<Due>`
    update holiday_calendar as taken set due_at = now() + interval '1 minute'
    from (select mandator_id, id from holiday_calendar
      where ${isDue} and (mandator_id, id) in (
        select distinct on (mandator_id) mandator_id, id from holiday_calendar
        where ${isDue} order by mandator_id, due_at, id)
      order by due_at limit ${mostAtOnce} for no key update skip locked) as due
    where taken.mandator_id = due.mandator_id and taken.id = due.id
    returning taken.mandator_id as "mandatorId", taken.id, taken.url, taken.etag`.execute(db);
  return rows;
}

/** The reading has failed; the message is shown to the Admin. */
class Failed extends Error {}

async function ask({ url, etag }: Due, trusted: readonly string[], signal: AbortSignal): Promise<FetchedAnswer> {
  const headers = {
    accept: 'text/calendar',
    'user-agent': 'roomgate',
    ...(etag !== null && { 'if-none-match': etag }),
  };
  const patience = AbortSignal.any([signal, AbortSignal.timeout(patienceMs)]);
  const answer = await fetchPublic(new URL(url), { headers, signal: patience, most: mostBytes, trusted });
  if (answer.status === 200 || (answer.status === 304 && etag !== null)) return answer;
  const moved = answer.status >= 300 && answer.status < 400 && answer.status !== 304;
  throw new Failed(`the server answers ${answer.status}${moved ? '; give the address that it redirects to' : ''}`);
}

/** Why a reading failed, for an Admin; quotes nothing of the answer. */
function reasonOf(error: unknown): string {
  if (error instanceof Failed || error instanceof NotPublic || error instanceof Unreadable) return error.message;
  return whyUnanswered(error, 'the server', patienceMs);
}

async function readOne(
  db: Database,
  due: Due,
  { IntervalHours, TrustedOrigins }: Config['Holidays'],
  signal: AbortSignal,
): Promise<void> {
  const ours = (trx: Database) =>
    trx
      .updateTable('holiday_calendar')
      .where('mandator_id', '=', due.mandatorId)
      .where('id', '=', due.id)
      // An Admin may have changed the address meanwhile.
      .where('url', '=', due.url);
  const next = { due_at: sql<Date>`now() + make_interval(hours => ${IntervalHours})` };
  try {
    const { status, headers, bytes } = await ask(due, TrustedOrigins, signal);
    // Stored before the text is read: if reading it crashes the process, the next process does not read it at once.
    await ours(db).set(next).execute();
    const found = status === 304 ? undefined : await readHolidays(bytes.toString('utf8'), new Date());
    await db.transaction().execute(async (trx) => {
      const etag = status === 304 ? due.etag : (headers.get('etag')?.slice(0, 500) ?? null);
      const read = {
        read_at: sql<Date>`now()`,
        ...(found && readingColumns(found)),
        etag,
        fault: null,
        fault_at: null,
      };
      const { numUpdatedRows } = await ours(trx).set(read).executeTakeFirstOrThrow();
      if (numUpdatedRows > 0n && found) await writeHolidays(trx, due.mandatorId, due.id, found.holidays);
    });
  } catch (error) {
    if (signal.aborted) throw error;
    const failed = { ...next, fault: reasonOf(error).slice(0, 500), fault_at: sql<Date>`now()` };
    await ours(db).set(failed).execute();
  }
}

/** Reads the calendars that are due. A failure concerns only its own calendar. */
export async function readDueCalendars(db: Database, settings: Config['Holidays'], signal: AbortSignal): Promise<void> {
  for (let round = 0; round < mostRounds && !signal.aborted; round++) {
    const due = await takeDue(db);
    if (due.length === 0) return;
    await Promise.all(due.map((one) => readOne(db, one, settings, signal)));
  }
}
