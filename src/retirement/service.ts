/**
 * Retirement of a resource: a preview of its effects, and the retirement with the handling of bookings in one transaction.
 *
 * Bookings that have begun stay to their end. Lessons stay, because the timetable owns them: its next import moves them. The
 * bookings of a mailbox end with its calendar, which is no longer read (room `mail`).
 */
import { hash } from 'node:crypto';
import { checkAdmin } from '../access.ts';
import { recordAct } from '../acts.ts';
import {
  cancelUpcoming,
  countUpcoming,
  lockRooms,
  moveUpcoming,
  type RoomConflict,
  roomOccupied,
  type Upcoming,
  writeBookings,
} from '../bookings/service.ts';
import type { Act, Viewer } from '../context.ts';
import type { Database, Transaction } from '../db/database.ts';
import { Conflict, InvalidInput, memberFault, PreconditionFailed } from '../errors.ts';
import { getResource, type Resource, retireResource } from '../tenants/service.ts';

export const futures = ['Keep', 'Cancel', 'Move'] as const;
export type RetirementWish = {
  futureBookings: (typeof futures)[number];
  /** Where bookings are moved; null unless `Move`. */
  resourceId: number | null;
  conflictHandling: 'Fail' | 'Skip';
};

export type Preview = Upcoming & {
  resource: Resource;
  /** Displays that show the resource by its id, not because they show its location. */
  displays: number;
  /** Whether its mailbox is read. */
  hasMailCalendar: boolean;
  /** A hash that changes with everything in this preview. */
  digest: string;
};

/** What the caller has read: a version of the resource, or a preview with its digest. */
export type Seen = { version: number; digest: string | undefined };

/** `kept` are still at the resource: lessons, mail items, blocks, and bookings with `conflicts`. */
export type Retired = {
  resource: Resource;
  kept: Upcoming;
  cancelled: number;
  moved: number;
  conflicts: RoomConflict[];
};

/** The effects that a retirement would have now. @throws Forbidden, NotFound */
export async function previewRetirement(db: Database, viewer: Viewer, resourceId: number): Promise<Preview> {
  checkAdmin(viewer);
  const { mandatorId } = viewer;
  const resource = await getResource(db, viewer, resourceId);
  const upcoming = await countUpcoming(db, mandatorId, resourceId);
  const { displays } = await db
    .selectFrom('display_resource')
    .innerJoin('display', (join) =>
      join
        .onRef('display.mandator_id', '=', 'display_resource.mandator_id')
        .onRef('display.id', '=', 'display_resource.display_id'),
    )
    .where('display_resource.mandator_id', '=', mandatorId)
    .where('display_resource.resource_id', '=', resourceId)
    .where('display.revoked_at', 'is', null)
    .select(({ fn }) => fn.countAll<number>().as('displays'))
    .executeTakeFirstOrThrow();
  const calendar = await db
    .selectFrom('mail_calendar')
    .where('mandator_id', '=', mandatorId)
    .where('resource_id', '=', resourceId)
    .where('retired_at', 'is', null)
    .select('id')
    .executeTakeFirst();
  const hasMailCalendar = calendar !== undefined;
  const digest = hash('sha256', JSON.stringify([resource.version, upcoming.digest, displays, hasMailCalendar])).slice(
    0,
    32,
  );
  return { ...upcoming, resource, displays, hasMailCalendar, digest };
}

/** @throws PreconditionFailed when the caller has read only previews, and they are outdated */
async function checkSeen(trx: Transaction, viewer: Viewer, id: number, expected: readonly Seen[]): Promise<void> {
  if (expected.length === 0 || expected.some(({ digest }) => digest === undefined)) return;
  const { digest } = await previewRetirement(trx, viewer, id);
  if (!expected.some((seen) => seen.digest === digest))
    throw new PreconditionFailed(
      'What the retirement would affect has changed since the preview; read a new preview and repeat the retirement with its ETag.',
    );
}

/**
 * Retires a resource, and keeps, cancels or moves its bookings. For a resource that is retired already, it handles the bookings
 * that were kept.
 * @param expected undefined for any version
 * @throws Forbidden, NotFound, PreconditionFailed; InvalidInput for a target that is missing, unknown or the resource itself;
 * Conflict for an inactive target, and with the bookings in the way unless they are skipped: nothing is done then
 */
export async function retire(
  db: Database,
  act: Act,
  id: number,
  expected: readonly Seen[] | undefined,
  wanted: RetirementWish,
): Promise<Retired> {
  const { viewer } = act;
  checkAdmin(viewer);
  await getResource(db, viewer, id);
  checkTarget(id, wanted);
  return await writeBookings(db, viewer, async (trx) => {
    const { mandatorId } = viewer;
    const rooms = await lockRooms(trx, mandatorId, [id, ...(wanted.resourceId === null ? [] : [wanted.resourceId])]);
    const roomOf = (wantedId: number | null) => rooms.find((room) => room.id === wantedId);
    const target = roomOf(wanted.resourceId);
    if (target && !target.active)
      throw Conflict.because(
        'InactiveResource',
        `The resource ${target.name} is not active; choose another target.`,
        'ResourceId',
      );
    const before = roomOf(id);
    await checkSeen(trx, viewer, id, expected ?? []);
    const resource = await retireResource(
      trx,
      act,
      id,
      expected?.map(({ version }) => version),
    );
    const done = { cancelled: 0, moved: 0, conflicts: [] as RoomConflict[] };
    if (wanted.futureBookings === 'Cancel') done.cancelled = await cancelUpcoming(trx, mandatorId, id);
    if (before && target) Object.assign(done, await moveUpcoming(trx, viewer, before, target, wanted.conflictHandling));
    if (done.conflicts.length > 0 && wanted.conflictHandling === 'Fail') throw roomOccupied(done.conflicts);
    await recordRetirement(trx, act, resource, { ...wanted, ...done });
    return { resource, kept: await countUpcoming(trx, mandatorId, id), ...done };
  });
}

/** @throws InvalidInput */
function checkTarget(id: number, { futureBookings, resourceId }: RetirementWish): void {
  const code = resourceId === null ? 'MissingField' : 'InvalidValue';
  const refuse = (text: string) => InvalidInput.of(memberFault('ResourceId', code, text));
  if (futureBookings !== 'Move' && resourceId !== null) throw refuse('is allowed only if bookings are moved');
  if (futureBookings === 'Move' && resourceId === null)
    throw refuse('is missing; name the resource that takes the bookings');
  if (resourceId === id) throw refuse('must be another resource than the retired one');
}

const recordRetirement = (
  trx: Transaction,
  act: Act,
  { id, name }: Resource,
  { futureBookings, resourceId, cancelled, moved, conflicts }: RetirementWish & Omit<Retired, 'resource' | 'kept'>,
): Promise<void> =>
  recordAct(
    trx,
    act,
    'retire resource',
    { noun: 'Resource', id, name },
    { before: null, after: { futureBookings, movedTo: resourceId, cancelled, moved, conflicts: conflicts.length } },
  );
