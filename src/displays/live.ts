/** Rooms as they are now and as they change (contract 8 and 9). */
import { mayShow, mayShowSome } from '../access.ts';
import type { Context, Viewer } from '../context.ts';
import { openSlices } from '../flow/slices.ts';
import { noRecord } from '../records.ts';
import type { Privacy, RoomSnapshot } from './display.ts';
import { openHub } from './hub.ts';
import { type RoomFrame, readBoard, readRoom, type Viewed } from './sources.ts';

/** @throws NotFound for a room that the viewer may not see */
function checkRoom(viewer: Viewer, resourceId: number): void {
  if (!mayShow(viewer, resourceId)) throw noRecord('resource');
}

/** People see as much as any sign shows. */
const levelOf = ({ display }: Viewer): Privacy => display?.privacy ?? 'Title';

/** Counts of reads for displays in this process. */
export const figuresOf = (context: Context) => context.once(openHub).figures;

/** The room as it is now. @throws NotFound, also for a room that the viewer may not see */
export async function readSnapshot(context: Context, viewer: Viewer, resourceId: number): Promise<RoomSnapshot> {
  checkRoom(viewer, resourceId);
  const level = levelOf(viewer);
  const snapshot = await context
    .once(openHub)
    .withRoom(viewer.mandatorId, resourceId, true, (room) => room.snapshot(level));
  if (!snapshot) throw noRecord('resource');
  return snapshot;
}

/**
 * A snapshot at once, or a heartbeat when `after` is its cursor; then a snapshot whenever the room looks different, and a
 * heartbeat every 30 s. A slow reader gets only the latest.
 * @throws NotFound, also for a room that the viewer may not see
 */
export async function watchRoom(
  context: Context,
  viewer: Viewer,
  resourceId: number,
  after?: string | null,
  hub = context.once(openHub),
): Promise<Viewed<RoomFrame>> {
  checkRoom(viewer, resourceId);
  const level = levelOf(viewer);
  const source = await hub.withRoom(viewer.mandatorId, resourceId, false, (room) =>
    readRoom(room, level, after ?? undefined),
  );
  if (!source) throw noRecord('resource');
  return source;
}

/**
 * The active rooms of a location that the viewer may see, in order of their names.
 * @throws NotFound for an unknown location, and for one of which the display may see no room
 */
export async function readLocation(context: Context, viewer: Viewer, locationId: number): Promise<RoomSnapshot[]> {
  const ids = await context
    .once(openHub)
    .withBoard(viewer.mandatorId, locationId, true, ({ resourceIds }) =>
      resourceIds.filter((id) => mayShow(viewer, id)),
    );
  if (!ids || !mayShowSome(viewer, ids)) throw noRecord('location');
  const level = levelOf(viewer);
  const snapshots = await Promise.all(
    ids.map((id) => context.once(openHub).withRoom(viewer.mandatorId, id, true, (room) => room.snapshot(level))),
  );
  return snapshots.filter((snapshot) => snapshot !== undefined);
}

/**
 * The rooms of a location, each as in `watchRoom`, with one heartbeat for all, the first after the first snapshots. A room that
 * is retired or moves to another location is sent once more; a new one is sent from then on.
 * @throws NotFound as `readLocation` does
 */
export async function watchLocation(
  context: Context,
  viewer: Viewer,
  locationId: number,
  hub = context.once(openHub),
): Promise<Viewed<RoomFrame>> {
  const source = await hub.withBoard(viewer.mandatorId, locationId, false, async (board) => {
    const isShown = (id: number) => mayShow(viewer, id);
    if (!mayShowSome(viewer, board.resourceIds)) return undefined;
    // A location may have thousands of rooms, and many may open its board at one instant.
    await openSlices()();
    return readBoard(board, levelOf(viewer), isShown);
  });
  if (!source) throw noRecord('location');
  return source;
}
