/**
 * Calendars are read with a note in the database that they are. Whoever dies leaves the note: a calendar at which some have
 * died is read alone, to show which of them it was, and when more have, rests.
 */
import { sql } from 'kysely';
import type { Database } from '../db/database.ts';
import { isOutage } from '../errors.ts';
import { markCalendars } from './calendars.ts';
import { mostDeaths, type Work } from './mail.ts';
import { type Calendar, Overtaken } from './reading.ts';

/** Milliseconds for which a calendar rests at which too many have died, doubled by each further one. */
const firstRest = 60_000;
const longestRest = 6 * 3_600_000;

/** Where a calendar is being read at which some have died. */
const suspected = new WeakSet<Database>();

/** When it was written tells a note from that of the next. */
type Note = Pick<Calendar, 'mandatorId' | 'id'> & { since: string };

/** Notes that could not be ended, as the database was away: nobody has died. */
const left = new WeakMap<Database, Set<Note>>();

/** Runs `read` under a note, unless the calendar rests. @returns whether it was its turn @throws Overtaken */
export async function readNoted(
  context: Work,
  calendar: Calendar,
  read: () => Promise<void>,
): Promise<boolean> {
  const { work } = context;
  const isSuspect = calendar.deaths > 0 || calendar.isLeft;
  if (isSuspect && suspected.has(work)) return false;
  if (isSuspect) suspected.add(work);
  try {
    const own = await note(context, calendar);
    if (!own) return true;
    try {
      await read();
    } finally {
      await endNote(work, own);
    }
    return true;
  } finally {
    if (isSuspect) suspected.delete(work);
  }
}

/** @returns undefined where it is not to be read now, but after a rest */
async function note({ work, log }: Work, { isLeft, ...calendar }: Calendar): Promise<Note | undefined> {
  const { mandatorId, mandator, mailbox, id, readings } = calendar;
  const deaths = calendar.deaths + Number(isLeft);
  const rests = isLeft && deaths >= mostDeaths;
  const rest = Math.min(firstRest * 2 ** (deaths - mostDeaths), longestRest);
  const text = `The worker has died ${deaths} times in a row while it read this calendar; it is left alone for ${Math.round(rest / 60_000)} minutes.`;
  const since = await work.transaction().execute(async (trx) => {
    const { rows } = await sql<{ since: string | null }>`
      update mail_calendar set deaths = ${deaths}, reading_since = case when not ${rests} then now() end,
        not_before = case when ${rests} then now() + make_interval(secs => ${rest / 1_000}) else not_before end,
        fault = case when ${rests} then 'Unreadable' else fault end,
        fault_text = case when ${rests} then ${text} else fault_text end
      where mandator_id = ${mandatorId} and id = ${id} and retired_at is null and readings = ${readings}
      returning reading_since::text as since`.execute(trx);
    const [noted] = rows;
    if (!noted) throw new Overtaken();
    if (rests) await markCalendars(trx, [id], calendar.dirtyBy ?? 'Poll');
    return noted.since;
  });
  if (isLeft)
    log[rests ? 'error' : 'warn'](
      { mandator, mailbox, calendarId: id, deaths, ...(rests && { restMs: rest }) },
      'whoever read this calendar has died',
    );
  return since === null ? undefined : { mandatorId, id, since };
}

/** Nobody has died. */
async function endNote(work: Database, note: Note): Promise<void> {
  try {
    await sql`
      update mail_calendar set reading_since = null, deaths = 0
      where mandator_id = ${note.mandatorId} and id = ${note.id} and reading_since = ${note.since}::timestamptz`.execute(
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
