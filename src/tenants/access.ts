/** Who may do what with master data (contract 3), and what every change of it has in common. */
import type { Viewer } from '../context.ts';
import type { Transaction } from '../db/database.ts';
import { Conflict, Forbidden, PreconditionFailed } from '../errors.ts';

/** Who changes something, in which request. */
export type Act = { viewer: Viewer; requestId: string };

/** The versions that a change is meant for; undefined for whichever there is. */
export type Versions = readonly number[] | undefined;

/** @throws Forbidden for a display */
export function checkReader({ role }: Viewer): void {
  if (role === 'Display')
    throw new Forbidden('A display reads the status of its own resources only; use the PIN of a user.');
}

/** Whether the caller may see what a resource of the tenant looks like from outside: a display only those that it shows. */
export const mayShow = ({ role, display }: Viewer, resourceId: number): boolean =>
  role !== 'Display' || display?.resourceIds.includes(resourceId) === true;

/** @throws Forbidden for whoever is no Admin, whatever they ask for */
export function checkAdmin({ role }: Viewer): void {
  if (role !== 'Admin')
    throw new Forbidden(
      'Only an Admin manages persons, PINs, locations, resources and their opening hours; ask one of yours.',
    );
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

/** For a name or an address that has to be unique. @throws Conflict with `message` when it was taken */
export function refuseDuplicate(message: string): (error: Error & { code?: string }) => never {
  return (error) => {
    throw error.code === '23505' ? new Conflict(message) : error;
  };
}
