/** What a sign is, and what it is shown, here and on the wire (contract 8 and 9). */
import type { DisplayGrant } from '../context.ts';
import type { PlannedSlot, RoomStatus, SlotChange } from './state.ts';

export const privacyLevels = ['Title', 'Organizer', 'BusyOnly'] as const satisfies DisplayGrant['privacy'][];
export type Privacy = DisplayGrant['privacy'];

/** A paired device. */
export type Display = {
  id: number;
  name: string;
  personId: number;
  /** The rooms that it was given one by one. */
  resourceIds: number[];
  /** The location whose active rooms it shows besides those. */
  locationId: number | null;
  /** All that it shows now, by name. */
  resources: { id: number; name: string }[];
  mayBook: boolean;
  privacy: Privacy;
  createdAt: Date;
  expiresAt: Date;
  revokedAt: Date | null;
  /** When it last called. */
  heardAt: Date | null;
  /** How long ago that was. */
  ageSeconds: number | null;
  /** Since when it has not called though it should have. */
  silentSince: Date | null;
  health: DeviceHealth | null;
  version: number;
};

/** What a device tells of itself. */
export type DeviceHealth = {
  /** Of the page, or of another program. */
  program: string;
  /** Width x height in CSS pixels. */
  screen: string | null;
  /** By how many seconds its clock is ahead of the server's. */
  clockAheadSeconds: number | null;
  /** Percent. */
  battery: number | null;
  /** How often it has lost the stream since it was started. */
  reconnects: number | null;
  startedAt: Date | null;
  /** What it wants the operators to read. */
  note: string | null;
};

export const slotChangeKinds = [
  'Cancelled',
  'MovedHere',
  'MovedAway',
  'Rescheduled',
  'Substituted',
] as const satisfies SlotChange['kind'][];

export type DisplaySlot = PlannedSlot & { bookingId: number; checkedInAt: number | null };

/** All that a sign knows of its room; the same object for everybody who sees the same. */
export type RoomSnapshot = {
  kind: 'snapshot';
  /** Names this content: the same content has the same cursor, in every process. */
  cursor: string;
  serverTime: number;
  /** Until when all of this was known to be right. */
  asOf: number;
  staleAfterSeconds: number;
  /** From then on nobody should rely on it any more. */
  trustUntil: number;
  timeZone: string;
  /** The offsets of that zone, each from an instant on: for devices whose own rules are old. */
  zoneOffsets: { from: number; offsetMinutes: number }[];
  resource: {
    id: number;
    name: string;
    locationId: number;
    locationName: string;
    kind: string;
    capacity: number | null;
    equipment: string[];
    isActive: boolean;
  };
  status: RoomStatus;
  until: number | null;
  /** In order of `from`: from today, at the location, for at least 48 hours. */
  schedule: DisplaySlot[];
  open: { start: number; end: number }[];
  /** The first instant that the schedule holds, and the first that it does not. */
  start: number;
  end: number;
  nextChangeAt: number | null;
};

/** Says that the stream lives and, while the server itself is sure, that what was sent is still right. */
export type DisplayHeartbeat = {
  kind: 'heartbeat';
  /** Of the snapshot that is still right; empty on a board, which shows several. */
  cursor: string;
  serverTime: number;
  asOf: number;
  trustUntil: number;
};

/** The last frame of a stream that ends before its client wants it to. */
export type DisplayEnded = {
  kind: 'ended';
  reason: 'Expired' | 'Revoked' | 'Restarting';
  serverTime: number;
  /** When to come back; null: not with this credential. */
  retryAfterSeconds: number | null;
};

export type DisplayFrame = RoomSnapshot | DisplayHeartbeat | DisplayEnded;
