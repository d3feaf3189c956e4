/** The displays of a tenant for the Admins who watch over them: all, then each that changes (contract 8). */
import { checkAdmin } from '../access.ts';
import type { Viewer } from '../context.ts';
import type { Database } from '../db/database.ts';
import type { TopicChange } from '../db/notifications.ts';
import { mostPerPage } from '../db/paging.ts';
import { outlast } from '../flow/retry.ts';
import { listDevices, listDevicesById } from './devices.ts';
import type { Display } from './display.ts';

/** The topic of a tenant's displays, with their ids as keys: paired, changed, revoked, silent, back, or with new health. */
export const deviceTopic = (viewer: Viewer) => `display:${viewer.mandatorId}`;

/**
 * Yields all displays in parts of 200, at least one part; then those that have changed, as they are now. After a lost
 * connection it yields all of them again.
 * @throws Forbidden
 */
export async function* watchDevices(
  db: Database,
  viewer: Viewer,
  changes: AsyncIterable<TopicChange>,
  signal: AbortSignal,
): AsyncGenerator<Display[]> {
  checkAdmin(viewer);
  for await (const { all, keys } of changes) {
    if (!all) {
      const changed = await outlast(signal, () => listDevicesById(db, viewer, [...keys].map(Number)));
      if (changed.length > 0) yield changed;
      continue;
    }
    for (let after: number | undefined, isMore = true; isMore; ) {
      const page = { limit: mostPerPage, after };
      const { items, hasNext } = await outlast(signal, () => listDevices(db, viewer, page));
      yield items;
      after = items.at(-1)?.id;
      isMore = hasNext;
    }
  }
}
