/** Readings that an Admin asks for. */
import { checkOverseer } from '../access.ts';
import { recordAct } from '../acts.ts';
import type { Act, Context } from '../context.ts';
import { LimitExceeded, NotFound } from '../errors.ts';
import { readNow } from './polling.ts';
import { findCalendar, type ListedCalendar } from './status.ts';

/** Readings of one calendar that may be asked for in a minute. */
export const mostReadingsPerMinute = 6;

/** @throws Forbidden; NotFound, also for another tenant's */
export async function getCalendar(
  { db }: Pick<Context, 'db'>,
  { viewer }: Pick<Act, 'viewer'>,
  id: number,
): Promise<ListedCalendar> {
  const found = await findCalendar(db, viewer, id);
  if (!found) throw new NotFound('There is no calendar of this id, or it is retired.');
  return found;
}

/**
 * Has a calendar read at once, also one that waits after a fault, except Throttled ones, whose time the mail server has set.
 * @returns the calendar as it is now: a worker reads it
 * @throws Forbidden, NotFound, LimitExceeded
 */
export async function readCalendarNow(context: Context, act: Act, id: number): Promise<ListedCalendar> {
  checkOverseer(act.viewer);
  const { resourceName } = await getCalendar(context, act, id);
  const { mandatorId } = act.viewer;
  const { used, resetsAt } = context.rates.count(`mail-readings ${mandatorId} ${id}`);
  if (used > mostReadingsPerMinute) {
    const seconds = Math.max(1, Math.ceil((resetsAt.getTime() - Date.now()) / 1_000));
    throw new LimitExceeded(
      `More than ${mostReadingsPerMinute} readings of one calendar in a minute; wait ${seconds} seconds.`,
      seconds,
    );
  }
  await context.db.transaction().execute(async (trx) => {
    await readNow(trx, mandatorId, [id], { whole: false });
    await recordAct(trx, act, 'read mail calendar', { noun: 'MailSubscription', id, name: resourceName });
  });
  return await getCalendar(context, act, id);
}
