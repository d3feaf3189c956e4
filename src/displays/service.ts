/**
 * Door signs: what a room's display shows, and who may see it (contract 8 and 9).
 *
 * Terms: a **display** is a paired device; it acts as a person of role Display, within its **grant**: rooms, whether it may
 * book, and a level of **privacy**. A **plan** is what is stored of a room for three days at its location: a row of
 * **slots**. A **snapshot** is a plan as a level of privacy shows it, with the state of the room; its **cursor** names its
 * content. A **board** is all rooms of a location. A room is **watched** while a sign or a board reads it.
 *
 * Invariants:
 * - What a frame says was true at its `asOf`, and `asOf` moves on only while changes are heard of and reads succeed.
 * - The same content has the same cursor in every process; the same frame is the same object for all readers of a level.
 * - A change is read once per process and room, however many watch it; nobody's reader holds up another's.
 * - A private booking says at no level more than that, and until when, the room is taken.
 * - A display sees the rooms of its grant; every other room is answered as one that does not exist.
 */
import { mayShow } from '../access.ts';
import type { Viewer } from '../context.ts';
import { NotFound } from '../errors.ts';
import type { Privacy } from './display.ts';

export const unknownRoom = () => new NotFound('There is no resource of this id.');
export const unknownLocation = () => new NotFound('There is no location of this id.');

/** Of those of its tenant; a person of role Display without a device sees none. @throws NotFound */
export function checkRoom(viewer: Viewer, resourceId: number): void {
  if (!mayShow(viewer, resourceId)) throw unknownRoom();
}

/** People see as much as any sign shows. */
export const levelOf = ({ display }: Viewer): Privacy => display?.privacy ?? 'Title';
