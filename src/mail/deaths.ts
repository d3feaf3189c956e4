/**
 * Guards workers against a calendar that crashes its reader. A worker notes in the database that it reads a calendar, and since
 * when; a worker that dies leaves its note behind. A calendar at which a worker has died is read alone, which shows whether it
 * is the cause; after three deaths in a row it is left alone for a while.
 *
 * A note counts as a death only if its worker is gone (see leases) and PostgreSQL has not been restarted since. A worker that
 * stops, or has lost its connection, removes its notes as soon as it can, which takes back a death that another worker has
 * counted. A worker that was killed for another reason, or during an outage, counts as one death. A successful reading resets
 * the count.
 */
import { sql } from 'kysely';
import type { Database } from '../db/database.ts';
import { inMs } from '../db/pauses.ts';
import { isOutage } from '../flow/database-errors.ts';
import { doubledPause } from '../flow/retry.ts';
import { type MailJob, markCalendars } from '../mail-subscriptions/service.ts';
import { hour, minute } from '../time/durations.ts';
import { areHeld } from '../worker/leases.ts';
import { type Calendar, Overtaken } from './reading.ts';

/** Deaths in a row after which a calendar is left alone. */
export const mostDeaths = 3;
const pauses = { firstMs: minute, longestMs: 6 * hour };

/** A worker's note; `since` distinguishes it from later notes of the same worker at the same calendar. */
type Note = Pick<Calendar, 'mandatorId' | 'id'> & { by: string; since: string };

/** The notes of one worker. */
export function openNotes() {
  /** Whether this worker is reading a calendar at which workers have died. */
  let isSuspectRead = false;
  /** Notes that could not be removed because of an outage of the database. */
  let left: Note[] = [];

  async function end(work: Database, note: Note): Promise<void> {
    try {
      await endNote(work, note);
    } catch (error) {
      if (!isOutage(error)) throw error;
      left.push(note);
    }
  }

  return {
    /** Removes the notes of this worker that an outage of the database has left. */
    async endLeft(work: Database): Promise<void> {
      const notes = left;
      left = [];
      for (const note of notes) await end(work, note);
    },

    /** Runs `read` under a note, unless the calendar is left alone. @returns whether `read` was run @throws Overtaken */
    async readNoted(context: MailJob, calendar: Calendar, read: () => Promise<void>): Promise<boolean> {
      const { work, signal } = context;
      const isDeath = await isLeftByDead(work, calendar);
      const isSuspect = calendar.deaths > 0 || isDeath;
      if (isSuspect && isSuspectRead) return false;
      isSuspectRead ||= isSuspect;
      try {
        const own = await writeNote(context, calendar, isDeath);
        if (!own) return true;
        let ended: Promise<void> | undefined;
        const endOwn = () => (ended ??= end(work, own));
        // A stopping worker may be killed while it still writes, so its note is removed at once.
        const stop = () => void endOwn().catch(() => {});
        if (signal.aborted) stop();
        signal.addEventListener('abort', stop, { once: true });
        try {
          await read();
        } finally {
          signal.removeEventListener('abort', stop);
          await endOwn();
        }
        return true;
      } finally {
        if (isSuspect) isSuspectRead = false;
      }
    },
  };
}

/** Whether a dead worker has left its note at the calendar. */
async function isLeftByDead(work: Database, { leftBy, isLeftBeforeStart }: Calendar): Promise<boolean> {
  return leftBy !== null && !isLeftBeforeStart && !(await areHeld(work, [leftBy]));
}

/** @returns undefined if the calendar is left alone */
async function writeNote(
  { work, log, runner }: MailJob,
  calendar: Calendar,
  isDeath: boolean,
): Promise<Note | undefined> {
  const { mandatorId, mandator, mailbox, id, readings, leftBy, leftSince } = calendar;
  const deaths = calendar.deaths + Number(isDeath);
  const rests = isDeath && deaths >= mostDeaths;
  const restMs = doubledPause(deaths - mostDeaths, pauses);
  const text = `The worker has died ${deaths} times in a row while it read this calendar; it is left alone for ${Math.round(restMs / minute)} minutes.`;
  const since = await work.transaction().execute(async (trx) => {
    const { rows } = await sql<{ since: string | null }>`
      update mail_calendar set deaths = ${deaths}, death_of = case when ${isDeath} then ${leftBy} else death_of end,
        reading_since = case when not ${rests} then now() end, reading_by = case when not ${rests} then ${runner} end,
        not_before = case when ${rests} then ${inMs(restMs)} else not_before end,
        fault = case when ${rests} then 'Unreadable' else fault end,
        fault_text = case when ${rests} then ${text} else fault_text end
      where mandator_id = ${mandatorId} and id = ${id} and retired_at is null and readings = ${readings}
        and reading_since is not distinct from ${leftSince}::timestamptz
      returning reading_since::text as since`.execute(trx);
    const [noted] = rows;
    if (!noted) throw new Overtaken();
    if (rests) await markCalendars(trx, [id], calendar.dirtyBy ?? 'Poll');
    return noted.since;
  });
  if (isDeath)
    log[rests ? 'error' : 'warn'](
      { mandator, mailbox, calendarId: id, runner: leftBy, deaths, ...(rests && { restMs }) },
      'the worker that read this calendar has died',
    );
  return since === null ? undefined : { mandatorId, id, by: runner, since };
}

/** Removes a note, or takes back the death that another worker has counted because of it. */
async function endNote(work: Database, note: Note): Promise<void> {
  const isOwn = sql`reading_by = ${note.by} and reading_since = ${note.since}::timestamptz`;
  await sql`
    update mail_calendar set
      deaths = case when ${isOwn} then 0 else greatest(deaths - 1, 0) end, death_of = null,
      reading_since = case when ${isOwn} then null else reading_since end,
      reading_by = case when ${isOwn} then null else reading_by end
    where mandator_id = ${note.mandatorId} and id = ${note.id} and ((${isOwn}) or death_of = ${note.by})`.execute(work);
}
