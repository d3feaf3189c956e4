/** The calendars of a tenant as a subscription: first all of them, then those that change (contract 7). */
import { checkOverseer } from '../access.ts';
import type { Viewer } from '../context.ts';
import type { Database } from '../db/database.ts';
import type { TopicChange } from '../db/notifications.ts';
import { outlast } from '../flow/retry.ts';
import { type CalendarStatus, overseeCalendars } from './status.ts';

/** The topic of the calendars of a tenant, with their ids as keys: found, read, waiting, faulty, retired. */
export const calendarTopic = (viewer: Viewer) => `mail_calendar:${viewer.mandatorId}`;

/**
 * Yields all calendars, then those that have changed, in their current state; all again after a lost connection. A retired
 * calendar is no longer sent.
 * @throws Forbidden
 */
export async function* watchCalendars(
  db: Database,
  viewer: Viewer,
  changes: AsyncIterable<TopicChange>,
  signal: AbortSignal,
): AsyncGenerator<CalendarStatus[]> {
  checkOverseer(viewer);
  for await (const { all, keys } of changes) {
    const ids = all ? null : [...keys].map(Number);
    const calendars = await outlast(signal, () => overseeCalendars(db, viewer, ids));
    if (all || calendars.length > 0) yield calendars;
  }
}
