/** Snapshots and heartbeats, made of what is known of a room. Pure. */
import { hash } from 'node:crypto';
import type { DisplayHeartbeat, Privacy, RoomSnapshot } from './display.ts';
import type { RoomPlan } from './local-days.ts';
import { toSlots } from './slots.ts';
import { stateAt } from './state.ts';

const staleAfterSeconds = 90;
const trustedForMs = 15 * 60_000;

/** What a snapshot says of the room; the rest of it is when that was said, and until when it was known to be right. */
export type Content = Omit<RoomSnapshot, 'kind' | 'serverTime' | 'asOf' | 'trustUntil' | 'staleAfterSeconds'>;

/** What a level of privacy shows of a room at an instant. */
export function toContent({ stored, open, zoneOffsets }: RoomPlan, level: Privacy, now: number): Content {
  const { timeZone, isActive, start, end } = stored;
  const schedule = toSlots(stored, level);
  const { status, until, nextChangeAt } = stateAt({ isActive, slots: schedule, open, end }, now);
  const { locationId, locationName, name, kind, capacity, equipment } = stored;
  const resource = {
    id: stored.resourceId,
    name,
    locationId,
    locationName,
    kind,
    capacity,
    equipment,
    isActive,
  };
  const said = {
    timeZone,
    zoneOffsets,
    resource,
    status,
    until,
    schedule,
    open,
    start,
    end,
    nextChangeAt,
  };
  return { cursor: hash('sha256', JSON.stringify(said), 'base64url').slice(0, 22), ...said };
}

export const toSnapshot = (content: Content, serverTime: number, asOf: number): RoomSnapshot => ({
  kind: 'snapshot',
  serverTime,
  asOf,
  staleAfterSeconds,
  trustUntil: asOf + trustedForMs,
  ...content,
});

/** @param cursor of the snapshot that is still right; empty on a board */
export const toHeartbeat = (cursor: string, serverTime: number, asOf: number): DisplayHeartbeat => ({
  kind: 'heartbeat',
  cursor,
  serverTime,
  asOf,
  trustUntil: asOf + trustedForMs,
});
