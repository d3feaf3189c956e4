/** Finds free rooms instead of one that is taken: those of its location that this device may show. */
import { minute } from '../../time/durations.ts';
import type { Clock } from './clock.ts';
import { callGraphql } from './device.ts';
import { documents, parseInstants, readSnapshot, type SentSnapshot, type ShownRoom } from './frames.ts';
import type { Session } from './session.ts';
import { lookAt } from './sight.ts';

export type FreeRoom = { id: string; name: string; until: number };

const most = 3;
const shortest = 15 * minute;

/** The best fit first: with enough seats and most of the equipment, and of these the smallest. */
export function findFree(rooms: readonly ShownRoom[], own: ShownRoom, now: number): FreeRoom[] {
  const { id, capacity, equipment } = own.resource;
  const lacks = ({ resource }: ShownRoom) =>
    equipment.filter((one) => !resource.equipment.includes(one)).length +
    (capacity !== null && (resource.capacity ?? 0) < capacity ? 1 : 0);
  const seats = ({ resource }: ShownRoom) => resource.capacity ?? Number.MAX_SAFE_INTEGER;
  return rooms
    .flatMap((room) => {
      const { status, until } = lookAt(room, now);
      const end = until ?? room.end;
      const isFree = (status === 'FREE' || status === 'STARTING_SOON') && end - now >= shortest;
      return isFree && room.resource.id !== id ? [{ room, until: end }] : [];
    })
    .sort(
      (one, other) =>
        lacks(one.room) - lacks(other.room) ||
        seats(one.room) - seats(other.room) ||
        one.room.resource.name.localeCompare(other.room.resource.name),
    )
    .slice(0, most)
    .map(({ room, until }) => ({ id: room.resource.id, name: room.resource.name, until }));
}

/** Asks for the rooms of the location. @returns null without an answer */
export async function askFree(session: Session, own: ShownRoom, clock: Clock): Promise<FreeRoom[] | null> {
  const response = await callGraphql(session, documents.board.poll, { id: own.resource.locationId }).catch(() => null);
  const text = response?.ok ? await response.text().catch(() => '{}') : '{}';
  const { data } = parseInstants(text) as { data?: { now?: SentSnapshot[] } | null };
  return data?.now ? findFree(data.now.map(readSnapshot), own, clock.now() ?? own.serverTime) : null;
}
