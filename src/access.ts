/**
 * Who may do what (contract 3): nobody else looks at a caller's role. And what every change of master data has in common: it
 * is meant for a version, and is kept.
 */
import type { Act, Versions, Viewer } from './context.ts';
import type { Transaction } from './db/database.ts';
import { Forbidden, PreconditionFailed } from './errors.ts';

/** Whether this is a door sign: whoever stands there is there, and nobody knows who it is. */
export const isDisplay = ({ role }: Viewer): boolean => role === 'Display';

/** @throws Forbidden for a display */
export function checkReader(viewer: Viewer): void {
  if (isDisplay(viewer))
    throw new Forbidden('A display reads the status of its own resources only; use the PIN of a user.');
}

/** The resources of which a display sees what they look like from outside; null for everybody else, who sees all. */
export const roomsShown = (viewer: Viewer): readonly number[] | null =>
  isDisplay(viewer) ? (viewer.display?.resourceIds ?? []) : null;

/** Whether the caller may see what a resource of the tenant looks like from outside. */
export const mayShow = (viewer: Viewer, resourceId: number): boolean =>
  roomsShown(viewer)?.includes(resourceId) !== false;

/** Whether the caller may see a location with these resources. */
export const mayShowSome = (viewer: Viewer, resourceIds: readonly number[]): boolean =>
  !isDisplay(viewer) || resourceIds.some((id) => mayShow(viewer, id));

/** Whether everybody's bookings and calendar tokens are open to the caller, private ones too. */
export const maySeeAll = ({ role }: Viewer): boolean => role === 'Admin';

/** Whether the caller may see what a private booking is about. */
export const maySeePrivate = (viewer: Viewer, owners: readonly (number | null | undefined)[]): boolean =>
  maySeeAll(viewer) || owners.includes(viewer.personId);

type Somebody = { personId: number | null } | null;

/** Whether somebody may see what a booking is about: of a private one not everybody, and a display only of what it made. */
export function maySee(
  viewer: Viewer,
  { isPrivate, organizer, createdBy }: { isPrivate: boolean; organizer: Somebody; createdBy: Somebody },
): boolean {
  if (isDisplay(viewer)) return createdBy?.personId === viewer.personId;
  return !isPrivate || maySeePrivate(viewer, [organizer?.personId, createdBy?.personId]);
}

/** @throws Forbidden for a display that may not book */
export function checkActor(viewer: Viewer): void {
  if (!isDisplay(viewer) || viewer.display?.mayBook) return;
  throw new Forbidden(
    viewer.display
      ? 'This display shows its rooms and books nothing; ask an Admin to allow booking for this display.'
      : 'A display books, changes and releases nothing; use the PIN of a user.',
  );
}

/** @throws Forbidden for a display, also for one that may book */
export function checkBooker(viewer: Viewer): void {
  if (isDisplay(viewer)) throw new Forbidden('A display changes and cancels no bookings; use the PIN of a user.');
}

/** @throws Forbidden for a User who blocks a resource or books for somebody else */
export function checkOnBehalf(
  { role, personId }: Viewer,
  { kind, organizerId = personId }: { kind: string; organizerId?: number | undefined },
): void {
  if (role !== 'User') return;
  if (kind === 'Block') throw new Forbidden('Only an Admin blocks a resource; ask one of yours.');
  if (organizerId !== personId)
    throw new Forbidden('Only an Admin books for somebody else; leave OrganizerId out to book for yourself.');
}

/** @throws Forbidden for a User who has neither made nor organizes a booking: at the door it is anybody's */
export function checkOwner({ role, personId }: Viewer, owners: readonly (number | null)[]): void {
  if (role === 'User' && !owners.includes(personId))
    throw new Forbidden('This booking is another person’s; ask its organizer or an Admin.');
}

/** Whether the caller books what is over, and outside of opening hours. */
export const mayBookAnytime = ({ role }: Viewer): boolean => role === 'Admin';

/** @throws Forbidden for a display */
export function checkBatchUser(viewer: Viewer): void {
  if (isDisplay(viewer)) throw new Forbidden('A display has nothing to do with lesson batches; use the PIN of a user.');
}

/** @throws Forbidden for whoever is no Admin, whatever they ask for */
export function checkAdmin({ role }: Viewer): void {
  if (role !== 'Admin')
    throw new Forbidden(
      'Only an Admin manages persons, PINs, locations, resources and their opening hours; ask one of yours.',
    );
}

/** @throws Forbidden for whoever is no Admin */
export function checkOverseer({ role }: Viewer): void {
  if (role !== 'Admin')
    throw new Forbidden('Only an Admin sees how the calendars of the mail server are doing; ask one of yours.');
}

/** @throws PreconditionFailed when the record has changed since it was read */
export function checkVersion({ version }: { version: number }, expected: Versions): void {
  if (expected && !expected.includes(version))
    throw new PreconditionFailed(
      'The record has changed since you read it; read it again and repeat the change on that version.',
    );
}

/** Keeps what an Admin does, in the transaction that does it. */
export async function recordAct(
  trx: Transaction,
  { viewer, requestId }: Act,
  action: string,
  subjectId: number,
): Promise<void> {
  await trx
    .insertInto('audit')
    .values({
      mandator_id: viewer.mandatorId,
      person_id: viewer.personId,
      action,
      subject_id: subjectId,
      request_id: requestId,
    })
    .execute();
}
