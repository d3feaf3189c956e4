/**
 * Calendars are read with a note in the database of who reads them since when. Whoever dies leaves the note: a calendar at
 * which some have died is read alone, to show which of them it was, and when more have, rests.
 *
 * A note that is found is a death only if its runner is gone (see leases) and PostgreSQL has not been started since. Whoever
 * is to stop, or has lost its connection, ends its notes itself, as soon as it can; if somebody else has counted a death by
 * then, it is taken back. What cannot be told from a death: the process was killed by others, its host has vanished, or it
 * was ended during an outage in which it could not end its notes. Such ends count once; a reading that ends well clears all.
 */
import { sql } from 'kysely';
import type { Database } from '../db/database.ts';
import { isOutage } from '../flow/database-errors.ts';
import { type MailJob, markCalendars } from '../mail-subscriptions/service.ts';
import { areHeld } from '../worker/leases.ts';
import { type Calendar, Overtaken } from './reading.ts';

/** Workers that die in a row while they read a calendar; after that it rests. */
export const mostDeaths = 3;
/** For which a calendar rests at which too many have died, doubled by each further one. */
const [firstRestMs, longestRestMs] = [60_000, 6 * 3_600_000];

/** When it was written tells a note from that of the next. */
type Note = Pick<Calendar, 'mandatorId' | 'id'> & { by: string; since: string };

/** Of one worker. */
export function openNotes() {
  /** A calendar is being read at which some have died. */
  let isSuspectRead = false;
  /** Notes that could not be ended, as the database was away: nobody has died. */
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
    /** Ends the notes of this worker that an outage of the database has left. */
    async endLeft(work: Database): Promise<void> {
      const notes = left;
      left = [];
      for (const note of notes) await end(work, note);
    },

    /** Runs `read` under a note, unless the calendar rests. @returns whether it was its turn @throws Overtaken */
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
        // Whoever is to stop may be ended in the middle of what it still writes.
        const stop = () => void endOwn().catch(() => {});
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

/** Whether somebody has left its note, and is gone. */
async function isLeftByDead(work: Database, { leftBy, isLeftBeforeStart }: Calendar): Promise<boolean> {
  return leftBy !== null && !isLeftBeforeStart && !(await areHeld(work, [leftBy]));
}

/** @returns undefined where it is not to be read now, but after a rest */
async function writeNote(
  { work, log, runner }: MailJob,
  calendar: Calendar,
  isDeath: boolean,
): Promise<Note | undefined> {
  const { mandatorId, mandator, mailbox, id, readings, leftBy, leftSince } = calendar;
  const deaths = calendar.deaths + Number(isDeath);
  const rests = isDeath && deaths >= mostDeaths;
  const restMs = Math.min(firstRestMs * 2 ** (deaths - mostDeaths), longestRestMs);
  const text = `The worker has died ${deaths} times in a row while it read this calendar; it is left alone for ${Math.round(restMs / 60_000)} minutes.`;
  const since = await work.transaction().execute(async (trx) => {
    const { rows } = await sql<{ since: string | null }>`
      update mail_calendar set deaths = ${deaths}, death_of = case when ${isDeath} then ${leftBy} else death_of end,
        reading_since = case when not ${rests} then now() end, reading_by = case when not ${rests} then ${runner} end,
        not_before = case when ${rests} then now() + make_interval(secs => ${restMs / 1_000}) else not_before end,
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
      'whoever read this calendar has died',
    );
  return since === null ? undefined : { mandatorId, id, by: runner, since };
}

/** Nobody has died; if somebody else has counted a death meanwhile, it was none. */
async function endNote(work: Database, note: Note): Promise<void> {
  const isOwn = sql`reading_by = ${note.by} and reading_since = ${note.since}::timestamptz`;
  await sql`
    update mail_calendar set
      deaths = case when ${isOwn} then 0 else greatest(deaths - 1, 0) end, death_of = null,
      reading_since = case when ${isOwn} then null else reading_since end,
      reading_by = case when ${isOwn} then null else reading_by end
    where mandator_id = ${note.mandatorId} and id = ${note.id} and ((${isOwn}) or death_of = ${note.by})`.execute(work);
}
