/** Readings that an Admin asks for. */
import { checkOverseer } from '../access.ts';
import { recordAct } from '../acts.ts';
import type { Act, Context } from '../context.ts';
import { LimitExceeded, NotFound } from '../errors.ts';
import { readNow } from './polling.ts';
import { type CalendarStatus, findCalendar } from './status.ts';

/** How often a minute a reading of one calendar may be requested. */
export const mostReadingsPerMinute = 6;

/** @throws Forbidden; NotFound, also for a calendar of another tenant */
export async function getCalendar(
  { db }: Pick<Context, 'db'>,
  { viewer }: Pick<Act, 'viewer'>,
  id: number,
): Promise<CalendarStatus> {
  const found = await findCalendar(db, viewer, id);
  if (!found) throw new NotFound('There is no calendar of this id, or it is retired.');
  return found;
}

/**
 * Has a worker read a calendar at once, also one that waits after a fault, and try again what could not be written. After Throttled
 * it still waits until the time that the mail server has set.
 * @returns the calendar before it is read
 * @throws Forbidden, NotFound, LimitExceeded
 */
export async function readCalendarNow(context: Context, act: Act, id: number): Promise<CalendarStatus> {
  checkOverseer(act.viewer);
  const { resourceName } = await getCalendar(context, act, id);
  const { mandatorId } = act.viewer;
  const { used, resetsAt } = context.rates.count(`mail-readings ${mandatorId} ${id}`);
  if (used > mostReadingsPerMinute)
    throw LimitExceeded.until(resetsAt, mostReadingsPerMinute, 'readings of one calendar in a minute');
  await context.db.transaction().execute(async (trx) => {
    await readNow(trx, mandatorId, [id], { whole: false });
    await recordAct(trx, act, 'read mail calendar', { noun: 'MailSubscription', id, name: resourceName });
  });
  return await getCalendar(context, act, id);
}
