/** Displays, and the frames that they are sent (contract 8 and 9). */
import type { DisplayGrant } from '../context.ts';
import type { Freshness, PlannedSlot, RoomStatus, SlotChange } from './state.ts';

export const privacyLevels = ['Title', 'Organizer', 'BusyOnly'] as const satisfies DisplayGrant['privacy'][];
export type Privacy = DisplayGrant['privacy'];

/** A paired device. */
export type Display = {
  id: number;
  name: string;
  personId: number;
  /** The rooms that it was given one by one. */
  resourceIds: number[];
  /** The location whose active rooms it also shows. */
  locationId: number | null;
  /** All rooms that it shows now, by name. */
  resources: { id: number; name: string }[];
  mayBook: boolean;
  privacy: Privacy;
  createdAt: Date;
  expiresAt: Date;
  revokedAt: Date | null;
  /** When it last called. */
  heardAt: Date | null;
  ageSeconds: number | null;
  /** Since when it has been silent; null while it calls. */
  silentSince: Date | null;
  health: DeviceHealth | null;
  /** The tenant's look, with the name of the logo. */
  look: { colour: string | null; logo: string | null };
  version: number;
};

/** What a device reports about itself. */
export type DeviceHealth = {
  program: string;
  /** Width x height in CSS pixels. */
  screen: string | null;
  clockAheadSeconds: number | null;
  /** Percent. */
  battery: number | null;
  /** How often it has lost the stream since it was started. */
  reconnects: number | null;
  startedAt: Date | null;
  /** For the operators. */
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

/** What a sign shows of its room; the same object for all readers of one level of privacy. */
export type RoomSnapshot = Freshness & {
  kind: 'snapshot';
  staleAfterSeconds: number;
  timeZone: string;
  /** The offsets of the zone, each from an instant on, for devices with outdated zone rules. */
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
  /** The schedule covers [start, end). */
  start: number;
  end: number;
  nextChangeAt: number | null;
};

/** A sign that the stream is alive. */
export type DisplayHeartbeat = Freshness & { kind: 'heartbeat' };

/** The last frame of a stream that the server ends. */
export type DisplayEnded = {
  kind: 'ended';
  reason: 'Expired' | 'Revoked' | 'Restarting';
  serverTime: number;
  /** Null: the credential is no longer valid. */
  retryAfterSeconds: number | null;
};

export type DisplayFrame = RoomSnapshot | DisplayHeartbeat | DisplayEnded;
