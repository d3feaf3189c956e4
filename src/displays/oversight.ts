/** The displays of a tenant for the Admins who watch over them: all, then each that changes (contract 8). */
import { checkAdmin } from '../access.ts';
import type { Viewer } from '../context.ts';
import type { Database } from '../db/database.ts';
import { followList } from '../db/followed-list.ts';
import type { TopicChange } from '../db/notifications.ts';
import { listDevices, listDevicesById } from './devices.ts';
import type { Display } from './display.ts';

/** The topic of a tenant's displays, with their ids as keys: paired, changed, revoked, silent, back, or with new health. */
export const deviceTopic = (viewer: Viewer) => `display:${viewer.mandatorId}`;

/** Follows all displays of the tenant (`followList`). @throws Forbidden */
export async function* watchDevices(
  db: Database,
  viewer: Viewer,
  changes: AsyncIterable<TopicChange>,
  signal: AbortSignal,
): AsyncGenerator<Display[]> {
  checkAdmin(viewer);
  yield* followList(changes, signal, {
    listPage: (page) => listDevices(db, viewer, page),
    listByIds: (ids) => listDevicesById(db, viewer, ids),
  });
}
