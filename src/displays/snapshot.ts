/** Makes snapshots and heartbeats. Pure. */
import { hash } from 'node:crypto';
import { minute } from '../time/durations.ts';
import type { DisplayHeartbeat, DisplaySlot, Privacy, RoomSnapshot } from './display.ts';
import type { RoomPlan } from './local-days.ts';
import { toSlots } from './slots.ts';
import { stateAt } from './state.ts';

const staleAfterSeconds = 90;
const trustedForMs = 15 * minute;

/** The part of a snapshot that is about the room, without the times of the message itself. */
export type Content = Omit<RoomSnapshot, 'kind' | 'serverTime' | 'asOf' | 'trustUntil' | 'staleAfterSeconds'>;

/** Up to this distance numbers are small integers of V8. */
const farthest = 2 ** 30;

/**
 * All values of the slots, without the names of their members, and with instants as distances from the beginning of the plan. V8 writes
 * them as JSON in half of the time that it takes for the slots themselves.
 */
function valuesOf(schedule: readonly DisplaySlot[], start: number): unknown[] {
  const values: unknown[] = [];
  const [first] = schedule;
  // All slots have the same members, in the same order.
  const names = first ? (Object.keys(first) as (keyof DisplaySlot)[]) : [];
  for (const slot of schedule)
    for (const name of names) {
      const value = slot[name];
      values.push(typeof value === 'number' && Math.abs(value - start) < farthest ? value - start : value);
    }
  return values;
}

/** The content that a level of privacy shows of a room at an instant. */
export function toContent({ stored, open, zoneOffsets }: RoomPlan, level: Privacy, now: number): Content {
  const { timeZone, isActive, start, end } = stored;
  const schedule = toSlots(stored, level);
  const { status, until, nextChangeAt } = stateAt({ isActive, slots: schedule, open, end }, now);
  const { resourceId: id, locationId, locationName, name, kind, capacity, equipment } = stored;
  const resource = { id, name, locationId, locationName, kind, capacity, equipment, isActive };
  const said = { timeZone, zoneOffsets, resource, status, until, schedule, open, start, end, nextChangeAt };
  const hashed = JSON.stringify({ ...said, schedule: valuesOf(schedule, start) });
  return { cursor: hash('sha256', hashed, 'base64url').slice(0, 22), ...said };
}

export const toSnapshot = (content: Content, serverTime: number, asOf: number): RoomSnapshot => ({
  kind: 'snapshot',
  serverTime,
  asOf,
  staleAfterSeconds,
  trustUntil: asOf + trustedForMs,
  ...content,
});

export const toHeartbeat = (cursor: string, serverTime: number, asOf: number): DisplayHeartbeat => ({
  kind: 'heartbeat',
  cursor,
  serverTime,
  asOf,
  trustUntil: asOf + trustedForMs,
});
