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
import { type Job, markCalendars } from '../mail-subscriptions/service.ts';
import { areHeld } from '../worker/leases.ts';
import { type Calendar, Overtaken } from './reading.ts';

/** Workers that die in a row while they read a calendar; after that it rests. */
export const mostDeaths = 3;
/** Milliseconds for which a calendar rests at which too many have died, doubled by each further one. */
const firstRest = 60_000;
const longestRest = 6 * 3_600_000;

/** Where a calendar is being read at which some have died. */
const suspected = new WeakSet<Database>();

/** When it was written tells a note from that of the next. */
type Note = Pick<Calendar, 'mandatorId' | 'id'> & { by: string; since: string };

/** Notes that could not be ended, as the database was away: nobody has died. */
const left = new WeakMap<Database, Set<Note>>();

/** Runs `read` under a note, unless the calendar rests. @returns whether it was its turn @throws Overtaken */
export async function readNoted(context: Job, calendar: Calendar, read: () => Promise<void>): Promise<boolean> {
  const { work, signal } = context;
  const isDeath = await isLeftByDead(work, calendar);
  const isSuspect = calendar.deaths > 0 || isDeath;
  if (isSuspect && suspected.has(work)) return false;
  if (isSuspect) suspected.add(work);
  try {
    const own = await note(context, calendar, isDeath);
    if (!own) return true;
    let ended: Promise<void> | undefined;
    const end = () => (ended ??= endNote(work, own));
    // Whoever is to stop may be ended in the middle of what it still writes.
    const stop = () => void end().catch(() => {});
    signal.addEventListener('abort', stop, { once: true });
    try {
      await read();
    } finally {
      signal.removeEventListener('abort', stop);
      await end();
    }
    return true;
  } finally {
    if (isSuspect) suspected.delete(work);
  }
}

/** Whether somebody has left its note, and is gone. */
async function isLeftByDead(work: Database, { leftBy, isLeftBeforeStart }: Calendar): Promise<boolean> {
  return leftBy !== null && !isLeftBeforeStart && !(await areHeld(work, [leftBy]));
}

/** @returns undefined where it is not to be read now, but after a rest */
async function note({ work, log, runner }: Job, calendar: Calendar, isDeath: boolean): Promise<Note | undefined> {
  const { mandatorId, mandator, mailbox, id, readings, leftBy, leftSince } = calendar;
  const deaths = calendar.deaths + Number(isDeath);
  const rests = isDeath && deaths >= mostDeaths;
  const rest = Math.min(firstRest * 2 ** (deaths - mostDeaths), longestRest);
  const text = `The worker has died ${deaths} times in a row while it read this calendar; it is left alone for ${Math.round(rest / 60_000)} minutes.`;
  const since = await work.transaction().execute(async (trx) => {
    const { rows } = await sql<{ since: string | null }>`
      update mail_calendar set deaths = ${deaths}, death_of = case when ${isDeath} then ${leftBy} else death_of end,
        reading_since = case when not ${rests} then now() end, reading_by = case when not ${rests} then ${runner} end,
        not_before = case when ${rests} then now() + make_interval(secs => ${rest / 1_000}) else not_before end,
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
      { mandator, mailbox, calendarId: id, runner: leftBy, deaths, ...(rests && { restMs: rest }) },
      'whoever read this calendar has died',
    );
  return since === null ? undefined : { mandatorId, id, by: runner, since };
}

/** Nobody has died; if somebody else has counted a death meanwhile, it was none. */
async function endNote(work: Database, note: Note): Promise<void> {
  const isOwn = sql`reading_by = ${note.by} and reading_since = ${note.since}::timestamptz`;
  try {
    await sql`
      update mail_calendar set
        deaths = case when ${isOwn} then 0 else greatest(deaths - 1, 0) end, death_of = null,
        reading_since = case when ${isOwn} then null else reading_since end,
        reading_by = case when ${isOwn} then null else reading_by end
      where mandator_id = ${note.mandatorId} and id = ${note.id} and ((${isOwn}) or death_of = ${note.by})`.execute(
      work,
    );
  } catch (error) {
    if (!isOutage(error)) throw error;
    const notes = left.get(work) ?? new Set();
    left.set(work, notes.add(note));
  }
}

/** Ends the notes of this process that an outage of the database has left. */
export async function endLeftNotes(work: Database): Promise<void> {
  const notes = [...(left.get(work) ?? [])];
  left.delete(work);
  for (const note of notes) await endNote(work, note);
}
